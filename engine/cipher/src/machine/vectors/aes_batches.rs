//! Counter-mode generation on AES instructions, for any machine and width of register.

/// Writes `fill` for one width.
///
/// The file that uses it imports `Schedule`, `Row` and the functions of the width, from `x86/zmm.rs` for example. It defines
/// `encrypt::<N>`: `N` registers of encrypted counters, starting with its argument.
macro_rules! aes_batches {
    ($features:literal) => {
        /// Overwrites `destination` with the encrypted counters from `counter` on; the low half of
        /// the counter must not wrap before the last block.
        ///
        /// A round takes 3 to 4 cycles, and one or two start in each: eight registers in flight
        /// hide that. After the batches of eight, batches of 4, 2 and 1 serve the rest, so that
        /// few blocks are made and not used; none waits for another, and the CPU overlaps them.
        #[target_feature(enable = $features)]
        #[inline(never)]
        fn fill(schedule: &Schedule, _: usize, counter: u128, destination: &mut [u8]) {
            let keys = schedule.aes256();
            let mut counters = first_counters(counter);
            let rest = batches::<8>(keys, &mut counters, destination);
            let rest = batches::<4>(keys, &mut counters, rest);
            let mut rest = batches::<2>(keys, &mut counters, rest);
            while !rest.is_empty() {
                let [vector] = encrypt(keys, counters);
                let (now, after) = rest.split_at_mut(VECTOR_BYTES.min(rest.len()));
                match <&mut [u8; VECTOR_BYTES]>::try_from(&mut *now) {
                    Ok(whole) => store(vector, whole),
                    Err(_) => store_part(vector, now),
                }
                counters = add_low(counters, step(1));
                rest = after;
            }
            wipe_registers();
        }

        /// Fills as much of `destination` as whole batches of `N` registers take; returns the rest.
        #[inline]
        #[target_feature(enable = $features)]
        fn batches<'a, const N: usize>(
            keys: &[Row; 16],
            counters: &mut Vector,
            destination: &'a mut [u8],
        ) -> &'a mut [u8] {
            let batch_bytes = N * VECTOR_BYTES;
            let whole = destination.len() - destination.len() % batch_bytes;
            let (now, rest) = destination.split_at_mut(whole);
            for batch in now.chunks_exact_mut(batch_bytes) {
                let encrypted = encrypt::<N>(keys, *counters);
                for (place, vector) in batch.as_chunks_mut().0.iter_mut().zip(encrypted) {
                    store(vector, place);
                }
                *counters = add_low(*counters, step(N));
            }
            rest
        }
    };
}

pub(crate) use aes_batches;

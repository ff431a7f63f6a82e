//! A call leaves no secret behind: on the stack, and in registers.
//!
//! ```text
//! model      the plain generator, with the state of each round
//! search     reads the stack below a test
//! keystream  the stack after a keystream
//! sha256     the stack after a hash
//! registers  vector registers after a keystream
//! ```

#[path = "common/model.rs"]
mod model;

mod search {
    //! Reads the stack below a test through `/proc/self/mem`, as a debugger or a core dump would see it.

    #![cfg(all(target_os = "linux", not(miri)))]

    use std::fs::File;
    use std::hint::black_box;
    use std::os::unix::fs::FileExt;

    /// How much of the stack is searched.
    pub(crate) const STACK_BYTES: usize = 64 << 10;
    /// Room for the frames of the search itself, above the frames that it searches.
    const ROOM_BYTES: usize = 16 << 10;

    /// Runs `action` on a part of the stack that the search will not write to.
    #[inline(never)]
    pub(crate) fn with_room(action: impl FnOnce()) {
        let room = black_box([0u8; ROOM_BYTES]);
        below(action);
        black_box(&room);
    }

    /// In a frame of its own: an inlined function may have its variables above the room.
    #[inline(never)]
    fn below(action: impl FnOnce()) {
        action();
    }

    /// A copy of the stack.
    pub(crate) struct Stack {
        memory: File,
        bytes: Vec<u8>,
    }

    impl Stack {
        pub(crate) fn new() -> Self {
            Self {
                memory: File::open("/proc/self/mem").unwrap(),
                bytes: vec![0; STACK_BYTES],
            }
        }

        /// Reads the stack below the caller's frame.
        #[inline(never)]
        pub(crate) fn read_below(&mut self) -> &[u8] {
            let here = black_box(0u8);
            let top = (&raw const here as usize) & !7;
            let bottom = top - self.bytes.len();
            self.memory
                .read_exact_at(&mut self.bytes, bottom as u64)
                .unwrap();
            &self.bytes
        }
    }
}

mod keystream {
    //! After a keystream is dropped, its stack holds no key, no output, and no state of the rounds, from which
    //! ChaCha20 can be run backwards to the key.

    #![cfg(all(target_os = "linux", not(miri)))]

    use crate::model::{COUNTER, Counter, KEY, backends, chacha20_states, keystream};
    use crate::search::{STACK_BYTES, Stack, with_room};
    use std::collections::HashSet;
    use std::hint::black_box;
    use wellspring_cipher::{Backend, Keystream, Prf};

    /// Whole batches, rows and a part of a block.
    const OUTPUT_BYTES: usize = 2048 + 512 + 64 + 13;

    /// The values that must not be found: eight bytes at a time, too many to appear by chance.
    type Secrets = HashSet<[u8; 8]>;

    fn insert_words(secrets: &mut Secrets, bytes: &[u8]) {
        for pair in bytes.windows(8).step_by(4) {
            secrets.insert(pair.try_into().unwrap());
        }
    }

    fn secrets(backend: Backend) -> Secrets {
        let mut secrets = Secrets::new();
        insert_words(&mut secrets, &KEY);
        for word in KEY.chunks_exact(4) {
            insert_words(&mut secrets, &word.repeat(2)); // in every lane of a vector
        }
        let stream = keystream(backend.prf(), &KEY, COUNTER, OUTPUT_BYTES);
        insert_words(&mut secrets, &stream);
        if backend.prf() == Prf::ChaCha20 {
            let blocks = (0..48).map(|block| Counter((COUNTER + block).to_le_bytes()));
            let states: Vec<_> = blocks
                .map(|counter| chacha20_states(&KEY, &counter.0))
                .collect();
            for round in 1..=20 {
                for (block, states_of_block) in states.iter().enumerate() {
                    let bytes =
                        |block: usize, word: usize| states[block][round][word].to_le_bytes();
                    // Side by side where a register holds a row, and where it holds one word.
                    let rows: Vec<u8> = (0..16).flat_map(|word| bytes(block, word)).collect();
                    rows.chunks_exact(16)
                        .for_each(|row| insert_words(&mut secrets, row));
                    for word in (0..16).filter(|_| block + 1 < states.len()) {
                        let pair = [bytes(block, word), bytes(block + 1, word)].concat();
                        insert_words(&mut secrets, &pair);
                    }
                    assert_eq!(states_of_block.len(), 21);
                }
            }
        }
        secrets
    }

    /// The number of secrets found below the caller's frame.
    #[inline(never)]
    fn found_below(secrets: &Secrets, stack: &mut Stack) -> usize {
        let pairs = stack.read_below().windows(8).step_by(4);
        pairs.filter(|pair| secrets.contains(*pair)).count()
    }

    #[test]
    fn the_search_finds_a_key_that_is_left() {
        let mut stack = Stack::new();
        let secrets = secrets(Backend::Aes256Portable);
        with_room(|| {
            let copy = black_box(KEY);
            black_box(&copy);
        });
        assert_ne!(found_below(&secrets, &mut stack), 0);
    }

    #[test]
    fn no_key_and_no_output_stays_on_the_stack() {
        let mut stack = Stack::new();
        let mut output = vec![0; OUTPUT_BYTES];
        let mut left = Vec::new();
        for backend in backends() {
            let secrets = secrets(backend);
            with_room(|| {
                black_box([0u8; STACK_BYTES]);
            });
            assert_eq!(found_below(&secrets, &mut stack), 0, "{backend}: before");
            with_room(|| {
                let mut stream = Keystream::new(backend, &KEY, COUNTER);
                stream.fill(&mut output);
            });
            let found = found_below(&secrets, &mut stack);
            left.extend((found > 0).then_some((backend, found)));
        }
        assert_eq!(left, [], "pieces of secrets left on the stack");
    }

    #[test]
    fn no_key_and_no_output_of_blocks_at_a_number_stays_on_the_stack() {
        let mut stack = Stack::new();
        let mut output = vec![0; OUTPUT_BYTES];
        let mut left = Vec::new();
        for backend in backends() {
            let secrets = secrets(backend);
            with_room(|| {
                black_box([0u8; STACK_BYTES]);
            });
            with_room(|| Keystream::new(backend, &KEY, 0).fill_at(20, COUNTER, &mut output));
            let found = found_below(&secrets, &mut stack);
            left.extend((found > 0).then_some((backend, found)));
        }
        assert_eq!(left, [], "pieces of secrets left on the stack");
    }
}

mod registers {
    //! After a call the vector registers hold no key and no output: on x86-64 the low 128 bits, on arm64 all.

    #![cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]

    use crate::model::{COUNTER, KEY, backends, keystream};
    use std::arch::asm;
    use std::collections::HashSet;
    use std::hint::black_box;
    use wellspring_cipher::Keystream;

    /// Whole batches, and a part of a block.
    const OUTPUT_BYTES: usize = 2048 + 512 + 64 + 13;

    /// Copies the registers. A macro, since a call would use some.
    #[cfg(target_arch = "x86_64")]
    macro_rules! registers {
    () => {{
        let mut bytes = [0u8; 256];
        // SAFETY: stores 256 bytes in the array, and changes no register.
        unsafe {
            asm!(
                "movups [{0}], xmm0", "movups [{0} + 16], xmm1", "movups [{0} + 32], xmm2", "movups [{0} + 48], xmm3",
                "movups [{0} + 64], xmm4", "movups [{0} + 80], xmm5", "movups [{0} + 96], xmm6",
                "movups [{0} + 112], xmm7", "movups [{0} + 128], xmm8", "movups [{0} + 144], xmm9",
                "movups [{0} + 160], xmm10", "movups [{0} + 176], xmm11", "movups [{0} + 192], xmm12",
                "movups [{0} + 208], xmm13", "movups [{0} + 224], xmm14", "movups [{0} + 240], xmm15",
                in(reg) bytes.as_mut_ptr(), options(nostack, preserves_flags),
            );
        }
        bytes
    }};
}

    /// Copies the registers. A macro, since a call would use some.
    #[cfg(target_arch = "aarch64")]
    macro_rules! registers {
    () => {{
        let mut bytes = [0u8; 512];
        // SAFETY: stores 512 bytes in the array, and changes no register.
        unsafe {
            asm!(
                "stp q0, q1, [{0}]", "stp q2, q3, [{0}, 32]", "stp q4, q5, [{0}, 64]", "stp q6, q7, [{0}, 96]",
                "stp q8, q9, [{0}, 128]", "stp q10, q11, [{0}, 160]", "stp q12, q13, [{0}, 192]",
                "stp q14, q15, [{0}, 224]", "stp q16, q17, [{0}, 256]", "stp q18, q19, [{0}, 288]",
                "stp q20, q21, [{0}, 320]", "stp q22, q23, [{0}, 352]", "stp q24, q25, [{0}, 384]",
                "stp q26, q27, [{0}, 416]", "stp q28, q29, [{0}, 448]", "stp q30, q31, [{0}, 480]",
                in(reg) bytes.as_mut_ptr(), options(nostack, preserves_flags),
            );
        }
        bytes
    }};
}

    /// Words of a key and of its output, alone and repeated. A function of its own, that knows no key: the compiler kept words of
    /// a constant one in registers that a callee leaves as they are.
    #[inline(never)]
    fn secrets(key: &[u8; 32], output: &[u8]) -> HashSet<Vec<u8>> {
        let pairs = [key.as_slice(), output].map(|bytes| bytes.windows(8).step_by(4));
        let mut secrets: HashSet<Vec<u8>> =
            pairs.into_iter().flatten().map(<[u8]>::to_vec).collect();
        secrets.extend(key.chunks_exact(4).map(|word| word.repeat(2)));
        secrets
    }

    #[test]
    fn no_key_and_no_output_stays_in_vector_registers() {
        for backend in backends().filter(|backend| !backend.name().ends_with("-portable")) {
            let key = black_box(&KEY);
            let mut output = vec![0; OUTPUT_BYTES];
            let secrets = secrets(key, &keystream(backend.prf(), key, COUNTER, OUTPUT_BYTES));
            let mut stream = Keystream::new(backend, key, COUNTER);
            let after_set_up = registers!();
            stream.fill(&mut output);
            let after_fill = registers!();
            let found = |bytes: &[u8]| bytes.windows(8).any(|word| secrets.contains(word));
            assert!(found(&output), "the search itself");
            assert!(!found(&after_set_up), "{backend}: after the key was set up");
            assert!(!found(&after_fill), "{backend}: after a fill");
        }
    }
}

mod sha256 {
    //! After a call the stack below a hash holds nothing of the message, of its schedule, of the working
    //! variables and of the digest: each of them leads back to the seed or the pool that was hashed.

    #![cfg(all(target_os = "linux", not(miri)))]

    use crate::search::{STACK_BYTES, Stack, with_room};
    use sha2::Digest;
    use std::collections::HashSet;
    use std::hint::black_box;
    use wellspring_cipher::sha256::{Compression, DIGEST_BYTES, Sha256};

    /// Three whole blocks and a part of one.
    const MESSAGE_BYTES: usize = 3 * 64 + 27;

    /// One word of 32 bits may be met by chance, about once in ten thousand runs; two are not.
    const BY_CHANCE: usize = 1;

    /// The words that must not be found, each alone: the compiler spills the variables one by one.
    type Secrets = HashSet<[u8; 4]>;

    fn message() -> Vec<u8> {
        let seeds = (0u8..).map(|seed| sha2::Sha256::digest([seed]));
        seeds.flatten().take(MESSAGE_BYTES).collect()
    }

    /// The words of the padded message and of its schedule, the variables after each round, the states
    /// between the blocks and the digest, in both byte orders.
    fn secrets(message: &[u8]) -> Secrets {
        let constants = fractions_of_roots::<64>(3);
        let initial = fractions_of_roots::<8>(2);
        let mut words = Vec::new();
        let mut state = initial;
        for block in padded(message).chunks_exact(64) {
            let mut schedule = [0u32; 64];
            for t in 0..64 {
                schedule[t] = match t {
                    0..16 => u32::from_be_bytes(block[4 * t..][..4].try_into().unwrap()),
                    _ => next_word(&schedule[t - 16..t]),
                };
            }
            words.extend(schedule);
            let mut variables = state;
            for (word, constant) in schedule.iter().zip(constants) {
                round(&mut variables, word.wrapping_add(constant));
                words.extend(variables);
            }
            for (word, variable) in state.iter_mut().zip(variables) {
                *word = word.wrapping_add(variable);
            }
            words.extend(state);
        }
        let digest: Vec<u8> = state.iter().flat_map(|word| word.to_be_bytes()).collect();
        assert_eq!(digest, *sha2::Sha256::digest(message), "the model itself");
        // These are no secrets: the initial state, and words of the padding.
        words.retain(|word| !initial.contains(word) && *word > 0xffff);
        let both = |word: u32| [word.to_be_bytes(), word.to_le_bytes()];
        words.into_iter().flat_map(both).collect()
    }

    /// The first 32 bits of the fractions of the square or cube roots of the first primes.
    fn fractions_of_roots<const N: usize>(degree: u32) -> [u32; N] {
        let mut primes = (2u128..).filter(|n| (2..*n).all(|divisor| n % divisor != 0));
        [(); N].map(|()| {
            let shifted = primes.next().unwrap() << (32 * degree);
            let bits = (0..40).rev();
            bits.fold(0u128, |root, bit| match root | 1 << bit {
                larger if larger.pow(degree) <= shifted => larger,
                _ => root,
            }) as u32
        })
    }

    /// FIPS 180-4, 5.1.1.
    fn padded(message: &[u8]) -> Vec<u8> {
        let mut padded = [message, &[0x80]].concat();
        while padded.len() % 64 != 56 {
            padded.push(0);
        }
        padded.extend((message.len() as u64 * 8).to_be_bytes());
        padded
    }

    /// FIPS 180-4, 6.2.2 step 1, from the sixteen words before.
    fn next_word(before: &[u32]) -> u32 {
        let (w15, w2) = (before[1], before[14]);
        let sigma0 = w15.rotate_right(7) ^ w15.rotate_right(18) ^ (w15 >> 3);
        let sigma1 = w2.rotate_right(17) ^ w2.rotate_right(19) ^ (w2 >> 10);
        [before[0], sigma0, before[9], sigma1]
            .into_iter()
            .fold(0, u32::wrapping_add)
    }

    /// FIPS 180-4, 6.2.2 step 3.
    fn round(variables: &mut [u32; 8], input: u32) {
        let [a, b, c, d, e, f, g, h] = *variables;
        let sum1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let sum0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let choice = (e & f) ^ (!e & g);
        let majority = (a & b) ^ (a & c) ^ (b & c);
        let first = [h, sum1, choice, input]
            .into_iter()
            .fold(0, u32::wrapping_add);
        let second = sum0.wrapping_add(majority);
        *variables = [
            first.wrapping_add(second),
            a,
            b,
            c,
            d.wrapping_add(first),
            e,
            f,
            g,
        ];
    }

    /// The number of secrets found below the caller's frame.
    #[inline(never)]
    fn found_below(secrets: &Secrets, stack: &mut Stack) -> usize {
        let (words, _) = stack.read_below().as_chunks();
        let found: HashSet<[u8; 4]> = words
            .iter()
            .copied()
            .filter(|word| secrets.contains(word))
            .collect();
        found.len()
    }

    #[test]
    fn the_search_finds_a_schedule_that_is_left() {
        let secrets = secrets(&message());
        let mut stack = Stack::new();
        let message = message();
        with_room(|| {
            let copy: [u8; 64] = black_box(message[..64].try_into().unwrap());
            black_box(&copy);
        });
        assert!(found_below(&secrets, &mut stack) > BY_CHANCE);
    }

    #[test]
    fn nothing_of_a_message_stays_on_the_stack() {
        let message = message();
        let secrets = secrets(&message);
        let mut stack = Stack::new();
        let mut hash = Box::new(Sha256::ZERO);
        let mut digest = Box::new([0; DIGEST_BYTES]);
        for compression in Compression::ALL.iter().copied() {
            if !compression.is_available() {
                println!("SKIPPED: {compression}, which this CPU lacks");
                continue;
            }
            with_room(|| {
                black_box([0u8; STACK_BYTES]);
            });
            let before = found_below(&secrets, &mut stack);
            assert!(before <= BY_CHANCE, "{compression}: before");
            // Buffered only, a buffered block and whole ones, then the padding.
            for part in [&message[..30], &message[30..]] {
                with_room(|| hash.update_by(compression, part));
                let found = found_below(&secrets, &mut stack);
                assert!(found <= BY_CHANCE, "{compression}: {found} after an update");
            }
            with_room(|| hash.finish_into_by(compression, &mut digest));
            let found = found_below(&secrets, &mut stack);
            assert!(
                found <= BY_CHANCE,
                "{compression}: {found} after the digest"
            );
            assert_eq!(*digest, *sha2::Sha256::digest(&message));
        }
    }
}

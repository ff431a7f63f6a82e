//! Counter mode on instructions that do a round of FIPS 197, for every width of register.

/// Writes `fill` for one width.
///
/// The file that uses it imports `aes_batches` and what that wants, `reread`, `ROUNDS`, and two instructions under the names
/// `round` and `last_round`.
macro_rules! aes_counter_mode {
    ($features:literal) => {
        aes_batches!($features);

        /// Encrypts `N` registers of counters, the first of them `counters`.
        #[inline]
        #[target_feature(enable = $features)]
        fn encrypt<const N: usize>(keys: &[Row; 16], counters: Vector) -> [Vector; N] {
            let keys = reread(keys);
            let mut states = [counters; N];
            for (index, state) in states.iter_mut().enumerate() {
                *state = xor(add_low(counters, step(index)), every_lane(&keys[0]));
            }
            for key in &keys[1..ROUNDS] {
                for state in &mut states {
                    *state = round(*state, every_lane(key));
                }
            }
            for state in &mut states {
                *state = last_round(*state, every_lane(&keys[ROUNDS]));
            }
            states
        }
    };
}

pub(super) use aes_counter_mode;

//! SplitMix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number generators", 2014), which
//! Blackman & Vigna recommend for making a state out of a single word.

/// The first `N` outputs for a seed.
///
/// For `N >= 2` they are never all zero: the output is a bijection of a counter, and the counter
/// differs from word to word.
pub(crate) const fn state_words<const N: usize>(seed: u64) -> [u64; N] {
    let mut words = [0; N];
    let mut counter = seed;
    let mut i = 0;
    while i < N {
        counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        words[i] = output(counter);
        i += 1;
    }
    words
}

/// The output for a counter: a bijection under which a changed bit changes any other with a
/// probability near one half.
pub(crate) const fn output(counter: u64) -> u64 {
    let z = (counter ^ (counter >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outputs_are_the_published_sequence() {
        // The numbers that Java's SplittableRandom and Vigna's splitmix64.c both give.
        assert_eq!(
            state_words(1_234_567),
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }
}

//! Philox4x64-10 (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011).

/// The length of a block in bytes.
pub(crate) const BLOCK_BYTES: usize = 32;

/// Blocks that are made side by side: one alone waits for its own multiplications.
const BLOCKS_AT_ONCE: usize = 2;

const MULTIPLIERS: [u64; 2] = [0xd2e7_470e_e14c_6c93, 0xca5a_8263_9512_1157];

/// The constants added to the key after each round: the golden ratio and the square root of 3, less 1.
const KEY_STEPS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xbb67_ae85_84ca_a73b];

const ROUNDS: usize = 10;

/// The block of a counter under a key: Philox4x64 with 10 rounds, as in Random123.
///
/// ```
/// use wellspring_pseudo::philox4x64_10;
///
/// // The first line for this function in the file kat_vectors of Random123.
/// let block = philox4x64_10([0; 4], [0; 2]);
/// assert_eq!(block[0], 0x1655_4d9e_ca36_314c);
/// ```
#[inline]
#[must_use]
pub fn philox4x64_10(counter: [u64; 4], key: [u64; 2]) -> [u64; 4] {
    let [block] = blocks([counter], key);
    block
}

/// Overwrites `destination` with the blocks from `first` on, words as little-endian bytes, the last
/// block in part.
///
/// `first` is the counter, its lower and its upper 128 bits. The lower half must not wrap before the
/// last block.
pub(crate) fn fill(key: [u64; 2], first: [u128; 2], destination: &mut [u8]) {
    let [low, high] = first;
    let counter = |index: usize| {
        let low = low + index as u128;
        [
            low as u64,
            (low >> 64) as u64,
            high as u64,
            (high >> 64) as u64,
        ]
    };
    let (groups, rest) = destination.as_chunks_mut::<{ BLOCKS_AT_ONCE * BLOCK_BYTES }>();
    let blocks_in_groups = BLOCKS_AT_ONCE * groups.len();
    for (index, group) in groups.iter_mut().enumerate() {
        let counters = core::array::from_fn(|i| counter(BLOCKS_AT_ONCE * index + i));
        store(&blocks::<BLOCKS_AT_ONCE>(counters, key), group);
    }
    for (index, part) in rest.chunks_mut(BLOCK_BYTES).enumerate() {
        store(&blocks([counter(blocks_in_groups + index)], key), part);
    }
}

/// Stores as much of the blocks as `destination` takes.
#[inline(always)]
fn store(blocks: &[[u64; 4]], destination: &mut [u8]) {
    let words = blocks.as_flattened();
    for (part, word) in destination.chunks_mut(size_of::<u64>()).zip(words) {
        part.copy_from_slice(&word.to_le_bytes()[..part.len()]);
    }
}

#[inline(always)]
fn blocks<const N: usize>(mut states: [[u64; 4]; N], mut key: [u64; 2]) -> [[u64; 4]; N] {
    for _ in 0..ROUNDS {
        for [a, b, c, d] in &mut states {
            let (low_a, high_a) = wide_product(MULTIPLIERS[0], *a);
            let (low_c, high_c) = wide_product(MULTIPLIERS[1], *c);
            (*a, *b) = (high_c ^ *b ^ key[0], low_c);
            (*c, *d) = (high_a ^ *d ^ key[1], low_a);
        }
        key[0] = key[0].wrapping_add(KEY_STEPS[0]);
        key[1] = key[1].wrapping_add(KEY_STEPS[1]);
    }
    states
}

/// The low and the high half of a product.
#[inline(always)]
fn wide_product(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    (product as u64, (product >> 64) as u64)
}

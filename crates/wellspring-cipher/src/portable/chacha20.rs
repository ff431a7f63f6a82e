//! Generation of ChaCha blocks (RFC 8439, 2.3), one at a time.

use crate::chacha20_key::ChaCha20Key;

const BLOCK_BYTES: usize = 64;

/// The four rows of a state.
type Rows = [[u32; 4]; 4];

/// Overwrites `destination` with the blocks of `ROUNDS` rounds from `counter` on and steps the counter.
#[inline(never)]
pub(crate) fn fill<const ROUNDS: usize>(
    key: &ChaCha20Key,
    counter: &mut u128,
    destination: &mut [u8],
) {
    let (blocks, rest) = destination.as_chunks_mut();
    for place in blocks {
        block::<ROUNDS>(key, *counter, place);
        *counter = counter.wrapping_add(1);
    }
    if !rest.is_empty() {
        let mut last = [0; BLOCK_BYTES];
        block::<ROUNDS>(key, *counter, &mut last);
        rest.copy_from_slice(&last[..rest.len()]);
        *counter = counter.wrapping_add(1);
    }
}

#[inline(always)]
fn block<const ROUNDS: usize>(
    key: &ChaCha20Key,
    counter: u128,
    destination: &mut [u8; BLOCK_BYTES],
) {
    let [upper, lower] = &key.0;
    let first = [
        words(b"expand 32-byte k"),
        words(upper),
        words(lower),
        words(&counter.to_le_bytes()),
    ];
    let mut rows = first;
    for _ in 0..ROUNDS / 2 {
        quarter_rounds(&mut rows);
        turn(&mut rows, [1, 2, 3]);
        quarter_rounds(&mut rows);
        turn(&mut rows, [3, 2, 1]);
    }
    let (places, _) = destination.as_chunks_mut::<4>();
    let sums = rows.as_flattened().iter().zip(first.as_flattened());
    for (place, (word, first)) in places.iter_mut().zip(sums) {
        *place = word.wrapping_add(*first).to_le_bytes();
    }
}

#[inline(always)]
fn words(row: &[u8; 16]) -> [u32; 4] {
    let (words, _) = row.as_chunks();
    [0, 1, 2, 3].map(|i| u32::from_le_bytes(words[i]))
}

/// RFC 8439, 2.1, down every column.
#[inline(always)]
fn quarter_rounds([a, b, c, d]: &mut Rows) {
    for i in 0..4 {
        a[i] = a[i].wrapping_add(b[i]);
        d[i] = (d[i] ^ a[i]).rotate_left(16);
        c[i] = c[i].wrapping_add(d[i]);
        b[i] = (b[i] ^ c[i]).rotate_left(12);
        a[i] = a[i].wrapping_add(b[i]);
        d[i] = (d[i] ^ a[i]).rotate_left(8);
        c[i] = c[i].wrapping_add(d[i]);
        b[i] = (b[i] ^ c[i]).rotate_left(7);
    }
}

/// Turns rows b, c and d left by so many words: the diagonals become columns.
#[inline(always)]
fn turn([_, b, c, d]: &mut Rows, [by_b, by_c, by_d]: [usize; 3]) {
    b.rotate_left(by_b);
    c.rotate_left(by_c);
    d.rotate_left(by_d);
}

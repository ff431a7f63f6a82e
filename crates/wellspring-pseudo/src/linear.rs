//! Jumps of a linear engine.
//!
//! A step of such an engine is a linear map T of its state bits over GF(2), so that n steps are the
//! map T^n. By Cayley and Hamilton T^n is a polynomial in T with fewer coefficients than the state
//! has bits: x^n modulo the characteristic polynomial of T. A jump evaluates that polynomial at T,
//! applied to the state: as many steps as the state has bits, however large n is (Haramoto et al.,
//! "Efficient jump ahead for F2-linear random number generators", 2008).

/// The state that lies x^n ahead, where `polynomial` is x^n modulo the characteristic polynomial of
/// `step`: bit b of word i is the coefficient of x^(64 i + b).
pub(crate) fn jump<const N: usize>(
    mut state: [u64; N],
    polynomial: &[u64; N],
    step: impl Fn([u64; N]) -> [u64; N],
) -> [u64; N] {
    let mut sum = [0; N];
    for coefficients in polynomial {
        for bit in 0..64 {
            if coefficients >> bit & 1 == 1 {
                for (total, word) in sum.iter_mut().zip(state) {
                    *total ^= word;
                }
            }
            state = step(state);
        }
    }
    sum
}

/// Whether this is the one state that a linear step never leaves.
pub(crate) const fn is_zero<const N: usize>(words: &[u64; N]) -> bool {
    let mut any = 0;
    let mut i = 0;
    while i < N {
        any |= words[i];
        i += 1;
    }
    any == 0
}

#[cfg(test)]
mod tests;

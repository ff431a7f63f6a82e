//! Jumps of a linear generator, and any number of steps.
//!
//! A step of such a generator is a linear map T of its state bits over GF(2), and n steps are the map
//! T^n. By Cayley and Hamilton T^n is a polynomial in T with fewer coefficients than the state has
//! bits: x^n modulo the characteristic polynomial of T. A jump computes that polynomial and applies
//! it to the state. The second part takes as many steps as the state has bits, however large n is
//! (Haramoto et al., "Efficient jump ahead for F2-linear random number generators", 2008).

/// Polynomials over GF(2), modulo x^(64 N) + `tail`: bit b of word i is the coefficient of
/// x^(64 i + b).
pub(crate) struct Modulus<const N: usize> {
    pub(crate) tail: [u64; N],
}

impl<const N: usize> Modulus<N> {
    pub(crate) const ONE: [u64; N] = low_word(1);
    #[cfg(test)]
    pub(crate) const X: [u64; N] = low_word(2);

    fn times_x(&self, a: [u64; N]) -> [u64; N] {
        let mut product = [0; N];
        let mut carry = 0;
        for i in 0..N {
            product[i] = a[i] << 1 | carry;
            carry = a[i] >> 63;
        }
        // A mask in place of a branch, which would be wrong every second time.
        add(product, self.tail.map(|word| word & carry.wrapping_neg()))
    }

    pub(crate) fn times(&self, a: [u64; N], b: [u64; N]) -> [u64; N] {
        let mut product = [0; N];
        for i in (0..64 * N).rev() {
            let coefficient = b[i / 64] >> (i % 64) & 1;
            let multiple = a.map(|word| word & coefficient.wrapping_neg());
            product = add(self.times_x(product), multiple);
        }
        product
    }

    /// x^`exponent`
    pub(crate) fn power_of_x(&self, exponent: u128) -> [u64; N] {
        let bits = u128::BITS - exponent.leading_zeros();
        let mut power = Self::ONE;
        for i in (0..bits).rev() {
            power = self.times(power, power);
            if exponent >> i & 1 == 1 {
                power = self.times_x(power);
            }
        }
        power
    }

    pub(crate) fn power(&self, base: [u64; N], exponent: u128) -> [u64; N] {
        let bits = u128::BITS - exponent.leading_zeros();
        let mut power = Self::ONE;
        for i in (0..bits).rev() {
            power = self.times(power, power);
            if exponent >> i & 1 == 1 {
                power = self.times(power, base);
            }
        }
        power
    }
}

const fn low_word<const N: usize>(word: u64) -> [u64; N] {
    let mut polynomial = [0; N];
    polynomial[0] = word;
    polynomial
}

fn add<const N: usize>(a: [u64; N], b: [u64; N]) -> [u64; N] {
    core::array::from_fn(|i| a[i] ^ b[i])
}

/// The state n steps ahead, where `polynomial` is x^n modulo the characteristic polynomial of `step`.
pub(crate) fn ahead<const N: usize>(
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

/// Whether all words are zero: the state that a linear step never leaves.
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

//! The cutoffs of the adaptive proportion test (SP 800-90B 4.4.2), computed in whole numbers.
//!
//! A source with H bits of min-entropy a symbol yields no value with a chance above p = 2^-H. In a window of W
//! symbols the count of the first one is then binomial at worst, and the cutoff for a false alarm of alpha is the
//! least C with P(X >= C) <= alpha, X ~ B(W, p): 1 + critbinom(W, p, 1 - alpha) in the standard's words.
//!
//! p is irrational. All numbers here are whole multiples of 2^-F; each rounds down, and the sum of everything lost
//! is below 2^(W + 32 - F). Where alpha is not further from a sum than that, the computation says so instead of
//! guessing. With F = 2 W + 256 it happens for full windows alone, whose chance 2^(-H W) is a power of two and may be
//! alpha itself; those are compared by their exponents.

use num_bigint::BigUint;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The table, in the repository.
const TABLE: &str = "crates/wellspring-core/src/health/table.rs";

/// -log2 of alpha for the intermittent and the permanent grade.
const ALPHA_EXPONENTS: [usize; 2] = [30, 60];

/// A claim is in 256ths of a bit.
const PARTS: usize = 256;

/// Writes the table, or only compares it.
pub(crate) fn run(root: &Path, check: bool) -> Result<(), String> {
    let path = root.join(TABLE);
    let computed = table()?;
    if !check {
        return fs::write(&path, computed).map_err(|error| format!("{TABLE}: {error}"));
    }
    match fs::read_to_string(&path) {
        Ok(stored) if stored == computed => {
            println!("{TABLE} holds what `cargo xtask cutoffs` computes");
            Ok(())
        }
        Ok(_) => Err(format!(
            "{TABLE} differs from what `cargo xtask cutoffs` computes"
        )),
        Err(error) => Err(format!("{TABLE}: {error}")),
    }
}

/// The table as a Rust file.
fn table() -> Result<String, String> {
    let mut text = String::from(
        "//! The cutoffs of the adaptive proportion test, for each claim from 1/256 of a bit up. Written by\n\
         //! `cargo xtask cutoffs`, which says how; `cargo xtask cutoffs --check` compares.\n\
         //!\n\
         //! A higher claim never has a higher cutoff. So a table holds steps, from the lowest bit of the first word on: a 1\n\
         //! lowers the cutoff by one, a 0 ends a claim. The first cutoff is that of a claim of nothing, the window and one\n\
         //! more. As numbers the tables would take eleven times as much of every program.\n",
    );
    for (window, claims, what) in [
        (
            512,
            8 * PARTS,
            "For claims of up to 8 bits a symbol, in a window of 512: intermittent, permanent.",
        ),
        (
            1024,
            PARTS,
            "For claims of up to a bit, in a window of 1024: intermittent, permanent.",
        ),
    ] {
        let rows = cutoffs(window, claims)?;
        let mut tables = [0, 1].map(|grade| {
            let cutoffs: Vec<usize> = rows.iter().map(|row| row[grade]).collect();
            steps(window + 1, &cutoffs)
        });
        let words = tables.iter().map(Vec::len).max().unwrap_or(0);
        tables.iter_mut().for_each(|table| table.resize(words, 0));
        let _ = write!(
            text,
            "\n/// {what}\npub(super) static WINDOW_{window}: [[u64; {words}]; 2] = [\n"
        );
        for table in tables {
            text.push_str("    [\n");
            for line in table.chunks(5) {
                let words: Vec<String> = line.iter().map(|word| format!("{word:#018x}")).collect();
                let _ = writeln!(text, "        {},", words.join(", "));
            }
            text.push_str("    ],\n");
        }
        text.push_str("];\n");
    }
    Ok(text)
}

/// The steps from one cutoff to the next, as the table's head describes them.
fn steps(first: usize, cutoffs: &[usize]) -> Vec<u64> {
    let mut bits = Vec::new();
    let mut last = first;
    for &cutoff in cutoffs {
        bits.extend((cutoff..last).map(|_| 1));
        bits.push(0);
        last = cutoff;
    }
    let word = |bits: &[u64]| bits.iter().rev().fold(0, |word, bit| word << 1 | bit);
    bits.chunks(64).map(word).collect()
}

/// Both cutoffs for the claims of 1, 2, .. `claims` 256ths of a bit.
fn cutoffs(window: usize, claims: usize) -> Result<Vec<[usize; 2]>, String> {
    let fraction_bits = 2 * window + 256;
    let binomials = binomials(window);
    // 2^(-1/256): the square root of a half, and seven times the root of that.
    let one = BigUint::from(1u8) << fraction_bits;
    let root = |value: BigUint| (value << fraction_bits).sqrt();
    let root = (0..PARTS.ilog2()).fold(&one >> 1, |value, _| root(value));
    let mut chance = one.clone();
    let mut rows = Vec::with_capacity(claims);
    for claim in 1..=claims {
        chance = (chance * &root) >> fraction_bits;
        let tails = Tails {
            claim,
            window,
            fraction_bits,
            powers: powers(&chance, window, fraction_bits),
            others: powers(&(&one - &chance), window, fraction_bits),
            binomials: &binomials,
        };
        rows.push(tails.cutoffs()?);
    }
    Ok(rows)
}

/// The chances of a binomial distribution, in 2^-F.
struct Tails<'a> {
    claim: usize,
    window: usize,
    fraction_bits: usize,
    powers: Vec<BigUint>,
    others: Vec<BigUint>,
    binomials: &'a [BigUint],
}

impl Tails<'_> {
    /// The least count for each alpha that comes with a chance of at most that. `window + 1` if even a full window
    /// is likelier.
    fn cutoffs(&self) -> Result<[usize; 2], String> {
        let alphas =
            ALPHA_EXPONENTS.map(|exponent| BigUint::from(1u8) << (self.fraction_bits - exponent));
        let lost = BigUint::from(1u8) << (self.window + 32);
        let mut found = [None; 2];
        let mut tail = BigUint::ZERO;
        for count in (0..=self.window).rev() {
            let ways = &self.binomials[count];
            let chance =
                (&self.powers[count] * &self.others[self.window - count]) >> self.fraction_bits;
            tail += chance * ways;
            for ((cutoff, alpha), exponent) in found.iter_mut().zip(&alphas).zip(ALPHA_EXPONENTS) {
                if cutoff.is_some() {
                    continue;
                }
                if count == self.window {
                    if self.claim * self.window < exponent * PARTS {
                        *cutoff = Some(count + 1);
                    }
                } else if tail > alpha + &lost {
                    *cutoff = Some(count + 1);
                } else if &tail + &lost > *alpha {
                    return Err("too few bits to tell a chance from alpha".into());
                }
            }
            if let [Some(intermittent), Some(permanent)] = found {
                return Ok([intermittent, permanent]);
            }
        }
        Err("all counts together are less likely than alpha".into())
    }
}

/// base^0, base^1, .. base^highest.
fn powers(base: &BigUint, highest: usize, fraction_bits: usize) -> Vec<BigUint> {
    let mut powers = vec![BigUint::from(1u8) << fraction_bits];
    for _ in 0..highest {
        let next = (powers.last().expect("not empty") * base) >> fraction_bits;
        powers.push(next);
    }
    powers
}

/// The binomial coefficients of `window` over 0, 1, .. `window`.
fn binomials(window: usize) -> Vec<BigUint> {
    let mut row = vec![BigUint::from(1u8)];
    for count in 0..window {
        let next = row.last().expect("not empty") * (window - count) / (count + 1);
        row.push(next);
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_window_that_is_exactly_as_likely_as_alpha_fails() {
        // 15/256 of a bit, 512 times, are 30 bits; 14/256 are less.
        let rows = cutoffs(512, 30).unwrap();
        assert_eq!((rows[13], rows[14][0]), ([513, 513], 512));
        assert_eq!((rows[28][1], rows[29][1]), (513, 512));
    }

    #[test]
    fn steps_lead_from_each_cutoff_to_the_next() {
        assert_eq!(steps(9, &[9, 8, 8, 5]), [0b0111_0010]);
        // The last claim begins a word.
        assert_eq!(steps(70, &[7, 7]), [u64::MAX >> 1, 0]);
    }

    #[test]
    fn fair_coins_are_counted_as_whole_numbers_count_them() {
        let rows = cutoffs(512, 256).unwrap();
        // P(X >= C) = ways / 2^512, without a fraction.
        let ways = |from: usize| {
            binomials(512)[from..]
                .iter()
                .fold(BigUint::ZERO, |sum, n| sum + n)
        };
        for (cutoff, exponent) in rows[255].into_iter().zip(ALPHA_EXPONENTS) {
            let alpha = BigUint::from(1u8) << (512 - exponent);
            assert!(ways(cutoff) <= alpha && ways(cutoff - 1) > alpha);
        }
    }
}

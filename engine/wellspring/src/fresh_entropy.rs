//! Data that is different in each copy of a machine, and at each call.

use wellspring_core::sha256::Sha256;
use wellspring_core::wipe;
use wellspring_os::cpu::{Instruction, cycles};
use wellspring_os::os::{now_with_sleep_ns, os_random, wall_clock_ns};
use wellspring_os::sandbox;

/// A digest of the system's output, the processor's output, the cycle counter and the clocks. Takes a few microseconds
/// and never waits. Wiped on drop.
///
/// Two copies of a machine differ in the processor's output and in the cycle counter, even while their kernels do not
/// know yet that they were copied.
pub(crate) struct FreshEntropy {
    digest: [u8; 32],
    /// Whether output of the system's seeded generator is hashed in. Then the digest has 256 bits of min-entropy.
    pub(crate) has_system_output: bool,
}

impl FreshEntropy {
    /// Nothing yet.
    pub(crate) const EMPTY: Self = Self {
        digest: [0; 32],
        has_system_output: false,
    };

    /// Gathers, in place: a digest that moves leaves copies on the stack.
    pub(crate) fn gather(&mut self) -> &[u8; 32] {
        let mut hash = Sha256::ZERO;
        hash.update(&self.digest);
        self.has_system_output = os_random(&mut self.digest) == Ok(self.digest.len());
        hash.update(&self.digest);
        for instruction in [Instruction::Seed, Instruction::Number] {
            add_words(instruction, &mut hash);
        }
        // The vDSO makes a system call for these two if it cannot read the machine's clock by itself.
        let has_clocks = !sandbox::is_prepared() && !cfg!(miri);
        if has_clocks {
            hash.update(&wall_clock_ns().to_le_bytes());
            hash.update(&now_with_sleep_ns().to_le_bytes());
        }
        hash.update(&cycles().to_le_bytes());
        hash.finish_into(&mut self.digest);
        &self.digest
    }

    /// Hashes in data of the caller's, if there is any.
    pub(crate) fn add(&mut self, data: &[u8]) -> &[u8; 32] {
        if !data.is_empty() {
            let mut hash = Sha256::ZERO;
            hash.update(&self.digest);
            hash.update(data);
            hash.finish_into(&mut self.digest);
        }
        &self.digest
    }
}

/// Adds 4 words from the processor.
#[inline(never)]
fn add_words(instruction: Instruction, hash: &mut Sha256) {
    for _ in 0..4 {
        let mut word = instruction.draw().unwrap_or(0).to_le_bytes();
        hash.update(&word);
        wipe(&mut word);
    }
}

impl Drop for FreshEntropy {
    fn drop(&mut self) {
        wipe(&mut self.digest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_calls_never_give_the_same() {
        let (mut one, mut other) = (FreshEntropy::EMPTY, FreshEntropy::EMPTY);
        assert_ne!(one.gather(), other.gather());
        let first = *one.gather();
        assert_ne!(first, *one.gather());
    }

    #[test]
    fn two_copies_with_the_same_clocks_and_kernel_differ_by_their_secrets() {
        let copy = |secret: &[u8]| {
            let mut entropy = FreshEntropy::EMPTY;
            *entropy.add(secret)
        };
        assert_ne!(copy(&[1; 32]), copy(&[2; 32]));
        assert_eq!(copy(&[1; 32]), copy(&[1; 32]));
        assert_eq!(copy(&[]), copy(&[]));
    }
}

//! The cycle counter, RDRAND and RDSEED.

/// The cycle counter: a fine time stamp, of no fixed unit. Zero on machines without one.
#[must_use]
#[inline]
pub fn cycles() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: RDTSC is on every x86-64 machine.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    return 0;
}

/// The processor's random-number instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// RDSEED: conditioned noise.
    Rdseed,
    /// RDRAND: the output of a generator in the processor, seeded from the same noise.
    Rdrand,
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Instruction;
    use core::arch::x86_64::{_rdrand64_step, _rdseed64_step};

    cpufeatures::new!(has_rdrand, "rdrand");
    cpufeatures::new!(has_rdseed, "rdseed");

    pub(super) fn available(instruction: Instruction) -> bool {
        match instruction {
            Instruction::Rdseed => has_rdseed::get(),
            Instruction::Rdrand => has_rdrand::get(),
        }
    }

    #[target_feature(enable = "rdseed")]
    fn rdseed() -> Option<u64> {
        let mut word = 0;
        (_rdseed64_step(&mut word) == 1).then_some(word)
    }

    #[target_feature(enable = "rdrand")]
    fn rdrand() -> Option<u64> {
        let mut word = 0;
        (_rdrand64_step(&mut word) == 1).then_some(word)
    }

    pub(super) fn draw(instruction: Instruction) -> Option<u64> {
        if !available(instruction) {
            return None;
        }
        // SAFETY: the processor has the instruction.
        unsafe {
            match instruction {
                Instruction::Rdseed => rdseed(),
                Instruction::Rdrand => rdrand(),
            }
        }
    }
}

impl Instruction {
    /// Whether this processor has it.
    #[must_use]
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return x86::available(self);
        #[cfg(not(target_arch = "x86_64"))]
        return false;
    }

    /// Executes it once. `None`: the processor has nothing now, or has no such instruction.
    #[must_use]
    pub fn draw(self) -> Option<u64> {
        #[cfg(target_arch = "x86_64")]
        return x86::draw(self);
        #[cfg(not(target_arch = "x86_64"))]
        return None;
    }
}

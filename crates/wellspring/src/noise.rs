//! What is different at every moment and in every copy of a machine, as far as one call can tell.

use rustix::time::{ClockId, clock_gettime};
use sha2::{Digest, Sha256};
use wellspring_sys::cpu::{Instruction, cycles};
use wellspring_sys::system::os_random;
use zeroize::{Zeroize, Zeroizing};

/// A digest of the system's output, the processor's, the cycle counter and the clocks. Takes a few microseconds and
/// never waits.
///
/// Two copies of a machine differ in the processor's output and in the cycle counter even while their kernels do not
/// know yet that they were copied.
pub(crate) struct Noise {
    digest: Zeroizing<[u8; 32]>,
    is_of_system: bool,
}

impl Noise {
    pub(crate) fn now() -> Self {
        let mut hash = Sha256::new();
        let mut bytes = Zeroizing::new([0; 32]);
        let is_of_system = os_random(&mut *bytes) == Ok(bytes.len());
        hash.update(*bytes);
        for instruction in [Instruction::Rdseed, Instruction::Rdrand] {
            for _ in 0..4 {
                let mut word = instruction.draw().unwrap_or(0);
                hash.update(word.to_le_bytes());
                word.zeroize();
            }
        }
        for clock in [ClockId::Realtime, ClockId::Boottime] {
            let now = clock_gettime(clock);
            hash.update(now.tv_sec.to_le_bytes());
            hash.update(now.tv_nsec.to_le_bytes());
        }
        hash.update(cycles().to_le_bytes());
        Self {
            digest: Zeroizing::new(hash.finalize().into()),
            is_of_system,
        }
    }

    pub(crate) fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// Whether the system's generator, seeded, has a part in it: then it is worth 256 bits.
    pub(crate) fn is_of_system(&self) -> bool {
        self.is_of_system
    }
}

//! The processor's instructions.

use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use wellspring_core::sha256::Sha256;
use wellspring_core::source::{MinEntropy, Source, SourceError, Symbol};
use wellspring_os::cpu::Instruction;
use wellspring_os::memory::erase_below;

/// RDSEED, or RDRAND where there is no RDSEED; on arm64 RNDRRS.
///
/// It may have nothing at any time, since all cores may share one generator. That is no fault: the draw then yields
/// nothing.
///
/// Claims nothing, unless the operator does: only the maker can assess it, and some processors have returned constants
/// (all ones after a resume, zeros reported as success). A self-test before the first sample catches those, and a
/// comparison of every word with the last. Output that passes is still mixed in: it protects against an attacker
/// who knows every other source.
#[derive(Debug, Default)]
pub struct Cpu {
    claim: Option<MinEntropy>,
    self_test: AtomicU8,
    /// A fingerprint of the last word: see [`fingerprint`].
    last: AtomicU64,
}

const UNTESTED: u8 = 0;
const PASSED: u8 = 1;
const FAILED: u8 = 2;

/// How often an instruction that has no number ready is asked, without a claim and with one. Intel's guide (Digital
/// Random Number Generator, 5.2.1) says 10 for RDRAND. RDSEED, drawn on for many words, had nothing after 10 tries for
/// 18 % of them, and after 20 for none.
const TRIES: [usize; 2] = [10, 32];

/// The most words in a sample without a claim, and with one: RDSEED takes up to a microsecond a word. 33 draws, as an
/// engine makes at its start, then give the 1024 words of the start-up test.
const SAMPLE_WORDS: [usize; 2] = [1, 32];

impl Cpu {
    /// The name of this source.
    pub const NAME: &str = "cpu";

    /// Not tested yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            claim: None,
            self_test: AtomicU8::new(UNTESTED),
            last: AtomicU64::new(0),
        }
    }

    /// Claims what the operator claims.
    #[must_use]
    pub const fn with_claim(self, claim: MinEntropy) -> Self {
        Self {
            claim: Some(claim),
            ..self
        }
    }

    fn instruction() -> Option<Instruction> {
        let both = [Instruction::Seed, Instruction::Number];
        both.into_iter()
            .find(|instruction| instruction.is_available())
    }

    /// A word that is neither a known failure nor the last one again.
    fn word(&self, draw: &impl Fn() -> Option<u64>) -> Result<u64, SourceError> {
        let tries = TRIES[usize::from(self.claim.is_some())];
        let mut tries = (0..tries).map(|_| draw());
        let word = tries.find_map(|word| word).ok_or(SourceError::Busy)?;
        self.judge(word)
    }

    fn judge(&self, word: u64) -> Result<u64, SourceError> {
        let new = fingerprint(word);
        let repeats = self.last.swap(new, Ordering::Relaxed) == new;
        if repeats || word == 0 || word == u64::MAX {
            self.self_test.store(FAILED, Ordering::Relaxed);
            return Err(SourceError::SelfTest);
        }
        Ok(word)
    }

    /// Eight words in a row, each judged; once, before the first sample.
    fn tested(&self, draw: &impl Fn() -> Option<u64>) -> Result<(), SourceError> {
        match self.self_test.load(Ordering::Relaxed) {
            PASSED => return Ok(()),
            FAILED => return Err(SourceError::SelfTest),
            _ => {}
        }
        for _ in 0..8 {
            self.word(draw)?;
        }
        let relaxed = Ordering::Relaxed;
        let _ = self
            .self_test
            .compare_exchange(UNTESTED, PASSED, relaxed, relaxed);
        Ok(())
    }
}

/// 64 bits of a hash of a word, to compare with the next word. The word itself went to the pools, and its memory
/// must not tell it.
fn fingerprint(word: u64) -> u64 {
    let mut digest = [0; 32];
    let mut hash = Sha256::ZERO;
    hash.update(&word.to_le_bytes());
    hash.finish_into(&mut digest);
    digest[..8]
        .iter()
        .fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

impl Source for Cpu {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn min_entropy(&self) -> MinEntropy {
        self.claim.unwrap_or(MinEntropy::NONE)
    }

    fn reason(&self) -> &'static str {
        match self.claim {
            Some(_) => "the operator's claim",
            None => "only its maker can assess it",
        }
    }

    fn symbol(&self) -> Symbol {
        Symbol::Word
    }

    fn makes_system_calls(&self) -> bool {
        false
    }

    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError> {
        let instruction = Self::instruction().ok_or(SourceError::Absent)?;
        let drawn = self.words(destination, &|| instruction.draw());
        // The words, which go from a register to the destination by way of the stack.
        erase_below();
        drawn
    }
}

impl Cpu {
    #[inline(never)]
    fn words(
        &self,
        destination: &mut [u8],
        draw: &impl Fn() -> Option<u64>,
    ) -> Result<usize, SourceError> {
        self.tested(draw)?;
        let mut length = 0;
        let words = SAMPLE_WORDS[usize::from(self.claim.is_some())];
        for place in destination.chunks_exact_mut(8).take(words) {
            match self.word(draw) {
                Ok(word) => place.copy_from_slice(&word.to_le_bytes()),
                Err(SourceError::Busy) if length > 0 => break,
                Err(error) => return Err(error),
            }
            length += place.len();
        }
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    #[test]
    fn constants_and_repetitions_fail_for_good() {
        for stuck in [0, u64::MAX, 77] {
            let cpu = Cpu::default();
            assert_eq!(cpu.judge(76), Ok(76));
            let _ = cpu.judge(stuck);
            assert_eq!(cpu.judge(stuck), Err(SourceError::SelfTest), "{stuck}");
            if Cpu::instruction().is_some() {
                assert_eq!(cpu.sample(&mut [0; 64]), Err(SourceError::SelfTest));
            }
        }
    }

    /// An instruction that fails at the draws for which `fails` says so.
    fn failing(fails: impl Fn(u64) -> bool) -> impl Fn() -> Option<u64> {
        let draws = Cell::new(0);
        move || {
            draws.set(draws.get() + 1);
            (!fails(draws.get())).then_some(draws.get())
        }
    }

    #[test]
    fn an_exhausted_instruction_is_asked_ten_times_and_recovers() {
        let cpu = Cpu::default();
        let asked = Cell::new(0);
        let exhausted = || {
            asked.set(asked.get() + 1);
            None
        };
        let mut sample = [0; 16];
        assert_eq!(cpu.words(&mut sample, &exhausted), Err(SourceError::Busy));
        assert_eq!((asked.get(), sample), (10, [0; 16]));
        // It works for 5 words of the self-test, and fails for 10 draws: the test begins again, and passes.
        let pauses = failing(|draw| (6..16).contains(&draw));
        assert_eq!(cpu.words(&mut sample, &pauses), Err(SourceError::Busy));
        assert_eq!(cpu.words(&mut sample, &pauses), Ok(8));
        assert_eq!(cpu.words(&mut sample, &exhausted), Err(SourceError::Busy));
        assert_eq!(cpu.words(&mut sample, &pauses), Ok(8));
    }

    #[test]
    fn an_instruction_that_fails_at_nine_of_ten_draws_yields_all_its_words() {
        let cpu = Cpu::default();
        let rarely = failing(|draw| draw % 10 != 0);
        for _ in 0..1000 {
            assert_eq!(cpu.words(&mut [0; 8], &rarely), Ok(8));
        }
    }

    #[test]
    fn with_a_claim_a_sample_has_as_many_words_as_there_are() {
        let claim = MinEntropy::per_byte_256ths(128);
        let (plain, claimed) = (Cpu::new(), Cpu::new().with_claim(claim));
        assert_eq!(
            (plain.min_entropy(), claimed.min_entropy()),
            (MinEntropy::NONE, claim)
        );
        let mut sample = [0; 256];
        assert_eq!(plain.words(&mut sample, &failing(|_| false)), Ok(8));
        assert_eq!(claimed.words(&mut sample, &failing(|_| false)), Ok(256));
        let rarely = failing(|draw| draw % 32 != 0);
        assert_eq!(claimed.words(&mut sample, &rarely), Ok(256));
        // Nothing is ready after the 8 words of the self-test, 32 and 3.
        let ends = failing(|draw| draw > 3);
        assert_eq!(claimed.words(&mut sample, &ends), Ok(24));
        assert_eq!(claimed.words(&mut sample, &ends), Err(SourceError::Busy));
        assert_eq!(
            claimed.words(&mut sample, &|| Some(7)),
            Err(SourceError::SelfTest)
        );
    }

    #[test]
    fn samples_differ_where_the_processor_has_the_instruction() {
        let cpu = Cpu::default();
        let (mut first, mut second) = ([0; 16], [0; 16]);
        match (cpu.sample(&mut first), cpu.sample(&mut second)) {
            (Ok(8), Ok(8)) => assert_ne!(first, second),
            (Err(SourceError::Absent), _) => println!("SKIPPED: no RDSEED, RDRAND, RNDRRS"),
            (Err(SourceError::Busy), _) | (_, Err(SourceError::Busy)) => {
                println!("SKIPPED: exhausted")
            }
            other => panic!("{other:?}"),
        }
    }
}

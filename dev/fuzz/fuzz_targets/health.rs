//! The health tests on any samples with any claim, cut anywhere: no panic, and the rules that always hold.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wellspring_core::health::{Action, Findings, Grade, Health, SourceHealth};
use wellspring_core::source::{MinEntropy, Symbol};

fuzz_target!(|data: &[u8]| {
    let [low, high, symbol, piece, samples @ ..] = data else {
        return;
    };
    let claim = MinEntropy::per_byte_256ths(u16::from_le_bytes([*low, *high]));
    let symbol = [Symbol::Bit, Symbol::Byte, Symbol::Word][usize::from(*symbol) % 3];
    let length = symbol.bytes() * (1 + usize::from(*piece));
    let whole = samples.len() - samples.len() % symbol.bytes();
    let samples = &samples[..whole];

    let (mut cut, mut at_once) = (Health::ZERO, Health::ZERO);
    let mut found = Findings::default();
    let mut passed = 0;
    for piece in samples.chunks(length) {
        let before = cut.state();
        let outcome = cut.judge(claim, symbol, piece);
        found.add(&outcome.findings);
        let fails = !outcome.findings.is_empty();
        // After a failure, what follows it in the same piece counts: at most all of it.
        passed = if fails { 0 } else { passed } + piece.len() / symbol.bytes();
        if claim == MinEntropy::NONE {
            assert!(outcome.action == Action::Credit && !fails);
            continue;
        }
        // No sample of a start-up, a quarantine or a failure is used, and a disabled source stays disabled.
        assert!(before == SourceHealth::Active || outcome.action == Action::Discard);
        assert!(!fails || outcome.action == Action::Discard);
        assert!(
            before != SourceHealth::Disabled || (cut.state() == SourceHealth::Disabled && !fails)
        );
        assert!(
            outcome.findings.of_grade(Grade::Permanent) == 0
                || cut.state() == SourceHealth::Disabled
        );
        // A source that becomes active has passed 1024 symbols.
        let enters = before != SourceHealth::Active && cut.state() == SourceHealth::Active;
        assert!(!enters || passed >= 1024);
    }
    if claim == MinEntropy::NONE {
        return;
    }
    // The length of the pieces changes no state, unless a source becomes active in the middle of one.
    let outcome = at_once.judge(claim, symbol, samples);
    if found.is_empty() {
        assert!(outcome.findings.is_empty());
        assert_eq!(
            at_once.state(),
            if samples.is_empty() {
                SourceHealth::StartUp
            } else {
                cut.state()
            }
        );
    } else {
        assert!(!outcome.findings.is_empty());
    }
});

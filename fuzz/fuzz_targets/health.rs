//! The health tests on any samples, claim and cut: no panic, and what is always true of them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wellspring_core::health::{Findings, Grade, Health, Standing, Verdict};
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

    let (mut cut, mut at_once) = (Health::default(), Health::default());
    let mut found = Findings::default();
    let mut passed = 0;
    for piece in samples.chunks(length) {
        let before = cut.standing();
        let ruling = cut.judge(claim, symbol, piece);
        found.add(&ruling.findings);
        let fails = !ruling.findings.is_empty();
        // After a failure, what follows it in the same piece counts: at most all of it.
        passed = if fails { 0 } else { passed } + piece.len() / symbol.bytes();
        if claim == MinEntropy::NONE {
            assert!(ruling.verdict == Verdict::Credit && !fails);
            continue;
        }
        // Nothing of a start-up, a quarantine or a failure is used, and what is out stays out.
        assert!(before == Standing::InUse || ruling.verdict == Verdict::Discard);
        assert!(!fails || ruling.verdict == Verdict::Discard);
        assert!(before != Standing::Out || (cut.standing() == Standing::Out && !fails));
        assert!(ruling.findings.of_grade(Grade::Permanent) == 0 || cut.standing() == Standing::Out);
        // Whoever comes into use has 1024 symbols behind it.
        let enters = before != Standing::InUse && cut.standing() == Standing::InUse;
        assert!(!enters || passed >= 1024);
    }
    if claim == MinEntropy::NONE {
        return;
    }
    // Where samples are cut changes no standing, as long as none comes into use half-way through a piece.
    let ruling = at_once.judge(claim, symbol, samples);
    if found.is_empty() {
        assert!(ruling.findings.is_empty());
        assert_eq!(
            at_once.standing(),
            if samples.is_empty() {
                Standing::StartUp
            } else {
                cut.standing()
            }
        );
    } else {
        assert!(!ruling.findings.is_empty());
    }
});

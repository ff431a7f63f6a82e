//! A report in a sentence or two, with numbers.

use crate::contender::Work;
use crate::format::{digits, duration, rate};
use crate::report::Report;
use crate::subjects::name;
use wellspring::Mode;

const KEY: Work = Work::Fill(32);

/// The most important figure of `report`: what a key costs beside the system call, if that was measured.
#[must_use]
pub fn headline(report: &Report) -> String {
    let of_key = report.times(Mode::PerThread.name(), name::GETRANDOM, KEY);
    of_key.map(|ratio| format!("A 32-byte key: {} getrandom(2) on this machine.", than(ratio)))
        .or_else(|| {
            let read = report.latencies.iter().find(|one| one.name == Mode::PerThread.name() && one.calls > 0)?;
            let median = duration(read.median_ns());
            Some(format!("Half of all 32-byte reads take {median} or less, the clock included, on this machine."))
        })
        .or_else(|| {
            let us = report.footprint.as_ref()?.first_byte_us;
            Some(format!("The first 32 bytes are there after {} on this machine.", duration(us * 1e3)))
        })
        .or_else(|| {
            let loss = report.harvester.iter().find(|one| one.mode == Mode::PerThread)?;
            let kept = digits(100.0 * loss.kept_cpu_share);
            Some(format!("Beside busy readers the harvester keeps {kept} % of its speed on this machine."))
        })
        .or_else(|| match report.blocks.as_slice() {
            [system, pseudo] => Some(format!(
                "Random numbers in a loop that writes blocks: {} getrandom(2) on this machine.",
                than(system.share / pseudo.share)
            )),
            _ => None,
        })
        .unwrap_or_else(|| "Nothing was measured.".into())
}

/// More sentences, as far as the run measured what they tell.
#[must_use]
pub fn sentences(report: &Report) -> Vec<String> {
    let default = Mode::PerThread.name();
    let word = report.find(name::GLOBAL, Work::Word, 1).and_then(|one| {
        let ratio = report.times(name::GLOBAL, name::GETRANDOM, Work::Word)?;
        Some(format!(
            "A u64 takes {}: {} getrandom(2).",
            duration(one.ns_per_request()),
            than(ratio)
        ))
    });
    let bulk = report
        .find(default, Work::Fill(1 << 20), 1)
        .and_then(|one| {
            let ratio = report.times(default, name::GETRANDOM, one.work)?;
            Some(format!(
                "1 MiB at a time: {}, {} getrandom(2).",
                rate(one.bytes_per_second()),
                than(ratio)
            ))
        });
    word.into_iter().chain(bulk).collect()
}

/// A ratio of throughputs in words.
fn than(ratio: f64) -> String {
    match ratio {
        1.05.. => format!("{} times faster than", digits(ratio)),
        0.95.. => "as fast as".into(),
        _ => format!("{} times slower than", digits(1.0 / ratio)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::Family;
    use crate::sample;

    fn of(ours: f64, theirs: f64) -> String {
        let mut report = sample::report();
        report.measurements = vec![
            sample::measurement(Mode::PerThread.name(), Family::Mode, KEY, 1, ours),
            sample::measurement(name::GETRANDOM, Family::System, KEY, 1, theirs),
        ];
        headline(&report)
    }

    #[test]
    fn the_first_sentence_says_how_many_times_faster_or_slower() {
        assert_eq!(
            of(440.0, 10.0),
            "A 32-byte key: 44.0 times faster than getrandom(2) on this machine."
        );
        assert_eq!(
            of(10.0, 10.1),
            "A 32-byte key: as fast as getrandom(2) on this machine."
        );
        assert_eq!(
            of(10.0, 25.0),
            "A 32-byte key: 2.50 times slower than getrandom(2) on this machine."
        );
    }

    #[test]
    fn every_section_alone_has_a_sentence_with_a_number() {
        let mut report = sample::report();
        report.measurements.clear();
        let strip: [fn(&mut crate::report::Report); 4] = [
            |report| report.latencies.clear(),
            |report| report.footprint = None,
            |report| report.harvester.clear(),
            |report| report.blocks.clear(),
        ];
        for strip in strip {
            let sentence = headline(&report);
            assert!(
                sentence.contains(|character: char| character.is_ascii_digit()),
                "{sentence}"
            );
            strip(&mut report);
        }
        assert_eq!(headline(&report), "Nothing was measured.");
    }
}

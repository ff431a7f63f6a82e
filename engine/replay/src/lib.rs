//! Known answers: runs the line format of `vectors/` through the pipeline of `wellspring-core`, with the clock and the
//! sources replaced by the file.
//!
//! ```text
//! begin name=N cipher=aes|chacha concurrent=0|1   a fresh engine with one node
//! ev ctr=HHHHHHHH size=S data=HEX dest=D src=other|vmgenid
//!                                                 an event: into pool D mod 32, or pool 0 from vmgenid
//! pre STATE                                       a reseed if pool 0 has 64 bytes; then the state
//! read n=N out=HEX                                a read of N bytes ("-" for none)
//! read n=N sha256=HEX first=HEX last=HEX          the same, where N is large
//!   after STATE                                   the state after the last read
//! gen cipher=.. concurrent=.. K=HEX C=HEX         a fresh generator with this K and C; read and after follow
//! end
//! noise name=N symbol=bit|byte|word claim=C       a fresh source; it claims C / 256 bits a byte
//! samples data=HEX                                its next samples, judged at once
//! samples n=N data=HEX                            the same, N times
//!   health state=S credited=B mixed=B discarded=B repetition=I,P proportion=I,P
//!                                                 the source's state, the bytes used and discarded,
//!                                                 the failures of each test, intermittent and permanent
//! STATE: reseeds=R len0=L C=HEX(16 bytes, little endian) K=HEX(32 bytes)|none
//! ```
//!
//! Lines that start with `#` and empty lines are comments. The answers of a file may be left out: [`run`] computes each
//! one, and compares it if the file has it.
//!
//! ```
//! use wellspring_replay::{Replay, Comparison};
//! let mut replay = Replay::new();
//! replay.line("gen cipher=aes concurrent=1 K=0000000000000000000000000000000000000000000000000000000000000000 \
//!              C=01000000000000000000000000000000")?;
//! let answer = replay.line("read n=4")?.expect("a read has an answer");
//! assert_eq!(answer.comparison, Comparison::NothingExpected);
//! # Ok::<(), wellspring_replay::ReplayError>(())
//! ```

#![forbid(unsafe_code)]

mod fields;
mod pipeline;
mod replay;

pub use fields::{Answer, Comparison, ReplayError};
pub use pipeline::{Event, Pipeline, State};
pub use replay::{Replay, Summary, begins_vector, run, run_function};

#[cfg(test)]
mod tests {
    use crate::*;
    use wellspring_core::Backend;

    const FREEBSD: &str = include_str!("../../../vectors/fortuna-freebsd.txt");

    #[test]
    fn every_backend_gives_freebsds_answers() {
        for &backend in Backend::ALL.iter().filter(|backend| backend.is_available()) {
            let summary = run(
                Replay::with_backend(backend),
                FREEBSD.as_bytes(),
                |number, line, answer| {
                    assert_eq!(
                        answer.comparison,
                        Comparison::Same,
                        "line {number}: {line}\n{}",
                        answer.text
                    );
                },
            );
            let expected = Summary {
                vectors: 58,
                same: 704,
                different: 0,
                open: 0,
            };
            assert_eq!(summary, Ok(expected), "{backend}");
        }
    }

    /// Long reads, in which a concurrent read under AES changes its key.
    #[test]
    fn long_reads_give_the_answers_of_the_independent_model() {
        let file = include_str!("../../../vectors/fortuna-long-reads.txt");
        let summary = run(Replay::new(), file.as_bytes(), |number, _, answer| {
            assert_eq!(
                answer.comparison,
                Comparison::Same,
                "line {number}: {}",
                answer.text
            );
        });
        assert_eq!(summary.map(|summary| summary.same), Ok(15));
    }

    #[test]
    fn a_wrong_answer_is_noticed_in_every_field() {
        let mut replay = Replay::new();
        replay
            .line("begin name=x cipher=chacha concurrent=0")
            .unwrap();
        for wrong in [
            "pre reseeds=1",
            "pre len0=4",
            "pre C=01",
            "pre K=00",
            "after reseeds=0 len0=1",
        ] {
            let answer = replay.line(wrong).unwrap().unwrap();
            assert_eq!(answer.comparison, Comparison::Different, "{wrong}");
        }
        for wrong in [
            "read n=1 out=",
            "read n=1 sha256=00",
            "read n=1 first=-",
            "read n=400 last=00",
        ] {
            let answer = replay.line(wrong).unwrap().unwrap();
            assert_eq!(answer.comparison, Comparison::Different, "{wrong}");
        }
    }

    #[test]
    fn hostile_lines_are_refused_with_their_reason() {
        let mut replay = Replay::new();
        let refused = [
            ("read n=1", ReplayError::NoVector),
            ("nonsense", ReplayError::UnknownLine),
            (
                "begin cipher=des concurrent=0",
                ReplayError::Malformed("cipher"),
            ),
            ("begin cipher=aes", ReplayError::Missing("concurrent")),
            (
                "gen cipher=aes concurrent=0 K=00 C=00",
                ReplayError::Malformed("K"),
            ),
        ];
        for (line, error) in refused {
            assert_eq!(replay.line(line), Err(error), "{line}");
        }
        replay.line("begin name=x cipher=aes concurrent=1").unwrap();
        let refused = [
            ("read n=18446744073709551616", ReplayError::Malformed("n")),
            ("read n=-1", ReplayError::Malformed("n")),
            ("read n=9999999999999", ReplayError::TooLong),
            (
                "ev ctr=1 size=9 data=00 dest=0 src=other",
                ReplayError::Malformed("data"),
            ),
            (
                "ev ctr=xyz size=1 data=00 dest=0 src=other",
                ReplayError::Malformed("ctr"),
            ),
            (
                "ev ctr=1 size=1 data=0g dest=0 src=other",
                ReplayError::Malformed("data"),
            ),
            (
                "ev ctr=1 size=1 data=é0 dest=0 src=other",
                ReplayError::Malformed("data"),
            ),
            (
                "ev ctr=1 size=1 data=00 dest=0 src=me",
                ReplayError::Malformed("src"),
            ),
        ];
        for (line, error) in refused {
            assert_eq!(replay.line(line), Err(error), "{line}");
        }
        assert_eq!(replay.line("end"), Ok(None));
        assert_eq!(replay.line("pre"), Err(ReplayError::NoVector));
    }

    /// The traces of `vectors/noise/`, by name.
    fn noise() -> Vec<(String, String)> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../vectors/noise");
        let files = std::fs::read_dir(folder).expect("the folder is part of the repository");
        let mut vectors = Vec::new();
        for file in files {
            let path = file.expect("the folder can be read").path();
            let text = std::fs::read_to_string(path).expect("a file of text");
            for vector in text.split_inclusive("\nend\n") {
                let (_, rest) = vector.split_once(" name=").expect("a name");
                let (name, _) = rest.split_once(' ').expect("a symbol");
                vectors.push((name.to_owned(), vector.to_owned()));
            }
        }
        vectors
    }

    #[test]
    fn every_trace_of_noise_trips_its_own_test_in_its_own_grade_and_no_other() {
        let mut kinds = std::collections::BTreeSet::new();
        for (name, text) in noise() {
            let mut health = String::new();
            let summary = run(Replay::new(), text.as_bytes(), |_, _, answer| {
                health.clone_from(&answer.text);
            });
            let expected = Summary {
                vectors: 1,
                same: 1,
                different: 0,
                open: 0,
            };
            assert_eq!(summary, Ok(expected), "{name}: {health}");
            let (_, kind) = name.split_once('-').expect("SOURCE-KIND");
            let expected = match kind {
                "sound" => "state=active repetition=0,0 proportion=0,0",
                "stuck-intermittent" => "state=active repetition=1,0 proportion=0,0",
                "stuck-permanent" => "state=disabled repetition=1,1 proportion=0,0",
                "full-permanent" => "state=disabled repetition=1,1 proportion=1,0",
                "biased-intermittent" => "state=active repetition=0,0 proportion=1,0",
                "biased-permanent" => "state=disabled repetition=0,0 proportion=1,1",
                _ => panic!("{name}: of no known kind"),
            };
            for field in expected.split(' ') {
                assert!(health.contains(field), "{name}: {field} is not in {health}");
            }
            kinds.insert(kind.to_owned());
        }
        assert_eq!(kinds.len(), 6, "{kinds:?}");
    }

    #[test]
    fn samples_that_make_no_sense_are_refused() {
        let mut replay = Replay::new();
        assert_eq!(replay.line("samples data=00"), Err(ReplayError::NoVector));
        let begin = |symbol: &str| format!("noise name=x symbol={symbol} claim=256");
        let refused = Err(ReplayError::Malformed("symbol"));
        assert_eq!(replay.line(&begin("nibble")), refused);
        assert_eq!(replay.line(&begin("word")), Ok(None));
        let refused = Err(ReplayError::Malformed("data"));
        assert_eq!(replay.line("samples data=00"), refused);
        assert_eq!(
            replay.line("samples n=99999999 data=0000000000000000"),
            Err(ReplayError::TooLong)
        );
        assert_eq!(replay.line("samples n=40 data=0000000000000000"), Ok(None));
        let health = replay.line("health").unwrap().unwrap();
        // A bit a byte is 8 bits a word: 5 in a row fail, and 9 disable the source.
        for field in ["state=disabled", "repetition=1,1", "proportion=0,0"] {
            assert!(health.text.contains(field), "{}", health.text);
        }
    }

    #[test]
    fn ciphers_are_known_by_the_names_of_the_files_and_by_their_own() {
        for cipher in ["aes", "aes256", "chacha", "chacha20"] {
            let line = format!("begin name=x cipher={cipher} concurrent=1");
            assert_eq!(Replay::new().line(&line), Ok(None), "{cipher}");
        }
    }
}

use super::*;

const FREEBSD: &str = include_str!("../../../../vectors/fortuna-freebsd.txt");

#[test]
fn every_kernel_gives_freebsds_answers() {
    for &kernel in Kernel::ALL.iter().filter(|kernel| kernel.is_available()) {
        let summary = run(
            Replay::with_kernel(kernel),
            FREEBSD.as_bytes(),
            |number, line, answer| {
                assert_eq!(
                    answer.verdict,
                    Verdict::Same,
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
        assert_eq!(summary, Ok(expected), "{kernel}");
    }
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
        assert_eq!(answer.verdict, Verdict::Different, "{wrong}");
    }
    for wrong in [
        "read n=1 out=",
        "read n=1 sha256=00",
        "read n=1 first=-",
        "read n=400 last=00",
    ] {
        let answer = replay.line(wrong).unwrap().unwrap();
        assert_eq!(answer.verdict, Verdict::Different, "{wrong}");
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

//! The gates on speed: has wellspring become slower?
//!
//! Every case is measured beside a yardstick that no change of wellspring moves: a peer of a fixed version, in the same
//! rounds. The ratio of both cancels what the machine does to both.
//!
//! Against another binary of this program, which works on every machine: both take turns, round by round. Against half of
//! what the project wants: this finds a mistake that makes a path several times slower, on machines with AVX-512 and VAES,
//! however busy they are. It is a step of the gate of every change.
//!
//! A loss counts if it is seen in each of three tries, so that one disturbance is no alarm.

use crate::doors::{self, C_NUMBER, GETRANDOM, RAND_SMALL};
use crate::peers;
use indicatif::ProgressBar;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use wellspring::{Engine, Mode};
use wellspring_bench::figures::median;
use wellspring_bench::generators::Request::{self, Fill, Word};
use wellspring_bench::generators::{self, Generator, name};
use wellspring_bench::report::Host;
use wellspring_bench::throughput::{self, Case, Pace};

type Ratios = Vec<(String, f64)>;

const OURS: &str = Mode::PerThread.name();
const MIB: Request = Fill(1 << 20);
const KEY: Request = Fill(32);

/// A generator of wellspring, the generator beside it, the request of both, and the least ratio of their throughput that is
/// wanted.
type Ratio = (&'static str, &'static str, Request, f64);

/// The ratios that the gate watches, as wanted on AVX-512 and VAES.
const OF_GATE: [Ratio; 13] = [
    (name::GLOBAL, peers::RAND, Word, 2.0),
    (name::OWNED, peers::RAND, Word, 2.5),
    (OURS, peers::RAND, KEY, 2.5),
    (name::WATCHED, peers::RAND, Word, 2.0),
    (name::OWNED_WATCHED, peers::RAND, Word, 2.0),
    (name::WATCHED, peers::RAND, KEY, 2.5),
    (name::WATCHED, peers::RAND, Fill(256), 3.0),
    (OURS, peers::RAND, Fill(256), 3.0),
    (OURS, peers::RAND, Fill(4096), 2.7),
    (OURS, peers::AES_CTR, MIB, 1.6),
    (name::CHACHA20, peers::CHACHA20, MIB, 3.0),
    (name::PSEUDO, peers::XOSHIRO, Word, 0.62),
    (name::PSEUDO, peers::FASTRAND, MIB, 4.0),
];

/// The name of a ratio.
fn what(ours: &str, request: Request, other: &str) -> String {
    format!("{ours}, {}, over {other}", request.name())
}

/// How often a loss must be seen.
const TRIES: usize = 3;
/// Turns of the old and the new program, when two are compared.
const TURNS: usize = 7;

/// One second for all cases.
const PACE: Pace = Pace {
    rounds: 11,
    slice: Duration::from_millis(4),
};

/// The loss that fails against another binary, as a share; and on machines that others use as well.
pub(crate) const LOSS: f64 = 0.10;
pub(crate) const LOSS_ON_BUSY_MACHINES: f64 = 0.35;

/// The throughput of each case over its yardstick: the median of the rounds' ratios.
fn measure() -> Ratios {
    let standard = generators::standard().into_iter();
    let generators: Vec<Generator> = standard.chain(peers::native()).collect();
    let find = |name: &str| {
        let found = generators.iter().find(|one| one.name == name);
        found.expect("every name of OF_GATE is built in")
    };
    let cases = OF_GATE.iter().flat_map(|&(ours, yardstick, request, _)| {
        [ours, yardstick].map(|name| Case {
            generator: find(name),
            request,
            threads: 1,
        })
    });
    let cases: Vec<Case<'_>> = cases.collect();
    let measured = throughput::run(&cases, PACE, &ProgressBar::hidden());
    let pairs = measured.chunks(2).map(|pair| {
        let what = what(&pair[0].name, pair[0].request, &pair[1].name);
        (what, pair[0].over(&pair[1]))
    });
    pairs.collect()
}

/// The ratios that the project wants.
fn wanted() -> Ratios {
    let wanted = |&(ours, yardstick, request, ratio)| (what(ours, request, yardstick), ratio);
    OF_GATE.iter().map(wanted).collect()
}

/// The ratios on one line of JSON, for [`against_binary`].
pub(crate) fn line() -> String {
    format!("{}\n", json(&measure()))
}

fn json(ratios: &Ratios) -> Value {
    ratios
        .iter()
        .map(|(what, ratio)| (what.clone(), json!((ratio * 1e3).round() / 1e3)))
        .collect::<Map<_, _>>()
        .into()
}

/// The cases that lost more than `margin`, in words.
fn losses(old: &Value, new: &Ratios, margin: f64) -> Vec<String> {
    let lost = new.iter().filter_map(|(what, new)| {
        let old = old[what].as_f64()?;
        let loss = 1.0 - new / old;
        (loss > margin).then(|| {
            format!(
                "{what}: {new:.2}, expected {old:.2}: {:.0} % slower",
                loss * 100.0
            )
        })
    });
    lost.collect()
}

/// Tries until one try shows no loss. `Err` with the losses of the last.
fn judge(
    margin: f64,
    mut attempt: impl FnMut() -> Result<(Value, Ratios), Box<dyn Error>>,
) -> Result<String, Box<dyn Error>> {
    let mut lost = Vec::new();
    for _ in 0..TRIES {
        let (old, new) = attempt()?;
        lost = losses(&old, &new, margin);
        if lost.is_empty() {
            let rows = new.iter().map(|(what, new)| match old[what].as_f64() {
                Some(old) => format!("{what}: {new:.2}, expected {old:.2}\n"),
                None => format!("{what}: {new:.2}, new\n"),
            });
            return Ok(rows.collect::<String>()
                + &format!("no loss of more than {:.0} %\n", margin * 100.0));
        }
    }
    Err(format!(
        "in each of {TRIES} tries a loss of more than {:.0} %:\n{}",
        margin * 100.0,
        lost.join("\n")
    )
    .into())
}

/// Compares with the ratios that the project wants, where the CPU has the instructions that they are meant for.
pub(crate) fn against_wanted() -> Result<String, Box<dyn Error>> {
    let host = Host::this();
    let backends = [host.backend, host.chacha20_backend];
    if backends != ["aes256-vaes512", "chacha20-avx512"] {
        return Ok(format!(
            "SKIPPED: no ratios are wanted for {}\n",
            backends.join(" and ")
        ));
    }
    let wanted = json(&wanted());
    judge(0.5, || Ok((wanted.clone(), measure())))
}

/// Compares with another binary of this program: both take turns, and each case counts with its median.
pub(crate) fn against_binary(old: &Path, margin: f64) -> Result<String, Box<dyn Error>> {
    let new = std::env::current_exe()?;
    judge(margin, || {
        let mut samples = [Vec::new(), Vec::new()];
        for _ in 0..TURNS {
            for (program, samples) in [old, &new].into_iter().zip(&mut samples) {
                let output = Command::new(program).arg("--ratios").output()?;
                samples.push(serde_json::from_slice::<Map<String, Value>>(
                    &output.stdout,
                )?);
            }
        }
        let [old, new] = samples.map(|samples| medians(&samples));
        Ok((json(&old), new))
    })
}

fn medians(samples: &[Map<String, Value>]) -> Ratios {
    let Some(first) = samples.first() else {
        return Vec::new();
    };
    let of = |what: &String| {
        let figures: Vec<f64> = samples
            .iter()
            .filter_map(|sample| sample.get(what)?.as_f64())
            .collect();
        (what.clone(), median(&figures))
    };
    first.keys().map(of).collect()
}

// ---- instructions ----
// The gate on instructions: how many does a read take?
//
// Callgrind counts them, and no load changes the count. This program starts itself under valgrind, which shows every machine
// the same CPU, with AVX2 and AES-NI. The counts hold for one compiler; another compiler skips the gate.
//
// A case runs in batches, and the first quartile counts: few batches have a step of a harvest in them, or a part of a buffer
// in place of a whole one.

/// Prints the case of each batch, and what the counts hold for: how this program starts itself under valgrind.
const BATCHES: &str = "--batches";
/// The function that callgrind watches.
const WATCHED: &str = "*counted_batch";
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/counts.json");

/// Batches of a case.
const REPEATS: usize = 16;
/// Requests of a batch. A buffer of 6656 bytes serves 13 reads of 512 bytes: of batches of 256 bytes every second has no refill,
/// of smaller ones more, and batches of 4 KiB have 8.
const REQUESTS: u64 = 13;
/// u64 in a buffer: a batch of this many has one refill.
const WORDS_OF_A_BUFFER: u64 = 832;
/// The share by which a count may grow.
const MARGIN: f64 = 0.02;

/// Runs every case. Under callgrind each batch leaves one file.
pub(crate) fn batches() -> String {
    let host = Host::this();
    let mut text = format!("{}, {}\n", host.compiler, host.backend);
    let mut case = |name: &str, mut before: Box<dyn FnMut()>, mut batch: Box<dyn FnMut()>| {
        for _ in 0..REPEATS {
            before();
            counted_batch(&mut *batch);
            text += name;
            text += "\n";
        }
    };
    let nothing = || Box::new(|| ()) as Box<dyn FnMut()>;
    let standard = generators::standard();
    let ours = |name: &str| {
        standard
            .iter()
            .find(|one| one.name == name)
            .expect("it is ours")
    };
    let reads = |generator: &Generator, request: Request, count| {
        let mut runner = generator.runner();
        let mut buffer = vec![0; request.bytes()];
        Box::new(move || _ = runner.run(request, count, &mut buffer)) as Box<dyn FnMut()>
    };
    let process = name::GLOBAL;
    for (what, generator, request, count) in [
        ("u64", process, Word, REQUESTS),
        ("u64 of LocalRng", name::OWNED, Word, REQUESTS),
        ("u64 of LocalRng, page", name::OWNED_WATCHED, Word, REQUESTS),
        ("32 B", process, Fill(32), REQUESTS),
        ("256 B", process, Fill(256), REQUESTS),
        ("4 KiB with refills", process, Fill(4096), REQUESTS),
        ("u64 with a refill", process, Word, WORDS_OF_A_BUFFER),
    ] {
        case(what, nothing(), reads(ours(generator), request, count));
    }
    let reseed = || _ = Engine::process().reseed();
    case("a reseed", nothing(), Box::new(reseed));
    case("a rekey", Box::new(reseed), reads(ours(process), Word, 1));
    for pair in doors::pairs() {
        let what = match pair.what {
            C_NUMBER | GETRANDOM => pair.what.to_owned(),
            // Most of these instructions are OpenSSL's: 3.0.22 takes 2.3 % more than 3.0.19.
            RAND_SMALL => format!("{RAND_SMALL}, {}", openssl_version()),
            _ => continue,
        };
        let batch = reads(&pair.door, pair.door.requests[0], REQUESTS);
        case(&what, nothing(), batch);
    }
    text
}

/// The system's, as `OpenSSL 3.0.22`.
fn openssl_version() -> String {
    let output = Command::new("openssl").arg("version").output();
    let text = output.map_or_else(|_| Vec::new(), |output| output.stdout);
    let text = String::from_utf8_lossy(&text);
    text.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

#[inline(never)]
fn counted_batch(batch: &mut dyn FnMut()) {
    batch();
}

/// Compares the counts with `counts.json`, or writes them there.
pub(crate) fn gate(is_to_write: bool) -> Result<String, Box<dyn Error>> {
    let Some((of, counts)) = count()? else {
        return Ok("SKIPPED: valgrind is not installed\n".into());
    };
    if is_to_write {
        let file = json!({ "of": of, "instructions of a batch": counts });
        std::fs::write(FILE, format!("{file:#}\n"))?;
        return Ok(format!("{FILE}\n"));
    }
    let file: Value = serde_json::from_str(&std::fs::read_to_string(FILE)?)?;
    if file["of"] != of {
        return Ok(format!(
            "SKIPPED: the counts are those of {}, and this is {of}\n",
            file["of"]
        ));
    }
    let (text, grew) = compare(&file["instructions of a batch"], &counts);
    if grew { Err(text.into()) } else { Ok(text) }
}

/// A line for each count, and whether one grew.
fn compare(old: &Value, new: &Map<String, Value>) -> (String, bool) {
    let (mut text, mut grew) = (String::new(), false);
    for (what, new) in new {
        let (Some(old), Some(new)) = (old[what].as_f64(), new.as_f64()) else {
            let _ = writeln!(text, "{what}: {new}, and no count to compare it with");
            continue;
        };
        let more = new / old - 1.0;
        grew |= more > MARGIN;
        let note = match more {
            _ if more > MARGIN => ": TOO MANY",
            _ if more < -MARGIN => ": fewer, write them with --write-counts",
            _ => "",
        };
        let _ = writeln!(
            text,
            "{what}: {new} instructions, {:+.1} %{note}",
            more * 100.0
        );
    }
    (text, grew)
}

/// The compiler, the backend and the valgrind that counts hold for, and the count of each case.
type Counted = (String, Map<String, Value>);

/// The counts of this build. `None` without valgrind.
fn count() -> Result<Option<Counted>, Box<dyn Error>> {
    let Ok(version) = Command::new("valgrind").arg("--version").output() else {
        return Ok(None);
    };
    let folder = std::env::temp_dir().join(format!("wellspring-counts-{}", std::process::id()));
    std::fs::create_dir(&folder)?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .args(["--toggle-collect", "--dump-after"].map(|option| format!("{option}={WATCHED}")))
        .arg(format!("--callgrind-out-file={}/batch", folder.display()))
        .arg(std::env::current_exe()?)
        .arg(BATCHES)
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let (of, cases) = text
        .split_once('\n')
        .ok_or("the cases did not run under valgrind")?;
    let mut counts: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (batch, case) in cases.lines().enumerate() {
        let count = total(&folder.join(format!("batch.{}", batch + 1)))?;
        counts.entry(case).or_default().push(count);
    }
    let quartile = |mut counts: Vec<u64>| *counts.select_nth_unstable(REPEATS / 4).1;
    let of_case = |(case, counts): (&str, Vec<u64>)| (case.to_owned(), json!(quartile(counts)));
    let counts = counts.into_iter().map(of_case).collect();
    std::fs::remove_dir_all(&folder)?;
    let version = String::from_utf8(version.stdout)?;
    Ok(Some((format!("{of}, {}", version.trim()), counts)))
}

/// The instructions of one of callgrind's files.
fn total(file: &Path) -> Result<u64, Box<dyn Error>> {
    let text = std::fs::read_to_string(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix("totals: "));
    Ok(line.ok_or("callgrind wrote no total")?.trim().parse()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratios(figure: f64) -> Ratios {
        vec![("a".into(), figure), ("new".into(), 1.0)]
    }

    #[test]
    fn a_loss_beyond_the_margin_fails_and_one_within_it_or_a_gain_does_not() {
        let old = json!({ "a": 2.0, "gone": 1.0 });
        for (figure, margin, lost) in [
            (1.79, 0.10, 1),
            (1.81, 0.10, 0),
            (3.0, 0.10, 0),
            (1.31, 0.35, 0),
            (1.29, 0.35, 1),
            (1.01, 0.50, 0),
            (0.99, 0.50, 1),
        ] {
            assert_eq!(
                losses(&old, &ratios(figure), margin).len(),
                lost,
                "{figure}"
            );
        }
    }

    #[test]
    fn a_loss_must_be_seen_in_every_try() {
        let old = json!({ "a": 2.0 });
        let mut tries = [1.0, 1.0, 2.0].into_iter();
        let passed = judge(0.1, || Ok((old.clone(), ratios(tries.next().unwrap()))));
        assert!(passed.unwrap().contains("no loss of more than 10 %"));
        let failed = judge(0.1, || Ok((old.clone(), ratios(1.0))));
        assert!(failed.unwrap_err().to_string().contains("50 % slower"));
    }

    #[test]
    fn every_case_of_the_gate_is_measured_beside_its_yardstick() {
        let ratios = measure();
        let names = |ratios: &Ratios| -> Vec<String> {
            let mut names: Vec<_> = ratios.iter().map(|(what, _)| what.clone()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&ratios), names(&wanted()));
        assert!(
            ratios
                .iter()
                .all(|(_, ratio)| ratio.is_finite() && *ratio > 0.0),
            "{ratios:?}"
        );
    }

    #[test]
    fn a_count_fails_if_it_grew_by_more_than_two_percent_and_no_other_does() {
        let old = json!({ "a": 1000 });
        for (new, grows) in [(1019, false), (1021, true), (500, false)] {
            let new = json!({ "a": new, "new": 7 });
            let (text, grew) = compare(&old, new.as_object().unwrap());
            assert_eq!(grew, grows, "{text}");
        }
    }
}

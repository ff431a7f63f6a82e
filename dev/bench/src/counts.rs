//! The gate on instructions: how many does a read take?
//!
//! Callgrind counts them, and no load changes the count. This program starts itself under valgrind, which shows every machine
//! the same CPU, with AVX2 and AES-NI. The counts hold for one compiler; another compiler skips the gate.
//!
//! A case runs in batches, and the first quartile counts: few batches have a step of a harvest in them, or a part of a buffer
//! in place of a whole one.

use crate::doors::{self, C_NUMBER, GETRANDOM, RAND_SMALL};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use wellspring::Engine;
use wellspring_bench::generators::Generator;
use wellspring_bench::generators::Request::{self, Fill, Word};
use wellspring_bench::generators::{self, name};
use wellspring_bench::report::Host;

/// Prints the case of each batch, and what the counts hold for: how this program starts itself under valgrind.
pub(crate) const BATCHES: &str = "--batches";
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

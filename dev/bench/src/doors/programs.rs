//! Doors that need a program of another language. It measures itself, and prints a line for each round: what, the
//! nanoseconds of the door, and the nanoseconds of what it replaces, with tabs between them.

use super::names::JAVA_BYTES;
use super::row::{Row, built};
use std::path::{Path, PathBuf};
use std::process::Command;
use wellspring_bench::figures::{median, median_ratio};

type Measure = fn() -> Result<Vec<Row>, String>;

pub(super) const ALL: [(&str, Measure); 3] = [
    ("os.urandom of Python", preloaded_python),
    ("Python", python),
    ("Java", java),
];

/// Rounds of programs that measure one side each.
const TURNS: usize = 7;

/// The name of a row, the door's nanoseconds, and the nanoseconds of what it replaces.
type Round = (String, f64, f64);

/// Runs a program, and returns what it prints.
fn output_of(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().display().to_string();
    let output = command.output();
    let output = output.map_err(|error| format!("{name}: {error}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{name}: {}: {}", output.status, errors.trim()));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{name}: {error}"))
}

/// The lines of a program that measures both sides.
fn rounds(text: &str) -> Option<Vec<Round>> {
    let round = |line: &str| {
        let [what, door, other] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
        Some((what.to_owned(), door.parse().ok()?, other.parse().ok()?))
    };
    let rounds: Option<Vec<Round>> = text.lines().map(round).collect();
    rounds.filter(|rounds| !rounds.is_empty())
}

/// A row for each thing that was measured, in the order of the first round.
fn rows(rounds: &[Round]) -> Vec<Row> {
    let mut names: Vec<&str> = Vec::new();
    for (what, ..) in rounds {
        if !names.contains(&what.as_str()) {
            names.push(what);
        }
    }
    let row = |what: &str| {
        let rounds = rounds.iter().filter(|round| round.0 == what);
        let (door, other): (Vec<f64>, Vec<f64>) = rounds.map(|round| (round.1, round.2)).unzip();
        Row {
            what: what.into(),
            door_ns: median(&door),
            other_ns: median(&other),
            ratio: median_ratio(&other, &door),
        }
    };
    names.into_iter().map(row).collect()
}

/// The rows of a program that measures both sides.
fn rows_of(command: &mut Command) -> Result<Vec<Row>, String> {
    let text = output_of(command)?;
    let rounds = rounds(&text).ok_or_else(|| format!("it measured nothing: {text}"))?;
    Ok(rows(&rounds))
}

/// Prints the times of two calls, in nanoseconds.
const URANDOM: &str = "
import os, time
def ns(size, calls=20000):
    call = os.urandom
    start = time.perf_counter_ns()
    for _ in range(calls):
        call(size)
    return (time.perf_counter_ns() - start) / calls
ns(32), ns(0)
print(min(ns(32) for _ in range(5)), min(ns(0) for _ in range(5)))
";

/// Python with the preload library and without it.
fn preloaded_python() -> Result<Vec<Row>, String> {
    let library = built("libwellspring_preload.so").ok_or("the preload library is not built")?;
    let run = |is_preloaded: bool| {
        let mut python = Command::new("python3");
        python.args(["-I", "-c", URANDOM]);
        if is_preloaded {
            python.env("LD_PRELOAD", &library);
        }
        let text = output_of(&mut python)?;
        let times = text.split_whitespace().map(str::parse);
        let times: Result<Vec<f64>, _> = times.collect();
        let times = times.ok().and_then(|times| times.try_into().ok());
        times.ok_or_else(|| format!("two times are expected: {text}"))
    };
    let mut all = Vec::new();
    for _ in 0..TURNS {
        let [door, floor] = run(true)?;
        let [other, _] = run(false)?;
        all.push(("Python os.urandom(32)".into(), door, other));
        let floor_name = "Python os.urandom(32), beside os.urandom(0)";
        all.push((floor_name.into(), door, floor));
    }
    Ok(rows(&all))
}

/// The package beside the standard library, in one process.
const PACKAGE: &str = "
import secrets, time, uuid, wellspring
def ns(call, calls=5000):
    start = time.perf_counter_ns()
    for _ in range(calls):
        call()
    return (time.perf_counter_ns() - start) / calls
pairs = {
    'Python token_bytes(16), beside secrets.token_bytes': (
        lambda: wellspring.token_bytes(16), lambda: secrets.token_bytes(16)),
    'Python ids.uuid4(), beside uuid.uuid4()': (wellspring.ids.uuid4, uuid.uuid4),
    'Python ids.uuid4_text(), beside str(uuid.uuid4())': (wellspring.ids.uuid4_text, lambda: str(uuid.uuid4())),
}
for _ in range(31):
    for what, (ours, theirs) in pairs.items():
        print(what, ns(ours), ns(theirs), sep='\\t')
";

/// In the virtual environment of the package's tests, or where the package is installed.
fn python() -> Result<Vec<Row>, String> {
    let own = target().join("python/nox/tests-3/bin/python");
    let pythons = [own, "python3".into()];
    let can_import = |python: &&PathBuf| {
        let script = ["-I", "-c", "import wellspring.ids"];
        output_of(Command::new(python).args(script)).is_ok()
    };
    let python = pythons.iter().find(can_import);
    let python = python.ok_or(
        "the package is not installed: nox -f bindings/python/noxfile.py, or pip install",
    )?;
    rows_of(Command::new(python).args(["-I", "-c", PACKAGE]))
}

/// The provider's own program, in a JVM with the provider and in one without.
fn java() -> Result<Vec<Row>, String> {
    const BUILD: &str = "the jar is not built: mvn -f bindings/java/pom.xml verify";
    let folder = target().join("java");
    let is_jar = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        // Neither the sources' jar nor the javadoc's.
        let is_ours = stem.starts_with("wellspring-java-") && stem.ends_with(char::is_numeric);
        is_ours && path.extension().is_some_and(|end| end == "jar")
    };
    let files = std::fs::read_dir(&folder).map_err(|_| BUILD)?;
    let mut files = files.flatten().map(|file| file.path());
    let jar = files.find(is_jar).ok_or(BUILD)?;
    let run = |options: &[String], algorithm: &str| {
        let mut java = Command::new("java");
        java.args(options)
            .arg("-cp")
            .arg(folder.join("test-classes"));
        let text = output_of(java.arg("wellspring.jca.test.Turn"))?;
        let wrong = || format!("times with {algorithm} are expected: {text}");
        let (found, times) = text.split_once('\n').ok_or_else(wrong)?;
        let times: Result<Vec<f64>, _> = times.split_whitespace().map(str::parse).collect();
        let times = times.ok().and_then(|times| times.try_into().ok());
        let times: Option<[f64; 2]> = times.filter(|_| found == algorithm);
        times.ok_or_else(wrong)
    };
    let agent = [format!("-javaagent:{}", jar.display())];
    let mut all = Vec::new();
    for _ in 0..TURNS {
        let [bytes, uuid] = run(&agent, "Wellspring")?;
        let [their_bytes, their_uuid] = run(&[], "NativePRNG")?;
        all.push((JAVA_BYTES.into(), bytes, their_bytes));
        all.push(("Java UUID.randomUUID()".into(), uuid, their_uuid));
    }
    Ok(rows(&all))
}

/// Where Maven and nox build, whatever folder cargo was given.
fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_of_the_same_thing_are_one_row_and_other_lines_are_refused() {
        let text = "a\t2\t8\nb\t1.5\t3\na\t4\t12\na\t3\t15\n";
        let rows = rows(&rounds(text).unwrap());
        let found: Vec<_> = rows.iter().map(|row| (&*row.what, row.door_ns)).collect();
        assert_eq!(found, [("a", 3.0), ("b", 1.5)]);
        assert_eq!(
            [rows[0].other_ns, rows[0].ratio, rows[1].ratio],
            [12.0, 4.0, 2.0]
        );
        for wrong in ["", "SKIPPED: no server\n", "a\t1\n", "a\t1\tmany\n"] {
            assert!(rounds(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_program_that_fails_or_is_missing_has_a_reason() {
        let failed = output_of(Command::new("sh").args(["-c", "echo no server >&2; exit 3"]));
        assert!(failed.unwrap_err().ends_with("3: no server"));
        assert!(output_of(&mut Command::new("/none")).is_err());
    }
}

//! The doors, each beside the function that it replaces, and the Rust calls beside the calls that they are made of: functions of
//! libraries in this process (OpenSSL, the C library, the crate uuid), and programs of others (Python, Java).
//!
//! Both sides run in turns. The libraries are in `target/release`, and `cargo xtask bench` builds them first. A missing
//! library or program has no row, and a line on stderr says why.

use indicatif::ProgressBar;
use serde_json::{Value, json};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::hint::black_box;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use uuid::Uuid;
use wellspring::ids;
use wellspring_bench::figures::{Table, digits, duration, median, median_ratio};
use wellspring_bench::generators::{Generate, Generator, Request};
use wellspring_bench::throughput::{self, Case, Pace};

/// Short turns: they are seldom interrupted, also on a busy machine.
pub(crate) const PACE: Pace = Pace {
    rounds: 101,
    slice: Duration::from_millis(1),
};

/// Every door of this process whose library is there.
pub(crate) fn pairs() -> Vec<Pair> {
    let doors = [
        ("OpenSSL", openssl()),
        ("the preload library", preload()),
        ("the C library", c_library()),
    ];
    let present = doors.into_iter().filter_map(|(name, pairs)| {
        if pairs.is_none() {
            skipped(name, "it cannot be loaded");
        }
        pairs
    });
    present.flatten().collect()
}

/// Measures every door that is there.
pub(crate) fn run() -> Vec<Row> {
    let mut rows: Vec<Row> = pairs().iter().map(compare).collect();
    rows.extend(identifiers().iter().map(compare));
    for (name, measure) in PROGRAMS {
        match measure() {
            Ok(found) => rows.extend(found),
            Err(reason) => skipped(name, &reason),
        }
    }
    rows
}

fn skipped(name: &str, reason: &str) {
    eprintln!("SKIPPED: {name}: {reason}");
}

pub(crate) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(
        "Existing programs",
        &["", "through the door", "without", "ratio"],
    );
    for row in rows {
        table.rows.push(vec![
            row.what.clone(),
            duration(row.door_ns),
            duration(row.other_ns),
            format!("{}x", digits(row.ratio)),
        ]);
    }
    table.note("Medians of rounds in turns. Without: OpenSSL's default, the C library, the same program, or the call named.")
}

pub(crate) fn json(rows: &[Row]) -> Value {
    let row =
        |row: &Row| json!({ "what": row.what, "door_ns": row.door_ns, "other_ns": row.other_ns });
    rows.iter().map(row).collect()
}

/// Times both in turns.
fn compare(pair: &Pair) -> Row {
    let case = |generator| Case {
        generator,
        request: generator.requests[0],
        threads: 1,
    };
    let cases = [case(&pair.door), case(&pair.other)];
    let found = throughput::run(&cases, PACE, &ProgressBar::hidden());
    Row {
        what: pair.what.into(),
        door_ns: found[0].ns_per_request(),
        other_ns: found[1].ns_per_request(),
        ratio: found[0].over(&found[1]),
    }
}

// ---- names ----

pub(crate) const RAND_SMALL: &str = "RAND_bytes, 16 bytes";
pub(crate) const GETRANDOM: &str = "getrandom(32)";
pub(crate) const C_NUMBER: &str = "ws_u64, beside the Rust call";

// ---- rows ----

/// A door, and what it replaces.
pub(crate) struct Row {
    what: String,
    door_ns: f64,
    other_ns: f64,
    /// The time of the other divided by the time of the door.
    ratio: f64,
}

/// A door and what it replaces, in this process.
pub(crate) struct Pair {
    pub(crate) what: &'static str,
    pub(crate) door: Generator,
    other: Generator,
}

/// A file of `target/release`.
fn built(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let path = root.join(target).join("release").join(name);
    path.canonicalize().ok()
}

// ---- libraries ----
// Functions of libraries, in this process: the libraries of `target/release`, and the libraries that they replace.

/// A function that fills memory.
struct Filling<F>(F);

impl<F: FnMut(&mut [u8])> Generate for Filling<F> {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        (self.0)(destination);
    }
}

/// A function that returns a number.
struct Number<F>(F);

impl<F: FnMut() -> u64> Generate for Number<F> {
    fn fill(&mut self, _: &mut [u8]) {
        unreachable!("it is measured with single numbers");
    }

    #[inline(always)]
    fn word(&mut self) -> u64 {
        (self.0)()
    }
}

/// A generator of one request, of the function that `make` makes.
fn filling<F: FnMut(&mut [u8]) + 'static>(
    bytes: usize,
    make: impl Fn() -> F + Send + Sync + 'static,
) -> Generator {
    Generator::new("", &[Request::Fill(bytes)], move || Filling(make()))
}

pub(crate) fn number<F: FnMut() -> u64 + 'static>(
    make: impl Fn() -> F + Send + Sync + 'static,
) -> Generator {
    Generator::new("", &[Request::Word], move || Number(make()))
}

unsafe extern "C" {
    fn getrandom(destination: *mut c_void, length: usize, flags: c_uint) -> isize;
}

/// A loaded library, which stays loaded.
struct Library(ManuallyDrop<libloading::Library>);

impl Library {
    fn open(path: &Path) -> Option<Self> {
        // SAFETY: the constructors of the libraries here have no precondition.
        let library = unsafe { libloading::Library::new(path) };
        library.ok().map(ManuallyDrop::new).map(Self)
    }

    /// # Safety
    ///
    /// `F` is the type of the function with this name.
    unsafe fn function<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: the caller's promise.
        let symbol = unsafe { self.0.get::<F>(name) };
        symbol.ok().map(|function| *function)
    }
}

/// Two contexts of OpenSSL in one process: one as it comes, one with the installed configuration.
fn openssl() -> Option<Vec<Pair>> {
    type NewContext = extern "C" fn() -> *mut c_void;
    type Load = unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int;
    type RandBytes = unsafe extern "C" fn(*mut c_void, *mut u8, usize, c_uint) -> c_int;
    let module = built("libwellspring_openssl.so")?;
    let crypto = Library::open(Path::new("libcrypto.so.3"))?;
    // SAFETY: OpenSSL's headers declare these types.
    let (new, load, bytes) = unsafe {
        (
            crypto.function::<NewContext>("OSSL_LIB_CTX_new")?,
            crypto.function::<Load>("OSSL_LIB_CTX_load_config")?,
            crypto.function::<RandBytes>("RAND_bytes_ex")?,
        )
    };
    let text = include_str!("../../../interpose/openssl/openssl.cnf.in");
    let text = text.replace("@module@", module.to_str()?);
    let file = std::env::temp_dir().join(format!("wellspring-bench-{}.cnf", std::process::id()));
    std::fs::write(&file, text).ok()?;
    let path = CString::new(file.to_str()?).ok()?;
    let (default, ours) = (new(), new());
    // SAFETY: a new context and a path.
    let loaded = unsafe { load(ours, path.as_ptr()) };
    let _ = std::fs::remove_file(&file);
    if loaded != 1 {
        return None;
    }
    let draw = |context: *mut c_void, size| {
        let address = context.expose_provenance();
        filling(size, move || {
            let context = std::ptr::with_exposed_provenance_mut(address);
            move |buffer| {
                // SAFETY: a context, which is never freed and serves any thread, and a buffer of this size.
                let result = unsafe { bytes(context, buffer.as_mut_ptr(), buffer.len(), 0) };
                assert_eq!(result, 1, "OpenSSL's generator does not fail");
            }
        })
    };
    let pair = |what, size| Pair {
        what,
        door: draw(ours, size),
        other: draw(default, size),
    };
    Some(vec![
        pair(RAND_SMALL, 16),
        pair("RAND_bytes, 1 MiB", 1 << 20),
    ])
}

/// The preload library is only loaded here: its functions stand beside the C library's.
fn preload() -> Option<Vec<Pair>> {
    type Getrandom = unsafe extern "C" fn(*mut c_void, usize, c_uint) -> isize;
    type Fill = unsafe extern "C" fn(*mut c_void, usize);
    let library = Library::open(&built("libwellspring_preload.so")?)?;
    // SAFETY: the C library's headers declare these types.
    let (ours, fill) = unsafe {
        (
            library.function::<Getrandom>("getrandom")?,
            library.function::<Fill>("arc4random_buf")?,
        )
    };
    let draw = |getrandom: Getrandom| {
        filling(32, move || {
            move |buffer| {
                // SAFETY: a buffer of this size.
                let count = unsafe { getrandom(buffer.as_mut_ptr().cast(), buffer.len(), 0) };
                assert_eq!(count, 32, "getrandom(2) does not fail");
            }
        })
    };
    let mut pairs = vec![Pair {
        what: GETRANDOM,
        door: draw(ours),
        other: draw(getrandom),
    }];
    let libc = Library::open(Path::new("libc.so.6"))?;
    // SAFETY: as above. The C library has it since glibc 2.36.
    if let Some(other) = unsafe { libc.function::<Fill>("arc4random_buf") } {
        let draw = |fill: Fill| {
            filling(32, move || {
                // SAFETY: a buffer of this size.
                move |buffer| unsafe { fill(buffer.as_mut_ptr().cast(), buffer.len()) }
            })
        };
        pairs.push(Pair {
            what: "arc4random_buf(32)",
            door: draw(fill),
            other: draw(other),
        });
    }
    Some(pairs)
}

/// Identifiers, beside the identifiers of the crate uuid.
fn identifiers() -> [Pair; 3] {
    let first = |id: [u8; 16]| u64::from_le_bytes(std::array::from_fn(|place| id[place]));
    let ours = |make: fn() -> [u8; 16]| number(move || move || first(make()));
    let theirs = |make: fn() -> Uuid| number(move || move || first(make().into_bytes()));
    // The whole text is made: `black_box` keeps it.
    let last = |text: &str| u64::from(black_box(text).as_bytes()[35]);
    let text = move || last(&ids::uuid_text(ids::uuid4()));
    let their_text = move || {
        let mut text = [0; 36];
        last(Uuid::new_v4().hyphenated().encode_lower(&mut text))
    };
    let pair = |what, door, other| Pair { what, door, other };
    [
        pair(
            "ids::uuid4, beside Uuid::new_v4",
            ours(ids::uuid4),
            theirs(Uuid::new_v4),
        ),
        pair(
            "ids::uuid7, beside Uuid::now_v7",
            ours(ids::uuid7),
            theirs(Uuid::now_v7),
        ),
        pair(
            "the text of ids::uuid4, beside that of Uuid::new_v4",
            number(move || text),
            number(move || their_text),
        ),
    ]
}

type DrawOf = unsafe extern "C" fn(*mut c_void) -> u64;
type Free = unsafe extern "C" fn(*mut c_void);

/// A generator of the C library.
struct OwnedRng {
    rng: *mut c_void,
    draw_of: DrawOf,
    free: Free,
}

impl OwnedRng {
    #[inline(always)]
    fn draw(&self) -> u64 {
        // SAFETY: the generator is this struct's alone, and no other thread has the struct: it holds a pointer.
        unsafe { (self.draw_of)(self.rng) }
    }
}

impl Drop for OwnedRng {
    fn drop(&mut self) {
        // SAFETY: ws_rng_new made it, and drop is its last use.
        unsafe { (self.free)(self.rng) }
    }
}

/// The C library's calls for a number, beside the Rust calls that they make.
fn c_library() -> Option<Vec<Pair>> {
    type Draw = extern "C" fn() -> u64;
    type New = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
    type Fill = unsafe extern "C" fn(*mut c_void, usize) -> c_int;
    let library = Library::open(&built("libwellspring_c.so")?)?;
    // SAFETY: wellspring.h declares these types.
    let (draw, draw_of, fill, new, free) = unsafe {
        (
            library.function::<Draw>("ws_u64")?,
            library.function::<DrawOf>("ws_rng_u64")?,
            library.function::<Fill>("ws_fill")?,
            library.function::<New>("ws_rng_new")?,
            library.function::<Free>("ws_rng_free")?,
        )
    };
    let owned = move || {
        let mut rng = std::ptr::null_mut();
        // SAFETY: a place for a pointer.
        assert_eq!(unsafe { new(&raw mut rng) }, 0, "there is memory");
        let owned = OwnedRng { rng, draw_of, free };
        move || owned.draw()
    };
    let local = || {
        let mut local = wellspring::LocalRng::default();
        move || local.u64()
    };
    Some(vec![
        Pair {
            what: C_NUMBER,
            door: number(move || move || draw()),
            other: number(|| wellspring::u64),
        },
        Pair {
            what: "ws_rng_u64, beside the Rust call",
            door: number(owned),
            other: number(local),
        },
        Pair {
            what: "ws_fill, 32 bytes, beside the Rust call",
            door: filling(32, move || {
                // SAFETY: a buffer of this size.
                move |buffer| _ = unsafe { fill(buffer.as_mut_ptr().cast(), buffer.len()) }
            }),
            other: filling(32, || wellspring::fill),
        },
    ])
}

// ---- programs ----
// Doors that need a program of another language. It measures itself, and prints a line for each round: what, the
// nanoseconds of the door, and the nanoseconds of what it replaces, with tabs between them.

type Measure = fn() -> Result<Vec<Row>, String>;

const PROGRAMS: [(&str, Measure); 3] = [
    ("os.urandom of Python", preloaded_python),
    ("Python", python),
    ("Java", java),
];

/// Rounds of programs that measure one side each.
const TURNS: usize = 7;

/// The name of a row, the door's nanoseconds, and the nanoseconds of what it replaces.
type Round = (String, f64, f64);

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
    let python = python
        .ok_or("the package is not installed: nox -f bindings/python/noxfile.py, or pip install")?;
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
        all.push(("Java SecureRandom, 16 bytes".into(), bytes, their_bytes));
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

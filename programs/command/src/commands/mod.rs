//! The commands, each with its arguments in a struct beside its function. The small ones are here: `seed`, `uuid`, `bench`,
//! `completions` and `man`.
//!
//! ```text
//! bytes    bytes [SIZE]
//! replay   replay FILE...
//! check    check: self-tests by name
//! stats    stats: the state of an engine
//! sources  sources list, record, replay, watch: noise and its health
//! machine  generation show, bump, serve; kernel save, restore; serve and status, by the program wellspringd
//! run      run -- PROGRAM: installed programs draw on wellspring
//! openssl  openssl conf, check: OpenSSL's own generator with seeds from wellspring           [unsafe: a filter of calls]
//! ```

pub(crate) mod bytes;
pub(crate) mod check;
#[cfg(target_os = "linux")]
pub(crate) mod machine;
#[cfg(target_os = "linux")]
pub(crate) mod openssl;
pub(crate) mod replay;
#[cfg(target_os = "linux")]
pub(crate) mod run;
pub(crate) mod sources;
pub(crate) mod stats;

use crate::arguments::named;
use crate::streams::{Failure, Output, check_folder, make_folder};
use clap::{Args, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use wellspring::seed_file::{Identity, SeedFileError, inspect};
use wellspring::{Engine, bytes, ids};
use wellspring_bench::{Options, Part, first_byte, run as measure, table};
use zeroize::{Zeroize, Zeroizing};

// ---- seed ----
// `seed show FILE`, `seed save FILE`: the file that carries seeds over a reboot.

/// Show or write a file that carries seeds over a reboot
///
/// An engine with a seed file (--seed-file of bytes and stats) reads it, replaces it and mixes it in before its first
/// use. At its end it writes the file again. The file has a section for each NUMA node, and only its owner can read it.
/// A seed is credited at most once, in a later boot of the machine that wrote it, and only from the file itself. A copy
/// is mixed in without credit.
#[derive(Args)]
#[command(
    arg_required_else_help = false,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  wellspring seed save /var/lib/wellspring/seed
  wellspring seed show /var/lib/wellspring/seed
  wellspring stats --seed-file /var/lib/wellspring/seed"
)]
pub(crate) struct SeedRequest {
    #[command(subcommand)]
    action: SeedAction,
}

/// The operation on the file.
#[derive(Subcommand)]
enum SeedAction {
    /// Show what is in the file, without a secret, and what credit it would get now; changes nothing
    Show {
        /// The seed file
        file: PathBuf,
    },
    /// Read the file, mix it in, and write it again from new output of every node
    ///
    /// Makes the file if it does not exist. Prints what was found.
    Save {
        /// The seed file
        file: PathBuf,
    },
}

/// A folder that is made for a seed file: other users cannot read it, as they cannot write it.
const FOLDER_MODE: u32 = 0o700;

pub(crate) fn seed(request: &SeedRequest) -> Result<(), Failure> {
    match &request.action {
        SeedAction::Show { file } => show(file),
        SeedAction::Save { file } => save(file),
    }
}

fn show(file: &Path) -> Result<(), Failure> {
    check_folder(file)?;
    let report = inspect(file, &Identity::system());
    let report = report.map_err(|found| Failure::input(format!("{}: {found}", file.display())))?;
    let written = if report.is_of_this_boot {
        "in this boot"
    } else {
        "in another boot"
    };
    let place = if report.has_file_id {
        "known"
    } else {
        "cannot be told from a copy"
    };
    let text = format!(
        "sections  {}\nwritten   {written}\nnumber    {}, one more with each write: a use of the file is two\n\
         place     {place}\nclaim     {} bits\nnow       {}\n",
        report.sections, report.counter, report.claimed_bits, report.found
    );
    Output::standard()?.print(&text)
}

fn save(file: &Path) -> Result<(), Failure> {
    let fault = |error: SeedFileError| {
        let text = format!("{}: {error}", file.display());
        match error {
            SeedFileError::NotASeedFile => Failure::input(text),
            SeedFileError::File(fault) if fault.is_wrong_file() => Failure::input(text),
            _ => Failure::work(text),
        }
    };
    make_folder(file, FOLDER_MODE)?;
    let engine = Engine::builder().seed_file(file).build();
    let engine = engine.map_err(Failure::work)?;
    // The first read seeds the engine; before it there is nothing to save.
    engine.try_fill(&mut [0; 32]).map_err(Failure::work)?;
    engine.save_seed().map_err(fault)?;
    let stats = engine.stats().seed_file;
    let found = stats.map_or("nothing".to_string(), |stats| stats.found.to_string());
    Output::standard()?.print(&format!(
        "found     {found}\nwritten   {}\n",
        file.display()
    ))
}

// ---- uuid ----
// `uuid`: identifiers, one on each line.

/// Lines are written in pieces of this many bytes: 1800 UUIDs.
const PIECE_BYTES: usize = 64 << 10;

/// Write identifiers, one a line: UUIDs, ULIDs or trace ids
///
/// UUIDs follow RFC 9562. UUIDs of version 7 and ULIDs begin with the time in milliseconds, and each is greater than the
/// one before, even if the clock goes back.
#[derive(Args)]
pub(crate) struct UuidRequest {
    /// UUIDs of version 4: 122 random bits (the default)
    #[arg(short = '4', group = "kind")]
    version_4: bool,

    /// UUIDs of version 7: time, counter, 56 random bits
    #[arg(short = '7', group = "kind")]
    version_7: bool,

    /// ULIDs: time, counter, 62 random bits
    #[arg(long, group = "kind")]
    ulid: bool,

    /// Trace ids of 16 or 32 random bytes, as hexadecimal digits
    #[arg(long, group = "kind", value_name = "BYTES", value_parser = ["16", "32"])]
    trace: Option<String>,

    /// How many
    #[arg(short = 'n', value_name = "COUNT", default_value_t = 1)]
    count: u64,
}

pub(crate) fn uuid(request: &UuidRequest) -> Result<(), Failure> {
    let count = request.count;
    match request.trace.as_deref() {
        _ if request.version_7 => print_ids(count, ids::uuid7_text),
        _ if request.ulid => print_ids(count, || ids::ulid_text(ids::ulid())),
        None => print_ids(count, ids::uuid4_text),
        Some("16") => print_ids(count, || ids::hex_text::<16, 32>(bytes())),
        Some(_) => print_ids(count, || ids::hex_text::<32, 64>(bytes())),
    }
}

fn print_ids<const N: usize>(count: u64, make: impl Fn() -> ids::Text<N>) -> Result<(), Failure> {
    let mut output = Output::standard()?;
    let mut lines = Zeroizing::new(Vec::with_capacity(PIECE_BYTES));
    for left in (0..count).rev() {
        // A vector of bytes takes all that has room.
        let _ = writeln!(lines, "{}", &*make());
        if lines.len() + N >= PIECE_BYTES || left == 0 {
            let written = output.write(&lines);
            written.map_err(|error| output.failure(&error, ""))?;
            lines.zeroize();
        }
    }
    Ok(())
}

// ---- bench ----
// `bench`: measures the engine and the operating system on this machine.

/// The hidden option with which the command starts itself again, to time the first byte of a process.
const FIRST_BYTE: &str = "--first-byte";

/// Measure the engine and the operating system
///
/// Modes, threads, sizes, backends, latencies, fairness, and the harvester beside readers. Every round runs every
/// case; figures are medians over the rounds, ratios the medians of the rounds' ratios. Takes about a minute.
///
/// Prints one table. Each row is a generator with a size of reads and a number of threads, or another kind of call, or an event
/// of the harvester. The columns are the time of a read, the bytes a second of all threads, the ratio to one thread, and
/// quantiles of single calls.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring bench --quick
  wellspring bench --only latency
  wellspring bench --json run.json")]
pub(crate) struct BenchRequest {
    /// Take ten seconds instead of a minute; the figures are less exact
    #[arg(long)]
    quick: bool,

    /// Measure one part: throughput, latency, harvest or footprint
    #[arg(long, value_name = "PART", value_parser = named(&Part::ALL, Part::name))]
    only: Option<Part>,

    /// Write all figures to FILE as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Print the nanoseconds to the first byte of this process, and nothing else
    #[arg(long, hide = true, exclusive = true)]
    first_byte: bool,
}

pub(crate) fn bench(request: &BenchRequest) -> Result<(), Failure> {
    if request.first_byte {
        let text = format!("{}\n", first_byte().as_nanos());
        return Output::standard()?.print(&text);
    }
    // Before the measurement: a wrong path must not cost a minute.
    let file = request.json.as_deref().map(Output::create_public);
    let file = file.transpose()?;
    let mut standard_output = Output::standard()?;
    let report = measure(&options(request)?, Vec::new());
    // The file first: nothing is lost when the reader of the text has gone.
    if let Some(mut file) = file {
        file.print(&format!("{:#}\n", report.json()))?;
    }
    standard_output.print(&table::text(&report))
}

fn options(request: &BenchRequest) -> Result<Options, Failure> {
    let mut options = if request.quick {
        Options::quick()
    } else {
        Options::default()
    };
    options.only = request.only;
    let this = std::env::current_exe().map_err(Failure::work)?;
    let words: [OsString; 3] = [this.into(), "bench".into(), FIRST_BYTE.into()];
    options.first_byte_command = Some(words.into());
    Ok(options)
}

// ---- completions, man ----
// `completions SHELL` and `man`: both are made from the definitions of the command line.

/// The date in the pages: of the last change in what the command does.
const DATE: &str = "2026-11-28";

/// Print the completions of a shell
#[derive(Args)]
pub(crate) struct CompletionsRequest {
    /// The shell
    shell: Shell,
}

/// Print the man page
///
/// Of the command, or of one of its subcommands.
#[derive(Args)]
#[command(after_help = "\
Examples:
  wellspring man | man -l -
  wellspring man --output /usr/local/share/man/man1")]
pub(crate) struct ManRequest {
    /// The subcommand: bytes, seed, seed-show, ..
    subcommand: Option<String>,

    /// Write all pages into this folder: wellspring.1, wellspring-bytes.1, ..
    ///
    /// A folder that does not exist is made.
    #[arg(long, short, value_name = "FOLDER", conflicts_with = "subcommand")]
    output: Option<PathBuf>,
}

pub(crate) fn completions(
    request: &CompletionsRequest,
    mut definitions: clap::Command,
) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(request.shell, &mut definitions, "wellspring", &mut text);
    Output::standard()?.print(&String::from_utf8_lossy(&text))
}

/// Prints a page, or writes all pages.
pub(crate) fn man(request: &ManRequest, mut whole: clap::Command) -> Result<(), Failure> {
    whole.build();
    // The other pages say what `help` prints.
    let whole = whole.mut_subcommand("help", |help| help.hide(true));
    if let Some(folder) = &request.output {
        // If a file is in its place, the system would say that it exists.
        let made = if folder.is_dir() || !folder.exists() {
            std::fs::create_dir_all(folder)
        } else {
            #[cfg(unix)]
            let error = rustix::io::Errno::NOTDIR.into();
            #[cfg(not(unix))]
            let error = std::io::ErrorKind::NotADirectory.into();
            Err(error)
        };
        made.map_err(|error| Failure::input(format!("{}: {error}", folder.display())))?;
        return commands(&whole).try_for_each(|command| {
            let path = folder.join(format!("{}.1", page_name(command)));
            let text = page(command).map_err(Failure::work)?;
            let written = std::fs::write(&path, text);
            written.map_err(|error| Failure::work(format!("{}: {error}", path.display())))
        });
    }
    let command = match &request.subcommand {
        None => &whole,
        Some(name) => {
            let unknown = || Failure::input(format!("no subcommand is called '{name}'"));
            let wanted = format!("wellspring-{name}");
            let mut commands = commands(&whole);
            let found = commands.find(|command| page_name(command) == wanted);
            found.ok_or_else(unknown)?
        }
    };
    Output::standard()?.print(&page(command).map_err(Failure::work)?)
}

/// A command and all its subcommands.
fn commands(command: &clap::Command) -> Box<dyn Iterator<Item = &clap::Command> + '_> {
    let shown = command
        .get_subcommands()
        .filter(|below| !below.is_hide_set());
    let below = shown.flat_map(commands);
    Box::new(std::iter::once(command).chain(below))
}

/// `wellspring` or `wellspring-bytes`.
fn page_name(command: &clap::Command) -> &str {
    command.get_display_name().unwrap_or(command.get_name())
}

/// A man page. The sections come from clap_mangen, except for the end of the help text (examples, exit status): its
/// title becomes the title of a section, and its lines stay as they are.
fn page(command: &clap::Command) -> io::Result<String> {
    let man = Man::new(command.clone())
        .title(page_name(command).to_uppercase())
        .date(DATE)
        .source(concat!("wellspring ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let end = command.get_after_help().map(ToString::to_string);
    if let Some((title, lines)) = end.as_deref().and_then(|end| end.split_once(":\n")) {
        let mut roff = Roff::new();
        roff.control("SH", [title.to_uppercase().as_str()]);
        roff.control("nf", [])
            .text([roman(lines)])
            .control("fi", []);
        roff.to_writer(&mut page)?;
    }
    // clap_mangen writes three breaks in a row, and formatters warn about two of them.
    Ok(String::from_utf8_lossy(&page).replace("\n.br\n\n.br\n", "\n.sp\n"))
}

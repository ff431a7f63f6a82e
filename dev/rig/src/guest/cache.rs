//! How a run ends, the table of results, and everything that is fetched or built once.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// The reason why there is no result, or a bad one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// This machine cannot run it: a program is missing, or Debian's archive is out of reach.
    Missing(String),
    /// It ran, and something is wrong.
    Failed(String),
}

impl From<String> for Stop {
    fn from(reason: String) -> Self {
        Stop::Failed(reason)
    }
}

/// The result of anything that a rig does.
pub(crate) type Result<T = ()> = std::result::Result<T, Stop>;

pub(crate) fn failed<T>(reason: impl Into<String>) -> Result<T> {
    Err(Stop::Failed(reason.into()))
}

/// Turns an error of the operating system into a failure that names `what` was used.
pub(crate) fn at(what: impl std::fmt::Display) -> impl FnOnce(std::io::Error) -> Stop {
    move |error| Stop::Failed(format!("{what}: {error}"))
}

/// The result of a whole command. What is missing is printed as SKIPPED and is not a failure.
pub(crate) fn verdict(result: Result) -> std::result::Result<(), String> {
    match result {
        Ok(()) => Ok(()),
        Err(Stop::Missing(reason)) => {
            println!("SKIPPED: {reason}");
            Ok(())
        }
        Err(Stop::Failed(reason)) => Err(reason),
    }
}

/// Rows of: what ran, `ok` or `FAILED`, and a sentence.
pub(crate) struct Table {
    rows: Vec<[String; 3]>,
    failures: usize,
}

impl Table {
    pub(crate) fn new() -> Self {
        Self {
            rows: Vec::new(),
            failures: 0,
        }
    }

    /// Adds a row, and shows it at once.
    fn add(&mut self, what: impl Into<String>, is_ok: bool, note: impl Into<String>) {
        let status = if is_ok { "ok" } else { "FAILED" };
        let row = [what.into(), status.into(), note.into()];
        println!("{status} {}: {}", row[0], row[2]);
        self.rows.push(row);
        self.failures += usize::from(!is_ok);
    }

    /// Adds a result as a row. After a failure the run continues; after `Missing` it ends.
    pub(crate) fn add_outcome(
        &mut self,
        what: impl Into<String>,
        outcome: Result<String>,
    ) -> Result {
        match outcome {
            Ok(note) => self.add(what, true, note),
            Err(Stop::Failed(reason)) => self.add(what, false, reason),
            Err(missing) => return Err(missing),
        }
        Ok(())
    }

    /// The rows in columns.
    fn text(&self) -> String {
        let width = |column: usize| {
            self.rows
                .iter()
                .map(|row| row[column].len())
                .max()
                .unwrap_or(0)
        };
        let (first, second) = (width(0), width(1));
        let line = |[what, status, note]: &[String; 3]| {
            format!("{what:first$}  {status:second$}  {note}\n")
        };
        self.rows.iter().map(line).collect()
    }

    /// Prints the table. An error if a row failed, or if there are no rows.
    pub(crate) fn end(&self) -> Result {
        println!("\n{}", self.text());
        match (self.failures, self.rows.len()) {
            (0, 1..) => Ok(()),
            (failures, rows) => failed(format!("{failures} of {rows} failed")),
        }
    }
}

// ---- the cache ----
// Everything that is fetched or built once.

/// Names the cache folder. Without it, the cache is `target/rig` of the repository.
const VARIABLE: &str = "WELLSPRING_RIG";

/// The cache folder. It may be removed at any time.
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Opens the folder, and makes it if it is missing.
    pub(crate) fn open(root: &Path) -> Result<Self> {
        let folder = match env::var_os(VARIABLE) {
            Some(folder) => env::current_dir().map_err(at("this folder"))?.join(folder),
            None => root.join("target/rig"),
        };
        fs::create_dir_all(&folder).map_err(at(folder.display()))?;
        Ok(Self { folder })
    }

    /// The folder `name`, made by `make` if it is missing. `make` fills a folder with another name, which is renamed
    /// when it is complete, so that an interrupted run leaves nothing that looks complete.
    pub(crate) fn once(&self, name: &str, make: impl FnOnce(&Path) -> Result) -> Result<PathBuf> {
        let whole = self.folder.join(name);
        if whole.exists() {
            return Ok(whole);
        }
        println!("fetching {name}");
        let part = self.fresh(&format!("{name}.part"))?;
        make(&part)?;
        fs::rename(&part, &whole).map_err(at(whole.display()))?;
        Ok(whole)
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// An empty folder `name`. What was in it is removed.
    pub(crate) fn fresh(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(at(folder.display()))?;
        }
        fs::create_dir_all(&folder).map_err(at(folder.display()))?;
        Ok(folder)
    }
}

pub(super) fn copy_folder(from: &Path, to: &Path) -> Result {
    run(Command::new("cp").arg("-r").arg(from.join(".")).arg(to)).map(drop)
}

/// Runs a command without showing its output, and returns the output as text.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    run_bytes(command).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Runs a command without showing its output, and returns the output.
pub(super) fn run_bytes(command: &mut Command) -> Result<Vec<u8>> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(at(format!("{:?}", command.get_program())))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let last = |text: &[u8]| last_lines(&String::from_utf8_lossy(text));
    let (text, errors) = (last(&output.stdout), last(&output.stderr));
    failed(format!("{command:?}: {}\n{text}{errors}", output.status))
}

/// The last 30 lines, which tell most about a failure.
pub(super) fn last_lines(text: &str) -> String {
    const LINES: usize = 30;
    let lines: Vec<&str> = text.lines().collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    last.iter().flat_map(|line| [line, "\n"]).collect()
}

/// The only entry of a folder whose name begins with `start` and ends with `end`.
pub(super) fn entry(folder: &Path, start: &str, end: &str) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).map_err(at(folder.display()))?;
    let mut found = entries.flatten().map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(start) && name.ends_with(end)
    });
    match (found.next(), found.next()) {
        (Some(path), None) => Ok(path),
        (None, _) => failed(format!("no {start}..{end} in {}", folder.display())),
        _ => failed(format!("several {start}..{end} in {}", folder.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::cache::Stop;

    #[test]
    fn one_failure_spoils_a_table_and_so_does_emptiness() {
        let mut table = Table::new();
        assert!(table.end().is_err());
        table.add("a", true, "x");
        assert!(table.end().is_ok());
        table.add("long", false, "y");
        assert!(table.end().is_err());
        assert_eq!(table.text(), "a     ok      x\nlong  FAILED  y\n");
    }

    #[test]
    fn a_folder_that_was_not_finished_is_made_again() {
        let folder = env::temp_dir().join(format!("wellspring-cache-{}", std::process::id()));
        let cache = Cache {
            folder: folder.clone(),
        };
        let half = |folder: &Path| {
            fs::write(folder.join("half"), "").map_err(at("half"))?;
            failed("interrupted")
        };
        assert_eq!(
            cache.once("thing", half),
            Err(Stop::Failed("interrupted".into()))
        );
        let whole = |folder: &Path| fs::write(folder.join("whole"), "").map_err(at("whole"));
        let thing = cache.once("thing", whole).unwrap();
        let again = cache.once("thing", |_| failed("it is there"));
        let (half, whole) = (thing.join("half").exists(), thing.join("whole").exists());
        fs::remove_dir_all(folder).unwrap();
        assert!(whole && !half, "nothing of the first try is left");
        assert_eq!(again, Ok(thing));
    }
}

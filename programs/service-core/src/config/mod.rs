//! The configuration: everything has a default, so that no file is needed.
//!
//! `values` has the numbers with bounds, the addresses and the levels: each rejects a wrong text and says why.

mod values;

pub use values::{Address, Bounded, FileMode, Level, NoiseCredit, PrfName};

use crate::doors::Door;
use core::fmt;
use core::ops::Range;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use toml::{Table, Value};
use wellspring::Mode;

/// The whole configuration. Sections and keys that are left out have their defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The service itself: its folder, user, threads and sandbox.
    pub service: ServiceSection,
    /// The engine.
    pub engine: EngineSection,
    /// The generation page.
    pub page: PageSection,
    /// The device files.
    pub files: FilesSection,
    /// The sockets for EGD.
    pub egd: SocketSection<{ Door::Egd as u8 }, 0o666>,
    /// The sockets for the bulk protocol.
    pub bulk: SocketSection<{ Door::Bulk as u8 }, 0o666>,
    /// The sockets for status and metrics: for the service's user alone, since the status shows which user draws how much.
    pub web: SocketSection<{ Door::Web as u8 }, 0o600>,
    /// The sockets for virtual machines: for the service's user alone, since the other end makes the service map its memory.
    pub vhost_user: SocketSection<{ Door::VhostUser as u8 }, 0o600>,
    /// The limits of one user and of all users together.
    pub limits: LimitsSection,
    /// The limits of guests.
    pub guests: GuestsSection,
    /// The kernel's pool.
    pub kernel_pool: KernelPoolSection,
    /// The seeds of the kernel module.
    pub kernel_module: KernelModuleSection,
    /// The log.
    pub log: LogSection,
}

/// `[service]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceSection {
    /// Relative addresses of sockets and the page are below this folder.
    pub runtime_dir: PathBuf,
    /// The user that the service becomes after it has opened everything, if root starts it. Empty: `wellspring` where there
    /// is such a user. `root`: it stays root.
    pub user: String,
    /// The threads that serve sockets.
    pub threads: Bounded<1, 64>,
    /// Whether a filter of system calls and Landlock are applied after the start.
    pub sandbox: bool,
}

impl Default for ServiceSection {
    fn default() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            runtime_dir: default_runtime_dir(),
            user: String::new(),
            threads: Bounded::clamped(cpus.min(4) as u64),
            sandbox: true,
        }
    }
}

/// The folder of a service that root starts.
pub const ROOT_FOLDER: &str = "/run/wellspring";

/// The folder that systemd gives; without systemd /run/wellspring for root, and a folder that no other user can make for
/// another user.
fn default_runtime_dir() -> PathBuf {
    if let Some(folder) = std::env::var_os("RUNTIME_DIRECTORY") {
        return folder.into();
    }
    if rustix::process::geteuid().is_root() {
        return ROOT_FOLDER.into();
    }
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) => Path::new(&folder).join("wellspring"),
        // A system with logind gives that variable this value.
        None => format!(
            "/run/user/{}/wellspring",
            rustix::process::geteuid().as_raw()
        )
        .into(),
    }
}

/// `[engine]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EngineSection {
    /// The read mode.
    #[serde(with = "values::ReadMode")]
    pub mode: Mode,
    /// The pseudo-random function.
    pub prf: PrfName,
    /// The file that carries seeds over a reboot; empty: none. systemd's folder for it is the default where there is
    /// one.
    pub seed_file: PathBuf,
    /// Devices or named pipes whose noise is mixed in, at most 10.
    #[serde(deserialize_with = "values::noise_files")]
    pub noise_files: Vec<PathBuf>,
    /// The operator's claims for these files, and for the sources `cpu` and `hwrng`, in bits of min-entropy a byte. A file
    /// without a claim and `cpu` without a claim are credited nothing.
    pub noise_credit: BTreeMap<PathBuf, NoiseCredit>,
    /// The seconds between two self-tests.
    pub self_test_interval_s: Bounded<1, 86_400, 600>,
}

impl Default for EngineSection {
    fn default() -> Self {
        let folder = std::env::var_os("STATE_DIRECTORY");
        Self {
            mode: Mode::default(),
            prf: PrfName::default(),
            seed_file: folder.map_or(PathBuf::new(), |folder| Path::new(&folder).join("seed")),
            noise_files: Vec::new(),
            noise_credit: BTreeMap::new(),
            self_test_interval_s: Bounded::default(),
        }
    }
}

/// `[page]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PageSection {
    /// Whether the service writes the page.
    pub serve: bool,
    /// The file, below the runtime folder if it is relative.
    pub path: PathBuf,
}

impl Default for PageSection {
    fn default() -> Self {
        Self {
            serve: true,
            path: "generation".into(),
        }
    }
}

/// `[files]`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FilesSection {
    /// The folder where `random`, `urandom` and `pseudo` appear; empty: none.
    pub mount: PathBuf,
    /// The number of threads that answer reads of more than 16 KiB. One more takes requests.
    pub threads: Bounded<1, 64>,
}

impl Default for FilesSection {
    fn default() -> Self {
        Self {
            mount: PathBuf::new(),
            threads: ServiceSection::default().threads,
        }
    }
}

/// `[egd]`, `[bulk]`, `[web]`, `[vhost_user]`: the section of the door with this number, whose files have this mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SocketSection<const DOOR: u8, const MODE: u32> {
    /// Unix sockets, loopback addresses and vsock ports.
    #[serde(default = "own_socket::<DOOR>")]
    pub listen: Vec<Address>,
    /// The mode of Unix sockets.
    #[serde(default)]
    pub mode: FileMode<MODE>,
}

impl<const DOOR: u8, const MODE: u32> Default for SocketSection<DOOR, MODE> {
    fn default() -> Self {
        Self {
            listen: own_socket::<DOOR>(),
            mode: FileMode::default(),
        }
    }
}

fn own_socket<const DOOR: u8>() -> Vec<Address> {
    let name = Door::ALL[usize::from(DOOR)].name();
    vec![Address::Unix(format!("{name}.sock").into())]
}

/// `[limits]`: these take effect when the file is read again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsSection {
    /// Connections of all users together.
    pub connections: Bounded<1, 100_000, 4096>,
    /// Connections of one user, root excepted.
    pub connections_per_user: Bounded<1, 100_000, 1024>,
    /// The most bytes a second that one user may draw, from sockets, device files and as guests; 0: no limit. Root has none.
    pub bytes_per_second_per_user: u64,
    /// The most bytes a second that one guest may draw by vhost-user; 0: no limit. It holds for guests of root, too.
    pub bytes_per_second_per_guest: Bounded<0, { i64::MAX as u64 }, { 1 << 20 }>,
}

/// `[guests]`: these take effect when the file is read again. Root has no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GuestsSection {
    /// Guests of all users together. With 32 regions each, 1024 have half of the mappings of a process.
    pub connections: Bounded<1, 1024, 1024>,
    /// Guests of one user.
    pub connections_per_user: Bounded<1, 1024, 256>,
    /// Memory of the guests of all users together, in GiB. A process can map 128 TiB.
    pub memory_gib: Bounded<1, 65_536, 32_768>,
    /// Memory of the guests of one user, in GiB.
    pub memory_per_user_gib: Bounded<1, 65_536, 8192>,
}

/// `[kernel_pool]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KernelPoolSection {
    /// Whether the service writes 32 bytes to the kernel's pool at its start and then at every interval.
    pub feed: bool,
    /// The seconds between two writes.
    pub interval_s: Bounded<1, 86_400, 60>,
    /// The credit of a write. Set more than 0 only if the service has sources that the kernel does not have.
    pub credit_bits: Bounded<0, 256>,
}

/// `[kernel_module]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KernelModuleSection {
    /// The file that carries the seeds of the kernel module over a reboot; empty: none.
    pub seed_file: PathBuf,
    /// The seconds between two saves. The seeds are also saved at the start and at the end.
    pub save_interval_s: Bounded<1, 86_400, 600>,
}

/// `[log]`: takes effect when the file is read again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogSection {
    /// The least level that is written.
    pub level: Level,
}

impl Config {
    /// Returns a path of the configuration, below the runtime folder if it is relative.
    pub fn runtime_path(&self, path: &Path) -> PathBuf {
        self.service.runtime_dir.join(path)
    }

    /// Returns an address of the configuration: the path of a Unix socket is below the runtime folder if it is relative.
    pub fn runtime_address(&self, address: &Address) -> Address {
        match address {
            Address::Unix(path) => Address::Unix(self.runtime_path(path)),
            Address::Tcp(_) | Address::Vsock { .. } => address.clone(),
        }
    }

    /// The sections that differ from `new` and that take effect only at the next start.
    pub fn needs_restart(&self, new: &Self) -> Vec<&'static str> {
        let pairs = [
            ("service", self.service == new.service),
            ("engine", self.engine == new.engine),
            ("page", self.page == new.page),
            ("files", self.files == new.files),
            ("egd", self.egd == new.egd),
            ("bulk", self.bulk == new.bulk),
            ("web", self.web == new.web),
            ("vhost_user", self.vhost_user == new.vhost_user),
            ("kernel_pool", self.kernel_pool == new.kernel_pool),
            ("kernel_module", self.kernel_module == new.kernel_module),
        ];
        let differ = pairs.into_iter().filter(|(_, same)| !same);
        differ.map(|(name, _)| name).collect()
    }
}

// Reads the file, and the files in the folder `conf.d` beside it.

/// The default path of the configuration.
pub const DEFAULT_PATH: &str = "/etc/wellspring/wellspring.toml";

/// A configuration of more bytes is a mistake, and reading it would take memory.
const MAX_BYTES: u64 = 1 << 20;

/// Reads `path`, or the default path if there is such a file, and then `conf.d/*.toml` beside it in the order of their
/// names. A key in a later file replaces the same key in an earlier one.
///
/// # Errors
///
/// The first fault.
pub fn load(path: Option<&Path>) -> Result<Config, ConfigFault> {
    let main = path.unwrap_or(Path::new(DEFAULT_PATH));
    let mut merged = Table::new();
    for file in files(main, path.is_some())? {
        let text = read(&file)?;
        // Checks each file before it is merged: only then do errors have a line and a column in it.
        parse(&file, &text)?;
        let table = text.parse::<Table>();
        merge(
            &mut merged,
            table.map_err(|error| fault(&file, &text, &error))?,
        );
    }
    let text = merged.to_string();
    parse(main, &text)
}

/// Reads one text; `file` is for messages.
///
/// # Errors
///
/// The first fault.
pub fn parse(file: &Path, text: &str) -> Result<Config, ConfigFault> {
    toml::from_str(text).map_err(|error| fault(file, text, &error))
}

fn fault(file: &Path, text: &str, error: &toml::de::Error) -> ConfigFault {
    ConfigFault::at(file, text, error.span(), error.message())
}

/// The files that exist, in the order in which they are read.
fn files(main: &Path, must_exist: bool) -> Result<Vec<PathBuf>, ConfigFault> {
    let mut files = Vec::new();
    match fs::metadata(main) {
        Ok(_) => files.push(main.to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound && !must_exist => {}
        Err(error) => return Err(ConfigFault::closed(main, error)),
    }
    let folder = main.parent().unwrap_or(Path::new("/")).join("conf.d");
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(files),
        Err(error) => return Err(ConfigFault::closed(&folder, error)),
    };
    let mut more = Vec::new();
    for entry in entries {
        let path = entry
            .map_err(|error| ConfigFault::unreadable(&folder, error))?
            .path();
        if path.extension().is_some_and(|end| end == "toml") {
            // A pipe would hold up the service when it reads its configuration again.
            if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
                return Err(ConfigFault::unreadable(&path, "this is no regular file"));
            }
            more.push(path);
        }
    }
    more.sort();
    files.extend(more);
    Ok(files)
}

fn read(file: &Path) -> Result<String, ConfigFault> {
    let unreadable = |error| ConfigFault::closed(file, error);
    let opened = fs::File::open(file).map_err(unreadable)?;
    let mut text = String::new();
    // A device such as /dev/zero has no end.
    let read = opened.take(MAX_BYTES + 1).read_to_string(&mut text);
    read.map_err(unreadable)?;
    if text.len() as u64 > MAX_BYTES {
        let reason = format!("more than {MAX_BYTES} bytes: this is no configuration");
        return Err(ConfigFault::unreadable(file, reason));
    }
    Ok(text)
}

/// Replaces keys of `into` by the same keys of `from`, section by section, and adds the others.
fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

// A mistake in a configuration, with its place.

/// A mistake in a configuration, printed as compilers do: file, line, column, reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigFault {
    file: PathBuf,
    /// Line and column, from 1. `None` if the file cannot be read.
    place: Option<(usize, usize)>,
    reason: String,
}

impl ConfigFault {
    /// The fault of a file or folder that cannot be read.
    fn unreadable(file: &Path, reason: impl fmt::Display) -> Self {
        Self {
            file: file.into(),
            place: None,
            reason: reason.to_string(),
        }
    }

    /// An error of the system for a file or folder, and what a user without the right to read it can do.
    fn closed(file: &Path, error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::PermissionDenied {
            let words = "run this as the user that starts the service, or give --config and a file of your own";
            return Self::unreadable(file, format!("{error}; {words}"));
        }
        Self::unreadable(file, error)
    }

    /// An error of the TOML reader, at `span` of `text`.
    fn at(file: &Path, text: &str, span: Option<Range<usize>>, reason: &str) -> Self {
        let start = span.map_or(0, |span| span.start.min(text.len()));
        let before = String::from_utf8_lossy(&text.as_bytes()[..start]).into_owned();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let lines: Vec<&str> = reason.lines().map(str::trim).collect();
        Self {
            file: file.into(),
            place: Some((line, column)),
            reason: lines.join("; "),
        }
    }

    /// Line and column, from 1. `None` if the file cannot be read.
    pub fn place(&self) -> Option<(usize, usize)> {
        self.place
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some((line, column)) = self.place {
            write!(f, "{line}:{column}:")?;
        }
        write!(f, " {}", self.reason)
    }
}

impl core::error::Error for ConfigFault {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Address, Level};

    fn place(text: &str) -> (usize, usize) {
        let fault = parse(Path::new("x.toml"), text).expect_err(text);
        fault.place().expect("a place")
    }

    #[test]
    fn every_kind_of_mistake_has_its_line_and_column() {
        let mistakes = [
            ("[files]\nmont = \"/x\"\n", (2, 1), "an unknown key"),
            ("\n[file]\n", (2, 2), "an unknown section"),
            ("[files]\nthreads = 65\n", (2, 11), "out of range"),
            ("[files]\nthreads = -1\n", (2, 11), "below zero"),
            ("[files]\nthreads = \"2\"\n", (2, 11), "text for a number"),
            ("[log]\nlevel = \"loud\"\n", (2, 9), "an unknown name"),
            (
                "[egd]\nlisten = [\"a.sock\", \"0.0.0.0:1\"]\n",
                (2, 10),
                "a network, with the place of its list",
            ),
            ("[egd]\nlisten = \"a.sock\"\n", (2, 10), "text for a list"),
            ("[log]\nlevel = \n", (2, 9), "no value"),
            (
                "[engine]\nnoise_files = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11']\n",
                (2, 15),
                "more files than the engine has room for",
            ),
            (
                "[engine]\nnoise_credit = { \"/dev/x\" = 8.5 }\n",
                (2, 29),
                "more than 8 bits a byte",
            ),
            (
                "[engine]\nnoise_credit = { \"/dev/x\" = \"1\" }\n",
                (2, 29),
                "text for a claim",
            ),
        ];
        for (text, expected, what) in mistakes {
            assert_eq!(place(text), expected, "{what}");
        }
    }

    #[test]
    fn what_is_printed_is_read_again_as_the_same() {
        let text = "[egd]\nlisten = [\"127.0.0.1:7\", \"/run/x.sock\"]\n[engine]\nmode = \"per-node\"\nprf = \"chacha20\"\n\
                    noise_credit = { \"/dev/x\" = 0.125, \"/dev/y\" = 8, cpu = 0.5 }\n";
        let config = parse(Path::new("x"), text).unwrap();
        let printed = toml::to_string_pretty(&config).unwrap();
        assert_eq!(
            parse(Path::new("x"), &printed).unwrap(),
            config,
            "{printed}"
        );
        let default = toml::to_string_pretty(&Config::default()).unwrap();
        assert_eq!(parse(Path::new("x"), &default).unwrap(), Config::default());
    }

    #[test]
    fn later_files_replace_keys_and_leave_the_others() {
        let folder = std::env::temp_dir().join(format!("wellspring-config-{}", std::process::id()));
        fs::create_dir_all(folder.join("conf.d")).unwrap();
        let main = folder.join("wellspring.toml");
        fs::write(&main, "[log]\nlevel = \"warn\"\n[egd]\nlisten = []\n").unwrap();
        fs::write(
            folder.join("conf.d/10.toml"),
            "[egd]\nlisten = [\"a.sock\"]\n",
        )
        .unwrap();
        fs::write(
            folder.join("conf.d/20.toml"),
            "[egd]\nlisten = [\"b.sock\"]\n",
        )
        .unwrap();
        fs::write(folder.join("conf.d/note.txt"), "no configuration").unwrap();
        let config = load(Some(&main)).unwrap();
        assert_eq!(config.log.level, Level::Warn);
        assert_eq!(config.egd.listen, [Address::Unix("b.sock".into())]);
        fs::write(folder.join("conf.d/30.toml"), "[egd]\n\nlisten = 1\n").unwrap();
        let fault = load(Some(&main)).unwrap_err().to_string();
        assert!(fault.contains("30.toml:3:10: "), "{fault}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_that_was_named_must_exist() {
        let fault = load(Some(Path::new("/nowhere/x.toml"))).unwrap_err();
        assert!(
            fault
                .to_string()
                .starts_with("/nowhere/x.toml: No such file"),
            "{fault}"
        );
    }
}

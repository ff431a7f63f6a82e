//! The configuration: everything has a default, so that no file is needed.
//!
//! ```text
//! values   numbers with bounds, addresses, levels: each rejects a wrong text and says why
//! fault    a mistake, with file, line and column
//! files    reads the file and the folder `conf.d` beside it
//! ```

mod fault;
mod files;
mod values;

pub use fault::ConfigFault;
pub use files::{DEFAULT_PATH, load, parse};
pub use values::{Address, Bounded, FileMode, Level, PrfName};

use crate::doors::Door;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
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
pub(crate) const ROOT_FOLDER: &str = "/run/wellspring";

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
        // That variable, on a system with logind.
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
    /// Devices or named pipes whose noise is mixed in without credit, at most 10.
    #[serde(deserialize_with = "values::noise_files")]
    pub noise_files: Vec<PathBuf>,
}

impl Default for EngineSection {
    fn default() -> Self {
        let folder = std::env::var_os("STATE_DIRECTORY");
        Self {
            mode: Mode::default(),
            prf: PrfName::default(),
            seed_file: folder.map_or(PathBuf::new(), |folder| Path::new(&folder).join("seed")),
            noise_files: Vec::new(),
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
    pub(crate) fn runtime_address(&self, address: &Address) -> Address {
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

//! Opens everything that the configuration asks for. If one thing cannot be opened, that is noted, and the others open.

use crate::config_reader::ConfigReader;
use crate::kernel::{KernelPool, MODULE_NAME, OpenModule, POOL_PATH};
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wellspring::clone_detection::{CloneEvents, VMCLOCK_PATH};
use wellspring::seed_file::Identity;
use wellspring::{MinEntropy, Source};
use wellspring_device_files::{Guardian, MountedFiles};
use wellspring_os::os::open_device;
use wellspring_service_core::config::{Config, SocketSection};
use wellspring_service_core::doors::{Door, Doors};
use wellspring_service_core::listener::Listener;
use wellspring_service_core::reseeder::Reseeder;
use wellspring_service_core::state::Page;
use wellspring_sources::{Cpu, Hwrng, NoiseFile};

/// Everything that the service opens before it gives up its privileges.
pub(crate) struct Opened {
    pub(crate) reader: io::Result<ConfigReader>,
    pub(crate) reseeder: Reseeder,
    pub(crate) sources: Vec<Arc<dyn Source>>,
    /// The hypervisor's clock, if this machine has it.
    pub(crate) vmclock: Option<OwnedFd>,
    pub(crate) identity: Identity,
    pub(crate) page: Page,
    pub(crate) events: CloneEvents,
    pub(crate) files: Option<MountedFiles>,
    pub(crate) pool: Option<KernelPool>,
    pub(crate) module: Option<OpenModule>,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) guests: Vec<Listener>,
}

/// Opens everything. If one thing cannot be opened, that is noted, and the others open. The configuration was read from
/// `path`.
pub(crate) fn open(path: Option<&Path>, config: &Config, doors: &Doors) -> Opened {
    let mut listeners = Vec::new();
    // First of all: from here on these sockets are closed at exec(2), so that the next processes do not keep them.
    listeners.extend(activated(doors));
    // Before anything is opened: the next processes would get a copy of it.
    let reader = ConfigReader::start(path);
    let reseeder = Reseeder::start();
    let mount = &config.files.mount;
    let guardian = (!mount.as_os_str().is_empty()).then(|| Guardian::start(mount));
    open_sockets(config, doors, &config.egd, &mut listeners);
    open_sockets(config, doors, &config.bulk, &mut listeners);
    open_sockets(config, doors, &config.web, &mut listeners);
    open_sockets(config, doors, &config.vhost_user, &mut listeners);
    let is_for_guests = |listener: &mut Listener| listener.door == Door::VhostUser;
    Opened {
        reader,
        reseeder,
        guests: listeners.extract_if(.., is_for_guests).collect(),
        page: open_page(config, doors),
        events: CloneEvents::new(),
        files: guardian.and_then(|guardian| {
            let threads = config.files.threads.get() as usize;
            let files = MountedFiles::mount(mount, threads, guardian);
            doors.tried("files", mount.display(), files)
        }),
        pool: open_pool(config, doors),
        module: open_module(config, doors),
        sources: open_sources(config, doors),
        vmclock: open_device(Path::new(VMCLOCK_PATH))
            .and_then(|device| device.as_fd().try_clone_to_owned().ok()),
        // Root alone can read what the firmware says of it.
        identity: Identity::system(),
        listeners,
    }
}

/// The sockets that systemd opened, by their names: `FileDescriptorName=egd` and so on. None at a second call.
fn activated(doors: &Doors) -> Vec<Listener> {
    static ARE_TAKEN: AtomicBool = AtomicBool::new(false);
    let mut listeners = Vec::new();
    if ARE_TAKEN.swap(true, Ordering::Relaxed) {
        return listeners;
    }
    let given = match sd_notify::listen_fds_with_names() {
        Ok(given) => given,
        Err(error) => {
            doors.tried::<(), _>("sockets", "systemd", Err(error));
            return listeners;
        }
    };
    for (descriptor, name) in given {
        // SAFETY: systemd gave this descriptor to the process, which takes it here, and only once.
        let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let door = [Door::Egd, Door::Bulk, Door::Web, Door::VhostUser]
            .into_iter()
            .find(|door| door.name() == name);
        let Some(door) = door else {
            let place = format!("'{name}' from systemd");
            let fault = "its name is none of: egd, bulk, web, vhost-user";
            doors.tried::<(), _>("sockets", place, Err(fault));
            continue;
        };
        let listener = Listener::activated(door, socket);
        listeners.extend(doors.tried(door.name(), "from systemd", listener));
    }
    listeners
}

/// Opens the sockets of a door, unless systemd did.
fn open_sockets<const DOOR: u8, const MODE: u32>(
    config: &Config,
    doors: &Doors,
    section: &SocketSection<DOOR, MODE>,
    listeners: &mut Vec<Listener>,
) {
    let door = Door::ALL[usize::from(DOOR)];
    if listeners.iter().any(|listener| listener.door == door) {
        return;
    }
    for address in &section.listen {
        let address = config.runtime_address(address);
        let listener = Listener::open(door, &address, section.mode.get());
        listeners.extend(doors.tried(door.name(), &address, listener));
    }
}

fn open_page(config: &Config, doors: &Doors) -> Page {
    let path = config.runtime_path(&config.page.path);
    let page = config.page.serve.then(|| Page::open(&path));
    page.and_then(|page| doors.tried("page", path.display(), page))
        .unwrap_or_else(Page::without_file)
}

/// The sources of every engine, and the noise files. These are credited what the operator claims, and so are the processor and
/// /dev/hwrng if there is a claim: the service cannot know what is in them.
fn open_sources(config: &Config, doors: &Doors) -> Vec<Arc<dyn Source>> {
    let claim = |name: &Path| {
        let credit = config.engine.noise_credit.get(name);
        credit.map(|credit| credit.get())
    };
    let mut sources = wellspring_sources::all();
    for source in &mut sources {
        let claim = claim(Path::new(source.name()));
        if source.name() == Hwrng::NAME {
            let device = Hwrng::kept_open();
            *source = match claim {
                Some(claim) => Arc::new(device.with_claim(claim)),
                None => Arc::new(device),
            };
        } else if let (Cpu::NAME, Some(claim)) = (source.name(), claim) {
            *source = Arc::new(Cpu::new().with_claim(claim));
        }
    }
    for path in &config.engine.noise_files {
        let file = NoiseFile::open(path, claim(path).unwrap_or(MinEntropy::NONE));
        let file = doors.tried("noise", path.display(), file);
        sources.extend(file.map(|file| Arc::new(file) as Arc<dyn Source>));
    }
    sources
}

fn open_pool(config: &Config, doors: &Doors) -> Option<KernelPool> {
    let section = &config.kernel_pool;
    let interval = Duration::from_secs(section.interval_s.get());
    let open = || KernelPool::open(interval, section.credit_bits.get());
    doors.tried("kernel-pool", POOL_PATH, section.feed.then(open)?)
}

fn open_module(config: &Config, doors: &Doors) -> Option<OpenModule> {
    let section = &config.kernel_module;
    let path = &section.seed_file;
    if path.as_os_str().is_empty() {
        return None;
    }
    let interval = Duration::from_secs(section.save_interval_s.get());
    let module = OpenModule::open(path.clone(), interval);
    doors.tried(MODULE_NAME, path.display(), module)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env::{current_exe, var_os};
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixListener;
    use std::process::{Command, Stdio};

    #[test]
    fn the_operators_claims_for_the_processor_and_the_device_replace_ours() {
        let claims = |config: &Config| {
            let sources = open_sources(config, &Doors::default());
            ["cpu", "hwrng", "os"].map(|name| {
                let mut all = sources.iter().filter(|source| source.name() == name);
                let claim = all.next().unwrap().min_entropy().as_256ths();
                assert!(all.next().is_none());
                claim
            })
        };
        assert_eq!(claims(&Config::default()), [0, 256, 2048]);
        let mut config = Config::default();
        let text = "cpu = 0.5\nhwrng = 4\nos = 1\n";
        config.engine.noise_credit = toml::from_str(text).unwrap();
        assert_eq!(claims(&config), [128, 1024, 2048]);
    }

    /// In a program of its own, whose descriptor 3 is a socket as systemd gives it.
    #[test]
    fn a_descriptor_from_systemd_is_taken_once() {
        const NAME: &str = "startup::tests::a_descriptor_from_systemd_is_taken_once";
        const MARK: &str = "WELLSPRING_TAKES_DESCRIPTORS";
        let doors = Doors::default();
        if var_os(MARK).is_some() {
            let first = activated(&doors);
            assert_eq!(first.len(), 1);
            drop(first);
            let other = File::open("/").unwrap();
            assert_eq!(other.as_raw_fd(), 3, "it has the number of the first one");
            assert!(activated(&doors).is_empty());
            assert!(
                doors
                    .openings()
                    .iter()
                    .all(|opening| opening.fault.is_none())
            );
            other.metadata().expect("it is still open");
            return;
        }
        let path = std::env::temp_dir().join(format!("ws-activated-{}", std::process::id()));
        let socket = OwnedFd::from(UnixListener::bind(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
        let script =
            "LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=egd exec \"$0\" --exact \"$1\" 3<&0";
        let mut child = Command::new("sh");
        child
            .args(["-c", script])
            .arg(current_exe().unwrap())
            .arg(NAME);
        let output = child
            .env(MARK, "1")
            .stdin(Stdio::from(socket))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}

//! The service from its start to its end.
//!
//! Everything that needs a privilege is opened first, by the only thread. Then the privileges go, then the sandbox
//! closes, and only then the engine and the other threads start: all of them are in the sandbox.

use crate::activation;
use crate::config::{self, Config, SocketDefaults, SocketSection};
use crate::doors::{Door, Doors};
use crate::files::{MountedFiles, ServedFiles};
use crate::guests::Guests;
use crate::kernel_pool::{self, KernelPool};
use crate::log;
use crate::page::Page;
use crate::process::signals::{Order, Signals};
use crate::process::{bounds, privileges, sandbox};
use crate::sockets::{Listener, Workers};
use crate::state::State;
use crate::users::Users;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::thread::CapabilitySet;
use sd_notify::NotifyState;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wellspring::{Engine, Harvester, SourceHealth};

/// The longest wait for a signal or a clone. The service checks its sources about once in this time.
const TICK: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// The reason why the service did not start, in a line.
pub type Fault = String;

/// Everything that the service opens before it gives up its privileges.
struct Opened {
    page: Page,
    files: Option<MountedFiles>,
    pool: Option<KernelPool>,
    listeners: Vec<Listener>,
    guests: Vec<Listener>,
}

/// Runs the service until SIGTERM or SIGINT. At SIGHUP it reads the configuration at `path` again.
///
/// # Errors
///
/// The reason why it did not start.
pub fn run(path: Option<&Path>, config: &Config) -> Result<(), Fault> {
    log::start(config.log.level);
    let signals = Signals::block().map_err(|error| format!("signals: {error}"))?;
    for missing in bounds::set() {
        tracing::info!("{missing}");
    }
    make_runtime_dir(&config.service.runtime_dir);
    let doors = Doors::default();
    let opened = open(config, &doors);
    enclose(path, config)?;
    let engine = engine(config)?;
    let state = Arc::new(State::new(engine, doors, Users::new(&config.limits)));
    let mut service = Service {
        path,
        config: config.clone(),
        healths: Vec::new(),
        signals,
        page: opened.page,
        pool: opened.pool,
        watchdog: sd_notify::watchdog_enabled().is_some(),
        state: state.clone(),
    };
    state.sample();
    let threads = config.service.threads.get() as usize;
    let workers = Workers::start(&state, opened.listeners, threads)
        .map_err(|error| format!("no threads for sockets: {error}"))?;
    let guests = serve_guests(&state, opened.guests)?;
    let files = service.serve_files(opened.files)?;
    tracing::info!(
        "ready: {} openings; Ctrl-C or SIGTERM ends",
        state.doors.openings().len()
    );
    tell(&[NotifyState::Ready]);
    service.serve();
    tell(&[NotifyState::Stopping]);
    drop(files);
    drop(guests);
    drop(workers);
    tracing::info!("ended");
    Ok(())
}

/// Without a socket for guests there is no thread for them.
fn serve_guests(state: &Arc<State>, listeners: Vec<Listener>) -> Result<Option<Guests>, Fault> {
    let guests = (!listeners.is_empty()).then(|| Guests::start(state, listeners));
    guests
        .transpose()
        .map_err(|error| format!("no thread for guests: {error}"))
}

/// Tells systemd, if it listens.
fn tell(what: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(what);
}

fn make_runtime_dir(path: &Path) {
    if let Err(error) = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)
    {
        tracing::error!("{}: {error}", path.display());
        return;
    }
    // Other users must reach the sockets, whatever the umask is. A folder with files in it keeps its mode.
    if fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()) {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o755));
    }
}

fn engine(config: &Config) -> Result<Engine, Fault> {
    let mut builder = Engine::builder().mode(config.engine.mode.0);
    if let Some(prf) = config.engine.prf.0 {
        builder = builder.prf(prf);
    }
    if !config.engine.seed_file.as_os_str().is_empty() {
        builder = builder.seed_file(&config.engine.seed_file);
    }
    builder = builder.generation_page(config.runtime_path(&config.page.path));
    let engine = builder.harvester(Harvester::default()).build();
    engine.map_err(|error| format!("the engine: {error}"))
}

/// Opens everything. If one thing cannot be opened, that is noted, and the others open.
fn open(config: &Config, doors: &Doors) -> Opened {
    let mut listeners = Vec::new();
    listeners.extend(activation::activated(doors));
    open_sockets(config, doors, &config.egd, Door::Egd, &mut listeners);
    open_sockets(config, doors, &config.bulk, Door::Bulk, &mut listeners);
    open_sockets(config, doors, &config.web, Door::Web, &mut listeners);
    open_sockets(
        config,
        doors,
        &config.vhost_user,
        Door::VhostUser,
        &mut listeners,
    );
    let is_for_guests = |listener: &mut Listener| listener.door == Door::VhostUser;
    Opened {
        guests: listeners.extract_if(.., is_for_guests).collect(),
        page: open_page(config, doors),
        files: open_files(config, doors),
        pool: open_pool(config, doors),
        listeners,
    }
}

/// Opens the sockets of a door, unless systemd did.
fn open_sockets<D: SocketDefaults>(
    config: &Config,
    doors: &Doors,
    section: &SocketSection<D>,
    door: Door,
    listeners: &mut Vec<Listener>,
) {
    if listeners.iter().any(|listener| listener.door == door) {
        return;
    }
    for address in &section.listen {
        let address = match address {
            config::Address::Unix(path) => config::Address::Unix(config.runtime_path(path)),
            config::Address::Tcp(_) => address.clone(),
        };
        match Listener::open(door, &address, section.mode.get() as u32) {
            Ok(listener) => {
                doors.opened(door.name(), &address);
                listeners.push(listener);
            }
            Err(error) => doors.failed(door.name(), &address, error),
        }
    }
}

fn open_page(config: &Config, doors: &Doors) -> Page {
    let path = config.runtime_path(&config.page.path);
    if config.page.serve {
        match Page::open(&path) {
            Ok(page) => {
                doors.opened("page", path.display());
                return page;
            }
            Err(error) => doors.failed("page", path.display(), error),
        }
    }
    Page::without_file()
}

fn open_files(config: &Config, doors: &Doors) -> Option<MountedFiles> {
    let path = &config.files.mount;
    if path.as_os_str().is_empty() {
        return None;
    }
    match MountedFiles::mount(path, config.files.threads.get() as usize) {
        Ok(files) => {
            doors.opened("files", path.display());
            Some(files)
        }
        Err(fault) => {
            doors.failed("files", path.display(), fault);
            None
        }
    }
}

fn open_pool(config: &Config, doors: &Doors) -> Option<KernelPool> {
    let section = &config.kernel_pool;
    if !section.feed {
        return None;
    }
    let interval = Duration::from_secs(section.interval_s.get());
    match KernelPool::open(interval, section.credit_bits.get()) {
        Ok(pool) => {
            doors.opened("kernel-pool", kernel_pool::PATH);
            Some(pool)
        }
        Err(error) => {
            doors.failed("kernel-pool", kernel_pool::PATH, error);
            None
        }
    }
}

/// Gives up privileges and closes the sandbox.
fn enclose(path: Option<&Path>, config: &Config) -> Result<(), Fault> {
    let kept = if config.kernel_pool.feed && config.kernel_pool.credit_bits.get() > 0 {
        CapabilitySet::SYS_ADMIN
    } else {
        CapabilitySet::empty()
    };
    privileges::give_up(&config.service.user, kept)
        .map_err(|error| format!("privileges cannot be given up: {error}"))?;
    if !config.service.sandbox {
        tracing::warn!("there is no sandbox: the configuration says so");
        return Ok(());
    }
    let folder = |path: &Path| path.parent().map(Path::to_owned);
    let seed = folder(&config.engine.seed_file).filter(|path| !path.as_os_str().is_empty());
    let mut written: Vec<PathBuf> = seed.into_iter().collect();
    written.push(config.service.runtime_dir.clone());
    written.extend(folder(&config.runtime_path(&config.page.path)));
    let read: Vec<PathBuf> = path.and_then(folder).into_iter().collect();
    if let Err(reason) = sandbox::restrict_files(&written, &read) {
        tracing::warn!("files are not restricted: {reason}");
    }
    sandbox::restrict_calls().map_err(|reason| format!("no filter of system calls: {reason}"))
}

struct Service<'a> {
    path: Option<&'a Path>,
    config: Config,
    /// The health of each source at the last tick.
    healths: Vec<SourceHealth>,
    signals: Signals,
    page: Page,
    pool: Option<KernelPool>,
    watchdog: bool,
    state: Arc<State>,
}

impl Service<'_> {
    fn serve_files(&self, files: Option<MountedFiles>) -> Result<Option<ServedFiles>, Fault> {
        let serve = |files: MountedFiles| {
            // Waits for the seed. A program that opens a file meanwhile waits too, and can be interrupted.
            self.state.engine.fill(&mut [0]);
            files.serve(self.state.clone())
        };
        let served = files.map(serve).transpose();
        served.map_err(|error| format!("no threads for files: {error}"))
    }

    /// Serves until the end.
    fn serve(&mut self) {
        let mut next = Instant::now();
        loop {
            while let Some(order) = self.signals.next() {
                match order {
                    Order::End => return,
                    Order::Reload => self.reload(),
                    Order::Diverge => {
                        self.page.change();
                        self.diverge("an operator's order (SIGUSR1): the generation page changed");
                    }
                }
            }
            for words in self.page.notices() {
                self.diverge(words);
            }
            let now = Instant::now();
            if now >= next {
                next = now + Duration::from_secs(1);
                self.tick(now);
            }
            let mut polled = vec![PollFd::from_borrowed_fd(
                self.signals.as_fd(),
                PollFlags::IN,
            )];
            let wakes = self.page.wakes();
            polled.extend(wakes.map(|wakes| PollFd::from_borrowed_fd(wakes, PollFlags::IN)));
            let _ = poll(&mut polled, Some(&TICK));
        }
    }

    fn diverge(&self, words: &str) {
        self.state.engine.diverge_from_clones();
        self.state.notices.add(false, words.into());
    }

    fn tick(&mut self, now: Instant) {
        self.state.sample();
        self.look_at_sources();
        let fed = self
            .pool
            .as_mut()
            .map(|pool| pool.feed(&self.state.engine, now));
        match fed {
            Some(Ok(true)) => tracing::debug!("the kernel's pool was fed"),
            Some(Err(error)) => {
                let words = format!("the kernel's pool was not fed: {error}");
                self.state.notices.add(true, words);
            }
            _ => {}
        }
        // If the engine hands out nothing, systemd gets no sign of life and starts the service again.
        if self.watchdog && self.state.is_ready() {
            tell(&[NotifyState::Watchdog]);
        }
    }

    /// Notes sources whose health has changed.
    fn look_at_sources(&mut self) {
        let sources = self.state.engine.stats().sources;
        let now: Vec<SourceHealth> = sources.iter().map(|source| source.health).collect();
        for ((source, before), now) in sources.iter().zip(&self.healths).zip(&now) {
            if before != now {
                let is_fault = !matches!(now, SourceHealth::Active | SourceHealth::StartUp);
                let words = format!(
                    "the source {}: {}, it was {}",
                    source.name,
                    now.name(),
                    before.name()
                );
                self.state.notices.add(is_fault, words);
            }
        }
        self.healths = now;
    }

    /// Reads the configuration again. Limits and the level of the log change at once; connections stay open.
    fn reload(&mut self) {
        if let Ok(reloading) = NotifyState::monotonic_usec_now() {
            tell(&[NotifyState::Reloading, reloading]);
        }
        match config::load(self.path) {
            Ok(new) => {
                for section in self.config.needs_restart(&new) {
                    let words =
                        format!("[{section}] has changed: that takes effect at the next start");
                    self.state.notices.add(false, words);
                }
                self.state.users.set_limits(&new.limits);
                log::set_level(new.log.level);
                self.state
                    .notices
                    .add(false, "the configuration was read again".into());
            }
            Err(fault) => {
                let words = format!("the configuration stays as it was: {fault}");
                self.state.notices.add(true, words);
            }
        }
        tell(&[NotifyState::Ready]);
    }
}

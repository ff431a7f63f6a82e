//! The service from its start to its end; its messages to systemd; its log.
//!
//! Everything that needs a privilege is opened first, by the only thread. Then the privileges go, then the sandbox
//! closes, and only then the engine and the other threads start: all of them are in the sandbox.

use crate::config_reader::ConfigReader;
use crate::kernel::{KernelPool, KernelSeeds};
use crate::sockets::Workers;
use crate::startup::open;
use crate::status::{SourceWatch, note_day};
use log::{Log, Metadata, Record};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sd_notify::NotifyState;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};
use wellspring::clone_detection::CloneEvents;
use wellspring::seed_file::Identity;
use wellspring::{Engine, Harvester, Source};
use wellspring_command_line::escaped;
use wellspring_device_files::{MountedFiles, ServedFiles};
use wellspring_guests::Guests;
use wellspring_os::trusted_file::check_folders;
use wellspring_service_core::config::{Config, Level};
use wellspring_service_core::doors::{Doors, Opening};
use wellspring_service_core::listener::Listener;
use wellspring_service_core::process::{Code, Order, Signals, set_bounds};
use wellspring_service_core::sandbox::{User, enclose};
use wellspring_service_core::state::{State, test};
use wellspring_service_core::users::Users;

/// The longest wait for a draw at the end. A draw of a source that works takes less than a second.
const END_WAIT: Duration = Duration::from_secs(2);

/// The longest wait for a signal or a clone. The service checks its sources about once in this time.
const TICK: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// The reason why the service did not start, or handed out nothing at its end, in a line.
pub type Fault = String;

/// Runs the service until SIGTERM or SIGINT. At SIGHUP it reads the configuration at `path` again.
///
/// # Errors
///
/// The reason why it did not start, or the self-test that failed while it ran.
pub fn run(path: Option<&Path>, config: &Config) -> Result<(), Fault> {
    start_log(config.log.level);
    let signals = Signals::block().map_err(|error| format!("signals: {error}"))?;
    for missing in set_bounds() {
        log::info!("{missing}");
    }
    let user =
        User::named(&config.service.user).map_err(|error| format!("[service] user: {error}"))?;
    make_runtime_dir(&config.service.runtime_dir, user)?;
    let code = Code::of_process();
    let code = code.map_err(|error| log::error!("self-tests cannot compare the code: {error}"));
    let code = code.ok();
    test(code.as_ref()).map_err(|error| error.to_string())?;
    let doors = Doors::default();
    let opened = open(path, config, &doors);
    let reader = opened.reader;
    let reader =
        reader.map_err(|error| format!("no process to read the configuration: {error}"))?;
    let supervisor = Supervisor::find();
    enclose(config, user)?;
    let engine = engine(config, opened.sources, opened.vmclock, opened.identity)?;
    let users = Users::new(&config.limits);
    let state = State::new(engine, opened.reseeder, opened.page, doors, users);
    let state = Arc::new(state.with_code(code));
    let mut service = Service {
        reader,
        supervisor,
        config: config.clone(),
        sources: SourceWatch::default(),
        signals,
        events: opened.events,
        pool: opened.pool,
        guests: None,
        files: None,
        watchdog: sd_notify::watchdog_enabled().is_some(),
        stuck: Vec::new(),
        next_self_test: Instant::now() + self_test_interval(config),
        state: state.clone(),
    };
    state.note_generation();
    // A copy may have been made while no service ran.
    state.make_up_for_kernel();
    let threads = config.service.threads.get() as usize;
    let workers = Workers::start(&state, opened.listeners, threads)
        .map_err(|error| format!("no threads for sockets: {error}"))?;
    service.guests = serve_guests(&state, config, opened.guests)?;
    let start_seeds = |module| KernelSeeds::start(&state, module);
    let seeds = opened.module.map(start_seeds).transpose();
    let seeds = seeds.map_err(|error| format!("no thread for the kernel module: {error}"))?;
    service.files = service.serve_files(opened.files)?;
    let openings = state.doors.openings();
    let useless = is_useless(&openings);
    if !useless {
        let open = openings.iter().filter(|one| one.fault.is_none()).count();
        log::info!(
            "ready: {open} of {} openings are open; Ctrl-C or SIGTERM ends",
            openings.len()
        );
        service.tell(&[NotifyState::Ready]);
        service.serve();
    }
    service.tell(&[NotifyState::Stopping]);
    drop(service.files.take());
    drop(service.guests.take());
    drop(workers);
    drop(seeds);
    drop(service);
    let failure = state.self_tests.failure();
    end_engine(state);
    log::info!("ended");
    if useless {
        return Err("no door is open".into());
    }
    failure.map_or(Ok(()), |failure| Err(failure.to_string()))
}

/// Whether nothing that the configuration asks for is open. The page and sources of noise alone serve no program.
fn is_useless(openings: &[Opening]) -> bool {
    let mut doors = openings
        .iter()
        .filter(|one| !["page", "noise"].contains(&one.name))
        .peekable();
    doors.peek().is_some() && doors.all(|one| one.fault.is_some())
}

/// Ends the engine, which waits for a draw that its harvester has begun. A source that hangs may not hold up the end: its
/// seed file keeps what was saved last.
fn end_engine(state: Arc<State>) {
    let (ended, end) = channel();
    let drop_it = move || {
        drop(state);
        let _ = ended.send(());
    };
    // Without a thread the closure is dropped here, and the engine with it.
    let _ = thread::Builder::new().name("end".into()).spawn(drop_it);
    if end.recv_timeout(END_WAIT) == Err(RecvTimeoutError::Timeout) {
        log::warn!("the end does not wait for a source that hangs");
    }
}

fn self_test_interval(config: &Config) -> Duration {
    Duration::from_secs(config.engine.self_test_interval_s.get())
}

/// Without a socket for guests there is no thread for them.
fn serve_guests(
    state: &Arc<State>,
    config: &Config,
    listeners: Vec<Listener>,
) -> Result<Option<Guests>, Fault> {
    if listeners.is_empty() {
        return Ok(None);
    }
    Guests::start(state, &config.guests, listeners)
        .map(Some)
        .map_err(|error| format!("no thread for guests: {error}"))
}

/// Makes the folder of sockets and page, or checks the existing folder: a user who can replace it could play the service to
/// its clients.
fn make_runtime_dir(path: &Path, user: User) -> Result<(), Fault> {
    if let Err(error) = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)
    {
        log::error!("{}: {error}", path.display());
    }
    match check_folders(path, Some(user.uid.as_raw())) {
        Err(fault) if fault.is_wrong_file() => {
            let path = path.display();
            return Err(format!(
                "the folder {path} or one above it is not safe: {fault}"
            ));
        }
        _ => {}
    }
    // Other users must reach the sockets, and this user must, whatever the umask is. A folder with files in it keeps its mode.
    if fs::read_dir(path).map_or(true, |mut entries| entries.next().is_none()) {
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o755));
    }
    Ok(())
}

fn engine(
    config: &Config,
    sources: Vec<Arc<dyn Source>>,
    vmclock: Option<OwnedFd>,
    identity: Identity,
) -> Result<Engine, Fault> {
    let mut builder = Engine::builder().mode(config.engine.mode).self_test();
    if let Some(prf) = config.engine.prf.prf() {
        builder = builder.prf(prf);
    }
    if !config.engine.seed_file.as_os_str().is_empty() {
        builder = builder.seed_file(&config.engine.seed_file);
    }
    if let Some(device) = vmclock {
        builder = builder.vmclock_device(device);
    }
    builder = builder.identity(identity).sources(sources);
    builder = builder.generation_page(config.runtime_path(&config.page.path));
    let engine = builder.harvester(Harvester::default()).build();
    engine.map_err(|error| format!("the engine: {error}"))
}

struct Service {
    reader: ConfigReader,
    supervisor: Option<Supervisor>,
    config: Config,
    sources: SourceWatch,
    signals: Signals,
    events: CloneEvents,
    pool: Option<KernelPool>,
    guests: Option<Guests>,
    files: Option<ServedFiles>,
    watchdog: bool,
    /// The threads that were stuck at the last look.
    stuck: Vec<String>,
    next_self_test: Instant,
    state: Arc<State>,
}

impl Service {
    /// Tells the supervisor, if there is one.
    fn tell(&self, what: &[NotifyState<'_>]) {
        if let Some(supervisor) = &self.supervisor {
            supervisor.tell(what);
        }
    }

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
                        self.state
                            .change_generation("an operator's order (SIGUSR1)", &[], false);
                    }
                }
            }
            self.look_for_clones();
            let now = Instant::now();
            if now >= next {
                next = now + Duration::from_secs(1);
                self.tick(now);
            }
            let mut polled = vec![PollFd::from_borrowed_fd(
                self.signals.as_fd(),
                PollFlags::IN,
            )];
            let wakes = self.events.wakes();
            polled.extend(wakes.map(|wakes| PollFd::from_borrowed_fd(wakes, PollFlags::IN)));
            let _ = poll(&mut polled, Some(&TICK));
        }
    }

    fn look_for_clones(&mut self) {
        if self.state.page.was_changed_by_another() {
            self.state
                .note_clone("another process changed the generation page".into());
        }
        self.state.make_up_for_kernel();
        while let Some(event) = self.events.next_event() {
            self.state
                .change_generation(event.words(), &[], event.has_reseeded_kernel());
        }
    }

    fn tick(&mut self, now: Instant) {
        self.state.note_generation();
        if now >= self.next_self_test {
            self.next_self_test = now + self_test_interval(&self.config);
            // The state keeps a failure, and logs it.
            let _ = self.state.self_test();
        }
        self.look_at_sources();
        self.look_at_files();
        if let Some(guests) = &self.guests {
            guests.free_if_stuck();
        }
        let fed = self.pool.as_mut().map(|pool| pool.feed(&self.state, now));
        match fed {
            Some(Ok(true)) => log::debug!("the kernel's pool was fed"),
            Some(Err(error)) => {
                let words = format!("the kernel's pool was not fed: {error}");
                self.state.event_log.add(true, words);
            }
            _ => {}
        }
        // If the engine hands out nothing, or a thread is stuck, systemd gets no sign of life and starts the service
        // again.
        let all_go_round = self.look_at_threads();
        if self.watchdog && all_go_round && self.state.hands_out() {
            self.tell(&[NotifyState::Watchdog]);
        }
    }

    /// Notes threads that have become stuck. Returns whether all go round their loops.
    fn look_at_threads(&mut self) -> bool {
        let stuck = self.state.heartbeats.look();
        for name in stuck.iter().filter(|name| !self.stuck.contains(name)) {
            let words = format!("the thread {name} is stuck: its connections are not served");
            self.state.event_log.add(true, words);
        }
        self.stuck = stuck;
        self.stuck.is_empty()
    }

    /// Notes files that programs no longer find.
    fn look_at_files(&self) {
        if self.files.as_ref().is_some_and(ServedFiles::are_lost) {
            let path = self.config.files.mount.display();
            self.state
                .doors
                .lost("files", path, "another program has unmounted or covered it");
        }
    }

    /// Notes the figures of the day, and sources whose state has changed.
    fn look_at_sources(&mut self) {
        let stats = self.state.engine.stats();
        note_day(&self.state, &stats);
        for (is_fault, words) in self.sources.changes(&stats.sources) {
            self.state.event_log.add(is_fault, words);
        }
    }

    /// Reads the configuration again. Limits and the level of the log change at once; connections stay open.
    fn reload(&mut self) {
        if let Ok(reloading) = NotifyState::monotonic_usec_now() {
            self.tell(&[NotifyState::Reloading, reloading]);
        }
        match self.reader.read() {
            Ok(new) => {
                for section in self.config.needs_restart(&new) {
                    let words =
                        format!("[{section}] has changed: that takes effect at the next start");
                    self.state.event_log.add(false, words);
                }
                self.state.users.set_limits(&new.limits);
                if let Some(guests) = &self.guests {
                    guests.set_limits(&new.guests);
                }
                set_log_level(new.log.level);
                self.state
                    .event_log
                    .add(false, "the configuration was read again".into());
            }
            Err(fault) => {
                let words = format!("the configuration stays as it was: {fault}");
                self.state.event_log.add(true, words);
            }
        }
        self.tell(&[NotifyState::Ready]);
    }
}

// Messages to systemd, or to another supervisor that gave the service a socket for them: sd_notify(3).
//
// The crate sd-notify sends them too, but waits without end for a supervisor that does not read. The thread that would wait
// handles signals, too, so SIGTERM would no longer end the service.

/// The longest wait for room in the queue of the socket: it has room for 10 messages (net.unix.max_dgram_qlen).
const PATIENCE: Duration = Duration::from_millis(200);

/// The supervisor that started the service.
#[derive(Debug)]
struct Supervisor(UnixDatagram);

impl Supervisor {
    /// Connects to the supervisor, if there is one. Call it before the sandbox closes, which forbids that.
    pub(crate) fn find() -> Option<Self> {
        let socket = std::env::var_os("NOTIFY_SOCKET")?;
        let connected = connect(&socket);
        connected
            .inspect_err(|error| log::error!("no messages to the supervisor: {error}"))
            .ok()
            .map(Self)
    }

    /// Tells it. If its queue stays full, the message is lost.
    fn tell(&self, what: &[NotifyState<'_>]) {
        let mut message = String::new();
        for state in what {
            let _ = writeln!(message, "{state}");
        }
        let _ = self.0.send(message.as_bytes());
    }
}

fn connect(socket: &OsStr) -> io::Result<UnixDatagram> {
    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(socket),
    };
    let sender = UnixDatagram::unbound()?;
    sender.set_write_timeout(Some(PATIENCE))?;
    sender.connect_addr(&address?)?;
    Ok(sender)
}

// The log: lines on stderr. Where stderr is the journal, each line begins with its level, as sd-daemon(3) asks.
//
// The log has no secrets: messages have names, numbers and errors.

/// Sets the least level that is written.
fn set_log_level(level: Level) {
    log::set_max_level(match level {
        Level::Error => log::LevelFilter::Error,
        Level::Warn => log::LevelFilter::Warn,
        Level::Info => log::LevelFilter::Info,
        Level::Debug => log::LevelFilter::Debug,
    });
}

/// Writes the log of this process from now on. A second call changes nothing.
fn start_log(level: Level) {
    let is_journal = std::env::var_os("JOURNAL_STREAM").is_some();
    let _ = log::set_boxed_logger(Box::new(Lines { is_journal }));
    set_log_level(level);
}

struct Lines {
    is_journal: bool,
}

impl Log for Lines {
    /// Other crates log under their own names, about their own code.
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("wellspring")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let mut line = String::new();
        if self.is_journal {
            let syslog = match record.level() {
                log::Level::Error => 3,
                log::Level::Warn => 4,
                log::Level::Info => 6,
                log::Level::Debug | log::Level::Trace => 7,
            };
            let _ = write!(line, "<{syslog}>");
        } else {
            line.push_str("wellspringd: ");
        }
        // A control character could break the line.
        line += &escaped(&record.args().to_string());
        line.push('\n');
        // If stderr is closed there is no other place for the line.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    fn flush(&self) {}
}

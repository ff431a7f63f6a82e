//! The things that an attacker who has taken over the service can do. A process closes the service's sandbox around
//! itself, and then tries one thing. The same process without the sandbox shows that the thing is possible here.

use super::attempts::{ATTEMPTS, Attempt, BY_ARGUMENT, By, NEEDS, open_before};
use super::common::{Folder, is_root};
use rustix::thread::set_no_new_privs;
use std::env::{current_exe, var};
use std::fs;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::process::{Child, Command};
use wellspring_service_core::config;
use wellspring_service_core::sandbox::{self, User};

const TEST: &str = "taken_over::what_a_taken_over_service_tries_is_refused";
const ATTEMPT: &str = "WELLSPRING_ATTEMPT";
const LAYER: &str = "WELLSPRING_LAYER";
pub(crate) const FOLDER: &str = "WELLSPRING_FOLDER";
pub(crate) const VICTIM: &str = "WELLSPRING_VICTIM";
pub(crate) const ADDRESS: &str = "WELLSPRING_ADDRESS";
pub(crate) const PORT: &str = "WELLSPRING_PORT";

/// Exit statuses of a process that tries something.
const SUCCEEDED: i32 = 40;
const REFUSED: i32 = 41;
const FAILED: i32 = 42;

/// The number of the user `daemon`, on every Linux.
const DAEMON: u32 = 1;

/// The layers around a process that tries something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layer {
    Nothing,
    /// All that the service has.
    Whole,
    /// Landlock alone, and the filter alone, for root.
    Files,
    Calls,
}

const LAYERS: [(Layer, &str); 4] = [
    (Layer::Nothing, "nothing"),
    (Layer::Whole, "whole"),
    (Layer::Files, "files"),
    (Layer::Calls, "calls"),
];

/// The things of others, which a process that tries something should not reach.
struct World {
    folder: Folder,
    victim: Child,
    _stream: UnixListener,
    _datagrams: UnixDatagram,
    _named: UnixListener,
    tcp: TcpListener,
}

impl World {
    fn new() -> Self {
        let folder = Folder::new();
        for name in ["run", "outside"] {
            fs::create_dir(folder.path(name)).unwrap();
        }
        make_files(&folder, &["outside/file", "neighbour.toml"]);
        let name = SocketAddr::from_abstract_name(folder.0.as_os_str().as_encoded_bytes());
        Self {
            victim: Command::new("sleep").arg("300").spawn().unwrap(),
            _stream: UnixListener::bind(folder.path("outside/stream.sock")).unwrap(),
            _datagrams: UnixDatagram::bind(folder.path("outside/datagrams.sock")).unwrap(),
            _named: UnixListener::bind_addr(&name.unwrap()).unwrap(),
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            folder,
        }
    }

    /// Has a process try something. Returns its exit status and what it said.
    fn tries(&self, attempt: &str, layer: Layer, user: &str) -> (Option<i32>, String) {
        static SECRET: u64 = 7;
        let seeds = self.folder.path("seeds/seed");
        // As it is before each attempt, whatever the last one did.
        let _ = fs::remove_dir_all(self.folder.path("seeds"));
        fs::create_dir_all(self.folder.path("seeds/folder")).unwrap();
        make_files(&self.folder, &["seeds/a", "seeds/b"]);
        // The seeds are the service's own.
        for name in ["seeds", "seeds/folder", "seeds/a", "seeds/b"] {
            let owner = Some(if user == "root" { 0 } else { DAEMON });
            chown(self.folder.path(name), owner, owner).unwrap();
        }
        let more = format!("user = \"{user}\"\n[engine]\nseed_file = {seeds:?}\n");
        self.folder.configure(&more);
        let (_, layer) = LAYERS.into_iter().find(|(one, _)| *one == layer).unwrap();
        let mut child = Command::new(current_exe().unwrap());
        child.args(["--exact", TEST, "--nocapture"]);
        child.env(ATTEMPT, attempt).env(LAYER, layer);
        child.env(FOLDER, &self.folder.0);
        child.env(VICTIM, self.victim.id().to_string());
        child.env(ADDRESS, (&raw const SECRET as usize).to_string());
        child.env(PORT, self.tcp.local_addr().unwrap().port().to_string());
        let output = child.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        (output.status.code(), said)
    }
}

fn make_files(folder: &Folder, names: &[&str]) {
    for name in names {
        fs::write(folder.path(name), "secret").unwrap();
        fs::set_permissions(folder.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

/// Closes the sandbox, tries, and ends the process.
fn attempt(name: &str) -> ! {
    let layer = var(LAYER).unwrap();
    let (layer, _) = LAYERS.into_iter().find(|(_, one)| *one == layer).unwrap();
    let path = Path::new(&var(FOLDER).unwrap()).join("wellspring.toml");
    let config = config::load(Some(&path)).unwrap();
    open_before(path.parent().unwrap());
    match layer {
        Layer::Nothing => {}
        Layer::Whole => {
            let user = User::named(&config.service.user).unwrap();
            sandbox::enclose(&config, user).unwrap();
        }
        Layer::Files => {
            set_no_new_privs(true).unwrap();
            sandbox::restrict_files(&sandbox::reach(&config)).unwrap();
        }
        Layer::Calls => {
            set_no_new_privs(true).unwrap();
            sandbox::restrict_calls().unwrap();
        }
    }
    let all = attempts().map(|one| (one.name, one.run)).chain(NEEDS);
    let (_, run) = all.into_iter().find(|(one, _)| *one == name).unwrap();
    let status = match run() {
        Ok(()) => SUCCEEDED,
        Err(error) => {
            println!("{error}");
            let is_refused = error.kind() == ErrorKind::PermissionDenied
                || error.raw_os_error() == Some(libc::ENOSYS);
            if is_refused { REFUSED } else { FAILED }
        }
    };
    std::process::exit(status);
}

/// All things to try.
fn attempts() -> impl Iterator<Item = &'static Attempt> {
    ATTEMPTS.iter().chain(BY_ARGUMENT)
}

/// The version of Landlock in this kernel; 0 without it.
fn landlock() -> i32 {
    const VERSION: libc::c_int = 1;
    // SAFETY: landlock_create_ruleset(2) takes no pointer here.
    let version = unsafe {
        let (nothing, none) = (core::ptr::null::<libc::c_void>(), 0_usize);
        libc::syscall(libc::SYS_landlock_create_ruleset, nothing, none, VERSION)
    };
    i32::try_from(version).unwrap_or(0).max(0)
}

/// Whether a layer refuses an attempt alone. `None`: this kernel does not show it.
fn refuses(layer: Layer, by: By, landlock: i32) -> Option<bool> {
    let (files, calls) = match by {
        By::Files(since) => (Some(since), false),
        By::Calls => (None, true),
        By::Both(since) => (Some(since), true),
    };
    let by_files = files.is_some_and(|since| landlock >= since);
    match layer {
        Layer::Nothing => Some(false),
        Layer::Whole if !by_files && !calls => None,
        Layer::Whole => Some(true),
        Layer::Files => by_files.then_some(true),
        Layer::Calls => calls.then_some(true),
    }
}

#[test]
fn what_a_taken_over_service_tries_is_refused() {
    if let Ok(name) = var(ATTEMPT) {
        attempt(&name);
    }
    if !is_root() {
        return;
    }
    let landlock = landlock();
    println!("Landlock: version {landlock}");
    let world = World::new();
    let mut not_refused = Vec::new();
    for Attempt { name, by, .. } in attempts() {
        let (status, said) = world.tries(name, Layer::Nothing, "root");
        if status != Some(SUCCEEDED) {
            println!("SKIPPED: {name}: not possible here without the sandbox: {status:?}: {said}");
            continue;
        }
        for (layer, user) in [
            (Layer::Whole, "root"),
            (Layer::Whole, "daemon"),
            (Layer::Files, "root"),
            (Layer::Calls, "root"),
        ] {
            let Some(expected) = refuses(layer, *by, landlock) else {
                if layer == Layer::Whole {
                    println!("SKIPPED: {name}: this kernel has no Landlock for it");
                }
                continue;
            };
            assert!(expected);
            let (status, said) = world.tries(name, layer, user);
            if status != Some(REFUSED) {
                let said = said.trim();
                not_refused.push(format!("{name}, {layer:?}, {user}: {status:?}: {said}"));
            }
        }
    }
    assert!(not_refused.is_empty(), "{not_refused:#?}");
}

#[test]
fn what_the_service_needs_is_allowed_in_the_sandbox() {
    if !is_root() {
        return;
    }
    let world = World::new();
    for (name, _) in NEEDS {
        for layer in [Layer::Nothing, Layer::Whole] {
            let (status, said) = world.tries(name, layer, "root");
            assert_eq!(status, Some(SUCCEEDED), "{name}, {layer:?}: {said}");
        }
    }
}

/// A word from the parent of a test's process.
pub(crate) fn told(name: &str) -> io::Result<String> {
    var(name).map_err(io::Error::other)
}

//! The commands of `wellspringd` beside serving: it asks the running service for its status, and checks a configuration.

use serde_json::Value;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use wellspring_client::unix_socket::connect_within;
use wellspring_os::trusted_file::{check_folders, check_listener};
use wellspring_service_core::config::{Address, Config, ROOT_FOLDER, ServiceSection};
use wellspring_service_core::sandbox::User;
use wellspring_sources::{Cpu, Hwrng};

/// The longest wait for an answer. A service that works answers at once.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The most bytes of an answer. With 50 users and 50 connections it has some 30,000.
const MAX_BYTES: usize = 1 << 22;

/// The status of the service that this configuration describes. If the configuration names no folder, a user may also get the
/// status of root's service.
///
/// # Errors
///
/// The reason why there is no status, in a line.
pub fn status(config: &Config) -> Result<Value, String> {
    let mut fault = None;
    for address in addresses(config) {
        match get(&address) {
            Ok(body) => {
                let value = serde_json::from_slice(&body);
                return value.map_err(|error| format!("{address}: {error}"));
            }
            // The error of a socket on which a process listens tells more.
            Err(error) if fault.is_none() || !is_absence(&error) => {
                fault = Some(reason(&address, &error));
            }
            Err(_) => {}
        }
    }
    Err(fault.unwrap_or_else(|| "the configuration has no [web] socket".into()))
}

fn addresses(config: &Config) -> Vec<Address> {
    let own = config.web.listen.iter();
    let mut addresses: Vec<Address> = own.map(|one| config.runtime_address(one)).collect();
    let folder = &config.service.runtime_dir;
    if *folder == ServiceSection::default().runtime_dir && folder != Path::new(ROOT_FOLDER) {
        let names = config
            .web
            .listen
            .iter()
            .filter_map(|address| match address {
                Address::Unix(name) => Some(Address::Unix(Path::new(ROOT_FOLDER).join(name))),
                _ => None,
            });
        addresses.extend(names);
    }
    addresses
}

/// Whether no process listens there.
fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::ConnectionRefused
    )
}

/// Tells a missing service from a service that this user may not ask.
fn reason(address: &Address, error: &io::Error) -> String {
    match error.kind() {
        _ if is_absence(error) => format!(
            "no service runs: {address}: {error}; start it with `systemctl start wellspringd`, or with `wellspring serve`"
        ),
        ErrorKind::PermissionDenied if error.raw_os_error().is_some() => format!(
            "no permission to ask the service: {address}: {error}; ask as the user that started it, or set [web] mode"
        ),
        _ => format!("the service gives no status: {address}: {error}"),
    }
}

fn get(address: &Address) -> io::Result<Vec<u8>> {
    match address {
        Address::Unix(path) => {
            let stream = connect_within(path, TIMEOUT)?;
            check_listener(&stream, path).map_err(|fault| {
                let words =
                    format!("another user listens there, and the folder is not safe: {fault}");
                io::Error::new(ErrorKind::PermissionDenied, words)
            })?;
            ask(stream)
        }
        Address::Tcp(address) => {
            let stream = TcpStream::connect_timeout(address, TIMEOUT)?;
            stream.set_read_timeout(Some(TIMEOUT))?;
            ask(stream)
        }
        Address::Vsock { .. } => Err(io::Error::new(
            ErrorKind::Unsupported,
            "the service gives no status by vsock",
        )),
    }
}

/// Another user may listen at an address of TCP, and answer without end.
fn ask(mut stream: impl Read + Write) -> io::Result<Vec<u8>> {
    stream.write_all(b"GET /status.json HTTP/1.1\r\n\r\n")?;
    let until = Instant::now() + TIMEOUT;
    let (mut answer, mut part) = (Vec::new(), [0; 4096]);
    let mut is_good = true;
    while is_good {
        match stream.read(&mut part)? {
            0 => break,
            length => answer.extend_from_slice(&part[..length]),
        }
        is_good = answer.len() <= MAX_BYTES && Instant::now() < until;
    }
    is_good &= answer.starts_with(b"HTTP/1.1 200 ");
    let body = answer.windows(4).position(|four| four == b"\r\n\r\n");
    match body {
        Some(end) if is_good => Ok(answer.split_off(end + 4)),
        _ => Err(io::Error::new(
            ErrorKind::InvalidData,
            "this is not the service",
        )),
    }
}

// `wellspringd --check-config`: whether this machine has what a configuration names, for the user that the service becomes.

/// `StateDirectory=` of the unit: systemd makes it when the unit starts for the first time.
const STATE_FOLDER: &str = "/var/lib/wellspringd";

/// Everything that the service would not find, or not be allowed to use: a line for each. Opens and changes nothing.
pub fn faults(config: &Config) -> Vec<String> {
    let mut faults = Vec::new();
    let mut check = |key: &str, result: Result<(), String>| {
        faults.extend(result.err().map(|reason| format!("{key}: {reason}")));
    };
    let user = match User::named(&config.service.user) {
        Ok(user) => user.uid.as_raw(),
        Err(error) => return vec![format!("[service] user: {error}")],
    };
    check(
        "[service] runtime_dir",
        is_safe(&config.service.runtime_dir, user),
    );
    check(
        "[engine] seed_file",
        is_for_seeds(&config.engine.seed_file, user),
    );
    check(
        "[kernel_module] seed_file",
        is_for_seeds(&config.kernel_module.seed_file, user),
    );
    for file in &config.engine.noise_files {
        check("[engine] noise_files", is_noise(file));
    }
    for file in config.engine.noise_credit.keys() {
        let named = [Path::new(Cpu::NAME), Path::new(Hwrng::NAME)];
        let is_named = named.contains(&file.as_path()) || config.engine.noise_files.contains(file);
        let unnamed = || format!("{} is not in noise_files", file.display());
        check(
            "[engine] noise_credit",
            is_named.then_some(()).ok_or_else(unnamed),
        );
    }
    check("[files] mount", is_mount_point(&config.files.mount));
    if config.page.serve {
        check("[page] path", has_folder(config, &config.page.path));
    }
    let sockets = [
        ("[egd] listen", &config.egd.listen),
        ("[bulk] listen", &config.bulk.listen),
        ("[web] listen", &config.web.listen),
        ("[vhost_user] listen", &config.vhost_user.listen),
    ];
    for (key, address) in sockets
        .iter()
        .flat_map(|(key, all)| all.iter().map(move |one| (key, one)))
    {
        if let Address::Unix(path) = address {
            check(key, has_folder(config, path));
        }
    }
    faults
}

/// The service makes this folder, and does not start if another user can change it.
fn is_safe(folder: &Path, user: u32) -> Result<(), String> {
    let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
    let there = folder
        .ancestors()
        .find(|above| fs::symlink_metadata(above).is_ok());
    let there = there.unwrap_or(Path::new("/"));
    check_folders(there, Some(user))
        .map_err(|fault| format!("{} or a folder above it: {fault}", there.display()))
}

/// The service replaces a seed file as its user.
fn is_for_seeds(file: &Path, user: u32) -> Result<(), String> {
    let folder = folder_of(file);
    if file.as_os_str().is_empty() || folder == Path::new(STATE_FOLDER) && !folder.exists() {
        return Ok(());
    }
    let owner = is_folder(&folder)?.uid();
    if user == 0 || owner == user {
        return Ok(());
    }
    let folder = folder.display();
    Err(format!(
        "{folder} belongs to user {owner}, and the service becomes user {user}, who must own it"
    ))
}

fn is_noise(file: &Path) -> Result<(), String> {
    match fs::metadata(file) {
        Ok(found) if found.is_dir() => Err(format!("{} is a folder", file.display())),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{}: {error}", file.display())),
    }
}

/// The service makes this folder in its parent.
fn is_mount_point(folder: &Path) -> Result<(), String> {
    if folder.as_os_str().is_empty() {
        return Ok(());
    }
    let there = if folder.exists() {
        folder.to_owned()
    } else {
        folder_of(folder)
    };
    is_folder(&there).map(drop)
}

/// The folder of a socket or of the page: the runtime folder, which the service makes, or another folder.
fn has_folder(config: &Config, file: &Path) -> Result<(), String> {
    let folder = folder_of(&config.runtime_path(file));
    if folder == folder_of(&config.runtime_path(Path::new("x"))) {
        return Ok(());
    }
    is_folder(&folder).map(drop)
}

fn is_folder(folder: &Path) -> Result<fs::Metadata, String> {
    match fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(found),
        Ok(_) => Err(format!("{} is no folder", folder.display())),
        Err(error) => Err(format!("{}: {error}", folder.display())),
    }
}

/// The folder of a file. A path of one name is in the working folder: its parent is empty.
fn folder_of(file: &Path) -> PathBuf {
    let file = std::path::absolute(file).unwrap_or_default();
    file.parent().unwrap_or(Path::new("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends this again and again.
    struct Endless(&'static [u8]);

    impl Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            (&*self.0).read(buffer)
        }
    }

    impl Write for Endless {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_answer_without_end_is_left() {
        let fault = ask(Endless(b"HTTP/1.1 200 OK\r\n\r\n")).unwrap_err();
        assert_eq!(fault.kind(), ErrorKind::InvalidData);
    }
}

//! The service on this machine, for devices of guests.

use crate::guest::{Result, at, failed};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// How long the service may take to listen on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A service that runs. Dropping it ends the service and removes its folder.
pub(super) struct HostService {
    program: PathBuf,
    folder: PathBuf,
    child: Child,
}

impl HostService {
    pub(super) fn start(program: &Path) -> Result<Self> {
        // A socket's path has at most 107 bytes, so it is not below the repository.
        let folder = env::temp_dir().join(format!("wellspring-host-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(at(folder.display()))?;
        let config = folder.join("wellspring.toml");
        let text = format!("[service]\nruntime_dir = \"{}\"\n", folder.display());
        fs::write(&config, text).map_err(at(config.display()))?;
        let log = fs::File::create(folder.join("log")).map_err(at("a log"))?;
        let mut command = Command::new(program);
        command.arg("--config").arg(&config).stdin(Stdio::null());
        let child = command.stderr(log).spawn().map_err(at(program.display()))?;
        let service = Self {
            program: program.into(),
            folder,
            child,
        };
        let until = Instant::now() + PATIENCE;
        while UnixStream::connect(service.socket("vhost-user.sock")).is_err() {
            if Instant::now() > until {
                let log = fs::read_to_string(service.folder.join("log"));
                return failed(format!("no service: {}", log.unwrap_or_default()));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(service)
    }

    pub(super) fn socket(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The bytes that a door has handed out.
    pub(super) fn bytes(&self, door: &str) -> Result<u64> {
        let mut command = Command::new(&self.program);
        command
            .args(["status", "--json", "--config"])
            .arg(self.folder.join("wellspring.toml"));
        let output = command.output().map_err(at("wellspringd status"))?;
        let status = String::from_utf8_lossy(&output.stdout);
        match door_bytes(&status, door) {
            Some(bytes) => Ok(bytes),
            None => failed(format!("no door {door} in the status: {status}")),
        }
    }
}

/// The counter of a door in a status: objects of JSON whose keys are in the order of the alphabet.
pub(crate) fn door_bytes(status: &str, door: &str) -> Option<u64> {
    let name = format!("\"name\":\"{door}\",\"open_now\"");
    let object = status.split('{').find(|object| object.contains(&name))?;
    let (_, rest) = object.split_once("\"bytes\":")?;
    rest.split(',').next()?.parse().ok()
}

impl Drop for HostService {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_door_are_found_among_those_of_others() {
        let status = r#"{"doors":[{"bytes":7,"hostile":0,"name":"egd","open_now":1},{"bytes":64,"hostile":0,
            "mixed_bytes":0,"name":"bulk","open_now":0}],"sources":[{"bytes":1,"name":"egd"}]}"#;
        assert_eq!(door_bytes(status, "egd"), Some(7));
        assert_eq!(door_bytes(status, "bulk"), Some(64));
        assert_eq!(door_bytes(status, "web"), None);
    }
}

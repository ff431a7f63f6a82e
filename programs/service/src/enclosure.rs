//! Gives up privileges, and closes the sandbox: what the configuration needs stays allowed, and nothing else.

use crate::config::Config;
use crate::process::privileges::{self, DEFAULT_USER, User};
use crate::process::sandbox::{self, Reach};
use rustix::fs::Mode;
use rustix::process::{geteuid, umask};
use rustix::thread::CapabilitySet;
use std::path::{Path, PathBuf};

/// Becomes `user`, gives up capabilities, and closes the sandbox. Call it before another thread starts.
///
/// # Errors
///
/// The reason why the process is not enclosed.
pub fn enclose(config: &Config, user: User) -> Result<(), String> {
    if user.uid.is_root() && geteuid().is_root() && config.service.user.is_empty() {
        log::warn!(
            "there is no user {DEFAULT_USER}: the service stays root, without capabilities. systemd-sysusers makes the \
             user; [service] user names another one, or root"
        );
    }
    let gives_credit = config.kernel_pool.feed && config.kernel_pool.credit_bits.get() > 0;
    let has_module = !config.kernel_module.seed_file.as_os_str().is_empty();
    let kept = if gives_credit || has_module {
        CapabilitySet::SYS_ADMIN
    } else {
        CapabilitySet::empty()
    };
    privileges::give_up(user, kept)
        .map_err(|error| format!("privileges cannot be given up: {error}"))?;
    if !config.service.sandbox {
        log::warn!("there is no sandbox: the configuration says so");
        return Ok(());
    }
    // Files that it makes from here on are its user's alone, as the filter of system calls asks.
    umask(Mode::RWXG | Mode::RWXO);
    if let Err(reason) = sandbox::restrict_files(&reach(config)) {
        log::warn!("files are not restricted: {reason}");
    }
    sandbox::restrict_calls().map_err(|reason| format!("no filter of system calls: {reason}"))
}

/// The files that a service with this configuration reaches.
pub fn reach(config: &Config) -> Reach {
    let seed_files = [&config.engine.seed_file, &config.kernel_module.seed_file];
    let page = config.runtime_path(&config.page.path);
    Reach {
        replaces: seed_files
            .into_iter()
            .filter_map(|path| folder(path))
            .collect(),
        removes: vec![config.service.runtime_dir.clone()],
        reads: folder(&page).into_iter().collect(),
    }
}

/// The folder of a file, if there is a path. A path of one name is in the working folder: its parent is empty.
fn folder(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.parent().map(Path::to_owned)
}

//! `wellspringd --check-config`: whether this machine has what a configuration names, for the user that the service becomes.

use crate::config::{Address, Config};
use crate::process::privileges::User;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use wellspring_os::trusted_file::check_folders;

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

/// The service makes this folder, and starts in none that another user can change.
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

/// The service makes this folder in the one above it.
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

/// The folder of a socket or of the page: the runtime folder, which the service makes, or another one.
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

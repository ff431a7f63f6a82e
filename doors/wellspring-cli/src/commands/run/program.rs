//! The kinds of program that the preload library and the provider cannot reach.

use rustix::fs::getxattr;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The kind of a program, as far as the loader is concerned.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An ELF file that names no loader, so it loads no libraries.
    Static,
    /// Set-user-ID, set-group-ID or with capabilities of its own: the loader ignores the environment.
    Privileged,
    /// Any other program, or one that cannot be read.
    Other,
}

/// The type of a program header that names the loader.
const PT_INTERP: u32 = 3;

const SET_IDS: u32 = 0o6000;

/// The attribute of a file that gives its program capabilities.
const CAPABILITIES: &str = "security.capability";

/// Returns the kind of a program, which is looked up in PATH as a shell does.
pub(super) fn kind(program: &OsStr) -> Kind {
    let Some(path) = find(program) else {
        return Kind::Other;
    };
    let has_ids = |status: fs::Metadata| status.permissions().mode() & SET_IDS != 0;
    let has_capabilities = getxattr(&path, CAPABILITIES, &mut [0; 0]).is_ok();
    if has_capabilities || fs::metadata(&path).is_ok_and(has_ids) {
        return Kind::Privileged;
    }
    match fs::read(&path).ok().and_then(|file| names_loader(&file)) {
        Some(false) => Kind::Static,
        _ => Kind::Other,
    }
}

fn find(program: &OsStr) -> Option<PathBuf> {
    if Path::new(program).components().count() > 1 {
        return Some(program.into());
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// Returns whether a 64-bit ELF file names a loader. `None` for other files.
fn names_loader(file: &[u8]) -> Option<bool> {
    let is_elf = file.starts_with(b"\x7fELF") && file.get(4) == Some(&2);
    if !is_elf {
        return None;
    }
    let number = |place: usize, size: usize| {
        let bytes = file.get(place..place.checked_add(size)?)?;
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes);
        usize::try_from(u64::from_le_bytes(word)).ok()
    };
    let (start, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    for index in 0..count {
        let place = start.checked_add(index.checked_mul(size)?)?;
        if number(place, 4)? == PT_INTERP as usize {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_a_loader_a_script_and_a_damaged_file_are_told_apart() {
        let shell = fs::read("/bin/sh").unwrap();
        assert_eq!(names_loader(&shell), Some(true));
        assert_eq!(names_loader(b"#!/bin/sh\n"), None);
        assert_eq!(names_loader(&shell[..20]), None);
        let mut damaged = shell[..64].to_vec();
        damaged[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(names_loader(&damaged), None);
        let mut none = shell;
        none[56..58].copy_from_slice(&[0, 0]);
        assert_eq!(names_loader(&none), Some(false));
        assert_eq!(kind(OsStr::new("sh")), Kind::Other);
    }

    #[test]
    fn a_program_with_capabilities_is_one_with_more_rights() {
        use rustix::fs::{XattrFlags, setxattr};
        let program = testkit::programs::scratch("capabilities").join("program");
        fs::copy("/bin/true", &program).unwrap();
        assert_eq!(kind(program.as_os_str()), Kind::Other);
        // Revision 2, effective: CAP_NET_RAW, as ping(8) has it.
        let mut ping = [0; 20];
        ping[..6].copy_from_slice(&[1, 0, 0, 2, 0, 32]);
        if let Err(error) = setxattr(&program, CAPABILITIES, &ping, XattrFlags::empty()) {
            return testkit::skipped(&format!("a file cannot be given capabilities: {error}"));
        }
        assert_eq!(kind(program.as_os_str()), Kind::Privileged);
    }
}

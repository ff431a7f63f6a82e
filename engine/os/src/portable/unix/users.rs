//! Users.

/// The user whose rights this process has.
pub(crate) fn effective_user() -> u32 {
    // SAFETY: geteuid(2) takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// The user who started this process, whatever rights it has taken since.
#[cfg(target_os = "linux")]
pub(crate) fn real_user() -> u32 {
    // SAFETY: getuid(2) takes nothing and cannot fail.
    unsafe { libc::getuid() }
}

/// Whether root has a number: always.
pub(crate) fn root_has_number() -> bool {
    true
}

/// Whether the owner of a file may be any of several users, who share this number: not on these systems.
pub(crate) fn has_no_number(_: u32) -> bool {
    false
}

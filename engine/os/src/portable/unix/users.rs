//! Users.

/// The user whose rights this process has.
#[must_use]
pub fn effective_user() -> u32 {
    // SAFETY: geteuid(2) takes nothing and cannot fail.
    unsafe { libc::geteuid() }
}

/// The user who started this process, whatever rights it has taken since.
#[cfg(target_os = "linux")]
#[must_use]
pub fn real_user() -> u32 {
    // SAFETY: getuid(2) takes nothing and cannot fail.
    unsafe { libc::getuid() }
}

/// Whether root has a number: always.
pub(crate) fn root_has_number() -> bool {
    true
}

/// Whether the owner of a file may be any of several users, who share this number: not on these systems.
#[must_use]
pub fn has_no_number(_: u32) -> bool {
    false
}

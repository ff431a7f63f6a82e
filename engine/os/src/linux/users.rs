//! Users: of this process, and without a number.

use super::decimal::take_number;
use crate::descriptor::read_file;
use crate::os_error::raw_call;

/// The user whose rights this process has. Not from libc: fakeroot(1) replaces its answer, but not the owners that
/// files have.
#[must_use]
pub fn effective_user() -> u32 {
    // The older call of these processors knows 16 bits only.
    #[cfg(any(target_arch = "x86", target_arch = "arm"))]
    const GETEUID: libc::c_long = libc::SYS_geteuid32;
    #[cfg(not(any(target_arch = "x86", target_arch = "arm")))]
    const GETEUID: libc::c_long = libc::SYS_geteuid;
    // SAFETY: geteuid(2) takes nothing. Where a filter refuses it, no file is ours.
    raw_call(|| unsafe { libc::syscall(GETEUID) }).map_or(u32::MAX, |user| user as u32)
}

/// The user who started this process, whatever rights it has taken since.
#[must_use]
pub fn real_user() -> u32 {
    #[cfg(any(target_arch = "x86", target_arch = "arm"))]
    const GETUID: libc::c_long = libc::SYS_getuid32;
    #[cfg(not(any(target_arch = "x86", target_arch = "arm")))]
    const GETUID: libc::c_long = libc::SYS_getuid;
    // SAFETY: getuid(2) takes nothing and cannot fail.
    unsafe { libc::syscall(GETUID) as u32 }
}

/// Whether the owner of a file may be any of several users, who share this number.
#[must_use]
pub fn has_no_number(owner: u32) -> bool {
    owner == overflow_user() && in_user_namespace()
}

/// Whether root has a number in this user namespace. "Yes" where the system does not say.
pub(crate) fn root_has_number() -> bool {
    let mut buffer = [0; 512];
    let Some(text) = read_file(b"/proc/self/uid_map", &mut buffer) else {
        return true;
    };
    // Each line: the first user inside, the first user outside, and how many.
    let mut lines = text.split(|&byte| byte == b'\n');
    lines.any(|line| take_number(&mut line.trim_ascii_start()) == Some(0))
}

/// The number of every user without a number of their own: 65534, unless the administrator chose another.
fn overflow_user() -> u32 {
    let mut buffer = [0; 16];
    let text = read_file(b"/proc/sys/kernel/overflowuid", &mut buffer);
    text.and_then(|mut text| take_number(&mut text))
        .unwrap_or(65534)
}

/// Whether this process sees fewer than all users of the host. "Yes" where the system does not say.
fn in_user_namespace() -> bool {
    let mut buffer = [0; 64];
    let Some(mut text) = read_file(b"/proc/self/uid_map", &mut buffer) else {
        return true;
    };
    // The first user inside, the first user outside, and how many.
    let all_users = [0, 0, u32::MAX];
    !all_users.iter().all(|&number| {
        text = text.trim_ascii_start();
        take_number(&mut text) == Some(number)
    })
}

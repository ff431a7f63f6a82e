//! Processes that are killed together.

/// Kills the process group of the process `leader`. Does nothing if it does not exist.
pub fn kill_process_group(leader: u32) {
    signal_process_group(leader, libc::SIGKILL);
}

/// Whether a process of the group of `leader` exists.
#[must_use]
pub fn process_group_exists(leader: u32) -> bool {
    signal_process_group(leader, 0)
}

fn signal_process_group(leader: u32, signal: libc::c_int) -> bool {
    let Some(group @ 1..) = i32::try_from(leader).ok() else {
        return false;
    };
    // SAFETY: kill(2) takes two numbers.
    unsafe { libc::kill(-group, signal) == 0 }
}

//! Privileges that the service gives up once everything is open.

use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_keep_capabilities,
    set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use std::fs;
use std::io;

/// Becomes `user` (a name in /etc/passwd, or empty to stay), and gives up all capabilities but `kept`. Call it before
/// another thread starts: each thread has its own capabilities, which it inherits from the thread that starts it.
///
/// # Errors
///
/// When there is no such user, or the system refuses.
pub fn give_up(user: &str, kept: CapabilitySet) -> io::Result<()> {
    set_no_new_privs(true)?;
    if !geteuid().is_root() {
        return Ok(());
    }
    if !user.is_empty() {
        let (uid, gid) = find(&fs::read_to_string("/etc/passwd")?, user)
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("no user {user}")))?;
        set_keep_capabilities(true)?;
        set_thread_groups(&[])?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
    }
    // systemd may have taken all other capabilities already, and forbidden the call.
    if kept.contains(capabilities(None)?.permitted) {
        return Ok(());
    }
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets)?;
    Ok(())
}

/// The numbers of a user and its group in the text of /etc/passwd.
fn find(table: &str, user: &str) -> Option<(Uid, Gid)> {
    table.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() != Some(user) {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some((Uid::from_raw(uid), Gid::from_raw(gid)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let table =
            "root:x:0:0::/:/bin/sh\nlimited2:x:1:1::/:\nlimited:x:65534:65533:n:/:/x\nbad:x\n";
        let (uid, gid) = find(table, "limited").unwrap();
        assert_eq!((uid.as_raw(), gid.as_raw()), (65534, 65533));
        assert!(find(table, "limit").is_none());
        assert!(find(table, "bad").is_none());
    }
}

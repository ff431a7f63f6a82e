//! Privileges that the service gives up once everything is open.

use rustix::process::{DumpableBehavior, Gid, Uid, geteuid, getgid, getuid, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_keep_capabilities,
    set_no_new_privs, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use std::fs;
use std::io;

/// The user that the service becomes when the configuration names none: `packaging/sysusers.d` makes it.
pub const DEFAULT_USER: &str = "wellspring";

/// A user and its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// The number of the user.
    pub(crate) uid: Uid,
    /// The number of its group.
    pub(crate) gid: Gid,
}

impl User {
    /// The user of this process.
    fn now() -> Self {
        Self {
            uid: getuid(),
            gid: getgid(),
        }
    }

    /// The user that this process becomes: the one with this name in /etc/passwd. Without a name it is [`DEFAULT_USER`], or
    /// root where there is no such user. A process that is not root stays who it is.
    pub fn named(name: &str) -> io::Result<Self> {
        if !geteuid().is_root() {
            return Ok(Self::now());
        }
        let table = fs::read_to_string("/etc/passwd");
        let no_user = || io::Error::new(io::ErrorKind::NotFound, format!("no user {name}"));
        match name {
            "root" => Ok(Self::now()),
            "" => Ok(table
                .ok()
                .and_then(|table| find(&table, DEFAULT_USER))
                .unwrap_or_else(Self::now)),
            name => find(&table?, name).ok_or_else(no_user),
        }
    }
}

/// Becomes `user`, and gives up all capabilities but those of `kept` that the process has. Call it before another thread
/// starts: each thread has its own capabilities, which it inherits from the thread that starts it.
pub(crate) fn give_up(user: User, kept: CapabilitySet) -> io::Result<()> {
    set_no_new_privs(true)?;
    if !geteuid().is_root() {
        return Ok(());
    }
    let kept = kept & capabilities(None)?.permitted;
    if !user.uid.is_root() {
        // Without this, all capabilities go with the change of user.
        set_keep_capabilities(!kept.is_empty())?;
        set_thread_groups(&[])?;
        set_thread_res_gid(user.gid, user.gid, user.gid)?;
        set_thread_res_uid(user.uid, user.uid, user.uid)?;
        // The change of user makes it what /proc/sys/fs/suid_dumpable says. Other processes of the user could then read its
        // memory.
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    }
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    // systemd may have taken all other capabilities already, and forbidden the call.
    if capabilities(None)? == sets {
        return Ok(());
    }
    set_capabilities(None, sets)?;
    Ok(())
}

/// A user in the text of /etc/passwd.
fn find(table: &str, user: &str) -> Option<User> {
    table.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() != Some(user) {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(User {
            uid: Uid::from_raw(uid),
            gid: Gid::from_raw(gid),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let table =
            "root:x:0:0::/:/bin/sh\nlimited2:x:1:1::/:\nlimited:x:65534:65533:n:/:/x\nbad:x\n";
        let user = find(table, "limited").unwrap();
        assert_eq!((user.uid.as_raw(), user.gid.as_raw()), (65534, 65533));
        assert!(find(table, "limit").is_none());
        assert!(find(table, "bad").is_none());
    }
}

//! The sockets that systemd opens and hands to the service.

use crate::doors::{Door, Doors};
use crate::listener::Listener;
use std::os::fd::{FromRawFd, OwnedFd};

/// The sockets that systemd opened, by their names: `FileDescriptorName=egd` and so on.
#[must_use]
pub fn activated(doors: &Doors) -> Vec<Listener> {
    let mut listeners = Vec::new();
    let given = match sd_notify::listen_fds_with_names() {
        Ok(given) => given,
        Err(error) => {
            doors.failed("sockets", "systemd", error);
            return listeners;
        }
    };
    for (descriptor, name) in given {
        // SAFETY: systemd gave this descriptor to the process, which takes it once, here.
        let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let door = [Door::Egd, Door::Bulk, Door::Web, Door::VhostUser]
            .into_iter()
            .find(|door| door.name() == name);
        let Some(door) = door else {
            doors.failed(
                "sockets",
                format!("'{name}' from systemd"),
                "its name is none of: egd, bulk, web, vhost-user",
            );
            continue;
        };
        match Listener::activated(door, socket) {
            Ok(listener) => {
                doors.opened(door.name(), "from systemd");
                listeners.push(listener);
            }
            Err(error) => doors.failed(door.name(), "from systemd", error),
        }
    }
    listeners
}

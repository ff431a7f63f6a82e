//! The real service, with real clients.
//!
//! ```text
//! cache    the page cache; ways: all ways to it
//! clock    a wall clock that jumps
//! common   starts the service, and waits until it says that it is ready
//! config   the command line, and a configuration that is read again; config_check: --check-config; manual: the man pages
//! hostile  hostile users, a line for each; floods: each of them beside root
//! faults   what the system refuses: a full disk, no permission, no /dev/fuse
//! files    the device files; programs: programs that read them
//! vsock    the bulk protocol between machines
//! sockets  EGD, the bulk protocol, limits, garbage
//! hypervisor  plays a hypervisor: a guest memory, a ring, messages of vhost-user
//! guests   virtual machines by vhost-user, also hostile ones
//! places   users who hold every connection, and those who come after them
//! held     what a service has of the system: descriptors, mappings, threads, page tables
//! front_end  a front end of vhost-user that sends what it likes
//! hostile_front_ends  what a hostile front end can send, one row a case; guest_floods: floods of guests beside root
//! stall    a front end whose files never answer
//! scale    64 guests beside 1000 clients
//! status   status and metrics, as JSON, text and for Prometheus
//! killed_early  a service that is killed in the middle of its start
//! taken_over  what an attacker tries who has taken over the service; attempts: the things to try;
//!          attempts_by_argument: calls that are allowed, with other arguments
//! impostors  other users who would play the service to its clients
//! users    the user that the service becomes, and what it can do then
//! manners  systemd, the sandbox, ends of all kinds, what cannot be opened
//! page     the generation page, seen from another namespace
//! shares   readers of files beside each other
//! watchdog  signs of life while a thread is stuck
//! stuck    a source that does not answer
//! uring    one read by io_uring
//! residue  the memory of the service, searched for bytes that it sent
//! ```

mod attempts;
mod attempts_by_argument;
mod cache;
mod clock;
mod common;
mod config;
mod config_check;
mod faults;
mod files;
mod floods;
mod front_end;
mod guest_floods;
mod guests;
mod held;
mod hostile;
mod hostile_front_ends;
mod hypervisor;
mod impostors;
mod killed_early;
mod manners;
mod manual;
mod page;
mod places;
mod programs;
mod residue;
mod scale;
mod shares;
mod sockets;
mod stall;
mod status;
mod stuck;
mod taken_over;
mod uring;
mod users;
mod vsock;
mod watchdog;
mod ways;

use std::time::Duration;

/// Longer than any of these tests needs a service.
const LIFE: Duration = Duration::from_secs(300);

//! The real service, with real clients.
//!
//! ```text
//! common      starts the service, waits until it is ready, and counts what it has of the system
//! hostile     hostile users, a line for each
//! hypervisor  plays a hypervisor: a guest memory, a ring, messages of vhost-user
//!
//! sockets     EGD, the bulk protocol, limits, garbage, vsock; 64 guests beside 1000 clients
//! files       the device files, programs that read them, readers beside each other; cache: all ways to the page cache
//! guests      virtual machines by vhost-user, also hostile ones
//! status      status and metrics, as JSON, text and for Prometheus; the generation page
//! kernel      orders with a secret, and the process that reseeds the kernel: killed, stopped, without its capability
//! config      the command line, the configuration, the man pages
//! manners     systemd, ends of all kinds, what cannot be opened, a service that is killed in its start
//! views       sources that fail, as an operator sees them, in the test's own process
//! noise       the operator's noise files: claims, faulty devices, a TPM and a token
//! watchdog    signs of life while a thread is stuck, a source that does not answer, a clock that jumps
//! self_test   a bit that flips in the running service, and in its file
//! faults      what the system refuses: a full disk, no permission, no /dev/fuse
//!
//! users       the user that the service becomes, and what it can do then
//! taken_over  what an attacker tries who has taken over the service; attempts: the things to try
//! hostile_front_ends  what a hostile front end can send, one row a case; stall: its files never answer
//! floods      floods of one user beside root; places: users who hold every connection
//! impostors   other users who would play the service to its clients
//! residue     the memory of the service, searched for bytes that it sent
//! ```

mod attempts;
mod cache;
mod common;
mod config;
mod faults;
mod files;
mod floods;
mod guests;
mod hostile;
mod hostile_front_ends;
mod hypervisor;
mod impostors;
mod kernel;
mod manners;
mod noise;
mod places;
mod residue;
mod self_test;
mod sockets;
mod stall;
mod status;
mod taken_over;
mod users;
mod views;
mod watchdog;

use std::time::Duration;

/// Longer than any of these tests needs a service.
const LIFE: Duration = Duration::from_secs(300);

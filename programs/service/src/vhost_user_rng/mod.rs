//! Virtual machines: a virtio-rng device for each, by vhost-user.
//!
//! ```text
//! limits    how many guests, and how much memory, the users may have
//! mapping   a region of a guest's memory, mapped
//! sigbus    a guest's memory that is cut off under us: zeros in place of a signal
//! memory    the regions of one guest
//! notify    calls to guests, and a way out of a call that waits
//! request   one request: a chain of descriptors, and the bytes for it
//! answers   how answers to messages are sent
//! device    the virtio device: what the messages of vhost-user set
//! guest     one connection: its messages, its requests, its turn
//! inbox     new connections on their way to a thread
//! worker    the thread that serves the guests of one user, by epoll
//! threads   the thread that accepts connections, and the threads of all users
//! ```
//!
//! Each user has a thread. A hypervisor can make this thread wait: its memory is freed or cleared in a page fault, a file
//! system of its own does not end close(2). So it can stop its own user's guests, and no others. The thread makes the bytes
//! of a request when it answers the request and keeps none, so two copies of one guest get different bytes. Everything
//! that the other end sends is treated as hostile: a request with wrong descriptors is completed with no bytes, and any
//! other fault ends the connection.

mod answers;
mod device;
mod guest;
mod inbox;
mod limits;
mod mapping;
mod memory;
mod notify;
pub mod request;
mod sigbus;
mod threads;
mod worker;

use crate::config::GuestsSection;
use crate::listener::Listener;
use crate::process::panics::ends_process;
use crate::state::State;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use threads::{STACK_BYTES, Threads};

/// The longest wait for threads at the end.
const END_WAIT: Duration = Duration::from_secs(1);

/// The threads that serve the guests; they end when this is dropped.
pub(crate) struct Guests {
    pub(crate) threads: Arc<Threads>,
    acceptor: Option<JoinHandle<()>>,
}

impl Guests {
    /// Starts the thread that accepts connections.
    pub(crate) fn start(
        state: &Arc<State>,
        section: &GuestsSection,
        listeners: Vec<Listener>,
    ) -> io::Result<Self> {
        sigbus::install()?;
        let threads = Arc::new(Threads::new(state.clone(), section)?);
        let (accepts, builder) = (threads.clone(), Builder::new().name("guests".into()));
        let run = move || ends_process(|| accepts.accept(listeners));
        let acceptor = builder.stack_size(STACK_BYTES).spawn(run)?;
        Ok(Self {
            threads,
            acceptor: Some(acceptor),
        })
    }
}

impl Drop for Guests {
    fn drop(&mut self) {
        self.threads.start_to_end();
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
        self.threads.end(END_WAIT);
    }
}

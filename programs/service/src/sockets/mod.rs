//! The sockets.
//!
//! ```text
//! session     the common interface of the protocols
//! egd         the protocol of the entropy gathering daemon
//! bulk        the framed protocol
//! http        documents
//! connection  one connection: input, answers, its turn
//! worker      a thread that serves connections, by epoll
//! ```
//!
//! A protocol is a function of the bytes that came in. A connection carries out the step that the function returns. A
//! worker tells the kernel which event each connection waits for. No connection keeps random bytes: those for which a
//! socket has no room are wiped, and others are made later.

pub mod bulk;
mod connection;
pub mod egd;
pub mod http;
pub mod session;
mod worker;

use crate::listener::Listener;
use crate::process::panics::ends_process;
use crate::state::State;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use worker::Worker;

/// The threads that serve the listeners; they end when this is dropped.
#[derive(Debug)]
pub(crate) struct Workers {
    end: OwnedFd,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts `count` threads.
    pub(crate) fn start(
        state: &Arc<State>,
        listeners: Vec<Listener>,
        count: usize,
    ) -> io::Result<Self> {
        let listeners: Arc<[Listener]> = listeners.into();
        let mut workers = Self {
            end: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
            threads: Vec::new(),
        };
        for number in 0..count {
            let name = format!("sockets-{number}");
            let heartbeat = state.heartbeats.watch(name.clone());
            let worker = Worker::new(state.clone(), listeners.clone(), &workers.end, heartbeat)?;
            let builder = std::thread::Builder::new().name(name);
            let builder = builder.stack_size(256 * 1024);
            let thread = builder.spawn(|| ends_process(|| worker.run()))?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.end, &1_u64.to_ne_bytes());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

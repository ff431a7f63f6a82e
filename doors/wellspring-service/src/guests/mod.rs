//! Virtual machines: a virtio-rng device for each, by vhost-user.
//!
//! ```text
//! sigbus   a guest's memory that is cut off under us: zeros in place of a signal
//! memory   the parts of a guest's memory that the other end gives to map
//! calls    calls to guests, and a way out of a call that waits
//! request  one request: a chain of descriptors, and the bytes for it
//! device   the virtio device: what the messages of vhost-user set
//! guest    one connection: its messages, its requests, its turn
//! worker   the thread that serves all guests, by epoll
//! ```
//!
//! One thread serves all guests. It makes the bytes of a request when it answers the request and keeps none, so two
//! copies of one guest get different bytes. Everything that the other end sends is treated as hostile: a request with
//! wrong descriptors is completed with no bytes, and any other fault ends the connection.

mod calls;
pub mod device;
mod guest;
pub mod memory;
pub mod request;
mod sigbus;
mod worker;

use crate::listener::Listener;
use crate::process::panics::ends_process;
use crate::state::State;
use calls::GuestCalls;
use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use worker::Worker;

/// The thread that serves the guests; it ends when this is dropped.
#[derive(Debug)]
pub struct Guests {
    end: OwnedFd,
    calls: Arc<GuestCalls>,
    thread: Option<JoinHandle<()>>,
}

impl Guests {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// The system has no free thread or descriptor.
    pub fn start(state: &Arc<State>, listeners: Vec<Listener>) -> io::Result<Self> {
        sigbus::install()?;
        let end = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let calls = Arc::new(GuestCalls::default());
        let worker = Worker::new(state.clone(), listeners, &end, calls.clone())?;
        let builder = std::thread::Builder::new().name("guests".into());
        let builder = builder.stack_size(256 * 1024);
        let thread = builder.spawn(|| ends_process(|| worker.run()))?;
        Ok(Self {
            end,
            calls,
            thread: Some(thread),
        })
    }
}

impl Guests {
    /// Frees the thread from an other end that keeps it waiting. Called about once a second.
    pub fn free_if_stuck(&self) {
        // `self` joins the thread when it is dropped, and not before.
        if self.thread.is_some() {
            self.calls.interrupt_if_stuck();
        }
    }
}

impl Drop for Guests {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.end, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

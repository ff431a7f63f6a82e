//! The resources of the system that a service has: descriptors, mappings, threads and memory.

use super::common::{PATIENCE, Service};
use std::fs;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) descriptors: usize,
    pub(crate) mappings: usize,
    pub(crate) threads: usize,
    /// Page tables, and pages of its own and of guests.
    pub(crate) memory_kib: usize,
}

impl Held {
    pub(crate) fn by(service: &Service) -> Self {
        let process = format!("/proc/{}", service.child.id());
        let read = |name: &str| fs::read_to_string(format!("{process}/{name}")).unwrap();
        let count = |name: &str| fs::read_dir(format!("{process}/{name}")).unwrap().count();
        Self {
            descriptors: count("fd"),
            mappings: read("maps").lines().count(),
            threads: count("task"),
            memory_kib: ["RssAnon:", "RssShmem:", "VmPTE:"]
                .into_iter()
                .map(|field| Self::kib(service, field))
                .sum(),
        }
    }

    /// A field of the service's status in /proc, in KiB.
    pub(crate) fn kib(service: &Service, field: &str) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", service.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// Waits until the service has no more than this. Arenas, stacks and caches of the allocator, which stay, are bounded.
    pub(crate) fn wait_until_back(self, service: &Service) {
        let until = Instant::now() + PATIENCE;
        loop {
            let now = Self::by(service);
            let is_back = now.descriptors <= self.descriptors
                && now.threads <= self.threads
                && now.mappings <= self.mappings + 64
                && now.memory_kib <= self.memory_kib + 16 * 1024;
            if is_back {
                return;
            }
            assert!(Instant::now() < until, "before: {self:?}, still: {now:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

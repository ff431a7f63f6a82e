//! The memory and the CPU time of this process.

#[cfg(target_os = "linux")]
use rustix::time::{ClockId, clock_gettime};
#[cfg(target_os = "linux")]
use std::time::Duration;

/// A size in `/proc/self/status`, such as `VmRSS`, in bytes; `None` where the system does not say.
#[must_use]
pub fn status_bytes(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = status.lines();
    let size = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: f64 = size.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0)
}

/// The time that this process was on a CPU, in user mode and in the kernel, ended threads included.
#[cfg(target_os = "linux")]
#[must_use]
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

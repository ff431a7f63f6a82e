//! What the figures were measured on.

use wellspring::{Backend, Engine, Prf};

/// The machine and the choices the engine made on it.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The CPU as it calls itself.
    pub cpu: String,
    /// How many of them this process may use.
    pub cpus: usize,
    /// The system's release.
    pub system: String,
    /// The engine's backend.
    pub backend: &'static str,
    /// The best ChaCha20 backend.
    pub chacha20_backend: &'static str,
    /// Processes that wanted a CPU when the run began, on the average of a minute: above zero, the figures
    /// are those of a busy machine.
    pub load: Option<f64>,
}

impl Machine {
    /// This machine.
    #[must_use]
    pub fn this() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
        Self {
            cpu: model
                .and_then(|line| line.split_once(':'))
                .map_or(std::env::consts::ARCH.into(), |(_, name)| {
                    name.trim().into()
                }),
            cpus: cpus(),
            system: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
            backend: Engine::process().backend().name(),
            chacha20_backend: Backend::detect(Prf::ChaCha20).name(),
            load: read("/proc/loadavg")
                .split(' ')
                .next()
                .and_then(|load| load.parse().ok()),
        }
    }
}

/// How many CPUs this process may use.
pub(crate) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

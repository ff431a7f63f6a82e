//! The machine, the date and the version of a measurement.

use std::time::SystemTime;
use wellspring::clone_detection::PageState;
use wellspring::{Backend, Engine, Prf};

/// The machine, the choices that the engine made on it, and the run's date and version.
#[derive(Clone, Debug)]
pub struct Host {
    /// The name of the CPU, from `/proc/cpuinfo`, with family and model, as a hypervisor may hide the name; elsewhere the
    /// architecture.
    pub cpu: String,
    /// How many CPUs this process may use.
    pub cpus: usize,
    /// The release of the kernel.
    pub system: String,
    /// The backend of the process's engine.
    pub backend: &'static str,
    /// The best ChaCha20 backend.
    pub chacha20_backend: &'static str,
    /// Whether reads compare a word of a generation page, which takes some of their time: `watched`, `absent` or
    /// `refused`.
    pub generation_page: &'static str,
    /// The load average of one minute when the run began. Above 0.5, other programs disturb the figures.
    pub load: Option<f64>,
    /// When the run began, in UTC: `2026-11-22T06:10:00Z`.
    pub date: String,
    /// The version of wellspring.
    pub version: &'static str,
    /// The compiler, as `rustc --version` names it.
    pub compiler: &'static str,
    /// The git commit, with `-dirty` after it if files were changed; `None` if built outside a git checkout.
    pub commit: Option<&'static str>,
}

impl Host {
    /// This machine, now.
    #[must_use]
    pub fn this() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        let value = |name: &str| {
            let mut lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
            lines.find_map(|(key, value)| (key.trim() == name).then(|| value.trim()))
        };
        let [name, family, model] = ["model name", "cpu family", "model"].map(value);
        let cpu = match (name, family, model) {
            (Some(name), Some(family), Some(model)) => {
                format!("{name} (family {family}, model {model})")
            }
            _ => name.unwrap_or(std::env::consts::ARCH).into(),
        };
        Self {
            cpu,
            cpus: cpus(),
            system: format!("Linux {}", read("/proc/sys/kernel/osrelease").trim()),
            backend: Engine::process().backend().name(),
            chacha20_backend: Backend::detect(Prf::ChaCha20).name(),
            generation_page: page_state(Engine::process()),
            load: read("/proc/loadavg")
                .split(' ')
                .next()
                .and_then(|load| load.parse().ok()),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            version: env!("CARGO_PKG_VERSION"),
            compiler: env!("WELLSPRING_COMPILER"),
            commit: option_env!("WELLSPRING_COMMIT"),
        }
    }

    /// Version, commit and date: a line of every report.
    #[must_use]
    pub fn stamp(&self) -> String {
        let commit = self
            .commit
            .map_or(String::new(), |commit| format!(", commit {commit}"));
        format!("wellspring {}{commit}, {}", self.version, self.date)
    }

    /// CPU, system, backend and generation page: a line of every report.
    #[must_use]
    pub fn machine(&self) -> String {
        let plural = if self.cpus == 1 { "CPU" } else { "CPUs" };
        format!(
            "{}, {} {plural} usable, {}, backend {}, generation page {}",
            self.cpu, self.cpus, self.system, self.backend, self.generation_page
        )
    }
}

/// How many CPUs this process may use.
pub(crate) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn page_state(engine: &Engine) -> &'static str {
    match engine.stats().clone_detection.page {
        PageState::Watched => "watched",
        PageState::Refused(_) => "refused",
        _ => "absent",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wellspring::clone_detection::GenerationPage;

    #[test]
    fn a_generation_page_that_reads_compare_is_told_from_one_that_is_not_there() {
        let path = std::env::temp_dir().join(format!("bench-page-{}", std::process::id()));
        let state = || {
            let engine = Engine::builder().generation_page(&path).build();
            page_state(&engine.expect("there is memory for an engine"))
        };
        assert_eq!(state(), "absent");
        let _page = GenerationPage::create(&path).unwrap();
        assert_eq!(state(), "watched");
        std::fs::remove_file(&path).unwrap();
    }
}

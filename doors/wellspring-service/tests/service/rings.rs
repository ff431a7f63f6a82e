//! Starts a service with device files, whose requests come by /dev/fuse or by io_uring; and what happens where the system
//! refuses io_uring.

use super::common::{Folder, PATIENCE, Service, has_fuse, is_installed, wellspringd};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Whether the kernel offers io_uring to a service that starts. It counts for the whole machine.
const PARAMETER: &str = "/sys/module/fuse/parameters/enable_uring";

/// Held while a service starts: to write by tests that change the parameter. Programs beside this one use a lock of the
/// parameter's file.
static STARTS: RwLock<()> = RwLock::new(());

fn files_in(folder: &Folder) -> (PathBuf, String) {
    let mount = folder.path("files");
    let more = format!("[files]\nmount = \"{}\"\nthreads = 2\n", mount.display());
    (mount, more)
}

fn start_unlocked() -> (Service, PathBuf) {
    let folder = Folder::new();
    let (mount, more) = files_in(&folder);
    (Service::start_in(folder, &more), mount)
}

/// Starts a service while the kernel does not offer io_uring, unless it did so before.
pub(crate) fn by_dev_fuse<T>(start: impl FnOnce() -> T) -> T {
    let _starts = STARTS.read().unwrap_or_else(PoisonError::into_inner);
    let _locked = fs::File::open(PARAMETER).inspect(|file| file.lock_shared().unwrap());
    start()
}

/// A service with files.
pub(crate) fn start() -> (Service, PathBuf) {
    by_dev_fuse(start_unlocked)
}

/// Writes the parameter back when it is dropped. A process does so, which also sees that this one is killed.
struct Parameter(Child);

impl Parameter {
    fn set(value: &str) -> std::io::Result<Self> {
        let before = fs::read_to_string(PARAMETER)?;
        // Nothing is lost if it cannot be set.
        let back = format!("cat > /dev/null; echo {} > {PARAMETER}", before.trim());
        let mut writer = Command::new("sh");
        writer.args(["-c", &back]).stdin(Stdio::piped());
        // Ctrl-C in a terminal ends the tests, and not this process.
        let writer = Self(writer.process_group(0).spawn()?);
        fs::write(PARAMETER, value)?;
        Ok(writer)
    }
}

impl Drop for Parameter {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Starts a service while the kernel offers io_uring. Prints SKIPPED if it cannot be made to.
pub(crate) fn by_rings<T>(start: impl FnOnce() -> T) -> Option<T> {
    let _starts = STARTS.write().unwrap_or_else(PoisonError::into_inner);
    let Ok(file) = fs::File::open(PARAMETER) else {
        eprintln!("SKIPPED: this kernel has no FUSE over io_uring");
        return None;
    };
    let forbidden = fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
    if forbidden.trim() == "2" {
        eprintln!("SKIPPED: io_uring is switched off on this machine");
        return None;
    }
    let possible = fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    if possible.contains(',') {
        eprintln!("SKIPPED: there are gaps between the numbers of the CPUs");
        return None;
    }
    file.lock().unwrap();
    let parameter = match Parameter::set("Y") {
        Ok(parameter) => parameter,
        Err(error) => {
            eprintln!("SKIPPED: {PARAMETER} cannot be set: {error}");
            return None;
        }
    };
    let started = start();
    drop((parameter, file));
    Some(started)
}

/// How requests for the files come, by the status.
fn requests_by(service: &Service) -> serde_json::Value {
    let status = service.status();
    let openings = status["openings"].as_array().unwrap();
    let files = openings.iter().find(|opening| opening["name"] == "files");
    files.unwrap()["requests_by"].clone()
}

/// Runs a test with requests by /dev/fuse, and with requests by io_uring.
pub(crate) fn each_way(test: impl Fn(Service, PathBuf)) {
    if !has_fuse() {
        return;
    }
    let (service, mount) = start();
    test(service, mount);
    if let Some((service, mount)) = by_rings(start_unlocked) {
        assert_eq!(requests_by(&service), "io_uring");
        service.wait_for_log("files: requests come by io_uring");
        test(service, mount);
    }
}

fn reads(mount: &Path) {
    let mut bytes = [0; 70_000];
    let mut file = fs::File::open(mount.join("random")).unwrap();
    file.read_exact(&mut bytes).unwrap();
}

fn is_mounted(mount: &Path) -> bool {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    table.contains(&format!(" {} ", mount.display()))
}

/// Starts a service with files to which the system refuses a call, if this argument of the call has this value.
fn refused(call: i64, when: Option<(u8, u64)>) -> Option<(Service, PathBuf)> {
    let condition = when.map(|(argument, value)| {
        let (length, equal) = (SeccompCmpArgLen::Dword, SeccompCmpOp::Eq);
        SeccompCondition::new(argument, length, equal, value).unwrap()
    });
    let rules = condition.map(|condition| SeccompRule::new(vec![condition]).unwrap());
    let rules = [(call, rules.into_iter().collect())].into();
    let (others, this) = (SeccompAction::Allow, SeccompAction::Errno(libc::EIO as u32));
    let machine = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let filter = SeccompFilter::new(rules, others, this, machine).unwrap();
    let filter: BpfProgram = filter.try_into().unwrap();
    let folder = Folder::new();
    let (mount, more) = files_in(&folder);
    let mut command = wellspringd();
    command.arg("--config").arg(folder.configure(&more));
    let apply = move || seccompiler::apply_filter(&filter).map_err(std::io::Error::other);
    // SAFETY: two system calls.
    unsafe { command.pre_exec(apply) };
    let service = by_rings(|| Service::spawn(folder, &mut command))?;
    Some((service, mount))
}

#[test]
fn where_no_ring_can_be_made_requests_come_by_dev_fuse() {
    if !has_fuse() {
        return;
    }
    for call in [libc::SYS_io_uring_setup, libc::SYS_io_uring_register] {
        let Some((service, mount)) = refused(call, None) else {
            return;
        };
        assert_eq!(requests_by(&service), "/dev/fuse");
        service.wait_for_log("files: without io_uring: Input/output error");
        reads(&mount);
    }
}

#[test]
fn where_rings_fail_later_the_files_go_and_nothing_else() {
    if !has_fuse() {
        return;
    }
    // The first commands, and the first wait for a request.
    for when in [(2, 0), (2, 1)] {
        let Some((service, mount)) = refused(libc::SYS_io_uring_enter, Some(when)) else {
            return;
        };
        let words = "files: not open: ";
        service.wait_for_log(words);
        assert!(
            service
                .log()
                .contains("io_uring failed: Input/output error")
        );
        let problems = service.status()["problems"].to_string();
        assert!(problems.contains("io_uring failed"), "{problems}");
        let until = Instant::now() + PATIENCE;
        // A look into the folder would wait without end if the files were there and not served.
        while is_mounted(&mount) {
            assert!(Instant::now() < until, "still mounted: {}", service.log());
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut egd = service.socket("egd.sock");
        egd.write_all(&[2, 16]).unwrap();
        egd.read_exact(&mut [0; 16]).unwrap();
    }
}

#[test]
fn a_service_that_may_use_one_cpu_serves_readers_on_all() {
    if !has_fuse() || !is_installed("taskset") {
        return;
    }
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let cpus: Vec<_> = (0..rustix::thread::CpuSet::MAX_CPU)
        .filter(|cpu| allowed.is_set(*cpu))
        .collect();
    let on = |cpu: usize, program: &[&str]| {
        let mut command = Command::new("taskset");
        command.args(["-c", &cpu.to_string()]).args(program);
        command
    };
    let folder = Folder::new();
    let (mount, more) = files_in(&folder);
    let mut command = on(cpus[0], &[env!("CARGO_BIN_EXE_wellspringd")]);
    command.arg("--config").arg(folder.configure(&more));
    let Some(service) = by_rings(|| Service::spawn(folder, &mut command)) else {
        return;
    };
    assert_eq!(requests_by(&service), "io_uring");
    // As when a cpuset shrinks: the threads lose the CPUs to which they were bound.
    for threads_on in [cpus[0], cpus[cpus.len() - 1]] {
        let pid = service.child.id().to_string();
        let moved = Command::new("taskset")
            .args(["-apc", &threads_on.to_string(), &pid])
            .stdout(Stdio::null())
            .status();
        assert!(moved.unwrap().success());
        for cpu in &cpus {
            // A reader whose queue has no thread waits without end.
            let mut head = on(*cpu, &["timeout", "-s", "KILL", "60", "head"]);
            let output = head
                .args(["-c", "300000"])
                .arg(mount.join("random"))
                .output()
                .unwrap();
            assert_eq!(output.stdout.len(), 300_000, "CPU {cpu}");
        }
    }
}

//! The operator's noise files, with claims: sound, unplugged, slow, repeating and lying devices, a TPM and a token.

use super::common::{Folder, PATIENCE, Service, is_installed, quoted};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

/// Names a pipe or device as noise, with this claim.
fn configuration(files: &[(&Path, Option<f64>)]) -> String {
    let quoted = |file: &Path| format!("\"{}\"", file.display());
    let names: Vec<String> = files.iter().map(|(file, _)| quoted(file)).collect();
    let claims = files
        .iter()
        .filter_map(|(file, claim)| claim.map(|claim| format!("{} = {claim:?}", quoted(file))));
    format!(
        "[engine]\nnoise_files = [{}]\nnoise_credit = {{ {} }}\n",
        names.join(", "),
        claims.collect::<Vec<_>>().join(", ")
    )
}

fn source(service: &Service, file: &Path) -> Value {
    named(service, &file_name(file))
}

fn file_name(file: &Path) -> String {
    format!("file {}", file.display())
}

fn named(service: &Service, name: &str) -> Value {
    let status = service.status();
    let sources = status["sources"].as_array().unwrap();
    let found = sources.iter().find(|source| source["name"] == name);
    found
        .unwrap_or_else(|| panic!("no {name}: {status}"))
        .clone()
}

/// Waits until a file is as it should be.
fn wait_for(service: &Service, file: &Path, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    wait_until(service, &file_name(file), what, is_so)
}

/// Waits until a source is as it should be. Reads meanwhile: without readers the harvester draws less and less often.
fn wait_until(service: &Service, name: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + 2 * PATIENCE;
    loop {
        let source = named(service, name);
        if is_so(&source) {
            return source;
        }
        assert!(Instant::now() < until, "{what}: {source}");
        reads(service);
        thread::sleep(Duration::from_millis(100));
    }
}

/// The bytes that the source gave, with the bytes of its start-up.
fn seen(source: &Value) -> u64 {
    let of = |key: &str| source[key].as_u64().unwrap();
    of("used_bytes") + of("discarded_bytes")
}

fn wait_for_state(service: &Service, file: &Path, states: &[&str]) {
    wait_for(service, file, &states.join(" or "), |source| {
        states.iter().any(|state| source["state"] == *state)
    });
}

fn pipe(folder: &Folder, name: &str) -> PathBuf {
    let path = folder.path(name);
    let made = Command::new("mkfifo")
        .args(["-m", "0600"])
        .arg(&path)
        .status();
    assert!(made.unwrap().success());
    path
}

/// Writes what `next` makes to a pipe, for as long as the service reads it.
fn feed(path: &Path, mut next: impl FnMut() -> Vec<u8> + Send + 'static) {
    let path = path.to_owned();
    thread::spawn(move || {
        let mut pipe = OpenOptions::new().write(true).open(path).unwrap();
        while pipe.write_all(&next()).is_ok() {
            thread::sleep(Duration::from_millis(20));
        }
    });
}

fn random(bytes: usize) -> Vec<u8> {
    let mut noise = vec![0; bytes];
    wellspring::fill(&mut noise);
    noise
}

#[test]
fn a_claim_is_credited_and_a_file_without_one_is_not() {
    let folder = Folder::new();
    let (claimed, plain) = (pipe(&folder, "claimed"), pipe(&folder, "plain"));
    let files = [(claimed.as_path(), Some(0.5)), (plain.as_path(), None)];
    let service = Service::start_in(folder, &configuration(&files));
    feed(&claimed, || random(64));
    feed(&plain, || random(64));
    // After 1024 bytes, which are tested and thrown away.
    let source = wait_for(&service, &claimed, "credited", |source| {
        source["credited_bits"].as_u64() > Some(0)
    });
    assert_eq!(
        source["credited_bits"].as_u64(),
        source["used_bytes"].as_u64().map(|bytes| bytes / 2)
    );
    let source = wait_for(&service, &plain, "used", |source| {
        source["used_bytes"].as_u64() > Some(0)
    });
    assert_eq!(source["credited_bits"], 0);
}

#[test]
fn the_processor_is_credited_the_operators_claim_and_nothing_without_one() {
    let claim = "[engine]\nnoise_credit = { cpu = 0.5 }\n";
    let [plain, claimed] = ["", claim].map(Service::start);
    if named(&plain, "cpu")["last_error"] == "not on this machine" {
        testkit::skipped("this processor has no RDSEED, RDRAND or RNDRRS");
        return;
    }
    let of = |cpu: &Value, key: &str| cpu[key].as_u64().unwrap();
    let cpu = wait_until(&plain, "cpu", "used", |cpu| of(cpu, "used_bytes") > 0);
    assert_eq!(of(&cpu, "credited_bits"), 0);
    assert_eq!(of(&cpu, "discarded_bytes"), 0, "nothing judges it");
    let cpu = wait_until(&claimed, "cpu", "credited", |cpu| {
        let bits = of(cpu, "credited_bits");
        bits > 0 && bits == of(cpu, "used_bytes") / 2
    });
    let start_up_bytes = 8 * 1024;
    assert!(of(&cpu, "discarded_bytes") >= start_up_bytes, "{cpu}");
}

/// The liar claims 8 bits for bytes that are 0 or 1.
#[test]
fn devices_that_repeat_lie_or_are_slow_are_shown_and_stop_no_reader() {
    let folder = Folder::new();
    let [repeats, lies, slow] = ["repeats", "lies", "slow"].map(|name| pipe(&folder, name));
    let files = [
        (repeats.as_path(), Some(1.0)),
        (lies.as_path(), Some(8.0)),
        (slow.as_path(), Some(1.0)),
    ];
    let service = Service::start_in(folder, &configuration(&files));
    feed(&repeats, || vec![0x55; 64]);
    feed(&lies, || random(64).iter().map(|byte| byte & 1).collect());
    feed(&slow, || {
        thread::sleep(Duration::from_secs(4));
        random(1)
    });
    let stopped = ["quarantined", "disabled"];
    wait_for_state(&service, &repeats, &stopped);
    wait_for_state(&service, &lies, &stopped);
    for file in [&repeats, &lies] {
        assert_eq!(source(&service, file)["credited_bits"], 0);
    }
    let problems = service.status()["problems"].to_string();
    assert!(
        problems.contains("repeats") && problems.contains("lies"),
        "{problems}"
    );
    wait_for(&service, &slow, "two bytes", |source| {
        assert_eq!(source["state"], "working");
        seen(source) >= 2
    });
    reads(&service);
}

/// Readers get their bytes.
fn reads(service: &Service) {
    let mut egd = service.socket("egd.sock");
    egd.write_all(&[2, 255]).unwrap();
    let mut bytes = [0; 255];
    std::io::Read::read_exact(&mut egd, &mut bytes).unwrap();
    assert_ne!(bytes, [0; 255]);
}

/// A pseudo-terminal: the end of the device, and the name of the port.
fn port() -> (OwnedFd, PathBuf) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let device = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&device).unwrap();
    unlockpt(&device).unwrap();
    let name = ptsname(&device, Vec::new()).unwrap();
    (device, PathBuf::from(name.into_string().unwrap()))
}

/// Lines of the how-to page that begin so: the rest of each line.
fn of_page(begin: &str) -> Vec<String> {
    let page = include_str!("../../../../docs/how-to/service.md").replace("\\\n    ", "");
    let found = page.lines().filter_map(|line| line.strip_prefix(begin));
    found.map(str::to_owned).collect()
}

/// The line of the page with a port of this machine in place of its own.
fn line_for_port(begin: &str, port: &Path) -> String {
    let line = &of_page(begin)[0];
    begin.to_string() + &line.replace("/dev/ttyACM0", port.to_str().unwrap())
}

#[test]
fn a_generator_at_a_serial_port_is_read_as_the_page_says_until_it_is_unplugged() {
    let (device, port) = port();
    let settings =
        ["stty ", "noise_files ", "noise_credit "].map(|line| line_for_port(line, &port));
    let raw = Command::new("sh").args(["-c", &settings[0]]).status();
    assert!(raw.unwrap().success(), "{}", settings[0]);
    let more = format!("[engine]\n{}\n{}\n", settings[1], settings[2]);
    let service = Service::start(&more);
    let mut writer = File::from(device.as_fd().try_clone_to_owned().unwrap());
    // Bytes that a terminal would take for ends of lines, files and transmissions.
    writer.write_all(&[3, 4, 10, 13, 17, 19, 26, 28]).unwrap();
    wait_for(&service, &port, "8 bytes", |source| seen(source) == 8);
    wait_for_state(&service, &port, &["working"]);
    drop((device, writer));
    wait_for_state(&service, &port, &["silent"]);
    reads(&service);
}

/// A process with its children, killed at its end.
struct Feeder(Child);

impl Feeder {
    fn start(script: &str, environment: &[(&str, String)]) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        Self(command.spawn().unwrap())
    }
}

impl Feeder {
    fn kill(&mut self) {
        let group = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        self.kill();
        let _ = self.0.wait();
    }
}

/// The loop of the page that has this word, with another pipe.
fn loop_with(word: &str, pipe: &Path) -> String {
    let lines = of_page("ExecStart=/bin/sh -c '");
    let line = lines.iter().find(|line| line.contains(word)).unwrap();
    let script = line.strip_suffix("'").unwrap();
    let changed = script.replace("/run/wellspring-noise/pipe", &quoted(pipe));
    assert_ne!(changed, script);
    changed
}

/// Runs a loop of the page, waits until its noise is used, ends the device by `unplug`, and waits until that is seen.
fn try_loop(
    word: &str,
    environment: &[(&str, String)],
    folder: Folder,
    unplug: impl FnOnce(&mut Feeder),
) {
    let pipe = pipe(&folder, "pipe");
    let program = folder.path("wellspring-jitter.py");
    std::fs::write(&program, program_of_page()).unwrap();
    let script = loop_with(word, &pipe);
    let script = script.replace("/usr/local/lib/wellspring-jitter.py", &quoted(&program));
    let service = Service::start_in(folder, &configuration(&[(&pipe, None)]));
    let mut feeder = Feeder::start(&script, environment);
    wait_for(&service, &pipe, "used", |source| {
        source["used_bytes"].as_u64() >= Some(64)
    });
    unplug(&mut feeder);
    wait_for_state(&service, &pipe, &["silent"]);
    reads(&service);
}

#[test]
fn a_tpm_feeds_the_service_as_the_page_says() {
    if !is_installed("swtpm") || !is_installed("tpm2_getrandom") {
        return;
    }
    let folder = Folder::new();
    let state = folder.path("state");
    std::fs::create_dir(&state).unwrap();
    let socket = folder.path("tpm");
    let emulator = format!(
        "exec swtpm socket --tpm2 --tpmstate dir={} --server type=unixio,path={socket} --ctrl type=unixio,path={socket}.ctrl \
         --flags startup-clear",
        quoted(&state),
        socket = socket.display()
    );
    let emulator = Feeder::start(&emulator, &[]);
    let place = format!("swtpm:path={}", socket.display());
    let environment = [("TPM2TOOLS_TCTI", place)];
    let has_interface = Command::new("tpm2_getrandom")
        .arg("8")
        .envs(environment.clone())
        .output();
    // The library of the interface says so itself if the emulator does not listen yet.
    if let Ok(output) = has_interface
        && !output.status.success()
        && !String::from_utf8_lossy(&output.stderr).contains("tcti-swtpm")
    {
        testkit::skipped("libtss2-tcti-swtpm0 is not installed");
        return;
    }
    try_loop("tpm2_getrandom", &environment, folder, |_| drop(emulator));
}

#[test]
fn a_token_feeds_the_service_as_the_page_says() {
    const MODULE: &str = "/usr/lib/softhsm/libsofthsm2.so";
    if !is_installed("softhsm2-util") || !is_installed("pkcs11-tool") {
        return;
    }
    if !Path::new(MODULE).exists() {
        testkit::skipped(&format!("there is no {MODULE}"));
        return;
    }
    let folder = Folder::new();
    let (tokens, settings) = (folder.path("tokens"), folder.path("softhsm2.conf"));
    std::fs::create_dir(&tokens).unwrap();
    let text = format!("directories.tokendir = {}\n", tokens.display());
    std::fs::write(&settings, text).unwrap();
    let environment = [("SOFTHSM2_CONF", settings.display().to_string())];
    let words = "--init-token --free --label noise --so-pin 1234 --pin 1234";
    let made = Command::new("softhsm2-util")
        .args(words.split(' '))
        .envs(environment.clone())
        .output();
    assert!(made.as_ref().unwrap().status.success(), "{made:?}");
    // Without its folder the token is gone.
    try_loop("pkcs11-tool", &environment, folder, |_| {
        std::fs::remove_dir_all(tokens).unwrap();
    });
}

/// The program that reads libjitterentropy.
fn program_of_page() -> &'static str {
    let page = include_str!("../../../../docs/how-to/service.md");
    let (_, program) = page.split_once("```python\n").unwrap();
    program.split_once("```\n").unwrap().0
}

#[test]
fn libjitterentropy_feeds_the_service_as_the_page_says() {
    let mut load = Command::new("python3");
    load.args(["-c", "import ctypes; ctypes.CDLL('libjitterentropy.so.3')"]);
    if !load.output().is_ok_and(|output| output.status.success()) {
        testkit::skipped("libjitterentropy3 is not installed");
        return;
    }
    // As after a failure of its health tests: the program ends.
    let folder = Folder::new();
    try_loop("wellspring-jitter", &[], folder, Feeder::kill);
}

#[test]
fn a_claim_for_a_file_that_is_not_named_is_a_fault_of_the_configuration() {
    let folder = Folder::new();
    let text = "[engine]\nnoise_credit = { \"/dev/ttyACM0\" = 0.5 }\n";
    let config = folder.configure(text);
    let output = super::common::wellspringd()
        .args(["--check-config", "--config"])
        .arg(config)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let expected = "[engine] noise_credit: /dev/ttyACM0 is not in noise_files";
    assert!(said.contains(expected), "{said}");
    assert_eq!(output.status.code(), Some(2));
}

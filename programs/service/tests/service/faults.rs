//! Refusals of the system: one clear line each, the rest opens, and the status shows what did not, or is lost later.

use super::common::{
    Folder, Service, copy_program, has_fuse, is_installed, is_root, quoted, sh, start_with_files,
};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command that is the service, in a mount namespace of its own in which `prepare` has run. It keeps its process
/// number, so that `/proc/NUMBER/root` is what it sees.
fn in_namespace(prepare: &str, config: &Path) -> Command {
    let mut command = Command::new("unshare");
    let script = format!(
        "{prepare} && exec {} --config {}",
        quoted(env!("CARGO_BIN_EXE_wellspringd")),
        quoted(config)
    );
    command.args(["-m", "sh", "-c", &script]);
    command
}

/// A path as the service sees it.
fn inside(service: &Service, path: &Path) -> PathBuf {
    let root = format!("/proc/{}/root", service.child.id());
    Path::new(&root).join(path.strip_prefix("/").unwrap())
}

fn status(mut stream: impl Read + Write) -> Value {
    stream
        .write_all(b"GET /status.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// The fault of the opening whose name and place these are; empty if it is open.
fn fault(status: &Value, name: &str, place: &str) -> String {
    let openings = status["openings"].as_array().unwrap();
    let found = openings.iter().find(|opening| {
        opening["name"] == name && opening["place"].as_str().unwrap().ends_with(place)
    });
    let fault = &found.unwrap_or_else(|| panic!("no {name} at {place}: {status}"))["fault"];
    fault.as_str().unwrap_or_default().to_owned()
}

/// Fails unless the log has one line with these words, and the status has a problem with them.
fn is_told_once(service: &Service, status: &Value, words: &str) {
    let log = service.log();
    let lines = log.lines().filter(|line| line.contains(words)).count();
    assert_eq!(lines, 1, "'{words}' in: {log}");
    assert!(status["problems"].to_string().contains(words), "{status}");
}

fn draws(service: &Service, path: &Path) {
    let mut stream = UnixStream::connect(inside(service, path)).unwrap();
    stream.write_all(&[2, 16]).unwrap();
    stream.read_exact(&mut [0; 16]).unwrap();
}

#[test]
fn without_dev_fuse_the_files_are_missing_and_nothing_else() {
    if !is_root() || !is_installed("unshare") {
        return;
    }
    let folder = Folder::new();
    let mount = folder.path("files");
    let config = folder.configure(&format!("[files]\nmount = \"{}\"\n", mount.display()));
    let mut command = in_namespace("mount -t tmpfs none /dev", &config);
    let service = Service::spawn(folder, &mut command);
    let status = service.status();
    assert_eq!(
        fault(&status, "files", "files"),
        "there is no /dev/fuse: load the kernel module fuse"
    );
    is_told_once(&service, &status, "there is no /dev/fuse");
    draws(&service, &service.folder.path("run/egd.sock"));
}

#[test]
fn without_the_kernel_module_its_seeds_are_missing_and_nothing_else() {
    if Path::new("/dev/wellspring").exists() {
        return eprintln!("SKIPPED: the kernel module is loaded");
    }
    let folder = Folder::new();
    let seeds = folder.path("kernel-seed");
    let more = format!("[kernel_module]\nseed_file = \"{}\"\n", seeds.display());
    let service = Service::start_in(folder, &more);
    let status = service.status();
    let words = fault(&status, "kernel-module", "kernel-seed");
    assert!(words.contains("is not loaded"), "{words}");
    is_told_once(&service, &status, "is not loaded");
    let mut stream = service.socket("egd.sock");
    stream.write_all(&[2, 16]).unwrap();
    stream.read_exact(&mut [0; 16]).unwrap();
    assert!(!seeds.exists());
}

#[test]
fn on_a_full_disk_the_page_is_missing_and_the_sockets_serve() {
    if !is_root() || !is_installed("unshare") {
        return;
    }
    let folder = Folder::new();
    let run = folder.path("run");
    fs::create_dir(&run).unwrap();
    let seed = run.join("seed");
    let config = folder.configure(&format!("[engine]\nseed_file = \"{}\"\n", seed.display()));
    // A socket needs no block of the disk, a file with a byte in it does.
    let prepare = format!(
        "mount -t tmpfs -o size=4k,mode=755 none {0} && head -c 4096 /dev/zero > {0}/full",
        quoted(&run)
    );
    let service = Service::spawn(folder, &mut in_namespace(&prepare, &config));
    let web = inside(&service, &service.folder.path("run/web.sock"));
    let status = status(UnixStream::connect(web).unwrap());
    let words = "No space left on device";
    assert!(
        fault(&status, "page", "generation").contains(words),
        "{status}"
    );
    assert!(
        status["problems"]
            .to_string()
            .contains("The seed file was not"),
        "{status}"
    );
    draws(&service, &service.folder.path("run/egd.sock"));
}

#[test]
fn in_a_read_only_runtime_folder_what_is_elsewhere_opens() {
    if !is_root() || !is_installed("unshare") {
        return;
    }
    let folder = Folder::new();
    let run = folder.path("run");
    fs::create_dir(&run).unwrap();
    let egd = folder.path("egd.sock");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let web = listener.local_addr().unwrap();
    drop(listener);
    let config = folder.configure(&format!(
        "[egd]\nlisten = [\"egd.sock\", \"{}\"]\n[web]\nlisten = [\"{web}\"]\n",
        egd.display()
    ));
    let prepare = format!(
        "mount -t tmpfs -o mode=755 none {0} && mount -o remount,ro {0}",
        quoted(&run)
    );
    let service = Service::spawn(folder, &mut in_namespace(&prepare, &config));
    let status = status(TcpStream::connect(web).unwrap());
    for (name, place) in [
        ("egd", "run/egd.sock"),
        ("bulk", "run/bulk.sock"),
        ("page", "run/generation"),
    ] {
        let fault = fault(&status, name, place);
        assert!(fault.contains("Read-only file system"), "{name}: {fault}");
        is_told_once(&service, &status, place);
    }
    assert_eq!(fault(&status, "web", &web.to_string()), "");
    draws(&service, &egd);
}

#[test]
fn without_a_permission_the_line_says_which_and_the_rest_opens() {
    if !is_root() || !is_installed("setpriv") {
        return;
    }
    let folder = Folder::new();
    let forbidden = folder.path("forbidden");
    for (name, owner) in [("run", 65534), ("files", 65534), ("forbidden", 0)] {
        fs::create_dir(folder.path(name)).unwrap();
        fs::set_permissions(folder.path(name), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(folder.path(name), Some(owner), None).unwrap();
    }
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o755)).unwrap();
    let config = folder.configure(&format!(
        "[egd]\nlisten = [\"egd.sock\", \"{}/egd.sock\"]\n[files]\nmount = \"{}\"\n",
        forbidden.display(),
        folder.path("files").display()
    ));
    // The folder of the build may be closed to other users.
    let program = folder.path("wellspringd");
    copy_program(env!("CARGO_BIN_EXE_wellspringd"), &program);
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(&program).arg("--config").arg(&config);
    let service = Service::spawn(folder, &mut command);
    let status = service.status();
    let refused = fault(&status, "egd", "forbidden/egd.sock");
    assert!(refused.contains("Permission denied"), "{refused}");
    is_told_once(&service, &status, "forbidden/egd.sock");
    if has_fuse() {
        assert_eq!(
            fault(&status, "files", "files"),
            "mounting needs root (CAP_SYS_ADMIN)"
        );
        is_told_once(&service, &status, "mounting needs root");
    }
    assert_eq!(fault(&status, "egd", "run/egd.sock"), "");
    draws(&service, &service.folder.path("run/egd.sock"));
}

#[test]
fn the_status_says_that_another_program_has_unmounted_or_covered_the_files() {
    if !has_fuse() {
        return;
    }
    for order in ["umount", "umount -l", "mount -t tmpfs cover"] {
        let (mut service, mount) = start_with_files();
        let done = sh(&format!("{order} {}", quoted(&mount)));
        assert!(done.status.success(), "{order}: {done:?}");
        service.wait_for_log("another program has unmounted or covered it");
        let problems = service.status()["problems"].to_string();
        assert!(
            problems.contains("is not open: another program"),
            "{problems}"
        );
        if order.starts_with("mount") {
            sh(&format!("umount {}", quoted(&mount)));
        }
        assert!(service.end("-TERM").success(), "{order}");
        assert_eq!(service.log().matches("another program").count(), 1);
    }
}

//! Other users who would play the service to its clients.

use super::common::{Folder, copy_program, is_root, wellspringd};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;
use wellspring::{MinEntropy, Source};
use wellspring_client::protocol::{Answer, Request};
use wellspring_client::{Client, ClientError, ServiceSource};

/// The user that attacks.
const ATTACKER: u32 = 1234;

/// Serves one byte again and again at `path`, by the bulk protocol, as another user.
fn impersonate(path: &Path) {
    let path = path.to_owned();
    let (listens, started) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let uid = rustix::process::Uid::from_raw(ATTACKER);
        // This thread alone.
        rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
        let listener = UnixListener::bind(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        listens.send(()).unwrap();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let answer = [&Answer::Bytes(32).head()[..], &[b'A'; 32]].concat();
            while stream.read(&mut [0; 8]).is_ok_and(|length| length > 0) {
                if stream.write_all(&answer).is_err() {
                    break;
                }
            }
        }
    });
    started.recv().unwrap();
}

#[test]
fn clients_take_no_byte_from_a_socket_that_another_user_has_put_there() {
    if !is_root() {
        return;
    }
    let folder = Folder::new();
    let run = folder.path("run");
    fs::create_dir(&run).unwrap();
    chown(&run, Some(ATTACKER), None).unwrap();
    impersonate(&run.join("bulk.sock"));
    impersonate(&run.join("web.sock"));
    // A link of the attacker leads there too.
    fs::create_dir(folder.path("shared")).unwrap();
    fs::set_permissions(folder.path("shared"), fs::Permissions::from_mode(0o1777)).unwrap();
    std::os::unix::fs::symlink(&run, folder.path("shared/run")).unwrap();
    // Who does not ask gets what the attacker chose.
    let mut stream = UnixStream::connect(run.join("bulk.sock")).unwrap();
    let mut bytes = [0; 40];
    stream.write_all(&Request::Read(32).head()).unwrap();
    stream.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes[8..], [b'A'; 32]);
    for path in [run.join("bulk.sock"), folder.path("shared/run/bulk.sock")] {
        let mut bytes = [0; 32];
        let client = Client::connect(&path, Duration::from_secs(10));
        let filled = client.and_then(|mut client| client.fill(&mut bytes));
        assert!(
            matches!(filled, Err(ClientError::Untrusted(_))),
            "{filled:?}"
        );
        assert_eq!(bytes, [0; 32]);
        let source = ServiceSource::unix(&path, MinEntropy::NONE);
        assert!(source.sample(&mut bytes).is_err());
        assert_eq!(bytes, [0; 32]);
    }
    let mut status = wellspringd();
    status
        .arg("status")
        .arg("--config")
        .arg(folder.configure(""));
    let output = status.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("another user listens there"), "{said}");
}

#[test]
fn a_runtime_folder_that_another_user_can_change_is_refused() {
    if !is_root() {
        return;
    }
    let folder = Folder::new();
    let run = folder.path("run");
    fs::create_dir(&run).unwrap();
    let refused = |reason: &str| {
        let mut command = wellspringd();
        command.arg("--config").arg(folder.configure(""));
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        let expected = format!(
            "the folder {} or one above it is not safe: {reason}\n",
            run.display()
        );
        assert!(said.ends_with(&expected), "{said}");
        assert!(!run.join("egd.sock").exists());
    };
    chown(&run, Some(ATTACKER), None).unwrap();
    refused("it belongs to another user");
    chown(&run, Some(0), None).unwrap();
    for mode in [0o777, 0o1777, 0o775] {
        fs::set_permissions(&run, fs::Permissions::from_mode(mode)).unwrap();
        refused("other users can write it");
    }
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o777)).unwrap();
    refused("other users can write it");
}

#[test]
fn without_a_folder_of_its_own_a_user_gets_none_in_tmp() {
    if !is_root() {
        return;
    }
    let folder = Folder::new();
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o755)).unwrap();
    // The folder of the build may be closed to other users.
    let program = folder.path("wellspringd");
    copy_program(env!("CARGO_BIN_EXE_wellspringd"), &program);
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(&program).arg("--print-config");
    command.env_remove("XDG_RUNTIME_DIR");
    command.env_remove("RUNTIME_DIRECTORY");
    let Ok(output) = command.output() else {
        return eprintln!("SKIPPED: setpriv is not installed");
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    let expected = "runtime_dir = \"/run/user/65534/wellspring\"\n";
    assert!(printed.contains(expected), "{printed}");
}

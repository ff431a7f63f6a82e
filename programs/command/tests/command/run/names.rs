//! The names that `run` puts into the environment: no other user can come to own one, also after the command has ended. A program
//! that outlives the command or becomes another user is served, and nothing repeats any more.

use crate::{build_libraries, cannot_repeat, copy_program, is_installed, stderr, user};
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use testkit::programs::{is_plain, is_success, quoted, scratch};

/// The number of a user without a name.
const USER: u32 = 54321;

/// Three generators of OpenSSL that are ours.
const OURS: &str = "openssl list -random-instances 2>&1 | grep -c 'WELLSPRING @ wellspring'";

/// The command, with a new folder for the files of a user who is not root.
fn command(options: &[&str], program: &[&str]) -> Command {
    build_libraries();
    let mut command = crate::wellspring("run");
    command.args(options).arg("--").args(program);
    for name in ["OPENSSL_CONF", "LD_PRELOAD", "ASAN_OPTIONS"] {
        command.env_remove(name);
    }
    let folder = scratch("home");
    for name in ["XDG_RUNTIME_DIR", "XDG_STATE_HOME"] {
        // No copy of a library can lie below a path with a space. From such a clone it lies where a user's does, below HOME.
        if is_plain(&folder) {
            command.env(name, &folder);
        } else {
            command.env_remove(name);
        }
    }
    command
}

/// Whether LD_PRELOAD can name the library where cargo built it. Else the command needs a place for a copy, which tests that take
/// all places away cannot give.
fn has_plain_path() -> bool {
    let has_plain_path = is_plain(Path::new(env!("CARGO_BIN_EXE_wellspring")));
    if !has_plain_path {
        testkit::skipped("the path of this clone has a space");
    }
    has_plain_path
}

/// Words that make the command run as a user other than root. `None` if the tests do not run as root, or if that user cannot
/// reach the command.
fn as_user() -> Option<Vec<String>> {
    let words = format!("setpriv --reuid={USER} --regid={USER} --clear-groups");
    let reaches = format!("{words} test -x {}", crate::quoted_command());
    if user() != 0 || !is_installed("setpriv") || !is_success(&reaches) {
        testkit::skipped("needs root, and a clone that other users can read");
        return None;
    }
    Some(words.split(' ').map(str::to_string).collect())
}

/// Runs the command as another user, with these variables beside PATH.
fn run_as_user(variables: &[(&str, &Path)], words: &[&str]) -> Option<Output> {
    build_libraries();
    let user = as_user()?;
    let mut command = Command::new(&user[0]);
    command
        .args(&user[1..])
        .arg(env!("CARGO_BIN_EXE_wellspring"))
        .arg("run")
        .args(words);
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    for (name, value) in variables {
        command.env(name, value);
    }
    Some(command.current_dir("/").output().unwrap())
}

/// A folder that belongs to the other user.
fn folder_of_user() -> PathBuf {
    let folder = scratch("user");
    chown(&folder, Some(USER), Some(USER)).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    folder
}

/// Each path in the environment is a file that only root and `user` can change, below folders that only these can change.
fn check_names(environment: &str, user: u32) {
    let names = [
        "OPENSSL_CONF=",
        "LD_PRELOAD=",
        "WELLSPRING_REPORT=",
        "WELLSPRING_REPEAT=",
    ];
    let paths = environment
        .lines()
        .filter_map(|line| names.iter().find_map(|name| line.strip_prefix(name)));
    let paths: Vec<&str> = paths.collect();
    assert!(paths.len() >= 3, "{environment}");
    for path in paths {
        assert!(
            path.starts_with('/') && !path.starts_with("/proc"),
            "{path}"
        );
        let mut above = Path::new(path);
        while let Some(folder) = above.parent() {
            let status = fs::metadata(folder).unwrap();
            assert!(
                [0, user].contains(&status.uid()) && status.mode() & 0o022 == 0,
                "{path}: {}",
                folder.display()
            );
            above = folder;
        }
        // The pages go with the command.
        if let Ok(status) = fs::symlink_metadata(path) {
            assert!(
                status.is_file() && [0, user].contains(&status.uid()) && status.mode() & 0o022 == 0,
                "{path}"
            );
        }
    }
}

#[test]
fn every_name_is_one_that_no_other_user_can_come_to_own() {
    let output = command(&["--report"], &["env"]).output().unwrap();
    check_names(&String::from_utf8_lossy(&output.stdout), user());
    if as_user().is_none() || !has_plain_path() {
        return;
    }
    let folder = folder_of_user();
    for variable in ["XDG_RUNTIME_DIR", "XDG_STATE_HOME", "HOME"] {
        for options in [
            &["--report", "--", "env"][..],
            &["--repeat", "7", "--", "env"],
        ] {
            let output = run_as_user(&[(variable, &folder)], options);
            if let Some(output) = output.filter(|output| !cannot_repeat(output)) {
                assert!(output.status.success(), "{variable}: {output:?}");
                check_names(&String::from_utf8_lossy(&output.stdout), USER);
            }
        }
    }
}

#[test]
fn a_folder_that_another_user_can_change_is_not_used() {
    if !has_plain_path() {
        return;
    }
    if as_user().is_none() {
        return;
    }
    let own = folder_of_user();
    let others = scratch("others");
    let open = scratch("open");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let sticky = scratch("sticky");
    fs::set_permissions(&sticky, fs::Permissions::from_mode(0o1777)).unwrap();
    let below_sticky = sticky.join("own");
    fs::create_dir(&below_sticky).unwrap();
    chown(&below_sticky, Some(USER), None).unwrap();
    let link = sticky.join("link");
    symlink(&own, &link).unwrap();
    let file = own.join("file");
    fs::write(&file, "").unwrap();
    let relative = PathBuf::from("run");
    for (what, place) in [
        ("another user's", &others),
        ("open to all", &open),
        ("like /tmp", &sticky),
        ("below one like /tmp", &below_sticky),
        ("a link in one like /tmp", &link),
        ("a file", &file),
        ("relative", &relative),
    ] {
        for variable in ["XDG_RUNTIME_DIR", "XDG_STATE_HOME", "HOME"] {
            for words in [
                &["--", "true"][..],
                &["--preload", "--report", "--", "true"],
                &["--repeat", "7", "--", "true"],
            ] {
                let Some(output) = run_as_user(&[(variable, place)], words) else {
                    return;
                };
                let error = stderr(&output);
                assert_eq!(
                    output.status.code(),
                    Some(1),
                    "{what}: {variable}: {output:?}"
                );
                assert!(
                    error.contains("no other user can change") && error.contains("--preload"),
                    "{error}"
                );
                assert_eq!(error.lines().count(), 1, "{error}");
            }
            // What needs no file is served.
            let output = run_as_user(&[(variable, place)], &["--preload", "--", "true"]);
            assert!(output.unwrap().status.success());
            // Beside a good folder it changes nothing.
            let good = if variable == "XDG_RUNTIME_DIR" {
                "XDG_STATE_HOME"
            } else {
                "XDG_RUNTIME_DIR"
            };
            let output = run_as_user(
                &[(variable, place), (good, &own)],
                &["--report", "--", "true"],
            );
            assert!(
                output.as_ref().unwrap().status.success(),
                "{what}: {variable}: {output:?}"
            );
        }
    }
    let output = run_as_user(&[], &["--", "true"]).unwrap();
    assert!(
        stderr(&output).contains("neither XDG_RUNTIME_DIR nor HOME is set"),
        "{output:?}"
    );
}

/// Runs a shell's script as another user, who has a folder for files. `$COMMAND` is the command.
fn script_as_user(script: &str) -> Option<Output> {
    Some(command_as_user(script)?.output().unwrap())
}

fn command_as_user(script: &str) -> Option<Command> {
    let user = as_user()?;
    build_libraries();
    let folder = folder_of_user();
    let mut command = Command::new(&user[0]);
    command
        .args(&user[1..])
        .args(["sh", "-c", script])
        .env("COMMAND", env!("CARGO_BIN_EXE_wellspring"))
        .env("XDG_RUNTIME_DIR", &folder)
        .env("XDG_STATE_HOME", &folder)
        .env_remove("OPENSSL_CONF")
        .current_dir("/");
    Some(command)
}

#[test]
fn on_a_file_system_without_locks_the_command_says_so_at_once_and_leaves_no_file() {
    use testkit::filter::{is_possible, without_locks};
    if !is_possible() || !has_plain_path() {
        return;
    }
    for options in ["--preload --report", "--preload --repeat 7", "--report"] {
        let script = format!(
            "\"$COMMAND\" run {options} -- true; status=$?; find \"$XDG_STATE_HOME\" -type f; exit $status"
        );
        let Some(mut command) = command_as_user(&script) else {
            return;
        };
        let output = without_locks(&mut command).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{options}: {output:?}");
        assert!(stderr(&output).contains("No locks"), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{options}");
    }
}

#[test]
fn programs_open_the_pages_whatever_the_mask_of_the_command() {
    if !has_plain_path() {
        return;
    }
    for mask in ["0", "0277", "0777"] {
        let Some(output) = script_as_user(&format!(
            "umask {mask}; \"$COMMAND\" run --repeat 7 --report -- true && \"$COMMAND\" run --report -- true"
        )) else {
            return;
        };
        if cannot_repeat(&output) {
            return;
        }
        let error = stderr(&output);
        assert!(output.status.success(), "{mask}: {output:?}");
        let counted = error.matches("1 program loaded the preload library");
        assert_eq!(counted.count(), 2, "{mask}: {error}");
    }
}

#[test]
fn where_no_file_may_have_a_byte_the_command_says_so_and_the_program_is_ended_as_ever() {
    if !has_plain_path() {
        return;
    }
    for option in ["--report", "--repeat 7"] {
        let script = format!("ulimit -f 0; \"$COMMAND\" run {option} -- true");
        let Some(output) = script_as_user(&script) else {
            return;
        };
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(stderr(&output).contains("File too large"), "{output:?}");
    }
    let script =
        "\"$COMMAND\" run --preload -- sh -c 'ulimit -f 0; echo > \"$XDG_RUNTIME_DIR/file\"'";
    let output = script_as_user(script).unwrap();
    assert_eq!(
        output.status.code(),
        Some(128 + libc::SIGXFSZ),
        "{output:?}"
    );
}

/// A program in the background, which goes on at a line and ends its output with what the script printed.
struct Service {
    go: fs::File,
    output: BufReader<std::process::ChildStdout>,
}

impl Service {
    /// Runs the command with a script that goes to the background and waits, to the end of the command.
    fn start(options: &[&str], then: &str) -> Self {
        let folder = scratch("service");
        let pipe = folder.join("pipe");
        assert!(is_success(&format!("mkfifo {}", quoted(&pipe))));
        // Opened for both ways, no side waits for the other.
        let go = fs::File::options()
            .read(true)
            .write(true)
            .open(&pipe)
            .unwrap();
        let script = format!("(read line < {}; {then}) &", quoted(&pipe));
        let mut command = command(options, &["sh", "-c", &script]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut command = command.spawn().unwrap();
        let output = BufReader::new(command.stdout.take().unwrap());
        assert!(command.wait().unwrap().success());
        Self { go, output }
    }

    /// Lets it go on, and returns what it printed to its end.
    fn finish(mut self) -> String {
        self.go.write_all(b"go\n").unwrap();
        let mut text = String::new();
        self.output.read_to_string(&mut text).unwrap();
        text
    }
}

#[test]
fn a_service_that_outlives_the_command_draws_on_the_provider() {
    if !is_installed("openssl") {
        return;
    }
    for options in [&[][..], &["--report"]] {
        assert_eq!(Service::start(options, OURS).finish(), "3\n");
    }
}

/// A draw in a new process.
const DRAW: &str = "python3 -c 'import os; print(os.urandom(16).hex())'";

#[test]
fn nothing_repeats_after_the_command_has_ended_or_was_killed() {
    if !has_plain_path() {
        return;
    }
    if !is_installed("python3") || user() == 0 && as_user().is_none() {
        return;
    }
    let tried = if user() == 0 {
        script_as_user("\"$COMMAND\" run --repeat 7 -- true")
    } else {
        command(&["--repeat", "7"], &["true"]).output().ok()
    };
    if tried.is_none_or(|output| cannot_repeat(&output)) {
        return;
    }
    // One process draws before and after, a second one begins after.
    let program = "import os, sys\nprint(os.urandom(16).hex(), flush=True)\nif os.fork(): __WAIT__\n\
                   open(sys.argv[1]).readline()\nprint(os.urandom(16).hex(), flush=True)\n\
                   os.execvp('sh', ['sh', '-c', sys.argv[2] + ' 2>&1'])";
    let mut before = Vec::new();
    let mut after = Vec::new();
    for wait in ["os.wait(); os._exit(0)", "os._exit(0)"] {
        for _ in 0..2 {
            let folder = if user() == 0 {
                folder_of_user()
            } else {
                scratch("user")
            };
            let pipe = folder.join("pipe");
            assert!(is_success(&format!("mkfifo -m 666 {}", quoted(&pipe))));
            let mut go = fs::File::options()
                .read(true)
                .write(true)
                .open(&pipe)
                .unwrap();
            let mut words: Vec<String> = if user() == 0 {
                as_user().unwrap()
            } else {
                vec!["env".into()]
            };
            words.push(env!("CARGO_BIN_EXE_wellspring").into());
            build_libraries();
            let program = program.replace("__WAIT__", wait);
            let mut run = Command::new(&words[0])
                .args(&words[1..])
                .args(["run", "--repeat", "7", "--", "python3", "-c", &program])
                .arg(&pipe)
                .arg(DRAW)
                .env("XDG_RUNTIME_DIR", &folder)
                .env("XDG_STATE_HOME", &folder)
                .env_remove("OPENSSL_CONF")
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let mut output = BufReader::new(run.stdout.take().unwrap());
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            before.push(line);
            if wait.contains("wait") {
                run.kill().unwrap();
            }
            run.wait().unwrap();
            go.write_all(b"go\n").unwrap();
            // The process that waits has the pipe open too: read to the last line, not to the end.
            let mut lines = output.lines().map(Result::unwrap);
            after.push(lines.next().unwrap());
            let told = lines.next().unwrap();
            assert!(told.contains("draws fresh random bytes"), "{told}");
            after.push(lines.next().unwrap());
        }
    }
    before.dedup();
    assert_eq!(
        before.len(),
        1,
        "what is drawn while the command lives repeats"
    );
    let all = after.len();
    after.sort();
    after.dedup();
    assert_eq!(
        after.len(),
        all,
        "a draw after the end of the command repeats"
    );
}

#[test]
fn a_program_that_becomes_another_user_is_served_and_told_that_no_report_counts_it() {
    if as_user().is_none() || !is_installed("openssl") {
        return;
    }
    let change = format!("setpriv --reuid={USER} --regid={USER} --clear-groups");
    let script = format!("{change} sh -c '{}'", OURS.replace('\'', "\""));
    let output = command(&["--report"], &["sh", "-c", &script])
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"3\n", "{output:?}");
    let error = stderr(&output);
    assert!(error.contains("the report leaves out process"), "{error}");
    // Only root's processes were counted.
    assert!(
        error.contains("wellspring: 2 programs loaded the preload library"),
        "{error}"
    );
}

/// The pages of killed commands do not fill the folder.
#[test]
fn the_next_command_removes_the_page_of_a_killed_one() {
    let folder = scratch("pages");
    let place = if user() == 0 {
        PathBuf::from("/run/wellspring/run")
    } else {
        folder.join("wellspring/run")
    };
    let with = |program: &[&str]| {
        let mut command = command(&["--preload", "--report"], program);
        command
            .env("XDG_RUNTIME_DIR", &folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command
    };
    // All of root's commands share one folder: the next command after the killed one's end may belong to another test.
    for _ in 0..100 {
        let mut killed = with(&["sh", "-c", "echo $WELLSPRING_REPORT; exec cat > /dev/null"]);
        let mut killed = killed.spawn().unwrap();
        let mut page = String::new();
        BufReader::new(killed.stdout.take().unwrap())
            .read_line(&mut page)
            .unwrap();
        let page = Path::new(page.trim_end());
        if page.parent() != Some(&place) {
            drop(killed.stdin.take());
            killed.wait().unwrap();
            return testkit::skipped("another folder is in use");
        }
        assert!(with(&["true"]).output().unwrap().status.success());
        assert!(page.exists(), "the page of a command that lives");
        killed.kill().unwrap();
        killed.wait().unwrap();
        let is_left = page.exists();
        assert!(with(&["true"]).output().unwrap().status.success());
        assert!(!page.exists());
        if is_left {
            return;
        }
    }
    panic!("no killed command left its page");
}

#[test]
fn libraries_that_were_there_stay_also_with_spaces_between_them() {
    let list = "libm.so.6 libdl.so.2:libpthread.so.0";
    let mut command = command(
        &["--preload", "--report"],
        &["sh", "-c", "echo $LD_PRELOAD"],
    );
    let output = command
        .env("LD_PRELOAD", list)
        .env("ASAN_OPTIONS", "x=1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.trim_end().ends_with(&format!(":{list}")), "{text}");
    assert!(
        stderr(&output).contains("1 program loaded the preload library"),
        "{output:?}"
    );
    assert!(!stderr(&output).contains("ERROR"), "{output:?}");
}

#[test]
fn a_program_built_with_a_sanitizer_starts() {
    if !is_installed("cc") {
        return;
    }
    let folder = scratch("sanitizers");
    let source = "#include <sys/random.h>\nint main(void) { char b[16]; return getrandom(b, 16, 0) != 16; }\n";
    fs::write(folder.join("draw.c"), source).unwrap();
    for sanitizer in ["address", "thread", "undefined", "leak"] {
        let program = folder.join(sanitizer);
        let words = [OsStr::new("draw.c"), "-o".as_ref(), program.as_os_str()];
        let built = Command::new("cc")
            .arg(format!("-fsanitize={sanitizer}"))
            .args(words)
            .current_dir(&folder)
            .output();
        if !built.unwrap().status.success() {
            testkit::skipped(&format!("the compiler has no {sanitizer} sanitizer"));
            continue;
        }
        // Also a program that another program starts.
        for words in [
            &[program.to_str().unwrap()][..],
            &["sh", "-c", &quoted(&program)],
        ] {
            let output = command(&["--preload", "--report"], words).output().unwrap();
            assert!(output.status.success(), "{sanitizer}: {output:?}");
            assert!(
                stderr(&output).contains("getrandom"),
                "{sanitizer}: {output:?}"
            );
        }
    }
}

#[test]
fn a_program_that_does_not_start_is_told_why() {
    let folder = scratch("not-started");
    let write = |name: &str, text: &str, mode: u32| {
        let (written, path) = (folder.join("written"), folder.join(name));
        fs::write(&written, text).unwrap();
        copy_program(written.to_str().unwrap(), &path);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_string()
    };
    let no_interpreter = write("no-interpreter", "#!/none/sh\n", 0o755);
    let no_right = write("no-right", "#!/bin/sh\n", 0o644);
    for (program, status, reason) in [
        ("none-of-this-name", 127, "no folder in PATH"),
        ("/none/of/this/name", 127, "there is no such file"),
        (
            no_interpreter.as_str(),
            127,
            "the interpreter in its first line",
        ),
        (no_right.as_str(), 126, "chmod +x"),
        (folder.to_str().unwrap(), 126, "chmod +x"),
    ] {
        for options in [&["--preload"][..], &["--preload", "--report"]] {
            let output = command(options, &[program]).output().unwrap();
            let error = stderr(&output);
            assert_eq!(output.status.code(), Some(status), "{program}: {output:?}");
            assert!(
                error.contains(reason) && error.lines().count() == 1,
                "{options:?}: {error}"
            );
        }
    }
}

/// OpenSSL's error in place of bytes: the report has a line for it.
#[test]
fn a_report_counts_the_calls_that_wellspring_could_not_serve() {
    use std::os::unix::process::CommandExt;
    if !is_installed("openssl") {
        return;
    }
    let mut command = command(&["--report"], &["openssl", "rand", "-hex", "16"]);
    // SAFETY: between fork and exec it makes system calls alone.
    unsafe { command.pre_exec(testkit::filter::refuse_random) };
    let output = command.output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    let report = stderr(&output);
    let mut lines = report
        .lines()
        .filter(|line| line.contains("provider WELLSPRING"));
    assert!(
        lines.any(|line| line.contains("could not serve")),
        "{report}"
    );
}

/// After the folder is removed, another user can make one of its name with a library of the same name.
#[test]
fn libraries_below_a_folder_like_tmp_are_copied() {
    let sticky = scratch("sticky-libraries");
    fs::set_permissions(&sticky, fs::Permissions::from_mode(0o1777)).unwrap();
    let folder = sticky.join("own");
    fs::create_dir(&folder).unwrap();
    crate::link_into(&folder);
    let mut moved = Command::new(folder.join("wellspring"));
    for (name, value) in command(&[], &[]).get_envs() {
        match value {
            Some(value) => moved.env(name, value),
            None => moved.env_remove(name),
        };
    }
    let script = "env; grep '^module' $OPENSSL_CONF | sed 's/module = /LD_PRELOAD=/'";
    let output = moved
        .args(["run", "--report", "--", "sh", "-c", script])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.matches("LD_PRELOAD=").count(), 2, "{text}");
    check_names(&text, user());
}

/// A sandbox like bubblewrap's, in which neither root nor this user has a number.
#[test]
fn the_preload_library_is_found_in_a_sandbox() {
    if !has_plain_path() {
        return;
    }
    build_libraries();
    if !is_success("unshare --user true") {
        return testkit::skipped("a user namespace cannot be made");
    }
    let output = Command::new("unshare")
        .args([
            "--user",
            env!("CARGO_BIN_EXE_wellspring"),
            "run",
            "--preload",
            "--",
        ])
        .args(["sh", "-c", "echo $LD_PRELOAD"])
        .env_remove("LD_PRELOAD")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.ends_with("preload.so\n"), "{output:?}");
    // Not a library that others can write, or whose folder they can write: here too the owner has no number.
    for (folder_mode, file_mode) in [(0o755, 0o666), (0o777, 0o644)] {
        let folder = testkit::programs::scratch("open-library");
        let built = Path::new(env!("CARGO_BIN_EXE_wellspring"));
        let command = folder.join("wellspring");
        fs::hard_link(built, &command).unwrap();
        let library = folder.join("libwellspring_preload.so");
        fs::copy(built.with_file_name("libwellspring_preload.so"), &library).unwrap();
        fs::set_permissions(&library, fs::Permissions::from_mode(file_mode)).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(folder_mode)).unwrap();
        let output = Command::new("unshare")
            .arg("--user")
            .arg(&command)
            .args(["run", "--preload", "--", "sh", "-c", "echo $LD_PRELOAD"])
            .env_remove("LD_PRELOAD")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(!text.contains("open-library"), "{file_mode:o}: {text}");
        let error = stderr(&output);
        assert!(
            text.ends_with(".so\n") || error.contains("others can change"),
            "{error}"
        );
    }
}

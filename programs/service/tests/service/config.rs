//! The command line, a configuration that is read again or checked, and the man pages.

use super::common::{Folder, Service, copy_program, is_installed, is_root, quoted, wellspringd};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

#[test]
fn a_mistake_is_reported_with_line_and_column_and_status_2() {
    let folder = Folder::new();
    let path = folder.configure("[limits]\nconnections = 0\n");
    let output = wellspringd()
        .arg("--config")
        .arg(&path)
        .arg("--check-config")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    let expected = format!(
        "wellspringd: {}:5:15: 0 is out of range: 1 to 100000 is allowed\n",
        path.display()
    );
    assert_eq!(said, expected);
}

#[test]
fn what_is_no_file_or_has_no_end_is_refused_and_does_not_hold_up() {
    let folder = Folder::new();
    let path = folder.configure("");
    let more = folder.path("conf.d");
    fs::create_dir(&more).unwrap();
    let entry = more.join("10.toml");
    let said = |config: &std::path::Path| {
        let log = fs::File::create(folder.path("said")).unwrap();
        let mut command = wellspringd();
        command.arg("--check-config").arg("--config").arg(config);
        let mut child = command.stderr(log).spawn().unwrap();
        let until = std::time::Instant::now() + super::common::PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if std::time::Instant::now() > until {
                child.kill().unwrap();
                panic!("{}: it waits without end", config.display());
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        assert_eq!(status.code(), Some(2));
        fs::read_to_string(folder.path("said")).unwrap()
    };
    let made = Command::new("mkfifo").arg(&entry).status();
    assert!(made.unwrap().success());
    let expected = format!(
        "wellspringd: {}: this is no regular file\n",
        entry.display()
    );
    assert_eq!(said(&path), expected);
    fs::remove_file(&entry).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &entry).unwrap();
    assert_eq!(said(&path), expected);
    fs::remove_file(&entry).unwrap();
    let device = std::path::Path::new("/dev/zero");
    assert!(said(device).ends_with("this is no configuration\n"));
}

#[test]
fn wrong_arguments_get_one_line_and_status_2() {
    for (words, reason) in [
        (&["--frob"][..], "unexpected argument '--frob' found"),
        (&["frob"], "unrecognized subcommand 'frob'"),
        (
            &["--config", ""],
            "a value is required for '--config <FILE>'",
        ),
    ] {
        let output = wellspringd().args(words).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.starts_with(&format!("wellspringd: {reason}")),
            "{said}"
        );
        assert!(said.ends_with("(try 'wellspringd --help')\n"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn what_cannot_be_printed_is_no_success() {
    let service = Service::start("");
    let config = service.folder.path("wellspring.toml");
    let config = quoted(config);
    for words in [
        "--help",
        "--version",
        "--print-config",
        "status",
        "status --json",
        "status --html",
        "status --watch",
    ] {
        let words = match words {
            "--help" | "--version" => words.into(),
            _ => format!("{words} --config {config}"),
        };
        let closed = "standard output: it is closed";
        let full = "standard output: No space left on device (os error 28)";
        for (to, reason) in [(">&-", closed), ("> /dev/full", full)] {
            let program = quoted(env!("CARGO_BIN_EXE_wellspringd"));
            let line = format!("{program} {words} {to}");
            let output = Command::new("sh").args(["-c", &line]).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(said, format!("wellspringd: {reason}\n"), "{line}");
            assert_eq!(output.status.code(), Some(1), "{line}");
        }
    }
    // The status is enough here.
    let line = format!(
        "{} --check-config --config {config} >&-",
        quoted(env!("CARGO_BIN_EXE_wellspringd"))
    );
    assert!(
        Command::new("sh")
            .args(["-c", &line])
            .status()
            .unwrap()
            .success()
    );
    assert!(
        wellspringd()
            .arg("--version")
            .output()
            .unwrap()
            .status
            .success()
    );
}

#[test]
fn what_is_printed_is_a_right_configuration_with_every_key() {
    let folder = Folder::new();
    let path = folder.configure("[log]\nlevel = \"debug\"\n");
    let printed = wellspringd()
        .arg("--config")
        .arg(&path)
        .arg("--print-config")
        .output()
        .unwrap();
    assert!(printed.status.success());
    fs::write(&path, &printed.stdout).unwrap();
    let again = wellspringd()
        .arg("--config")
        .arg(&path)
        .arg("--print-config")
        .output()
        .unwrap();
    assert_eq!(again.stdout, printed.stdout);
    let text = String::from_utf8(printed.stdout).unwrap();
    for words in [
        "level = \"debug\"",
        "[files]",
        "egd.sock",
        "connections_per_user",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let checked = wellspringd()
        .arg("--config")
        .arg(&path)
        .arg("--check-config")
        .output()
        .unwrap();
    assert!(checked.status.success() && checked.stderr.is_empty());
    let right = "the configuration is right, and this machine has all that it names\n";
    assert_eq!(String::from_utf8(checked.stdout).unwrap(), right);
}

#[test]
fn sighup_reads_the_configuration_again_and_drops_no_client() {
    use std::io::{Read, Write};
    let service = Service::start("[log]\nlevel = \"info\"\n");
    let mut client = service.socket("egd.sock");
    let mut bytes = [0; 32];
    client.write_all(&[2, 32]).unwrap();
    client.read_exact(&mut bytes).unwrap();
    service
        .folder
        .configure("[log]\nlevel = \"debug\"\n[files]\nthreads = 7\n");
    service.signal("-HUP");
    service.wait_for_notice("RELOADING=1");
    service.wait_for_notice("READY=1");
    client.write_all(&[2, 32]).unwrap();
    client.read_exact(&mut bytes).unwrap();
    service.wait_for_log("[files] has changed: that takes effect at the next start");
    // The new level is in force: connections are logged now.
    let _another = service.socket("egd.sock");
    service.wait_for_log("egd: connection ");
    service.folder.configure("[log]\nlevel = \"wrong\"\n");
    service.signal("-HUP");
    service.wait_for_log("wellspring.toml:5:9: unknown variant `wrong`, expected one of `error`, `warn`, `info`, `debug`");
    client.write_all(&[2, 32]).unwrap();
    client.read_exact(&mut bytes).unwrap();
}

/// Editors write a new file and rename it. The sandbox knows the old one alone.
#[test]
fn a_configuration_that_was_replaced_is_read_again() {
    let service = Service::start("");
    let path = service.folder.path("wellspring.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        service.folder.path("new"),
        text + "[log]\nlevel = \"debug\"\n",
    )
    .unwrap();
    fs::rename(service.folder.path("new"), &path).unwrap();
    service.signal("-HUP");
    service.wait_for_log_lines("the configuration was read again", 1);
    let _client = service.socket("egd.sock");
    service.wait_for_log("egd: connection ");
    fs::create_dir(service.folder.path("conf.d")).unwrap();
    fs::write(service.folder.path("conf.d/1.toml"), "[log]\nlevel = 1\n").unwrap();
    service.signal("-HUP");
    service.wait_for_log("conf.d/1.toml:2:9: ");
    fs::remove_dir_all(service.folder.path("conf.d")).unwrap();
    service.signal("-HUP");
    service.wait_for_log_lines("the configuration was read again", 2);
}

/// Landlock allows the folders of these files, and the parent of a path of one name is empty.
#[test]
fn files_without_a_folder_in_their_name_are_used_in_the_sandbox() {
    let folder = Folder::new();
    folder.configure("[engine]\nseed_file = \"seed\"\n");
    let mut command = wellspringd();
    command.current_dir(&folder.0);
    command.args(["--config", "wellspring.toml"]);
    let mut service = Service::spawn(folder, &mut command);
    service.signal("-HUP");
    service.wait_for_log("the configuration ");
    assert!(service.log().contains("the configuration was read again"));
    assert!(service.end("-TERM").success());
    assert!(!service.log().contains("seed file"), "{}", service.log());
    assert!(fs::metadata(service.folder.path("seed")).is_ok());
}

#[test]
fn a_supervisor_that_reads_nothing_does_not_stop_the_service() {
    let mut service = Service::start("");
    // Each order makes two messages, and the queue of a socket has room for 10.
    for number in 1..=7 {
        service.signal("-HUP");
        service.wait_for_log_lines("the configuration was read again", number);
    }
    assert!(service.end("-TERM").success());
}

// `--check-config` on a machine that lacks what a configuration names.

#[test]
fn a_check_says_which_users_folders_and_files_are_missing() {
    let folder = Folder::new();
    let check = |more: &str| {
        let mut command = wellspringd();
        command
            .arg("--check-config")
            .arg("--config")
            .arg(folder.configure(more));
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        let status = if said.is_empty() { 0 } else { 2 };
        assert_eq!(output.status.code(), Some(status), "{said}");
        // The last line is for users without rights: another test looks at it.
        let lines = said.split_inclusive('\n');
        lines
            .filter(|line| !line.contains("would find this"))
            .collect::<String>()
    };
    let seeds = folder.path("seeds");
    fs::create_dir(&seeds).unwrap();
    let place = folder.0.display();
    let right = format!(
        "[engine]\nseed_file = \"{place}/seeds/seed\"\nnoise_files = [\"/dev/null\"]\n[files]\nmount = \"{place}/files\"\n\
         [egd]\nlisten = [\"egd.sock\", \"{place}/egd.sock\"]\n"
    );
    assert_eq!(check(&right), "");
    let wrong = right
        .replace("/dev/null", "/nowhere/noise")
        .replace(&format!("{place}/"), "/nowhere/");
    let wrong = wrong
        + "[page]\npath = \"/nowhere/page\"\n[kernel_module]\nseed_file = \"/dev/null/seed\"\n";
    let expected: Vec<String> = [
        "[engine] seed_file: /nowhere/seeds: No such file or directory (os error 2)",
        "[kernel_module] seed_file: /dev/null is no folder",
        "[engine] noise_files: /nowhere/noise: No such file or directory (os error 2)",
        "[files] mount: /nowhere: No such file or directory (os error 2)",
        "[page] path: /nowhere: No such file or directory (os error 2)",
        "[egd] listen: /nowhere: No such file or directory (os error 2)",
    ]
    .iter()
    .map(|line| format!("wellspringd: {line}\n"))
    .collect();
    assert_eq!(check(&wrong), expected.concat());
    if !is_root() {
        return;
    }
    assert_eq!(
        check("user = \"no-such-user\"\n"),
        "wellspringd: [service] user: no user no-such-user\n"
    );
    // The folder is root's, and the service will not be.
    let said = check(&format!("user = \"daemon\"\n{right}"));
    assert!(
        said.starts_with(&format!(
            "wellspringd: [engine] seed_file: {place}/seeds belongs to user 0, "
        )),
        "{said}"
    );
    let run = folder.path("run");
    fs::create_dir(&run).unwrap();
    fs::set_permissions(&run, fs::Permissions::from_mode(0o777)).unwrap();
    let expected = format!(
        "wellspringd: [service] runtime_dir: {place}/run or a folder above it: other users can write it\n"
    );
    assert_eq!(check(""), expected);
}

/// A user without rights is told which user can do what it asked for.
#[test]
fn a_user_without_rights_is_told_to_check_as_the_user_that_starts_the_service() {
    if !is_root() || !is_installed("setpriv") {
        return;
    }
    let folder = Folder::new();
    fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path("wellspringd");
    copy_program(env!("CARGO_BIN_EXE_wellspringd"), &program);
    fs::create_dir(folder.path("seeds")).unwrap();
    let seed = format!("[engine]\nseed_file = {:?}\n", folder.path("seeds/seed"));
    let config = folder.configure(&seed);
    let check = || {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=4711", "--regid=4711", "--clear-groups"]);
        command
            .arg(&program)
            .arg("--check-config")
            .arg("--config")
            .arg(&config);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    fs::set_permissions(&config, fs::Permissions::from_mode(0o644)).unwrap();
    let said = check();
    assert!(
        said.contains("seed_file: ") && said.contains("belongs to user 0"),
        "{said}"
    );
    let last = "wellspringd: user 4711 would find this: if root starts the service, check the configuration as root\n";
    assert!(said.ends_with(last), "{said}");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o600)).unwrap();
    let expected = format!(
        "wellspringd: {}: Permission denied (os error 13); run this as the user that starts the service, or give --config \
         and a file of your own\n",
        config.display()
    );
    assert_eq!(check(), expected);
}

#[test]
fn the_service_of_a_user_opens_its_sockets_whatever_the_mask() {
    if !is_root() || !is_installed("setpriv") {
        return;
    }
    for mask in ["0277", "0777"] {
        let folder = Folder::new();
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o755)).unwrap();
        let program = folder.path("wellspringd");
        copy_program(env!("CARGO_BIN_EXE_wellspringd"), &program);
        let config = folder.configure("");
        chown(&folder.0, Some(4711), Some(4711)).unwrap();
        let script = format!(
            "umask {mask}; exec setpriv --reuid=4711 --regid=4711 --clear-groups {} --config {}",
            quoted(&program),
            quoted(&config)
        );
        let service = Service::spawn(folder, Command::new("sh").args(["-c", &script]));
        let log = service.log();
        assert!(!log.contains("not open"), "{mask}: {log}");
        let mut egd = service.socket("egd.sock");
        egd.write_all(&[2, 8]).unwrap();
        egd.read_exact(&mut [0; 8]).unwrap();
    }
}

// The man pages and the example of a configuration agree with the program.

/// The output of the program with these arguments.
fn printed(words: &[&str]) -> String {
    let output = wellspringd().args(words).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_man_page_names_every_option() {
    let page = include_str!("../../../../packaging/man/wellspringd.8").replace("\\-", "-");
    let help = printed(&["--help"]) + &printed(&["status", "--help"]);
    let words = help.split(|letter: char| !letter.is_ascii_lowercase() && letter != '-');
    let options: Vec<_> = words.filter(|word| word.starts_with("--")).collect();
    assert!(options.contains(&"--watch"));
    for name in options {
        assert!(page.contains(name), "{name}");
    }
}

/// The keys, each as `section.key`.
fn keys(config: &toml::Table) -> Vec<String> {
    let of_section = |(section, table): (&String, &toml::Value)| {
        let table = table.as_table().unwrap();
        table
            .keys()
            .map(|key| format!("{section}.{key}"))
            .collect::<Vec<_>>()
    };
    config.iter().flat_map(of_section).collect()
}

#[test]
fn the_man_page_and_the_example_have_every_key_and_no_other() {
    // The page has root's defaults, wherever a test runs. It describes the defaults that depend on the machine in words.
    let config: toml::Table = printed(&["--print-config"]).parse().unwrap();
    let all = keys(&config);
    let page = include_str!("../../../../packaging/man/wellspring.toml.5");
    let page = page.replace("\\-", "-").replace("\\(dq", "\"");
    let mut named = Vec::new();
    for section in page.split(".SS [").skip(1) {
        let (name, text) = section.split_once("]\n").unwrap();
        for entry in text.split(".TP\n.BR ").skip(1) {
            let key = entry.split(' ').next().unwrap();
            named.push(format!("{name}.{key}"));
            let default = &config[name][key];
            let is_of_machine = ["runtime_dir", "threads", "seed_file"].contains(&key);
            let words = format!("Default: {default}");
            assert!(
                is_of_machine || entry.contains(&words),
                "{name}.{key} without '{words}': {entry}"
            );
        }
    }
    named.sort();
    assert_eq!(named, all);
    let example = include_str!("../../../../packaging/wellspring/wellspring.toml");
    let is_setting = |line: &&str| {
        !line.starts_with("# ")
            || line[2..]
                .split_once(" = ")
                .is_some_and(|(key, _)| !key.contains(' '))
    };
    let lines: Vec<&str> = example.lines().filter(is_setting).collect();
    let text = lines.join("\n").replace("# ", "");
    let example: toml::Table = text.parse().unwrap();
    assert_eq!(keys(&example), all);
    wellspring_service_core::config::parse("example".as_ref(), &text).unwrap();
}

#[test]
fn formatters_have_nothing_against_the_man_pages() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/man");
    for page in ["wellspringd.8", "wellspring.toml.5"] {
        if is_installed("mandoc") {
            let mut lint = Command::new("mandoc");
            let lint = lint
                .args(["-T", "lint", "-W", "warning", page])
                .current_dir(folder);
            assert_eq!(String::from_utf8_lossy(&lint.output().unwrap().stdout), "");
        }
    }
}

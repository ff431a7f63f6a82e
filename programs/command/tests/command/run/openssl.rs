//! `run` and the configuration of OpenSSL: with it a program has the policy that it has without, and draws on wellspring.
//! `run --repeat`: the same bytes in every run with a seed, others without, and none for root.

use crate::{build_libraries, cannot_repeat, is_installed, stderr};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use testkit::programs::{AS_USER, can_be_user, in_list, is_success, quoted, scratch};

/// A folder with a file `my.cnf`, in which scripts run.
struct Settings(PathBuf);

impl Settings {
    fn new(text: &str) -> Self {
        let folder = scratch("settings");
        fs::write(folder.join("my.cnf"), text).unwrap();
        Self(folder)
    }

    fn file(self, name: &str, text: &str) -> Self {
        fs::write(self.0.join(name), text).unwrap();
        self
    }

    /// Runs a script without the command, with OPENSSL_CONF=my.cnf.
    fn without(&self, script: &str) -> Output {
        self.run(script, Some("my.cnf"), &["sh", "-c"])
    }

    fn with(&self, options: &[&str], script: &str) -> Output {
        let command = env!("CARGO_BIN_EXE_wellspring");
        let words = [&[command, "run"], options, &["--", "sh", "-c"]].concat();
        self.run(script, Some("my.cnf"), &words)
    }

    fn run(&self, script: &str, file: Option<&str>, words: &[&str]) -> Output {
        build_libraries();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg(script).current_dir(&self.0);
        match file {
            Some(file) => command.env("OPENSSL_CONF", file),
            None => command.env_remove("OPENSSL_CONF"),
        };
        command.output().unwrap()
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

/// The decisions of a policy: suites, a connection to a server that has TLS 1.2 alone, providers, digests of the legacy one.
const POLICY: &str = "openssl ciphers -s -v 2>&1 | sed 's|^[0-9A-F]*:||' | cut -c -60; \
    openssl s_client -unix $SERVER < /dev/null 2>&1 | grep -c 'Protocol *: TLSv1.2'; \
    openssl list -providers 2>&1 | grep '^  [a-z]' | grep -v wellspring; \
    for d in md4 sha256; do openssl dgst -$d /dev/null 2>&1 | grep -c =; done";

/// A server that has TLS 1.2 alone, at a Unix socket. Ended with the test.
struct Server(Child, PathBuf);

impl Server {
    fn start() -> Self {
        let folder = scratch("server");
        let key = "openssl req -config /dev/null -x509 -newkey rsa:2048 -nodes -subj /CN=x -keyout k.pem -out c.pem";
        let made = Command::new("sh")
            .args(["-c", key])
            .current_dir(&folder)
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let words = "s_server -unix s -key k.pem -cert c.pem -tls1_2 -www -quiet";
        let server = Command::new("openssl")
            .args(words.split(' '))
            .current_dir(&folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let socket = folder.join("s");
        let deadline = Instant::now() + Duration::from_secs(60);
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            assert!(Instant::now() < deadline, "the server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self(server, socket)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Three generators of OpenSSL that are ours.
const OURS: &str = "openssl list -random-instances 2>&1 | grep -c 'WELLSPRING @ wellspring'";

fn is_openssl_3() -> bool {
    is_installed("openssl") && is_success("openssl version | grep -q 'OpenSSL [34]'")
}

const SECTIONS: &str = "openssl_conf = oi
[oi]
providers = p
ssl_conf = s
[p]
default = d
legacy = l
[d]
activate = 1
[l]
activate = 1
[s]
system_default = sd
[sd]
MinProtocol = TLSv1.3
";

/// Each name says what is in the file.
fn policies() -> Vec<(&'static str, Settings)> {
    let one = |text: &str| Settings::new(text);
    let renamed = |from: &str, to: &str| one(&SECTIONS.replace(from, to));
    let included = ".include inner.cnf\n";
    let folder = |settings: Settings| {
        fs::create_dir(settings.0.join("d")).unwrap();
        settings.file("d/inner.cnf", SECTIONS)
    };
    vec![
        ("sections", one(SECTIONS)),
        ("nothing", one("")),
        ("comments", one("# openssl_conf = oi\n[oi]\n")),
        ("no section of libraries", one("openssl_conf = none\n")),
        ("lines of DOS", one(&SECTIONS.replace('\n', "\r\n"))),
        ("no last line break", one(SECTIONS.trim_end())),
        (
            "no last line break after a section",
            one(&(SECTIONS.to_string() + "[other]")),
        ),
        ("included", one(included).file("inner.cnf", SECTIONS)),
        (
            "included with =",
            one(".include = inner.cnf\n").file("inner.cnf", SECTIONS),
        ),
        ("a folder included", folder(one(".include d\n"))),
        (
            "missing included",
            one(&(".include none.cnf\n".to_string() + SECTIONS)),
        ),
        (
            "a variable",
            renamed("openssl_conf = oi", "top = o\nopenssl_conf = ${top}i"),
        ),
        (
            "a variable of the environment",
            renamed("openssl_conf = oi", "openssl_conf = oi\nh = $ENV::HOME"),
        ),
        (
            "quotes",
            renamed("openssl_conf = oi", "openssl_conf = \"oi\""),
        ),
        (
            "spaces",
            one(&SECTIONS
                .replace("= oi", "= the libraries")
                .replace("[oi]", "[ the libraries ]")
                .replace("= p\n", "= the providers\n")
                .replace("[p]", "[the providers]")),
        ),
        (
            "odd names",
            one(&SECTIONS
                .replace("= oi", "= a\\$b\\\\c")
                .replace("[oi]", "[a\\$b\\\\c]")),
        ),
        (
            "dollars in names",
            one(&(".pragma dollarid:on\n".to_string()
                + &SECTIONS.replace("= oi", "= a$b").replace("[oi]", "[a$b]"))),
        ),
        ("numbers", renamed("providers = p", "providers.1 = p")),
        ("default inactive", renamed("[d]\nactivate = 1", "[d]")),
        ("legacy alone", renamed("default = d\n", "")),
        (
            "base alone",
            renamed("default = d\nlegacy = l\n", "base = d\n"),
        ),
        ("none active", renamed("activate = 1", "# activate = 1")),
        (
            "a missing provider",
            renamed("legacy = l", "legacy = l\nnone = d"),
        ),
        (
            "an empty section of random numbers",
            one(&SECTIONS.replace("[oi]", "[oi]\nrandom = r\n[r]\n[oi]")),
        ),
        (
            "two sections of one name",
            one(&(SECTIONS.to_string() + "[oi]\n[p]\nbase = d\n")),
        ),
        (
            "a level of security",
            renamed("MinProtocol = TLSv1.3", "CipherString = ALL:@SECLEVEL=3"),
        ),
        (
            "properties",
            one(&(SECTIONS.to_string()
                + "[oi]\nalg_section = a\n[a]\ndefault_properties = ?provider=default\n")),
        ),
        (
            "diagnostics",
            one(&("config_diagnostics = 1\n".to_string() + SECTIONS)),
        ),
    ]
}

#[test]
fn every_policy_stays_and_the_generator_is_ours() {
    if !is_openssl_3() {
        return;
    }
    let server = Server::start();
    for (name, settings) in policies() {
        let script = format!("SERVER={}; {POLICY}", quoted(&server.1));
        let before = settings.without(&script);
        let after = settings.with(&[], &script);
        assert_eq!(text(&after), text(&before), "{name}");
        let is_refused = |output: &Output| text(output).contains("\n0\n");
        if name == "sections" {
            assert!(
                is_refused(&before),
                "TLS 1.2 is not refused: {}",
                text(&before)
            );
        }
        // A configuration that OpenSSL refuses stays refused.
        let is_read = settings.without("openssl rand -hex 1").status.success();
        if is_read {
            assert_eq!(settings.with(&[], OURS).stdout, b"3\n", "{name}");
        }
    }
}

#[test]
fn the_systems_policy_stays_where_no_file_is_named() {
    if !is_openssl_3() {
        return;
    }
    let settings = Settings::new("");
    let server = Server::start();
    let script = format!("SERVER={}; {POLICY}", quoted(&server.1));
    let command = env!("CARGO_BIN_EXE_wellspring");
    for file in [
        None,
        Some(""),
        Some("/dev/null"),
        Some("missing.cnf"),
        Some("my.cnf/none"),
    ] {
        let before = settings.run(&script, file, &["sh", "-c"]);
        let words = [command, "run", "--openssl", "--", "sh", "-c"];
        let after = settings.run(&script, file, &words);
        assert_eq!(text(&after), text(&before), "{file:?}");
        let ours = settings.run(OURS, file, &words);
        assert_eq!(ours.stdout, b"3\n", "{file:?}: {ours:?}");
    }
    // Settings that are no policy of OpenSSL, but of a program: without a file PHP makes no key.
    if is_installed("php") {
        let script = "php -r 'exit(openssl_pkey_new() === false ? 3 : 0);'";
        let output = settings.run(script, None, &[command, "run", "--", "sh", "-c"]);
        assert!(output.status.success(), "{output:?}");
    }
}

/// OpenSSL stops at a line that it does not know, and says so only if the file asks for that. Nothing after the line counts.
#[test]
fn a_policy_with_a_fault_stays_as_it_is_and_the_report_says_that_the_provider_was_not_loaded() {
    if !is_openssl_3() {
        return;
    }
    let settings = Settings::new(&SECTIONS.replace("[oi]", "[oi]\nunknown = x"));
    let list = "openssl list -providers | grep '^  [a-z]'; openssl rand -hex 8 > random";
    let (before, after) = (settings.without(list), settings.with(&["--report"], list));
    assert_eq!(after.stdout, before.stdout);
    let report = stderr(&after);
    assert!(
        report.contains("wellspring: 0 programs loaded the OpenSSL provider"),
        "{report}"
    );
}

#[test]
fn a_configuration_that_would_lose_something_is_refused_in_one_line() {
    if !is_openssl_3() {
        return;
    }
    let random = |lines: &str| {
        SECTIONS.replace("[oi]\n", &format!("[oi]\nrandom = r\n[r]\n{lines}\n[oi]\n"))
    };
    let algorithms = |lines: &str| {
        SECTIONS.replace(
            "[oi]\n",
            &format!("[oi]\nalg_section = a\n[a]\n{lines}\n[oi]\n"),
        )
    };
    for (text, reason) in [
        (random("random = CTR-DRBG"), "`random = CTR-DRBG`"),
        (random("seed = JITTER"), "`seed = JITTER`"),
        (random("cipher = AES-256-CTR"), "`cipher = AES-256-CTR`"),
        (
            random("random = HASH-DRBG").replace("random = r", "random.x = r"),
            "`random = HASH-DRBG`",
        ),
        (algorithms("default_properties = fips=yes"), "demands FIPS"),
        (
            algorithms("default_properties = provider=x, fips = yes"),
            "demands FIPS",
        ),
        (algorithms("fips_mode = yes"), "demands FIPS"),
        (
            SECTIONS.replace("legacy = l", "fips = l"),
            "the FIPS provider",
        ),
        (
            SECTIONS
                .replace("legacy = l", "x = l")
                .replace("[l]", "[l]\nidentity = fips"),
            "the FIPS provider",
        ),
        (SECTIONS.replace("[p]", "[p"), "line 5"),
        ("a = $none\n".into(), "line 1"),
    ] {
        let settings = Settings::new(&text);
        for options in [&[][..], &["--openssl"]] {
            let output = settings.with(options, "echo started");
            assert_eq!(output.status.code(), Some(1), "{text}: {output:?}");
            let error = stderr(&output);
            assert!(
                error.contains(reason) && error.contains("--preload"),
                "{error}"
            );
            assert_eq!(
                (error.lines().count(), output.stdout.len()),
                (1, 0),
                "{error}"
            );
        }
        assert_eq!(
            settings.with(&["--preload"], "echo started").stdout,
            b"started\n"
        );
    }
    let settings = Settings::new("");
    fs::create_dir(settings.0.join("folder")).unwrap();
    let words = [env!("CARGO_BIN_EXE_wellspring"), "run", "--", "sh", "-c"];
    let output = settings.run("echo started", Some("folder"), &words);
    assert!(stderr(&output).contains("no regular file"), "{output:?}");
}

#[test]
fn a_program_within_run_within_run_has_the_first_file() {
    if !is_openssl_3() {
        return;
    }
    let settings = Settings::new(SECTIONS);
    let command = crate::quoted_command();
    fs::write(
        settings.0.join("inner.sh"),
        format!("echo $OPENSSL_CONF $LD_PRELOAD; {OURS}\n"),
    )
    .unwrap();
    let script = format!("echo $OPENSSL_CONF $LD_PRELOAD; {command} run -- sh inner.sh");
    let output = settings.with(&[], &script);
    let lines: Vec<String> = text(&output).lines().map(str::to_string).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(lines[0], lines[1]);
    assert_eq!(lines[2], "3");
    // Lines for the provider of another installation lead to this one.
    let installed = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../interpose/openssl/openssl.cnf.in"
    ));
    let settings = Settings::new(
        &installed
            .unwrap()
            .replace("@module@", "/none/wellspring.so"),
    );
    assert_ne!(settings.without(OURS).stdout, b"3\n");
    assert_eq!(settings.with(&[], OURS).stdout, b"3\n");
}

/// Every character that means something in a configuration or in a list of libraries.
#[test]
fn libraries_are_found_below_a_folder_with_any_name() {
    if !is_openssl_3() {
        return;
    }
    for name in [
        "with space",
        "a:b",
        "a;b",
        "$ORIGIN",
        "a#b",
        "a\\b",
        "a'b",
        "a\"b",
        "a]b",
        "é",
    ] {
        let folder = scratch("names").join(name);
        fs::create_dir(&folder).unwrap();
        crate::link_into(&folder);
        fs::write(folder.join("my.cnf"), SECTIONS).unwrap();
        let output = Command::new(folder.join("wellspring"))
            .args(["run", "--report", "--", "sh", "-c", OURS])
            .env("OPENSSL_CONF", folder.join("my.cnf"))
            .output()
            .unwrap();
        assert_eq!(output.stdout, b"3\n", "{name}: {output:?}");
        let report = stderr(&output);
        assert!(
            !report.contains("0 programs") && !report.contains("ERROR"),
            "{name}: {report}"
        );
    }
}

// ---- --repeat ----
// `run --repeat`: the same bytes in every run with a seed, others without, and none for root.

/// Runs a shell script with options of `run`, by a user who is not root, in a new folder.
fn run(options: &str, script: &str) -> Output {
    build_libraries();
    let command = crate::quoted_command();
    Command::new("sh")
        .arg("-c")
        .arg(format!(
            "exec timeout --signal=KILL 120 {AS_USER} {command} run {options} -- sh -c \"$SCRIPT\""
        ))
        .env("SCRIPT", script)
        .env("XDG_RUNTIME_DIR", scratch("runtime"))
        .current_dir(scratch("repeat"))
        .output()
        .unwrap()
}

fn lines_of(options: &str, script: &str) -> String {
    let output = run(options, script);
    assert!(output.status.success(), "{options}: {output:?}");
    let is_loud = stderr(&output).contains("FOLLOW FROM THE SEED. FOR TESTS ALONE");
    assert_eq!(is_loud, options.contains("--repeat"), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Two runs with a seed give the same text of `lines` lines; another seed and no seed give other
/// texts.
fn repeats(script: &str, lines: usize) {
    let first = lines_of("--repeat 7", script);
    assert_eq!(first.lines().count(), lines, "{first}");
    let others = [
        lines_of("--repeat 0x7", script),
        lines_of("--repeat 8", script),
        lines_of("", script),
        lines_of("", script),
    ];
    assert_eq!(first, others[0]);
    let mut all = vec![&first];
    for other in &others[1..] {
        for one in &all {
            assert!(
                one.lines()
                    .zip(other.lines())
                    .all(|(one, other)| one != other)
            );
        }
        all.push(other);
    }
    let mut lines: Vec<&str> = first.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    assert_eq!(lines.len(), first.lines().count(), "a line comes twice");
}

fn can_run(programs: &[&str]) -> bool {
    can_be_user()
        && !cannot_repeat(&run("--repeat 7", "true"))
        && programs.iter().all(|program| is_installed(program))
}

#[test]
fn python_draws_the_same_in_itself_in_threads_and_in_children() {
    if !can_run(&["python3"]) {
        return;
    }
    repeats(
        r#"cat > p.py <<'END'
import os, random, ssl, threading, uuid
print(os.urandom(16).hex())
print(os.urandom(5000).hex())
print(random.random())
print(uuid.uuid4())
print(hash("text"))
print(ssl.RAND_bytes(16).hex())
for _ in range(2):
    thread = threading.Thread(target=lambda: print(os.urandom(16).hex(), ssl.RAND_bytes(16).hex()))
    thread.start()
    thread.join()
# Both children live before either draws, and the second draws first.
ends = [os.pipe(), os.pipe()]
pids = []
for first in (True, False):
    pid = os.fork()
    if pid == 0:
        if first:
            os.read(ends[0][0], 1)
        print(first, os.urandom(16).hex(), ssl.RAND_bytes(16).hex(), flush=True)
        os.write(ends[0][1], b"x")
        os._exit(0)
    pids.append(pid)
    if not first:
        for pid in reversed(pids):
            os.waitpid(pid, 0)
print(os.urandom(16).hex())
END
python3 -u p.py; python3 -c 'import os; print(os.urandom(16).hex())'"#,
        12,
    );
}

/// The guard of rand(3) takes its seed from elsewhere, and the program's own draws go on as before.
#[test]
fn python_draws_the_same_after_a_notice_of_a_clone() {
    if !can_run(&["python3"]) {
        return;
    }
    let command = quoted(env!("CARGO_BIN_EXE_wellspring").as_ref());
    let script = r#"cat > p.py <<'END'
import ctypes, os, subprocess
def bump():
    command = [os.environ["COMMAND"], "generation", "bump", "--page", os.environ["WELLSPRING_PAGE"]]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
rand = ctypes.CDLL(None).rand
assert rand() == 1804289383
print(os.urandom(16).hex())
bump()
assert rand() != 846930886, "no notice"
print(os.urandom(16).hex())
END
export WELLSPRING_CLONE_GUARD=rand WELLSPRING_PAGE="$PWD/page"
"$COMMAND" generation bump --page "$WELLSPRING_PAGE" > number && python3 p.py"#;
    repeats(&format!("export COMMAND={command}\n{script}"), 2);
}

#[test]
fn openssl_makes_the_same_key_and_serial_number() {
    if can_run(&["openssl"]) {
        repeats(
            "openssl req -config /dev/null -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=x \
             -keyout k.pem -out c.pem 2> log && sed -n 2p k.pem | cut -c 49- && sed -n 3p k.pem && \
             openssl x509 -in c.pem -noout -serial && openssl rand -hex 16",
            4,
        );
    }
}

#[test]
fn nginx_gives_requests_the_same_names() {
    if !can_run(&["nginx", "curl"]) {
        return;
    }
    repeats(
        r#"cat > nginx.conf <<'END'
daemon off; pid n.pid; error_log stderr; worker_processes 1; events {}
http { access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4;
       scgi_temp_path t5; server { listen unix:socket; return 200 "$request_id\n"; } }
END
nginx -p "$PWD" -c nginx.conf & i=0
until [ -S socket ]; do sleep 0.1; i=$((i+1)); [ $i -lt 300 ] || exit 3; done
for i in 1 2 3; do env -u LD_PRELOAD -u OPENSSL_CONF curl -sS --unix-socket socket http://localhost/ || exit 4; done
kill $!; wait $!"#,
        3,
    );
}

#[test]
fn root_programs_with_more_rights_than_their_caller_and_static_ones_are_refused() {
    build_libraries();
    let refused = |output: &Output, status: i32, reason: &str| {
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        assert!(stderr(output).contains(reason), "{}", stderr(output));
    };
    if is_success("test $(id -u) = 0") {
        let output = crate::run("run --repeat 7 -- true");
        refused(&output, 2, "not for root");
        // Nor without the command.
        let library = crate::library("libwellspring_preload.so");
        let output = Command::new("true")
            .env("LD_PRELOAD", in_list(&library))
            .env("WELLSPRING_REPEAT", "/dev/zero")
            .output()
            .unwrap();
        refused(&output, 126, "not for processes of root");
    }
    let command = crate::quoted_command();
    if can_run(&["python3"]) {
        let program = scratch("set-user-id").join("program");
        let made = format!(
            "p={}; cp /bin/true \"$p\" && chown 1234 \"$p\" && chmod 4755 \"$p\"",
            quoted(&program)
        );
        if is_success(&made) {
            let line = format!("{AS_USER} {command} run --repeat 7 -- {}", quoted(&program));
            let output = crate::shell(&line);
            refused(&output, 2, "more rights than its caller");
        } else {
            testkit::skipped("a file cannot be given away");
        }
        // Nor with another file than the page, which stays as it was.
        let letter = scratch("letter").join("letter");
        std::fs::write(&letter, "Dear reader".repeat(1000)).unwrap();
        let library = crate::library("libwellspring_preload.so");
        let draw = "python3 -c 'import os; os.urandom(16)'";
        let line = format!(
            "exec {AS_USER} env WELLSPRING_REPEAT={} LD_PRELOAD={} {draw}",
            quoted(&letter),
            quoted(&in_list(&library))
        );
        let output = crate::shell(&line);
        refused(&output, 126, "is another file");
        assert_eq!(
            std::fs::read_to_string(&letter).unwrap(),
            "Dear reader".repeat(1000)
        );
        // Nor with another user's file, which is refused for another reason.
        if std::os::unix::fs::chown(&letter, Some(1234), None).is_ok() {
            let output = Command::new("sh").args(["-c", &line]).output().unwrap();
            refused(&output, 126, "is another user's");
        }
    }
    let folder = scratch("static");
    let compiled = format!(
        "cd {} && echo 'int main(void) {{ return 0; }}' > s.c && cc -static s.c -o s",
        quoted(&folder)
    );
    if !is_success(&compiled) {
        testkit::skipped("a static program cannot be compiled");
    } else if can_run(&[]) {
        let line = format!(
            "{AS_USER} {command} run --repeat 7 -- {}/s",
            quoted(&folder)
        );
        let output = crate::shell(&line);
        refused(&output, 2, "is static");
    }
    for wrong in [
        "run --repeat many -- true",
        "run --repeat 7 --private-dev -- true",
    ] {
        assert_eq!(crate::run(wrong).status.code(), Some(2), "{wrong}");
    }
}

// ---- openssl conf, openssl check ----
// Who seeds OpenSSL's own generator.

/// Runs `wellspring openssl` with these words, under a configuration and with a folder before PATH.
fn seeds(words: &[&str], file: &Path, first: Option<&Path>) -> Output {
    build_libraries();
    let path = std::env::var("PATH").unwrap();
    let path = first.map_or(path.clone(), |first| format!("{}:{path}", first.display()));
    Command::new(env!("CARGO_BIN_EXE_wellspring"))
        .arg("openssl")
        .args(words)
        .env("OPENSSL_CONF", file)
        .env("PATH", path)
        .output()
        .unwrap()
}

/// Writes the configuration that the command makes, changed.
fn made(words: &[&str], first: Option<&Path>, change: impl FnOnce(String) -> String) -> PathBuf {
    let output = seeds(&[&["conf"], words].concat(), Path::new("/dev/null"), first);
    assert!(output.status.success(), "{}", text(&output));
    let path = scratch("seeds").join("openssl.cnf");
    fs::write(&path, change(String::from_utf8(output.stdout).unwrap())).unwrap();
    path
}

/// The verdicts on the three draws, each with a source and without.
fn verdicts(output: &Output) -> Vec<String> {
    let lines = text(output);
    let words = lines.lines().map(|line| line.split(' ').next().unwrap());
    words.map(str::to_owned).collect()
}

#[test]
fn the_configuration_has_wellspring_seed_openssl_and_a_check_sees_it() {
    if !is_openssl_3() {
        return;
    }
    let right = made(&[], None, |text| text);
    let output = seeds(&["check"], &right, None);
    assert_eq!(verdicts(&output), ["ok"; 6], "{}", text(&output));
    assert!(output.status.success());
    let draw = ["check", "--", "sh", "-c", "openssl rand -hex 5; exit $?"];
    let output = seeds(&draw, &right, None);
    assert!(
        text(&output).contains("of the system: none"),
        "{}",
        text(&output)
    );
    assert!(output.status.success());
    let draw = [&draw[..1], &["--without-source"], &draw[1..]].concat();
    let output = seeds(&draw, &right, None);
    assert!(output.status.success(), "{}", text(&output));
    if is_installed("python3") {
        let draw = "import ssl; ssl.RAND_bytes(1)";
        let output = seeds(&["check", "--", "python3", "-c", draw], &right, None);
        let said = text(&output);
        assert!(
            said.contains("of the system: none") || said.contains("drew nothing"),
            "{said}"
        );
    }
}

/// OpenSSL 3.0 to 3.6 says nothing at all of these faults.
#[test]
fn a_check_finds_the_faults_that_openssl_does_not_report() {
    if !is_openssl_3() {
        return;
    }
    type Change = fn(String) -> String;
    let faults: [Change; 4] = [
        |text| text.replace("WELLSPRING-SEED", "WELLSPRING-SEEED"),
        |text| text.replace("/libwellspring_openssl", "/missing"),
        |text| text.replace("provider=wellspring", "provider=wellsprung"),
        |_| String::new(),
    ];
    for (number, fault) in faults.iter().enumerate() {
        let wrong = made(&[], None, fault);
        let output = seeds(&["check"], &wrong, None);
        let said = text(&output);
        assert_eq!(verdicts(&output), ["FAILED"; 6], "{number}: {said}");
        assert_eq!(output.status.code(), Some(1));
        if is_success("openssl version | grep -q 'OpenSSL 3'") {
            assert!(said.contains("; of wellspring: 0"), "{number}: {said}");
            assert!(
                said.contains("went on with a seed from elsewhere"),
                "{number}: {said}"
            );
        }
    }
    // The report of `run` says it too.
    let settings = Settings::new(&fs::read_to_string(made(&[], None, faults[0])).unwrap());
    let output = settings.with(&["--preload", "--report"], "openssl rand -hex 1");
    let is_3 = is_success("openssl version | grep -q 'OpenSSL 3'");
    assert_eq!(
        stderr(&output).contains("past its provider"),
        is_3,
        "{output:?}"
    );
    let nothing = seeds(&["check", "--", "true"], Path::new("/dev/null"), None);
    assert!(
        text(&nothing).contains("FAILED true: it drew nothing"),
        "{}",
        text(&nothing)
    );
}

#[test]
fn a_line_is_in_the_configuration_only_if_openssl_knows_it() {
    let folder = scratch("asked");
    let module = folder.join("fipsmodule.cnf");
    fs::write(&module, "[fips_sect]\nactivate = 1\n").unwrap();
    let program = folder.join("openssl");
    let conf = |known: &str| {
        // As OpenSSL does: a section with another line is an error.
        let script = format!(
            "#!/bin/sh\nprintf 'OpenSSL 9.9.9 1 Jan 2030 (Library: x)\\n'\n\
             test \"$OPENSSL_CONF\" != /dev/stdin || ! tail -n 1 | grep -vqE '^({known}) ='\n"
        );
        fs::write(&program, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&program, mode).unwrap();
        let words = ["--fips", "--fips-module", module.to_str().unwrap()];
        fs::read_to_string(made(&words, Some(&folder), |text| text)).unwrap()
    };
    let all = conf("random_provider|seed_strict");
    let text = all.split_once("[wellspring_random]\n").unwrap().1;
    let lines: Vec<&str> = text.lines().take(4).collect();
    assert_eq!(
        lines,
        [
            "seed = WELLSPRING-SEED",
            "seed_properties = provider=wellspring,-fips",
            "random_provider = none",
            "seed_strict = yes"
        ]
    );
    assert!(all.contains("For OpenSSL 9.9.9 1 Jan 2030:"), "{all}");
    assert!(all.find("random = ").unwrap() < all.find("providers = ").unwrap());
    let older = conf("random_provider");
    assert!(older.contains("random_provider") && !older.contains("seed_strict"));
    let oldest = conf("seed");
    assert!(!oldest.contains("random_provider") && !oldest.contains("seed_strict"));
    // A program that takes every line cannot be asked.
    let refused = std::panic::catch_unwind(|| conf(".*"));
    assert!(refused.is_err());
    let words = ["conf", "--fips", "--fips-module", "/none"];
    let output = seeds(&words, Path::new("/dev/null"), Some(&folder));
    assert!(stderr(&output).contains("fipsinstall"), "{output:?}");
    assert_eq!(output.status.code(), Some(2));
}

/// The table in docs/explanation/compliance.md, for each version that `cargo xtask openssl` fetches.
#[test]
fn newer_versions_with_their_fips_provider_take_our_seeds_but_for_a_key_as_the_first_draw() {
    let folders = std::env::var_os("WELLSPRING_OPENSSL").unwrap_or_default();
    let mut is_tested = false;
    for folder in std::env::split_paths(&folders) {
        let libraries = folder.join("usr/lib/x86_64-linux-gnu");
        let modules = libraries.join("ossl-modules");
        if !modules.join("fips.so").is_file() {
            continue;
        }
        is_tested = true;
        let first = scratch("newer");
        let program = first.join("openssl");
        let script = format!(
            "#!/bin/sh\nOPENSSL_MODULES={} exec {libraries}/ld-linux-x86-64.so.2 --library-path {libraries} \
             {}/usr/bin/openssl \"$@\"\n",
            modules.display(),
            folder.display(),
            libraries = libraries.display()
        );
        fs::write(&program, script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&program, mode).unwrap();
        let module = first.join("fipsmodule.cnf");
        let install = format!(
            "OPENSSL_CONF=/dev/null {} fipsinstall -out {} -module {}/fips.so 2>&1",
            program.display(),
            module.display(),
            modules.display()
        );
        assert!(is_success(&install), "{install}");
        let words = ["--fips", "--fips-module", module.to_str().unwrap()];
        let file = made(&words, Some(&first), |text| text);
        let output = seeds(&["check"], &file, Some(&first));
        let said = text(&output);
        let expected = if fs::read_to_string(&file).unwrap().contains("seed_strict") {
            ["ok"; 6]
        } else {
            ["ok", "ok", "ok", "ok", "FAILED", "FAILED"]
        };
        assert_eq!(verdicts(&output), expected, "{}: {said}", folder.display());
    }
    if !is_tested {
        testkit::skipped("WELLSPRING_OPENSSL names no FIPS provider: run `cargo xtask openssl`");
    }
}

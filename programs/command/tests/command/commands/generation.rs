//! The generation page: `generation show`, `bump`, `serve`, the programs of its specification, and the hooks of a guest image.

use crate::{Scratch, copy_program, is_installed, run, stderr, text_of, user, wellspring};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

/// The writer, with what it says; ended at the end.
struct Server(Child, BufReader<ChildStderr>);

impl Server {
    fn start(page: &str) -> Self {
        let mut command = wellspring(&format!("generation serve --page {page}"));
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let mut server = Self(child, said);
        assert!(server.line().contains("serving"));
        server
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.1.read_line(&mut line).unwrap();
        assert!(!line.is_empty(), "the writer ended");
        line
    }

    /// Reads up to the line that has these words. Lines about clones come before it at any time: other processes on
    /// this machine may make the kernel report one.
    fn wait_for(&mut self, words: &str) {
        while !self.line().contains(words) {}
    }

    fn signal(&self, signal: &str) {
        let mut kill = std::process::Command::new("kill");
        let sent = kill.args([signal, &self.0.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_bump_changes_the_number_with_a_writer_and_without() {
    let page = Scratch::new("generation");
    let number = |action: &str| text_of(&format!("generation {action} --page {}", page.path()));
    let first = number("bump");
    assert_eq!(first, number("show"));
    assert_ne!(first, number("bump"));
    let mut server = Server::start(page.path());
    let before = number("show");
    let bumped = number("bump");
    assert_ne!(before, bumped);
    server.wait_for("another process asked");
    for (order, name) in [("-HUP", "SIGHUP"), ("-USR1", "SIGUSR1")] {
        let before = number("show");
        server.signal(order);
        server.wait_for(name);
        assert_ne!(before, number("show"));
    }
    let second = run(&format!("generation serve --page {}", page.path()));
    assert_eq!(second.status.code(), Some(1));
    assert!(stderr(&second).contains(&format!("process {} is its writer", server.0.id())));
    server.signal("-TERM");
    assert!(server.0.wait().unwrap().success());
    let last = number("show");
    assert_eq!(last, number("show"));
    assert_ne!(last, number("bump"));
}

/// The number of a page, and what it says of the kernel: of the specification in `clones/generation-page.md`.
fn words(page: &Scratch) -> [u64; 2] {
    let bytes = std::fs::read(&page.0).unwrap();
    [104, 2048].map(|place: usize| u64::from_le_bytes(bytes[place..place + 8].try_into().unwrap()))
}

/// Whether this process may reseed the kernel: CAP_SYS_ADMIN, number 21.
fn may_reseed() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let sets = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:\t"));
    u64::from_str_radix(sets.unwrap(), 16).unwrap() & 1 << 21 != 0
}

/// The word of the page for the kernel after an order to reseed it.
fn expected(number: u64) -> u64 {
    if may_reseed() { number } else { !number }
}

#[test]
fn the_page_says_for_which_number_the_kernel_was_reseeded_and_a_writer_makes_up_for_others() {
    let page = Scratch::new("generation-kernel");
    text_of(&format!("generation bump --page {}", page.path()));
    assert_eq!(words(&page)[1], 0, "nothing was tried");
    let ordered = run(&format!("generation bump --kernel --page {}", page.path()));
    assert_eq!(
        ordered.status.success(),
        may_reseed(),
        "{}",
        stderr(&ordered)
    );
    let [number, kernel] = words(&page);
    assert_eq!(kernel, expected(number));
    let mut server = Server::start(page.path());
    let [number, kernel] = words(&page);
    assert_eq!(kernel, expected(number), "the start of a writer");
    text_of(&format!("generation bump --page {}", page.path()));
    server.wait_for("another process asked");
    let [number, kernel] = words(&page);
    assert_eq!(kernel, expected(number), "an order that did not reseed");
    server.signal("-USR1");
    server.wait_for("SIGUSR1; the kernel was");
    let [number, kernel] = words(&page);
    assert_eq!(kernel, expected(number), "a signal");
}

#[test]
fn an_order_carries_a_secret_of_32_bytes_or_more() {
    let page = Scratch::new("generation-nonce");
    let file = Scratch::new("nonce");
    let order = |nonce: &str| {
        run(&format!(
            "generation bump --page {} --nonce {nonce}",
            page.path()
        ))
    };
    std::fs::write(&file.0, [7; 31]).unwrap();
    let short = order(file.path());
    assert_eq!(short.status.code(), Some(2));
    assert!(
        stderr(&short).contains("and this one has 31"),
        "{}",
        stderr(&short)
    );
    assert!(!page.0.exists(), "an order that is refused changes nothing");
    let absent = order("/none");
    assert_eq!(
        (absent.status.code(), stderr(&absent).lines().count()),
        (Some(2), 1)
    );
    for length in [32, 5000] {
        std::fs::write(&file.0, vec![7; length]).unwrap();
        assert_eq!(order(file.path()).status.success(), may_reseed());
        let [number, kernel] = words(&page);
        assert_eq!(kernel, expected(number));
    }
    // A file without an end.
    assert_eq!(order("/dev/zero").status.success(), may_reseed());
    // In parts, as a pipe may bring it.
    let mut command = wellspring(&format!("generation bump --page {} --nonce -", page.path()));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for part in [&[1; 20][..], &[2; 20]] {
        input.write_all(part).unwrap();
        input.flush().unwrap();
    }
    drop(input);
    assert_eq!(child.wait().unwrap().success(), may_reseed());
    let credit = format!("generation bump --page {} --credit-bits 8", page.path());
    assert_eq!(
        run(&credit).status.code(),
        Some(2),
        "credit without a secret"
    );
}

#[test]
fn without_the_capability_the_page_changes_and_says_that_the_kernel_was_not_reseeded() {
    if user() != 0 || !is_installed("setpriv") {
        return println!("SKIPPED: only root can give a capability up, by setpriv");
    }
    let page = Scratch::new("generation-powerless");
    text_of(&format!("generation bump --page {}", page.path()));
    let before = words(&page)[0];
    let mut command = std::process::Command::new("setpriv");
    command.args(["--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]);
    command.arg(env!("CARGO_BIN_EXE_wellspring"));
    let output = command.args(["generation", "bump", "--kernel", "--page", page.path()]);
    let output = output.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("the kernel was not reseeded: "),
        "{}",
        stderr(&output)
    );
    let [number, kernel] = words(&page);
    assert_eq!((number, kernel), (before.wrapping_add(1), !number));
}

#[test]
fn a_user_changes_a_page_of_their_own_and_not_that_of_root() {
    if user() != 0 || !is_installed("setpriv") {
        return println!("SKIPPED: only root can become another user, by setpriv");
    }
    let folder = Scratch::new("generation-users");
    std::fs::create_dir(&folder.0).unwrap();
    std::fs::set_permissions(&folder.0, std::fs::Permissions::from_mode(0o1777)).unwrap();
    let (of_root, own) = (folder.0.join("root"), folder.0.join("own"));
    let path = of_root.to_str().unwrap();
    let before = text_of(&format!("generation bump --page {path}"));
    // The program is where other users cannot go.
    let program = folder.0.join("wellspring");
    copy_program(env!("CARGO_BIN_EXE_wellspring"), &program);
    let runtime = folder.0.join("runtime");
    let bump = |page: &std::path::Path| {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.env("XDG_RUNTIME_DIR", &runtime);
        command.arg(&program).args(["generation", "bump", "--page"]);
        command.arg(page).output().unwrap()
    };
    // One line says what happened and what to do, and names the page of the user's own service if there is one.
    let says = |page: &std::path::Path, status: i32, ends: &str| {
        let output = bump(page);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(status), "{said}");
        assert!(said.ends_with(ends) && said.lines().count() == 1, "{said}");
    };
    let asks = format!(
        "{path}: Permission denied (os error 13); {path} is root's: run this as root, or give --page"
    );
    says(
        &of_root,
        1,
        &format!("wellspring: {asks} and a file of your own\n"),
    );
    std::fs::create_dir_all(runtime.join("wellspring")).unwrap();
    let service = runtime.join("wellspring/generation");
    std::fs::write(&service, "").unwrap();
    let service = format!(" {}, the page of your own service\n", service.display());
    says(&of_root, 1, &format!("wellspring: {asks}{service}"));
    let deep = folder.0.join("runtime/deep/page");
    says(
        &deep,
        2,
        &format!("runtime is root's: run this as root, or give --page{service}"),
    );
    assert_eq!(before, text_of(&format!("generation show --page {path}")));
    let output = bump(&own);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_ne!(output.stdout, bump(&own).stdout);
}

#[test]
fn a_change_of_the_hypervisors_clock_changes_the_number() {
    let (page, clock) = (Scratch::new("generation-clock"), Scratch::new("vmclock"));
    // The layout of the two is the same, so the first makes the second.
    text_of(&format!("generation bump --page {}", clock.path()));
    let words = format!("{} --vmclock {}", page.path(), clock.path());
    let mut server = Server::start(&words);
    let number = || text_of(&format!("generation show --page {}", page.path()));
    let before = number();
    text_of(&format!("generation bump --page {}", clock.path()));
    server.wait_for("cloned");
    assert_ne!(before, number());
}

#[test]
fn the_last_folder_of_a_page_and_of_a_seed_file_is_made() {
    let folder = Scratch::new("made");
    let in_folder = |name| format!("{}/{name}", folder.path());
    text_of(&format!("generation bump --page {}", in_folder("page")));
    text_of(&format!("seed save {}", in_folder("secret/seed")));
    let mode = std::fs::metadata(in_folder("secret"))
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o700);
    let deep = run(&format!("generation bump --page {}", in_folder("a/b/page")));
    assert_eq!(deep.status.code(), Some(2));
}

#[test]
fn what_is_no_page_is_said_in_one_line() {
    let page = Scratch::new("generation-none");
    let says = |action: &str, reason: &str| {
        let output = run(&format!("generation {action} --page {}", page.path()));
        assert_eq!(output.status.code(), Some(2));
        let line = stderr(&output);
        assert!(line.contains(reason) && line.lines().count() == 1, "{line}");
    };
    says("show", "No such file");
    std::fs::write(&page.0, "rubbish").unwrap();
    for action in ["show", "bump", "serve"] {
        says(action, "not a generation page");
        assert_eq!(std::fs::read(&page.0).unwrap(), b"rubbish");
    }
}

// ---- the conformance programs ----
// The conformance programs of `clones/page/`: the command writes a page as they require, and they find what is
// wrong in a bad page.

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../clones/page")
}

/// The program in C, or `None` where there is no compiler. Tests that run at the same time need several names.
fn program(name: &str) -> Option<Scratch> {
    if !is_installed("cc") {
        return None;
    }
    let program = Scratch::new(name);
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-o"]);
    compiler.args([program.path(), "conformance.c"]);
    assert!(compiler.current_dir(folder()).status().unwrap().success());
    Some(program)
}

fn python(words: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.arg(folder().join("conformance.py")).args(words);
    command
}

/// The words for a shell that change the page.
fn bump(page: &Scratch) -> String {
    let command = crate::quoted_command();
    format!(
        "{command} generation bump --page {} > /dev/null",
        page.path()
    )
}

/// Runs a program to its end. Returns whether it found no fault, and what it said.
fn ended(command: &mut Command) -> (bool, String) {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("\n1.."), "{text}");
    (output.status.success(), text)
}

#[test]
fn the_page_of_the_command_is_as_its_specification_says() {
    let page = Scratch::new("conformance-page");
    if let Some(program) = program("conformance-write") {
        let mut command = Command::new(program.path());
        let (is_good, text) = ended(command.args(["write", page.path(), &bump(&page)]));
        assert!(is_good, "{text}");
    }
    if is_installed("python3") {
        let (is_good, text) = ended(&mut python(&["write", page.path(), &bump(&page)]));
        assert!(is_good, "{text}");
    }
}

#[test]
fn the_reader_in_c_believes_good_pages_alone() {
    let Some(program) = program("conformance-read").filter(|_| is_installed("python3")) else {
        return;
    };
    let (is_good, text) = ended(&mut python(&["read", program.path(), "read"]));
    assert!(is_good, "{text}");
}

#[test]
fn a_writer_that_changes_nothing_and_a_reader_that_believes_everything_are_found() {
    if !is_installed("python3") {
        return;
    }
    let page = Scratch::new("conformance-bad");
    crate::text_of(&format!("generation bump --page {}", page.path()));
    let (is_good, text) = ended(&mut python(&["write", page.path(), "true"]));
    assert!(!is_good && text.contains("not ok 7"), "{text}");
    let (is_good, text) = ended(&mut python(&[
        "read",
        "sh",
        "-c",
        "while read x; do echo same; done",
    ]));
    assert!(!is_good && text.contains("not ok 1 "), "{text}");
}

// ---- the hooks of a guest image ----
// The hooks of a guest image, as `make install-guest` installs them, and `generation bump --kernel`.

/// An image with the hooks, below a prefix where they find the command of this build.
struct Image(Scratch);

impl Image {
    fn new(name: &str) -> Self {
        let image = Self(Scratch::new(name));
        image.install("install");
        let bin = image.path("prefix/bin");
        std::fs::create_dir_all(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_wellspring"), bin + "/wellspring").unwrap();
        image
    }

    /// The prefix is inside the image: the hooks name it.
    fn install(&self, task: &str) {
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../packaging/guest/install.sh"
        );
        let mut command = Command::new(script);
        command.args([task, &self.path("prefix")]);
        // The folder of the image's root goes before the prefix; here they are the same.
        let output = command.arg(self.path("root")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let installed = self.path("root") + &self.path("prefix/lib");
        if task == "install" {
            std::fs::create_dir_all(self.path("prefix")).unwrap();
            std::fs::rename(installed, self.path("prefix/lib")).unwrap();
        }
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.0.path())
    }

    fn page(&self) -> String {
        self.path("page")
    }

    fn number(&self) -> String {
        text_of(&format!("generation show --page {}", self.page()))
    }

    fn hook(&self, path: &str, words: &[&str], action: &str) -> Output {
        let mut command = Command::new(self.path(path));
        command.args(words).env("CRTOOLS_SCRIPT_ACTION", action);
        command
            .env("WELLSPRING_PAGE", self.page())
            .output()
            .unwrap()
    }
}

#[test]
fn each_hook_changes_the_page_at_the_end_of_a_restore_and_at_no_other_time() {
    let image = Image::new("guest-hooks");
    text_of(&format!("generation bump --page {}", image.page()));
    let may_reseed = may_reseed();
    let page = image.page();
    let criu = "prefix/lib/wellspring/hooks/criu";
    let resumed = "prefix/lib/wellspring/hooks/resumed";
    let sleep = "root/usr/lib/systemd/system-sleep/wellspring";
    for (hook, words, action, changes) in [
        (criu, &[][..], "post-restore", true),
        (criu, &[], "pre-restore", false),
        (criu, &[], "post-resume", false),
        (resumed, &["--page", &page], "", true),
        (sleep, &["post", "hibernate"], "", true),
        (sleep, &["pre", "suspend"], "", false),
    ] {
        let before = image.number();
        let output = image.hook(hook, words, action);
        assert_eq!(
            before != image.number(),
            changes,
            "{hook} {words:?} {action}"
        );
        let reseeds = changes && hook != criu;
        assert!(
            output.status.success() || reseeds && !may_reseed,
            "{output:?}"
        );
    }
}

#[test]
fn the_writer_of_the_page_is_enabled_and_uninstalling_leaves_no_hook() {
    let image = Image::new("guest-writer");
    let enabled =
        image.path("root/etc/systemd/system/basic.target.wants/wellspring-generation.service");
    let unit = std::fs::read_link(&enabled).unwrap();
    assert!(unit.ends_with("lib/systemd/system/wellspring-generation.service"));
    image.install("uninstall");
    for left in [
        &enabled,
        &image.path("root/usr/lib/systemd/system-sleep/wellspring"),
    ] {
        assert!(!Path::new(left).exists(), "{left}");
    }
}

#[test]
fn systemd_takes_the_unit_of_the_writer() {
    if !is_installed("systemd-analyze") {
        return;
    }
    let folder = Scratch::new("guest-unit");
    std::fs::create_dir(&folder.0).unwrap();
    let unit = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../packaging/systemd/wellspring-generation.service"
    );
    let text = std::fs::read_to_string(unit).unwrap();
    let text = text.replace(
        "/usr/bin/wellspring",
        &format!("\"{}\"", env!("CARGO_BIN_EXE_wellspring")),
    );
    let text = text.replace("Documentation=man:", "Documentation=file:/");
    let unit = format!("{}/wellspring-generation.service", folder.path());
    std::fs::write(&unit, text).unwrap();
    let output = Command::new("systemd-analyze")
        .args(["verify", &unit])
        .output()
        .unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        stderr(&output)
    );
}

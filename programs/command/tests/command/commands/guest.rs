//! The hooks of a guest image, as `make install-guest` installs them, and `generation bump --kernel`.

use crate::common::{Scratch, is_installed, run, stderr, text_of};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

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

/// Whether `bump --kernel` may reseed the kernel here.
fn may_reseed(page: &str) -> bool {
    let output = run(&format!("generation bump --kernel --page {page}"));
    if output.status.success() {
        return true;
    }
    assert_eq!(output.status.code(), Some(1));
    println!("SKIPPED: {}", stderr(&output));
    false
}

#[test]
fn each_hook_changes_the_page_at_the_end_of_a_restore_and_at_no_other_time() {
    let image = Image::new("guest-hooks");
    text_of(&format!("generation bump --page {}", image.page()));
    let may_reseed = may_reseed(&image.page());
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

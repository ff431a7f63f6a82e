//! Finds the distribution's modules that a module needs, by busybox's depmod. The guest has no modprobe.

use super::cache::{entry, run, run_bytes};
use super::outcome::{Result, at};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The names and contents of the distribution's modules that `ours` need, and of the modules `names` with all that they need,
/// in the order to load them. A name that is not among the distribution's is taken for built in. `folder` is as the unpacked
/// packages of a kernel leave it.
pub(super) fn in_load_order(
    folder: &Path,
    busybox: &Path,
    ours: &[PathBuf],
    names: &[&str],
) -> Result<Vec<(String, Vec<u8>)>> {
    // Newer packages install them in the second folder.
    let mut bases = [folder.to_owned(), folder.join("usr")].into_iter();
    let Some(base) = bases.find(|base| base.join("lib/modules").exists()) else {
        return Ok(Vec::new());
    };
    let tree = entry(&base.join("lib/modules"), "", "")?;
    let version = tree.file_name().unwrap_or_default();
    let extra = tree.join("extra");
    let _ = fs::remove_dir_all(&extra);
    fs::create_dir(&extra).map_err(at(extra.display()))?;
    for module in ours {
        let name = module.file_name().unwrap_or_default();
        fs::copy(module, extra.join(name)).map_err(at(module.display()))?;
    }
    let mut depmod = Command::new(busybox);
    run(depmod.args(["depmod", "-b"]).arg(&base).arg(version))?;
    let list = tree.join("modules.dep");
    let list = fs::read_to_string(&list).map_err(at(list.display()))?;
    let read = |path: &str| {
        let file = tree.join(path);
        let bytes = if path.ends_with(".xz") {
            run_bytes(Command::new(busybox).arg("xzcat").arg(&file))
        } else {
            fs::read(&file).map_err(at(file.display()))
        };
        Ok((name_of(path), bytes?))
    };
    wanted(&list, names).into_iter().map(read).collect()
}

/// The paths in depmod's list that modules in `extra` need, and the paths of `names` with all that they need, in the order to
/// load them. The list has all that a module needs, the last to be loaded first.
fn wanted<'a>(list: &'a str, names: &[&str]) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for (module, needs) in list.lines().filter_map(|line| line.split_once(':')) {
        let is_named = names.contains(&&*name_of(module));
        if !is_named && !module.starts_with("extra/") {
            continue;
        }
        let needs = needs
            .split_whitespace()
            .rev()
            .chain(is_named.then_some(module));
        for path in needs.filter(|path| !path.starts_with("extra/")) {
            if !found.contains(&path) {
                found.push(path);
            }
        }
    }
    found
}

/// The name of the module in a file: `-` in the file's is `_` in the module's.
fn name_of(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.strip_suffix(".xz").unwrap_or(name);
    name.strip_suffix(".ko").unwrap_or(name).replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ours_and_the_named_need_is_loaded_once_and_in_order() {
        let list = "\
extra/tests.ko: extra/wellspring.ko kernel/crypto/chacha-x86_64.ko.xz kernel/lib/libchacha.ko
extra/wellspring.ko: kernel/crypto/chacha-x86_64.ko.xz kernel/lib/libchacha.ko
kernel/crypto/chacha-x86_64.ko.xz: kernel/lib/libchacha.ko
kernel/drivers/nvme.ko: kernel/drivers/nvme-core.ko
kernel/lib/libchacha.ko:
";
        let ours = [
            "kernel/lib/libchacha.ko",
            "kernel/crypto/chacha-x86_64.ko.xz",
        ];
        assert_eq!(wanted(list, &[]), ours);
        let nvme = ["kernel/drivers/nvme-core.ko", "kernel/drivers/nvme.ko"];
        assert_eq!(wanted(list, &["nvme", "built_in"]), [ours, nvme].concat());
        assert_eq!(name_of(ours[1]), "chacha_x86_64");
    }
}

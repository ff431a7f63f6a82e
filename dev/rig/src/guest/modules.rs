//! Finds the distribution's modules that a module needs. The guest has no depmod and no modprobe.

use super::cache::{entry, run_bytes};
use super::outcome::{Result, at, failed};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The distribution's modules for a kernel.
pub(super) struct Modules {
    by_name: HashMap<String, PathBuf>,
    busybox: PathBuf,
}

impl Modules {
    /// Those below `folder`, which is as unpacked packages leave it.
    pub(super) fn below(folder: &Path, busybox: PathBuf) -> Result<Self> {
        let mut by_name = HashMap::new();
        for modules in ["lib/modules", "usr/lib/modules"] {
            if let Ok(modules) = entry(&folder.join(modules), "", "") {
                collect(&modules.join("kernel"), &mut by_name)?;
            }
        }
        Ok(Self { by_name, busybox })
    }

    /// The names and contents of all that `modules` need and that are not among them, in the order to load them.
    pub(super) fn needed_by(&self, modules: &[PathBuf]) -> Result<Vec<(String, Vec<u8>)>> {
        let own: Vec<String> = modules.iter().filter_map(|path| name_of(path)).collect();
        let mut loaded = Vec::new();
        for module in modules {
            let bytes = fs::read(module).map_err(at(module.display()))?;
            self.add_needs(&bytes, &own, &mut loaded)?;
        }
        Ok(loaded)
    }

    /// The names and contents of these modules and of all that they need, in the order to load them. One that is
    /// not among the distribution's is taken for built in.
    pub(super) fn named(&self, names: &[&str]) -> Result<Vec<(String, Vec<u8>)>> {
        let mut loaded = Vec::new();
        for name in names {
            let is_loaded = loaded.iter().any(|(other, _)| other == name);
            let Some(path) = self.by_name.get(*name).filter(|_| !is_loaded) else {
                continue;
            };
            let bytes = self.read(path)?;
            self.add_needs(&bytes, &[], &mut loaded)?;
            loaded.push(((*name).to_owned(), bytes));
        }
        Ok(loaded)
    }

    fn add_needs(
        &self,
        module: &[u8],
        own: &[String],
        loaded: &mut Vec<(String, Vec<u8>)>,
    ) -> Result {
        for name in needs(module) {
            if own.contains(&name) || loaded.iter().any(|(other, _)| *other == name) {
                continue;
            }
            let Some(path) = self.by_name.get(&name) else {
                return failed(format!("no module {name} among the distribution's"));
            };
            let bytes = self.read(path)?;
            self.add_needs(&bytes, own, loaded)?;
            loaded.push((name, bytes));
        }
        Ok(())
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>> {
        if path.extension().is_some_and(|extension| extension == "xz") {
            return run_bytes(Command::new(&self.busybox).arg("xzcat").arg(path));
        }
        fs::read(path).map_err(at(path.display()))
    }
}

fn collect(folder: &Path, by_name: &mut HashMap<String, PathBuf>) -> Result {
    for entry in fs::read_dir(folder)
        .map_err(at(folder.display()))?
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, by_name)?;
        } else if let Some(name) = name_of(&path) {
            by_name.insert(name, path);
        }
    }
    Ok(())
}

/// The name of the module in a file: `-` in the file's is `_` in the module's.
fn name_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let name = name
        .strip_suffix(".xz")
        .unwrap_or(name)
        .strip_suffix(".ko")?;
    Some(name.replace('-', "_"))
}

/// The names after `depends=` in a module's section `.modinfo`, whose strings end with zeros.
fn needs(module: &[u8]) -> Vec<String> {
    const FIELD: &[u8] = b"\0depends=";
    let Some(start) = module
        .windows(FIELD.len())
        .position(|window| window == FIELD)
    else {
        return Vec::new();
    };
    let text = module[start + FIELD.len()..]
        .split(|&byte| byte == 0)
        .next()
        .unwrap_or_default();
    let names = String::from_utf8_lossy(text);
    names
        .split(',')
        .filter(|name| !name.is_empty())
        .map(|name| name.replace('-', "_"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_are_read_from_the_information_of_a_module() {
        let module =
            b"\x7fELF..\0license=Dual MIT/GPL\0depends=chacha-x86_64,libaes\0retpoline=Y\0";
        assert_eq!(needs(module), ["chacha_x86_64", "libaes"]);
        assert!(needs(b"\0license=GPL\0depends=\0name=x\0").is_empty());
        assert!(needs(b"nothing").is_empty());
    }

    #[test]
    fn a_name_is_the_same_in_every_spelling_of_its_file() {
        for file in [
            "/lib/chacha-x86_64.ko.xz",
            "chacha-x86_64.ko",
            "chacha_x86_64.ko",
        ] {
            assert_eq!(name_of(Path::new(file)).as_deref(), Some("chacha_x86_64"));
        }
        assert_eq!(name_of(Path::new("modules.order")), None);
    }
}

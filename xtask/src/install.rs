//! `install` and `uninstall`: the command, its man pages and completions, the service, systemd units, and the libraries of
//! the doors.
//!
//! A manifest below the prefix lists every file and folder that was made, so that `uninstall` removes exactly these.

use crate::package_files::{self, Item, LINK};
use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The manifest, below the prefix. Folders end with a slash. The last line is the manifest's own folder or file.
const MANIFEST: &str = "share/wellspring/manifest";

/// Each shell's name, and where it looks for completions below the prefix.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/wellspring"),
    ("fish", "share/fish/vendor_completions.d/wellspring.fish"),
    ("zsh", "share/zsh/site-functions/_wellspring"),
];

/// The folder of the command in the units of the repository.
pub(crate) const UNIT_FOLDER: &str = "/usr/bin/";

/// The folders to install into.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The folder of the files when they are used: absolute.
    pub(crate) prefix: PathBuf,
    /// A folder that stands for the root, for packages. Empty for none.
    pub(crate) root: PathBuf,
}

impl Place {
    /// Reads `--prefix P` and `--destdir D`.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        const USAGE: &str =
            "usage: --prefix P [--destdir D], with an absolute P such as /usr/local";
        let (mut prefix, mut root) = (None, PathBuf::new());
        while let Some(word) = words.next() {
            let value = words.next().ok_or(USAGE)?;
            match word.as_str() {
                "--prefix" => prefix = Some(PathBuf::from(value)),
                "--destdir" => root = env::current_dir().map_err(|e| e.to_string())?.join(value),
                _ => return Err(USAGE.into()),
            }
        }
        let prefix = prefix.filter(|prefix| prefix.is_absolute()).ok_or(USAGE)?;
        Ok(Self { prefix, root })
    }

    /// The path at which a file below the prefix is written now.
    pub(crate) fn now(&self, path: &str) -> PathBuf {
        self.rooted(&self.prefix.join(path))
    }

    /// The path at which an absolute path is written now.
    fn rooted(&self, path: &Path) -> PathBuf {
        if self.root.as_os_str().is_empty() {
            return path.to_owned();
        }
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}

/// Makes everything from the built command, and installs it.
pub(crate) fn install(repository: &Path, command: &Path, place: &Place) -> Result<(), String> {
    let items = items(repository, command, place)?;
    write(place, &items)?;
    println!("{} files below {}", items.len(), place.now("").display());
    Ok(())
}

fn items(repository: &Path, command: &Path, place: &Place) -> Result<Vec<Item>, String> {
    let item = |path: String, bytes| Item {
        path,
        bytes,
        mode: 0o644,
    };
    let mut items = Vec::new();
    // The service was built beside the command.
    for name in ["wellspring", "wellspringd"] {
        let program = command.with_file_name(name);
        items.push(Item {
            path: format!("bin/{name}"),
            bytes: fs::read(&program).map_err(about(&program))?,
            mode: 0o755,
        });
    }
    // The page of the service, and examples: it needs no configuration, and what an operator wrote to /etc is left alone.
    for (source, path) in [
        ("man/wellspringd.8", "man/man8/wellspringd.8"),
        ("wellspring/wellspring.toml", "wellspring/wellspring.toml"),
        (
            "wellspring/fuse-io-uring.conf",
            "wellspring/fuse-io-uring.conf",
        ),
        (
            "grafana/wellspringd.json",
            "wellspring/grafana-wellspringd.json",
        ),
    ] {
        let source = repository.join("packaging").join(source);
        let bytes = fs::read(&source).map_err(about(&source))?;
        items.push(item(format!("share/{path}"), bytes));
    }
    for (shell, path) in COMPLETIONS {
        items.push(item(path.into(), output(command, &["completions", shell])?));
    }
    let pages = env::temp_dir().join(format!("wellspring-man-{}", std::process::id()));
    fs::create_dir_all(&pages).map_err(about(&pages))?;
    let made = output(command, &["man", "--output", &pages.to_string_lossy()])
        .and_then(|_| files_in(&pages));
    fs::remove_dir_all(&pages).map_err(about(&pages))?;
    for (name, bytes) in made? {
        items.push(item(format!("share/man/man1/{name}"), bytes));
    }
    let folder = format!("{}/", place.prefix.join("bin").display());
    for (name, bytes) in files_in(&repository.join("packaging/systemd"))? {
        let unit = String::from_utf8_lossy(&bytes).replace(UNIT_FOLDER, &folder);
        items.push(item(
            format!("lib/systemd/system/{name}"),
            unit.into_bytes(),
        ));
    }
    let built = command.parent().unwrap_or(repository);
    items.extend(package_files::items(repository, built, &place.prefix)?);
    Ok(items)
}

/// Writes the files, the folders that they need, and the manifest of both. If that fails, it removes what it wrote.
fn write(place: &Place, items: &[Item]) -> Result<(), String> {
    refuse_files_of_others(place, items)?;
    if place.now(MANIFEST).exists() {
        uninstall(place)?;
    }
    let mut lines = Vec::new();
    let paths = items.iter().map(|item| item.path.as_str());
    for path in paths.chain([MANIFEST]) {
        if let Err(reason) = make_parents(place, path, &mut lines) {
            remove_folders(place, lines.iter().map(String::as_str));
            return Err(reason);
        }
    }
    let file = |item: &Item| place.prefix.join(&item.path).display().to_string();
    lines.extend(items.iter().map(file));
    // First, so that an installation that fails in the middle can be removed.
    let manifest = place.now(MANIFEST);
    let written = fs::write(&manifest, lines.join("\n") + "\n").map_err(about(&manifest));
    let written = written.and_then(|()| items.iter().try_for_each(|item| write_item(place, item)));
    if written.is_err() {
        for path in items
            .iter()
            .map(|item| item.path.as_str())
            .chain([MANIFEST])
        {
            let _ = fs::remove_file(place.now(path));
        }
        remove_folders(
            place,
            lines
                .iter()
                .map(String::as_str)
                .filter(|line| line.ends_with('/')),
        );
    }
    written
}

/// An error if a file is there that no earlier installation here has written.
fn refuse_files_of_others(place: &Place, items: &[Item]) -> Result<(), String> {
    let manifest = fs::read_to_string(place.now(MANIFEST)).unwrap_or_default();
    let ours: Vec<&str> = manifest.lines().collect();
    for item in items {
        let path = place.prefix.join(&item.path).display().to_string();
        let now = place.now(&item.path);
        if now.symlink_metadata().is_ok() && !ours.contains(&path.as_str()) {
            let now = now.display();
            return Err(format!(
                "{now}: it exists, and is not from an installation by this command"
            ));
        }
    }
    Ok(())
}

fn write_item(place: &Place, item: &Item) -> Result<(), String> {
    let path = place.now(&item.path);
    // A new file beside the old one, so that a running command is not overwritten.
    let part = path.with_extension("part");
    let written = if item.mode == LINK {
        symlink(&*String::from_utf8_lossy(&item.bytes), &part)
    } else {
        fs::write(&part, &item.bytes)
            .and_then(|()| fs::set_permissions(&part, fs::Permissions::from_mode(item.mode)))
    };
    written
        .and_then(|()| fs::rename(&part, &path))
        .map_err(|error| {
            let _ = fs::remove_file(&part);
            about(&path)(error)
        })
}

/// Makes the folders above a file, and notes those that were not there.
fn make_parents(place: &Place, path: &str, lines: &mut Vec<String>) -> Result<(), String> {
    let file = place.prefix.join(path);
    let parents: Vec<&Path> = file.ancestors().skip(1).collect();
    for folder in parents.into_iter().rev() {
        let now = place.rooted(folder);
        if !now.exists() {
            fs::create_dir_all(&now).map_err(about(&now))?;
            lines.push(format!("{}/", folder.display()));
        }
    }
    Ok(())
}

/// Removes what the manifest lists, and then the manifest. A folder that others use as well stays.
pub(crate) fn uninstall(place: &Place) -> Result<(), String> {
    let manifest = place.now(MANIFEST);
    let text = fs::read_to_string(&manifest).map_err(about(&manifest))?;
    let (folders, files): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|line| line.ends_with('/'));
    for file in files {
        let file = place.rooted(Path::new(file));
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(about(&file)(error));
            }
            _ => {}
        }
    }
    fs::remove_file(&manifest).map_err(about(&manifest))?;
    remove_folders(place, folders.into_iter());
    Ok(())
}

/// Removes folders, the innermost first. Those that are not empty hold files of others.
fn remove_folders<'a>(place: &Place, folders: impl DoubleEndedIterator<Item = &'a str>) {
    for folder in folders.rev() {
        let _ = fs::remove_dir(place.rooted(Path::new(folder)));
    }
}

/// Runs a program that must succeed and write nothing to standard error, and returns its output.
pub(crate) fn output(program: &Path, words: &[&str]) -> Result<Vec<u8>, String> {
    let output = Command::new(program).args(words).output();
    let output = output.map_err(about(program))?;
    if output.status.success() && output.stderr.is_empty() {
        return Ok(output.stdout);
    }
    Err(format!(
        "{} {}: {}\n{}{}",
        program.display(),
        words.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// Names and contents of the files in a folder, sorted.
pub(crate) fn files_in(folder: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(about(folder))?.flatten() {
        let bytes = fs::read(entry.path()).map_err(about(&entry.path()))?;
        found.push((entry.file_name().to_string_lossy().into_owned(), bytes));
    }
    found.sort();
    Ok(found)
}

/// All files below a folder.
pub(crate) fn all_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .flat_map(|path| {
            if path.is_dir() {
                all_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// Names the file in front of an error.
pub(crate) fn about(path: &Path) -> impl Fn(std::io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> Place {
        let root = env::temp_dir().join(format!("wellspring-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("usr/share")).unwrap();
        Place {
            prefix: "/usr".into(),
            root,
        }
    }

    fn item(path: &str, mode: u32) -> Item {
        Item {
            path: path.into(),
            bytes: path.into(),
            mode,
        }
    }

    #[test]
    fn uninstall_removes_what_was_installed_and_nothing_else() {
        let place = place("install");
        fs::write(place.now("share/other"), "").unwrap();
        let items = [
            item("bin/a", 0o755),
            item("share/man/man1/a.1", 0o644),
            item("lib/link", LINK),
        ];
        write(&place, &items).unwrap();
        let mode = fs::metadata(place.now("bin/a"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
        // A file of another package in a folder that was made here.
        fs::write(place.now("share/man/other"), "").unwrap();
        let link = fs::read_link(place.now("lib/link")).unwrap();
        assert_eq!(link, Path::new("lib/link"));
        // Installing again, with fewer files, leaves none of the first time.
        write(&place, &items[..1]).unwrap();
        assert!(!place.now("share/man/man1").exists());
        uninstall(&place).unwrap();
        let mut left = all_below(&place.root);
        left.sort();
        let expected = [place.now("share/man/other"), place.now("share/other")];
        assert_eq!(left, expected);
        assert!(!place.now("bin").exists() && place.now("share").exists());
        assert!(uninstall(&place).is_err(), "there is no manifest");
        fs::remove_dir_all(&place.root).unwrap();
    }

    #[test]
    fn a_file_of_another_package_is_neither_replaced_nor_removed() {
        let place = place("foreign");
        let items = [item("bin/a", 0o755), item("share/b", 0o644)];
        fs::write(place.now("share/b"), "of another package").unwrap();
        let reason = write(&place, &items).unwrap_err();
        assert!(
            reason.contains("usr/share/b: it exists") && !reason.contains('\n'),
            "{reason}"
        );
        assert_eq!(all_below(&place.root), [place.now("share/b")]);
        assert_eq!(
            fs::read(place.now("share/b")).unwrap(),
            b"of another package"
        );
        fs::remove_dir_all(&place.root).unwrap();
    }

    #[test]
    fn an_installation_that_fails_leaves_nothing() {
        let place = place("fails");
        // The folder `bin/a` is no folder but the file that was written before.
        for items in [
            [item("bin/a", 0o755), item("bin/a/b", 0o644)],
            [item("bin/b/c", 0o755), item("bin/b", 0o644)],
        ] {
            let reason = write(&place, &items).unwrap_err();
            assert!(!reason.contains('\n'), "{reason}");
            assert!(all_below(&place.root).is_empty());
            assert!(!place.now("bin").exists() && place.now("share").exists());
        }
        fs::remove_dir_all(&place.root).unwrap();
    }

    #[test]
    fn a_prefix_must_be_absolute_and_words_must_be_known() {
        let parse = |words: &str| Place::parse(words.split_whitespace().map(String::from));
        let expected = Place {
            prefix: "/usr".into(),
            root: "/tmp/x".into(),
        };
        assert_eq!(parse("--prefix /usr --destdir /tmp/x"), Ok(expected));
        for wrong in ["", "--prefix", "--prefix usr", "--prefix /usr --root /"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}

//! Reads the file, and the files in the folder `conf.d` beside it.

use super::Config;
use super::fault::ConfigFault;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The default path of the configuration.
pub const DEFAULT_PATH: &str = "/etc/wellspring/wellspring.toml";

/// A configuration of more bytes is a mistake, and reading it would take memory.
const MAX_BYTES: u64 = 1 << 20;

/// Reads `path`, or the default path if there is such a file, and then `conf.d/*.toml` beside it in the order of their
/// names. A key in a later file replaces the same key in an earlier one.
///
/// # Errors
///
/// The first fault.
pub fn load(path: Option<&Path>) -> Result<Config, ConfigFault> {
    let main = path.unwrap_or(Path::new(DEFAULT_PATH));
    let mut merged = Table::new();
    for file in files(main, path.is_some())? {
        let text = read(&file)?;
        // Checks each file before it is merged: only then do errors have a line and a column in it.
        parse(&file, &text)?;
        let table = text.parse::<Table>();
        merge(
            &mut merged,
            table.map_err(|error| fault(&file, &text, &error))?,
        );
    }
    let text = merged.to_string();
    parse(main, &text)
}

/// Reads one text; `file` is for messages.
///
/// # Errors
///
/// The first fault.
pub fn parse(file: &Path, text: &str) -> Result<Config, ConfigFault> {
    toml::from_str(text).map_err(|error| fault(file, text, &error))
}

fn fault(file: &Path, text: &str, error: &toml::de::Error) -> ConfigFault {
    ConfigFault::at(file, text, error.span(), error.message())
}

/// The files that exist, in the order in which they are read.
fn files(main: &Path, must_exist: bool) -> Result<Vec<PathBuf>, ConfigFault> {
    let mut files = Vec::new();
    match fs::metadata(main) {
        Ok(_) => files.push(main.to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound && !must_exist => {}
        Err(error) => return Err(ConfigFault::closed(main, error)),
    }
    let folder = main.parent().unwrap_or(Path::new("/")).join("conf.d");
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(files),
        Err(error) => return Err(ConfigFault::closed(&folder, error)),
    };
    let mut more = Vec::new();
    for entry in entries {
        let path = entry
            .map_err(|error| ConfigFault::unreadable(&folder, error))?
            .path();
        if path.extension().is_some_and(|end| end == "toml") {
            // A pipe would hold up the service when it reads its configuration again.
            if fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
                return Err(ConfigFault::unreadable(&path, "this is no regular file"));
            }
            more.push(path);
        }
    }
    more.sort();
    files.extend(more);
    Ok(files)
}

fn read(file: &Path) -> Result<String, ConfigFault> {
    let unreadable = |error| ConfigFault::closed(file, error);
    let opened = fs::File::open(file).map_err(unreadable)?;
    let mut text = String::new();
    // A device such as /dev/zero has no end.
    let read = opened.take(MAX_BYTES + 1).read_to_string(&mut text);
    read.map_err(unreadable)?;
    if text.len() as u64 > MAX_BYTES {
        let reason = format!("more than {MAX_BYTES} bytes: this is no configuration");
        return Err(ConfigFault::unreadable(file, reason));
    }
    Ok(text)
}

/// Replaces keys of `into` by the same keys of `from`, section by section, and adds the others.
fn merge(into: &mut Table, from: Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Address, Level};

    fn place(text: &str) -> (usize, usize) {
        let fault = parse(Path::new("x.toml"), text).expect_err(text);
        fault.place().expect("a place")
    }

    #[test]
    fn every_kind_of_mistake_has_its_line_and_column() {
        let mistakes = [
            ("[files]\nmont = \"/x\"\n", (2, 1), "an unknown key"),
            ("\n[file]\n", (2, 2), "an unknown section"),
            ("[files]\nthreads = 65\n", (2, 11), "out of range"),
            ("[files]\nthreads = -1\n", (2, 11), "below zero"),
            ("[files]\nthreads = \"2\"\n", (2, 11), "text for a number"),
            ("[log]\nlevel = \"loud\"\n", (2, 9), "an unknown name"),
            (
                "[egd]\nlisten = [\"a.sock\", \"0.0.0.0:1\"]\n",
                (2, 10),
                "a network, with the place of its list",
            ),
            ("[egd]\nlisten = \"a.sock\"\n", (2, 10), "text for a list"),
            ("[log]\nlevel = \n", (2, 9), "no value"),
            (
                "[engine]\nnoise_files = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11']\n",
                (2, 15),
                "more files than the engine has room for",
            ),
        ];
        for (text, expected, what) in mistakes {
            assert_eq!(place(text), expected, "{what}");
        }
    }

    #[test]
    fn what_is_printed_is_read_again_as_the_same() {
        let text = "[egd]\nlisten = [\"127.0.0.1:7\", \"/run/x.sock\"]\n[engine]\nmode = \"per-node\"\nprf = \"chacha20\"\n";
        let config = parse(Path::new("x"), text).unwrap();
        let printed = toml::to_string_pretty(&config).unwrap();
        assert_eq!(
            parse(Path::new("x"), &printed).unwrap(),
            config,
            "{printed}"
        );
        let default = toml::to_string_pretty(&Config::default()).unwrap();
        assert_eq!(parse(Path::new("x"), &default).unwrap(), Config::default());
    }

    #[test]
    fn later_files_replace_keys_and_leave_the_others() {
        let folder = std::env::temp_dir().join(format!("wellspring-config-{}", std::process::id()));
        fs::create_dir_all(folder.join("conf.d")).unwrap();
        let main = folder.join("wellspring.toml");
        fs::write(&main, "[log]\nlevel = \"warn\"\n[egd]\nlisten = []\n").unwrap();
        fs::write(
            folder.join("conf.d/10.toml"),
            "[egd]\nlisten = [\"a.sock\"]\n",
        )
        .unwrap();
        fs::write(
            folder.join("conf.d/20.toml"),
            "[egd]\nlisten = [\"b.sock\"]\n",
        )
        .unwrap();
        fs::write(folder.join("conf.d/note.txt"), "no configuration").unwrap();
        let config = load(Some(&main)).unwrap();
        assert_eq!(config.log.level, Level::Warn);
        assert_eq!(config.egd.listen, [Address::Unix("b.sock".into())]);
        fs::write(folder.join("conf.d/30.toml"), "[egd]\n\nlisten = 1\n").unwrap();
        let fault = load(Some(&main)).unwrap_err().to_string();
        assert!(fault.contains("30.toml:3:10: "), "{fault}");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_that_was_named_must_exist() {
        let fault = load(Some(Path::new("/nowhere/x.toml"))).unwrap_err();
        assert!(
            fault
                .to_string()
                .starts_with("/nowhere/x.toml: No such file"),
            "{fault}"
        );
    }
}

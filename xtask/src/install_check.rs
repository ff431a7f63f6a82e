//! `install --check`: installs into a temporary folder, runs and checks what is there, and uninstalls.

use crate::install::{Place, UNIT_FOLDER, about, all_below, files_in, install, output, uninstall};
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Installs into a temporary folder, has systemd check the units, and uninstalls: for CI.
pub(crate) fn check(repository: &Path, command: &Path) -> Result<(), String> {
    let root = env::temp_dir().join(format!("wellspring-install-{}", std::process::id()));
    let place = Place {
        prefix: "/usr".into(),
        root: root.clone(),
    };
    fs::create_dir_all(root.join("usr/bin")).map_err(about(&root))?;
    let other = root.join("usr/bin/other");
    fs::write(&other, "of another package").map_err(about(&other))?;
    let checked = install(repository, command, &place)
        .and_then(|()| output(&place.now("bin/wellspring"), &["--version"]))
        .and_then(|_| check_run(&place))
        .and_then(|()| {
            let example = place.now("share/wellspring/wellspring.toml");
            let example = example.to_string_lossy();
            let words = ["--check-config", "--config", &*example];
            output(&place.now("bin/wellspringd"), &words)
        })
        .and_then(|_| check_units(&place))
        .and_then(|()| uninstall(&place));
    let left = all_below(&root);
    fs::remove_dir_all(&root).map_err(about(&root))?;
    checked?;
    if left != [other] {
        return Err(format!("after uninstall there are: {left:?}"));
    }
    println!("installed, ran, checked and uninstalled");
    Ok(())
}

/// The installed command finds the installed libraries, and a program draws on both.
fn check_run(place: &Place) -> Result<(), String> {
    let command = place.now("bin/wellspring");
    let words = [
        "run",
        "--preload",
        "--report",
        "--",
        "head",
        "-c",
        "1",
        "/dev/urandom",
    ];
    let output = Command::new(&command).args(words).output();
    let output = output.map_err(about(&command))?;
    let report = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || !report.contains(" 1 program loaded") {
        return Err(format!("wellspring run: {}\n{report}", output.status));
    }
    Ok(())
}

/// The highest exposure that `systemd-analyze security` may give, times ten. 10.0 is no protection.
const MAX_EXPOSURE: &str = "20";

fn check_units(place: &Place) -> Result<(), String> {
    if Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err()
    {
        println!("SKIPPED: systemd-analyze is not installed, so the units are not checked");
        return Ok(());
    }
    // All of them first: a socket needs its service.
    let mut units = Vec::new();
    for (name, bytes) in files_in(&place.now("lib/systemd/system"))? {
        // The command and the man pages are where they were installed just now.
        let folder = format!("{}/", place.now("bin").display());
        let unit = String::from_utf8_lossy(&bytes).replace(UNIT_FOLDER, &folder);
        let unit = unit.replace("Documentation=man:", "Documentation=file:/");
        let path = place.root.join(name);
        fs::write(&path, unit).map_err(about(&path))?;
        units.push(path);
    }
    let checked = units.iter().try_for_each(|path| check_unit(path));
    for path in units {
        fs::remove_file(&path).map_err(about(&path))?;
    }
    checked
}

/// Checks a unit; of a service also how much it is exposed.
fn check_unit(path: &Path) -> Result<(), String> {
    let (analyze, file) = (Path::new("systemd-analyze"), path.to_string_lossy());
    output(analyze, &["verify", &file])?;
    if path.extension().is_none_or(|end| end != "service") {
        return Ok(());
    }
    let words = [
        "security",
        "--offline=true",
        "--threshold",
        MAX_EXPOSURE,
        &file,
    ];
    let text = output(analyze, &words)?;
    let text = String::from_utf8_lossy(&text);
    println!("{}", text.lines().last().unwrap_or_default());
    Ok(())
}

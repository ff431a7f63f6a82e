//! A PostgreSQL server with the extension, of the version that is installed.
//!
//! `make install` writes into a folder. Root mounts it over the server's folders in a mount namespace, so that `CREATE
//! EXTENSION` finds it and the machine stays as it is. A user namespace gives the server another number than root's, as
//! which it does not run.

use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::programs::{is_success, scratch, succeeds, text};

const DOOR: &str = env!("CARGO_MANIFEST_DIR");

/// A folder of the server, as `pg_config` says it.
fn pg_config(word: &str) -> Option<PathBuf> {
    let output = Command::new("pg_config").arg(word).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().into()).filter(|_| output.status.success())
}

/// Builds the extension, and installs it into a folder. `None` if something is missing.
fn installed() -> Option<PathBuf> {
    let folder = scratch("postgresql");
    let program = std::env::current_exe().unwrap();
    // Of tests and examples: both lie in a folder of the profile's.
    let profile = program.ancestors().nth(2).unwrap();
    let library = profile.join("deps/libwellspring_c.so");
    std::fs::copy(library, folder.join("libwellspring.so.0")).unwrap();
    std::os::unix::fs::symlink("libwellspring.so.0", folder.join("libwellspring.so")).unwrap();
    for name in std::fs::read_dir(DOOR).unwrap().flatten() {
        if name.path().is_file() {
            std::fs::copy(name.path(), folder.join(name.file_name())).unwrap();
        }
    }
    let place = folder.display();
    let made = Command::new("make")
        .args(["-s", "install"])
        .arg(format!("DESTDIR={place}/root"))
        .arg(format!(
            "PG_CPPFLAGS=-I{DOOR}/../wellspring-c/include -Wall -Werror -Wno-declaration-after-statement"
        ))
        .arg(format!(
            "SHLIB_LINK=-L{place} -lwellspring -Wl,-rpath,{place}"
        ))
        .current_dir(&folder)
        .output();
    let Ok(output) = made else {
        testkit::skipped("make is not installed");
        return None;
    };
    if text(&output).contains("postgres.h: No such file") {
        testkit::skipped("the headers of the server are not installed");
        return None;
    }
    succeeds(&output);
    Some(folder)
}

/// Runs a shell script beside a server with the extension, which has `options`. Returns what the script prints, or `None` if
/// something is missing.
pub(crate) fn with_server(options: &str, script: &str) -> Option<String> {
    let (Some(binaries), Some(share), Some(libraries)) = (
        pg_config("--bindir"),
        pg_config("--sharedir"),
        pg_config("--pkglibdir"),
    ) else {
        testkit::skipped("pg_config is not installed");
        return None;
    };
    let enter = "unshare --user --map-user=1000 --map-group=1000";
    let can_mount = format!("unshare --mount mount -t tmpfs t /mnt && {enter} true");
    if !binaries.join("initdb").exists() || !is_success(&can_mount) {
        testkit::skipped("there is no server, or file systems cannot be mounted here");
        return None;
    }
    let folder = installed()?;
    let over = |place: &Path| {
        let (ours, place) = (folder.join("root"), place.display());
        let ours = ours.display();
        format!("mount -t overlay o -o lowerdir={ours}{place}:{place} {place}")
    };
    let (first, second) = (over(&share.join("extension")), over(&libraries));
    let inside = format!(
        "set -eu; PATH={}:$PATH; export PATH LC_ALL=C PGHOST=$PWD PGUSER=postgres PGDATABASE=postgres\n\
         sql() {{ psql -v ON_ERROR_STOP=1 -qAt \"$@\"; }}\n\
         initdb -D data -U postgres -A trust -N > log 2>&1\n\
         pg_ctl -D data -w -l log -o \"-k $PWD -c listen_addresses= {options}\" start > start.log\n\
         trap 'r=$?; test $r = 0 || tail -30 log; pg_ctl -D data -m immediate stop > stop.log; exit $r' EXIT\n\
         sql -c 'CREATE EXTENSION wellspring_pg'\n\
         {script}\n",
        binaries.display()
    );
    std::fs::write(folder.join("inside.sh"), inside).unwrap();
    let output = Command::new("timeout")
        .args(["--signal=KILL", "300", "unshare", "--mount", "sh", "-c"])
        .arg(format!("{first} && {second} && exec {enter} sh inside.sh"))
        .current_dir(&folder)
        .output()
        .unwrap();
    Some(succeeds(&output))
}

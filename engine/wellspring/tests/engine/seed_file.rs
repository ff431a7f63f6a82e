//! The seed file: read, replaced, mixed; credited at most once. No fault of the file stops an engine.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use wellspring::seed_file::{
    Damage, Identity, Report, SeedFileError, SeedFileStats, SeedFound, Uncredited, inspect,
};
use wellspring::{Engine, Error, FileFault, OsError, Phase};

/// A folder of a test's own, as private as a seed file's should be.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("wellspring-seed-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("seed")
    }

    /// The names in the folder.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> = entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn boot(number: u8) -> Identity {
    Identity::new(b"a machine", [number; 16])
}

/// An engine that has nothing but its seed file.
fn bare(path: &Path, identity: Identity) -> Engine {
    let engine = Engine::builder().sources([]).seed_file(path);
    engine.identity(identity).build().unwrap()
}

/// An engine that is ready at once.
fn ready(path: &Path, identity: Identity, topology: &str) -> Engine {
    let engine = Engine::builder().sources([]).seed(&[1; 32]).seed_file(path);
    let engine = engine.topology(topology.parse().unwrap());
    let engine = engine.identity(identity).build().unwrap();
    engine.fill(&mut [0; 32]);
    engine
}

fn stats(engine: &Engine) -> SeedFileStats {
    engine.stats().seed_file.unwrap()
}

/// The result of an engine that has only this seed file.
fn found(path: &Path, identity: Identity) -> SeedFound {
    stats(&bare(path, identity)).found
}

/// Whether the file system gives a file an identity that its copies do not have. If not, prints that a test is limited.
fn tells_copies(report: &Report) -> bool {
    if !report.has_file_id {
        eprintln!("SKIPPED: the file system does not know when a file was born, or has layers");
    }
    report.has_file_id
}

#[test]
fn a_seed_outlives_a_boot_and_is_credited_once() {
    let folder = Folder::new("boots");
    let path = folder.file();
    let engine = ready(&path, boot(1), "nodes=4,cpus=8");
    assert_eq!(stats(&engine).found, SeedFound::Nothing);
    drop(engine);
    let report = inspect(&path, &boot(2)).unwrap();
    assert_eq!((report.sections, report.counter), (4, 2));
    assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o600);
    assert_eq!(folder.names(), ["seed"]);
    if !tells_copies(&report) {
        return;
    }
    assert_eq!(report.found, SeedFound::Credited(256));
    let engine = bare(&path, boot(2));
    assert_eq!(stats(&engine).found, SeedFound::Credited(256));
    assert_eq!(engine.stats().phase, Phase::Ready);
    engine.try_fill(&mut [0; 32]).unwrap();
    // Killed here: the present file was written in this boot.
    let same_boot = SeedFound::Mixed(Uncredited::SameBoot);
    assert_eq!(inspect(&path, &boot(2)).unwrap().found, same_boot);
    let again = bare(&path, boot(2));
    assert_eq!(stats(&again).found, same_boot);
    assert_eq!(again.try_fill(&mut [0; 32]), Err(Error::NotSeeded));
}

#[test]
fn no_content_of_the_file_is_used_twice() {
    let folder = Folder::new("once");
    let mut contents = vec![];
    let mut outputs = vec![];
    for number in 1..5 {
        let engine = ready(&folder.file(), boot(number), "nodes=1,cpus=1");
        contents.push(fs::read(folder.file()).unwrap());
        outputs.push(engine.bytes::<32>());
        assert_eq!(engine.save_seed(), Ok(()));
        contents.push(fs::read(folder.file()).unwrap());
        // Without anything new since the save, the engine would not write at its end.
        engine.diverge_from_clones();
        drop(engine);
        contents.push(fs::read(folder.file()).unwrap());
    }
    let count = (contents.len(), outputs.len());
    contents.sort();
    contents.dedup();
    outputs.sort();
    outputs.dedup();
    assert_eq!((contents.len(), outputs.len()), count);
}

#[test]
fn a_copy_is_mixed_and_credited_nothing() {
    let folder = Folder::new("copies");
    let path = folder.file();
    drop(ready(&path, boot(1), "nodes=2,cpus=2"));
    let report = inspect(&path, &boot(2)).unwrap();
    if !tells_copies(&report) {
        return;
    }
    let elsewhere = SeedFound::Mixed(Uncredited::Elsewhere);
    // `cp`, `tar`, a backup put back: another file.
    let copy = folder.0.join("copy");
    fs::copy(&path, &copy).unwrap();
    assert_eq!(inspect(&copy, &boot(2)).unwrap().found, elsewhere);
    let original = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, original).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(found(&path, boot(2)), elsewhere);
    // The disk in another machine.
    drop(ready(&path, boot(3), "nodes=2,cpus=2"));
    let other = Identity::new(b"another machine", [4; 16]);
    assert_eq!(found(&path, other), elsewhere);
}

#[test]
fn a_file_that_others_can_read_or_replace_is_credited_nothing() {
    let folder = Folder::new("exposed");
    let path = folder.file();
    let with_mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    drop(ready(&path, boot(1), "nodes=1,cpus=1"));
    if !tells_copies(&inspect(&path, &boot(2)).unwrap()) {
        return;
    }
    let exposed = SeedFound::Mixed(Uncredited::Exposed);
    with_mode(&path, 0o640);
    assert_eq!(found(&path, boot(2)), exposed);
    assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o600);
    drop(ready(&path, boot(3), "nodes=1,cpus=1"));
    with_mode(&folder.0, 0o770);
    assert_eq!(found(&path, boot(4)), exposed);
    with_mode(&folder.0, 0o700);
    drop(ready(&path, boot(5), "nodes=1,cpus=1"));
    fs::hard_link(&path, folder.0.join("second")).unwrap();
    assert_eq!(found(&path, boot(6)), exposed);
}

#[test]
fn a_file_of_another_user_is_left_alone() {
    let folder = Folder::new("owner");
    let path = folder.file();
    fs::write(&path, "theirs").unwrap();
    if std::os::unix::fs::chown(&path, Some(65534), None).is_err() {
        return eprintln!("SKIPPED: only root can give a file away");
    }
    assert_eq!(
        found(&path, boot(1)),
        SeedFound::Refused(SeedFileError::File(FileFault::Owner))
    );
    assert_eq!(fs::read(&path).unwrap(), b"theirs");
    assert_eq!(folder.names(), ["seed"]);
}

#[test]
fn what_is_no_file_is_left_alone() {
    let folder = Folder::new("kinds");
    let target = folder.0.join("target");
    fs::write(&target, "precious").unwrap();
    let path = folder.file();
    symlink(&target, &path).unwrap();
    let engine = ready(&path, boot(1), "nodes=1,cpus=1");
    let symbolic_link = SeedFileError::File(FileFault::Link);
    assert_eq!(stats(&engine).found, SeedFound::Refused(symbolic_link));
    assert_eq!(engine.save_seed(), Err(symbolic_link));
    drop(engine);
    assert_eq!(fs::read(&target).unwrap(), b"precious");
    assert!(path.symlink_metadata().unwrap().is_symlink());
    fs::remove_file(&path).unwrap();

    fs::create_dir(&path).unwrap();
    let not_a_file = SeedFound::Refused(SeedFileError::File(FileFault::NotAFile));
    assert_eq!(found(&path, boot(1)), not_a_file);
    fs::remove_dir(&path).unwrap();

    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    assert_eq!(found(&path, boot(1)), not_a_file);
    // Only who can make the new file beside it learns that it is a device.
    // SAFETY: access(2) reads a string that ends with a zero.
    let is_writable = unsafe { libc::access(c"/dev".as_ptr(), libc::W_OK) } == 0;
    let refused = SeedFileError::File(FileFault::System(OsError::new(libc::EACCES)));
    let expected = if is_writable {
        not_a_file
    } else {
        SeedFound::Refused(refused)
    };
    assert_eq!(found(Path::new("/dev/null"), boot(1)), expected);
    assert_eq!(folder.names(), ["seed", "target"]);

    let missing = folder.0.join("none/seed");
    let no_folder = SeedFileError::File(FileFault::System(OsError::new(2)));
    assert_eq!(found(&missing, boot(1)), SeedFound::Refused(no_folder));
}

#[test]
fn a_seed_file_that_was_cut_or_changed_is_said_and_replaced() {
    let folder = Folder::new("damage");
    let path = folder.file();
    drop(ready(&path, boot(1), "nodes=2,cpus=2"));
    let whole = fs::read(&path).unwrap();
    let mut cases: Vec<(Vec<u8>, Damage)> = (0..whole.len())
        .step_by(7)
        .map(|length| (whole[..length].to_vec(), Damage::Length))
        .collect();
    cases.push((b"wellseed".repeat(10_000), Damage::Length));
    let mut flipped = whole.clone();
    flipped[100] ^= 1;
    cases.push((flipped, Damage::Checksum));
    for (content, damage) in cases {
        fs::write(&path, &content).unwrap();
        assert_eq!(found(&path, boot(2)), SeedFound::Damaged(damage));
        let now = inspect(&path, &boot(3)).unwrap();
        assert_eq!(now.counter, 1, "a file that is whole again");
    }
}

#[test]
fn a_file_of_another_kind_is_refused_and_stays() {
    let folder = Folder::new("another-kind");
    let path = folder.file();
    for content in [&b"precious\n"[..], b"#", &[0; 200], &[0; 100_000]] {
        fs::write(&path, content).unwrap();
        let refused = SeedFound::Refused(SeedFileError::NotASeedFile);
        assert_eq!(found(&path, boot(1)), refused);
        let engine = ready(&path, boot(1), "nodes=1,cpus=1");
        assert_eq!(engine.save_seed(), Err(SeedFileError::NotASeedFile));
        drop(engine);
        assert_eq!(fs::read(&path).unwrap(), content);
    }
}

#[test]
fn at_its_end_an_engine_writes_only_what_it_has_not_saved() {
    let folder = Folder::new("saved");
    let path = folder.file();
    let engine = ready(&path, boot(1), "nodes=2,cpus=2");
    engine.save_seed().unwrap();
    let saved = fs::read(&path).unwrap();
    drop(engine);
    assert_eq!(fs::read(&path).unwrap(), saved, "the same again");

    let engine = ready(&path, boot(1), "nodes=2,cpus=2");
    engine.save_seed().unwrap();
    let saved = fs::read(&path).unwrap();
    engine.diverge_from_clones();
    drop(engine);
    assert_ne!(
        fs::read(&path).unwrap(),
        saved,
        "what came in after the save was lost"
    );
}

#[test]
fn what_a_killed_writer_left_is_removed() {
    let folder = Folder::new("stale");
    fs::write(folder.0.join(".seed.next"), "half a secr").unwrap();
    let engine = ready(&folder.file(), boot(1), "nodes=1,cpus=1");
    assert!(stats(&engine).removed_unfinished);
    assert_eq!(folder.names(), ["seed"]);
    assert_eq!(stats(&engine).writes, 1);
    drop(engine);
    // A link that someone planted there is not followed.
    let target = folder.0.join("target");
    fs::write(&target, "precious").unwrap();
    symlink(&target, folder.0.join(".seed.next")).unwrap();
    drop(ready(&folder.file(), boot(1), "nodes=1,cpus=1"));
    assert_eq!(fs::read(&target).unwrap(), b"precious");
    assert_eq!(folder.names(), ["seed", "target"]);
}

#[test]
fn engines_that_start_at_once_use_different_seeds() {
    let folder = Folder::new("race");
    drop(ready(&folder.file(), boot(1), "nodes=1,cpus=1"));
    let start = || bare(&folder.file(), boot(2));
    let engines: Vec<Engine> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let found: Vec<SeedFound> = engines.iter().map(|engine| stats(engine).found).collect();
    let report = inspect(&folder.file(), &boot(3)).unwrap();
    assert_eq!(report.counter, 2 + 8, "each read what the one before wrote");
    if tells_copies(&report) {
        let credited = |found: &&SeedFound| matches!(found, SeedFound::Credited(_));
        assert_eq!(found.iter().filter(credited).count(), 1, "{found:?}");
    }
}

#[test]
fn a_required_file_that_cannot_be_used_is_an_error_of_build() {
    let folder = Folder::new("required");
    let require = |path: &Path| {
        let builder = Engine::builder().require_seed_file(path).identity(boot(1));
        builder.build().map(|engine| stats(&engine).found)
    };
    let absent = FileFault::System(OsError::new(libc::ENOENT));
    let fault = require(&folder.0.join("nowhere/seed")).unwrap_err();
    assert_eq!(fault, Error::SeedFile(SeedFileError::File(absent)));
    let words = "the seed file cannot be used: No such file or directory (os error 2)";
    assert_eq!(fault.to_string(), words);
    fs::write(folder.file(), "a file of another kind").unwrap();
    let fault = require(&folder.file()).unwrap_err();
    assert_eq!(fault, Error::SeedFile(SeedFileError::NotASeedFile));
    fs::remove_file(folder.file()).unwrap();
    assert_eq!(require(&folder.file()), Ok(SeedFound::Nothing));
    // Written in this boot, so without credit: that is no error.
    assert!(matches!(require(&folder.file()), Ok(SeedFound::Mixed(_))));
}

#[test]
fn a_child_does_not_write_its_parents_file() {
    let folder = Folder::new("child");
    let engine = ready(&folder.file(), boot(1), "nodes=1,cpus=1");
    let before = fs::read(folder.file()).unwrap();
    // SAFETY: the child calls nothing but the engine and _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        drop(engine);
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: waits for the child above.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(fs::read(folder.file()).unwrap(), before);
}

#[test]
fn an_engine_without_a_seed_or_a_file_says_so() {
    let folder = Folder::new("unseeded");
    let engine = bare(&folder.file(), boot(1));
    assert_eq!(engine.save_seed(), Err(SeedFileError::NotSeeded));
    let engine = Engine::builder().build().unwrap();
    assert_eq!(engine.save_seed(), Err(SeedFileError::Absent));
    assert_eq!(engine.stats().seed_file, None);
}

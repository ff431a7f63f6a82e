use super::common::{
    PATIENCE, assert_random, has_fuse, is_installed, quoted, sh, start_with_files,
};
use rustix::fs::{CWD, Mode, OFlags, stat};
use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;

#[test]
fn a_read_gets_as_much_as_it_asks_for_and_no_more_is_made() {
    if !has_fuse() {
        return;
    }
    let (service, mount) = start_with_files();
    for name in ["random", "urandom", "pseudo"] {
        let mut file = fs::File::open(mount.join(name)).unwrap();
        for length in [1, 16, 4097, 1 << 20, (1 << 20) + 7] {
            let mut bytes = vec![0; length];
            file.read_exact(&mut bytes).unwrap();
            assert_random(&bytes);
        }
        let expected = 1 + 16 + 4097 + (1 << 20) + (1 << 20) + 7;
        assert_eq!(service.door(name)["bytes"], expected, "{name}");
        assert_eq!(stat(mount.join(name)).unwrap().st_blksize, 4096, "{name}");
    }
    let output = sh(&format!(
        "dd if={} bs=16 count=100 status=none | wc -c",
        quoted(mount.join("random"))
    ));
    assert_eq!(output.stdout.trim_ascii(), b"1600");
}

#[test]
fn what_is_written_is_mixed_in_and_other_changes_are_refused() {
    if !has_fuse() {
        return;
    }
    let (service, mount) = start_with_files();
    let path = mount.join("random");
    fs::OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(&path)
        .unwrap()
        .write_all(&[7; 5000])
        .unwrap();
    assert_eq!(service.door("random")["mixed_bytes"], 5000);
    let another = mount.join("another");
    let mode = fs::Permissions::from_mode(0o600);
    let pipe = rustix::fs::FileType::Fifo;
    let node = || rustix::fs::mknodat(CWD, &another, pipe, Mode::RUSR, 0).map_err(Into::into);
    // By root: the kernel refuses others by the mode of the folder.
    let changes = [
        fs::set_permissions(&path, mode),
        fs::remove_file(&path),
        fs::remove_dir(&another),
        fs::write(&another, "x"),
        fs::create_dir(&another),
        node(),
        symlink("random", &another),
        fs::hard_link(&path, &another),
        fs::rename(&path, &another),
        chown(&path, Some(1), None),
    ];
    let codes = changes.map(|change| change.unwrap_err().raw_os_error().unwrap());
    let (refused, absent) = (libc::EPERM, libc::ENOENT);
    let mut expected = [refused; 10];
    // There is no such folder.
    expected[2] = absent;
    assert_eq!(codes, expected);
    let mut names: Vec<_> = fs::read_dir(&mount)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["pseudo", "random", "urandom"]);
}

#[test]
fn the_requests_of_random_4_are_answered() {
    if !has_fuse() {
        return;
    }
    let (service, mount) = start_with_files();
    let file = fs::File::open(mount.join("random")).unwrap();
    let mut bits = 0_i32;
    // SAFETY: the request writes an int.
    let asked = unsafe {
        libc::ioctl(
            file.as_raw_fd(),
            0x8004_5200_u32 as libc::Ioctl,
            &raw mut bits,
        )
    };
    assert_eq!((asked, bits), (0, 256));
    let before = service.status()["generation"].as_u64().unwrap();
    // SAFETY: the request takes no argument.
    assert_eq!(unsafe { libc::ioctl(file.as_raw_fd(), 0x5207) }, 0);
    assert!(service.status()["generation"].as_u64().unwrap() > before);
    // SAFETY: the request reads an int.
    let credit = unsafe { libc::ioctl(file.as_raw_fd(), 0x4004_5201, &raw const bits) };
    assert_eq!(
        (
            credit,
            rustix::io::Errno::from_io_error(&std::io::Error::last_os_error())
        ),
        (-1, Some(rustix::io::Errno::PERM))
    );
    let flags = OFlags::RDONLY | OFlags::NONBLOCK;
    let waits = rustix::fs::open(mount.join("random"), flags, rustix::fs::Mode::empty()).unwrap();
    assert_eq!(rustix::io::read(&waits, &mut [0; 8]).unwrap(), 8);
}

/// The service answers what it likes, also that a file is a link: no program of root may write where that leads.
#[test]
fn no_link_in_the_folder_of_the_files_would_be_followed() {
    if !has_fuse() {
        return;
    }
    let (_service, mount) = start_with_files();
    let flags = rustix::fs::statvfs(&mount).unwrap().f_flag.bits();
    // `ST_NOSYMFOLLOW` of linux/statfs.h, from Linux 5.10 on.
    assert_ne!(flags & 0x2000, 0, "{flags:x}");
}

/// A reader that a signal ends while it reads, and one that goes on after a signal, as timers send them.
#[test]
fn readers_are_interrupted_and_the_files_go_on() {
    if !has_fuse() {
        return;
    }
    let (_service, mount) = start_with_files();
    let program = format!(
        "import os, signal\n\
         signal.signal(signal.SIGALRM, lambda *a: None)\n\
         signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)\n\
         f = os.open('{}/random', os.O_RDONLY)\n\
         seen = set()\n\
         for _ in range(300):\n\
        \x20    b = os.read(f, 1 << 20)\n\
        \x20    assert len(b) > 0 and b.count(0) < len(b) // 128 + 64, len(b)\n\
        \x20    seen.add(b[:16])\n\
         assert len(seen) == 300\n\
         print('read', flush=True)\n\
         while True: os.read(f, 1 << 20)\n",
        mount.display()
    );
    if !is_installed("python3") {
        return;
    }
    let mut python = std::process::Command::new("python3");
    python
        .args(["-c", &program])
        .stdout(std::process::Stdio::piped());
    let mut python = python.spawn().unwrap();
    let mut said = [0; 5];
    python
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut said)
        .unwrap();
    assert_eq!(&said, b"read\n");
    python.kill().unwrap();
    python.wait().unwrap();
    let mut bytes = vec![0; 1 << 20];
    fs::File::open(mount.join("random"))
        .unwrap()
        .read_exact(&mut bytes)
        .unwrap();
    assert_random(&bytes);
}

#[test]
fn readers_at_once_never_get_the_same_bytes() {
    if !has_fuse() {
        return;
    }
    let (_service, mount) = start_with_files();
    let read = |length: usize| {
        let mut bytes = vec![0; 1 << 20];
        let mut file = fs::File::open(mount.join("random")).unwrap();
        for piece in bytes.chunks_mut(length) {
            file.read_exact(piece).unwrap();
        }
        bytes
    };
    let all = std::thread::scope(|scope| {
        let lengths = [16, 1000, 4096, 70_000, 150_000, 600_000, 1 << 20, 1 << 20];
        let readers = lengths.map(|length| scope.spawn(move || read(length)));
        readers.map(|reader| reader.join().unwrap()).concat()
    });
    assert_random(&all);
}

/// Tells that it has read, and at last why it ended.
fn reads_until_an_error(path: &Path, length: usize, told: &Sender<&'static str>) {
    let mut file = fs::File::open(path).unwrap();
    let mut bytes = vec![0; length];
    for round in 0.. {
        let ended = match file.read(&mut bytes) {
            Ok(0) => "the end of the file",
            Err(_) => "error",
            Ok(got) if bytes[..got].chunks_exact(16).any(|block| *block == [0; 16]) => "zeros",
            Ok(_) if round == 0 => "read",
            Ok(_) => continue,
        };
        // A test that has failed hears nothing more.
        let _ = told.send(ended);
        if ended != "read" {
            return;
        }
    }
}

#[test]
fn the_files_go_when_the_service_ends_also_when_it_is_killed() {
    if !has_fuse() {
        return;
    }
    for signal in ["-INT", "-TERM", "-KILL"] {
        let (mut service, mount) = start_with_files();
        let mut open = fs::File::open(mount.join("random")).unwrap();
        // Some of them wait for an answer when it ends.
        let (told, ends) = std::sync::mpsc::channel();
        for length in [16, 4096, 150_000, 1 << 20] {
            let (path, told) = (mount.join("random"), told.clone());
            std::thread::spawn(move || reads_until_an_error(&path, length, &told));
        }
        for _ in 0..4 {
            assert_eq!(ends.recv_timeout(PATIENCE).unwrap(), "read", "{signal}");
        }
        service.end(signal);
        // The helper unmounts. After SIGKILL no process waits for it, so that may be a moment later.
        let until = std::time::Instant::now() + PATIENCE;
        while fs::read_dir(&mount).map_or(1, Iterator::count) != 0 {
            assert!(std::time::Instant::now() < until, "{signal}: still mounted");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        for _ in 0..4 {
            assert_eq!(ends.recv_timeout(PATIENCE).unwrap(), "error", "{signal}");
        }
        // A reader gets an error, and never zeros.
        assert!(open.read(&mut [0; 16]).is_err(), "{signal}");
    }
}

/// The processes that this one has started to unmount.
fn children(process: u32) -> Vec<String> {
    let parent = format!("PPid:\t{process}\n");
    let is_child = |folder: &PathBuf| {
        let words = fs::read_to_string(folder.join("cmdline"));
        fs::read_to_string(folder.join("status")).is_ok_and(|status| status.contains(&parent))
            && words.is_ok_and(|words| words.contains("--unmount-at-end"))
    };
    let folders = fs::read_dir("/proc")
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let children = folders.filter(is_child);
    children
        .map(|folder| folder.file_name().unwrap().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn when_the_process_that_unmounts_was_killed_the_service_ends_and_the_next_start_unmounts() {
    if !has_fuse() {
        return;
    }
    let (mut service, mount) = start_with_files();
    let read = || fs::File::open(mount.join("random"))?.read(&mut [0; 16]);
    for signal in ["-TERM", "-KILL"] {
        let helpers = children(service.child.id());
        assert_eq!(helpers.len(), 1, "{helpers:?}");
        sh(&format!("kill -9 {}", helpers[0]));
        service.end(signal);
        assert!(read().is_err(), "{signal}: an error, and never zeros");
        service.start_again();
        // The files answer as soon as the engine has its seed.
        assert_eq!(read().unwrap(), 16, "{signal}: {}", service.log());
    }
}

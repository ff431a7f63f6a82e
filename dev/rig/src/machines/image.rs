//! The guest image of `packaging/guest`: systemd starts the writer of the page, and a clone, a hook and an order of the host by
//! vsock change it.

use crate::guest::{
    Cache, Files, Guest, Kernel, MachineSetup, Programs, Result, Stop, Vm, at, failed, run,
    systemd, vsock_device,
};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

const MEMORY_MIB: usize = 1024;

/// The two words of the page: the number, and the number for which the kernel took new keys.
const WORDS: &str =
    "for place in 104 2048; do od -An -v -tx8 -j$place -N8 /run/wellspring/generation; done";

/// Waits until the unit has written the page.
const WRITTEN: &str = "n=0; until [ -e /run/wellspring/generation ] || [ $n -gt 600 ]; do sleep 0.1; n=$((n + 1)); done; \
    systemctl is-active wellspring-generation.service || systemctl status --no-pager wellspring-generation.service";

/// Waits until the number is another one.
const CHANGED: &str = "n=0; until [ \"$(od -An -v -tx8 -j104 -N8 /run/wellspring/generation)\" != \" OLD\" ]; do \
    sleep 0.1; n=$((n + 1)); [ $n -lt 600 ] || break; done";

/// The service with a socket for the host, in place of the unit that writes the page alone.
const SERVE: &str = "for file in /needed/*; do insmod $file; done; mkdir -p /etc/wellspring; \
    printf '[bulk]\\nlisten = [\"bulk.sock\", \"vsock::9465\"]\\n' >/etc/wellspring/wellspring.toml; \
    systemctl start wellspringd.service && systemctl is-active wellspringd.service";

/// The image: a small Debian system, and what `make install-guest` adds to it; the programs are the static ones.
pub(super) fn initramfs(
    setup: &MachineSetup,
    cache: &Cache,
    root: &Path,
    kernel: &Kernel,
    programs: &Programs,
) -> Result<PathBuf> {
    let built = cache.fresh("guest-built")?;
    let packed = setup.folder.join("tree.tar");
    // The whole tree, as the book that install.sh installs has pages from each room.
    let tree = ["--exclude=target", "--exclude=.git", "-C"];
    run(Command::new("tar")
        .arg("-cf")
        .args([&packed])
        .args(tree)
        .args([root, Path::new(".")]))?;
    run(Command::new("tar")
        .arg("-xf")
        .args([&packed])
        .arg("-C")
        .arg(&built))?;
    fs::remove_file(&packed).map_err(at(packed.display()))?;
    let programs = [&programs.wellspring, &programs.wellspringd];
    fs::create_dir(built.join("bin")).map_err(at("bin"))?;
    run(Command::new("cp").args(programs).arg(built.join("bin")))?;
    let install = |script: &str| {
        let mut command = Command::new(built.join("packaging").join(script));
        command.args(["install", "/usr"]);
        command
    };
    let needed = kernel.modules(cache, &[], &["virtio_pci", "vmw_vsock_virtio_transport"])?;
    Files::system(cache, "image", &systemd(cache)?)?
        .installed_by(&mut install("install.sh"))?
        .installed_by(&mut install("guest/install.sh"))?
        .contents("needed", &needed)?
        .write(setup.folder.join("image-initramfs"))
}

/// Two clones with vmgenid, then the hook for a resume without a notice.
pub(super) fn clones(setup: &MachineSetup, kernel: &Path, initramfs: &Path) -> Result<String> {
    let state = setup.folder.join("image-state");
    let mut vm = Vm::new(kernel, initramfs, 1, 2);
    vm.memory_mib = MEMORY_MIB;
    vm.notices = true;
    let mut guest = setup.qemu.start(&vm)?;
    guest.must(WRITTEN)?;
    let old = reseeded_number(&mut guest)?;
    guest.save(&state)?;
    vm.state = Some(&state);
    let mut bytes = Vec::new();
    for _ in 0..2 {
        let mut guest = setup.qemu.start(&vm)?;
        guest.must(&CHANGED.replace("OLD", &old))?;
        let cloned = number_after(&mut guest, &old)?;
        bytes.push(
            guest
                .must("od -An -v -tx8 -N64 /dev/urandom; wellspring bytes 64 --hex 2>/dev/null")?,
        );
        guest.must("head -c 32 /dev/urandom | /usr/lib/wellspring/hooks/resumed --nonce -")?;
        let resumed = number_after(&mut guest, &cloned)?;
        guest.must("/usr/lib/systemd/system-sleep/wellspring post suspend")?;
        number_after(&mut guest, &resumed)?;
        guest.must("systemctl is-active wellspring-generation.service")?;
        guest.end()?;
    }
    fs::remove_file(&state).map_err(at(state.display()))?;
    let words = |text: &str| {
        text.split_whitespace()
            .map(String::from)
            .collect::<Vec<_>>()
    };
    let (one, other) = (words(&bytes[0]), words(&bytes[1]));
    if one.iter().any(|word| other.contains(word)) {
        return failed(format!("two clones have bytes in common: {bytes:?}"));
    }
    Ok("the unit runs; a clone, the hook with a secret and the one for a sleep each reseed the kernel and change the page".into())
}

/// An order of the host, with a secret.
pub(super) fn order(
    setup: &MachineSetup,
    cache: &Cache,
    kernel: &Path,
    initramfs: &Path,
) -> Result<String> {
    let device = VsockDevice::start(cache)?;
    let devices = device.arguments();
    let mut vm = Vm::new(kernel, initramfs, 1, 2);
    vm.memory_mib = MEMORY_MIB;
    vm.shares_memory = true;
    vm.devices = &devices;
    let mut guest = setup.qemu.start(&vm)?;
    guest.must(SERVE)?;
    let old = reseeded_number(&mut guest)?;
    let answer = device.order(&[0x5a; 32])?;
    if answer != [b'w', 5, 0, 0, 0, 0, 0, 0] {
        return failed(format!("the answer to the order is {answer:?}"));
    }
    number_after(&mut guest, &old)?;
    guest.end()?;
    Ok("an order with a secret of 32 bytes reseeds the kernel and changes the page".into())
}

/// The number of the page. The kernel took new keys for it.
fn reseeded_number(guest: &mut Guest) -> Result<String> {
    let text = guest.must(WORDS)?;
    let mut words = text.split_whitespace();
    match (words.next(), words.next()) {
        (Some(number), Some(reseeded)) if number == reseeded => Ok(number.into()),
        _ => failed(format!(
            "the kernel took no new keys for the number: {text}"
        )),
    }
}

/// The same, if it is another one.
fn number_after(guest: &mut Guest, old: &str) -> Result<String> {
    let number = reseeded_number(guest)?;
    if number == old {
        return failed("the page did not change");
    }
    Ok(number)
}

/// The program behind a machine's vsock. Dropping it ends it and removes its folder.
struct VsockDevice {
    child: Child,
    folder: PathBuf,
}

impl VsockDevice {
    fn start(cache: &Cache) -> Result<Self> {
        // A socket's path has at most 107 bytes, so it is not below the repository.
        let folder = env::temp_dir().join(format!("wellspring-vsock-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(at(folder.display()))?;
        let mut command = Command::new(vsock_device(cache)?);
        command.arg("--guest-cid=3");
        command.arg("--socket").arg(folder.join("device"));
        command.arg("--uds-path").arg(folder.join("host"));
        let child = command.stdin(Stdio::null()).spawn().map_err(at("vsock"))?;
        let device = Self { child, folder };
        device.wait_for("device")?;
        Ok(device)
    }

    fn wait_for(&self, name: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        let until = Instant::now() + Duration::from_secs(60);
        while !path.exists() {
            if Instant::now() > until {
                return failed(format!("no {}", path.display()));
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(path)
    }

    fn arguments(&self) -> Vec<String> {
        let socket = self.folder.join("device");
        [
            "-chardev",
            &format!("socket,id=vsock,path={}", socket.display()),
            "-device",
            "vhost-user-vsock-pci,chardev=vsock",
        ]
        .map(str::to_owned)
        .into()
    }

    /// Gives the order as a hypervisor's host does (packaging/guest/README.md), and returns the guest's answer.
    fn order(&self, secret: &[u8; 32]) -> Result<[u8; 8]> {
        let exchange = |socket: PathBuf| -> std::io::Result<[u8; 8]> {
            let mut stream = UnixStream::connect(socket)?;
            stream.set_read_timeout(Some(Duration::from_secs(60)))?;
            stream.write_all(b"CONNECT 9465\n")?;
            let mut byte = [0];
            while byte != *b"\n" {
                stream.read_exact(&mut byte)?;
            }
            stream.write_all(&[b'w', 3, 0, 0, 32, 0, 0, 0])?;
            stream.write_all(secret)?;
            let mut answer = [0; 8];
            stream.read_exact(&mut answer)?;
            Ok(answer)
        };
        exchange(self.wait_for("host")?).map_err(|error| Stop::Failed(format!("vsock: {error}")))
    }
}

impl Drop for VsockDevice {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

//! The service for guests, which read it as /dev/hwrng, and in a guest: vsock, and the seeds of the kernel module.

use super::host::HostService;
use crate::guest::{
    Cache, Compiler, Files, Guest, Kernel, MachineSetup, Programs, Result, Table, Vm, at, failed,
};
use std::collections::HashSet;
use std::fs::{self, File};
use std::path::Path;

/// The modules of the distribution that the guests need.
const NEEDED: [&str; 3] = ["virtio_pci", "virtio_rng", "vsock_loopback"];

const LOAD: &str =
    "for file in /needed/* /module-needs/*; do [ ! -e $file ] || insmod $file || break; done";

/// The bytes that a guest reads at once.
pub(crate) const READ_BYTES: usize = 4096;

/// A repetition shorter than this is chance.
const PIECE_BYTES: usize = 8;

/// The bytes that a guest may keep from before it was copied: the driver of virtio-rng asks for 64 in advance, and the
/// kernel keeps at most 64 of an answer.
const MOST_KEPT_BYTES: usize = 128;

const UUID: &str = "11111111-2222-4333-8444-555555555555";
const MOUNT: &str = "mount -t ext4 /dev/nvme0n1 /mnt";
const SEED: &str = "/mnt/private/kernel-seed";

const CONFIG: &str = "[bulk]\nlisten = [\"bulk.sock\", \"vsock::9465\"]\n\
    [kernel_module]\nseed_file = \"/mnt/private/kernel-seed\"\n";

/// The service of a guest: starts, and waits for these words in its log.
const START: &str = "{ wellspringd --config /etc-wellspring.toml >/tmp/log 2>&1 & } && serving=$! && \
    n=0; until grep -q 'WORDS' /tmp/log; do sleep 0.2; n=$((n + 1)); [ $n -lt 600 ] || { cat /tmp/log; break; }; done; \
    grep -q 'WORDS' /tmp/log";

pub(super) struct Inputs<'a> {
    pub(super) cache: &'a Cache,
    pub(super) root: &'a Path,
    pub(super) kernel: &'a Kernel,
    pub(super) programs: &'a Programs,
}

pub(super) fn add_rows(
    table: &mut Table,
    setup: &MachineSetup,
    inputs: &Inputs<'_>,
    files: Files,
) -> Result {
    let Inputs {
        cache,
        root,
        kernel,
        programs,
    } = *inputs;
    let modules = kernel.build(cache, &root.join("kernel"), Compiler::Gcc)?;
    let module = modules.join("wellspring.ko");
    let needed = kernel.modules(cache, &[], &NEEDED)?;
    let of_module = kernel.modules(cache, std::slice::from_ref(&module), &[])?;
    let initramfs = files
        .copy("bin/wellspringd", &programs.wellspringd)?
        .copy("bin/draw", &programs.draw)?
        .copy("wellspring.ko", &module)?
        .contents("needed", &needed)?
        .contents("module-needs", &of_module)?
        .write(setup.folder.join("service-initramfs"))?;
    let kernel = &kernel.image;
    let host = HostService::start(&programs.wellspringd)?;
    table.add_outcome(
        "a guest reads the service, by EGD and vhost-user",
        devices(setup, kernel, &initramfs, &host),
    )?;
    table.add_outcome(
        "a guest and its twin read other bytes, by EGD",
        twins(setup, kernel, &initramfs, &host),
    )?;
    table.add_outcome(
        "the service in a guest: vsock, seeds of the kernel module over a reboot",
        module_seeds(setup, kernel, &initramfs),
    )
}

fn egd(host: &HostService) -> Vec<String> {
    let socket = host.socket("egd.sock");
    [
        "-chardev",
        &format!("socket,id=egd,path={}", socket.display()),
        "-object",
        "rng-egd,id=rng,chardev=egd",
        "-device",
        "virtio-rng-pci,rng=rng",
    ]
    .map(str::to_owned)
    .into()
}

fn vhost_user(host: &HostService) -> Vec<String> {
    let socket = host.socket("vhost-user.sock");
    [
        "-chardev",
        &format!("socket,id=guests,path={}", socket.display()),
        "-device",
        "vhost-user-rng-pci,chardev=guests",
    ]
    .map(str::to_owned)
    .into()
}

/// A guest reads /dev/hwrng from both kinds of device, and the service counts the bytes.
fn devices(
    setup: &MachineSetup,
    kernel: &Path,
    initramfs: &Path,
    host: &HostService,
) -> Result<String> {
    let devices = [egd(host), vhost_user(host)].concat();
    let mut vm = Vm::new(kernel, initramfs, 1, 2);
    vm.memory_mib = 512;
    vm.shares_memory = true;
    vm.devices = &devices;
    let mut guest = setup.qemu.start(&vm)?;
    guest.must(LOAD)?;
    let mut says = Vec::new();
    for (device, door) in ["egd", "vhost-user"].into_iter().enumerate() {
        let before = host.bytes(door)?;
        guest.must(&format!(
            "echo virtio_rng.{device} >/sys/class/misc/hw_random/rng_current"
        ))?;
        let bytes = read(&mut guest)?;
        check(&bytes)?;
        let counted = host.bytes(door)? - before;
        if counted < READ_BYTES as u64 {
            return failed(format!("{door} handed out {counted} bytes only"));
        }
        says.push(format!(
            "{door} {counted} bytes for {READ_BYTES} of /dev/hwrng"
        ));
    }
    guest.end()?;
    Ok(says.join(", "))
}

/// A guest is saved and resumed twice. What both read has nothing in common but what the guest held when it was saved.
fn twins(
    setup: &MachineSetup,
    kernel: &Path,
    initramfs: &Path,
    host: &HostService,
) -> Result<String> {
    let state = setup.folder.join("service-state");
    let devices = egd(host);
    let mut vm = Vm::new(kernel, initramfs, 1, 2);
    vm.memory_mib = 256;
    vm.devices = &devices;
    let mut guest = setup.qemu.start(&vm)?;
    guest.must(LOAD)?;
    check(&read(&mut guest)?)?;
    guest.save(&state)?;
    vm.state = Some(&state);
    let mut twins = Vec::new();
    for _ in 0..2 {
        let mut guest = setup.qemu.start(&vm)?;
        let bytes = read(&mut guest)?;
        check(&bytes)?;
        twins.push(bytes);
        guest.end()?;
    }
    fs::remove_file(&state).map_err(at(state.display()))?;
    let common = in_common(&twins[0], &twins[1]);
    let note = format!("{common} bytes of {READ_BYTES} in common");
    if common <= MOST_KEPT_BYTES {
        Ok(format!(
            "{note}; the guest may keep {MOST_KEPT_BYTES} from before it was saved"
        ))
    } else {
        failed(format!("{note}; the bound is {MOST_KEPT_BYTES}"))
    }
}

/// The bytes of `one` that lie in a piece which `other` has too, at any place.
fn in_common(one: &[u8], other: &[u8]) -> usize {
    let pieces: HashSet<&[u8]> = other.windows(PIECE_BYTES).collect();
    let mut is_common = vec![false; one.len()];
    for (start, piece) in one.windows(PIECE_BYTES).enumerate() {
        if pieces.contains(piece) {
            is_common[start..start + PIECE_BYTES].fill(true);
        }
    }
    is_common.into_iter().filter(|is_common| *is_common).count()
}

fn read(guest: &mut Guest) -> Result<Vec<u8>> {
    let read = format!("dd if=/dev/hwrng bs={READ_BYTES} count=1 iflag=fullblock 2>/dev/null");
    hexadecimal(guest, &read)
}

/// The output of a command of the guest.
pub(crate) fn hexadecimal(guest: &mut Guest, command: &str) -> Result<Vec<u8>> {
    let text = guest.must(&format!(
        "{command} | hexdump -v -e '16/1 \"%02x\" \"\\n\"'"
    ))?;
    let digits: String = text.split_whitespace().collect();
    let byte = |place| u8::from_str_radix(digits.get(place..place + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
    match bytes {
        Some(bytes) if bytes.len() == READ_BYTES => Ok(bytes),
        _ => failed(format!("'{command}' gave no {READ_BYTES} bytes: {text}")),
    }
}

/// Fails if a block of 16 bytes comes twice, or is zero.
pub(crate) fn check(bytes: &[u8]) -> Result {
    let blocks: HashSet<&[u8]> = bytes.chunks_exact(16).collect();
    if blocks.len() != bytes.len() / 16 || blocks.contains(&[0; 16][..]) {
        return failed("a block of 16 bytes is zero or comes twice");
    }
    Ok(())
}

/// The service in a guest with the kernel module: its clients come by vsock, and it carries the module's seeds over a
/// reboot.
fn module_seeds(setup: &MachineSetup, kernel: &Path, initramfs: &Path) -> Result<String> {
    const DISK_BYTES: u64 = 16 << 20;
    let disk = setup.folder.join("service-disk");
    let file = File::create(&disk).map_err(at(disk.display()))?;
    file.set_len(DISK_BYTES).map_err(at(disk.display()))?;
    let mut vm = Vm::new(kernel, initramfs, 2, 2);
    vm.memory_mib = 512;
    vm.disk = Some(&disk);
    vm.uuid = Some(UUID);
    let boot = || -> Result<Guest> {
        let mut guest = setup.qemu.start(&vm)?;
        guest.must(LOAD)?;
        guest.must("insmod /wellspring.ko")?;
        for line in CONFIG.lines() {
            guest.must(&format!("echo '{line}' >>/etc-wellspring.toml"))?;
        }
        Ok(guest)
    };

    let mut guest = boot()?;
    guest.must("mke2fs -F -I 256 /dev/nvme0n1 >/dev/null 2>&1")?;
    guest.must(&format!("{MOUNT} && mkdir -m 700 /mnt/private"))?;
    start_service(
        &mut guest,
        "seeds of 2 nodes of the kernel module are saved",
    )?;
    let bytes = hexadecimal(&mut guest, &format!("draw vsock:1:9465 {READ_BYTES}"))?;
    check(&bytes)?;
    let status = guest.must("wellspringd --config /etc-wellspring.toml status --json")?;
    if !status.contains("\"user\":\"vsock:1\"") {
        return failed(format!("no client by vsock in the status: {status}"));
    }
    end(&mut guest, "TERM")?;
    let shown = guest.must(&format!("wellspring seed show {SEED}"))?;
    if !shown.contains("sections  2") {
        return failed(format!("the file has no two sections: {shown}"));
    }
    guest.must("umount /mnt")?;
    guest.end()?;

    let mut guest = boot()?;
    guest.must(MOUNT)?;
    let credited = "2 nodes of the kernel module got a seed: a seed, credited 256 bits";
    start_service(&mut guest, credited)?;
    start_again_after_a_kill(&mut guest)?;
    end(&mut guest, "TERM")?;
    guest.must("umount /mnt")?;
    guest.end()?;
    Ok(format!(
        "{READ_BYTES} bytes by vsock; 2 nodes got their seeds after the reboot, 256 bits credited, and none after kill -9"
    ))
}

/// Starts the service in a guest, and waits for these words.
pub(crate) fn start_service(guest: &mut Guest, words: &str) -> Result {
    guest.must(&START.replace("WORDS", words)).map(drop)
}

/// Within a boot, a seed is mixed in without credit.
fn start_again_after_a_kill(guest: &mut Guest) -> Result {
    end(guest, "KILL")?;
    start_service(
        guest,
        "2 nodes of the kernel module got a seed: a seed, not credited",
    )
}

/// Ends the service of a guest, and waits for its process that reseeds the kernel. The guest's init, a shell, is told when that
/// ends: if the shell is reading the next command then, it loses what it has read of it.
fn end(guest: &mut Guest, signal: &str) -> Result {
    let command = format!(
        "kill -{signal} $serving; wait $serving; n=0; while pgrep -f reseed-kernel >/dev/null && [ $n -lt 600 ]; do \
         sleep 0.1; n=$((n + 1)); done; [ $n -lt 600 ]"
    );
    guest.must(&command).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_readings_have_in_common_is_found_at_any_place() {
        let bytes: Vec<u8> = (0..100).collect();
        let other: Vec<u8> = (0..100).map(|byte: u8| byte + 100).collect();
        assert_eq!(in_common(&bytes, &other), 0);
        let shifted = [&other[..30], &bytes[10..30], &other[30..]].concat();
        assert_eq!(in_common(&shifted, &bytes), 20);
        let short = [&other[..30], &bytes[10..17], &other[30..]].concat();
        assert_eq!(in_common(&short, &bytes), 0);
    }

    #[test]
    fn a_block_of_zeros_or_one_that_comes_twice_fails() {
        let bytes: Vec<u8> = (0..64).collect();
        assert!(check(&bytes).is_ok());
        assert!(check(&[&bytes[..], &bytes[16..32]].concat()).is_err());
        assert!(check(&[&bytes[..], &[0; 16]].concat()).is_err());
    }
}

//! The service in an aarch64 machine: it becomes its user, closes its sandbox, and answers at a socket and through its
//! device files, which need the kernel's FUSE.

use crate::guest::{Guest, Kernel, Result, failed};
use crate::machines::{MachineSetup, READ_BYTES, check, door_bytes, hexadecimal, start_service};

/// The modules of the distribution that it needs.
pub(super) const MODULES: [&str; 1] = ["fuse"];

/// The commands that prepare the system: modules, folders, the user of the service, its configuration.
const PREPARE: [&str; 4] = [
    "for file in /needed/*; do [ ! -e $file ] || insmod $file || break; done",
    "mkdir /etc /run/files",
    "echo 'wellspring:x:500:500::/:/bin/false' >/etc/passwd",
    "printf '[files]\\nmount = \"/run/files\"\\n' >/etc-wellspring.toml",
];

/// A door, and what draws on it.
const DRAWS: [(&str, &str); 2] = [
    ("bulk", "draw /run/wellspring/bulk.sock BYTES"),
    (
        "urandom",
        "dd if=/run/files/urandom bs=BYTES count=1 2>/dev/null",
    ),
];

/// Ends the service by a signal. It must return 0, and unmount.
const END: &str = "kill -TERM $serving && wait $serving && ! grep /run/files /proc/mounts";

/// Starts it, draws on both doors, and asks it for its status and the kernel for what it may do.
pub(super) fn answers(setup: &MachineSetup, kernel: &Kernel) -> Result<String> {
    let mut guest = setup.qemu.start(&setup.vm(&kernel.image, 1, 2))?;
    for line in PREPARE {
        guest.must(line)?;
    }
    start_service(&mut guest, "ready: ")?;
    for (_, command) in DRAWS {
        let command = command.replace("BYTES", &READ_BYTES.to_string());
        check(&hexadecimal(&mut guest, &command)?)?;
    }
    let status = guest.must("wellspringd --config /etc-wellspring.toml status --json")?;
    for (door, _) in DRAWS {
        if door_bytes(&status, door) != Some(READ_BYTES as u64) {
            return failed(format!("not {READ_BYTES} bytes by {door}: {status}"));
        }
    }
    is_enclosed(&mut guest)?;
    guest.must(END)?;
    guest.end()?;
    Ok(format!(
        "{READ_BYTES} bytes by a socket and by a device file, as its own user with seccomp"
    ))
}

/// Whether it has lost root's rights and has a filter of system calls.
fn is_enclosed(guest: &mut Guest) -> Result {
    let says = guest.must("cat /proc/$serving/status")?;
    let fields: Vec<String> = says
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for wanted in ["Uid: 500 500 500 500", "Seccomp: 2"] {
        if !fields.iter().any(|field| field == wanted) {
            return failed(format!("the service has not '{wanted}': {says}"));
        }
    }
    Ok(())
}

//! random(4)'s ioctls and unknown ones, with a privilege and without it; and the ioctls that the device has alone.

use super::comparison::{Comparison, PAGE_BYTES, cliff, open_with};
use crate::ioctl::{self, RESTORE, SAVE, SEED_BYTES, Seed};
use crate::open::DEVICE;
use crate::probes;
use crate::test::{Outcome, Stop};
use rustix::fd::AsFd;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::ioctl::opcode;

/// random(4)'s numbers, with the arguments of `<linux/random.h>`.
const GET_COUNT: u64 = opcode::read::<i32>(b'R', 0) as u64;
const ADD_COUNT: u64 = opcode::write::<i32>(b'R', 1) as u64;
const GET_POOL: u64 = opcode::read::<[i32; 2]>(b'R', 2) as u64;
const ADD_ENTROPY: u64 = opcode::write::<[i32; 2]>(b'R', 3) as u64;
const ZAP_COUNT: u64 = opcode::none(b'R', 4) as u64;
const CLEAR_POOL: u64 = opcode::none(b'R', 6) as u64;
const RESEED: u64 = opcode::none(b'R', 7) as u64;

/// Known ioctl numbers with bad arguments, numbers of another size, unknown numbers. Nothing here earns credit.
fn known_and_unknown(both: &mut Comparison) -> Result<(), Stop> {
    let nowhere = cliff(0, PAGE_BYTES, libc::PROT_NONE)?;
    let mut words: [i32; 16] = [0; 16];
    let at = words.as_mut_ptr().expose_provenance();
    for number in [GET_COUNT, ADD_COUNT, GET_POOL, ADD_ENTROPY] {
        for (name, address) in [
            ("NULL", 0),
            ("nowhere", nowhere.address()),
            ("-1", usize::MAX),
        ] {
            both.call(&format!("ioctl {number:#x} with {name}"), |file| {
                probes::control(file, number, address)
            })?;
        }
    }
    // Bits, bytes, data: negative, longer than what is there, none.
    for entropy in [
        [-1, 16],
        [0, -1],
        [0, i32::MAX],
        [i32::MIN, 0],
        [0, 0],
        [0, 16],
    ] {
        words[..2].copy_from_slice(&entropy);
        let edge = cliff(PAGE_BYTES, PAGE_BYTES, libc::PROT_READ | libc::PROT_WRITE)?;
        let mut far = words;
        far[2..].fill(7);
        let near = far.as_mut_ptr().expose_provenance();
        both.call(
            &format!("RNDADDENTROPY of {entropy:?}"),
            |file| match entropy[1] {
                // So long that it must hit the end of something: of memory of ours.
                i32::MAX => probes::control(file, ADD_ENTROPY, edge.address() + PAGE_BYTES - 4),
                _ => probes::control(file, ADD_ENTROPY, near),
            },
        )?;
    }
    for count in [-1, i32::MIN, 0] {
        words[0] = count;
        both.call(&format!("RNDADDTOENTCNT of {count}"), |file| {
            probes::control(file, ADD_COUNT, at)
        })?;
    }
    for number in [ZAP_COUNT, CLEAR_POOL, RESEED] {
        both.call(&format!("ioctl {number:#x}"), |file| {
            probes::control(file, number, 0)
        })?;
    }
    let strange = [
        opcode::read::<u64>(b'R', 0) as u64,
        opcode::read::<u8>(b'R', 0) as u64,
        opcode::write::<i32>(b'R', 0) as u64,
        opcode::none(b'R', 0) as u64,
        opcode::write::<u64>(b'R', 1) as u64,
        opcode::write::<[u8; 64]>(b'R', 3) as u64,
        opcode::read::<i32>(b'R', 4) as u64,
        opcode::none(b'R', 5) as u64,
        opcode::none(b'R', 8) as u64,
        opcode::read_write::<[u8; SEED_BYTES]>(b'R', 0x60) as u64,
        opcode::read::<Seed>(b'R', 0x60) as u64,
        opcode::write::<[u8; 8]>(b'R', 0x61) as u64,
        opcode::none(b'R', 0x62) as u64,
        0,
        0x5401,
        u64::from(u32::MAX),
    ];
    for number in strange {
        both.call(&format!("ioctl {number:#x}"), |file| {
            probes::control(file, number, at)
        })?;
    }
    Ok(())
}

pub(super) fn ioctls() -> Outcome {
    let mut both = Comparison::new(OFlags::RDWR)?;
    known_and_unknown(&mut both)?;
    let mut bits = -1;
    let at = (&raw mut bits).expose_provenance();
    let got = probes::control(both.device.as_fd(), GET_COUNT, at);
    match (got.0, (0..=256).contains(&bits)) {
        (Ok(0), true) => Ok(both.figures()),
        _ => Err(Stop::Failed(format!(
            "RNDGETENTCNT returns {got} and {bits}"
        ))),
    }
}

/// The same without CAP_SYS_ADMIN; its own ioctls need it too.
pub(super) fn unprivileged() -> Outcome {
    let probe = || {
        let mut both = Comparison::new(OFlags::RDWR)?;
        known_and_unknown(&mut both)?;
        for (name, number) in [("save", SAVE), ("restore", RESTORE)] {
            let returned = probes::control(both.device.as_fd(), number as u64, 0);
            if returned.0 != Err(libc::EPERM) {
                return Err(Stop::Failed(format!("{name} returns {returned}")));
            }
        }
        Ok(both.figures())
    };
    let skipped = || {
        Err(Stop::Skipped(
            "this process cannot give up a privilege".into(),
        ))
    };
    probes::without_privilege(probe).unwrap_or_else(skipped)
}

/// The credit of an operator has arrived at node 0 when the call returns.
pub(super) fn credit() -> Outcome {
    let device = open_with(DEVICE, OFlags::RDWR)?;
    // Bits, bytes, data.
    let mut entropy = [7i32; 10];
    entropy[..2].copy_from_slice(&[256, 32]);
    let mut bits = 100i32;
    for (name, number, address, wanted) in [
        (
            "RNDADDENTROPY",
            ADD_ENTROPY,
            entropy.as_mut_ptr().expose_provenance(),
            256,
        ),
        (
            "RNDADDTOENTCNT",
            ADD_COUNT,
            (&raw mut bits).expose_provenance(),
            100,
        ),
    ] {
        let before = credited_bits()?;
        let returned = probes::control(device.as_fd(), number, address);
        let arrived = credited_bits()? - before;
        if returned.0 != Ok(0) || arrived < wanted {
            return Err(Stop::Failed(format!(
                "{name} of {wanted} bits returns {returned}, and {arrived} bits arrive"
            )));
        }
    }
    Ok("256 and 100 bits arrived".into())
}

/// The bits that node 0 has received, from debugfs.
fn credited_bits() -> Result<u64, Stop> {
    const NODES: &str = "/sys/kernel/debug/wellspring/nodes";
    let text = std::fs::read_to_string(NODES)
        .map_err(|error| Stop::Skipped(format!("{NODES}: {error}")))?;
    let mut lines = text.lines().map(str::split_whitespace);
    let names = lines.next().into_iter().flatten();
    let values = lines.next().into_iter().flatten();
    let found = names.zip(values).find(|(name, _)| *name == "credited_bits");
    let bits = found.and_then(|(_, value)| value.parse().ok());
    bits.ok_or_else(|| Stop::Failed(format!("{NODES} has no credited_bits: {text}")))
}

/// The calls that the other device does not have.
pub(super) fn own_ioctls() -> Outcome {
    let device = open_with(DEVICE, OFlags::RDWR)?;
    let seed = |node, credit_bits| Seed {
        node,
        credit_bits,
        bytes: [7; SEED_BYTES],
    };
    let expect = |name: &str, got: Result<(), Errno>, wanted: Result<(), Errno>| {
        if got == wanted {
            return Ok(());
        }
        let reason = format!("{name}: {got:?} instead of {wanted:?}");
        Err(Stop::Failed(reason))
    };
    for node in [64, 9999, u32::MAX] {
        expect(
            "save of no node",
            ioctl::save(&device, &mut seed(node, 0)),
            Err(Errno::NXIO),
        )?;
        expect(
            "restore of no node",
            ioctl::restore(&device, seed(node, 0)),
            Err(Errno::NXIO),
        )?;
    }
    for credit_bits in [257, u32::MAX] {
        let restored = ioctl::restore(&device, seed(0, credit_bits));
        expect("too much credit", restored, Err(Errno::INVAL))?;
    }
    for number in [SAVE, RESTORE] {
        for address in [0, usize::MAX - 4095] {
            let returned = probes::control(device.as_fd(), number as u64, address);
            if returned.0 != Err(libc::EFAULT) {
                return Err(Stop::Failed(format!(
                    "ioctl {number:#x} returns {returned}"
                )));
            }
        }
    }
    let (mut one, mut other) = (seed(0, 5), seed(0, 5));
    expect("save", ioctl::save(&device, &mut one), Ok(()))?;
    expect("restore", ioctl::restore(&device, one), Ok(()))?;
    expect("save again", ioctl::save(&device, &mut other), Ok(()))?;
    if one.bytes == other.bytes || one.bytes == [7; SEED_BYTES] || one.credit_bits != 0 {
        Err(Stop::Failed("a node gives its seed twice, or none".into()))
    } else {
        Ok("16 calls".into())
    }
}

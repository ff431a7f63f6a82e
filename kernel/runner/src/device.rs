//! The device file does what random(4)'s does: each call is made on both, and both must return the same.

use crate::ioctl::{self, RESTORE, SAVE, SEED_BYTES, Seed};
use crate::probes::{self, Cliff, Returned};
use crate::test::{DEVICE, Outcome, Stop, Test, are_distinct, broken};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::ioctl::opcode;
use rustix::pipe::{SpliceFlags, pipe, splice};

pub(crate) fn tests() -> Vec<Test> {
    type Run = fn() -> Outcome;
    let tests: [(&str, Run); 10] = [
        ("bad-pointers", bad_pointers),
        ("lengths", lengths),
        ("ioctls", ioctls),
        ("unprivileged", unprivileged),
        ("credit", credit),
        ("own-ioctls", own_ioctls),
        ("files", files),
        ("signals", signals),
        ("poll", polled),
        ("splice", spliced),
    ];
    let test = |(name, run): (&str, Run)| Test::new(format!("device/{name}"), run);
    tests.into_iter().map(test).collect()
}

// ---- a call on both files ----
// A call on both files, and what it returned.

/// The device that it is compared with.
const MODEL: &str = "/dev/urandom";

const PAGE_BYTES: usize = 4096;

fn open_with(path: &str, flags: OFlags) -> Result<OwnedFd, Stop> {
    let file = open(path, flags | OFlags::CLOEXEC, Mode::empty());
    file.map_err(|error| broken(path, error))
}

/// Calls made on both files, and how many there were.
struct Comparison {
    pub(super) device: OwnedFd,
    model: OwnedFd,
    pub(super) calls: u32,
}

impl Comparison {
    pub(super) fn new(flags: OFlags) -> Result<Self, Stop> {
        Ok(Self {
            device: open_with(DEVICE, flags)?,
            model: open_with(MODEL, flags)?,
            calls: 0,
        })
    }

    pub(super) fn call(
        &mut self,
        name: &str,
        call: impl Fn(BorrowedFd<'_>) -> Returned,
    ) -> Result<Returned, Stop> {
        self.call_up_to(0, name, call)
    }

    /// A call whose memory ends after this many bytes. On arm64 any part of them may be copied: the kernel copies in steps,
    /// and the address of its own buffer sets where a step begins.
    pub(super) fn call_up_to(
        &mut self,
        end: usize,
        name: &str,
        call: impl Fn(BorrowedFd<'_>) -> Returned,
    ) -> Result<Returned, Stop> {
        let (ours, theirs) = (call(self.device.as_fd()), call(self.model.as_fd()));
        self.calls += 1;
        let is_part = |Returned(of)| of.is_ok_and(|bytes| (1..=end as i64).contains(&bytes));
        let are_parts = is_part(ours) && is_part(theirs);
        if ours == theirs || cfg!(target_arch = "aarch64") && are_parts {
            Ok(ours)
        } else {
            Err(Stop::Failed(format!(
                "{name} returns {ours}, of {MODEL} {theirs}"
            )))
        }
    }

    pub(super) fn figures(&self) -> String {
        format!("{} calls as {MODEL}", self.calls)
    }
}

pub(super) fn cliff(good: usize, bad: usize, protection: i32) -> Result<Cliff, Stop> {
    Cliff::new(good, bad, protection).map_err(|error| broken("memory", error))
}

// ---- pointers and lengths ----
// Pointers and lengths of reads and writes.

/// Unmapped addresses, kernel addresses, read-only memory, and memory that ends in the middle.
fn bad_pointers() -> Outcome {
    let mut both = Comparison::new(OFlags::RDWR)?;
    let both_ways = libc::PROT_READ | libc::PROT_WRITE;
    let nowhere = cliff(0, 16 * PAGE_BYTES, libc::PROT_NONE)?;
    let constant = cliff(4 * PAGE_BYTES, PAGE_BYTES, libc::PROT_READ)?;
    for length in [0, 1, 16, 64, 255, 256, 257, 4095, 4096, 4097, 65536] {
        for (name, address) in [
            ("NULL", 0),
            ("page 0", 1),
            ("nowhere", nowhere.address()),
            ("constant", constant.address()),
            ("the kernel's", 0xffff_8880_0000_0000_u64 as usize),
            ("the end", usize::MAX - 4095),
            ("no address", 0x8000_0000_0000_0000_u64 as usize),
        ] {
            both.call(&format!("read of {length} to {name}"), |file| {
                probes::read(file, address, length)
            })?;
            both.call(&format!("write of {length} from {name}"), |file| {
                probes::write(file, address, length)
            })?;
        }
    }
    let edge = cliff(4 * PAGE_BYTES, 16 * PAGE_BYTES, both_ways)?;
    let end = edge.address() + 4 * PAGE_BYTES;
    for before in [1, 15, 63, 64, 100, 256, 300, 4095, 4096, 4097, 8192, 10_000] {
        for beyond in [0, 1, 100, 5000, 60_000] {
            let (address, length) = (end - before, before + beyond);
            // A call whose memory is all there must use all of it.
            let part = if beyond == 0 { 0 } else { before };
            let name = format!("of {length}, {beyond} beyond the edge");
            both.call_up_to(part, &format!("read {name}"), |file| {
                probes::read(file, address, length)
            })?;
            both.call_up_to(part, &format!("write {name}"), |file| {
                probes::write(file, address, length)
            })?;
        }
    }
    Ok(both.figures())
}

/// No bytes, 4 GiB with one MiB that can be written, and numbers that are too large for a length.
pub(super) fn lengths() -> Outcome {
    const MIB: usize = 1 << 20;
    let mut both = Comparison::new(OFlags::RDWR)?;
    let large = cliff(MIB, (4 << 30) - MIB, libc::PROT_READ | libc::PROT_WRITE)?;
    let at = large.address();
    for length in [
        0,
        1,
        4096,
        MIB,
        4 << 30,
        (4 << 30) + 1,
        isize::MAX as usize,
        usize::MAX,
    ] {
        let got = both.call(&format!("read of {length}"), |file| {
            probes::read(file, at, length)
        })?;
        if length == 4 << 30 && got.0 != Ok(MIB as i64) {
            return Err(Stop::Failed(format!("a read of 4 GiB returns {got}")));
        }
        both.call(&format!("write of {length}"), |file| {
            probes::write(file, at, length)
        })?;
    }
    let mut bytes = vec![0; 4 * MIB];
    let read = rustix::io::read(&both.device, &mut bytes).map_err(|error| broken(DEVICE, error))?;
    if read != bytes.len() {
        return Err(Stop::Failed(format!("a read of 4 MiB returns {read}")));
    }
    are_distinct(&bytes)?;
    Ok(both.figures())
}

// ---- ioctls ----
// random(4)'s ioctls and unknown ones, with a privilege and without it; and the ioctls that the device has alone.

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
fn unprivileged() -> Outcome {
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
fn credit() -> Outcome {
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
fn own_ioctls() -> Outcome {
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

// ---- other operations ----
// Other operations on an open file, and reads that signals interrupt.

/// Other operations on an open file.
pub(super) fn files() -> Outcome {
    let mut calls = 0;
    for flags in [
        OFlags::RDONLY,
        OFlags::WRONLY,
        OFlags::RDWR,
        OFlags::RDWR | OFlags::NONBLOCK,
    ] {
        let mut both = Comparison::new(flags)?;
        for offset in [0, 1, -1, i64::MAX] {
            both.call(&format!("lseek to {offset}"), |file| {
                probes::seek(file, offset)
            })?;
        }
        both.call("mmap", probes::map)?;
        let mut bytes = [0; 64];
        let at = bytes.as_mut_ptr().expose_provenance();
        both.call("read", |file| probes::read(file, at, 64))?;
        both.call("write", |file| probes::write(file, at, 64))?;
        for length in [0, 16, 4096] {
            both.call("preadv2 with RWF_NOWAIT", |file| {
                probes::read_at_once(file, &mut vec![0; length])
            })?;
        }
        calls += both.calls;
    }
    Ok(format!("{calls} calls as {MODEL}"))
}

/// A read of 2 GiB that signals interrupt returns whole pages; one of a page comes whole.
pub(super) fn signals() -> Outcome {
    let device = open_with(DEVICE, OFlags::RDONLY)?;
    let mut memory = vec![0; 2 << 20];
    let got = probes::under_signals(40, || {
        probes::read_again_and_again(device.as_fd(), &mut memory)
    });
    let read = match got.0 {
        Ok(read) if read > 0 && read < 2 << 30 && read % PAGE_BYTES as i64 == 0 => read,
        _ => {
            return Err(Stop::Failed(format!(
                "an interrupted read of 2 GiB returns {got}"
            )));
        }
    };
    let whole = probes::under_signals(1, || {
        (0..2000).all(|_| rustix::io::read(&device, &mut memory[..PAGE_BYTES]) == Ok(PAGE_BYTES))
    });
    if whole {
        Ok(format!("{read} of 2147483648 bytes; 2000 pages whole"))
    } else {
        Err(Stop::Failed("a read of a page was short".into()))
    }
}

/// With a seed: ready to be read, and not "to be written". Compared with /dev/random, since /dev/urandom is always
/// ready for both.
fn polled() -> Outcome {
    const MODEL: &str = "/dev/random";
    let flags = OFlags::RDWR | OFlags::NONBLOCK;
    let (device, model) = (open_with(DEVICE, flags)?, open_with(MODEL, flags)?);
    let all = PollFlags::IN | PollFlags::OUT | PollFlags::RDNORM | PollFlags::WRNORM;
    let mut files = [PollFd::new(&device, all), PollFd::new(&model, all)];
    poll(&mut files, None).map_err(|error| broken("poll", error))?;
    if files[0].revents() == files[1].revents() {
        Ok(format!("{:?}", files[0].revents()))
    } else {
        Err(Stop::Failed(format!(
            "poll says {:?}, of {MODEL} {:?}",
            files[0].revents(),
            files[1].revents()
        )))
    }
}

/// Out into a pipe, and from a pipe in.
fn spliced() -> Outcome {
    const LENGTH: usize = 32768;
    let device = open_with(DEVICE, OFlags::RDWR)?;
    let (from, to) = pipe().map_err(|error| broken("pipe", error))?;
    let mut bytes = vec![0; 4 * LENGTH];
    for piece in bytes.chunks_mut(LENGTH) {
        let moved = splice(&device, None, &to, None, LENGTH, SpliceFlags::empty());
        let moved = moved.map_err(|error| broken("splice", error))?;
        let read = rustix::io::read(&from, &mut piece[..moved]);
        if (moved, read) != (LENGTH, Ok(LENGTH)) {
            return Err(Stop::Failed(format!(
                "splice moved {moved} bytes, of which came {read:?}"
            )));
        }
    }
    are_distinct(&bytes)?;
    rustix::io::write(&to, &bytes[..LENGTH]).map_err(|error| broken("pipe", error))?;
    let moved = splice(&from, None, &device, None, LENGTH, SpliceFlags::empty());
    match moved {
        Ok(LENGTH) => Ok(format!("{} bytes out, {LENGTH} in", bytes.len())),
        other => Err(Stop::Failed(format!(
            "splice into the device returns {other:?}"
        ))),
    }
}

//! The ioctls of `kernel/uapi.h` and `kernel/tests/test.h`.

use rustix::fd::AsFd;
use rustix::io::Result;
use rustix::ioctl::{NoArg, Opcode, Setter, Updater, ioctl, opcode};

/// Bytes of a node's seed.
pub(crate) const SEED_BYTES: usize = 32;

const GROUP: u8 = b'R';

/// `struct wellspring_seed`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Seed {
    pub(crate) node: u32,
    pub(crate) credit_bits: u32,
    pub(crate) bytes: [u8; SEED_BYTES],
}

/// `struct wellspring_test_name`.
#[repr(C)]
pub(crate) struct TestName {
    pub(crate) index: u32,
    pub(crate) name: [u8; 64],
}

/// `struct wellspring_test_run`.
#[repr(C)]
pub(crate) struct TestRun {
    pub(crate) index: u32,
    pub(crate) comparison: u32,
    pub(crate) report: [u8; 444],
}

/// `struct wellspring_replay_begin`.
#[repr(C)]
pub(crate) struct ReplayBegin {
    pub(crate) cipher: u32,
    pub(crate) concurrent: u32,
    pub(crate) backend: u32,
    pub(crate) forced: u32,
    pub(crate) key: [u8; 32],
    pub(crate) counter: [u8; 16],
}

/// `struct wellspring_replay_event`.
#[repr(C)]
pub(crate) struct ReplayEvent {
    pub(crate) counter: u32,
    pub(crate) pool: u32,
    pub(crate) bytes: u32,
    pub(crate) data: [u8; 32],
}

/// `struct wellspring_replay_read`.
#[repr(C)]
struct ReplayRead {
    bytes: u64,
    destination: u64,
}

/// `struct wellspring_replay_state`.
#[repr(C)]
#[derive(Default)]
pub(crate) struct ReplayState {
    pub(crate) reseeds: u64,
    pub(crate) first_pool_bytes: u64,
    pub(crate) counter: [u8; 16],
    pub(crate) key: [u8; 32],
}

/// `struct wellspring_test_measure`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Measure {
    pub(crate) measurement: u32,
    pub(crate) count: u32,
    pub(crate) ns: u64,
    pub(crate) numbers_ns: u64,
    pub(crate) switches: u64,
    pub(crate) errors: u64,
}

/// `struct wellspring_test_speed`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Speed {
    pub(crate) way: u32,
    pub(crate) readers: u32,
    pub(crate) bytes: u32,
    pub(crate) ms: u32,
    pub(crate) reads: u64,
    pub(crate) ns: u64,
    pub(crate) errors: u64,
    pub(crate) locks: u64,
    pub(crate) lock_wait_ns: u64,
    pub(crate) harvester_ns: u64,
    pub(crate) turn_ns: u64,
    pub(crate) turn_reads: u64,
    pub(crate) delay_ns: [u64; 3],
    pub(crate) delays: u32,
    pub(crate) unused: u32,
}

pub(crate) const SAVE: Opcode = opcode::read_write::<Seed>(GROUP, 0x60);
pub(crate) const RESTORE: Opcode = opcode::write::<Seed>(GROUP, 0x61);
const LIST: Opcode = opcode::read_write::<TestName>(GROUP, 0x70);
const RUN: Opcode = opcode::read_write::<TestRun>(GROUP, 0x71);
const BEGIN: Opcode = opcode::write::<ReplayBegin>(GROUP, 0x72);
const EVENT: Opcode = opcode::write::<ReplayEvent>(GROUP, 0x73);
const RESEED: Opcode = opcode::none(GROUP, 0x74);
const READ: Opcode = opcode::write::<ReplayRead>(GROUP, 0x75);
const STATE: Opcode = opcode::read::<ReplayState>(GROUP, 0x76);
const MEASURE: Opcode = opcode::read_write::<Measure>(GROUP, 0x77);
const SPEED: Opcode = opcode::read_write::<Speed>(GROUP, 0x78);

pub(crate) fn save(device: impl AsFd, seed: &mut Seed) -> Result<()> {
    // SAFETY: this opcode reads and writes one `struct wellspring_seed`. Any bytes are a valid `Seed`.
    unsafe { ioctl(device, Updater::<SAVE, Seed>::new(seed)) }
}

pub(crate) fn restore(device: impl AsFd, seed: Seed) -> Result<()> {
    // SAFETY: this opcode reads one `struct wellspring_seed`.
    unsafe { ioctl(device, Setter::<RESTORE, Seed>::new(seed)) }
}

pub(crate) fn list(device: impl AsFd, name: &mut TestName) -> Result<()> {
    // SAFETY: this opcode reads and writes one `struct wellspring_test_name`. Any bytes are a valid `TestName`.
    unsafe { ioctl(device, Updater::<LIST, TestName>::new(name)) }
}

pub(crate) fn run(device: impl AsFd, test: &mut TestRun) -> Result<()> {
    // SAFETY: this opcode reads and writes one `struct wellspring_test_run`. Any bytes are a valid `TestRun`.
    unsafe { ioctl(device, Updater::<RUN, TestRun>::new(test)) }
}

pub(crate) fn measure(device: impl AsFd, measure: &mut Measure) -> Result<()> {
    // SAFETY: this opcode reads and writes one `struct wellspring_test_measure`. Any bytes are a valid `Measure`.
    unsafe { ioctl(device, Updater::<MEASURE, Measure>::new(measure)) }
}

pub(crate) fn speed(device: impl AsFd, speed: &mut Speed) -> Result<()> {
    // SAFETY: this opcode reads and writes one `struct wellspring_test_speed`. Any bytes are a valid `Speed`.
    unsafe { ioctl(device, Updater::<SPEED, Speed>::new(speed)) }
}

pub(crate) fn begin(device: impl AsFd, begin: ReplayBegin) -> Result<()> {
    // SAFETY: this opcode reads one `struct wellspring_replay_begin`.
    unsafe { ioctl(device, Setter::<BEGIN, ReplayBegin>::new(begin)) }
}

pub(crate) fn event(device: impl AsFd, event: ReplayEvent) -> Result<()> {
    // SAFETY: this opcode reads one `struct wellspring_replay_event`.
    unsafe { ioctl(device, Setter::<EVENT, ReplayEvent>::new(event)) }
}

pub(crate) fn reseed(device: impl AsFd) -> Result<()> {
    // SAFETY: this opcode has no argument.
    unsafe { ioctl(device, NoArg::<RESEED>::new()) }
}

pub(crate) fn read(device: impl AsFd, bytes: &mut [u8]) -> Result<()> {
    let request = ReplayRead {
        bytes: bytes.len() as u64,
        destination: bytes.as_mut_ptr() as u64,
    };
    // SAFETY: this opcode reads one `struct wellspring_replay_read`, and writes as many bytes as it says to where it
    // says: to `bytes`, which is ours alone.
    unsafe { ioctl(device, Setter::<READ, ReplayRead>::new(request)) }
}

pub(crate) fn state(device: impl AsFd, state: &mut ReplayState) -> Result<()> {
    // SAFETY: this opcode writes one `struct wellspring_replay_state`. Any bytes are a valid `ReplayState`.
    unsafe { ioctl(device, Updater::<STATE, ReplayState>::new(state)) }
}

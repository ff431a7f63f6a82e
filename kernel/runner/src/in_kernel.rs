//! The tests that the second module runs inside the kernel, and the module's own pools and generator as a [`Pipeline`], so that
//! vector files run through them.

use crate::ioctl::{self, ReplayBegin, ReplayEvent, ReplayState, TestName, TestRun};
use crate::test::{Failure, Outcome, Stop, TEST_DEVICE, Test, broken, open_device};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::rc::Rc;
use wellspring::Prf;
use wellspring_replay::{Event, Pipeline, Replay, ReplayError, State, run_function};

/// The tests as the module lists them.
pub(crate) fn tests(device: OwnedFd) -> Result<Vec<Test>, Failure> {
    let device = Rc::new(device);
    let mut tests = Vec::new();
    for index in 0.. {
        let mut name = TestName {
            index,
            name: [0; 64],
        };
        match ioctl::list(&*device, &mut name) {
            Ok(()) => {}
            Err(Errno::NXIO) => break,
            Err(error) => return Err(Failure::work(TEST_DEVICE, error)),
        }
        let device = Rc::clone(&device);
        tests.push(Test::new(text(&name.name), move || run(&device, index)));
    }
    Ok(tests)
}

/// Runs test `index` in the module. Returns the module's report.
fn run(device: &OwnedFd, index: u32) -> Outcome {
    let mut test = TestRun {
        index,
        comparison: 1,
        report: [0; 444],
    };
    ioctl::run(device, &mut test).map_err(|error| broken(TEST_DEVICE, error))?;
    let report = text(&test.report);
    match test.comparison {
        0 => Ok(report),
        2 => Err(Stop::Skipped(report)),
        _ => Err(Stop::Failed(report)),
    }
}

/// The text before the first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}

// ---- vector files ----
// The module's own pools and generator as a [`Pipeline`], so that vector files run through them.

/// A private Fortuna in the kernel, and the fastest backend that its cipher may use.
struct Module {
    device: OwnedFd,
    backend: u32,
    /// The settings of the fresh generator, until a state is forced into it.
    prf: Prf,
    concurrent: bool,
}

impl Module {
    fn start(&self, state: Option<([u8; 32], u128)>) -> rustix::io::Result<()> {
        let (key, counter) = state.unwrap_or_default();
        let begin = ReplayBegin {
            cipher: match self.prf {
                Prf::Aes256 => 0,
                Prf::ChaCha20 => 1,
            },
            concurrent: self.concurrent.into(),
            backend: self.backend,
            forced: state.is_some().into(),
            key,
            counter: counter.to_le_bytes(),
        };
        ioctl::begin(&self.device, begin)
    }
}

fn refused(_: Errno) -> ReplayError {
    ReplayError::Refused
}

impl Pipeline for Module {
    fn begin(&mut self, prf: Prf, concurrent: bool) -> Result<(), ReplayError> {
        (self.prf, self.concurrent) = (prf, concurrent);
        self.start(None).map_err(refused)
    }

    fn force(&mut self, key: [u8; 32], counter: u128) -> Result<(), ReplayError> {
        self.start(Some((key, counter))).map_err(refused)
    }

    fn absorb(&mut self, event: &Event) -> Result<(), ReplayError> {
        let mut data = [0; 32];
        let bytes = event.data().len();
        data[..bytes].copy_from_slice(event.data());
        let event = ReplayEvent {
            counter: event.counter(),
            pool: event.pool() as u32,
            bytes: bytes as u32,
            data,
        };
        ioctl::event(&self.device, event).map_err(refused)
    }

    fn reseed_if_due(&mut self) -> Result<(), ReplayError> {
        ioctl::reseed(&self.device).map_err(refused)
    }

    fn read(&mut self, bytes: &mut [u8]) -> Result<(), ReplayError> {
        ioctl::read(&self.device, bytes).map_err(refused)
    }

    fn state(&mut self) -> Result<State, ReplayError> {
        let mut state = ReplayState::default();
        ioctl::state(&self.device, &mut state).map_err(refused)?;
        Ok(State {
            reseeds: state.reseeds,
            first_pool_bytes: state.first_pool_bytes,
            counter: u128::from_le_bytes(state.counter),
            key: state.key,
        })
    }
}

/// FreeBSD's answers, for every backend of both ciphers, as `kernel/cipher.h` numbers them.
pub(crate) fn vector_tests() -> Vec<Test> {
    let backends = [
        (Prf::Aes256, 0, "aes256-scalar"),
        (Prf::Aes256, 1, "aes256-simd128"),
        (Prf::Aes256, 2, "aes256-simd256"),
        (Prf::ChaCha20, 0, "chacha20-scalar"),
        (Prf::ChaCha20, 1, "chacha20-library"),
    ];
    let check =
        |(prf, backend, name)| Test::new(format!("replay/{name}"), move || replay(prf, backend));
    backends.into_iter().map(check).collect()
}

fn replay(prf: Prf, backend: u32) -> Outcome {
    let module = Module {
        device: open_device(TEST_DEVICE, "wellspring_test")
            .map_err(|_| Stop::Failed(format!("{TEST_DEVICE} cannot be opened once more")))?,
        backend,
        prf,
        concurrent: false,
    };
    match module.start(None) {
        Err(Errno::OPNOTSUPP) => {
            return Err(Stop::Skipped("this CPU does not run it".into()));
        }
        other => other.map_err(|error| broken(TEST_DEVICE, error))?,
    }
    let freebsd = include_str!("../../../vectors/fortuna-freebsd.txt");
    let summary = run_function(Replay::on(module), prf, freebsd);
    let summary = summary.map_err(|(line, error)| broken(&format!("line {line}"), error))?;
    match summary.different {
        0 if summary.same > 0 => Ok(format!("{} answers", summary.same)),
        wrong => Err(Stop::Failed(format!("{wrong} wrong answers"))),
    }
}

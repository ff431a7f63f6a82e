//! `sources watch`.

use super::{WatchRequest, bits};
use crate::failure::Failure;
use crate::output::Output;
use crate::stats::table;
use wellspring::{Engine, Harvester, Stats};

/// Home, and clear from there.
const RENEW: &str = "\x1b[H\x1b[J";

pub(super) fn run(request: &WatchRequest) -> Result<(), Failure> {
    // Before there is a thread: it inherits what is blocked.
    let end = EndSignals::block();
    let builder = Engine::builder().harvester(Harvester::default());
    let engine = builder.build().map_err(Failure::work)?;
    let mut output = Output::standard()?;
    let is_live = output.is_terminal();
    let mut left = request.count.unwrap_or(u64::MAX);
    loop {
        // Without a reader a harvester slows down.
        let _: [u8; 32] = engine.bytes();
        let text = tables(&engine.stats());
        output.print(&match is_live {
            true => format!("{RENEW}{text}"),
            false => format!("{text}\n"),
        })?;
        left -= 1;
        if left == 0 || end.comes_within(request.interval_ms) {
            return Ok(());
        }
    }
}

fn tables(stats: &Stats) -> String {
    let head = [
        "source",
        "state",
        "claim",
        "used",
        "thrown away",
        "credited",
        "failures",
        "errors",
        "last error",
    ];
    let mut rows = vec![head.map(String::from)];
    rows.extend(stats.sources.iter().map(|source| {
        [
            source.name.to_string(),
            source.health.name().to_string(),
            bits(source.claim),
            source.bytes.to_string(),
            source.discarded_bytes.to_string(),
            format!("{} bits", source.credited_bits),
            format!(
                "{}+{}",
                source.intermittent_failures, source.permanent_failures
            ),
            source.errors.to_string(),
            source
                .last_error
                .map_or("-".into(), |error| error.to_string()),
        ]
    }));
    format!(
        "{}, generation {}, {} events dropped\n{}",
        stats.phase,
        stats.generation,
        stats.events_dropped,
        table(&rows)
    )
}

/// The signals that end a watch: waited for instead of handled.
struct EndSignals(libc::sigset_t);

impl EndSignals {
    fn block() -> Self {
        // SAFETY: all zeros is a signal set, the pointers are to it, and both signals exist.
        unsafe {
            let mut signals: libc::sigset_t = core::mem::zeroed();
            libc::sigemptyset(&raw mut signals);
            libc::sigaddset(&raw mut signals, libc::SIGINT);
            libc::sigaddset(&raw mut signals, libc::SIGTERM);
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, core::ptr::null_mut());
            Self(signals)
        }
    }

    /// Waits, and says whether one of them came.
    fn comes_within(&self, milliseconds: u64) -> bool {
        let time = libc::timespec {
            tv_sec: (milliseconds / 1000) as libc::time_t,
            tv_nsec: (milliseconds % 1000 * 1_000_000) as libc::c_long,
        };
        // SAFETY: the set and the time are initialised, and no information is asked for.
        unsafe { libc::sigtimedwait(&raw const self.0, core::ptr::null_mut(), &raw const time) > 0 }
    }
}

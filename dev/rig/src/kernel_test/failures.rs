//! Each allocation of a load, of a read and of a write fails once, in the kernel that can do that. Then nothing may leak.

use super::steps::{look_for_leaks, stop_scans, succeeded};
use crate::guest::{Excuse, Guest, Result, failed};
use std::time::Duration;

/// About 600 loads of the module.
const LIMIT: Duration = Duration::from_secs(7200);

/// Reports of the kernel itself if it has no memory: for the trace events of a module, for a large area, and for its
/// leak detector.
const EXCUSES: [Excuse; 4] = [
    Excuse {
        first: "at kernel/trace/trace_events.c:",
        last: "---[ end trace",
    },
    Excuse {
        first: ": vmalloc error: ",
        last: "Mem-Info:",
    },
    Excuse {
        first: ": page allocation failure: ",
        last: "Mem-Info:",
    },
    // One line. Kmemleak then scans the whole object.
    Excuse {
        first: "kmemleak: Cannot allocate a scan area",
        last: "",
    },
];

/// All of it. Returns the note for the table.
pub(super) fn drill(mut guest: Guest) -> Result<String> {
    guest.excuse(&EXCUSES);
    stop_scans(&mut guest)?;
    let answer = guest.run_within("failslab.sh /modules", LIMIT)?;
    succeeded(&mut guest, &answer)?;
    if !look_for_leaks(&mut guest)? {
        return failed("this kernel has no kmemleak");
    }
    let excused = guest.count_excused();
    guest.end()?;
    let says = answer.text.trim_end().replace('\n', "; ");
    Ok(format!(
        "{says}; kmemleak: nothing found; {excused} reports of the kernel on memory excused"
    ))
}

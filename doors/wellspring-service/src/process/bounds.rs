//! What the process may use, and what of it may leave: open files, locked memory, core dumps.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

/// Switches core dumps off, locks all memory where that is allowed, and allows as many open files as the system lets.
/// Returns what could not be done.
#[must_use]
pub fn set() -> Vec<String> {
    let mut missing = Vec::new();
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let dumps = setrlimit(Resource::Core, none);
    // No dump by another way either, and no other process of the same user may look into the memory.
    let dumps = dumps.and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable));
    if let Err(error) = dumps {
        missing.push(format!("core dumps are not off: {error}"));
    }
    let files = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: files.maximum,
        maximum: files.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        missing.push(format!("the limit of open files stays: {error}"));
    }
    if let Err(reason) = lock_memory() {
        missing.push(format!(
            "only keys are locked in memory, not all of it: {reason}"
        ));
    }
    missing
}

/// Locks what the process has and will have, page by page as it is used. Only without a limit: with one, later
/// allocations would fail.
fn lock_memory() -> Result<(), String> {
    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    let limit = getrlimit(Resource::Memlock);
    if limit.current.is_some() && setrlimit(Resource::Memlock, unlimited).is_err() {
        let bytes = limit.current.unwrap_or_default();
        return Err(format!(
            "the limit is {bytes} bytes (LimitMEMLOCK=infinity lifts it)"
        ));
    }
    let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
    mlockall(flags).map_err(|error| error.to_string())
}

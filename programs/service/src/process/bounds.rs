//! Limits of the process: open files, locked memory, core dumps.

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

/// Switches core dumps off, locks all memory where that is allowed, and raises the limit of open files to the hard
/// limit. Returns a sentence for each of these that failed.
pub(crate) fn set() -> Vec<String> {
    let mut missing = Vec::new();
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let dumps = setrlimit(Resource::Core, none);
    // The limit does not stop dumps that go to a program (core(5)). Without this flag they could be written, and other
    // processes of the same user could read the memory.
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

/// Locks all memory that the process has and will have, each page when it is first used. Does so only without a limit:
/// with one, later allocations would fail.
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

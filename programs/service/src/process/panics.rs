//! A panic ends a part that others can be without, or the process. Never a thread alone: its clients would wait without end.

use super::signals::{signal_thread, this_thread};
use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

/// Does work that the rest of the service can be without, such as that for one connection. `None`: it panicked.
pub(crate) fn isolated<R>(work: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

/// Does work that the service cannot be without. A panic in it ends the process by SIGABRT: the manager of services starts
/// it again.
pub(crate) fn ends_process<R>(work: impl FnOnce() -> R) -> R {
    isolated(work).unwrap_or_else(|| {
        signal_thread(this_thread(), libc::SIGABRT);
        std::process::abort()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::sandbox::restrict_calls;
    use std::env::{current_exe, var_os};
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    const SIGABRT: i32 = 6;

    #[test]
    fn a_panic_in_a_thread_ends_the_process_and_one_that_is_isolated_does_not() {
        const NAME: &str = "process::panics::tests::a_panic_in_a_thread_ends_the_process_and_one_that_is_isolated_does_not";
        const MARK: &str = "WELLSPRING_PANIC_ENDS_PROCESS";
        if var_os(MARK).is_some() {
            restrict_calls().unwrap();
            assert_eq!(isolated(|| -> u32 { panic!("isolated") }), None);
            assert_eq!(ends_process(|| isolated(|| 7)), Some(7));
            println!("goes on");
            let thread = std::thread::spawn(|| ends_process(|| panic!("not isolated")));
            let _ = thread.join();
            println!("the process goes on without the thread");
            return;
        }
        let mut child = Command::new(current_exe().unwrap());
        child.args(["--exact", NAME, "--nocapture"]).env(MARK, "1");
        let output = child.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.contains("goes on"), "{printed}");
        assert_eq!(output.status.signal(), Some(SIGABRT), "{printed}");
    }
}

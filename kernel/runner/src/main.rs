//! The tests of the kernel module, by name: some run in the kernel, others ask its device file. Lines as KTAP.
//!
//! ```text
//! test       a test, its outcome, and its lines; the device files of the module and of its tests
//! ioctl      their ioctls                                                        [unsafe: what the kernel writes]
//! in_kernel  the tests that the second module runs inside the kernel; the module's Fortuna, for vector files
//! probes     calls with bad arguments, asked of random(4) as well                [unsafe: bad arguments]
//! device     the device file does what random(4)'s does
//! bench      what reads from the module cost
//! ```

mod bench;
mod device;
mod in_kernel;
mod ioctl;
mod probes;
mod test;

use std::process::ExitCode;
use test::{DEVICE, Failure, TEST_DEVICE, Test, open_device};

const USAGE: &str = "\
usage: kernel-test [NAME..]        run all tests, or those of these names: whole, or the part before the slash
       kernel-test --list          print the names
       kernel-test bench [--quick] measure reads of /dev/wellspring in its four modes and of /dev/urandom, by 1 to 8
                                   readers and on 1 to 4 NUMA nodes, another task beside readers, and threads and
                                   requests inside the kernel; about four minutes
       kernel-test bench --inside  the last of these alone, in half a minute
       kernel-test bench --nodes [--quick]
                                   readers on 1, 2, 3, 4 and all NUMA nodes, or last-level caches if topology=llc, and
                                   a description of the machine: a text to send; about a minute
All need root, and the modules wellspring and wellspring_test; --nodes needs the first alone. While it measures, the
module's mode changes.
Exit status: 0 success, 1 a test failed or an error, 2 wrong arguments, 3 a module is not loaded.";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["bench"] => bench::run(bench::FULL, false),
        ["bench", "--inside"] => bench::run(bench::SHORT, true),
        ["bench", "--nodes"] => bench::run_nodes(bench::FULL),
        ["bench", "--nodes", "--quick"] => bench::run_nodes(bench::QUICK),
        ["bench", "--quick"] => bench::run(bench::QUICK, false),
        ["--list"] => {
            tests().map(|tests| tests.iter().for_each(|test| println!("{}", test.name())))
        }
        _ if words.iter().any(|word| word.starts_with('-')) => Err(Failure::Usage(USAGE.into())),
        _ => tests().and_then(|tests| test::run(tests, &words)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// All tests: first the tests of the device file.
fn tests() -> Result<Vec<Test>, Failure> {
    let in_kernel = in_kernel::tests(open_device(TEST_DEVICE, "wellspring_test")?)?;
    open_device(DEVICE, "wellspring")?;
    let mut tests = device::tests();
    tests.extend(in_kernel::vector_tests());
    tests.extend(in_kernel);
    Ok(tests)
}

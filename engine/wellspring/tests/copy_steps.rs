//! A notice of a copy of the machine, at every instruction of a read.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod common;

use common::rows::{Rows, Step};
use common::stepping::{Next, step};
use std::path::{Path, PathBuf};
use wellspring::clone_detection::GenerationPage;
use wellspring::{Engine, Mode};
use wellspring_os::thread_state::CurrentThread;

type Value = [u8; 16];

/// The steps at the end of a read that each get a notice: all of a short read. The rest of a long read gets
/// [`SPREAD_NOTICES`], and the first step of each kind one.
const LAST_STEPS: usize = 160;
const SPREAD_NOTICES: usize = 20;

/// The engine's bytes depend on nothing but its seed, until it is told of a copy.
fn engine(page: &Path, mode: Mode) -> Engine {
    let builder = Engine::builder().sources([]).seed(&[7; 32]).mode(mode);
    let builder = builder.generation_page(page).vmclock("/none");
    builder.build().unwrap()
}

/// A read, on a thread of its own, with `on_step` before each of its instructions. Returns the value.
fn read(engine: &Engine, mut on_step: impl FnMut(usize, Step) -> Next + Send) -> Value {
    let read = || {
        // The second read finds the tap current, with bytes in its buffer.
        (0..2).for_each(|_| engine.fill(&mut [0; 8]));
        let mut value = Value::default();
        let (place, depth) = (&raw const value, CurrentThread::find().depth());
        let mut on_step = |number| on_step(number, Step::now(depth, place));
        step(&mut on_step, || engine.fill(&mut value));
        value
    };
    std::thread::scope(|scope| scope.spawn(read).join().unwrap())
}

/// The steps at which a notice is to come.
fn chosen_steps(engine: &Engine) -> Vec<usize> {
    let mut steps = Vec::new();
    read(engine, |_, step| {
        steps.push(step);
        Next::Step
    });
    let stride = steps.len().div_ceil(SPREAD_NOTICES);
    let is_chosen = |&number: &usize| {
        let is_new = number < 2 || steps[number - 2] != steps[number - 1];
        number + LAST_STEPS > steps.len() || number.is_multiple_of(stride) || is_new
    };
    (1..=steps.len()).filter(is_chosen).collect()
}

/// The steps of a read at which a notice comes too late for it, and the rows of all steps.
fn late_steps(path: &Path, mode: Mode, rows: &mut Rows, in_handler: fn(&Engine)) -> Vec<usize> {
    let page = GenerationPage::create(path).unwrap();
    // What every process does once, like asking for the features of the processor, is done.
    let untold = read(&engine(path, mode), |_, _| Next::Step);
    let mut late = Vec::new();
    for number in chosen_steps(&engine(path, mode)) {
        let engine = engine(path, mode);
        let mut interrupted = None;
        let value = read(&engine, |now, step| {
            if now < number {
                return Next::Step;
            }
            interrupted = Some(step);
            page.bump();
            in_handler(&engine);
            Next::Run
        });
        // A read that looks at the clock may have had fewer steps.
        let Some(step) = interrupted else {
            continue;
        };
        assert_ne!(value, Value::default(), "at step {number}");
        let is_late = value == untold;
        rows.see(step, if is_late { "late" } else { "again" });
        if is_late {
            late.push(number);
        }
    }
    late
}

fn path(mode: Mode) -> PathBuf {
    let name = format!("wellspring-copy-steps-{mode}-{}", std::process::id());
    std::env::temp_dir().join(name)
}

/// A late notice is a notice after the read: between the last look at the page and the return to the caller.
fn check(path: &Path, mode: Mode, of: &'static str) -> Vec<usize> {
    let mut rows = Rows::of(of);
    let late = late_steps(path, mode, &mut rows, |_| ());
    rows.check(of);
    println!("{of}: late at the steps {late:?}");
    late
}

#[test]
fn a_read_from_a_buffer_is_made_again_after_a_copy_at_any_of_its_steps() {
    let path = path(Mode::PerThread);
    let late = check(&path, Mode::PerThread, "copy tap");
    // The handler reads too, and so handles the copy. The read that it interrupted has to notice the copy all the same.
    let mut rows = Rows::of("copy tap");
    let handled = late_steps(&path, Mode::PerThread, &mut rows, |engine| {
        engine.fill(&mut [0; 8]);
    });
    std::fs::remove_file(&path).unwrap();
    assert_eq!(handled, late, "a read in the handler");
}

#[test]
fn a_read_from_a_node_is_made_again_after_a_copy_at_any_of_its_steps() {
    let path = path(Mode::Canonical);
    check(&path, Mode::Canonical, "copy node");
    std::fs::remove_file(&path).unwrap();
}

//! A copy of the machine that is made during a read of ready bytes, and that another thread handles before the read ends.

use super::Engine;
use super::read::TapHandle;
use super::sink::{Registers, Sink};
use crate::clone_detection::GenerationPage;
use wellspring_core::tap::{Refill, Tap};
use wellspring_os::thread_state::CurrentThread;

/// Eight bytes in registers, and an event after they were taken.
struct WithEvent<'a>(&'a dyn Fn());

impl Sink for WithEvent<'_> {
    type Taken = [u8; 8];

    fn take_from<const BUFFER_BYTES: usize>(
        &mut self,
        tap: &mut Tap<BUFFER_BYTES>,
    ) -> Option<[u8; 8]> {
        let taken = Registers.take_from(tap);
        (self.0)();
        taken
    }

    fn fill_by(self, fill: impl FnOnce(&mut [u8])) -> [u8; 8] {
        Registers.fill_by(fill)
    }
}

fn assert_notices(engine: &Engine, page: &GenerationPage, mut tap: impl TapHandle) {
    let inner = &engine.inner;
    for _ in 0..4 {
        let handled = inner.handle_clones();
        let read = tap.serve(inner, Refill::Whole, Some(handled), &mut [0; 8]);
        assert_eq!(read, Some(Ok(())));
    }
    let ready = inner.read_ready(&mut tap, &mut WithEvent(&|| ()));
    assert!(ready.is_some(), "the bytes are ready");
    let copy = || {
        page.bump();
        std::thread::scope(|scope| scope.spawn(|| engine.fill(&mut [0; 8])).join()).unwrap();
        assert_eq!(inner.clones.words.sum(), inner.clones.words.handled());
    };
    assert!(
        inner.read_ready(&mut tap, &mut WithEvent(&copy)).is_none(),
        "bytes of before the copy"
    );
}

#[test]
fn a_copy_that_another_thread_has_handled_during_a_read_is_noticed() {
    let path = std::env::temp_dir().join(format!("wellspring-copy-{}", std::process::id()));
    let page = GenerationPage::create(&path).unwrap();
    let builder = Engine::builder().sources([]).seed(&[7; 32]);
    let engine = builder.generation_page(&path).vmclock("/none").build();
    let engine = engine.unwrap();
    std::thread::scope(|scope| {
        // Its first engine: only that has a hot path on a thread.
        let read = || assert_notices(&engine, &page, CurrentThread::find());
        scope.spawn(read).join().unwrap();
    });
    assert_notices(&engine, &page, &mut engine.inner.new_owned_tap());
    std::fs::remove_file(&path).unwrap();
}

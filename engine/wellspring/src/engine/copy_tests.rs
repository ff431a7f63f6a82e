//! A copy of the machine that is made during a read of ready bytes, and that another thread handles before the read ends.

use super::Engine;
use super::read::{Reader, Registers, Sink, Unseeded};
use crate::clone_detection::GenerationPage;
use wellspring_core::tap::Tap;
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
}

fn assert_notices(engine: &Engine, page: &GenerationPage, mut reader: Reader<'_>) {
    let inner = &engine.inner;
    for _ in 0..4 {
        let read = inner.read_slowly(again(&mut reader), &mut [0; 8], Unseeded::Fail);
        assert_eq!(read, Ok(()));
    }
    let ready = inner.read_ready(&mut reader, &mut WithEvent(&|| ()));
    assert!(ready.is_some(), "the bytes are ready");
    let copy = || {
        page.bump();
        std::thread::scope(|scope| scope.spawn(|| engine.fill(&mut [0; 8])).join()).unwrap();
        assert_eq!(inner.clones.words.sum(), inner.clones.words.handled());
    };
    assert!(
        inner
            .read_ready(&mut reader, &mut WithEvent(&copy))
            .is_none(),
        "bytes of before the copy"
    );
}

fn again<'a>(reader: &'a mut Reader<'_>) -> Reader<'a> {
    match reader {
        Reader::Thread(thread) => Reader::Thread(*thread),
        Reader::Owned(tap) => Reader::Owned(tap),
    }
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
        let read = || assert_notices(&engine, &page, Reader::Thread(CurrentThread::find()));
        scope.spawn(read).join().unwrap();
    });
    let mut tap = engine.inner.new_owned_tap();
    assert_notices(&engine, &page, Reader::Owned(&mut tap));
    std::fs::remove_file(&path).unwrap();
}

//! Tests of the answers that are made ahead.

use super::*;
use crate::config::LimitsSection;
use crate::doors::Doors;
use crate::users::Users;
use std::path::PathBuf;
use wellspring::clone_detection::{GenerationPage, bump};

const BYTES: usize = 1 << 20;
const FILE: (u64, Door) = (7, Door::Random);

/// A state whose engine reseeds only when a test says so: it has no source.
fn state(page: Option<PathBuf>) -> State {
    let page = page.unwrap_or_else(|| "/nonexistent/generation".into());
    let engine = Engine::builder()
        .sources([])
        .seed(&[7; 32])
        .vmclock("/nonexistent/vmclock")
        .generation_page(page);
    let users = Users::new(&LimitsSection::default());
    State::new(engine.build().unwrap(), Doors::default(), users)
}

fn read(ahead: &Ahead, state: &State, file: (u64, Door)) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = ahead.read(state, file, BYTES, |answer| bytes = answer.to_vec());
    read.unwrap();
    bytes
}

/// Reads twice, so that an answer is ordered, and makes it as the thread would.
fn with_answer(state: &State) -> Ahead {
    let ahead = Ahead::new(2);
    let first = read(&ahead, state, FILE);
    assert_ne!(first, read(&ahead, state, FILE));
    ahead.make(state);
    assert!(ahead.made().is_some());
    ahead
}

impl Ahead {
    /// The answer that waits for the file.
    fn made(&self) -> Option<Vec<u8>> {
        let table = self.table();
        let answer = table.readers.get(&FILE.0)?.answer.as_ref()?;
        Some(answer.bytes.bytes().to_vec())
    }

    fn take_at(&self, state: &State, file: u64, bytes: usize, after: Duration) -> bool {
        let table = self.table();
        let answer = table
            .readers
            .get(&FILE.0)
            .and_then(|reader| reader.answer.as_ref());
        let now = answer.map_or_else(Instant::now, |answer| answer.made + after);
        drop(table);
        let taken = self.take(file, bytes, &state.engine, now).unwrap();
        taken.is_some()
    }
}

#[test]
fn an_answer_is_handed_out_once_to_its_own_file_and_nothing_of_it_stays() {
    let state = state(None);
    let ahead = with_answer(&state);
    let made = ahead.made().unwrap();
    assert!(!ahead.take_at(&state, FILE.0 + 1, BYTES, Duration::ZERO));
    let taken = ahead.take(FILE.0, BYTES, &state.engine, Instant::now() - KEPT_FOR);
    let taken = taken.unwrap().unwrap();
    assert!(taken.bytes() == made);
    assert!(!ahead.take_at(&state, FILE.0, BYTES, Duration::ZERO));
    ahead.keep(taken);
    for buffer in &mut ahead.table().spare {
        buffer.set_len(BYTES);
        assert!(buffer.bytes().iter().all(|byte| *byte == 0));
    }
    assert!(
        !read(&ahead, &state, FILE)
            .windows(32)
            .any(|window| window == &made[..32])
    );
}

#[test]
fn many_readers_of_one_answer_never_share_it() {
    let state = state(None);
    let ahead = with_answer(&state);
    let now = Instant::now() - KEPT_FOR;
    let take = || {
        ahead
            .take(FILE.0, BYTES, &state.engine, now)
            .unwrap()
            .is_some()
    };
    let taken = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(take)).collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap());
        joined.filter(|taken| *taken).count()
    });
    assert_eq!(taken, 1);
}

#[test]
fn an_answer_of_another_generation_time_or_length_is_wiped() {
    let folder = std::env::temp_dir().join(format!("wsd-ahead-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("generation");
    let page = GenerationPage::create(&path).unwrap();
    let state = state(Some(path.clone()));
    type Change<'a> = &'a dyn Fn();
    let changes: [(&str, Change<'_>); 3] = [
        ("another process changed the page", &|| {
            bump(&path).unwrap();
        }),
        ("a clone notice", &|| {
            state.engine.diverge_from_clones();
        }),
        ("a reseed by order", &|| {
            assert!(state.engine.reseed().is_err(), "there is no source");
        }),
    ];
    for (words, change) in changes {
        let ahead = with_answer(&state);
        change();
        assert!(
            !ahead.take_at(&state, FILE.0, BYTES, Duration::ZERO),
            "{words}"
        );
        assert!(ahead.made().is_none(), "{words}");
    }
    let ahead = with_answer(&state);
    assert!(!ahead.take_at(&state, FILE.0, BYTES, 2 * KEPT_FOR));
    let ahead = with_answer(&state);
    assert!(!ahead.take_at(&state, FILE.0, BYTES / 2, Duration::ZERO));
    let ahead = with_answer(&state);
    assert!(ahead.take_at(&state, FILE.0, BYTES, KEPT_FOR));
    drop(page);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_no_reader_comes_for_is_wiped_and_the_number_of_answers_is_bounded() {
    let state = state(None);
    let ahead = with_answer(&state);
    let later = Instant::now() + 2 * KEPT_FOR;
    assert_eq!(ahead.table().take_old(later).len(), 1);
    assert_eq!(ahead.table().pending, 0);
    for file in 0..100 {
        for _ in 0..2 {
            read(&ahead, &state, (100 + file, Door::Urandom));
        }
    }
    assert_eq!(ahead.table().orders.len(), MOST);
    for file in 0..100 {
        ahead.close(100 + file);
    }
    (0..MOST).for_each(|_| ahead.make(&state));
    assert_eq!(ahead.table().pending, 0);
}

//! Tests of the answers that are made ahead.

use super::*;
use crate::config::LimitsSection;
use crate::doors::Doors;
use crate::users::Users;
use std::path::PathBuf;
use wellspring::clone_detection::{GenerationPage, bump};

const BYTES: usize = 1 << 20;
const DOOR: Door = Door::Random;
const THREADS: usize = 4;

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

fn read(ahead: &Ahead, state: &State, door: Door) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = ahead.read(state, door, BYTES, |answer| bytes = answer.to_vec());
    read.unwrap();
    bytes
}

impl Ahead {
    /// Lets the next read be the second one in a row, however long the test has taken.
    fn repeat(&self) {
        self.table().last_read = Some(Instant::now() + Duration::from_secs(3600));
    }

    /// The answer that was made last.
    fn made(&self) -> Option<Vec<u8>> {
        let table = self.table();
        Some(table.answers.last()?.buffer.bytes().to_vec())
    }

    /// Waits for a state of the table. Only a failed test waits for a minute.
    fn waits_until(&self, is_so: impl Fn(&Table) -> bool) {
        let until = Instant::now() + Duration::from_secs(60);
        while !is_so(&self.table()) {
            assert!(Instant::now() < until, "{:?}", self.table().sleeps_for);
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Takes an answer as a read does that comes this long after the last answer was made.
    fn take_after(&self, state: &State, door: Door, bytes: usize, after: Duration) -> bool {
        let made = self.table().answers.last().map(|answer| answer.made);
        let now = made.unwrap_or_else(Instant::now) + after;
        self.take(door, bytes, &state.engine, now)
            .unwrap()
            .is_some()
    }
}

/// Reads twice in a row, so that an answer is made.
fn with_answer(state: &State) -> Ahead {
    let ahead = Ahead::new(THREADS);
    let first = read(&ahead, state, DOOR);
    assert!(ahead.made().is_none(), "one read is no row");
    ahead.repeat();
    assert_ne!(first, read(&ahead, state, DOOR));
    assert!(ahead.made().is_some());
    ahead
}

#[test]
fn an_answer_is_handed_out_once_for_its_own_door_and_nothing_of_it_stays() {
    let state = state(None);
    let ahead = with_answer(&state);
    let made = ahead.made().unwrap();
    assert!(!ahead.take_after(&state, Door::Pseudo, BYTES, Duration::ZERO));
    let mut given = Vec::new();
    // A read that is the first in a row: what it gave is wiped.
    ahead.table().answers[0].made = Instant::now() + Duration::from_secs(3600);
    ahead.table().last_read = None;
    ahead
        .read(&state, DOOR, BYTES, |bytes| given = bytes.to_vec())
        .unwrap();
    assert!(given == made);
    assert!(!ahead.take_after(&state, DOOR, BYTES, Duration::ZERO));
    let mut table = ahead.table();
    assert!(!table.spare.is_empty());
    for buffer in &mut table.spare {
        buffer.set_len(BYTES);
        assert!(buffer.bytes().iter().all(|byte| *byte == 0));
    }
}

#[test]
fn the_next_answer_overwrites_the_one_that_was_given() {
    let state = state(None);
    let ahead = with_answer(&state);
    for _ in 0..3 {
        ahead.repeat();
        let (mut given, mut place) = (Vec::new(), 0);
        let give = |bytes: &[u8]| {
            given = bytes.to_vec();
            place = bytes.as_ptr().addr();
        };
        ahead.read(&state, DOOR, BYTES, give).unwrap();
        let table = ahead.table();
        let next = table.answers.last().unwrap().buffer.bytes();
        assert_eq!(next.as_ptr().addr(), place);
        let same = given.iter().zip(next).filter(|(one, other)| one == other);
        // Random bytes are the same at one place of 256.
        assert!(same.count() < BYTES / 128);
    }
}

#[test]
fn many_readers_of_one_answer_never_share_it() {
    let state = state(None);
    let ahead = with_answer(&state);
    ahead.table().answers[0].made = Instant::now() + Duration::from_secs(3600);
    let take = || {
        let taken = ahead.take(DOOR, BYTES, &state.engine, Instant::now());
        taken.unwrap().is_some()
    };
    let taken = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(take)).collect();
        let joined = threads.into_iter().map(|thread| thread.join().unwrap());
        joined.filter(|taken| *taken).count()
    });
    assert_eq!(taken, 1);
}

#[test]
fn an_answer_of_another_generation_time_or_length_is_not_handed_out() {
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
            !ahead.take_after(&state, DOOR, BYTES, Duration::ZERO),
            "{words}"
        );
        assert!(ahead.made().is_none(), "{words}");
    }
    let ahead = with_answer(&state);
    assert!(!ahead.take_after(&state, DOOR, BYTES, 2 * KEPT_FOR));
    assert!(ahead.made().is_none(), "an old answer is wiped");
    let ahead = with_answer(&state);
    assert!(!ahead.take_after(&state, DOOR, BYTES / 2, Duration::ZERO));
    assert!(ahead.take_after(&state, DOOR, BYTES, KEPT_FOR));
    drop(page);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_no_reader_comes_for_is_wiped_and_the_number_of_answers_is_bounded() {
    let state = state(None);
    let ahead = with_answer(&state);
    // Reads of another length find no answer, and each makes one more.
    for _ in 0..100 {
        ahead.repeat();
        ahead
            .read(&state, Door::Urandom, BYTES / 2, |_| {})
            .unwrap();
        for answer in &mut ahead.table().answers {
            answer.door = DOOR;
            answer.made = Instant::now() + Duration::from_secs(3600);
        }
    }
    assert_eq!(ahead.table().answers.len(), THREADS);
    assert!(ahead.table().spare.len() <= THREADS);
    ahead.table().last_read = None;
    for answer in &mut ahead.table().answers {
        answer.made = Instant::now() - 2 * KEPT_FOR;
    }
    std::thread::scope(|scope| {
        scope.spawn(|| ahead.work());
        let _end = EndOnDrop(&ahead);
        ahead.waits_until(|table| table.answers.is_empty() && table.spare.is_empty());
        // It sleeps without end now, and wakes for the next answer.
        ahead.waits_until(|table| table.sleeps_for == Duration::MAX);
        ahead.repeat();
        read(&ahead, &state, DOOR);
        ahead.table().last_read = None;
        ahead.waits_until(|table| table.answers.is_empty() && table.spare.is_empty());
    });
}

/// Ends the thread that wipes, also when the test fails.
struct EndOnDrop<'a>(&'a Ahead);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

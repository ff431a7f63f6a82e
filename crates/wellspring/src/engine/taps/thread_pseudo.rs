//! The threads' generators of the statistical tier. They are stored beside the taps, so a fork and a nested use are
//! noticed in the same way.

use super::Taps;
use super::storage::{NestedTap, OutermostTap, PseudoWords};
use wellspring_os::thread_state::{Miss, State, StateRef};
use wellspring_pseudo::Xoshiro256PlusPlus;

impl Taps {
    /// Runs `draw` on the generator of this thread, if that is seeded, the thread is not nested, and its state is
    /// current.
    #[inline(always)]
    pub(in super::super) fn try_pseudo<R>(
        &self,
        draw: impl FnOnce(&mut Xoshiro256PlusPlus) -> R,
    ) -> Result<R, Miss> {
        let draw = |state: &mut OutermostTap| {
            let words = state.pseudo.load();
            // All zero if it was never seeded. One word tells: where it alone is zero, once in 2^64 draws, the draw only
            // goes the long way.
            if words[0] == 0 {
                return None;
            }
            with_words(&state.pseudo, words, draw)
        };
        self.threads.try_current(draw)?.ok_or(Miss::NONE)
    }

    /// Runs `draw` on the generator of this thread at its present depth. Returns `None` if that was never seeded, or if
    /// the thread has no memory for it. Marks the thread's state as current, so that the next draw takes the hot path.
    pub(in super::super) fn pseudo<R>(
        &self,
        node: impl Fn() -> u32,
        draw: &mut impl FnMut(&mut Xoshiro256PlusPlus) -> R,
    ) -> Option<R> {
        let epoch = self.threads.epoch();
        self.threads.try_with(node, |state| {
            let words = words(state);
            let result = with_words(words, words.load(), &mut *draw)?;
            // Once the state is marked as current, a read of the tap takes the hot path as well. So erase the bytes of
            // a tap of an older generation.
            if let State::Outermost(state) = state.state()
                && !state.tap.is_current(self.generation.current())
            {
                state.tap.discard();
            }
            state.mark_current(epoch);
            Some(result)
        })?
    }

    /// Stores a generator as the one of this thread at its present depth, if the thread has memory for it.
    pub(in super::super) fn keep_pseudo(
        &self,
        node: impl Fn() -> u32,
        generator: &Xoshiro256PlusPlus,
    ) {
        self.threads
            .try_with(node, |state| words(state).store(generator.words()));
    }
}

/// Returns the words of the generator at the depth of `state`.
fn words<'a>(state: &'a mut StateRef<'_, OutermostTap, NestedTap>) -> &'a PseudoWords {
    match state.state() {
        State::Outermost(state) => &state.pseudo,
        State::Nested(state) => &state.pseudo,
    }
}

/// Runs `draw` on the generator with these words, and stores its new words in their place. Returns `None` if they are
/// all zero: the generator was never seeded.
#[inline(always)]
fn with_words<R>(
    place: &PseudoWords,
    words: [u64; 4],
    draw: impl FnOnce(&mut Xoshiro256PlusPlus) -> R,
) -> Option<R> {
    let mut generator = Xoshiro256PlusPlus::from_words(words)?;
    let result = draw(&mut generator);
    place.store(generator.words());
    Some(result)
}

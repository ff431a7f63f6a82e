//! The threads' generators of the statistical tier. They live beside the taps, so they notice a fork and a nested use
//! in the same way.

use super::Taps;
use super::place::{NestedTap, OutermostTap};
use wellspring_pseudo::Xoshiro256PlusPlus;
use wellspring_sys::thread_state::{Miss, State, StateRef};

impl Taps {
    /// Runs `draw` on the generator of this thread, if that is seeded, the thread is not nested, and its state is
    /// current.
    #[inline(always)]
    pub(in super::super) fn try_pseudo<R>(
        &self,
        draw: impl FnOnce(&mut Xoshiro256PlusPlus) -> R,
    ) -> Result<R, Miss> {
        let draw = |state: &mut OutermostTap| with_words(&mut state.pseudo, draw);
        self.threads.try_current(draw)?.ok_or(Miss::NONE)
    }

    /// The same at any depth.
    pub(in super::super) fn pseudo<R>(
        &self,
        node: impl Fn() -> u32,
        draw: &mut impl FnMut(&mut Xoshiro256PlusPlus) -> R,
    ) -> Option<R> {
        let epoch = self.threads.epoch();
        self.threads.try_with(node, |state| {
            let result = with_words(words(state), &mut *draw)?;
            // The next draw takes the hot path. So would a read of the tap: an old one must have no bytes to give.
            if let State::Outermost(state) = state.state()
                && !state.tap.is_current(self.generation.current())
            {
                state.tap.discard();
            }
            state.mark_current(epoch);
            Some(result)
        })?
    }

    /// Keeps the generator of this thread at its present depth, if the thread has a place for it.
    pub(in super::super) fn keep_pseudo(
        &self,
        node: impl Fn() -> u32,
        generator: &Xoshiro256PlusPlus,
    ) {
        self.threads
            .try_with(node, |state| *words(state) = generator.words());
    }
}

/// The words of a depth's generator.
fn words<'a>(state: &'a mut StateRef<'_, OutermostTap, NestedTap>) -> &'a mut [u64; 4] {
    match state.state() {
        State::Outermost(state) => &mut state.pseudo,
        State::Nested(state) => &mut state.pseudo,
    }
}

/// Runs `draw` on the generator with these words, unless they are all zero.
#[inline(always)]
fn with_words<R>(
    words: &mut [u64; 4],
    draw: impl FnOnce(&mut Xoshiro256PlusPlus) -> R,
) -> Option<R> {
    let mut generator = Xoshiro256PlusPlus::from_words(*words)?;
    let result = draw(&mut generator);
    *words = generator.words();
    Some(result)
}

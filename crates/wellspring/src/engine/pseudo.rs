//! The threads' generators of the statistical tier. They live beside the taps, and so notice a fork and a
//! nested use as those do.

use super::Engine;
use super::memory::{NestedState, OutermostState};
use wellspring_pseudo::Xoshiro256PlusPlus;
use wellspring_sys::nest::{Level, State};

impl Engine {
    /// Runs `draw` on the calling thread's generator.
    #[inline(always)]
    pub(crate) fn pseudo<R>(&self, mut draw: impl FnMut(&mut Xoshiro256PlusPlus) -> R) -> R {
        let outermost = |state: &mut OutermostState| with_words(&mut state.pseudo, &mut draw);
        match self.shared.nest.outermost(outermost) {
            Some(Some(result)) => result,
            _ => self.pseudo_slowly(&mut draw),
        }
    }

    /// The same at any depth, seeded first if need be.
    #[cold]
    fn pseudo_slowly<R>(&self, draw: &mut impl FnMut(&mut Xoshiro256PlusPlus) -> R) -> R {
        let node = || self.shared.local_node() as u32;
        let drawn = self
            .shared
            .nest
            .with(node, |level| with_words(words(level), draw));
        if let Some(Some(result)) = drawn {
            return result;
        }
        loop {
            let incarnation = self.shared.incarnation();
            let seed = core::array::from_fn(|_| self.u64());
            let Some(mut generator) = Xoshiro256PlusPlus::from_words(seed) else {
                continue;
            };
            let result = draw(&mut generator);
            // Where the thread has no state (too deep), the generator was one for this call alone.
            self.shared
                .nest
                .with(node, |level| *words(level) = generator.words());
            // In a child that was forked meanwhile, by a signal handler, the parent has the same seed.
            if self.shared.is(incarnation) {
                return result;
            }
        }
    }
}

/// The words of a level's generator.
fn words<'a>(level: &'a mut Level<'_, OutermostState, NestedState>) -> &'a mut [u64; 4] {
    match level.state() {
        State::Outermost(state) => &mut state.pseudo,
        State::Nested(state) => &mut state.pseudo,
    }
}

/// Runs `draw` on the generator with these words, if they are one.
#[inline(always)]
fn with_words<R>(
    words: &mut [u64; 4],
    draw: &mut impl FnMut(&mut Xoshiro256PlusPlus) -> R,
) -> Option<R> {
    let mut generator = Xoshiro256PlusPlus::from_words(*words)?;
    let result = draw(&mut generator);
    *words = generator.words();
    Some(result)
}

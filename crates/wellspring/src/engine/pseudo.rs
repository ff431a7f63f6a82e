//! The threads' generators of the statistical tier. They live beside the taps, and so notice a fork and a
//! nested use as those do.

use super::Engine;
use wellspring_pseudo::Xoshiro256PlusPlus;

impl Engine {
    /// Runs `draw` on the calling thread's generator.
    #[inline(always)]
    pub(crate) fn pseudo<R>(&self, mut draw: impl FnMut(&mut Xoshiro256PlusPlus) -> R) -> R {
        let node = || self.shared.local_node() as u32;
        let drawn = self.shared.nest.with(node, |level| {
            let words = &mut level.state().pseudo;
            let mut generator = Xoshiro256PlusPlus::from_words(*words)?;
            let result = draw(&mut generator);
            *words = generator.words();
            Some(result)
        });
        match drawn {
            Some(Some(result)) => result,
            _ => self.pseudo_seeded(&mut draw),
        }
    }

    /// Seeds the thread's generator first; where the thread has none (too deep), one for this call alone.
    #[cold]
    fn pseudo_seeded<R>(&self, draw: &mut impl FnMut(&mut Xoshiro256PlusPlus) -> R) -> R {
        loop {
            let incarnation = self.shared.incarnation();
            let words = core::array::from_fn(|_| self.u64());
            let Some(mut generator) = Xoshiro256PlusPlus::from_words(words) else {
                continue;
            };
            let result = draw(&mut generator);
            let node = || self.shared.local_node() as u32;
            self.shared
                .nest
                .with(node, |level| level.state().pseudo = generator.words());
            // In a child that was forked meanwhile, by a signal handler, the parent has the same seed.
            if self.shared.is(incarnation) {
                return result;
            }
        }
    }
}

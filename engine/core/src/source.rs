//! The contract of everything that yields noise.

use core::fmt;

/// A source of noise.
///
/// # The contract
///
/// A source is **cheap and bounded**: one call of [`sample`](Self::sample) ends within about 100 microseconds and never
/// waits for an event, another thread or a lock. A source that cannot promise that says [`Speed::Slow`]: it may take
/// some milliseconds and sleep meanwhile, and only a harvester's thread draws on it, never a reader's call. A source
/// **may return less** than it was asked for, even nothing, and it **may fail**; the engine goes on with the others. It
/// **never panics**: a panic counts as a failure, and the engine stops it before it reaches a reader.
///
/// Threads share it. One engine makes one call at a time, but several engines may share one source. A source that keeps
/// state guards it with a try-lock and returns [`SourceError::Busy`] when that fails. In a process made by `fork` such a
/// lock may stay locked, by a thread that does not exist there; that process has then lost the source,
/// which is why no engine should have only sources with state.
///
/// It is **never trusted because it exists**: its samples go through its health tests
/// and are credited no more than [`min_entropy`](Self::min_entropy) says.
///
/// It **says the same about itself** at any time: an engine asks all but [`sample`](Self::sample) once, when it gets the
/// source.
///
/// It **keeps no copy** of a raw sample, neither in its state nor on the stack.
pub trait Source: Send + Sync {
    /// The name in reports: short, lower case, unique within an engine.
    fn name(&self) -> &'static str;

    /// The min-entropy that the source claims.
    fn min_entropy(&self) -> MinEntropy;

    /// The reason for the claim, in a sentence for reports.
    fn reason(&self) -> &'static str {
        "not said"
    }

    /// The form of one sample, for the health tests.
    fn symbol(&self) -> Symbol {
        Symbol::Byte
    }

    /// Which calls may draw on it, and how often.
    fn speed(&self) -> Speed {
        Speed::Fast
    }

    /// Whether [`sample`](Self::sample) makes system calls. After `Engine::prepare_for_sandbox` of the crate `wellspring`
    /// a process no longer draws on such a source.
    fn makes_system_calls(&self) -> bool {
        true
    }

    /// Writes up to `destination.len()` bytes of raw noise and returns their number.
    ///
    /// # Errors
    ///
    /// The reason why it yields nothing now; the engine counts the error and asks again at the next
    /// harvest.
    fn sample(&self, destination: &mut [u8]) -> Result<usize, SourceError>;
}

/// Which calls may draw on a source, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Speed {
    /// Any call, a reader's too: a draw ends within about 100 microseconds.
    Fast,
    /// Only a harvester's thread: a draw may take up to about 10 milliseconds, and may sleep.
    ///
    /// An engine without a harvester never draws on it. One draw each interval keeps its share of a CPU below a
    /// thousandth.
    Slow {
        /// How long to wait from one draw to the next.
        interval_ms: u64,
    },
}

/// The form of one sample of a source: the unit that the health tests compare (SP 800-90B 4.4 takes the raw
/// output of the noise source, symbol by symbol).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    /// A byte that is 0 or 1.
    Bit,
    /// A byte.
    Byte,
    /// 8 bytes.
    Word,
}

impl Symbol {
    /// The bytes of one.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Symbol::Bit | Symbol::Byte => 1,
            Symbol::Word => 8,
        }
    }

    /// The name in reports and traces: `bit`, `byte` or `word`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Symbol::Bit => "bit",
            Symbol::Byte => "byte",
            Symbol::Word => "word",
        }
    }
}

/// A claim of min-entropy (SP 800-90B section 2.1), in 1/256 of a bit for each byte of sample.
///
/// Fractions matter: a byte of scheduler noise may hold a hundredth of a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MinEntropy {
    per_byte: u16,
}

impl MinEntropy {
    /// Mixed, but credited nothing.
    pub const NONE: Self = Self { per_byte: 0 };
    /// 8 bits a byte: full entropy.
    pub const FULL: Self = Self::per_byte_256ths(8 * 256);

    /// A claim of `claim` 256ths of a bit for each byte, at most 8 bits.
    #[must_use]
    pub const fn per_byte_256ths(claim: u16) -> Self {
        let full = 8 * 256;
        Self {
            per_byte: if claim < full { claim } else { full },
        }
    }

    /// The whole bits claimed for `bytes` of sample, rounded down.
    #[must_use]
    pub const fn bits(self, bytes: usize) -> u32 {
        let bits = self.per_byte as u128 * bytes as u128 / 256;
        if bits < u32::MAX as u128 {
            bits as u32
        } else {
            u32::MAX
        }
    }

    /// The claim in 256ths of a bit for each byte.
    #[must_use]
    pub const fn as_256ths(self) -> u16 {
        self.per_byte
    }
}

/// The reason why a source yielded nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SourceError {
    /// Not on this machine.
    Absent,
    /// It yields nothing now without waiting.
    Busy,
    /// A self-test of the source failed.
    SelfTest,
    /// The process or device that yielded the noise has ended: a command, the other end of a pipe.
    Ended,
    /// The source panicked.
    Panicked,
    /// The operating system refused: its error number, which only the parts that know the system can name.
    System(i32),
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceError::Absent => f.write_str("not on this machine"),
            SourceError::Busy => f.write_str("busy"),
            SourceError::SelfTest => f.write_str("failed its self-test"),
            SourceError::Ended => f.write_str("has ended"),
            SourceError::Panicked => f.write_str("panicked"),
            SourceError::System(number) => {
                write!(f, "refused by the operating system (error {number})")
            }
        }
    }
}

impl core::error::Error for SourceError {}

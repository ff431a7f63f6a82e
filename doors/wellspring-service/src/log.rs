//! The log: lines on stderr. Where stderr is the journal, each line begins with its level, as sd-daemon(3) asks.
//!
//! The log has no secrets: messages have names, numbers and errors.

use crate::config::Level;
use core::fmt::{self, Write as _};
use core::sync::atomic::{AtomicU8, Ordering};
use std::io::Write as _;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

static LEVEL: AtomicU8 = AtomicU8::new(Level::Info as u8);

/// Sets the least level that is written.
pub fn set_level(level: Level) {
    LEVEL.store(level as u8, Ordering::Relaxed);
    tracing::callsite::rebuild_interest_cache();
}

/// Writes the log of this process from now on. A second call changes nothing.
pub fn start(level: Level) {
    let journal = std::env::var_os("JOURNAL_STREAM").is_some();
    let _ = tracing::subscriber::set_global_default(Lines { journal });
    set_level(level);
}

struct Lines {
    journal: bool,
}

/// The number of a level, as in [`Level`]; and the one of syslog(3).
fn numbers(level: tracing::Level) -> (u8, u8) {
    match level {
        tracing::Level::ERROR => (Level::Error as u8, 3),
        tracing::Level::WARN => (Level::Warn as u8, 4),
        tracing::Level::INFO => (Level::Info as u8, 6),
        _ => (Level::Debug as u8, 7),
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Other crates log under their own names. Below a warning their messages are about their own code, and left
        // out.
        let is_ours = metadata.target().starts_with("wellspring");
        let (number, _) = numbers(*metadata.level());
        number <= LEVEL.load(Ordering::Relaxed) && (is_ours || number <= Level::Warn as u8)
    }

    fn event(&self, event: &Event<'_>) {
        let (_, syslog) = numbers(*event.metadata().level());
        let mut line = String::new();
        if self.journal {
            let _ = write!(line, "<{syslog}>");
        } else {
            line.push_str("wellspringd: ");
        }
        event.record(&mut Words(&mut line));
        line.push('\n');
        // If stderr is closed there is no other place for the line.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The message and the fields in one line, without characters that could break it.
struct Words<'a>(&'a mut String);

impl Visit for Words<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let text = if field.name() == "message" {
            format!("{value:?}")
        } else {
            format!(" {}={value:?}", field.name())
        };
        for character in text.chars() {
            if character.is_control() {
                self.0.extend(character.escape_default());
            } else {
                self.0.push(character);
            }
        }
    }
}

//! The log: lines on stderr. Where stderr is the journal, each line begins with its level, as sd-daemon(3) asks.
//!
//! The log has no secrets: messages have names, numbers and errors.

use crate::config::Level;
use core::fmt::Write as _;
use log::{Log, Metadata, Record};
use std::io::Write as _;

/// Sets the least level that is written.
pub(crate) fn set_level(level: Level) {
    log::set_max_level(match level {
        Level::Error => log::LevelFilter::Error,
        Level::Warn => log::LevelFilter::Warn,
        Level::Info => log::LevelFilter::Info,
        Level::Debug => log::LevelFilter::Debug,
    });
}

/// Writes the log of this process from now on. A second call changes nothing.
pub(crate) fn start(level: Level) {
    let is_journal = std::env::var_os("JOURNAL_STREAM").is_some();
    let _ = log::set_boxed_logger(Box::new(Lines { is_journal }));
    set_level(level);
}

struct Lines {
    is_journal: bool,
}

impl Log for Lines {
    /// Other crates log under their own names, about their own code.
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("wellspring")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let mut line = String::new();
        if self.is_journal {
            let syslog = match record.level() {
                log::Level::Error => 3,
                log::Level::Warn => 4,
                log::Level::Info => 6,
                log::Level::Debug | log::Level::Trace => 7,
            };
            let _ = write!(line, "<{syslog}>");
        } else {
            line.push_str("wellspringd: ");
        }
        for character in record.args().to_string().chars() {
            // It could break the line.
            if character.is_control() {
                line.extend(character.escape_default());
            } else {
                line.push(character);
            }
        }
        line.push('\n');
        // If stderr is closed there is no other place for the line.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    fn flush(&self) {}
}

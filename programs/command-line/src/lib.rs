//! The edges that the programs `wellspring` and `wellspringd` share: whether the caller closed a standard stream, wrong
//! arguments as one line, lines that do not command a terminal, and tables for people.

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

// Closed streams. On Unix, before `main`, the Rust runtime opens /dev/null in place of a standard stream that is closed. From
// then on a write to it succeeds and the bytes are lost, as with `> /dev/null`, from which it cannot be distinguished: some
// programs open that for reading and writing too. So this file looks before the runtime does.

static INPUT_CLOSED: AtomicBool = AtomicBool::new(false);
static OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// The loader calls the functions of this section before it calls `main`.
// SAFETY: the section holds pointers to functions of this type, and `look` needs nothing that `main` would set up.
#[cfg(unix)]
#[used]
#[cfg_attr(
    target_vendor = "apple",
    unsafe(link_section = "__DATA,__mod_init_func")
)]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = look;

#[cfg(unix)]
extern "C" fn look() {
    for (descriptor, is_closed) in [
        (libc::STDIN_FILENO, &INPUT_CLOSED),
        (libc::STDOUT_FILENO, &OUTPUT_CLOSED),
    ] {
        // SAFETY: asks for the flags of a descriptor, which may be closed; no memory is involved.
        let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFD) };
        is_closed.store(flags == -1, Ordering::Relaxed);
    }
}

/// Whether this process began with a closed standard input.
pub fn input_was_closed() -> bool {
    INPUT_CLOSED.load(Ordering::Relaxed)
}

/// Whether this process began with a closed standard output.
pub fn output_was_closed() -> bool {
    OUTPUT_CLOSED.load(Ordering::Relaxed)
}

/// The standard input itself, as a file.
///
/// # Errors
///
/// The error of the system, if standard input is closed.
pub fn own_input() -> io::Result<File> {
    #[cfg(unix)]
    let own = std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned();
    #[cfg(windows)]
    let own = std::os::windows::io::AsHandle::as_handle(&io::stdin()).try_clone_to_owned();
    own.map(File::from)
}

/// The standard output itself, as a file.
///
/// # Errors
///
/// The error of the system, if standard output is closed.
pub fn own_output() -> io::Result<File> {
    #[cfg(unix)]
    let own = std::os::fd::AsFd::as_fd(&io::stdout()).try_clone_to_owned();
    #[cfg(windows)]
    let own = std::os::windows::io::AsHandle::as_handle(&io::stdout()).try_clone_to_owned();
    own.map(File::from)
}

/// The text without control characters, which could break its line or command a terminal: they are shown as in Rust's
/// source.
pub fn escaped(text: &str) -> String {
    let mut line = String::with_capacity(text.len() + 1);
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

/// One line on stderr, whatever is in `text`: a file's name may hold line breaks and escape sequences.
pub fn say(text: &str) {
    let line = escaped(text) + "\n";
    // If stderr is closed there is no other place for the message.
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Whether clap stopped to show help or the version. Print them: clap's own printing ignores errors, so that a full disk
/// would look like success.
pub fn is_shown(error: &clap::Error) -> bool {
    use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};
    matches!(error.kind(), DisplayHelp | DisplayVersion)
}

/// The standard library's words for wrong numbers, and plain ones.
const PLAIN_WORDS: [(&str, &str); 4] = [
    (
        "cannot parse integer from empty string",
        "expected a number",
    ),
    ("invalid digit found in string", "expected a number"),
    (
        "number too large to fit in target type",
        "the number is too large",
    ),
    (
        "number too small to fit in target type",
        "the number is too small",
    ),
];

/// Clap's paragraphs as one line: the reason and the tips, then a hint at the help of `command` instead of the usage.
pub fn one_line(message: &str, command: &str) -> String {
    // A number below zero is wrong for every argument, so clap's tip how to write it does not help.
    let is_misleading = |paragraph: &str| {
        let value = paragraph.trim_start().strip_prefix("tip: to pass '-");
        value.is_some_and(|value| value.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    let is_reason = |paragraph: &&str| {
        !["Usage:", "For more information"]
            .iter()
            .any(|start| paragraph.starts_with(start))
    };
    let words = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let paragraphs = message.trim().split("\n\n").take_while(is_reason);
    let paragraphs = paragraphs.filter(|paragraph| !is_misleading(paragraph));
    let reason = paragraphs.map(words).collect::<Vec<_>>().join("; ");
    let reason = reason.strip_prefix("error: ").unwrap_or(&reason);
    let reason = PLAIN_WORDS
        .iter()
        .fold(reason.to_owned(), |reason, (words, plain)| {
            reason.replace(words, plain)
        });
    format!("{reason} (try '{command} --help')")
}

/// Rows of the same length, in columns as wide as their widest cell, two spaces apart.
pub fn table(rows: &[impl AsRef<[String]>]) -> String {
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row.as_ref()[column].chars().count());
        cells.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.as_ref().iter().zip(&widths);
        let line: String = cells
            .map(|(cell, width)| format!("{cell:width$}  "))
            .collect();
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_many_lines_becomes_one_with_a_hint() {
        let message = "error: bad\n  [possible values: a, b]\n\n  tip: good\n\nUsage: wellspring bytes [SIZE]\n\nx";
        let expected = "bad [possible values: a, b]; tip: good";
        let hint = "(try 'wellspring bytes --help')";
        assert_eq!(
            one_line(message, "wellspring bytes"),
            format!("{expected} {hint}")
        );
    }

    #[test]
    fn columns_are_aligned_and_lines_end_without_spaces() {
        let rows = [["a", "bbb", "c"], ["aaa", "b", ""]].map(|row| row.map(String::from));
        assert_eq!(table(&rows), "a    bbb  c\naaa  b\n");
    }
}

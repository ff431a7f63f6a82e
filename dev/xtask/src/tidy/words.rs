//! Plain words: the texts are read by people whose first language is not English.

use super::{Fault, is_data};

/// Turns that a reader has to decode, and what to write instead. Lower case; any punctuation between words counts as
/// a space, so that names of tests are checked as well.
const TURNS: [(&str, &str); 51] = [
    ("whoever", "who it is: the caller, the thread"),
    ("whosoever", "who it is: the caller, the thread"),
    ("whomever", "who it is: the caller, the thread"),
    ("is at it", "what it does"),
    ("are at it", "what they do"),
    ("nobody", "which thread, process or user does not"),
    ("somebody", "which thread, process or user"),
    ("anybody", "which thread, process or user"),
    ("no one", "which thread, process or user does not"),
    ("is no business of", "what is not involved"),
    ("of ones own", "your own"),
    ("one s own", "your own"),
    ("shall", "must, will or does"),
    ("lest", "so that .. does not"),
    ("part from", "differ from, or diverge from"),
    ("parts from", "differs from, or diverges from"),
    ("what it is worth", "its min-entropy, with the unit"),
    ("what they are worth", "their min-entropy, with the unit"),
    ("what that is worth", "its min-entropy, with the unit"),
    ("come to be", "exist, or happen"),
    ("to be had", "available"),
    ("with his life", "when the process exits"),
    ("ends well", "succeeds"),
    ("end well", "succeed"),
    ("ended well", "succeeded"),
    ("ere", "before"),
    ("naught", "nothing, or zero"),
    ("nought", "nothing, or zero"),
    ("whence", "where .. from"),
    ("whither", "where .. to"),
    ("whereby", "by which"),
    ("wherein", "in which"),
    ("thereof", "of it"),
    ("thereby", "so, or by that"),
    ("amongst", "among"),
    ("for ever", "until when, or that it never ends"),
    ("forever", "until when, or that it never ends"),
    ("says whether", "returns whether"),
    ("say whether", "return whether"),
    ("comes by", "what it does there, such as runs or calls"),
    ("goes by", "what it uses, or how much time passes"),
    ("mend", "repair"),
    ("mends", "repairs"),
    ("mended", "repaired"),
    (
        "is worth",
        "how many bits it has, or that it gets no credit",
    ),
    (
        "are worth",
        "how many bits they have, or that they get no credit",
    ),
    (
        "be worth",
        "how many bits it has, or that it gets no credit",
    ),
    ("where it lies", "in place"),
    ("where they lie", "in place"),
    ("where they lay", "in place"),
    ("what can be said", "statistics of"),
];

/// Words that a doc comment must not begin with, since its reader then has to guess the subject.
const OPENINGS: [(&str, &str); 3] = [
    ("What ", "its subject and a verb: 'The ..', 'Returns ..'"),
    ("As [`", "'Like [`', and what differs"),
    ("So many ", "the number, or the name of the argument"),
];

const THIS: &str = "dev/xtask/src/tidy/words.rs";

/// Checks every line of a text, in comments, messages, names and documents alike.
pub(super) fn check(path: &str, text: &str, faults: &mut Vec<Fault>) {
    if is_data(path) || path == THIS {
        return;
    }
    let mut before = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        // A turn may be broken by the end of a line.
        let words = words(line);
        let joined = format!(" {before}{words} ");
        for (turn, plain) in TURNS {
            let padded = format!(" {turn} ");
            let is_here = joined.contains(&padded) && !format!(" {before}").contains(&padded);
            if is_here {
                let note = format!("'{turn}' is hard to read: say {plain}");
                faults.push(Fault::new(path, number, note));
            }
        }
        before = last_words(&words);
    }
    check_openings(path, text, faults);
}

/// Checks the first words of each doc comment.
fn check_openings(path: &str, text: &str, faults: &mut Vec<Fault>) {
    let mut is_inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let marker = ["///", "//!"]
            .into_iter()
            .find(|marker| line.starts_with(marker));
        let comment = marker.map_or("", |marker| line[marker.len()..].trim_start());
        for (opening, plain) in OPENINGS {
            if !is_inside && comment.starts_with(opening) {
                let note = format!(
                    "a doc comment begins with '{}': say {plain}",
                    opening.trim()
                );
                faults.push(Fault::new(path, number, note));
            }
        }
        is_inside = !comment.is_empty();
    }
}

/// The words in lower case, with one space between.
fn words(line: &str) -> String {
    let lower = line.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

/// The last three words, each with a space behind: the longest turn has four.
fn last_words(words: &str) -> String {
    let words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
    let last = &words[words.len().saturating_sub(3)..];
    last.iter().flat_map(|word| [*word, " "]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let mut faults = Vec::new();
        check(path, text, &mut faults);
        faults.iter().map(|fault| fault.line).collect()
    }

    #[test]
    fn every_turn_is_found_in_every_kind_of_text() {
        for (turn, _) in TURNS {
            let text = format!("// Fine.\n/* So {turn}, they said. */\n");
            for path in [
                "src/x.rs",
                "kernel/x.c",
                "vectors/x.py",
                "README.md",
                ".ci/run",
            ] {
                assert!(lines(path, &text).contains(&2), "{turn} in {path}");
            }
        }
    }

    #[test]
    fn a_turn_is_found_over_the_end_of_a_line_and_in_names_and_with_an_apostrophe() {
        assert_eq!(lines("x.rs", "//! An engine of\n//! one's own.\n"), [2]);
        assert_eq!(lines("x.rs", "fn generators_of_ones_own() {}\n"), [1]);
        assert_eq!(lines("x.rs", "// Whoever reads.\n"), [1]);
    }

    #[test]
    fn words_that_only_contain_a_turn_pass() {
        for line in [
            "marshalled shallow modest lesterol",
            "the parts are of its own kind",
        ] {
            assert!(lines("x.md", line).is_empty(), "{line}");
        }
    }

    #[test]
    fn a_doc_comment_that_begins_without_its_subject_is_found_and_its_later_lines_pass() {
        for (opening, _) in OPENINGS {
            let text = format!("/// {opening}it has.\nfn f() {{}}\n//! {opening}it has.\n");
            assert_eq!(lines("x.rs", &text), [1, 3], "{opening}");
            let text = format!("/// A line.\n/// {opening}it has.\n// {opening}it has.\n");
            assert!(lines("x.rs", &text).is_empty(), "{opening}");
        }
    }

    #[test]
    fn data_and_licences_are_not_judged() {
        assert!(lines("vectors/x.txt", "shall").is_empty());
        assert!(lines("LICENSE-APACHE", "shall").is_empty());
    }
}

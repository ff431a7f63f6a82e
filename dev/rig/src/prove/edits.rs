//! Edits of the code under proof: what a proof puts into a copy of it, and the mutants that a proof must refute.
//!
//! ```text
//! # what the edit does, or "without: " and what a mutant lacks
//! -    a line as it is, or several
//! +    the lines instead
//! every old text => new text
//! behind first_function second_function: text that is put behind each of their statements
//! ```
//!
//! An edit that no longer fits, since the code has changed, is an error.

use crate::guest::{Result, failed};

/// The name of a mutant begins with this.
const WITHOUT: &str = "without: ";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) name: String,
    changes: Vec<Change>,
}

#[derive(Debug, PartialEq, Eq)]
enum Change {
    /// Lines that must be there once, and the lines instead.
    Lines { old: String, new: String },
    /// Text that must be there, wherever it is.
    Every { old: String, new: String },
    /// The text is put behind each statement of the functions.
    Behind {
        functions: Vec<String>,
        text: String,
    },
}

/// Reads the edits of a file.
pub(super) fn parse_edits(text: &str) -> Result<Vec<Edit>> {
    let mut edits = parse(text)?;
    edits.retain(|edit| !edit.name.starts_with(WITHOUT));
    Ok(edits)
}

/// Reads the mutants of a file.
pub(super) fn parse_mutants(text: &str) -> Result<Vec<Edit>> {
    let mut mutants = parse(text)?;
    mutants.retain(|edit| edit.name.starts_with(WITHOUT));
    for mutant in &mut mutants {
        mutant.name.drain(..WITHOUT.len());
    }
    Ok(mutants)
}

/// Reads all edits of a file, the mutants too.
pub(super) fn parse(text: &str) -> Result<Vec<Edit>> {
    let mut edits: Vec<Edit> = Vec::new();
    // Whether the last line was one of "-", to which the next such line belongs.
    let mut is_old = false;
    for line in text.lines() {
        if line.is_empty() {
            is_old = false;
            continue;
        }
        if let Some(name) = line.strip_prefix("# ") {
            edits.push(Edit {
                name: name.into(),
                changes: Vec::new(),
            });
            is_old = false;
            continue;
        }
        let Some(edit) = edits.last_mut() else {
            return failed(format!("an edit has no name: {line}"));
        };
        if let Some(old) = line.strip_prefix('-') {
            match edit.changes.last_mut() {
                Some(Change::Lines { old: before, .. }) if is_old => *before += &format!("{old}\n"),
                _ => edit.changes.push(Change::Lines {
                    old: format!("{old}\n"),
                    new: String::new(),
                }),
            }
            is_old = true;
            continue;
        }
        is_old = false;
        if let Some(added) = line.strip_prefix('+') {
            let Some(Change::Lines { new, .. }) = edit.changes.last_mut() else {
                return failed(format!("nothing is replaced by: {line}"));
            };
            *new += &format!("{added}\n");
        } else if let Some((old, new)) = line
            .strip_prefix("every ")
            .and_then(|rest| rest.split_once(" => "))
        {
            let (old, new) = (old.into(), new.into());
            edit.changes.push(Change::Every { old, new });
        } else if let Some((functions, text)) = line
            .strip_prefix("behind ")
            .and_then(|rest| rest.split_once(": "))
        {
            let functions = functions.split(' ').map(String::from).collect();
            let text = text.into();
            edit.changes.push(Change::Behind { functions, text });
        } else {
            return failed(format!("no edit: {line}"));
        }
    }
    Ok(edits)
}

impl Edit {
    pub(super) fn apply(&self, code: &str) -> Result<String> {
        let mut code = code.to_owned();
        for change in &self.changes {
            code = self.change(&code, change)?;
        }
        Ok(code)
    }

    fn change(&self, code: &str, change: &Change) -> Result<String> {
        match change {
            Change::Lines { old, new } => self.replace(code, old, new),
            Change::Every { old, new } if code.contains(old) => Ok(code.replace(old, new)),
            Change::Every { old, .. } => failed(format!(
                "the edit \"{}\" no longer fits: no {old}",
                self.name
            )),
            Change::Behind { functions, text } => self.put_behind(code, functions, text),
        }
    }

    /// Applies each change to the text that it fits, one of several. An error if it fits none, or two.
    pub(super) fn apply_to_one(&self, mut texts: Vec<&mut String>) -> Result {
        for change in &self.changes {
            let edited: Vec<_> = texts.iter().map(|text| self.change(text, change)).collect();
            let mut fitting = (0..texts.len()).filter(|&index| edited[index].is_ok());
            let Some(index) = fitting.next() else {
                return edited
                    .into_iter()
                    .next()
                    .map_or(Ok(()), |edit| edit.map(drop));
            };
            if fitting.next().is_some() {
                return failed(format!("the edit \"{}\" fits two files", self.name));
            }
            *texts[index] = edited[index].clone()?;
        }
        Ok(())
    }

    fn replace(&self, code: &str, old: &str, new: &str) -> Result<String> {
        let whole = format!("\n{code}");
        let (old, new) = (format!("\n{old}"), format!("\n{new}"));
        // Two places may share a line's end.
        let places =
            (0..whole.len()).filter(|&place| whole.as_bytes()[place..].starts_with(old.as_bytes()));
        match places.count() {
            1 => Ok(whole.replacen(&old, &new, 1)[1..].to_owned()),
            count => failed(format!(
                "the edit \"{}\" no longer fits: these lines are there {count} times:{old}",
                self.name
            )),
        }
    }

    fn put_behind(&self, code: &str, functions: &[String], text: &str) -> Result<String> {
        let mut edited = String::new();
        let mut found = 0;
        // The indentation of the function that the line is in.
        let mut inside: Option<&str> = None;
        for line in code.lines() {
            if functions.iter().any(|name| is_head(line, name)) {
                inside = Some(indentation(line));
                found += 1;
            }
            inside = inside.filter(|indent| line.strip_prefix(*indent) != Some("}"));
            edited += line;
            if inside.is_some_and(|indent| indentation(line).len() > indent.len())
                && line.ends_with(';')
            {
                edited += &format!(" {text}");
            }
            edited.push('\n');
        }
        if found != functions.len() {
            return failed(format!(
                "the edit \"{}\" no longer fits: {found} of {} functions are there",
                self.name,
                functions.len()
            ));
        }
        Ok(edited)
    }
}

/// Whether a function of this name begins in the line: one of C there, or one of Rust, with any indentation.
fn is_head(line: &str, name: &str) -> bool {
    let is_c = !line.starts_with(['\t', ' ', '*', '/', '#'])
        && !line.ends_with(';')
        && line.contains(&format!("{name}("));
    is_c || line.contains(&format!("fn {name}(")) || line.contains(&format!("fn {name}<"))
}

fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str =
        "static int f(int a)\n{\n\tint b = 1;\n\n\tif (a)\n\t\tb = 2;\n\treturn b;\n}\n";

    #[test]
    fn an_edit_replaces_its_lines_and_nothing_else() {
        let edits = parse("# one\n-\tint b = 1;\n-\n+\tint b = 3;\n\n# two\n-}\n").unwrap();
        assert_eq!(edits[0].name, "one");
        assert_eq!(
            edits[0].apply(CODE),
            Ok(CODE.replace("\tint b = 1;\n\n", "\tint b = 3;\n"))
        );
        assert_eq!(edits[1].apply(CODE), Ok(CODE.replace("}\n", "")));
        let every = parse("# b\nevery b = => c =\n").unwrap();
        assert_eq!(every[0].apply(CODE), Ok(CODE.replace("b =", "c =")));
    }

    #[test]
    fn text_comes_behind_each_statement() {
        let edits = parse("# all\nbehind f: g();\n").unwrap();
        assert_eq!(
            edits[0].apply(CODE),
            Ok(CODE
                .replace("= 1;", "= 1; g();")
                .replace("= 2;", "= 2; g();")
                .replace("n b;", "n b; g();"))
        );
        let rust = "impl A {\n    fn f<T>(\n        a: T,\n    ) {\n        g();\n    }\n    fn h() {\n        i();\n    }\n}\n";
        assert_eq!(edits[0].apply(rust), Ok(rust.replace("g();", "g(); g();")));
    }

    #[test]
    fn an_edit_that_does_not_fit_is_an_error() {
        for text in [
            "# none\n-\tint c = 1;\n",
            "# half a line\n-\tint b\n",
            "# gone\nbehind h: g();\n",
            "# nowhere\nevery zzz => d\n",
        ] {
            let edits = parse(text).unwrap();
            assert!(edits[0].apply(CODE).is_err(), "{text}");
        }
        let twice = parse("# twice\n-x\n").unwrap();
        assert!(twice[0].apply("x\nx\n").is_err());
        for text in ["-x\n", "# a\n+x\n", "# a\nx\n"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}

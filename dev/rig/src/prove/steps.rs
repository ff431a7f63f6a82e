//! A list of steps ties the model of the seed file to the code: each has the calls that make it.
//!
//! A line of `proofs/protocol/seedfile.steps` has a step, a file, a function and a call there. The calls of a function must
//! come in the order of the list, each once, and the model must go from step to step in the same order.

use super::read;
use crate::guest::{Result, failed};
use std::path::Path;

/// A line of the list.
struct Step<'a> {
    name: &'a str,
    file: &'a str,
    function: &'a str,
    call: &'a str,
}

/// Checks the list against the code and the model.
pub(super) fn check(root: &Path) -> Result {
    let folder = root.join("proofs/protocol");
    let list = read(&folder.join("seedfile.steps"))?;
    compare(&list, &read(&folder.join("seedfile.pml"))?, |file| {
        read(&root.join(file))
    })
}

fn compare(list: &str, model: &str, code: impl Fn(&str) -> Result<String>) -> Result {
    let steps: Vec<Step> = list.lines().filter_map(step).collect();
    if steps.len() != list.lines().count() || steps.is_empty() {
        return failed("a line of seedfile.steps has a step, a file, a function and a call");
    }
    for (index, step) in steps.iter().enumerate() {
        let before = steps[..index]
            .iter()
            .rfind(|before| (before.file, before.function) == (step.file, step.function));
        let text = code(step.file)?;
        let here = place(&text, step)?;
        if before
            .map(|before| place(&text, before))
            .transpose()?
            .is_some_and(|before| before >= here)
        {
            return failed(format!("{}: {} comes too early", step.file, step.call));
        }
    }
    let mut names: Vec<&str> = steps.iter().map(|step| step.name).collect();
    names.dedup();
    for pair in names.windows(2) {
        let (from, to) = (
            format!(":: at[i] == {} ", pair[0]),
            format!("at[i] = {}", pair[1]),
        );
        let is_next = model
            .split_once(&from)
            .and_then(|(_, rest)| rest.split(":: at[i] ==").next())
            .is_some_and(|rest| rest.contains(&to));
        if !is_next {
            return failed(format!("seedfile.pml: no {} behind {}", pair[1], pair[0]));
        }
    }
    Ok(())
}

fn step(line: &str) -> Option<Step<'_>> {
    let mut rest = line;
    let mut word = || {
        let (word, after) = rest.split_once(' ')?;
        rest = after.trim_start();
        Some(word)
    };
    let (name, file, function) = (word()?, word()?, word()?);
    Some(Step {
        name,
        file,
        function,
        call: rest,
    })
}

/// Where the call of a step is in its function. An error if it is not there once.
fn place(text: &str, step: &Step) -> Result<usize> {
    let body = text
        .split_once(&format!("fn {}(", step.function))
        .and_then(|(_, rest)| rest.split("\n    }\n").next())
        .unwrap_or_default();
    let mut places = body.match_indices(step.call).map(|(place, _)| place);
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        _ => failed(format!(
            "{}: {}() has not once: {}",
            step.file, step.function, step.call
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_makes_the_steps_of_the_model() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .nth(2)
            .unwrap();
        assert_eq!(check(root), Ok(()));
    }

    #[test]
    fn another_order_and_a_missing_call_are_found() {
        let list = "A a.rs f g()?\nB a.rs f h()?\n";
        let model = ":: at[i] == A -> at[i] = B\n:: at[i] == B -> skip\n";
        let code = "    fn f() {\n        g()?;\n        h()?;\n    }\n";
        let with = |model: &str, code: &str| compare(list, model, |_| Ok(code.to_owned()));
        assert_eq!(with(model, code), Ok(()));
        let other = code
            .replace("g()", "x()")
            .replace("h()", "g()")
            .replace("x()", "h()");
        assert!(with(model, &other).is_err());
        assert!(with(model, &code.replace("g()?", "g()")).is_err());
        assert!(with(model, &code.replace("h()?;", "h()?; h()?;")).is_err());
        assert!(with(&model.replace("= B", "= C"), code).is_err());
    }
}

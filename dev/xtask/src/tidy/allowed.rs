//! The exceptions, each with its reason. One that is not needed any more is a fault.

use super::fault::{Fault, Rule};

/// A file, the rule that it breaks, and why it may. A circle is named by its first file.
const ALLOWED: [(&str, Rule, &str); 1] = [(
    "crates/wellspring-core/tests/memory.rs",
    Rule::FileLength,
    "one search of memory, repeated after each step of the core",
)];

/// The faults without those that are allowed, and with a fault for each exception that allows nothing.
pub(super) fn without_exceptions(faults: Vec<Fault>) -> Vec<Fault> {
    apply(&ALLOWED, faults)
}

fn apply(allowed: &[(&str, Rule, &str)], faults: Vec<Fault>) -> Vec<Fault> {
    let allows = |fault: &Fault, (path, rule, _): &(&str, Rule, &str)| {
        fault.path == *path && fault.rule == *rule
    };
    let unneeded: Vec<Fault> = allowed
        .iter()
        .filter(|exception| !faults.iter().any(|fault| allows(fault, exception)))
        .map(|(path, rule, _)| {
            let note = format!("the exception from {rule:?} is not needed");
            Fault::new(path, 0, Rule::Exception, note)
        })
        .collect();
    let mut kept = faults;
    kept.retain(|fault| !allowed.iter().any(|exception| allows(fault, exception)));
    kept.extend(unneeded);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_allows_its_rule_in_its_file_and_nothing_else() {
        let fault = |path, rule| Fault::new(path, 1, rule, "");
        let allowed = [("a.rs", Rule::FileLength, "a table")];
        let kept = apply(
            &allowed,
            vec![
                fault("a.rs", Rule::FileLength),
                fault("a.rs", Rule::Promise),
                fault("b.rs", Rule::FileLength),
            ],
        );
        let kept: Vec<(&str, Rule)> = kept.iter().map(|f| (f.path.as_str(), f.rule)).collect();
        assert_eq!(kept, [("a.rs", Rule::Promise), ("b.rs", Rule::FileLength)]);
    }

    #[test]
    fn an_exception_that_allows_nothing_is_a_fault() {
        let allowed = [("a.rs", Rule::FileLength, "a table")];
        assert_eq!(apply(&allowed, Vec::new())[0].rule, Rule::Exception);
    }
}

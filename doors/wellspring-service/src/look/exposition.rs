//! The text format of Prometheus: names, labels and values.

use core::fmt::Write;

/// The text. Each metric in it begins with its help and its type.
pub(super) struct Text(pub(super) String);

/// A label's name and value.
pub(super) type Labels<'a> = &'a [(&'a str, &'a str)];

impl Text {
    pub(super) fn metric(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    pub(super) fn value(&mut self, name: &str, labels: Labels<'_>, value: impl core::fmt::Display) {
        self.0 += name;
        for (place, (label, text)) in labels.iter().enumerate() {
            let before = if place == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escape(text));
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    pub(super) fn single(
        &mut self,
        name: &str,
        kind: &str,
        help: &str,
        value: impl core::fmt::Display,
    ) {
        self.metric(name, kind, help);
        self.value(name, &[], value);
    }
}

/// Escapes the value of a label as the format demands.
fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\\n")
}

//! `uuid` writes identifiers, one a line.

use crate::common::{run, stderr, text_of};
use std::collections::BTreeSet;

fn is_uuid(text: &str, version: char) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && text
            .chars()
            .all(|digit| "0123456789abcdef-".contains(digit))
        && groups[2].starts_with(version)
        && groups[3].starts_with(['8', '9', 'a', 'b'])
}

#[test]
fn every_kind_has_its_form_and_no_line_comes_twice() {
    type Form = fn(&str) -> bool;
    let is_hex = |text: &str| text.bytes().all(|digit| digit.is_ascii_hexdigit());
    let kinds: [(&str, Form); 6] = [
        ("uuid", |text| is_uuid(text, '4')),
        ("uuid -4", |text| is_uuid(text, '4')),
        ("uuid -7", |text| is_uuid(text, '7')),
        ("uuid --ulid", |text| {
            text.len() == 26 && text.starts_with('0')
        }),
        ("uuid --trace 16", |text| text.len() == 32),
        ("uuid --trace 32", |text| text.len() == 64),
    ];
    for (command, has_form) in kinds {
        assert!(has_form(text_of(command).trim_end()), "{command}");
        let text = text_of(&format!("{command} -n 5000"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), 5000);
        assert!(lines.iter().all(|line| has_form(line)), "{command}");
        assert_eq!(
            command.contains("trace"),
            lines.iter().all(|line| is_hex(line))
        );
        let is_ordered = command.ends_with("-7") || command.ends_with("ulid");
        assert_eq!(is_ordered, lines.is_sorted(), "{command}");
    }
    assert_eq!(text_of("uuid -7 -n 0"), "");
}

#[test]
fn wrong_arguments_have_their_reason() {
    for (wrong, reason) in [
        ("uuid -4 -7", "cannot be used with"),
        ("uuid -n -1", "unexpected argument '-1'"),
        ("uuid -n many", "expected a number"),
        ("uuid --trace 8", "possible values: 16, 32"),
    ] {
        let output = run(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    }
}

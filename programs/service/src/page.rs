//! The status as one page of HTML: a picture of the last day, and the tables with units, for a browser or a phone.
//!
//! The page is made of the JSON of the status alone, has no script and fetches nothing. Its policy allows one style sheet, named
//! by its SHA-256. Every word that comes from outside passes `escape`, and every figure `amount`. The pictures are SVG: a
//! path for the bars of a door, and a path for each state of a source. So a page has at most some 100,000 bytes, whatever
//! clients do.

use crate::status::{SourceState, TABLES, rows};
use core::fmt::Write;
use serde_json::Value;
use wellspring_service_core::day::{SLOT_S, SLOTS};

/// The Content-Security-Policy of every document.
pub const POLICY: &str =
    "default-src 'none'; style-src 'sha256-zFaXfPDzNZ7kTkO047lyBa9WdOkQkQcRacy+bAVXt6A='";

/// The style sheet. Faults are red and of full height, so that a reader needs no colours to see them.
const STYLE: &str = "\
:root{color-scheme:light dark}
body{font:1rem/1.4 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:.5rem 1rem}
h1{font-size:1.3rem;margin:.5rem 0}
h2{font-size:1.1rem;margin:1.5rem 0 .3rem}
.well,.problems{border-left:.4rem solid #284;padding:.3rem .8rem;margin:.5rem 0;list-style:none}
.problems{border-color:#c22}
li,p,figcaption{overflow-wrap:anywhere}
figure{margin:.8rem 0}
figcaption,.axis{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 1rem}
svg{display:block;width:100%;height:2.2rem;background:#8883}
path{fill:#37a}
.working{fill:#284}
.absent{fill:#888}
.fault{fill:#c22}
.wide{overflow-x:auto}
table{border-collapse:collapse}
td,th{padding:.2rem 1rem .2rem 0;text-align:left;vertical-align:top;white-space:nowrap}
.words{white-space:normal;min-width:14rem;overflow-wrap:anywhere}
";

/// The page of a status.
pub fn html(status: &Value) -> String {
    let mut page = String::with_capacity(32 * 1024);
    page += "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    let _ = write!(
        page,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <title>wellspringd: {}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>wellspringd</h1>\n",
        escape(words(&status["phase"])),
    );
    problems(&mut page, status);
    facts(&mut page, status);
    day(&mut page, &status["day"]);
    for (key, columns) in TABLES {
        table(&mut page, key, columns, rows(status, key));
    }
    page += "<p>The same as text: <a href=\"status.txt\">status.txt</a>. For programs: \
             <a href=\"status.json\">status.json</a>, <a href=\"metrics\">metrics</a>.</p>\n</body>\n</html>\n";
    page
}

fn problems(page: &mut String, status: &Value) {
    let problems = rows(status, "problems");
    if problems.is_empty() {
        *page += "<p class=\"well\">All is well.</p>\n";
        return;
    }
    *page += "<ul class=\"problems\">\n";
    for problem in problems {
        let _ = writeln!(page, "<li>{}</li>", escape(words(problem)));
    }
    *page += "</ul>\n";
}

fn facts(page: &mut String, status: &Value) {
    let fact = |key: &str| amount(key, &status[key]);
    let _ = writeln!(
        page,
        "<p>Version {}, process {}, up {}: {}, generation {}, last reseed {} ago, {} with {}.</p>",
        fact("version"),
        fact("process"),
        fact("uptime_s"),
        fact("phase"),
        fact("generation"),
        fact("seed_age_s"),
        fact("mode"),
        fact("backend"),
    );
    if let Some(fault) = status["kernel_fault"].as_str() {
        let fault = escape(fault);
        let _ = writeln!(
            page,
            "<p>The kernel cannot be reseeded after a clone: {fault}</p>"
        );
    }
}

// The picture of the day: a row of bars for each door that handed out bytes and for the seeds, a strip for each source. The
// newest slot is at the right end.

fn day(page: &mut String, day: &Value) {
    let since = (SLOT_S * SLOTS as u64) / 3600;
    let _ = writeln!(page, "<h2>The last {since} hours</h2>");
    for door in rows(day, "doors") {
        let (bytes, requests) = (numbers(&door["bytes"]), numbers(&door["requests"]));
        if sum(&requests) == 0 {
            continue;
        }
        let said = format!(
            "{} in {} requests",
            si(sum(&bytes), "B"),
            grouped(sum(&requests))
        );
        row(page, words(&door["name"]), &said, &bars(&bytes, "B"));
    }
    let seeds = numbers(&day["reseeds"]);
    row(page, "seeds", &grouped(sum(&seeds)), &bars(&seeds, ""));
    let notices = numbers(&day["clone_notices"]);
    if sum(&notices) > 0 {
        let said = grouped(sum(&notices));
        row(page, "notices of clones", &said, &bars(&notices, ""));
    }
    for source in rows(day, "sources") {
        let worst: Vec<_> = newest(&source["worst"]).iter().map(state).collect();
        row(page, words(&source["name"]), &share(&worst), &strip(&worst));
    }
    let _ = writeln!(
        page,
        "<p class=\"axis\"><span>{since} hours ago</span><span>a bar is {}</span><span>now</span></p>",
        duration(SLOT_S)
    );
}

/// A picture with its name and what it says.
fn row(page: &mut String, name: &str, said: &str, (most, paths): &(String, String)) {
    let (name, said) = (escape(name), escape(said));
    let _ = writeln!(
        page,
        "<figure><figcaption><b>{name}</b><span>{said}{most}</span></figcaption>\
         <svg viewBox=\"0 0 {SLOTS} 20\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{name}: {said}{most}\">\
         {paths}</svg></figure>"
    );
}

/// Bars, the highest of height 20, and what the highest means.
fn bars(figures: &[u64], unit: &str) -> (String, String) {
    let most = figures.iter().copied().max().unwrap_or_default();
    if most == 0 {
        return (String::new(), String::new());
    }
    let mut path = "<path d=\"".to_owned();
    for (place, figure) in figures
        .iter()
        .enumerate()
        .filter(|(_, figure)| **figure > 0)
    {
        let height = (u128::from(*figure) * 20).div_ceil(u128::from(most));
        let x = SLOTS - figures.len() + place;
        let _ = write!(path, "M{x} 20v-{height}h1v{height}z");
    }
    path += "\"/>";
    (format!(", at most {} in a bar", si(most, unit)), path)
}

/// The state of a source in a slot, `None` where the service did not look.
fn state(name: &Value) -> Option<SourceState> {
    let is_this = |state: &SourceState| *name == state.name();
    SourceState::ALL.into_iter().find(is_this)
}

/// A strip: a path for each state, a rectangle for each run of slots.
fn strip(worst: &[Option<SourceState>]) -> (String, String) {
    let first = SLOTS - worst.len();
    let mut paths = String::new();
    for wanted in SourceState::ALL {
        let (class, height) = match wanted {
            SourceState::Working => ("working", 10),
            SourceState::Absent => ("absent", 3),
            _ => ("fault", 20),
        };
        let mut path = String::new();
        let mut place = first;
        for run in worst.chunk_by(|one, next| one == next) {
            if run[0] == Some(wanted) {
                let length = run.len();
                let _ = write!(path, "M{place} 20v-{height}h{length}v{height}z");
            }
            place += run.len();
        }
        if !path.is_empty() {
            let _ = write!(paths, "<path class=\"{class}\" d=\"{path}\"/>");
        }
    }
    (String::new(), paths)
}

/// The state now, and for how many slots it was worse or better.
fn share(worst: &[Option<SourceState>]) -> String {
    let counted = SourceState::ALL.map(|state| {
        let slots = worst.iter().filter(|one| **one == Some(state)).count();
        (state, slots)
    });
    let said = counted.iter().filter(|(_, slots)| *slots > 0);
    let said = said.map(|(state, slots)| format!("{} in {slots}", state.name()));
    let said: Vec<String> = said.collect();
    format!("{} of {} bars", said.join(", "), worst.len())
}

/// The figures of a list, which may come from another process: no more than a picture has.
fn newest(list: &Value) -> &[Value] {
    let list = list.as_array().map_or(&[][..], Vec::as_slice);
    &list[list.len().saturating_sub(SLOTS)..]
}

fn numbers(list: &Value) -> Vec<u64> {
    let figures = newest(list).iter();
    figures
        .map(|one| one.as_u64().unwrap_or_default())
        .collect()
}

fn sum(figures: &[u64]) -> u64 {
    figures.iter().fold(0, |sum, one| sum.saturating_add(*one))
}

// The tables, and their figures with units.

fn table(page: &mut String, key: &str, columns: &str, rows: &[Value]) {
    if rows.is_empty() {
        return;
    }
    let _ = write!(page, "<h2>{key}</h2>\n<div class=\"wide\"><table>\n<tr>");
    for column in columns.split(' ') {
        // The unit is beside each figure.
        let units = ["_bytes", "_bits", "_ns", "_s"];
        let name = units.iter().find_map(|unit| column.strip_suffix(unit));
        let _ = write!(
            page,
            "<th>{}</th>",
            name.unwrap_or(column).replace('_', " ")
        );
    }
    *page += "</tr>\n";
    for row in rows {
        *page += "<tr>";
        for column in columns.split(' ') {
            let class = match column {
                "place" | "fault" | "words" | "last_error" => " class=\"words\"",
                _ => "",
            };
            let _ = write!(page, "<td{class}>{}</td>", amount(column, &row[column]));
        }
        *page += "</tr>\n";
    }
    *page += "</table></div>\n";
}

/// A value of the status with the unit in which its key ends, escaped.
fn amount(key: &str, value: &Value) -> String {
    let unit = key.rsplit('_').next().unwrap_or_default();
    match (value, value.as_u64()) {
        (Value::Null, _) => "-".into(),
        (Value::Bool(is_so), _) => (if *is_so { "yes" } else { "no" }).into(),
        (Value::String(text), _) => escape(text),
        (_, Some(number)) => match unit {
            "bytes" => si(number, "B"),
            "bits" => format!("{} bits", grouped(number)),
            "ns" => time(number),
            "s" => duration(number),
            "process" | "number" => number.to_string(),
            _ => grouped(number),
        },
        _ => escape(&value.to_string()),
    }
}

/// Three digits at most, and a prefix of the SI: `1.23 kB`. Without a unit the number itself.
fn si(number: u64, unit: &str) -> String {
    if unit.is_empty() || number < 1000 {
        return format!("{} {unit}", grouped(number)).trim_end().to_owned();
    }
    let (mut figure, mut prefixes) = (number as f64 / 1e3, "kMGTPE".chars());
    let mut prefix = prefixes.next();
    while figure >= 999.5 {
        figure /= 1e3;
        prefix = prefixes.next();
    }
    let digits = if figure < 9.995 {
        2
    } else {
        usize::from(figure < 99.95)
    };
    format!("{figure:.digits$} {}{unit}", prefix.unwrap_or('E'))
}

fn time(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} us", ns / 1_000),
        1_000_000..1_000_000_000 => format!("{} ms", ns / 1_000_000),
        _ => format!("{:.1} s", ns as f64 / 1e9),
    }
}

fn duration(s: u64) -> String {
    match s {
        0..60 => format!("{s} s"),
        60..3_600 => format!("{} min", s / 60),
        3_600..86_400 => format!("{} h {} min", s / 3_600, s / 60 % 60),
        _ => format!("{} days {} h", grouped(s / 86_400), s / 3_600 % 24),
    }
}

/// A number with a comma between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn words(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

/// Text that no browser takes for a tag, an entity or the end of an attribute. Control characters become `?`.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            _ if character.is_control() => escaped.push('?'),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use sha2::{Digest, Sha256};
    use wellspring::ids::base64url_text;

    #[test]
    fn the_policy_names_the_style_sheet_and_allows_nothing_else() {
        let hash: [u8; 32] = Sha256::digest(STYLE).into();
        let base64 = base64url_text::<32, 43>(hash)
            .replace('-', "+")
            .replace('_', "/");
        let policy = format!("default-src 'none'; style-src 'sha256-{base64}='");
        assert_eq!(POLICY, policy);
    }

    /// A status with these words wherever a status has words.
    fn with_words(words: &str) -> Value {
        let thing = json!({
            "name": words, "place": words, "fault": words, "state": words, "health": words, "last_error": words,
            "user": words, "door": words, "process": words, "words": words, "worst": [words, "working"],
            "bytes": [1], "requests": [1], "number": words, "open": words,
        });
        let mut status = json!({
            "problems": [words], "kernel_fault": words, "phase": words, "mode": words, "backend": words,
            "version": words, "process": words, "uptime_s": words, "generation": words,
            "day": {"doors": [thing], "sources": [thing], "reseeds": [words], "clone_notices": words},
        });
        for (key, _) in TABLES {
            status[key] = json!([thing]);
        }
        status
    }

    #[test]
    fn words_of_others_are_text_wherever_they_stand() {
        let page = html(&with_words(
            "<script>alert(1)</script>\"' onload='x' &amp;\u{1b}[",
        ));
        assert!(!page.contains("<script"), "{page}");
        let said =
            "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39; onload=&#39;x&#39; &amp;amp;?[";
        let plain = html(&with_words("plain"));
        // Each place of a word has the same word, escaped, and the page has nothing else.
        assert_eq!(page.replace(said, "plain"), plain);
        assert!(plain.matches("plain").count() > 20);
    }

    #[test]
    fn the_newest_slot_is_at_the_right_end_and_the_highest_bar_is_of_full_height() {
        let (most, path) = bars(&[0, 500, 1, 2000], "B");
        assert_eq!(most, ", at most 2.00 kB in a bar");
        let expected = "<path d=\"M93 20v-5h1v5zM94 20v-1h1v1zM95 20v-20h1v20z\"/>";
        assert_eq!(path, expected);
        assert_eq!(bars(&[0, 0], "B"), (String::new(), String::new()));
        assert!(bars(&[u64::MAX; SLOTS], "B").1.contains("M0 20v-20h1v20z"));
    }

    #[test]
    fn a_strip_has_a_rectangle_for_each_run_of_a_state_and_a_gap_where_the_service_did_not_look() {
        let names = ["working", "working", "silent", "no state", "working"];
        let worst: Vec<_> = names.iter().map(|name| state(&json!(name))).collect();
        let (_, paths) = strip(&worst);
        let expected = "<path class=\"working\" d=\"M91 20v-10h2v10zM95 20v-10h1v10z\"/>\
                        <path class=\"fault\" d=\"M93 20v-20h1v20z\"/>";
        assert_eq!(paths, expected);
        assert_eq!(share(&worst), "working in 3, silent in 1 of 5 bars");
    }

    #[test]
    fn a_figure_has_the_unit_of_its_key() {
        for (key, value, shown) in [
            ("bytes", json!(999), "999 B"),
            ("used_bytes", json!(1_234_567), "1.23 MB"),
            ("bytes", json!(999_950), "1.00 MB"),
            ("bytes", json!(u64::MAX), "18.4 EB"),
            ("credit_bits", json!(16_384), "16,384 bits"),
            ("p99_ns", json!(16_384), "16 us"),
            ("p99_ns", json!(1_u64 << 33), "8.6 s"),
            ("open_for_s", json!(3_725), "1 h 2 min"),
            ("ago_s", json!(90_061), "1 days 1 h"),
            ("requests", json!(1_000_000), "1,000,000"),
            ("process", json!(1_000_000), "1000000"),
            ("open", json!(true), "yes"),
            ("fault", json!(null), "-"),
        ] {
            assert_eq!(amount(key, &value), shown, "{key} {value}");
        }
    }

    #[test]
    fn the_page_of_the_greatest_status_has_at_most_256_kb() {
        let thing = json!({
            "name": "n".repeat(32), "user": "u".repeat(20), "place": "p".repeat(108), "words": "w".repeat(300),
            "bytes": u64::MAX, "requests": u64::MAX,
        });
        let name = "n".repeat(32);
        let door = json!({
            "name": name, "requests": [u64::MAX],
            "bytes": (0..2 * SLOTS as u64).map(|slot| u64::MAX - slot).collect::<Vec<_>>(),
        });
        let worst = (0..2 * SLOTS).map(|slot| SourceState::ALL[slot % 6].name());
        let source = json!({"name": name, "worst": worst.collect::<Vec<_>>()});
        let mut status = json!({"day": {"doors": vec![door; 7], "sources": vec![source; 16]}});
        for (key, _) in TABLES {
            status[key] = json!(vec![&thing; 64]);
        }
        let length = html(&status).len();
        assert!((100_000..256_000).contains(&length), "{length}");
    }
}

//! Text that may stand in a page.

use crate::tables::Table;

/// The characters that mean something to HTML, made to mean themselves.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            _ => escaped.push(character),
        }
    }
    escaped
}

/// A whole page: everything it needs is in it.
pub(crate) fn page(title: &str, header: &str, body: &str) -> String {
    let style = include_str!("style.css");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{style}</style>\n\
         </head>\n<body>\n<header>\n<h1>{title}</h1>\n{header}</header>\n<main>\n{body}</main>\n</body>\n</html>\n",
        title = escape(title)
    )
}

/// A paragraph.
pub(crate) fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

/// A part with its plots.
pub(crate) fn section(title: &str, words: &str, content: &str) -> String {
    format!(
        "<section>\n<h2>{}</h2>\n{}{content}</section>\n",
        escape(title),
        paragraph(words)
    )
}

/// A table, with its verdicts coloured.
pub(crate) fn table(table: &Table) -> String {
    let cell = |tag: &str, text: &String| {
        let class = match text.as_str() {
            "met" => " class=\"met\"",
            "NOT MET" => " class=\"missed\"",
            "not measured" => " class=\"open\"",
            _ => "",
        };
        format!("<{tag}{class}>{}</{tag}>", escape(text))
    };
    let row = |tag: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|text| cell(tag, text)).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let has_head = table.head.iter().any(|cell| !cell.is_empty());
    let (class, head) = match has_head {
        true => ("", format!("<thead>{}</thead>\n", row("th", &table.head))),
        false => (" class=\"plain\"", String::new()),
    };
    let rows: String = table.rows.iter().map(|cells| row("td", cells)).collect();
    let notes: String = table.notes.iter().map(|note| paragraph(note)).collect();
    format!(
        "<h2>{}</h2>\n<div class=\"scroll\"><table{class}>\n{head}<tbody>\n{rows}</tbody></table></div>\n{notes}",
        escape(&table.title)
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Fails unless every element that is opened is closed, in order, and nothing is fetched from elsewhere.
    pub(crate) fn assert_well_formed(page: &str) {
        let (mut open, mut rest) = (Vec::new(), page);
        while let Some(start) = rest.find('<') {
            let length = rest[start..].find('>').expect("every tag ends");
            let tag = &rest[start + 1..start + length];
            rest = &rest[start + length + 1..];
            let name = tag
                .trim_start_matches('/')
                .split([' ', '\n'])
                .next()
                .unwrap();
            match tag {
                _ if tag.starts_with('!') || tag.ends_with('/') || name == "meta" => {}
                _ if tag.starts_with('/') => {
                    assert_eq!(open.pop(), Some(name), "before {rest:.80}")
                }
                _ => open.push(name),
            }
        }
        assert_eq!(open, Vec::<&str>::new());
        for outside in ["http:", "https:", "src=", "href=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(
            !page.contains("NaN") && !page.contains(">inf"),
            "a figure that is none"
        );
    }

    #[test]
    fn what_a_cpu_calls_itself_cannot_become_markup() {
        assert_eq!(escape("<a b=\"c\">&"), "&lt;a b=&quot;c&quot;&gt;&amp;");
    }

    #[test]
    fn a_page_is_closed_where_it_is_opened() {
        assert_well_formed(&page(
            "<t>",
            &paragraph("a & b"),
            &section("s", "w", "<svg></svg>"),
        ));
    }

    #[test]
    #[should_panic]
    fn a_tag_left_open_is_noticed() {
        assert_well_formed("<p><b></p>");
    }
}

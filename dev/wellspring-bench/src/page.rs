//! A page in one file: sections with drawings, then tables. It fetches nothing and has no script.

use crate::chart::{self, Drawing, escape};
use crate::table::Table;

/// The style of the page, which needs that of the drawings before it: for other pages as well.
pub const STYLE: &str = include_str!("page.css");

/// Drawings of one kind.
#[derive(Clone, Debug)]
pub struct Section {
    /// The title.
    pub title: String,
    /// How to read the drawings.
    pub words: String,
    /// Side by side where there is room.
    pub drawings: Vec<Drawing>,
}

impl Section {
    fn html(&self) -> String {
        let figures: String = self
            .drawings
            .iter()
            .map(|drawing| format!("<figure>\n{}</figure>\n", drawing.inline()))
            .collect();
        format!(
            "<section>\n<h2>{}</h2>\n{}<div class=\"charts\">\n{figures}</div>\n</section>\n",
            escape(&self.title),
            paragraph(&self.words)
        )
    }
}

/// The content of a page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The title.
    pub title: String,
    /// The most important figure, in one sentence.
    pub headline: String,
    /// The lines under the title.
    pub header: Vec<String>,
    /// Sections without a drawing are left out.
    pub sections: Vec<Section>,
    /// All figures.
    pub tables: Vec<Table>,
}

impl Page {
    /// The text of the file.
    #[must_use]
    pub fn html(&self) -> String {
        let (title, headline) = (escape(&self.title), escape(&self.headline));
        let header: String = self.header.iter().map(|line| paragraph(line)).collect();
        let sections = self
            .sections
            .iter()
            .filter(|section| !section.drawings.is_empty());
        let sections: String = sections.map(Section::html).collect();
        let tables: String = self.tables.iter().map(table).collect();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{}{}</style>\n\
             </head>\n<body>\n<header>\n<h1>{title}</h1>\n<p class=\"headline\">{headline}</p>\n{header}</header>\n\
             <main>\n{sections}<section>\n<h2>All figures</h2>\n{tables}</section>\n</main>\n</body>\n</html>\n",
            chart::STYLE,
            STYLE,
        )
    }
}

fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

fn table(table: &Table) -> String {
    let row = |tag: &str, cells: &[String]| {
        let cells = cells
            .iter()
            .map(|text| format!("<{tag}>{}</{tag}>", escape(text)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let head = if table.has_head() {
        format!("<thead>{}</thead>\n", row("th", &table.head))
    } else {
        String::new()
    };
    let class = if table.has_head() {
        ""
    } else {
        " class=\"plain\""
    };
    let rows: String = table.rows.iter().map(|cells| row("td", cells)).collect();
    let notes: String = table.notes.iter().map(|note| paragraph(note)).collect();
    format!(
        "<details>\n<summary>{}</summary>\n<div class=\"scroll\"><table{class}>\n{head}<tbody>\n{rows}</tbody></table></div>\n\
         {notes}</details>\n",
        escape(&table.title)
    )
}

/// Fails unless every element that is opened is closed, in order, and nothing is fetched from elsewhere.
#[cfg(test)]
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
            _ if tag.starts_with('/') => assert_eq!(open.pop(), Some(name), "before {rest:.80}"),
            _ => open.push(name),
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    for outside in [
        "http:", "https:", "src=", "href=", "@import", "url(", "<script",
    ] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(
        !page.contains("NaN") && !page.contains(">inf"),
        "a figure that is no number"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_of_a_page_is_closed_and_its_text_is_escaped() {
        let mut rows = Table::new("a & b", &["<head>"]);
        rows.rows.push(vec!["<cell>".into()]);
        let drawing = chart::Bars {
            title: "<t>".into(),
            caption: "c".into(),
            bars: Vec::new(),
            mark: Some(1.0),
        }
        .draw();
        let section = |title: &str| Section {
            title: title.into(),
            words: "w".into(),
            drawings: vec![drawing.clone()],
        };
        let page = Page {
            title: "<t>".into(),
            headline: "h".into(),
            header: vec!["<p>".into()],
            sections: vec![section("first"), section("<second>")],
            tables: vec![rows],
        };
        let html = page.html();
        assert_well_formed(&html);
        assert!(html.contains("<h2>&lt;second&gt;</h2>"));
        assert!(html.contains("a &amp; b") && html.contains("<td>&lt;cell&gt;</td>"));
    }

    #[test]
    #[should_panic(expected = "before")]
    fn a_tag_left_open_is_noticed() {
        assert_well_formed("<p><b></p>");
    }
}

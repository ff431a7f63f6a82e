//! Bars and lines as SVG, for a page or for a file of their own. Imports nothing from the rest of the crate.
//!
//! ```text
//! axis     linear and logarithmic axes with round ticks
//! bars     figures of one kind: name, bar, value
//! lines    up to four series over two axes
//! ```
//!
//! A drawing is 360 units wide, as wide as a telephone, so that its letters of 12 units are legible there. On a
//! wider screen several drawings are side by side. Colours are classes of `chart.css`, so that one drawing
//! serves light and dark screens.
//!
//! Why this is not a plotting crate: each was tried with one chart of four series (2026-11-22; `cargo build
//! --release` from nothing on two cores that others used as well, so the times are for comparison only).
//!
//! | | builds in | packages | the page | dark screen | 390 pixels | logarithmic axis | without a network |
//! |---|---:|---:|---:|---|---|---|---|
//! | plotters 0.3 (SVG) | 13 s | 5 | 11 KB | black text on black | letters of 5 pixels | yes | yes |
//! | poloto 19.1 | 8 s | 2 | 6 KB | by a hand-written style | fixed size | no; and no bars from the side | yes |
//! | charming 0.6 | 169 s | 60 | 2 KB | by a theme | fixed size | yes | no: fetches echarts |
//! | plotly 0.14, script embedded | 110 s | 48 | 6.8 MB | by a theme | yes | yes | yes |
//! | this module | part of this crate | 0 | 8 KB | yes | yes | yes | yes |
//!
//! plotters and poloto were looked at in a browser, dark and 500 pixels wide. charming and plotly were ruled out by
//! what they fetch or weigh; the other columns of theirs are from their documentation. charming without a network
//! needs its feature `ssr`, a JavaScript engine: 215 packages.

mod axis;
mod bars;
mod lines;
#[cfg(test)]
mod palette;

pub use axis::Axis;
pub use bars::{Bar, Bars, Tint};
pub use lines::{Lines, MAX_SERIES, Point, Series};

/// The style of all drawings, for the page around them.
pub const STYLE: &str = include_str!("chart.css");

/// The width of every drawing.
const WIDTH: f64 = 360.0;
/// The room below a drawing.
const GAP: f64 = 10.0;

/// A drawing, and its figures in words.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// The height, in the units of which the width is 360.
    height: f64,
    /// The text for a screen reader.
    label: String,
    /// The content of the `svg` element.
    body: String,
}

impl Drawing {
    /// For a page that has [`STYLE`].
    #[must_use]
    pub fn inline(&self) -> String {
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
            self.height,
            escape(&self.label),
            self.body
        )
    }

    /// Drawings one below the other, as the text of an SVG file, with a line of small print.
    #[must_use]
    pub fn file(drawings: &[Drawing], small_print: &[String]) -> String {
        const MARGIN: f64 = 12.0;
        const LINE: f64 = 15.0;
        let mut body = String::new();
        let mut top = MARGIN;
        for drawing in drawings {
            body += &format!(
                "<g transform=\"translate({MARGIN} {top})\">\n{}</g>\n",
                drawing.body
            );
            top += drawing.height + GAP;
        }
        for line in small_print {
            body += &format!(
                "<text class=\"small\" x=\"{MARGIN}\" y=\"{}\">{}</text>\n",
                top + 4.0,
                escape(line)
            );
            top += LINE;
        }
        let labels: Vec<&str> = drawings
            .iter()
            .map(|drawing| drawing.label.as_str())
            .collect();
        let (width, label) = (WIDTH + 2.0 * MARGIN, escape(&labels.join(". ")));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {top}\" width=\"{width}\" height=\"{top}\" \
             role=\"img\" aria-label=\"{label}\">\n<style>\n{STYLE}.paper {{ fill: var(--paper); }}\n\
             .small {{ font-size: 10px; }}\n</style>\n\
             <rect class=\"paper\" width=\"100%\" height=\"100%\" rx=\"6\"/>\n{body}</svg>\n"
        )
    }
}

/// The title, and the line under it.
fn heading(title: &str, caption: &str) -> String {
    format!(
        "<text class=\"head\" x=\"0\" y=\"12\">{}</text>\n<text x=\"0\" y=\"29\">{}</text>\n",
        escape(title),
        escape(caption)
    )
}

/// Text for HTML and SVG: the characters that mean something there, as entities.
#[must_use]
pub fn escape(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_cpu_cannot_become_markup() {
        assert_eq!(escape("<a b=\"c\">&"), "&lt;a b=&quot;c&quot;&gt;&amp;");
    }

    #[test]
    fn a_file_has_its_own_style_and_room_for_all_drawings() {
        let drawing = |height| Drawing {
            height,
            label: "L".into(),
            body: "<g/>".into(),
        };
        let file = Drawing::file(&[drawing(100.0), drawing(50.0)], &["small & print".into()]);
        assert!(file.contains("viewBox=\"0 0 384 197\""), "{file}");
        assert!(file.contains("prefers-color-scheme: dark") && file.contains("small &amp; print"));
    }
}

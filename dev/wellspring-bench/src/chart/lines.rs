//! Series over two axes.

use super::{Axis, Drawing, WIDTH, escape};
use std::fmt::Write;

/// A point, with the text that is shown beside the pointer.
#[derive(Clone, Debug)]
pub struct Point {
    /// The place on the horizontal axis.
    pub x: f64,
    /// The place on the vertical axis.
    pub y: f64,
    /// The figure in words.
    pub words: String,
}

/// A line through points.
#[derive(Clone, Debug)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// Dashed: a bound, or a cost that is in all others.
    pub is_dashed: bool,
    /// From left to right.
    pub points: Vec<Point>,
}

/// Up to [`MAX_SERIES`] series: more cannot be told apart.
#[derive(Clone, Debug)]
pub struct Lines {
    /// The heading.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis; its label is the caption.
    pub y: Axis,
    /// Each has a colour and a mark of its own.
    pub series: Vec<Series>,
    /// A dotted line to compare with.
    pub ideal: Vec<(f64, f64)>,
}

/// The most series of a chart: as many as there are colours and marks.
pub const MAX_SERIES: usize = 4;

const LEFT: f64 = 58.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 234.0;
/// The baseline of the first row of the legend.
const LEGEND: f64 = BOTTOM + 56.0;
const LEGEND_ROW: f64 = 18.0;
/// With a longer name among them, the legend has one column instead of two.
const LONGEST_NAME: usize = 23;

impl Lines {
    /// The drawing, legend included.
    ///
    /// # Panics
    ///
    /// With more than [`MAX_SERIES`] series.
    #[must_use]
    pub fn draw(&self) -> Drawing {
        assert!(
            self.series.len() <= MAX_SERIES,
            "{}: too many series",
            self.title
        );
        let mut body = super::heading(&self.title, &self.y.label);
        self.draw_axes(&mut body);
        if !self.ideal.is_empty() {
            let places = self.ideal.iter().map(|&(x, y)| self.at(x, y));
            let _ = writeln!(
                body,
                "<polyline class=\"ideal\" points=\"{}\"/>",
                corners(places)
            );
        }
        for (place, series) in self.series.iter().enumerate() {
            self.draw_series(&mut body, place, series);
        }
        let rows = self.draw_legend(&mut body);
        Drawing {
            height: LEGEND + LEGEND_ROW * rows as f64,
            label: self.label(),
            body,
        }
    }

    /// The first and last figure of each series.
    fn label(&self) -> String {
        let ends = self.series.iter().filter_map(|series| {
            let (first, last) = (series.points.first()?, series.points.last()?);
            Some(format!(
                "{}: {} to {}",
                series.name, first.words, last.words
            ))
        });
        format!(
            "{}. {}. {}",
            self.title,
            self.y.label,
            ends.collect::<Vec<_>>().join("; ")
        )
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (
            LEFT + (RIGHT - LEFT) * self.x.place(x),
            BOTTOM - (BOTTOM - TOP) * self.y.place(y),
        )
    }

    fn draw_axes(&self, body: &mut String) {
        for (value, name) in &self.y.ticks {
            let (_, top) = self.at(self.x.from, *value);
            let _ = writeln!(
                body,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{top:.1}\" y2=\"{top:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 7.0,
                top + 4.0,
                escape(name)
            );
        }
        for (value, name) in &self.x.ticks {
            let (left, _) = self.at(*value, self.y.from);
            let _ = writeln!(
                body,
                "<line class=\"grid\" x1=\"{left:.1}\" x2=\"{left:.1}\" y1=\"{BOTTOM}\" y2=\"{:.1}\"/>\
                 <text x=\"{left:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                BOTTOM + 5.0,
                BOTTOM + 18.0,
                escape(name)
            );
        }
        let (middle, lowest) = (f64::midpoint(LEFT, RIGHT), BOTTOM + 34.0);
        let label = escape(&self.x.label);
        let _ = writeln!(
            body,
            "<text x=\"{middle:.1}\" y=\"{lowest:.1}\" text-anchor=\"middle\">{label}</text>"
        );
    }

    fn draw_series(&self, body: &mut String, place: usize, series: &Series) {
        let dashed = if series.is_dashed { " dashed" } else { "" };
        let corners = corners(series.points.iter().map(|point| self.at(point.x, point.y)));
        let _ = writeln!(
            body,
            "<g class=\"c{place}\"><polyline class=\"line{dashed}\" points=\"{corners}\"/>"
        );
        for point in &series.points {
            let (left, top) = self.at(point.x, point.y);
            let title = escape(&format!("{}: {}", series.name, point.words));
            let _ = writeln!(
                body,
                "<g><title>{title}</title>{}</g>",
                mark(place, left, top)
            );
        }
        *body += "</g>\n";
    }

    /// Returns how many rows it takes.
    fn draw_legend(&self, body: &mut String) -> usize {
        let is_narrow = self
            .series
            .iter()
            .all(|series| series.name.chars().count() <= LONGEST_NAME);
        let columns = if is_narrow { 2 } else { 1 };
        for (place, series) in self.series.iter().enumerate() {
            let left = WIDTH / 2.0 * (place % columns) as f64;
            let top = LEGEND + LEGEND_ROW * (place / columns) as f64;
            let (middle, end, text) = (left + 12.0, left + 24.0, left + 30.0);
            let (line, name) = (top - 4.0, escape(&series.name));
            let dashed = if series.is_dashed { " dashed" } else { "" };
            let _ = writeln!(
                body,
                "<g class=\"c{place}\"><polyline class=\"line{dashed}\" points=\"{left},{line} {end},{line}\"/>{}\
                 <text class=\"name\" x=\"{text}\" y=\"{top}\">{name}</text></g>",
                mark(place, middle, line)
            );
        }
        self.series.len().div_ceil(columns)
    }
}

/// A mark of its own for each series, for those who see no colours.
fn mark(place: usize, x: f64, y: f64) -> String {
    match place {
        0 => format!("<circle class=\"mark\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>"),
        1 => format!(
            "<rect class=\"mark\" x=\"{:.1}\" y=\"{:.1}\" width=\"7\" height=\"7\"/>",
            x - 3.5,
            y - 3.5
        ),
        2 => format!(
            "<path class=\"mark\" d=\"M{x:.1} {:.1}l4.5 8h-9z\"/>",
            y - 5.0
        ),
        _ => format!(
            "<path class=\"mark\" d=\"M{x:.1} {:.1}l5 5l-5 5l-5-5z\"/>",
            y - 5.0
        ),
    }
}

fn corners(places: impl Iterator<Item = (f64, f64)>) -> String {
    let corners: Vec<String> = places
        .map(|(left, top)| format!("{left:.1},{top:.1}"))
        .collect();
    corners.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize) -> Lines {
        let point = |x, y| Point {
            x,
            y,
            words: format!("{y} at {x}"),
        };
        let series = |place| Series {
            name: format!("<{place}>"),
            is_dashed: false,
            points: vec![point(1.0, 1.0), point(2.0, 10.0)],
        };
        Lines {
            title: "T".into(),
            x: Axis::linear("threads", 2.0, |value| value.to_string()),
            y: Axis::logarithmic("times", [1.0, 10.0].into_iter(), |value| value.to_string()),
            series: (0..count).map(series).collect(),
            ideal: Vec::new(),
        }
    }

    #[test]
    fn each_series_has_a_colour_a_mark_and_a_row_of_the_legend() {
        let body = lines(MAX_SERIES).draw().body;
        let marks: Vec<&str> = [
            "<circle class=\"mark\"",
            "<rect class=\"mark\"",
            "l4.5 8h-9z",
            "l5 5l-5 5l-5-5z",
        ]
        .into();
        for (place, shape) in marks.into_iter().enumerate() {
            assert!(body.contains(&format!("class=\"c{place}\"")));
            assert_eq!(
                body.matches(shape).count(),
                3,
                "two points and the legend: {shape}"
            );
            assert!(body.contains(&format!(">&lt;{place}&gt;</text>")));
        }
    }

    #[test]
    #[should_panic(expected = "too many series")]
    fn more_series_than_can_be_told_apart_are_refused() {
        let _ = lines(MAX_SERIES + 1).draw();
    }

    #[test]
    fn the_ends_of_each_series_can_be_read_without_seeing_it() {
        assert_eq!(lines(1).draw().label, "T. times. <0>: 1 at 1 to 10 at 2");
    }
}

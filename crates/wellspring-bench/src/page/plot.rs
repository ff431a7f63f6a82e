//! Curves and dots as SVG. Hovering over a dot shows its figures: an SVG title needs no script.

use super::markup::escape;
use std::fmt::Write;

/// An axis: where its values lie, and which of them are labelled.
#[derive(Clone)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) is_logarithmic: bool,
    pub(crate) ticks: Vec<(f64, String)>,
    pub(crate) from: f64,
    pub(crate) to: f64,
}

impl Axis {
    /// A logarithmic axis over `values`, with a tick at each power of ten, or at 1, 2 and 5 times that where
    /// there are few.
    pub(crate) fn logarithmic(
        label: &str,
        values: impl Iterator<Item = f64>,
        name: impl Fn(f64) -> String,
    ) -> Self {
        let usable = values.filter(|value| value.is_finite() && *value > 0.0);
        let (least, most) = usable.fold((f64::MAX, f64::MIN), |(least, most), value| {
            (least.min(value), most.max(value))
        });
        let (least, most) = if least > most {
            (1.0, 10.0)
        } else {
            (least, most)
        };
        let steps: &[f64] = if most / least > 300.0 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        // A little room, so that no dot lies on an edge.
        let (least, most) = (least / 1.1, most * 1.1);
        let decades = least.log10().floor() as i32..=most.log10().ceil() as i32;
        let marks =
            decades.flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
        let marks: Vec<f64> = marks.collect();
        let from = marks
            .iter()
            .copied()
            .filter(|mark| *mark <= least)
            .fold(0.0, f64::max);
        let to = marks
            .iter()
            .copied()
            .find(|mark| *mark >= most)
            .unwrap_or(most);
        let shown = marks.into_iter().filter(|mark| (from..=to).contains(mark));
        Self {
            label: label.into(),
            is_logarithmic: true,
            ticks: shown.map(|mark| (mark, short(&name(mark)))).collect(),
            from,
            to,
        }
    }

    /// A linear axis from 0 to `most` or a little more.
    pub(crate) fn linear(label: &str, most: f64, name: impl Fn(f64) -> String) -> Self {
        let most = if most.is_finite() && most > 0.0 {
            most
        } else {
            1.0
        };
        let scale = 10_f64.powf((most / 4.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * scale);
        let step = step
            .into_iter()
            .find(|step| most / step <= 5.0)
            .unwrap_or(most);
        let count = (most / step).ceil() as i32;
        let marks = (0..=count).map(|mark| f64::from(mark) * step);
        Self {
            label: label.into(),
            is_logarithmic: false,
            ticks: marks.map(|mark| (mark, short(&name(mark)))).collect(),
            from: 0.0,
            to: f64::from(count) * step,
        }
    }

    /// Where `value` lies, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let scale = |value: f64| {
            if self.is_logarithmic {
                value.max(f64::MIN_POSITIVE).log10()
            } else {
                value
            }
        };
        let place = (scale(value) - scale(self.from)) / (scale(self.to) - scale(self.from));
        if place.is_finite() {
            place.clamp(0.0, 1.0)
        } else {
            0.0
        }
    }
}

/// A figure without the zeros after its point: marks are round.
fn short(figure: &str) -> String {
    let end = figure.find(|character: char| !character.is_ascii_digit() && character != '.');
    match figure.split_at(end.unwrap_or(figure.len())) {
        (number, unit) if number.contains('.') => {
            let number = number.trim_end_matches('0').trim_end_matches('.');
            format!("{number}{unit}")
        }
        _ => figure.into(),
    }
}

/// A curve.
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) color: usize,
    pub(crate) is_strong: bool,
    pub(crate) is_dashed: bool,
    /// Places on both axes, and the words of the dot there.
    pub(crate) points: Vec<(f64, f64, String)>,
}

/// The number of colours in the style sheet.
pub(crate) const COLORS: usize = 12;

/// Curves over two axes.
pub(crate) struct Plot {
    pub(crate) title: Option<String>,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    /// A curve to hold the others against.
    pub(crate) ideal: Vec<(f64, f64)>,
}

const LEFT: f64 = 62.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 46.0;

impl Plot {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let (width, height) = (self.width - LEFT - RIGHT, self.height - TOP - BOTTOM);
        (
            LEFT + width * self.x.place(x),
            self.height - BOTTOM - height * self.y.place(y),
        )
    }

    /// The plot without its legend.
    pub(crate) fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let name = self.title.as_deref().unwrap_or(&self.y.label);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">\n",
            escape(name)
        );
        self.draw_axes(&mut svg);
        if !self.ideal.is_empty() {
            let places = self.ideal.iter().map(|&(x, y)| self.at(x, y));
            let _ = writeln!(
                svg,
                "<polyline class=\"ideal\" points=\"{}\"/>",
                corners(places)
            );
        }
        for series in &self.series {
            let strong = if series.is_strong { " strong" } else { "" };
            let dashed = if series.is_dashed { " dashed" } else { "" };
            let places = series.points.iter().map(|(x, y, _)| self.at(*x, *y));
            let (color, corners) = (series.color, corners(places));
            let _ = writeln!(
                svg,
                "<g class=\"c{color}\"><polyline class=\"curve{strong}{dashed}\" points=\"{corners}\"/>"
            );
            for (x, y, words) in &series.points {
                let (left, top) = self.at(*x, *y);
                let radius = if series.is_strong { 4.0 } else { 3.2 };
                let title = escape(&format!("{}: {words}", series.name));
                let _ = writeln!(
                    svg,
                    "<circle class=\"dot\" cx=\"{left:.1}\" cy=\"{top:.1}\" r=\"{radius}\"><title>{title}</title></circle>"
                );
            }
            svg += "</g>\n";
        }
        svg + "</svg>\n"
    }

    fn draw_axes(&self, svg: &mut String) {
        let (right, bottom) = (self.width - RIGHT, self.height - BOTTOM);
        for (value, name) in &self.y.ticks {
            let (_, top) = self.at(self.x.from, *value);
            let (text, name) = (top + 4.0, escape(name));
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{top:.1}\" y2=\"{top:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{text:.1}\" text-anchor=\"end\">{name}</text>",
                LEFT - 8.0
            );
        }
        for (value, name) in &self.x.ticks {
            let (left, _) = self.at(*value, self.y.from);
            let (text, name) = (bottom + 18.0, escape(name));
            let _ = writeln!(
                svg,
                "<line class=\"grid\" x1=\"{left:.1}\" x2=\"{left:.1}\" y1=\"{bottom}\" y2=\"{:.1}\"/>\
                 <text x=\"{left:.1}\" y=\"{text:.1}\" text-anchor=\"middle\">{name}</text>",
                bottom + 5.0
            );
        }
        let (middle, lowest) = ((LEFT + right) / 2.0, self.height - 6.0);
        let (x, y) = (escape(&self.x.label), escape(&self.y.label));
        let _ = writeln!(
            svg,
            "<text x=\"{middle:.1}\" y=\"{lowest:.1}\" text-anchor=\"middle\">{x}</text>"
        );
        let title = self.title.as_ref().map_or(String::new(), |title| {
            format!("<tspan class=\"head\">{}</tspan>  ", escape(title))
        });
        let _ = writeln!(
            svg,
            "<text x=\"0\" y=\"14\" xml:space=\"preserve\">{title}{y}</text>"
        );
    }
}

fn corners(places: impl Iterator<Item = (f64, f64)>) -> String {
    let corners: Vec<String> = places
        .map(|(left, top)| format!("{left:.1},{top:.1}"))
        .collect();
    corners.join(" ")
}

/// Which colour and stroke is whose.
pub(crate) fn legend(series: &[Series]) -> String {
    let items = series.iter().map(|series| {
        let dashed = if series.is_dashed { " dashed" } else { "" };
        format!(
            "<li class=\"c{}{dashed}\"><i></i>{}</li>\n",
            series.color,
            escape(&series.name)
        )
    });
    format!(
        "<ul class=\"legend\">\n{}</ul>\n",
        items.collect::<String>()
    )
}

/// A row of a dot plot.
pub(crate) struct Dot {
    pub(crate) name: String,
    pub(crate) value: f64,
    pub(crate) label: String,
    /// A class of the style sheet.
    pub(crate) class: String,
}

/// Figures of one kind, a row each, on one axis; with a line down at `mark`.
pub(crate) fn dots(axis: &Axis, rows: &[Dot], mark: Option<f64>) -> String {
    const WIDTH: f64 = 900.0;
    const NAMES: f64 = 300.0;
    const LABELS: f64 = 150.0;
    const ROW: f64 = 22.0;
    let bottom = TOP + ROW * rows.len() as f64;
    let height = bottom + 26.0;
    let at = |value: f64| NAMES + (WIDTH - NAMES - LABELS) * axis.place(value);
    let label = escape(&axis.label);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{label}\">\n<text x=\"0\" y=\"14\">{label}</text>\n"
    );
    for (value, name) in &axis.ticks {
        let (left, text, name) = (at(*value), bottom + 18.0, escape(name));
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{left:.1}\" x2=\"{left:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>\
             <text x=\"{left:.1}\" y=\"{text:.1}\" text-anchor=\"middle\">{name}</text>"
        );
    }
    if let Some(mark) = mark {
        let left = at(mark);
        let _ = writeln!(
            svg,
            "<line class=\"ideal\" x1=\"{left:.1}\" x2=\"{left:.1}\" y1=\"{TOP}\" y2=\"{bottom}\"/>"
        );
    }
    for (place, row) in rows.iter().enumerate() {
        let middle = TOP + ROW * (place as f64 + 0.5);
        let (start, end) = (at(mark.unwrap_or(axis.from)), at(row.value));
        let (name, label, class) = (escape(&row.name), escape(&row.label), &row.class);
        let _ = writeln!(
            svg,
            "<g class=\"{class}\"><text class=\"name\" x=\"0\" y=\"{text:.1}\">{name}</text>\
             <line class=\"stem\" x1=\"{start:.1}\" x2=\"{end:.1}\" y1=\"{middle}\" y2=\"{middle}\"/>\
             <circle class=\"dot\" cx=\"{end:.1}\" cy=\"{middle}\" r=\"4.5\"><title>{name}: {label}</title></circle>\
             <text x=\"{WIDTH}\" y=\"{text:.1}\" text-anchor=\"end\">{label}</text></g>",
            text = middle + 4.0
        );
    }
    format!("<figure>\n{svg}</svg>\n</figure>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logarithmic_axis_encloses_its_values_and_labels_some() {
        for values in [vec![3.0, 700.0], vec![5.0], vec![1.0, 1e9], vec![]] {
            let axis = Axis::logarithmic("", values.iter().copied(), |value| value.to_string());
            assert!(axis.from < axis.to, "{values:?}");
            assert!(axis.ticks.len() >= 2, "{values:?}: {:?}", axis.ticks);
            for value in values {
                assert!((axis.from..=axis.to).contains(&value), "{value}");
            }
        }
    }

    #[test]
    fn a_linear_axis_has_round_steps_up_to_what_it_shows() {
        let axis = Axis::linear("", 37.0, |value| value.to_string());
        let marks: Vec<f64> = axis.ticks.iter().map(|(mark, _)| *mark).collect();
        assert_eq!(marks, [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(
            (axis.place(0.0), axis.place(20.0), axis.place(99.0)),
            (0.0, 0.5, 1.0)
        );
    }

    #[test]
    fn marks_lose_zeros_after_the_point_and_no_others() {
        let figures = ["10.0 GB/s", "2.50x", "0x", "100 ns", "0.10x", "1.00 us"].map(short);
        assert_eq!(figures, ["10 GB/s", "2.5x", "0x", "100 ns", "0.1x", "1 us"]);
    }

    #[test]
    fn equal_factors_are_equal_distances_on_a_logarithmic_axis() {
        let axis = Axis::logarithmic("", [1.0, 10_000.0].into_iter(), |_| String::new());
        let steps = [10.0, 100.0].map(|value| axis.place(value * 10.0) - axis.place(value));
        assert!((steps[0] - steps[1]).abs() < 1e-12);
    }
}

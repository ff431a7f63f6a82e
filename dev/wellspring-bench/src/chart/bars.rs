//! Figures of one kind, a bar for each.

use super::{Drawing, GAP, WIDTH, escape};
use std::fmt::Write;

/// The role of a bar, shown by its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    /// The subject of the chart: wellspring.
    Ours,
    /// The first one to compare with.
    Reference,
    /// Everything else.
    Other,
}

impl Tint {
    fn class(self) -> &'static str {
        match self {
            Tint::Ours => "c0",
            Tint::Reference => "c1",
            Tint::Other => "other",
        }
    }
}

/// A row.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The name at the left.
    pub name: String,
    /// The length of the bar, from zero.
    pub value: f64,
    /// The figure at the right.
    pub label: String,
    /// The colour.
    pub tint: Tint,
}

/// Bars from zero on a linear scale, since the eye compares their lengths.
#[derive(Clone, Debug)]
pub struct Bars {
    /// The heading.
    pub title: String,
    /// The meaning of a bar's length.
    pub caption: String,
    /// From top to bottom.
    pub bars: Vec<Bar>,
    /// A value with a dotted line.
    pub mark: Option<f64>,
}

const ROW: f64 = 21.0;
const TOP: f64 = 40.0;
/// Room for a name of up to 20 characters; with a longer one among them, all names are above their bars.
const NAMES: f64 = 148.0;
const LONGEST_NAME: usize = 20;
const LABELS: f64 = 62.0;

impl Bars {
    /// The drawing.
    #[must_use]
    pub fn draw(&self) -> Drawing {
        let has_long_names = self
            .bars
            .iter()
            .any(|bar| bar.name.chars().count() > LONGEST_NAME);
        let (left, row) = if has_long_names {
            (0.0, ROW + 13.0)
        } else {
            (NAMES, ROW)
        };
        let height = TOP + row * self.bars.len() as f64 + GAP;
        let mut body = super::heading(&self.title, &self.caption);
        for (place, bar) in self.bars.iter().enumerate() {
            let top = TOP + row * place as f64;
            let (name, label) = (escape(&bar.name), escape(&bar.label));
            let (text, top) = if has_long_names {
                (top + 10.0, top + 14.0)
            } else {
                (top + 13.0, top)
            };
            let _ = writeln!(
                body,
                "<g class=\"{class}\"><title>{name}: {label}</title>\
                 <text class=\"name\" x=\"0\" y=\"{text:.1}\">{name}</text>\
                 <rect class=\"bar\" x=\"{left}\" y=\"{bar_top:.1}\" width=\"{width:.1}\" height=\"13\" rx=\"2\"/>\
                 <text class=\"value\" x=\"{WIDTH}\" y=\"{value:.1}\" text-anchor=\"end\">{label}</text></g>",
                class = bar.tint.class(),
                bar_top = top + 2.0,
                width = self.length(bar.value, left),
                value = top + 13.0,
            );
        }
        if let Some(mark) = self.mark {
            let (x, bottom) = (left + self.length(mark, left), height - GAP);
            let _ = writeln!(
                body,
                "<line class=\"ideal\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{bottom:.1}\"/>"
            );
        }
        Drawing {
            height,
            label: self.label(),
            body,
        }
    }

    /// The length of a bar that begins at `left`.
    fn length(&self, value: f64, left: f64) -> f64 {
        let values = self.bars.iter().map(|bar| bar.value).chain(self.mark);
        let most = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
        let share = if most > 0.0 && value.is_finite() {
            value / most
        } else {
            0.0
        };
        let room = WIDTH - left - LABELS;
        // A bar that is too short to see would look like a missing figure.
        (room * share).clamp(1.0, room)
    }

    /// All figures in words.
    fn label(&self) -> String {
        let figures = self
            .bars
            .iter()
            .map(|bar| format!("{} {}", bar.name, bar.label));
        format!(
            "{}. {}: {}",
            self.title,
            self.caption,
            figures.collect::<Vec<_>>().join("; ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bars(names: [&str; 2]) -> Bars {
        let bar = |name: &str, value| Bar {
            name: name.into(),
            value,
            label: format!("{value} ns"),
            tint: Tint::Ours,
        };
        Bars {
            title: "A key".into(),
            caption: "longer is faster".into(),
            bars: vec![bar(names[0], 10.0), bar(names[1], 5.0)],
            mark: None,
        }
    }

    fn widths(drawing: &Drawing) -> Vec<f64> {
        let rects = drawing.body.split("<rect ").skip(1);
        let width = |rect: &str| {
            rect.split("width=\"")
                .nth(1)?
                .split('"')
                .next()?
                .parse()
                .ok()
        };
        rects
            .map(|rect| width(rect).expect("a bar has a width"))
            .collect()
    }

    #[test]
    fn half_the_value_is_half_the_length() {
        for names in [
            ["short", "names"],
            ["a name that takes more than its room", "b"],
        ] {
            let widths = widths(&bars(names).draw());
            assert!((widths[0] / widths[1] - 2.0).abs() < 0.01, "{widths:?}");
        }
    }

    #[test]
    fn all_figures_can_be_read_without_seeing_the_bars() {
        let drawing = bars(["<ours>", "theirs"]).draw();
        assert_eq!(
            drawing.label,
            "A key. longer is faster: <ours> 10 ns; theirs 5 ns"
        );
        assert!(
            drawing.inline().contains(
                "aria-label=\"A key. longer is faster: &lt;ours&gt; 10 ns; theirs 5 ns\""
            )
        );
    }

    #[test]
    fn a_figure_that_is_no_number_draws_no_bar_out_of_the_picture() {
        let mut odd = bars(["a", "b"]);
        odd.bars[0].value = f64::NAN;
        odd.bars[1].value = f64::INFINITY;
        assert!(
            widths(&odd.draw())
                .iter()
                .all(|width| (0.0..WIDTH).contains(width))
        );
    }
}

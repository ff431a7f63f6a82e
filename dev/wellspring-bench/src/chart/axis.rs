//! Axes: linear and logarithmic, with round ticks.

/// An axis: the positions of its values, and which of them have a label.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The quantity, with its unit.
    pub label: String,
    /// Whether equal factors are equal distances.
    pub is_logarithmic: bool,
    /// The values that have a label, with it.
    pub ticks: Vec<(f64, String)>,
    /// The least value on it.
    pub from: f64,
    /// The greatest value on it.
    pub to: f64,
}

impl Axis {
    /// A logarithmic axis over `values`, with a tick at each power of ten, or at 1, 2 and 5 times that if the
    /// values span a factor of 300 or less.
    #[must_use]
    pub fn logarithmic(
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
        // A little room, so that no dot is on an edge.
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
    #[must_use]
    pub fn linear(label: &str, most: f64, name: impl Fn(f64) -> String) -> Self {
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

    /// The position of `value`, from 0 to 1.
    #[must_use]
    pub fn place(&self, value: f64) -> f64 {
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

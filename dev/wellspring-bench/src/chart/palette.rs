//! Checks of the colours in `chart.css`.
//!
//! Colour blindness: the matrices of G. Machado, M. Oliveira and L. Fernandes, "A Physiologically-based Model for
//! Simulation of Color Vision Deficiency" (2009), at full strength. Distance: OKLab (B. Ottosson, 2020), in which
//! black and white are 1 apart. Contrast: WCAG 2.1, which wants 3 of graphics and 4.5 of text.

type Color = [f64; 3];
type Matrix = [Color; 3];

const SIGHTS: [(&str, Matrix); 4] = [
    (
        "full sight",
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    ),
    (
        "no red cones",
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
    ),
    (
        "no green cones",
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
    ),
    (
        "no blue cones",
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ),
];

/// About four times the difference that an eye just sees.
const LEAST_DISTANCE: f64 = 0.08;

fn times(matrix: &Matrix, color: Color) -> Color {
    matrix.map(|row| row.iter().zip(color).map(|(one, other)| one * other).sum())
}

/// The value of a name in the light style or in the dark one, as linear RGB.
fn color(name: &str, is_dark: bool) -> Color {
    let (light, dark) = super::STYLE
        .split_once("@media")
        .expect("there are two styles");
    let style = if is_dark { dark } else { light };
    let (_, rest) = style
        .split_once(&format!("--{name}: #"))
        .expect("the style has the colour");
    [0, 2, 4].map(|place| {
        let byte = u8::from_str_radix(&rest[place..place + 2], 16).expect("six hexadecimal digits");
        let value = f64::from(byte) / 255.0;
        if value <= 0.04045 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    })
}

fn oklab(linear: Color) -> Color {
    const CONES: Matrix = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ];
    const LAB: Matrix = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ];
    times(
        &LAB,
        times(&CONES, linear.map(|value| value.clamp(0.0, 1.0))).map(f64::cbrt),
    )
}

fn luminance(linear: Color) -> f64 {
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

fn contrast(one: Color, other: Color) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn series_differ_for_every_kind_of_sight_on_light_and_dark_screens() {
    let names = ["s0", "s1", "s2", "s3", "other"];
    for is_dark in [false, true] {
        for (sight, matrix) in &SIGHTS {
            let seen = names.map(|name| oklab(times(matrix, color(name, is_dark))));
            for (place, one) in seen.iter().enumerate() {
                for (distance, name) in seen[..place].iter().zip(names).map(|(other, name)| {
                    let squares = one
                        .iter()
                        .zip(other)
                        .map(|(one, other)| (one - other).powi(2));
                    (squares.sum::<f64>().sqrt(), name)
                }) {
                    let pair = format!("{} and {name}, {sight}, dark: {is_dark}", names[place]);
                    assert!(distance >= LEAST_DISTANCE, "{pair}: {distance:.3}");
                }
            }
        }
    }
}

#[test]
fn lines_and_letters_stand_out_from_the_paper() {
    for is_dark in [false, true] {
        let paper = color("paper", is_dark);
        for (name, wanted) in [
            ("s0", 3.0),
            ("s1", 3.0),
            ("s2", 3.0),
            ("s3", 3.0),
            ("other", 3.0),
            ("ink", 7.0),
            ("soft", 4.5),
        ] {
            let found = contrast(color(name, is_dark), paper);
            assert!(found >= wanted, "{name}, dark: {is_dark}: {found:.2}");
        }
    }
}

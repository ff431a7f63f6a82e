//! The layers, and what one element in 500 goes through: wedges and tails, each against its density.

#[path = "../../../tests/common/statistics.rs"]
mod statistics;

use super::*;
use crate::Algorithm;
use statistics::{Cells, normal_above, normal_below};

const DRAWS: u64 = 100_000;

fn words(elements: &Elements, index: u64) -> Words<'_> {
    Words::new(&elements.blocks, Kind::Normal, index)
}

fn elements() -> Elements {
    Elements::new(Algorithm::ChaCha8, 7, &[]).unwrap()
}

fn check_layers<D: Density>(area: f64, density: impl Fn(f64) -> f64) {
    let edges = D::EDGES;
    assert!(edges.windows(2).all(|pair| pair[0] > pair[1]));
    assert_eq!(edges[LAYERS], 0.0);
    for i in 1..LAYERS {
        let rise = density(edges[i + 1]) - density(edges[i]);
        let error = edges[i] * rise / area - 1.0;
        // Roundings add up from layer to layer; in one of 1024 layers this much changes probabilities
        // by 10^-10.
        assert!(error.abs() < 1e-7, "layer {i}: area is off by {error}");
        let ours = D::HEIGHTS[i] / density(edges[i]) - 1.0;
        assert!(ours.abs() < 1e-15, "layer {i}: density is off by {ours}");
    }
}

#[test]
fn all_layers_have_the_same_area() {
    let root = (2.0 * core::f64::consts::PI).sqrt();
    check_layers::<Normal>(NORMAL_AREA, |x| (-0.5 * x * x).exp());
    let lowest =
        NORMAL_TAIL * (-0.5 * NORMAL_TAIL * NORMAL_TAIL).exp() + normal_above(NORMAL_TAIL) * root;
    assert!((lowest / NORMAL_AREA - 1.0).abs() < 1e-10);

    check_layers::<Exponential>(EXPONENTIAL_AREA, |x| (-x).exp());
    let lowest = (EXPONENTIAL_TAIL + 1.0) * (-EXPONENTIAL_TAIL).exp();
    assert!((lowest / EXPONENTIAL_AREA - 1.0).abs() < 1e-10);
}

#[test]
fn the_tail_of_the_normal_distribution_reaches_beyond_six() {
    let elements = elements();
    let all = normal_above(NORMAL_TAIL);
    let mut cells = Cells::new(1000);
    let mut beyond_6 = 0;
    for index in 0..DRAWS {
        let x = Normal::tail(&mut words(&elements, index));
        assert!(x >= NORMAL_TAIL);
        cells.count(1.0 - normal_above(x) / all);
        beyond_6 += u64::from(x > 6.0);
    }
    cells.assert_uniform("the tail");
    let expected = DRAWS as f64 * normal_above(6.0) / all;
    let excess = (beyond_6 as f64 - expected) / expected.sqrt();
    assert!(
        expected > 3.0 && excess.abs() < 4.0,
        "{beyond_6} {expected}"
    );
}

#[test]
fn the_tail_of_the_exponential_distribution_is_exponential() {
    let elements = elements();
    let mut cells = Cells::new(1000);
    for index in 0..DRAWS {
        let x = Exponential::tail(&mut words(&elements, index));
        cells.count(1.0 - (EXPONENTIAL_TAIL - x).exp());
    }
    cells.assert_uniform("the tail");
}

/// A word of this layer at a place that does not lie under the density for certain.
fn word_in_wedge<D: Density>(layer: usize, place: f64) -> u64 {
    let inside = D::EDGES[layer + 1] / D::EDGES[layer];
    let uniform = inside + (1.0 - inside) * place;
    ((uniform * (1u64 << 53) as f64) as u64) << 11 | layer as u64
}

/// A part of the places in a layer's wedge is accepted, with the density above the layer's lower
/// edge; the others become numbers of the whole distribution.
fn check_wedge<D: Density>(
    layer: usize,
    integral: impl Fn(f64) -> f64,
    below: impl Fn(f64) -> f64,
) {
    let elements = elements();
    let [far, near] = [D::EDGES[layer], D::EDGES[layer + 1]];
    let [lower, upper] = [D::HEIGHTS[layer], D::HEIGHTS[layer + 1]];
    let under = |x: f64| integral(x) - integral(near) - lower * (x - near);
    let accepted = under(far) / ((upper - lower) * (far - near));
    assert!((0.4..0.7).contains(&accepted));
    let mut cells = Cells::new(1000);
    for index in 0..DRAWS {
        let place = (index as f64 + 0.5) / DRAWS as f64;
        let word = word_in_wedge::<D>(layer, place);
        let draw = Draw::new::<D>(word);
        assert!(draw.layer == layer && !draw.is_inside::<D>());
        let x = finish::<D>(word, &mut words(&elements, index));
        let in_wedge = under(x.clamp(near, far)) / under(far);
        cells.count(accepted * in_wedge + (1.0 - accepted) * below(x));
    }
    // The places are evenly spaced, so that the counts vary less than at random places.
    assert!(cells.kolmogorov_smirnov() < 2.7, "layer {layer}");
    assert!(cells.chi_square_deviations() < 5.0, "layer {layer}");
}

#[test]
fn wedges_have_the_density_that_they_lie_under() {
    let root = (2.0 * core::f64::consts::PI).sqrt();
    for layer in [1, 2, 100, 700, 1022, 1023] {
        check_wedge::<Normal>(layer, |x| root * normal_below(x), normal_below);
        check_wedge::<Exponential>(layer, |x| -(-x).exp(), |x| 1.0 - (-x).exp());
    }
}

#[test]
fn the_fast_exponential_decides_as_the_slow_one() {
    let elements = elements();
    let mut words = words(&elements, 0);
    for _ in 0..DRAWS {
        let x = -15.0 * words.next_uniform();
        let exact = exp(x);
        for steps in [-9, -2, -1, 0, 1, 2, 9] {
            let y = f64::from_bits(exact.to_bits().wrapping_add_signed(steps));
            assert_eq!(is_below_exp(y, x), steps < 0, "{x} {steps}");
        }
        let y = words.next_uniform();
        assert_eq!(is_below_exp(y, x), y < exact, "{x} {y}");
    }
}

#[test]
fn the_sign_is_that_of_the_word_in_every_branch() {
    let elements = elements();
    for (layer, place) in [(0, 0.5), (1, 0.9), (500, 0.2), (1023, 0.7)] {
        let word = word_in_wedge::<Normal>(layer, place);
        for index in 0..100 {
            let x = finish::<Normal>(word, &mut words(&elements, index));
            let mirrored = finish::<Normal>(word | 1 << 10, &mut words(&elements, index));
            // A number from a later word has the sign of that word.
            assert!(x == -mirrored || x == mirrored);
            assert!(layer != 0 || (x > 0.0 && mirrored < 0.0));
        }
    }
}

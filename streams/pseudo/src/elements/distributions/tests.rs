//! Tests of every distribution: cuts, widths, and the edges of parameters.

use std::format;
use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::Algorithm;
use wellspring_cipher::Width;

/// Elements as bits, of rows of `width` numbers.
type Fill = (usize, fn(&Elements, u64, usize) -> Vec<u64>);

fn floats(
    elements: &Elements,
    distribution: &impl private::Sealed<Number = f64>,
    first: u64,
    rows: usize,
) -> Vec<u64> {
    let mut out = vec![0.0; rows * distribution.width()];
    elements.draw(distribution, first, &mut out).unwrap();
    out.into_iter().map(f64::to_bits).collect()
}

fn counts(
    elements: &Elements,
    distribution: &impl private::Sealed<Number = i64>,
    first: u64,
    rows: usize,
) -> Vec<u64> {
    let mut out = vec![0; rows * distribution.width()];
    elements.draw(distribution, first, &mut out).unwrap();
    out.into_iter().map(|x| x as u64).collect()
}

const COVARIANCE: [f64; 9] = [4.0, 1.2, -0.8, 1.2, 1.0, 0.3, -0.8, 0.3, 2.0];

const FILLS: [Fill; 39] = [
    (1, |e, i, n| {
        floats(e, &Laplace::new(1.0, 2.0).unwrap(), i, n)
    }),
    (1, |e, i, n| {
        floats(e, &Gumbel::new(1.0, 2.0).unwrap(), i, n)
    }),
    (1, |e, i, n| {
        floats(e, &Logistic::new(1.0, 2.0).unwrap(), i, n)
    }),
    (1, |e, i, n| floats(e, &Rayleigh::new(2.0).unwrap(), i, n)),
    (1, |e, i, n| floats(e, &Pareto::new(3.0).unwrap(), i, n)),
    (1, |e, i, n| floats(e, &Power::new(3.0).unwrap(), i, n)),
    (1, |e, i, n| {
        floats(e, &Triangular::new(-1.0, 0.5, 3.0).unwrap(), i, n)
    }),
    (1, |e, i, n| {
        floats(e, &VonMises::new(1.0, 4.0).unwrap(), i, n)
    }),
    (1, |e, i, n| floats(e, &Wald::new(1.5, 0.5).unwrap(), i, n)),
    (1, |e, i, n| floats(e, &F::new(0.7, 5.0).unwrap(), i, n)),
    (1, |e, i, n| {
        floats(e, &NoncentralChiSquare::new(0.5, 30.0).unwrap(), i, n)
    }),
    (1, |e, i, n| {
        floats(e, &NoncentralF::new(3.0, 5.0, 2.0).unwrap(), i, n)
    }),
    (1, |e, i, n| {
        counts(e, &NegativeBinomial::new(2.5, 0.1).unwrap(), i, n)
    }),
    (1, |e, i, n| {
        counts(e, &NegativeBinomial::new(2.5, 0.03).unwrap(), i, n)
    }),
    (3, |e, i, n| {
        floats(e, &Dirichlet::new(&[1.0, 2.0, 5.0]).unwrap(), i, n)
    }),
    (1, |e, i, n| {
        floats(e, &NoncentralChiSquare::new(3.0, 2.0).unwrap(), i, n)
    }),
    (1, |e, i, n| {
        counts(e, &Hypergeometric::new(30, 50, 7).unwrap(), i, n)
    }),
    (1, |e, i, n| {
        counts(e, &Hypergeometric::new(300, 500, 700).unwrap(), i, n)
    }),
    (1, |e, i, n| counts(e, &LogSeries::new(0.9).unwrap(), i, n)),
    (1, |e, i, n| counts(e, &Zipf::new(1.5).unwrap(), i, n)),
    (3, |e, i, n| {
        counts(
            e,
            &MultivariateHypergeometric::new(&[30.0, 50.0, 70.0], 99).unwrap(),
            i,
            n,
        )
    }),
    (1, |e, i, n| {
        floats(e, &LogNormal::new(0.5, 2.0).unwrap(), i, n)
    }),
    (1, |e, i, n| floats(e, &Weibull::new(0.7).unwrap(), i, n)),
    (1, |e, i, n| floats(e, &Cauchy, i, n)),
    (1, |e, i, n| floats(e, &Gamma::new(0.7, 2.0).unwrap(), i, n)),
    (1, |e, i, n| {
        floats(e, &Gamma::chi_square(3.0).unwrap(), i, n)
    }),
    (1, |e, i, n| floats(e, &Beta::new(0.5, 2.0).unwrap(), i, n)),
    (1, |e, i, n| floats(e, &StudentT::new(2.0).unwrap(), i, n)),
    (1, |e, i, n| {
        floats(e, &TruncatedNormal::new(0.0, 1.0, 0.1, 0.9).unwrap(), i, n)
    }),
    (1, |e, i, n| counts(e, &Geometric::new(0.1).unwrap(), i, n)),
    (1, |e, i, n| {
        counts(e, &Binomial::new(100, 0.4).unwrap(), i, n)
    }),
    (1, |e, i, n| counts(e, &Poisson::new(4.0).unwrap(), i, n)),
    (1, |e, i, n| counts(e, &Poisson::new(40.0).unwrap(), i, n)),
    (1, |e, i, n| {
        counts(e, &Choice::new(&[1.0, 2.0, 4.0, 0.5]).unwrap(), i, n)
    }),
    (7, |e, i, n| counts(e, &Subsets::new(100, 7).unwrap(), i, n)),
    (3, |e, i, n| {
        floats(e, &Dirichlet::new(&[0.5, 2.0, 3.0]).unwrap(), i, n)
    }),
    (3, |e, i, n| {
        counts(e, &Multinomial::new(99, &[0.2, 0.3, 0.5]).unwrap(), i, n)
    }),
    (3, |e, i, n| {
        floats(
            e,
            &MultivariateNormal::new(&[0.0; 3], &COVARIANCE).unwrap(),
            i,
            n,
        )
    }),
    (5, |e, i, n| floats(e, &Sphere::new(5).unwrap(), i, n)),
];

fn elements() -> Elements {
    Elements::new(Algorithm::ChaCha8, 7, &[1]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn elements_do_not_depend_on_the_cut_or_the_width(
        algorithm in prop::sample::select(vec![Algorithm::ChaCha8, Algorithm::Aes256Ctr, Algorithm::Philox4x64]),
        which in 0..FILLS.len(),
        first in prop_oneof![0..3000u64, Just((1 << 61) - 700)],
        cuts in prop::collection::vec(0..700usize, 1..4),
    ) {
        let (width, fill) = FILLS[which];
        let elements = Elements::new(algorithm, 7, &[1]).unwrap();
        let whole = fill(&elements, first, cuts.iter().sum());
        let mut pieces = Vec::new();
        for length in cuts {
            pieces.extend(fill(&elements, first + (pieces.len() / width) as u64, length));
        }
        prop_assert_eq!(&pieces, &whole);
        for &width in Width::ALL.iter().filter(|width| width.is_available()) {
            let narrow = fill(&elements.clone().with_width(width), first, 200.min(whole.len()));
            prop_assert_eq!(&narrow[..], &fill(&elements, first, 200.min(whole.len()))[..], "{}", width);
        }
    }
}

#[test]
fn an_array_ends_at_the_last_index() {
    let elements = elements();
    let past = Err(ElementError::PastTheEnd);
    let mut counts = [0; 8];
    let poisson = Poisson::new(3.0).unwrap();
    assert_eq!(elements.draw(&poisson, u64::MAX - 7, &mut counts), Ok(()));
    assert_eq!(elements.draw(&poisson, u64::MAX - 6, &mut counts), past);
    let weibull = Weibull::new(3.0).unwrap();
    let mut numbers = [7.0; 2000];
    assert_eq!(elements.draw(&weibull, u64::MAX - 1000, &mut numbers), past);
    assert_eq!(numbers, [7.0; 2000]);
    // Row 2^62 of 4 numbers would begin at index 2^64.
    let sphere = Sphere::new(4).unwrap();
    assert_eq!(
        elements.draw(&sphere, (1 << 62) - 2, &mut numbers[..8]),
        Ok(())
    );
    assert_eq!(
        elements.draw(&sphere, (1 << 62) - 1, &mut numbers[..8]),
        past
    );
    assert_eq!(elements.draw(&sphere, 1 << 62, &mut numbers[..4]), past);
    let part = elements.draw(&sphere, 0, &mut numbers[..5]);
    assert_eq!(
        part,
        Err(ElementError::Parameter("out does not hold whole rows"))
    );
}

#[test]
fn a_zero_is_drawn_again_from_the_words_of_its_element() {
    let elements = elements();
    let kind = crate::elements::arrays::Kind::Logistic;
    let mut numbers = [0.0; 3];
    elements.uniforms(kind, 7, &mut numbers).unwrap();
    let mut again = [numbers[0], 0.0, numbers[2]];
    transformed::draw_zeros_again(&elements, kind, 7, &mut again, |words| words.next_uniform())
        .unwrap();
    assert_eq!(again, numbers);
    let mut last = [0.0];
    transformed::draw_zeros_again(&elements, kind, u64::MAX, &mut last, |_| 0.5).unwrap();
    assert_eq!(last, [0.5]);
}

#[test]
fn parameters_that_no_distribution_has_are_refused() {
    let (nan, infinite) = (f64::NAN, f64::INFINITY);
    for bad in [-1.0, -1e-300, nan, infinite] {
        assert!(Gamma::new(bad, 1.0).is_err() && Gamma::new(1.0, bad).is_err());
        assert!(LogNormal::new(0.0, bad).is_err());
        assert!(Weibull::new(bad).is_err());
        assert!(Choice::new(&[1.0, bad]).is_err());
    }
    assert!(LogNormal::new(infinite, 1.0).is_err());
    for bad in [-1.0, 0.0, nan, infinite] {
        assert!(Beta::new(bad, 1.0).is_err() && Beta::new(1.0, bad).is_err());
        assert!(StudentT::new(bad).is_err() && Gamma::chi_square(bad).is_err());
        assert!(Dirichlet::new(&[1.0, bad]).is_err());
        assert!(TruncatedNormal::new(0.0, bad, 0.0, 1.0).is_err());
    }
    for bad in [-0.1, 1.1, nan] {
        assert!(Binomial::new(5, bad).is_err() && Geometric::new(bad).is_err());
        assert!(Multinomial::new(5, &[bad, 0.1]).is_err());
    }
    assert!(Geometric::new(0.0).is_err() && Binomial::new(-1, 0.5).is_err());
    assert!(Poisson::new(-1.0).is_err() && Poisson::new(nan).is_err());
    assert!(Poisson::new(Poisson::MAX_MEAN).is_ok() && Poisson::new(9.3e18).is_err());
    assert!(Choice::new(&[]).is_err() && Choice::new(&[0.0, 0.0]).is_err());
    assert!(Choice::new(&[1e308, 1e308]).is_err());
    assert!(
        Subsets::new(3, 4).is_err()
            && Subsets::new(3, 0).is_err()
            && Subsets::new(1 << 63, 1).is_err()
    );
    assert!(
        Dirichlet::new(&[]).is_err()
            && Multinomial::new(3, &[]).is_err()
            && Sphere::new(0).is_err()
    );
    assert!(
        Multinomial::new(3, &[0.7, 0.7, 0.1]).is_err() && Multinomial::new(-3, &[1.0]).is_err()
    );
    for (low, high) in [
        (1.0, 1.0),
        (2.0, 1.0),
        (nan, 1.0),
        (0.0, nan),
        (1e101, infinite),
        (infinite, infinite),
    ] {
        assert!(
            TruncatedNormal::new(0.0, 1.0, low, high).is_err(),
            "{low} {high}"
        );
    }
    for covariance in [
        [1.0, 2.0, 2.0, 1.0],
        [1.0, 0.1, 0.2, 1.0],
        [-1.0, 0.0, 0.0, 1.0],
        [0.0, 0.5, 0.5, 1.0],
    ] {
        assert!(
            MultivariateNormal::new(&[0.0; 2], &covariance).is_err(),
            "{covariance:?}"
        );
    }
    assert!(MultivariateNormal::new(&[0.0; 2], &[1.0; 3]).is_err());
    assert!(
        Triangular::new(0.0, 1.0, 0.5).is_err()
            && Triangular::new(0.0, 0.0, 0.0).is_err()
            && Triangular::new(1.0, 0.0, 2.0).is_err()
            && Triangular::new(-1e300, 0.0, 1e300).is_err()
    );
    assert!(Hypergeometric::new(3, 4, 8).is_err() && Hypergeometric::new(-1, 4, 2).is_err());
    assert!(NegativeBinomial::new(1e18, 1e-3).is_err() && Zipf::new(1.0).is_err());
    for (colors, sample) in [
        (&[][..], 0),
        (&[1.5, 2.0], 1),
        (&[1.0, 2.0], 4),
        (&[1e9, 1.0], 2),
    ] {
        assert!(MultivariateHypergeometric::new(colors, sample).is_err());
    }
    assert_eq!(
        format!("{}", Gamma::new(-1.0, 1.0).unwrap_err()),
        "shape < 0"
    );
}

#[test]
fn edges_of_parameters_give_the_one_number_that_is_possible() {
    fn all<D: private::Sealed<Number: PartialEq + Default>>(distribution: &D, wanted: D::Number) {
        let mut out = [(); 500].map(|()| D::Number::default());
        elements().draw(distribution, 0, &mut out).unwrap();
        assert!(out.iter().all(|x| *x == wanted));
    }
    all(&Gamma::new(0.0, 1.0).unwrap(), 0.0);
    all(&Gamma::new(2.0, 0.0).unwrap(), 0.0);
    all(&Weibull::new(0.0).unwrap(), 0.0);
    all(&LogNormal::new(0.0, 0.0).unwrap(), 1.0);
    all(&Geometric::new(1.0).unwrap(), 1);
    all(&Geometric::new(1e-300).unwrap(), i64::MAX);
    all(&Poisson::new(0.0).unwrap(), 0);
    all(&Binomial::new(0, 0.5).unwrap(), 0);
    all(&Binomial::new(9, 0.0).unwrap(), 0);
    all(&Binomial::new(i64::MAX, 0.0).unwrap(), 0);
    all(&Binomial::new(9, 1.0).unwrap(), 9);
    all(&Choice::new(&[0.0, 3.0, 0.0]).unwrap(), 1);
    all(&Multinomial::new(0, &[0.5, 0.5]).unwrap(), 0);
    all(&MultivariateNormal::new(&[2.5], &[0.0]).unwrap(), 2.5);
    all(&Dirichlet::new(&[3.0]).unwrap(), 1.0);
    all(&Laplace::new(2.5, 0.0).unwrap(), 2.5);
    all(&Gumbel::new(2.5, 0.0).unwrap(), 2.5);
    all(&Logistic::new(2.5, 0.0).unwrap(), 2.5);
    all(&Rayleigh::new(0.0).unwrap(), 0.0);
    all(&LogSeries::new(0.0).unwrap(), 1);
    all(&Zipf::new(2000.0).unwrap(), 1);
    all(&NegativeBinomial::new(3.0, 1.0).unwrap(), 0);
    all(&Hypergeometric::new(0, 5, 5).unwrap(), 0);
    all(&Hypergeometric::new(5, 0, 3).unwrap(), 3);
    all(&Hypergeometric::new(5, 9, 14).unwrap(), 5);
    all(&Hypergeometric::new(0, 0, 0).unwrap(), 0);
}

#[test]
fn extreme_parameters_come_to_an_end_and_stay_in_range() {
    fn all<D: private::Sealed>(
        distribution: &D,
        zero: D::Number,
        is_right: impl Fn(&D::Number) -> bool,
    ) {
        let mut out = vec![zero; 2000 * distribution.width()];
        elements().draw(distribution, 0, &mut out).unwrap();
        assert!(out.iter().all(is_right));
    }
    let near = |mean: f64, x: i64| (x as f64 - mean).abs() < 8.0 * mean.sqrt() + 1e3;
    all(&Gamma::new(1e-300, 1.0).unwrap(), 0.0, |x| *x == 0.0);
    all(&Gamma::new(1e300, 1.0).unwrap(), 0.0, |x| {
        (*x / 1e300 - 1.0).abs() < 1e-10
    });
    all(&Beta::new(1e-300, 1e-300).unwrap(), 0.0, |x| {
        *x == 0.0 || *x == 1.0
    });
    all(&Beta::new(1e300, 1e300).unwrap(), 0.0, |x| {
        (*x - 0.5).abs() < 1e-10
    });
    all(&Dirichlet::new(&[1e-300, 1e-300]).unwrap(), 0.0, |x| {
        *x == 0.0 || *x == 1.0
    });
    all(&StudentT::new(1e-3).unwrap(), 0.0, |x| !x.is_nan());
    // Below 2e-307 the logarithms of all gamma numbers are infinite.
    for shape in [1e-310, 5e-324] {
        let both = Beta::new(shape, shape).unwrap();
        all(&both, 0.0, |x| *x == 0.0 || *x == 1.0);
        let mut numbers = [0.0; 2000];
        elements().draw(&both, 0, &mut numbers).unwrap();
        let ones = numbers.iter().sum::<f64>();
        assert!((800.0..1200.0).contains(&ones), "{ones} of Beta({shape:e})");
        let rows = Dirichlet::new(&[shape; 3]).unwrap();
        all(&rows, 0.0, |x| *x == 0.0 || *x == 1.0);
        all(&StudentT::new(shape).unwrap(), 0.0, |x| !x.is_nan());
    }
    all(&Weibull::new(1e-3).unwrap(), 0.0, |x| *x >= 0.0);
    for (numerator, denominator) in [
        (1e-300, 1e-300),
        (1e300, 1e300),
        (1e-300, 1e300),
        (1e300, 1e-300),
    ] {
        all(&F::new(numerator, denominator).unwrap(), 0.0, |x| *x >= 0.0);
        for noncentrality in [0.0, 1e-300, 1e18] {
            let distribution = NoncentralF::new(numerator, denominator, noncentrality);
            all(&distribution.unwrap(), 0.0, |x| *x >= 0.0);
            all(&Wald::new(numerator, denominator).unwrap(), 0.0, |x| {
                *x >= 0.0
            });
            let distribution = NoncentralChiSquare::new(numerator, noncentrality);
            all(&distribution.unwrap(), 0.0, |x| *x >= 0.0);
        }
    }
    for kappa in [0.0, 1e-300, 1e-9, 1e-7, 1e-3, 1e7, 1e9, 1e300, f64::MAX] {
        for mu in [0.0, 3.1, -3.1, 1e300] {
            all(&VonMises::new(mu, kappa).unwrap(), 0.0, |x| {
                x.abs() <= core::f64::consts::PI
            });
        }
    }
    let near_zero = |x: &f64| x.abs() < 1e-4;
    all(&VonMises::new(0.0, 1e10).unwrap(), 0.0, near_zero);
    all(&Power::new(1e-300).unwrap(), 0.0, |x| {
        (0.0..=1.0).contains(x)
    });
    all(&Pareto::new(1e-300).unwrap(), 0.0, |x| *x >= 0.0);
    for a in [1.0 + f64::EPSILON, 1.001, 1024.0, 1025.0] {
        all(&Zipf::new(a).unwrap(), 0, |x| *x >= 1);
    }
    all(&LogSeries::new(1.0 - f64::EPSILON).unwrap(), 0, |x| *x >= 1);
    all(&NegativeBinomial::new(1e-300, 1e-9).unwrap(), 0, |x| {
        *x >= 0
    });
    let most = Hypergeometric::MAX_BALLS;
    for (good, bad, sample) in [
        (most, most, most),
        (most, 1, most),
        (1, most, 5),
        (most, most, 2 * most - 20),
        (20, most, most),
    ] {
        let mean = good as f64 * sample as f64 / (good + bad) as f64;
        let own = Hypergeometric::new(good, bad, sample).unwrap();
        all(&own, 0, |x| {
            (0.max(sample - bad)..=good.min(sample)).contains(x) && near(mean, *x)
        });
    }
    for (low, high) in [
        (1e99, f64::INFINITY),
        (50.0, 50.0 + 1e-9),
        (-1e15, -1e10),
        (-1e300, 1e300),
        (0.0, 1e-300),
    ] {
        let distribution = TruncatedNormal::new(0.0, 1.0, low, high).unwrap();
        all(&distribution, 0.0, |x| (low..=high).contains(x));
    }
    for mean in [1e12, 1e15, 1e18, Poisson::MAX_MEAN] {
        all(&Poisson::new(mean).unwrap(), 0, |x| near(mean, *x));
    }
    for n in [1 << 40, 1 << 53, i64::MAX] {
        let distribution = Binomial::new(n, 0.5).unwrap();
        all(&distribution, 0, |x| near(n as f64 / 2.0, *x));
        all(&Binomial::new(n, 3.0 / n as f64).unwrap(), 0, |x| *x < 40);
        let rows = Multinomial::new(n, &[0.1, 0.2, 0.7]).unwrap();
        let mut out = [0; 300];
        elements().draw(&rows, 0, &mut out).unwrap();
        assert!(out.chunks(3).all(|row| row.iter().sum::<i64>() == n));
    }
}

#[test]
fn failures_before_successes_have_their_probabilities() {
    use statrs::distribution::Discrete;
    // Inverted, with a long tail too, and counted at a rate.
    for (n, p) in [(5.0, 0.3), (40.0, 0.6), (0.1, 0.04), (2.5, 0.03)] {
        let mut out = vec![0; 200_000];
        let own = NegativeBinomial::new(n, p).unwrap();
        elements().draw(&own, 0, &mut out).unwrap();
        let theirs = statrs::distribution::NegativeBinomial::new(n, p).unwrap();
        let (mut chi_square, mut cells, mut rest) = (0.0, 0.0, (1.0, out.len()));
        for k in 0..400 {
            let expected = theirs.pmf(k) * out.len() as f64;
            if expected >= 50.0 {
                let found = out.iter().filter(|count| **count == k as i64).count();
                chi_square += (found as f64 - expected).powi(2) / expected;
                cells += 1.0;
                rest = (rest.0 - theirs.pmf(k), rest.1 - found);
            }
        }
        let deviations = (chi_square - cells) / f64::sqrt(2.0 * cells);
        assert!(deviations.abs() < 5.0, "{n} {p}: {deviations}");
        let expected: f64 = rest.0 * out.len() as f64;
        let deviations = (rest.1 as f64 - expected) / expected.max(1.0).sqrt();
        assert!(deviations.abs() < 5.0, "{n} {p}, the rest: {deviations}");
    }
}

#[test]
fn a_weight_of_zero_never_comes_and_roundings_lose_none() {
    for count in [1usize, 2, 3, 10, 1000] {
        for seed in 0..20 {
            let weight =
                |i: usize| f64::from((i as u32).wrapping_mul(2_654_435_761).rotate_left(seed) % 7);
            let weights: Vec<f64> = (0..count).map(weight).collect();
            let Ok(choice) = Choice::new(&weights) else {
                assert!(weights.iter().all(|weight| *weight == 0.0));
                continue;
            };
            let mut out = [0; 3000];
            elements().draw(&choice, 0, &mut out).unwrap();
            assert!(out.iter().all(|index| weights[*index as usize] > 0.0));
        }
    }
}

/// Values in the bounds of a parameter, also near their ends; rules that connect parameters hold.
fn usual_values(entry: &table::Entry, place: usize) -> Vec<f64> {
    let step = 0.3 * (1 + place) as f64;
    match entry.python {
        "hypergeometric" => vec![[40.0, 900.0], [50.0, 80.0], [7.0, 70.0]][place].to_vec(),
        "triangular" => vec![-1.0 + place as f64, -0.5 + place as f64, place as f64],
        "truncated_normal" if place >= 2 => {
            [vec![-1.0, 3.0], vec![3.5, f64::INFINITY]][place - 2].clone()
        }
        "poisson" => vec![0.0, 3.0, 9.9, 10.0, 50.0, 1e6],
        "binomial" if place == 0 => vec![0.0, 5.0, 200.0, 1e6],
        "negative_binomial" if place == 0 => vec![0.5, 3.0, 90.0],
        "zipf" => vec![1.1, 2.0, 4.0],
        "uniform" => vec![place as f64 - 1.0, 2.5 * place as f64],
        _ if entry.parameters[place].python == "nonc" => vec![0.0, 3.0, 70.0],
        _ if matches!(
            entry.parameters[place].bounds.1,
            std::ops::Bound::Included(1.0)
        ) =>
        {
            vec![0.1, 0.5, 0.9]
        }
        "logseries" => vec![0.0, 0.5, 0.99],
        _ => vec![step, 1.0, step + 2.5],
    }
}

#[test]
fn an_element_of_columns_is_the_element_of_its_own_values() {
    use table::{Made, Number, Numbers, TABLE, Value};
    let (elements, length, mut seen) = (elements(), 700, 0);
    for entry in TABLE.iter().filter(|entry| entry.takes_columns()) {
        let columns: Vec<Vec<f64>> = (0..entry.parameters.len())
            .map(|place| {
                let values = usual_values(entry, place);
                // Other periods in each column.
                let value = |i: usize| values[(i * (place + 1) + i / 5) % values.len()];
                (0..length).map(value).collect()
            })
            .collect();
        let slices: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        for number in entry.numbers {
            for first in [0, 1 << 40] {
                let (mut doubles, mut singles, mut integers) =
                    (vec![0.0; length], vec![0.0f32; length], vec![0; length]);
                let out = match number {
                    Number::F64 => Numbers::F64(&mut doubles),
                    Number::F32 => Numbers::F32(&mut singles),
                    _ => Numbers::I64(&mut integers),
                };
                entry.fill_each(&elements, &slices, first, out).unwrap();
                for i in 0..length {
                    let values: Vec<Value> = slices
                        .iter()
                        .zip(entry.parameters)
                        .map(|(column, parameter)| match parameter.kind {
                            table::Kind::Float => Value::Float(column[i]),
                            _ => Value::Integer(column[i] as i64),
                        })
                        .collect();
                    let index = first + i as u64;
                    match entry.make(&values, *number).unwrap().unwrap() {
                        Made::F64(one) => {
                            let mut own = [0.0];
                            elements.draw(&*one, index, &mut own).unwrap();
                            assert_eq!(
                                own[0].to_bits(),
                                doubles[i].to_bits(),
                                "{} {values:?}",
                                entry.python
                            );
                        }
                        Made::F32(one) => {
                            let mut own = [0.0];
                            elements.draw(&*one, index, &mut own).unwrap();
                            assert_eq!(
                                own[0].to_bits(),
                                singles[i].to_bits(),
                                "{} {values:?}",
                                entry.python
                            );
                        }
                        Made::I64(one) => {
                            let mut own = [0];
                            elements.draw(&*one, index, &mut own).unwrap();
                            assert_eq!(own[0], integers[i], "{} {values:?}", entry.python);
                        }
                    }
                }
            }
        }
        // One value out of bounds is found at any place.
        for place in 0..columns.len() {
            for at in [0, 300, length - 1] {
                let mut wrong = columns.clone();
                wrong[place][at] = f64::NAN;
                let wrong: Vec<&[f64]> = wrong.iter().map(Vec::as_slice).collect();
                assert!(
                    entry.check_columns(&elements, &wrong).is_err(),
                    "{}",
                    entry.python
                );
            }
        }
        let short: Vec<&[f64]> = slices.iter().map(|column| &column[1..]).collect();
        let mut out = vec![0.0; length];
        let made = entry.fill_each(&elements, &short, 0, Numbers::F64(&mut out));
        assert!(made.is_err() && entry.check_columns(&elements, &slices[1..]).is_err());
        seen += 1;
    }
    assert_eq!(seen, 30);
}

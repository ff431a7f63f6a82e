//! The known answers in `vectors/pseudo-elements.txt` and `vectors/pseudo-distributions.txt`, whose heads say what their lines
//! mean.

mod common;

use common::lines::{Line, hex, lines};
use sha2::{Digest, Sha256};
use wellspring_pseudo::distributions::{
    Beta, Binomial, Cauchy, Choice, Dirichlet, Distribution, Gamma, Geometric, LogNormal,
    Multinomial, MultivariateNormal, Poisson, Sphere, StudentT, Subsets, TruncatedNormal, Weibull,
};
use wellspring_pseudo::{Algorithm, Elements, Float, Integer, Path, Width};

const ELEMENTS: &str = include_str!("../../../vectors/pseudo-elements.txt");
const DISTRIBUTIONS: &str = include_str!("../../../vectors/pseudo-distributions.txt");

/// The numbers that arrays hold, as little-endian bytes.
trait Bytes: Copy + Default {
    fn bytes(self) -> Vec<u8>;
}

macro_rules! bytes {
    ($($type:ident),*) => {$(
        impl Bytes for $type {
            fn bytes(self) -> Vec<u8> {
                self.to_le_bytes().to_vec()
            }
        }
    )*};
}

bytes!(f32, f64, u8, i16, u32, i32, i64, u64);

fn number<T: std::str::FromStr<Err: std::fmt::Debug>>(line: &Line<'_>, name: &str) -> T {
    line.field(name).parse().unwrap()
}

/// The elements of a line at every width of registers.
fn elements(line: &Line<'_>) -> impl Iterator<Item = Elements> {
    let algorithm: Algorithm = line.field("algorithm").parse().unwrap();
    let seed = u128::from_str_radix(line.field("seed"), 16).unwrap();
    let path: Path = line.field("path").parse().unwrap();
    let elements = Elements::new(algorithm, seed, &path).unwrap();
    let widths = Width::ALL.iter().filter(|width| width.is_available());
    widths.map(move |&width| elements.clone().with_width(width))
}

fn check<T: Bytes>(line: &Line<'_>, fill: impl Fn(&Elements, u64, &mut [T])) {
    check_rows(line, 1, fill);
}

fn check_rows<T: Bytes>(line: &Line<'_>, width: usize, fill: impl Fn(&Elements, u64, &mut [T])) {
    for elements in elements(line) {
        let mut out = vec![T::default(); width * number::<usize>(line, "n")];
        fill(&elements, number(line, "first"), &mut out);
        let head = out.iter().take(4).map(|element| {
            let mut bytes = element.bytes();
            bytes.reverse();
            hex(&bytes)
        });
        let head: Vec<_> = head.collect();
        assert_eq!(head.join(","), line.field("head"), "{line}");
        let bytes: Vec<u8> = out.into_iter().flat_map(T::bytes).collect();
        assert_eq!(hex(&Sha256::digest(&bytes)), line.field("sha256"), "{line}");
    }
}

fn check_floats<T: Bytes + Float>(line: &Line<'_>, kind: &str) {
    check::<T>(line, |elements, first, out| {
        match kind {
            "uniform" => elements.uniform(first, out),
            "normal" => elements.standard_normal(first, out),
            "exponential" => elements.standard_exponential(first, out),
            _ => panic!("unknown kind: {line}"),
        }
        .unwrap();
    });
}

fn check_integers<T>(line: &Line<'_>)
where
    T: Bytes + Integer + std::str::FromStr<Err: std::fmt::Debug>,
{
    let (low, high): (T, T) = (number(line, "low"), number(line, "high"));
    check::<T>(line, |elements, first, out| {
        elements.integers(low..=high, first, out).unwrap();
    });
}

#[test]
fn arrays_are_those_of_the_model_at_every_width() {
    let (mut arrays, mut integers, mut orders) = (0, 0, 0);
    for line in lines(ELEMENTS) {
        match line.kind() {
            "array" => {
                match line.field("kind").split_once('-').unwrap() {
                    (kind, "f64") => check_floats::<f64>(&line, kind),
                    (kind, "f32") => check_floats::<f32>(&line, kind),
                    _ => panic!("unknown type: {line}"),
                }
                arrays += 1;
            }
            "integers" => {
                match line.field("type") {
                    "u8" => check_integers::<u8>(&line),
                    "i16" => check_integers::<i16>(&line),
                    "u32" => check_integers::<u32>(&line),
                    "i32" => check_integers::<i32>(&line),
                    "i64" => check_integers::<i64>(&line),
                    "u64" => check_integers::<u64>(&line),
                    _ => panic!("unknown type: {line}"),
                }
                integers += 1;
            }
            "shuffle" => {
                check::<u64>(&line, |elements, _, out| {
                    for (place, number) in out.iter_mut().zip(0..) {
                        *place = number;
                    }
                    elements.shuffle(out);
                });
                orders += 1;
            }
            "permutation" => {
                let length = number(&line, "length");
                check::<u64>(&line, |elements, first, out| {
                    elements.permutation(length).fill(first, out).unwrap();
                });
                orders += 1;
            }
            kind => panic!("unknown kind of line: {kind}"),
        }
    }
    assert_eq!((arrays, integers, orders), (180, 450, 40));
}

fn check_drawn<D: Distribution<Number: Bytes>>(line: &Line<'_>, width: usize, distribution: &D) {
    check_rows(line, width, |elements, first, out| {
        elements.draw(distribution, first, out).unwrap();
    });
}

#[test]
fn distributions_are_those_of_the_model_at_every_width() {
    let mut checked = 0;
    for line in lines(DISTRIBUTIONS) {
        let texts = line.field("parameters").split(',');
        let p: Vec<f64> = texts.clone().filter_map(|text| text.parse().ok()).collect();
        let integer = |place: usize| texts.clone().nth(place).unwrap().parse::<u64>().unwrap();
        match line.kind() {
            "lognormal" => check_drawn(&line, 1, &LogNormal::new(p[0], p[1]).unwrap()),
            "weibull" => check_drawn(&line, 1, &Weibull::new(p[0]).unwrap()),
            "cauchy" => check_drawn(&line, 1, &Cauchy),
            "gamma" => check_drawn(&line, 1, &Gamma::new(p[0], p[1]).unwrap()),
            "beta" => check_drawn(&line, 1, &Beta::new(p[0], p[1]).unwrap()),
            "t" => check_drawn(&line, 1, &StudentT::new(p[0]).unwrap()),
            "truncated" => {
                let distribution = TruncatedNormal::new(p[0], p[1], p[2], p[3]);
                check_drawn(&line, 1, &distribution.unwrap());
            }
            "geometric" => check_drawn(&line, 1, &Geometric::new(p[0]).unwrap()),
            "binomial" => {
                let distribution = Binomial::new(integer(0) as i64, p[1]);
                check_drawn(&line, 1, &distribution.unwrap());
            }
            "poisson" => check_drawn(&line, 1, &Poisson::new(p[0]).unwrap()),
            "choice" => check_drawn(&line, 1, &Choice::new(&p).unwrap()),
            "subsets" => {
                let width = integer(1) as usize;
                check_drawn(&line, width, &Subsets::new(integer(0), width).unwrap());
            }
            "dirichlet" => check_drawn(&line, p.len(), &Dirichlet::new(&p).unwrap()),
            "multinomial" => {
                let distribution = Multinomial::new(integer(0) as i64, &p[1..]);
                check_drawn(&line, p.len() - 1, &distribution.unwrap());
            }
            "multivariate" => {
                let distribution = MultivariateNormal::new(&p[..3], &p[3..]);
                check_drawn(&line, 3, &distribution.unwrap());
            }
            "sphere" => {
                let width = integer(0) as usize;
                check_drawn(&line, width, &Sphere::new(width).unwrap());
            }
            "sobol" => check_rows(&line, integer(0) as usize, |elements, first, out| {
                let sobol = elements.sobol(integer(0) as usize).unwrap();
                sobol.fill(first, out).unwrap();
            }),
            "halton" => check_rows(&line, integer(0) as usize, |elements, first, out| {
                let halton = elements.halton(integer(0) as usize).unwrap();
                halton.fill(first, out).unwrap();
            }),
            kind => panic!("unknown kind of line: {kind}"),
        }
        checked += 1;
    }
    assert_eq!(checked, 194);
}

/// 10^4 elements as little-endian bytes.
fn bytes_of<T: Bytes>(
    fill: impl Fn(&mut [T]) -> Result<(), wellspring_pseudo::ElementError>,
) -> Vec<u8> {
    let mut out = vec![T::default(); 10_000];
    fill(&mut out).unwrap();
    out.into_iter().flat_map(T::bytes).collect()
}

/// It is the digest that `python -m wellspring.random --check` prints.
#[test]
fn the_digest_of_all_kinds_is_that_of_the_documents() {
    let mut digest = Sha256::new();
    for algorithm in [
        Algorithm::ChaCha8,
        Algorithm::ChaCha12,
        Algorithm::ChaCha20,
        Algorithm::Aes256Ctr,
        Algorithm::Philox4x64,
    ] {
        let name = Elements::new(algorithm, 2026, &[3, 0, 17]).unwrap();
        for bytes in [
            bytes_of::<f64>(|out| name.uniform(0, out)),
            bytes_of::<f32>(|out| name.uniform(0, out)),
            bytes_of::<f64>(|out| name.standard_normal(0, out)),
            bytes_of::<f32>(|out| name.standard_normal(0, out)),
            bytes_of::<f64>(|out| name.standard_exponential(0, out)),
            bytes_of::<i64>(|out| name.integers(0..=999, 0, out)),
            bytes_of::<i32>(|out| name.integers(-5..=999, 0, out)),
            bytes_of::<u64>(|out| name.permutation(1_000_000_000_000).fill(0, out)),
            bytes_of(|out| name.draw(&Gamma::new(2.5, 1.0).unwrap(), 0, out)),
            bytes_of(|out| name.draw(&Beta::new(0.5, 2.0).unwrap(), 0, out)),
            bytes_of(|out| name.draw(&LogNormal::new(0.0, 1.0).unwrap(), 0, out)),
            bytes_of(|out| name.draw(&Poisson::new(4.0).unwrap(), 0, out)),
            bytes_of(|out| name.draw(&Poisson::new(40.0).unwrap(), 0, out)),
            bytes_of(|out| name.draw(&Binomial::new(100, 0.3).unwrap(), 0, out)),
        ] {
            digest.update(&bytes);
        }
    }
    let digest = hex(&digest.finalize());
    let document = include_str!("../../../docs/how-to/science.md");
    assert!(document.contains(&format!("# {digest}\n")), "{digest}");
}

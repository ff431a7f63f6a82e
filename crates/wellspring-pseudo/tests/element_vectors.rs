//! The known answers in `vectors/pseudo-elements.txt`, whose head says what its lines mean.

mod common;

use common::lines::{Line, hex, lines};
use sha2::{Digest, Sha256};
use wellspring_pseudo::{Algorithm, Elements, Float, Integer, Path, Width};

const ELEMENTS: &str = include_str!("../../../vectors/pseudo-elements.txt");

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
    for elements in elements(line) {
        let mut out = vec![T::default(); number(line, "n")];
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

//! The header `wellspring_chacha8.cuh` is CUDA and C++, in the folder above. This crate has its tests: the header as plain C++
//! on the CPU against wellspring-pseudo, and what CUDA's compiler makes of it. No GPU runs.

#![forbid(unsafe_code)]
#![cfg(test)]

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::programs::{compile, is_installed, is_long, scratch, succeeds, text};
use wellspring_pseudo::{Algorithm, Elements};

const DOOR: &str = env!("CARGO_MANIFEST_DIR");

const KINDS: [&str; 6] = [
    "word32",
    "word64",
    "uniform32",
    "uniform64",
    "normal32",
    "normal64",
];

fn bytes_of<const N: usize, T: Copy + Default>(
    length: usize,
    to_bytes: impl Fn(T) -> [u8; N],
    fill: impl Fn(&mut [T]),
) -> Vec<u8> {
    let mut numbers = vec![T::default(); length];
    fill(&mut numbers);
    numbers.into_iter().flat_map(to_bytes).collect()
}

/// The elements of a kind, as wellspring-pseudo makes them, in the byte order of this machine.
fn expected(kind: &str, elements: &Elements, first: u64, length: usize) -> Vec<u8> {
    let words = |bytes: usize| {
        let mut out = vec![0; length * bytes];
        elements.bytes(u128::from(first) * bytes as u128, &mut out);
        out
    };
    match kind {
        "word32" => bytes_of(length, u32::to_ne_bytes, |out| {
            for (word, bytes) in out.iter_mut().zip(words(4).as_chunks().0) {
                *word = u32::from_le_bytes(*bytes);
            }
        }),
        "word64" => bytes_of(length, u64::to_ne_bytes, |out| {
            for (word, bytes) in out.iter_mut().zip(words(8).as_chunks().0) {
                *word = u64::from_le_bytes(*bytes);
            }
        }),
        "uniform32" => bytes_of(length, f32::to_ne_bytes, |out| {
            elements.uniform(first, out).unwrap();
        }),
        "uniform64" => bytes_of(length, f64::to_ne_bytes, |out| {
            elements.uniform(first, out).unwrap();
        }),
        "normal32" => bytes_of(length, f32::to_ne_bytes, |out| {
            elements.standard_normal(first, out).unwrap();
        }),
        _ => bytes_of(length, f64::to_ne_bytes, |out| {
            elements.standard_normal(first, out).unwrap();
        }),
    }
}

fn check(program: &Path, kind: &str, seed: u64, path: &[u32], first: u64, length: usize) {
    let output = Command::new(program)
        .args([kind, &seed.to_string(), &first.to_string()])
        .arg(length.to_string())
        .args(path.iter().map(u32::to_string))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let elements = Elements::new(Algorithm::ChaCha8, seed.into(), path).unwrap();
    let expected = expected(kind, &elements, first, length);
    // Not assert_eq!, which would print all of it.
    assert!(
        output.stdout == expected,
        "{kind} {seed} {path:?} {first} {length}"
    );
}

/// As the compiler likes it: with optimisation and every instruction of this CPU, it merges products and sums.
fn program() -> Option<PathBuf> {
    let source = Path::new(DOOR).join("tests/answers.cpp");
    is_installed("c++").then(|| compile(&source, &["-O3", "-march=native", "-ffp-contract=fast"]))
}

#[test]
fn the_numbers_are_those_of_the_library() {
    let Some(program) = program() else { return };
    for kind in KINDS {
        check(&program, kind, 2026, &[3, 0, 17], 0, 200_000);
        for first in [1, 15, (1 << 32) - 3, (1 << 36) - 3, u64::MAX - 8] {
            check(&program, kind, u64::MAX, &[u32::MAX], first, 9);
        }
        check(&program, kind, 0, &[], 5, 1);
        check(&program, kind, 0, &[], 5, 0);
    }
    if is_long("10^7 elements of each kind") {
        for kind in KINDS {
            check(&program, kind, 7, &[1, 2], 11, 10_000_000);
        }
    }
}

/// nvcc over the kernels. `.ci/run` installs PyPI's nvidia-cuda-nvcc; without it the system's nvcc serves.
fn nvcc() -> Option<Command> {
    let own = Path::new(DOOR).join("../../target/cuda/packages/nvidia/cu13/bin/nvcc");
    let nvcc = if own.exists() { own } else { "nvcc".into() };
    if !is_installed(nvcc.to_str().unwrap()) {
        return None;
    }
    let mut command = Command::new(nvcc);
    command.args(["-std=c++17", "-Werror", "all-warnings"]);
    command.arg(Path::new(DOOR).join("tests/kernels.cu"));
    Some(command)
}

/// nvcc merges a product and a sum where it may. It may where the product is exact, by a power of two.
#[test]
fn cuda_merges_no_product_that_is_rounded() {
    let Some(mut nvcc) = nvcc() else { return };
    let ptx = scratch("cuda").join("kernels.ptx");
    succeeds(&nvcc.arg("-ptx").arg("-o").arg(&ptx).output().unwrap());
    let ptx = std::fs::read_to_string(ptx).unwrap();
    let merged = ptx.lines().filter(|line| line.contains("fma.rn.f64"));
    let rounded: Vec<_> = merged.filter(|line| !is_product_exact(line)).collect();
    assert!(rounded.is_empty(), "{rounded:?}");
    assert!(ptx.contains("mul.rn.f64") && ptx.contains(".entry fill_normal64"));
}

/// Whether a factor is a power of two. Its operands are the result, two factors and the summand.
fn is_product_exact(fma: &str) -> bool {
    fma.split(',').skip(1).take(2).any(|factor| {
        // Behind sign and exponent, a fraction of 52 zeros.
        let bits = factor.trim().strip_prefix("0d");
        bits.is_some_and(|bits| bits.len() == 16 && bits.ends_with("0000000000000"))
    })
}

//! Known answers of the reproducible streams.

use super::outcome::{Outcome, Stop, broken, failed};
use sha2::{Digest, Sha256};
use std::fmt::Display;
use std::str::FromStr;
use wellspring_pseudo::{Algorithm, Path, Stream};

/// Each algorithm with the file of its known answers.
const FILES: [(Algorithm, &str); 8] = [
    (
        Algorithm::Xoshiro256PlusPlus,
        include_str!("../../../vectors/pseudo-xoshiro256++.txt"),
    ),
    (
        Algorithm::Xoshiro256PlusPlusX16,
        include_str!("../../../vectors/pseudo-xoshiro256++x16.txt"),
    ),
    (
        Algorithm::Xorshift128Plus,
        include_str!("../../../vectors/pseudo-xorshift128+.txt"),
    ),
    (
        Algorithm::Philox4x64,
        include_str!("../../../vectors/pseudo-philox4x64-10.txt"),
    ),
    (
        Algorithm::ChaCha8,
        include_str!("../../../vectors/pseudo-chacha8.txt"),
    ),
    (
        Algorithm::ChaCha12,
        include_str!("../../../vectors/pseudo-chacha12.txt"),
    ),
    (
        Algorithm::ChaCha20,
        include_str!("../../../vectors/pseudo-chacha20.txt"),
    ),
    (
        Algorithm::Aes256Ctr,
        include_str!("../../../vectors/pseudo-aes256-ctr.txt"),
    ),
];

/// Makes every stream of the files and compares its digest.
pub(super) fn give_known_answers() -> Outcome {
    for (algorithm, file) in FILES {
        let mut compared = 0;
        for line in file.lines().filter_map(|line| line.strip_prefix("stream ")) {
            if digest(algorithm, line)? != field(line, "sha256")? {
                return failed(format!("{algorithm}: another stream than {line}"));
            }
            compared += 1;
        }
        if compared == 0 {
            return failed(format!("{algorithm}: there was nothing to compare"));
        }
    }
    Ok(())
}

fn digest(algorithm: Algorithm, line: &str) -> Result<String, Stop> {
    let seed =
        u128::from_str_radix(field(line, "seed")?, 16).map_err(|error| broken("seed", error))?;
    let path: Path = parsed(line, "path")?;
    let mut stream = Stream::new(algorithm, seed, &path);
    // The files of the engines have streams without jumps, from byte 0 on.
    if algorithm.is_counter_based() {
        let jumped = stream.jumped(parsed(line, "jump")?);
        let jumped = jumped.map_err(|error| broken("jump", error))?;
        stream = jumped.at(parsed(line, "at")?);
    }
    let mut bytes = vec![0; parsed(line, "n")?];
    stream.fill(&mut bytes);
    let digest = Sha256::digest(&bytes);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn parsed<T: FromStr<Err: Display>>(line: &str, name: &str) -> Result<T, Stop> {
    let value = field(line, name)?.parse();
    value.map_err(|error| broken(name, error))
}

fn field<'a>(line: &'a str, name: &str) -> Result<&'a str, Stop> {
    let mut fields = line.split(' ').filter_map(|field| field.split_once('='));
    let found = fields.find(|(other, _)| *other == name);
    found
        .map(|(_, value)| value)
        .ok_or_else(|| broken(name, "is missing"))
}

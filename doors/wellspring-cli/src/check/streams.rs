//! Known answers of the reproducible streams.

use super::{Outcome, Stop, broken, failed};
use sha2::{Digest, Sha256};
use wellspring::pseudo::{Algorithm, Path, Stream};

const XORSHIFT128PLUS: &str = include_str!("../../../../vectors/pseudo-xorshift128+.txt");
const XOSHIRO256PLUSPLUS: &str = include_str!("../../../../vectors/pseudo-xoshiro256++.txt");
const XOSHIRO256PLUSPLUS_X16: &str = include_str!("../../../../vectors/pseudo-xoshiro256++x16.txt");

/// Makes every stream of the files and compares its digest.
pub(super) fn give_known_answers() -> Outcome {
    for (algorithm, file) in [
        (Algorithm::Xorshift128Plus, XORSHIFT128PLUS),
        (Algorithm::Xoshiro256PlusPlus, XOSHIRO256PLUSPLUS),
        (Algorithm::Xoshiro256PlusPlusX16, XOSHIRO256PLUSPLUS_X16),
    ] {
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
    let path: Path = field(line, "path")?
        .parse()
        .map_err(|error| broken("path", error))?;
    let length: usize = field(line, "n")?
        .parse()
        .map_err(|error| broken("n", error))?;
    let mut bytes = vec![0; length];
    Stream::new(algorithm, seed, &path).fill(&mut bytes);
    let digest = Sha256::digest(&bytes);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn field<'a>(line: &'a str, name: &str) -> Result<&'a str, Stop> {
    let mut fields = line.split(' ').filter_map(|field| field.split_once('='));
    let found = fields.find(|(other, _)| *other == name);
    found
        .map(|(_, value)| value)
        .ok_or_else(|| broken(name, "is missing"))
}

//! The known answers in `vectors/`, whose heads say what their lines mean; the linear generators against other
//! implementations; and sixteen lanes against sixteen independent generators.

use std::fmt;

use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};
use wellspring_pseudo::distributions::{
    Beta, Binomial, Cauchy, Choice, Dirichlet, Distribution, F, Gamma, Geometric, Gumbel,
    Hypergeometric, Laplace, LogNormal, LogSeries, Logistic, Multinomial,
    MultivariateHypergeometric, MultivariateNormal, NegativeBinomial, NoncentralChiSquare,
    NoncentralF, Pareto, Poisson, Power, Rayleigh, Sphere, StudentT, Subsets, Triangular,
    TruncatedNormal, VonMises, Wald, Weibull, Zipf,
};
use wellspring_pseudo::{
    Algorithm, Elements, Float, Integer, Path, SeedSequence, Stream, Width, Xorshift128Plus,
    Xoshiro256PlusPlus, Xoshiro256PlusPlusX16, philox4x64_10,
};

/// A line of a file: its kind, then `name=value` fields.
struct Line<'a>(&'a str);

impl<'a> Line<'a> {
    fn kind(&self) -> &'a str {
        self.0.split(' ').next().unwrap()
    }

    fn field(&self, name: &str) -> &'a str {
        self.0
            .split(' ')
            .find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
            .unwrap_or_else(|| panic!("no {name} in: {}", self.0))
    }

    fn words<const N: usize>(&self, name: &str) -> [u64; N] {
        let words: Vec<u64> = self
            .field(name)
            .split(',')
            .map(|word| u64::from_str_radix(word, 16).unwrap())
            .collect();
        words.try_into().unwrap()
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

fn lines(file: &str) -> impl Iterator<Item = Line<'_>> {
    file.lines().filter(|line| !line.starts_with('#')).map(Line)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

// ---- streams ----

const XORSHIFT128PLUS: &str = include_str!("../../../vectors/pseudo-xorshift128+.txt");
const XOSHIRO256PLUSPLUS: &str = include_str!("../../../vectors/pseudo-xoshiro256++.txt");
const XOSHIRO256PLUSPLUS_X16: &str = include_str!("../../../vectors/pseudo-xoshiro256++x16.txt");
const PHILOX4X64: &str = include_str!("../../../vectors/pseudo-philox4x64-10.txt");
const CHACHA8: &str = include_str!("../../../vectors/pseudo-chacha8.txt");
const CHACHA12: &str = include_str!("../../../vectors/pseudo-chacha12.txt");
const CHACHA20: &str = include_str!("../../../vectors/pseudo-chacha20.txt");
const AES256_CTR: &str = include_str!("../../../vectors/pseudo-aes256-ctr.txt");
const SEED_SEQUENCE: &str = include_str!("../../../vectors/seed-sequence.txt");

fn name(line: &Line<'_>) -> (u128, Path) {
    let seed = u128::from_str_radix(line.field("seed"), 16).unwrap();
    let path = line.field("path").parse().unwrap();
    (seed, path)
}

fn check_stream(algorithm: Algorithm, line: &Line<'_>) {
    let (seed, path) = name(line);
    check_bytes(line, |bytes| {
        Stream::new(algorithm, seed, &path).fill(bytes);
    });
}

fn check_bytes(line: &Line<'_>, fill: impl FnOnce(&mut [u8])) {
    let mut bytes = vec![0; line.field("n").parse().unwrap()];
    fill(&mut bytes);
    let first = &bytes[..bytes.len().min(32)];
    let last = &bytes[bytes.len().saturating_sub(32)..];
    assert_eq!(hex(first), line.field("first"), "{}", line.0);
    assert_eq!(hex(last), line.field("last"), "{}", line.0);
    assert_eq!(
        hex(&Sha256::digest(&bytes)),
        line.field("sha256"),
        "{}",
        line.0
    );
}

#[test]
fn xorshift128plus_gives_the_known_answers() {
    let (mut words, mut jumps, mut streams) = (0, 0, 0);
    for line in lines(XORSHIFT128PLUS) {
        match line.kind() {
            "words" => {
                let mut engine = Xorshift128Plus::from_words(line.words("state")).unwrap();
                let expected: [u64; 16] = line.words("out");
                assert_eq!(expected.map(|_| engine.next_u64()), expected, "{}", line.0);
                words += 1;
            }
            "jump" => {
                let mut engine = Xorshift128Plus::from_words(line.words("state")).unwrap();
                engine.jump();
                assert_eq!(engine.words(), line.words("after"), "{}", line.0);
                jumps += 1;
            }
            "stream" => {
                check_stream(Algorithm::Xorshift128Plus, &line);
                streams += 1;
            }
            kind => panic!("unknown kind of line: {kind}"),
        }
    }
    assert_eq!((words, jumps, streams), (8, 8, 85));
}

#[test]
fn xoshiro256plusplus_gives_the_known_answers() {
    let (mut words, mut jumps, mut long_jumps, mut streams) = (0, 0, 0, 0);
    for line in lines(XOSHIRO256PLUSPLUS) {
        match line.kind() {
            "words" => {
                let mut engine = Xoshiro256PlusPlus::from_words(line.words("state")).unwrap();
                let expected: [u64; 16] = line.words("out");
                assert_eq!(expected.map(|_| engine.next_u64()), expected, "{}", line.0);
                words += 1;
            }
            "jump" => {
                let mut engine = Xoshiro256PlusPlus::from_words(line.words("state")).unwrap();
                engine.jump();
                assert_eq!(engine.words(), line.words("after"), "{}", line.0);
                jumps += 1;
            }
            "long-jump" => {
                let mut engine = Xoshiro256PlusPlus::from_words(line.words("state")).unwrap();
                engine.long_jump();
                assert_eq!(engine.words(), line.words("after"), "{}", line.0);
                long_jumps += 1;
            }
            "stream" => {
                check_stream(Algorithm::Xoshiro256PlusPlus, &line);
                streams += 1;
            }
            kind => panic!("unknown kind of line: {kind}"),
        }
    }
    assert_eq!((words, jumps, long_jumps, streams), (10, 10, 10, 85));
}

fn widths() -> impl Iterator<Item = Width> {
    let available = |width: &Width| width.is_available();
    Width::ALL.iter().copied().filter(available)
}

#[test]
fn sixteen_lanes_give_the_known_answers_at_every_width() {
    let (mut words, mut streams) = (0, 0);
    for line in lines(XOSHIRO256PLUSPLUS_X16) {
        match line.kind() {
            "words" => {
                let lane_0 = Xoshiro256PlusPlus::from_words(line.words("state")).unwrap();
                let lanes = Xoshiro256PlusPlusX16::jumping_from(&lane_0);
                let expected: [u64; 48] = line.words("out");
                let mut singly = lanes.clone();
                assert_eq!(expected.map(|_| singly.next_u64()), expected, "{}", line.0);
                for width in widths() {
                    let mut bytes = [0; 8 * 48];
                    lanes.clone().fill_at(width, &mut bytes);
                    let expected = expected.map(u64::to_le_bytes);
                    assert_eq!(bytes, expected.as_flattened(), "{width} {}", line.0);
                }
                words += 1;
            }
            "stream" => {
                check_stream(Algorithm::Xoshiro256PlusPlusX16, &line);
                let (seed, path) = name(&line);
                let root = SeedSequence::new(seed);
                let name = path.iter().fold(root, |parent, &key| parent.child(key));
                let lane_0 = Xoshiro256PlusPlus::from_words(name.generate_u64()).unwrap();
                let lanes = Xoshiro256PlusPlusX16::jumping_from(&lane_0);
                for width in widths() {
                    check_bytes(&line, |bytes| lanes.clone().fill_at(width, bytes));
                }
                streams += 1;
            }
            kind => panic!("unknown kind of line: {kind}"),
        }
    }
    assert_eq!((words, streams), (10, 95));
}

/// The 32-bit words of a list of hexadecimal integers of any size, each broken up as NumPy does.
fn coerced(list: &str) -> Vec<u32> {
    if list == "-" {
        return Vec::new();
    }
    let broken_up = |digits: &str| -> Vec<u32> {
        if digits.len() <= 32 {
            return SeedSequence::coerce(u128::from_str_radix(digits, 16).unwrap()).collect();
        }
        digits
            .as_bytes()
            .rchunks(8)
            .map(|word| u32::from_str_radix(str::from_utf8(word).unwrap(), 16).unwrap())
            .collect()
    };
    list.split(',').flat_map(broken_up).collect()
}

#[test]
fn seed_sequences_give_numpys_answers() {
    let mut sequences = 0;
    for line in lines(SEED_SEQUENCE) {
        assert_eq!(line.kind(), "sequence");
        let root = SeedSequence::from_words(&coerced(line.field("entropy")));
        let sequence = coerced(line.field("key"))
            .iter()
            .fold(root, |parent, &key| parent.child(key));
        let narrow: [u32; 10] = sequence.generate_u32();
        assert_eq!(narrow.map(u64::from), line.words("u32"), "{}", line.0);
        assert_eq!(
            sequence.generate_u64::<5>(),
            line.words("u64"),
            "{}",
            line.0
        );
        sequences += 1;
    }
    assert_eq!(sequences, 358);
}

/// Compares the streams of a file, from any byte of any jump, and returns how many there were.
fn check_placed_streams(algorithm: Algorithm, file: &str) -> usize {
    let mut streams = 0;
    for line in lines(file).filter(|line| line.kind() == "stream") {
        let (seed, path) = name(&line);
        let jumps = line.field("jump").parse().unwrap();
        let position = line.field("at").parse().unwrap();
        let stream = Stream::new(algorithm, seed, &path).jumped(jumps).unwrap();
        check_bytes(&line, |bytes| stream.at(position).fill(bytes));
        streams += 1;
    }
    streams
}

#[test]
fn philox_gives_the_known_answers_of_numpy_and_random123() {
    let mut blocks = 0;
    for line in lines(PHILOX4X64).filter(|line| line.kind() == "block") {
        let block = philox4x64_10(line.words("counter"), line.words("key"));
        assert_eq!(block, line.words("out"), "{}", line.0);
        blocks += 1;
    }
    let streams = check_placed_streams(Algorithm::Philox4x64, PHILOX4X64);
    assert_eq!((blocks, streams), (23, 106));
}

#[test]
fn ciphers_give_the_known_answers() {
    for (algorithm, file) in [
        (Algorithm::ChaCha8, CHACHA8),
        (Algorithm::ChaCha12, CHACHA12),
        (Algorithm::ChaCha20, CHACHA20),
        (Algorithm::Aes256Ctr, AES256_CTR),
    ] {
        assert_eq!(check_placed_streams(algorithm, file), 106, "{algorithm}");
    }
}

#[test]
fn the_digest_on_the_page_about_streams_is_right() {
    let page = include_str!("../../../docs/reference/streams.md");
    let mut bytes = vec![0; 1 << 20];
    Stream::new(Algorithm::ChaCha8, 2026, &[3, 0, 17]).fill(&mut bytes);
    assert!(page.contains("--pseudo chacha8 --seed 2026 --stream 3/0/17 1MiB | sha256sum"));
    assert!(page.contains(&hex(&Sha256::digest(&bytes))));
}

// ---- arrays ----

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

/// The distributions of single numbers from kind 25 on. Returns whether the line is of one of them.
fn check_newer(line: &Line<'_>, p: &[f64]) -> bool {
    match (line.kind(), p) {
        ("laplace", &[location, scale]) => {
            check_drawn(line, 1, &Laplace::new(location, scale).unwrap());
        }
        ("gumbel", &[location, scale]) => {
            check_drawn(line, 1, &Gumbel::new(location, scale).unwrap());
        }
        ("logistic", &[location, scale]) => {
            check_drawn(line, 1, &Logistic::new(location, scale).unwrap());
        }
        ("rayleigh", &[scale]) => check_drawn(line, 1, &Rayleigh::new(scale).unwrap()),
        ("pareto", &[a]) => check_drawn(line, 1, &Pareto::new(a).unwrap()),
        ("power", &[a]) => check_drawn(line, 1, &Power::new(a).unwrap()),
        ("triangular", &[left, mode, right]) => {
            check_drawn(line, 1, &Triangular::new(left, mode, right).unwrap());
        }
        ("vonmises", &[mu, kappa]) => check_drawn(line, 1, &VonMises::new(mu, kappa).unwrap()),
        ("wald", &[mean, scale]) => check_drawn(line, 1, &Wald::new(mean, scale).unwrap()),
        ("f", &[above, below]) => check_drawn(line, 1, &F::new(above, below).unwrap()),
        ("noncentral_chisquare", &[df, nonc]) => {
            check_drawn(line, 1, &NoncentralChiSquare::new(df, nonc).unwrap());
        }
        ("noncentral_f", &[above, below, nonc]) => {
            check_drawn(line, 1, &NoncentralF::new(above, below, nonc).unwrap());
        }
        ("negative_binomial", &[n, p]) => {
            check_drawn(line, 1, &NegativeBinomial::new(n, p).unwrap());
        }
        ("hypergeometric", &[good, bad, drawn]) => {
            let [good, bad, drawn] = [good, bad, drawn].map(|balls| balls as i64);
            check_drawn(line, 1, &Hypergeometric::new(good, bad, drawn).unwrap());
        }
        ("logseries", &[p]) => check_drawn(line, 1, &LogSeries::new(p).unwrap()),
        ("zipf", &[a]) => check_drawn(line, 1, &Zipf::new(a).unwrap()),
        _ => return false,
    }
    true
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
            "multivariate_hypergeometric" => {
                let distribution = MultivariateHypergeometric::new(&p[1..], p[0] as i64);
                check_drawn(&line, p.len() - 1, &distribution.unwrap());
            }
            kind => assert!(check_newer(&line, &p), "unknown kind of line: {kind}"),
        }
        checked += 1;
    }
    assert_eq!(checked, 358);
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

// ---- linear generators ----

/// The edition of `xorshift128plus.c` that SPL took over: it adds after the step.
fn spl_next([x, y]: &mut [u64; 2]) -> u64 {
    let mut s1 = *x;
    let s0 = *y;
    *x = s0;
    s1 ^= s1 << 23;
    *y = s1 ^ s0 ^ (s1 >> 18) ^ (s0 >> 5);
    y.wrapping_add(s0)
}

fn seed_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn oracle(words: [u64; 4]) -> rand_xoshiro::Xoshiro256PlusPlus {
    rand_xoshiro::Xoshiro256PlusPlus::from_seed(seed_of(&words).try_into().unwrap())
}

fn non_zero<const N: usize>() -> impl Strategy<Value = [u64; N]> {
    any::<[u64; N]>().prop_filter("not a state", |words| *words != [0; N])
}

proptest! {
    #[test]
    fn xoshiro256plusplus_equals_rand_xoshiro(words in non_zero::<4>(), length in 0..100usize) {
        let mut generator = Xoshiro256PlusPlus::from_words(words).unwrap();
        let mut oracle = oracle(words);
        for round in 0..4 {
            prop_assert_eq!(generator.next_u64(), Rng::next_u64(&mut oracle));
            prop_assert_eq!(Rng::next_u32(&mut generator), Rng::next_u32(&mut oracle));
            let (mut filled, mut expected) = (vec![0; length], vec![0; length]);
            generator.fill(&mut filled);
            oracle.fill_bytes(&mut expected);
            prop_assert_eq!(filled, expected);
            if round % 2 == 0 {
                generator.jump();
                oracle.jump();
            } else {
                generator.long_jump();
                oracle.long_jump();
            }
        }
    }

    #[test]
    fn xoshiro256plusplus_is_seeded_as_in_rand_xoshiro(short in any::<u64>(), seed in any::<[u8; 32]>()) {
        let mut generator = Xoshiro256PlusPlus::seed_from_u64(short);
        let mut oracle = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(short);
        prop_assert_eq!(generator.next_u64(), Rng::next_u64(&mut oracle));
        let mut generator = Xoshiro256PlusPlus::from_seed(seed);
        let mut oracle = rand_xoshiro::Xoshiro256PlusPlus::from_seed(seed);
        prop_assert_eq!(generator.next_u64(), Rng::next_u64(&mut oracle));
    }

    #[test]
    fn xorshift128plus_is_one_word_behind_spl(words in non_zero::<2>()) {
        let mut generator = Xorshift128Plus::from_words(words).unwrap();
        let mut spl = words;
        generator.next_u64();
        for _ in 0..100 {
            prop_assert_eq!(generator.next_u64(), spl_next(&mut spl));
        }
    }

    #[test]
    fn a_state_given_back_continues(two in non_zero::<2>(), four in non_zero::<4>()) {
        let mut generator = Xorshift128Plus::from_words(two).unwrap();
        prop_assert_eq!(generator.words(), two);
        generator.next_u64();
        let mut restored = Xorshift128Plus::from_words(generator.words()).unwrap();
        prop_assert_eq!(generator.next_u64(), restored.next_u64());

        let mut generator = Xoshiro256PlusPlus::from_words(four).unwrap();
        prop_assert_eq!(generator.words(), four);
        generator.next_u64();
        let mut restored = Xoshiro256PlusPlus::from_words(generator.words()).unwrap();
        prop_assert_eq!(generator.next_u64(), restored.next_u64());
    }

    #[test]
    fn a_tail_takes_the_low_bytes_of_one_more_word(
        two in non_zero::<2>(),
        four in non_zero::<4>(),
        length in 0..40usize,
    ) {
        let mut generator = Xorshift128Plus::from_words(two).unwrap();
        let mut words = generator.clone();
        let mut filled = vec![0; length];
        generator.fill(&mut filled);
        let whole: Vec<u8> = (0..length.div_ceil(8))
            .flat_map(|_| words.next_u64().to_le_bytes())
            .collect();
        prop_assert_eq!(&filled[..], &whole[..length]);
        prop_assert_eq!(generator.next_u64(), words.next_u64());

        let mut generator = Xoshiro256PlusPlus::from_words(four).unwrap();
        let mut words = generator.clone();
        generator.fill(&mut filled);
        let whole: Vec<u8> = (0..length.div_ceil(8))
            .flat_map(|_| words.next_u64().to_le_bytes())
            .collect();
        prop_assert_eq!(&filled[..], &whole[..length]);
        prop_assert_eq!(generator.next_u64(), words.next_u64());
    }

    #[test]
    fn xorshift128plus_is_seeded_by_little_endian_words(words in non_zero::<2>()) {
        let seed = seed_of(&words).try_into().unwrap();
        prop_assert_eq!(Xorshift128Plus::from_seed(seed).words(), words);
    }
}

#[test]
fn no_generator_stands_still_at_zero() {
    assert!(Xorshift128Plus::from_words([0; 2]).is_none());
    assert!(Xoshiro256PlusPlus::from_words([0; 4]).is_none());
    for i in 0..2 {
        let mut words = [0; 2];
        words[i] = 1 << 63;
        assert!(Xorshift128Plus::from_words(words).is_some());
    }
    for i in 0..4 {
        let mut words = [0; 4];
        words[i] = 1;
        assert!(Xoshiro256PlusPlus::from_words(words).is_some());
    }
    assert_eq!(
        Xorshift128Plus::from_seed([0; 16]).words(),
        Xorshift128Plus::seed_from_u64(0).words()
    );
    assert_eq!(
        Xoshiro256PlusPlus::from_seed([0; 32]).words(),
        Xoshiro256PlusPlus::seed_from_u64(0).words()
    );
    assert_ne!(Xorshift128Plus::seed_from_u64(0).words(), [0; 2]);
}

#[test]
fn a_jump_commutes_with_a_step() {
    let mut stepped = Xorshift128Plus::seed_from_u64(1);
    let mut jumped = stepped.clone();
    stepped.next_u64();
    stepped.jump();
    jumped.jump();
    jumped.next_u64();
    assert_eq!(stepped.words(), jumped.words());
}

#[test]
fn a_generator_is_as_large_as_its_state() {
    assert_eq!(size_of::<Xorshift128Plus>(), 16);
    assert_eq!(size_of::<Xoshiro256PlusPlus>(), 32);
}

#[test]
fn debug_output_shows_no_state() {
    let xorshift = Xorshift128Plus::seed_from_u64(1);
    assert_eq!(format!("{xorshift:?}"), "Xorshift128Plus { .. }");
    let xoshiro = Xoshiro256PlusPlus::seed_from_u64(1);
    assert_eq!(format!("{xoshiro:?}"), "Xoshiro256PlusPlus { .. }");
}

#[test]
fn xorshift128plus_gives_the_numbers_that_pure_rand_records() {
    // The test suite of the JavaScript library pure-rand holds the low halves of what Vigna's C
    // file gives from this state, at its start and after a jump.
    let mut generator = Xorshift128Plus::from_words([!42, 42 << 32]).unwrap();
    let mut jumped = generator.clone();
    jumped.jump();
    for expected in [
        4_294_967_253,
        1_166_015_114,
        1_692_303_336,
        3_482_095_935,
        4_288_634_584,
        1_325_520_545,
        1_367_235_622,
        1_759_582_253,
    ] {
        assert_eq!(generator.next_u64() as u32, expected);
    }
    for expected in [
        2_971_276_074,
        3_466_165_198,
        456_875_496,
        2_879_848_137,
        4_162_428_146,
        2_513_269_982,
        2_277_233_661,
        2_163_024_882,
    ] {
        assert_eq!(jumped.next_u64() as u32, expected);
    }
}

// ---- lanes ----

const LONGEST_BYTES: usize = 4200;

/// The definition: generators a jump apart, taking turns.
fn turns(first: &Xoshiro256PlusPlus) -> impl Iterator<Item = u64> + use<> {
    let mut next = first.clone();
    let mut generators: Vec<Xoshiro256PlusPlus> = (0..16)
        .map(|_| {
            let generator = next.clone();
            next.jump();
            generator
        })
        .collect();
    (0..16).cycle().map(move |lane| generators[lane].next_u64())
}

fn bytes_of_words(words: impl Iterator<Item = u64>, length: usize) -> Vec<u8> {
    words.flat_map(u64::to_le_bytes).take(length).collect()
}

/// One way to read whole words.
#[derive(Clone, Debug)]
enum Read {
    Word,
    Fill(Width, usize),
}

fn reads() -> impl Strategy<Value = Vec<Read>> {
    let fill = |words| {
        let width = prop::sample::select(widths().collect::<Vec<_>>());
        (width, words).prop_map(|(width, words)| Read::Fill(width, words))
    };
    let read = prop_oneof![Just(Read::Word), fill(0..20usize), fill(0..100usize)];
    prop::collection::vec(read, 0..20)
}

#[test]
fn every_length_is_filled_alike_at_every_width() {
    let first = Xoshiro256PlusPlus::seed_from_u64(1);
    let lanes = Xoshiro256PlusPlusX16::jumping_from(&first);
    let words: Vec<u64> = turns(&first).take(LONGEST_BYTES / 8 + 2).collect();
    let expected = bytes_of_words(words.iter().copied(), LONGEST_BYTES);
    for width in widths() {
        for length in 0..=LONGEST_BYTES {
            let mut lanes = lanes.clone();
            // The rest is to stay as it is.
            let mut filled = [0x5a; LONGEST_BYTES + 1];
            lanes.fill_at(width, &mut filled[..length]);
            assert_eq!(filled[..length], expected[..length], "{width} {length}");
            assert!(filled[length..].iter().all(|&byte| byte == 0x5a));
            let next = words[length.div_ceil(8)];
            assert_eq!(
                lanes.next_u64(),
                next,
                "{width} {length}: the rest was not dropped"
            );
        }
    }
}

proptest! {
    #[test]
    fn words_do_not_depend_on_cuts_and_widths(seed in any::<u64>(), reads in reads()) {
        let first = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut lanes = Xoshiro256PlusPlusX16::jumping_from(&first);
        let mut read = Vec::new();
        for way in reads {
            match way {
                Read::Word => read.extend(lanes.next_u64().to_le_bytes()),
                Read::Fill(width, words) => {
                    let mut filled = vec![0; 8 * words];
                    lanes.fill_at(width, &mut filled);
                    read.extend(filled);
                }
            }
        }
        prop_assert_eq!(&read, &bytes_of_words(turns(&first), read.len()));
    }

    #[test]
    fn the_traits_read_the_same_words(seed in any::<u64>(), length in 0..600usize) {
        let first = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut lanes = Xoshiro256PlusPlusX16::jumping_from(&first);
        let mut turns = turns(&first);
        prop_assert_eq!(Rng::next_u64(&mut lanes), turns.next().unwrap());
        prop_assert_eq!(u64::from(Rng::next_u32(&mut lanes)), turns.next().unwrap() >> 32);
        let mut filled = vec![0; length];
        Rng::fill_bytes(&mut lanes, &mut filled);
        prop_assert_eq!(filled, bytes_of_words(turns, length));
    }
}

#[test]
fn lanes_are_as_large_as_documented() {
    assert_eq!(size_of::<Xoshiro256PlusPlusX16>(), 520);
}

#[test]
fn debug_output_of_lanes_shows_no_state() {
    let first = Xoshiro256PlusPlus::seed_from_u64(1);
    let lanes = Xoshiro256PlusPlusX16::jumping_from(&first);
    assert_eq!(format!("{lanes:?}"), "Xoshiro256PlusPlusX16 { .. }");
}

#[test]
fn lanes_seeded_one_after_the_other_share_no_word() {
    let mut seeder = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut seen = std::collections::HashSet::new();
    for _ in 0..100 {
        let mut lanes = Xoshiro256PlusPlusX16::seeded_by(&mut seeder);
        assert!((0..100).all(|_| seen.insert(lanes.next_u64())));
    }
    assert!((0..100).all(|_| seen.insert(seeder.next_u64())));
}

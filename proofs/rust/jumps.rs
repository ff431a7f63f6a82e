//! P10, jumps: T to the power 2^64, T the matrix of a step of xorshift128+ over GF(2), is the polynomial of the
//! jump in T; and T's period is 2^128 - 1. The same for xoshiro256++, whose jumps are of 2^128 and 2^192 steps, and
//! whose period is 2^256 - 1. Plain arithmetic: no polynomial is reduced. The module's SplitMix64 gives 2^64 numbers
//! before one comes again: its step is odd, and each part of its finish can be undone.
//!
//! Steps and polynomials are read out of the source, whose text must be as here but for the numbers.

const XORSHIFT: &str = include_str!("source.rs");
const XOSHIRO: &str = include_str!("xoshiro256plusplus.rs");
const MODULE: &str = include_str!("wellspring.h");

fn claim(holds: bool, what: &str) {
    if !holds {
        println!("{what}");
        std::process::exit(10);
    }
}

/// The numbers in the place of each # of a pattern, which is in the text once.
fn numbers(text: &str, pattern: &str) -> Vec<u64> {
    let parts: Vec<&str> = pattern.split('#').collect();
    let found: Vec<Vec<u64>> = text.match_indices(parts[0]).filter_map(|(place, _)| read(&text[place..], &parts)).collect();
    claim(found.len() == 1, "the code is no longer as it was read");
    found[0].clone()
}

fn read(text: &str, parts: &[&str]) -> Option<Vec<u64>> {
    let mut rest = text.strip_prefix(parts[0])?;
    let mut numbers = Vec::new();
    for part in &parts[1..] {
        let end = rest.find(|c: char| !c.is_ascii_hexdigit() && c != 'x' && c != '_')?;
        let digits = rest[..end].replace('_', "");
        let number = match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        numbers.push(number.ok()?);
        rest = rest[end..].strip_prefix(part)?;
    }
    Some(numbers)
}

/// A state of N words, or a column of a matrix.
type State<const N: usize> = [u64; N];

/// The columns: where each bit goes.
#[derive(Clone, PartialEq)]
struct Matrix<const N: usize>(Vec<State<N>>);

impl<const N: usize> Matrix<N> {
    fn of(map: impl Fn(State<N>) -> State<N>) -> Self {
        Self((0..64 * N).map(|bit| map(unit(bit))).collect())
    }

    fn apply(&self, state: State<N>) -> State<N> {
        let mut sum = [0; N];
        for (bit, column) in self.0.iter().enumerate() {
            if state[bit / 64] >> (bit % 64) & 1 == 1 {
                sum = add(sum, *column);
            }
        }
        sum
    }

    fn times(&self, other: &Self) -> Self {
        Self(other.0.iter().map(|&column| self.apply(column)).collect())
    }

    /// To the power 2^`doublings`.
    fn squared(&self, doublings: usize) -> Self {
        (0..doublings).fold(self.clone(), |power, _| power.times(&power))
    }

    /// To the power of a number of bytes, the lowest first.
    fn power(&self, exponent: &Number) -> Self {
        let mut power = Self::of(|state| state);
        for bit in (0..exponent.0.len() * 8).rev() {
            power = power.times(&power);
            if exponent.0[bit / 8] >> (bit % 8) & 1 == 1 {
                power = power.times(self);
            }
        }
        power
    }

    /// The polynomial of these coefficients in this matrix, by Horner's rule.
    fn polynomial(&self, coefficients: &[u64]) -> Self {
        let mut sum = Self(vec![[0; N]; 64 * N]);
        for bit in (0..64 * N).rev() {
            sum = sum.times(self);
            if coefficients[bit / 64] >> (bit % 64) & 1 == 1 {
                for (place, column) in sum.0.iter_mut().enumerate() {
                    *column = add(*column, unit(place));
                }
            }
        }
        sum
    }
}

fn unit<const N: usize>(bit: usize) -> State<N> {
    let mut state = [0; N];
    state[bit / 64] = 1 << (bit % 64);
    state
}

fn add<const N: usize>(a: State<N>, b: State<N>) -> State<N> {
    core::array::from_fn(|i| a[i] ^ b[i])
}

/// A number in bytes, the lowest first.
#[derive(Clone)]
struct Number(Vec<u8>);

impl Number {
    fn product(factors: &[u128]) -> Self {
        let mut product = vec![1u8];
        for factor in factors {
            let mut next = vec![0u8; product.len() + 16];
            for (i, &a) in product.iter().enumerate() {
                let mut carry = 0u32;
                for (j, &b) in factor.to_le_bytes().iter().enumerate() {
                    let sum = u32::from(next[i + j]) + u32::from(a) * u32::from(b) + carry;
                    next[i + j] = sum as u8;
                    carry = sum >> 8;
                }
                for byte in &mut next[i + 16..] {
                    let sum = u32::from(*byte) + carry;
                    *byte = sum as u8;
                    carry = sum >> 8;
                }
            }
            product = next;
            while product.last() == Some(&0) {
                product.pop();
            }
        }
        Self(product)
    }
}

/// The primes of 2^128 - 1 and of 2^256 - 1: the factors of Fermat's numbers.
const PRIMES: [u128; 11] = [
    3, 5, 17, 257, 641, 65537, 274_177, 6_700_417, 67_280_421_310_721,
    59_649_589_127_497_217, 5_704_689_200_685_129_054_721,
];

/// T is invertible with the order 2^n - 1: T to it is the identity, and to no part of it without one prime.
fn has_full_period<const N: usize>(step: &Matrix<N>, primes: &[u128]) -> bool {
    let whole = Number::product(primes);
    claim(whole.0 == vec![255; 8 * N], "these are the primes of the period");
    let identity = Matrix::of(|state| state);
    step.power(&whole) == identity
        && (0..primes.len()).all(|left_out| {
            let mut others = primes.to_vec();
            others.remove(left_out);
            step.power(&Number::product(&others)) != identity
        })
}

fn xorshift(shifts: [u64; 3]) -> Matrix<2> {
    Matrix::of(|[x, y]: State<2>| {
        let x = x ^ (x << shifts[0]);
        [y, x ^ y ^ (x >> shifts[1]) ^ (y >> shifts[2])]
    })
}

fn main() {
    let shifts = numbers(XORSHIFT, "    let x = x ^ (x << #);\n    [y, x ^ y ^ (x >> #) ^ (y >> #)]\n}");
    let step = xorshift([shifts[0], shifts[1], shifts[2]]);
    let jump = numbers(XORSHIFT, "pub(crate) const JUMP: [u64; 2] = [#, #];");
    claim(step.squared(64) == step.polynomial(&jump), "xorshift128+: the jump is 2^64 steps");
    let tail = numbers(XORSHIFT, "Modulus<2> = Modulus {\n    tail: [#, #],\n};");
    claim(step.squared(7) == step.polynomial(&tail), "xorshift128+: T^128 is the tail of its polynomial");
    claim(has_full_period(&step, &PRIMES[..9]), "xorshift128+: the period is 2^128 - 1");

    let step = numbers(MODULE, "define WELLSPRING_PSEUDO_STEP #ULL\n");
    claim(step[0] % 2 == 1, "the module's step is odd");
    let pattern = "\tsum = (sum ^ (sum >> #)) * #ULL;\n\tsum = (sum ^ (sum >> #)) * #ULL;\n\treturn sum ^ (sum >> #);\n";
    let [first, factor, second, other, third] = numbers(MODULE, pattern)[..] else { panic!("five numbers") };
    claim(factor % 2 == 1 && other % 2 == 1, "an odd factor has an inverse");
    claim([first, second, third].iter().all(|&shift| shift > 0), "the upper bits undo a shift");

    let pattern = "step([a, b, c, d]: [u64; 4]) -> [u64; 4] {\n    let ac = a ^ c;\n    let bd = b ^ d;\n    \
                   [a ^ bd, b ^ ac, ac ^ (b << #), bd.rotate_left(#)]\n}";
    let shifts = numbers(XOSHIRO, pattern);
    let step = Matrix::of(|[a, b, c, d]: State<4>| {
        let (ac, bd) = (a ^ c, b ^ d);
        [a ^ bd, b ^ ac, ac ^ (b << shifts[0]), bd.rotate_left(shifts[1] as u32)]
    });
    let jump = numbers(XOSHIRO, "pub(crate) const JUMP: [u64; 4] = [\n    #,\n    #,\n    #,\n    #,\n];");
    claim(step.squared(128) == step.polynomial(&jump), "xoshiro256++: the jump is 2^128 steps");
    let jump = numbers(XOSHIRO, "const LONG_JUMP: [u64; 4] = [\n    #,\n    #,\n    #,\n    #,\n];");
    claim(step.squared(192) == step.polynomial(&jump), "xoshiro256++: the long jump is 2^192 steps");
    claim(has_full_period(&step, &PRIMES), "xoshiro256++: the period is 2^256 - 1");
    println!("4 polynomials and 3 periods hold");
}

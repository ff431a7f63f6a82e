//! P1 for the library: which blocks of which keys `Generator::reserve`, `Reservation::generate` and
//! `Generator::read_chunk` use, as `c/blocks.c` asks of the module.
//!
//! The keystream is an account of its uses. A counter is C + an offset: its type has no comparison and no other
//! arithmetic, so what holds here holds for any C. A key is a number: PARENT is the generator's, and each draw of
//! a key makes the next one. All lengths to 2 MiB and 4096 bytes, and 128 around each multiple of 2^20 to 2^26.

extern crate self as wellspring_cipher;
extern crate self as zeroize;

#[path = "source.rs"]
mod generator;
#[path = "prf.rs"]
mod prf;

use generator::{Generator, Reservation};
pub use prf::{KEY_BYTES, Prf};
use std::cell::RefCell;

const LIMIT: usize = 1 << 20;
const MOST: usize = 1 << 26;
/// Output lies within so many bytes.
const MEMORY: usize = MOST + 128;
const PARENT: u8 = 1;

pub mod sha256 {
    pub const DIGEST_BYTES: usize = 32;
    pub struct Sha256;
    impl Sha256 {
        pub const ZERO: Self = Self;
        pub fn update<T>(&mut self, _: &[T]) {}
        pub fn finish_into<T>(&mut self, _: &mut [T; DIGEST_BYTES]) {}
    }
}

/// A byte of a key has the number of the key; output is never written.
#[derive(Clone, Copy, Default)]
pub struct Byte(u8);

impl Byte {
    pub const ZERO: Self = Self(0);
}

/// C + offset.
#[derive(Clone, Copy)]
pub struct Counter(u64);

impl Counter {
    pub const ZERO: Self = Self(0);
    pub const fn is_set(&self) -> bool {
        true
    }
    pub fn wrapping_add(self, blocks: u128) -> Self {
        Self(self.0 + blocks as u64)
    }
}

pub trait Zeroize {
    fn zeroize(&mut self);
}
pub trait ZeroizeOnDrop {}
impl Zeroize for Counter {
    fn zeroize(&mut self) {
        *self = Self::ZERO;
    }
}
pub fn wipe<const N: usize>(bytes: &mut [Byte; N]) {
    *bytes = [Byte::ZERO; N];
}

#[derive(Clone, Copy)]
pub struct Backend(Prf);
impl Backend {
    pub fn prf(self) -> Prf {
        self.0
    }
}

/// The purpose of a use of a keystream.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Use {
    /// From this place in the output.
    Output(usize),
    Key,
}

#[derive(Clone, Copy)]
struct Entry {
    key: u8,
    from: u64,
    blocks: u64,
    bytes: usize,
    what: Use,
}

struct Account {
    entries: Vec<Entry>,
    last_key: u8,
    output: usize,
    output_bytes: usize,
}

thread_local! {
    static ACCOUNT: RefCell<Account> = const {
        RefCell::new(Account { entries: Vec::new(), last_key: PARENT, output: 0, output_bytes: 0 })
    };
}

pub struct Keystream {
    prf: Prf,
    key: u8,
    offset: u64,
}

impl Keystream {
    pub fn new(backend: Backend, key: &[Byte; KEY_BYTES], counter: Counter) -> Self {
        claim(key.iter().all(|byte| byte.0 == key[0].0 && byte.0 != 0), "a key is whole");
        Self { prf: backend.0, key: key[0].0, offset: counter.0 }
    }

    pub fn fill(&mut self, destination: &mut [Byte]) {
        ACCOUNT.with_borrow_mut(|account| {
            let blocks = destination.len().div_ceil(self.prf.block_bytes()) as u64;
            let place = (destination.as_ptr() as usize).wrapping_sub(account.output);
            let what = if place < MEMORY || destination.is_empty() {
                claim(place + destination.len() <= account.output_bytes, "output stays in its place");
                Use::Output(place)
            } else {
                claim(destination.len() == KEY_BYTES, "a key has 32 bytes");
                account.last_key += 1;
                destination.fill(Byte(account.last_key));
                Use::Key
            };
            account.entries.push(Entry { key: self.key, from: self.offset, blocks, bytes: destination.len(), what });
            self.offset += blocks;
        });
    }

    pub fn counter(&self) -> Counter {
        Counter(self.offset)
    }
}

fn claim(holds: bool, what: &str) {
    if !holds {
        println!("{what}");
        std::process::exit(10);
    }
}

fn begin(output: &[Byte]) -> Generator {
    ACCOUNT.with_borrow_mut(|account| {
        account.entries.clear();
        account.last_key = PARENT;
        account.output = output.as_ptr() as usize;
        account.output_bytes = output.len();
    });
    let mut generator = Generator::ZERO;
    generator.force(&[Byte(PARENT); KEY_BYTES], Counter(0));
    generator
}

fn entries<T>(look: impl FnOnce(&[Entry]) -> T) -> T {
    ACCOUNT.with_borrow(|account| look(&account.entries))
}

/// Each byte of `len` was made once, one piece behind the other, and each piece begins a block.
fn is_made_in_order(entries: &[Entry], len: usize) -> bool {
    let mut made = 0;
    for entry in entries {
        if let Use::Output(place) = entry.what
            && entry.bytes > 0
        {
            if place != made {
                return false;
            }
            made += entry.bytes;
        }
    }
    made == len
}

fn reserve(prf: Prf, output: &mut [Byte]) {
    let mut generator = begin(output);
    let mut reservation = Reservation::ZERO;
    let len = output.len();
    generator.reserve(Backend(prf), len, &mut reservation);
    let end = generator.state().1.0;
    let heir_key = generator.state().0[0].0;
    reservation.generate(Backend(prf), output);
    reservation.clear();
    let is_wiped = Keys(&reservation).are_zero();
    claim(is_wiped, "a reservation is wiped");

    let blocks = len.div_ceil(prf.block_bytes()) as u64;
    let (per_key, changes) = match prf {
        Prf::Aes256 => (2, blocks >> 16),
        Prf::ChaCha20 => (1, 0),
    };
    claim(end == blocks + 2 * changes + per_key, "C' - C is FreeBSD's");
    entries(|entries| {
        let (heir, uses) = entries.split_first().unwrap();
        claim(
            heir.what == Use::Key && heir.key == PARENT && heir_key == PARENT + 1,
            "the next key is of the old one, and replaces it",
        );
        claim(heir.blocks == per_key && heir.from + heir.blocks == end, "C' is behind the next key");
        let mut place = 0;
        let mut key = PARENT;
        let mut is_of_key = false;
        for used in uses {
            claim(used.from == place, "no block is passed over or used twice, whatever the key");
            claim(used.key == key, "each piece has the key that was drawn last");
            match used.what {
                Use::Output(_) => {
                    claim(!is_of_key, "each piece has a key of its own");
                    claim(prf == Prf::ChaCha20 || used.bytes <= LIMIT, "at most 2^20 bytes under an AES key");
                    is_of_key = true;
                }
                Use::Key => {
                    // The next key has number PARENT + 1, and those in the middle come behind it.
                    key = if key == PARENT { PARENT + 2 } else { key + 1 };
                    is_of_key = false;
                }
            }
            place += used.blocks;
        }
        claim(heir.from >= place, "the next key is behind all output");
        let gap = if changes > 0 && blocks & 65535 == 0 { 2 } else { 0 };
        claim(heir.from - place == gap, "the gap");
        claim(is_made_in_order(uses, len), "each byte is made once");
    });
}

fn read(prf: Prf, output: &mut [Byte]) {
    let mut generator = begin(output);
    let len = output.len();
    let mut rest = output;
    loop {
        rest = generator.read_chunk(Backend(prf), rest);
        if rest.is_empty() {
            break;
        }
    }
    let end = generator.state().1.0;
    let last_key = generator.state().0[0].0;
    entries(|entries| {
        let mut place = 0;
        let mut key = PARENT;
        let mut is_of_key = false;
        for used in entries {
            claim(used.from == place && used.key == key, "a read uses each block of a key once");
            match used.what {
                Use::Output(_) => {
                    claim(!is_of_key && used.bytes <= 4096, "at most 4096 bytes under a key");
                    is_of_key = true;
                }
                Use::Key => (key, is_of_key) = (key + 1, false),
            }
            place += used.blocks;
        }
        claim(!is_of_key && last_key == key && key > PARENT, "a read leaves a new key");
        claim(end == place, "and its counter behind all blocks");
        claim(is_made_in_order(entries, len), "each byte of a read is made once");
    });
}

/// The key of a reservation, by the first keystream that it would use.
struct Keys<'a>(&'a Reservation);
impl Keys<'_> {
    fn are_zero(&self) -> bool {
        self.0.key.iter().all(|byte| byte.0 == 0) && self.0.counter.0 == 0
    }
}

fn main() {
    let mut memory = vec![Byte::ZERO; MEMORY];
    let mut cases = 0u64;
    let around = (3..=MOST / LIMIT).flat_map(|k| k * LIMIT - 128..=k * LIMIT + 100);
    for len in (0..=2 * LIMIT + 4096).chain(around) {
        for prf in Prf::ALL {
            reserve(prf, &mut memory[..len]);
            cases += 1;
        }
    }
    for len in 0..=5 * 4096 {
        for prf in Prf::ALL {
            read(prf, &mut memory[..len]);
            cases += 1;
        }
    }
    println!("{cases} cases hold");
}

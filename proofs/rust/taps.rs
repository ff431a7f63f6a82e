//! P2 for the library: the bytes of a tap, as `c/taps.c` asks of the module.
//!
//! A byte is a number that no other byte has, or zero: its type has no comparison, so the code does not look at
//! bytes, and what a tap does depends on the length of its rest and of the read alone. main() goes through these,
//! for the three sizes of the library: any number of reads is one of them behind the other, since each must leave
//! a rest that is whole and nothing before it.
//!
//! A thread's handler has a tap of its own. What it can do to the read that it interrupts is to leave it for good,
//! by siglongjmp: behind each statement here, and the tap is then read to its end.

extern crate self as wellspring_cipher;
extern crate self as zeroize;

#[path = "source.rs"]
mod tap;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tap::{FRESH_BYTES, KEY_LIMIT_BYTES, Refill, SHORT_REFILL_BYTES, Tap};

pub const KEY_BYTES: usize = 32;
const GENERATION: u64 = 3;
const FIRST_KEY: Byte = Byte(KEY | 1);

/// A byte by its number: of the stream, or of a key.
#[derive(Clone, Copy)]
pub struct Byte(u32);
const KEY: u32 = 1 << 31;
/// In a destination, before the read.
const UNTOUCHED: u32 = KEY - 1;

impl Byte {
    pub const ZERO: Self = Self(0);
}

/// Mixes a byte into a key: it stays one of a key.
impl std::ops::BitXorAssign<&Byte> for Byte {
    fn bitxor_assign(&mut self, _: &Byte) {
        claim(self.0 & KEY != 0, "entropy is mixed into a key");
    }
}

pub trait Zeroize {
    fn zeroize(&mut self);
}
impl Zeroize for u64 {
    fn zeroize(&mut self) {
        *self = 0;
    }
}
impl Zeroize for u128 {
    fn zeroize(&mut self) {
        *self = 0;
    }
}
pub fn wipe<const N: usize>(bytes: &mut [Byte; N]) {
    *bytes = [Byte::ZERO; N];
}

pub mod generator {
    pub const KEY_LIMIT_BYTES: usize = 1 << 20;
}

/// The registers of the library are a matter of its tests.
pub trait SimdTask {
    type Output;
    fn run(self) -> Self::Output;
}
pub struct Width;
impl Width {
    pub fn detect() -> Self {
        Self
    }
    pub fn run<T: SimdTask>(self, task: T) -> T::Output {
        task.run()
    }
}

#[derive(Clone, Copy)]
pub struct Backend;

thread_local! {
    /// The number of the next byte of the stream.
    static NEXT: Cell<u32> = const { Cell::new(1) };
    /// After so many statements the read is left.
    static LEFT_STATEMENTS: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Behind each statement of a read.
pub fn statement() {
    let left = LEFT_STATEMENTS.get();
    if left == 0 {
        LEFT_STATEMENTS.set(usize::MAX);
        std::panic::resume_unwind(Box::new(()));
    }
    LEFT_STATEMENTS.set(left.wrapping_sub(1) | if left == usize::MAX { usize::MAX } else { 0 });
}

/// Fast key erasure: first the next key, then output. Numbers go on from key to key, as the counter does.
pub struct Keystream {
    counter: u128,
    has_made_key: bool,
}

impl Keystream {
    pub fn new(_: Backend, key: &[Byte; KEY_BYTES], counter: u128) -> Self {
        claim(key.iter().all(|byte| byte.0 & KEY != 0), "a keystream has a key, not erased memory");
        Self { counter, has_made_key: false }
    }

    pub fn fill(&mut self, destination: &mut [Byte]) {
        let next = NEXT.get();
        let mark = if self.has_made_key { 0 } else { KEY };
        for (byte, number) in destination.iter_mut().zip(next..) {
            *byte = Byte(number | mark);
        }
        NEXT.set(next + destination.len() as u32);
        self.has_made_key = true;
        self.counter += 1;
    }

    pub fn counter(&self) -> u128 {
        self.counter
    }
}

fn claim(holds: bool, what: &str) {
    if !holds {
        println!("{what}");
        std::process::exit(10);
    }
}

/// A tap with a full buffer, and the number of the buffer's first byte.
fn full<const N: usize>() -> (Box<Tap<N>>, u32) {
    NEXT.set(1);
    let mut tap = Box::new(Tap::<N>::ZERO);
    let mut fields = tap.fields();
    fields.rekey(&[FIRST_KEY; KEY_BYTES], GENERATION);
    fields.refill(Backend, Refill::Whole, &mut []);
    let first = NEXT.get() - N as u32;
    (tap, first)
}

/// The buffer has its rest, whose first byte has this number, and nothing else. `looked` are the places looked at.
fn is_whole<const N: usize>(tap: &Tap<N>, left: usize, looked: std::ops::Range<usize>) -> bool {
    let start = N - left;
    let first = tap.buffer[N - 1].0.wrapping_sub(N as u32 - 1);
    tap.left_bytes == left as u64
        && looked.into_iter().all(|place| {
            let byte = tap.buffer[place].0;
            if place < start { byte == 0 } else { byte == first + place as u32 }
        })
}

/// Bytes that were read are these of the stream, one behind the other.
fn are(bytes: &[Byte], first: u32) -> bool {
    bytes.iter().zip(first..).all(|(byte, number)| byte.0 == number)
}

fn is_untouched(bytes: &[Byte]) -> bool {
    bytes.iter().all(|byte| byte.0 == UNTOUCHED)
}

/// Reads of ready bytes: each rest, and each length to 300 and to the whole rest.
fn take<const N: usize>() -> u64 {
    let (mut tap, first) = full::<N>();
    let mut bytes = vec![Byte(UNTOUCHED); N + 8];
    let mut cases = 0;
    for left in (0..=N).rev() {
        let start = N - left;
        let number = first + start as u32;
        for len in (0..=left.min(300)).chain([left, left + 1, left + 7]) {
            let is_taken = tap.take(&mut bytes[..len]);
            claim(is_taken == (len <= left), "a read is served if there are enough bytes");
            let taken = if is_taken { len } else { 0 };
            claim(are(&bytes[..taken], number), "the bytes of a read are the next ones");
            claim(is_untouched(&bytes[taken..(taken + 8).min(N + 8)]), "nothing is written behind the read");
            // All places, or those beside the read.
            let looked = if len < 4 || len == left { 0..N } else { start.saturating_sub(8)..(start + len + 8).min(N) };
            if N > taken + start {
                claim(is_whole(&tap, left - taken, looked), "what was issued is erased, and the rest is whole");
            } else {
                claim(tap.left_bytes == 0 && tap.buffer.iter().all(|byte| byte.0 == 0), "all is erased");
            }
            bytes[..taken].fill(Byte(UNTOUCHED));
            restore(&mut tap, left, start..start + taken, number);
            cases += 1;
        }
        if left > 0 {
            tap.take(&mut bytes[..1]);
            bytes[0] = Byte(UNTOUCHED);
        }
    }
    cases
}

fn restore<const N: usize>(tap: &mut Tap<N>, left: usize, taken: std::ops::Range<usize>, first: u32) {
    for (byte, number) in tap.buffer[taken].iter_mut().zip(first..) {
        *byte = Byte(number);
    }
    tap.left_bytes = left as u64;
}

/// Reads of a number, in registers.
fn take_number<const N: usize, const LEN: usize>() -> u64 {
    let (mut tap, first) = full::<N>();
    for left in (0..=N).rev() {
        let (start, number) = (N - left, first + (N - left) as u32);
        match tap.take_bytes::<LEN>() {
            None => claim(left < LEN && (left == 0 || is_whole(&tap, left, 0..N)), "a number is refused alone"),
            Some(bytes) => {
                claim(left >= LEN && are(&bytes, number), "the bytes of a number are the next ones");
                let is_erased = tap.buffer[..start + LEN].iter().all(|byte| byte.0 == 0);
                claim(is_erased && tap.left_bytes == (left - LEN) as u64, "a number is erased");
                claim(left == LEN || is_whole(&tap, left - LEN, 0..N), "the rest is whole");
                restore(&mut tap, left, start..start + LEN, number);
            }
        }
        tap.take(&mut [Byte::ZERO; 1][..usize::from(left > 0)]);
    }
    N as u64
}

/// A read off the hot path, as the engine makes it.
fn serve<const N: usize>(tap: &mut Tap<N>, refill: Refill, bytes: &mut [Byte]) {
    let mut fields = tap.fields();
    let rest = fields.take_left(bytes);
    if rest.is_empty() {
        return;
    }
    if !fields.is_long(rest.len()) {
        fields.mix(&[Byte(7); FRESH_BYTES]);
        fields.refill(Backend, refill, rest);
        return;
    }
    for chunk in rest.chunks_mut(KEY_LIMIT_BYTES) {
        fields.mix(&[Byte(7); FRESH_BYTES]);
        fields.make(Backend, chunk);
    }
}

/// The lengths at which the code takes another way.
fn lengths<const N: usize>() -> Vec<usize> {
    let near = [64, 128, 256, SHORT_REFILL_BYTES, N / 2, N, 2 * N];
    (0..=34).chain(near.into_iter().flat_map(|len| len - 2..=len + 2)).collect()
}

/// Reads over the end of the buffer, and reads of a number of keys: from some rests with each length, and from each rest.
fn read_on<const N: usize>() -> u64 {
    let mut cases = 0;
    for left in 0..=N {
        for len in lengths::<N>() {
            if left % 61 != 0 && left > 40 && N - left > 40 && len % 7 != 0 {
                continue;
            }
            for refill in [Refill::Whole, Refill::Short] {
                let (mut tap, first) = full::<N>();
                tap.take(&mut vec![Byte::ZERO; N - left]);
                let made_before = NEXT.get();
                let mut bytes = vec![Byte(UNTOUCHED); len + 1];
                serve(&mut tap, refill, &mut bytes[..len]);
                let from_rest = len.min(left);
                claim(are(&bytes[..from_rest], first + (N - left) as u32), "first the rest is read");
                let first_made = made_before + KEY_BYTES as u32;
                claim(are(&bytes[from_rest..len], first_made), "then what the new key made");
                claim(is_untouched(&bytes[len..]), "nothing is written behind a read");
                check_after(&tap, left, from_rest, len);
                cases += 1;
            }
        }
    }
    cases
}

fn check_after<const N: usize>(tap: &Tap<N>, left: usize, from_rest: usize, len: usize) {
    claim(tap.key.iter().all(|byte| byte.0 & KEY != 0), "a tap keeps a key");
    let start = N - tap.left_bytes as usize;
    claim(tap.buffer[..start].iter().all(|byte| byte.0 == 0), "what was issued or passed over is erased");
    claim(tap.left_bytes == 0 || is_whole(tap, tap.left_bytes as usize, 0..N), "the rest is whole");
    if len > left {
        claim(tap.key[0].0 != FIRST_KEY.0 && tap.counter > 2, "the old key is gone");
        // The rest of the buffer is behind what was read of it.
        claim(tap.left_bytes == 0 || tap.buffer[start].0 & KEY == 0, "the rest is no key");
    } else {
        claim(tap.left_bytes as usize == left - from_rest, "the rest is shorter by the read");
    }
}

/// A new key of a node.
fn fetch<const N: usize>() -> u64 {
    let (mut tap, _) = full::<N>();
    for left in (0..=N).rev() {
        let mut tap = tap.clone();
        tap.fields().rekey(&[Byte(KEY | 5); KEY_BYTES], GENERATION + 1);
        let is_empty = tap.left_bytes == 0 && tap.buffer.iter().all(|byte| byte.0 == 0);
        claim(is_empty && tap.counter == 0, "a new key discards the rest");
        claim(tap.key.iter().all(|byte| byte.0 == KEY | 5), "the key is the node's");
        claim(tap.fields().is_of(GENERATION + 1) && !tap.fields().is_of(GENERATION), "and so is the generation");
    }
    N as u64
}

/// Reads that are left behind each of their statements, and the reads of all the rest.
fn leave<const N: usize>() -> u64 {
    let mut cases = 0;
    for left in (0..=N).rev() {
        for len in lengths::<N>() {
            // The code of reads takes no notice of the rest but for where it ends.
            if left % 29 != 0 && left != len && left + 1 != len && left != len + 1 {
                continue;
            }
            for way in [0, 1, 2] {
                for statements in 0.. {
                    let (mut tap, _) = full::<N>();
                    tap.take(&mut vec![Byte::ZERO; N - left]);
                    let made_before = NEXT.get();
                    let mut bytes = vec![Byte(UNTOUCHED); len];
                    LEFT_STATEMENTS.set(statements);
                    let read = catch_unwind(AssertUnwindSafe(|| match way {
                        0 => drop(tap.take(&mut bytes)),
                        1 => serve(&mut tap, Refill::Whole, &mut bytes),
                        _ => tap.fields().rekey(&[Byte(KEY | 5); KEY_BYTES], GENERATION + 1),
                    }));
                    let is_left = match read {
                        Ok(()) => false,
                        Err(panic) => {
                            claim(panic.is::<()>(), "the code does not panic");
                            true
                        }
                    };
                    LEFT_STATEMENTS.set(usize::MAX);
                    cases += 1;
                    let mut after = vec![Byte(UNTOUCHED); tap.left_bytes as usize + 40];
                    if tap.key[0].0 != 0 {
                        serve(&mut tap, Refill::Whole, &mut after);
                        check_distinct(&bytes, &after, made_before);
                    }
                    if !is_left {
                        break;
                    }
                }
            }
        }
    }
    cases
}

/// No byte of a read that was left comes again, and none that was erased.
fn check_distinct(left: &[Byte], after: &[Byte], made_before: u32) {
    let last = left.iter().map(|byte| byte.0).filter(|&number| number != UNTOUCHED).max().unwrap_or(0);
    let mut number = 0;
    for byte in after {
        claim(byte.0 != 0 && byte.0 & KEY == 0 && byte.0 != UNTOUCHED, "no erased byte is issued, and no key");
        claim(byte.0 > number && byte.0 > last, "no byte of a read that was left comes again");
        number = byte.0;
    }
}

fn main() {
    let mut cases = leave::<320>() + take::<320>() + take::<3840>() + take::<6656>();
    cases += take_number::<6656, 1>() + take_number::<6656, 2>() + take_number::<6656, 4>();
    cases += take_number::<6656, 8>() + take_number::<6656, 16>() + take_number::<6656, 32>();
    cases += take_number::<320, 8>() + take_number::<320, 16>() + take_number::<3840, 64>();
    cases += read_on::<320>() + read_on::<1216>();
    cases += fetch::<320>() + fetch::<6656>();
    cases += leave::<1216>();
    println!("{cases} cases hold");
}

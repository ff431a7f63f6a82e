//! The cycle counter, the processor's random numbers, hexadecimal digits by its vector instructions, and a text of such
//! characters.

use core::fmt;
use core::ops::Deref;

/// A counter that goes on at a fixed rate for as long as the machine runs: a fine time stamp, of no fixed unit.
///
/// The time stamp counter of x86, the virtual counter of AArch64 (`CNTVCT_EL0`), the time-of-day clock of s390x
/// (`STCKF`), the `time` register of RISC-V, the stable counter of LoongArch. Elsewhere the nanoseconds since boot.
/// No system call, except where the kernel offers no other way to read the clock.
///
/// After [`prepare`](crate::sandbox::prepare) it is [`now_ms`](crate::os::now_ms) on x86: strict seccomp(2) makes the
/// instruction end the process.
#[must_use]
#[inline]
pub fn cycles() -> u64 {
    if cfg!(miri) {
        return crate::os::now_ns();
    }
    let is_x86 = cfg!(any(target_arch = "x86_64", target_arch = "x86"));
    if is_x86 && crate::sandbox::is_prepared() {
        return crate::os::now_ms();
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: RDTSC is on every x86-64 machine.
    return unsafe { core::arch::x86_64::_rdtsc() };
    #[cfg(target_arch = "x86")]
    // SAFETY: RDTSC is on every machine since the Pentium, and Rust's 32-bit targets need a Pentium Pro at least.
    return unsafe { core::arch::x86::_rdtsc() };
    #[cfg(target_arch = "aarch64")]
    {
        let count;
        // SAFETY: reads a register that Linux lets every process read.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack)) };
        count
    }
    #[cfg(target_arch = "s390x")]
    {
        let mut count = 0u64;
        // SAFETY: stores 8 bytes there; every machine since the z9 has the instruction, Rust needs a z10.
        unsafe { core::arch::asm!("stckf 0({})", in(reg_addr) &raw mut count, options(nostack)) };
        count
    }
    #[cfg(target_arch = "riscv64")]
    {
        let count;
        // SAFETY: reads a register that Linux lets every process read.
        unsafe { core::arch::asm!("rdtime {}", out(reg) count, options(nomem, nostack)) };
        count
    }
    #[cfg(target_arch = "loongarch64")]
    {
        let count;
        // SAFETY: reads a register that Linux lets every process read.
        unsafe { core::arch::asm!("rdtime.d {}, $zero", out(reg) count, options(nomem, nostack)) };
        count
    }
    #[cfg(not(any(
        target_arch = "x86_64",
        target_arch = "x86",
        target_arch = "aarch64",
        target_arch = "s390x",
        target_arch = "riscv64",
        target_arch = "loongarch64"
    )))]
    return crate::os::now_ns();
}

/// The processor's random-number instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// RDSEED of x86-64: conditioned noise. RNDRRS of arm64: the output of a generator that was reseeded for it.
    Seed,
    /// RDRAND of x86-64 and RNDR of arm64: the output of a generator in the processor, seeded from its noise.
    Number,
}

#[cfg(target_arch = "x86_64")]
mod machine {
    use super::Instruction;
    use core::arch::x86_64::{__cpuid, __cpuid_count, _rdrand64_step, _rdseed64_step};
    use core::sync::atomic::{AtomicU8, Ordering};

    const ASKED: u8 = 1;
    const RDSEED: u8 = 2;
    const RDRAND: u8 = 4;

    /// CPUID is asked once: in a virtual machine one answer takes tens of microseconds. By hand, since std's
    /// `is_x86_feature_detected` tests for every known instruction, in 4 KB of code.
    pub(super) fn available(instruction: Instruction) -> bool {
        static FOUND: AtomicU8 = AtomicU8::new(0);

        let mut found = FOUND.load(Ordering::Relaxed);
        if found == 0 {
            found = ASKED | ask();
            FOUND.store(found, Ordering::Relaxed);
        }
        match instruction {
            Instruction::Seed => found & RDSEED != 0,
            Instruction::Number => found & RDRAND != 0,
        }
    }

    /// Leaf 7 and leaf 1 of CPUID. Both instructions use general registers, so the system need not support them.
    #[allow(unused_unsafe)] // Unsafe to call for Rust 1.89, safe for later ones.
    fn ask() -> u8 {
        if cfg!(miri) {
            return 0; // It has no CPUID.
        }
        // SAFETY: CPUID is on every x86-64 machine, and leaf 0 and 1 are too.
        let (last_leaf, features) = unsafe { (__cpuid(0).eax, __cpuid(1).ecx) };
        let mut found = 0;
        if features >> 30 & 1 == 1 {
            found |= RDRAND;
        }
        // SAFETY: as above; the processor has said that it has leaf 7.
        if last_leaf >= 7 && unsafe { __cpuid_count(7, 0) }.ebx >> 18 & 1 == 1 {
            found |= RDSEED;
        }
        found
    }

    #[target_feature(enable = "rdseed")]
    #[allow(unused_unsafe)] // Unsafe to call for Rust 1.89, safe for later ones.
    fn rdseed() -> Option<u64> {
        let mut word = 0;
        // SAFETY: this function has the instruction's feature.
        let is_done = unsafe { _rdseed64_step(&mut word) } == 1;
        is_done.then_some(word)
    }

    #[target_feature(enable = "rdrand")]
    #[allow(unused_unsafe)] // For the same reason as above.
    fn rdrand() -> Option<u64> {
        let mut word = 0;
        // SAFETY: this function has the instruction's feature.
        let is_done = unsafe { _rdrand64_step(&mut word) } == 1;
        is_done.then_some(word)
    }

    pub(super) fn draw(instruction: Instruction) -> Option<u64> {
        if !available(instruction) {
            return None;
        }
        // SAFETY: the processor has the instruction.
        unsafe {
            match instruction {
                Instruction::Seed => rdseed(),
                Instruction::Number => rdrand(),
            }
        }
    }
}

/// Arm Architecture Reference Manual, FEAT_RNG: all cores of a machine may share one generator, and a read of either
/// register fails where the generator is exhausted.
#[cfg(all(target_arch = "aarch64", target_os = "linux", not(miri)))]
mod machine {
    use super::Instruction;
    use core::arch::asm;

    /// From the kernel's `asm/hwcap.h`: both registers exist.
    const HWCAP2_RNG: libc::c_ulong = 1 << 16;

    /// The C library keeps the word that the kernel gave it: no system call.
    pub(super) fn available(_: Instruction) -> bool {
        // SAFETY: getauxval only looks the value up.
        unsafe { libc::getauxval(libc::AT_HWCAP2) & HWCAP2_RNG != 0 }
    }

    pub(super) fn draw(instruction: Instruction) -> Option<u64> {
        if !available(instruction) {
            return None;
        }
        let (word, is_done): (u64, u64);
        // SAFETY: the processor has the registers, and programs may read them. A read sets the flag Z where it failed.
        unsafe {
            match instruction {
                Instruction::Seed => {
                    asm!("mrs {}, s3_3_c2_c4_1", "cset {}, ne", out(reg) word, out(reg) is_done,
                    options(nomem, nostack))
                }
                Instruction::Number => {
                    asm!("mrs {}, s3_3_c2_c4_0", "cset {}, ne", out(reg) word, out(reg) is_done,
                    options(nomem, nostack))
                }
            }
        }
        (is_done == 1).then_some(word)
    }
}

#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_os = "linux", not(miri))
)))]
mod machine {
    use super::Instruction;

    pub(super) fn available(_: Instruction) -> bool {
        false
    }

    pub(super) fn draw(_: Instruction) -> Option<u64> {
        None
    }
}

impl Instruction {
    /// Whether this processor has it.
    #[must_use]
    pub fn is_available(self) -> bool {
        machine::available(self)
    }

    /// Executes it once. `None`: the processor has nothing now, or has no such instruction.
    #[must_use]
    pub fn draw(self) -> Option<u64> {
        machine::draw(self)
    }
}

/// A text of `N` ASCII characters, without an allocation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<const N: usize>([u8; N]);

impl<const N: usize> Text<N> {
    /// Clears the eighth bit of each character, which no ASCII character has: so no caller can make a text that is no text.
    #[doc(hidden)]
    #[inline(always)]
    pub fn new(mut characters: [u8; N]) -> Self {
        for character in &mut characters {
            *character &= 0x7f;
        }
        Self(characters)
    }
}

impl<const N: usize> Deref for Text<N> {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        // SAFETY: the only function that makes a text clears the eighth bit of each byte. A check here took half of the time of a
        // UUID's text.
        unsafe { str::from_utf8_unchecked(&self.0) }
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
pub use text::{write_hex, write_uuid};

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod text {
    //! Hexadecimal digits in lower case, by the vector instructions that every x86-64 CPU has: without a table that could be
    //! seen in the cache, and in stores of 16 bytes, which a copy of the text need not wait for.

    use core::arch::asm;
    use core::arch::x86_64::*;

    /// Writes the digits of 16 bytes.
    #[inline(always)]
    pub fn write_hex(bytes: [u8; 16], text: &mut [u8; 32]) {
        // SAFETY: every x86-64 CPU has SSE2.
        let halves = unsafe { digits(bytes) };
        for (half, sixteen) in halves.into_iter().zip(text.as_chunks_mut().0) {
            *sixteen = bytes_of(half);
        }
    }

    /// Writes the digits of 16 bytes in groups of 8, 4, 4, 4 and 12, with hyphens between them.
    #[inline(always)]
    pub fn write_uuid(bytes: [u8; 16], text: &mut [u8; 36]) {
        // SAFETY: every x86-64 CPU has SSE2.
        let parts = unsafe { with_hyphens(digits(bytes)) };
        let [first, second, last] = parts.map(bytes_of);
        text[..16].copy_from_slice(&first);
        text[16..32].copy_from_slice(&second);
        text[32..].copy_from_slice(&last[..4]);
    }

    fn bytes_of(vector: __m128i) -> [u8; 16] {
        // SAFETY: both are 16 bytes, and any bits are bytes.
        unsafe { core::mem::transmute(vector) }
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn digits(bytes: [u8; 16]) -> [__m128i; 2] {
        let number = u128::from_le_bytes(bytes);
        let [low, high] = [number as u64, (number >> 64) as u64].map(in_register);
        let bytes = _mm_set_epi64x(high as i64, low as i64);
        let low_half = _mm_set1_epi8(15);
        let first = _mm_and_si128(_mm_srli_epi16(bytes, 4), low_half);
        let second = _mm_and_si128(bytes, low_half);
        [
            ascii(_mm_unpacklo_epi8(first, second)),
            ascii(_mm_unpackhi_epi8(first, second)),
        ]
    }

    /// The compiler must not load 16 bytes at once: an identifier that was just stored in two halves would wait for both.
    #[inline(always)]
    fn in_register(mut word: u64) -> u64 {
        // SAFETY: no instruction.
        unsafe {
            asm!("/* {0} */", inout(reg) word, options(pure, nomem, nostack, preserves_flags));
        }
        word
    }

    /// The digits of numbers below 16.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn ascii(halves: __m128i) -> __m128i {
        let is_letter = _mm_cmpgt_epi8(halves, _mm_set1_epi8(9));
        let to_letters = _mm_set1_epi8((b'a' - b'0' - 10) as i8);
        let digits = _mm_add_epi8(halves, _mm_set1_epi8(b'0' as i8));
        _mm_add_epi8(digits, _mm_and_si128(is_letter, to_letters))
    }

    /// The 36 characters, of the third vector the first 4.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn with_hyphens([low, high]: [__m128i; 2]) -> [__m128i; 3] {
        // 11111111-2222-33
        let first = any_of([
            _mm_and_si128(low, _mm_set_epi64x(0, -1)),
            _mm_and_si128(
                _mm_slli_si128::<1>(low),
                _mm_set_epi64x(0x00ff_ffff_ff00, 0),
            ),
            _mm_and_si128(
                _mm_slli_si128::<2>(low),
                _mm_set_epi64x(0xffff_u64.rotate_left(48) as i64, 0),
            ),
            _mm_set_epi64x(0x2d00_0000_002d, 0),
        ]);
        // 33-4444-55555555
        let second = any_of([
            _mm_srli_si128::<14>(low),
            _mm_and_si128(
                _mm_slli_si128::<3>(high),
                _mm_set_epi64x(0, 0x00ff_ffff_ff00_0000),
            ),
            _mm_and_si128(_mm_slli_si128::<4>(high), _mm_set_epi64x(-1, 0)),
            _mm_set_epi64x(0, 0x2d00_0000_002d_0000),
        ]);
        [first, second, _mm_srli_si128::<12>(high)]
    }

    #[inline]
    #[target_feature(enable = "sse2")]
    fn any_of([a, b, c, d]: [__m128i; 4]) -> __m128i {
        _mm_or_si128(_mm_or_si128(a, b), _mm_or_si128(c, d))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_instructions_are_those_that_the_standard_library_finds() {
        let found = [Instruction::Seed, Instruction::Number].map(Instruction::is_available);
        let std = [
            std::is_x86_feature_detected!("rdseed"),
            std::is_x86_feature_detected!("rdrand"),
        ];
        assert_eq!(found, std);
    }

    #[cfg(target_arch = "aarch64")]
    #[test]
    fn the_registers_are_those_that_the_standard_library_finds() {
        let found = [Instruction::Seed, Instruction::Number].map(Instruction::is_available);
        let std = std::arch::is_aarch64_feature_detected!("rand");
        assert_eq!(found, [std; 2]);
    }

    #[test]
    fn words_differ_where_the_instruction_is_available_and_there_are_none_elsewhere() {
        for instruction in [Instruction::Seed, Instruction::Number] {
            // Any draw may fail.
            let words: Vec<u64> = (0..64).filter_map(|_| instruction.draw()).collect();
            if instruction.is_available() {
                assert!(words.windows(2).all(|pair| pair[0] != pair[1]));
            } else {
                assert_eq!(words, []);
            }
        }
    }

    #[test]
    fn a_text_of_any_bytes_is_ascii() {
        let text = Text::new([b'a', b'a' | 0x80, 0xff, 0xc3]);
        assert_eq!(&*text, "aa\x7fC");
        assert_eq!(format!("{text:>5}{:?}", Text::new(*b"b")), " aa\x7fC\"b\"");
    }

    #[test]
    fn the_cycle_counter_goes_on() {
        let before = cycles();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(cycles() > before && before > 0);
    }
}

//! Types for which memory full of zeros is a valid value.

use core::mem::ManuallyDrop;
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize,
};

/// A type for which memory full of zeros is a valid value: [`ZERO`](Self::ZERO).
///
/// A fork zeroes our secret memory in the child, so every type in it implements this. The trait is
/// safe to implement: code that puts a `T` into such memory proves with [`assert_zeroed`], at compile time, that
/// every byte of `T::ZERO` is zero and that no byte of it is padding.
///
/// ```
/// use wellspring_os::zeroed::{Zeroed, assert_zeroed};
/// #[repr(C)]
/// struct Position { block: u64, byte: u32, _reserved: u32 }
/// impl Zeroed for Position {
///     const ZERO: Self = Self { block: 0, byte: 0, _reserved: 0 };
/// }
/// const { assert_zeroed::<Position>() };
/// ```
///
/// A value that is not zero is refused:
///
/// ```compile_fail,E0080
/// use wellspring_os::zeroed::{Zeroed, assert_zeroed};
/// struct Position(u64);
/// impl Zeroed for Position {
///     const ZERO: Self = Self(1);
/// }
/// const { assert_zeroed::<Position>() };
/// ```
///
/// So is padding, whose bytes are not a value:
///
/// ```compile_fail,E0080
/// use wellspring_os::zeroed::{Zeroed, assert_zeroed};
/// #[repr(C)]
/// struct Position { block: u64, byte: u32 }
/// impl Zeroed for Position {
///     const ZERO: Self = Self { block: 0, byte: 0 };
/// }
/// const { assert_zeroed::<Position>() };
/// ```
///
/// So is an `Option` whose `None` leaves bytes undefined:
///
/// ```compile_fail,E0080
/// use wellspring_os::zeroed::{Zeroed, assert_zeroed};
/// struct Position(Option<u64>);
/// impl Zeroed for Position {
///     const ZERO: Self = Self(None);
/// }
/// const { assert_zeroed::<Position>() };
/// ```
pub trait Zeroed: Sized {
    /// The value of zeroed memory.
    const ZERO: Self;
}

/// Fails to compile if zeroed memory is not `T::ZERO`, wherever it is called:
///
/// ```compile_fail,E0080
/// use wellspring_os::zeroed::{Zeroed, assert_zeroed};
/// #[repr(C)]
/// struct Position { block: u64, byte: u32 }
/// impl Zeroed for Position {
///     const ZERO: Self = Self { block: 0, byte: 0 };
/// }
/// assert_zeroed::<Position>();
/// ```
pub const fn assert_zeroed<T: Zeroed>() {
    // At run time a byte of padding would be read without an error.
    const { look_at::<T>() };
}

const fn look_at<T: Zeroed>() {
    let value = ManuallyDrop::new(T::ZERO);
    let bytes = (&raw const value).cast::<u8>();
    let mut offset = 0;
    while offset < size_of::<T>() {
        // SAFETY: within `value`. This runs at compile time only, where the compiler itself refuses to read a byte of
        // padding or of a pointer.
        let byte = unsafe { *bytes.add(offset) };
        assert!(byte == 0, "every byte of ZERO is zero");
        offset += 1;
    }
}

macro_rules! zeroed {
    ($($type:ty = $zero:expr),+ $(,)?) => {
        $(impl Zeroed for $type {
            const ZERO: Self = $zero;
        })+
    };
}

zeroed! {
    () = (),
    bool = false,
    u8 = 0, u16 = 0, u32 = 0, u64 = 0, u128 = 0, usize = 0,
    i8 = 0, i16 = 0, i32 = 0, i64 = 0, i128 = 0, isize = 0,
    AtomicBool = Self::new(false),
    AtomicU8 = Self::new(0), AtomicU16 = Self::new(0), AtomicU32 = Self::new(0), AtomicUsize = Self::new(0),
    AtomicI32 = Self::new(0),
}

#[cfg(target_has_atomic = "64")]
zeroed! {
    AtomicU64 = Self::new(0),
    AtomicI64 = Self::new(0),
}

impl<T: Zeroed, const N: usize> Zeroed for [T; N] {
    const ZERO: Self = [const { T::ZERO }; N];
}

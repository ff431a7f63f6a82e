//! [`random()`]: a value of the type that the caller wants.

use crate::global::bytes;
use crate::rng::{bool, f64, range, u32};

/// The types of [`random()`]: integers, `bool`, `f64`, `f32` and arrays of bytes. No other type can implement it.
#[diagnostic::on_unimplemented(
    message = "`wellspring::random()` makes no `{Self}`",
    note = "it makes integers, `bool`, `f64`, `f32` and arrays of bytes; `wellspring::rng()` is a generator for rand"
)]
pub trait Random: sealed::Random {}

mod sealed {
    pub trait Random {
        fn random() -> Self;
    }
}

macro_rules! random {
    ($($type:ty => $value:expr;)*) => {$(
        impl Random for $type {}

        impl sealed::Random for $type {
            #[inline]
            fn random() -> Self {
                $value
            }
        }
    )*};
}

random! {
    u8 => range(..);
    i8 => range(..);
    u16 => range(..);
    i16 => range(..);
    u32 => range(..);
    i32 => range(..);
    u64 => range(..);
    i64 => range(..);
    usize => range(..);
    isize => range(..);
    u128 => range(..);
    i128 => range(..);
    bool => bool();
    f64 => f64();
    // A multiple of 2^-24.
    f32 => (u32() >> 8) as f32 / (1 << 24) as f32;
}

impl<const N: usize> Random for [u8; N] {}

impl<const N: usize> sealed::Random for [u8; N] {
    #[inline]
    fn random() -> Self {
        bytes()
    }
}

/// A value of any integer type, a `bool`, a fraction from 0 to 1 without 1, or an array of bytes; as good as the bytes of
/// [`fill`](crate::fill). For integers of a range: [`range`](crate::range).
///
/// ```
/// let key: [u8; 32] = wellspring::random();
/// let ticket = wellspring::random::<u64>();
/// if wellspring::random() {
///     println!("heads");
/// }
/// # let _ = (key, ticket);
/// ```
#[must_use]
#[inline]
pub fn random<T: Random>() -> T {
    T::random()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_values_that_do_not_repeat() {
        assert_ne!(random::<[u8; 32]>(), random::<[u8; 32]>());
        assert_ne!(random::<u128>(), random::<u128>());
        assert_ne!([(); 4].map(|()| random::<i32>()), [0; 4]);
        // Each fails once in 2^200.
        let seen = |bit: fn() -> bool| (0..200).any(|_| bit());
        assert!(seen(random) && seen(|| !random::<bool>()));
        assert!(seen(|| random::<u8>() > 127) && seen(|| random::<i64>() < 0));
        assert!(seen(|| random::<f64>() > 0.5) && seen(|| random::<f32>() < 0.5));
        for _ in 0..1000 {
            assert!((0.0..1.0).contains(&random::<f32>()) && (0.0..1.0).contains(&random::<f64>()));
        }
    }
}

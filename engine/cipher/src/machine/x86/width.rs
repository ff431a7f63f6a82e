//! Safe code of other crates, compiled for each width of registers.

use super::features::{self, of_this_machine};
use crate::width::{SimdTask, Width};

/// Whether this CPU and its operating system have the registers.
#[inline]
pub(crate) fn has_width(width: Width) -> bool {
    match width {
        Width::Avx512 => of_this_machine().contain(features::AVX512),
        Width::Avx2 => of_this_machine().contain(features::AVX2),
        Width::Portable => true,
    }
}

/// Does `task` as compiled for `width`.
///
/// # Safety
///
/// This CPU must have the width.
#[inline]
pub(crate) unsafe fn run_at<T: SimdTask>(width: Width, task: T) -> T::Output {
    match width {
        // SAFETY: the caller knows that the CPU has the instructions, which are part of the width.
        Width::Avx512 => unsafe { run_avx512(task) },
        // SAFETY: as above.
        Width::Avx2 => unsafe { run_avx2(task) },
        Width::Portable => task.run(),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn run_avx512<T: SimdTask>(task: T) -> T::Output {
    task.run()
}

#[target_feature(enable = "avx2")]
fn run_avx2<T: SimdTask>(task: T) -> T::Output {
    task.run()
}

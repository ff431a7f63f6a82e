//! Reads the stack below a test through `/proc/self/mem`, as a debugger or a core dump would see it.

#![cfg(all(target_os = "linux", not(miri)))]

use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;

/// How much of the stack is searched.
pub(crate) const STACK_BYTES: usize = 64 << 10;
/// Room for the frames of the search itself, above the frames that it searches.
const ROOM_BYTES: usize = 16 << 10;

/// Runs `action` on a part of the stack that the search will not write to.
#[inline(never)]
pub(crate) fn with_room(action: impl FnOnce()) {
    let room = black_box([0u8; ROOM_BYTES]);
    below(action);
    black_box(&room);
}

/// In a frame of its own: an inlined function may have its variables above the room.
#[inline(never)]
fn below(action: impl FnOnce()) {
    action();
}

/// A copy of the stack.
pub(crate) struct Stack {
    memory: File,
    bytes: Vec<u8>,
}

impl Stack {
    pub(crate) fn new() -> Self {
        Self {
            memory: File::open("/proc/self/mem").unwrap(),
            bytes: vec![0; STACK_BYTES],
        }
    }

    /// Reads the stack below the caller's frame.
    #[inline(never)]
    pub(crate) fn read_below(&mut self) -> &[u8] {
        let here = black_box(0u8);
        let top = (&raw const here as usize) & !7;
        let bottom = top - self.bytes.len();
        self.memory
            .read_exact_at(&mut self.bytes, bottom as u64)
            .unwrap();
        &self.bytes
    }
}

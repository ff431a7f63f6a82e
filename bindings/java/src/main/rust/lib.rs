//! The native half of the Java provider. `src/main/java/wellspring/jca/Native.java` declares what is here.
//!
//! A JVM moves its arrays, and gives native code three ways into one:
//!
//! - From Java 22 on, `wellspring_java_fill` writes into the array itself: 8 ns for 16 bytes.
//! - Before, JNI copies, here from at most 4 KiB on the stack, which are wiped. The JVM's part of it takes 18 ns.
//! - So up to 32 bytes go through memory of the thread, from which Java's class takes them and which it wipes: 13 ns.
//!
//! Every function is `extern`: a panic ends the process there, with its message, and never reaches the JVM.

use core::cell::UnsafeCell;
use core::slice;
use jni_sys::{JNIEnv, jbyteArray, jclass, jint, jlong};
use wellspring::{Engine, Error, ids};
use wellspring_interpose::door_counters::{self, Door, VARIABLE, variable};
use zeroize::optimization_barrier;

/// The numbers that the functions return. `Native.java` has a message for each but the first.
const OK: jint = 0;
const NOT_SEEDED: jint = 1;
const NO_MEMORY: jint = 2;
const FAILED: jint = 3;

/// The bytes that are on the stack at a time. 4 KiB stay in the first cache.
const COPY_BYTES: usize = 4096;

/// The most bytes that Java takes from memory of the thread. `Fill.java` has the same number.
const SHORT_BYTES: usize = 32;

fn number(result: Result<(), Error>) -> jint {
    match result {
        Ok(()) => OK,
        Err(Error::NotSeeded) => NOT_SEEDED,
        Err(Error::Memory) => NO_MEMORY,
        Err(_) => FAILED,
    }
}

#[inline(always)]
fn fill(bytes: &mut [u8]) -> Result<(), Error> {
    Engine::try_process()?.try_fill(bytes)?;
    door_counters::count(Door::Java, bytes.len());
    Ok(())
}

fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    optimization_barrier(bytes);
}

/// Makes the engine, and waits until it is seeded. Later calls find it ready, and never wait: a thread that waits in
/// [`wellspring_java_fill`] would stop all others at the next garbage collection.
#[unsafe(no_mangle)]
pub extern "system" fn Java_wellspring_jca_Native_start(_: *mut JNIEnv, _: jclass) -> jint {
    if let Some(path) = variable(VARIABLE) {
        door_counters::start(path);
    }
    number(Engine::try_process().map(|engine| engine.fill(&mut [0])))
}

/// Fills `length` bytes of a Java array from `offset` on; its memory begins at `start`. Called without JNI, from Java 22 on.
///
/// # Safety
///
/// The caller may write `length` bytes from `offset` on, and neither is negative.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wellspring_java_fill(start: *mut u8, offset: jint, length: jint) -> jint {
    clear_upper_halves();
    // SAFETY: the JVM passes the memory of an array, which it holds at its place during the call, and Java's class has
    // checked the range. Another thread may write to it: then its bytes are not defined, as with every array of Java.
    number(fill(unsafe {
        slice::from_raw_parts_mut(start.add(offset as usize), length as usize)
    }))
}

/// Clears the upper halves of the vector registers. Compiled Java code zeroes a new array by AVX-512 and leaves them set, and
/// without JNI nothing clears them on the way: with them SSE instructions made a read of 16 bytes take 126 ns in place of 10.
#[inline(always)]
fn clear_upper_halves() {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has the instruction. By the ABI no caller keeps anything in the upper halves, and this code is
        // compiled for SSE2, which has none.
        unsafe { core::arch::asm!("vzeroupper", options(nomem, nostack, preserves_flags)) };
    }
}

/// Puts `length` bytes into memory of the calling thread, at most 32. Returns its address, which stays the
/// same, or the negative of an error number. The caller takes the bytes and wipes them.
#[unsafe(no_mangle)]
pub extern "system" fn Java_wellspring_jca_Native_draw(
    _: *mut JNIEnv,
    _: jclass,
    length: jint,
) -> jlong {
    thread_local! {
        static SHORT: UnsafeCell<[u64; SHORT_BYTES / 8]> = const { UnsafeCell::new([0; _]) };
    }
    SHORT.with(|short| {
        let start: *mut u8 = short.get().cast();
        let length = (length as usize).min(SHORT_BYTES);
        // SAFETY: memory of this thread, of at least `length` bytes. Nothing else in Rust refers to it, and no Java code runs
        // on this thread meanwhile.
        match number(fill(unsafe { slice::from_raw_parts_mut(start, length) })) {
            OK => start as jlong,
            error => -jlong::from(error),
        }
    })
}

/// Fills `length` bytes of an array from `offset` on. Java's class has checked the range; the JVM checks it once more, and
/// throws an exception.
///
/// # Safety
///
/// `environment` is the calling thread's, and `array` is not null.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_wellspring_jca_Native_fill(
    environment: *mut JNIEnv,
    _: jclass,
    array: jbyteArray,
    offset: jint,
    length: jint,
) -> jint {
    // The stack is zeroed before: as much as a short read needs.
    let fill = if length <= 512 {
        fill_by_copies::<512>
    } else {
        fill_by_copies::<COPY_BYTES>
    };
    // SAFETY: the same contract.
    unsafe { fill(environment, array, offset, length) }
}

/// # Safety
///
/// As of [`Java_wellspring_jca_Native_fill`].
#[inline(always)]
unsafe fn fill_by_copies<const BYTES: usize>(
    environment: *mut JNIEnv,
    array: jbyteArray,
    mut offset: jint,
    mut length: jint,
) -> jint {
    let mut copy = [0; BYTES];
    // SAFETY: the environment of this thread. A JVM fills in every function.
    let Some(set_region) = (unsafe { (**environment).SetByteArrayRegion }) else {
        return FAILED;
    };
    let mut result = OK;
    while length > 0 && result == OK {
        let part = length.min(BYTES as jint);
        let bytes = &mut copy[..part as usize];
        result = number(fill(bytes));
        if result == OK {
            // SAFETY: the same environment, an array, and `part` bytes.
            unsafe { set_region(environment, array, offset, part, bytes.as_ptr().cast()) };
        }
        offset += part;
        length -= part;
    }
    wipe(&mut copy);
    result
}

/// Fills an array with an identifier. `Identifiers.java` numbers the kinds: a UUID of version 4 or 7, the text of a ULID, and
/// the text of a trace id, which has half as many random bytes as digits.
///
/// # Safety
///
/// `environment` is the calling thread's, and `array` is not null.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_wellspring_jca_Native_identify(
    environment: *mut JNIEnv,
    _: jclass,
    array: jbyteArray,
    kind: jint,
) -> jint {
    // SAFETY: the environment of this thread. A JVM fills in every function.
    let functions = unsafe { &**environment };
    let (Some(length), Some(set_region)) = (functions.GetArrayLength, functions.SetByteArrayRegion)
    else {
        return FAILED;
    };
    // SAFETY: the environment of this thread, and an array.
    let length = unsafe { length(environment, array) };
    let mut made = [0; 64];
    let Some(bytes) = made.get_mut(..length as usize) else {
        return FAILED;
    };
    match kind {
        0 => bytes.copy_from_slice(&ids::uuid4()),
        1 => bytes.copy_from_slice(&ids::uuid7()),
        2 => bytes.copy_from_slice(ids::ulid_text(ids::ulid()).as_bytes()),
        _ => {
            let mut random = [0; 32];
            let random = &mut random[..length as usize / 2];
            if let error @ 1.. = number(fill(random)) {
                return error;
            }
            ids::write_hex(random, bytes);
        }
    }
    if kind < 3 {
        door_counters::count(Door::Java, 16);
    }
    // SAFETY: the same environment, an array, and `length` bytes.
    unsafe { set_region(environment, array, 0, length, bytes.as_ptr().cast()) };
    OK
}

/// Mixes the bytes of an array into the pools, without credit: one event, whatever its length.
///
/// # Safety
///
/// `environment` is the calling thread's, and `array` is not null.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_wellspring_jca_Native_mix(
    environment: *mut JNIEnv,
    _: jclass,
    array: jbyteArray,
) -> jint {
    // SAFETY: the environment of this thread. A JVM fills in every function.
    let functions = unsafe { &**environment };
    let (Some(length), Some(get_region)) = (functions.GetArrayLength, functions.GetByteArrayRegion)
    else {
        return FAILED;
    };
    let engine = match Engine::try_process() {
        Ok(engine) => engine,
        Err(error) => return number(Err(error)),
    };
    // SAFETY: the environment of this thread, and an array.
    let length = unsafe { length(environment, array) };
    let mut copy = Vec::new();
    if copy.try_reserve_exact(length as usize).is_err() {
        return NO_MEMORY;
    }
    copy.resize(length as usize, 0);
    // SAFETY: the environment of this thread, `length` bytes of the array, and room for them.
    unsafe { get_region(environment, array, 0, length, copy.as_mut_ptr().cast()) };
    engine.mix(&copy);
    wipe(&mut copy);
    OK
}

/// Reseeds the engine from its sources and from what was mixed in before; every thread takes a fresh key at its next read.
#[unsafe(no_mangle)]
pub extern "system" fn Java_wellspring_jca_Native_reseed(_: *mut JNIEnv, _: jclass) -> jint {
    number(Engine::try_process().and_then(|engine| engine.reseed().map(|_| ())))
}

/// Separates this process from its copies. Returns the new generation.
#[unsafe(no_mangle)]
pub extern "system" fn Java_wellspring_jca_Native_diverge(_: *mut JNIEnv, _: jclass) -> jlong {
    Engine::try_process().map_or(0, |engine| engine.diverge_from_clones() as jlong)
}

/// Prepares the process, and the calling thread, for a sandbox that forbids system calls.
#[unsafe(no_mangle)]
pub extern "system" fn Java_wellspring_jca_Native_prepare(_: *mut JNIEnv, _: jclass) -> jint {
    number(Engine::try_process().and_then(Engine::prepare_for_sandbox))
}

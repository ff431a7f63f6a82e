//! Looks up a symbol in an ELF image in memory.
//!
//! By hand (System V ABI, chapter 5, "Dynamic Linking"): libc has no call that returns the vDSO's symbols, and
//! dlopen(3) may allocate, and so may not be called in a signal handler.

use core::ffi::CStr;

#[repr(C)]
struct FileHeader {
    ident: [u8; 16],
    kind: u16,
    machine: u16,
    version: u32,
    entry: usize,
    program_headers: usize,
    section_headers: usize,
    flags: u32,
    header_bytes: u16,
    program_header_bytes: u16,
    program_header_count: u16,
}

#[repr(C)]
struct ProgramHeader {
    kind: u32,
    #[cfg(target_pointer_width = "64")]
    flags: u32,
    offset: usize,
    virtual_address: usize,
}

#[repr(C)]
struct Dynamic {
    tag: isize,
    value: usize,
}

#[cfg(target_pointer_width = "64")]
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    bytes: usize,
}

#[cfg(target_pointer_width = "32")]
#[repr(C)]
struct Symbol {
    name: u32,
    value: usize,
    bytes: usize,
    info: u8,
    other: u8,
    section: u16,
}

/// An entry of the table at [`TAG_HASH`]: 64 bits on s390x, 32 everywhere else.
#[cfg(target_arch = "s390x")]
type HashWord = u64;
#[cfg(not(target_arch = "s390x"))]
type HashWord = u32;

const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const TAG_HASH: isize = 4;
const TAG_STRINGS: isize = 5;
const TAG_SYMBOLS: isize = 6;
const TAG_GNU_HASH: isize = 0x6fff_fef5;

/// The tables that the dynamic section points to.
#[derive(Clone, Copy)]
struct Tables {
    /// The base of the image's addresses.
    start: *const u8,
    hash: Option<*const HashWord>,
    gnu_hash: Option<*const u32>,
    strings: *const u8,
    symbols: *const Symbol,
}

/// The address of a dynamic symbol.
///
/// # Safety
///
/// A whole, well-formed ELF image of this machine is at `base`.
pub(super) unsafe fn symbol(base: *const u8, name: &CStr) -> Option<*const u8> {
    // SAFETY: the offsets are the image's own, and the caller vouches for the image.
    unsafe {
        let tables = tables(base)?;
        let count = match (tables.hash, tables.gnu_hash) {
            // The second word of the table is the number of symbols.
            (Some(hash), _) => *hash.add(1) as usize,
            (None, Some(hash)) => gnu_count(hash),
            (None, None) => 0,
        };
        let is_wanted = |symbol: &&Symbol| {
            let symbol_name = tables.strings.add(symbol.name as usize);
            symbol.section != 0 && CStr::from_ptr(symbol_name.cast()) == name
        };
        let symbols = core::slice::from_raw_parts(tables.symbols, count);
        let found = symbols.iter().find(is_wanted)?;
        Some(tables.start.wrapping_add(found.value))
    }
}

/// # Safety
///
/// The same as for [`symbol`].
unsafe fn tables(base: *const u8) -> Option<Tables> {
    // SAFETY: as in `symbol`.
    unsafe {
        let header = &*base.cast::<FileHeader>();
        let (mut start, mut dynamic) = (None, None);
        for number in 0..usize::from(header.program_header_count) {
            let offset = number * usize::from(header.program_header_bytes);
            let segment = base.add(header.program_headers + offset);
            let segment = &*segment.cast::<ProgramHeader>();
            let address = base.wrapping_add(segment.offset);
            match segment.kind {
                LOAD if start.is_none() => {
                    start = Some(address.wrapping_sub(segment.virtual_address));
                }
                DYNAMIC => dynamic = Some(address.cast::<Dynamic>()),
                _ => {}
            }
        }
        let (start, mut dynamic) = (start?, dynamic?);
        let (mut hash, mut gnu_hash, mut strings, mut symbols) = (None, None, None, None);
        while (*dynamic).tag != 0 {
            let address = start.wrapping_add((*dynamic).value);
            match (*dynamic).tag {
                TAG_HASH => hash = Some(address.cast()),
                TAG_GNU_HASH => gnu_hash = Some(address.cast()),
                TAG_STRINGS => strings = Some(address),
                TAG_SYMBOLS => symbols = Some(address.cast()),
                _ => {}
            }
            dynamic = dynamic.add(1);
        }
        Some(Tables {
            start,
            hash,
            gnu_hash,
            strings: strings?,
            symbols: symbols?,
        })
    }
}

/// The number of symbols by the GNU hash table, which does not say it: the end of the last chain.
///
/// # Safety
///
/// `hash` is the table of such an image.
unsafe fn gnu_count(hash: *const u32) -> usize {
    // SAFETY: the table has this shape: four words, the filter's words of a pointer's size, the buckets, the chains.
    unsafe {
        let [bucket_count, first, filter_words] = [0, 1, 2].map(|at| *hash.add(at) as usize);
        let filter_words = filter_words * size_of::<usize>() / size_of::<u32>();
        let buckets = hash.add(4 + filter_words);
        let chains = buckets.add(bucket_count);
        let last = (0..bucket_count).map(|bucket| *buckets.add(bucket) as usize);
        let Some(mut last) = last.max().filter(|&last| last >= first) else {
            return first;
        };
        // The lowest bit marks the end of a chain.
        while *chains.add(last - first) & 1 == 0 {
            last += 1;
        }
        last + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vdso() -> Option<*const u8> {
        // SAFETY: only looks the value up.
        let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) };
        (base != 0).then_some(core::ptr::with_exposed_provenance(base as usize))
    }

    #[test]
    fn the_clock_is_found_in_the_image_and_nonsense_is_not() {
        let names = [
            c"__vdso_clock_gettime",
            c"__kernel_clock_gettime",
            c"__vdso_clock_gettime64",
        ];
        let Some(base) = vdso() else {
            println!("SKIPPED: there is no vDSO here");
            return;
        };
        // SAFETY: the kernel's image.
        unsafe {
            assert!(names.iter().any(|name| symbol(base, name).is_some()));
            assert!(symbol(base, c"__vdso_nonsense").is_none());
        }
    }

    #[test]
    fn both_hash_tables_count_the_same_symbols() {
        // SAFETY: the kernel's image, if there is one.
        let tables = vdso().and_then(|base| unsafe { tables(base) });
        if let Some(Tables {
            hash: Some(hash),
            gnu_hash: Some(gnu_hash),
            ..
        }) = tables
        {
            // SAFETY: its tables.
            unsafe { assert_eq!(gnu_count(gnu_hash), *hash.add(1) as usize) };
        } else {
            println!("SKIPPED: the vDSO has not both tables");
        }
    }
}

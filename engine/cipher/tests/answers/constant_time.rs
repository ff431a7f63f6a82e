//! No backend branches on its key, nor takes an address from it; no hash does so from its message.
//!
//! Memcheck is told that the key is undefined memory, and reports every jump and every address that
//! depends on undefined memory (Langley's ctgrind). The tests run themselves again under Valgrind,
//! which knows AES-NI and AVX2. It does not know VAES, AVX-512 and SHA-NI: those backends are not run here.
//! The first two are the same source text for wider registers.

use crate::model::{self, COUNTER};
use std::arch::asm;
use std::hint::black_box;
use std::process::{Command, ExitStatus};
use wellspring_cipher::Keystream;
use wellspring_cipher::sha256::{Compression, DIGEST_BYTES, Sha256};

/// The exit status of Memcheck after it has reported an error.
const REPORTED: i32 = 99;

/// `RUNNING_ON_VALGRIND` of valgrind.h.
const RUNNING_ON_VALGRIND: usize = 0x1001;
/// `VALGRIND_MAKE_MEM_UNDEFINED` and `VALGRIND_MAKE_MEM_DEFINED` of memcheck.h.
const MAKE_MEM_UNDEFINED: usize = 0x4d43_0001;
const MAKE_MEM_DEFINED: usize = 0x4d43_0002;

/// Asks Valgrind; the answer is 0 without it.
fn client_request(request: usize, memory: &mut [u8]) -> usize {
    let arguments = [request, memory.as_mut_ptr() as usize, memory.len(), 0, 0, 0];
    let mut answer = 0;
    // SAFETY: the sequence of valgrind.h, four rotations by 128 bits in all and an exchange of a
    // register with itself: nothing happens on a CPU. Memcheck changes its own notes on `memory`.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") &raw const arguments,
            inout("rdx") answer,
            inout("rdi") 0 => _,
        );
    }
    answer
}

fn on_valgrind() -> bool {
    client_request(RUNNING_ON_VALGRIND, &mut []) != 0
}

/// A key that Memcheck believes to be undefined.
fn undefined_key() -> [u8; 32] {
    let mut key = black_box(model::KEY);
    client_request(MAKE_MEM_UNDEFINED, &mut key);
    key
}

/// How the test `name` ends under Memcheck; nothing where there is no Valgrind.
fn under_memcheck(name: &str) -> Option<ExitStatus> {
    let finished = Command::new("valgrind")
        .args(["--quiet", &format!("--error-exitcode={REPORTED}")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("constant_time::{name}"), "--nocapture"])
        .output();
    let Ok(finished) = finished else {
        eprintln!("SKIPPED: valgrind does not run here");
        return None;
    };
    println!("{}", String::from_utf8_lossy(&finished.stdout));
    println!("{}", String::from_utf8_lossy(&finished.stderr));
    Some(finished.status)
}

#[test]
fn no_branch_and_no_address_depends_on_the_key() {
    if !on_valgrind() {
        if let Some(status) = under_memcheck("no_branch_and_no_address_depends_on_the_key") {
            assert!(status.success(), "{status}");
        }
        return;
    }
    for backend in model::backends() {
        println!("checked: {backend}");
        let key = undefined_key();
        let mut stream = Keystream::new(backend, &key, COUNTER);
        for bytes in [1, 16, 33, 64, 100, 200, 511, 1000, 3000] {
            stream.fill(&mut vec![0; bytes]);
        }
    }
    for compression in Compression::ALL.iter().copied() {
        if !compression.is_available() {
            println!("SKIPPED: {compression}, which Valgrind does not know");
            continue;
        }
        println!("checked: {compression}");
        let (mut hash, mut digest) = (Sha256::new(), [0; DIGEST_BYTES]);
        hash.update_by(compression, &undefined_key());
        hash.update_by(compression, &undefined_key().repeat(5));
        hash.finish_into_by(compression, &mut digest);
    }
    for backend in wellspring_cipher::Backend::ALL
        .iter()
        .filter(|backend| !backend.is_available())
    {
        println!("SKIPPED: {backend}, which Valgrind does not know");
    }
}

#[test]
fn memcheck_reports_an_address_that_depends_on_the_key() {
    if !on_valgrind() {
        if let Some(status) = under_memcheck("memcheck_reports_an_address_that_depends_on_the_key")
        {
            assert_eq!(status.code(), Some(REPORTED));
        }
        return;
    }
    let table: Vec<u8> = (0..=255).rev().collect();
    let mut found = [table[usize::from(undefined_key()[7])]];
    client_request(MAKE_MEM_DEFINED, &mut found);
    black_box(found);
}

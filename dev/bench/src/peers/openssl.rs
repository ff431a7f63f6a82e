//! The system's OpenSSL.

use openssl_sys::{
    EVP_CIPHER, EVP_CIPHER_CTX, EVP_CIPHER_CTX_free, EVP_CIPHER_CTX_new, EVP_EncryptInit_ex,
    EVP_EncryptUpdate, EVP_aes_256_ctr, EVP_chacha20, RAND_bytes,
};
use std::ptr;
use wellspring_bench::generators::{Generate, Generator, Request, SIZES};

struct Rand;

impl Generate for Rand {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        // SAFETY: the pointer and the length of one writable slice; no request here has more than 1 MiB.
        let answer = unsafe { RAND_bytes(destination.as_mut_ptr(), destination.len() as i32) };
        assert_eq!(answer, 1, "OpenSSL's generator does not fail");
    }
}

/// Encrypting zeros gives the keystream; OpenSSL has no call without input. The zeros are in a buffer of
/// their own, as `openssl speed` has it, so that the destination is written only.
struct Cipher {
    context: *mut EVP_CIPHER_CTX,
    zeros: Vec<u8>,
}

impl Cipher {
    fn new(cipher: unsafe extern "C" fn() -> *const EVP_CIPHER) -> Self {
        let (key, counter) = ([0x42; 32], [0; 16]);
        // SAFETY: a new context of our own, which takes a key of 32 and a counter of 16 bytes for either of
        // the ciphers that this is called with; both are copied.
        let (context, answer) = unsafe {
            let context = EVP_CIPHER_CTX_new();
            let answer = EVP_EncryptInit_ex(
                context,
                cipher(),
                ptr::null_mut(),
                key.as_ptr(),
                counter.as_ptr(),
            );
            (context, answer)
        };
        assert_eq!(answer, 1, "OpenSSL has the cipher");
        let zeros = vec![0; SIZES[SIZES.len() - 1]];
        Self { context, zeros }
    }
}

impl Generate for Cipher {
    #[inline(always)]
    fn fill(&mut self, destination: &mut [u8]) {
        let input = &self.zeros[..destination.len()];
        let mut written = 0;
        // SAFETY: the context is ours and set up; both buffers have the length we say, and a stream cipher
        // writes as much as it reads.
        let answer = unsafe {
            let output = destination.as_mut_ptr();
            EVP_EncryptUpdate(
                self.context,
                output,
                &mut written,
                input.as_ptr(),
                input.len() as i32,
            )
        };
        assert_eq!(answer, 1, "OpenSSL's ciphers do not fail");
    }
}

impl Drop for Cipher {
    fn drop(&mut self) {
        // SAFETY: this struct owns the context, and drop is its last use.
        unsafe { EVP_CIPHER_CTX_free(self.context) }
    }
}

pub(super) fn peers() -> Vec<Generator> {
    let fills: Vec<Request> = SIZES.map(Request::Fill).to_vec();
    let all: Vec<Request> = [&[Request::Word], fills.as_slice()].concat();
    vec![
        Generator::new("OpenSSL RAND_bytes", &all, || Rand),
        Generator::new("OpenSSL AES-256-CTR", &fills, || {
            Cipher::new(EVP_aes_256_ctr)
        }),
        Generator::new("OpenSSL ChaCha20", &fills, || Cipher::new(EVP_chacha20)),
    ]
}

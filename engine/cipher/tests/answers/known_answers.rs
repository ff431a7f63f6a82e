//! Published answers, through the little-endian 128-bit counter.

use crate::model::{backends, chacha20_block};
use wellspring_cipher::{Backend, Keystream, Prf};

/// The bytes 00 01 02 .. 1f: the key of FIPS 197 C.3 and of RFC 8439 2.3.2.
const COUNTING_KEY: [u8; 32] = {
    let mut key = [0; 32];
    let mut index = 0;
    while index < key.len() {
        key[index] = index as u8;
        index += 1;
    }
    key
};

fn backends_of(prf: Prf) -> impl Iterator<Item = Backend> {
    backends().filter(move |backend| backend.prf() == prf)
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    digits
        .chunks_exact(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

fn block_at(backend: Backend, key: &[u8; 32], input: &[u8]) -> Vec<u8> {
    let counter = u128::from_le_bytes(input.try_into().unwrap());
    let mut block = vec![0; backend.prf().block_bytes()];
    Keystream::new(backend, key, counter).fill(&mut block);
    block
}

#[test]
fn aes256_encrypts_the_example_of_fips_197() {
    let plaintext = from_hex("00112233445566778899aabbccddeeff"); // C.3
    let ciphertext = from_hex("8ea2b7ca516745bfeafc49904b496089");
    for backend in backends_of(Prf::Aes256) {
        assert_eq!(
            block_at(backend, &COUNTING_KEY, &plaintext),
            ciphertext,
            "{backend}"
        );
    }
}

#[test]
fn aes256_encrypts_the_ecb_and_counter_examples_of_sp_800_38a() {
    let key = from_hex("603deb1015ca71be2b73aef0857d7781 1f352c073b6108d72d9810a30914dff4");
    let pairs = [
        // F.1.5, ECB-AES256: plaintext, ciphertext.
        (
            "6bc1bee22e409f96e93d7e117393172a",
            "f3eed1bdb5d2a03c064b5a7e3db181f8",
        ),
        (
            "ae2d8a571e03ac9c9eb76fac45af8e51",
            "591ccb10d410ed26dc5ba74a31362870",
        ),
        (
            "30c81c46a35ce411e5fbc1191a0a52ef",
            "b6ed21b99ca6f4f9f153e7b1beafed1d",
        ),
        (
            "f69f2445df4f9b17ad2b417be66c3710",
            "23304b7a39f9f3ff067d8d8f9e24ecc7",
        ),
        // F.5.5, CTR-AES256: input block, output block. Its counter is big endian, so that each
        // step is another counter here.
        (
            "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
            "0bdf7df1591716335e9a8b15c860c502",
        ),
        (
            "f0f1f2f3f4f5f6f7f8f9fafbfcfdff00",
            "5a6e699d536119065433863c8f657b94",
        ),
        (
            "f0f1f2f3f4f5f6f7f8f9fafbfcfdff01",
            "1bc12c9c01610d5d0d8bd6a3378eca62",
        ),
        (
            "f0f1f2f3f4f5f6f7f8f9fafbfcfdff02",
            "2956e1c8693536b1bee99c73a31576b6",
        ),
    ];
    for backend in backends_of(Prf::Aes256) {
        for (input, output) in pairs {
            let block = block_at(
                backend,
                &key.as_slice().try_into().unwrap(),
                &from_hex(input),
            );
            assert_eq!(block, from_hex(output), "{backend}: {input}");
        }
    }
}

#[test]
fn chacha20_gives_the_block_of_rfc_8439() {
    // 2.3.2: block count 1, nonce 00 00 00 09 00 00 00 4a 00 00 00 00.
    let input = from_hex("01000000 000000090000004a00000000");
    let block = from_hex(
        "10f1e7e4d13b5915500fdd1fa32071c4 c7d1f4c733c068030422aa9ac3d46c4e
         d2826446079faa0914c2d705d98b02a2 b5129cd1de164eb9cbd083e8a2503c4e",
    );
    let model = chacha20_block(&COUNTING_KEY, &input.as_slice().try_into().unwrap());
    assert_eq!(model.as_slice(), block, "the model itself");
    for backend in backends_of(Prf::ChaCha20) {
        assert_eq!(block_at(backend, &COUNTING_KEY, &input), block, "{backend}");
    }
}

#[test]
fn chacha20_gives_the_keystreams_of_rfc_8439_appendix_a1() {
    // Test vectors 1 to 3: key, block count and nonce, keystream.
    let zero = [0; 32];
    let mut last_bit = [0; 32];
    last_bit[31] = 1;
    let vectors = [
        (
            zero,
            "00000000 000000000000000000000000",
            "76b8e0ada0f13d90405d6ae55386bd28 bdd219b8a08ded1aa836efcc8b770dc7
             da41597c5157488d7724e03fb8d84a37 6a43b8f41518a11cc387b669b2ee6586",
        ),
        (
            zero,
            "01000000 000000000000000000000000",
            "9f07e7be5551387a98ba977c732d080d cb0f29a048e3656912c6533e32ee7aed
             29b721769ce64e43d57133b074d839d5 31ed1f28510afb45ace10a1f4b794d6f",
        ),
        (
            last_bit,
            "01000000 000000000000000000000000",
            "3aeb5224ecf849929b9d828db1ced4dd 832025e8018b8160b82284f3c949aa5a
             8eca00bbb4a73bdad192b5c42f73f2fd 4e273644c8b36125a64addeb006c13a0",
        ),
    ];
    for backend in backends_of(Prf::ChaCha20) {
        for (key, input, block) in vectors {
            let got = block_at(backend, &key, &from_hex(input));
            assert_eq!(got, from_hex(block), "{backend}: {input}");
        }
    }
}

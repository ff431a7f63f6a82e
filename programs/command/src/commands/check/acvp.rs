//! `check --acvp FILE`: answers to the questions of a laboratory, in the JSON of NIST's ACVP: AES-256 (ECB, CTR) and SHA-256.
//!
//! FILE has vector sets: one, or a list of them that begins with the version of the protocol, as a server sends it. The answer
//! is such a list. Numbers and names are ACVP's; bytes are hexadecimal digits. A question for what the project does not have,
//! such as a shorter key or a decryption in ECB, is refused: leave it out of the registration.

use crate::streams::{Failure, Input, Output};
use serde_json::{Value, json};
use std::io::Read;
use std::path::Path;
use wellspring_cipher::sha256::{DIGEST_BYTES, Sha256};
use wellspring_cipher::{Backend, KEY_BYTES, Keystream, Prf};

/// Prints the answers to the vector sets in a file.
pub(super) fn run(path: &Path, backend: Option<Backend>) -> Result<(), Failure> {
    let backend = backend.unwrap_or(Backend::detect(Prf::Aes256));
    if backend.prf() != Prf::Aes256 {
        let reason = format!("{backend} is not AES-256: ACVP has no ChaCha20");
        return Err(Failure::Input(reason));
    }
    let mut input = Input::open(path)?;
    let (name, mut text) = (input.name().to_string(), String::new());
    let read = input.read_to_string(&mut text);
    read.map_err(|error| Input::refuse(&name, error))?;
    let questions: Value =
        serde_json::from_str(&text).map_err(|error| Input::refuse(&name, error))?;
    let sets = match &questions {
        Value::Array(sets) => sets.as_slice(),
        set => core::slice::from_ref(set),
    };
    let answers = sets.iter().map(|set| answer_set(set, backend));
    let answers: Result<Vec<Value>, String> = answers.collect();
    let answers = answers.map_err(|reason| Input::refuse(&name, reason))?;
    Output::standard()?.print(&format!("{:#}\n", Value::from(answers)))
}

/// The answer to a test, without its number.
type Answer = Result<Value, String>;

fn answer_set(set: &Value, backend: Backend) -> Answer {
    if set.get("acvVersion").is_some() {
        return Ok(set.clone());
    }
    let algorithm = text(set, "algorithm")?;
    let of_group = |group: &Value| -> Answer {
        let of_test = |test: &Value| -> Answer {
            let answer = match algorithm {
                "ACVP-AES-ECB" => answer_ecb(group, test, backend),
                "ACVP-AES-CTR" => answer_ctr(group, test, backend),
                "SHA2-256" => answer_hash(group, test),
                _ => Err(format!("the algorithm {algorithm} is not here")),
            };
            let answer = answer.map_err(|reason| format!("test {}: {reason}", test["tcId"]))?;
            Ok(with_number("tcId", test, answer))
        };
        let tests = list(group, "tests")?.iter().map(of_test);
        let tests: Result<Vec<Value>, String> = tests.collect();
        Ok(with_number("tgId", group, json!({ "tests": tests? })))
    };
    let groups: Result<Vec<Value>, String> =
        list(set, "testGroups")?.iter().map(of_group).collect();
    let answer = json!({
        "algorithm": algorithm,
        "revision": text(set, "revision")?,
        "testGroups": groups?,
    });
    Ok(with_number("vsId", set, answer))
}

/// The answer with the number of its question.
fn with_number(name: &str, question: &Value, mut answer: Value) -> Value {
    answer[name] = question[name].clone();
    answer
}

// ---- AES-256 ----

/// The key of a test, if the test is one for AES-256.
fn key(group: &Value, test: &Value) -> Result<[u8; KEY_BYTES], String> {
    if number(group, "keyLen")? != 256 {
        return Err("the key does not have 256 bits".into());
    }
    let key = bytes(test, "key")?.try_into();
    key.map_err(|_| "the key does not have 32 bytes".into())
}

/// The block for an input. A keystream encrypts its counter, which is a little-endian number.
fn encrypt(keystream: &Keystream, input: [u8; 16]) -> [u8; 16] {
    let mut block = [0; 16];
    keystream.fill_at(20, u128::from_le_bytes(input), &mut block);
    block
}

fn answer_ecb(group: &Value, test: &Value, backend: Backend) -> Answer {
    if text(group, "direction")? != "encrypt" {
        return Err("there is no decryption".into());
    }
    let (mut key, mut plain) = (key(group, test)?, bytes(test, "pt")?);
    let (blocks, []) = plain.as_chunks_mut() else {
        return Err("the text does not consist of whole blocks".into());
    };
    match (text(group, "testType")?, blocks) {
        ("AFT", blocks) => {
            let keystream = Keystream::new(backend, &key, 0);
            for block in blocks {
                *block = encrypt(&keystream, *block);
            }
            Ok(json!({ "ct": hex(&plain) }))
        }
        // AESAVS, 6.4.1: 100 keys, with 1000 encryptions in a chain for each.
        ("MCT", [block]) => {
            let mut results = Vec::new();
            for _ in 0..100 {
                let keystream = Keystream::new(backend, &key, 0);
                let (first, mut last) = (*block, *block);
                for _ in 0..1000 {
                    last = *block;
                    *block = encrypt(&keystream, last);
                }
                results.push(json!({ "key": hex(&key), "pt": hex(&first), "ct": hex(block) }));
                let change = last.iter().chain(&*block);
                key.iter_mut()
                    .zip(change)
                    .for_each(|(to, byte)| *to ^= byte);
            }
            Ok(json!({ "resultsArray": results }))
        }
        (kind, _) => Err(format!("a test of the type {kind} is not here")),
    }
}

/// SP 800-38A, 6.5, with the standard increment: the input blocks are big-endian numbers. Both directions do the same.
fn answer_ctr(group: &Value, test: &Value, backend: Backend) -> Answer {
    let (from, to) = match text(group, "direction")? {
        "encrypt" => ("pt", "ct"),
        _ => ("ct", "pt"),
    };
    let keystream = Keystream::new(backend, &key(group, test)?, 0);
    let first: Result<[u8; 16], _> = bytes(test, "iv")?.try_into();
    let first = first.map_err(|_| "the first block does not have 16 bytes")?;
    let mut data = bytes(test, from)?;
    let mut counter = u128::from_be_bytes(first);
    for block in data.chunks_mut(16) {
        let mask = encrypt(&keystream, counter.to_be_bytes());
        block
            .iter_mut()
            .zip(mask)
            .for_each(|(byte, mask)| *byte ^= mask);
        counter = counter.wrapping_add(1);
    }
    // The text may end within a byte, whose other bits are zero.
    let bits = number(test, "payloadLen")?;
    if data.len() as u64 != bits.div_ceil(8) {
        return Err(format!("the text does not have {bits} bits"));
    }
    if let (Some(last), unused @ 1..) = (data.last_mut(), (8 - bits % 8) % 8) {
        *last &= 0xff_u8 << unused;
    }
    Ok(json!({ to: hex(&data) }))
}

// ---- SHA-256 ----

fn answer_hash(group: &Value, test: &Value) -> Answer {
    match text(group, "testType")? {
        "AFT" => Ok(json!({ "md": hex(&Sha256::digest(&message(test)?)) })),
        "MCT" => {
            let is_alternate = group
                .get("mctVersion")
                .is_some_and(|name| name == "alternate");
            let results = digests_in_a_chain(message(test)?, is_alternate);
            let results = results.map(|digest| json!({ "md": hex(&digest) }));
            Ok(json!({ "resultsArray": results.collect::<Vec<_>>() }))
        }
        "LDT" => Ok(json!({ "md": hex(&digest_of_large(&test["largeMsg"])?) })),
        kind => Err(format!("a test of the type {kind} is not here")),
    }
}

/// The message of a test: whole bytes.
fn message(test: &Value) -> Result<Vec<u8>, String> {
    let mut message = bytes(test, "msg")?;
    // An empty message may be written as a byte.
    message.truncate((number(test, "len")? / 8) as usize);
    if 8 * message.len() as u64 == number(test, "len")? {
        Ok(message)
    } else {
        Err("the message does not consist of whole bytes".into())
    }
}

/// The Monte Carlo test of SHA-2: 100 digests, each at the end of a chain of 1000. A message is the last three digests. The
/// alternate version pads or cuts it to the length of the first seed.
fn digests_in_a_chain(seed: Vec<u8>, is_alternate: bool) -> impl Iterator<Item = [u8; 32]> {
    let (length, mut seed) = (seed.len(), seed);
    (0..100).map(move |_| {
        let mut last = [seed.clone(), seed.clone(), seed.clone()];
        let mut digest = [0; DIGEST_BYTES];
        for _ in 0..1000 {
            let mut message = last.concat();
            if is_alternate {
                message.resize(length, 0);
            }
            digest = Sha256::digest(&message);
            last.rotate_left(1);
            last[2] = digest.to_vec();
        }
        seed = digest.to_vec();
        digest
    })
}

/// The digest of up to 8 GiB: a text that is repeated.
fn digest_of_large(message: &Value) -> Result<[u8; DIGEST_BYTES], String> {
    let (content, bits) = (bytes(message, "content")?, number(message, "fullLength")?);
    if text(message, "expansionTechnique")? != "repeating" || content.is_empty() || bits % 8 > 0 {
        return Err("a large message of this kind is not here".into());
    }
    let piece = content.repeat((1 << 20) / content.len() + 1);
    let (mut hash, mut digest, mut left) = (Sha256::ZERO, [0; DIGEST_BYTES], bits / 8);
    while left > 0 {
        let length = left.min(piece.len() as u64);
        hash.update(&piece[..length as usize]);
        left -= length;
    }
    hash.finish_into(&mut digest);
    Ok(digest)
}

// ---- JSON ----

fn list<'a>(of: &'a Value, name: &str) -> Result<&'a [Value], String> {
    let list = of[name].as_array();
    list.map(Vec::as_slice)
        .ok_or_else(|| format!("there is no list {name}"))
}

fn text<'a>(of: &'a Value, name: &str) -> Result<&'a str, String> {
    of[name]
        .as_str()
        .ok_or_else(|| format!("there is no text {name}"))
}

fn number(of: &Value, name: &str) -> Result<u64, String> {
    of[name]
        .as_u64()
        .ok_or_else(|| format!("there is no number {name}"))
}

fn bytes(of: &Value, name: &str) -> Result<Vec<u8>, String> {
    let digits: Option<Vec<u8>> = text(of, name)?.chars().map(digit).collect();
    let pairs = digits.as_deref().map(<[u8]>::as_chunks::<2>);
    match pairs {
        Some((pairs, [])) => Ok(pairs.iter().map(|[high, low]| high << 4 | low).collect()),
        _ => Err(format!("{name} has no pairs of hexadecimal digits")),
    }
}

fn digit(digit: char) -> Option<u8> {
    digit.to_digit(16).map(|digit| digit as u8)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

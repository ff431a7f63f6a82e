//! The protocol of the entropy gathering daemon. QEMU's rng-egd speaks it.
//!
//! | request | answer |
//! |---|---|
//! | 0 | the bits available, 4 bytes, big endian |
//! | 1, n | without waiting: one byte, which is n, or 0 before the seed; then this number of random bytes |
//! | 2, n | n bytes, as soon as the service is seeded |
//! | 3, bits (2 bytes, big endian), n, then n bytes | none: the n bytes are mixed in without credit |
//! | 4 | the number of digits, 1 byte; then the process number in decimal digits |

use super::session::{Answer, Facts, Step};

/// The bits that a seeded service reports. It can make any number of them; 4096 is the size of Linux's pool before
/// 5.18.
const BITS_AVAILABLE: u32 = 4096;

/// The longest request: 3, bits, n, and 255 bytes.
pub const MAX_REQUEST_BYTES: usize = 4 + 255;

/// The next request in `input`.
pub fn next(input: &[u8], facts: Facts) -> Step<'_> {
    let answer = |used, head: &[u8], random: u8| Step::Answer {
        used,
        mix: &[],
        answer: Answer {
            head: head.into(),
            random: random.into(),
            is_last: false,
        },
    };
    match *input {
        [0, ..] => {
            let bits = if facts.is_ready { BITS_AVAILABLE } else { 0 };
            answer(1, &bits.to_be_bytes(), 0)
        }
        [1, count, ..] => {
            let given = if facts.is_ready { count } else { 0 };
            answer(2, &[given], given)
        }
        [2, count, ..] if facts.is_ready => answer(2, &[], count),
        [2, _, ..] => Step::Wait,
        [3, _, _, count, ref rest @ ..] => match rest.get(..count.into()) {
            Some(mix) => Step::Answer {
                used: 4 + mix.len(),
                mix,
                answer: Answer::default(),
            },
            None => Step::More,
        },
        [4, ..] => {
            let digits = facts.process.to_string();
            let mut head = vec![digits.len() as u8];
            head.extend(digits.bytes());
            answer(1, &head, 0)
        }
        [] | [1..=3, ..] => Step::More,
        _ => Step::Hostile(Answer::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READY: Facts = Facts {
        is_ready: true,
        process: 4_294_967_295,
    };
    const EARLY: Facts = Facts {
        is_ready: false,
        process: 1,
    };

    fn sent(input: &[u8], facts: Facts) -> (usize, Vec<u8>, u64) {
        match next(input, facts) {
            Step::Answer { used, answer, .. } => (used, answer.head, answer.random),
            other => panic!("{input:?}: {other:?}"),
        }
    }

    #[test]
    fn every_request_has_the_answer_of_the_protocol() {
        assert_eq!(sent(&[0], READY), (1, vec![0, 0, 16, 0], 0));
        assert_eq!(sent(&[1, 255], READY), (2, vec![255], 255));
        assert_eq!(sent(&[2, 64, 9], READY), (2, vec![], 64));
        assert_eq!(sent(&[4], READY), (1, b"\x0a4294967295".to_vec(), 0));
        let request = [3, 0, 8, 2, 7, 9, 0];
        let Step::Answer { used, mix, answer } = next(&request, READY) else {
            panic!("no answer");
        };
        assert_eq!((used, mix, answer), (6, &[7, 9][..], Answer::default()));
    }

    #[test]
    fn before_the_seed_nothing_is_available_and_a_read_that_may_wait_waits() {
        assert_eq!(sent(&[0], EARLY), (1, vec![0, 0, 0, 0], 0));
        assert_eq!(sent(&[1, 9], EARLY), (2, vec![0], 0));
        assert_eq!(next(&[2, 9], EARLY), Step::Wait);
    }

    #[test]
    fn a_part_of_a_request_waits_for_the_rest_and_an_unknown_one_ends_the_connection() {
        for part in [&[][..], &[1], &[2], &[3], &[3, 0, 8], &[3, 0, 8, 2, 7]] {
            assert_eq!(next(part, READY), Step::More, "{part:?}");
        }
        assert!(matches!(next(&[5], READY), Step::Hostile(_)));
        assert!(matches!(next(&[255, 1], READY), Step::Hostile(_)));
    }
}

//! The service's side of the bulk protocol. [`wellspring_client::protocol`] defines the frames.

use super::session::{Answer, Facts, Step};
use wellspring_client::protocol::{self, HEAD_BYTES, MAX_MIX_BYTES, Request};

/// The longest request.
pub const MAX_REQUEST_BYTES: usize = HEAD_BYTES + MAX_MIX_BYTES as usize;

/// The next request in `input`.
pub fn next(input: &[u8], facts: Facts) -> Step<'_> {
    let Some((head, rest)) = input.split_first_chunk::<HEAD_BYTES>() else {
        return Step::More;
    };
    let (mix, kind) = match Request::parse(head) {
        Ok(Request::Read(length)) if facts.is_ready => (&[][..], protocol::Answer::Bytes(length)),
        Ok(Request::Read(_)) => (&[][..], protocol::Answer::NotSeeded),
        Ok(Request::Mix(length)) => match rest.get(..length as usize) {
            Some(mix) => (mix, protocol::Answer::Mixed),
            None => return Step::More,
        },
        Ok(Request::Bump) => return Step::Bump { used: HEAD_BYTES },
        Err(_) => {
            return Step::Hostile(Answer {
                head: protocol::Answer::Malformed.head().into(),
                ..Answer::default()
            });
        }
    };
    let random = match kind {
        protocol::Answer::Bytes(length) => length.into(),
        _ => 0,
    };
    Step::Answer {
        used: HEAD_BYTES + mix.len(),
        mix,
        answer: Answer {
            head: kind.head().into(),
            random,
            is_last: false,
        },
    }
}

/// The answer to an order to change the generation page.
pub(super) fn bump_answer(was_obeyed: bool) -> Answer {
    let kind = if was_obeyed {
        protocol::Answer::Bumped
    } else {
        protocol::Answer::Refused
    };
    Answer {
        head: kind.head().into(),
        ..Answer::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READY: Facts = Facts {
        is_ready: true,
        process: 1,
    };

    #[test]
    fn a_read_is_answered_with_its_length_and_before_the_seed_with_a_refusal() {
        let request = Request::Read(70_000).head();
        let early = Facts {
            is_ready: false,
            ..READY
        };
        for (facts, random, head) in [
            (READY, 70_000, protocol::Answer::Bytes(70_000)),
            (early, 0, protocol::Answer::NotSeeded),
        ] {
            let Step::Answer { used, answer, .. } = next(&request, facts) else {
                panic!("no answer");
            };
            assert_eq!((used, answer.random), (8, random));
            assert_eq!(answer.head, head.head());
        }
    }

    #[test]
    fn a_mix_is_taken_when_all_of_it_is_there() {
        let mut request = Request::Mix(3).head().to_vec();
        request.extend([7, 8]);
        assert_eq!(next(&request, READY), Step::More);
        request.extend([9, 1]);
        let Step::Answer { used, mix, .. } = next(&request, READY) else {
            panic!("no answer");
        };
        assert_eq!((used, mix), (11, &[7, 8, 9][..]));
    }

    #[test]
    fn another_protocol_is_told_so_and_ended() {
        let Step::Hostile(answer) = next(b"GET / HTTP/1.1\r\n", READY) else {
            panic!("accepted");
        };
        assert_eq!(answer.head, protocol::Answer::Malformed.head());
    }
}

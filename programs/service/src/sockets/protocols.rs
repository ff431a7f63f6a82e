//! The protocols of the sockets. Each is a pure function of the bytes that came in, which fuzzers call.

use crate::page::POLICY;
use wellspring_client::protocol::{self, HEAD_BYTES, MAX_MIX_BYTES, Request};

/// The facts about the service that a protocol may use.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// Whether the engine is seeded with 128 bits.
    pub is_ready: bool,
    /// The process number of the service.
    pub process: u32,
}

/// The next step of a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Wait for more input: the request is not complete.
    More,
    /// Answer a complete request.
    Answer {
        /// The length of the request in bytes.
        used: usize,
        /// Bytes of the request that are to be mixed in.
        mix: &'a [u8],
        /// The answer to send.
        answer: Answer,
    },
    /// Change the generation page, if the other end may order that.
    Bump {
        /// The length of the request in bytes.
        used: usize,
        /// The secret of the order; empty if it has none.
        nonce: &'a [u8],
    },
    /// The request is complete and cannot be answered before the engine is seeded.
    Wait,
    /// The input is not a request of the protocol. Send the answer and close the connection.
    Hostile(Answer),
}

/// An answer: a head, then random bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The bytes before the random ones.
    pub head: Vec<u8>,
    /// The number of random bytes.
    pub random: u64,
    /// Whether the connection is closed after it.
    pub is_last: bool,
}

// The protocol of the entropy gathering daemon. QEMU's rng-egd speaks it.
//
// | request | answer |
// |---|---|
// | 0 | the bits available, 4 bytes, big endian |
// | 1, n | without waiting: one byte, which is n, or 0 before the seed; then this number of random bytes |
// | 2, n | n bytes, as soon as the service is seeded |
// | 3, bits (2 bytes, big endian), n, then n bytes | none: the n bytes are mixed in without credit |
// | 4 | the number of digits, 1 byte; then the process number in decimal digits |

/// The bits that a seeded service reports. It can make any number of them; 4096 is the size of Linux's pool before
/// 5.18.
const BITS_AVAILABLE: u32 = 4096;

/// The longest request: 3, bits, n, and 255 bytes.
pub const MAX_EGD_BYTES: usize = 4 + 255;

/// The next request in `input`.
pub fn next_egd(input: &[u8], facts: Facts) -> Step<'_> {
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

// The service's side of the bulk protocol. [`wellspring_client::protocol`] defines the frames.

/// The longest request.
pub const MAX_BULK_BYTES: usize = HEAD_BYTES + MAX_MIX_BYTES as usize;

/// The next request in `input`.
pub fn next_bulk(input: &[u8], facts: Facts) -> Step<'_> {
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
        Ok(Request::Bump(length)) => {
            return match rest.get(..length as usize) {
                Some(nonce) => Step::Bump {
                    used: HEAD_BYTES + nonce.len(),
                    nonce,
                },
                None => Step::More,
            };
        }
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

/// The answer to an order to change the generation page: whether the kernel was reseeded, or `None` if the order was refused.
pub(super) fn bump_answer(is_reseeded: Option<bool>) -> Answer {
    let kind = match is_reseeded {
        Some(true) => protocol::Answer::Bumped,
        Some(false) => protocol::Answer::BumpedWithoutKernel,
        None => protocol::Answer::Refused,
    };
    Answer {
        head: kind.head().into(),
        ..Answer::default()
    }
}

/// A document that the web sockets send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its media type.
    pub media_type: &'static str,
    /// Its bytes.
    pub body: Vec<u8>,
}

// As much of HTTP/1.1 as a browser, curl and Prometheus need to read documents: GET and HEAD, one request for each
// connection.

/// The longest head of a request.
pub const MAX_HTTP_BYTES: usize = 8192;

/// The most headers of a request.
const MAX_HEADERS: usize = 64;

/// The next request in `input`. `find` returns the document at a path.
pub fn next_http(input: &[u8], find: impl FnOnce(&str) -> Option<Document>) -> Step<'static> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(input) {
        Ok(httparse::Status::Partial) if input.len() < MAX_HTTP_BYTES => return Step::More,
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return hostile(431, "Request Header Fields Too Large"),
        Err(_) => return hostile(400, "Bad Request"),
    }
    // A browser sends the name by which it found the page. If that is not a loopback name, a foreign site has made its own
    // name point to this machine, to read what only users of this machine may see.
    let mut headers = request.headers.iter();
    if headers.any(|header| header.name.eq_ignore_ascii_case("host") && !is_local(header.value)) {
        return hostile(421, "Misdirected Request");
    }
    let is_head = request.method == Some("HEAD");
    if !is_head && request.method != Some("GET") {
        return hostile(405, "Method Not Allowed");
    }
    let path = request.path.unwrap_or("/");
    let path = path.split('?').next().unwrap_or("/");
    let response = match find(path) {
        Some(document) => response(200, "OK", &document, is_head),
        None => response(404, "Not Found", &text("there is no such page\n"), is_head),
    };
    Step::Answer {
        used: input.len(),
        mix: &[],
        answer: last(response),
    }
}

/// Whether a name, with or without a port, is a loopback name.
fn is_local(host: &[u8]) -> bool {
    let Ok(host) = core::str::from_utf8(host) else {
        return false;
    };
    let (name, port) = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, rest)) => (name, rest),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    if !(port.is_empty() || port.starts_with(':')) {
        return false;
    }
    let is_loopback = |address: std::net::IpAddr| address.is_loopback();
    name.is_empty() || name == "localhost" || name.parse().is_ok_and(is_loopback)
}

fn text(line: &str) -> Document {
    Document {
        media_type: "text/plain; charset=utf-8",
        body: line.into(),
    }
}

fn hostile(status: u16, reason: &str) -> Step<'static> {
    let body = text(&format!("{reason}\n"));
    Step::Hostile(last(response(status, reason, &body, false)))
}

fn last(response: Vec<u8>) -> Answer {
    Answer {
        head: response,
        random: 0,
        is_last: true,
    }
}

/// No document has a script or fetches anything. The header that says so keeps a browser from running what a name might
/// smuggle in.
fn response(status: u16, reason: &str, document: &Document, is_head: bool) -> Vec<u8> {
    let mut response = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Content-Security-Policy: {POLICY}; frame-ancestors 'none'\r\n\r\n",
        document.media_type,
        document.body.len()
    )
    .into_bytes();
    if !is_head {
        response.extend_from_slice(&document.body);
    }
    response
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
        match next_egd(input, facts) {
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
        let Step::Answer { used, mix, answer } = next_egd(&request, READY) else {
            panic!("no answer");
        };
        assert_eq!((used, mix, answer), (6, &[7, 9][..], Answer::default()));
    }

    #[test]
    fn before_the_seed_nothing_is_available_and_a_read_that_may_wait_waits() {
        assert_eq!(sent(&[0], EARLY), (1, vec![0, 0, 0, 0], 0));
        assert_eq!(sent(&[1, 9], EARLY), (2, vec![0], 0));
        assert_eq!(next_egd(&[2, 9], EARLY), Step::Wait);
    }

    #[test]
    fn a_part_of_a_request_waits_for_the_rest_and_an_unknown_one_ends_the_connection() {
        for part in [&[][..], &[1], &[2], &[3], &[3, 0, 8], &[3, 0, 8, 2, 7]] {
            assert_eq!(next_egd(part, READY), Step::More, "{part:?}");
        }
        assert!(matches!(next_egd(&[5], READY), Step::Hostile(_)));
        assert!(matches!(next_egd(&[255, 1], READY), Step::Hostile(_)));
    }

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
            let Step::Answer { used, answer, .. } = next_bulk(&request, facts) else {
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
        assert_eq!(next_bulk(&request, READY), Step::More);
        request.extend([9, 1]);
        let Step::Answer { used, mix, .. } = next_bulk(&request, READY) else {
            panic!("no answer");
        };
        assert_eq!((used, mix), (11, &[7, 8, 9][..]));
    }

    #[test]
    fn an_order_is_taken_when_all_of_its_secret_is_there() {
        let mut request = Request::Bump(32).head().to_vec();
        request.extend([7; 31]);
        assert_eq!(next_bulk(&request, READY), Step::More);
        request.extend([8, 9]);
        let mut nonce = [7; 32];
        nonce[31] = 8;
        let whole = Step::Bump {
            used: 40,
            nonce: &nonce,
        };
        assert_eq!(next_bulk(&request, READY), whole);
        let without = Step::Bump {
            used: 8,
            nonce: &[],
        };
        assert_eq!(next_bulk(&Request::Bump(0).head(), READY), without);
        let kinds = [Some(true), Some(false), None].map(|is| bump_answer(is).head[1]);
        assert_eq!(kinds, [5, 7, 6]);
    }

    #[test]
    fn another_protocol_is_told_so_and_ended() {
        let Step::Hostile(answer) = next_bulk(b"GET / HTTP/1.1\r\n", READY) else {
            panic!("accepted");
        };
        assert_eq!(answer.head, protocol::Answer::Malformed.head());
    }

    fn status(request: &[u8]) -> String {
        let find = |path: &str| (path == "/metrics").then(|| text("body\n"));
        let answer = match next_http(request, find) {
            Step::Answer { answer, .. } | Step::Hostile(answer) => answer,
            other => panic!("{other:?}"),
        };
        let sent = String::from_utf8(answer.head).unwrap();
        assert!(answer.is_last && sent.contains("Connection: close"));
        let (head, body) = sent.split_once("\r\n\r\n").unwrap();
        format!("{} {body}", &head[9..12])
    }

    #[test]
    fn documents_are_found_by_their_path() {
        assert_eq!(
            status(b"GET /metrics HTTP/1.1\r\nHost: x.localhost\r\n\r\n")[..3],
            *"421"
        );
        assert_eq!(
            status(b"GET /metrics?a=b HTTP/1.1\r\nHost: localhost:80\r\n\r\n"),
            "200 body\n"
        );
        assert_eq!(
            status(b"GET /metrics HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"),
            "200 body\n"
        );
        assert_eq!(status(b"GET /metrics HTTP/1.0\r\n\r\n"), "200 body\n");
        assert_eq!(status(b"HEAD /metrics HTTP/1.1\r\n\r\n"), "200 ");
        assert_eq!(status(b"GET /x HTTP/1.1\r\n\r\n")[..3], *"404");
    }

    #[test]
    fn what_is_no_request_for_a_document_of_this_machine_is_refused() {
        assert_eq!(status(b"POST /metrics HTTP/1.1\r\n\r\n")[..3], *"405");
        assert_eq!(status(b"\x00\x01\x02")[..3], *"400");
        assert_eq!(
            status(b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")[..3],
            *"421"
        );
        for host in [
            "[::1].evil.example",
            "127.0.0.1.evil.example",
            "localhost\r\nHost: evil.example",
        ] {
            let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert_eq!(status(request.as_bytes())[..3], *"421", "{host}");
        }
        let long = [
            b"GET / HTTP/1.1\r\nX: ".to_vec(),
            vec![b'x'; MAX_HTTP_BYTES],
        ]
        .concat();
        assert_eq!(status(&long)[..3], *"431");
    }

    #[test]
    fn a_part_of_a_request_waits_for_the_rest() {
        let step = next_http(b"GET / HT", |_| None);
        assert_eq!(step, Step::More);
    }
}

//! As much of HTTP/1.1 as a browser, curl and Prometheus need to read documents: GET and HEAD, one request for each
//! connection.

use super::session::{Answer, Step};
use crate::status::Document;

/// The longest head of a request.
pub const MAX_REQUEST_BYTES: usize = 8192;

/// The most headers of a request.
const MAX_HEADERS: usize = 64;

/// The next request in `input`. `find` returns the document at a path.
pub fn next(input: &[u8], find: impl FnOnce(&str) -> Option<Document>) -> Step<'static> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(input) {
        Ok(httparse::Status::Partial) if input.len() < MAX_REQUEST_BYTES => return Step::More,
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return hostile(431, "Request Header Fields Too Large"),
        Err(_) => return hostile(400, "Bad Request"),
    }
    // A browser sends the name by which it found the page. If that is no loopback name, a foreign site has made its own
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

/// No document has a script or a picture, or fetches anything: a browser that is told so runs nothing that a name might
/// smuggle in.
fn response(status: u16, reason: &str, document: &Document, is_head: bool) -> Vec<u8> {
    let mut response = format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n\r\n",
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

    fn status(request: &[u8]) -> String {
        let find = |path: &str| (path == "/metrics").then(|| text("body\n"));
        let answer = match next(request, find) {
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
            vec![b'x'; MAX_REQUEST_BYTES],
        ]
        .concat();
        assert_eq!(status(&long)[..3], *"431");
    }

    #[test]
    fn a_part_of_a_request_waits_for_the_rest() {
        let step = next(b"GET / HT", |_| None);
        assert_eq!(step, Step::More);
    }
}

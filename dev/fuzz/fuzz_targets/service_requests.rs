//! The three protocols of the service on any bytes: no panic, no request that is longer than what came in, and a
//! request that is complete stays the same when more bytes follow it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wellspring_service::sockets::protocols::{
    Facts, MAX_BULK_BYTES, MAX_EGD_BYTES, MAX_HTTP_BYTES, Step, next_bulk, next_egd, next_http,
};

fuzz_target!(|data: &[u8]| {
    let facts = Facts {
        is_ready: data.len().is_multiple_of(2),
        process: u32::MAX,
    };
    for (next, most) in [
        (
            next_egd as fn(&[u8], Facts) -> Step<'_>,
            MAX_EGD_BYTES,
        ),
        (next_bulk, MAX_BULK_BYTES),
    ] {
        let Step::Answer { used, mix, answer } = next(data, facts) else {
            // Input that is as long as the longest request is a complete request, or none at all.
            assert!(next(data, facts) != Step::More || data.len() < most);
            continue;
        };
        assert!((1..=data.len().min(most)).contains(&used) && mix.len() < used);
        let Step::Answer { used: again, .. } = next(&data[..used], facts) else {
            panic!("a complete request needs no bytes after it");
        };
        assert_eq!(used, again);
        assert!(answer.head.len() <= 16 && answer.random <= 1 << 24);
    }
    match next_http(data, |_| None) {
        Step::More => assert!(data.len() < MAX_HTTP_BYTES),
        Step::Answer { answer, .. } | Step::Hostile(answer) => {
            assert!(answer.is_last && answer.head.starts_with(b"HTTP/1.1 "));
        }
        Step::Wait | Step::Bump { .. } => panic!("no document waits or gives an order"),
    }
});

//! wellspring beside uuid, rayon, tokio, proptest, rustls and OpenTelemetry. Each example is a function with a
//! test: `cargo test` here.

use opentelemetry::trace::{SpanId, TraceId};
use opentelemetry_sdk::trace::{IdGenerator, SdkTracerProvider};
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use rayon::prelude::*;
use rustls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom};
use uuid::{Builder, Uuid};
use wellspring_pseudo::{Algorithm, Path, Stream};

/// uuid: a random UUID (version 4) that is fit to be a secret, such as the name of a session.
pub fn session_id() -> Uuid {
    Builder::from_random_bytes(wellspring::bytes()).into_uuid()
}

/// uuid: a UUID of version 7, for keys of a database: a thread's are in ascending order.
pub fn row_id() -> Uuid {
    Uuid::from_bytes(wellspring::ids::uuid7())
}

/// rayon: a key for each of many records. The threads of the pool read from their own taps and share nothing.
pub fn keys(count: usize) -> Vec<[u8; 32]> {
    (0..count)
        .into_par_iter()
        .map(|_| wellspring::bytes())
        .collect()
}

/// rayon: a simulation that gives the same result with any number of threads. Each part has a stream of its own, named by
/// the seed and the number of the part. Returns an estimate of pi.
pub fn pi(seed: u128, parts: u64) -> f64 {
    const POINTS: u64 = 10_000;
    let fraction = |bytes: &[u8]| {
        f64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])) / 2f64.powi(32)
    };
    let inside: u64 = (0..parts)
        .into_par_iter()
        .map(|part| {
            let path: Path = part.to_string().parse().expect("a number is a path");
            let mut stream = Stream::new(Algorithm::Xoshiro256PlusPlus, seed, &path);
            let mut points = vec![0; 8 * POINTS as usize];
            stream.fill(&mut points);
            let is_inside =
                |point: &&[u8]| fraction(point).powi(2) + fraction(&point[4..]).powi(2) < 1.0;
            points.chunks(8).filter(is_inside).count() as u64
        })
        .sum();
    4.0 * inside as f64 / (parts * POINTS) as f64
}

/// tokio: how long to wait before the next of several attempts, in milliseconds: a fair choice up to a limit that
/// doubles. A task may draw anywhere: a read neither blocks nor holds anything across an await, once the engine is seeded.
pub async fn backoff_ms(attempt: u32) -> u64 {
    let limit_ms = 100u64 << attempt.min(6);
    wellspring_pseudo_thread::below(limit_ms)
}

/// proptest: a runner that gets its seed from the engine. To repeat a failure, pass the seed that a report shows.
pub fn runner(seed: [u8; 32]) -> TestRunner {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    TestRunner::new_with_rng(Default::default(), rng)
}

/// rustls: a provider whose randoms, session identifiers and names of tickets come from wellspring. The key exchange and
/// the signatures of ring draw on ring's own generator.
pub fn provider() -> CryptoProvider {
    #[derive(Debug)]
    struct Wellspring;

    impl SecureRandom for Wellspring {
        fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
            wellspring::try_fill(bytes).map_err(|_| GetRandomFailed)
        }
    }

    CryptoProvider {
        secure_random: &Wellspring,
        ..rustls::crypto::ring::default_provider()
    }
}

/// OpenTelemetry: the identifiers of traces and spans. The SDK's own generator is seeded once for each thread, so that a child
/// of fork(2) and a clone of the machine give its identifiers again. The SDK 0.33 has no way to set W3C's flag that an
/// identifier is random, not even for its own.
#[derive(Debug)]
pub struct TraceIds;

impl IdGenerator for TraceIds {
    fn new_trace_id(&self) -> TraceId {
        TraceId::from_bytes(wellspring::bytes())
    }

    fn new_span_id(&self) -> SpanId {
        // Zero is no identifier of a span.
        SpanId::from(wellspring::range(1..))
    }
}

pub fn tracers() -> SdkTracerProvider {
    SdkTracerProvider::builder()
        .with_id_generator(TraceIds)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::sync::Arc;

    #[test]
    fn uuids_are_of_version_4_and_differ() {
        assert_eq!(session_id().get_version_num(), 4);
        assert_ne!(session_id(), session_id());
    }

    #[test]
    fn uuids_of_version_7_ascend_and_have_the_text_of_the_crate_uuid() {
        let first = row_id();
        assert_eq!(first.get_version_num(), 7);
        assert_eq!(
            *wellspring::ids::uuid_text(first.into_bytes()),
            first.to_string()
        );
        assert!(first < row_id());
    }

    #[test]
    fn keys_of_all_threads_differ() {
        assert_eq!(
            keys(10_000).into_iter().collect::<HashSet<_>>().len(),
            10_000
        );
    }

    #[test]
    fn a_simulation_does_not_depend_on_the_number_of_threads() {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            pool.unwrap().install(|| pi(2026, 20))
        };
        assert_eq!(with(1), with(4));
        assert!((with(2) - std::f64::consts::PI).abs() < 0.02);
    }

    #[test]
    fn tasks_draw_on_any_thread() {
        let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        runtime.block_on(async {
            for attempt in 0..10 {
                let wait_ms = tokio::spawn(backoff_ms(attempt)).await.unwrap();
                assert!(wait_ms < 100 << attempt.min(6));
            }
        });
    }

    #[test]
    fn a_property_of_below_holds_for_any_count() {
        let seed = wellspring::bytes();
        println!("seed {seed:?}");
        let counts = 1u64..;
        let property = |count| {
            proptest::prop_assert!(wellspring::below(count) < count);
            Ok(())
        };
        runner(seed).run(&counts, property).unwrap();
    }

    /// The random of the first message of a client, which rustls takes from its provider.
    fn client_random(provider: CryptoProvider) -> Vec<u8> {
        let config = rustls::ClientConfig::builder_with_provider(Arc::new(provider));
        let config = config.with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(rustls::RootCertStore::empty());
        let config = Arc::new(config.with_no_client_auth());
        let name = "localhost".try_into().unwrap();
        let mut client = rustls::ClientConnection::new(config, name).unwrap();
        let mut sent = Vec::new();
        client.write_tls(&mut sent).unwrap();
        // After the heads of the record and of the message, 5 and 4 bytes, and the version (RFC 8446, section 4.1.2).
        sent[11..43].to_vec()
    }

    #[test]
    fn a_client_of_tls_draws_on_wellspring() {
        let ours = provider();
        assert_eq!(format!("{:?}", ours.secure_random), "Wellspring");
        assert_ne!(client_random(ours), client_random(provider()));
    }

    #[test]
    fn spans_have_identifiers_of_wellspring() {
        use opentelemetry::trace::{Span, Tracer, TracerProvider};
        let tracers = tracers();
        let seen: HashSet<_> = (0..1000)
            .map(|_| {
                let span = tracers.tracer("test").start("work");
                let context = span.span_context().clone();
                assert!(context.is_valid());
                (context.trace_id(), context.span_id())
            })
            .collect();
        assert_eq!(seen.len(), 1000);
        assert!(format!("{tracers:?}").contains("TraceIds"));
    }

    /// `cargo test --release --manifest-path examples/Cargo.toml -- --ignored --nocapture`
    #[test]
    #[ignore = "measures, and checks nothing"]
    fn nanoseconds_of_identifiers_beside_the_sdks_own() {
        use opentelemetry_sdk::trace::RandomIdGenerator;
        use std::hint::black_box;
        use std::thread;
        use std::time::Instant;

        fn nanoseconds(threads: usize, call: impl Fn() + Sync) -> f64 {
            const CALLS: usize = 200_000;
            let cores = thread::available_parallelism().map_or(1, usize::from);
            let start = Instant::now();
            thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| (0..CALLS).for_each(|_| call()));
                }
            });
            start.elapsed().as_nanos() as f64 / (threads * CALLS) as f64 * cores.min(threads) as f64
        }
        let sdk = RandomIdGenerator::default();
        for threads in [1, 64] {
            let mut times = [const { Vec::new() }; 4];
            for _ in 0..31 {
                times[0].push(nanoseconds(threads, || {
                    drop(black_box(TraceIds.new_trace_id()))
                }));
                times[1].push(nanoseconds(threads, || drop(black_box(sdk.new_trace_id()))));
                times[2].push(nanoseconds(threads, || {
                    drop(black_box(TraceIds.new_span_id()))
                }));
                times[3].push(nanoseconds(threads, || drop(black_box(sdk.new_span_id()))));
            }
            let [trace, sdk_trace, span, sdk_span] = times.map(|mut times| {
                times.sort_by(f64::total_cmp);
                times[times.len() / 2]
            });
            println!("{threads} threads: trace {trace:.1}, the SDK's {sdk_trace:.1}");
            println!("{threads} threads: span {span:.1}, the SDK's {sdk_span:.1}");
        }
    }
}

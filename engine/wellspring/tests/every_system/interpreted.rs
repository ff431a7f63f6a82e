//! Cases for Miri: engines with a seed and no sources, small enough to end. `cargo xtask miri` looks for
//! undefined behaviour in them; in an ordinary run they check that such an engine says the same every time.

use wellspring::{Engine, Mode, Prf};

/// An engine that asks nothing of the machine but memory and the time.
fn engine(mode: Mode, prf: Prf) -> Engine {
    let builder = Engine::builder().mode(mode).prf(prf).sources([]);
    let builder = builder.topology("nodes=2,cpus=2".parse().unwrap());
    let builder = builder.generation_page("/none").vmclock("/none");
    builder.seed(&[7; 32]).build().unwrap()
}

/// All kinds of reads.
fn draw(engine: &Engine) -> Vec<u8> {
    let mut bytes = vec![0; 100];
    engine.fill(&mut bytes);
    bytes.extend(engine.u64().to_ne_bytes());
    bytes.extend(engine.bytes::<32>());
    let mut rng = engine.rng();
    let mut more = [0; 65];
    rng.fill(&mut more);
    bytes.extend(more);
    bytes
}

fn assert_is_random(bytes: &[u8]) {
    let mut blocks: Vec<_> = bytes.chunks_exact(8).collect();
    let count = blocks.len();
    blocks.sort_unstable();
    blocks.dedup();
    assert_eq!(blocks.len(), count, "the same 8 bytes twice");
}

#[test]
fn every_mode_and_function_is_read() {
    for mode in Mode::ALL {
        for prf in [Prf::Aes256, Prf::ChaCha20] {
            if cfg!(miri) && prf == Prf::ChaCha20 && mode != Mode::PerThread {
                continue;
            }
            let engine = engine(mode, prf);
            let bytes = draw(&engine);
            assert_is_random(&bytes);
        }
    }
}

#[test]
fn a_tap_gives_more_than_its_buffer_holds() {
    let engine = engine(Mode::PerThread, Prf::ChaCha20);
    let mut bytes = vec![0; 6656 + 64];
    let pieces = if cfg!(miri) { 2 } else { 8 };
    for piece in bytes.chunks_mut((6656 + 64) / pieces) {
        engine.fill(piece);
    }
    assert_is_random(&bytes);
}

#[test]
fn two_threads_read_and_end() {
    let engine = engine(Mode::PerThread, Prf::ChaCha20);
    let halves = std::thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(|| draw(&engine)));
        threads.map(|thread| thread.join().unwrap())
    });
    assert_is_random(&halves.concat()[..2 * halves[0].len()]);
    assert_ne!(halves[0], halves[1]);
}

#[test]
fn an_order_to_diverge_parts_twins() {
    let [one, other] = [(); 2].map(|()| engine(Mode::PerThread, Prf::ChaCha20));
    assert_eq!(one.bytes::<32>(), other.bytes::<32>());
    one.diverge_from_clones();
    assert_ne!(one.bytes::<32>(), other.bytes::<32>());
}

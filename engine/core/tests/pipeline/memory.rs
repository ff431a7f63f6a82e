//! Memory after a call: no secret is left after its use, neither in the structs nor on the stack.

use super::reading::{bytes_of, read_memory};
use std::collections::HashSet;
use std::hint::black_box;
use wellspring_cipher::sha256::Sha256;
use wellspring_core::distribution::Distribution;
use wellspring_core::generator::Reservation;
use wellspring_core::node::{Inlet, Node, Seed};
use wellspring_core::pool::{Event, Queue, Trigger};
use wellspring_core::seed_file::SeedFile;
use wellspring_core::tap::{FRESH_BYTES, Refill, Tap};
use wellspring_core::{Backend, Prf};

/// How much of the stack is searched: more than any call takes, the 16 KiB that are wiped in debug builds included.
const STACK_BYTES: usize = 64 << 10;

/// Room for the frames of the search, above the frames that it searches.
const ROOM_BYTES: usize = 16 << 10;

/// Secrets are searched for in pieces of this size at every offset: the compiler may spill them in parts. In one of
/// 10^12 runs, 8 bytes of other memory are equal by chance.
const PIECE_BYTES: usize = 8;

/// Bytes that repeat nowhere: `number` names them.
fn noise(number: u32) -> [u8; 32] {
    Sha256::digest(&number.to_le_bytes())
}

fn twice(parts: &[&[u8]]) -> [u8; 32] {
    Sha256::digest(&Sha256::digest(&parts.concat()))
}

/// The values that must not be found, in pieces at every offset.
#[derive(Default)]
struct Secrets {
    pieces: HashSet<[u8; PIECE_BYTES]>,
}

impl Secrets {
    fn add(&mut self, secret: &[u8]) {
        let pieces = secret.windows(PIECE_BYTES);
        let pieces = pieces.filter(|piece| piece.iter().any(|&byte| byte != 0));
        self.pieces
            .extend(pieces.map(|piece| <[u8; PIECE_BYTES]>::try_from(piece).unwrap()));
    }

    /// The place of a piece of a secret in some memory.
    fn find(&self, memory: &[u8]) -> Option<usize> {
        memory
            .windows(PIECE_BYTES)
            .position(|window| self.pieces.contains(window))
    }
}

const PORTABLE: Backend = Backend::Aes256Portable;

/// The pipeline of two nodes with a tap, in memory that does not move.
struct Pipeline {
    backend: Backend,
    queue: Queue,
    event: Event,
    distribution: Distribution,
    inlets: [Inlet; 2],
    nodes: [Node; 2],
    reservation: Reservation,
    tap: Tap<192>,
    keys: [[u8; 32]; 2],
    output: Vec<u8>,
    files: Vec<SeedFile>,
    seed: [u8; 32],
}

impl Pipeline {
    fn new(backend: Backend) -> Box<Self> {
        Box::new(Self {
            backend,
            queue: Queue::ZERO,
            event: Event::ZERO,
            distribution: Distribution::ZERO,
            inlets: [Inlet::ZERO, Inlet::ZERO],
            nodes: [Node::ZERO, Node::ZERO],
            reservation: Reservation::ZERO,
            tap: Tap::ZERO,
            keys: [[0; 32]; 2],
            output: vec![0; 5000],
            files: Vec::with_capacity(2),
            seed: [0; 32],
        })
    }

    /// The events of one reseed through the queue into the pools: two for each pool.
    fn gather(&mut self, noise: &[[u8; 32]]) {
        for (number, data) in noise.iter().enumerate() {
            self.event.set(1, number, data, 256);
            assert!(self.queue.push(&self.event));
            assert!(self.queue.pop_into(&mut self.event));
            self.distribution.absorb(&self.event);
        }
        self.event.set(0, 0, &[], 0);
    }

    fn deliver(&mut self, now_ms: u64, nodes: usize) {
        let (inlets, pools) = (&self.inlets, &mut self.distribution);
        let delivered = pools.deliver(now_ms, Trigger::Scheduled, nodes, &inlets[0]);
        let mut round = delivered.unwrap();
        while let Some(number) = pools.next(&mut round) {
            let inlet = &inlets[number];
            if round.wants(number, inlet) && inlet.is_empty() {
                pools.post(&mut round, number, inlet);
            }
        }
    }

    fn receive(&mut self, number: usize) {
        self.nodes[number].receive(&self.inlets[number]);
        self.keys[number].copy_from_slice(self.nodes[number].generator().state().0);
    }
}

type Step = (&'static str, fn(&mut Pipeline, &Inputs));

struct Inputs {
    noise: Vec<[u8; 32]>,
    file: Vec<u8>,
}

/// Everything that the pipeline does with secrets, in the order in which it happens.
const STEPS: &[Step] = &[
    ("events to the pools", |p, inputs| {
        p.gather(&inputs.noise[..64])
    }),
    ("a seed to node 0", |p, _| p.deliver(1000, 1)),
    ("node 0 takes it", |p, _| p.receive(0)),
    ("node 0 initialises node 1", |p, _| {
        p.nodes[0].initialise(p.backend, 1, &p.inlets[1]);
    }),
    ("node 1 takes its first seed", |p, _| p.receive(1)),
    ("more events", |p, inputs| p.gather(&inputs.noise[64..])),
    ("seeds to both nodes", |p, _| p.deliver(2000, 2)),
    ("node 0 takes the second", |p, _| p.receive(0)),
    ("node 1 takes the second", |p, _| p.receive(1)),
    ("data that is mixed in", |p, inputs| {
        p.event.set(1, 0, &inputs.noise[7], 0);
        p.distribution.mix(&p.event);
        p.event.set(0, 0, &[], 0);
    }),
    ("an order", |p, inputs| {
        p.gather(&inputs.noise[64..]);
        assert!(p.distribution.order(2000, Trigger::Forced, &p.inlets[0]));
        p.receive(0);
        p.nodes[0].stir(0, p.distribution.chain());
    }),
    ("a stir", |p, inputs| p.nodes[1].stir(1, &inputs.noise[3])),
    ("a concurrent read", |p, _| {
        p.nodes[0].reserve(p.backend, p.output.len(), &mut p.reservation);
        p.reservation.generate(p.backend, &mut p.output);
        p.reservation.clear();
    }),
    ("a canonical read", |p, _| {
        let rest = p.nodes[0].generator().read_chunk(p.backend, &mut p.output);
        assert_eq!(rest.len(), 5000 - 4096);
    }),
    ("a tap's key", |p, inputs| {
        p.tap.fields().rekey(&inputs.noise[5], 1)
    }),
    ("a tap's read", |p, inputs| {
        let mut tap = p.tap.fields();
        let rest = tap.take_left(&mut p.output[..48]);
        tap.mix(inputs.noise[6].first_chunk::<FRESH_BYTES>().unwrap());
        tap.refill(p.backend, Refill::Whole, rest);
    }),
    ("a seed file is read", |p, inputs| {
        p.files.push(SeedFile::parse(&inputs.file).unwrap());
    }),
    ("its seed", |p, _| p.files[0].seed_into(&mut p.seed)),
    ("its successor", |p, inputs| {
        let next = SeedFile::successor(Some(&p.files[0]), &inputs.noise[7..9], 256);
        p.files.push(next);
    }),
    ("its bytes", |p, _| drop(p.files[1].to_bytes())),
    ("its end", |p, _| p.files.clear()),
];

fn inputs() -> Inputs {
    let noise: Vec<[u8; 32]> = (0..128).map(noise).collect();
    let file = SeedFile::successor(None, &noise[10..12], 256);
    Inputs {
        file: file.to_bytes().to_vec(),
        noise,
    }
}

/// The secrets of a seed file: all but its header and its checksum.
fn sections(file: &[u8]) -> &[u8] {
    &file[72..file.len() - 32]
}

/// The seed of reseed 1: pool 0 got events 0 and 32.
fn first_seed(noise: &[[u8; 32]]) -> [u8; 32] {
    let counter = 1u32.to_le_bytes();
    twice(&[&counter, &noise[0], &counter, &noise[32]])
}

/// Everything that may be found neither on the stack nor, once it was used, in the structs.
fn secrets(inputs: &Inputs) -> Secrets {
    let mut secrets = Secrets::default();
    inputs.noise.iter().for_each(|noise| secrets.add(noise));
    secrets.add(sections(&inputs.file));
    let first = first_seed(&inputs.noise);
    let chain = twice(&[b"wellspring seed chain", &[0; 32], &first]);
    secrets.add(&first);
    secrets.add(&chain);
    secrets
}

/// The keys and outputs of a run, step by step: secrets, too.
fn add_keys(pipeline: &mut Pipeline, secrets: &mut Secrets) {
    for node in &mut pipeline.nodes {
        secrets.add(node.generator().state().0);
    }
    secrets.add(&pipeline.output);
    secrets.add(&pipeline.seed);
    for file in &pipeline.files {
        secrets.add(sections(&file.to_bytes()));
    }
}

/// Zeroes the stack that the search reads.
#[inline(never)]
fn scrub() {
    black_box([0u8; STACK_BYTES + ROOM_BYTES]);
}

/// Runs `action` on a part of the stack that the search does not write to.
#[inline(never)]
fn with_room(action: impl FnOnce()) {
    let room = black_box([0u8; ROOM_BYTES]);
    action();
    black_box(&room);
}

/// Reads the stack below the caller's frame.
#[inline(never)]
fn read_stack(bytes: &mut [u8]) {
    let here = black_box(0u8);
    let top = &raw const here as usize;
    read_memory(top - bytes.len(), bytes);
}

#[test]
fn no_step_leaves_a_secret_on_the_stack() {
    let inputs = inputs();
    for backend in [
        PORTABLE,
        Backend::detect(Prf::Aes256),
        Backend::detect(Prf::ChaCha20),
    ] {
        let mut secrets = secrets(&inputs);
        let mut rehearsal = Pipeline::new(backend);
        for (_, step) in STEPS {
            step(&mut rehearsal, &inputs);
            add_keys(&mut rehearsal, &mut secrets);
        }
        let mut pipeline = Pipeline::new(backend);
        let mut stack = vec![0; STACK_BYTES];
        let mut faults = Vec::new();
        for (name, step) in STEPS {
            scrub();
            with_room(|| step(&mut pipeline, &inputs));
            read_stack(&mut stack);
            if let Some(offset) = secrets.find(&stack) {
                faults.push((name, STACK_BYTES - offset));
            }
        }
        assert!(
            faults.is_empty(),
            "{backend}: steps, bytes below: {faults:?}"
        );
    }
}

/// Fills the stack that is read with a byte that no call leaves there.
#[cfg(not(debug_assertions))]
#[inline(never)]
fn paint() {
    black_box([PAINT; STACK_BYTES + ROOM_BYTES]);
}

#[cfg(not(debug_assertions))]
const PAINT: u8 = 0xa5;

/// In optimised code, on the fastest backends of this machine: the portable ones wipe 4 KiB of stack by themselves. The
/// caller may be a signal handler on an alternate stack of 8 KiB.
#[test]
#[cfg(not(debug_assertions))]
fn no_step_takes_more_than_2_kib_of_stack() {
    let inputs = inputs();
    let mut stack = vec![0; STACK_BYTES];
    for prf in Prf::ALL {
        let backend = Backend::detect(prf);
        if [Backend::Aes256Portable, Backend::ChaCha20Portable].contains(&backend) {
            println!("SKIPPED: {backend} wipes 4 KiB of stack");
            continue;
        }
        let mut pipeline = Pipeline::new(backend);
        for (name, step) in STEPS {
            paint();
            with_room(|| step(&mut pipeline, &inputs));
            read_stack(&mut stack);
            let untouched = stack.iter().take_while(|&&byte| byte == PAINT).count();
            let taken = (STACK_BYTES - untouched).saturating_sub(ROOM_BYTES);
            assert!(taken <= 2048, "{prf}, {name}: {taken} bytes");
        }
    }
}

#[test]
fn the_search_finds_a_seed_that_moves() {
    #[inline(never)]
    fn returned(bytes: &[u8; 32]) -> Seed {
        let mut seed = Seed::ZERO;
        seed.set(bytes, 0);
        seed
    }
    let mut secrets = Secrets::default();
    secrets.add(&noise(1));
    let (input, mut stack) = (Box::new(noise(1)), vec![0; STACK_BYTES]);
    scrub();
    with_room(|| {
        // One move into a box: what every move of a value does.
        black_box(Box::new(black_box(returned(&input))));
    });
    read_stack(&mut stack);
    assert!(secrets.find(&stack).is_some());
}

#[test]
fn of_pools_and_seeds_nothing_stays_in_the_structs_after_delivery() {
    let inputs = inputs();
    let mut pipeline = Pipeline::new(PORTABLE);
    pipeline.gather(&inputs.noise[..64]);
    pipeline.deliver(1000, 1);
    pipeline.receive(0);

    let mut secrets = Secrets::default();
    let counter = 1u32.to_le_bytes();
    let inner =
        Sha256::digest(&[&counter[..], &inputs.noise[0], &counter, &inputs.noise[32]].concat());
    let seed = first_seed(&inputs.noise);
    secrets.add(&inner);
    secrets.add(&seed);
    // The noise of the pools that were not used is still in their hashes.
    secrets.add(&inputs.noise[0]);
    secrets.add(&inputs.noise[32]);
    secrets.add(&[0; 64]);
    let key = twice(&[&[0; 64], &seed]);
    assert_eq!(
        pipeline.nodes[0].generator().state().0,
        &key,
        "the model itself"
    );
    assert_eq!(secrets.find(&bytes_of(&*pipeline)), None);

    // The chain hands a seed to node 1; the old chain and the old key go.
    let chain = twice(&[b"wellspring seed chain", &[0; 32], &seed]);
    secrets.add(&chain);
    secrets.add(&key);
    pipeline.keys = [[0; 32]; 2];
    pipeline.gather(&inputs.noise[64..]);
    pipeline.deliver(2000, 2);
    pipeline.nodes[0].receive(&pipeline.inlets[0]);
    pipeline.nodes[1].receive(&pipeline.inlets[1]);
    assert!(pipeline.nodes[1].has_seed());
    assert_eq!(secrets.find(&bytes_of(&*pipeline)), None);
}

#[test]
fn the_best_backends_leave_nothing_of_a_reservation_in_the_node() {
    for prf in Prf::ALL {
        let backend = Backend::detect(prf);
        let mut pipeline = Pipeline::new(backend);
        pipeline.nodes[0].force(&noise(1), 7);
        let mut secrets = Secrets::default();
        secrets.add(&noise(1));
        pipeline.nodes[0].reserve(backend, 5000, &mut pipeline.reservation);
        pipeline.reservation.generate(backend, &mut pipeline.output);
        pipeline.reservation.clear();
        assert_eq!(secrets.find(&bytes_of(&*pipeline)), None, "{backend}");
    }
}

//! Components draw through the linker: from the engine and not from their store, each copy its own bytes, within bounds.
//!
//! Most components are written here, in the text format. Python and JavaScript draw too, if the packages that make components
//! of them are below `target/components`, where the gate installs componentize-py.

use std::collections::HashSet;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::process::Command;
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use testkit::process::{Fork, Shared, start};
use testkit::programs::{scratch, succeeds};
use wasmtime::component::{
    Component, ComponentNamedList, Instance, InstancePre, Lift, Linker, Lower, ResourceTable,
};
use wasmtime::{Config, Engine, OptLevel, RegallocAlgorithm, Result, Store};
use wasmtime_wasi::random::Deterministic;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView, p2, p3};
use wellspring_wasmtime::{MAX_BYTES, PIECE_BYTES, add_to_linker};

/// The state of a store with all of WASI.
struct State(WasiCtx, ResourceTable);

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.0,
            table: &mut self.1,
        }
    }
}

/// The first version of preview 2, the one that wasmtime-wasi defines, and preview 3.
const VERSIONS: [&str; 3] = ["0.2.0", "0.2.12", "0.3.0"];

/// A component that imports a version of the three interfaces. It hands on each function; `words` and `pieces` draw as often as
/// they are told.
fn guest(version: &str) -> String {
    let (length, seed) = if version < "0.3" {
        ("len", "insecure-seed")
    } else {
        ("max-len", "get-insecure-seed")
    };
    format!(
        r#"(component
  (import "wasi:random/random@{version}" (instance $random
    (export "get-random-bytes" (func (param "{length}" u64) (result (list u8))))
    (export "get-random-u64" (func (result u64)))))
  (import "wasi:random/insecure@{version}" (instance $insecure
    (export "get-insecure-random-bytes" (func (param "{length}" u64) (result (list u8))))
    (export "get-insecure-random-u64" (func (result u64)))))
  (import "wasi:random/insecure-seed@{version}" (instance $seed
    (export "{seed}" (func (result (tuple u64 u64))))))
  (core module $memory
    (memory (export "memory") 1040)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024)))
  (core instance $m (instantiate $memory))
  (alias core export $m "memory" (core memory $guest))
  (alias core export $m "realloc" (core func $realloc))
  (core func $bytes (canon lower (func $random "get-random-bytes") (memory $guest) (realloc $realloc)))
  (core func $word (canon lower (func $random "get-random-u64")))
  (core func $insecure-bytes
    (canon lower (func $insecure "get-insecure-random-bytes") (memory $guest) (realloc $realloc)))
  (core func $insecure-word (canon lower (func $insecure "get-insecure-random-u64")))
  (core func $pair (canon lower (func $seed "{seed}") (memory $guest)))
  (core module $main
    (import "h" "bytes" (func $bytes (param i64 i32)))
    (import "h" "word" (func $word (result i64)))
    (import "h" "insecure-bytes" (func $insecure-bytes (param i64 i32)))
    (import "h" "pair" (func $pair (param i32)))
    (func (export "bytes") (param i64) (result i32) (call $bytes (local.get 0) (i32.const 0)) (i32.const 0))
    (func (export "insecure-bytes") (param i64) (result i32)
      (call $insecure-bytes (local.get 0) (i32.const 0)) (i32.const 0))
    (func (export "seed") (result i32) (call $pair (i32.const 64)) (i32.const 64))
    (func (export "words") (param i64) (result i64) (local $sum i64)
      (loop $next
        (local.set $sum (i64.xor (local.get $sum) (call $word)))
        (br_if $next (i64.ne (i64.const 0) (local.tee 0 (i64.sub (local.get 0) (i64.const 1))))))
      (local.get $sum))
    (func (export "pieces") (param i64 i64)
      (loop $next
        (call $bytes (local.get 1) (i32.const 0))
        (br_if $next (i64.ne (i64.const 0) (local.tee 0 (i64.sub (local.get 0) (i64.const 1))))))))
  (core instance $main (instantiate $main (with "h" (instance
    (export "bytes" (func $bytes)) (export "word" (func $word))
    (export "insecure-bytes" (func $insecure-bytes)) (export "pair" (func $pair))))))
  (func (export "bytes") (param "length" u64) (result (list u8))
    (canon lift (core func $main "bytes") (memory $guest)))
  (func (export "insecure-bytes") (param "length" u64) (result (list u8))
    (canon lift (core func $main "insecure-bytes") (memory $guest)))
  (func (export "word") (result u64) (canon lift (core func $word)))
  (func (export "insecure-word") (result u64) (canon lift (core func $insecure-word)))
  (func (export "seed") (result (tuple u64 u64)) (canon lift (core func $main "seed") (memory $guest)))
  (func (export "words") (param "count" u64) (result u64) (canon lift (core func $main "words")))
  (func (export "pieces") (param "count" u64) (param "length" u64) (canon lift (core func $main "pieces"))))"#
    )
}

/// Who answers what a component asks of `wasi:random`.
#[derive(Clone, Copy)]
enum Host {
    Wasmtime,
    Wellspring,
}

fn linker(engine: &Engine, host: Host) -> Linker<State> {
    let mut linker = Linker::new(engine);
    p2::add_to_linker_sync(&mut linker).unwrap();
    p3::add_to_linker(&mut linker).unwrap();
    if matches!(host, Host::Wellspring) {
        add_to_linker(&mut linker).unwrap();
    }
    linker
}

/// The component of a version, ready to be instantiated.
fn ready(engine: &Engine, version: &str, host: Host) -> InstancePre<State> {
    let component = Component::new(engine, guest(version)).unwrap();
    linker(engine, host).instantiate_pre(&component).unwrap()
}

/// An instance and its store.
struct Guest {
    store: Store<State>,
    instance: Instance,
}

impl Guest {
    fn new(pre: &InstancePre<State>, context: WasiCtx) -> Self {
        let mut store = Store::new(pre.engine(), State(context, ResourceTable::new()));
        let instance = pre.instantiate(&mut store).unwrap();
        Self { store, instance }
    }

    /// With generators in the store that repeat a byte.
    fn with_constants(pre: &InstancePre<State>) -> Self {
        let mut context = WasiCtx::builder();
        context.secure_random(Deterministic::new(vec![7]));
        context.insecure_random(Deterministic::new(vec![7]));
        context.insecure_random_seed(7);
        Self::new(pre, context.build())
    }

    fn call<P, R>(&mut self, name: &str, parameters: P) -> Result<R>
    where
        P: ComponentNamedList + Lower,
        (R,): ComponentNamedList + Lift + 'static,
    {
        let function = self
            .instance
            .get_typed_func::<P, (R,)>(&mut self.store, name)?;
        Ok(function.call(&mut self.store, parameters)?.0)
    }

    fn bytes(&mut self, length: u64) -> Vec<u8> {
        self.call("bytes", (length,)).unwrap()
    }

    /// Draws `length` bytes `count` times.
    fn repeat(&mut self, count: u64, length: u64) {
        let instance = self.instance;
        let pieces = instance.get_typed_func::<(u64, u64), ()>(&mut self.store, "pieces");
        pieces
            .unwrap()
            .call(&mut self.store, (count, length))
            .unwrap();
    }
}

#[test]
fn every_version_draws_from_the_engine_and_not_from_the_store() {
    let engine = Engine::default();
    for version in VERSIONS {
        let mut theirs = Guest::with_constants(&ready(&engine, version, Host::Wasmtime));
        assert_eq!(theirs.bytes(16), [7; 16], "{version}");
        assert_eq!(theirs.call::<_, (u64, u64)>("seed", ()).unwrap(), (7, 0));

        let mut guest = Guest::with_constants(&ready(&engine, version, Host::Wellspring));
        let mut seen = HashSet::new();
        for name in ["bytes", "insecure-bytes"] {
            for length in [0, 1, 16, 4096, PIECE_BYTES] {
                let drawn: Vec<u8> = guest.call(name, (length,)).unwrap();
                assert_eq!(drawn.len() as u64, length, "{version} {name}");
                assert!(length < 16 || seen.insert(drawn), "{version} {name}");
            }
        }
        let mut words = HashSet::new();
        for _ in 0..100 {
            words.insert(guest.call("word", ()).unwrap());
            words.insert(guest.call("insecure-word", ()).unwrap());
            let (low, high): (u64, u64) = guest.call("seed", ()).unwrap();
            words.extend([low, high]);
        }
        assert_eq!(words.len(), 400, "{version}");
    }
}

/// Drives a future without a runtime: nothing that it waits for is outside this thread.
fn result_of<R>(future: impl Future<Output = R>) -> R {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..1000 {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
    }
    panic!("a function of the host waits");
}

#[test]
fn an_asynchronous_host_draws_too() {
    let engine = Engine::default();
    for version in VERSIONS {
        let mut linker = Linker::new(&engine);
        p2::add_to_linker_async(&mut linker).unwrap();
        p3::add_to_linker(&mut linker).unwrap();
        add_to_linker(&mut linker).unwrap();
        let component = Component::new(&engine, guest(version)).unwrap();
        let mut context = WasiCtx::builder();
        context.secure_random(Deterministic::new(vec![7]));
        let mut store = Store::new(&engine, State(context.build(), ResourceTable::new()));
        let instance = result_of(linker.instantiate_async(&mut store, &component)).unwrap();
        let bytes = instance
            .get_typed_func::<(u64,), (Vec<u8>,)>(&mut store, "bytes")
            .unwrap();
        let (drawn,) = result_of(bytes.call_async(&mut store, (32,))).unwrap();
        assert_eq!(drawn.len(), 32);
        assert_ne!(drawn, [7; 32], "{version}");
    }
}

#[test]
fn the_rest_of_wasi_comes_first_and_later_definitions_do_not_shadow() {
    let mut linker = Linker::<State>::new(&Engine::default());
    add_to_linker(&mut linker).unwrap();
    add_to_linker(&mut linker).unwrap();
    let refusals = [
        p2::add_to_linker_sync(&mut linker),
        p3::add_to_linker(&mut linker),
    ];
    for refused in refusals {
        let error = format!("{:?}", refused.unwrap_err());
        assert!(error.contains("defined twice"), "{error}");
    }
}

#[test]
fn too_many_bytes_are_a_trap_in_preview_2_and_a_short_answer_in_preview_3() {
    let engine = Engine::default();
    let second = ready(&engine, "0.2.12", Host::Wellspring);
    let third = ready(&engine, "0.3.0", Host::Wellspring);
    // Within the guest: wasmtime limits what a call copies out of it.
    Guest::with_constants(&second).repeat(1, MAX_BYTES);
    for length in [MAX_BYTES + 1, 1 << 32, u64::MAX] {
        for name in ["bytes", "insecure-bytes"] {
            let refused: Result<Vec<u8>> = Guest::with_constants(&second).call(name, (length,));
            let error = format!("{:?}", refused.unwrap_err());
            assert!(error.contains("more than 67108864"), "{error}");
            let drawn: Vec<u8> = Guest::with_constants(&third).call(name, (length,)).unwrap();
            assert_eq!(drawn.len() as u64, PIECE_BYTES);
        }
    }
}

#[test]
fn instances_that_start_from_one_snapshot_draw_different_bytes_on_every_thread() {
    let engine = Engine::default();
    for version in VERSIONS {
        let pre = ready(&engine, version, Host::Wellspring);
        let draw = || -> Vec<_> {
            (0..25)
                .map(|_| Guest::with_constants(&pre).bytes(32))
                .collect()
        };
        let drawn: Vec<_> = std::thread::scope(|scope| {
            let threads = [0; 4].map(|_| scope.spawn(draw));
            threads.map(|thread| thread.join().unwrap()).concat()
        });
        testkit::repeats::assert_nothing_in_common(&drawn, version);
    }
}

/// Runs an ignored test in a process that has no other test's threads.
fn alone(name: &str) {
    let words = ["--exact", name, "--ignored", "--test-threads=1"];
    let run = Command::new(std::env::current_exe().unwrap())
        .args(words)
        .output();
    assert!(succeeds(&run.unwrap()).contains("1 passed"));
}

/// The bytes that one reader draws.
const DRAWN: usize = 256;

/// A host and its children, made in both ways, draw from an instance that all have since before the fork, and from a new one.
/// wasmtime's own instance repeats.
#[test]
#[ignore = "the next test runs it, alone"]
fn host_that_forks() {
    let engine = Engine::default();
    for version in VERSIONS {
        let pre = ready(&engine, version, Host::Wellspring);
        let mut old = Guest::with_constants(&pre);
        let default = WasiCtx::builder().build();
        let mut theirs = Guest::new(&ready(&engine, version, Host::Wasmtime), default);
        assert_ne!(old.bytes(1000), theirs.bytes(1000));
        let mut draw = |answer: &mut [u8]| {
            let mut new = Guest::with_constants(&pre);
            let guests = [&mut old, &mut new, &mut theirs];
            for (part, guest) in answer.chunks_exact_mut(DRAWN).zip(guests) {
                part.copy_from_slice(&guest.bytes(DRAWN as u64));
            }
        };
        let mut shared = Shared::new(9 * DRAWN);
        let mut answers = shared.bytes().chunks_exact_mut(3 * DRAWN);
        for fork in Fork::BOTH {
            let answer = answers.next().unwrap();
            start(fork, || draw(answer)).join();
        }
        draw(answers.next().unwrap());
        let (ours, theirs): (Vec<_>, Vec<_>) = shared
            .bytes()
            .chunks_exact(3 * DRAWN)
            .map(|answer| answer.split_at(2 * DRAWN))
            .unzip();
        assert!(
            theirs.windows(2).all(|pair| pair[0] == pair[1]),
            "{version}"
        );
        let readers: Vec<_> = ours
            .iter()
            .flat_map(|two| two.chunks_exact(DRAWN))
            .collect();
        testkit::repeats::assert_nothing_in_common(&readers, version);
    }
}

#[test]
fn a_host_and_its_forked_copies_draw_different_bytes() {
    alone("host_that_forks");
}

#[test]
#[ignore = "the next test runs it, alone"]
fn host_that_is_searched() {
    let engine = Engine::default();
    for version in VERSIONS {
        let mut guest = Guest::with_constants(&ready(&engine, version, Host::Wellspring));
        let mut wanted = testkit::memory::Wanted::default();
        for length in [16, 32, 256, 4096, PIECE_BYTES] {
            for _ in 0..8 {
                wanted.take(&mut guest.bytes(length));
            }
        }
        // The memory of the guest ends with its store.
        drop(guest);
        let found = wanted.search();
        assert!(found.is_empty(), "{:?}", testkit::memory::places(&found));
    }
}

#[test]
fn the_host_keeps_no_copy_of_an_answer() {
    alone("host_that_is_searched");
}

/// Asserts that two instances of a component, each asked twice, draw different texts from every function of these names. With
/// stores that repeat a byte both instances draw the same: so each function depends on the host.
fn assert_all_differ(names: &[&str], component: &Path) {
    let mut config = Config::new();
    // A component of Python is compiled in a third of the time.
    config.cranelift_opt_level(OptLevel::None);
    config.cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    let engine = Engine::new(&config).unwrap();
    let component = Component::from_file(&engine, component).unwrap();
    let [ours, theirs] = [Host::Wellspring, Host::Wasmtime].map(|host| {
        let pre = linker(&engine, host).instantiate_pre(&component).unwrap();
        let mut guests = [0; 2].map(|_| Guest::with_constants(&pre));
        [0, 1, 0, 1].map(|guest| guests[guest].call::<_, Vec<String>>("draw", ()).unwrap())
    });
    for (place, name) in names.iter().enumerate() {
        let texts = |drawn: &[Vec<String>; 4]| -> HashSet<String> {
            drawn.iter().map(|texts| texts[place].clone()).collect()
        };
        assert_eq!(texts(&ours).len(), 4, "{name}: {ours:?}");
        assert!(texts(&theirs).len() <= 2, "{name}: {theirs:?}");
    }
}

const WORLD: &str = "package test:guest; world guest { export draw: func() -> list<string>; }";

/// The folder of the packages that make components.
fn packages() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/components")
}

#[test]
fn python_draws() {
    let python = packages().join("bin/componentize-py");
    if !python.exists() {
        testkit::skipped(
            "target/components lacks componentize-py: `.ci/steps chore wasmtime` installs it",
        );
        return;
    }
    let folder = scratch("python");
    std::fs::write(folder.join("guest.wit"), WORLD).unwrap();
    let program = "\
import os, random, secrets, uuid
import wit_world

class WitWorld(wit_world.WitWorld):
    def draw(self):
        texts = [os.urandom(16).hex(), secrets.token_hex(16), random.SystemRandom().random(), uuid.uuid4()]
        return [str(text) for text in texts + [random.random()]]
";
    std::fs::write(folder.join("guest.py"), program).unwrap();
    let words = "-d guest.wit -w guest componentize guest -o guest.wasm";
    let made = Command::new(python)
        .args(words.split(' '))
        .current_dir(&folder)
        .output();
    succeeds(&made.unwrap());
    let names = [
        "os.urandom",
        "secrets",
        "SystemRandom",
        "uuid4",
        "random.seed",
    ];
    assert_all_differ(&names, &folder.join("guest.wasm"));
}

#[test]
fn javascript_draws() {
    let package = packages().join("node_modules/@bytecodealliance/componentize-js");
    if !package.exists() {
        testkit::skipped(
            "target/components lacks componentize-js: npm install --prefix target/components \
             @bytecodealliance/componentize-js@0.23.0",
        );
        return;
    }
    let folder = scratch("javascript");
    std::fs::write(folder.join("guest.wit"), WORLD).unwrap();
    let program = "\
export function draw() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return [bytes.join(), crypto.randomUUID(), String(Math.random())];
}
";
    std::fs::write(folder.join("guest.js"), program).unwrap();
    let make = "\
import { readFileSync, writeFileSync } from 'node:fs';
const [maker, world] = process.argv.slice(2);
const { componentize } = await import(maker);
const { component } = await componentize(readFileSync('guest.js', 'utf8'), {
    witWorld: world, disableFeatures: ['http', 'fetch-event'],
});
writeFileSync('guest.wasm', component);
";
    std::fs::write(folder.join("make.mjs"), make).unwrap();
    let made = Command::new("node")
        .arg("make.mjs")
        .arg(package.join("src/componentize.js"))
        .arg(WORLD)
        .current_dir(&folder)
        .output();
    succeeds(&made.unwrap());
    assert_all_differ(
        &["getRandomValues", "randomUUID", "Math.random"],
        &folder.join("guest.wasm"),
    );
}

/// `cargo test --manifest-path bindings/wasmtime/Cargo.toml -- --ignored --nocapture nanoseconds`
#[test]
#[ignore = "it measures"]
fn nanoseconds_of_a_call_beside_wasmtimes_default_context() {
    const ROUNDS: usize = 101;
    let engine = Engine::default();
    for version in ["0.2.12", "0.3.0"] {
        let mut guests = [Host::Wellspring, Host::Wasmtime]
            .map(|host| Guest::new(&ready(&engine, version, host), WasiCtx::builder().build()));
        for length in [
            None,
            Some(16_u64),
            Some(32),
            Some(256),
            Some(4096),
            Some(65_536),
        ] {
            // About a millisecond.
            let count = 1_000_000 / (200 + length.unwrap_or(8));
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..ROUNDS {
                for (guest, times) in guests.iter_mut().zip(&mut times) {
                    let begin = Instant::now();
                    match length {
                        None => drop(guest.call::<_, u64>("words", (count,)).unwrap()),
                        Some(length) => guest.repeat(count, length),
                    }
                    times.push(begin.elapsed().as_nanos() as f64 / count as f64);
                }
            }
            let [ours, theirs] = times.map(|mut times| {
                times.sort_by(f64::total_cmp);
                times[ROUNDS / 2]
            });
            let what = length.map_or("get-random-u64".into(), |length| format!("{length} bytes"));
            println!("{version} {what}: {ours:.0} ns, wasmtime {theirs:.0} ns");
        }
    }
}

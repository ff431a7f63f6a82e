//! The Rust lines of the README and of docs/start/rust.md compile: this file has each of them, and is compared with both.
#![allow(
    unused,
    reason = "the README shows calls, and does nothing with their results"
)]

use std::error::Error;

#[rustfmt::skip]
fn the_functions() -> Result<(), Box<dyn Error>> {
    let mut key = [0u8; 32];
    wellspring::fill(&mut key);                     // keys, nonces, tokens
    let ticket = wellspring::u64();
    let nonce = wellspring::bytes::<12>();
    let id = wellspring::ids::uuid7();              // also uuid4, ulid, and their text

    let shared = wellspring::rng();                 // a handle: shared.u64(), shared.range(..); rand_core 0.10 traits
    let die = wellspring::range(1..=6);             // unbiased; also below, f64, bool, shuffle, choose
    let mut local = wellspring::LocalRng::default(); // owned and Send, for hot loops; the same methods and traits
    Ok(())
}

#[rustfmt::skip]
fn an_engine() -> Result<(), Box<dyn Error>> {
    let engine = wellspring::Engine::builder()      // another mode, cipher or topology
        .mode(wellspring::Mode::PerNode)
        .prf(wellspring::Prf::ChaCha20)
        .topology("nodes=4,cpus=8".parse()?)
        .build()?;
    let mut early = [0u8; 16];
    engine.fill_early(&mut early)?;

    wellspring::diverge_from_clones();              // first call after your program restored a snapshot
    Ok(())
}

#[rustfmt::skip]
fn numbers_without_secrecy() -> Result<(), Box<dyn Error>> {
    use wellspring_pseudo::{Algorithm, Path, Stream};
    let number = wellspring_pseudo_thread::u64();   // no key, no token, no hash seed
    let path: Path = "3/0/17".parse()?;
    let mut stream = Stream::new(Algorithm::ChaCha8, 2026, &path);
    let mut bytes = [0u8; 1000];
    stream.fill(&mut bytes);                        // the same bytes on every machine
    stream.seek(1 << 40);                           // go to any byte

    // Arrays whose element i depends on the name and on i alone.
    let elements = wellspring_pseudo::Elements::new(Algorithm::ChaCha8, 2026, &path)?;
    let mut dice = [0u8; 100];
    elements.integers(1..=6, 0, &mut dice)?;        // unbiased
    let claims = wellspring_pseudo::distributions::Poisson::new(4.5)?;
    let mut counts = [0i64; 100];
    elements.draw(&claims, 0, &mut counts)?;        // every distribution of the module `distributions`
    Ok(())
}

#[rustfmt::skip]
fn a_harvester() -> Result<(), Box<dyn Error>> {
    let engine = wellspring::Engine::builder()
        .harvester(wellspring::Harvester::default())
        .seed_file("/var/lib/wellspring/my-program.seed")
        .build()?;
    Ok(())
}

#[test]
fn every_rust_line_of_the_readme_is_in_this_file() {
    let pages = [
        include_str!("../../../../README.md"),
        include_str!("../../../../docs/start/rust.md"),
    ];
    let blocks: Vec<&str> = pages
        .iter()
        .flat_map(|page| page.split("```rust\n").skip(1))
        .collect();
    assert_eq!(blocks.len(), 4);
    for block in blocks {
        let (block, _) = block.split_once("```").unwrap();
        let indented = |line: &str| match line {
            "" => "\n".to_string(),
            line => format!("    {line}\n"),
        };
        let lines: String = block.lines().map(indented).collect();
        assert!(include_str!("readme.rs").contains(&lines), "{block}");
    }
}

#[test]
fn what_needs_no_file_runs() {
    the_functions().unwrap();
    an_engine().unwrap();
    numbers_without_secrecy().unwrap();
}

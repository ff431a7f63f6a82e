//! The fill of the pools, as the stats show it.

use std::sync::Arc;
use wellspring::Engine;

#[test]
fn a_reseed_empties_the_first_pool_and_the_last_keeps_what_it_gathered() {
    let os = Arc::new(wellspring_sources::Os);
    let engine = Engine::builder().sources([os as _]).build().unwrap();
    let fill = |pool: usize| engine.stats().pools[pool];
    assert_eq!(engine.stats().pools.len(), 32);
    assert!(engine.stats().pools.iter().all(|pool| pool.bytes == 0));
    engine.reseed().unwrap();
    let before = fill(31).bytes;
    assert!(
        before >= 2 * 36,
        "two events of 32 bytes with their headers: {before}"
    );
    engine.reseed().unwrap();
    assert_eq!((fill(0).bytes, fill(0).credit_bits), (0, 0));
    assert!(fill(31).bytes > before);
    assert_eq!(fill(31).credit_bits, 256, "a digest carries no more");
}

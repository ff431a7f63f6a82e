//! Zeroed memory is a value of every type, and no type has padding.

use super::reading::bytes_of;
use wellspring_cipher::sha256::Sha256;
use wellspring_core::distribution::Distribution;
use wellspring_core::event::{Event, Queue};
use wellspring_core::generator::{Generator, Reservation};
use wellspring_core::health::Health;
use wellspring_core::node::{Inlet, Mailbox, Node, Seed};
use wellspring_core::pool::Accumulator;
use wellspring_core::tap::Tap;

#[test]
fn zeroed_memory_is_a_value_of_every_type() {
    /// `field_bytes` is the sum over all fields: a larger type has padding, which a wipe of the fields would miss.
    fn check<T>(value: T, field_bytes: usize) {
        let name = std::any::type_name::<T>();
        assert_eq!(size_of::<T>(), field_bytes, "{name} has padding");
        let value = Box::new(value);
        assert!(bytes_of(&*value).iter().all(|&byte| byte == 0), "{name}");
    }
    let (pool, generator) = (size_of::<Sha256>() + 4 + 4, 32 + 16);
    let (seed, mailbox) = (1024 + 4 + 4, 4 * 4 + 1024);
    let accumulator = 32 * pool + 8 + 4 + 4;
    check(Event::ZERO, 4 + 1 + 1 + 2 + 32);
    check(
        Queue::<64>::ZERO,
        4 + 4 + size_of::<usize>() + 64 * (4 * 4 + 32),
    );
    check(Seed::ZERO, seed);
    check(<Mailbox>::ZERO, mailbox);
    check(Inlet::ZERO, mailbox + 4 + 4);
    check(Accumulator::ZERO, accumulator);
    check(
        Distribution::ZERO,
        accumulator + 32 + size_of::<Sha256>() + 4 + 4 + seed,
    );
    check(Generator::ZERO, generator);
    check(Reservation::ZERO, generator);
    check(Node::ZERO, generator + 8 + 8 + seed + 8);
    let cutoffs = 8 + 4 + 2 + 2;
    check(
        Health::ZERO,
        8 + 8 + 4 + 2 + 2 + 4 + 4 + 1 + 1 + 1 + 5 + cutoffs,
    );
    check(Tap::<6656>::ZERO, 8 + 8 + 16 + 32 + 6656);
    check(Tap::<320>::ZERO, 8 + 8 + 16 + 32 + 320);
}

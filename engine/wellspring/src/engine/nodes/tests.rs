use super::*;
use wellspring_core::Prf;

fn nodes(count: usize) -> Nodes {
    let topology = Topology::even(count, count).unwrap();
    Nodes::new(topology, Backend::detect(Prf::ChaCha20)).unwrap()
}

fn seed(credit_bits: u32) -> Seed {
    let mut seed = Seed::ZERO;
    seed.set(&[7; 32], credit_bits);
    seed
}

fn first_bytes(nodes: &Nodes, number: usize, need: Phase) -> Option<[u8; 32]> {
    let (signals, mut reservation) = (SignalsBlocked::new(), Reservation::ZERO);
    nodes.reserve(number, need, 32, &signals, &mut reservation)?;
    let mut bytes = [0; 32];
    reservation.generate(nodes.backend(), &mut bytes);
    Some(bytes)
}

#[test]
fn below_128_bits_node_0_serves_early_readers_and_no_others() {
    let nodes = nodes(2);
    assert_eq!(first_bytes(&nodes, 0, Phase::Early), None);
    nodes.mix_into_root(&seed(127));
    assert_eq!(nodes.phase(), Phase::Early);
    assert_eq!(first_bytes(&nodes, 1, Phase::Ready), None);
    assert!(first_bytes(&nodes, 1, Phase::Early).is_some());
    assert_eq!(nodes.stats()[1].fetches, 0, "node 0 served it");
    nodes.mix_into_root(&seed(128));
    assert_eq!(nodes.phase(), Phase::Ready);
    assert!(first_bytes(&nodes, 1, Phase::Ready).is_some());
    assert_eq!(nodes.stats()[1].fetches, 1);
}

#[test]
fn seeds_with_less_than_128_bits_each_make_no_engine_ready() {
    for credit_bits in [0, 8, 127] {
        let nodes = nodes(1);
        for _ in 0..100 {
            nodes.mix_into_root(&seed(credit_bits));
        }
        assert_eq!(nodes.phase(), Phase::Early, "{credit_bits}");
    }
}

#[test]
fn room_is_made_for_a_seed_of_an_idle_node_and_not_beside_a_reader() {
    let (nodes, signals) = (nodes(2), SignalsBlocked::new());
    nodes.mix_into_root(&seed(256));
    for number in 0..2 {
        let inlet = nodes.inlet(number);
        let _ = inlet.post(&seed(0));
        let reseeds = nodes.stats()[number].reseeds;
        let reader = nodes.memory[number].node.lock(&signals);
        assert!(!nodes.make_room(number, &signals));
        drop(reader);
        assert!(nodes.make_room(number, &signals));
        assert_eq!(nodes.stats()[number].reseeds, reseeds + 1);
        assert!(inlet.post(&seed(0)));
    }
}

#[test]
fn copies_with_other_entropy_differ_on_every_node() {
    let make = |entropy: u8| {
        let nodes = nodes(3);
        nodes.mix_into_root(&seed(256));
        nodes.stir_all(&[entropy; 32], &SignalsBlocked::new());
        [0, 1, 2].map(|number| first_bytes(&nodes, number, Phase::Ready).unwrap())
    };
    let (one, same, other) = (make(1), make(1), make(2));
    assert_eq!(one, same);
    for number in 0..3 {
        assert_ne!(one[number], other[number]);
    }
}

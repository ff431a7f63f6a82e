//! Which CPUs belong to which node.

use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

/// The most nodes that a topology describes.
pub const MAX_NODES: usize = 64;
/// The most CPUs that a topology describes.
pub const MAX_CPUS: usize = 4096;

/// For every CPU the node that serves it.
///
/// Nodes are numbered without gaps from 0; the system may number them otherwise. Node 0 holds the root. Read
/// from sysfs, or given as a description like `nodes=4,cpus=8` for tests and containers, in which every
/// node gets an equal run of neighbouring CPUs.
///
/// ```
/// use wellspring_core::topology::Topology;
/// let topology: Topology = "nodes=4,cpus=8".parse()?;
/// assert_eq!(topology.nodes(), 4);
/// assert_eq!(topology.node_of(5), 2);
/// # Ok::<(), wellspring_core::topology::TopologyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Empty for one node without a number.
    system_nodes: Vec<Option<u32>>,
    /// Empty for one node.
    node_of_cpu: Vec<u16>,
    cpus: usize,
}

/// A node as the system describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemNode {
    /// Its number in the system.
    pub number: u32,
    /// Its CPUs.
    pub cpus: Vec<u32>,
    /// Whether it has memory of its own.
    pub has_memory: bool,
    /// The distances to all nodes of the list, in its order (ACPI SLIT: 10 is local). May be empty.
    pub distances: Vec<u32>,
}

impl Topology {
    /// One node that serves every CPU, as on most machines. Allocates nothing.
    #[must_use]
    pub fn single(cpus: usize) -> Self {
        Self {
            system_nodes: Vec::new(),
            node_of_cpu: Vec::new(),
            cpus: cpus.clamp(1, MAX_CPUS),
        }
    }

    /// `nodes` nodes that share `cpus` CPUs in equal runs.
    ///
    /// # Errors
    ///
    /// When a number is zero or above the limit, or there are more nodes than CPUs.
    pub fn even(nodes: usize, cpus: usize) -> Result<Self, TopologyError> {
        if nodes == 0 || nodes > MAX_NODES {
            return Err(TopologyError::Nodes);
        }
        if cpus < nodes || cpus > MAX_CPUS {
            return Err(TopologyError::Cpus);
        }
        if nodes == 1 {
            return Ok(Self::single(cpus));
        }
        Ok(Self {
            cpus,
            system_nodes: alloc::vec![None; nodes],
            node_of_cpu: (0..cpus).map(|cpu| (cpu * nodes / cpus) as u16).collect(),
        })
    }

    /// The topology of a machine. A node without memory or without CPUs is left out: the nearest node
    /// that has both serves its CPUs.
    ///
    /// # Errors
    ///
    /// When no node has CPUs and memory, or there are too many of either; [`TopologyError::Memory`].
    #[inline]
    pub fn from_system(nodes: &[SystemNode]) -> Result<Self, TopologyError> {
        let no_memory = |_| TopologyError::Memory;
        let mut system_nodes = Vec::new();
        let reserved = system_nodes.try_reserve_exact(nodes.len());
        reserved.map_err(no_memory)?;
        for node in nodes.iter().filter(|node| node.serves()) {
            system_nodes.push(Some(node.number));
        }
        if system_nodes.is_empty() || system_nodes.len() > MAX_NODES {
            return Err(TopologyError::Nodes);
        }
        let mut node_of_cpu = Vec::new();
        let reserved = node_of_cpu.try_reserve_exact(MAX_CPUS);
        reserved.map_err(no_memory)?;
        node_of_cpu.resize(MAX_CPUS, 0);
        let mut cpus = 0;
        for node in nodes {
            let nearest = nearest(node, nodes) as u16;
            for cpu in node.cpus.iter().map(|&cpu| cpu as usize) {
                *node_of_cpu.get_mut(cpu).ok_or(TopologyError::Cpus)? = nearest;
                cpus = cpus.max(cpu + 1);
            }
        }
        node_of_cpu.truncate(cpus);
        Ok(Self {
            cpus,
            system_nodes,
            node_of_cpu,
        })
    }

    /// The same CPUs with a node for each group of them, such as the CPUs that share a last-level cache, in the memory of the
    /// node that served the first CPU of the group. A CPU of no group is served by group 0.
    ///
    /// # Errors
    ///
    /// When there is no group or more than 64, or a group names a CPU that is not described; [`TopologyError::Memory`].
    #[inline]
    pub fn divided(self, groups: &[Vec<u32>]) -> Result<Self, TopologyError> {
        if groups.is_empty() || groups.len() > MAX_NODES {
            return Err(TopologyError::Nodes);
        }
        let no_memory = |_| TopologyError::Memory;
        let (mut system_nodes, mut node_of_cpu) = (Vec::new(), Vec::new());
        let reserved = system_nodes.try_reserve_exact(groups.len());
        reserved.map_err(no_memory)?;
        let reserved = node_of_cpu.try_reserve_exact(self.cpus);
        reserved.map_err(no_memory)?;
        node_of_cpu.resize(self.cpus, 0);
        for (number, group) in groups.iter().enumerate() {
            let first = *group.first().ok_or(TopologyError::Cpus)?;
            system_nodes.push(self.system_node(self.node_of(first as usize)));
            for &cpu in group {
                let place = node_of_cpu.get_mut(cpu as usize);
                *place.ok_or(TopologyError::Cpus)? = number as u16;
            }
        }
        Ok(Self {
            cpus: self.cpus,
            system_nodes,
            node_of_cpu,
        })
    }

    /// The number of nodes, at least 1.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.system_nodes.len().max(1)
    }

    /// The number of CPUs described, at least 1.
    #[must_use]
    pub fn cpus(&self) -> usize {
        self.cpus
    }

    /// The node that serves `cpu`. CPUs beyond the description (added later, or more than a given
    /// description says) wrap around.
    #[must_use]
    pub fn node_of(&self, cpu: usize) -> usize {
        let node = self.node_of_cpu.get(cpu % self.cpus);
        node.map_or(0, |&node| usize::from(node))
    }

    /// The number that the system knows `node` by, for placing memory; `None` for given descriptions.
    #[must_use]
    pub fn system_node(&self, node: usize) -> Option<u32> {
        self.system_nodes.get(node).copied().flatten()
    }
}

impl SystemNode {
    /// Whether it has CPUs and memory.
    fn serves(&self) -> bool {
        self.has_memory && !self.cpus.is_empty()
    }
}

/// The nearest node to `node` that serves, as its position among the serving nodes: `node` itself, if it serves.
fn nearest(node: &SystemNode, nodes: &[SystemNode]) -> usize {
    let (mut nearest, mut least, mut serving) = (0, u64::MAX, 0);
    for (position, other) in nodes.iter().enumerate() {
        if other.serves() {
            let distance = match node.distances.get(position) {
                _ if other.number == node.number => 0,
                Some(&distance) => 1 + u64::from(distance),
                None => 1 + u64::from(u32::MAX),
            };
            if distance < least {
                (nearest, least) = (serving, distance);
            }
            serving += 1;
        }
    }
    nearest
}

/// The reason why a description is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TopologyError {
    /// Not of the form `nodes=N,cpus=M`.
    Form,
    /// The number of nodes is not 1 to 64.
    Nodes,
    /// There are fewer CPUs than nodes, or more than 4096.
    Cpus,
    /// There is no memory for the list of CPUs.
    Memory,
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TopologyError::Form => "expected nodes=N,cpus=M",
            TopologyError::Nodes => "expected 1 to 64 nodes",
            TopologyError::Cpus => "expected at least as many CPUs as nodes, and at most 4096",
            TopologyError::Memory => "out of memory",
        })
    }
}

/// The sentence too: a `main` that returns the error prints this.
impl fmt::Debug for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TopologyError({self})")
    }
}

impl core::error::Error for TopologyError {}

impl FromStr for Topology {
    type Err = TopologyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (mut nodes, mut cpus) = (None, None);
        for part in text.split(',') {
            let (name, value) = part.split_once('=').ok_or(TopologyError::Form)?;
            let place = match name.trim() {
                "nodes" => &mut nodes,
                "cpus" => &mut cpus,
                _ => return Err(TopologyError::Form),
            };
            let value = value.trim().parse().map_err(|_| TopologyError::Form)?;
            if place.replace(value).is_some() {
                return Err(TopologyError::Form);
            }
        }
        let nodes = nodes.ok_or(TopologyError::Form)?;
        Self::even(nodes, cpus.ok_or(TopologyError::Form)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::{format, vec};

    #[test]
    fn a_description_shares_the_cpus_evenly() {
        let topology: Topology = "nodes=4,cpus=8".parse().unwrap();
        let nodes: Vec<usize> = (0..8).map(|cpu| topology.node_of(cpu)).collect();
        assert_eq!(nodes, [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(topology.node_of(9), 0, "CPUs beyond the description wrap");
        let uneven = Topology::even(3, 4).unwrap();
        let nodes: Vec<usize> = (0..4).map(|cpu| uneven.node_of(cpu)).collect();
        assert_eq!(nodes, [0, 0, 1, 2], "no node is left without a CPU");
    }

    #[test]
    fn a_wrong_description_is_refused_for_the_right_reason() {
        let parse = |text: &str| text.parse::<Topology>().unwrap_err();
        for text in [
            "",
            "nodes",
            "nodes=4",
            "cpus=8",
            "nodes=4,cpus=x",
            "nodes=4,cpus=8,",
            "nodes=1,nodes=1,cpus=2",
        ] {
            assert_eq!(parse(text), TopologyError::Form, "{text}");
        }
        for text in ["nodes=0,cpus=8", "nodes=65,cpus=100"] {
            assert_eq!(parse(text), TopologyError::Nodes, "{text}");
        }
        for text in ["nodes=4,cpus=3", "nodes=1,cpus=4097", "nodes=1,cpus=0"] {
            assert_eq!(parse(text), TopologyError::Cpus, "{text}");
        }
        let printed = "TopologyError(expected nodes=N,cpus=M)";
        assert_eq!(format!("{:?}", parse("nodes")), printed);
    }

    #[test]
    fn nodes_without_memory_or_cpus_are_served_by_the_nearest() {
        let node = |number, cpus: &[u32], has_memory, distances: &[u32]| SystemNode {
            number,
            cpus: cpus.to_vec(),
            has_memory,
            distances: distances.to_vec(),
        };
        let topology = Topology::from_system(&[
            node(0, &[0, 1], true, &[10, 20, 30, 40]),
            node(2, &[2, 3], false, &[20, 10, 15, 40]),
            node(5, &[4, 6], true, &[30, 15, 10, 40]),
            node(6, &[], true, &[40, 40, 40, 10]),
        ])
        .unwrap();
        assert_eq!(topology.nodes(), 2);
        assert_eq!(
            (topology.system_node(0), topology.system_node(1)),
            (Some(0), Some(5))
        );
        let nodes: Vec<usize> = (0..7).map(|cpu| topology.node_of(cpu)).collect();
        assert_eq!(nodes, vec![0, 0, 1, 1, 1, 0, 1]);
    }

    #[test]
    fn groups_of_cpus_become_nodes_in_the_memory_of_their_own() {
        let node = |number, cpus: &[u32]| SystemNode {
            number,
            cpus: cpus.to_vec(),
            has_memory: true,
            distances: Vec::new(),
        };
        let machine =
            Topology::from_system(&[node(0, &[0, 1, 2, 3]), node(2, &[4, 5, 6])]).unwrap();
        let groups = vec![vec![0, 2], vec![1, 3], vec![4, 6]];
        let topology = machine.clone().divided(&groups).unwrap();
        let nodes: Vec<usize> = (0..7).map(|cpu| topology.node_of(cpu)).collect();
        assert_eq!(nodes, [0, 1, 0, 1, 2, 0, 2]);
        let system = [0, 1, 2].map(|node| topology.system_node(node));
        assert_eq!(system, [Some(0), Some(0), Some(2)]);
        assert_eq!((topology.nodes(), topology.cpus()), (3, 7));
        let wrong = [
            (vec![], TopologyError::Nodes),
            (vec![vec![0]; 65], TopologyError::Nodes),
            (vec![vec![]], TopologyError::Cpus),
            (vec![vec![7]], TopologyError::Cpus),
        ];
        for (groups, error) in wrong {
            assert_eq!(machine.clone().divided(&groups), Err(error), "{groups:?}");
        }
    }

    #[test]
    fn a_machine_without_a_serving_node_is_refused() {
        assert_eq!(Topology::from_system(&[]), Err(TopologyError::Nodes));
    }
}

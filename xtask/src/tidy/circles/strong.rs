//! The circles of a graph: its strongly connected components with more than one node (Tarjan, 1972).

use super::graph::Graph;
use std::collections::BTreeMap;

/// Each circle's files, sorted.
pub(super) fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let mut search = Search {
        graph,
        visited: BTreeMap::new(),
        stack: Vec::new(),
        circles: Vec::new(),
    };
    for node in graph.keys() {
        if !search.visited.contains_key(node.as_str()) {
            search.visit(node);
        }
    }
    search.circles.sort();
    search.circles
}

/// A depth-first search.
struct Search<'a> {
    graph: &'a Graph,
    /// The number of each visited node, in the order of visits, and the lowest number that it reaches.
    visited: BTreeMap<&'a str, usize>,
    /// Visited nodes that are not yet in a component.
    stack: Vec<&'a str>,
    circles: Vec<Vec<String>>,
}

impl<'a> Search<'a> {
    /// Visits a node and all that it reaches. Returns the lowest number of a node on the stack that it reaches.
    fn visit(&mut self, node: &'a str) -> usize {
        let number = self.visited.len();
        self.visited.insert(node, number);
        self.stack.push(node);
        let mut lowest = number;
        for next in self.graph.get(node).into_iter().flatten() {
            let reached = match self.visited.get(next.as_str()) {
                None => self.visit(next),
                Some(&number) if self.stack.contains(&next.as_str()) => number,
                Some(_) => continue,
            };
            lowest = lowest.min(reached);
        }
        if lowest == number {
            let start = self.stack.iter().rposition(|other| *other == node);
            let mut component: Vec<String> = self
                .stack
                .drain(start.unwrap_or_default()..)
                .map(str::to_owned)
                .collect();
            component.sort();
            if component.len() > 1 {
                self.circles.push(component);
            }
        }
        lowest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(arrows: &[(&str, &str)]) -> Vec<String> {
        let mut graph = Graph::new();
        for (from, to) in arrows {
            graph.entry((*to).into()).or_default();
            graph
                .entry((*from).into())
                .or_default()
                .insert((*to).into());
        }
        circles(&graph)
            .iter()
            .map(|circle| circle.join(""))
            .collect()
    }

    #[test]
    fn every_circle_is_found_once_and_a_chain_is_none() {
        assert!(found(&[("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")]).is_empty());
        assert_eq!(found(&[("a", "b"), ("b", "a")]), ["ab"]);
        assert_eq!(
            found(&[("c", "a"), ("a", "b"), ("b", "c"), ("c", "d")]),
            ["abc"]
        );
        let two = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "c")];
        assert_eq!(found(&two), ["ab", "cd"]);
        // Two circles that share a file are one.
        assert_eq!(
            found(&[("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")]),
            ["abc"]
        );
    }
}

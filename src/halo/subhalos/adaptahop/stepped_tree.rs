//! The tree of nodes by the published algorithm: a threshold rises in steps, and nodes that split get children.
//!
//! In: particles and saddles in descending order of density. Out: nodes. At each step the chains of a node form
//! components, joined by saddles above the threshold. If several components count, they are the children of the node.
//! If one counts, the node continues with the chains of all components.
//! Cost: O(chains and their saddles) per step. Source: Aubert, Pichon and Colombi 2004, appendix B.

use super::Field;
use crate::cancel::{check, check_at};
use crate::halo::subhalos::significance::Sums;
use crate::halo::subhalos::tree::{NONE, Node, Tree};
use crate::memory::{filled, zeroed};

/// The density of a saddle, and the chain on its other side.
type Pass = (f64, u32);

struct Steps<'a> {
    field: &'a Field<'a>,
    /// The first particle of each chain.
    starts: Vec<usize>,
    /// The densities of each chain's particles, in descending order, and the sums up to and including each particle.
    density: Vec<f64>,
    sums: Vec<Sums>,
    /// The saddles of each chain, densest first.
    passes: Vec<Vec<Pass>>,
    /// The last search that reached each chain.
    found: Vec<u32>,
    searches: u32,
}

/// Chains joined by saddles above a threshold.
struct Component {
    chains: Vec<u32>,
    mass: f64,
    /// The number of particles of the largest chain.
    largest: f64,
    counts: bool,
}

/// A node and its chains at a threshold.
struct Task {
    node: u32,
    chains: Vec<u32>,
    threshold: f64,
}

/// Computes the tree. The threshold must be normal and positive, and the fudge large enough that the threshold rises.
pub fn stepped_tree(field: &Field<'_>) -> Tree {
    let n = field.peaks.len();
    let mut tree = Tree { nodes: vec![], of_chain: filled(n, NONE) };
    let mut steps = Steps::new(field);
    let mut open = vec![Task { node: NONE, chains: (0..n as u32).collect(), threshold: field.threshold }];
    while let Some(Task { node, chains, threshold }) = open.pop() {
        check();
        let components = steps.components(&chains, threshold);
        let higher = |component: &Component| threshold * (1.0 + field.criteria.fudge / component.largest.sqrt());
        let mut counting = components.iter().filter(|component| component.counts);
        match (counting.next(), counting.next()) {
            (Some(only), None) => {
                let threshold = higher(only);
                let chains: Vec<u32> = components.into_iter().flat_map(|component| component.chains).collect();
                if chains.len() > 1 {
                    open.push(Task { node, chains, threshold });
                }
            }
            (Some(_), Some(_)) => {
                for component in components.into_iter().filter(|component| component.counts) {
                    let threshold_of_child = higher(&component);
                    let Component { chains, mass, .. } = component;
                    let child = tree.nodes.len() as u32;
                    let peak = chains.iter().copied().fold(NONE, u32::min);
                    tree.nodes.push(Node { parent: node, saddle: threshold, mass, peak });
                    chains.iter().for_each(|&chain| tree.of_chain[chain as usize] = child);
                    if chains.len() > 1 {
                        open.push(Task { node: child, chains, threshold: threshold_of_child });
                    }
                }
            }
            _ => {}
        }
    }
    tree
}

impl<'a> Steps<'a> {
    fn new(field: &'a Field<'a>) -> Self {
        let n = field.peaks.len();
        let mut starts = zeroed(n + 1);
        field.particles.iter().for_each(|particle| starts[particle.chain as usize + 1] += 1);
        (0..n).for_each(|chain| starts[chain + 1] += starts[chain]);
        let mut next = starts.clone();
        let mut running = filled(n, Sums::default());
        let mut density = zeroed(field.particles.len());
        let mut sums = filled(field.particles.len(), Sums::default());
        for (at, particle) in field.particles.iter().enumerate() {
            check_at(at);
            let chain = particle.chain as usize;
            running[chain].add(particle);
            density[next[chain]] = particle.density;
            sums[next[chain]] = running[chain];
            next[chain] += 1;
        }
        let mut passes = filled(n, vec![]);
        for saddle in field.saddles {
            passes[saddle.denser as usize].push((saddle.density, saddle.other));
            passes[saddle.other as usize].push((saddle.density, saddle.denser));
        }
        Self { field, starts, density, sums, passes, found: zeroed(n), searches: 0 }
    }

    /// The sums of a chain's particles above a threshold. The peak of the chain is above it.
    fn above(&self, chain: u32, threshold: f64) -> &Sums {
        let (start, end) = (self.starts[chain as usize], self.starts[chain as usize + 1]);
        let count = self.density[start..end].partition_point(|&density| density > threshold);
        &self.sums[start + count.max(1) - 1]
    }

    /// The components of `chains` above a threshold.
    fn components(&mut self, chains: &[u32], threshold: f64) -> Vec<Component> {
        self.searches += 1;
        let mut components = vec![];
        for &start in chains {
            if self.field.peaks[start as usize] <= threshold || self.found[start as usize] == self.searches {
                continue;
            }
            self.found[start as usize] = self.searches;
            let (mut joined, mut at) = (vec![start], 0);
            while let Some(&chain) = joined.get(at) {
                at += 1;
                for &(density, other) in &self.passes[chain as usize] {
                    if density <= threshold {
                        break;
                    }
                    if self.found[other as usize] != self.searches {
                        self.found[other as usize] = self.searches;
                        joined.push(other);
                    }
                }
            }
            components.push(self.component(joined, threshold));
        }
        components
    }

    fn component(&self, mut chains: Vec<u32>, threshold: f64) -> Component {
        chains.sort_unstable();
        let field = self.field;
        let mut total = Sums::default();
        let mut largest: f64 = 0.0;
        for &chain in &chains {
            let sums = self.above(chain, threshold);
            total.merge(sums, (field.offset)(chains[0], chain));
            largest = largest.max(sums.n);
        }
        let each = chains.iter().map(|&chain| self.above(chain, threshold));
        let counts = field.criteria.counts(&total, each, field.peaks[chains[0] as usize], threshold);
        Component { mass: total.mass, largest, counts, chains }
    }
}

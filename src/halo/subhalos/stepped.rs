//! The tree of nodes as it is published: a threshold rises in steps, and what falls apart makes children.
//!
//! In: particles and saddles in falling order of their densities. Out: nodes. At each step the chains of a node fall into components that
//! are joined by saddles above the threshold. If several count they are its children; if one does, the node goes on with all of them.
//! Cost: O(chains and their saddles) a step. Source: Aubert, Pichon and Colombi 2004, appendix B.

use super::exact::Field;
use super::significance::Sums;
use super::tree::{NONE, Node, Tree};
use crate::cancel::{check, check_at};
use crate::memory::{filled, zeroed};

/// A chain, and the density of the saddle to it.
type Pass = (f64, u32);

struct Steps<'a> {
    field: &'a Field<'a>,
    /// Where the particles of each chain begin.
    starts: Vec<usize>,
    /// The densities of each chain's particles, falling, and the sums up to and with each.
    density: Vec<f64>,
    sums: Vec<Sums>,
    /// The passes from each chain, the densest first.
    passes: Vec<Vec<Pass>>,
    /// The last search that has found each chain.
    found: Vec<u32>,
    searches: u32,
}

/// Chains joined above a threshold.
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

/// The threshold is normal and positive, and the fudge large enough for it to rise.
pub(super) fn stepped_tree(field: &Field<'_>) -> Tree {
    let n = field.peaks.len();
    let mut tree = Tree { nodes: vec![], of_chain: filled(n, NONE) };
    let mut steps = Steps::new(field);
    let mut open = vec![Task { node: NONE, chains: (0..n as u32).collect(), threshold: field.threshold }];
    while let Some(Task { node, chains, threshold }) = open.pop() {
        check();
        let components = steps.components(&chains, threshold);
        let higher = |component: &Component| threshold * (1.0 + field.tests.fudge / component.largest.sqrt());
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

    /// The sums of a chain's particles above a threshold, which its peak is.
    fn above(&self, chain: u32, threshold: f64) -> &Sums {
        let (start, end) = (self.starts[chain as usize], self.starts[chain as usize + 1]);
        let count = self.density[start..end].partition_point(|&density| density > threshold);
        &self.sums[start + count.max(1) - 1]
    }

    /// The components of chains above a threshold.
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
        let counts = field.tests.hold(&total, each, field.peaks[chains[0] as usize], threshold);
        Component { mass: total.mass, largest, counts, chains }
    }
}

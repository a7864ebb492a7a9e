//! The join tree: components grow as the density falls, and merge at saddles.
//!
//! In: particles and saddles in descending order of density. Out: nodes. A sweep adds particles to the sums of their
//! components until it reaches a saddle. If several of the components that merge there count, each of them becomes a
//! node. The threshold thus needs no steps.
//! Cost: O(particles + saddles), on one thread, plus a pass over the chains of a component if its own sums do not
//! decide. Source: Kruskal 1956 and Carr, Snoeyink and Axen 2003 for join trees; the tests are those of Aubert, Pichon
//! and Colombi 2004.

use super::Field;
use crate::cancel::check_at;
use crate::cluster::union_find::UnionFind;
use crate::halo::subhalos::saddles::Saddle;
use crate::halo::subhalos::significance::{FieldParticle, Sums};
use crate::halo::subhalos::tree::{NONE, Node, Tree};
use crate::memory::filled;

struct Sweep<'a> {
    field: &'a Field<'a>,
    forest: UnionFind,
    /// The sums of each chain.
    own: Vec<Sums>,
    /// The sums of each component, stored at its densest chain, from whose peak offsets are measured.
    total: Vec<Sums>,
    /// The node of each component in which others have merged.
    node: Vec<u32>,
    /// The chains of a component that are in no node, as a linked list: its last chain, and the chain before each.
    last: Vec<u32>,
    before: Vec<u32>,
    /// The first chain of each list, whose `before` is set when lists are joined.
    first: Vec<u32>,
    tree: Tree,
}

pub fn join_tree(field: &Field<'_>) -> Tree {
    let n = field.peaks.len();
    let mut sweep = Sweep {
        field,
        forest: UnionFind::new(n),
        own: filled(n, Sums::default()),
        total: filled(n, Sums::default()),
        node: filled(n, NONE),
        last: (0..n as u32).collect(),
        before: filled(n, NONE),
        first: (0..n as u32).collect(),
        tree: Tree { nodes: vec![], of_chain: filled(n, NONE) },
    };
    let mut left = field.particles;
    // A particle is often the saddle of several pairs, which are then merged together.
    for saddles in field.saddles.chunk_by(|a, b| a.density == b.density) {
        left = sweep.add_above(left, saddles[0].density);
        sweep.meet(saddles);
    }
    sweep.add_above(left, field.threshold);
    for root in 0..n as u32 {
        if sweep.forest.find(root) == root && sweep.counts(root, field.threshold) {
            sweep.close(root, field.threshold);
        }
    }
    sweep.tree
}

impl Sweep<'_> {
    /// Adds the particles denser than `density`, and returns the remaining ones.
    fn add_above<'p>(&mut self, particles: &'p [FieldParticle], density: f64) -> &'p [FieldParticle] {
        let end = particles.iter().position(|particle| particle.density <= density).unwrap_or(particles.len());
        for (at, particle) in particles[..end].iter().enumerate() {
            check_at(at);
            let chain = particle.chain;
            self.own[chain as usize].add(particle);
            let root = self.forest.find(chain);
            let mut moved = *particle;
            if root != chain {
                for (x, to_chain) in moved.offset.iter_mut().zip((self.field.offset)(root, chain)) {
                    *x += to_chain;
                }
            }
            self.total[root as usize].add(&moved);
        }
        &particles[end..]
    }

    /// Returns `true` if a component counts: others have merged in it, or it passes the tests above `density`.
    fn counts(&self, root: u32, density: f64) -> bool {
        let at = root as usize;
        let list = std::iter::successors(Some(self.last[at]), |&chain| self.before.get(chain as usize).copied());
        let chains = list.take_while(|&chain| chain != NONE).map(|chain| &self.own[chain as usize]);
        let field = self.field;
        self.node[at] != NONE || field.criteria.counts(&self.total[at], chains, field.peaks[at], density)
    }

    /// Makes a component a node of particles denser than `saddle`.
    fn close(&mut self, root: u32, saddle: f64) -> u32 {
        let at = root as usize;
        if self.node[at] == NONE {
            self.node[at] = self.add_node();
            self.take_chains(root, self.node[at]);
        }
        let node = self.node[at];
        self.tree.nodes[node as usize] = Node { parent: NONE, saddle, mass: self.total[at].mass, peak: root };
        node
    }

    /// Adds a node, whose fields are set later.
    fn add_node(&mut self) -> u32 {
        self.tree.nodes.push(Node { parent: NONE, saddle: 0.0, mass: 0.0, peak: NONE });
        self.tree.nodes.len() as u32 - 1
    }

    /// Assigns the chains of a component that are in no node to `node`.
    fn take_chains(&mut self, root: u32, node: u32) {
        let mut chain = std::mem::replace(&mut self.last[root as usize], NONE);
        while chain != NONE {
            self.tree.of_chain[chain as usize] = node;
            chain = self.before[chain as usize];
        }
    }

    /// Merges components over saddles of one density.
    fn meet(&mut self, saddles: &[Saddle]) {
        let density = saddles[0].density;
        let ends = saddles.iter().flat_map(|saddle| [saddle.denser, saddle.other]);
        let mut roots: Vec<u32> = ends.map(|chain| self.forest.find(chain)).collect();
        roots.sort_unstable();
        roots.dedup();
        for saddle in saddles {
            self.forest.union(saddle.denser, saddle.other);
        }
        roots.sort_unstable_by_key(|&root| (self.forest.find(root), root));
        let forest = &self.forest;
        let groups: Vec<&[u32]> = roots.chunk_by(|&a, &b| forest.find(a) == forest.find(b)).collect();
        for group in groups.into_iter().filter(|group| group.len() > 1) {
            self.join(group, density);
        }
    }

    /// Merges components, the first of which has the densest peak.
    fn join(&mut self, roots: &[u32], saddle: f64) {
        let first = roots[0] as usize;
        let counting: Vec<u32> = roots.iter().copied().filter(|&root| self.counts(root, saddle)).collect();
        let node = match counting[..] {
            [] => NONE,
            [only] => self.node[only as usize],
            _ => {
                let children: Vec<u32> = counting.iter().map(|&root| self.close(root, saddle)).collect();
                let node = self.add_node();
                children.iter().for_each(|&child| self.tree.nodes[child as usize].parent = node);
                node
            }
        };
        self.node[first] = node;
        if node != NONE {
            roots.iter().for_each(|&root| self.take_chains(root, node));
        }
        for &other in &roots[1..] {
            let at = other as usize;
            if node == NONE {
                self.before[self.first[at] as usize] = self.last[first];
                self.last[first] = self.last[at];
            }
            let (total, shift) = (self.total[at], (self.field.offset)(roots[0], other));
            self.total[first].merge(&total, shift);
        }
    }
}

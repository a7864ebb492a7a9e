//! Trees from sorted codes, with the splits, leaves and ropes of the library, for any bounding volume.

use std::ops::Range;

use crate::volumes::{Query, Volume};

/// The maximum number of primitives in a leaf, that of the library.
const LEAF: usize = 32;

pub struct Node<V> {
    pub volume: V,
    pub rope: u32,
    pub first: u32,
}

pub struct Tree<V, const D: usize> {
    /// The nodes in depth-first order, followed by a sentinel.
    pub nodes: Vec<Node<V>>,
    /// The index of each primitive in tree order.
    pub order: Vec<u32>,
    /// The volume of each primitive in tree order.
    pub volumes: Vec<V>,
}

/// The work of queries.
#[derive(Clone, Copy, Default)]
pub struct Work {
    pub nodes: u64,
    /// Tests of the volumes of primitives in leaves.
    pub volumes: u64,
    /// Tests of primitives whose volumes meet the query.
    pub primitives: u64,
    pub hits: u64,
}

impl<V: Volume<D>, const D: usize> Tree<V, D> {
    /// Builds the tree of primitives with the given codes. Primitives with equal codes are split by their positions.
    pub fn new(codes: &[u64], of: impl Fn(usize) -> V) -> Self {
        let mut order: Vec<u32> = (0..codes.len() as u32).collect();
        order.sort_by_key(|&i| codes[i as usize]);
        let sorted: Vec<u64> = order.iter().map(|&i| codes[i as usize]).collect();
        let volumes = order.iter().map(|&i| of(i as usize)).collect();
        let mut tree = Self { nodes: vec![], order, volumes };
        tree.fill(&sorted, 0..codes.len());
        let end = tree.nodes.len() as u32;
        tree.nodes.push(Node { volume: V::EMPTY, rope: end, first: codes.len() as u32 });
        tree
    }

    /// Appends the nodes of a subtree, and returns its volume.
    fn fill(&mut self, codes: &[u64], range: Range<usize>) -> V {
        let at = self.nodes.len();
        self.nodes.push(Node { volume: V::EMPTY, rope: 0, first: range.start as u32 });
        let volume = if range.len() <= LEAF {
            self.volumes[range].iter().fold(V::EMPTY, |all, volume| all.union(volume))
        } else {
            let (first, last) = (range.start, range.end - 1);
            let differing = codes[first] ^ codes[last];
            let split = if differing == 0 {
                let bit = (first ^ last).ilog2();
                last >> bit << bit
            } else {
                let bit = differing.ilog2();
                first + codes[range.clone()].partition_point(|code| code >> bit == codes[first] >> bit)
            };
            let left = self.fill(codes, first..split);
            left.union(&self.fill(codes, split..range.end))
        };
        let rope = self.nodes.len() as u32;
        (self.nodes[at].volume, self.nodes[at].rope) = (volume, rope);
        volume
    }

    /// Calls `leaf` with the positions of each leaf that a query meets. Returns the number of visited nodes.
    #[inline(always)]
    pub fn walk(&self, query: &Query<D>, mut leaf: impl FnMut(Range<usize>)) -> u64 {
        let (mut at, end, mut visited) = (0, self.nodes.len() - 1, 0);
        while at < end {
            let node = &self.nodes[at];
            visited += 1;
            if !node.volume.meets(query) {
                at = node.rope as usize;
                continue;
            }
            at += 1;
            if node.rope as usize == at {
                leaf(node.first as usize..self.nodes[at].first as usize);
            }
        }
        visited
    }

    /// Tests the primitives that a query meets, first their volumes, and counts the work. `volumes` are in tree order,
    /// and may be of another kind than those of the nodes.
    #[inline(always)]
    pub fn count<W: Volume<D>>(&self, query: &Query<D>, volumes: &[W], test: &impl Fn(usize) -> bool) -> Work {
        let mut work = Work::default();
        work.nodes = self.walk(query, |leaf| {
            work.volumes += leaf.len() as u64;
            for position in leaf {
                if volumes[position].meets(query) {
                    work.primitives += 1;
                    work.hits += u64::from(test(self.order[position] as usize));
                }
            }
        });
        work
    }
}

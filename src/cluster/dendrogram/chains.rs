//! Chains: the sequences of edges that make up the dendrogram.
//!
//! In: a [`Contraction`]. Out: [`Chains`], which store the edges of each chain at consecutive places, in ascending
//! order. An edge e that is contracted into a vertex V moves up from V to the first vertex whose lightest edge is
//! heavier than e. This vertex is the chain of e.
//!
//! Within a chain the parent of an edge in the dendrogram is the next edge. The parent of the last edge is the
//! lightest edge of the chain's vertex. Chains are numbered like their vertices, level by level, so a place always
//! precedes the place of its parent. The first edge of a chain is the edge within its vertex that is the lightest of
//! both its ends. Only the other edges, a third of all, are sorted.
//!
//! Cost: at worst O(log n) steps per edge; 34 bytes per point. Source: PANDORA, as for the contraction.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::contract::{Contraction, NONE};
use crate::bvh::radix_sort::{Buckets, Pool, Source};
use crate::cancel::check_at;
use crate::cluster::mst::SpanningTree;
use crate::memory::zeroed;
use crate::parallel::{atomics, fill, for_tasks, list_tasks, map_tasks, plain};
use crate::simd::prefetch;

/// Edges or chains per parallel task.
const TASK: usize = 1 << 12;
/// The number of edges that move up together, so that their memory accesses overlap.
const BATCH: usize = 64;
/// The prefetch distance, in vertices.
const AHEAD: usize = 16;

/// The edges of a spanning tree in chains. The rank of an edge is its index in ascending order of weight.
pub(crate) struct Chains {
    n_points: usize,
    /// The first chain of each level, then the number of chains.
    levels: Vec<usize>,
    /// The lightest edge of each point, then of each chain's vertex; [`NONE`] for the last vertex.
    pub lightest: Vec<u32>,
    /// Two entries per edge: the vertices whose lightest edge it is, each or [`NONE`].
    below: Vec<u32>,
    /// The edges, chain by chain.
    pub order: Vec<u32>,
    /// The place of each edge.
    pub place: Vec<u32>,
    /// For each place, the place of its parent in the dendrogram; [`NONE`] for the root.
    pub parent: Vec<u32>,
    /// The last edge of each chain.
    last: Vec<u32>,
}

impl Chains {
    pub fn new(tree: &SpanningTree) -> Self {
        let (n, edges) = (tree.n_points(), tree.edges().len());
        let Contraction { levels, up, lightest, below, inner } = Contraction::new(tree);
        let levels = levels.into_iter().skip(1).chain([up.len()]).map(|first| first - n).collect();
        let chains = inner.len();
        let (others, chain_of) = sort_others(n, &up, &lightest, &below, chains);
        drop(up);
        let [order, place, parent] = [(); 3].map(|()| atomics(edges, 0));
        let last = atomics(chains, 0);
        for_tasks(chains, TASK, &|range| {
            let mut next = chain_of.partition_point(|&chain| (chain as usize) < range.start);
            for chain in range {
                let mut rank = inner[chain];
                loop {
                    // One chain may hold nearly all edges.
                    check_at(next);
                    let at = chain + next;
                    order[at].store(rank, Relaxed);
                    place[rank as usize].store(at as u32, Relaxed);
                    parent[at].store(at as u32 + 1, Relaxed);
                    if chain_of.get(next) != Some(&(chain as u32)) {
                        break;
                    }
                    rank = others[next];
                    next += 1;
                }
                last[chain].store(rank, Relaxed);
            }
        });
        let (place, last) = (plain(place), plain(last));
        for_tasks(chains, TASK, &|range| {
            for chain in range {
                let above = place.get(lightest[n + chain] as usize).copied().unwrap_or(NONE);
                parent[place[last[chain] as usize] as usize].store(above, Relaxed);
            }
        });
        Self { n_points: n, levels, lightest, below, order: plain(order), place, parent: plain(parent), last }
    }

    /// Returns the number of points below the edge at each place.
    pub fn sizes(&self) -> Vec<u32> {
        let n = self.n_points as u32;
        let (sizes, totals) = (atomics(self.order.len(), 0), atomics(self.last.len(), 0));
        // The number of points below an edge on the side of `vertex`, 0 for `NONE`. The vertex is of a lower level,
        // whose sizes are known.
        let size = |vertex: u32| {
            let total = totals.get(vertex.wrapping_sub(n) as usize).map_or(0, |total| total.load(Relaxed));
            if vertex < n { 1 } else { total }
        };
        let ask = |at: usize| {
            if let Some(&later) = self.order.get(at + AHEAD) {
                prefetch(&self.below[2 * later as usize]);
            }
            if let Some(&rank) = self.order.get(at) {
                for vertex in self.below(rank) {
                    totals.get(vertex.wrapping_sub(n) as usize).into_iter().for_each(|total| prefetch(total));
                }
            }
        };
        for level in self.levels.windows(2) {
            let places = self.begin(level[0])..self.begin(level[1]);
            // For each task: the sum since the last start of a chain, and whether a chain starts in the task.
            let sums = map_tasks(places.len(), TASK, &|range| {
                let range = places.start + range.start..places.start + range.end;
                let mut chain = self.chain_at(range.start, level[0]..level[1]);
                let (mut sum, mut begins) = (0, false);
                for at in range.clone() {
                    ask(at + AHEAD);
                    let below = self.below(self.order[at]);
                    let is_first = is_first(below);
                    chain += usize::from(is_first && at > range.start);
                    sum = if is_first { 0 } else { sum } + size(below[0]) + size(below[1]);
                    begins |= is_first;
                    sizes[at].store(sum, Relaxed);
                    totals[chain].store(sum, Relaxed);
                }
                (sum, begins)
            });
            self.carry(places, level[0]..level[1], sums, &sizes, &totals);
        }
        plain(sizes)
    }

    /// Adds the sums of earlier tasks to chains that continue in later tasks.
    fn carry(
        &self,
        places: Range<usize>,
        level: Range<usize>,
        sums: Vec<(u32, bool)>,
        sizes: &[AtomicU32],
        totals: &[AtomicU32],
    ) {
        let mut sum_before = 0;
        let before = |(sum, begins): (u32, bool)| {
            let before = sum_before;
            sum_before = if begins { sum } else { before + sum };
            before
        };
        let before: Vec<u32> = sums.into_iter().map(before).collect();
        for_tasks(places.len(), TASK, &|range| {
            let before = before[range.start / TASK];
            let range = places.start + range.start..places.start + range.end;
            let goes_on = |at: &usize| before > 0 && !is_first(self.below(self.order[*at]));
            let mut most = 0;
            for at in range.clone().take_while(goes_on) {
                most = before + sizes[at].load(Relaxed);
                sizes[at].store(most, Relaxed);
            }
            if most > 0 {
                // If a chain spans several tasks, the last task has its largest sum.
                totals[self.chain_at(range.start, level.clone())].fetch_max(most, Relaxed);
            }
        });
    }

    /// Returns the clusters that an edge merges: that of its low end, then that of its high end. Points are clusters
    /// `0..n`; edge e makes cluster n + e.
    #[inline]
    pub fn children(&self, rank: u32) -> [u32; 2] {
        let n = self.n_points as u32;
        if let Some(ahead) = self.below.get(2 * (rank as usize + AHEAD)..2 * (rank as usize + AHEAD) + 2) {
            let ahead = ahead.iter().filter_map(|&vertex| self.last.get(vertex.wrapping_sub(n) as usize));
            ahead.for_each(|last| prefetch(last));
        }
        self.below(rank).map(|vertex| match vertex {
            NONE => n + self.order[self.place[rank as usize] as usize - 1],
            _ if vertex < n => vertex,
            _ => n + self.last[(vertex - n) as usize],
        })
    }

    /// Returns the chain of each edge.
    pub fn of_edges(&self) -> Vec<u32> {
        let chain = atomics(self.order.len(), 0);
        for_tasks(self.last.len(), TASK, &|range| {
            for own in range {
                let places = self.begin(own)..self.begin(own + 1);
                self.order[places].iter().for_each(|&rank| chain[rank as usize].store(own as u32, Relaxed));
            }
        });
        plain(chain)
    }

    /// The vertices whose lightest edge is that of rank `rank`.
    #[inline(always)]
    fn below(&self, rank: u32) -> [u32; 2] {
        [self.below[2 * rank as usize], self.below[2 * rank as usize + 1]]
    }

    /// The place of a chain's first edge; for the number of chains, the number of places.
    fn begin(&self, chain: usize) -> usize {
        if chain == 0 { 0 } else { self.place[self.last[chain - 1] as usize] as usize + 1 }
    }

    /// The chain of a place, searched in `among`.
    fn chain_at(&self, at: usize, among: Range<usize>) -> usize {
        let is_before = |&last: &u32| (self.place[last as usize] as usize) < at;
        among.start + self.last[among].partition_point(is_before)
    }
}

/// Returns `true` if an edge with the vertices `below` is the first of its chain.
#[inline(always)]
fn is_first(below: [u32; 2]) -> bool {
    (below[0] != NONE) & (below[1] != NONE)
}

/// The edges that are not the first of their chains, by chain and then in ascending order, and the chain of each.
fn sort_others(n: usize, up: &[u32], lightest: &[u32], below: &[u32], chains: usize) -> (Vec<u32>, Vec<u32>) {
    let both = |rank: usize| [below[2 * rank], below[2 * rank + 1]];
    let others = list_tasks(below.len() / 2, TASK, &|range| {
        range.filter(|&rank| !is_first(both(rank))).map(|rank| rank as u32).collect()
    });
    let mut chain = zeroed::<u32>(others.len());
    fill(&mut chain, TASK, &|range, own| {
        for (vertices, ranks) in own.chunks_mut(BATCH).zip(others[range].chunks(BATCH)) {
            for (vertex, &rank) in vertices.iter_mut().zip(ranks) {
                // If one is `NONE`, it is the larger number.
                let [low, high] = both(rank as usize);
                *vertex = low.min(high);
            }
            for vertex in vertices.iter_mut() {
                *vertex = up[*vertex as usize];
                prefetch(&lightest[*vertex as usize]);
            }
            for (vertex, &rank) in vertices.iter_mut().zip(ranks) {
                while lightest[*vertex as usize] < rank {
                    *vertex = up[*vertex as usize];
                }
                *vertex -= n as u32;
            }
        }
    });
    let source = ByChain { chain: &chain, bits: usize::BITS - chains.leading_zeros() };
    let mut buckets = Buckets::split(&source);
    let mut chain_of = zeroed(chain.len());
    buckets.sort(&mut chain_of[..], &Pool::default(), &|_, output: &mut [u32], sorted| {
        output.iter_mut().zip(sorted.iter()).for_each(|(output, (_, chain))| *output = chain);
    });
    let mut order = buckets.index;
    fill(&mut order, TASK, &|_, own| own.iter_mut().for_each(|at| *at = others[*at as usize]));
    (order, chain_of)
}

/// Edges as a radix-sort source, keyed by chain.
struct ByChain<'a> {
    chain: &'a [u32],
    bits: u32,
}

impl Source for ByChain<'_> {
    type Item = u32;

    fn len(&self) -> usize {
        self.chain.len()
    }
    fn bits(&self) -> u32 {
        self.bits
    }
    #[inline]
    fn item(&self, index: usize) -> u32 {
        self.chain[index]
    }
    fn prefetch(&self, _index: usize) {}
    fn codes(&self, items: &[u32], codes: &mut [u64]) {
        codes.iter_mut().zip(items).for_each(|(code, &chain)| *code = u64::from(chain));
    }
}

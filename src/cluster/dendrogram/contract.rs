//! Contraction of a spanning tree, level by level.
//!
//! In: the edges of a tree, ranked in ascending order. Out: [`Contraction`]. The vertices of level 0 are the points.
//! Each level contracts all edges that are the lightest of a vertex of that level. The groups of vertices that these
//! edges join are the vertices of the next level, at most half as many. The other edges remain for the next level. So
//! there are at most log2(n) levels, however skewed the dendrogram is.
//! Each vertex points along its lightest edge. In each group exactly two vertices point to each other, and one of
//! these is the root.
//! Cost: O(n log n) at worst, in parallel; up to 40 bytes per point. Source: Sao, Prokopenko and Lebrun-Grandié 2024
//! (PANDORA).

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::cluster::mst::SpanningTree;
use crate::memory::{append, with_capacity, zeroed};
use crate::parallel::{fill, for_each, for_tasks, map_tasks, plain};
use crate::simd::prefetch;

/// Edges or vertices per parallel task.
const TASK: usize = 1 << 12;
/// The prefetch distance, in edges or vertices.
const AHEAD: usize = 16;
/// Marks a missing vertex or edge.
pub(super) const NONE: u32 = u32::MAX;

/// An edge that is not yet contracted.
#[derive(Clone, Copy, Default)]
struct Link {
    rank: u32,
    /// The vertices that it joins at this level: that of its low end, then that of its high end.
    ends: [u32; 2],
}

/// The contracted levels. Vertices are numbered across levels: points `0..n`, then those of level 1, and so on. The
/// vertices of one level are in the order of their inner edges.
pub(super) struct Contraction {
    /// The first vertex of each level.
    pub levels: Vec<usize>,
    /// The vertex of the next level that contains each vertex; `NONE` for the last vertex.
    pub up: Vec<u32>,
    /// The rank of the lightest edge of each vertex; `NONE` for the last vertex.
    pub lightest: Vec<u32>,
    /// Two entries per edge: the vertices whose lightest edge it is, that of its low end, then that of its high end,
    /// each or `NONE`.
    pub below: Vec<u32>,
    /// For each vertex above the points, its inner edge: the edge within it that is the lightest of both its ends.
    pub inner: Vec<u32>,
}

impl Contraction {
    pub fn new(tree: &SpanningTree) -> Self {
        let (n, edges) = (tree.n_points(), tree.edges());
        // Pages of fresh zeros that are never written take no memory.
        let mut builder = ContractionBuilder {
            up: zeroed(2 * n),
            lightest: zeroed(2 * n),
            below: zeroed(2 * edges.len()),
            inner: vec![],
        };
        let (mut levels, mut links) = (vec![0], vec![]);
        if n > 1 {
            let link = |at: usize| Link { rank: at as u32, ends: [edges[at].low, edges[at].high] };
            links = builder.contract(0, n, link);
            levels.push(n);
            while !links.is_empty() {
                let (first, count) = (levels[levels.len() - 1], links.len() + 1);
                links = builder.contract(first, count, |at: usize| links[at]);
                levels.push(first + count);
            }
        }
        drop(links);
        let last = levels[levels.len() - 1];
        let vertices = if n > 0 { last + 1 } else { 0 };
        builder.finish(levels, vertices)
    }
}

/// A [`Contraction`] under construction, written by many threads.
struct ContractionBuilder {
    up: Vec<AtomicU32>,
    lightest: Vec<AtomicU32>,
    below: Vec<AtomicU32>,
    inner: Vec<u32>,
}

/// The result of a task: inner edges, one end of each, and the edges that are not contracted.
#[derive(Default)]
struct TaskResult {
    inner: Vec<u32>,
    roots: Vec<u32>,
    others: Vec<Link>,
}

impl ContractionBuilder {
    /// Contracts a level of `count` vertices from vertex `first` on, with `count - 1` edges. Returns the remaining
    /// edges.
    fn contract(&mut self, first: usize, count: usize, link: impl Fn(usize) -> Link + Sync) -> Vec<Link> {
        self.find_lightest(first, count, &link);
        let parts = map_tasks(count - 1, TASK, &|range| self.point_along_lightest(range, &link));
        // A vertex is contained in the new vertex of its tree's root. New vertices are numbered after this level, so
        // their numbers identify them.
        let next = first + count;
        let mut others = with_capacity(parts.iter().map(|part| part.others.len()).sum());
        let mut number = next;
        let mut roots = Vec::with_capacity(parts.len());
        for mut part in parts {
            roots.push((number, part.roots));
            number += part.inner.len();
            append(&mut self.inner, part.inner);
            others.append(&mut part.others);
        }
        for_each(roots, &|_, (number, roots)| {
            for (&root, number) in roots.iter().zip(number as u32..) {
                self.up[root as usize].store(number, Relaxed);
            }
        });
        for_tasks(count, TASK, &|range| {
            let last = first + range.end - 1;
            for at in first + range.start..first + range.end {
                prefetch(&self.up[self.up[last.min(at + AHEAD)].load(Relaxed) as usize]);
                self.up[at].store(self.climb(at, next), Relaxed);
            }
        });
        fill(&mut others, TASK, &|_, own| {
            for end in own.iter_mut().flat_map(|link| &mut link.ends) {
                *end = self.up[*end as usize].load(Relaxed);
            }
        });
        others
    }

    /// Finds the lightest edge of each vertex of a level.
    fn find_lightest(&self, first: usize, count: usize, link: &(impl Fn(usize) -> Link + Sync)) {
        let lightest = &self.lightest[first..first + count];
        for_tasks(count, TASK, &|range| lightest[range].iter().for_each(|lightest| lightest.store(NONE, Relaxed)));
        for_tasks(count - 1, TASK, &|range| {
            let last = range.end - 1;
            for at in range {
                self.prefetch_ends(link(last.min(at + AHEAD)));
                let Link { rank, ends } = link(at);
                for end in ends {
                    let lightest = &self.lightest[end as usize];
                    // The first edge that reaches a vertex usually is the lightest, so a load avoids most writes.
                    if rank < lightest.load(Relaxed) {
                        lightest.fetch_min(rank, Relaxed);
                    }
                }
            }
        });
    }

    /// Makes vertices point along their lightest edges, for lightest edges in `range`.
    fn point_along_lightest(&self, range: Range<usize>, link: &impl Fn(usize) -> Link) -> TaskResult {
        let mut part = TaskResult::default();
        let last = range.end - 1;
        for at in range {
            let ahead = link(last.min(at + AHEAD));
            self.prefetch_ends(ahead);
            ahead.ends.into_iter().for_each(|end| prefetch(&self.up[end as usize]));
            let Link { rank, ends: [low, high] } = link(at);
            let of_low = self.lightest[low as usize].load(Relaxed) == rank;
            let of_high = self.lightest[high as usize].load(Relaxed) == rank;
            if !of_low && !of_high {
                part.others.push(Link { rank, ends: [low, high] });
                continue;
            }
            let both = 2 * rank as usize;
            self.below[both].store(if of_low { low } else { NONE }, Relaxed);
            self.below[both + 1].store(if of_high { high } else { NONE }, Relaxed);
            let (from, to) = if of_high { (high, low) } else { (low, high) };
            self.up[from as usize].store(to, Relaxed);
            if of_low && of_high {
                part.inner.push(rank);
                part.roots.push(low);
            }
        }
        part
    }

    /// Prefetches the data of an edge that is needed soon.
    #[inline(always)]
    fn prefetch_ends(&self, link: Link) {
        link.ends.into_iter().for_each(|end| prefetch(&self.lightest[end as usize]));
    }

    /// The new vertex of the root above a vertex; numbers from `next` on are of the next level. Makes each second
    /// vertex on the path point to its grandparent, as in the union-find, unless another thread has already written
    /// its new vertex.
    #[inline(always)]
    fn climb(&self, mut at: usize, next: usize) -> u32 {
        loop {
            let parent = self.up[at].load(Relaxed);
            if parent as usize >= next {
                return parent;
            }
            let grandparent = self.up[parent as usize].load(Relaxed);
            if grandparent as usize >= next {
                return grandparent;
            }
            _ = self.up[at].compare_exchange(parent, grandparent, Relaxed, Relaxed);
            at = grandparent as usize;
        }
    }

    fn finish(mut self, levels: Vec<usize>, vertices: usize) -> Contraction {
        for values in [&mut self.up, &mut self.lightest] {
            values.truncate(vertices);
            values.shrink_to_fit();
            values.last_mut().into_iter().for_each(|last| *last.get_mut() = NONE);
        }
        let Self { up, lightest, below, inner } = self;
        Contraction { levels, up: plain(up), lightest: plain(lightest), below: plain(below), inner }
    }
}

//! Contraction of a spanning tree, level by level.
//!
//! In: the edges of a tree; their rank is their place in ascending order. Out: [`Contraction`]. The vertices of level 0 are the points.
//! At each level all edges are contracted that are the lightest of a vertex there; what they join are the vertices of the next level, at
//! most half as many; the other edges go on. So there are at most log2(n) levels, however skewed the dendrogram is. Each vertex points along
//! its lightest edge; of those that come together exactly two point to each other, and one of these is the root. Cost: O(n log n) at
//! worst, in parallel; up to 40 bytes a point. Source: Sao, Prokopenko and Lebrun-Grandié 2024 (PANDORA).

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::cluster::mst::SpanningTree;
use crate::memory::{append, with_capacity, zeroed};
use crate::parallel::{fill, for_each, for_tasks, map_tasks, plain};
use crate::simd::prefetch;

/// Edges, and vertices, per parallel task.
const TASK: usize = 1 << 12;
/// How far ahead of its use an end is asked for.
const AHEAD: usize = 16;
/// No vertex, and no edge.
pub(super) const NONE: u32 = u32::MAX;

/// An edge that is not contracted yet.
#[derive(Clone, Copy, Default)]
struct Link {
    rank: u32,
    /// The vertices that it joins at this level: that of its low end, that of its high end.
    ends: [u32; 2],
}

/// What is left of the levels. Vertices of all levels are numbered in one row: points `0..n`, then those of level 1, and so on. Those of one
/// level are in the order of the edges within them that are the lightest of both ends.
pub(super) struct Contraction {
    /// Where each level begins.
    pub levels: Vec<usize>,
    /// For each vertex that of the next level which it is part of; none for the last.
    pub up: Vec<u32>,
    /// For each vertex the rank of its lightest edge; none for the last.
    pub lightest: Vec<u32>,
    /// For each edge, two by two, the vertices whose lightest it is: that of its low end, that of its high end, each or none.
    pub below: Vec<u32>,
    /// For each vertex above the points the edge within it that is the lightest of both ends.
    pub inner: Vec<u32>,
}

impl Contraction {
    pub fn new(tree: &SpanningTree) -> Self {
        let (n, edges) = (tree.n_points(), tree.edges());
        // Of fresh zeros those that are never written take no memory.
        let mut under_way =
            UnderWay { up: zeroed(2 * n), lightest: zeroed(2 * n), below: zeroed(2 * edges.len()), inner: vec![] };
        let (mut levels, mut links) = (vec![0], vec![]);
        if n > 1 {
            let link = |at: usize| Link { rank: at as u32, ends: [edges[at].low, edges[at].high] };
            links = under_way.contract(0, n, link);
            levels.push(n);
            while !links.is_empty() {
                let (first, count) = (levels[levels.len() - 1], links.len() + 1);
                links = under_way.contract(first, count, |at: usize| links[at]);
                levels.push(first + count);
            }
        }
        drop(links);
        let last = levels[levels.len() - 1];
        let vertices = if n > 0 { last + 1 } else { 0 };
        under_way.finish(levels, vertices)
    }
}

/// [`Contraction`], written by many threads.
struct UnderWay {
    up: Vec<AtomicU32>,
    lightest: Vec<AtomicU32>,
    below: Vec<AtomicU32>,
    inner: Vec<u32>,
}

/// What a task finds: edges that are the lightest of both ends, one end of each, and the edges that are not contracted.
#[derive(Default)]
struct Part {
    inner: Vec<u32>,
    roots: Vec<u32>,
    others: Vec<Link>,
}

impl UnderWay {
    /// Contracts a level of `count` vertices, the first of which is `first`, and one edge less. Returns those that go on.
    fn contract(&mut self, first: usize, count: usize, link: impl Fn(usize) -> Link + Sync) -> Vec<Link> {
        self.find_lightest(first, count, &link);
        let parts = map_tasks(count - 1, TASK, &|range| self.follow(range, &link));
        // A vertex is part of what the root of its tree becomes; roots are numbered after this level, so that a number tells them.
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

    /// The lightest edge of each vertex of a level.
    fn find_lightest(&self, first: usize, count: usize, link: &(impl Fn(usize) -> Link + Sync)) {
        let lightest = &self.lightest[first..first + count];
        for_tasks(count, TASK, &|range| lightest[range].iter().for_each(|lightest| lightest.store(NONE, Relaxed)));
        for_tasks(count - 1, TASK, &|range| {
            let last = range.end - 1;
            for at in range {
                self.ask(link(last.min(at + AHEAD)));
                let Link { rank, ends } = link(at);
                for end in ends {
                    let lightest = &self.lightest[end as usize];
                    // The first edge that comes to a vertex mostly is the lightest: look before writing.
                    if rank < lightest.load(Relaxed) {
                        lightest.fetch_min(rank, Relaxed);
                    }
                }
            }
        });
    }

    /// Lets vertices point along their lightest edges, if these are among some edges.
    fn follow(&self, range: Range<usize>, link: &impl Fn(usize) -> Link) -> Part {
        let mut part = Part::default();
        let last = range.end - 1;
        for at in range {
            let ahead = link(last.min(at + AHEAD));
            self.ask(ahead);
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

    /// Asks for what an edge needs soon.
    #[inline(always)]
    fn ask(&self, link: Link) {
        link.ends.into_iter().for_each(|end| prefetch(&self.lightest[end as usize]));
    }

    /// What the root above a vertex becomes; numbers from `next` on are of the next level. Each second vertex on the way is made to point to its
    /// grandparent, as in the union-find, unless another thread has written what it becomes.
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

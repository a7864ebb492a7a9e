//! The k nearest things.
//!
//! In: a point and `k`, or all stored things. Out: neighbours, nearest first, ties by index.
//! From the leaf nearest to the query upwards: at each step the sibling that was passed on the way down is walked along its
//! ropes with the distance of the k-th best so far as radius, so the first leaves make it small.
//! Cost: O(k + depth) leaves for a compact cloud. The stack holds one sibling per level and cannot overflow: a tree is at
//! most 96 levels deep.

use rayon::prelude::*;

use crate::geometry::{Aabb, Bounded, Scalar};
use crate::lists::{Block, Lists};
use crate::morton::Grid;
use crate::simd::{Baseline, Level, dispatch};
use crate::sort::sort_by_code;
use crate::traverse::{Probe, Siblings, bits};
use crate::tree::{Bvh, LEAF};

/// Queries per parallel task.
const TASK: usize = 1 << 9;

/// A found neighbour.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Neighbor<S> {
    /// Its index in the slice the tree was built from.
    pub index: u32,
    /// The squared distance, rounded to `S` (it is compared in `f64`).
    pub distance2: S,
}

/// What to look for: `k`, or more exactly.
///
/// ```
/// use ropewalk::{Bvh, Nearest};
///
/// let bvh = Bvh::build(&[[0.0f32], [1.0], [2.5], [9.0]])?;
/// let near = bvh.nearest([0.0f32], Nearest::new(3).within(2.5).excluding(0));
/// assert_eq!(near.iter().map(|n| n.index).collect::<Vec<_>>(), [1, 2]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    pub(crate) k: usize,
    pub(crate) radius: f64,
    pub(crate) excluded: Excluded,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Excluded {
    Nothing,
    Index(u32),
    Own,
}

impl Nearest {
    /// The `k` nearest; fewer if there are not as many.
    pub fn new(k: usize) -> Self {
        Self { k, radius: f64::INFINITY, excluded: Excluded::Nothing }
    }

    /// None beyond `radius`, which is inclusive. Nothing is within a radius that is negative or NaN.
    #[must_use]
    pub fn within(mut self, radius: impl Into<f64>) -> Self {
        self.radius = radius.into();
        self
    }

    /// Not the thing with this index.
    #[must_use]
    pub fn excluding(mut self, index: u32) -> Self {
        self.excluded = Excluded::Index(index);
        self
    }

    /// Not the thing that has the query's own index, where the queries are the stored things in the same order.
    /// For a single query it has no meaning.
    #[must_use]
    pub fn excluding_self(mut self) -> Self {
        self.excluded = Excluded::Own;
        self
    }

    /// The index to leave out for query `query`.
    pub(crate) fn excluded_for(&self, query: u32) -> Option<u32> {
        match self.excluded {
            Excluded::Nothing => None,
            Excluded::Index(index) => Some(index),
            Excluded::Own => Some(query),
        }
    }
}

impl From<usize> for Nearest {
    fn from(k: usize) -> Self {
        Self::new(k)
    }
}

/// The best so far, ascending by distance, then index.
pub(crate) struct Best {
    k: usize,
    radius2: f64,
    /// A squared distance, whose bits are ordered as the number is, and below it the index: one comparison orders both.
    found: Vec<u128>,
}

impl Best {
    pub fn new() -> Self {
        Self { k: 0, radius2: 0.0, found: Vec::new() }
    }

    /// Begins anew. Nothing is ever accepted if `k` is 0 or the radius negative or NaN.
    pub fn start(&mut self, wanted: &Nearest) {
        self.k = wanted.k;
        self.radius2 = if wanted.k > 0 && wanted.radius >= 0.0 { wanted.radius * wanted.radius } else { -1.0 };
        self.found.clear();
    }

    /// What is farther than this is not wanted; negative if nothing is.
    #[inline(always)]
    pub fn limit(&self) -> f64 {
        if self.found.len() < self.k { self.radius2 } else { self.found.last().map_or(-1.0, |&last| distance2(last)) }
    }

    /// Takes a neighbour in, if it is among the best.
    #[inline(always)]
    pub fn offer(&mut self, distance2: f64, index: u32) -> bool {
        let new = u128::from(distance2.to_bits()) << 32 | u128::from(index);
        if self.found.len() < self.k {
            if distance2 > self.radius2 {
                return false;
            }
            self.found.push(new);
        } else {
            match self.found.last_mut() {
                Some(last) if new < *last => *last = new,
                _ => return false,
            }
        }
        // Few are moved: most candidates come late and belong near the end.
        let mut at = self.found.len() - 1;
        while at > 0 && self.found[at - 1] > new {
            self.found[at] = self.found[at - 1];
            at -= 1;
        }
        self.found[at] = new;
        true
    }

    pub fn neighbors<S: Scalar>(&self) -> impl Iterator<Item = Neighbor<S>> {
        self.found.iter().map(|&found| Neighbor { index: found as u32, distance2: S::from_f64(distance2(found)) })
    }
}

#[inline(always)]
fn distance2(found: u128) -> f64 {
    f64::from_bits((found >> 32) as u64)
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// The `k` nearest stored things to a point, nearest first, ties by index; for boxes by the distance to the box.
    /// `wanted` is `k` or a [`Nearest`]. A point that is NaN has no neighbours.
    ///
    /// ```
    /// let bvh = ropewalk::Bvh::build(&[[0.0f32, 0.0], [3.0, 0.0], [1.0, 0.0]])?;
    /// let near = bvh.nearest([0.9f32, 0.0], 2);
    /// assert_eq!((near[0].index, near[1].index), (2, 0));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn nearest(&self, point: impl Into<[S; D]>, wanted: impl Into<Nearest>) -> Vec<Neighbor<S>> {
        let mut best = Best::new();
        let wanted = wanted.into();
        let excluded = if let Excluded::Index(index) = wanted.excluded { Some(index) } else { None };
        best.start(&wanted);
        self.search(Baseline, &Aabb::point(point.into()), excluded, &mut best);
        best.neighbors().collect()
    }

    /// The nearest to each of many points, as lists in the order of the points, in parallel.
    ///
    /// ```
    /// use ropewalk::{Bvh, Nearest};
    ///
    /// let points = [[0.0f32], [1.0], [5.0]];
    /// let graph = Bvh::build(&points)?.nearest_all(&points, Nearest::new(1).excluding_self());
    /// assert_eq!(graph.values().iter().map(|n| n.index).collect::<Vec<_>>(), [1, 0, 1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn nearest_all<T: Bounded<S, D>>(&self, points: &[T], wanted: impl Into<Nearest>) -> Lists<Neighbor<S>> {
        let wanted = wanted.into();
        let grid = Grid::over(&self.bounds());
        let sorted = sort_by_code(points.len(), Grid::<S, D>::BITS, |first, codes| {
            grid.codes(points[first..].iter().map(|point| point.bounds().lo), codes);
        });
        let order: Vec<u32> = sorted.into_iter().map(|coded| coded.index()).collect();
        let blocks: Vec<_> = order
            .par_chunks(TASK)
            .map_init(Best::new, |best, queries| {
                let mut block = Block::default();
                dispatch!(level => for &query in queries {
                    best.start(&wanted);
                    self.search(level, &points[query as usize].bounds(), wanted.excluded_for(query), best);
                    block.values.extend(best.neighbors());
                    block.lengths.push(best.found.len() as u32);
                });
                block
            })
            .collect();
        Lists::from_blocks(&order, &blocks)
    }

    /// The nearest to each stored thing, as lists in the caller's order, in parallel: what
    /// `nearest_all(points, wanted)` gives, without sorting anything again.
    ///
    /// ```
    /// use ropewalk::{Bvh, Nearest};
    ///
    /// let graph = Bvh::build(&[[0.0f32], [1.0], [5.0]])?.nearest_neighbors(Nearest::new(1).excluding_self());
    /// assert_eq!(graph.values().iter().map(|n| n.index).collect::<Vec<_>>(), [1, 0, 1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn nearest_neighbors(&self, wanted: impl Into<Nearest>) -> Lists<Neighbor<S>> {
        let wanted = wanted.into();
        let blocks: Vec<_> = (0..self.end().div_ceil(TASK))
            .into_par_iter()
            .map_init(
                || std::array::from_fn(|_| Best::new()),
                |best: &mut [Best; LEAF], task| {
                    let mut block = Block::default();
                    dispatch!(level => for leaf in task * TASK..((task + 1) * TASK).min(self.end()) {
                        if self.is_leaf(leaf) {
                            self.search_for_leaf(level, leaf, &wanted, best);
                            for best in &best[..self.span(leaf).len()] {
                                block.values.extend(best.neighbors());
                                block.lengths.push(best.found.len() as u32);
                            }
                        }
                    });
                    block
                },
            )
            .collect();
        Lists::from_blocks(self.order(), &blocks)
    }

    /// Fills `best` for each thing of a leaf with one walk, from the leaf upwards.
    #[inline(always)]
    fn search_for_leaf<L: Level>(&self, level: L, leaf: usize, wanted: &Nearest, best: &mut [Best; LEAF]) {
        if self.space().period().is_some() {
            self.climb_for_leaf(level, &Probe::<S, D, true>::new(self, 0.0), leaf, wanted, best);
        } else {
            self.climb_for_leaf(level, &Probe::<S, D, false>::new(self, 0.0), leaf, wanted, best);
        }
    }

    #[inline(always)]
    fn climb_for_leaf<L: Level, const P: bool>(
        &self,
        level: L,
        probe: &Probe<S, D, P>,
        leaf: usize,
        wanted: &Nearest,
        best: &mut [Best; LEAF],
    ) {
        let own = self.span(leaf);
        let bounds = &self.node(leaf).bounds;
        let mut limits = [S::NEG_INFINITY; LEAF];
        for (i, thing) in own.clone().enumerate() {
            best[i].start(wanted);
            limits[i] = probe.limit(best[i].limit());
            let excluded = wanted.excluded_for(self.order()[thing]);
            self.take(level, probe, &self.item(thing), leaf, excluded, &mut best[i], &mut limits[i]);
        }
        let mut farthest = limits.iter().fold(S::NEG_INFINITY, |farthest, &limit| farthest.max(limit));

        let mut siblings = Siblings::new();
        siblings.descend(self, leaf);
        for sibling in siblings.upwards() {
            let (mut at, end) = (sibling, self.node(sibling).rope as usize);
            while at < end {
                let node = self.node(at);
                if probe.gap2(bounds, &node.bounds) > farthest {
                    at = node.rope as usize;
                    continue;
                }
                if self.is_leaf(at) {
                    for i in bits(probe.closer_each(level, &node.bounds, own.clone(), &limits)) {
                        let thing = own.start + i;
                        let excluded = wanted.excluded_for(self.order()[thing]);
                        self.take(level, probe, &self.item(thing), at, excluded, &mut best[i], &mut limits[i]);
                    }
                    farthest = limits.iter().fold(S::NEG_INFINITY, |farthest, &limit| farthest.max(limit));
                }
                at += 1;
            }
        }
    }

    /// Fills `best` for a point that need not be stored.
    #[inline(always)]
    fn search<L: Level>(&self, level: L, of: &Aabb<S, D>, excluded: Option<u32>, best: &mut Best) {
        // A NaN would compare false to everything, and so be near to everything.
        if self.is_empty() || !of.is_finite() {
            return;
        }
        if self.space().period().is_some() {
            let of = self.space().wrap_box(*of);
            self.climb(level, &Probe::<S, D, true>::new(self, 0.0), &of, excluded, best);
        } else {
            self.climb(level, &Probe::<S, D, false>::new(self, 0.0), of, excluded, best);
        }
    }

    #[inline(always)]
    fn climb<L: Level, const P: bool>(
        &self,
        level: L,
        probe: &Probe<S, D, P>,
        of: &Aabb<S, D>,
        excluded: Option<u32>,
        best: &mut Best,
    ) {
        let mut siblings = Siblings::new();
        let mut at = 0;
        while !self.is_leaf(at) {
            let (left, right) = (at + 1, self.node(at + 1).rope as usize);
            let left_is_near = probe.gap2(of, &self.node(left).bounds) <= probe.gap2(of, &self.node(right).bounds);
            at = if left_is_near { siblings.pass(right, left) } else { siblings.pass(left, right) };
        }
        let mut limit = probe.limit(best.limit());
        self.take(level, probe, of, at, excluded, best, &mut limit);
        for sibling in siblings.upwards() {
            let (mut at, end) = (sibling, self.node(sibling).rope as usize);
            while at < end {
                let node = self.node(at);
                if probe.gap2(of, &node.bounds) > limit {
                    at = node.rope as usize;
                    continue;
                }
                if self.is_leaf(at) {
                    self.take(level, probe, of, at, excluded, best, &mut limit);
                }
                at += 1;
            }
        }
    }

    /// Offers a leaf's things, and lowers the limit.
    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn take<L: Level, const P: bool>(
        &self,
        level: L,
        probe: &Probe<S, D, P>,
        of: &Aabb<S, D>,
        leaf: usize,
        excluded: Option<u32>,
        best: &mut Best,
        limit: &mut S,
    ) {
        let span = self.span(leaf);
        let mut changed = false;
        for bit in bits(probe.closer(level, of, span.clone(), *limit)) {
            let position = span.start + bit;
            let index = self.order()[position];
            if Some(index) != excluded {
                changed |= best.offer(probe.distance2(of, position), index);
            }
        }
        if changed {
            *limit = probe.limit(best.limit());
        }
    }
}

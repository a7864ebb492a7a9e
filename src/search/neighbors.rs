//! Each stored primitive with its neighbours: counts, lists, and every pair once.
//!
//! In: a radius. Out: counts or lists in the caller's order, or a callback for each pair.
//! One walk serves a whole leaf: it finds the leaves near it, and for each the primitives that can reach it.
//! Cost: about |leaf|^2 distances for each pair of leaves that meet, eight at a time.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use crate::bvh::traverse::{BallPredicate, bits};
use crate::bvh::{Bvh, LEAF};
use crate::csr::{Csr, CsrChunk};
use crate::geometry::Scalar;
use crate::simd::{Isa, dispatch};

/// Nodes per parallel task.
const TASK: usize = 1 << 8;

/// A radius both ways: most leaves are far from a periodic boundary, most radii near 1.
struct Both<'a, S, const D: usize> {
    tree: &'a Bvh<S, D>,
    open: BallPredicate<'a, S, D, false>,
    general: Option<BallPredicate<'a, S, D, true>>,
}

/// `each_leaf!(both, level, |probe, leaf| body)`: the leaves of `nodes`, each with the probe for where it is.
macro_rules! each_leaf {
    ($both:expr, $nodes:expr, |$probe:ident, $leaf:ident| $body:expr) => {
        for $leaf in $nodes {
            if $both.tree.is_leaf($leaf) {
                match &$both.general {
                    Some($probe) if $probe.is_for(&$both.tree.node($leaf).bounds) => $body,
                    _ => {
                        let $probe = &$both.open;
                        $body
                    }
                }
            }
        }
    };
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// How many stored primitives are within `radius` of each, itself included, in the caller's order.
    ///
    /// ```
    /// let bvh = ropewalk::Bvh::build(&[[0.0f32], [5.0], [1.0]])?;
    /// assert_eq!(bvh.count_neighbors(1.0), [2, 1, 2]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn count_neighbors(&self, radius: impl Into<f64>) -> Vec<u32> {
        let both = self.both(radius.into());
        let counts: Vec<AtomicU32> = (0..self.len()).map(|_| AtomicU32::new(0)).collect();
        self.tasks().for_each(|nodes| {
            dispatch!(level => each_leaf!(both, nodes.clone(), |probe, leaf| {
                let own = count_leaf(self, level, probe, leaf);
                for (position, count) in self.span(leaf).zip(own) {
                    counts[self.order()[position] as usize].store(count, Relaxed);
                }
            }));
        });
        counts.into_iter().map(AtomicU32::into_inner).collect()
    }

    /// The stored primitives within `radius` of each, itself included, as lists in the caller's order.
    ///
    /// ```
    /// let bvh = ropewalk::Bvh::build(&[[0.0f32], [5.0], [1.0]])?;
    /// let lists = bvh.neighbors(1.0);
    /// assert_eq!(lists.of(1), [1]);
    /// assert_eq!(lists.offsets(), [0, 2, 3, 5]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn neighbors(&self, radius: impl Into<f64>) -> Csr<u32> {
        let both = self.both(radius.into());
        let blocks: Vec<_> = self
            .tasks()
            .map(|nodes| {
                let mut block = CsrChunk::default();
                let mut near = Vec::new();
                dispatch!(level => each_leaf!(both, nodes.clone(), |probe, leaf| {
                    list_leaf(self, level, probe, leaf, &mut near, &mut block)
                }));
                block
            })
            .collect();
        Csr::gather(self.order(), &blocks)
    }

    /// Calls `visit` once for every pair of stored primitives within `radius` of each other, in parallel. Each pair comes as
    /// `(i, j)` with `i < j`; the pairs in no particular order.
    ///
    /// ```
    /// use std::sync::Mutex;
    ///
    /// let bvh = ropewalk::Bvh::build(&[[0.0f32], [5.0], [1.0]])?;
    /// let pairs = Mutex::new(vec![]);
    /// bvh.for_each_pair(1.0, |i, j| pairs.lock().unwrap().push((i, j)));
    /// assert_eq!(pairs.into_inner().unwrap(), [(0, 2)]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn for_each_pair(&self, radius: impl Into<f64>, visit: impl Fn(u32, u32) + Sync) {
        let order = self.order();
        self.each_pair_of_leaves::<false>(radius.into(), |_, primitive, other, hits| {
            let others = &order[self.span(other)];
            for bit in bits(hits) {
                let (i, j) = (order[primitive], others[bit]);
                visit(i.min(j), i.max(j));
            }
        });
    }

    /// The number of pairs within `radius`, each counted once.
    ///
    /// ```
    /// let bvh = ropewalk::Bvh::build(&[[0.0f32], [5.0], [1.0]])?;
    /// assert_eq!(bvh.count_pairs(1.0), 1);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn count_pairs(&self, radius: impl Into<f64>) -> u64 {
        let both = self.both(radius.into());
        self.tasks()
            .map(|nodes| {
                let mut count = 0;
                dispatch!(level => each_leaf!(both, nodes.clone(), |probe, leaf| {
                    count += count_pairs_of_leaf(self, level, probe, leaf);
                }));
                count
            })
            .sum()
    }

    /// Calls `found(leaf, primitive, other, hits)` for each primitive of each leaf and each leaf at or behind it: `hits` has a bit for
    /// each of the other leaf's primitives that make a pair with it. `ONCE` leaves out nodes that [repeat](Self::duplicates_predecessor) the
    /// point before them.
    #[inline(always)]
    pub(crate) fn each_pair_of_leaves<const ONCE: bool>(
        &self,
        radius: f64,
        found: impl Fn(usize, usize, usize, u32) + Sync,
    ) {
        let both = self.both(radius);
        self.tasks().for_each(|nodes| {
            dispatch!(level => each_leaf!(both, nodes.clone(), |probe, leaf| {
                if !(ONCE && self.duplicates_predecessor(leaf)) {
                    pair_leaf::<_, _, D, _, ONCE>(self, level, probe, leaf, |primitive, other, hits| {
                        found(leaf, primitive, other, hits);
                    });
                }
            }));
        });
    }

    fn both(&self, radius: f64) -> Both<'_, S, D> {
        Both { tree: self, open: BallPredicate::new(self, radius), general: BallPredicate::general(self, radius) }
    }

    /// Ranges of nodes, in order.
    fn tasks(&self) -> impl IndexedParallelIterator<Item = std::ops::Range<usize>> {
        let end = self.end();
        (0..end.div_ceil(TASK)).into_par_iter().map(move |task| task * TASK..((task + 1) * TASK).min(end))
    }
}

/// The number of neighbours of each primitive in a leaf.
#[inline(always)]
fn count_leaf<S: Scalar, L: Isa, const D: usize, const P: bool>(
    tree: &Bvh<S, D>,
    level: L,
    probe: &BallPredicate<S, D, P>,
    leaf: usize,
) -> [u32; LEAF] {
    let mut counts = [0; LEAF];
    let own = tree.span(leaf);
    let bounds = &tree.node(leaf).bounds;
    let mut at = 0;
    while at < tree.end() {
        let node = tree.node(at);
        if !probe.meets(bounds, &node.bounds) {
            at = node.rope as usize;
        } else if probe.covers(bounds, &node.bounds) {
            // All of them, without a look.
            let all = tree.span(at).len() as u32;
            counts.iter_mut().for_each(|count| *count += all);
            at = node.rope as usize;
        } else {
            if tree.is_leaf(at) {
                for bit in bits(probe.candidates(level, &node.bounds, own.clone())) {
                    counts[bit] += probe.hits(level, &tree.item(own.start + bit), tree.span(at)).count_ones();
                }
            }
            at += 1;
        }
    }
    counts
}

/// The number of pairs between the primitives of a leaf, and between them and those behind.
#[inline(always)]
fn count_pairs_of_leaf<S: Scalar, L: Isa, const D: usize, const P: bool>(
    tree: &Bvh<S, D>,
    level: L,
    probe: &BallPredicate<S, D, P>,
    leaf: usize,
) -> u64 {
    let mut count = 0;
    let own = tree.span(leaf);
    for primitive in own.clone() {
        let behind = !1 << (primitive - own.start);
        count += u64::from((probe.hits(level, &tree.item(primitive), own.clone()) & behind).count_ones());
    }
    let bounds = &tree.node(leaf).bounds;
    let mut at = tree.node(leaf).rope as usize;
    while at < tree.end() {
        let node = tree.node(at);
        if !probe.meets(bounds, &node.bounds) {
            at = node.rope as usize;
        } else if probe.covers(bounds, &node.bounds) {
            // All of them, without a look.
            count += own.len() as u64 * tree.span(at).len() as u64;
            at = node.rope as usize;
        } else {
            if tree.is_leaf(at) {
                for bit in bits(probe.candidates(level, &node.bounds, own.clone())) {
                    let hits = probe.hits(level, &tree.item(own.start + bit), tree.span(at));
                    count += u64::from(hits.count_ones());
                }
            }
            at += 1;
        }
    }
    count
}

/// Appends the neighbours of each primitive in a leaf.
#[inline(always)]
fn list_leaf<S: Scalar, L: Isa, const D: usize, const P: bool>(
    tree: &Bvh<S, D>,
    level: L,
    probe: &BallPredicate<S, D, P>,
    leaf: usize,
    near: &mut Vec<(u32, u32)>,
    block: &mut CsrChunk<u32>,
) {
    let own = tree.span(leaf);
    near.clear();
    probe.walk(&tree.node(leaf).bounds, 0, tree.end(), |at| {
        near.push((at as u32, probe.candidates(level, &tree.node(at).bounds, own.clone())));
        true
    });
    for (i, primitive) in own.enumerate() {
        let before = block.values.len();
        let item = tree.item(primitive);
        for &(at, reachable) in near.iter() {
            if reachable >> i & 1 == 1 {
                let span = tree.span(at as usize);
                let order = &tree.order()[span.clone()];
                block.values.extend(bits(probe.hits(level, &item, span)).map(|bit| order[bit]));
            }
        }
        block.lengths.push((block.values.len() - before) as u32);
    }
}

/// Calls `found(primitive, other, hits)` for each primitive of a leaf and each leaf at or behind it.
#[inline(always)]
fn pair_leaf<S: Scalar, L: Isa, const D: usize, const P: bool, const ONCE: bool>(
    tree: &Bvh<S, D>,
    level: L,
    probe: &BallPredicate<S, D, P>,
    leaf: usize,
    mut found: impl FnMut(usize, usize, u32),
) {
    let own = tree.span(leaf);
    for primitive in own.clone() {
        let behind = !1 << (primitive - own.start);
        found(primitive, leaf, probe.hits(level, &tree.item(primitive), own.clone()) & behind);
    }
    let bounds = &tree.node(leaf).bounds;
    let mut at = tree.node(leaf).rope as usize;
    while at < tree.end() {
        let node = tree.node(at);
        if !probe.meets(bounds, &node.bounds) || (ONCE && tree.duplicates_predecessor(at)) {
            at = node.rope as usize;
            continue;
        }
        if tree.is_leaf(at) {
            for bit in bits(probe.candidates(level, &node.bounds, own.clone())) {
                let primitive = own.start + bit;
                found(primitive, at, probe.hits(level, &tree.item(primitive), tree.span(at)));
            }
        }
        at += 1;
    }
}

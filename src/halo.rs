//! Friends-of-friends halos.
//!
//! In: points and a linking length. Out: [`Halos`], the groups with their members, largest first.
//! Two points within the linking length are friends; halos are the connected components. The half traversal finds pairs of
//! leaves, and no distance is computed where union-find already knows the answer (see `link`).
//! Cost: about that of the tree; memory as in [`Fof::run`]. Source: Davis et al. 1985 (the definition); Prokopenko et
//! al. 2023, FDBSCAN (tree and union-find).

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rayon::prelude::*;

use crate::error::Result;
use crate::geometry::{Bounded, BoxSize, Scalar, Space};
use crate::labels::{Labels, UnionFind};
use crate::simd::{Level, dispatch};
use crate::traverse::{Probe, bits};
use crate::tree::{Bvh, LEAF};

/// Nodes per parallel task.
const TASK: usize = 1 << 10;

/// A friends-of-friends finder: options, then [`Fof::run`].
///
/// ```
/// use ropewalk::Fof;
///
/// let points = [[0.0f32, 0.0, 0.0], [9.9, 0.0, 0.0], [5.0, 5.0, 5.0], [5.0, 5.0, 5.1]];
/// let halos = Fof::new(0.2).periodic(10.0).run(&points)?;
/// assert_eq!(halos.members(0), [0, 1]); // friends across the boundary
/// assert_eq!(halos.members(1), [2, 3]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Fof {
    linking_length: f64,
    min_members: usize,
    size: Option<BoxSize>,
}

impl Fof {
    /// Friends are at most `linking_length` apart, in the units of the points. In cosmology it is often 0.2 (or 0.168)
    /// mean separations, `(volume / n).cbrt()`.
    pub fn new(linking_length: impl Into<f64>) -> Self {
        Self { linking_length: linking_length.into(), min_members: 2, size: None }
    }

    /// Halos have at least this many members; 2 unless said otherwise, which is also the least. Labels do not depend on it.
    #[must_use]
    pub fn min_members(mut self, members: usize) -> Self {
        self.min_members = members.max(2);
        self
    }

    /// A periodic box: one side, or one per axis.
    #[must_use]
    pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
        self.size = Some(size.into());
        self
    }

    /// Finds the halos of `points`.
    ///
    /// Exact, and the same for any number of threads. Beside the result it takes some 50 bytes a point for three-dimensional
    /// `f32`, at its peak, while codes are sorted.
    ///
    /// Errors: a linking length that is NaN, negative or infinite; a periodic box that is not positive or smaller than two
    /// linking lengths; points that [`Bvh::build`] refuses.
    pub fn run<T: Bounded<S, D>, S: Scalar, const D: usize>(&self, points: &[T]) -> Result<Halos> {
        let space = self.size.clone().map_or(Ok(Space::OPEN), Space::<D>::periodic)?;
        space.check_eps(self.linking_length)?;
        let tree = match &self.size {
            Some(size) => Bvh::build_periodic(points, size.clone())?,
            None => Bvh::build(points)?,
        };
        self.run_on(&tree)
    }

    /// Finds the halos in a tree that is already built, open or periodic as the tree is.
    ///
    /// Errors: as [`Fof::run`], for the linking length.
    pub fn run_on<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> Result<Halos> {
        tree.space().check_eps(self.linking_length)?;
        let labels = link(tree, self.linking_length).into_labels(tree.order());
        Ok(Halos::new(labels, self.min_members))
    }
}

/// Groups of points, largest first, ties by the smallest member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halos {
    labels: Labels,
    clusters: Vec<u32>,
    offsets: Vec<usize>,
    members: Vec<u32>,
}

impl Halos {
    /// The clusters of `labels` that have at least `min_members` members.
    pub fn new(labels: Labels, min_members: usize) -> Self {
        let sizes = labels.sizes();
        let mut clusters: Vec<u32> =
            (0..sizes.len() as u32).filter(|&cluster| sizes[cluster as usize] >= min_members.max(1)).collect();
        clusters.sort_by_key(|&cluster| std::cmp::Reverse(sizes[cluster as usize]));

        let mut offsets = Vec::with_capacity(clusters.len() + 1);
        let mut next = vec![usize::MAX; sizes.len()];
        let mut end = 0;
        for &cluster in &clusters {
            offsets.push(end);
            next[cluster as usize] = end;
            end += sizes[cluster as usize];
        }
        offsets.push(end);

        let mut members = vec![0; end];
        for (point, &label) in labels.as_slice().iter().enumerate() {
            if let Some(slot) = usize::try_from(label).ok().and_then(|cluster| next.get_mut(cluster))
                && let Some(member) = members.get_mut(*slot)
            {
                *member = point as u32;
                *slot += 1;
            }
        }
        Self { labels, clusters, offsets, members }
    }

    /// How many halos there are.
    pub fn len(&self) -> usize {
        self.clusters.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// The members of halo `halo`, ascending; none if there is no such halo.
    pub fn members(&self, halo: usize) -> &[u32] {
        match (self.offsets.get(halo), self.offsets.get(halo + 1)) {
            (Some(&start), Some(&end)) => &self.members[start..end],
            _ => &[],
        }
    }

    /// The members of each halo in turn.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        (0..self.len()).map(|halo| self.members(halo))
    }

    /// CSR offsets: halo `h` has the members `offsets[h]..offsets[h + 1]` of [`Halos::all_members`].
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The members of all halos, one halo after the other.
    pub fn all_members(&self) -> &[u32] {
        &self.members
    }

    /// Each halo's number in [`Halos::labels`].
    pub fn clusters(&self) -> &[u32] {
        &self.clusters
    }

    /// The group of each point: all groups of two or more, whatever the least number of members of a halo.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }
}

/// Joins all pairs of the tree within `eps`.
///
/// A node is *joined* once all things below it are known to be in one component: from the start where its diagonal is at
/// most `eps`, later when its children are joined and in the same component. Leaves are taken from last to first, so that
/// what lies behind a leaf, where its half traversal leads, is mostly joined already and can be skipped as a whole.
/// The marks only save work: a late one costs time, and the components are the same in any order.
fn link<S: Scalar, const D: usize>(tree: &Bvh<S, D>, eps: f64) -> UnionFind {
    let forest = UnionFind::new(tree.len());
    let joined: Vec<AtomicBool> =
        (0..tree.end()).into_par_iter().with_min_len(TASK).map(|_| AtomicBool::new(false)).collect();
    let linker = Linker {
        tree,
        open: Probe::new(tree, eps),
        around: tree.space().period().map(|_| Probe::new(tree, eps)),
        forest: &forest,
        joined: &joined,
    };
    let tasks = tree.end().div_ceil(TASK);
    let span = |task: usize| task * TASK..((task + 1) * TASK).min(tree.end());
    (0..tasks).into_par_iter().for_each(|task| linker.join_cliques(span(task)));
    (0..tasks).into_par_iter().rev().for_each(|task| {
        dispatch!(level => for at in span(task).rev() {
            linker.settle(level, at);
        });
    });
    forest
}

struct Linker<'a, S, const D: usize> {
    tree: &'a Bvh<S, D>,
    open: Probe<'a, S, D, false>,
    around: Option<Probe<'a, S, D, true>>,
    forest: &'a UnionFind,
    joined: &'a [AtomicBool],
}

impl<S: Scalar, const D: usize> Linker<'_, S, D> {
    /// Joins what is below nodes with a diagonal of at most `eps`.
    fn join_cliques(&self, nodes: std::ops::Range<usize>) {
        let mut at = nodes.start;
        while at < nodes.end {
            let node = self.tree.node(at);
            if self.open.covers(&node.bounds, &node.bounds) {
                let things = self.tree.span(at);
                for thing in things.start + 1..things.end {
                    self.forest.union(things.start as u32, thing as u32);
                }
                for below in &self.joined[at..node.rope as usize] {
                    below.store(true, Relaxed);
                }
                at = node.rope as usize;
            } else {
                at += 1;
            }
        }
    }

    /// Finds the friends of a leaf, in it and behind it; or marks an inner node, whose leaves have been settled.
    #[inline(always)]
    fn settle<L: Level>(&self, level: L, at: usize) {
        if !self.tree.is_leaf(at) {
            let (left, right) = (at + 1, self.tree.node(at + 1).rope as usize);
            if !self.is_joined(at)
                && self.is_joined(left)
                && self.is_joined(right)
                && self.root(left) == self.root(right)
            {
                self.joined[at].store(true, Relaxed);
            }
            return;
        }
        match &self.around {
            Some(probe) if probe.crosses(&self.tree.node(at).bounds) => self.settle_leaf(level, probe, at),
            _ => self.settle_leaf(level, &self.open, at),
        }
    }

    #[inline(always)]
    fn settle_leaf<L: Level, const P: bool>(&self, level: L, probe: &Probe<S, D, P>, leaf: usize) {
        let own = self.tree.span(leaf);
        if !self.is_joined(leaf) {
            let mut friends = [0; LEAF];
            for (friends, thing) in friends.iter_mut().zip(own.clone()) {
                *friends = probe.hits(level, &self.tree.item(thing), own.clone());
            }
            if self.join_components(own.start, &friends[..own.len()]) == 1 {
                self.joined[leaf].store(true, Relaxed);
            }
        }

        let bounds = &self.tree.node(leaf).bounds;
        let is_joined = self.is_joined(leaf);
        let mut root = self.root(leaf);
        let mut at = self.tree.node(leaf).rope as usize;
        while at < self.tree.end() {
            let node = self.tree.node(at);
            if !probe.meets(bounds, &node.bounds) {
                at = node.rope as usize;
                continue;
            }
            let other_joined = self.is_joined(at);
            if is_joined && other_joined && self.root(at) == root {
                at = node.rope as usize;
                continue;
            }
            if self.tree.is_leaf(at) {
                self.join_leaves(level, probe, own.clone(), is_joined, at, other_joined);
                if is_joined {
                    root = self.root(leaf);
                }
            }
            at += 1;
        }
    }

    /// Joins the components of a leaf, found on the masks of friends alone, and returns how many there are.
    #[inline(always)]
    fn join_components(&self, start: usize, friends: &[u32]) -> usize {
        let mut components = 0;
        let mut left = u32::MAX >> (u32::BITS - friends.len() as u32);
        while left != 0 {
            let first = left.trailing_zeros() as usize;
            let (mut component, mut open) = (friends[first], friends[first] & !(1 << first));
            while open != 0 {
                let next = friends[open.trailing_zeros() as usize];
                open = (open & (open - 1)) | (next & !component);
                component |= next;
            }
            for member in bits(component & !(1 << first)) {
                self.forest.union((start + first) as u32, (start + member) as u32);
            }
            left &= !component;
            components += 1;
        }
        components
    }

    /// Joins the pairs between a leaf's things and another leaf; one pair will do where both are joined.
    #[inline(always)]
    fn join_leaves<L: Level, const P: bool>(
        &self,
        level: L,
        probe: &Probe<S, D, P>,
        own: std::ops::Range<usize>,
        own_joined: bool,
        other: usize,
        other_joined: bool,
    ) {
        let things = self.tree.span(other);
        for bit in bits(probe.candidates(level, &self.tree.node(other).bounds, own.clone())) {
            let thing = own.start + bit;
            if other_joined && !own_joined && self.forest.find(thing as u32) == self.root(other) {
                continue;
            }
            let hits = probe.hits(level, &self.tree.item(thing), things.clone());
            for hit in bits(hits) {
                self.forest.union(thing as u32, (things.start + hit) as u32);
                if other_joined {
                    break;
                }
            }
            if hits != 0 && own_joined && other_joined {
                return;
            }
        }
    }

    #[inline(always)]
    fn is_joined(&self, at: usize) -> bool {
        self.joined[at].load(Relaxed)
    }

    /// The root of a node's first thing.
    #[inline(always)]
    fn root(&self, at: usize) -> u32 {
        self.forest.find(self.tree.node(at).first)
    }
}

//! Searches in which each stored primitive has a radius of its own.
//!
//! Input: a radius per primitive, or the spheres that are stored. Output: lists of neighbours, or the pairs of spheres
//! that overlap.
//! Neighbours: one walk serves a whole leaf, with the largest radius of its primitives; then each primitive is compared
//! with its own radius. Spheres: the boxes that are nearly in contact are candidates, which are tested exactly.
//! Cost: that of the neighbour search with these radii.

use std::ops::Range;

use crate::bvh::Bvh;
use crate::bvh::traverse::bits;
use crate::csr::{Csr, CsrChunk};
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::{Aabb, Scalar, Space, Sphere};
use crate::memory::append;
use crate::parallel::{map, map_tasks};
use crate::precompiled::precompiled;
use crate::search::neighbors::{LeafCandidates, TASK, list_leaves, reached};
use crate::search::pairs::pairs_where;
use crate::search::radius_test::{RadiusTests, with_radius_test};
use crate::simd::{Isa, dispatch};

/// Spheres per parallel task.
const SPHERES: usize = 1 << 12;

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Lists the stored primitives within `radii[i]` of each stored primitive `i` (inclusive), itself included. Returns
    /// one list per primitive, in the order of the slice from which the tree was built, as `radii`.
    ///
    /// If all radii are equal, the lists are those of [`Bvh::neighbors`], in the same order. The list of a primitive
    /// whose radius is negative or NaN is empty.
    ///
    /// ```
    /// let bvh = ropewalk::Bvh::build(&[[0.0f32], [5.0], [1.0]])?;
    /// let lists = bvh.neighbors_within(&[5.0, 0.5, 1.0])?;
    /// assert_eq!(lists.offsets(), [0, 3, 4, 6]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of radii differs from the number of primitives.
    ///
    /// # Cost
    /// That of [`Bvh::neighbors`]. A leaf is searched with the largest radius of its primitives, so radii that differ
    /// much among near primitives cost time.
    pub fn neighbors_within(&self, radii: &[f64]) -> Result<Csr<u32>> {
        check_one_each("radii", radii.len(), self.len())?;
        Ok(list(self, radii))
    }

    /// Finds all pairs of stored spheres that touch or overlap, each once, in the order of [`Bvh::pairs`]: those whose
    /// centres are at most the sum of their radii apart.
    ///
    /// `spheres` is the slice from which the tree was built. If it holds other spheres, only pairs whose stored boxes
    /// touch are found. In a periodic box, the nearest images of the centres are compared. Distances are computed in
    /// `f64`, so in open space the pairs are those of [`HitBy`](crate::geometry::HitBy).
    ///
    /// ```
    /// use ropewalk::{Bvh, Sphere};
    ///
    /// let spheres = [([0.5f32, 0.0], 1.0), ([9.0, 0.0], 0.5), ([3.0, 0.0], 1.5)];
    /// let spheres = spheres.map(|(center, radius)| Sphere::new(center, radius));
    /// let bvh = Bvh::build_periodic(&spheres, 10.0)?;
    /// assert_eq!(bvh.overlapping_spheres(&spheres)?, [[0, 1], [0, 2]]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number of spheres differs from the number of primitives.
    ///
    /// # Cost
    /// That of [`Bvh::overlapping_pairs`], and a test of each of these pairs.
    pub fn overlapping_spheres(&self, spheres: &[Sphere<S, D>]) -> Result<Vec<[u32; 2]>> {
        check_one_each("spheres", spheres.len(), self.len())?;
        let space = self.space();
        let centers = map(spheres.len(), SPHERES, &|i| space.wrap(spheres[i].center));
        Ok(pairs_where(&self.half_neighbors(box_tolerance(&self.bounds(), space)), |i, j| {
            let (i, j) = (i as usize, j as usize);
            let [own, other] = [spheres[i].radius, spheres[j].radius];
            let sum = own + other;
            own >= 0.0 && other >= 0.0 && space.distance2(&centers[i], &centers[j]) <= sum * sum
        }))
    }
}

precompiled! { fn list = list_all(tree: same_ref &Bvh<S, D>, radii: keep &[f64]) -> Csr<u32> }

/// Returns a distance that is more than the gap between the stored boxes of any two shapes in contact. `bounds` is the
/// box around all stored boxes.
///
/// Shapes lie within their boxes, but a box is rounded again when it is shifted into the periodic box, and the test of
/// two shapes rounds, too.
pub(crate) fn box_tolerance<S: Scalar, const D: usize>(bounds: &Aabb<S, D>, space: &Space<D>) -> f64 {
    let corners = bounds.lo.into_iter().chain(bounds.hi).map(|x| Into::<f64>::into(x).abs());
    let sides = space.period().into_iter().flatten().copied();
    // Each of a few roundings is relative to a coordinate, a radius or a side, none of which exceeds this.
    let largest = corners.chain(sides).fold(0.0, f64::max);
    64.0 * S::ROUNDING * largest
}

fn list_all<S: Scalar, const D: usize>(tree: &Bvh<S, D>, radii: &[f64]) -> Csr<u32> {
    let chunks = map_tasks(tree.end(), TASK, &|nodes: Range<usize>| {
        let mut chunk = CsrChunk::default();
        let mut near = Vec::new();
        dispatch!(isa => for leaf in nodes {
            if tree.is_leaf(leaf) {
                list_leaf(tree, isa, radii, leaf, &mut near, &mut chunk);
            }
        });
        chunk
    });
    Csr::gather(tree.order(), &chunks)
}

/// Appends the neighbours of each primitive in a leaf.
#[inline(always)]
fn list_leaf<'t, S: Scalar, I: Isa, const D: usize>(
    tree: &'t Bvh<S, D>,
    isa: I,
    radii: &[f64],
    leaf: usize,
    near: &mut Vec<LeafCandidates<'t, S, D>>,
    chunk: &mut CsrChunk<u32>,
) {
    let radius = |position: usize| radii[tree.order()[position] as usize];
    // `f64::max` ignores NaN.
    let largest = tree.span(leaf).map(radius).fold(-1.0, f64::max);
    let tests = RadiusTests::new(tree, largest);
    near.clear();
    with_radius_test!(I, tests, tree.node(leaf), |test| list_leaves(tree, isa, test, leaf, near));
    for (i, position) in tree.span(leaf).enumerate() {
        let before = chunk.values.len();
        let item = tree.item(position);
        let tests = RadiusTests::new(tree, radius(position));
        with_radius_test!(I, tests, tree.node(leaf), |test| {
            for there in reached(near, i) {
                let order = &tree.order()[there.first..][..there.len];
                append(&mut chunk.values, bits(test.hits(isa, &item, there)).map(|bit| order[bit]));
            }
        });
        chunk.lengths.push((chunk.values.len() - before) as u32);
    }
}

/// Returns an error unless there is one value per primitive. `what` is the plural noun of the values.
pub(crate) fn check_one_each(what: &'static str, len: usize, n: usize) -> Result<()> {
    if len == n {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Input, format!("expected one each, got {len} {what} for {n} stored primitives")))
}

//! The neighbour search that all methods share: the sources of each target and their coefficients.
//!
//! In: a tree over the sources, targets, the neighbours to use, and a rule that computes the coefficients of the
//! neighbours. Out: for each target the indices of its sources in ascending distance, with a coefficient each. Targets
//! are processed along the tree's Morton curve, so that consecutive searches share cached nodes. Cost: a
//! nearest-neighbour search per target. Memory: 12 bytes per coefficient and as much again while the lists are
//! reordered, 40 bytes per target.

use super::fallback::Fallback;
use super::interpolator::Interpolator;
use super::neighborhood::Neighborhood;
use crate::bvh::morton::{Grid, curve_order};
use crate::bvh::{Bvh, copied};
use crate::csr::{Csr, CsrChunk};
use crate::error::{Error, Result};
use crate::geometry::errors::has_extent;
use crate::geometry::{Aabb, Bounded, BoxSize, Scalar, Space};
use crate::interpolate::qr::Qr;
use crate::memory::{collected, zeroed};
use crate::parallel::{Scratch, map_tasks};
use crate::precompiled::precompiled;
use crate::search::nearest::search_in;
use crate::search::{Nearest, Neighbor};
use crate::simd::{LANES, Lanes};

/// Targets per parallel task.
const TASK: usize = 1 << 8;
/// The power of the distance and the number of neighbours of [`Fallback::InverseDistance`].
pub(crate) const FALLBACK_POWER: f64 = 2.0;
pub(crate) const FALLBACK_NEIGHBORS: usize = 8;
/// The ratio of the radius to the distance of the farthest of `k` neighbours, as in ArborX: above 1, so that the
/// weight of the farthest is not 0.
pub(crate) const BEYOND_FARTHEST: f64 = 1.1;

/// Computes the coefficients in `work`. Returns the degree of the polynomials that are reproduced, -1 for none; `None`
/// if there are no usable coefficients.
pub(super) type CoefficientRule<'a> = &'a (dyn Fn(&mut TargetNeighbors) -> Option<i8> + Sync);

/// The parameters that all targets share.
pub(super) struct Plan<'a> {
    pub reach: &'a Neighborhood,
    pub fallback: Fallback,
    pub rule: CoefficientRule<'a>,
    /// The number of leading coordinates for which offsets are computed: 0 if a method needs distances only. Later
    /// coordinates are 0 everywhere.
    pub axes: usize,
    pub has_gradients: bool,
    /// The requested degree.
    pub degree: i8,
}

/// Reusable memory of a fit.
#[derive(Default)]
pub(super) struct Fit {
    /// The roots of the weights.
    pub roots: Vec<Lanes<f64>>,
    pub matrix: Qr,
    pub transpose: Qr,
}

/// One target's neighbours and the quantities derived from them.
#[derive(Default)]
pub(super) struct TargetNeighbors {
    found: Vec<Neighbor>,
    /// The distance at which weights become 0; 0 if the `k` nearest neighbours all coincide with the target.
    pub radius: f64,
    /// The largest absolute coordinate of the target and the neighbours.
    pub magnitude: f64,
    /// The number of blocks of [`LANES`] neighbours; the last block is padded.
    pub blocks: usize,
    /// The squared distance of each neighbour.
    pub distances2: Vec<Lanes<f64>>,
    /// The offset from the target to each neighbour, axis by axis.
    pub offsets: Vec<Lanes<f64>>,
    pub coefficients: Vec<Lanes<f64>>,
    /// The gradient coefficients of the neighbours, axis by axis.
    pub slopes: Vec<Lanes<f64>>,
    pub fit: Fit,
}

impl TargetNeighbors {
    /// Returns the number of neighbours.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// Returns the index of the source of neighbour `at`.
    pub fn index(&self, at: usize) -> usize {
        self.found[at].index as usize
    }

    /// Sets the coefficients to the distances in units of the radius, with 1 in the padding.
    #[inline(always)]
    pub fn relative_distances(&mut self) {
        let inverse = if self.radius > 0.0 { 1.0 / self.radius } else { 0.0 };
        for (own, distances2) in self.coefficients.iter_mut().zip(&self.distances2) {
            for l in 0..LANES {
                own[l] = distances2[l].sqrt() * inverse;
            }
        }
        self.coefficients.as_flattened_mut()[self.found.len()..].fill(1.0);
    }

    /// Divides the coefficients by their sum. Returns `false` if the sum is not positive.
    pub fn normalize(&mut self) -> bool {
        let sum: f64 = self.coefficients.as_flattened().iter().sum();
        if sum > 0.0 {
            self.coefficients.as_flattened_mut().iter_mut().for_each(|coefficient| *coefficient /= sum);
        }
        sum > 0.0
    }

    /// Sets the coefficients to normalized inverse distances to `power`. Neighbours that coincide with the target
    /// share the weight equally. Returns degree 0, or `None` without neighbours.
    pub fn inverse_distances(&mut self, power: f64) -> Option<i8> {
        let nearest2 = self.found.first()?.distance2;
        for (own, near) in self.coefficients.as_flattened_mut().iter_mut().zip(&self.found) {
            // Relative to the nearest neighbour, whose weight is 1, nothing overflows.
            let ratio = nearest2 / near.distance2;
            *own = match nearest2 {
                0.0 => f64::from(u8::from(near.distance2 == 0.0)),
                _ if power == 2.0 => ratio,
                _ => ratio.powf(0.5 * power),
            };
        }
        self.normalize().then_some(0)
    }

    /// Finds the neighbours of a point, their distances and offsets.
    #[inline(always)]
    fn find<S: Scalar, const D: usize>(&mut self, of: &Around<'_, S, D>, target: &[S; D], wanted: &Nearest) {
        self.found.clear();
        search_in(of.tree, &Aabb::point(*target), wanted, None, &mut self.found);
        let len = self.found.len();
        self.blocks = len.div_ceil(LANES);
        let farthest = self.found.last().map_or(0.0, |near| near.distance2.sqrt());
        self.radius = if wanted.radius.is_finite() { wanted.radius } else { BEYOND_FARTHEST * farthest };
        for values in [&mut self.distances2, &mut self.coefficients] {
            values.clear();
            values.resize(self.blocks, [0.0; LANES]);
        }
        for values in [&mut self.offsets, &mut self.slopes] {
            values.clear();
            values.resize(self.blocks * of.axes, [0.0; LANES]);
        }
        let padded = self.blocks * LANES;
        let offsets = self.offsets.as_flattened_mut();
        let larger = |most: f64, x: &S| most.max(Into::<f64>::into(x.abs()));
        self.magnitude = target.iter().fold(0.0, larger);
        for (at, near) in self.found.iter().enumerate() {
            self.distances2[at / LANES][at % LANES] = near.distance2;
            let source = of.tree.item(of.positions[near.index as usize] as usize).lo;
            self.magnitude = source.iter().fold(self.magnitude, larger);
            let offset = of.tree.space().offset(target, &source);
            for (axis, &x) in offset.iter().enumerate().take(of.axes) {
                offsets[axis * padded + at] = x;
            }
        }
    }
}

/// The tree to search, with the storage position of each source.
struct Around<'a, S, const D: usize> {
    tree: &'a Bvh<S, D>,
    positions: Vec<u32>,
    axes: usize,
}

/// The coefficients of the targets of one parallel task.
struct Chunk<const D: usize> {
    sources: CsrChunk<u32>,
    coefficients: CsrChunk<f64>,
    slopes: CsrChunk<[f64; D]>,
    degrees: Vec<i8>,
    /// The number of targets without a usable neighbour.
    n_without_neighbors: usize,
}

impl<const D: usize> Chunk<D> {
    fn add(&mut self, work: &TargetNeighbors, has_gradients: bool) {
        let (len, padded) = (work.len(), work.blocks * LANES);
        self.sources.values.extend(work.found.iter().map(|near| near.index));
        self.coefficients.values.extend_from_slice(&work.coefficients.as_flattened()[..len]);
        self.sources.lengths.push(len as u32);
        self.coefficients.lengths.push(len as u32);
        if has_gradients {
            let slopes = work.slopes.as_flattened();
            self.slopes.values.extend((0..len).map(|at| -> [f64; D] {
                std::array::from_fn(|axis| slopes.get(axis * padded + at).copied().unwrap_or(0.0))
            }));
            self.slopes.lengths.push(len as u32);
        }
    }
}

precompiled! {
    /// Computes the coefficients of each target.
    pub(super) fn stencils = find_all(
        tree: same_ref &Bvh<S, D>, targets: same_ref &Vec<[S; D]>, plan: keep &Plan<'_>
    ) -> Interpolator
}

#[allow(clippy::ptr_arg, reason = "`precompiled!` entry points take no slices")]
fn find_all<S: Scalar, const D: usize>(tree: &Bvh<S, D>, targets: &Vec<[S; D]>, plan: &Plan<'_>) -> Interpolator {
    let grid = Grid::over(&tree.bounds());
    let order = curve_order(targets.len(), &grid, |target| targets[target]);
    let around = Around { tree, positions: tree.positions(), axes: plan.axes };
    let scratch = Scratch::new(TargetNeighbors::default);
    let chunks = map_tasks(order.len(), TASK, &|range| {
        let mut chunk = Chunk::<D> {
            sources: CsrChunk::default(),
            coefficients: CsrChunk::default(),
            slopes: CsrChunk::default(),
            degrees: Vec::with_capacity(range.len()),
            n_without_neighbors: 0,
        };
        scratch.with(|work| {
            for &target in &order[range] {
                let index = target as usize;
                chunk.find(&around, plan, index, &targets[index], work);
            }
        });
        chunk
    });
    let mut degrees = zeroed(order.len());
    let all = chunks.iter().flat_map(|chunk| &chunk.degrees);
    order.iter().zip(all).for_each(|(&target, &degree)| degrees[target as usize] = degree);
    let (mut sources, mut coefficients, mut slopes, mut n_without_neighbors) = (vec![], vec![], vec![], 0);
    for chunk in chunks {
        sources.push(chunk.sources);
        coefficients.push(chunk.coefficients);
        slopes.push(chunk.slopes);
        n_without_neighbors += chunk.n_without_neighbors;
    }
    let slopes = plan.has_gradients.then(|| {
        let slopes = Csr::gather(&order, &slopes).into_parts().1;
        collected(slopes.iter().flat_map(|slope| &slope[..plan.axes]).copied())
    });
    Interpolator {
        n_sources: tree.len(),
        dim: plan.axes,
        sources: Csr::gather(&order, &sources),
        coefficients: Csr::gather(&order, &coefficients),
        slopes,
        degrees,
        degree: plan.degree,
        n_without_neighbors,
        zero_without_sources: false,
    }
}

impl<const D: usize> Chunk<D> {
    /// Appends the sources and coefficients of one target.
    fn find<S: Scalar>(
        &mut self,
        around: &Around<'_, S, D>,
        plan: &Plan<'_>,
        index: usize,
        target: &[S; D],
        work: &mut TargetNeighbors,
    ) {
        work.find(around, target, &plan.reach.of(index));
        let mut degree = if work.len() > 0 { (plan.rule)(work) } else { None };
        if degree.is_none() {
            self.n_without_neighbors += 1;
            let k = match plan.fallback {
                Fallback::Nan => 0,
                Fallback::Nearest => 1,
                Fallback::InverseDistance => FALLBACK_NEIGHBORS,
            };
            work.find(around, target, &Nearest::new(k));
            degree = work.inverse_distances(FALLBACK_POWER);
        }
        self.degrees.push(degree.unwrap_or(-1));
        self.add(work, plan.has_gradients);
    }
}

/// Builds a tree over points.
///
/// Errors: those of [`Bvh::build`]; primitives with an extent.
pub(super) fn build_tree<T: Bounded<S, D>, S: Scalar, const D: usize>(
    points: &[T],
    size: &BoxSize,
) -> Result<Bvh<S, D>> {
    if !T::IS_POINT {
        return Err(has_extent("interpolation is"));
    }
    Bvh::build_in(points, Space::periodic(size.clone())?)
}

/// Copies query points, wrapped into the periodic box.
///
/// Errors: coordinates that are not finite or too large; primitives with an extent.
pub(super) fn wrapped_points<T: Bounded<S, D>, S: Scalar, const D: usize>(
    points: &[T],
    space: &Space<D>,
) -> Result<Vec<[S; D]>> {
    if !T::IS_POINT {
        return Err(has_extent("interpolation is"));
    }
    let places = copied(points, |point| space.wrap(point.bounds().lo));
    let fits = |x: &S| Into::<f64>::into(x.abs()) <= S::LIMIT;
    let first = map_tasks(points.len(), TASK, &|range| {
        points[range.clone()].iter().position(|point| !point.bounds().lo.iter().all(fits)).map(|at| range.start + at)
    });
    let Some(index) = first.into_iter().flatten().next() else { return Ok(places) };
    let point = points[index].bounds().lo;
    let axis = point.iter().position(|x| !fits(x)).unwrap_or(0);
    Err(Error::coordinate(index, axis, point[axis].into(), S::LIMIT))
}

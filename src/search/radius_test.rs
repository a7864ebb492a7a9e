//! Tests of stored primitives against a radius, eight at a time.
//!
//! Input: a tree, a radius, and a query box. Output: for a node, whether it may be met or is covered; for a leaf, a
//! mask of the primitives within the radius. `S` decides nearly all tests with an error bound ([`FilteredRadius`]),
//! `f64` the rest.
//! Source of the filter: Shewchuk 1997.

use crate::bvh::traverse::{bits, low_bits};
use crate::bvh::{Bvh, LEAF};
use crate::geometry::{Aabb, Blocks, FilteredRadius, Metric, Scalar, Space, scale};
use crate::simd::{Isa, LANES, Lanes};

// Each primitive of a leaf is one bit of a mask.
const _: () = assert!(LEAF <= u32::BITS as usize && LEAF.is_multiple_of(LANES));

/// Tests against a radius around primitives of a tree.
///
/// `GENERAL` selects at compile time between open space and the general case: across the periodic boundary, or with
/// scaled distances. Most of a periodic box is far from its boundary, and most point clouds need no scaling. All
/// squared distances and limits in `S` are in the test's unit.
pub(crate) struct RadiusTest<'a, S, const D: usize, const GENERAL: bool> {
    tree: &'a Bvh<S, D>,
    metric: Metric<S, D, GENERAL>,
    space: Space<D>,
    scale: f64,
    pub thresholds: FilteredRadius<S, D>,
}

impl<'a, S: Scalar, const D: usize> RadiusTest<'a, S, D, true> {
    /// Creates the test for places where the open one is not valid: see [`RadiusTest::is_for`].
    pub fn general(tree: &'a Bvh<S, D>, radius: f64) -> Self {
        let scale = if S::IS_F32 && scale::has_differences(&tree.bounds()) {
            match (radius * radius).sqrt() {
                // Only copies are within a radius of 0, and must be distinguished from near points.
                0.0 => FilteredRadius::<S, D>::unit(
                    scale::extent(&tree.bounds()),
                    tree.space(),
                    scale::MIN_EXTENT_EXPONENT,
                ),
                radius => FilteredRadius::<S, D>::unit(radius, tree.space(), scale::MIN_EXPONENT),
            }
        } else {
            1.0
        };
        Self::scaled(tree, radius, scale)
    }

    /// Returns the same test in another unit, which must be 1 unless the type is narrow.
    #[inline(always)]
    pub fn with_unit(&self, unit: f64) -> Self {
        let thresholds = FilteredRadius::squared(self.thresholds.radius2, &self.space, unit);
        Self { metric: Metric::scaled(&self.space, unit), scale: unit, thresholds, ..*self }
    }

    /// Returns `true` if the open test is not valid for searches from `bounds`.
    ///
    /// If the unit is not that of the coordinates, it is valid nowhere. Otherwise it is invalid if the radius touches
    /// a face of the periodic box, so that pairs may meet across it.
    #[inline(always)]
    pub fn is_for(&self, bounds: &Aabb<S, D>) -> bool {
        // Underflow blurs smaller squares: points that are farther apart may seem to be within a radius.
        const BLURRED: f64 = 1e-300;
        let radius = self.thresholds.radius2.max(BLURRED).sqrt();
        self.scale != 1.0
            || self.space.period().is_some_and(|period| {
                // A box may extend across the boundary from any place.
                !self.tree.holds_points()
                    || (0..D).any(|k| {
                        // Wide enough for the rounding errors of all later steps.
                        let margin = radius + 1e-6 * (radius + period[k]);
                        Into::<f64>::into(bounds.lo[k]) <= margin
                            || Into::<f64>::into(bounds.hi[k]) >= period[k] - margin
                    })
            })
    }
}

impl<S: Scalar, const D: usize> RadiusTest<'_, S, D, true> {
    /// Returns `true` if the open test is valid between two boxes, with the limits of this test.
    ///
    /// The unit must be that of the coordinates, and all points must be nearer to each other than to any image.
    #[inline(always)]
    pub fn is_open_between(&self, a: &Aabb<S, D>, b: &Aabb<S, D>) -> bool {
        self.scale == 1.0
            && self.space.period().is_none_or(|period| {
                (0..D).all(|k| Into::<f64>::into((b.hi[k] - a.lo[k]).max(a.hi[k] - b.lo[k])) <= 0.499 * period[k])
            })
    }
}

impl<'a, S: Scalar, const D: usize, const GENERAL: bool> RadiusTest<'a, S, D, GENERAL> {
    /// Creates a test in the unit of the coordinates.
    pub fn new(tree: &'a Bvh<S, D>, radius: f64) -> Self {
        Self::scaled(tree, radius, 1.0)
    }

    /// Creates a test that multiplies distances by `scale`, which must be 1 unless the test is general and the type
    /// narrow.
    #[inline(always)]
    pub fn scaled(tree: &'a Bvh<S, D>, radius: f64, scale: f64) -> Self {
        let space = if GENERAL { *tree.space() } else { Space::OPEN };
        let radius2 = if radius >= 0.0 { radius * radius } else { -1.0 };
        let thresholds = FilteredRadius::squared(radius2, &space, scale);
        Self { tree, metric: Metric::scaled(&space, scale), space, scale, thresholds }
    }

    /// Returns the factor that multiplies distances before they are squared.
    #[inline(always)]
    pub fn unit(&self) -> f64 {
        self.scale
    }

    /// Returns an upper bound on the squared distance that `S` computes if the exact one is at most `radius2`.
    #[inline(always)]
    pub fn limit(&self, radius2: f64) -> S {
        let scale = if GENERAL && S::IS_F32 { self.scale } else { 1.0 };
        FilteredRadius::squared(radius2, &self.space, scale).possible_limit
    }

    /// Returns a squared distance up to which, as computed in `S`, the exact one is certainly at most `radius2`;
    /// negative if there is no such bound.
    #[inline(always)]
    pub fn sure_limit(&self, radius2: f64) -> S {
        let scale = if GENERAL && S::IS_F32 { self.scale } else { 1.0 };
        FilteredRadius::squared(radius2, &self.space, scale).certain_limit
    }

    /// Converts a squared distance to the test's unit, rounded to `S`.
    #[inline(always)]
    pub fn in_unit(&self, distance2: f64) -> S {
        let scale = if GENERAL && S::IS_F32 { self.scale } else { 1.0 };
        S::from_f64(distance2 * scale * scale)
    }

    /// Returns an upper bound on the exact squared distance, given the one that `S` computes.
    #[inline(always)]
    pub fn at_most(&self, distance2: S) -> f64 {
        let scale = if GENERAL && S::IS_F32 { self.scale } else { 1.0 };
        FilteredRadius::at_most(distance2, &self.space, scale)
    }

    /// Returns a lower bound on the exact squared distance, given the one that `S` computes.
    #[inline(always)]
    pub fn at_least(&self, distance2: S) -> f64 {
        let scale = if GENERAL && S::IS_F32 { self.scale } else { 1.0 };
        FilteredRadius::at_least(distance2, &self.space, scale)
    }

    /// Returns the squared distance of two boxes, computed in `S`.
    #[inline(always)]
    pub fn min_distance2(&self, a: &Aabb<S, D>, b: &Aabb<S, D>) -> S {
        self.metric.min_distance2(a, b)
    }

    /// Returns `true` if any point of `bounds` may be within the radius of any point of `of`.
    #[inline(always)]
    pub fn meets(&self, of: &Aabb<S, D>, bounds: &Aabb<S, D>) -> bool {
        self.metric.min_distance2(of, bounds) <= self.thresholds.possible_limit
    }

    /// Returns `true` if every point of `bounds` is certainly within the radius of every point of `of`.
    #[inline(always)]
    pub fn covers(&self, of: &Aabb<S, D>, bounds: &Aabb<S, D>) -> bool {
        let max_distance2 = self.metric.max_distance2(of, bounds);
        max_distance2 <= self.thresholds.certain_limit
            || (max_distance2 <= self.thresholds.possible_limit && self.covers_exactly(of, bounds))
    }

    /// Same as [`covers`](Self::covers) in `f64`, if `S` is not certain. This happens mainly at a radius of 0 and at
    /// ties between copies of two points, which would otherwise all be compared with each other.
    #[cold]
    #[inline(never)]
    fn covers_exactly(&self, of: &Aabb<S, D>, bounds: &Aabb<S, D>) -> bool {
        let span = |k: usize| {
            let [from, to]: [f64; 2] = [of.lo[k].into(), of.hi[k].into()];
            (Into::<f64>::into(bounds.hi[k]) - from).max(to - Into::<f64>::into(bounds.lo[k]))
        };
        (0..D).map(span).fold(0.0, |sum, span| sum + span * span) <= self.thresholds.radius2
    }

    /// Computes the exact squared distance, which decides.
    #[inline(always)]
    pub fn distance2(&self, of: &Aabb<S, D>, position: usize) -> f64 {
        let item = self.tree.item(position);
        if self.tree.holds_points() {
            self.space.distance2(&of.lo, &item.lo)
        } else {
            self.space.min_distance2(of, &item)
        }
    }

    /// Computes the exact squared distances, which decide, from a point to eight others.
    #[inline(always)]
    pub fn distances2(&self, of: &[S; D], points: &[Lanes<S>; D]) -> Lanes<f64> {
        let mut sum = [0.0; LANES];
        for (k, x) in points.iter().enumerate() {
            let from: f64 = of[k].into();
            for l in 0..LANES {
                // As in `Space::distance2`, except for the order of comparisons, which is that of vector
                // instructions.
                let mut d = (from - Into::<f64>::into(x[l])).abs();
                if GENERAL && let Some(period) = self.space.period() {
                    d = Scalar::min(d, Scalar::max(period[k] - d, 0.0));
                }
                sum[l] += d * d;
            }
        }
        sum
    }

    /// Computes a mask of the primitives of a leaf that are within the radius of `of`.
    #[inline(always)]
    pub fn hits<I: Isa>(&self, isa: I, of: &Aabb<S, D>, leaf: &Blocks<'_, S, D>) -> u32 {
        if const { I::OUTLINED } { self.hits_called(isa, of, leaf) } else { self.hits_inlined(isa, of, leaf) }
    }

    #[inline(never)]
    fn hits_called<I: Isa>(&self, isa: I, of: &Aabb<S, D>, leaf: &Blocks<'_, S, D>) -> u32 {
        self.hits_inlined(isa, of, leaf)
    }

    #[inline(always)]
    fn hits_inlined<I: Isa>(&self, isa: I, of: &Aabb<S, D>, leaf: &Blocks<'_, S, D>) -> u32 {
        let points = self.tree.holds_points();
        let (mut sure, mut maybe) = (0, 0);
        for block in 0..leaf.count() {
            let lanes = self.approx_distances2(of, leaf, block, points);
            sure |= S::at_most(isa, &lanes, self.thresholds.certain_limit) << (block * LANES);
            maybe |= S::at_most(isa, &lanes, self.thresholds.possible_limit) << (block * LANES);
        }
        // The lanes behind the end of the leaf were tested as well.
        let own = low_bits(leaf.len);
        let (sure, maybe) = (sure & own, maybe & own);
        if sure == maybe { sure } else { self.decide(of, leaf.first, sure, maybe) }
    }

    /// Computes a mask of the primitives of a leaf that may be within the radius of `of`: all that are, and few that
    /// are not.
    #[inline(always)]
    pub fn candidates<I: Isa>(&self, isa: I, of: &Aabb<S, D>, leaf: &Blocks<'_, S, D>) -> u32 {
        self.mask(
            leaf,
            #[inline(always)]
            |block| {
                S::at_most(isa, &self.distances2_outlined::<I>(of, leaf, block, false), self.thresholds.possible_limit)
            },
        )
    }

    /// Computes a mask of the primitives of a leaf whose squared distance from `of`, computed in `S`, is at most
    /// `limit`. `of` must be a point unless boxes are stored.
    #[inline(always)]
    pub fn within_limit<I: Isa>(&self, isa: I, of: &Aabb<S, D>, leaf: &Blocks<'_, S, D>, limit: S) -> u32 {
        let points = self.tree.holds_points();
        self.mask(
            leaf,
            #[inline(always)]
            |block| S::at_most(isa, &self.distances2_outlined::<I>(of, leaf, block, points), limit),
        )
    }

    /// Calls `visit` with the position and the squared distance, computed in `S`, of each primitive of a leaf whose
    /// squared distance from the point `of` is at most `limit`. Only for stored points.
    #[inline(always)]
    pub fn for_each_within_limit<I: Isa>(
        &self,
        isa: I,
        of: &Aabb<S, D>,
        leaf: &Blocks<'_, S, D>,
        limit: S,
        mut visit: impl FnMut(usize, S),
    ) {
        for block in 0..leaf.count() {
            let lanes = self.distances2_outlined::<I>(of, leaf, block, true);
            let own = low_bits((leaf.len - block * LANES).min(LANES));
            for bit in bits(S::at_most(isa, &lanes, limit) & own) {
                visit(leaf.first + block * LANES + bit, lanes[bit]);
            }
        }
    }

    /// Computes a mask of the primitives of a leaf whose squared distance from `of` is at most their own limit.
    #[inline(always)]
    pub fn within_own_limits<I: Isa>(
        &self,
        isa: I,
        of: &Aabb<S, D>,
        leaf: &Blocks<'_, S, D>,
        limits: &[S; LEAF],
    ) -> u32 {
        self.mask(
            leaf,
            #[inline(always)]
            |block| {
                let mut beyond = self.distances2_outlined::<I>(of, leaf, block, false);
                for (beyond, &limit) in beyond.iter_mut().zip(&limits[block * LANES..]) {
                    // The difference of two infinities would be NaN.
                    *beyond = beyond.min(S::MAX) - limit;
                }
                S::at_most(isa, &beyond, S::ZERO)
            },
        )
    }

    /// Returns `true` if the extent of a node is at most `extent`, and it is farther from each primitive of the leaf
    /// than the primitive's limit. `extent` is that of the leaf.
    ///
    /// The node may still be near to the leaf's box: a leaf around a denser part of the point cloud is near to all
    /// nodes in that part.
    #[inline(always)]
    pub fn is_far_from_each<I: Isa>(
        &self,
        isa: I,
        node: &Aabb<S, D>,
        extent: f64,
        leaf: &Blocks<'_, S, D>,
        limits: &[S; LEAF],
    ) -> bool {
        scale::extent(node) <= extent && self.within_own_limits(isa, node, leaf, limits) == 0
    }

    /// Computes the squared distances from `of` to a block of a leaf. `points` selects distances of points instead of
    /// boxes.
    #[inline(always)]
    pub fn distances2_outlined<I: Isa>(
        &self,
        of: &Aabb<S, D>,
        leaf: &Blocks<'_, S, D>,
        block: usize,
        points: bool,
    ) -> Lanes<S> {
        if const { I::OUTLINED } {
            self.lanes_called(of, leaf, block, points)
        } else {
            self.approx_distances2(of, leaf, block, points)
        }
    }

    #[inline(never)]
    fn lanes_called(&self, of: &Aabb<S, D>, leaf: &Blocks<'_, S, D>, block: usize, points: bool) -> Lanes<S> {
        self.approx_distances2(of, leaf, block, points)
    }

    #[inline(always)]
    fn approx_distances2(&self, of: &Aabb<S, D>, leaf: &Blocks<'_, S, D>, block: usize, points: bool) -> Lanes<S> {
        if points {
            self.metric.point_distances2(&of.lo, leaf, block)
        } else {
            self.metric.box_distances2(of, leaf, block)
        }
    }

    /// A mask of the primitives of a leaf, combined from the masks of its blocks.
    #[inline(always)]
    fn mask(&self, leaf: &Blocks<'_, S, D>, lanes: impl Fn(usize) -> u32) -> u32 {
        let mut mask = 0;
        for block in 0..leaf.count() {
            mask |= lanes(block) << (block * LANES);
        }
        // The lanes behind the end of the leaf were tested as well.
        mask & low_bits(leaf.len)
    }

    #[cold]
    #[inline(never)]
    fn decide(&self, of: &Aabb<S, D>, start: usize, sure: u32, maybe: u32) -> u32 {
        bits(maybe & !sure)
            .filter(|&bit| self.distance2(of, start + bit) <= self.thresholds.radius2)
            .fold(sure, |hits, bit| hits | 1 << bit)
    }
}

/// Both tests of a radius: most leaves are far from a periodic boundary, and most radii need no scaling.
pub(crate) struct RadiusTests<'a, S, const D: usize> {
    pub open: RadiusTest<'a, S, D, false>,
    pub general: RadiusTest<'a, S, D, true>,
    /// `true` if the open test is invalid somewhere.
    is_general: bool,
}

impl<'a, S: Scalar, const D: usize> RadiusTests<'a, S, D> {
    pub fn new(tree: &'a Bvh<S, D>, radius: f64) -> Self {
        let general = RadiusTest::general(tree, radius);
        let is_general = general.scale != 1.0 || tree.space().period().is_some();
        Self { open: RadiusTest::new(tree, radius), general, is_general }
    }

    /// Returns `true` if the general test must be used somewhere.
    #[inline(always)]
    pub fn has_general(&self) -> bool {
        self.is_general
    }

    /// Returns `true` if the general test must be used from `bounds`. It may be used everywhere.
    #[inline(always)]
    pub fn is_general(&self, bounds: &Aabb<S, D>) -> bool {
        self.is_general && self.general.is_for(bounds)
    }
}

/// `with_radius_test!(I, tests, node, |test| body)` runs the body with the open test, or with the
/// general one if `node` requires it. An outlined instruction set, for which size matters more than speed, always
/// uses the general one.
macro_rules! with_radius_test {
    ($isa:ident, $tests:expr, $node:expr, |$test:ident| $body:expr) => {{
        let tests = &$tests;
        if const { $isa::OUTLINED } {
            let $test = &tests.general;
            $body
        } else if tests.is_general(&$node.bounds) {
            let $test = &tests.general;
            $body
        } else {
            let $test = &tests.open;
            $body
        }
    }};
}
pub(crate) use with_radius_test;

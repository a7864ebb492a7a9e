//! Whether stored primitives are within a radius: the tests of a leaf, eight at a time.
//!
//! In: a tree, a radius, and a box to look from. Out: for a node whether it meets or is covered; for a leaf a bit mask of the
//! primitives within. `S` decides nearly all with an error bound ([`FilteredRadius`]), `f64` the rest.
//! Source of the filter: Shewchuk 1997.

use crate::bvh::traverse::{bits, low_bits};
use crate::bvh::{Bvh, LEAF};
use crate::geometry::{Aabb, Blocks, FilteredRadius, Metric, Scalar, Space, scale};
use crate::simd::{Isa, LANES, Lanes};

// A leaf's primitives are one bit each.
const _: () = assert!(LEAF <= u32::BITS as usize && LEAF.is_multiple_of(LANES));

/// A radius about primitives of a tree, in open space or in general, around the boundary and in a unit of its own: the choice is
/// made at compile time, because most of a periodic box is far from its boundary, and most clouds are at ease with their
/// unit. All squared distances and limits in `S` are in the predicate's unit.
pub(crate) struct BallPredicate<'a, S, const D: usize, const GENERAL: bool> {
    tree: &'a Bvh<S, D>,
    metric: Metric<S, D, GENERAL>,
    space: Space<D>,
    scale: f64,
    pub reach: FilteredRadius<S, D>,
}

impl<'a, S: Scalar, const D: usize> BallPredicate<'a, S, D, true> {
    /// The predicate for where the open one will not do: see [`BallPredicate::is_for`].
    pub fn general(tree: &'a Bvh<S, D>, radius: f64) -> Self {
        let scale = if S::NARROW && scale::has_differences(&tree.bounds()) {
            match (radius * radius).sqrt() {
                // Copies only, which are to be told from what is near.
                0.0 => FilteredRadius::<S, D>::unit(scale::extent(&tree.bounds()), tree.space(), scale::LEAST_EXTENT),
                radius => FilteredRadius::<S, D>::unit(radius, tree.space(), scale::LEAST),
            }
        } else {
            1.0
        };
        Self::scaled(tree, radius, scale)
    }

    /// The same predicate in another unit, which is 1 unless the type is narrow.
    #[inline(always)]
    pub fn in_another(&self, unit: f64) -> Self {
        let reach = FilteredRadius::squared(self.reach.radius2, &self.space, unit);
        Self { metric: Metric::scaled(&self.space, unit), scale: unit, reach, ..*self }
    }

    /// Whether the open predicate will not do from `bounds`: where the unit is not that of the coordinates, everywhere; else where
    /// the reach touches a face of the periodic box, so that pairs may meet around it.
    #[inline(always)]
    pub fn is_for(&self, bounds: &Aabb<S, D>) -> bool {
        // Squares below this are blurred by underflow: points may be within a radius though they are farther apart.
        const BLURRED: f64 = 1e-300;
        let radius = self.reach.radius2.max(BLURRED).sqrt();
        self.scale != 1.0
            || self.space.period().is_some_and(|period| {
                // A box may reach over the boundary from anywhere.
                !self.tree.holds_points()
                    || (0..D).any(|k| {
                        // Wide enough for the rounding of all that follows.
                        let margin = radius + 1e-6 * (radius + period[k]);
                        Into::<f64>::into(bounds.lo[k]) <= margin
                            || Into::<f64>::into(bounds.hi[k]) >= period[k] - margin
                    })
            })
    }
}

impl<S: Scalar, const D: usize> BallPredicate<'_, S, D, true> {
    /// Whether the open predicate will do between two boxes, with the limits of this one: in the unit of the coordinates, where all
    /// points are nearer to each other than to any image.
    #[inline(always)]
    pub fn is_open_between(&self, a: &Aabb<S, D>, b: &Aabb<S, D>) -> bool {
        self.scale == 1.0
            && self.space.period().is_none_or(|period| {
                (0..D).all(|k| Into::<f64>::into((b.hi[k] - a.lo[k]).max(a.hi[k] - b.lo[k])) <= 0.499 * period[k])
            })
    }
}

impl<'a, S: Scalar, const D: usize, const GENERAL: bool> BallPredicate<'a, S, D, GENERAL> {
    /// A predicate in the unit of the coordinates.
    pub fn new(tree: &'a Bvh<S, D>, radius: f64) -> Self {
        Self::scaled(tree, radius, 1.0)
    }

    /// A predicate that multiplies distances by `scale`, which is 1 unless it is general and the type narrow.
    #[inline(always)]
    pub fn scaled(tree: &'a Bvh<S, D>, radius: f64, scale: f64) -> Self {
        let space = if GENERAL { *tree.space() } else { Space::OPEN };
        let radius2 = if radius >= 0.0 { radius * radius } else { -1.0 };
        let reach = FilteredRadius::squared(radius2, &space, scale);
        Self { tree, metric: Metric::scaled(&space, scale), space, scale, reach }
    }

    /// The factor that multiplies distances before they are squared.
    #[inline(always)]
    pub fn unit(&self) -> f64 {
        self.scale
    }

    /// What a squared distance as `S` computes it can be at most, where the exact one is at most `radius2`.
    #[inline(always)]
    pub fn limit(&self, radius2: f64) -> S {
        let scale = if GENERAL && S::NARROW { self.scale } else { 1.0 };
        FilteredRadius::squared(radius2, &self.space, scale).maybe
    }

    /// What a squared distance as `S` computes it may be, where the exact one is surely at most `radius2`; negative if nothing says so.
    #[inline(always)]
    pub fn sure_limit(&self, radius2: f64) -> S {
        let scale = if GENERAL && S::NARROW { self.scale } else { 1.0 };
        FilteredRadius::squared(radius2, &self.space, scale).sure
    }

    /// A squared distance in the predicate's unit, rounded.
    #[inline(always)]
    pub fn in_unit(&self, distance2: f64) -> S {
        let scale = if GENERAL && S::NARROW { self.scale } else { 1.0 };
        S::from_f64(distance2 * scale * scale)
    }

    /// What the exact squared distance can be at most, where `S` computes this one.
    #[inline(always)]
    pub fn at_most(&self, distance2: S) -> f64 {
        let scale = if GENERAL && S::NARROW { self.scale } else { 1.0 };
        FilteredRadius::at_most(distance2, &self.space, scale)
    }

    /// What the exact squared distance is at least, where `S` computes this one.
    #[inline(always)]
    pub fn at_least(&self, distance2: S) -> f64 {
        let scale = if GENERAL && S::NARROW { self.scale } else { 1.0 };
        FilteredRadius::at_least(distance2, &self.space, scale)
    }

    /// The squared distance of two boxes as `S` computes it.
    #[inline(always)]
    pub fn min_distance2(&self, a: &Aabb<S, D>, b: &Aabb<S, D>) -> S {
        self.metric.min_distance2(a, b)
    }

    /// Whether anything in `bounds` may be within reach of anything in `of`.
    #[inline(always)]
    pub fn meets(&self, of: &Aabb<S, D>, bounds: &Aabb<S, D>) -> bool {
        self.metric.min_distance2(of, bounds) <= self.reach.maybe
    }

    /// Whether everything in `bounds` is surely within reach of everything in `of`.
    #[inline(always)]
    pub fn covers(&self, of: &Aabb<S, D>, bounds: &Aabb<S, D>) -> bool {
        let max_distance2 = self.metric.max_distance2(of, bounds);
        max_distance2 <= self.reach.sure || (max_distance2 <= self.reach.maybe && self.covers_exactly(of, bounds))
    }

    /// The same in `f64`, where `S` is not sure: at a radius of 0 above all, or at ties between copies of two points, or they
    /// would be compared each with each.
    #[cold]
    #[inline(never)]
    fn covers_exactly(&self, of: &Aabb<S, D>, bounds: &Aabb<S, D>) -> bool {
        let span = |k: usize| {
            let [from, to]: [f64; 2] = [of.lo[k].into(), of.hi[k].into()];
            (Into::<f64>::into(bounds.hi[k]) - from).max(to - Into::<f64>::into(bounds.lo[k]))
        };
        (0..D).map(span).fold(0.0, |sum, span| sum + span * span) <= self.reach.radius2
    }

    /// The squared distance, which decides.
    #[inline(always)]
    pub fn distance2(&self, of: &Aabb<S, D>, position: usize) -> f64 {
        let item = self.tree.item(position);
        if self.tree.holds_points() {
            self.space.distance2(&of.lo, &item.lo)
        } else {
            self.space.min_distance2(of, &item)
        }
    }

    /// The squared distances, which decide, from a point to eight others.
    #[inline(always)]
    pub fn distances2(&self, of: &[S; D], points: &[Lanes<S>; D]) -> Lanes<f64> {
        let mut sum = [0.0; LANES];
        for (k, x) in points.iter().enumerate() {
            let from: f64 = of[k].into();
            for l in 0..LANES {
                // As `Space::distance2`, but for the order of comparisons, which vector instructions have.
                let mut d = (from - Into::<f64>::into(x[l])).abs();
                if GENERAL && let Some(period) = self.space.period() {
                    d = Scalar::min(d, Scalar::max(period[k] - d, 0.0));
                }
                sum[l] += d * d;
            }
        }
        sum
    }

    /// The primitives of a leaf that are within reach of `of`: a bit each.
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
            let lanes = self.lanes(of, leaf, block, points);
            sure |= S::at_most(isa, &lanes, self.reach.sure) << (block * LANES);
            maybe |= S::at_most(isa, &lanes, self.reach.maybe) << (block * LANES);
        }
        // What follows the leaf was tested along with it.
        let own = low_bits(leaf.len);
        let (sure, maybe) = (sure & own, maybe & own);
        if sure == maybe { sure } else { self.decide(of, leaf.first, sure, maybe) }
    }

    /// The primitives of a leaf that may be within reach of `of`: all that are, and few that are not.
    #[inline(always)]
    pub fn candidates<I: Isa>(&self, isa: I, of: &Aabb<S, D>, leaf: &Blocks<'_, S, D>) -> u32 {
        self.mask(
            leaf,
            #[inline(always)]
            |block| S::at_most(isa, &self.lanes_by::<I>(of, leaf, block, false), self.reach.maybe),
        )
    }

    /// The primitives of a leaf whose squared distance from `of`, as `S` computes it, is at most `limit`; `of` is a point unless
    /// boxes are stored.
    #[inline(always)]
    pub fn closer<I: Isa>(&self, isa: I, of: &Aabb<S, D>, leaf: &Blocks<'_, S, D>, limit: S) -> u32 {
        let points = self.tree.holds_points();
        self.mask(
            leaf,
            #[inline(always)]
            |block| S::at_most(isa, &self.lanes_by::<I>(of, leaf, block, points), limit),
        )
    }

    /// Calls `visit` with the position and the squared distance, as `S` computes it, of each primitive of a leaf that is at most
    /// `limit` away from the point `of`. Only for stored points.
    #[inline(always)]
    pub fn each_closer<I: Isa>(
        &self,
        isa: I,
        of: &Aabb<S, D>,
        leaf: &Blocks<'_, S, D>,
        limit: S,
        mut visit: impl FnMut(usize, S),
    ) {
        for block in 0..leaf.count() {
            let lanes = self.lanes_by::<I>(of, leaf, block, true);
            let own = low_bits((leaf.len - block * LANES).min(LANES));
            for bit in bits(S::at_most(isa, &lanes, limit) & own) {
                visit(leaf.first + block * LANES + bit, lanes[bit]);
            }
        }
    }

    /// The primitives of a leaf that are at most as far from `of` as their own limit says.
    #[inline(always)]
    pub fn closer_each<I: Isa>(&self, isa: I, of: &Aabb<S, D>, leaf: &Blocks<'_, S, D>, limits: &[S; LEAF]) -> u32 {
        self.mask(
            leaf,
            #[inline(always)]
            |block| {
                let mut beyond = self.lanes_by::<I>(of, leaf, block, false);
                for (beyond, &limit) in beyond.iter_mut().zip(&limits[block * LANES..]) {
                    // Two infinities would have no difference.
                    *beyond = beyond.min(S::MAX) - limit;
                }
                S::at_most(isa, &beyond, S::ZERO)
            },
        )
    }

    /// Whether a node no larger than a leaf, whose box has this `extent`, is farther from each of the leaf's primitives than their
    /// limits say. The leaf's box may be near to it: a leaf around a denser part of the cloud is near to all nodes in there.
    #[inline(always)]
    pub fn is_far_from_each<I: Isa>(
        &self,
        isa: I,
        node: &Aabb<S, D>,
        extent: f64,
        leaf: &Blocks<'_, S, D>,
        limits: &[S; LEAF],
    ) -> bool {
        scale::extent(node) <= extent && self.closer_each(isa, node, leaf, limits) == 0
    }

    /// The squared distances from `of` to eight of a leaf, of points or of boxes.
    #[inline(always)]
    pub fn lanes_by<I: Isa>(&self, of: &Aabb<S, D>, leaf: &Blocks<'_, S, D>, block: usize, points: bool) -> Lanes<S> {
        if const { I::OUTLINED } {
            self.lanes_called(of, leaf, block, points)
        } else {
            self.lanes(of, leaf, block, points)
        }
    }

    #[inline(never)]
    fn lanes_called(&self, of: &Aabb<S, D>, leaf: &Blocks<'_, S, D>, block: usize, points: bool) -> Lanes<S> {
        self.lanes(of, leaf, block, points)
    }

    #[inline(always)]
    fn lanes(&self, of: &Aabb<S, D>, leaf: &Blocks<'_, S, D>, block: usize, points: bool) -> Lanes<S> {
        if points { self.metric.lanes(&of.lo, leaf, block) } else { self.metric.box_lanes(of, leaf, block) }
    }

    /// One bit for each primitive of a leaf, from the masks of eight at a time.
    #[inline(always)]
    fn mask(&self, leaf: &Blocks<'_, S, D>, lanes: impl Fn(usize) -> u32) -> u32 {
        let mut mask = 0;
        for block in 0..leaf.count() {
            mask |= lanes(block) << (block * LANES);
        }
        // What follows the leaf was tested along with it.
        mask & low_bits(leaf.len)
    }

    #[cold]
    #[inline(never)]
    fn decide(&self, of: &Aabb<S, D>, start: usize, sure: u32, maybe: u32) -> u32 {
        bits(maybe & !sure)
            .filter(|&bit| self.distance2(of, start + bit) <= self.reach.radius2)
            .fold(sure, |hits, bit| hits | 1 << bit)
    }
}

/// A radius both ways: most leaves are far from a periodic boundary, most radii near 1.
pub(crate) struct BallPredicates<'a, S, const D: usize> {
    pub open: BallPredicate<'a, S, D, false>,
    pub general: BallPredicate<'a, S, D, true>,
    /// Whether the open one will not do somewhere.
    is_general: bool,
}

impl<'a, S: Scalar, const D: usize> BallPredicates<'a, S, D> {
    pub fn new(tree: &'a Bvh<S, D>, radius: f64) -> Self {
        let general = BallPredicate::general(tree, radius);
        let is_general = general.scale != 1.0 || tree.space().period().is_some();
        Self { open: BallPredicate::new(tree, radius), general, is_general }
    }

    /// Whether the general predicate must be used somewhere.
    #[inline(always)]
    pub fn has_general(&self) -> bool {
        self.is_general
    }

    /// Whether the general predicate must be used from `bounds`; it always may be.
    #[inline(always)]
    pub fn is_general(&self, bounds: &Aabb<S, D>) -> bool {
        self.is_general && self.general.is_for(bounds)
    }
}

/// `with_predicate!(I, predicates, node, |predicate| body)`: the body for the open predicate, or for the general one where `node`
/// needs it, and always for an instruction set that is outlined, where size counts more than speed.
macro_rules! with_predicate {
    ($isa:ident, $predicates:expr, $node:expr, |$predicate:ident| $body:expr) => {{
        let predicates = &$predicates;
        if const { $isa::OUTLINED } {
            let $predicate = &predicates.general;
            $body
        } else if predicates.is_general(&$node.bounds) {
            let $predicate = &predicates.general;
            $body
        } else {
            let $predicate = &predicates.open;
            $body
        }
    }};
}
pub(crate) use with_predicate;

//! The search for the single nearest neighbour, without a heap or a list.
//!
//! Each of eight lanes keeps its smallest rounded distance, the position of that, and its second smallest distance.
//! If only one of these can be the nearest at the end, it is the result. Ties are left to the other searches
//! (`top_down`).

use std::ops::Range;

use crate::bvh::Bvh;
use crate::geometry::{Aabb, Scalar, scale};
use crate::search::nearest::nearer_first::{LeafVisitor, SHALLOW};
use crate::search::nearest::neighbor::Neighbor;
use crate::search::nearest::options::Nearest;
use crate::search::radius_test::RadiusTest;
use crate::simd::{FALLBACK, Isa, LANES, Lanes, numbers, prefetch};

/// The result of a search for one neighbour.
pub(super) enum Closest {
    One(Neighbor),
    /// No primitive is within the radius.
    NoneWithin,
    /// Several primitives may be the nearest.
    Unsure,
}

/// A search by rounded distances, with the smallest and the second smallest one of each of eight lanes.
struct SingleNearest<'a, S, const D: usize, const GENERAL: bool> {
    tree: &'a Bvh<S, D>,
    test: &'a RadiusTest<'a, S, D, GENERAL>,
    of: Aabb<S, D>,
    smallest: Lanes<S>,
    second_smallest: Lanes<S>,
    positions: Lanes<u32>,
    limit: S,
}

impl<S: Scalar, const D: usize, const GENERAL: bool> SingleNearest<'_, S, D, GENERAL> {
    /// `BEYOND[len]` is added to distances to make those of the lanes from `len` on infinite.
    const BEYOND: [Lanes<S>; LANES + 1] = {
        let mut beyond = [[S::INFINITY; LANES]; LANES + 1];
        let mut lane = 0;
        while lane < LANES {
            let mut len = lane + 1;
            while len <= LANES {
                beyond[len][lane] = S::ZERO;
                len += 1;
            }
            lane += 1;
        }
        beyond
    };
}

impl<S: Scalar, const D: usize, const GENERAL: bool> LeafVisitor<S, D, GENERAL> for SingleNearest<'_, S, D, GENERAL> {
    #[inline(always)]
    fn limit(&self) -> S {
        self.limit
    }

    fn is_blurred(&self) -> bool {
        S::IS_F32 && smallest(&self.smallest).into() < scale::MIN_SQUARE
    }

    #[inline(always)]
    fn scan_leaf<I: Isa>(&mut self, _isa: I, span: Range<usize>) {
        let leaf = self.tree.blocks(&span);
        let order = self.tree.order();
        prefetch(&order[span.start]);
        prefetch(&order[span.end - 1]);
        for block in 0..leaf.count() {
            let first = block * LANES;
            let beyond = &Self::BEYOND[(leaf.len - first).min(LANES)];
            let mut lanes = self.test.distances2_outlined::<I>(&self.of, &leaf, block, true);
            for l in 0..LANES {
                lanes[l] += beyond[l];
            }
            // Separate loops, because each of them then compiles to vector instructions.
            let (before, positions) = (self.smallest, numbers((leaf.first + first) as u32));
            let (mut smallest, mut second_smallest, mut of) = (before, self.second_smallest, self.positions);
            for l in 0..LANES {
                smallest[l] = lanes[l].min(before[l]);
            }
            for l in 0..LANES {
                second_smallest[l] = lanes[l].max(before[l]).min(second_smallest[l]);
            }
            for l in 0..LANES {
                of[l] = if lanes[l] < before[l] { positions[l] } else { of[l] };
            }
            (self.smallest, self.second_smallest, self.positions) = (smallest, second_smallest, of);
        }
        let smallest = smallest(&self.smallest);
        if smallest < self.limit {
            self.limit = self.test.limit(self.test.at_most(smallest)).min(self.limit);
        }
    }

    /// Scans the first two copies, whose tie shows that the nearest is not unique.
    #[cold]
    #[inline(never)]
    fn scan_copies(&mut self, span: Range<usize>) {
        self.scan_leaf(FALLBACK, span.start..span.start + 2);
    }
}

#[inline(always)]
fn smallest<S: Scalar>(lanes: &Lanes<S>) -> S {
    let mut low: [S; LANES / 2] = std::array::from_fn(|l| lanes[l].min(lanes[l + LANES / 2]));
    for width in [2, 1] {
        for l in 0..width {
            low[l] = low[l].min(low[l + width]);
        }
    }
    low[0]
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Searches for the nearest neighbour of a point.
    #[inline(always)]
    pub(super) fn closest<I: Isa>(&self, isa: I, point: &[S; D], options: &Nearest) -> Closest {
        let of = Aabb::point(*point);
        let scale = self.scale_for_cloud(&of);
        #[allow(clippy::collapsible_if, reason = "what the first leaves out is not compiled")]
        if const { !I::OUTLINED } {
            if scale == 1.0 && self.space().period().is_none() {
                return self.closest_by(isa, &RadiusTest::<S, D, false>::new(self, options.radius), of);
            }
        }
        let test = RadiusTest::<S, D, true>::scaled(self, options.radius, scale);
        self.closest_by(isa, &test, self.space().wrap_box(of))
    }

    #[inline(always)]
    fn closest_by<I: Isa, const GENERAL: bool>(
        &self,
        isa: I,
        test: &RadiusTest<'_, S, D, GENERAL>,
        of: Aabb<S, D>,
    ) -> Closest {
        let far = [S::INFINITY; LANES];
        let limit = test.thresholds.possible_limit;
        let mut search =
            SingleNearest { tree: self, test, of, smallest: far, second_smallest: far, positions: [0; LANES], limit };
        if !self.search_downwards::<I, GENERAL, SHALLOW>(isa, test, &of, &mut search) {
            return Closest::Unsure;
        }
        let smallest = smallest(&search.smallest);
        if smallest > test.thresholds.possible_limit {
            return Closest::NoneWithin;
        }
        // Primitives beyond the limit are certainly farther, visited or not.
        let limit = search.limit;
        let mut candidates = 0;
        let mut position = 0;
        for l in 0..LANES {
            candidates += u32::from(search.smallest[l] <= limit) + u32::from(search.second_smallest[l] <= limit);
            position = if search.smallest[l] == smallest { search.positions[l] } else { position };
        }
        if candidates != 1 {
            return Closest::Unsure;
        }
        let position = position as usize;
        let distance2 = self.space().distance2(&of.lo, &self.item(position).lo);
        if distance2 <= test.thresholds.radius2 {
            Closest::One(Neighbor { index: self.order()[position], distance2 })
        } else {
            Closest::NoneWithin
        }
    }
}

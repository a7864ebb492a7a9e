//! The search for the single nearest neighbour, without a heap or a list.
//!
//! Each of eight lanes keeps its smallest rounded distance, the position of that, and its second smallest distance.
//! If only one of these can be the nearest at the end, it is the result. Ties are left to the other searches
//! (`top_down`).

use std::ops::Range;

use crate::bvh::Bvh;
use crate::geometry::{Aabb, Scalar, scale};
use crate::search::ball_predicate::BallPredicate;
use crate::search::nearest::nearer_first::{SHALLOW, Wanted};
use crate::search::nearest::neighbor::Neighbor;
use crate::search::nearest::options::Nearest;
use crate::simd::{FALLBACK, Isa, LANES, Lanes, numbers, prefetch};

/// The result of a search for one neighbour.
pub(super) enum Closest {
    One(Neighbor),
    /// No primitive is within the radius.
    Nothing,
    /// Several primitives may be the nearest.
    Unsure,
}

/// A search by rounded distances, with the smallest and the second smallest one of each of eight lanes.
struct One<'a, S, const D: usize, const P: bool> {
    tree: &'a Bvh<S, D>,
    ball: &'a BallPredicate<'a, S, D, P>,
    of: Aabb<S, D>,
    least: Lanes<S>,
    second: Lanes<S>,
    positions: Lanes<u32>,
    limit: S,
}

impl<S: Scalar, const D: usize, const P: bool> One<'_, S, D, P> {
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

impl<S: Scalar, const D: usize, const P: bool> Wanted<S, D, P> for One<'_, S, D, P> {
    #[inline(always)]
    fn limit(&self) -> S {
        self.limit
    }

    fn is_blurred(&self) -> bool {
        S::NARROW && least(&self.least).into() < scale::LEAST_SQUARE
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
            let mut lanes = self.ball.lanes_by::<I>(&self.of, &leaf, block, true);
            for l in 0..LANES {
                lanes[l] += beyond[l];
            }
            // Separate loops, because each of them then compiles to vector instructions.
            let (before, positions) = (self.least, numbers((leaf.first + first) as u32));
            let (mut least, mut second, mut of) = (before, self.second, self.positions);
            for l in 0..LANES {
                least[l] = lanes[l].min(before[l]);
            }
            for l in 0..LANES {
                second[l] = lanes[l].max(before[l]).min(second[l]);
            }
            for l in 0..LANES {
                of[l] = if lanes[l] < before[l] { positions[l] } else { of[l] };
            }
            (self.least, self.second, self.positions) = (least, second, of);
        }
        let least = least(&self.least);
        if least < self.limit {
            self.limit = self.ball.limit(self.ball.at_most(least)).min(self.limit);
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
fn least<S: Scalar>(lanes: &Lanes<S>) -> S {
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
    pub(super) fn closest<I: Isa>(&self, isa: I, point: &[S; D], wanted: &Nearest) -> Closest {
        let of = Aabb::point(*point);
        let scale = self.scale_from(&of);
        #[allow(clippy::collapsible_if, reason = "what the first leaves out is not compiled")]
        if const { !I::OUTLINED } {
            if scale == 1.0 && self.space().period().is_none() {
                return self.closest_by(isa, &BallPredicate::<S, D, false>::new(self, wanted.radius), of);
            }
        }
        let ball = BallPredicate::<S, D, true>::scaled(self, wanted.radius, scale);
        self.closest_by(isa, &ball, self.space().wrap_box(of))
    }

    #[inline(always)]
    fn closest_by<I: Isa, const P: bool>(&self, isa: I, ball: &BallPredicate<'_, S, D, P>, of: Aabb<S, D>) -> Closest {
        let far = [S::INFINITY; LANES];
        let limit = ball.reach.maybe;
        let mut search = One { tree: self, ball, of, least: far, second: far, positions: [0; LANES], limit };
        if !self.search_downwards::<I, P, SHALLOW>(isa, ball, &of, &mut search) {
            return Closest::Unsure;
        }
        let least = least(&search.least);
        if least > ball.reach.maybe {
            return Closest::Nothing;
        }
        // Primitives beyond the limit are certainly farther, visited or not.
        let limit = search.limit;
        let mut candidates = 0;
        let mut position = 0;
        for l in 0..LANES {
            candidates += u32::from(search.least[l] <= limit) + u32::from(search.second[l] <= limit);
            position = if search.least[l] == least { search.positions[l] } else { position };
        }
        if candidates != 1 {
            return Closest::Unsure;
        }
        let position = position as usize;
        let distance2 = self.space().distance2(&of.lo, &self.item(position).lo);
        if distance2 <= ball.reach.radius2 {
            Closest::One(Neighbor { index: self.order()[position], distance2 })
        } else {
            Closest::Nothing
        }
    }
}

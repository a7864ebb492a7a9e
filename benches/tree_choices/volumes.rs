//! Bounding volumes: boxes, and k-DOPs, which add slabs along the diagonals.
//!
//! Coordinates lie in the unit box. Projections on diagonals are padded by more than their rounding errors, so that no
//! volume misses a hit.

/// The number of diagonals of a cube; a square has two.
pub const DIAGONALS: usize = 4;
/// More than the rounding error of a sum of three coordinates up to 2.
const PAD: f32 = 2e-6;

/// A bounding volume.
pub trait Volume<const D: usize>: Copy {
    const EMPTY: Self;
    fn union(&self, other: &Self) -> Self;
    /// Returns the smallest volume around some points.
    fn around(points: &[[f32; D]]) -> Self;
    fn meets(&self, query: &Query<D>) -> bool;
}

/// A query with its projections on the diagonals.
#[derive(Clone, Copy)]
pub struct Query<const D: usize> {
    pub kind: Kind<D>,
    /// The intervals of the query along the diagonals; for a ray, the projections of origin and inverse direction.
    along: [[f32; 2]; DIAGONALS],
}

#[derive(Clone, Copy)]
pub enum Kind<const D: usize> {
    Ball { center: [f32; D], radius: f32 },
    Box { lo: [f32; D], hi: [f32; D] },
    Ray { origin: [f32; D], inverse: [f32; D], direction: [f32; D] },
}

/// The sign of an axis in a diagonal.
#[inline(always)]
fn sign(diagonal: usize, axis: usize) -> f32 {
    if axis > 0 && diagonal >> (axis - 1) & 1 == 1 { -1.0 } else { 1.0 }
}

#[inline(always)]
fn project<const D: usize>(x: [f32; D], diagonal: usize) -> f32 {
    (0..D).map(|k| sign(diagonal, k) * x[k]).sum()
}

impl<const D: usize> Query<D> {
    pub fn ball(center: [f32; D], radius: f32) -> Self {
        // The diagonals have length sqrt(D).
        let reach = radius * (D as f32).sqrt() + PAD;
        let along = |e| [project(center, e) - reach, project(center, e) + reach];
        Self { kind: Kind::Ball { center, radius }, along: std::array::from_fn(along) }
    }

    pub fn around(center: [f32; D], half: f32) -> Self {
        let (lo, hi) = (center.map(|x| x - half), center.map(|x| x + half));
        let reach = half * D as f32 + PAD;
        let along = |e| [project(center, e) - reach, project(center, e) + reach];
        Self { kind: Kind::Box { lo, hi }, along: std::array::from_fn(along) }
    }

    pub fn ray(origin: [f32; D], direction: [f32; D]) -> Self {
        let along = |e| [project(origin, e), 1.0 / project(direction, e)];
        let kind = Kind::Ray { origin, inverse: direction.map(|x| 1.0 / x), direction };
        Self { kind, along: std::array::from_fn(along) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds<const D: usize> {
    pub lo: [f32; D],
    pub hi: [f32; D],
}

/// The part of the interval `[first, last]` of a ray inside a slab.
#[inline(always)]
fn clip([first, last]: [f32; 2], [from, inverse]: [f32; 2], [lo, hi]: [f32; 2]) -> [f32; 2] {
    let (a, b) = ((lo - PAD - from) * inverse, (hi + PAD - from) * inverse);
    [first.max(a.min(b)), last.min(a.max(b))]
}

impl<const D: usize> Bounds<D> {
    /// The part of a ray inside, empty if the first number exceeds the second.
    #[inline(always)]
    fn part(&self, origin: &[f32; D], inverse: &[f32; D]) -> [f32; 2] {
        (0..D).fold([0.0, f32::INFINITY], |part, k| clip(part, [origin[k], inverse[k]], [self.lo[k], self.hi[k]]))
    }
}

impl<const D: usize> Volume<D> for Bounds<D> {
    const EMPTY: Self = Self { lo: [f32::INFINITY; D], hi: [f32::NEG_INFINITY; D] };

    fn union(&self, other: &Self) -> Self {
        Self {
            lo: std::array::from_fn(|k| self.lo[k].min(other.lo[k])),
            hi: std::array::from_fn(|k| self.hi[k].max(other.hi[k])),
        }
    }

    fn around(points: &[[f32; D]]) -> Self {
        points.iter().fold(Self::EMPTY, |all, &point| all.union(&Self { lo: point, hi: point }))
    }

    #[inline(always)]
    fn meets(&self, query: &Query<D>) -> bool {
        match &query.kind {
            Kind::Ball { center, radius } => {
                let gap = |k: usize| (self.lo[k] - center[k]).max(center[k] - self.hi[k]).max(0.0);
                (0..D).map(|k| gap(k) * gap(k)).sum::<f32>() <= radius * radius * 1.000_001
            }
            Kind::Box { lo, hi } => (0..D).fold(true, |meets, k| meets & (self.lo[k] <= hi[k]) & (lo[k] <= self.hi[k])),
            Kind::Ray { origin, inverse, .. } => {
                let [first, last] = self.part(origin, inverse);
                first <= last
            }
        }
    }
}

/// A box cut by `E` pairs of planes across the diagonals: `E` is 4 in three dimensions (14 planes) and 2 in two (8).
#[derive(Clone, Copy)]
pub struct Kdop<const D: usize, const E: usize> {
    bounds: Bounds<D>,
    lo: [f32; E],
    hi: [f32; E],
}

impl<const D: usize, const E: usize> Volume<D> for Kdop<D, E> {
    const EMPTY: Self = Self { bounds: Bounds::EMPTY, lo: [f32::INFINITY; E], hi: [f32::NEG_INFINITY; E] };

    fn union(&self, other: &Self) -> Self {
        Self {
            bounds: self.bounds.union(&other.bounds),
            lo: std::array::from_fn(|e| self.lo[e].min(other.lo[e])),
            hi: std::array::from_fn(|e| self.hi[e].max(other.hi[e])),
        }
    }

    fn around(points: &[[f32; D]]) -> Self {
        points.iter().fold(Self::EMPTY, |all, &point| {
            let along = std::array::from_fn(|e| project(point, e));
            all.union(&Self { bounds: Bounds { lo: point, hi: point }, lo: along, hi: along })
        })
    }

    #[inline(always)]
    fn meets(&self, query: &Query<D>) -> bool {
        if let Kind::Ray { origin, inverse, .. } = &query.kind {
            let part = self.bounds.part(origin, inverse);
            let [first, last] = (0..E).fold(part, |part, e| clip(part, query.along[e], [self.lo[e], self.hi[e]]));
            return first <= last;
        }
        self.bounds.meets(query)
            && (0..E).fold(true, |meets, e| {
                let [lo, hi] = query.along[e];
                meets & (self.lo[e] <= hi) & (lo <= self.hi[e])
            })
    }
}

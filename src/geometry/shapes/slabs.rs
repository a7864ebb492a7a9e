//! Intersections of slabs: the points whose projections on fixed directions lie in given intervals.
//!
//! Input: rows of small integers, and an interval for each. Output: a point-in-shape test, as exact as sums of
//! coordinates; the corners, with rounding.
//! Cost: the corners of a 26-DOP need 26 polygons, each clipped by 24 half spaces.
//! Source: Klosowski et al. 1998 (k-DOPs); Sutherland and Hodgman 1974 (clipping).

use crate::geometry::shapes::vector::{add_scaled, cross, dot, length2, sub, to_3d};

/// Directions, starting with the D axes, and the interval along each.
#[derive(Clone, Debug)]
pub struct Slabs<const D: usize> {
    pub directions: &'static [[i8; 3]],
    /// The lower and upper ends of the intervals.
    pub ends: [[f64; 2]; 13],
}

impl<const D: usize> Slabs<D> {
    /// Iterates over the directions, each with its interval.
    pub fn iter(&self) -> impl Iterator<Item = ([f64; D], [f64; 2])> + Clone + '_ {
        let rows = self.directions.iter().map(|row| std::array::from_fn(|k| f64::from(row[k])));
        rows.zip(self.ends)
    }

    /// Returns `true` if no interval is empty or exceeds the range of sums of three coordinates.
    pub fn is_proper(&self, limit: f64) -> bool {
        self.iter().all(|(_, [lo, hi])| -3.0 * limit <= lo && lo <= hi && hi <= 3.0 * limit)
    }

    pub fn contains(&self, p: &[f64; D]) -> bool {
        self.iter().all(|(direction, [lo, hi])| (lo..=hi).contains(&dot(&direction, p)))
    }

    /// Returns `true` if the centre of the common box along the axes lies in both, which proves that they intersect.
    pub fn share_middle(&self, other: &Self) -> bool {
        let middle = self.middle_within(&std::array::from_fn(|k| other.ends[k]));
        self.contains(&middle) && other.contains(&middle)
    }

    /// Returns `true` if the centre of the common box along the axes lies in the slabs and in the box, which proves
    /// that they intersect.
    pub fn share_middle_of_box(&self, [lo, hi]: &[[f64; D]; 2]) -> bool {
        let middle = self.middle_within(&std::array::from_fn(|k| [lo[k], hi[k]]));
        self.contains(&middle) && (0..D).all(|k| (lo[k]..=hi[k]).contains(&middle[k]))
    }

    /// The centre of the intersection of `intervals` with these slabs along the axes.
    fn middle_within(&self, intervals: &[[f64; 2]; D]) -> [f64; D] {
        std::array::from_fn(|k| {
            let ([lo, hi], [from, to]) = (self.ends[k], intervals[k]);
            0.5 * (lo.max(from) + hi.min(to))
        })
    }

    /// Computes the corners, rounded, possibly with repetitions; empty if the slabs have no common point.
    pub fn corners(&self) -> Vec<[f64; D]> {
        let center: [f64; D] = std::array::from_fn(|k| self.ends[k][0] + 0.5 * (self.ends[k][1] - self.ends[k][0]));
        let reach = (0..D).fold(0.0, |most: f64, k| most.max(self.ends[k][1] - self.ends[k][0]));
        let magnitude = center.iter().fold(reach, |most: f64, x| most.max(x.abs()));
        // Relative to the centre, in three dimensions. In fewer dimensions, the extent along the missing axes is
        // zero.
        let mut slabs: Vec<([f64; 3], [f64; 2])> = self
            .iter()
            .map(|(direction, ends)| (to_3d(&direction), ends.map(|end| end - dot(&direction, &center))))
            .collect();
        for missing in D..3 {
            slabs.push((std::array::from_fn(|k| if k == missing { 1.0 } else { 0.0 }), [0.0; 2]));
        }
        // A half space that would cut off less than this does not clip.
        let tolerance = 16.0 * f64::EPSILON * magnitude;
        let mut corners = vec![];
        let mut spare = vec![];
        for (i, (normal, ends)) in slabs.iter().enumerate() {
            for end in ends {
                let mut polygon = square(normal, *end, 4.0 * reach + f64::MIN_POSITIVE);
                for (_, (direction, [lo, hi])) in slabs.iter().enumerate().filter(|(j, _)| *j != i) {
                    clip(&mut polygon, &mut spare, direction, *hi + tolerance);
                    clip(&mut polygon, &mut spare, &direction.map(|x| -x), tolerance - *lo);
                    if polygon.is_empty() {
                        break;
                    }
                }
                corners.extend(polygon.iter().map(|p| std::array::from_fn(|k| center[k] + p[k])));
            }
        }
        corners
    }
}

/// A square in the plane `normal · x = at`, centred at the point of the plane nearest to the origin.
fn square(normal: &[f64; 3], at: f64, half: f64) -> Vec<[f64; 3]> {
    let middle = normal.map(|x| x * at / length2(normal));
    let axis = if normal[0] == 0.0 { [1.0, 0.0, 0.0] } else { [-normal[1], normal[0], 0.0] };
    let other = cross(normal, &axis);
    let corner = |u: f64, v: f64| add_scaled(&add_scaled(&middle, u * half, &axis), v * half, &other);
    vec![corner(1.0, 1.0), corner(-1.0, 1.0), corner(-1.0, -1.0), corner(1.0, -1.0)]
}

/// Clips a convex polygon to the half space `normal · x <= most`, using `kept` as a buffer.
fn clip(polygon: &mut Vec<[f64; 3]>, kept: &mut Vec<[f64; 3]>, normal: &[f64; 3], most: f64) {
    if polygon.iter().all(|p| dot(normal, p) <= most) {
        return;
    }
    kept.clear();
    for (i, p) in polygon.iter().enumerate() {
        let q = &polygon[(i + 1) % polygon.len()];
        let (here, next) = (dot(normal, p) - most, dot(normal, q) - most);
        if here <= 0.0 {
            kept.push(*p);
        }
        if (here < 0.0 && next > 0.0) || (here > 0.0 && next < 0.0) {
            kept.push(add_scaled(p, here / (here - next), &sub(q, p)));
        }
    }
    std::mem::swap(polygon, kept);
}

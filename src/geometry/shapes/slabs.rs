//! The intersection of slabs: the points whose projections on fixed directions lie between two numbers each.
//!
//! In: rows of small whole numbers, and an interval for each. Out: whether a point lies inside, exactly as sums of its coordinates say; the
//! corners, which are rounded.
//! Cost: the corners of a 26-DOP take 26 polygons that 24 half spaces clip.
//! Source: Klosowski et al. 1998 (k-DOPs); Sutherland and Hodgman 1974 (clipping).

use crate::geometry::shapes::vector::{along, cross, dot, in_space, length2, sub};

/// Directions, of which the first D are the axes, and what is allowed along each.
#[derive(Clone, Debug)]
pub struct Slabs<const D: usize> {
    pub directions: &'static [[i8; 3]],
    /// Lower and upper ends.
    pub ends: [[f64; 2]; 13],
}

impl<const D: usize> Slabs<D> {
    /// Each direction and its interval.
    pub fn iter(&self) -> impl Iterator<Item = ([f64; D], [f64; 2])> + Clone + '_ {
        let rows = self.directions.iter().map(|row| std::array::from_fn(|k| f64::from(row[k])));
        rows.zip(self.ends)
    }

    /// Whether no interval is empty, and none is beyond what sums of coordinates reach.
    pub fn is_proper(&self, limit: f64) -> bool {
        self.iter().all(|(_, [lo, hi])| -3.0 * limit <= lo && lo <= hi && hi <= 3.0 * limit)
    }

    pub fn contains(&self, p: &[f64; D]) -> bool {
        self.iter().all(|(direction, [lo, hi])| (lo..=hi).contains(&dot(&direction, p)))
    }

    /// Whether the middle of what both allow along the axes is in both: then they have a point in common.
    pub fn share_middle(&self, other: &Self) -> bool {
        let middle = self.middle_within(&std::array::from_fn(|k| other.ends[k]));
        self.contains(&middle) && other.contains(&middle)
    }

    /// The same for a box.
    pub fn share_middle_of_box(&self, [lo, hi]: &[[f64; D]; 2]) -> bool {
        let middle = self.middle_within(&std::array::from_fn(|k| [lo[k], hi[k]]));
        self.contains(&middle) && (0..D).all(|k| (lo[k]..=hi[k]).contains(&middle[k]))
    }

    /// The middle of what intervals along the axes have in common with these slabs.
    fn middle_within(&self, intervals: &[[f64; 2]; D]) -> [f64; D] {
        std::array::from_fn(|k| {
            let ([lo, hi], [from, to]) = (self.ends[k], intervals[k]);
            0.5 * (lo.max(from) + hi.min(to))
        })
    }

    /// The corners, some of them repeatedly, within rounding; none if the slabs have no point in common.
    pub fn corners(&self) -> Vec<[f64; D]> {
        let center: [f64; D] = std::array::from_fn(|k| self.ends[k][0] + 0.5 * (self.ends[k][1] - self.ends[k][0]));
        let reach = (0..D).fold(0.0, |most: f64, k| most.max(self.ends[k][1] - self.ends[k][0]));
        let magnitude = center.iter().fold(reach, |most: f64, x| most.max(x.abs()));
        // About the centre, in three dimensions: fewer have no extent along the others.
        let mut slabs: Vec<([f64; 3], [f64; 2])> = self
            .iter()
            .map(|(direction, ends)| (in_space(&direction), ends.map(|end| end - dot(&direction, &center))))
            .collect();
        for missing in D..3 {
            slabs.push((std::array::from_fn(|k| if k == missing { 1.0 } else { 0.0 }), [0.0; 2]));
        }
        // What is cut off by less than this is not.
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

/// A square in the plane `normal · x = at`, about the point of it that is nearest to the origin.
fn square(normal: &[f64; 3], at: f64, half: f64) -> Vec<[f64; 3]> {
    let middle = normal.map(|x| x * at / length2(normal));
    let axis = if normal[0] == 0.0 { [1.0, 0.0, 0.0] } else { [-normal[1], normal[0], 0.0] };
    let other = cross(normal, &axis);
    let corner = |u: f64, v: f64| along(&along(&middle, u * half, &axis), v * half, &other);
    vec![corner(1.0, 1.0), corner(-1.0, 1.0), corner(-1.0, -1.0), corner(1.0, -1.0)]
}

/// Leaves of a convex polygon what lies in the half space `normal · x <= most`; `kept` is room for it.
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
            kept.push(along(p, here / (here - next), &sub(q, p)));
        }
    }
    std::mem::swap(polygon, kept);
}

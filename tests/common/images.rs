//! Periodic space by its definition: a point is the set of its images, and a distance is the minimum over images.
//!
//! Coordinates are integer multiples of 1/64, so that every sum and square is exact, here and in the crate. The
//! crate's arithmetic is not used: neither `min(|a - b|, L - |a - b|)` nor its wrapping of points and query boxes.

use super::clouds::Cloud;
use super::random::Random;
use ropewalk::Scalar;

/// Steps per unit of length.
pub const STEPS: i64 = 64;

/// Sides of the periodic box, in steps.
pub type Sides<const D: usize> = [i64; D];

/// Converts a length in steps to a coordinate.
pub fn length(steps: i64) -> f64 {
    steps as f64 / STEPS as f64
}

pub fn point<S: Scalar, const D: usize>(steps: &[i64; D]) -> [S; D] {
    steps.map(|x| S::from_f64(length(x)))
}

/// Returns points on the lattice as a cloud in a cubic box, for suites of clouds.
pub fn cloud<S: Scalar, const D: usize>(name: &'static str, points: &[[i64; D]], side: i64) -> Cloud<S, D> {
    Cloud { name, points: points.iter().map(point).collect(), radii: vec![], side: length(side) }
}

/// The shifts by -1, 0 and 1 periods along each axis: 3^D of them.
fn shifts<const D: usize>(sides: &Sides<D>) -> Vec<[i64; D]> {
    let periods = |i: usize, k: usize| (i / 3usize.pow(k as u32) % 3) as i64 - 1;
    (0..3usize.pow(D as u32)).map(|i| std::array::from_fn(|k| periods(i, k) * sides[k])).collect()
}

/// Returns the squared distance in steps between two points anywhere. Of the images in the box, the nearest pair is
/// at most one period apart.
pub fn distance2<const D: usize>(a: &[i64; D], b: &[i64; D], sides: &Sides<D>) -> i64 {
    let inside = |point: &[i64; D]| -> [i64; D] { std::array::from_fn(|k| point[k].rem_euclid(sides[k])) };
    let (a, b) = (inside(a), inside(b));
    let squared = |shift: &[i64; D]| (0..D).map(|k| (a[k] + shift[k] - b[k]).pow(2)).sum::<i64>();
    shifts(sides).iter().map(squared).min().unwrap()
}

/// The points with an image within `radius` of `center`, ascending.
pub fn in_ball<const D: usize>(points: &[[i64; D]], center: &[i64; D], radius: i64, sides: &Sides<D>) -> Vec<u32> {
    (0..).zip(points).filter(|(_, point)| distance2(center, point, sides) <= radius * radius).map(|(i, _)| i).collect()
}

/// The points with an image in the box from `lo` to `hi`, ascending.
pub fn in_box<const D: usize>(points: &[[i64; D]], [lo, hi]: [&[i64; D]; 2], sides: &Sides<D>) -> Vec<u32> {
    // Covers the number of periods between any two coordinates of the tests.
    let has_image = |x: i64, k: usize| (-20..=20).any(|i| (lo[k]..=hi[k]).contains(&(x + i * sides[k])));
    (0..).zip(points).filter(|(_, point)| (0..D).all(|k| has_image(point[k], k))).map(|(i, _)| i).collect()
}

/// A nearest-neighbour query with a radius in steps.
#[derive(Clone, Copy)]
pub struct NearestQuery {
    pub k: usize,
    pub radius: Option<i64>,
    /// The index of a point to ignore.
    pub excluded: Option<u32>,
}

impl NearestQuery {
    /// Returns a query for the `k` nearest at any distance.
    pub fn new(k: usize) -> Self {
        Self { k, radius: None, excluded: None }
    }
}

/// The `k` nearest within `radius`, nearest first, ties by index, with their squared distances in units of length.
pub fn nearest<const D: usize>(
    points: &[[i64; D]],
    of: &[i64; D],
    NearestQuery { k, radius, excluded }: NearestQuery,
    sides: &Sides<D>,
) -> Vec<(u32, f64)> {
    let mut near: Vec<(i64, u32)> = (0..)
        .zip(points)
        .filter(|&(i, _)| Some(i) != excluded)
        .map(|(i, point)| (distance2(of, point, sides), i))
        .filter(|&(distance2, _)| radius.is_none_or(|radius| distance2 <= radius * radius))
        .collect();
    near.sort_unstable();
    near.truncate(k);
    near.into_iter().map(|(distance2, i)| (i, distance2 as f64 / (STEPS * STEPS) as f64)).collect()
}

/// Returns points in and around a box: on a coarse lattice, on the faces, and in a dense clump around the corner at
/// the origin. On the lattice, distances tie and points are exactly on faces.
pub fn points<const D: usize>(n: usize, sides: &Sides<D>) -> Vec<[i64; D]> {
    let mut random = Random::new(n as u64);
    (0..n)
        .map(|i| {
            std::array::from_fn(|k| {
                let coarse = 16 * (random.below(2 * sides[k] as usize / 16) as i64) - sides[k] / 2;
                match i % 5 {
                    0 => random.below(40) as i64 - 20,
                    1 if random.below(2) == 0 => [0, sides[k], -sides[k]][random.below(3)],
                    2 => random.below(sides[k] as usize + 1) as i64,
                    _ => coarse,
                }
            })
        })
        .collect()
}

//! `Space::offset` and `Space::min_offset`, compared with all images.

use common::oracle::{self, Side};
use common::random::Random;
use proptest::prelude::*;
use ropewalk::geometry::Space;
use ropewalk::{Aabb, Scalar};

fn space<const D: usize>(side: Side) -> Space<D> {
    Space::periodic(side).unwrap()
}

fn sum_of_squares<const D: usize>(offset: &[f64; D]) -> f64 {
    offset.iter().fold(0.0, |sum, d| sum + d * d)
}

/// On a lattice, where arithmetic is exact, each component of the offset leads to an image, and no image is nearer.
fn leads_to_the_nearest_image<S: Scalar, const D: usize>() {
    let mut random = Random::new(D as u64);
    for side in [8.0, 8.0 - 1.0 / 64.0] {
        for _ in 0..300 {
            // Includes points several sides outside of the box, and exactly half a side apart.
            let mut lattice = || S::from_f64(random.below((40.0 * side) as usize) as f64 / 8.0 - 2.0 * side);
            let from: [S; D] = std::array::from_fn(|_| lattice());
            let mut to: [S; D] = std::array::from_fn(|_| lattice());
            to[0] = from[0] + S::from_f64(0.5 * side);
            let offset = space(Some(side)).offset(&from, &to);
            for k in 0..D {
                let d: f64 = Into::<f64>::into(to[k]) - Into::<f64>::into(from[k]);
                let images: Vec<f64> = (-9..=9).map(|image| d + f64::from(image) * side).collect();
                let least = images.iter().fold(f64::INFINITY, |least, image| least.min(image.abs()));
                assert!(images.contains(&offset[k]) && offset[k].abs() == least, "{from:?} {to:?} {offset:?}");
            }
            assert_eq!(offset[0], 0.5 * side);
            assert_eq!(space(Some(side)).offset(&to, &from)[0], -0.5 * side);
            let open = Space::OPEN.offset(&from, &to);
            assert!((0..D).all(|k| Into::<f64>::into(from[k]) + open[k] == Into::<f64>::into(to[k])));
        }
    }
}

#[test]
fn all_images_of_points() {
    leads_to_the_nearest_image::<f32, 1>();
    leads_to_the_nearest_image::<f64, 2>();
    leads_to_the_nearest_image::<f32, 3>();
    leads_to_the_nearest_image::<f64, 10>();
}

#[test]
fn from_face_to_face_there_is_nothing() {
    let space = space::<2>(Some(10.0));
    assert_eq!(space.offset(&[0.0, 10.0], &[10.0, 0.0]), [0.0, 0.0]);
    assert!(space.offset(&[f64::NAN, 0.0], &[1.0, 1.0])[0].is_nan());
}

fn squares_are_distances<S: Scalar, const D: usize>(points: &[[f64; D]], side: Side) -> Result<(), TestCaseError> {
    let points: Vec<[S; D]> = points.iter().map(|point| oracle::wrap_point(&point.map(S::from_f64), side)).collect();
    let space = space(side);
    for (i, from) in points.iter().enumerate() {
        for to in &points {
            let offset = space.offset(from, to);
            let distance2 = oracle::distance2(from, to, side);
            prop_assert_eq!(sum_of_squares(&offset).to_bits(), distance2.to_bits());
            prop_assert_eq!(space.distance2(from, to).to_bits(), distance2.to_bits());
            prop_assert_eq!(space.offset(to, from), offset.map(|d| -d));
            // For points, the gap between boxes is the same, except for the sign if two images are equally near.
            let gap = space.min_offset(&Aabb::point(*from), &Aabb::point(*to));
            prop_assert_eq!(gap.map(f64::abs), offset.map(f64::abs));
            // A box from each point to the next, and a box to another point.
            let next = |at: usize| Aabb::point(points[at]).union(&Aabb::point(points[(at + 1) % points.len()]));
            let (a, b) = (next(i), Aabb::point(*to).union(&Aabb::point(points[0])));
            let gap = space.min_offset(&a, &b);
            prop_assert_eq!(sum_of_squares(&gap).to_bits(), space.min_distance2(&a, &b).to_bits());
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn squares_are_distances_in_f32(points in any::<bool>().prop_flat_map(|on_grid| super::points::<3>(on_grid, 12)), side in super::side()) {
        squares_are_distances::<f32, 3>(&points, side)?;
    }

    #[test]
    fn squares_are_distances_in_f64(points in any::<bool>().prop_flat_map(|on_grid| super::points::<2>(on_grid, 12)), side in super::side()) {
        squares_are_distances::<f64, 2>(&points, side)?;
    }
}

/// The gap between boxes, from all images: it moves one box into contact with the other, and is the shortest such
/// vector.
#[test]
fn all_images_of_boxes() {
    let mut random = Random::new(1);
    let side = 8.0;
    for _ in 0..2000 {
        let mut interval = || {
            let lo = random.below(512) as f64 / 64.0;
            [lo, lo + random.below(200) as f64 / 64.0]
        };
        let ([a, b], space) = ([interval(), interval()], space::<1>(Some(side)));
        let [gap] = space.min_offset(&Aabb::new([a[0]], [a[1]]), &Aabb::new([b[0]], [b[1]]));
        let between = |shift: f64| {
            let (above, below) = (b[0] + shift - a[1], a[0] - b[1] - shift);
            if above > 0.0 { above } else { -below.max(0.0) }
        };
        let images: Vec<f64> = (-3..=3).map(|image| between(f64::from(image) * side)).collect();
        let least = images.iter().fold(f64::INFINITY, |least, image| least.min(image.abs()));
        assert!(images.contains(&gap) && gap.abs() == least, "{a:?} {b:?} {gap}");
        let [open] = Space::OPEN.min_offset(&Aabb::new([a[0]], [a[1]]), &Aabb::new([b[0]], [b[1]]));
        assert_eq!(open, between(0.0));
    }
}

//! Fixed bugs, one test for each.

use ropewalk::geometry::{Query, Space};
use ropewalk::reference::BruteForce;
use ropewalk::{Aabb, Bvh, Fof, Nearest, Sphere};

/// `count` counted the hits of a half-read leaf again for each following whole node.
#[test]
fn counting_the_rest_of_half_read_hits() {
    let points: Vec<[f32; 1]> = (0..500).map(|i| [i as f32]).collect();
    let bvh = Bvh::build(&points).unwrap();
    let ball = Sphere::new([250.5f32], 200.0);
    for taken in 0..400 {
        let mut hits = bvh.query(ball);
        hits.by_ref().take(taken).for_each(drop);
        assert_eq!(hits.count(), 400 - taken);
    }
}

/// A NaN is not larger than any radius, so brute force found every point near it. An infinite centre matched an
/// infinite radius.
#[test]
fn nothing_is_near_a_center_that_is_not_finite() {
    let points = [[0.0f64, 0.0], [1.0, 2.0]];
    let bvh = Bvh::build(&points).unwrap();
    let brute = BruteForce::build(&points).unwrap();
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for radius in [0.0, 1.0, f64::INFINITY] {
            let ball = Sphere::new([0.0, odd], radius);
            assert_eq!((bvh.query(ball).count(), brute.query(ball).count()), (0, 0), "{ball:?}");
        }
    }
}

/// The test for covered nodes used the given centre, while the test for points used the wrapped and rounded one.
#[test]
fn a_ball_around_a_far_image_is_the_wrapped_ball() {
    let points: Vec<[f32; 1]> = (0..1000).map(|i| [i as f32 * 0.01]).collect();
    let bvh = Bvh::build_periodic(&points, 10.0).unwrap();
    let brute = BruteForce::build_periodic(&points, 10.0).unwrap();
    for i in 0..200 {
        // Ties for the given centre: 0 and `end` are both exactly at the radius.
        let center = -1e-7 * (i as f32 + 1.0);
        let end = points[100 + i][0];
        let ball = Sphere::new([center], f64::from(end) - f64::from(center));
        let mut hits: Vec<u32> = bvh.query(ball).collect();
        hits.sort();
        assert!(brute.query(ball).eq(hits), "{ball:?}");
    }
}

/// A stored box that ends beyond the periodic box was missed by query boxes that start before it.
#[test]
fn boxes_meet_two_periods_apart() {
    let stored = [Aabb::new([9.5f64], [11.0])];
    let bvh = Bvh::build_periodic(&stored, 10.0).unwrap();
    assert_eq!(bvh.query(Aabb::new([-9.5], [-9.25])).count(), 1);
    assert_eq!(bvh.query(Aabb::new([-8.5], [-8.25])).count(), 0);
}

/// Boxes across the boundary were missed by leaves in the middle.
#[test]
fn stored_boxes_reach_over_the_boundary() {
    let mut stored = vec![Aabb::new([9.5f32, 0.0], [12.0, 1.0])];
    stored.extend((0..40).map(|i| Aabb::point([1.5 + 0.01 * i as f32, 4.0])));
    stored.push(Aabb::point([1.75, 1.0]));
    let bvh = Bvh::build_periodic(&stored, 10.0).unwrap();
    assert_eq!(bvh.neighbors(0.25).of(0).len(), 2);
    assert_eq!(bvh.neighbors(0.25).of(41), bvh.neighbors(0.25).of(0));
    let halos = Fof::new(0.25).run_on(&bvh).unwrap();
    assert_eq!(halos.members(1), [0, 41]);
}

/// A coordinate that wraps to the upper face may round beyond it if `f32` cannot represent the side.
#[test]
fn wrapping_ends_inside_of_the_box() {
    let points = [[-1e-12f32], [0.05]];
    let bvh = Bvh::build_periodic(&points, 0.1).unwrap();
    assert!(f64::from(bvh.bounds().hi[0]) <= 0.1);
    let brute = BruteForce::build_periodic(&points, 0.1).unwrap();
    assert_eq!(bvh.nearest_neighbors(2), brute.nearest_neighbors(2));
}

/// With a radius of 0, no node was ever covered, so all copies of a point were compared with each other.
/// `src/work.rs` counts the comparisons.
#[test]
fn copies_of_one_point_are_counted_at_once() {
    let n = 300_000;
    let bvh = Bvh::build(&vec![[0.1f32, 0.2, 0.3]; n]).unwrap();
    assert!(bvh.count_neighbors(0.0).iter().all(|&count| count as usize == n));
    assert_eq!(Fof::new(0.0).run_on(&bvh).unwrap().members(0).len(), n);
}

/// Wrapping a point as a box gave it an extent of one rounding error.
#[test]
fn wrapped_points_are_points() {
    let points: Vec<[f64; 1]> = (0..500).map(|i| [-3.3 - 0.37 * f64::from(i)]).collect();
    let brute = BruteForce::build_periodic(&points, 1.6).unwrap();
    let bvh = Bvh::build_periodic(&points, 1.6).unwrap();
    let boxes: Vec<Aabb<f64, 1>> = points.iter().map(|&point| Aabb::point(point)).collect();
    let boxes = Bvh::build_periodic(&boxes, 1.6).unwrap();
    assert_eq!(bvh.bounds(), boxes.bounds());
    for point in points {
        assert_eq!(brute.nearest(point, 9), bvh.nearest(point, 9));
        assert_eq!(boxes.nearest(point, 9), bvh.nearest(point, 9));
    }
}

/// A box made from points outside of the periodic box was shifted differently from the points, and lost them.
#[test]
fn faces_hold_the_points_they_are_made_from() {
    let points: Vec<[f32; 1]> = (0..200).map(|i| [-37.0 + 0.37 * i as f32]).collect();
    let bvh = Bvh::build_periodic(&points, 1.6).unwrap();
    for (i, &point) in (0..).zip(&points) {
        for other in [point[0], point[0] - 0.3, point[0] + 0.3] {
            let query = Aabb::point(point).union(&Aabb::point([other]));
            assert!(bvh.query(query).any(|hit| hit == i), "{query:?} does not hold {point:?}");
        }
    }
}

/// With `f64` points and fewer than k neighbours within the radius, points inside it by less than the resolution of
/// `f32` were missed.
#[test]
fn nearest_just_within_a_radius() {
    let points: Vec<[f64; 2]> = (0..256).map(|i| [f64::from(i % 16) * 0.1, f64::from(i / 16) * 0.1]).collect();
    let wanted = Nearest::new(5).within(0.1);
    let brute = BruteForce::build(&points).unwrap();
    assert_eq!(Bvh::build(&points).unwrap().nearest_neighbors(wanted), brute.nearest_neighbors(wanted));
}

/// A radius whose square is denormal was rounded down, and leaves were considered clear of the boundary.
#[test]
fn around_a_box_so_small_that_squares_underflow() {
    let mut points = vec![[1e-160f64]; 40];
    points.extend([[3e-160]; 40]);
    let tree = Bvh::build_periodic(&points, 3e-160).unwrap();
    let brute = BruteForce::build_periodic(&points, 3e-160).unwrap();
    for radius in [0.0, 1e-170, 9.99994433575849e-161, 1e-160, 1.1e-160] {
        let sorted = |list: &[u32]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list
        };
        for (found, expected) in tree.neighbors(radius).iter().zip(brute.neighbors(radius).iter()) {
            assert_eq!(sorted(found), expected, "radius {radius:e}");
        }
        assert_eq!(tree.count_neighbors(radius), brute.count_neighbors(radius));
        assert_eq!(tree.count_pairs(radius), brute.count_pairs(radius));
    }
}

/// Squared distances were rounded to the type of the coordinates: those of `f32` became 0 or infinite, and others
/// were not exact.
#[test]
fn squared_distances_are_those_of_f64() {
    let points = [[1e-30f32, 0.0], [3e-30, 0.0], [1e30, 0.0], [0.1, 0.2]];
    let bvh = Bvh::build(&points).unwrap();
    let near = bvh.nearest([1e-30f32, 0.0], 4);
    let distance2 = |i: usize| bvh.space().distance2(&[1e-30f32, 0.0], &points[i]);
    assert_eq!(near.iter().map(|near| near.distance2).collect::<Vec<_>>(), [0, 1, 3, 2].map(distance2));
    assert!(near[1].distance2 > 0.0 && near[3].distance2 < f64::INFINITY);
    assert_eq!(bvh.nearest_neighbors(4).of(0), near);
}

/// For a shape that meets everything and covers nothing, bits beyond the last primitive of a leaf were hits of the
/// next leaf's primitives, or caused a panic.
#[test]
fn shapes_that_meet_all() {
    struct All;
    impl Query<f32, 1> for All {
        fn meets(&self, _: &Aabb<f32, 1>, _: &Space<1>) -> bool {
            true
        }
    }
    for n in [1, 5, 32, 33, 100] {
        let points: Vec<[f32; 1]> = (0..n).map(|i| [i as f32]).collect();
        let bvh = Bvh::build(&points).unwrap();
        let mut hits: Vec<u32> = bvh.query(All).collect();
        hits.sort_unstable();
        assert!(hits.into_iter().eq(0..n));
        // The same holds for many queries at once.
        assert_eq!((bvh.query(All).count(), bvh.count_all(&[All])), (n as usize, vec![n]));
        assert_eq!(bvh.query_all(&[All]).of(0).len(), n as usize);
        let visits = std::sync::atomic::AtomicU32::new(0);
        bvh.for_each_hit(&[All], |_, _| {
            visits.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            std::ops::ControlFlow::Continue(())
        });
        assert_eq!(visits.into_inner(), n);
    }
}

/// The index after the last list overflowed, since it was computed before the check.
#[test]
fn there_is_no_last_list() {
    let lists = Bvh::build(&[[0.0f32]]).unwrap().neighbors(1.0);
    assert_eq!((lists.of(0), lists.of(1), lists.of(usize::MAX)), (&[0][..], &[][..], &[][..]));
    let halos = Fof::new(1.0).run(&[[0.0f32], [1.0]]).unwrap();
    assert_eq!(halos.members(0), [0, 1]);
}

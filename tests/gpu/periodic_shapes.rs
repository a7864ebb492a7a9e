//! Shapes and user-defined queries in periodic boxes on a device, compared with the CPU and with loops over images.

use common::random::Random;
use cubecl::prelude::*;
use ropewalk::geometry::{Capsule, Convex, Query, Segment, Space};
use ropewalk::gpu::{self, BoxBvh, Coordinate, cubecl};
use ropewalk::{Aabb, Bvh};

use crate::values::{Places, device};

/// Compares the boxes and the points that shapes meet.
fn compare<Q, S: Coordinate, const D: usize>(boxes: &[Aabb<S, D>], queries: &[Q], side: f64, name: &str)
where
    Q: gpu::Query<S, D> + Query<S, D>,
{
    let theirs = Bvh::build_periodic(boxes, side).unwrap();
    let ours = BoxBvh::build_periodic(boxes, side, device()).unwrap();
    let expected = theirs.query_all(queries);
    assert_eq!(ours.query_all(queries).unwrap().read().unwrap(), expected, "{name}");
    assert_eq!(ours.count_all(queries).unwrap().read().unwrap(), theirs.count_all(queries), "{name}");
    assert!(boxes.is_empty() || expected.values().len() > queries.len() / 4, "{name}");
    let points: Vec<[S; D]> = boxes.iter().map(|own| own.lo).collect();
    let theirs = Bvh::build_periodic(&points, side).unwrap();
    let ours = gpu::Bvh::build_periodic(&points, side, device()).unwrap();
    assert_eq!(ours.query_all(queries).unwrap().read().unwrap(), theirs.query_all(queries), "{name}: points");
}

#[test]
#[ignore = "wide"]
fn wide_shapes_meet_images() {
    let mut random = Random::new(21);
    for (side, grid) in [(8.0, 0.5), (9.7, 0.0)] {
        let places = &mut Places { random: &mut random, grid };
        let boxes: Vec<Aabb<f32, 3>> = (0..200).map(|_| places.aabb()).collect();
        let triangles: Vec<_> = (0..40).map(|_| places.triangle::<f32, 3>()).collect();
        compare(&boxes, &triangles, side, "triangles");
        let capsules: Vec<_> = (0..40).map(|_| places.capsule::<f32, 3>()).collect();
        compare(&boxes, &capsules, side, "capsules");
    }
}

/// The definition: a shape meets a box if it intersects an image of it.
#[test]
#[ignore = "wide"]
fn wide_shapes_meet_the_images_of_a_loop() {
    let mut random = Random::new(22);
    let places = &mut Places { random: &mut random, grid: 0.5 };
    let boxes: Vec<Aabb<f64, 2>> = (0..100).map(|_| places.aabb()).collect();
    let queries: Vec<_> = (0..40).map(|_| places.segment::<f64, 2>()).collect();
    let found = BoxBvh::build_periodic(&boxes, 8.0, device()).unwrap().query_all(&queries).unwrap().read().unwrap();
    for (query, segment) in queries.iter().enumerate() {
        let is_met = |own: &Aabb<f64, 2>| {
            (0..49).any(|image| {
                let by = [f64::from(image % 7 - 3) * 8.0, f64::from(image / 7 - 3) * 8.0];
                let moved = |corner: [f64; 2]| std::array::from_fn::<f64, 2, _>(|k| corner[k] + by[k]);
                segment.intersects(&Aabb::new(moved(own.lo), moved(own.hi)))
            })
        };
        let expected: Vec<u32> = (0..100).filter(|&index| is_met(&boxes[index as usize])).collect();
        let mut own = found.of(query).to_vec();
        own.sort_unstable();
        assert_eq!(own, expected, "{segment:?}");
    }
}

/// Shapes that are longer than the box, in reach of more images than are tested, without points, or not finite.
#[test]
#[ignore = "wide"]
fn wide_long_and_empty_shapes() {
    let mut random = Random::new(23);
    let places = &mut Places { random: &mut random, grid: 0.5 };
    let boxes: Vec<Aabb<f64, 2>> = (0..60).map(|_| places.aabb()).collect();
    let far = 1e8;
    let capsules = [
        Capsule::new([0.0, 0.0], [30.0, 1.0], 0.25),
        Capsule::new([-100.0, 3.0], [-95.0, 3.0], 0.0),
        Capsule::new([-far, 0.0], [far, 1.0], 0.5),
        Capsule::new([-far, 0.0], [far, 1.0], -0.5),
        Capsule::new([0.0, 0.0], [1.0, 1.0], f64::INFINITY),
        Capsule::new([f64::NAN, 0.0], [1.0, 1.0], 1.0),
        Capsule::new([f64::NEG_INFINITY, 0.0], [1.0, 1.0], 1.0),
    ];
    compare(&boxes, &capsules, 8.0, "odd capsules");
    let segments = [Segment::new([2.0, 2.0], [2.0, 2.0]), Segment::new([10.0, -6.0], [10.0, -6.0])];
    compare(&boxes, &segments, 8.0, "points as segments");
}

/// A user-defined query: a box without its corners.
struct Octagon([f64; 2], f64);

struct InOctagon;

#[cube]
impl gpu::BoxTest for InOctagon {
    fn meets(query: &Array<f64>, at: u32, _extra: &Array<f64>, corners: &Array<f64>) -> bool {
        let first = at as usize;
        let (x, y) = (query[first], query[first + 1]);
        let to_x = max(max(corners[0] - x, x - corners[2]), f64::new(0.0));
        let to_y = max(max(corners[1] - y, y - corners[3]), f64::new(0.0));
        to_x + to_y <= f64::new(1.5) * query[first + 2]
    }
}

impl gpu::Query<f64, 2> for Octagon {
    const NUMBERS: usize = 3;
    type BoxTest = InOctagon;

    fn extent(&self) -> Aabb<f64, 2> {
        Aabb::new(self.0.map(|x| x - self.1), self.0.map(|x| x + self.1))
    }

    fn write(&self, numbers: &mut [f64], _: &mut Vec<f64>) {
        numbers.copy_from_slice(&[self.0[0], self.0[1], self.1]);
    }
}

impl Query<f64, 2> for Octagon {
    fn meets(&self, bounds: &Aabb<f64, 2>, space: &Space<2>) -> bool {
        let gaps = space.min_offset(bounds, &Aabb::point(space.wrap(self.0)));
        gaps.iter().all(|gap| gap.abs() <= self.1) && gaps[0].abs() + gaps[1].abs() <= 1.5 * self.1
    }
}

#[test]
#[ignore = "wide"]
fn wide_user_defined_queries_meet_images() {
    let mut random = Random::new(24);
    let places = &mut Places { random: &mut random, grid: 0.25 };
    let boxes: Vec<Aabb<f64, 2>> = (0..200).map(|_| places.aabb()).collect();
    let queries: Vec<Octagon> = (0..60).map(|i| Octagon(places.point(), f64::from(i % 4) * 0.5)).collect();
    assert!(queries.iter().all(|query| gpu::Query::<f64, 2>::extent(query).lo[0] > -2.0));
    compare(&boxes, &queries, 8.0, "octagons");
}

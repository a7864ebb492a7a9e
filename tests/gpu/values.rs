//! Stored values of any type and queries of any shape, compared with the CPU.

use common::random::Random;
use cubecl::prelude::*;
use ropewalk::geometry::{Bounded, Capsule, Dop14, Ellipsoid, HitBy, Obb, Query, Segment, Tetrahedron, Triangle};
use ropewalk::gpu::cubecl;
use ropewalk::gpu::{self, BoxBvh, Coordinate, Device};
use ropewalk::{Aabb, Bvh, Nearest, Ray, Sphere, ValueBvh};

pub fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

/// Random numbers on a grid of the given spacing, or anywhere if it is 0.
pub struct Places<'a> {
    pub random: &'a mut Random,
    pub grid: f64,
}

impl Places<'_> {
    fn number<S: Coordinate>(&mut self, least: f64, range: f64) -> S {
        let at = least + range * self.random.unit();
        S::from_f64(if self.grid > 0.0 { (at / self.grid).round() * self.grid } else { at })
    }

    pub fn point<S: Coordinate, const D: usize>(&mut self) -> [S; D] {
        std::array::from_fn(|_| self.number(0.0, 10.0))
    }

    /// A point near another one.
    fn near<S: Coordinate, const D: usize>(&mut self, of: [S; D]) -> [S; D] {
        let range = [0.0, 0.5, 2.0][self.random.below(3)];
        of.map(|x| S::from_f64(Into::<f64>::into(x) + self.number::<f64>(-range, 2.0 * range)))
    }

    pub fn sphere<S: Coordinate, const D: usize>(&mut self) -> Sphere<S, D> {
        Sphere::new(self.point(), [0.0, 0.5, 1.0, 2.5][self.random.below(4)])
    }

    pub fn aabb<S: Coordinate, const D: usize>(&mut self) -> Aabb<S, D> {
        let from = self.point();
        Aabb::point(from).union(&Aabb::point(self.near(from)))
    }

    pub fn segment<S: Coordinate, const D: usize>(&mut self) -> Segment<S, D> {
        let from = self.point();
        Segment::new(from, self.near(from))
    }

    pub fn capsule<S: Coordinate, const D: usize>(&mut self) -> Capsule<S, D> {
        let Segment { ends: [a, b] } = self.segment();
        Capsule::new(a, b, [0.0, 0.5, 1.0][self.random.below(3)])
    }

    pub fn triangle<S: Coordinate, const D: usize>(&mut self) -> Triangle<S, D> {
        let from = self.point();
        Triangle::new(from, self.near(from), self.near(from))
    }

    pub fn obb<S: Coordinate, const D: usize>(&mut self) -> Obb<S, D> {
        // Far enough from the coordinate axes to be turned, near enough to be independent.
        let axes = std::array::from_fn(|i| {
            std::array::from_fn(|k| self.number::<f64>(-1.0, 2.0) + if i == k { 4.0 } else { 0.0 })
        });
        Obb::new(self.point(), axes, std::array::from_fn(|_| self.number(0.0, 1.5)))
    }

    fn ellipsoid<S: Coordinate, const D: usize>(&mut self) -> Ellipsoid<S, D> {
        let frame: Obb<S, D> = self.obb();
        Ellipsoid::new(frame.center(), frame.axes(), frame.half_extents())
    }

    /// `D` is 3. The parameter is there for the macro.
    fn tetrahedron<S: Coordinate, const D: usize>(&mut self) -> Tetrahedron<S> {
        let from = self.point();
        Tetrahedron::new([from, self.near(from), self.near(from), self.near(from)])
    }

    fn dop<S: Coordinate, const D: usize>(&mut self) -> Dop14<S> {
        let Tetrahedron { vertices } = self.tetrahedron::<S, D>();
        Dop14::around(&vertices)
    }

    pub fn ray<S: Coordinate, const D: usize>(&mut self) -> Ray<S, D> {
        let direction = std::array::from_fn(|_| self.number(-2.0, 4.0));
        Ray::new(self.point(), direction).between(0.0, [0.5, 4.0, f64::INFINITY][self.random.below(3)])
    }
}

/// Compares lists and counts of the values that queries hit.
fn compare<T, Q, S: Coordinate, const D: usize>(stored: &[T], queries: &[Q], name: &str)
where
    T: gpu::HitBy<Q, S, D> + HitBy<Q> + Clone,
    Q: gpu::Query<S, D> + Query<S, D>,
{
    let theirs = ValueBvh::build(stored.to_vec()).unwrap();
    let ours = gpu::ValueBvh::build(stored.to_vec(), device()).unwrap();
    let (expected, found) = (theirs.query_all(queries), ours.query_all(queries).unwrap().read().unwrap());
    for query in 0..queries.len() {
        assert_eq!(found.of(query), expected.of(query), "{name}: query {query}");
    }
    let counts: Vec<u32> = expected.iter().map(|list| list.len() as u32).collect();
    assert_eq!(ours.count_all(queries).unwrap().read().unwrap(), counts, "{name}");
    let (boxes, of_boxes) = (Bvh::build(stored).unwrap(), BoxBvh::build(stored, device()).unwrap());
    assert_eq!(of_boxes.query_all(queries).unwrap().read().unwrap(), boxes.query_all(queries), "{name}: boxes");
}

/// Compares the nearest values of points.
fn compare_nearest<T, S: Coordinate, const D: usize>(stored: &[T], points: &[[S; D]], name: &str)
where
    T: gpu::Distance<S, D> + ropewalk::geometry::Distance<S, D> + Clone,
{
    let theirs = ValueBvh::build(stored.to_vec()).unwrap();
    let ours = gpu::ValueBvh::build(stored.to_vec(), device()).unwrap();
    for wanted in [Nearest::new(1), Nearest::new(5).within(1.0), Nearest::new(3).excluding_self()] {
        let found = ours.nearest_all(points, wanted).unwrap().read().unwrap();
        assert_eq!(found, theirs.nearest_all(points, wanted), "{name}: {wanted:?}");
    }
}

macro_rules! stored_and_queries {
    ($places:expr, $n:expr, $s:ty, $d:literal, [$($stored:ident),*], $queries:tt) => {$(
        let stored: Vec<_> = (0..$n).map(|_| $places.$stored::<$s, $d>()).collect();
        let points: Vec<[$s; $d]> = (0..40).map(|_| $places.point()).chain([[<$s>::NAN; $d]]).collect();
        compare_nearest(&stored, &points, stringify!($stored, $s, $d));
        stored_and_queries!(@each $places, stored, $stored, $s, $d, $queries);
    )*};
    (@each $places:expr, $all:ident, $stored:ident, $s:ty, $d:literal, [$($query:ident),*]) => {$(
        let queries: Vec<_> = (0..40).map(|_| $places.$query::<$s, $d>()).collect();
        compare(&$all, &queries, concat!(stringify!($stored), " hit by ", stringify!($query), stringify!($s, $d)));
    )*};
}

#[test]
fn round_shapes_and_boxes() {
    let mut random = Random::new(5);
    let places = &mut Places { random: &mut random, grid: 0.5 };
    stored_and_queries!(places, 300, f32, 3, [sphere, aabb], [sphere, aabb, point, ray]);
    let spheres: Vec<Sphere<f64, 2>> = (0..100).map(|_| places.sphere()).collect();
    let odd = |x: f64| Aabb { lo: [x; 2], hi: [f64::INFINITY; 2] };
    compare(&spheres, &[odd(3.0), odd(f64::NEG_INFINITY), odd(f64::NAN), Aabb::EMPTY], "infinite and empty boxes");
    let odd = [[1.0, -1.0], [f64::NAN, 1.0], [5.0, f64::INFINITY]].map(|[x, radius]| Sphere::new([x, 5.0], radius));
    compare(&spheres, &odd, "infinite and empty spheres");
}

#[test]
fn triangles_and_rays() {
    let mut random = Random::new(6);
    let places = &mut Places { random: &mut random, grid: 0.5 };
    stored_and_queries!(places, 300, f32, 3, [triangle], [sphere, ray]);
}

/// Directions, origins and ranges of rays that leave the range of `f32`, or that devices may flush to 0.
#[test]
#[ignore = "wide"]
fn wide_rays_at_the_edge_of_numbers() {
    fn compare_rays<S: Coordinate>(scale: f64, odd: &[f64]) {
        let number = S::from_f64;
        let boxes: Vec<Aabb<S, 2>> = (0..60)
            .map(|i| [f64::from(i % 8), f64::from(i / 8)].map(|x| number(scale * (x - 3.0))))
            .map(|lo| Aabb::new(lo, lo.map(|x| number(Into::<f64>::into(x) + 0.5 * scale))))
            .collect();
        let ends = [(0.0, f64::INFINITY), (f64::NEG_INFINITY, 0.0), (1e300, f64::INFINITY), (-1e39, 1e39), (0.5, 1.5)];
        let mut rays = vec![];
        for &x in odd {
            for &y in odd {
                for (from, to) in ends {
                    let direction = [number(x), number(y)];
                    rays.push(Ray::new([number(scale / 4.0); 2], direction).between(from, to));
                    rays.push(Ray::new(direction, [number(1.0), number(x)]).between(from, to));
                }
            }
        }
        compare(&boxes, &rays, &format!("rays at scale {scale:e}"));
        let spheres: Vec<Sphere<S, 2>> = rays.iter().map(|ray| Sphere::new(ray.origin, scale)).collect();
        compare(&boxes, &spheres, &format!("spheres at scale {scale:e}"));
    }
    let narrow = [0.0, -0.0, 1.0, -1e-30, 1e-39, 1e37, -3e38, 5e-45];
    compare_rays::<f32>(1.0, &narrow);
    compare_rays::<f64>(1.0, &narrow);
    compare_rays::<f64>(1e60, &[0.0, 1.0, -1e60, 1e-60, 1e-300, 1e149]);
}

/// Distances whose squares leave the range of `f32`, in trees of `f64`, and options of each query.
#[test]
#[ignore = "wide"]
fn wide_nearest_shapes_of_any_size() {
    let mut random = Random::new(14);
    for scale in [1e-20, 1.0, 1e25] {
        let mut sphere = || {
            let center = [0, 1, 2].map(|_| scale * random.unit());
            Sphere::new(center, 0.01 * scale)
        };
        let spheres: Vec<Sphere<f64, 3>> = (0..300).map(|_| sphere()).collect();
        let points: Vec<[f64; 3]> = spheres.iter().take(40).map(|sphere| sphere.center.map(|x| 1.5 * x)).collect();
        compare_nearest(&spheres, &points, &format!("spheres at scale {scale:e}"));
        let wanted: Vec<Nearest> = (0..40).map(|i| Nearest::new(i % 4).within(scale * i as f64 / 40.0)).collect();
        let theirs = ValueBvh::build(spheres.clone()).unwrap().nearest_all_each(&points, &wanted).unwrap();
        let ours = gpu::ValueBvh::build(spheres, device()).unwrap().nearest_all_each(&points, &wanted).unwrap();
        assert_eq!(ours.read().unwrap(), theirs, "options of each query at scale {scale:e}");
    }
}

/// A stored type and a query without numbers.
#[derive(Clone)]
struct Unseen([f32; 2]);

impl Bounded<f32, 2> for Unseen {
    fn bounds(&self) -> Aabb<f32, 2> {
        Aabb::point(self.0)
    }
}

impl gpu::Shape<f32, 2> for Unseen {
    const NUMBERS: usize = 0;
    fn write(&self, _: &mut [f64], _: &mut Vec<f64>) {}
}

struct NoHit;

#[cube]
impl gpu::HitTest for NoHit {
    fn is_hit(_a: &Array<f64>, _b: u32, _c: &Array<f64>, _d: &Array<f64>, _e: u32, _f: &Array<f64>) -> bool {
        false.runtime()
    }
}

impl gpu::HitBy<[f32; 2], f32, 2> for Unseen {
    type Test = NoHit;
}

#[test]
fn values_without_numbers() {
    let tree = gpu::ValueBvh::build(vec![Unseen([1.0, 2.0])], device()).unwrap();
    assert_eq!(tree.boxes().count_all(&[[1.0f32, 2.0]]).unwrap().read().unwrap(), [1]);
    assert_eq!(tree.count_all(&[[1.0f32, 2.0]]).unwrap().read().unwrap(), [0]);
}

/// Compares trees of some types of shapes with queries of all types, at random places and on a lattice. There are
/// several tests, because each pair of types has kernels of its own.
macro_rules! wide_shapes {
    ($name:ident, $scalar:ident, $d:literal, [$($stored:ident),*], [$($query:ident),*]) => {
        #[test]
        #[ignore = "wide"]
        fn $name() {
            let mut random = Random::new(6);
            for grid in [0.0, 0.5] {
                let places = &mut Places { random: &mut random, grid };
                stored_and_queries!(places, 300, $scalar, $d, [$($stored),*], [$($query),*]);
            }
        }
    };
}

macro_rules! in_space {
    ($name:ident, [$($stored:ident),*]) => {
        wide_shapes!(
            $name,
            f32,
            3,
            [$($stored),*],
            [sphere, point, aabb, ray, segment, capsule, triangle, tetrahedron, obb, ellipsoid, dop]
        );
    };
}

in_space!(wide_spheres_boxes_and_segments, [sphere, aabb, segment]);
in_space!(wide_capsules_triangles_and_tetrahedra, [capsule, triangle, tetrahedron]);
in_space!(wide_oriented_boxes_ellipsoids_and_dops, [obb, ellipsoid, dop]);
wide_shapes!(
    wide_shapes_in_the_plane,
    f64,
    2,
    [sphere, aabb, segment, capsule, triangle, obb, ellipsoid],
    [sphere, point, aabb, ray, segment, capsule, triangle, obb, ellipsoid]
);

/// The points between two circles.
#[derive(Clone, Debug)]
struct Ring {
    center: [f32; 2],
    inner: f64,
    outer: f64,
}

impl Bounded<f32, 2> for Ring {
    fn bounds(&self) -> Aabb<f32, 2> {
        Sphere::new(self.center, self.outer).bounds()
    }
}

impl gpu::Shape<f32, 2> for Ring {
    const NUMBERS: usize = 4;

    fn write(&self, numbers: &mut [f64], _: &mut Vec<f64>) {
        numbers.copy_from_slice(&[self.center[0].into(), self.center[1].into(), self.inner, self.outer]);
    }
}

struct RingAndPoint;

#[cube]
impl gpu::HitTest for RingAndPoint {
    fn is_hit(
        ring: &Array<f64>,
        at: u32,
        _extra: &Array<f64>,
        point: &Array<f64>,
        point_at: u32,
        _point_extra: &Array<f64>,
    ) -> bool {
        let (own, other) = (at as usize, point_at as usize + 2);
        let (x, y) = (point[other] - ring[own], point[other + 1] - ring[own + 1]);
        let (inner, outer) = (ring[own + 2], ring[own + 3]);
        inner * inner <= x * x + y * y && x * x + y * y <= outer * outer
    }
}

impl gpu::HitBy<[f32; 2], f32, 2> for Ring {
    type Test = RingAndPoint;
}

impl HitBy<[f32; 2]> for Ring {
    fn is_hit_by(&self, point: &[f32; 2]) -> bool {
        let [x, y] = [0, 1].map(|k| f64::from(point[k]) - f64::from(self.center[k]));
        (self.inner * self.inner..=self.outer * self.outer).contains(&(x * x + y * y))
    }
}

struct FromRing;

#[cube]
impl gpu::DistanceTest for FromRing {
    fn distance2(ring: &Array<f64>, at: u32, _extra: &Array<f64>, point: &Array<f64>) -> f64 {
        let own = at as usize;
        let (x, y) = (point[0] - ring[own], point[1] - ring[own + 1]);
        let distance = (x * x + y * y).sqrt();
        let gap = (ring[own + 2] - distance).max(distance - ring[own + 3]).max(f64::new(0.0));
        gap * gap
    }
}

impl gpu::Distance<f32, 2> for Ring {
    type Test = FromRing;
}

impl ropewalk::geometry::Distance<f32, 2> for Ring {
    fn distance2_to(&self, point: &[f32; 2]) -> f64 {
        let [x, y] = [0, 1].map(|k| f64::from(point[k]) - f64::from(self.center[k]));
        let distance = (x * x + y * y).sqrt();
        let gap = (self.inner - distance).max(distance - self.outer).max(0.0);
        gap * gap
    }
}

/// The points above a line of any number of corners: a query whose numbers differ in length.
struct Skyline(Vec<[f32; 2]>);

struct AboveSkyline;

#[cube]
impl gpu::BoxTest for AboveSkyline {
    fn meets(query: &Array<f64>, at: u32, extra: &Array<f64>, corners: &Array<f64>) -> bool {
        let (first, count) = (query[at as usize], query[at as usize + 1]);
        let is_above = RuntimeCell::<bool>::new(true);
        for corner in 0..u32::cast_from(count) {
            let place = (u32::cast_from(first) + 2 * corner) as usize;
            is_above.store(is_above.read() && (corners[2] < extra[place] || corners[3] >= extra[place + 1]));
        }
        is_above.read()
    }
}

impl gpu::Query<f32, 2> for Skyline {
    const NUMBERS: usize = 2;
    type BoxTest = AboveSkyline;

    fn extent(&self) -> Aabb<f32, 2> {
        Aabb::new([-100.0, -100.0], [100.0, 100.0])
    }

    fn write(&self, numbers: &mut [f64], extra: &mut Vec<f64>) {
        numbers.copy_from_slice(&[extra.len() as f64, self.0.len() as f64]);
        extra.extend(self.0.as_flattened().iter().map(|&x| f64::from(x)));
    }
}

impl Query<f32, 2> for Skyline {
    fn meets(&self, bounds: &Aabb<f32, 2>, _: &ropewalk::geometry::Space<2>) -> bool {
        self.0.iter().all(|corner| bounds.hi[0] < corner[0] || bounds.hi[1] >= corner[1])
    }

    fn may_meet(&self, _: &Aabb<f32, 2>, _: &ropewalk::geometry::Space<2>) -> bool {
        true
    }
}

#[test]
fn user_defined_types() {
    let mut random = Random::new(7);
    let places = &mut Places { random: &mut random, grid: 0.25 };
    for n in [0, 1, 500] {
        let ring = |places: &mut Places| Ring {
            center: places.point(),
            inner: places.number(0.0, 1.0),
            outer: places.number(1.0, 2.0),
        };
        let rings: Vec<Ring> = (0..n).map(|_| ring(places)).collect();
        let points: Vec<[f32; 2]> = (0..60).map(|_| places.point()).collect();
        compare(&rings, &points, "rings");
        compare_nearest(&rings, &points, "rings");
        let pairs: Vec<(Ring, usize)> = rings.iter().cloned().zip(0..).collect();
        compare_nearest(&pairs, &points, "rings with values");

        let skylines: Vec<Skyline> = (0..9).map(|i| Skyline((0..i).map(|_| places.point()).collect())).collect();
        let theirs = Bvh::build(&points).unwrap().query_all(&skylines);
        let ours = gpu::Bvh::build(&points, device()).unwrap();
        assert_eq!(ours.query_all(&skylines).unwrap().read().unwrap(), theirs, "points above skylines");
        let boxes = BoxBvh::build(&rings, device()).unwrap();
        let theirs = Bvh::build(&rings).unwrap().query_all(&skylines);
        assert_eq!(boxes.query_all(&skylines).unwrap().read().unwrap(), theirs, "boxes above skylines");
    }
}

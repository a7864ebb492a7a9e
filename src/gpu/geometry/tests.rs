//! Comparisons of the tests in kernels with those of the CPU.

use cubecl::prelude::*;

use crate::geometry::shapes::core::{Core, Solid};
use crate::geometry::shapes::frame::Frame;
use crate::geometry::shapes::kdop::directions_of;
use crate::geometry::shapes::pairs;
use crate::geometry::shapes::slabs::Slabs;
use crate::geometry::{
    Aabb, Capsule, Convex, Dop8, Dop14, Dop26, Ellipsoid, Obb, Ray, ScalarOps, Segment, Sphere, Tetrahedron, Triangle,
};
use crate::gpu::Device;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::device::on;
use crate::gpu::geometry::ray_interval::ray_interval;
use crate::gpu::geometry::vector::vector_at;
use crate::gpu::geometry::{CoreKind, SolidSpec, distance2_to_point, intersects, write_solid};

/// Rows of solids, and their corners.
struct Rows {
    spec: SolidSpec,
    rows: Vec<f64>,
    corners: Vec<f64>,
}

impl Rows {
    fn new<const D: usize>(kind: CoreKind, solids: &[Solid<D>]) -> Self {
        let spec = SolidSpec { kind, d: D };
        let (mut rows, mut corners) = (vec![f64::NAN; spec.width() * solids.len()], vec![]);
        for (row, solid) in rows.chunks_exact_mut(spec.width()).zip(solids) {
            write_solid(spec, solid, row, &mut corners);
        }
        Self { spec, rows, corners }
    }
}

#[cube(launch)]
fn test_pairs(
    a: &Array<f64>,
    a_corners: &Array<f64>,
    b: &Array<f64>,
    b_corners: &Array<f64>,
    found: &mut Array<u32>,
    n: u32,
    #[comptime] a_spec: SolidSpec,
    #[comptime] b_spec: SolidSpec,
) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let (a_at, b_at) = (i * comptime!(a_spec.width() as u32), i * comptime!(b_spec.width() as u32));
        let meet = intersects(a, a_at, a_corners, b, b_at, b_corners, a_spec, b_spec);
        found[i as usize] = u32::cast_from(meet);
    }
}

#[cube(launch)]
fn measure(
    rows: &Array<f64>,
    corners: &Array<f64>,
    points: &Array<f64>,
    found: &mut Array<f64>,
    n: u32,
    #[comptime] spec: SolidSpec,
) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let d = comptime!(spec.d);
        let point = vector_at(points, i * comptime!(d as u32), d);
        found[i as usize] = distance2_to_point(rows, i * comptime!(spec.width() as u32), corners, &point, spec);
    }
}

#[cube(launch)]
fn cast(rows: &Array<f64>, rays: &Array<f64>, found: &mut Array<f64>, n: u32, #[comptime] spec: SolidSpec) {
    let i = ABSOLUTE_POS as u32;
    if i < n {
        let numbers = comptime!(2 * spec.d + 2);
        let ray = vector_at(rays, i * comptime!(numbers as u32), numbers);
        let inside = ray_interval(rows, i * comptime!(spec.width() as u32), &ray, spec);
        found[2 * i as usize] = inside[0];
        found[2 * i as usize + 1] = inside[1];
    }
}

/// A generator of coordinates.
pub(super) struct Random {
    pub state: u64,
    /// 0: small integers, 1: rounded to `f32`, 2: `f64`.
    pub style: usize,
    pub scale: f64,
}

impl Random {
    pub fn next(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn coordinate(&mut self) -> f64 {
        let x = 4.0 * self.next() - 2.0;
        self.scale
            * match self.style {
                0 => x.round(),
                1 => f64::from(x as f32),
                _ => x,
            }
    }

    pub fn point<const D: usize>(&mut self) -> [f64; D] {
        std::array::from_fn(|_| self.coordinate())
    }

    fn frame<const D: usize>(&mut self) -> Frame<D> {
        let obb = if self.next() < 0.3 {
            // Along the axes.
            let axes = std::array::from_fn(|i| std::array::from_fn(|k| if i == k { 1.0 } else { 0.0 }));
            Obb::<f64, D>::new(self.point(), axes, [1.0; D])
        } else {
            Obb::new(self.point(), std::array::from_fn(|_| self.point()), [1.0; D])
        };
        let half = std::array::from_fn(|_| 0.5 * self.coordinate().abs());
        Frame { center: obb.center(), axes: obb.axes(), half }
    }

    /// Returns slabs around points. Some have an interval reduced to a half, so that others do not touch the k-DOP.
    fn slabs<const D: usize>(&mut self, directions: &'static [[i8; 3]]) -> Slabs<D> {
        let points: [[f64; D]; 4] = std::array::from_fn(|_| self.point());
        let mut slabs = Slabs { directions, ends: [[0.0; 2]; 13] };
        for (i, row) in directions.iter().enumerate() {
            let along = points.map(|point| (0..D).map(|k| f64::from(row[k]) * point[k]).sum::<f64>());
            slabs.ends[i] =
                along.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[lo, hi], x| [lo.min(*x), hi.max(*x)]);
            if self.next() < 0.1 {
                slabs.ends[i][0] = 0.5 * (slabs.ends[i][0] + slabs.ends[i][1]);
            }
        }
        slabs
    }

    /// Returns a solid of a kind; some are empty, some degenerate.
    fn solid<const D: usize>(&mut self, kind: CoreKind) -> Solid<D> {
        let radius = if self.next() < 0.5 { 0.0 } else { 0.5 * self.coordinate().abs() };
        let radius = if self.next() < 0.02 { -1.0 } else { radius };
        let (a, b, c, d) = (self.point(), self.point(), self.point(), self.point());
        let is_flat = self.next() < 0.1;
        let b = if is_flat { a } else { b };
        let (core, radius) = match kind {
            CoreKind::Point => (Core::Point(a), radius),
            CoreKind::Segment => (Core::Segment([a, b]), radius),
            CoreKind::Triangle => (Core::Triangle([a, b, c]), 0.0),
            CoreKind::Tetrahedron => (Core::Tetrahedron([a, b, c, d]), 0.0),
            CoreKind::Box => {
                let (lo, hi) = (std::array::from_fn(|k| a[k].min(b[k])), std::array::from_fn(|k| a[k].max(b[k])));
                (Core::Box(if self.next() < 0.02 { [hi, lo] } else { [lo, hi] }), 0.0)
            }
            CoreKind::Oriented => (Core::Oriented(self.frame()), 0.0),
            CoreKind::Ellipsoid => (Core::Ellipsoid(self.frame()), 0.0),
            CoreKind::Slabs(n) => (Core::Slabs(Box::new(self.slabs(directions_of(D, n)))), 0.0),
        };
        Solid::new(core, radius, f64::LIMIT)
    }
}

pub(super) const STYLES: [(usize, f64); 7] =
    [(0, 1.0), (1, 1.0), (2, 1.0), (0, 0.1), (1, 1e-60), (2, 1e60), (0, 1e-100)];

fn compare_pairs<const D: usize>(a_kind: CoreKind, b_kind: CoreKind, n: usize) {
    let device = Device::first().unwrap();
    let (mut a, mut b) = (vec![], vec![]);
    for (style, scale) in STYLES {
        let mut random = Random { state: 5 + style as u64, style, scale };
        for _ in 0..n {
            a.push(random.solid::<D>(a_kind));
            b.push(random.solid::<D>(b_kind));
        }
    }
    let (a_rows, b_rows) = (Rows::new(a_kind, &a), Rows::new(b_kind, &b));
    let found = on!(device, client => {
        let found = Buffer::<u32>::filled(client, a.len(), 7);
        let up = |numbers: &Vec<f64>| Buffer::from_slice(client, numbers);
        test_pairs::launch(
            client,
            blocks_for(a.len()),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            up(&a_rows.rows).arg(),
            up(&a_rows.corners).arg(),
            up(&b_rows.rows).arg(),
            up(&b_rows.corners).arg(),
            found.arg(),
            a.len() as u32,
            a_rows.spec,
            b_rows.spec,
        );
        found.read(client)
    })
    .unwrap();
    let mut hits = 0;
    for (i, (a, b)) in a.iter().zip(&b).enumerate() {
        let expected = pairs::intersects(a, b);
        hits += usize::from(expected);
        assert_eq!(found[i], u32::from(expected), "{i}: {a:?} {b:?}");
    }
    assert!(hits > 0 && hits < a.len());
}

fn compare_distances<const D: usize>(kind: CoreKind, n: usize) {
    let device = Device::first().unwrap();
    let (mut solids, mut points) = (vec![], vec![]);
    for (style, scale) in STYLES {
        let mut random = Random { state: 7 + style as u64, style, scale };
        for _ in 0..n {
            solids.push(random.solid::<D>(kind));
            points.push(random.point::<D>());
        }
    }
    points[0][0] = f64::NAN;
    points[1][0] = f64::INFINITY;
    let rows = Rows::new(kind, &solids);
    let found = on!(device, client => {
        let found = Buffer::<f64>::filled(client, solids.len(), 7.0);
        let up = |numbers: &[f64]| Buffer::from_slice(client, numbers);
        measure::launch(
            client,
            blocks_for(solids.len()),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            up(&rows.rows).arg(),
            up(&rows.corners).arg(),
            up(points.as_flattened()).arg(),
            found.arg(),
            solids.len() as u32,
            rows.spec,
        );
        found.read(client)
    })
    .unwrap();
    for (i, (solid, point)) in solids.iter().zip(&points).enumerate() {
        let distance2 = pairs::distance2(solid, &point.solid());
        if distance2.is_finite() {
            assert_eq!(found[i], distance2, "{i}: {solid:?} {point:?}");
        } else {
            assert!(found[i].is_nan(), "{i}: {solid:?} {point:?}");
        }
    }
}

fn compare_rays<const D: usize, T: Convex<f64, D>>(kind: CoreKind, n: usize, shape: impl Fn(&mut Random) -> T) {
    let device = Device::first().unwrap();
    let (mut shapes, mut rays) = (vec![], vec![]);
    for (style, scale) in STYLES {
        let mut random = Random { state: 9 + style as u64, style, scale };
        for i in 0..n {
            shapes.push(shape(&mut random));
            let (from, mut by) = (random.point::<D>(), random.point::<D>());
            if i % 4 == 0 {
                by = std::array::from_fn(|k| if k == i / 4 % D { 1.0 } else { 0.0 });
            }
            let ray = Ray::new(from, by);
            rays.push(if i % 3 == 0 { ray } else { ray.between(4.0 * random.next() - 2.0, 2.0 * random.next()) });
        }
    }
    rays[0].direction = [0.0; D];
    rays[1].origin[0] = f64::INFINITY;
    rays[2] = rays[3].between(f64::NEG_INFINITY, f64::INFINITY);
    let solids: Vec<Solid<D>> = shapes.iter().map(Convex::solid).collect();
    let rows = Rows::new(kind, &solids);
    let all = |ray: &Ray<f64, D>| [ray.origin.as_slice(), &ray.direction, &[ray.from, ray.to]].concat();
    let numbers: Vec<f64> = rays.iter().flat_map(all).collect();
    let found = on!(device, client => {
        let found = Buffer::<f64>::filled(client, 2 * rays.len(), 7.0);
        let up = |numbers: &[f64]| Buffer::from_slice(client, numbers);
        cast::launch(
            client,
            blocks_for(rays.len()),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            up(&rows.rows).arg(),
            up(&numbers).arg(),
            found.arg(),
            rays.len() as u32,
            rows.spec,
        );
        found.read(client)
    })
    .unwrap();
    let mut hits = 0;
    for (i, (shape, ray)) in shapes.iter().zip(&rays).enumerate() {
        let expected = shape.ray_interval(ray);
        hits += usize::from(expected.is_some());
        let own = [found[2 * i], found[2 * i + 1]];
        assert_eq!((own[0] <= own[1]).then_some(own), expected, "{i}: {:?} {ray:?}", solids[i]);
    }
    assert!(hits > 0 && hits < rays.len());
}

fn compare_rays_with_all<const D: usize>(n: usize) {
    compare_rays(CoreKind::Point, n, |random| Sphere::new(random.point::<D>(), random.coordinate().abs()));
    compare_rays(CoreKind::Segment, n, |random| Segment::new(random.point::<D>(), random.point::<D>()));
    compare_rays(CoreKind::Segment, n, |random| {
        let ends: [[f64; D]; 2] = [random.point(), random.point()];
        Capsule::new(ends[0], ends[1], random.coordinate())
    });
    compare_rays(CoreKind::Triangle, n, |random| {
        Triangle::new(random.point::<D>(), random.point::<D>(), random.point::<D>())
    });
    compare_rays(CoreKind::Box, n, |random| {
        let (a, b): ([f64; D], [f64; D]) = (random.point(), random.point());
        let hi = if random.next() < 0.2 { a } else { b };
        Aabb::point(a).union(&Aabb::point(hi))
    });
    compare_rays(CoreKind::Oriented, n, |random| {
        let frame = random.frame::<D>();
        Obb::new(frame.center, frame.axes, frame.half)
    });
    compare_rays(CoreKind::Ellipsoid, n, |random| {
        let frame = random.frame::<D>();
        Ellipsoid::new(frame.center, frame.axes, frame.half)
    });
}

const POLYTOPES: [CoreKind; 5] =
    [CoreKind::Segment, CoreKind::Triangle, CoreKind::Box, CoreKind::Oriented, CoreKind::Tetrahedron];

#[test]
fn distances_from_points() {
    for kind in [CoreKind::Segment, CoreKind::Triangle, CoreKind::Oriented] {
        compare_distances::<2>(kind, 100);
    }
    for kind in [CoreKind::Point, CoreKind::Box, CoreKind::Tetrahedron, CoreKind::Ellipsoid, CoreKind::Slabs(7)] {
        compare_distances::<3>(kind, 100);
    }
}

#[test]
#[ignore = "wide"]
fn wide_distances_from_points() {
    for kind in [CoreKind::Point, CoreKind::Segment, CoreKind::Triangle, CoreKind::Box, CoreKind::Oriented] {
        compare_distances::<1>(kind, 300);
        compare_distances::<2>(kind, 300);
        compare_distances::<3>(kind, 1000);
        compare_distances::<4>(kind, 300);
        compare_distances::<10>(kind, 50);
    }
    compare_distances::<3>(CoreKind::Tetrahedron, 2000);
    compare_distances::<2>(CoreKind::Ellipsoid, 1000);
    compare_distances::<3>(CoreKind::Ellipsoid, 1000);
    compare_distances::<4>(CoreKind::Ellipsoid, 300);
    compare_distances::<2>(CoreKind::Slabs(4), 1000);
    for n in [7, 9, 13] {
        compare_distances::<3>(CoreKind::Slabs(n), 500);
    }
}

#[test]
fn intersections() {
    compare_pairs::<2>(CoreKind::Point, CoreKind::Box, 100);
    compare_pairs::<2>(CoreKind::Segment, CoreKind::Segment, 100);
    compare_pairs::<3>(CoreKind::Segment, CoreKind::Triangle, 100);
    compare_pairs::<3>(CoreKind::Tetrahedron, CoreKind::Oriented, 100);
    compare_pairs::<3>(CoreKind::Box, CoreKind::Ellipsoid, 100);
    compare_pairs::<3>(CoreKind::Slabs(7), CoreKind::Triangle, 100);
}

#[test]
#[ignore = "wide"]
fn wide_intersections_with_points() {
    for kind in POLYTOPES.into_iter().chain([CoreKind::Point, CoreKind::Ellipsoid, CoreKind::Slabs(9)]) {
        compare_pairs::<3>(CoreKind::Point, kind, 1000);
        compare_pairs::<3>(kind, CoreKind::Point, 1000);
    }
    for kind in [CoreKind::Segment, CoreKind::Triangle, CoreKind::Box, CoreKind::Oriented, CoreKind::Ellipsoid] {
        compare_pairs::<1>(kind, CoreKind::Point, 300);
        compare_pairs::<2>(kind, CoreKind::Point, 300);
        compare_pairs::<4>(kind, CoreKind::Point, 300);
    }
}

#[test]
#[ignore = "wide"]
fn wide_intersections_of_polytopes() {
    for a in POLYTOPES {
        for b in POLYTOPES {
            compare_pairs::<3>(a, b, 500);
            if a != CoreKind::Tetrahedron && b != CoreKind::Tetrahedron {
                compare_pairs::<2>(a, b, 500);
            }
        }
    }
    compare_pairs::<1>(CoreKind::Segment, CoreKind::Box, 300);
}

#[test]
#[ignore = "wide"]
fn wide_intersections_in_four_dimensions() {
    for kind in [CoreKind::Segment, CoreKind::Triangle, CoreKind::Box, CoreKind::Oriented, CoreKind::Ellipsoid] {
        compare_pairs::<4>(CoreKind::Segment, kind, 300);
        compare_pairs::<4>(kind, CoreKind::Box, 300);
    }
}

#[test]
#[ignore = "wide"]
fn wide_intersections_of_ellipsoids() {
    for kind in POLYTOPES {
        compare_pairs::<3>(CoreKind::Ellipsoid, kind, 500);
        compare_pairs::<3>(kind, CoreKind::Ellipsoid, 100);
    }
    compare_pairs::<2>(CoreKind::Ellipsoid, CoreKind::Segment, 500);
    compare_pairs::<2>(CoreKind::Ellipsoid, CoreKind::Ellipsoid, 500);
    compare_pairs::<3>(CoreKind::Ellipsoid, CoreKind::Ellipsoid, 500);
}

#[test]
#[ignore = "wide"]
fn wide_intersections_of_slabs() {
    for kind in POLYTOPES {
        compare_pairs::<3>(CoreKind::Slabs(7), kind, 300);
        compare_pairs::<3>(kind, CoreKind::Slabs(13), 300);
    }
    compare_pairs::<3>(CoreKind::Slabs(9), CoreKind::Slabs(7), 500);
    compare_pairs::<3>(CoreKind::Slabs(13), CoreKind::Slabs(13), 500);
    compare_pairs::<3>(CoreKind::Slabs(9), CoreKind::Ellipsoid, 500);
    compare_pairs::<2>(CoreKind::Slabs(4), CoreKind::Slabs(4), 500);
    compare_pairs::<2>(CoreKind::Slabs(4), CoreKind::Triangle, 500);
}

#[test]
fn rays() {
    compare_rays_with_all::<3>(100);
    compare_rays(CoreKind::Tetrahedron, 100, |random| {
        let corners: [[f64; 3]; 4] = std::array::from_fn(|_| random.point());
        Tetrahedron::new(corners)
    });
    compare_rays(CoreKind::Slabs(7), 100, |random| Dop14::around(&[random.point(), random.point(), random.point()]));
}

#[test]
#[ignore = "wide"]
fn wide_rays() {
    compare_rays_with_all::<1>(300);
    compare_rays_with_all::<2>(1000);
    compare_rays_with_all::<3>(1000);
    compare_rays_with_all::<4>(300);
    compare_rays(CoreKind::Slabs(4), 500, |random| Dop8::around(&[random.point(), random.point(), random.point()]));
    compare_rays(CoreKind::Slabs(13), 500, |random| Dop26::around(&[random.point(), random.point(), random.point()]));
}

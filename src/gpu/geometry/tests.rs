//! Comparisons of the tests in kernels with those of the CPU.

use cubecl::prelude::*;

use crate::geometry::shapes::core::{Core, Solid};
use crate::geometry::shapes::frame::Frame;
use crate::geometry::shapes::pairs;
use crate::geometry::{Convex, Obb, ScalarOps};
use crate::gpu::Device;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::device::on;
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

/// A generator of coordinates.
struct Random {
    state: u64,
    /// 0: small integers, 1: rounded to `f32`, 2: `f64`.
    style: usize,
    scale: f64,
}

impl Random {
    fn next(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 11) as f64 / (1u64 << 53) as f64
    }

    fn coordinate(&mut self) -> f64 {
        let x = 4.0 * self.next() - 2.0;
        self.scale
            * match self.style {
                0 => x.round(),
                1 => f64::from(x as f32),
                _ => x,
            }
    }

    fn point<const D: usize>(&mut self) -> [f64; D] {
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
            CoreKind::Slabs(_) => (Core::Empty, 0.0),
        };
        Solid::new(core, radius, f64::LIMIT)
    }
}

const STYLES: [(usize, f64); 7] = [(0, 1.0), (1, 1.0), (2, 1.0), (0, 0.1), (1, 1e-60), (2, 1e60), (0, 1e-100)];

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
    println!("{a_kind:?} {b_kind:?} {D}: {hits} of {}", a.len());
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

#[test]
fn distances_from_points() {
    for kind in [CoreKind::Point, CoreKind::Segment, CoreKind::Triangle, CoreKind::Box, CoreKind::Oriented] {
        compare_distances::<1>(kind, 100);
        compare_distances::<2>(kind, 300);
        compare_distances::<3>(kind, 300);
        compare_distances::<4>(kind, 100);
    }
    compare_distances::<10>(CoreKind::Triangle, 50);
}

#[test]
fn pairs_with_points_and_boxes() {
    for kind in [CoreKind::Point, CoreKind::Segment, CoreKind::Triangle, CoreKind::Box, CoreKind::Oriented] {
        compare_pairs::<2>(CoreKind::Point, kind, 300);
        compare_pairs::<3>(kind, CoreKind::Point, 300);
        compare_pairs::<4>(kind, CoreKind::Point, 300);
    }
    for kind in [CoreKind::Segment, CoreKind::Triangle, CoreKind::Box, CoreKind::Oriented] {
        compare_pairs::<2>(CoreKind::Box, kind, 300);
        compare_pairs::<3>(kind, CoreKind::Box, 300);
    }
    compare_pairs::<1>(CoreKind::Box, CoreKind::Box, 300);
    compare_pairs::<4>(CoreKind::Box, CoreKind::Box, 300);
}

#[test]
fn pairs_of_polytopes() {
    for kind in [CoreKind::Segment, CoreKind::Triangle, CoreKind::Oriented] {
        for other in [CoreKind::Segment, CoreKind::Triangle, CoreKind::Oriented] {
            compare_pairs::<3>(kind, other, 300);
        }
        compare_pairs::<2>(CoreKind::Segment, kind, 300);
        compare_pairs::<2>(CoreKind::Oriented, kind, 300);
    }
    compare_pairs::<4>(CoreKind::Segment, CoreKind::Segment, 300);
}

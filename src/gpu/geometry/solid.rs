//! Shapes as rows of numbers: the GPU counterpart of `geometry::shapes::core`.
//!
//! In: solids, written by the host. Out: rows with a state, a radius and the numbers of a core, and in kernels the
//! numbers of one core.
//!
//! | core | numbers |
//! |---|---|
//! | point, segment, triangle | the corners |
//! | tetrahedron | the corners, and a zero that the compiler does not know |
//! | box | the lower corner, the upper corner |
//! | oriented box, ellipsoid | the centre, the axes, half the length along each axis |
//! | slabs | the two ends of each interval, the position of the first corner in `corners`, the number of corners |

use cubecl::prelude::*;

use crate::geometry::shapes::core::{Core, Solid};
use crate::geometry::shapes::frame::Frame;

/// The states of a row. A point among boxes is a box with equal corners, which the CPU tests as a point.
pub(super) const EMPTY: f64 = 0.0;
pub(super) const PROPER: f64 = 1.0;
pub(super) const POINT: f64 = 2.0;

/// The numbers of a row before those of the core: the state and the radius.
pub(super) const HEAD: usize = 2;

/// The kind of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum CoreKind {
    Point,
    Segment,
    Triangle,
    Tetrahedron,
    Box,
    Oriented,
    Ellipsoid,
    /// A k-DOP with this many directions.
    Slabs(usize),
}

/// The kind of the cores and the dimension: a compile-time option of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) struct SolidSpec {
    pub kind: CoreKind,
    pub d: usize,
}

impl SolidSpec {
    /// Returns the number of numbers per row.
    pub const fn width(self) -> usize {
        HEAD + self.numbers()
    }

    /// Returns the number of numbers of a core.
    pub(super) const fn numbers(self) -> usize {
        let d = self.d;
        match self.kind {
            CoreKind::Point => d,
            CoreKind::Segment | CoreKind::Box => 2 * d,
            CoreKind::Triangle => 3 * d,
            CoreKind::Tetrahedron => 4 * d + 1,
            CoreKind::Oriented | CoreKind::Ellipsoid => d * (d + 2),
            CoreKind::Slabs(directions) => 2 * directions + 2,
        }
    }

    /// Returns `true` if a solid of this kind may have a radius.
    pub(super) fn has_radius(self) -> bool {
        matches!(self.kind, CoreKind::Point | CoreKind::Segment)
    }
}

/// Writes the row of a solid, which must be of this kind, or empty, or a point if boxes are expected. The corners of a
/// k-DOP are appended to `corners`, and the row holds their position and their number.
pub(in crate::gpu) fn write_solid<const D: usize>(
    spec: SolidSpec,
    solid: &Solid<D>,
    row: &mut [f64],
    corners: &mut Vec<f64>,
) {
    row.fill(0.0);
    row[0] = PROPER;
    row[1] = solid.radius;
    let core = &mut row[HEAD..];
    match &solid.core {
        Core::Point(a) if spec.kind == CoreKind::Box => {
            write_points(core, &[*a, *a]);
            row[0] = POINT;
        }
        Core::Point(a) => write_points(core, &[*a]),
        Core::Segment(ends) => write_points(core, ends),
        Core::Triangle(of) => write_points(core, of),
        Core::Tetrahedron(of) => write_points(core, of),
        Core::Box(of) => write_points(core, of),
        Core::Oriented(frame) | Core::Ellipsoid(frame) => write_frame(core, frame),
        Core::Slabs(slabs) => {
            let n = slabs.directions.len();
            core[..2 * n].copy_from_slice(slabs.ends[..n].as_flattened());
            let of = slabs.corners();
            (core[2 * n], core[2 * n + 1]) = (corners.len() as f64, of.len() as f64);
            corners.extend_from_slice(of.as_flattened());
        }
        Core::Empty => row[0] = EMPTY,
    }
}

fn write_points<const D: usize>(core: &mut [f64], points: &[[f64; D]]) {
    core[..points.len() * D].copy_from_slice(points.as_flattened());
}

fn write_frame<const D: usize>(core: &mut [f64], frame: &Frame<D>) {
    write_points(core, &[frame.center]);
    write_points(&mut core[D..], &frame.axes);
    write_points(&mut core[D * (D + 1)..], &[frame.half]);
}

/// Returns the numbers of the core of a row.
#[cube]
pub(super) fn core_at(rows: &Array<f64>, at: u32, #[comptime] spec: SolidSpec) -> Array<f64> {
    let numbers = comptime!(spec.numbers());
    let mut core = Array::<f64>::new(numbers);
    #[unroll]
    for k in 0..numbers {
        core[k] = rows[at as usize + comptime!(HEAD + k)];
    }
    core
}

/// Returns `true` if the solid of a row has points.
#[cube]
pub(super) fn is_proper(rows: &Array<f64>, at: u32) -> bool {
    rows[at as usize] != f64::new(0.0)
}

/// Returns the radius of the solid of a row.
#[cube]
pub(super) fn radius_at(rows: &Array<f64>, at: u32) -> f64 {
    rows[at as usize + 1]
}

/// Returns `true` if the solid of a row is a point, with or without a radius.
#[cube]
pub(super) fn is_point(rows: &Array<f64>, at: u32, #[comptime] spec: SolidSpec) -> bool {
    let mut found = comptime!(spec.kind == CoreKind::Point).runtime();
    if comptime!(spec.kind == CoreKind::Box) {
        found = rows[at as usize] == f64::new(comptime!(POINT as f32));
    }
    found
}

/// Returns `true` if slabs have no corners, and therefore no points; `false` for other cores.
#[cube]
pub(super) fn is_empty(core: &Array<f64>, #[comptime] spec: SolidSpec) -> bool {
    let mut found = false.runtime();
    if comptime!(matches!(spec.kind, CoreKind::Slabs(_))) {
        found = core[comptime!(spec.numbers() - 1)] == f64::new(0.0);
    }
    found
}

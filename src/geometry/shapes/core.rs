//! The common representation of all shapes: a convex core, and a radius around each of its points.
//!
//! Input: a shape of either scalar type. Output: one of seven kinds of cores and a radius in `f64`, with which all
//! pairs are tested. A sphere is a point with a radius, a capsule a segment with a radius. All cores are convex and
//! closed.
//! Cost: a copy of the coordinates; the corners of a k-DOP are computed on demand.

use crate::geometry::distance::beyond;
use crate::geometry::shapes::closest::{self, Closest};
use crate::geometry::shapes::closest_on_ellipsoid::on_ellipsoid;
use crate::geometry::shapes::frame::Frame;
use crate::geometry::shapes::minimum_norm;
use crate::geometry::shapes::slabs::Slabs;
use crate::geometry::shapes::vector::{add_scaled, dot, length2, sub, times, to_3d};

/// A convex set of points.
#[derive(Clone, Debug)]
pub enum Core<const D: usize> {
    Point([f64; D]),
    Segment([[f64; D]; 2]),
    Triangle([[f64; D]; 3]),
    /// Only in three dimensions.
    Tetrahedron([[f64; D]; 4]),
    Box([[f64; D]; 2]),
    Oriented(Frame<D>),
    Ellipsoid(Frame<D>),
    Slabs(Box<Slabs<D>>),
    /// The empty set. Stands for shapes with a coordinate that is not finite, a negative length or an inverted box.
    Empty,
}

/// All points within a radius of a core.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Solid<const D: usize> {
    pub(crate) core: Core<D>,
    pub(crate) radius: f64,
}

impl<const D: usize> Solid<D> {
    /// Creates a solid. It is empty if a coordinate exceeds `limit` or is NaN, or the radius is negative or NaN.
    pub fn new(core: Core<D>, radius: f64, limit: f64) -> Self {
        // A box that is a single point is tested as a point.
        let core = match core {
            Core::Box([lo, hi]) if lo == hi => Core::Point(lo),
            core => core,
        };
        let is_proper = |p: &[f64; D]| p.iter().all(|x| x.abs() <= limit);
        let is_frame = |frame: &Frame<D>| {
            is_proper(&frame.center)
                && frame.axes.iter().flatten().all(|x| x.abs() <= 2.0)
                && frame.half.iter().all(|x| (0.0..=limit).contains(x))
        };
        let proper = radius >= 0.0
            && match &core {
                Core::Point(p) => is_proper(p),
                Core::Segment(ends) => ends.iter().all(is_proper),
                Core::Triangle(corners) => corners.iter().all(is_proper),
                Core::Tetrahedron(corners) => corners.iter().all(is_proper),
                Core::Box([lo, hi]) => is_proper(lo) && is_proper(hi) && (0..D).all(|k| lo[k] <= hi[k]),
                Core::Oriented(frame) | Core::Ellipsoid(frame) => is_frame(frame),
                Core::Slabs(slabs) => slabs.is_proper(limit),
                Core::Empty => false,
            };
        Self { core: if proper { core } else { Core::Empty }, radius }
    }

    /// Returns the point of the solid nearest to `p`: `p` itself if it lies inside.
    pub fn closest(&self, p: &[f64; D]) -> Closest<D> {
        let near = self.core.closest(p);
        if self.radius == 0.0 || near.distance2 == f64::INFINITY {
            return near;
        }
        let distance2 = beyond(near.distance2, self.radius);
        let distance = near.distance2.sqrt();
        let point = if distance2 == 0.0 && distance <= self.radius {
            *p
        } else {
            add_scaled(&near.point, self.radius / distance, &sub(p, &near.point))
        };
        Closest { distance2, point }
    }
}

impl<const D: usize> Core<D> {
    /// Returns the point of the core nearest to `p`: `p` itself if it lies inside.
    pub fn closest(&self, p: &[f64; D]) -> Closest<D> {
        match self {
            Core::Point(a) => closest::on_point(p, a),
            Core::Segment([a, b]) => closest::on_segment(p, [a, b]),
            Core::Triangle([a, b, c]) => closest::on_triangle(p, [a, b, c]),
            Core::Tetrahedron(corners) => {
                let corners = corners.map(|corner| to_3d(&corner));
                let near = closest::on_tetrahedron(&to_3d(p), corners.each_ref());
                Closest { distance2: near.distance2, point: std::array::from_fn(|k| near.point[k]) }
            }
            Core::Box([lo, hi]) => {
                let point = std::array::from_fn(|k| p[k].max(lo[k]).min(hi[k]));
                Closest { distance2: length2(&sub(p, &point)), point }
            }
            Core::Oriented(frame) => {
                let components = frame.components(&sub(p, &frame.center));
                let clamped: [f64; D] = std::array::from_fn(|k| components[k].clamp(-frame.half[k], frame.half[k]));
                let distance2 = length2(&sub(&components, &clamped));
                Closest { distance2, point: if distance2 == 0.0 { *p } else { frame.place(&clamped) } }
            }
            Core::Ellipsoid(frame) => on_ellipsoid(frame, p),
            Core::Slabs(slabs) if slabs.contains(p) => Closest { distance2: 0.0, point: *p },
            Core::Slabs(slabs) => {
                let corners = slabs.corners();
                if corners.is_empty() {
                    return nearest_of_empty();
                }
                let nearest =
                    minimum_norm::nearest(|direction| sub(&farthest(&corners, direction), p), &sub(&corners[0], p));
                Closest { distance2: length2(&nearest), point: std::array::from_fn(|k| p[k] + nearest[k]) }
            }
            Core::Empty => nearest_of_empty(),
        }
    }

    /// Returns a point of the core that is farthest along a direction; zero if the core is empty. `corners` are the
    /// corners of a k-DOP; other cores ignore them.
    pub fn support(&self, direction: &[f64; D], corners: &[[f64; D]]) -> [f64; D] {
        match self {
            Core::Point(a) => *a,
            Core::Segment(ends) => farthest(ends, direction),
            Core::Triangle(corners) => farthest(corners, direction),
            Core::Tetrahedron(corners) => farthest(corners, direction),
            Core::Box([lo, hi]) => std::array::from_fn(|k| if direction[k] < 0.0 { lo[k] } else { hi[k] }),
            Core::Oriented(frame) => {
                let components = frame.components(direction);
                frame.place(&std::array::from_fn(|k| frame.half[k].copysign(components[k])))
            }
            Core::Ellipsoid(frame) => {
                let components = frame.components(direction);
                let stretched: [f64; D] = std::array::from_fn(|k| frame.half[k] * components[k]);
                let length = length2(&stretched).sqrt();
                if length > 0.0 {
                    frame.place(&std::array::from_fn(|k| frame.half[k] * (stretched[k] / length)))
                } else {
                    frame.center
                }
            }
            Core::Slabs(_) => farthest(corners, direction),
            Core::Empty => [0.0; D],
        }
    }

    /// Returns the core relative to `origin`, with lengths multiplied by `unit`. A k-DOP is returned unchanged.
    pub fn moved(&self, origin: &[f64; D], unit: f64) -> Self {
        let moved = |p: [f64; D]| times(&sub(&p, origin), unit);
        let frame = |frame: &Frame<D>| Frame { center: moved(frame.center), half: times(&frame.half, unit), ..*frame };
        match self {
            Core::Point(a) => Core::Point(moved(*a)),
            Core::Segment(ends) => Core::Segment(ends.map(moved)),
            Core::Triangle(corners) => Core::Triangle(corners.map(moved)),
            Core::Tetrahedron(corners) => Core::Tetrahedron(corners.map(moved)),
            Core::Box(corners) => Core::Box(corners.map(moved)),
            Core::Oriented(of) => Core::Oriented(frame(of)),
            Core::Ellipsoid(of) => Core::Ellipsoid(frame(of)),
            Core::Slabs(_) | Core::Empty => self.clone(),
        }
    }

    /// Returns the corners of a k-DOP for [`Core::support`]; empty for other cores.
    pub fn corners(&self) -> Vec<[f64; D]> {
        if let Core::Slabs(slabs) = self { slabs.corners() } else { vec![] }
    }
}

/// The nearest point of an empty set: at infinite distance, with NaN coordinates.
fn nearest_of_empty<const D: usize>() -> Closest<D> {
    Closest { distance2: f64::INFINITY, point: [f64::NAN; D] }
}

/// Returns the first of the points that are farthest along a direction; zero if `points` is empty.
pub fn farthest<const D: usize>(points: &[[f64; D]], direction: &[f64; D]) -> [f64; D] {
    let mut best = (f64::NEG_INFINITY, [0.0; D]);
    for point in points {
        let at = dot(point, direction);
        if at > best.0 {
            best = (at, *point);
        }
    }
    best.1
}

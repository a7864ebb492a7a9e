//! The triangle nearest to a point.
//!
//! Input: a point, or many, and a maximum distance. Output: the triangle, its nearest point, and the squared
//! distance.
//! A walk visits the nearest boxes first. The triangles of a block are measured in `f32`, with allowance for all
//! rounding errors. Those that may be the nearest are measured by [`closest`].
//! Cost: O(log n) for a compact mesh, unless the point is about equally far from much of it. Points a million mesh
//! sizes away take another walk ([`walk_f64`]).

use crate::bvh::morton::{Grid, curve_order};
use crate::bvh::traverse::bits;
use crate::geometry::{Aabb, Scalar, distance_from_square};
use crate::precompiled::precompiled_in_space;
use crate::search::mesh::Mesh;
use crate::search::mesh::batch::run_ordered;
use crate::search::mesh::f64_walk::walk_f64;
use crate::search::mesh::frame::{FramePoint, Prepared};
use crate::search::mesh::point_triangle::closest;
use crate::search::mesh::wide_node::Node;
use crate::search::mesh::wide_tree::{TriangleBlock, higher, lower};
use crate::simd::{Isa, LANES, Lanes, dispatch};

/// Points per parallel task.
const TASK: usize = 1 << 9;

/// The point of a mesh that is nearest to a query point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeshNearest {
    /// The index of the face on which the point lies, in the order of the faces as they were given.
    pub triangle: u32,
    /// The nearest point of the face.
    pub point: [f64; 3],
    /// The squared distance from the query point.
    pub distance2: f64,
    /// The barycentric coordinates of the point: the weights of the face's corners.
    pub barycentric: [f64; 3],
}

impl MeshNearest {
    /// Returns the distance: the smallest radius within which the triangle is found ([`distance_from_square`]).
    pub fn distance(&self) -> f64 {
        distance_from_square(self.distance2)
    }
}

impl<S: Scalar> Mesh<S> {
    /// Finds the triangle nearest to a point; of several at the same distance, as around an edge or a corner, the one
    /// with the lowest index.
    ///
    /// `None` if the mesh has no triangles, or the point is not finite or beyond 1e150 in `f64`, where squares
    /// overflow. Distances and triangles below 1e-150 lose digits, because squares underflow. The nearest triangle
    /// cannot be determined there, and distances below 1e-162 are 0.
    ///
    /// ```
    /// let mesh = ropewalk::Mesh::build(&[[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]])?;
    /// let near = mesh.nearest([0.25, 0.25, 2.0]).unwrap();
    /// assert_eq!((near.point, near.distance2), ([0.25, 0.25, 0.0], 4.0));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn nearest(&self, point: impl Into<[S; 3]>) -> Option<MeshNearest> {
        self.nearest_within(point, f64::INFINITY)
    }

    /// Finds the triangle nearest to a point within an inclusive `radius`, by the rules of [`nearest`](Mesh::nearest).
    /// Returns `None` if no triangle is within the radius, as for a negative or NaN radius.
    pub fn nearest_within(&self, point: impl Into<[S; 3]>, radius: impl Into<f64>) -> Option<MeshNearest> {
        let (point, radius) = (point.into().map(Into::into), radius.into());
        dispatch!(isa => self.closest_to(isa, &point, radius))
    }

    /// Finds the triangle nearest to each point within an inclusive `radius`, as
    /// [`nearest_within`](Mesh::nearest_within) does, in parallel. Results are in the order of `points`.
    pub fn nearest_all(&self, points: &[[S; 3]], radius: impl Into<f64>) -> Vec<Option<MeshNearest>> {
        nearest(self, points, radius.into())
    }

    /// The order in which to process points: along a curve through a box twice as wide as the mesh.
    pub(super) fn point_order(&self, points: &[[S; 3]]) -> Vec<u32> {
        let wide = Aabb { lo: [-1.0f32; 3], hi: [1.0; 3] };
        curve_order(points.len(), &Grid::over(&wide), |point| {
            self.frame.place(points[point].map(Into::into)).map(|x| x as f32)
        })
    }

    #[inline(always)]
    fn closest_to<I: Isa>(&self, isa: I, point: &[f64; 3], radius: f64) -> Option<MeshNearest> {
        if self.is_empty() || !point.iter().all(|x| x.abs() <= S::LIMIT) || radius.is_nan() || radius < 0.0 {
            return None;
        }
        let mut best: Option<MeshNearest> = None;
        let mut most = radius * radius;
        let mut decide = |triangle: u32| {
            let found = closest(&self.corners_of(triangle), point);
            let is_better = match &best {
                None => found.distance2 <= most,
                Some(best) => {
                    found.distance2 < best.distance2 || (found.distance2 == best.distance2 && triangle < best.triangle)
                }
            };
            if is_better {
                most = found.distance2;
                best = Some(MeshNearest {
                    triangle,
                    point: found.point,
                    distance2: found.distance2,
                    barycentric: found.weights,
                });
            }
            most
        };
        match FramePoint::new(*point, &self.frame) {
            Prepared::Nothing => {}
            Prepared::TooFar => walk_f64(&self.tree, &self.frame, *point, radius, |block| {
                let triangles = block.triangle.iter().filter(|&&triangle| triangle != u32::MAX);
                triangles.map(|&triangle| decide(triangle)).fold(f64::INFINITY, f64::min).sqrt()
            }),
            Prepared::Ready(from) => {
                let reach = |distance2: f64| {
                    (self.frame.length(distance2.sqrt()) * (1.0 + 1e-6) + f64::from(from.padding)) as f32
                };
                let square = |reach: f32| reach * reach * (1.0 + 1e-6);
                let mut within = reach(radius * radius);
                self.tree.walk(
                    isa,
                    square(within),
                    #[inline(always)]
                    |node| keys(&from, node),
                    #[inline(always)]
                    |block, limit| {
                        let least = lower_bounds(&from, block);
                        let mut mask = isa.at_most_f32(&least, within);
                        if mask == 0 {
                            return Some(limit);
                        }
                        // Nearest first, because it leaves few others within reach.
                        while mask != 0 {
                            let nearer = |a: usize, b: usize| if least[b] < least[a] { b } else { a };
                            let lane = bits(mask).map(|lane| lane % LANES).reduce(nearer).unwrap_or(0);
                            if least[lane] > within {
                                break;
                            }
                            mask &= !(1 << lane);
                            within = reach(decide(block.triangle[lane]));
                        }
                        Some(square(within))
                    },
                );
            }
        }
        best
    }
}

precompiled_in_space! {
    fn nearest = nearest_of_each(mesh: same_ref &Mesh<S>, points: same_points &[[S; 3]], radius: keep f64) -> Vec<Option<MeshNearest>>
}

fn nearest_of_each<S: Scalar>(mesh: &Mesh<S>, points: &[[S; 3]], radius: f64) -> Vec<Option<MeshNearest>> {
    run_ordered(points, Some(&mesh.point_order(points)), TASK, &|points, found| {
        dispatch!(isa => for (point, found) in points.iter().zip(found) {
            *found = mesh.closest_to(isa, &point.map(Into::into), radius);
        });
    })
}

/// Lower bounds on the squared distances to the children of a node.
#[inline(always)]
fn keys(from: &FramePoint, node: &Node) -> Lanes<f32> {
    let mut sum = [0.0f32; LANES];
    for k in 0..3 {
        let (above, below) = (from.at[k] + from.padding, from.at[k] - from.padding);
        for (l, sum) in sum.iter_mut().enumerate() {
            let gap = higher(higher(node.bounds[k][l] - above, below - node.bounds[k + 3][l]), 0.0);
            *sum += gap * gap;
        }
    }
    sum
}

/// Lower bounds on the distances to the triangles of a block; NaN for a missing triangle.
///
/// With the padding p, the computed normal is wrong by an angle of at most 2p over the height of the triangle. The
/// test whether the foot of the perpendicular lies inside is therefore certain except in a strip along the edges. The
/// result combines two bounds:
/// - The distance e to the nearest edge. A foot inside is at most the radius of the inscribed circle away from an
///   edge. A foot that was taken to be outside is at most the width of the strip away. With s for this length, the
///   distance is at least sqrt(e^2 - s^2).
/// - For a foot inside, the height above the plane. A tilt changes it by the angle times the longest edge.
#[inline(always)]
fn lower_bounds(from: &FramePoint, block: &TriangleBlock) -> Lanes<f32> {
    /// A number below any relevant square.
    const TINY: f32 = 1e-30;
    let padding = from.padding;
    let mut least = [0.0f32; LANES];
    for (l, least) in least.iter_mut().enumerate() {
        let corner = |at: usize, k: usize| block.corners[at][k][l];
        // The vectors from each corner to the point, and along the edge to the next corner.
        let mut to = [[0.0f32; 3]; 3];
        let mut edge = [[0.0f32; 3]; 3];
        for at in 0..3 {
            for k in 0..3 {
                to[at][k] = from.at[k] - corner(at, k);
                edge[at][k] = corner((at + 1) % 3, k) - corner(at, k);
            }
        }
        let [e, f, _] = edge;
        let normal = [e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2], e[0] * f[1] - e[1] * f[0]];
        let area2 = higher(dot(&normal, &normal), TINY);
        let mut nearest2 = f32::INFINITY;
        let mut longest2 = TINY;
        let mut outside = f32::NEG_INFINITY;
        for at in 0..3 {
            let (edge, to) = (&edge[at], &to[at]);
            let length2 = dot(edge, edge);
            let part = lower(higher(dot(edge, to) / higher(length2, TINY), 0.0), 1.0);
            let off = [to[0] - part * edge[0], to[1] - part * edge[1], to[2] - part * edge[2]];
            nearest2 = lower(dot(&off, &off), nearest2);
            longest2 = higher(length2, longest2);
            let across = [
                edge[1] * normal[2] - edge[2] * normal[1],
                edge[2] * normal[0] - edge[0] * normal[2],
                edge[0] * normal[1] - edge[1] * normal[0],
            ];
            outside = higher(dot(&across, to), outside);
        }
        let (longest, far) = (longest2.sqrt(), dot(&to[0], &to[0]).sqrt());
        let shortest_height = (area2 / longest2).sqrt();
        let tilt = 2.0 * padding / shortest_height;
        let inscribed = lower(0.5 * shortest_height, longest) + 4.0 * padding;
        let strip = if outside <= 0.0 { inscribed } else { lower(tilt * far, inscribed) };
        let by_edge = higher(nearest2 * (1.0 - 1e-6) - strip * strip * (1.0 + 1e-6), 0.0).sqrt();
        let height = dot(&normal, &to[0]).abs() / area2.sqrt();
        let by_plane = if outside <= 0.0 { height - tilt * (longest + 1.5 * tilt * far) } else { 0.0 };
        // NaN if the height is NaN. The order of the arguments of `higher` matters.
        let bound = if height.is_nan() { f32::NAN } else { higher(by_edge, by_plane) };
        *least = bound * (1.0 - 1e-5) - 2.0 * padding;
    }
    least
}

#[inline(always)]
fn dot(a: &[f32; 3], b: &[f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

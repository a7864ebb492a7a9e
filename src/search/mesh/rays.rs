//! Ray queries on a mesh.
//!
//! Input: one ray, or many. Output: the first hit, whether there is any hit, all hits in order, or a callback.
//! A walk visits the nearest boxes first. The triangles of a block are tested in `f32`, with allowance for all
//! rounding errors. Those that may be met are decided by [`TriangleRay`].
//! Many rays are sorted so that consecutive rays meet the same nodes ([`ray_order`](super::ray_order)). For first and
//! any hits, a few rays are traversed at a time ([`interleaved`](super::interleaved)).
//! Cost: O(log n) for the first hit on a compact mesh.
#![allow(unsafe_code)] // To gather lists in place (see `Csr`); they start as zeros.

use std::ops::ControlFlow;

use crate::bvh::traverse::bits;
use crate::csr::{Csr, CsrChunk};
use crate::geometry::{Ray, Scalar};
use crate::memory::{append, collected};
use crate::parallel::{for_tasks, map_tasks};
use crate::precompiled::precompiled_in_space;
use crate::search::mesh::Mesh;
use crate::search::mesh::batch::run_ordered;
use crate::search::mesh::frame::{FrameRay, Prepared};
use crate::search::mesh::ray_order::ray_order;
use crate::search::mesh::triangle_hit::{Rule, TriangleRay};
use crate::search::mesh::wide_node::Node;
use crate::search::mesh::wide_tree::{TriangleBlock, higher, lower};
use crate::simd::{Isa, LANES, Lanes, dispatch};

/// Rays per parallel task.
const TASK: usize = 1 << 9;

/// A hit of a ray on a triangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RayHit {
    /// The index of the face, in the order of the faces as they were given.
    pub triangle: u32,
    /// The parameter of the hit point `origin + t * direction` of the ray. The exact number is rounded up to the next
    /// `f64`.
    pub t: f64,
    /// The barycentric coordinates of the point: the weights of the face's corners. They sum to 1. If the point lies
    /// on an edge, the weight of the opposite corner is 0.
    pub barycentric: [f64; 3],
}

// SAFETY: zero bytes are a valid value of all fields, which are `u32` and `f64`. A derive would make each dependent
// program compile a Rust parser.
unsafe impl bytemuck::Zeroable for RayHit {}

impl RayHit {
    /// Returns `true` if this hit comes before another one. At the same `t`, the lower index comes first.
    #[inline(always)]
    fn is_before(&self, other: &Self) -> bool {
        self.t < other.t || (self.t == other.t && self.triangle < other.triangle)
    }
}

impl<S: Scalar> Mesh<S> {
    /// Finds the first hit of the ray. Of several triangles at the same `t`, it is the one with the lowest index.
    ///
    /// Edges and corners belong to all triangles that have them. Rays do not pass between triangles that share an
    /// edge or a corner. Both sides of a triangle can be hit.
    ///
    /// Cost: O(log n) on a compact mesh; O(n) for a ray that starts 1e13 mesh sizes away.
    ///
    /// Both ends of the ray's range are inclusive. `t` is the exact number rounded up to the next `f64`. A triangle
    /// is hit if its exact `t` is at most `ray.to`, and a ray that ends or starts at a returned `t` hits the same
    /// triangle.
    ///
    /// No ray hits a triangle without area, or a triangle whose plane contains the ray.
    /// [`Triangle`](crate::geometry::Triangle) gives the part of such a ray that is inside
    /// ([`ray_interval`](crate::geometry::Convex::ray_interval)).
    ///
    /// All this holds while numbers neither overflow nor vanish:
    /// - Rays start within 1e150.
    /// - Of the numbers of a ray and a triangle, those below 1e-60 of the largest may count as 0. From 1e200 away, a
    ///   mesh of size 1 is missed.
    /// - The areas of triangles, also when multiplied by the longest component of the direction, are from 1e-290 to
    ///   1e290.
    ///
    /// Otherwise `t` and the weights may be those of another point of the triangle, as in a mesh of size 1e-150 with
    /// directions of 1e-150.
    ///
    /// ```
    /// use ropewalk::{Mesh, Ray};
    ///
    /// let square = [[0.0f64, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    /// let mesh = Mesh::build(&square, &[[0, 1, 2], [0, 2, 3]])?;
    /// let ray = Ray::new([0.5, 0.5, 1.0], [0.0, 0.0, -1.0]);
    /// assert_eq!(mesh.first_hit(&ray).unwrap().triangle, 0); // the diagonal
    /// assert!(mesh.first_hit(&ray.between(0.0, 1.0)).is_some());
    /// assert!(mesh.first_hit(&ray.between(0.0, 0.9)).is_none());
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn first_hit(&self, ray: &Ray<S, 3>) -> Option<RayHit> {
        dispatch!(isa => self.first(isa, ray))
    }

    /// Returns `true` if the ray hits anything, by the rules of [`first_hit`](Mesh::first_hit): for shadows, or lines
    /// of sight.
    ///
    /// ```
    /// use ropewalk::{Mesh, Ray};
    ///
    /// let mesh = Mesh::build(&[[0.0f32, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], &[[0, 1, 2]])?;
    /// let ray = Ray::new([0.0, 0.0, 0.0], [0.1, 0.1, 1.0]);
    /// assert!(mesh.any_hit(&ray) && !mesh.any_hit(&ray.between(0.0, 0.5)));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn any_hit(&self, ray: &Ray<S, 3>) -> bool {
        dispatch!(isa => self.any(isa, ray))
    }

    /// Finds all crossings of the ray and the surface, in ascending order of `t`, then of index.
    ///
    /// A ray through an edge or a corner crosses only some of the triangles there: those that a displaced ray would
    /// cross. The displacement is an infinitesimal step along x, one along y that is infinitesimal compared with the
    /// first, and likewise one along z. Each passage through a surface is therefore one hit, and a line crosses a
    /// closed surface an even number of times. A line that touches an edge from outside crosses no triangle or two.
    ///
    /// ```
    /// use ropewalk::{Mesh, Ray};
    ///
    /// let square = [[0.0f64, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    /// let mesh = Mesh::build(&square, &[[0, 1, 2], [0, 2, 3]])?;
    /// assert_eq!(mesh.hits(&Ray::new([0.5, 0.5, 1.0], [0.0, 0.0, -1.0])).len(), 1);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn hits(&self, ray: &Ray<S, 3>) -> Vec<RayHit> {
        let mut found = vec![];
        dispatch!(isa => self.first_k(isa, ray, usize::MAX, &mut found));
        found
    }

    /// Finds the first `k` crossings of the ray and the surface, in the order of [`hits`](Mesh::hits); fewer if there
    /// are fewer.
    pub fn k_hits(&self, ray: &Ray<S, 3>, k: usize) -> Vec<RayHit> {
        let mut found = vec![];
        dispatch!(isa => self.first_k(isa, ray, k, &mut found));
        found
    }

    /// Calls `visit` with each crossing of a ray and the surface, in unspecified order, until `visit` returns `Break`.
    /// The crossings are those of [`hits`](Mesh::hits).
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use ropewalk::{Mesh, Ray};
    ///
    /// let mesh = Mesh::build(&[[0.0f32, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], &[[0, 1, 2]])?;
    /// let mut count = 0;
    /// mesh.for_each_hit(&Ray::new([0.2, 0.2, 0.0], [0.0, 0.0, 1.0]), |_hit| {
    ///     count += 1;
    ///     ControlFlow::Continue(())
    /// });
    /// assert_eq!(count, 1);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn for_each_hit(&self, ray: &Ray<S, 3>, mut visit: impl FnMut(RayHit) -> ControlFlow<()>) {
        dispatch!(isa => self.cast(isa, ray, self.hits_by(Rule::Crossing), |hit| match visit(hit) {
            ControlFlow::Continue(()) => Some(f64::INFINITY),
            ControlFlow::Break(()) => None,
        }));
    }

    /// Finds the first hit of each ray, as [`first_hit`](Mesh::first_hit), in parallel and in the order of `rays`.
    pub fn first_hits(&self, rays: &[Ray<S, 3>]) -> Vec<Option<RayHit>> {
        first(self, rays)
    }

    /// Tests for each ray whether it hits anything, as [`any_hit`](Mesh::any_hit), in parallel and in the order of
    /// `rays`.
    pub fn any_hits(&self, rays: &[Ray<S, 3>]) -> Vec<bool> {
        any(self, rays)
    }

    /// Finds the crossings of each ray as lists, as [`hits`](Mesh::hits), in parallel and in the order of `rays`.
    pub fn hits_all(&self, rays: &[Ray<S, 3>]) -> Csr<RayHit> {
        all(self, rays, usize::MAX)
    }

    /// Finds the first `k` crossings of each ray as lists, as [`k_hits`](Mesh::k_hits), in parallel and in the order of
    /// `rays`.
    ///
    /// ```
    /// use ropewalk::{Mesh, Ray};
    ///
    /// let triangle = |z: f32| [[0.0, 0.0, z], [1.0, 0.0, z], [0.0, 1.0, z]];
    /// let corners = [triangle(1.0), triangle(2.0)].concat();
    /// let mesh = Mesh::build(&corners, &[[0, 1, 2], [3, 4, 5]])?;
    /// let lists = mesh.k_hits_all(&[Ray::new([0.2, 0.2, 0.0], [0.0, 0.0, 1.0])], 1);
    /// assert_eq!(lists.of(0).iter().map(|hit| hit.triangle).collect::<Vec<_>>(), [0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn k_hits_all(&self, rays: &[Ray<S, 3>], k: usize) -> Csr<RayHit> {
        all(self, rays, k)
    }

    /// Calls `visit` with the index of each ray and each of its [`hits`](Mesh::hits), in parallel over the rays and
    /// in unspecified order. `Break` ends that ray, but not the others.
    pub fn for_each_hit_all(&self, rays: &[Ray<S, 3>], visit: impl Fn(usize, RayHit) -> ControlFlow<()> + Sync) {
        let order = ray_order(rays, &self.frame);
        for_tasks(rays.len(), TASK, &|range| {
            for at in range {
                let ray = order.as_ref().map_or(at, |order| order[at] as usize);
                self.for_each_hit(&rays[ray], |hit| visit(ray, hit));
            }
        });
    }

    #[inline(always)]
    fn first<I: Isa>(&self, isa: I, ray: &Ray<S, 3>) -> Option<RayHit> {
        let mut best: Option<RayHit> = None;
        self.cast(isa, ray, self.hits_by(Rule::Closed), |hit| {
            if best.is_none_or(|best| hit.is_before(&best)) {
                best = Some(hit);
            }
            best.map(|best| best.t)
        });
        best
    }

    #[inline(always)]
    fn any<I: Isa>(&self, isa: I, ray: &Ray<S, 3>) -> bool {
        let mut found = false;
        self.cast(isa, ray, self.meetings(), |()| {
            found = true;
            None
        });
        found
    }

    #[inline(always)]
    fn first_k<I: Isa>(&self, isa: I, ray: &Ray<S, 3>, k: usize, found: &mut Vec<RayHit>) {
        if k == 0 {
            return;
        }
        let order = |a: &RayHit, b: &RayHit| a.t.total_cmp(&b.t).then(a.triangle.cmp(&b.triangle));
        self.cast(isa, ray, self.hits_by(Rule::Crossing), |hit| {
            if k == usize::MAX {
                found.push(hit);
                return Some(f64::INFINITY);
            }
            let place = found.partition_point(|other| other.is_before(&hit));
            if place < k {
                found.truncate(k - 1);
                found.insert(place, hit);
            }
            Some(if found.len() == k { found[k - 1].t } else { f64::INFINITY })
        });
        if k == usize::MAX {
            found.sort_unstable_by(order);
        }
    }

    /// Returns a function that computes the hit of a ray on a triangle.
    #[inline(always)]
    pub(super) fn hits_by(&self, rule: Rule) -> impl Fn(&TriangleRay, u32) -> Option<RayHit> {
        move |ray, triangle| {
            let hit = ray.hit(&self.corners_of(triangle), rule)?;
            Some(RayHit { triangle, t: hit.t, barycentric: hit.weights })
        }
    }

    /// Returns a function that tests whether a ray meets a triangle.
    #[inline(always)]
    pub(super) fn meetings(&self) -> impl Fn(&TriangleRay, u32) -> Option<()> {
        |ray, triangle| ray.meets(&self.corners_of(triangle), Rule::Closed).then_some(())
    }

    /// Calls `visit` with the results of `decide` for triangles that the ray meets, nearest boxes first.
    ///
    /// The ray may have another scalar type than the mesh; both are exact in `f64`. `visit` returns the largest `t` of
    /// interest from then on, or `None` to end. If the ray starts 1e13 mesh sizes
    /// away and does not certainly miss the box around the mesh, all triangles are tested.
    #[inline(always)]
    pub(super) fn cast<I: Isa, R: Scalar, H>(
        &self,
        isa: I,
        ray: &Ray<R, 3>,
        decide: impl Fn(&TriangleRay, u32) -> Option<H>,
        mut visit: impl FnMut(H) -> Option<f64>,
    ) {
        if !ray.is_proper() || self.is_empty() {
            return;
        }
        let mut exact = TriangleRay::new(ray);
        let mut decide = |triangle: u32| -> Option<Option<f64>> {
            let most = visit(decide(&exact, triangle)?);
            if let Some(t) = most {
                exact.end_at(t);
            }
            Some(most)
        };
        match FrameRay::new(ray, &self.frame) {
            Prepared::Nothing => {}
            Prepared::TooFar => {
                for triangle in 0..self.len() as u32 {
                    if let Some(None) = decide(triangle) {
                        return;
                    }
                }
            }
            Prepared::Ready(frame_ray) => {
                self.tree.walk(
                    isa,
                    frame_ray.limit_of(ray.to),
                    #[inline(always)]
                    |node: &Node| keys(&frame_ray, node),
                    #[inline(always)]
                    |block: &TriangleBlock, mut limit: f32| {
                        for lane in bits(candidates(isa, &frame_ray, block, limit)) {
                            match decide(block.triangle[lane % LANES]) {
                                None => {}
                                Some(Some(t)) => limit = limit.min(frame_ray.limit_of(t)),
                                Some(None) => return None,
                            }
                        }
                        Some(limit)
                    },
                );
            }
        }
    }
}

precompiled_in_space! {
    fn first = first_of_each(mesh: same_ref &Mesh<S>, rays: same_slice &[Ray<S, 3>]) -> Vec<Option<RayHit>>
}

fn first_of_each<S: Scalar>(mesh: &Mesh<S>, rays: &[Ray<S, 3>]) -> Vec<Option<RayHit>> {
    let order = ray_order(rays, &mesh.frame);
    run_ordered(rays, order.as_deref(), TASK, &|rays, found: &mut [Option<RayHit>]| {
        dispatch!(isa => mesh.walk_interleaved(isa, rays, mesh.hits_by(Rule::Closed), #[inline(always)] |ray, hit| {
            let best = &mut found[ray];
            if best.is_none_or(|best| hit.is_before(&best)) {
                *best = Some(hit);
            }
            best.map(|best| best.t)
        }));
    })
}

precompiled_in_space! { fn any = any_of_each(mesh: same_ref &Mesh<S>, rays: same_slice &[Ray<S, 3>]) -> Vec<bool> }

fn any_of_each<S: Scalar>(mesh: &Mesh<S>, rays: &[Ray<S, 3>]) -> Vec<bool> {
    let order = ray_order(rays, &mesh.frame);
    run_ordered(rays, order.as_deref(), TASK, &|rays, found: &mut [bool]| {
        dispatch!(isa => mesh.walk_interleaved(isa, rays, mesh.meetings(), #[inline(always)] |ray, ()| {
            found[ray] = true;
            None
        }));
    })
}

precompiled_in_space! {
    fn all = all_of_each(mesh: same_ref &Mesh<S>, rays: same_slice &[Ray<S, 3>], k: keep usize) -> Csr<RayHit>
}

fn all_of_each<S: Scalar>(mesh: &Mesh<S>, rays: &[Ray<S, 3>], k: usize) -> Csr<RayHit> {
    let order = ray_order(rays, &mesh.frame).unwrap_or_else(|| collected(0..rays.len() as u32));
    let chunks = map_tasks(order.len(), TASK, &|range| {
        let mut chunk = CsrChunk::default();
        let mut found = vec![];
        dispatch!(isa => for &ray in &order[range] {
            found.clear();
            mesh.first_k(isa, &rays[ray as usize], k, &mut found);
            append(&mut chunk.values, found.iter().copied());
            chunk.lengths.push(found.len() as u32);
        });
        chunk
    });
    Csr::gather(&order, &chunks)
}

/// Lower bounds on where a ray enters the children of a node; infinite for a child that it misses.
#[inline(always)]
pub(super) fn keys(ray: &FrameRay, node: &Node) -> Lanes<f32> {
    keys_between([&ray.near, &ray.inverse], [&ray.far, &ray.inverse], &[ray.near_row, ray.far_row], node)
}

/// Same as [`keys`], given the origins and reciprocal directions for planes that are entered and left, and the rows
/// of these planes.
#[inline(always)]
pub(super) fn keys_between(
    near: [&[f32; 3]; 2],
    far: [&[f32; 3]; 2],
    rows: &[[usize; 3]; 2],
    node: &Node,
) -> Lanes<f32> {
    let mut enter = [0.0f32; LANES];
    let mut leave = [f32::INFINITY; LANES];
    for k in 0..3 {
        let (entered, left) = (&node.bounds[rows[0][k]], &node.bounds[rows[1][k]]);
        for l in 0..LANES {
            let first = (entered[l] - near[0][k]) * near[1][k];
            let last = (left[l] - far[0][k]) * far[1][k];
            enter[l] = higher(first, enter[l]);
            leave[l] = lower(last, leave[l]);
        }
    }
    for l in 0..LANES {
        enter[l] = if enter[l] <= leave[l] { enter[l] } else { f32::INFINITY };
    }
    enter
}

/// A mask of the triangles of a block that a ray may meet below a limit.
#[inline(always)]
pub(super) fn candidates<I: Isa>(isa: I, ray: &FrameRay, block: &TriangleBlock, limit: f32) -> u32 {
    let [kx, ky, kz] = ray.axes;
    let mut x = [[0.0f32; LANES]; 3];
    let mut y = [[0.0f32; LANES]; 3];
    let mut wide = [0.0f32; LANES];
    let mut least = [f32::INFINITY; LANES];
    let mut most = [f32::NEG_INFINITY; LANES];
    for (corner, at) in block.corners.iter().enumerate() {
        for l in 0..LANES {
            let z = at[kz][l] - ray.origin[kz];
            x[corner][l] = at[kx][l] - ray.origin[kx] - ray.shear[0] * z;
            y[corner][l] = at[ky][l] - ray.origin[ky] - ray.shear[1] * z;
            let along = z * ray.sign;
            least[l] = lower(least[l], along);
            most[l] = higher(most[l], along);
            wide[l] = higher(wide[l], higher(x[corner][l].abs(), y[corner][l].abs()));
        }
    }
    let mut beyond = [0.0f32; LANES];
    for l in 0..LANES {
        let a = x[1][l] * y[2][l] - x[2][l] * y[1][l];
        let b = x[2][l] * y[0][l] - x[0][l] * y[2][l];
        let c = x[0][l] * y[1][l] - x[1][l] * y[0][l];
        let error = ray.padding * (5.0 * wide[l] + 2.0 * ray.padding);
        let lowest = lower(a, lower(b, c));
        let highest = higher(a, higher(b, c));
        // Positive if two edge functions certainly have different signs; NaN for a missing triangle.
        let mixed = lower(0.0 - lowest, highest) - error;
        beyond[l] = higher(mixed, higher(least[l] - ray.padding - limit, 0.0 - ray.padding - most[l]));
    }
    isa.at_most_f32(&beyond, 0.0)
}

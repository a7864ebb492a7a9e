//! Ray queries on a group of meshes.
//!
//! Input: rays in the world. Output: the first hit, whether there is any hit, or hits in order, on all instances. A
//! walk visits the instances whose padded boxes the ray enters, nearer ones first. The mapped ray is cast at the mesh
//! of each, as far as the last hit of interest.

use crate::csr::{Csr, CsrChunk};
use crate::geometry::{Ray, Scalar};
use crate::memory::{append, collected};
use crate::parallel::map_tasks;
use crate::precompiled::precompiled_in_space;
use crate::search::mesh::batch::run_ordered;
use crate::search::mesh::frame::Frame;
use crate::search::mesh::group::MeshGroup;
use crate::search::mesh::group::placement::padded;
use crate::search::mesh::ray_order::ray_order;
use crate::search::mesh::rays::RayHit;
use crate::search::mesh::triangle_hit::Rule;
use crate::simd::{Isa, dispatch};

/// Rays per parallel task.
const TASK: usize = 1 << 8;

/// A hit of a ray on an instance of a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InstanceHit {
    /// The index of the instance.
    pub instance: u32,
    /// The index of the face in the mesh of the instance.
    pub triangle: u32,
    /// The parameter of the hit point `origin + t * direction` of the ray. The exact number for the mapped ray
    /// ([`MeshGroup::instance_ray`]) is rounded up to the next `f64`.
    pub t: f64,
    /// The barycentric coordinates of the point: the weights of the face's corners, as of [`RayHit`].
    pub barycentric: [f64; 3],
}

impl InstanceHit {
    fn new(instance: u32, hit: RayHit) -> Self {
        Self { instance, triangle: hit.triangle, t: hit.t, barycentric: hit.barycentric }
    }

    /// Returns `true` if this hit comes before another one.
    #[inline]
    fn is_before(&self, other: &Self) -> bool {
        let at = |hit: &Self| (hit.instance, hit.triangle);
        self.t < other.t || (self.t == other.t && at(self) < at(other))
    }
}

impl<S: Scalar> MeshGroup<S> {
    /// Finds the first hit of the ray on any instance. Of several hits at the same `t`, it is that of the lowest
    /// instance, then of the lowest triangle.
    ///
    /// On each instance the hits are those of [`Mesh::first_hit`](crate::Mesh::first_hit) for the mapped ray.
    pub fn first_hit(&self, ray: &Ray<S, 3>) -> Option<InstanceHit> {
        dispatch!(isa => self.first(isa, ray))
    }

    /// Returns `true` if the ray hits any instance, by the rules of [`first_hit`](MeshGroup::first_hit): for shadows,
    /// or lines of sight.
    ///
    /// ```
    /// use ropewalk::search::{MeshGroup, MeshInstance};
    /// use ropewalk::{Mesh, Ray};
    ///
    /// let leaf = Mesh::build(&[[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]])?;
    /// let group = MeshGroup::build([leaf], &[MeshInstance::new(0).moved([0.0, 0.0, 7.0])])?;
    /// let up = Ray::new([0.25f32, 0.25, 0.0], [0.0, 0.0, 1.0]);
    /// assert!(group.any_hit(&up) && !group.any_hit(&up.between(0.0, 6.5)));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn any_hit(&self, ray: &Ray<S, 3>) -> bool {
        dispatch!(isa => self.any(isa, ray))
    }

    /// Finds all crossings of the ray and the surfaces of the instances, in ascending order of `t`, then of instance,
    /// then of triangle.
    ///
    /// On each instance the crossings are those of [`Mesh::hits`](crate::Mesh::hits) for the mapped ray, which is
    /// displaced in the frame of the mesh.
    pub fn hits(&self, ray: &Ray<S, 3>) -> Vec<InstanceHit> {
        self.k_hits(ray, usize::MAX)
    }

    /// Finds the first `k` crossings of the ray and the surfaces of the instances, in the order of
    /// [`hits`](MeshGroup::hits); fewer if there are fewer.
    ///
    /// ```
    /// use ropewalk::search::{MeshGroup, MeshInstance};
    /// use ropewalk::{Mesh, Ray};
    ///
    /// let leaf = Mesh::build(&[[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]])?;
    /// let at = |z: f64| MeshInstance::new(0).moved([0.0, 0.0, z]);
    /// let group = MeshGroup::build([leaf], &[9.0, 8.0, 7.0, 6.0, 5.0].map(at))?;
    /// let hits = group.k_hits(&Ray::new([0.25f32, 0.25, 0.0], [0.0, 0.0, 1.0]), 2);
    /// assert_eq!(hits.iter().map(|hit| (hit.instance, hit.t)).collect::<Vec<_>>(), [(4, 5.0), (3, 6.0)]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn k_hits(&self, ray: &Ray<S, 3>, k: usize) -> Vec<InstanceHit> {
        let mut found = vec![];
        dispatch!(isa => self.first_k(isa, ray, k, &mut found));
        found
    }

    /// Finds the first hit of each ray, as [`first_hit`](MeshGroup::first_hit), in parallel and in the order of `rays`.
    pub fn first_hits(&self, rays: &[Ray<S, 3>]) -> Vec<Option<InstanceHit>> {
        first(self, rays)
    }

    /// Tests for each ray whether it hits anything, as [`any_hit`](MeshGroup::any_hit), in parallel and in the order of
    /// `rays`.
    pub fn any_hits(&self, rays: &[Ray<S, 3>]) -> Vec<bool> {
        any(self, rays)
    }

    /// Finds the crossings of each ray as lists, as [`hits`](MeshGroup::hits), in parallel and in the order of `rays`.
    pub fn hits_all(&self, rays: &[Ray<S, 3>]) -> Csr<InstanceHit> {
        self.k_hits_all(rays, usize::MAX)
    }

    /// Finds the first `k` crossings of each ray as lists, as [`k_hits`](MeshGroup::k_hits), in parallel and in the
    /// order of `rays`.
    pub fn k_hits_all(&self, rays: &[Ray<S, 3>], k: usize) -> Csr<InstanceHit> {
        lists(self, rays, k)
    }

    #[inline(always)]
    fn first<I: Isa>(&self, isa: I, ray: &Ray<S, 3>) -> Option<InstanceHit> {
        let mut best: Option<InstanceHit> = None;
        self.cast(isa, ray, Rule::Closed, |hit| {
            if best.is_none_or(|best| hit.is_before(&best)) {
                best = Some(hit);
            }
            best.map_or(f64::INFINITY, |best| best.t)
        });
        best
    }

    #[inline(always)]
    fn any<I: Isa>(&self, isa: I, ray: &Ray<S, 3>) -> bool {
        let mut found = false;
        self.walk(ray, |instance, mapped, _| {
            let mesh = self.mesh_of(instance);
            mesh.cast(isa, mapped, mesh.meetings(), |()| {
                found = true;
                None
            });
            if found { f64::NEG_INFINITY } else { f64::INFINITY }
        });
        found
    }

    #[inline(always)]
    fn first_k<I: Isa>(&self, isa: I, ray: &Ray<S, 3>, k: usize, found: &mut Vec<InstanceHit>) {
        if k == 0 {
            return;
        }
        self.cast(isa, ray, Rule::Crossing, |hit| {
            if k == usize::MAX {
                found.push(hit);
                return f64::INFINITY;
            }
            let place = found.partition_point(|other| other.is_before(&hit));
            if place < k {
                found.truncate(k - 1);
                found.insert(place, hit);
            }
            if found.len() == k { found[k - 1].t } else { f64::INFINITY }
        });
        if k == usize::MAX {
            let at = |hit: &InstanceHit| (hit.instance, hit.triangle);
            found.sort_unstable_by(|a, b| a.t.total_cmp(&b.t).then_with(|| at(a).cmp(&at(b))));
        }
    }

    /// Calls `visit` with the hits of the ray up to the largest `t` of interest, which `visit` returns.
    #[inline(always)]
    fn cast<I: Isa>(&self, isa: I, ray: &Ray<S, 3>, rule: Rule, mut visit: impl FnMut(InstanceHit) -> f64) {
        self.walk(ray, |instance, mapped, mut limit| {
            let mesh = self.mesh_of(instance);
            mesh.cast(isa, mapped, mesh.hits_by(rule), |hit| {
                limit = visit(InstanceHit::new(instance, hit));
                Some(limit)
            });
            limit
        });
    }

    /// Calls `visit` with each instance that the ray may meet, the ray in the frame of its mesh, and the largest `t` of
    /// interest. `visit` returns the new one.
    #[inline(always)]
    fn walk(&self, ray: &Ray<S, 3>, mut visit: impl FnMut(u32, &Ray<f64, 3>, f64) -> f64) {
        if !ray.is_proper() {
            return;
        }
        let wide = |at: [S; 3]| at.map(Into::<f64>::into);
        let wide = Ray::new(wide(ray.origin), wide(ray.direction)).between(ray.from, ray.to);
        let padding = self.placement.padding(ray);
        let mut limit = f64::INFINITY;
        self.tree.walk_along(
            |bounds| wide.enters(&padded(bounds, padding)),
            |instance, _| {
                let mut mapped = self.placement.to_mesh[instance as usize].ray(ray);
                mapped.to = mapped.to.min(limit);
                limit = visit(instance, &mapped, limit);
                limit.min(f64::MAX)
            },
        );
    }

    fn mesh_of(&self, instance: u32) -> &crate::Mesh<S> {
        &self.meshes[self.instances[instance as usize].mesh as usize]
    }

    /// The order in which to process rays.
    fn order(&self, rays: &[Ray<S, 3>]) -> Option<Vec<u32>> {
        ray_order(rays, &Frame::over(&self.bounds()))
    }
}

precompiled_in_space! {
    fn first = first_of_each(group: same_ref &MeshGroup<S>, rays: same_slice &[Ray<S, 3>]) -> Vec<Option<InstanceHit>>
}

fn first_of_each<S: Scalar>(group: &MeshGroup<S>, rays: &[Ray<S, 3>]) -> Vec<Option<InstanceHit>> {
    run_ordered(rays, group.order(rays).as_deref(), TASK, &|rays, found: &mut [Option<InstanceHit>]| {
        dispatch!(isa => for (ray, found) in rays.iter().zip(found) {
            *found = group.first(isa, ray);
        });
    })
}

precompiled_in_space! {
    fn any = any_of_each(group: same_ref &MeshGroup<S>, rays: same_slice &[Ray<S, 3>]) -> Vec<bool>
}

fn any_of_each<S: Scalar>(group: &MeshGroup<S>, rays: &[Ray<S, 3>]) -> Vec<bool> {
    run_ordered(rays, group.order(rays).as_deref(), TASK, &|rays, found: &mut [bool]| {
        dispatch!(isa => for (ray, found) in rays.iter().zip(found) {
            *found = group.any(isa, ray);
        });
    })
}

precompiled_in_space! {
    fn lists = lists_of_each(group: same_ref &MeshGroup<S>, rays: same_slice &[Ray<S, 3>], k: keep usize)
        -> Csr<InstanceHit>
}

fn lists_of_each<S: Scalar>(group: &MeshGroup<S>, rays: &[Ray<S, 3>], k: usize) -> Csr<InstanceHit> {
    let order = group.order(rays).unwrap_or_else(|| collected(0..rays.len() as u32));
    let chunks = map_tasks(order.len(), TASK, &|range| {
        let mut chunk = CsrChunk::default();
        let mut found = vec![];
        dispatch!(isa => for &ray in &order[range] {
            found.clear();
            group.first_k(isa, &rays[ray as usize], k, &mut found);
            append(&mut chunk.values, found.iter().copied());
            chunk.lengths.push(found.len() as u32);
        });
        chunk
    });
    Csr::gather_into(&order, &chunks, |n| collected((0..n).map(|_| InstanceHit::default())))
}

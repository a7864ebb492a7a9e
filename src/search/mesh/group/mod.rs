//! Groups of meshes: instances of meshes in the world, each with an affine transform.
//!
//! Input: meshes and instances. Output: the hits of rays on all instances, with `t` of the ray in the world.
//! A tree over the boxes of the instances selects those that a ray may meet ([`placement`]). The ray is mapped to the
//! mesh of the instance in `f64`, and the mesh decides ([`rays`]).
//! Cost: O(log m) boxes for m instances that are far apart, and a query of the mesh for each instance that the ray may
//! meet.

mod instance;
pub(crate) mod placement;
mod rays;

pub use instance::MeshInstance;
pub use rays::InstanceHit;

use std::sync::Arc;

use crate::bvh::Bvh;
use crate::error::Result;
use crate::geometry::{Aabb, Ray, Scalar};
use crate::memory::{collected, copy_of};
use crate::search::mesh::Mesh;
use placement::Placement;

/// Several meshes in one tree: instances of meshes, each with an affine transform, for rays in the world. Other
/// libraries call it a scene, or a two-level acceleration structure.
///
/// A mesh is stored once for any number of instances. A hit has the index of the instance, the index of the triangle in
/// its mesh, and the parameter `t` of the ray in the world.
///
/// | task | one ray | many rays, in parallel |
/// |---|---|---|
/// | first hit | [`first_hit`](MeshGroup::first_hit) | [`first_hits`](MeshGroup::first_hits) |
/// | whether a ray hits anything (shadows) | [`any_hit`](MeshGroup::any_hit) | [`any_hits`](MeshGroup::any_hits) |
/// | all crossings, or the first k | [`hits`](MeshGroup::hits), [`k_hits`](MeshGroup::k_hits) | [`hits_all`](MeshGroup::hits_all), [`k_hits_all`](MeshGroup::k_hits_all) |
///
/// # Definition
/// An instance maps the ray to the frame of its mesh, with the same `t`: see [`MeshGroup::instance_ray`]. The mapped
/// ray has coordinates in `f64`, each of whose operations rounds once. Results are those of casting the mapped rays at
/// the meshes of all instances, converted to `f64` ([`Mesh::widened`]). Hits at the same `t` are ordered by instance,
/// then by triangle. The tree affects only speed.
///
/// Without a rotation, scale or shear, a mapped ray has the direction of the ray, and its origin is moved. If that move
/// is exact, results are those of a mesh with all triangles.
///
/// This holds while mapped rays stay in the range of [`Mesh::first_hit`].
///
/// ```
/// use ropewalk::search::{MeshGroup, MeshInstance};
/// use ropewalk::{Mesh, Ray};
///
/// let leaf = Mesh::build(&[[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]])?;
/// let turned = [[0.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 5.0]];
/// let instances = [MeshInstance::new(0).moved([0.0, 0.0, 7.0]), MeshInstance::new(0).transformed(turned)];
/// let group = MeshGroup::build([leaf], &instances)?;
///
/// let up = Ray::new([-0.25f32, 0.25, 0.0], [0.0, 0.0, 1.0]);
/// let hit = group.first_hit(&up).unwrap();
/// assert_eq!((hit.instance, hit.triangle, hit.t), (1, 0, 5.0));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Cost
/// Memory: some 350 bytes per instance, in addition to the meshes.
#[derive(Clone, Debug)]
pub struct MeshGroup<S> {
    meshes: Vec<Arc<Mesh<S>>>,
    instances: Vec<MeshInstance>,
    placement: Placement,
    /// The tree over the boxes of the instances.
    tree: Bvh<f64, 3>,
}

impl<S: Scalar> MeshGroup<S> {
    /// Builds a tree over instances of meshes. There may be no instances. Meshes are given as [`Mesh`] or as
    /// `Arc<Mesh>`, which several groups can share.
    ///
    /// # Errors
    /// The error has the index of the instance.
    /// - The mesh of an instance does not exist.
    /// - A transform is not finite, is singular, or has a condition number above 1e12, so that its inverse has no more
    ///   than a few digits.
    /// - A transform moves a mesh beyond 1e149.
    pub fn build(
        meshes: impl IntoIterator<Item = impl Into<Arc<Mesh<S>>>>,
        instances: &[MeshInstance],
    ) -> Result<Self> {
        let meshes: Vec<Arc<Mesh<S>>> = meshes.into_iter().map(Into::into).collect();
        let (placement, tree) = placed(&meshes, instances)?;
        Ok(Self { meshes, instances: copy_of(instances), placement, tree })
    }

    /// Replaces the instances, for those that move, and keeps the meshes. Their number may differ.
    ///
    /// ```
    /// use ropewalk::search::{MeshGroup, MeshInstance};
    /// use ropewalk::{Mesh, Ray};
    ///
    /// let leaf = Mesh::build(&[[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]])?;
    /// let mut group = MeshGroup::build([leaf], &[MeshInstance::new(0).moved([0.0, 0.0, 7.0])])?;
    /// group.set_instances(&[MeshInstance::new(0).moved([0.0, 0.0, 8.0])])?;
    /// assert_eq!(group.first_hit(&Ray::new([0.25f32, 0.25, 0.0], [0.0, 0.0, 1.0])).unwrap().t, 8.0);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`MeshGroup::build`]. The group is then unchanged.
    ///
    /// # Cost
    /// A tree over the boxes of the instances.
    pub fn set_instances(&mut self, instances: &[MeshInstance]) -> Result<()> {
        let (placement, tree) = placed(&self.meshes, instances)?;
        (self.instances, self.placement, self.tree) = (copy_of(instances), placement, tree);
        Ok(())
    }

    /// Returns the meshes.
    pub fn meshes(&self) -> &[Arc<Mesh<S>>] {
        &self.meshes
    }

    /// Returns the instances.
    pub fn instances(&self) -> &[MeshInstance] {
        &self.instances
    }

    /// Returns the number of instances.
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// Returns `true` if there are no instances.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }

    /// Returns a box that contains all instances, larger than the smallest one by rounding errors only;
    /// [`Aabb::EMPTY`] if there are no instances. An instance of an empty mesh counts as its origin.
    pub fn bounds(&self) -> Aabb<f64, 3> {
        self.tree.bounds()
    }

    /// Maps a ray to the frame of the mesh of an instance. `None` if there is no such instance.
    ///
    /// With the inverse `W` of the first three columns of the transform and its last column `c`, the origin is `W
    /// (origin - c)` and the direction is `W direction`. `t` and its range are unchanged, because the direction is not
    /// normalized. `W` is computed in `f64` from cofactors. Each further operation rounds once; sums are in the order
    /// of the axes.
    ///
    /// ```
    /// use ropewalk::search::{MeshGroup, MeshInstance};
    /// use ropewalk::{Mesh, Ray};
    ///
    /// let leaf = Mesh::build(&[[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]])?;
    /// let doubled = [[2.0, 0.0, 0.0, 1.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 5.0]];
    /// let group = MeshGroup::build([leaf], &[MeshInstance::new(0).transformed(doubled)])?;
    /// let ray = Ray::new([2.0f32, 0.5, 0.0], [0.0, 0.0, 1.0]);
    /// let there = group.instance_ray(0, &ray).unwrap();
    /// assert_eq!((there.origin, there.direction), ([0.5, 0.25, -2.5], [0.0, 0.0, 0.5]));
    /// assert_eq!(group.meshes()[0].widened().first_hit(&there).unwrap().t, group.first_hit(&ray).unwrap().t);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn instance_ray(&self, instance: u32, ray: &Ray<S, 3>) -> Option<Ray<f64, 3>> {
        Some(self.placement.to_mesh.get(instance as usize)?.ray(ray))
    }
}

/// Places instances of meshes, and builds the tree over their boxes.
fn placed<S: Scalar>(meshes: &[Arc<Mesh<S>>], instances: &[MeshInstance]) -> Result<(Placement, Bvh<f64, 3>)> {
    let bounds: Vec<Aabb<S, 3>> = collected(meshes.iter().map(|mesh| mesh.bounds()));
    let placement = Placement::new(&bounds, instances)?;
    let tree = Bvh::build(&placement.boxes)?;
    Ok((placement, tree))
}

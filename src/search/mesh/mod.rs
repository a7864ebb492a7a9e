//! Triangle meshes: ray hits, the nearest triangle, inside and outside.
//!
//! Input: vertices and faces. Output: hits with `t` and barycentric coordinates, nearest points, winding numbers.
//! One tree with eight children per node ([`wide_tree`]) serves all queries. It selects candidates in `f32`, and
//! `f64` decides.
//! Cost: O(n log n) for a build, O(log n) for a query of a compact mesh.

mod batch;
mod beam;
mod dipoles;
mod exact;
mod f64_walk;
pub(crate) mod frame;
pub(crate) mod group;
mod interleaved;
mod nearest;
mod point_triangle;
mod ray_order;
mod ray_parameter;
mod rays;
pub(crate) mod sah;
mod triangle_hit;
pub(crate) mod wide_node;
pub(crate) mod wide_tree;
mod winding;

pub use group::{InstanceHit, MeshGroup, MeshInstance};
pub use nearest::MeshNearest;
pub use rays::RayHit;

use crate::bvh::check_instruction_set;
use crate::cancel::guarded;
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::{Aabb, Scalar};
use crate::parallel::{fold_tasks, map};
use crate::precompiled::precompiled_in_space;
use dipoles::Dipoles;
use frame::Frame;
use wide_tree::WideTree;

/// Vertices or faces per parallel task.
const TASK: usize = 1 << 14;

/// A triangle mesh in three dimensions, with the tree that searches it.
///
/// It keeps a copy of the corners; results are `u32` indices into the faces. Every mesh is accepted: it may be open,
/// intersect itself, or have triangles without area. No ray meets such a triangle, and its distance is that of the
/// segment or point to which it degenerates.
///
/// | task | one query | many queries, in parallel |
/// |---|---|---|
/// | first hit of a ray | [`first_hit`](Mesh::first_hit) | [`first_hits`](Mesh::first_hits) |
/// | whether a ray hits anything (shadows) | [`any_hit`](Mesh::any_hit) | [`any_hits`](Mesh::any_hits) |
/// | all crossings of a ray, or the first k | [`hits`](Mesh::hits), [`k_hits`](Mesh::k_hits) | [`hits_all`](Mesh::hits_all), [`k_hits_all`](Mesh::k_hits_all) |
/// | a callback for each crossing | [`for_each_hit`](Mesh::for_each_hit) | [`for_each_hit_all`](Mesh::for_each_hit_all) |
/// | nearest triangle | [`nearest`](Mesh::nearest), [`nearest_within`](Mesh::nearest_within) | [`nearest_all`](Mesh::nearest_all) |
/// | whether a point is inside, and its distance from the surface | [`contains`](Mesh::contains), [`signed_distance`](Mesh::signed_distance) | [`contains_all`](Mesh::contains_all), [`signed_distances`](Mesh::signed_distances) |
/// | winding number of a point | [`winding_number`](Mesh::winding_number) | [`winding_numbers`](Mesh::winding_numbers) |
///
/// ```
/// use ropewalk::{Mesh, Ray};
///
/// let corners = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
/// let mesh = Mesh::build(&corners, &[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])?;
/// let hit = mesh.first_hit(&Ray::new([0.25, 0.25, -1.0], [0.0, 0.0, 2.0])).unwrap();
/// assert_eq!((hit.triangle, hit.t, hit.barycentric), (0, 0.5, [0.5, 0.25, 0.25]));
/// assert!(mesh.contains([0.25, 0.25, 0.25]));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone)]
pub struct Mesh<S> {
    /// The corners of each face.
    pub(crate) corners: Vec<[[S; 3]; 3]>,
    bounds: Aabb<S, 3>,
    pub(crate) frame: Frame,
    pub(crate) tree: WideTree,
    dipoles: Dipoles,
}

impl<S: std::fmt::Debug> std::fmt::Debug for Mesh<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mesh")
            .field("triangles", &self.corners.len())
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

impl<S: Scalar> Mesh<S> {
    /// Builds a mesh and its tree over `faces`, each of which consists of three indices of `vertices`, in parallel.
    /// There may be no faces.
    ///
    /// # Errors
    /// - A vertex is NaN, infinite, or beyond 1e150 in `f64`. The error has its index.
    /// - A face has an index for which there is no vertex. The error has the index of the face.
    /// - There are more than 2^31 - 1 faces.
    pub fn build(vertices: &[[S; 3]], faces: &[[u32; 3]]) -> Result<Self> {
        built(vertices, faces)
    }

    /// Returns the number of triangles.
    pub fn len(&self) -> usize {
        self.corners.len()
    }

    /// Returns `true` if there are no triangles.
    pub fn is_empty(&self) -> bool {
        self.corners.is_empty()
    }

    /// Returns the bounding box of all triangles; [`Aabb::EMPTY`] if there are no triangles.
    pub fn bounds(&self) -> Aabb<S, 3> {
        self.bounds
    }

    /// Returns the corners of a triangle.
    #[doc(hidden)]
    pub fn triangle(&self, triangle: u32) -> [[S; 3]; 3] {
        self.corners[triangle as usize]
    }

    /// The corners of a triangle in `f64`, which is exact.
    #[inline(always)]
    fn corners_of(&self, triangle: u32) -> [[f64; 3]; 3] {
        self.corners[triangle as usize].map(|corner| corner.map(Into::into))
    }
}

impl Mesh<f32> {
    /// Converts the mesh to `f64`, for queries in 64 bits. The tree is copied, not rebuilt. Queries that 32 bits can
    /// represent have the same results.
    ///
    /// ```
    /// let mesh = ropewalk::Mesh::build(&[[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], &[[0, 1, 2]])?;
    /// assert_eq!(mesh.widened().nearest([0.1, 0.1, 0.3]).unwrap().distance2, 0.3 * 0.3);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn widened(&self) -> Mesh<f64> {
        let wide = |corner: [f32; 3]| corner.map(f64::from);
        Mesh {
            corners: map(self.len(), TASK, &|face| self.corners[face].map(wide)),
            bounds: Aabb { lo: wide(self.bounds.lo), hi: wide(self.bounds.hi) },
            frame: self.frame,
            tree: self.tree.clone(),
            dipoles: self.dipoles.clone(),
        }
    }
}

precompiled_in_space! {
    fn built = build(vertices: same_points &[[S; 3]], faces: keep &[[u32; 3]]) -> Result<Mesh<S>>
}

fn build<S: Scalar>(vertices: &[[S; 3]], faces: &[[u32; 3]]) -> Result<Mesh<S>> {
    guarded(|| {
        check_instruction_set()?;
        check_input(vertices, faces)?;
        let corners = map(faces.len(), TASK, &|face| faces[face].map(|vertex| vertices[vertex as usize]));
        let part = |range: std::ops::Range<usize>| {
            let corners: &[[[S; 3]; 3]] = &corners[range];
            corners.as_flattened().iter().fold(Aabb::EMPTY, |bounds, &corner| bounds.union(&Aabb::point(corner)))
        };
        let bounds = fold_tasks(0..faces.len(), TASK, &part, &|a, b| a.union(&b));
        let frame = Frame::over(&bounds);
        let placed = |face: usize| corners[face].map(|corner| frame.place(corner.map(Into::into)).map(|x| x as f32));
        let tree = WideTree::build(faces.len(), &placed);
        let dipoles = Dipoles::new(&tree, &|face| corners[face].map(|corner| frame.place(corner.map(Into::into))));
        Ok(Mesh { corners, bounds, frame, tree, dipoles })
    })
}

/// Checks the arguments of a build; see [`Mesh::build`] for the errors.
pub(crate) fn check_input<S: Scalar>(vertices: &[[S; 3]], faces: &[[u32; 3]]) -> Result<()> {
    check_vertices(vertices)?;
    check_face_count(faces.len())?;
    let fault = |range: std::ops::Range<usize>| {
        let is_bad = |face: &[u32; 3]| face.iter().any(|&vertex| vertex as usize >= vertices.len());
        faces[range.clone()].iter().position(is_bad).map(|at| range.start + at)
    };
    let Some(index) = fold_tasks(0..faces.len(), TASK, &fault, &Option::or) else { return Ok(()) };
    let vertex = faces[index].into_iter().find(|&vertex| vertex as usize >= vertices.len()).unwrap_or_default();
    Err(missing_vertex(index, vertex, vertices.len()))
}

/// Returns an error if a mesh cannot have this number of faces.
pub(crate) fn check_face_count(faces: usize) -> Result<()> {
    let max = wide_node::BLOCK as usize - 1;
    if faces <= max {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Unsupported, format!("a mesh has at most {max} faces, got {faces}")))
}

/// The error for a face with a vertex index of at least `vertices`.
pub(crate) fn missing_vertex(face: usize, vertex: u32, vertices: usize) -> Error {
    let sentence =
        format!("face {face} has the vertex index {vertex}; with {vertices} vertices, it must be less than {vertices}");
    Error::new(ErrorKind::Input, sentence).at(face)
}

/// Returns an error for the first vertex that cannot be stored.
pub(crate) fn check_vertices<S: Scalar>(vertices: &[[S; 3]]) -> Result<()> {
    let fault = |range: std::ops::Range<usize>| {
        let fits = |x: &S| Into::<f64>::into(x.abs()) <= S::LIMIT;
        vertices[range.clone()].iter().position(|vertex| !vertex.iter().all(fits)).map(|at| range.start + at)
    };
    let Some(index) = fold_tasks(0..vertices.len(), TASK, &fault, &Option::or) else { return Ok(()) };
    let vertex: [f64; 3] = vertices[index].map(Into::into);
    let axis = (0..3).find(|&k| vertex[k].is_nan() || vertex[k].abs() > S::LIMIT).unwrap_or(0);
    Err(Error::coordinate(index, axis, vertex[axis], S::LIMIT))
}

//! Instances in the world: inverse transforms, boxes, and bounds on rounding errors.
//!
//! Input: the boxes of meshes, and instances. Output: for each instance the map from the world to its mesh, and a box
//! in the world. A ray is mapped to a mesh in `f64`, and what it hits there decides. The box of an instance, enlarged
//! by a relative error of the coordinates of the group and of the ray, contains all points of the ray at which it meets
//! the mesh. No hit is therefore missed. Cost: O(1) per instance. Source: Higham 2002, chapter 14 (errors of inverses).

use crate::error::{Error, ErrorKind, Result};
use crate::geometry::{Aabb, Ray, Scalar};
use crate::search::mesh::group::instance::MeshInstance;

/// Inverse transforms whose product with the transform differs from the identity by more than this are rejected.
const MAX_RESIDUAL: f64 = 1e-3;
/// The maximum condition number of a transform.
const MAX_CONDITION: f64 = 1e12;
/// The maximum coordinate of an instance. Padded boxes are below the limit of a tree.
const MAX_REACH: f64 = 1e149;

/// The map from the world to a mesh: `matrix (x - origin)`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToMesh {
    pub matrix: [[f64; 3]; 3],
    /// The place of the mesh's origin in the world.
    pub origin: [f64; 3],
}

impl ToMesh {
    /// Maps a ray. `t` is unchanged, because the direction is not normalized. Each operation rounds once; sums are in
    /// the order of the axes.
    #[inline]
    pub fn ray<S: Scalar>(&self, ray: &Ray<S, 3>) -> Ray<f64, 3> {
        let times = |v: [f64; 3]| self.matrix.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);
        let from: [f64; 3] = std::array::from_fn(|k| Into::<f64>::into(ray.origin[k]) - self.origin[k]);
        Ray { origin: times(from), direction: times(ray.direction.map(Into::into)), from: ray.from, to: ray.to }
    }
}

/// The instances of a group in the world.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    pub to_mesh: Vec<ToMesh>,
    /// The boxes of the instances in the world. An instance of an empty mesh has the box of its origin.
    pub boxes: Vec<Aabb<f64, 3>>,
    /// A bound on the rounding errors of the map of a ray, relative to the coordinates of its origin.
    pub error: f64,
}

impl Placement {
    /// Places instances of meshes with the boxes `bounds`.
    ///
    /// Errors: an instance of a mesh that does not exist, a transform that cannot be inverted, a box beyond the limit
    /// of coordinates.
    pub fn new<S: Scalar>(bounds: &[Aabb<S, 3>], instances: &[MeshInstance]) -> Result<Self> {
        let mut placement = Self { to_mesh: vec![], boxes: vec![], error: 0.0 };
        let (mut condition, mut farthest) = (1.0f64, 0.0f64);
        for (at, instance) in instances.iter().enumerate() {
            let Some(bounds) = bounds.get(instance.mesh as usize) else {
                return Err(missing_mesh(at, instance.mesh, bounds.len()));
            };
            let inverse = Inverse::new(&instance.transform).ok_or_else(|| singular(at))?;
            let bounds = inverse.box_of(bounds);
            let reach = farthest_of([bounds.lo, bounds.hi, inverse.to_mesh.origin].as_flattened());
            if reach > MAX_REACH {
                return Err(too_far(at));
            }
            condition = condition.max(inverse.condition);
            farthest = farthest.max(reach);
            placement.to_mesh.push(inverse.to_mesh);
            placement.boxes.push(bounds);
        }
        // A ray is mapped with an error of four roundings, relative to the coordinates of the ray, the instance and its
        // box, times the condition number.
        placement.error = 32.0 * f64::EPSILON * condition;
        let by = placement.error * farthest;
        for bounds in &mut placement.boxes {
            *bounds = padded(bounds, by);
        }
        Ok(placement)
    }

    /// Returns the length by which boxes must be padded for a ray.
    #[inline]
    pub fn padding<S: Scalar>(&self, ray: &Ray<S, 3>) -> f64 {
        self.error * farthest_of(&ray.origin.map(Into::<f64>::into))
    }
}

/// Returns a box whose sides are moved outwards.
#[inline]
pub(crate) fn padded(bounds: &Aabb<f64, 3>, by: f64) -> Aabb<f64, 3> {
    Aabb { lo: bounds.lo.map(|x| x - by), hi: bounds.hi.map(|x| x + by) }
}

/// Returns the largest magnitude; infinity for NaN.
#[inline]
fn farthest_of(numbers: &[f64]) -> f64 {
    numbers.iter().fold(0.0, |most, x| f64::max(most, if x.is_nan() { f64::INFINITY } else { x.abs() }))
}

/// An inverse transform with its quality.
struct Inverse {
    to_mesh: ToMesh,
    /// The linear part of the transform.
    matrix: [[f64; 3]; 3],
    /// The largest sum of a row of the product of the magnitudes of the transform and its inverse.
    condition: f64,
    /// A bound on the difference between the transform and the exact inverse of `to_mesh`, relative to the transform.
    residual: f64,
}

impl Inverse {
    /// `None` if the transform is not finite, or is singular or nearly so.
    fn new(transform: &[[f64; 4]; 3]) -> Option<Self> {
        let matrix: [[f64; 3]; 3] = transform.map(|[x, y, z, _]| [x, y, z]);
        let least = matrix.iter().map(|row| farthest_of(row)).fold(f64::INFINITY, f64::min);
        if !(transform.as_flattened().iter().all(|x| x.is_finite()) && least >= f64::MIN_POSITIVE) {
            return None;
        }
        // Powers of two for the rows, so that products of entries of different rows neither overflow nor vanish.
        let scales = matrix.map(|row| (-farthest_of(&row).log2().floor()).clamp(-1000.0, 1000.0).exp2());
        let scaled: [[f64; 3]; 3] = std::array::from_fn(|i| matrix[i].map(|x| x * scales[i]));
        let next = |k: usize| (k + 1) % 3;
        let cofactor = |i: usize, j: usize| {
            let [(i, k), (j, l)] = [i, j].map(|axis| (next(axis), next(next(axis))));
            scaled[i][j] * scaled[k][l] - scaled[i][l] * scaled[k][j]
        };
        let determinant: f64 = (0..3).map(|j| scaled[0][j] * cofactor(0, j)).sum();
        let inverse: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| cofactor(j, i) / determinant));
        let row_sum = |of: &dyn Fn(usize, usize) -> f64| {
            let sums = (0..3).map(|i| (0..3).map(|j| of(i, j)).sum::<f64>());
            // A NaN is kept.
            sums.fold(0.0, |most: f64, sum| if sum > most || sum.is_nan() { sum } else { most })
        };
        let magnitude = |a: &[[f64; 3]; 3], b: &[[f64; 3]; 3], i: usize, j: usize| {
            (0..3).map(|k| (a[i][k] * b[k][j]).abs()).sum::<f64>()
        };
        let condition = row_sum(&|i, j| match magnitude(&scaled, &inverse, i, j) {
            0.0 => 0.0,
            size => size * (scales[j] / scales[i]),
        });
        // The scales of the rows cancel in this product.
        let residual = row_sum(&|i, j| {
            let product: f64 = (0..3).map(|k| inverse[i][k] * scaled[k][j]).sum();
            let error = 4.0 * f64::EPSILON * magnitude(&inverse, &scaled, i, j);
            (f64::from(u8::from(i == j)) - product).abs() + error
        });
        let unscaled = inverse.map(|row| std::array::from_fn(|j| row[j] * scales[j]));
        let to_mesh = ToMesh { matrix: unscaled, origin: transform.map(|[.., x]| x) };
        let is_sound = condition <= MAX_CONDITION
            && residual <= MAX_RESIDUAL
            && to_mesh.matrix.as_flattened().iter().all(|x| x.is_finite());
        is_sound.then_some(Self { to_mesh, matrix, condition, residual })
    }

    /// A box in the world that contains the image of a box under the exact inverse of the map to the mesh.
    fn box_of<S: Scalar>(&self, bounds: &Aabb<S, 3>) -> Aabb<f64, 3> {
        let [lo, hi] = [bounds.lo, bounds.hi].map(|corner| corner.map(Into::<f64>::into));
        if lo[0] > hi[0] {
            return Aabb::point(self.to_mesh.origin);
        }
        let most = farthest_of([lo, hi].as_flattened());
        let mut own = Aabb::EMPTY;
        for k in 0..3 {
            let (row, origin) = (self.matrix[k], self.to_mesh.origin[k]);
            let ends: [[f64; 2]; 3] = std::array::from_fn(|axis| {
                let (a, b) = (row[axis] * lo[axis], row[axis] * hi[axis]);
                [a.min(b), a.max(b)]
            });
            let size: f64 = row.iter().map(|x| x.abs() * most).sum();
            // The residual, and the rounding of the sums.
            let error = 2.0 * self.residual * size + 8.0 * f64::EPSILON * (size + origin.abs());
            own.lo[k] = ends[0][0] + ends[1][0] + ends[2][0] + origin - error;
            own.hi[k] = ends[0][1] + ends[1][1] + ends[2][1] + origin + error;
        }
        own
    }
}

/// The error for an instance of a mesh that does not exist.
fn missing_mesh(at: usize, mesh: u32, meshes: usize) -> Error {
    let sentence = format!("its mesh is {mesh}; with {meshes} meshes, it must be less than {meshes}");
    Error::new(ErrorKind::Input, sentence).of_item("instance", at)
}

/// The error for a transform without an inverse.
fn singular(at: usize) -> Error {
    let sentence = "its transform is singular, nearly singular, or not finite; it must have an inverse";
    Error::new(ErrorKind::Input, sentence).of_item("instance", at)
}

/// The error for an instance whose coordinates exceed the limit.
fn too_far(at: usize) -> Error {
    let sentence = format!("its transform moves the mesh beyond {MAX_REACH:e}; rescale the transform");
    Error::new(ErrorKind::Input, sentence).of_item("instance", at)
}

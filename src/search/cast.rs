//! The first stored shape that a ray meets, by a test of the caller.
//!
//! Input: a ray, and a function that returns where the ray meets a shape. Output: the first hit.
//! Nodes behind the best hit so far are skipped. Cost: O(depth) nodes for a compact point cloud.

use crate::bvh::Bvh;
use crate::geometry::{Ray, Scalar};

/// The first hit of a ray.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CastHit {
    /// The index in the slice from which the tree was built.
    pub index: u32,
    /// The parameter of the hit point `origin + t * direction` of the ray.
    pub t: f64,
}

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Finds the first stored shape that a ray meets; of several at the same `t`, the one with the lowest index.
    ///
    /// `hit` returns the `t` at which the ray meets the shape of an index, or `None`. It is called for shapes whose
    /// boxes the ray meets before the best hit so far. Values outside the range of the ray are ignored.
    ///
    /// In a periodic box the ray continues straight on, and meets shapes at their own places but not their images.
    ///
    /// To find all candidates, in no particular order, use the ray as a query: `bvh.query(ray)`. For triangles, use
    /// [`Mesh`](crate::Mesh).
    ///
    /// ```
    /// use ropewalk::{Bvh, Ray, Sphere};
    ///
    /// let balls = [Sphere::new([0.0f64, 9.0], 1.0), Sphere::new([0.5, 5.0], 1.0), Sphere::new([0.9, 2.0], 0.5)];
    /// let bvh = Bvh::build(&balls)?;
    /// let first = bvh.cast(&Ray::new([0.0, 0.0], [0.0, 1.0]), |index| {
    ///     let Sphere { center: [x, y], radius } = balls[index as usize];
    ///     (x.abs() <= radius).then(|| y - (radius * radius - x * x).sqrt())
    /// });
    /// assert_eq!(first.unwrap().index, 1);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn cast(&self, ray: &Ray<S, D>, mut hit: impl FnMut(u32) -> Option<f64>) -> Option<CastHit> {
        let mut best: Option<CastHit> = None;
        if !ray.is_proper() {
            return None;
        }
        self.walk_along(
            |bounds| ray.enters(bounds),
            |index, _| {
                if let Some(t) = hit(index).filter(|t| ray.from <= *t && *t <= ray.to) {
                    let is_first = |best: CastHit| t < best.t || (t == best.t && index < best.index);
                    if best.is_none_or(is_first) {
                        best = Some(CastHit { index, t });
                    }
                }
                best.map_or(f64::MAX, |best| best.t)
            },
        );
        best
    }
}

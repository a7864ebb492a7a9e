//! The first stored shape that a ray meets, by a test of the caller.
//!
//! Input: a ray, and a function that returns where the ray meets a shape. Output: the first hit.
//! The nearer child is visited first, and nodes behind the best hit so far are skipped. Cost: O(depth) nodes for a
//! compact point cloud.

use crate::bvh::{Bvh, DEPTH};
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
        if self.is_empty() || !ray.is_proper() {
            return None;
        }
        let mut pending = [(0.0, 0u32); DEPTH];
        let mut len = 0;
        let (mut at, mut enter) = (0, ray.enters(&self.bounds()));
        loop {
            let most = best.map_or(f64::MAX, |best| best.t);
            if enter <= most {
                if !self.is_leaf(at) {
                    let right = self.node(at + 1).rope as usize;
                    let mut near = (ray.enters(&self.node(at + 1).bounds), at + 1);
                    let mut far = (ray.enters(&self.node(right).bounds), right);
                    if far.0 < near.0 {
                        (near, far) = (far, near);
                    }
                    if far.0 <= most && len < DEPTH {
                        pending[len] = (far.0, far.1 as u32);
                        len += 1;
                    }
                    (enter, at) = near;
                    continue;
                }
                for position in self.span(at) {
                    if ray.enters(&self.item(position)) > best.map_or(f64::MAX, |best| best.t) {
                        continue;
                    }
                    let index = self.order()[position];
                    let Some(t) = hit(index).filter(|t| ray.from <= *t && *t <= ray.to) else { continue };
                    let is_first = |best: CastHit| t < best.t || (t == best.t && index < best.index);
                    if best.is_none_or(is_first) {
                        best = Some(CastHit { index, t });
                    }
                }
            }
            if len == 0 {
                return best;
            }
            len -= 1;
            (enter, at) = (pending[len].0, pending[len].1 as usize);
        }
    }
}

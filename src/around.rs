//! The particles about a place, from near to far.
//!
//! In: particles and places. Out: for a place and a radius, who is within it, and how far away.
//! Cost: one tree; a range query for each place, and a sort of what it finds.

use crate::catalog::Particles;
use crate::error::{Kind, Result};
use crate::geometry::{Scalar, Space, Sphere};
use crate::tree::Bvh;

/// Particles in a tree.
pub(crate) struct Around<'a, S> {
    particles: &'a Particles<'a, S>,
    tree: Bvh<S, 3>,
    pub space: Space<3>,
}

/// A particle, seen from a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Near {
    pub distance2: f64,
    pub index: u32,
    pub mass: f64,
}

impl<'a, S: Scalar> Around<'a, S> {
    /// Errors where [`Particles`] or [`Bvh::build`] do, or if one of `centers` is not finite.
    pub fn new(particles: &'a Particles<'a, S>, centers: &[[f64; 3]]) -> Result<Self> {
        particles.check(particles.positions().len())?;
        for (index, center) in centers.iter().enumerate() {
            if let Some(axis) = center.iter().position(|x| !x.is_finite()) {
                return Err(Kind::NotFinite { index, axis, value: center[axis] }.into());
            }
        }
        let space = particles.space()?;
        Ok(Self { particles, tree: Bvh::build_in(particles.positions(), space)?, space })
    }

    /// All within a radius, inclusive; ties by index.
    pub fn within(&self, center: &[f64; 3], radius: f64) -> Vec<Near> {
        let space = &self.space;
        let center = space.wrap(*center);
        let rounded = center.map(S::from_f64);
        // Rounding the centre must not lose anything; the true distance decides.
        let moved: f64 = (0..3).map(|k| (center[k] - rounded[k].into()).abs()).sum();
        let near = |index: u32| {
            let position = space.wrap(self.particles.positions()[index as usize]).map(Into::into);
            Near { distance2: space.distance2(&center, &position), index, mass: self.particles.mass_of(index as usize) }
        };
        let ball = Sphere::new(rounded, (radius + moved) * (1.0 + 1e-12));
        let mut found: Vec<Near> =
            self.tree.query(ball).map(near).filter(|near| near.distance2 <= radius * radius).collect();
        found.sort_unstable_by(|a, b| a.distance2.total_cmp(&b.distance2).then(a.index.cmp(&b.index)));
        found
    }
}

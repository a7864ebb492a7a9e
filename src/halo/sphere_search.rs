//! The particles within a radius of a place, by distance.
//!
//! In: particles and places. Out: for a place and a radius, the particles inside, each with its squared distance.
//! Cost: one tree; a range query for each place, and a sort of what it finds.

use crate::bvh::Bvh;
use crate::error::{Error, Result};
use crate::geometry::{Boundary, Scalar, Space, Sphere};
use crate::halo::centers::Places;
use crate::halo::particles::Particles;

/// Particles in a tree.
pub(crate) struct ParticleTree<'a, S> {
    particles: &'a Particles<'a, S>,
    tree: Bvh<S, 3>,
    pub space: Space<3>,
}

/// A particle and its squared distance from the place.
#[derive(Clone, Copy, Debug)]
pub struct ParticleInSphere {
    /// The squared distance.
    pub distance2: f64,
    /// Among the particles of all ranks, where there are several.
    pub index: u64,
    /// Its mass.
    pub mass: f64,
}

impl<'a, S: Scalar> ParticleTree<'a, S> {
    /// In the space that the particles or the places know. Errors: what [`Particles`] or [`Bvh::build`] refuse; a place that is not
    /// finite, or of another space than the particles; masses whose sum is infinite.
    pub fn new(particles: &'a Particles<'a, S>, places: &Places<'_>) -> Result<Self> {
        particles.check(particles.positions().len())?;
        places.check()?;
        let said = particles.boundary()?;
        let known = [("the centres were found in", places.boundary()), ("the particles are in", &said)];
        let space = Boundary::agree(&known)?.space()?;
        let total: f64 = (0..particles.positions().len()).map(|i| particles.mass_of(i)).sum();
        if total == f64::INFINITY {
            return Err(Error::parameter_must("the sum of all masses", total, "finite"));
        }
        Ok(Self { particles, tree: Bvh::build_in(particles.positions(), space)?, space })
    }

    /// The particles within a radius, inclusive, by distance; ties by index.
    pub fn within(&self, center: &[f64; 3], radius: f64) -> Vec<ParticleInSphere> {
        let space = &self.space;
        let center = space.wrap(*center);
        let near = |index: u32| {
            let position = space.wrap(self.particles.positions()[index as usize]).map(Into::into);
            ParticleInSphere {
                distance2: space.distance2(&center, &position),
                index: index.into(),
                mass: self.particles.mass_of(index as usize),
            }
        };
        let ball = ball_about(&center, radius);
        let mut found: Vec<ParticleInSphere> =
            self.tree.query(ball).map(near).filter(|near| near.distance2 <= radius * radius).collect();
        sort(&mut found);
        found
    }
}

/// By distance; ties by index.
pub fn sort(particles: &mut [ParticleInSphere]) {
    particles.sort_unstable_by(|a, b| a.distance2.total_cmp(&b.distance2).then(a.index.cmp(&b.index)));
}

/// A ball of another type about a place, which has all that is within a radius of it; the exact distance decides.
pub fn ball_about<S: Scalar>(center: &[f64; 3], radius: f64) -> Sphere<S, 3> {
    // A place beyond the range of the type is clamped to it.
    let rounded = center.map(|x| S::from_f64(x.clamp(-S::MAX.into(), S::MAX.into())));
    // A wider ball makes up for the rounded centre.
    let moved: f64 = (0..3).map(|k| (center[k] - rounded[k].into()).abs()).sum();
    Sphere::new(rounded, (radius + moved) * (1.0 + 1e-12))
}

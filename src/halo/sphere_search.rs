//! The particles within a radius of a position, in order of distance.
//!
//! In: particles and positions. Out: the particles within a radius of a position, each with its squared distance.
//! Cost: one tree; for each position a range query and a sort of its hits.

use crate::bvh::Bvh;
use crate::error::{Error, Result};
use crate::geometry::{Boundary, Scalar, Space, Sphere};
use crate::halo::centers::CenterPositions;
use crate::halo::particles::Particles;

/// Particles and a tree of their positions.
pub(crate) struct ParticleTree<'a, S> {
    particles: &'a Particles<'a, S>,
    tree: Bvh<S, 3>,
    pub space: Space<3>,
}

/// A particle and its squared distance from the centre of the sphere.
#[derive(Clone, Copy, Debug)]
pub struct ParticleInSphere {
    /// The squared distance from the centre of the sphere.
    pub distance2: f64,
    /// The index of the particle; with several ranks, among the particles of all ranks.
    pub index: u64,
    /// The mass of the particle.
    pub mass: f64,
}

impl<'a, S: Scalar> ParticleTree<'a, S> {
    /// Builds the tree in the space that the particles or the places specify.
    ///
    /// # Errors
    /// - Particles that [`Particles`] or [`Bvh::build`] rejects.
    /// - A place that is not finite, or in a space other than that of the particles.
    /// - Masses whose sum is infinite.
    pub fn new(particles: &'a Particles<'a, S>, places: &CenterPositions<'_>) -> Result<Self> {
        particles.check(particles.positions().len())?;
        places.check()?;
        let said = particles.boundary()?;
        let known = [("the centres were found in", places.boundary()), ("the particles are in", &said)];
        let space = Boundary::common(&known)?.space()?;
        let total: f64 = (0..particles.positions().len()).map(|i| particles.mass_of(i)).sum();
        if total == f64::INFINITY {
            return Err(Error::parameter_must("the sum of all masses", total, "finite"));
        }
        Ok(Self { particles, tree: Bvh::build_in(particles.positions(), space)?, space })
    }

    /// Finds the particles within a radius (inclusive), in order of distance, ties by index.
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

/// Sorts particles by distance, ties by index.
pub fn sort(particles: &mut [ParticleInSphere]) {
    particles.sort_unstable_by(|a, b| a.distance2.total_cmp(&b.distance2).then(a.index.cmp(&b.index)));
}

/// Creates a sphere of the scalar type `S` that includes all points within `radius` of `center`. The exact distance
/// decides later.
pub fn ball_about<S: Scalar>(center: &[f64; 3], radius: f64) -> Sphere<S, 3> {
    // A coordinate beyond the range of the type is clamped to it.
    let rounded = center.map(|x| S::from_f64(x.clamp(-S::MAX.into(), S::MAX.into())));
    // A larger radius compensates for the rounded centre.
    let moved: f64 = (0..3).map(|k| (center[k] - rounded[k].into()).abs()).sum();
    Sphere::new(rounded, (radius + moved) * (1.0 + 1e-12))
}

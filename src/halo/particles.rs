//! Particles: positions, velocities, masses and ids.

use crate::error::{Error, Result};
use crate::geometry::{Boundary, BoxSize, Scalar, Space};
use crate::halo::errors;
use crate::parallel::map_tasks;

/// Three-dimensional particles: positions, and if known velocities, masses, ids and the periodic box.
#[derive(Clone, Debug)]
pub struct Particles<'a, S> {
    positions: &'a [[S; 3]],
    velocities: Option<&'a [[S; 3]]>,
    ids: Option<&'a [u64]>,
    masses: Masses<'a>,
    size: BoxSize,
}

#[derive(Clone, Copy, Debug)]
enum Masses<'a> {
    Equal(f64),
    Each(&'a [f64]),
}

/// The lower and the upper corner of a box.
pub(crate) type Corners = [[f64; 3]; 2];

/// The empty box.
const NOTHING: Corners = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];

fn join([lo, hi]: Corners, [other_lo, other_hi]: Corners) -> Corners {
    [std::array::from_fn(|k| lo[k].min(other_lo[k])), std::array::from_fn(|k| hi[k].max(other_hi[k]))]
}

/// The bounding box of all boxes; zeros if there are no boxes.
pub(crate) fn box_around(boxes: &[Corners]) -> Corners {
    if boxes.is_empty() {
        return [[0.0; 3]; 2];
    }
    // Adding 0 turns -0 into 0; `min` and `max` may return either.
    boxes.iter().copied().fold(NOTHING, join).map(|corner| corner.map(|x| x + 0.0))
}

impl<'a, S: Scalar> Particles<'a, S> {
    /// Creates particles of mass 1, with their indices as ids and without velocities. Their space is that of the halos
    /// or centres with which they are used, or open space if that is unknown.
    pub fn new(positions: &'a [[S; 3]]) -> Self {
        Self { positions, velocities: None, ids: None, masses: Masses::Equal(1.0), size: BoxSize::default() }
    }

    /// Sets the velocity of each particle, in the order of the positions. Default: none.
    #[must_use]
    pub fn velocities(mut self, velocities: &'a [[S; 3]]) -> Self {
        self.velocities = Some(velocities);
        self
    }

    /// Sets the id of each particle, in the order of the positions. Default: the index of the particle.
    #[must_use]
    pub fn ids(mut self, ids: &'a [u64]) -> Self {
        self.ids = Some(ids);
        self
    }

    /// Sets one mass for all particles. Default: 1.
    #[must_use]
    pub fn mass(mut self, mass: f64) -> Self {
        self.masses = Masses::Equal(mass);
        self
    }

    /// Sets the mass of each particle, in the order of the positions. Default: 1.
    #[must_use]
    pub fn masses(mut self, masses: &'a [f64]) -> Self {
        self.masses = Masses::Each(masses);
        self
    }

    /// Sets the side of the periodic box, or one side per axis, in the unit of the positions; `None` for the space of
    /// the halos or centres. Default: `None`. Functions return an error for halos or centres of another space.
    #[must_use]
    pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
        self.size = size.into();
        self
    }

    #[doc(hidden)]
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Returns `true` if there are no particles.
    #[doc(hidden)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Computes the lower and the upper corner of the bounding box of all particles; zeros if there are no particles.
    pub fn extent(&self) -> ([f64; 3], [f64; 3]) {
        let [lo, hi] = box_around(&map_tasks(self.positions.len(), 1 << 16, &|range| {
            range.map(|i| [self.position(i); 2]).fold(NOTHING, join)
        }));
        (lo, hi)
    }

    #[doc(hidden)]
    pub fn position(&self, i: usize) -> [f64; 3] {
        self.positions[i].map(Into::into)
    }

    #[doc(hidden)]
    pub fn mass_of(&self, i: usize) -> f64 {
        match self.masses {
            Masses::Equal(mass) => mass,
            Masses::Each(masses) => masses[i],
        }
    }

    pub(crate) fn positions(&self) -> &'a [[S; 3]] {
        self.positions
    }

    #[doc(hidden)]
    pub fn has_velocities(&self) -> bool {
        self.velocities.is_some()
    }

    /// Returns the velocity of a particle; zero if velocities are unknown.
    #[doc(hidden)]
    pub fn velocity(&self, i: usize) -> [f64; 3] {
        self.velocities.map_or([0.0; 3], |velocities| velocities[i].map(Into::into))
    }

    /// Returns the id of a particle; its index if ids are unknown.
    #[doc(hidden)]
    pub fn id(&self, i: usize) -> u64 {
        self.ids.map_or(i as u64, |ids| ids[i])
    }

    /// Returns the space set by [`Particles::periodic`].
    #[doc(hidden)]
    pub fn boundary(&self) -> Result<Boundary> {
        Boundary::from_box_size(&self.size)
    }

    /// Checks the requirements of energies: finite positions and velocities, and positive masses with a finite sum.
    pub(crate) fn check_for_energies(&self, labelled: usize) -> Result<()> {
        self.check(labelled)?;
        crate::bvh::check(self.positions, &Space::OPEN)?;
        if self.velocities.is_none() {
            let message = "energies need the velocities of the particles";
            return Err(Error::missing("velocities", message));
        }
        let masses = || (0..self.positions.len()).map(|i| self.mass_of(i));
        if let Some((index, mass)) = masses().enumerate().find(|&(_, mass)| mass == 0.0) {
            return Err(errors::no_mass(index, mass));
        }
        let total: f64 = masses().sum();
        if total == f64::INFINITY {
            return Err(Error::parameter_must("the sum of all masses", total, "finite"));
        }
        Ok(())
    }

    #[doc(hidden)]
    pub fn check(&self, labelled: usize) -> Result<()> {
        let points = self.positions.len();
        let lengths = [
            ("labels", Some(labelled)),
            ("velocities", self.velocities.map(<[_]>::len)),
            ("ids", self.ids.map(<[_]>::len)),
            ("masses", if let Masses::Each(masses) = self.masses { Some(masses.len()) } else { None }),
        ];
        for (what, len) in lengths {
            if let Some(len) = len.filter(|&len| len != points) {
                return Err(Error::length(what, len, points));
            }
        }
        match &self.masses {
            Masses::Equal(mass) => check_masses(&[*mass])?,
            Masses::Each(masses) => check_masses(masses)?,
        }
        self.velocities.map_or(Ok(()), check_velocities)
    }
}

/// Returns an error if a velocity is not finite, which would affect its whole halo.
pub fn check_velocities<S: Scalar>(velocities: &[[S; 3]]) -> Result<()> {
    let is_bad = |velocity: &[S; 3]| velocity.iter().any(|&v| !Into::<f64>::into(v).is_finite());
    let bad = map_tasks(velocities.len(), 1 << 16, &|range| {
        let start = range.start;
        velocities[range].iter().position(is_bad).map(|at| start + at)
    });
    let Some(index) = bad.into_iter().flatten().next() else { return Ok(()) };
    let velocity: [f64; 3] = velocities[index].map(Into::into);
    let axis = velocity.iter().position(|v| !v.is_finite()).unwrap_or(0);
    Err(errors::velocity(index, axis, velocity[axis]))
}

/// Returns an error if a mass is negative or not finite.
pub fn check_masses(masses: &[f64]) -> Result<()> {
    match masses.iter().position(|mass| !(0.0..f64::INFINITY).contains(mass)) {
        Some(index) => Err(Error::mass(index, masses[index])),
        None => Ok(()),
    }
}

//! The options of unbinding: which particles count as bound, and how many a round removes.

use crate::error::{Error, Result};

/// The rules by which unbound particles are removed: options for [`Subhalos::unbind`](crate::Subhalos::unbind) and
/// [`Halos::unbind`](crate::Halos::unbind).
///
/// 1. Structures are looked at from the inside out: when one's turn comes, those in it are done.
/// 2. The energy of a particle i of the structure's own, for its mass, is that of the potential of all j that are bound so far, its
///    own particles as well as those of structures in it:
///
///    ```text
///    E(i) = |v(i) - V + hubble_flow (x(i) - X)|² / 2 - gravity * sum over j != i of m(j) / sqrt(|x(i) - x(j)|² + softening²)
///    ```
///
///    V and X are the mean velocity and place, weighted by mass, of its own particles alone: what moves in it does not move it.
/// 3. Particles of E > 0 are unbound, and each round removes them; those of E = 0 stay. If they are more than `max_removed` of its own
///    particles, the round removes only so many with the largest speed in E, for V is not to be trusted yet: at least one; those that are
///    equally fast together, which if that is too many wait for faster ones. The last round removes none.
/// 4. What leaves a structure goes to the one that it is in, and counts there as one of its own; what leaves a halo is in none.
/// 5. A structure with fewer than `min_members` particles of its own is dissolved. All of them leave it, and the structures in it are
///    those of its parent; without a parent they are halos.
///
/// Every comparison is as sums over all pairs in `f64` have it (without softening the terms of coincident pairs are left out), though few
/// sums are made. The result depends neither on the number of threads nor on the order of the particles.
///
/// Others differ. SUBFIND takes the potential of a structure's own particles alone, and of the unbound ones those of the largest
/// energies. AHF takes the potential of spherical shells, and particles faster than 1.5 times the escape velocity leave. Rockstar takes
/// the potential of all particles, bound or not, once. All of them add the Hubble flow; here there is none unless it is told.
///
/// Positions, masses and velocities have the units that `gravity` has, as for [`measure_structure`](crate::halo::measure_structure). Comoving
/// positions and peculiar velocities take Newton's constant over the scale factor, which is what
/// [`Conversion::gravity`](crate::units::Conversion::gravity) returns; the softening is then comoving, too.
///
/// ```
/// use ropewalk::halo::Unbinding;
/// use ropewalk::{Fof, Particles};
///
/// // A square, and a particle that passes by at the speed of 5.
/// let points = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.5, 0.5, 0.5]];
/// let velocities = [[0.0f32; 3], [0.0; 3], [0.0; 3], [0.0; 3], [5.0, 0.0, 0.0]];
/// let particles = Particles::new(&points).velocities(&velocities);
/// let bound = Fof::new(1.0).run(&points)?.unbind(&particles, &Unbinding::new(1.0).min_members(2))?;
/// assert_eq!(bound.structures.labels().as_slice(), [0, 0, 0, 0, -1]);
/// assert_eq!((bound.rows[0].mass, bound.rows[0].velocity, bound.rows[0].rounds), (4.0, [0.0; 3], 2));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Unbinding {
    pub(super) gravity: f64,
    pub(super) softening: f64,
    pub(super) hubble_flow: f64,
    pub(super) max_removed: f64,
    pub(super) min_members: usize,
}

impl Unbinding {
    /// With this constant of gravity, without softening or Hubble flow; a round removes a quarter of the particles at most, and 20 make a
    /// structure.
    pub fn new(gravity: f64) -> Self {
        Self { gravity, softening: 0.0, hubble_flow: 0.0, max_removed: 0.25, min_members: 20 }
    }

    /// The Plummer softening length, as for [`Center::MostBound`](crate::Center::MostBound).
    #[must_use]
    pub fn softening(mut self, softening: f64) -> Self {
        self.softening = softening;
        self
    }

    /// The velocity by which space expands per length: the Hubble rate for physical positions, and times the scale factor for comoving
    /// ones (100 km/s for each Mpc/h today). For peculiar velocities; it counts little but in the outskirts.
    #[must_use]
    pub fn hubble_flow(mut self, rate: f64) -> Self {
        self.hubble_flow = rate;
        self
    }

    /// The largest part of a structure's own particles that one round removes; 1 for all that are unbound.
    #[must_use]
    pub fn max_removed(mut self, part: f64) -> Self {
        self.max_removed = part;
        self
    }

    /// The least number of particles of a structure's own.
    #[must_use]
    pub fn min_members(mut self, members: usize) -> Self {
        self.min_members = members;
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        let is_positive = |value: f64| value > 0.0 && value < f64::INFINITY;
        let checks = [
            ("gravity", self.gravity, is_positive(self.gravity), "positive and finite"),
            ("softening", self.softening, (0.0..f64::INFINITY).contains(&self.softening), "finite and not negative"),
            (
                "hubble_flow",
                self.hubble_flow,
                (0.0..f64::INFINITY).contains(&self.hubble_flow),
                "finite and not negative",
            ),
            (
                "max_removed",
                self.max_removed,
                self.max_removed > 0.0 && self.max_removed <= 1.0,
                "more than 0, at most 1",
            ),
        ];
        match checks.into_iter().find(|&(_, _, holds, _)| !holds) {
            Some((name, value, _, must)) => Err(Error::parameter_must(name, value, must)),
            None => Ok(()),
        }
    }
}

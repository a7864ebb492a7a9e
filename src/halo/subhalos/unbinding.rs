//! Options of unbinding: the definition of bound particles, and the maximum number of particles removed per round.

use crate::error::{Error, Result};

/// The rules for removing unbound particles: options for [`Subhalos::unbind`](crate::halo::Subhalos::unbind) and
/// [`Halos::unbind`](crate::Halos::unbind).
///
/// 1. Structures are processed from the inside out: nested structures before the structures that contain them.
/// 2. The specific energy of a particle i of the structure's own particles is computed in the potential of all
///    remaining particles j. These are the own particles that are not removed so far, and the bound particles of
///    nested structures:
///
///    ```text
///    E(i) = |v(i) - V + hubble_flow (x(i) - X)|² / 2 - gravity * sum over j != i of m(j) / sqrt(|x(i) - x(j)|² + softening²)
///    ```
///
///    V and X are the mass-weighted mean velocity and position of the own particles only, so nested structures do not
///    affect them.
/// 3. Each round removes the unbound particles, those with E > 0; particles with E = 0 stay. If these are more than
///    `max_removed` of the own particles, the round removes only that many, those with the largest speed in E, because
///    V is not yet reliable. At least one particle is removed. Equally fast particles are removed together; if these
///    are too many, only faster ones are removed. The last round removes no particles.
/// 4. Particles removed from a structure join its parent as own particles; those removed from a halo belong to no
///    structure.
/// 5. A structure with fewer than `min_members` own particles is dissolved. Its own particles are removed from it. Its
///    nested structures become those of its parent, or halos if it has no parent.
///
/// All comparisons agree with sums over all pairs in `f64`, though few of these sums are computed. Without softening
/// the terms of coincident pairs are omitted. The result depends neither on the number of threads nor on the order of
/// the particles.
///
/// Other programs differ. SUBFIND uses the potential of a structure's own particles only, and removes those unbound
/// particles with the largest energies. AHF uses the potential of spherical shells, and removes particles faster than
/// 1.5 times the escape velocity. Rockstar computes the potential once, of all particles, bound or not. All of them
/// add the Hubble flow; here it is 0 unless specified.
///
/// Positions, masses and velocities must be in the units of `gravity`, as for
/// [`measure_structure`](crate::halo::measure_structure). For comoving positions and peculiar velocities, `gravity` is
/// Newton's constant over the scale factor, as returned by [`Conversion::gravity`](crate::units::Conversion::gravity).
/// The softening is then comoving, too.
///
/// ```
/// use ropewalk::halo::{Particles, Unbinding};
/// use ropewalk::Fof;
///
/// // A square, and a particle that passes by at a speed of 5.
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
    /// Creates the rules for a constant of gravity, positive and in the units of positions, masses and velocities. By
    /// default, there is no softening or Hubble flow, a round removes at most a quarter of the own particles, and a
    /// structure has at least 20.
    pub fn new(gravity: f64) -> Self {
        Self { gravity, softening: 0.0, hubble_flow: 0.0, max_removed: 0.25, min_members: 20 }
    }

    /// Sets the Plummer softening length of the potential, in the unit of the positions and not negative, as for
    /// [`Center::MostBound`](crate::Center::MostBound). Default: 0.
    #[must_use]
    pub fn softening(mut self, softening: f64) -> Self {
        self.softening = softening;
        self
    }

    /// Sets the expansion velocity of space per length, not negative. For physical positions it is the Hubble rate, for
    /// comoving positions the rate times the scale factor (100 km/s per Mpc/h today). It applies to peculiar
    /// velocities, and matters little except in the outskirts. Default: 0.
    #[must_use]
    pub fn hubble_flow(mut self, rate: f64) -> Self {
        self.hubble_flow = rate;
        self
    }

    /// Sets the maximum fraction of a structure's own particles that one round removes, above 0 and at most 1; 1 for
    /// all unbound particles. Default: 0.25.
    #[must_use]
    pub fn max_removed(mut self, part: f64) -> Self {
        self.max_removed = part;
        self
    }

    /// Sets the minimum number of own particles of a structure. Default: 20.
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
                "above 0 and at most 1",
            ),
        ];
        match checks.into_iter().find(|&(_, _, holds, _)| !holds) {
            Some((name, value, _, must)) => Err(Error::parameter_must(name, value, must)),
            None => Ok(()),
        }
    }
}

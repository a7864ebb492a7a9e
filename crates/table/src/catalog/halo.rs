//! A row of a catalogue: one halo.

/// One halo of a [`Catalog`](crate::Catalog), in the units of the particles.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Halo {
    /// The smallest id among the members with the halo's label, which excludes members of subhalos. The smallest
    /// index, if particles have no ids.
    pub tag: u64,
    /// The number of members of the halo.
    pub count: usize,
    /// The total mass of the members.
    pub mass: f64,
    /// The mass including particles that were attached to the halo; equals [`mass`](Halo::mass) if there are none.
    pub total_mass: f64,
    /// The centre of mass, within `[0, L)` of a periodic box.
    ///
    /// Each member counts at its periodic image nearest to the first member. For a halo wider than half the box, the
    /// centre of mass can therefore depend on the choice of the first member.
    pub center: [f64; 3],
    /// The mass-weighted mean velocity, and the one-dimensional dispersion about it:
    /// `sqrt(sum m |v - mean|^2 / (3 sum m))`.
    pub motion: Option<Motion>,
    /// The root mean square distance of the members from the centre of mass, weighted by mass.
    pub rms_radius: f64,
    /// The distance of the farthest member from the centre of mass.
    pub max_radius: f64,
}

/// The motion of a halo's members.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Motion {
    /// The mass-weighted mean velocity of the members.
    pub mean: [f64; 3],
    /// The one-dimensional velocity dispersion about the mean.
    pub dispersion: f64,
}

//! A row of a catalogue: one halo.

/// One halo of a [`Catalog`](crate::Catalog); units are those of the particles.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Halo {
    /// The smallest id among the members that have the halo's label, which are all but those of subhalos; the smallest index where
    /// particles have no ids.
    pub tag: u64,
    /// How many members.
    pub count: usize,
    /// The sum of their masses.
    pub mass: f64,
    /// The mass with that of particles which were attached to the halo: [`mass`](Halo::mass) where there are none.
    pub total_mass: f64,
    /// The centre of mass, within `[0, L)` of a periodic box.
    ///
    /// Every member counts at its image nearest to the first member. A halo wider than half the box can be torn by that: its
    /// centre of mass depends on which member is the first.
    pub center: [f64; 3],
    /// The mass-weighted mean velocity, and the one-dimensional dispersion about it: `sqrt(sum m |v - mean|^2 / (3 sum m))`.
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
    /// The mass-weighted mean velocity.
    pub mean: [f64; 3],
    /// The one-dimensional dispersion about the mean.
    pub dispersion: f64,
}

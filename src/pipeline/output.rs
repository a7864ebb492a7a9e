//! What the pipeline returns.

use super::{Largest, Note};
use crate::columns::Meta;
use crate::halo::{Catalog, Centers, Halos, Profile, Subhalos, Universe};

/// Everything that [`run`](super::run) finds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Output {
    /// The halos, with the labels of all particles; by AdaptaHOP as [`Found::halos`](super::Found::halos) has them.
    pub halos: Halos,
    /// What each halo and subhalo is in, if AdaptaHOP found them.
    pub subhalos: Option<Subhalos>,
    /// A row for each halo.
    pub catalog: Catalog,
    /// The centre of each halo, in the order of `halos`, if the options ask for centres.
    pub centers: Option<Centers>,
    /// The largest halos, if the options ask for profiles.
    pub largest: Option<Largest>,
    /// The profile of each of the largest halos.
    pub profiles: Vec<Profile>,
    /// Entries for the header of the catalogue.
    pub meta: Vec<(&'static str, Meta)>,
    /// What the user should know beside the results.
    pub notes: Vec<Note>,
    /// The cosmology and the units.
    pub universe: Universe,
}

/// What [`Pipeline::measure`](super::Pipeline::measure) finds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measured {
    /// A row for each halo.
    pub catalog: Catalog,
    /// The centre of each halo, in the order of the halos, if the options ask for centres.
    pub centers: Option<Centers>,
    /// What the user should know.
    pub notes: Vec<Note>,
}

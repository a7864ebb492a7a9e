//! The results of the pipeline.

use ropewalk::halo::{Centers, Halos, Profile, Subhalos, Universe};
use ropewalk_table::Catalog;
use ropewalk_table::columns::Meta;

use super::{Largest, Note};

/// The results of [`run`](super::run).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Output {
    /// The halos, with the labels of all particles. With AdaptaHOP as in
    /// [`FoundHalos::halos`](super::FoundHalos::halos).
    pub halos: Halos,
    /// The hierarchy of halos and subhalos, if AdaptaHOP found them.
    pub subhalos: Option<Subhalos>,
    /// The catalogue, with a row for each halo.
    pub catalog: Catalog,
    /// The centre of each halo, in the order of `halos`, if the options request centres.
    pub centers: Option<Centers>,
    /// The largest halos, if the options request profiles.
    pub largest: Option<Largest>,
    /// The profile of each of the largest halos.
    pub profiles: Vec<Profile>,
    /// The entries for the header of the catalogue.
    pub meta: Vec<(&'static str, Meta)>,
    /// Notes for the user.
    pub notes: Vec<Note>,
    /// The cosmology and the units.
    pub universe: Universe,
}

/// The results of [`Pipeline::measure`](super::Pipeline::measure).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measured {
    /// The catalogue, with a row for each halo.
    pub catalog: Catalog,
    /// The centre of each halo, in the order of the halos, if the options request centres.
    pub centers: Option<Centers>,
    /// Notes for the user.
    pub notes: Vec<Note>,
}

//! Halos as the pipeline finds them, with what was attached to them and unbound from them.

use std::fmt;

use ropewalk::Result;
use ropewalk::halo::{BoundStructure, Center, Centers, Halos, Subhalos};

use super::Attached;

/// Halos, and what finds their centres.
pub struct Found<'a> {
    /// The halos; by AdaptaHOP all halos and subhalos, each with what is in it: [`Subhalos::nested`].
    pub halos: Halos,
    /// What each of them is in, if AdaptaHOP found them.
    pub subhalos: Option<Subhalos>,
    /// What unbinding found, if it was asked for.
    pub unbound: Option<Unbound>,
    /// Particles that joined them, if there are any: [`Pipeline::attach`](super::Pipeline::attach).
    pub attached: Option<Attached<'a>>,
    pub(super) density: Option<Vec<f64>>,
    pub(super) on_device: Option<OnDevice<'a>>,
}

/// What is known of halos and subhalos whose unbound particles are removed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Unbound {
    /// Of each of [`Found::halos`].
    pub rows: Vec<BoundStructure>,
    /// The mass of each before, with that of all subhalos in it.
    pub found_masses: Vec<f64>,
    /// How many halos and subhalos are no more.
    pub n_dissolved: usize,
    /// How many particles are in no halo any more.
    pub n_particles: usize,
}

impl Found<'_> {
    /// The density of each particle in units of the mean density, if HOP or AdaptaHOP found the halos.
    pub fn density(&self) -> Option<&[f64]> {
        self.subhalos.as_ref().map(Subhalos::density).or(self.density.as_deref())
    }
}

/// Finds the centres of all halos on a device.
pub(super) type OnDevice<'a> = Box<dyn Fn(Center) -> Result<Centers> + 'a>;

impl fmt::Debug for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Found").field("halos", &self.halos).field("on_device", &self.on_device.is_some()).finish()
    }
}

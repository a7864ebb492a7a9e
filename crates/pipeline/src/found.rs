//! Halos as the pipeline finds them, with what was attached to them and unbound from them.

use std::borrow::Cow;
use std::fmt;

use ropewalk::Result;
use ropewalk::distributed;
use ropewalk::halo::{BoundStructure, Center, Centers, Halos, Subhalos};

use super::Attached;
use super::shared::Shared;

/// Halos, and what finds their centres.
pub struct Found<'a> {
    /// The halos of this rank; by AdaptaHOP all halos and subhalos, each with what is in it: [`Subhalos::nested`]. Across ranks members are
    /// places in [`distributed::Halos::indices`] of [`Found::across`].
    pub halos: Halos,
    /// What each of them is in, if AdaptaHOP found them.
    pub subhalos: Option<Subhalos>,
    /// What unbinding found, if it was asked for.
    pub unbound: Option<Unbound>,
    /// Particles that joined them, if there are any: [`Pipeline::attach`](super::Pipeline::attach).
    pub attached: Option<Attached<'a>>,
    pub(super) density: Option<Vec<f64>>,
    pub(super) on_device: Option<OnDevice<'a>>,
    /// This rank's part of the halos of all ranks, if there are several.
    pub(super) shared: Option<Box<Shared<'a>>>,
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
    /// Halos of which nothing more is known.
    pub(super) fn of(halos: Halos) -> Self {
        Self { halos, subhalos: None, unbound: None, attached: None, density: None, on_device: None, shared: None }
    }

    /// The halos of all ranks, if there are several.
    pub fn across(&self) -> Option<&distributed::Halos> {
        self.shared.as_ref().map(|shared| &shared.halos)
    }

    /// The group of each particle of this rank, -1 for none, also where it has fewer members than a halo has at least. All ranks number groups
    /// alike.
    pub fn labels(&self) -> Cow<'_, [i32]> {
        match self.across() {
            // Finding has counted them.
            Some(halos) => halos.labels().as_slice().iter().map(|&label| label as i32).collect(),
            None => self.halos.labels().as_slice().into(),
        }
    }

    /// The number of groups on all ranks, large and small.
    pub fn n_groups(&self) -> u64 {
        self.across().map_or_else(|| self.halos.labels().n_clusters() as u64, |halos| halos.labels().n_clusters())
    }

    /// The number of halos on all ranks.
    pub fn n_halos(&self) -> u64 {
        self.across().map_or(self.halos.len() as u64, distributed::Halos::len)
    }

    /// The density of each particle of this rank in units of the mean density, if HOP or AdaptaHOP found the halos.
    pub fn density(&self) -> Option<&[f64]> {
        let of_one = || self.subhalos.as_ref().map(Subhalos::density).or(self.density.as_deref());
        self.across().map_or_else(of_one, distributed::Halos::density)
    }
}

/// Finds the centres of all halos on a device.
pub(super) type OnDevice<'a> = Box<dyn Fn(Center) -> Result<Centers> + 'a>;

impl fmt::Debug for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Found").field("halos", &self.halos).field("on_device", &self.on_device.is_some()).finish()
    }
}

//! Halos as the pipeline finds them, with attached and unbound particles.

use std::borrow::Cow;
use std::fmt;

use ropewalk::Result;
use ropewalk::distributed;
use ropewalk::halo::{BoundStructure, Center, Centers, Halos, Subhalos};

use super::Attached;
use super::shared::RankHalos;

/// The halos that a pipeline has found.
pub struct FoundHalos<'a> {
    /// The halos of this rank. With AdaptaHOP these are all halos and subhalos, each with its nested subhalos:
    /// [`Subhalos::nested`]. Across ranks, members are indices into [`distributed::Halos::indices`] of
    /// [`FoundHalos::across`].
    pub halos: Halos,
    /// The hierarchy of halos and subhalos, if AdaptaHOP found them.
    pub subhalos: Option<Subhalos>,
    /// The results of unbinding, if the options request it.
    pub unbound: Option<Unbound>,
    /// Particles that joined halos, after [`Pipeline::attach`](super::Pipeline::attach).
    pub attached: Option<Attached<'a>>,
    pub(super) density: Option<Vec<f64>>,
    pub(super) on_device: Option<OnDevice<'a>>,
    /// This rank's part of the halos of all ranks, if there are several ranks.
    pub(super) shared: Option<Box<RankHalos<'a>>>,
}

/// The results of removing unbound particles from halos and subhalos.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Unbound {
    /// The structure of each of [`FoundHalos::halos`].
    pub rows: Vec<BoundStructure>,
    /// The mass of each of [`FoundHalos::halos`] before unbinding, including nested subhalos.
    pub found_masses: Vec<f64>,
    /// The number of halos and subhalos that were dropped.
    pub n_dissolved: usize,
    /// The number of particles that became ungrouped.
    pub n_particles: usize,
}

impl FoundHalos<'_> {
    /// Returns halos without any further data.
    pub(super) fn new(halos: Halos) -> Self {
        Self { halos, subhalos: None, unbound: None, attached: None, density: None, on_device: None, shared: None }
    }

    /// Returns the halos of all ranks, if there are several ranks.
    pub fn across(&self) -> Option<&distributed::Halos> {
        self.shared.as_ref().map(|shared| &shared.halos)
    }

    /// Returns the group of each particle of this rank, -1 for none. Groups too small for a halo have labels, too.
    /// All ranks use the same numbers. [`HaloRows`](super::HaloRows) converts them to rows of the catalogue.
    pub fn labels(&self) -> Cow<'_, [i32]> {
        match self.across() {
            // Labels are below 2^31: `check_clusters` in `find_across`.
            Some(halos) => halos.labels().as_slice().iter().map(|&label| label as i32).collect(),
            None => self.halos.labels().as_slice().into(),
        }
    }

    /// Returns the number of groups of any size on all ranks.
    pub fn n_groups(&self) -> u64 {
        self.across().map_or_else(|| self.halos.labels().n_clusters() as u64, |halos| halos.labels().n_clusters())
    }

    /// Returns the number of halos on all ranks.
    pub fn n_halos(&self) -> u64 {
        self.across().map_or(self.halos.len() as u64, distributed::Halos::len)
    }

    /// Returns the density of each particle of this rank in units of the mean density. `None` for friends of friends.
    pub fn density(&self) -> Option<&[f64]> {
        let of_one = || self.subhalos.as_ref().map(Subhalos::density).or(self.density.as_deref());
        self.across().map_or_else(of_one, distributed::Halos::density)
    }
}

/// A function that finds the centres of all halos on a device.
pub(super) type OnDevice<'a> = Box<dyn Fn(Center) -> Result<Centers> + 'a>;

impl fmt::Debug for FoundHalos<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("FoundHalos").field("halos", &self.halos).field("on_device", &self.on_device.is_some()).finish()
    }
}

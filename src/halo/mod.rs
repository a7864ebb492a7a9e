//! Halos: groups of points, their centres, overdensities, profiles, structure and subhalos. [`Fof`](crate::Fof),
//! [`Hop`](crate::Hop) and [`AdaptaHop`] find them.

mod attach;
pub(crate) mod centers;
mod cosmology;
mod errors;
mod nfw;
pub(crate) mod overdensity;
pub(crate) mod particles;
mod profile;
mod shell;
pub(crate) mod sphere_search;
mod structure;
mod subhalos;
mod universe;

pub use crate::cluster::{HaloMembers, Halos};
pub use crate::mass_sum::MassSum;
pub use centers::{Center, CenterFinder, CenterPositions, Centers, HaloCenter, NoCenter};
pub use cosmology::{Cosmology, MassFunction};
pub use nfw::NfwFit;
pub use overdensity::{NoSphere, Overdensity, SphericalOverdensity, overdensities};
pub use particles::Particles;
pub use profile::{Profile, Profiles, Resolution, profiles};
pub use shell::Shell;
pub use structure::{Structure, measure_structure};
pub use subhalos::{AdaptaHop, AdaptaHopAlgorithm, Subhalo, SubhaloSelection, Subhalos};
pub use subhalos::{Bound, BoundStructure, Unbinding};
pub use universe::{Background, CosmologyParameter, StatedUniverse, Universe, UniverseOptions};

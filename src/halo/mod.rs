//! Halos: groups of points, their centres, catalogues, overdensities and profiles, and the pipeline from a snapshot to a catalogue.
//! [`Fof`](crate::Fof), [`Hop`](crate::Hop) and [`AdaptaHop`] find them.

mod attach;
mod catalog;
pub(crate) mod centers;
mod cosmology;
mod mass_counts;
mod nfw;
mod overdensity;
mod particles;
#[cfg(feature = "io")]
pub mod pipeline;
mod profile;
mod sphere_search;
mod structure;
mod subhalos;

pub use crate::cluster::{HaloMembers, Halos};
#[cfg(feature = "parquet")]
pub(crate) use catalog::ecsv_header;
pub use catalog::{Catalog, Column, Halo, Meta, Motion, Values, csv_name, meta_in_units, write_csv, write_ecsv};
#[cfg(feature = "io")]
pub(crate) use catalog::{Head, rows_of, write_header};
pub use centers::{Center, CenterFinder, Centers, HaloCenter, NoCenter, Places};
pub use cosmology::{Cosmology, MassFunction};
pub use mass_counts::{Expected, MassCounts};
pub use nfw::NfwFit;
pub use overdensity::{NoSphere, Overdensity, SphericalOverdensity, overdensities};
pub use particles::Particles;
pub use profile::{Profile, Profiles, Resolution, Shell, profiles};
pub use structure::{Structure, measure_structure};
pub use subhalos::{AdaptaHop, AdaptaHopAlgorithm, Subhalo, SubhaloSelection, Subhalos};
pub use subhalos::{Bound, BoundStructure, Unbinding};

//! Halos: groups of points, their centres, catalogues, overdensities and profiles, and the pipeline from a snapshot to a catalogue.
//! [`Fof`](crate::Fof), [`Hop`](crate::Hop) and [`AdaptaHop`] find them.

#[cfg(feature = "halos")]
mod attach;
#[cfg(feature = "halos")]
mod catalog;
#[cfg(feature = "halos")]
pub(crate) mod centers;
#[cfg(feature = "halos")]
mod cosmology;
mod groups;
#[cfg(feature = "halos")]
mod header_entry;
#[cfg(feature = "halos")]
mod mass_counts;
#[cfg(feature = "halos")]
mod nfw;
#[cfg(feature = "halos")]
mod overdensity;
#[cfg(feature = "halos")]
mod particles;
#[cfg(feature = "io")]
pub mod pipeline;
#[cfg(feature = "halos")]
mod profile;
#[cfg(feature = "halos")]
mod shell;
#[cfg(feature = "halos")]
mod sphere_search;
#[cfg(feature = "halos")]
mod structure;
mod subhalos;

#[cfg(feature = "parquet")]
pub(crate) use catalog::ecsv_header;
#[cfg(feature = "halos")]
pub use catalog::{Catalog, Column, Halo, Motion, Values, csv_name, meta_in_units, write_csv, write_ecsv};
#[cfg(feature = "io")]
pub(crate) use catalog::{Head, rows_of, write_header};
#[cfg(feature = "halos")]
pub use centers::{Center, CenterFinder, Centers, HaloCenter, NoCenter, Places};
#[cfg(feature = "halos")]
pub use cosmology::{Cosmology, MassFunction};
pub use groups::{HaloMembers, Halos};
#[cfg(feature = "halos")]
pub use header_entry::Meta;
#[cfg(feature = "halos")]
pub use mass_counts::{Expected, MassCounts};
#[cfg(feature = "halos")]
pub use nfw::NfwFit;
#[cfg(feature = "halos")]
pub use overdensity::{NoSphere, Overdensity, SphericalOverdensity, overdensities};
#[cfg(feature = "halos")]
pub use particles::Particles;
#[cfg(feature = "halos")]
pub use profile::{Profile, Profiles, Resolution, profiles};
#[cfg(feature = "halos")]
pub use shell::Shell;
#[cfg(feature = "halos")]
pub use structure::{Structure, measure_structure};
pub use subhalos::{AdaptaHop, AdaptaHopAlgorithm, Subhalo, SubhaloSelection, Subhalos};
#[cfg(feature = "halos")]
pub use subhalos::{Bound, BoundStructure, Unbinding};

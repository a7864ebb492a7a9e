//! Pictures of halos, clusters and meshes as PNG, SVG or PDF.
//!
//! - the cumulative and the differential mass function of a catalogue, compared with expectations,
//! - the projected density with its halos,
//! - individual halos and their profiles,
//! - clusters in the plane or in space, and the k-distance curve,
//! - values on a grid in the plane,
//! - the condensed tree of HDBSCAN*, and the dendrogram of a halo's subhalos,
//! - a shaded mesh, as PNG only.
//!
//! In: [`Particles`](ropewalk::halo::Particles) and a [`Catalog`](ropewalk_table::Catalog), points and
//! [`Labels`](ropewalk::Labels), sorted distances, or [`HdbscanClusters`](ropewalk::cluster::HdbscanClusters). Out:
//! the bytes of a file, in the format and the resolution of a [`Style`]. The particles of a projection may be
//! distributed over ranks (`projection_across`).
//!
//! Text in PNG and PDF is set in DejaVu Sans, of which a subset is compiled in. A PDF embeds it; an SVG names it
//! first and lets the viewer choose. Each file states its size in inches. SVG and PDF store lines and text as
//! vectors.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod axis;
mod axis_units;
mod canvas;
mod chart;
mod circles;
mod cluster_legend;
mod cluster_numbers;
mod clusters;
mod colors;
mod condensed_tree;
mod dendrogram;
mod density;
mod errors;
mod font;
mod gallery;
mod gallery_halo;
mod k_distances;
mod map;
mod mass_function;
mod panel;
mod pdf;
mod profiles;
#[cfg(test)]
mod print_size;
mod projection;
mod projection_across;
mod shaded;
mod slab;
mod style;
mod svg;
mod ticks;
mod window;

pub use axis_units::AxisUnits;
pub use clusters::{ClusterPicture, clusters};
pub use condensed_tree::condensed_tree;
pub use dendrogram::dendrogram;
pub use gallery::{GalleryMembers, GalleryPanel, check_gallery, gallery};
pub use gallery_halo::GalleryHalo;
pub use k_distances::k_distances;
pub use map::{Map, map};
pub use mass_function::mass_function;
pub use profiles::{ProfilePanel, profiles};
pub use projection::{LineOfSight, Projection, projection};
pub use projection_across::projection_across;
pub use shaded::{View, shaded};
pub use slab::Slab;
pub use style::{PictureFormat, Style};

pub use ropewalk_table::ExpectedMassFunction;

//! Pictures: the cumulative mass function of a catalogue as SVG, the projected density with its halos, and halos one by
//! one, as PNG; clusters in the plane as PNG, the k-distance curve, the condensed tree and the dendrogram of a halo's subhalos as
//! either.
//!
//! In: [`Particles`](crate::Particles) and a [`Catalog`](crate::Catalog); points and [`Labels`](crate::Labels); sorted
//! distances; [`HdbscanClusters`](crate::cluster::HdbscanClusters). Out: the bytes of a file, from each function.
//! Text in the PNG is set in DejaVu Sans, a part of which is compiled in; the SVG names it first and lets the viewer choose.

mod axis;
mod canvas;
mod chart;
mod clusters;
mod colors;
mod condensed_tree;
mod dendrogram;
mod density;
mod gallery;
mod k_distances;
mod mass_function;
mod projection;
mod ticks;

pub use chart::PictureFormat;
pub use clusters::clusters;
pub use condensed_tree::condensed_tree;
pub use dendrogram::dendrogram;
pub use gallery::{GalleryPanel, gallery};
pub use k_distances::k_distances;
pub use mass_function::{Expected, mass_function};
pub use projection::projection;

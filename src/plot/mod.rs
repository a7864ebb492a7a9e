//! Pictures of a catalogue: the cumulative mass function as SVG, the projected density with its halos as PNG.
//!
//! In: [`Particles`](crate::Particles) and a [`Catalog`](crate::Catalog). Out: the bytes of a file.
//! Text in the PNG is set in DejaVu Sans, a part of which is compiled in; the SVG names it first and lets the viewer choose.

mod canvas;
mod colors;
mod density;
mod mass_function;
mod projection;
mod ticks;

pub use mass_function::mass_function;
pub use projection::projection;

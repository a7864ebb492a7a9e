//! Point sets of any size for tests and benchmarks: uniform points, a lattice, mock halos, a single halo.
//!
//! In: a few parameters, or a line such as `halos:n=4e6,seed=3`. Out: `f32` points in `[0, side)`, in an order that is
//! independent of position.
//!
//! A seed gives the same bits on every machine and for any number of threads. Random numbers belong to blocks of
//! points, and all arithmetic is that of IEEE 754 or `libm`. These bits are part of the interface: a version that
//! changes them announces the change. Cost: one parallel pass; no memory besides the points and a catalogue of the
//! halos.

mod checks;
mod uniform;
mod halo;
mod halos;
mod nfw;
mod random;
mod spec;

pub use halo::Nfw;
pub use halos::{MockHalo, MockHalos};
pub use uniform::{Lattice, Uniform};

use crate::cancel::guarded;
use crate::error::Result;

/// A point set, defined by its parameters.
///
/// ```
/// use ropewalk::sample::Sample;
///
/// let sample = Sample::parse("uniform:n=1e3,seed=7")?;
/// assert_eq!(sample.to_string(), "uniform:n=1000,seed=7,box=1");
/// assert_eq!(sample.points()?.len(), sample.len());
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Sample {
    /// Independent uniform points.
    Uniform(Uniform),
    /// A cubic lattice with jitter.
    Lattice(Lattice),
    /// Clustered halos on a uniform background.
    Halos(MockHalos),
    /// One halo.
    Nfw(Nfw),
}

impl Sample {
    /// Generates the points.
    ///
    /// # Errors
    /// A parameter out of its range; more points than fit into memory.
    pub fn points(&self) -> Result<Vec<[f32; 3]>> {
        guarded(|| match self {
            Self::Uniform(uniform) => uniform.points(),
            Self::Lattice(lattice) => lattice.points(),
            Self::Halos(halos) => halos.points(),
            Self::Nfw(halo) => halo.points(),
        })
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        match self {
            Self::Uniform(uniform) => uniform.n,
            Self::Lattice(lattice) => lattice.count(),
            Self::Halos(halos) => halos.n,
            Self::Nfw(halo) => halo.n,
        }
    }

    /// Returns `true` if there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the side of the box.
    pub fn side(&self) -> f64 {
        match self {
            Self::Uniform(uniform) => uniform.side,
            Self::Lattice(lattice) => lattice.side,
            Self::Halos(halos) => halos.side,
            Self::Nfw(halo) => halo.side,
        }
    }
}

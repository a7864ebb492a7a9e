//! Point sets of any size for tests and benchmarks: uniform, a lattice, mock haloes, one halo.
//!
//! In: a few parameters, or a line such as `halos:n=4e6,seed=3`. Out: `f32` points in `[0, side)`, in an order that says
//! nothing about where they are.
//! The same bits for a seed on every machine and for any number of threads: random numbers belong to blocks of points, and
//! all arithmetic is that of IEEE 754 or of `libm`. They are part of the interface: a version that changes them says so.
//! Cost: one pass in parallel; nothing beside the points but a catalogue of the haloes.

mod checks;
mod even;
mod halo;
mod halos;
mod nfw;
mod random;
mod spec;

pub use even::{Lattice, Uniform};
pub use halo::Nfw;
pub use halos::{MockHalo, MockHalos};

use crate::cancel::guarded;
use crate::error::Result;

/// A point set by its parameters.
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
    /// Independent points.
    Uniform(Uniform),
    /// A cubic lattice with jitter.
    Lattice(Lattice),
    /// Clustered haloes on a smooth background.
    Halos(MockHalos),
    /// One halo.
    Nfw(Nfw),
}

impl Sample {
    /// The points.
    ///
    /// Errors: a parameter out of its range; more points than fit into memory.
    pub fn points(&self) -> Result<Vec<[f32; 3]>> {
        guarded(|| match self {
            Self::Uniform(uniform) => uniform.points(),
            Self::Lattice(lattice) => lattice.points(),
            Self::Halos(halos) => halos.points(),
            Self::Nfw(halo) => halo.points(),
        })
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Uniform(uniform) => uniform.n,
            Self::Lattice(lattice) => lattice.count(),
            Self::Halos(halos) => halos.n,
            Self::Nfw(halo) => halo.n,
        }
    }

    /// Whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The side of the box.
    pub fn side(&self) -> f64 {
        match self {
            Self::Uniform(uniform) => uniform.side,
            Self::Lattice(lattice) => lattice.side,
            Self::Halos(halos) => halos.side,
            Self::Nfw(halo) => halo.side,
        }
    }
}

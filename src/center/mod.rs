//! Halo centres.
//!
//! In: points and their grouping into halos. Out: a centre for each halo, by one of the definitions of [`Center`].
//! Cost: by definition, see there. Halos are done in parallel, and large ones in parallel inside.

mod bound;
mod direct;
mod field;
mod group;
mod members;

use rayon::prelude::*;

use self::direct::Deepest;
use self::members::{Members, unwrap};
use crate::error::{Kind, Result};
use crate::geometry::{Bounded, BoxSize, Scalar, Space};
use crate::halo::Halos;

/// What the centre of a halo is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Center {
    /// The most bound particle by branch and bound.
    MostBound {
        /// Plummer softening length.
        softening: f64,
    },
    /// The most bound particle by sums over all pairs.
    MostBoundBrute {
        /// Plummer softening length.
        softening: f64,
    },
}

/// How to find centres.
#[derive(Clone, Debug)]
pub struct Centering<'a> {
    center: Center,
    size: Option<BoxSize>,
    masses: Option<&'a [f64]>,
}

impl<'a> Centering<'a> {
    /// Equal masses of 1 in open space.
    pub fn new(center: Center) -> Self {
        Self { center, size: None, masses: None }
    }

    /// A periodic box: one side, or one per axis.
    #[must_use]
    pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
        self.size = Some(size.into());
        self
    }

    /// A mass for each point.
    #[must_use]
    pub fn masses(mut self, masses: &'a [f64]) -> Self {
        self.masses = Some(masses);
        self
    }

    /// Finds the centre of each halo of `points`.
    pub fn run<T: Bounded<S, 3>, S: Scalar>(&self, points: &[T], halos: &Halos) -> Result<Centers> {
        let space = self.size.clone().map_or(Ok(Space::OPEN), Space::periodic)?;
        let rows: Result<Vec<HaloCenter>> = (0..halos.len())
            .into_par_iter()
            .map(|halo| {
                let indices = halos.members(halo);
                let position = |&i: &u32| points[i as usize].bounds().center().map(Into::<f64>::into);
                let offsets = unwrap(halo, indices.iter().map(position), &space)?;
                let mass = |member: usize| self.masses.map_or(1.0, |masses| masses[indices[member] as usize]);
                let found = match self.center {
                    Center::MostBound { softening } => {
                        let members = Members::new(&offsets, mass, softening);
                        bound::most_bound(&members)?.map(|f| (f.deepest, f.pairs, members.potential(f.deepest.felt)))
                    }
                    Center::MostBoundBrute { softening } => {
                        let members = Members::new(&offsets, mass, softening);
                        let targets: Vec<u32> = (0..members.len() as u32).collect();
                        let sums = direct::sums(&members, &targets);
                        let n = members.len() as u64;
                        Deepest::of(&members, &targets, &sums).map(|d| (d, n * (n - 1), members.potential(d.felt)))
                    }
                };
                let (deepest, pairs, potential) = found.ok_or(Kind::Invariant("empty".into()))?;
                let member = indices[deepest.member as usize];
                Ok(HaloCenter { position: position(&member), member: Some(member), potential, pairs })
            })
            .collect();
        Ok(Centers { rows: rows? })
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct HaloCenter {
    pub position: [f64; 3],
    pub member: Option<u32>,
    pub potential: f64,
    pub pairs: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Centers {
    rows: Vec<HaloCenter>,
}

impl Centers {
    pub fn as_slice(&self) -> &[HaloCenter] {
        &self.rows
    }
}

//! A common type for all searches for centres, including those of the module `reference`.

use ropewalk::halo::{CenterFinder, Centers};
use ropewalk::reference::{PoissonGrid, most_bound_a_star, most_bound_poisson};
use ropewalk::{Bounded, Center, Halos, Result, Scalar};

/// A definition of centres, with the search method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CenterSearch {
    Of(Center),
    /// The most bound particle with this softening.
    AStar(f64),
    /// The approximate most bound particle with this softening.
    Poisson(f64, PoissonGrid),
}

impl From<Center> for CenterSearch {
    fn from(center: Center) -> Self {
        Self::Of(center)
    }
}

impl CenterSearch {
    /// Returns the Poisson method with the grid of the paper.
    pub fn poisson(softening: f64) -> Self {
        Self::Poisson(softening, PoissonGrid::default())
    }

    /// Returns the centres of `halos` by a finder with options.
    pub fn run<'a, T: Bounded<S, 3>, S: Scalar>(
        self,
        options: impl FnOnce(CenterFinder<'a>) -> CenterFinder<'a>,
        points: &[T],
        halos: &Halos,
    ) -> Result<Centers> {
        match self {
            Self::Of(center) => options(CenterFinder::new(center)).run(points, halos),
            Self::AStar(softening) => {
                most_bound_a_star(&options(CenterFinder::new(Center::MostBound { softening })), points, halos)
            }
            Self::Poisson(softening, grid) => {
                most_bound_poisson(&options(CenterFinder::new(Center::MostBound { softening })), grid, points, halos)
            }
        }
    }

    /// Returns the centres of `halos` with equal masses, in the space of the halos.
    pub fn centers<T: Bounded<S, 3>, S: Scalar>(self, points: &[T], halos: &Halos) -> Result<Centers> {
        self.run(|finder| finder, points, halos)
    }
}

//! Reference algorithms to compare with: brute force, and the finders of earlier papers.

mod brute_force;
mod fof_all_pairs;
mod fof_bins;
mod mbp_astar;
mod mbp_poisson;
mod points;

pub use brute_force::BruteForce;
pub use fof_all_pairs::fof_all_pairs;
pub use fof_bins::fof_bins;
pub use mbp_astar::most_bound_a_star;
pub use mbp_poisson::{PoissonGrid, most_bound_poisson};

use crate::error::{Error, ErrorKind, Result};
use crate::halo::{Center, CenterFinder};

/// Errors: a finder of other centres than the most bound particle.
fn check_most_bound(finder: &CenterFinder<'_>) -> Result<()> {
    match finder.center() {
        Center::MostBound { .. } => Ok(()),
        other => Err(Error::new(ErrorKind::Parameter, format!("the center is {other:?}; it must be MostBound"))),
    }
}

//! What ranks do together, as functions that threads run in the ordinary tests, and processes of MPI in `mpi`. A check that fails is a
//! panic.

pub mod attached;
pub mod boxes;
pub mod clusters;
pub mod communicator;
pub mod halos;
pub mod hop;
mod known;
pub mod search;
mod searched;
pub mod shares;
pub mod spheres;
pub mod tables;

use ropewalk::distributed::Communicator;

/// What all ranks call.
pub type Scenario = fn(&dyn Communicator);

/// All scenarios, by module.
pub const SCENARIOS: &[(&str, &[(&str, Scenario)])] = &[
    ("communicator", communicator::SCENARIOS),
    ("attached", attached::SCENARIOS),
    ("boxes", boxes::SCENARIOS),
    ("clusters", clusters::SCENARIOS),
    ("halos", halos::SCENARIOS),
    ("hop", hop::SCENARIOS),
    ("search", search::SCENARIOS),
    ("spheres", spheres::SCENARIOS),
    ("tables", tables::SCENARIOS),
];

/// Functions with their names.
macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        pub const SCENARIOS: &[(&str, $crate::ranks::Scenario)] = &[$((stringify!($name), $name)),*];
    };
}
use scenarios;

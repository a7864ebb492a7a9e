//! Scenarios across ranks, which run on threads in the ordinary tests and on MPI processes in `mpi`. A failed check
//! panics.

pub mod attached;
pub mod boxes;
pub mod clusters;
pub mod communicator;
pub mod halos;
pub mod hop;
mod one_process;
mod scenario;
pub mod search;
mod search_checks;
pub mod distributions;
pub mod spanning_trees;
pub mod spheres;
pub mod tables;

pub use scenario::Scenario;

/// All scenarios, by module.
pub const SCENARIOS: &[(&str, &[(&str, Scenario)])] = &[
    ("communicator", communicator::SCENARIOS),
    ("attached", attached::SCENARIOS),
    ("boxes", boxes::SCENARIOS),
    ("clusters", clusters::SCENARIOS),
    ("halos", halos::SCENARIOS),
    ("hop", hop::SCENARIOS),
    ("search", search::SCENARIOS),
    ("spanning_trees", spanning_trees::SCENARIOS),
    ("spheres", spheres::SCENARIOS),
    ("tables", tables::SCENARIOS),
];

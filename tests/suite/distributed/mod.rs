//! Ranks as threads: the scenarios that also run on MPI processes, and ranks that end before the others.

mod attached;
mod boxes;
mod clusters;
mod communicator;
mod halos;
mod hop;
mod search;
mod spanning_trees;
mod spheres;
mod tables;
mod traffic;

use common::ranks::SCENARIOS;
use ropewalk::distributed::on_threads;

/// Runs all scenarios of a module.
fn run(module: &str, sizes: &[usize]) {
    let (_, scenarios) = SCENARIOS.iter().find(|(name, _)| *name == module).unwrap();
    for (name, scenario) in *scenarios {
        for &size in sizes {
            println!("{module}::{name} on {size} ranks");
            on_threads(size, |ranks| {
                scenario(ranks);
                Ok(())
            })
            .unwrap();
        }
    }
}

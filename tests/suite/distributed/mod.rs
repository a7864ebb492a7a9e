//! Ranks that are threads: the scenarios that processes of MPI run as well, and ranks that end before the others.

mod attached;
mod boxes;
mod clusters;
mod communicator;
mod halos;
mod hop;
mod search;
mod spheres;
mod tables;
mod traffic;

use common::ranks::SCENARIOS;
use ropewalk::distributed::on_threads;

/// All scenarios of a module.
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

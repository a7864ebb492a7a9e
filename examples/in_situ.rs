//! A simulation that finds halos while it runs. Each rank passes its own arrays, which are not copied, and no files
//! are written.
//!
//! `cargo run --release --example in_situ`

use std::sync::Arc;

use ropewalk::Result;
use ropewalk::distributed::{Communicator, on_threads};
use ropewalk_io::{Masses, Points, Snapshot, Table};
use ropewalk_pipeline::{CenterKind, LinkingLength, Options, Pipeline};

/// The side of the periodic box.
const SIDE: f64 = 10.0;
const PARTICLES: usize = 3000;

/// The particles of one rank in the simulation's own arrays, which the simulation moves between two calls.
struct Simulation {
    positions: Arc<Vec<f64>>,
    velocities: Arc<Vec<f64>>,
    ids: Vec<u64>,
}

impl Simulation {
    /// Returns a part of two clumps that move towards each other across the boundary of the box.
    fn new(rank: usize, ranks: usize) -> Self {
        let own = PARTICLES * rank / ranks..PARTICLES * (rank + 1) / ranks;
        let (mut positions, mut velocities) = (vec![], vec![]);
        for i in own.clone() {
            let (center, speed) = if i % 3 == 0 { (8.5, 0.5) } else { (1.5, -0.5) };
            // A golden spiral fills the sphere evenly.
            let t = (i as f64 + 0.5) / PARTICLES as f64;
            let (z, angle) = (1.0 - 2.0 * t, 2.399_963 * i as f64);
            let (r, ring) = (0.8 * (i as f64 * 0.618_034).fract().cbrt(), (1.0 - z * z).sqrt());
            positions.extend([center + r * ring * angle.cos(), 5.0 + r * ring * angle.sin(), 5.0 + r * z]);
            velocities.extend([speed, 0.0, 0.0]);
        }
        Self { positions: positions.into(), velocities: velocities.into(), ids: own.map(|i| i as u64).collect() }
    }

    fn step(&mut self) {
        // There are no other references to the arrays at this point, so they are changed in place.
        let positions = Arc::make_mut(&mut self.positions);
        for (x, v) in positions.iter_mut().zip(self.velocities.iter()) {
            *x = (*x + v).rem_euclid(SIDE);
        }
    }

    /// Returns a snapshot that shares the arrays.
    fn snapshot(&self) -> Result<Snapshot> {
        let mut snapshot = Snapshot::new(Points::F64(Table::shared(3, self.positions.clone())?));
        snapshot.velocities = Some(Points::F64(Table::shared(3, self.velocities.clone())?));
        snapshot.ids = Some(self.ids.clone());
        (snapshot.masses, snapshot.box_size) = (Masses::Equal(1.5), Some(SIDE));
        Ok(snapshot)
    }
}

/// Returns the report of rank 0 on a step.
fn halos(ranks: &dyn Communicator, simulation: &Simulation, step: usize) -> Result<String> {
    let mut options = Options::default();
    (options.linking_length, options.center) = (LinkingLength::Length(0.2), Some(CenterKind::MostBound));
    let part = simulation.snapshot()?;
    let pipeline = Pipeline::across(ranks, &part, &options)?;
    let found = pipeline.find()?;
    // Each rank has labels of its own particles, while rows are those of all ranks.
    assert_eq!(found.labels().len(), simulation.ids.len());
    let Some(measured) = pipeline.gather(&found, &pipeline.measure(&found)?)? else { return Ok(String::new()) };
    let rows = measured.catalog.halos().iter().map(|halo| {
        let [x, y, z] = halo.center;
        format!("  halo {}: {} particles, mass {}, at ({x:.3}, {y:.3}, {z:.3})\n", halo.tag, halo.count, halo.mass)
    });
    Ok(format!("step {step}: {} halos\n{}", found.n_halos(), rows.collect::<String>()))
}

fn main() -> Result<()> {
    let said = [1, 3].map(|size| {
        // `Mpi::run` is the equivalent for processes.
        on_threads(size, |ranks| {
            let mut simulation = Simulation::new(ranks.rank(), ranks.size());
            let mut said = String::new();
            for step in 0..4 {
                said += &halos(ranks, &simulation, step)?;
                simulation.step();
            }
            Ok(said)
        })
    });
    let [one, three] = said;
    let (one, three) = (one?.concat(), three?.concat());
    print!("{three}");
    assert_eq!(one, three);
    Ok(())
}

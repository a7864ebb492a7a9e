//! `ropewalk halos`: one snapshot, or a series of them.

pub mod files;
pub mod one;
pub mod options;
pub mod others;
pub mod report;
pub mod resume;
mod series;

use std::path::PathBuf;
use std::rc::Rc;

pub use series::snapshots;

use super::args::Halos as Args;
use super::device::Device;
use super::outputs::Inputs;
use crate::failure::Failure;

/// Finds the halos of all snapshots on one device.
pub fn run(args: &Args, device: Device) -> Result<String, Failure> {
    let snapshots = snapshots(&args.snapshots, args.particles.single_part)?;
    let inputs = Rc::new(inputs(args, &snapshots));
    match &snapshots[..] {
        [snapshot] => {
            let task = one::Task { snapshot, out: &args.out, json: args.json.clone(), inputs: &inputs };
            one::run(args, &task, device)
        }
        all => series::run(args, all, &inputs, device),
    }
}

/// All files that are read: snapshots, and what belongs to their particles.
pub fn inputs(args: &Args, snapshots: &[PathBuf]) -> Inputs {
    let particles = &args.particles;
    let beside = [&particles.velocities, &particles.masses, &particles.ids].into_iter().flatten();
    Inputs::of(snapshots.iter().chain(beside))
}

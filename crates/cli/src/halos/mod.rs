//! `ropewalk halos`: finds halos in one snapshot or in a series of snapshots.

pub mod files;
pub mod snapshot;
pub mod options;
pub mod other_types;
pub mod page;
pub mod read;
pub mod report;
pub mod finished;
mod series;
pub mod writer;

use std::rc::Rc;

pub use series::snapshots;

use self::read::inputs;
use crate::args::Halos as Args;
use crate::device::Device;
use crate::failure::Failure;

/// Finds the halos of all snapshots on one device.
pub fn run(args: &Args, device: Device) -> Result<String, Failure> {
    let snapshots = snapshots(&args.snapshots, args.particles.single_part)?;
    let inputs = Rc::new(inputs(args, &snapshots));
    match &snapshots[..] {
        [snapshot] => {
            let task =
                snapshot::Task { snapshot, out: &args.out, json: args.json.clone(), inputs: &inputs, in_series: false };
            snapshot::run(args, &task, device)
        }
        all => series::run(args, all, &inputs, device),
    }
}

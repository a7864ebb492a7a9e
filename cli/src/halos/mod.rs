//! `ropewalk halos`: one snapshot, or a series of them.

pub mod files;
pub mod one;
pub mod options;
pub mod others;
pub mod report;
mod series;

pub use series::snapshots;

use super::args::Halos as Args;
use super::{Failure, across, start_threads};

pub fn run(args: &Args) -> Result<String, Failure> {
    start_threads(args.threads)?;
    let devices = args.device.find()?;
    // What cannot be is said before any file is looked for.
    options::runs(args, &args.out)?;
    let &[device] = &devices[..] else {
        return across::on_devices(&args.device, &devices, |rank| across::halos::run(args, rank));
    };
    match &snapshots(&args.snapshots, args.particles.single_part)?[..] {
        [snapshot] => {
            let task = one::Task { snapshot, out: &args.out, json: args.json.clone() };
            one::run(args, &task, device, serde_json::Value::Null)
        }
        all => series::run(args, all, device),
    }
}

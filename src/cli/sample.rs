//! `ropewalk sample`.

use ropewalk::io::{GadgetOptions, Masses, Points, Species, Table, write_gadget, write_npy};
use ropewalk::sample::Sample;

use super::args::{Sample as Args, SampleFormat};
use super::{Failure, grouped, start_threads};

pub fn run(args: &Args) -> Result<String, Failure> {
    start_threads(args.threads)?;
    let sample = Sample::parse(&args.spec)?;
    let points = sample.points()?;
    let n = points.len();
    let points = Points::F32(Table::new(3, points.into_flattened())?);
    match args.format {
        SampleFormat::Npy => write_npy(&args.out, &points)?,
        SampleFormat::Gadget => {
            let ids: Vec<u64> = (1..=n as u64).collect();
            let masses = Masses::Equal(1.0);
            // At rest: readers of this format expect velocities before ids.
            let zeros = Points::F32(Table::new(3, vec![0.0; 3 * n])?);
            let species = Species {
                particle_type: 1,
                positions: &points,
                velocities: Some(&zeros),
                ids: Some(&ids),
                masses: &masses,
            };
            let options = GadgetOptions { box_size: Some(sample.side()), ..GadgetOptions::default() };
            write_gadget(&args.out, &[species], &options)?;
        }
    }
    Ok(format!("{} points of {sample} are in {}\n", grouped(n as u64), args.out.display()))
}

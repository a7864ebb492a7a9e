//! `ropewalk sample`.

use ropewalk::io::{AtomicFile, GadgetOptions, Masses, Points, Species, Table, write_gadget, write_npy};
use ropewalk::sample::Sample;

use super::args::{Sample as Args, SampleFormat};
use super::outputs::{Column, write_csv};
use super::{Failure, grouped, start_threads};

pub fn run(args: &Args) -> Result<String, Failure> {
    start_threads(args.threads)?;
    let format = format(args)?;
    let sample = Sample::parse(&args.spec)?;
    let table = Table::new(3, sample.points()?.into_flattened())?;
    let n = table.len();
    match format {
        SampleFormat::Csv => {
            let mut out = AtomicFile::create(&args.out)?;
            write_csv(&mut out, &["x", "y", "z"], table.as_slice())
                .map_err(|error| format!("{}: cannot be written: {error}", args.out.display()))?;
            out.commit()?;
        }
        SampleFormat::Npy => write_npy(&args.out, &Points::F32(table))?,
        SampleFormat::Gadget => {
            let ids: Vec<u64> = (1..=n as u64).collect();
            let masses = Masses::Equal(1.0);
            // At rest: readers of this format expect velocities before ids.
            let zeros = Points::F32(Table::new(3, vec![0.0; 3 * n])?);
            let points = Points::F32(table);
            let species = Species {
                particle_type: 1,
                positions: &points,
                velocities: Some(&zeros),
                ids: Some(&ids),
                masses: &masses,
            };
            let options = GadgetOptions::default().box_size(sample.side());
            write_gadget(&args.out, &[species], &options)?;
        }
    }
    Ok(format!("{} points of {sample} are in {}\n", grouped(n as u64), args.out.display()))
}

/// What `--format` or the name says; they must not contradict each other.
fn format(args: &Args) -> Result<SampleFormat, Failure> {
    let named = Column::of("--out", &args.out).map(|column| match column {
        Column::Npy => SampleFormat::Npy,
        Column::Csv => SampleFormat::Csv,
    });
    match (args.format, named) {
        (None, Ok(named)) => Ok(named),
        (None, Err(error)) => Err(format!("{error}, or --format must say what it is").into()),
        (Some(format), Ok(named)) if format != named && args.out.extension().is_some() => {
            Err(format!("--out {}: its ending and --format say different formats", args.out.display()).into())
        }
        (Some(format), _) => Ok(format),
    }
}

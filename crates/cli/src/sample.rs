//! `ropewalk sample`: writes a clustered set of points.

use ropewalk::sample::Sample;
use ropewalk_io::{GadgetOptions, Masses, Points, Species, Table, write_gadget, write_npy_to};

use super::args::{Sample as Args, SampleFormat};
use super::failure::Failure;
use super::outputs::{Column, Outputs, write_csv};
use super::stdout::{Closed, is_closed_pipe, print_beside, shown};
use super::text::counted;
use super::threads::start_threads;

pub fn run(args: &Args) -> Result<String, Failure> {
    start_threads(args.threads)?;
    let format = format(args)?;
    let sample = Sample::parse(&args.spec)?;
    let table = Table::new(3, sample.points()?.into_flattened())?;
    let n = table.len();
    if format == SampleFormat::Gadget {
        let written = write_gadget_file(args, &sample, table);
        match written {
            Err(error) if args.out.as_os_str() == "-" && is_closed_pipe(&error) => return Err(Closed.into()),
            other => other?,
        }
    } else {
        let mut outputs = Outputs::files(&[&args.out], &[])?;
        outputs.write(&args.out, |out| match format {
            SampleFormat::Csv => write_csv(out, &["x", "y", "z"], table.as_slice()),
            _ => Ok(write_npy_to(out, &Points::F32(table))?),
        })?;
        outputs.commit()?;
    }
    let report = format!("{} of {sample} are in {}\n", counted(n as u64, "point"), shown(&args.out));
    if args.out.as_os_str() == "-" {
        print_beside(&report);
        return Ok(String::new());
    }
    Ok(report)
}

/// Writes the points as a snapshot of particles at rest, because readers of this format expect velocities before ids.
fn write_gadget_file(args: &Args, sample: &Sample, table: Table<f32>) -> ropewalk::Result<()> {
    let n = table.len();
    let ids: Vec<u64> = (1..=n as u64).collect();
    let masses = Masses::Equal(1.0);
    let zeros = Points::F32(Table::new(3, vec![0.0; 3 * n])?);
    let points = Points::F32(table);
    let species =
        Species { particle_type: 1, positions: &points, velocities: Some(&zeros), ids: Some(&ids), masses: &masses };
    write_gadget(&args.out, &[species], &GadgetOptions::default().box_size(sample.side()))
}

/// Returns the format of `--format`, or that of the ending of the name. Refuses endings that contradict `--format`.
fn format(args: &Args) -> Result<SampleFormat, Failure> {
    let named = Column::new("--out", &args.out).map(|column| match column {
        Column::Npy => SampleFormat::Npy,
        Column::Csv => SampleFormat::Csv,
    });
    match (args.format, named) {
        (None, Ok(named)) => Ok(named),
        (None, Err(error)) => Err(format!("{error}; or give --format").into()),
        (Some(format), Ok(named)) if format != named && args.out.extension().is_some() => {
            Err(format!("--out {}: --format contradicts the ending of the name", args.out.display()).into())
        }
        (Some(format), _) => Ok(format),
    }
}

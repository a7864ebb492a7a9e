//! `ropewalk bench`: the speed of the operations on a given set of points.
//!
//! Each operation is warmed up and its result is checked against the definition at some of the points before it is
//! timed. Results of a device are also compared with those of the CPU.

#[cfg(feature = "gpu")]
mod device;
mod host;
mod operations;
mod row;
mod scaling;
mod verify;

use std::fmt::Write;
use std::io::Write as _;

use ropewalk::Scalar;
use ropewalk::geometry::{BoxSize, Space};
use ropewalk::sample::Sample;
use ropewalk_io::{Points, ReadOptions};

use self::operations::{Case, Operation};
use self::row::Row;
use self::scaling::Scaling;
use crate::args::Bench as Args;
use crate::device::{Coordinate, Device, DevicesArg};
use crate::dimensions::with_rows;
use crate::failure::Failure;
use crate::input;
use crate::option_names;
use crate::outputs::Outputs;
use crate::periodic;
use crate::stdout::print;
use crate::text::{counted, short};

/// Times operations on one device.
pub fn run(args: &Args, device: Device) -> Result<String, Failure> {
    let mut notes = vec![];
    let points = match (&args.file, &args.sample) {
        (Some(file), _) => {
            let snapshot = ropewalk_io::read(file, &ReadOptions::default())?;
            input::check_finite(file, &snapshot.points, 0)?;
            notes.extend(option_names::notes(&snapshot.notes));
            snapshot.points
        }
        (None, Some(spec)) => Points::F32(ropewalk_io::Table::new(3, Sample::parse(spec)?.points()?.into_flattened())?),
        (None, None) => return Err("bench needs a FILE or --sample SPEC".into()),
    };
    let outside = periodic::wrapped(&points, args.periodic, None)?;
    if let Some(side) = args.periodic.filter(|_| outside > 0) {
        notes.push(format!("wrapped: {}", periodic::sentence(outside, side)));
    }
    with_rows!(&points, f32 [2, 3], f64 [2, 3], rows => measure(args, device, &points, rows, &notes)).unwrap_or_else(
        || Err(format!("points have {}; bench requires 2 or 3", counted(points.dim() as u64, "dimension")).into()),
    )
}

fn measure<S: Coordinate, const D: usize>(
    args: &Args,
    device: Device,
    table: &Points,
    points: &[[S; D]],
    notes: &[String],
) -> Result<String, Failure> {
    let space = match args.periodic {
        Some(side) => Space::periodic(side)?,
        None => Space::OPEN,
    };
    let eps = args.eps.unwrap_or_else(|| 0.2 * mean_separation(points));
    let case = Case {
        table,
        points,
        space,
        size: args.periodic.map(BoxSize::from),
        eps,
        min_samples: args.min_samples,
        min_cluster_size: args.min_cluster_size.unwrap_or(args.min_samples),
        k: args.k,
    };
    let operations = args.ops.iter().map(|name| Operation::named(name)).collect::<Result<Vec<_>, _>>()?;
    let threads = rayon::current_num_threads();
    let mut report = format!(
        "{}, {D} dimensions of {} bits, eps {}, min_samples {}, k {}, {}, {}, {}\n\n",
        counted(points.len() as u64, "point"),
        8 * size_of::<S>(),
        short(eps),
        args.min_samples,
        args.k,
        args.periodic.map_or("open".to_string(), |side| format!("periodic box of {}", short(side))),
        counted(threads as u64, "thread"),
        args.device,
    );
    report.insert_str(0, &notes.iter().map(|note| format!("note: {note}\n")).collect::<String>());
    let mut outputs = Outputs::files(
        &args.json.iter().map(AsRef::as_ref).collect::<Vec<_>>(),
        &args.file.iter().map(AsRef::as_ref).collect::<Vec<_>>(),
    )?;
    let table = Table::new(args);
    if args.scaling {
        table.print(&report)?;
        scaled(args, device, &operations, &case, &mut outputs)?;
        return Ok(String::new());
    }
    let first = match device {
        Device::Cpu => "",
        #[cfg(feature = "gpu")]
        Device::Gpu(_) => "       first",
    };
    // Writing to a string does not fail.
    _ = writeln!(
        report,
        "{:<16}{:>11}{:>11}{:>12}{:>12}{first}  check",
        "operation", "median", "min", "per second", "peak"
    );
    table.print(&report)?;
    let mut rows = Vec::new();
    for operation in operations {
        let mut report = String::new();
        let row = match device {
            Device::Cpu => host::time(&operation, &case, args.reps)?,
            #[cfg(feature = "gpu")]
            Device::Gpu(device) => device::time(&operation, &case, device, args.reps, args.phases)?,
        };
        let first = row.first.map(|first| format!("{first:>10.4} s"));
        _ = writeln!(
            report,
            "{:<16}{:>9.4} s{:>9.4} s{:>12}{:>12}{}  {}",
            row.op,
            row.median(),
            row.seconds[0],
            format!("{:.3e}", row.per_second()),
            format!("{:.1} MiB", row.peak_bytes as f64 / f64::from(1 << 20)),
            first.unwrap_or_default(),
            row.check
        );
        if args.phases {
            for (phase, seconds) in &row.phases {
                _ = writeln!(report, "  {phase:<14}{seconds:>9.4} s");
            }
        }
        // Printed at once, so that an interrupted run shows the operations that were timed before.
        table.print(&report)?;
        rows.push(row);
    }
    write_json(args, &[(threads, &rows)], &mut outputs)?;
    Ok(String::new())
}

/// The stream for the table: standard output, or standard error if the JSON goes to standard output. Lines are
/// printed as soon as they are known.
#[derive(Clone, Copy)]
enum Table {
    Stdout,
    Stderr,
}

impl Table {
    fn new(args: &Args) -> Self {
        if args.json.as_ref().is_some_and(|json| json.as_os_str() == "-") { Self::Stderr } else { Self::Stdout }
    }

    fn print(self, lines: &str) -> Result<(), Failure> {
        match self {
            Self::Stdout => print(lines),
            Self::Stderr => Ok(std::io::stderr().write_all(lines.as_bytes())?),
        }
    }
}

/// Prints the table of `--scaling`, line by line.
fn scaled<S: Scalar, const D: usize>(
    args: &Args,
    device: Device,
    operations: &[Operation],
    case: &Case<'_, S, D>,
    outputs: &mut Outputs,
) -> Result<(), Failure> {
    if !matches!(device, Device::Cpu) {
        return Err(
            format!("--scaling measures threads of the CPU; not supported with --device {}", args.device).into()
        );
    }
    let (scaling, table) = (Scaling::new(rayon::current_num_threads())?, Table::new(args));
    table.print(&scaling.head())?;
    let mut columns: Vec<(usize, Vec<Row>)> = scaling.threads().map(|threads| (threads, vec![])).collect();
    for operation in operations {
        let rows = scaling.time(operation, case, args.reps)?;
        table.print(&scaling::lines(&rows))?;
        columns.iter_mut().zip(rows).for_each(|((_, own), row)| own.push(row));
    }
    table.print(&scaling.copying())?;
    let columns: Vec<(usize, &[Row])> = columns.iter().map(|(threads, rows)| (*threads, &rows[..])).collect();
    write_json(args, &columns, outputs)
}

/// Returns the side of the cube that holds one point on average, in the smallest box around all points.
fn mean_separation<S: Scalar, const D: usize>(points: &[[S; D]]) -> f64 {
    let volume: f64 = (0..D)
        .map(|k| {
            let coordinates = points.iter().map(|point| Into::<f64>::into(point[k]));
            let (lo, hi) = coordinates.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)));
            (hi - lo).max(0.0)
        })
        .product();
    (volume / points.len().max(1) as f64).powf(1.0 / D as f64)
}

/// Writes the measurements to the file of `--json`, if it is given.
fn write_json(args: &Args, rows: &[(usize, &[Row])], outputs: &mut Outputs) -> Result<(), Failure> {
    let Some(path) = &args.json else { return Ok(()) };
    outputs.write(path, |out| out.write_all(json(rows, &args.device).as_bytes()))?;
    outputs.commit()?;
    Ok(())
}

/// Formats the rows of each number of threads as a JSON list of objects. No string needs escapes, since all are
/// constants of the program.
fn json(rows: &[(usize, &[Row])], device: &DevicesArg) -> String {
    let object = |(threads, row): (usize, &Row)| {
        let first = row.first.map(|first| format!("\"first_s\": {first:.6}, "));
        format!(
            "  {{\"op\": \"{}\", \"n\": {}, \"threads\": {threads}, \"device\": \"{device}\", \"median_s\": {:.6}, \"min_s\": {:.6}, \
             \"per_second\": {:.6e}, {}\"peak_bytes\": {}, \"check\": \"{}\"}}",
            row.op,
            row.n,
            row.median(),
            row.seconds[0],
            row.per_second(),
            first.unwrap_or_default(),
            row.peak_bytes,
            row.check
        )
    };
    let rows = rows.iter().flat_map(|&(threads, rows)| rows.iter().map(move |row| (threads, row)));
    let objects: Vec<String> = rows.map(object).collect();
    format!("[\n{}\n]\n", objects.join(",\n"))
}

//! `ropewalk bench --mpi` and `ropewalk bench --device cuda:0,1`: time, memory, bytes sent, and balance of the work
//! between ranks.
//!
//! Times are those of the slowest rank. On the CPU they start with the points on the ranks that read them, and end
//! with the results there. On devices they start with the points on the devices. Equal results have the same checksum
//! for any number of ranks.

use std::fmt::Write;
#[cfg(feature = "gpu")]
use std::rc::Rc;
use std::time::Instant;

use ropewalk::distributed::{Bvh, Communicator, DomainOptions, Measured, Reduction, Traffic, agree};
#[cfg(feature = "gpu")]
use ropewalk::gpu;
use ropewalk::internals::random::mixed;
use ropewalk::sample::Sample;
use ropewalk::{Dbscan, Fof, Nearest, Scalar};
use ropewalk_io::{Points, ReadOptions, Table};
use ropewalk_table::{check_box_across, dbscan_across, fof_across};

use super::{Rank, read};
use crate::args::Bench as Args;
use crate::device::{Coordinate, Device, DeviceArg};
use crate::dimensions::with_rows;
use crate::failure::Failure;
use crate::memory::MEMORY;
use crate::periodic;
use crate::stdout::print;
use crate::text::{counted, short};

/// The operations that can be timed on the CPU.
const OPERATIONS: [&str; 5] = ["build", "range_count", "knn", "fof", "dbscan_densebox"];
/// The operations that can be timed on devices.
const ON_DEVICES: [&str; 1] = ["fof"];

/// Times the operations; rank 0 prints the table.
pub fn run(args: &Args, rank: &Rank<'_>) -> Result<Option<String>, Failure> {
    let refused = [(args.scaling, "--scaling"), (args.json.is_some(), "--json")];
    if let Some((_, option)) = refused.into_iter().find(|(is_given, _)| *is_given) {
        return Err(rank.refuse(option));
    }
    let mut notes = vec![];
    let (points, first) = match (&args.file, &args.sample) {
        (Some(file), _) => {
            let part = read(file, ReadOptions::default(), rank, &mut rank.phases())?;
            let first = part.first_row();
            notes.extend(part.notes);
            (part.points, first)
        }
        (None, Some(spec)) => sample(spec, rank.ranks)?,
        (None, None) => return Err("bench needs a FILE or --sample SPEC".into()),
    };
    let outside = args.periodic.map_or(Ok(0), |side| check_box_across(rank.ranks, &points, side, false))?;
    if let Some(side) = args.periodic.filter(|_| outside > 0) {
        notes.push(format!("wrapped: {}", periodic::sentence(outside, side)));
    }
    let measured =
        with_rows!(&points, f32 [2, 3], f64 [2, 3], rows => measure(args, rank, &points, rows, first, &notes));
    measured.unwrap_or_else(|| {
        Err(format!("points have {}; bench requires 2 or 3", counted(points.dim() as u64, "dimension")).into())
    })
}

/// Returns this rank's part of a generated point set and the index of its first point. Each rank generates all
/// points.
fn sample(spec: &str, ranks: &dyn Communicator) -> Result<(Points, u64), Failure> {
    let all = agree(ranks, Sample::parse(spec).and_then(|sample| sample.points()))?;
    let rows = ropewalk_io::Part { index: ranks.rank(), count: ranks.size() }.rows(all.len() as u64);
    let own = all[rows.start as usize..rows.end as usize].to_vec();
    Ok((Points::F32(Table::new(3, own.into_flattened())?), rows.start))
}

fn measure<S: Coordinate, const D: usize>(
    args: &Args,
    rank: &Rank<'_>,
    table: &Points,
    points: &[[S; D]],
    first: u64,
    notes: &[String],
) -> Result<Option<String>, Failure> {
    let ranks = rank.ranks;
    let mut all = [points.len() as u64];
    ranks.all_reduce(&mut all, Reduction::Sum)?;
    let Some(eps) = args.eps else {
        return Err(format!("--eps is required with {}", rank.option()).into());
    };
    let threads = counted(rayon::current_num_threads() as u64, "thread");
    let n_ranks = counted(ranks.size() as u64, "rank");
    let shared = match rank.devices {
        Some(devices) => format!("{n_ranks} on {devices} that share {threads}"),
        None => format!("{n_ranks} of {threads}"),
    };
    let mut report = format!(
        "{}, {D} dimensions of {} bits, eps {}, min_samples {}, k {}, {}, {shared}\n\n",
        counted(all[0], "point"),
        8 * size_of::<S>(),
        short(eps),
        args.min_samples,
        args.k,
        args.periodic.map_or("open".to_string(), |side| format!("periodic box of {}", short(side))),
    );
    report.insert_str(0, &notes.iter().map(|note| format!("note: {note}\n")).collect::<String>());
    // Writing to a string does not fail.
    _ = writeln!(
        report,
        "{:<18}{:>11}{:>11}{:>8}{:>14}{:>14}{:>8}  check",
        "operation, step", "slowest", "mean", "ratio", "most memory", "sent", "calls"
    );
    let known = if args.device == DeviceArg::Cpu { &OPERATIONS[..] } else { &ON_DEVICES };
    let wanted: Vec<&String> = args.ops.iter().filter(|name| known.contains(&name.as_str())).collect();
    if wanted.is_empty() {
        let on = rank.devices.map_or_else(|| format!(" on {}", args.device), |_| String::new());
        return Err(format!("--ops: with {} use {}{on}", rank.option(), known.join(", ")).into());
    }
    let show = |lines: &str| if ranks.rank() == 0 { print(lines) } else { Ok(()) };
    show(&report)?;
    for name in wanted {
        let counted = Measured::new(ranks);
        let mut run: Operation<'_> = match rank.device {
            Device::Cpu => Box::new(|| {
                let sum = operate(args, &counted, table, points, first, eps, name)?;
                Ok(Box::new(move || Ok(sum)))
            }),
            #[cfg(feature = "gpu")]
            Device::Gpu(device) => groups_on(device, args, &counted, points, eps)?,
        };
        // Printed at once, so that an interrupted run shows the operations that were timed before.
        show(&time(args, ranks, &counted, name, &mut run)?)?;
    }
    Ok(None)
}

/// A rank's measurements of the fastest run.
struct FastestRun {
    slowest: f64,
    own: f64,
    steps: Vec<(&'static str, f64)>,
    peak: u64,
    sent: Traffic,
}

/// Runs an operation. The returned function computes a checksum of the result, after the clock has stopped.
type Operation<'a> = Box<dyn FnMut() -> Result<Checksum<'a>, Failure> + 'a>;
type Checksum<'a> = Box<dyn FnOnce() -> Result<u64, Failure> + 'a>;

/// Warms up and times an operation; returns its lines of the table.
fn time(
    args: &Args,
    ranks: &dyn Communicator,
    counted: &Measured<'_>,
    name: &str,
    run: &mut Operation<'_>,
) -> Result<String, Failure> {
    let mut best: Option<FastestRun> = None;
    let mut known = None;
    for turn in 0..=args.reps.max(1) {
        // Ranks that are threads share the memory counters. The barriers ensure that no rank starts before all have
        // read them, that all have finished when they are read again, and that no rank computes its checksum before
        // that.
        MEMORY.reset_peak();
        let before = MEMORY.current();
        ranks.barrier()?;
        let earlier = counted.traffic();
        let start = Instant::now();
        let (result, steps) = ropewalk::phases::timed(&mut *run);
        let own = start.elapsed().as_secs_f64();
        ranks.barrier()?;
        let peak = MEMORY.peak().saturating_sub(before) as u64;
        let traffic = counted.traffic();
        let sent = Traffic { bytes: traffic.bytes - earlier.bytes, calls: traffic.calls - earlier.calls };
        ranks.barrier()?;
        let check = result?()?;
        if *known.get_or_insert(check) != check {
            return Err(format!("{name}: results of two runs differ").into());
        }
        let slowest = max_over_ranks(ranks, own)?;
        if turn > 0 && best.as_ref().is_none_or(|best| slowest < best.slowest) {
            let steps = steps.into_iter().map(|(step, time)| (step, time.as_secs_f64())).collect();
            best = Some(FastestRun { slowest, own, steps, peak, sent });
        }
    }
    let Some(FastestRun { slowest, own, steps, peak, sent: Traffic { bytes, calls } }) = best else {
        return Ok(String::new());
    };
    let (mut memory, mut sent) = ([peak], [bytes, known.unwrap_or(0)]);
    ranks.all_reduce(&mut memory, Reduction::Max)?;
    ranks.all_reduce(&mut sent, Reduction::Sum)?;
    let mebibytes = |bytes: u64| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    let mut lines = String::new();
    let mut line = |name: &str, slowest: f64, mean: f64, rest: String| {
        let ratio = if mean > 0.0 { slowest / mean } else { 1.0 };
        // Writing to a string does not fail.
        _ = writeln!(lines, "{name:<18}{slowest:>9.4} s{mean:>9.4} s{ratio:>8.2}{rest}");
    };
    let rest = format!("{:>14}{:>14}{calls:>8}  {:016x}", mebibytes(memory[0]), mebibytes(sent[0]), sent[1]);
    line(name, slowest, mean(ranks, own)?, rest);
    if args.phases {
        for (step, seconds) in steps {
            line(&format!("  {step}"), max_over_ranks(ranks, seconds)?, mean(ranks, seconds)?, String::new());
        }
    }
    Ok(lines)
}

/// Runs an operation on `points`, which are the rows of `table`. Returns a checksum; its sum over all ranks is the
/// same for any number of ranks.
fn operate<S: Scalar, const D: usize>(
    args: &Args,
    ranks: &dyn Communicator,
    table: &Points,
    points: &[[S; D]],
    first: u64,
    eps: f64,
    name: &str,
) -> Result<u64, Failure> {
    let periodic = args.periodic;
    let sum = |values: &mut dyn Iterator<Item = u64>| {
        (first..).zip(values).fold(0u64, |sum, (index, value)| sum.wrapping_add(mixed(index ^ mixed(value))))
    };
    Ok(match name {
        "build" => {
            let domain = DomainOptions::new().periodic(periodic).distribute(ranks, points)?;
            domain.indices().iter().fold(0u64, |sum, &index| sum.wrapping_add(mixed(index)))
        }
        "range_count" => {
            let tree = Bvh::from_domain(DomainOptions::new().periodic(periodic).distribute(ranks, points)?)?;
            sum(&mut tree.count_neighbors(eps)?.into_iter())
        }
        "knn" => {
            let tree = Bvh::from_domain(DomainOptions::new().periodic(periodic).distribute(ranks, points)?)?;
            let lists = tree.nearest_neighbors(Nearest::new(args.k).excluding_self())?;
            sum(&mut lists.iter().map(|list| list.iter().fold(0, |sum, other| mixed(sum ^ other.index))))
        }
        "fof" => {
            let halos = fof_across(ranks, table, &Fof::new(eps).periodic(periodic))?;
            sum(&mut halos.labels().as_slice().iter().map(|&label| label as u64))
        }
        _ => {
            let labels = dbscan_across(ranks, table, &Dbscan::new(eps, args.min_samples).periodic(periodic))?;
            sum(&mut labels.as_slice().iter().map(|&label| label as u64))
        }
    })
}

/// Returns the operation that labels groups on devices. The points are moved to their regions and uploaded before;
/// the labels stay on the devices.
#[cfg(feature = "gpu")]
fn groups_on<'a, S: Coordinate, const D: usize>(
    device: gpu::Device,
    args: &Args,
    ranks: &'a dyn Communicator,
    points: &[[S; D]],
    eps: f64,
) -> Result<Operation<'a>, Failure> {
    let domain = Rc::new(DomainOptions::new().periodic(args.periodic).distribute(ranks, points)?);
    let there = gpu::Points::new_periodic(domain.points(), args.periodic, device)?;
    let fof = gpu::Fof::new(eps);
    Ok(Box::new(move || {
        let labels = fof.labels_on_domain(&domain, &gpu::Bvh::from_points(&there)?)?;
        labels.wait()?;
        let domain = domain.clone();
        Ok(Box::new(move || {
            let labels = labels.read()?;
            let all = domain.indices().iter().zip(labels.as_slice());
            Ok(all.fold(0, |sum, (index, &label)| sum.wrapping_add(mixed(index ^ mixed(i64::from(label) as u64)))))
        }))
    }))
}

fn max_over_ranks(ranks: &dyn Communicator, seconds: f64) -> Result<f64, Failure> {
    let mut nanoseconds = [(seconds * 1e9) as u64];
    ranks.all_reduce(&mut nanoseconds, Reduction::Max)?;
    Ok(nanoseconds[0] as f64 * 1e-9)
}

fn mean(ranks: &dyn Communicator, seconds: f64) -> Result<f64, Failure> {
    let mut nanoseconds = [(seconds * 1e9) as u64];
    ranks.all_reduce(&mut nanoseconds, Reduction::Sum)?;
    Ok(nanoseconds[0] as f64 * 1e-9 / ranks.size() as f64)
}

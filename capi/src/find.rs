//! The calculations on the snapshots that [`crate::ffi`] reads.

use ropewalk::distributed::{Communicator, Term, agree, agree_on};
use ropewalk::geometry::BoxSize;
use ropewalk::{Dbscan, Error, ErrorKind, Fof, Hop, Result};
use ropewalk_io::{Points, Snapshot};
use ropewalk_pipeline::{CenterKind, Finder, LinkingLength, Options, Pipeline};
use ropewalk_table::columns::Values;
use ropewalk_table::{Catalog, check_sides_across, dbscan_across, fof_across};

use crate::types::{self, DbscanOptions, FofOptions, Halo, HopOptions, RunResult};

/// The numbers by which ranks compare the functions that they call.
const FOF: u64 = 1;
const DBSCAN: u64 = 2;
const HOP: u64 = 3;

pub(crate) fn invalid(sentence: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Parameter, sentence)
}

/// Returns the sides of a periodic box; `None` for zeros, which mean open space.
pub(crate) fn box_size(sides: [f64; 3]) -> Option<BoxSize> {
    (sides != [0.0; 3]).then(|| BoxSize::from(sides))
}

/// Refuses particles of all ranks that together span more than the periodic box. Collective.
fn check_box(ranks: &dyn Communicator, part: &Snapshot, sides: [f64; 3]) -> Result<()> {
    box_size(sides).map_or(Ok(()), |_| check_sides_across(ranks, &part.points, &sides))
}

fn sides(sides: [f64; 3]) -> [(&'static str, Term); 3] {
    let names = ["box_size[0]", "box_size[1]", "box_size[2]"];
    std::array::from_fn(|k| (names[k], Term::Real(sides[k])))
}

/// Returns the type of the positions as an option that ranks compare.
fn kind(positions: &Points) -> (&'static str, Term) {
    let kind = if matches!(positions, Points::F32(_)) { types::F32 } else { types::F64 };
    ("positions.type", Term::Whole(kind.into()))
}

/// Finds the clusters of DBSCAN. Collective.
pub fn dbscan(ranks: &dyn Communicator, own: Result<(Snapshot, DbscanOptions)>) -> Result<RunResult> {
    let (part, options) = agree(ranks, own)?;
    let mut terms =
        vec![kind(&part.points), ("eps", Term::Real(options.eps)), ("min_samples", Term::Whole(options.min_samples))];
    terms.extend(sides(options.box_size));
    agree_on(ranks, DBSCAN, &terms)?;
    check_box(ranks, &part, options.box_size)?;
    let dbscan = Dbscan::new(options.eps, saturating_usize(options.min_samples)).periodic(box_size(options.box_size));
    let labels = dbscan_across(ranks, &part.points, &dbscan)?;
    let core = (0..part.points.len()).map(|i| labels.is_core(i).into()).collect();
    let clusters = labels.n_clusters();
    Ok(RunResult { labels: labels.into_vec(), core: Some(core), clusters, halos: clusters, ..RunResult::default() })
}

/// Finds friends-of-friends halos, with rows if the options request them. Collective.
pub fn fof(ranks: &dyn Communicator, own: Result<(Snapshot, FofOptions)>) -> Result<RunResult> {
    let own = own.and_then(|(part, options)| {
        let length = options.linking_length;
        if !(length > 0.0 && length < f64::INFINITY) {
            return Err(Error::parameter_must("linking_length", length, "positive and finite"));
        }
        let center = check(options.rows, options.center, options.box_size)?;
        Ok((part, options, center))
    });
    let (part, options, center) = agree(ranks, own)?;
    let mut terms = vec![
        kind(&part.points),
        ("linking_length", Term::Real(options.linking_length)),
        ("min_members", Term::Whole(options.min_members)),
        ("rows", Term::Whole(options.rows.into())),
        ("center", Term::Whole(options.center.into())),
        ("softening", Term::Real(options.softening)),
    ];
    terms.extend(sides(options.box_size));
    agree_on(ranks, FOF, &terms)?;
    if options.rows != types::NO_ROWS {
        let mut wanted = Options::default();
        wanted.linking_length = LinkingLength::Length(options.linking_length);
        wanted.min_members = saturating_usize(options.min_members).max(2);
        wanted.box_size = Some(options.box_size[0]).filter(|&side| side != 0.0);
        (wanted.center, wanted.softening) = (center, options.softening);
        return by_pipeline(ranks, &part, &wanted, options.rows);
    }
    check_box(ranks, &part, options.box_size)?;
    let fof = Fof::new(options.linking_length).min_members(saturating_usize(options.min_members));
    let fof = fof.periodic(box_size(options.box_size));
    let halos = fof_across(ranks, &part.points, &fof)?;
    let labels = halos.labels();
    Ok(RunResult {
        labels: labels.as_slice().to_vec(),
        clusters: labels.n_clusters(),
        halos: halos.len(),
        ..RunResult::default()
    })
}

/// Finds the halos of HOP, with rows if the options request them. Collective.
pub fn hop(ranks: &dyn Communicator, own: Result<(Snapshot, HopOptions)>) -> Result<RunResult> {
    let own = own.and_then(|(part, options)| {
        let center = check(options.rows, options.center, options.box_size)?;
        check_cube(options.box_size, "HOP")?;
        Ok((part, options, center))
    });
    let (part, options, center) = agree(ranks, own)?;
    let mut terms = vec![
        kind(&part.points),
        ("delta_outer", Term::Real(options.delta_outer)),
        ("delta_saddle", Term::Real(options.delta_saddle)),
        ("delta_peak", Term::Real(options.delta_peak)),
        ("n_density", Term::Whole(options.n_density)),
        ("n_hop", Term::Whole(options.n_hop)),
        ("n_merge", Term::Whole(options.n_merge)),
        ("min_members", Term::Whole(options.min_members)),
        ("rows", Term::Whole(options.rows.into())),
        ("center", Term::Whole(options.center.into())),
        ("softening", Term::Real(options.softening)),
    ];
    terms.extend(sides(options.box_size));
    agree_on(ranks, HOP, &terms)?;
    let mut wanted = Options::default();
    wanted.finder = Finder::Hop(hop_finder(&options));
    wanted.min_members = if options.min_members == 0 { 10 } else { saturating_usize(options.min_members) };
    wanted.box_size = Some(options.box_size[0]).filter(|&side| side != 0.0);
    (wanted.center, wanted.softening) = (center, options.softening);
    by_pipeline(ranks, &part, &wanted, options.rows)
}

/// Returns the finder with the densities and numbers of neighbours of the options. Zeros mean the default.
fn hop_finder(options: &HopOptions) -> Hop {
    let mut hop = Hop::new(options.delta_outer);
    if options.delta_saddle != 0.0 {
        hop = hop.delta_saddle(options.delta_saddle);
    }
    if options.delta_peak != 0.0 {
        hop = hop.delta_peak(options.delta_peak);
    }
    if options.n_density != 0 {
        hop = hop.n_density(saturating_usize(options.n_density));
    }
    if options.n_hop != 0 {
        hop = hop.n_hop(saturating_usize(options.n_hop));
    }
    if options.n_merge != 0 {
        hop = hop.n_merge(saturating_usize(options.n_merge));
    }
    hop
}

/// Checks the options that are numbers in C, and returns the requested centre.
fn check(rows: u32, center: u32, box_size: [f64; 3]) -> Result<Option<CenterKind>> {
    if rows > types::ROWS_ON_RANK_0 {
        return Err(invalid(format!(
            "rows must be ROPEWALK_NO_ROWS, ROPEWALK_ROWS_OF_OWNERS or ROPEWALK_ROWS_ON_RANK_0, got {rows}"
        )));
    }
    let kind = match center {
        types::NO_CENTER => None,
        types::MOST_BOUND => Some(CenterKind::MostBound),
        types::MOST_CONNECTED => Some(CenterKind::MostConnected),
        types::SHRINKING_SPHERE => Some(CenterKind::ShrinkingSphere),
        _ => {
            return Err(invalid(format!(
                "center must be ROPEWALK_NO_CENTER, ROPEWALK_MOST_BOUND, ROPEWALK_MOST_CONNECTED or ROPEWALK_SHRINKING_SPHERE, got {center}"
            )));
        }
    };
    if rows == types::NO_ROWS && kind.is_some() {
        return Err(invalid("center requires a catalogue, but rows is ROPEWALK_NO_ROWS"));
    }
    if rows != types::NO_ROWS {
        check_cube(box_size, "a catalogue")?;
    }
    Ok(kind)
}

/// Refuses a periodic box that is not a cube.
fn check_cube(box_size: [f64; 3], what: &str) -> Result<()> {
    if box_size.iter().any(|side| side.to_bits() != box_size[0].to_bits()) {
        return Err(invalid(format!("{what} requires a cube, or zeros for open space; box_size is {box_size:?}")));
    }
    Ok(())
}

/// Finds halos by the pipeline, and measures the requested rows. Collective.
fn by_pipeline(ranks: &dyn Communicator, part: &Snapshot, wanted: &Options, rows: u32) -> Result<RunResult> {
    let pipeline = Pipeline::across(ranks, part, wanted)?;
    let found = pipeline.find()?;
    let catalog = match rows {
        types::NO_ROWS => None,
        types::ROWS_OF_OWNERS => Some(pipeline.measure(&found)?.catalog),
        _ => pipeline.gather(&found, &pipeline.measure(&found)?)?.map(|measured| measured.catalog),
    };
    let prefix = wanted.finder.column_prefix();
    Ok(RunResult {
        labels: found.labels().iter().map(|&label| label.into()).collect(),
        density: found.density().map(<[f64]>::to_vec),
        clusters: found.n_groups(),
        halos: found.n_halos(),
        rows: catalog.as_ref().map(|catalog| rows_of(catalog, prefix)).unwrap_or_default(),
        ..RunResult::default()
    })
}

fn rows_of(catalog: &Catalog, prefix: &str) -> Vec<Halo> {
    let column = |name: &str| {
        catalog
            .columns()
            .iter()
            .find(|column| column.name() == format!("{prefix}_{name}"))
            .map(|column| column.values())
    };
    let center = ["center_x", "center_y", "center_z"].map(column);
    let number = |values: Option<&Values>, row: usize| match values {
        Some(Values::Numbers(values)) => values[row],
        _ => f64::NAN,
    };
    let center_id = match column("center_id") {
        Some(Values::Integers(ids)) => &ids[..],
        _ => &[],
    };
    let row = |(row, (halo, &label)): (usize, (&ropewalk_table::Halo, &u32))| Halo {
        tag: halo.tag,
        label: label.into(),
        count: halo.count as u64,
        mass: halo.mass,
        center_of_mass: halo.center,
        velocity: halo.motion.map_or([f64::NAN; 3], |motion| motion.mean),
        velocity_dispersion: halo.motion.map_or(f64::NAN, |motion| motion.dispersion),
        rms_radius: halo.rms_radius,
        max_radius: halo.max_radius,
        center: center.map(|values| number(values, row)),
        center_id: center_id.get(row).copied().unwrap_or(u64::MAX),
    };
    catalog.halos().iter().zip(catalog.labels()).enumerate().map(row).collect()
}

/// Converts a number to `usize`, with `usize::MAX` for larger numbers. No count exceeds it.
pub(crate) fn saturating_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

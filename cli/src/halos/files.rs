//! What a run writes: names, formats and units.

use std::borrow::Cow;
use std::path::Path;
use std::sync::LazyLock;

use ropewalk::halo::pipeline::Pipeline;
use ropewalk::halo::{Catalog, Column, Meta, Values, meta_in_units};
use ropewalk::io::{TableFormat, TableWriter};
use ropewalk::units::Units;

use super::options::Run;
use crate::args::Halos as Args;
use crate::failure::Failure;
use crate::outputs::Outputs;
use crate::pictures;

const CATALOGS: [&str; 5] = ["halos.ecsv", "halos.csv", "halos.hdf5", "halos.h5", "halos.parquet"];
pub const GROUPS: &str = "fof_subhalo_tab_000.0.hdf5";
pub const LABELS: &str = "labels.npy";
pub const MEMBERS: &str = "members.npz";
pub const PROFILES: &str = "profiles.ecsv";
pub const DENSITY: &str = "density.npy";
pub const STANDARD_OUTPUT: &str = "-";
const ALL: [&str; 5] = [GROUPS, LABELS, MEMBERS, PROFILES, DENSITY];
/// The number of types that snapshots of Gadget may have.
const TYPES: u8 = 32;
/// What earlier versions called the labels of attached particles.
const ATTACHED: &str = "attached.npy";

/// The files with the labels and the ids of the particles of a type.
fn names_of_type(kind: u8) -> [&'static str; 2] {
    static NAMES: LazyLock<Vec<[String; 2]>> = LazyLock::new(|| {
        (0..=u8::MAX).map(|kind| ["labels", "ids"].map(|what| format!("{what}_type{kind}.npy"))).collect()
    });
    NAMES[usize::from(kind)].each_ref().map(String::as_str)
}

/// The names that a run may write into a folder, unless --catalog chooses others.
pub fn known() -> Vec<&'static str> {
    let fixed = ALL.into_iter().chain((0..TYPES).flat_map(names_of_type)).chain([ATTACHED]);
    fixed.chain(CATALOGS).chain(pictures::all_files()).collect()
}

/// Linked or attached types, and whether their particles have ids.
pub type TypesWithIds<'a> = (&'a [u8], bool);

/// Types with files of their own, each with the names of its files: all types but a single linked one, which labels.npy is of. Particles
/// without ids have labels alone.
pub fn typed(linked: TypesWithIds<'_>, attached: TypesWithIds<'_>) -> Vec<(u8, Vec<&'static str>)> {
    let linked = if linked.0.len() > 1 { linked } else { (&[][..], false) };
    let names = |(kinds, have_ids): TypesWithIds<'_>| {
        let names = |&kind: &u8| (kind, names_of_type(kind)[..if have_ids { 2 } else { 1 }].to_vec());
        kinds.iter().map(names).collect::<Vec<_>>()
    };
    let mut all = [names(linked), names(attached)].concat();
    all.sort_unstable_by_key(|(kind, _)| *kind);
    all
}

/// What the catalogue is called.
pub struct Catalogs {
    /// Files in the folder.
    pub names: Vec<(String, TableFormat)>,
    pub to_stdout: bool,
}

impl Catalogs {
    pub fn new(args: &Args, runs: &[Run]) -> Result<Self, Failure> {
        let mut catalogs = Self { names: vec![], to_stdout: false };
        for name in &args.catalog {
            if name.as_os_str() == STANDARD_OUTPUT {
                catalogs.to_stdout = true;
                continue;
            }
            let format = TableFormat::of(name).map_err(|error| format!("--catalog {error}"))?;
            let is_bare = name.file_name() == Some(name.as_os_str());
            match name.to_str().filter(|_| is_bare) {
                Some(bare) => catalogs.names.push((bare.into(), format)),
                None => return Err(format!("--catalog {}: it is a name in DIR, not a path", name.display()).into()),
            }
        }
        if catalogs.to_stdout && args.json.as_ref().is_some_and(|json| json.as_os_str() == STANDARD_OUTPUT) {
            return Err("--catalog - and --json -: there is one standard output".into());
        }
        if catalogs.to_stdout && (runs.len() > 1 || args.snapshots.len() > 1) {
            return Err("--catalog -: there are several catalogues, and one standard output".into());
        }
        Ok(catalogs)
    }
}

/// The files of a folder.
pub fn files(args: &Args, catalogs: &Catalogs) -> Vec<String> {
    let wanted = [
        (true, LABELS),
        (args.members, MEMBERS),
        (args.group_catalog, GROUPS),
        (args.profiles > 0, PROFILES),
        (args.density, DENSITY),
    ];
    let more = wanted.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, name)| name);
    let more = more.chain(pictures::files(args)).map(String::from);
    catalogs.names.iter().map(|(name, _)| name.clone()).chain(more).collect()
}

/// A table in the units that are asked for.
pub struct InUnits<'a> {
    pub columns: Cow<'a, [Column]>,
    pub units: Option<Units>,
    pub meta: Vec<(&'a str, Meta)>,
}

pub fn in_units<'a>(
    args: &Args,
    pipeline: &Pipeline<'_>,
    columns: &'a [Column],
    units: Option<&Units>,
    meta: &[(&'a str, Meta)],
) -> Result<InUnits<'a>, Failure> {
    let Some(system) = args.units else {
        return Ok(InUnits { columns: Cow::Borrowed(columns), units: units.copied(), meta: meta.to_vec() });
    };
    let factors = pipeline.universe().factors(system).map_err(|error| format!("--units: {error}"))?;
    Ok(InUnits {
        columns: columns.iter().map(|column| column.in_units(&factors)).collect(),
        units: Some(*factors.units()),
        meta: meta_in_units(meta, &factors),
    })
}

/// Lists of members, by name.
pub type Members = Vec<(&'static str, Values)>;

/// Writes lists of members, if there are any, and the catalogue in each of its formats.
pub fn write_catalogs(
    args: &Args,
    (catalogs, folder): (&Catalogs, &Path),
    pipeline: &Pipeline<'_>,
    catalog: &Catalog,
    (members, meta): (Option<Members>, &[(&str, Meta)]),
    outputs: &mut Outputs,
) -> Result<(), Failure> {
    if let Some(members) = &members {
        outputs.write(folder.join(MEMBERS), |out| ropewalk::io::write_npz_to(out, members))?;
    }
    let columns = in_units(args, pipeline, catalog.columns(), catalog.column_units(), meta)?;
    let table = || TableWriter::new(&columns.columns).units(columns.units.as_ref()).meta(&columns.meta);
    for (name, format) in &catalogs.names {
        // Only HDF5 has a place for members.
        let members = members.as_deref().filter(|_| *format == TableFormat::Hdf5).unwrap_or_default();
        outputs.write(folder.join(name), |out| table().members(members).write(out, *format))?;
    }
    if catalogs.to_stdout {
        outputs.write(STANDARD_OUTPUT, |out| table().write(out, TableFormat::Ecsv))?;
    }
    Ok(())
}

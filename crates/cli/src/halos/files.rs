//! The names and formats of the files that a run writes.

use std::sync::LazyLock;

use ropewalk_io::TableFormat;
use ropewalk_table::columns::Values;

use super::options::Run;
use crate::args::Halos as Args;
use crate::failure::Failure;
use crate::pictures;

const CATALOGS: [&str; 5] = ["halos.ecsv", "halos.csv", "halos.hdf5", "halos.h5", "halos.parquet"];
pub const GROUPS: &str = "fof_subhalo_tab_000.0.hdf5";
pub const LABELS: &str = "labels.npy";
pub const MEMBERS: &str = "members.npz";
pub const PROFILES: &str = "profiles.ecsv";
pub const DENSITY: &str = "density.npy";
pub const REPORT: &str = "report.html";
pub const STANDARD_OUTPUT: &str = "-";
const ALL: [&str; 6] = [GROUPS, LABELS, MEMBERS, PROFILES, DENSITY, REPORT];
/// The number of particle types that snapshots of Gadget may have.
const TYPES: u8 = 32;
/// The name that earlier versions used for the labels of attached particles.
const ATTACHED: &str = "attached.npy";

/// Returns the names of the files with the labels and the ids of a type.
fn names_of_type(kind: u8) -> [&'static str; 2] {
    static NAMES: LazyLock<Vec<[String; 2]>> = LazyLock::new(|| {
        (0..=u8::MAX).map(|kind| ["labels", "ids"].map(|what| format!("{what}_type{kind}.npy"))).collect()
    });
    NAMES[usize::from(kind)].each_ref().map(String::as_str)
}

/// Returns the names that a run may write into a folder, except unusual names of --catalog.
pub fn known() -> Vec<&'static str> {
    let fixed = ALL.into_iter().chain((0..TYPES).flat_map(names_of_type)).chain([ATTACHED]);
    fixed.chain(CATALOGS).chain(pictures::all_files()).collect()
}

/// Linked or attached types.
#[derive(Clone, Copy)]
pub struct TypeSet<'a> {
    pub kinds: &'a [u8],
    /// The types among `kinds` whose particles have no ids.
    pub without_ids: &'a [u8],
}

/// Returns the types with files of their own, and the names of these files. These are all types, except a single
/// linked type, whose labels are in labels.npy. Types without ids have only labels.
pub fn typed(linked: TypeSet<'_>, attached: TypeSet<'_>) -> Vec<(u8, Vec<&'static str>)> {
    let linked = if linked.kinds.len() > 1 { linked } else { TypeSet { kinds: &[], without_ids: &[] } };
    let mut all = vec![];
    for TypeSet { kinds, without_ids } in [linked, attached] {
        let names = |kind: u8| names_of_type(kind)[..if without_ids.contains(&kind) { 1 } else { 2 }].to_vec();
        all.extend(kinds.iter().map(|&kind| (kind, names(kind))));
    }
    all.sort_unstable_by_key(|(kind, _)| *kind);
    all
}

/// The outputs of the catalogue.
pub struct Catalogs {
    /// The names and formats of the files in the folder.
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
            let format = TableFormat::from_path(name).map_err(|error| format!("--catalog {error}"))?;
            let is_bare = name.file_name() == Some(name.as_os_str());
            match name.to_str().filter(|_| is_bare) {
                Some(bare) => catalogs.names.push((bare.into(), format)),
                None => {
                    return Err(format!("--catalog {}: must be a file name without a folder", name.display()).into());
                }
            }
        }
        if catalogs.to_stdout && args.json.as_ref().is_some_and(|json| json.as_os_str() == STANDARD_OUTPUT) {
            return Err("--catalog - and --json -: only one result can go to standard output".into());
        }
        if catalogs.to_stdout && (runs.len() > 1 || args.snapshots.len() > 1) {
            return Err(
                "--catalog -: only one result can go to standard output, and there are several catalogues".into()
            );
        }
        Ok(catalogs)
    }
}

/// Returns the names of the files in a folder, without those by type.
pub fn files(args: &Args, catalogs: &Catalogs) -> Vec<String> {
    let wanted = [
        (true, LABELS),
        (args.members, MEMBERS),
        (args.group_catalog, GROUPS),
        (args.profiles > 0, PROFILES),
        (args.density, DENSITY),
        (args.report == Some(None), REPORT),
    ];
    let more = wanted.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, name)| name);
    let more = more.chain(pictures::files(args)).map(String::from);
    catalogs.names.iter().map(|(name, _)| name.clone()).chain(more).collect()
}

/// Lists of members, by name.
pub type Members = Vec<(&'static str, Values)>;

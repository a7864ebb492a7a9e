//! The report on a snapshot and its halos.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ropewalk::units::{Factors, Quantity};
use ropewalk_io::Snapshot;
use ropewalk_pipeline::{Finder, FoundHalos, Note, ParticleSets, Pipeline};
use ropewalk_table::Catalog;

use crate::args::{self, Halos as Args};
use crate::device::DeviceArg;
use crate::output_units::{factor, mass_factor};
use crate::outputs::{Committed, SUMMARY};
use crate::periodic;
use crate::summary::Summary;
use crate::text::{counted, grouped, short};
use crate::universe::describe_matter;

/// Returns the number of particles of each type.
pub fn type_counts(snapshot: &Snapshot) -> BTreeMap<u8, u64> {
    let mut counts = BTreeMap::new();
    for run in &snapshot.types {
        *counts.entry(run.particle_type).or_default() += run.count as u64;
    }
    counts
}

/// Adds a snapshot, or this rank's part of it, to the summary. `types` has the number of particles of each type in
/// the whole snapshot.
pub fn about(
    summary: &mut Summary,
    snapshot: &Snapshot,
    types: &BTreeMap<u8, u64>,
    pipeline: &Pipeline<'_>,
    factors: Option<&Factors>,
) {
    let n = pipeline.n_particles();
    summary.both("particles", grouped(n), n);
    let kinds: Vec<String> = types.iter().map(|(kind, &count)| format!("type {kind}: {}", grouped(count))).collect();
    if kinds.len() > 1 {
        summary.line("types", kinds.join(", "));
    }
    about_types(summary, pipeline.particle_sets());
    let length = factor(factors, Quantity::Length);
    let side = pipeline.period().map(|side| length * side);
    summary.both("box", side.map_or("open".into(), |side| format!("{}, periodic", short(side))), side);
    if let Some(side) = side.filter(|_| pipeline.outside() > 0) {
        summary.both("wrapped", periodic::sentence(pipeline.outside(), side), pipeline.outside());
    }
    summary.columns(&snapshot.columns);
    let units = pipeline.universe().describe_units();
    summary.both("units", &units, units.clone());
    if let Some(factors) = factors {
        summary.both("report units", factors.units().to_string(), factors.units().to_string());
    }
    if let Some(matter) = describe_matter(pipeline.universe()) {
        summary.both("matter", matter, pipeline.universe().matter);
    }
    for note in &snapshot.notes {
        summary.line("note", note);
    }
    summary.value("assumed", snapshot.notes.clone());
    summary.value("one_of_files", snapshot.one_of_files);
    summary.value("share_of_matter", pipeline.scales().share_of_matter);
    let universe = pipeline.universe();
    summary.value("redshift", universe.redshift);
    summary.value("omega_m", universe.omega_m);
    summary.value("omega_lambda", universe.omega_lambda);
    summary.value("h", universe.h);
}

/// Adds the linked, attached and unread types of the file to the summary, if there are several.
fn about_types(summary: &mut Summary, sets: &ParticleSets) {
    if sets.is_one_type() {
        return;
    }
    let words = |kinds: &[u8]| kinds.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
    let mut how = vec![format!("type {}", words(&sets.linked))];
    if !sets.attached.is_empty() {
        how.push(format!("attached: type {}", words(&sets.attached)));
    }
    summary.line("linked", how.join("; "));
    if let Some(unread) = sets.describe_unread() {
        summary.line("not read", unread);
    }
    summary.value("linked_types", sets.linked.clone());
    summary.value("attached_types", sets.attached.clone());
    summary.value("types_not_read", sets.unread.clone());
    summary.value("mass_share_not_read", sets.unread_share);
}

/// The numbers of groups and of attached particles in them.
pub struct GroupCounts {
    /// The number of groups of any size.
    pub groups: u64,
    /// The number of attached particles that joined a group, and the number of all attached particles. `None` if no
    /// particles are attached.
    pub joined: Option<[u64; 2]>,
}

/// Describes the linking length in the units of `factors`, with its value in mean separations.
fn linking_length(pipeline: &Pipeline<'_>, factors: Option<&Factors>) -> String {
    let scales = pipeline.scales();
    let length = short(factor(factors, Quantity::Length) * scales.linking_length);
    match scales.separations {
        Some(separations) if scales.share_of_matter.is_some() => {
            format!("{length} ({} mean separations at the mean density of matter)", short(separations))
        }
        Some(separations) => format!("{length} ({} mean separations)", short(separations)),
        None => length,
    }
}

/// Returns the summary of the halos of one linking length. `found` is `None` across ranks, where no rank has all
/// halos.
pub fn halos(
    args: &Args,
    pipeline: &Pipeline<'_>,
    factors: Option<&Factors>,
    counts: &GroupCounts,
    found: Option<&FoundHalos<'_>>,
    catalog: &Catalog,
    remarks: &[String],
) -> Summary {
    let mut summary = Summary::default();
    match pipeline.finder() {
        Finder::FriendsOfFriends => {
            let length = factor(factors, Quantity::Length) * pipeline.scales().linking_length;
            summary.both("linking length", linking_length(pipeline, factors), length);
        }
        other => {
            summary.both("finder", other.to_string(), other.to_string());
            // Other types join halos within this length.
            if !pipeline.particle_sets().attached.is_empty() {
                let length = factor(factors, Quantity::Length) * pipeline.scales().linking_length;
                summary.both(
                    "linking length",
                    format!("{} of attached types", linking_length(pipeline, factors)),
                    length,
                );
            }
        }
    }
    if args.device != DeviceArg::Cpu {
        summary.both("device", args.device.to_string(), args.device.to_string());
    }
    let (rows, least) = (catalog.halos().len(), args.min_members);
    if found.is_some_and(|found| found.subhalos.is_some()) {
        let hosts = (0..rows).filter(|&row| catalog.is_host(row)).count();
        let deepest = catalog.subhalos().iter().map(|subhalo| subhalo.level).max().unwrap_or(1);
        let levels = if deepest > 1 { format!(", down to level {deepest}") } else { String::new() };
        summary.both("halos", format!("{} of {least} or more", grouped(hosts as u64)), hosts);
        summary.both("subhalos", format!("{}{levels}", grouped((rows - hosts) as u64)), rows - hosts);
        if let Some(unbound) = found.and_then(|found| found.unbound.as_ref()) {
            let [particles, dissolved] = [unbound.n_particles, unbound.n_dissolved].map(|n| grouped(n as u64));
            summary.both(
                "unbound",
                format!("{particles} particles of halos; {dissolved} halos and subhalos dissolved"),
                unbound.n_particles,
            );
        }
    } else {
        let smallest = if args.finder == args::Finder::Fof { "two" } else { "one" };
        summary.both("groups", format!("{} of {smallest} or more", grouped(counts.groups)), counts.groups);
        summary.both("halos", format!("{} of {least} or more", grouped(rows as u64)), rows);
    }
    summary.value("min_members", least);
    if let Some([of_groups, all]) = counts.joined {
        summary.both("attached", format!("{} of {} joined a group", grouped(of_groups), grouped(all)), of_groups);
    }
    if let Some(halo) = catalog.halos().first() {
        let unit = mass_factor(pipeline, factors);
        let [mass, total_mass] = [halo.mass, halo.total_mass].map(|mass| unit * mass);
        let is_attached = !pipeline.particle_sets().attached.is_empty();
        let total = if is_attached { format!(", {} with attached types", short(total_mass)) } else { String::new() };
        summary.line("largest", format!("{}, mass {}{total}", counted(halo.count as u64, "particle"), short(mass)));
        summary.value("largest_count", halo.count);
        summary.value("largest_mass", mass);
        if is_attached {
            summary.value("largest_mass_total", total_mass);
        }
    }
    for remark in remarks {
        summary.line("note", remark);
    }
    summary.value("notes", remarks.to_vec());
    summary
}

/// Returns the lines on the files that were written, and on files of an earlier run that were removed or kept.
pub fn written(names: &[&str], folders: &[PathBuf], committed: &Committed) -> String {
    let names: Vec<&str> = names.iter().copied().chain([SUMMARY]).collect();
    let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let written = match &names[..] {
        [most @ .., last] if !most.is_empty() => format!("{} and {last} are", most.join(", ")),
        all => format!("{} is", all.concat()),
    };
    let removed = match &committed.removed[..] {
        [] => String::new(),
        removed => format!("removed: {}, of an earlier run\n", removed.join(", ")),
    };
    let kept = match &committed.kept[..] {
        [] => String::new(),
        kept => format!("kept: {}\n", kept.join(", ")),
    };
    format!("\n{written} in {}\n{removed}{kept}", folders.join(", "))
}

/// Returns a note as a line of the report, with the option that provides the missing data.
pub fn remark(note: &Note) -> String {
    match note {
        Note::NoCenter { tag, reason, others } => {
            let others = if *others > 0 {
                format!(", and neither do {} other halos", grouped(*others as u64))
            } else {
                String::new()
            };
            format!("the halo with the tag {tag} has no centre (NaN in the catalogue){others}: {reason}")
        }
        Note::NoRedshift => format!("{note} (--redshift)"),
        Note::NoVelocityUnit => format!("{note} (--velocity-unit)"),
        Note::FillingUnknown(sentence) => format!("{sentence} (--omega-m, --length-unit and --mass-unit, or --eps)"),
        _ => note.to_string(),
    }
}

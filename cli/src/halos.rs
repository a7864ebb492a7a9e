//! `ropewalk halos`: files, report and pictures around the library's pipeline.

use std::fmt::Write;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ropewalk::halo::pipeline::{CenterKind, Finder, Found, LinkingLength, Note, Options, Pipeline, profile_columns};
use ropewalk::halo::{Meta, write_ecsv};
use ropewalk::io::{ReadOptions, Snapshot};
use ropewalk::{Error, ErrorKind};

use super::args::{self, Halos as Args};
use super::centers::Kind;
use super::device::{Device, Name};
use super::outputs::Outputs;
use super::phases::Phases;
use super::pictures::{DENDROGRAM, MASS_FUNCTION, PROJECTION, linking_length, pictures};
use super::universe::describe_matter;
use super::{Failure, grouped, largest, periodic, short, start_threads};

const CATALOG: &str = "halos.ecsv";
const LABELS: &str = "labels.npy";
const MEMBERS: &str = "members.npz";
const PROFILES: &str = "profiles.ecsv";
const GALLERY: &str = "gallery.png";
const DENSITY: &str = "density.npy";
const ALL: [&str; 9] = [CATALOG, LABELS, MASS_FUNCTION, PROJECTION, MEMBERS, PROFILES, GALLERY, DENSITY, DENDROGRAM];

pub fn run(args: &Args) -> Result<String, Failure> {
    start_threads(args.threads)?;
    let device = args.device.find()?;
    let runs = runs(args)?;
    // First, so that hours of work do not end at a full disk's closed door.
    let mut files = vec![CATALOG, LABELS];
    let wanted = [
        (!args.no_pictures, MASS_FUNCTION),
        (!args.no_pictures, PROJECTION),
        (args.members, MEMBERS),
        (args.profiles > 0, PROFILES),
        (args.gallery > 0, GALLERY),
        (args.density, DENSITY),
        (!args.no_pictures && args.finder == args::Finder::AdaptaHop, DENDROGRAM),
    ];
    files.extend(wanted.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, name)| name));
    let folders: Vec<PathBuf> = runs.iter().map(|run| run.folder.clone()).collect();
    let mut outputs = Outputs::create(&folders, &files, &ALL, &args.snapshot)?;

    let mut phases = Phases::default();
    let mut read = ReadOptions::default();
    read.types = vec![args.particle_type];
    read.columns = args.coordinates.clone();
    read.velocity_unit = args.universe.velocity_unit;
    read.redshift = args.universe.redshift;
    let snapshot = phases.run("read", || ropewalk::io::read(&args.snapshot, &read))?;
    let mut tree = None;
    let mut report = String::new();
    for run in &runs {
        let pipeline = Pipeline::new(&snapshot, &run.options).map_err(|error| refused(args, &error))?;
        if tree.is_none() && !args.linking_lengths.is_empty() {
            tree = Some(phases.run("spanning tree", || pipeline.spanning_tree())?);
        }
        let found = phases.run("find halos", || match (&tree, device) {
            (Some(tree), _) => pipeline.find_in(tree),
            (None, Device::Cpu) => pipeline.find(),
            #[cfg(any(feature = "cuda", feature = "vulkan"))]
            (None, Device::Gpu(device)) => pipeline.find_on(device),
        })?;
        if report.is_empty() {
            report = about(&snapshot, &pipeline);
        }
        if tree.is_some() {
            report.push('\n');
        }
        report += &write(args, &run.folder, &snapshot, &pipeline, &found, &mut outputs, &mut phases)?;
    }
    let committed = outputs.commit()?;

    // Writing to a string does not fail.
    _ = write!(report, "\n{}\n", phases.table());
    let [most @ .., last] = &files[..] else { return Err("there are no outputs".into()) };
    let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    _ = writeln!(report, "{} and {last} are in {}", most.join(", "), folders.join(", "));
    if !committed.removed.is_empty() {
        _ = writeln!(report, "removed: {}, of an earlier run", committed.removed.join(", "));
    }
    Ok(committed.report(report))
}

/// Writes all files of one linking length into its folder; returns the lines of the report about its halos.
fn write(
    args: &Args,
    folder: &Path,
    snapshot: &Snapshot,
    pipeline: &Pipeline<'_>,
    found: &Found<'_>,
    outputs: &mut Outputs,
    phases: &mut Phases,
) -> Result<String, Failure> {
    let mut meta = vec![("snapshot", Meta::Text(args.snapshot.display().to_string()))];
    meta.extend(pipeline.meta());
    let (catalog, mut remarks) = phases.run("catalogue", || -> Result<_, Failure> {
        let measured = pipeline.measure(found)?;
        let catalog = measured.catalog;
        if args.members {
            let members = pipeline.members(found, &catalog);
            outputs.write(folder.join(MEMBERS), |out| ropewalk::io::write_npz_to(out, &members))?;
        }
        outputs.write(folder.join(CATALOG), |out| catalog.write_ecsv(out, &meta))?;
        let labels = found.halos.labels();
        outputs.write(folder.join(LABELS), |out| ropewalk::io::write_npy_i32_to(out, labels.as_slice()))?;
        if let Some(density) = found.density().filter(|_| args.density) {
            outputs.write(folder.join(DENSITY), |out| ropewalk::io::write_npy_f64_to(out, density))?;
        }
        Ok((catalog, measured.notes.iter().map(remark).collect::<Vec<String>>()))
    })?;
    if !args.no_pictures {
        phases.run("pictures", || -> Result<(), Failure> {
            for (name, picture) in pictures(args, snapshot, pipeline, &catalog, &mut remarks)? {
                outputs.write(folder.join(name), |out| out.write_all(&picture))?;
            }
            Ok(())
        })?;
    }
    if args.profiles > 0 {
        phases.run("profiles", || -> Result<(), Failure> {
            let largest = pipeline.largest(found, &catalog, args.profiles)?;
            let prefix = pipeline.finder().column_prefix();
            let columns = profile_columns(prefix, &largest.tags, &pipeline.profiles(found, &largest)?);
            outputs.write(folder.join(PROFILES), |out| write_ecsv(out, &columns, pipeline.universe().units(), &meta))
        })?;
    }
    if args.gallery > 0 {
        phases.run("gallery", || -> Result<(), Failure> {
            let largest = pipeline.largest(found, &catalog, args.gallery.into())?;
            let picture = largest::gallery(pipeline, &largest)?;
            outputs.write(folder.join(GALLERY), |out| out.write_all(&picture))
        })?;
    }

    let mut report = String::new();
    let mut line = line_of(&mut report);
    match pipeline.finder() {
        Finder::FriendsOfFriends => line("linking length", linking_length(pipeline)),
        other => line("finder", other.to_string()),
    }
    if args.device != Name::Cpu {
        line("device", args.device.to_string());
    }
    let (rows, least) = (catalog.halos().len(), args.min_members);
    if found.subhalos.is_some() {
        let hosts = (0..rows).filter(|&row| catalog.is_host(row)).count();
        let deepest = catalog.subhalos().iter().map(|subhalo| subhalo.level).max().unwrap_or(1);
        let levels = if deepest > 1 { format!(", down to level {deepest}") } else { String::new() };
        line("halos", format!("{} of {least} or more", grouped(hosts as u64)));
        line("subhalos", format!("{}{levels}", grouped((rows - hosts) as u64)));
        if let Some(unbound) = &found.unbound {
            let [particles, dissolved] = [unbound.n_particles, unbound.n_dissolved].map(|n| grouped(n as u64));
            line(
                "unbound",
                format!("{particles} particles of halos; {dissolved} halos and subhalos have too few bound"),
            );
        }
    } else {
        let smallest = if args.finder == args::Finder::Fof { "two" } else { "one" };
        line("groups", format!("{} of {smallest} or more", grouped(found.halos.labels().n_clusters() as u64)));
        line("halos", format!("{} of {least} or more", grouped(rows as u64)));
    }
    if let Some(halo) = catalog.halos().first() {
        line("largest", format!("{} particles, mass {}", grouped(halo.count as u64), short(halo.mass)));
    }
    for remark in remarks {
        line("note", remark);
    }
    drop(line);
    Ok(report)
}

/// Adds lines to a report: a name, and what it is.
fn line_of(report: &mut String) -> impl FnMut(&str, String) + '_ {
    // Writing to a string does not fail.
    |name, value| _ = writeln!(report, "{name:<16}{value}")
}

/// The lines of the report about the snapshot.
fn about(snapshot: &Snapshot, pipeline: &Pipeline<'_>) -> String {
    let mut report = String::new();
    let mut line = line_of(&mut report);
    line("particles", grouped(snapshot.points.len() as u64));
    line("box", pipeline.period().map_or("open".into(), |side| format!("{}, periodic", short(side))));
    if let Some(side) = pipeline.period().filter(|_| pipeline.outside() > 0) {
        line("wrapped", periodic::sentence(pipeline.outside(), side));
    }
    if !snapshot.columns.is_empty() {
        line("columns", snapshot.columns.join(", "));
    }
    line("units", pipeline.universe().describe_units());
    if let Some(matter) = describe_matter(pipeline.universe()) {
        line("matter", matter);
    }
    drop(line);
    report
}

/// One linking length: where its files go, and the options of the library.
struct Run {
    folder: PathBuf,
    options: Options,
}

/// What to do, or why the arguments are none.
fn runs(args: &Args) -> Result<Vec<Run>, Failure> {
    check_finder(args)?;
    let lengths = &args.linking_lengths;
    if lengths.is_empty() {
        let length = args.eps.map_or(LinkingLength::Separations(args.linking_length), LinkingLength::Length);
        return Ok(vec![Run { folder: args.out.clone(), options: options(args, length)? }]);
    }
    if args.device != Name::Cpu {
        return Err(format!("--linking-lengths: their spanning tree is made on the cpu, not on {}", args.device).into());
    }
    let mut runs: Vec<Run> = vec![];
    for (i, length) in lengths.iter().enumerate() {
        if lengths[..i].contains(length) {
            return Err(format!("--linking-lengths: {length} is named twice").into());
        }
        let options = options(args, LinkingLength::Separations(*length))?;
        runs.push(Run { folder: args.out.join(format!("b{length}")), options });
    }
    Ok(runs)
}

/// Refuses options of one finder with another.
fn check_finder(args: &Args) -> Result<(), Failure> {
    let (is_hop, is_adaptahop) = (args.finder == args::Finder::Hop, args.finder == args::Finder::AdaptaHop);
    let of_both = args.hop.given_for_both().or(args.density.then_some("--density"));
    let others = [
        (args.hop.given().filter(|_| !is_hop), "hop"),
        (args.adaptahop.given().filter(|_| !is_adaptahop), "adaptahop"),
        (of_both.filter(|_| !is_hop && !is_adaptahop), "hop or adaptahop"),
    ];
    if let Some((Some(option), finder)) = others.into_iter().find(|(option, _)| option.is_some()) {
        return Err(format!("{option} is for --finder {finder}").into());
    }
    if is_adaptahop && args.device != Name::Cpu {
        return Err(format!("--finder adaptahop runs on the cpu, not on {}", args.device).into());
    }
    if (is_hop || is_adaptahop) && !args.linking_lengths.is_empty() {
        return Err("--linking-lengths are for --finder fof".into());
    }
    Ok(())
}

/// The options of the library, or why the arguments are none.
fn options(args: &Args, linking_length: LinkingLength) -> Result<Options, Failure> {
    let mut options = Options::default();
    options.finder = match args.finder {
        args::Finder::Fof => Finder::FriendsOfFriends,
        args::Finder::Hop => Finder::Hop(args.hop.finder()),
        args::Finder::AdaptaHop => {
            Finder::AdaptaHop { finder: args.adaptahop.finder(&args.hop), unbind: args.adaptahop.unbind }
        }
    };
    options.linking_length = linking_length;
    options.min_members = args.min_members as usize;
    options.box_size = args.box_size;
    options.open = args.open;
    options.center = args.center.first().map(|&kind| kind.into());
    options.most_connected = args.center.contains(&Kind::Mcp);
    options.softening = args.softening;
    options.overdensities = args.so.clone();
    options.min_sphere_particles = args.min_so_particles;
    options.universe = args.universe.options();
    options.columns = args.columns.clone();
    options.profiles = args.profiles;
    options.check().map_err(|error| by_option(args, &error))?;
    if let Some(&kind) = args.center.iter().skip(1).find(|&&kind| kind != Kind::Mcp) {
        let kind = CenterKind::from(kind);
        return Err(format!("--center: only mcp may come after another kind, not the {kind}").into());
    }
    let not_on_device = |kind: &&Kind| args.device != Name::Cpu && !matches!(kind, Kind::Mbp | Kind::Mcp);
    if let Some(&kind) = args.center.iter().find(not_on_device) {
        let (device, kind) = (args.device, CenterKind::from(kind));
        return Err(format!("--device {device}: centres are mbp or mcp there; for the {kind} use the cpu").into());
    }
    Ok(options)
}

/// An error of the options with the command line's name for the parameter.
fn by_option(args: &Args, error: &Error) -> Failure {
    let option = match error.parameter() {
        Some("linking_length") if args.eps.is_some() => "--eps",
        Some("linking_length") if !args.linking_lengths.is_empty() => "--linking-lengths",
        Some("linking_length") => "--linking-length",
        Some("box_size") => "--box",
        Some("delta_outer") => "--delta-outer",
        Some("delta_saddle") => "--delta-saddle",
        Some("delta_peak") => "--delta-peak",
        Some("density_threshold") => "--density-threshold",
        Some("fudge") => "--fudge",
        Some("fudge_epsilon") => "--fudge-epsilon",
        Some("alpha") => "--alpha",
        Some("overdensities") => "--so",
        Some("columns") => "--columns",
        _ => return error.to_string().into(),
    };
    error.to_string().replacen(error.parameter().unwrap_or_default(), option, 1).into()
}

/// An error about the snapshot with its path; an error about what is missing with the options that ask for it and give it.
fn refused(args: &Args, error: &Error) -> Failure {
    let by = match error.parameter() {
        Some("velocities" | "velocity_unit") => "--unbind",
        _ if !args.so.is_empty() => "--so",
        _ if args.profiles > 0 => "--profiles",
        _ => "--unbind",
    };
    match (error.kind(), error.parameter()) {
        (ErrorKind::Missing, Some("linking_length")) => format!("{error}; give --eps").into(),
        (ErrorKind::Missing, Some("omega_m")) => format!("{by}: {error}; give --omega-m").into(),
        (ErrorKind::Missing, Some("units")) => format!("{by}: {error}; give --length-unit and --mass-unit").into(),
        (ErrorKind::Missing, Some("velocity_unit")) => format!("{by}: {error}; give --velocity-unit").into(),
        (ErrorKind::Missing, _) => format!("{by}: {error}").into(),
        (ErrorKind::Input, _) => format!("{}: {error}", args.snapshot.display()).into(),
        _ => error.to_string().into(),
    }
}

/// A note as a line of the report, with the option that would help.
fn remark(note: &Note) -> String {
    match note {
        Note::NoCenter { tag, reason, others } => {
            let others =
                if *others > 0 { format!(", and so have {} others", grouped(*others as u64)) } else { String::new() };
            format!("the halo with the tag {tag} has no centre (NaN in the catalogue){others}: {reason}")
        }
        Note::NoRedshift => format!("{note} (--redshift)"),
        Note::NoVelocityUnit => format!("{note} (--velocity-unit)"),
        _ => note.to_string(),
    }
}

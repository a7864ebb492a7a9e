//! `ropewalk halos`.

use std::fmt::Write;
use std::io::Write as _;

use ropewalk::io::{Masses, Points, ReadOptions, Snapshot, Table};
use ropewalk::{Catalog, Centers, Fof, MassFunction, Meta, Overdensity, Particles, Scalar, plot};

use super::args::Halos as Args;
use super::centers::{Case, Kind};
use super::device::{Coordinate, Device, Name};
use super::largest::Largest;
use super::outputs::Outputs;
use super::phases::Phases;
use super::universe::Universe;
use super::{Failure, grouped, periodic, short, start_threads};

const CATALOG: &str = "halos.ecsv";
const LABELS: &str = "labels.npy";
const MASS_FUNCTION: &str = "mass_function.svg";
const PROJECTION: &str = "projection.png";
const MEMBERS: &str = "members.npz";
const PROFILES: &str = "profiles.ecsv";
const GALLERY: &str = "gallery.png";
const ALL: [&str; 7] = [CATALOG, LABELS, MASS_FUNCTION, PROJECTION, MEMBERS, PROFILES, GALLERY];
const R200C: Overdensity = Overdensity::Critical(200.0);

pub fn run(args: &Args) -> Result<String, Failure> {
    start_threads(args.threads)?;
    let device = args.device.find()?;
    args.universe.check()?;
    if let Some(kind) = args.center.iter().skip(1).find(|kind| !matches!(kind, Kind::Mcp)) {
        return Err(format!("--center: only mcp may come after another kind, not the {}", kind.name()).into());
    }
    let twice = |i: usize| args.so[..i].contains(&args.so[i]);
    if let Some(i) = (0..args.so.len()).find(|&i| twice(i)) {
        return Err(format!("--so: {} is named twice", args.so[i]).into());
    }
    if let Some(name) = (0..args.columns.len()).find(|&i| args.columns[..i].contains(&args.columns[i])) {
        return Err(format!("--columns: {} is named twice", args.columns[name]).into());
    }
    let not_on_device = |kind: &&Kind| args.device != Name::Cpu && !matches!(kind, Kind::Mbp | Kind::Mcp);
    if let Some(kind) = args.center.iter().find(not_on_device) {
        let kind = kind.name();
        return Err(
            format!("--device {}: centres are mbp or mcp there; for the {kind} use the cpu", args.device).into()
        );
    }
    // First, so that hours of work do not end at a full disk's closed door.
    let mut files = vec![CATALOG, LABELS];
    let wanted = [
        (!args.no_pictures, MASS_FUNCTION),
        (!args.no_pictures, PROJECTION),
        (args.members, MEMBERS),
        (args.profiles > 0, PROFILES),
        (args.gallery > 0, GALLERY),
    ];
    files.extend(wanted.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, name)| name));
    let outputs = Outputs::create(&args.out, &files, &ALL, &args.snapshot)?;

    let mut phases = Phases::default();
    let options = ReadOptions {
        particle_type: Some(args.particle_type),
        columns: args.coordinates.clone(),
        velocity_unit: args.universe.velocity_unit,
        redshift: args.universe.redshift,
    };
    let mut snapshot = phases.run("read", || ropewalk::io::read(&args.snapshot, &options))?;
    if snapshot.points.dim() != 3 {
        let dim = snapshot.points.dim();
        return Err(format!("{}: points have {dim} coordinates; halos need 3", args.snapshot.display()).into());
    }
    // Both in one precision, so that one type stands for them; widening is exact.
    if let Some(velocities) = snapshot.velocities.take() {
        let (points, velocities) = match (snapshot.points, velocities) {
            (Points::F32(points), Points::F64(velocities)) => (Points::F64(widen(&points)?), Points::F64(velocities)),
            (Points::F64(points), Points::F32(velocities)) => (Points::F64(points), Points::F64(widen(&velocities)?)),
            same => same,
        };
        (snapshot.points, snapshot.velocities) = (points, Some(velocities));
    }
    match (&snapshot.points, &snapshot.velocities) {
        (Points::F32(points), Some(Points::F32(velocities))) => {
            find(args, device, &snapshot, points, Some(velocities), outputs, phases)
        }
        (Points::F64(points), Some(Points::F64(velocities))) => {
            find(args, device, &snapshot, points, Some(velocities), outputs, phases)
        }
        (Points::F32(points), _) => find(args, device, &snapshot, points, None, outputs, phases),
        (Points::F64(points), _) => find(args, device, &snapshot, points, None, outputs, phases),
    }
}

fn widen(table: &Table<f32>) -> Result<Table<f64>, Failure> {
    Ok(Table::new(table.dim(), table.as_slice().iter().map(|&x| x.into()).collect())?)
}

/// The three-dimensional rows of a table.
fn rows<'a, S>(table: &'a Table<S>, what: &str) -> Result<&'a [[S; 3]], Failure> {
    table.rows().ok_or_else(|| format!("{what} have {} components; halos need 3", table.dim()).into())
}

/// The linking length, its meaning for the user, and the volume that halos are counted in.
struct Scales {
    eps: f64,
    text: String,
    /// The linking length in mean separations, if it was given so.
    separations: Option<f64>,
    volume: f64,
}

impl Scales {
    fn new<S: Scalar>(args: &Args, snapshot: &Snapshot, particles: &Particles<S>) -> Result<Self, Failure> {
        let n = snapshot.points.len();
        let volume = match args.box_size.or(snapshot.box_size) {
            Some(side) => side.powi(3),
            None => {
                let (lo, hi) = particles.extent();
                (0..3).map(|k| hi[k] - lo[k]).product()
            }
        };
        if let Some(eps) = args.eps {
            if !(0.0..f64::INFINITY).contains(&eps) {
                return Err(format!("--eps is {eps}; it must be finite and not negative").into());
            }
            return Ok(Self { eps, text: short(eps), separations: None, volume });
        }
        let b = args.linking_length;
        if !(0.0..f64::INFINITY).contains(&b) {
            return Err(format!("--linking-length is {}; it must be finite and not negative", short(b)).into());
        }
        let separation = if n == 0 { 0.0 } else { (volume / n as f64).cbrt() };
        if n > 1 && !(separation > 0.0 && separation < f64::INFINITY) {
            let shown = short(volume);
            return Err(
                format!("the volume of the particles is {shown}, which gives no mean separation; give --eps").into()
            );
        }
        let eps = b * separation;
        Ok(Self { eps, text: format!("{} ({} mean separations)", short(eps), short(b)), separations: Some(b), volume })
    }
}

fn find<S: Coordinate>(
    args: &Args,
    device: Device,
    snapshot: &Snapshot,
    points: &Table<S>,
    velocities: Option<&Table<S>>,
    mut outputs: Outputs,
    mut phases: Phases,
) -> Result<String, Failure> {
    let positions = rows(points, "points")?;
    let mut particles = Particles::new(positions);
    if let Some(velocities) = velocities {
        particles = particles.velocities(rows(velocities, "velocities")?);
    }
    if let Some(ids) = &snapshot.ids {
        particles = particles.ids(ids);
    }
    particles = match &snapshot.masses {
        Masses::Equal(mass) => particles.mass(*mass),
        Masses::Each(masses) => particles.masses(masses),
        Masses::Unknown => particles,
    };
    // A side that is no side is an error also where it would only give the separation.
    if let Some(side) = args.box_size.filter(|&side| !(side > 0.0 && side < f64::INFINITY)) {
        return Err(format!("--box is {}; it must be positive and finite", short(side)).into());
    }
    let scales = Scales::new(args, snapshot, &particles)?;
    let period = args.box_size.or(snapshot.box_size).filter(|_| !args.open);
    let outside = periodic::wrapped(&snapshot.points, period, snapshot.box_size)?;
    let mut fof = Fof::new(scales.eps).min_members(args.min_members as usize);
    if let Some(side) = period {
        fof = fof.periodic(side);
        particles = particles.periodic(side);
    }

    let universe = Universe::new(&args.universe, snapshot, args.box_size.or(snapshot.box_size));
    let thresholds = thresholds(args, snapshot, &universe, &args.so)?;
    let r200c = match args.profiles {
        // A gallery does without.
        0 => self::thresholds(args, snapshot, &universe, &[R200C]).ok(),
        _ => Some(self::thresholds(args, snapshot, &universe, &[R200C])?),
    };
    let r200c = r200c.and_then(|spheres| spheres.first().map(|&(_, threshold)| threshold));

    let masses = if let Masses::Each(masses) = &snapshot.masses { Some(&masses[..]) } else { None };
    let (halos, center_finder) = match device {
        Device::Cpu => (phases.run("find halos", || fof.run(positions))?, None),
        #[cfg(any(feature = "cuda", feature = "vulkan"))]
        Device::Gpu(device) => {
            let points = phases.run("upload", || super::device::upload(positions, period.map(Into::into), device))?;
            let fof = ropewalk::gpu::Fof::new(scales.eps).min_members(args.min_members as usize);
            let (halos, finder) = phases.run("find halos", || super::device::find_halos(&fof, points, masses))?;
            (halos, Some(finder))
        }
    };
    let case = Case {
        halos: &halos,
        positions,
        particles: &particles,
        ids: snapshot.ids.as_deref(),
        masses,
        period,
        linking_length: scales.eps,
        center_finder,
        least_in_sphere: args.min_so_particles,
    };
    // What is said beside the results.
    let mut remarks = vec![];
    let catalog = phases.run("catalogue", || -> Result<Catalog, Failure> {
        let mut catalog = Catalog::new(&halos, &particles)?;
        catalog = catalog.units(universe.known_units());
        if let Some(kind) = center_of(args) {
            let centers = case.add_centers(&mut catalog, kind.center(args.softening, scales.eps))?;
            remarks.extend(without_centers(&centers, &catalog));
            if args.center.iter().any(|kind| matches!(kind, Kind::Mcp)) {
                case.add_most_connected(&mut catalog)?;
            }
            if !args.so.is_empty() {
                let (_, conversion) = universe.units_for("--so")?;
                let with_spin = universe.has_velocity_unit && velocities.is_some();
                if !universe.has_redshift {
                    remarks.push("the redshift is not known, and taken to be 0 (--redshift)".into());
                }
                if velocities.is_some() && !with_spin {
                    remarks.push("no spins: the unit of velocities is not known (--velocity-unit)".into());
                }
                case.add_spheres(&mut catalog, &centers, &thresholds, conversion.gravity(), with_spin)?;
            }
        }
        if !args.columns.is_empty() {
            catalog.keep(&args.columns)?;
        }
        if args.members {
            outputs.write(MEMBERS, |out| ropewalk::io::write_npz_to(out, &case.members(&catalog)))?;
        }
        let meta = meta(args, snapshot, &universe, period, &scales);
        outputs.write(CATALOG, |out| catalog.write_ecsv(out, &meta))?;
        outputs.write(LABELS, |out| ropewalk::io::write_npy_i32_to(out, halos.labels().as_slice()))?;
        Ok(catalog)
    })?;
    if !args.no_pictures {
        phases.run("pictures", || -> Result<(), Failure> {
            let n = grouped(positions.len() as u64);
            let found = match catalog.halos().len() {
                1 => "1 halo".into(),
                many => format!("{} halos", grouped(many as u64)),
            };
            let place = period.map_or("open boundaries".into(), |side| format!("box {}", short(side)));
            let title = format!("{n} particles, {place}, {found}");
            let picture = plot::projection(&particles, &catalog, &title)?;
            outputs.write(PROJECTION, |out| out.write_all(&picture))?;
            let title = format!("{found} of {} or more particles, linking length {}", args.min_members, scales.text);
            let unit = match (&snapshot.masses, &universe.units) {
                (Masses::Unknown, _) => "particles".into(),
                (_, Ok((units, _))) => units.mass.to_string(),
                (_, Err(_)) => "snapshot mass unit".into(),
            };
            // A picture's curve is no reason to lose a catalogue.
            let curves = expected(snapshot, &universe, &catalog).unwrap_or_else(|why| {
                remarks.push(format!("no expected mass functions: {why}"));
                vec![]
            });
            let picture = plot::mass_function(&catalog, scales.volume, &curves, &title, &unit);
            outputs.write(MASS_FUNCTION, |out| out.write_all(picture.as_bytes()))
        })?;
    }
    if args.profiles > 0 {
        phases.run("profiles", || -> Result<(), Failure> {
            let largest = Largest::new(&case, &catalog, args.profiles, args.softening, r200c)?;
            let units = universe.units.as_ref().ok().map(|(units, _)| units);
            let meta = meta(args, snapshot, &universe, period, &scales);
            outputs.write(PROFILES, |out| largest.write_profiles(&case, out, units, &meta))
        })?;
    }
    if args.gallery > 0 {
        phases.run("gallery", || -> Result<(), Failure> {
            let largest = Largest::new(&case, &catalog, args.gallery.into(), args.softening, r200c)?;
            let picture = largest.gallery(&case, "R200c")?;
            outputs.write(GALLERY, |out| out.write_all(&picture))
        })?;
    }
    let written = outputs.names();
    let committed = outputs.commit()?;

    let mut report = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a string does not fail.
        _ = writeln!(report, "{name:<16}{value}");
    };
    line("particles", grouped(positions.len() as u64));
    line("box", period.map_or("open".into(), |side| format!("{}, periodic", short(side))));
    if let Some(side) = period.filter(|_| outside > 0) {
        line("wrapped", periodic::sentence(outside, side));
    }
    if !snapshot.columns.is_empty() {
        line("columns", snapshot.columns.join(", "));
    }
    line("units", universe.describe_units());
    if let Some(matter) = universe.describe_matter() {
        line("matter", matter);
    }
    line("linking length", scales.text);
    if args.device != Name::Cpu {
        line("device", args.device.to_string());
    }
    line("groups", format!("{} of two or more", grouped(halos.labels().n_clusters() as u64)));
    line("halos", format!("{} of {} or more", grouped(catalog.halos().len() as u64), args.min_members));
    if let Some(halo) = catalog.halos().first() {
        line("largest", format!("{} particles, mass {}", grouped(halo.count as u64), short(halo.mass)));
    }
    for remark in remarks {
        line("note", remark);
    }
    _ = write!(report, "\n{}\n", phases.table());
    _ = writeln!(report, "{written} are in {}", args.out.display());
    if !committed.removed.is_empty() {
        _ = writeln!(report, "removed: {}, of an earlier run", committed.removed.join(", "));
    }
    Ok(committed.report(report))
}

/// The centre that is asked for, or that spheres need.
fn center_of(args: &Args) -> Option<Kind> {
    args.center.first().copied().or((!args.so.is_empty()).then_some(Kind::Mbp))
}

/// A sentence on halos that have no centre, if there are any.
fn without_centers(centers: &Centers, catalog: &Catalog) -> Option<String> {
    let missing = |&halo: &u32| centers.as_slice()[halo as usize].missing;
    let count = catalog.order().iter().filter_map(missing).count();
    let (halo, why) = catalog.halos().iter().zip(catalog.order()).find_map(|(halo, i)| Some((halo, missing(i)?)))?;
    let others = if count > 1 { format!(", and so have {} others", grouped(count as u64 - 1)) } else { String::new() };
    Some(format!("the halo with the tag {} has no centre (NaN in the catalogue){others}: {why}", halo.tag))
}

/// The densities that overdensities stand for.
fn thresholds(
    args: &Args,
    snapshot: &Snapshot,
    universe: &Universe,
    overdensities: &[Overdensity],
) -> Result<Vec<(Overdensity, f64)>, Failure> {
    if overdensities.is_empty() {
        return Ok(vec![]);
    }
    let option = if args.so.is_empty() { "--profiles" } else { "--so" };
    if universe.omega_m.is_some() && snapshot.masses == Masses::Unknown {
        return Err(format!("{option} needs masses, and the snapshot has none").into());
    }
    let background = universe.background(option)?;
    Ok(overdensities.iter().map(|&overdensity| (overdensity, overdensity.threshold(&background))).collect())
}

/// The mass functions that are expected, in the snapshot's units, or why there are none.
fn expected(snapshot: &Snapshot, universe: &Universe, catalog: &Catalog) -> Result<Vec<plot::Expected>, String> {
    let masses = catalog.halos().iter().map(|halo| halo.mass).filter(|&mass| mass > 0.0);
    let (lightest, heaviest) = masses.fold((f64::INFINITY, 0.0), |(lo, hi), mass| (mass.min(lo), mass.max(hi)));
    if snapshot.masses == Masses::Unknown {
        return Err("the snapshot has no masses".into());
    }
    if heaviest <= 0.0 {
        return Ok(vec![]);
    }
    // A little beyond both ends.
    let (from, to) = (0.7 * lightest, 2.0 * heaviest);
    let masses: Vec<f64> = (0..=100).map(|i| from * (to / from).powf(f64::from(i) / 100.0)).collect();
    let curve = |name: &str, function| -> Result<plot::Expected, String> {
        let numbers = universe.halos_above(&masses, function)?;
        let points = masses.iter().zip(numbers).map(|(&mass, number)| [mass, number]).collect();
        Ok(plot::Expected { name: name.into(), points })
    };
    Ok(vec![
        curve("Warren et al. 2006", MassFunction::Warren2006)?,
        curve("Tinker et al. 2008, 200m", MassFunction::Tinker2008)?,
    ])
}

/// What a reader of the catalogue must know.
fn meta(
    args: &Args,
    snapshot: &Snapshot,
    universe: &Universe,
    period: Option<f64>,
    scales: &Scales,
) -> Vec<(&'static str, Meta)> {
    let text = |text: &str| Meta::Text(text.into());
    let mut meta = vec![
        ("snapshot", Meta::Text(args.snapshot.display().to_string())),
        ("finder", text("friends of friends")),
        ("program", Meta::Text(format!("ropewalk {}", env!("CARGO_PKG_VERSION")))),
        ("linking_length", Meta::Number(scales.eps)),
        ("min_members", Meta::Number(args.min_members.into())),
        ("particles", Meta::Number(snapshot.points.len() as f64)),
        ("boundaries", text(if period.is_some() { "periodic" } else { "open" })),
    ];
    if let Some(separations) = scales.separations {
        meta.push(("linking_length_in_mean_separations", Meta::Number(separations)));
    }
    if let Some(side) = args.box_size.or(snapshot.box_size) {
        meta.push(("box_size", Meta::Number(side)));
    }
    if let Masses::Equal(mass) = snapshot.masses {
        meta.push(("particle_mass", Meta::Number(mass)));
    }
    let numbers = [
        ("omega_m", universe.omega_m),
        ("omega_lambda", universe.omega_lambda),
        ("h", universe.h),
        ("redshift", universe.has_redshift.then_some(universe.redshift)),
        ("scale_factor", universe.has_redshift.then_some(1.0 / (1.0 + universe.redshift))),
    ];
    meta.extend(numbers.into_iter().filter_map(|(name, number)| Some((name, Meta::Number(number?)))));
    meta.push(("units", Meta::Text(universe.describe_units())));
    if let Some(ratio) = universe.matter {
        meta.push(("matter_over_mean_density", Meta::Number(ratio)));
    }
    if let Some(kind) = center_of(args) {
        meta.push(("center", text(kind.name())));
        meta.push(("softening", Meta::Number(args.softening)));
    }
    let mut notes = vec![];
    if snapshot.masses == Masses::Unknown {
        notes.push("the snapshot has no masses; masses are particle counts".into());
    }
    if snapshot.ids.is_none() {
        notes.push("the snapshot has no particle ids; tags are indices from 0".into());
    }
    if !args.so.is_empty() {
        meta.push(("min_so_particles", Meta::Number(args.min_so_particles as f64)));
        notes.push(
            "sod_halo_*: within the sphere about the centre whose mean density has fallen to so many times the critical (c) or \
             mean (m) one, over all particles read; NaN where the sphere is not dense enough, meets its own image in the box, or \
             holds fewer than min_so_particles"
                .into(),
        );
    }
    if !notes.is_empty() {
        meta.push(("notes", Meta::Lines(notes)));
    }
    meta
}

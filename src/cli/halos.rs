//! `ropewalk halos`.

use std::fmt::Write;
use std::io::Write as _;

use ropewalk::io::{Masses, Points, ReadOptions, Snapshot, Table};
use ropewalk::{Background, Catalog, Cosmology, Fof, MassFunction, Overdensity, Particles, Scalar, plot};

use super::args::Halos as Args;
use super::centers::{Case, Kind};
use super::device::{Coordinate, Device, Name};
use super::largest::Largest;
use super::outputs::Outputs;
use super::phases::Phases;
use super::{Failure, grouped, periodic, short, start_threads};

const CATALOG: &str = "halos.csv";
const LABELS: &str = "labels.npy";
const MASS_FUNCTION: &str = "mass_function.svg";
const PROJECTION: &str = "projection.png";
const MEMBERS: &str = "members.npz";
const PROFILES: &str = "profiles.csv";
const GALLERY: &str = "gallery.png";
const ALL: [&str; 7] = [CATALOG, LABELS, MASS_FUNCTION, PROJECTION, MEMBERS, PROFILES, GALLERY];
const R200C: Overdensity = Overdensity::Critical(200.0);

pub fn run(args: &Args) -> Result<String, Failure> {
    start_threads(args.threads)?;
    let device = args.device.find()?;
    if let Some(kind) = args.center.filter(|kind| args.device != Name::Cpu && !matches!(kind, Kind::Mbp | Kind::Mcp)) {
        let kind = kind.name();
        return Err(
            format!("--device {}: centres are mbp or mcp there; for the {kind} use the cpu", args.device).into()
        );
    }
    // First, so that hours of work do not end at a full disk's closed door.
    let mut files = vec![CATALOG, LABELS, MASS_FUNCTION, PROJECTION];
    let wanted = [(args.members, MEMBERS), (args.profiles > 0, PROFILES), (args.gallery > 0, GALLERY)];
    files.extend(wanted.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, name)| name));
    let outputs = Outputs::create(&args.out, &files, &ALL, &args.snapshot)?;

    let mut phases = Phases::default();
    let options = ReadOptions { particle_type: Some(args.particle_type), columns: args.coordinates.clone() };
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
            return Ok(Self { eps, text: short(eps), volume });
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
        Ok(Self { eps, text: format!("{} ({} mean separations)", short(eps), short(b)), volume })
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

    let thresholds = thresholds(args, snapshot, &args.so)?;
    let r200c = match args.profiles {
        // A gallery does without.
        0 => self::thresholds(args, snapshot, &[R200C]).ok(),
        _ => Some(self::thresholds(args, snapshot, &[R200C])?),
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
    };
    let catalog = phases.run("catalogue", || -> Result<Catalog, Failure> {
        let mut catalog = Catalog::new(&halos, &particles)?;
        if let Some(center) = args.center.or((!args.so.is_empty()).then_some(Kind::Mbp)) {
            let centers = case.add_centers(&mut catalog, center.center(args.softening, scales.eps))?;
            if !args.so.is_empty() {
                case.add_spheres(&mut catalog, &centers, &thresholds)?;
            }
        }
        if !args.columns.is_empty() {
            catalog.keep(&args.columns)?;
        }
        if args.members {
            outputs.write(MEMBERS, |out| ropewalk::io::write_npz_to(out, &case.members(&catalog)))?;
        }
        let notes = notes(args, snapshot, period, &scales);
        outputs.write(CATALOG, |out| catalog.write_csv(out, &notes))?;
        outputs.write(LABELS, |out| ropewalk::io::write_npy_i32_to(out, halos.labels().as_slice()))?;
        Ok(catalog)
    })?;
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
        let unit = if snapshot.masses == Masses::Unknown { "particles" } else { "snapshot mass unit" };
        let picture = plot::mass_function(&catalog, scales.volume, &expected(args, snapshot, &catalog)?, &title, unit);
        outputs.write(MASS_FUNCTION, |out| out.write_all(picture.as_bytes()))
    })?;
    if args.profiles > 0 {
        phases.run("profiles", || -> Result<(), Failure> {
            let largest = Largest::new(&case, &catalog, args.profiles, args.softening, r200c)?;
            outputs.write(PROFILES, |out| largest.write_profiles(&case, out))
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
    line("linking length", scales.text);
    if args.device != Name::Cpu {
        line("device", args.device.to_string());
    }
    line("groups", format!("{} of two or more", grouped(halos.labels().n_clusters() as u64)));
    line("halos", format!("{} of {} or more", grouped(catalog.halos().len() as u64), args.min_members));
    if let Some(halo) = catalog.halos().first() {
        line("largest", format!("{} particles, mass {}", grouped(halo.count as u64), short(halo.mass)));
    }
    _ = write!(report, "\n{}\n", phases.table());
    _ = writeln!(report, "{written} are in {}", args.out.display());
    if !committed.removed.is_empty() {
        _ = writeln!(report, "removed: {}, of an earlier run", committed.removed.join(", "));
    }
    Ok(committed.report(report))
}

/// The universe of the snapshot, if its header or the options tell it.
fn cosmology(args: &Args, snapshot: &Snapshot) -> Option<Cosmology> {
    let header = snapshot.header.as_ref();
    let omega_m = args.omega_m.or(header.map(|header| header.omega_m).filter(|&omega| omega > 0.0))?;
    Some(Cosmology {
        omega_m,
        omega_lambda: args.omega_lambda.or(header.map(|header| header.omega_lambda)).unwrap_or(1.0 - omega_m),
        omega_b: args.omega_b,
        h: args.hubble.or(header.map(|header| header.hubble).filter(|&h| h > 0.0)).unwrap_or(0.7),
        sigma_8: args.sigma_8,
        n_s: args.n_s,
        redshift: header.map_or(0.0, |header| header.redshift),
    })
}

/// The densities that overdensities stand for.
fn thresholds(
    args: &Args,
    snapshot: &Snapshot,
    overdensities: &[Overdensity],
) -> Result<Vec<(Overdensity, f64)>, Failure> {
    if overdensities.is_empty() {
        return Ok(vec![]);
    }
    let option = if args.so.is_empty() { "--profiles" } else { "--so" };
    let Some(Cosmology { omega_m, omega_lambda, redshift, .. }) = cosmology(args, snapshot) else {
        return Err(
            format!("{option} needs the density of matter, which the snapshot does not tell: give --omega-m").into()
        );
    };
    if snapshot.masses == Masses::Unknown {
        return Err(format!("{option} needs masses, and the snapshot has none").into());
    }
    let background = Background { omega_m, omega_lambda, redshift, critical: Background::GADGET };
    Ok(overdensities.iter().map(|&overdensity| (overdensity, overdensity.threshold(&background))).collect())
}

/// The mass functions that are expected, for masses in 1e10 Msun/h and lengths in Mpc/h.
fn expected(args: &Args, snapshot: &Snapshot, catalog: &Catalog) -> Result<Vec<plot::Expected>, Failure> {
    let masses = catalog.halos().iter().map(|halo| halo.mass).filter(|&mass| mass > 0.0);
    let (lightest, heaviest) = masses.fold((f64::INFINITY, 0.0), |(lo, hi), mass| (mass.min(lo), mass.max(hi)));
    let Some(cosmology) = cosmology(args, snapshot) else { return Ok(vec![]) };
    if snapshot.masses == Masses::Unknown || heaviest <= 0.0 {
        return Ok(vec![]);
    }
    // A little beyond both ends.
    let (from, to) = (0.7 * lightest, 2.0 * heaviest);
    let masses: Vec<f64> = (0..=100).map(|i| from * (to / from).powf(f64::from(i) / 100.0)).collect();
    let true_masses: Vec<f64> = masses.iter().map(|mass| 1e10 * mass).collect();
    let curve = |name: &str, function| -> Result<plot::Expected, Failure> {
        let numbers = cosmology.halos_above(&true_masses, function)?;
        let points = masses.iter().zip(numbers).map(|(&mass, number)| [mass, number]).collect();
        Ok(plot::Expected { name: name.into(), points })
    };
    Ok(vec![
        curve("Warren et al. 2006", MassFunction::Warren2006)?,
        curve("Tinker et al. 2008, 200m", MassFunction::Tinker2008)?,
    ])
}

/// What a reader of the catalogue must know.
fn notes(args: &Args, snapshot: &Snapshot, period: Option<f64>, scales: &Scales) -> Vec<String> {
    let boundaries = period.map_or("open boundaries".into(), |side| format!("periodic box of {}", short(side)));
    let mass = match snapshot.masses {
        Masses::Unknown => "masses are particle counts",
        _ => "masses in the snapshot's mass unit (Gadget: usually 1e10 Msun/h)",
    };
    let mut notes = vec![
        format!("friends-of-friends halos of {} by ropewalk {}", args.snapshot.display(), env!("CARGO_PKG_VERSION")),
        format!("linking length {}, {} members or more, {boundaries}", scales.text, args.min_members),
        format!("positions and radii in the snapshot's length unit; {mass}"),
    ];
    if snapshot.velocities.is_some() {
        notes.push("velocities are peculiar, in the snapshot's velocity unit (Gadget: usually km/s)".into());
    }
    if let Some(kind) = args.center.or((!args.so.is_empty()).then_some(Kind::Mbp)) {
        let softening =
            if args.softening > 0.0 { format!(", softening {}", short(args.softening)) } else { String::new() };
        notes.push(format!(
            "centres: {}{softening}; mcp: the member with most others within the linking length",
            kind.name()
        ));
    }
    if !args.so.is_empty() {
        notes.push(
            "sod_halo_*: within the sphere about the centre whose mean density has fallen to so many times the critical (c) or \
             mean (m) one, over all particles read; comoving, for Mpc/h and 1e10 Msun/h"
                .into(),
        );
    }
    if snapshot.ids.is_none() {
        notes.push("the snapshot has no particle ids; tags are indices from 0".into());
    }
    notes
}

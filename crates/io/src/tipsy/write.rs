//! Writing of Tipsy files, which [`read`](crate::read) and pynbody can read.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ropewalk::units::{Frame, GRAVITY, Units};
use ropewalk::{Error, Result};

use crate::atomic::AtomicFile;
use crate::number_types::{Word, foreign};
use crate::tipsy::header::{Family, Header};
use crate::{Background, Masses, Points, Species};

/// Options for writing a Tipsy file. The default is a big-endian file at a = 1, without stated units.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct TipsyOptions {
    /// If `true`, the most significant byte comes first ("standard"); otherwise last ("native").
    pub big_endian: bool,
    /// The scale factor a; if lengths are physical, the time.
    pub time: f64,
    /// The units of the particles, which are written to a `.param` file beside the snapshot. Positions and masses are
    /// unchanged. Velocities are stored as v / a, in the unit in which the gravitational constant is 1. If `None`,
    /// velocities are unchanged, too.
    pub units: Option<Units>,
    /// The cosmology. Units of 1/h require its h.
    pub background: Background,
    /// The side of the periodic box, which is written to the `.param` file. pynbody ignores it, and uses the unit of
    /// length as the side.
    pub box_size: Option<f64>,
}

impl Default for TipsyOptions {
    fn default() -> Self {
        Self { big_endian: true, time: 1.0, units: None, background: Background::default(), box_size: None }
    }
}

impl TipsyOptions {
    /// Selects the byte order: the most significant byte first if `true` ("standard"), otherwise last ("native").
    /// Default: `true`.
    #[must_use]
    pub fn big_endian(mut self, big_endian: bool) -> Self {
        self.big_endian = big_endian;
        self
    }

    /// Sets the scale factor a, or the time if lengths are physical. Default: 1.
    #[must_use]
    pub fn time(mut self, time: f64) -> Self {
        self.time = time;
        self
    }

    /// Sets the units of the particles, which are written to a `.param` file beside the snapshot and determine how
    /// velocities are stored ([`TipsyOptions::units`]). Default: none, and velocities are unchanged.
    #[must_use]
    pub fn units(mut self, units: Units) -> Self {
        self.units = Some(units);
        self
    }

    /// Sets the cosmology, which is written to the `.param` file if units are set. Units of 1/h require its h. Default:
    /// unknown.
    #[must_use]
    pub fn background(mut self, background: Background) -> Self {
        self.background = background;
        self
    }

    /// Sets the side of the periodic box, in the unit of the positions, which is written to the `.param` file if units
    /// are set. Default: no box.
    #[must_use]
    pub fn box_size(mut self, box_size: f64) -> Self {
        self.box_size = Some(box_size);
        self
    }
}

/// Writes gas, dark matter and stars (types 0, 1 and 4) as a Tipsy file. Ids are written as text to `path.iord` and,
/// if units are given, the units are written to `path.param`. Fields that a species does not have, such as softening
/// and potential, are 0.
///
/// All files are written under temporary names, and renamed when they are complete.
///
/// # Errors
/// An error is returned if:
/// - a file cannot be written
/// - a species has another type, occurs twice, or has arrays that differ in length or do not have three dimensions
/// - only some species have ids, or positions or velocities differ in precision
/// - masses are unknown, or a unit requires an h that is not given
/// - velocities have 64 bits, positions have 32 bits, and no units are given
///
/// ```
/// use ropewalk_io::{Masses, Points, ReadOptions, Species, Table, TipsyOptions, read, write_tipsy};
///
/// let points = Points::F32(Table::new(3, vec![0.5, 1.0, 2.0])?);
/// let masses = Masses::Equal(1.0);
/// let dark = Species { particle_type: 1, positions: &points, velocities: Some(&points), ids: Some(&[7]), masses: &masses };
/// let folder = std::env::temp_dir().join("ropewalk_write_tipsy");
/// std::fs::create_dir_all(&folder).unwrap();
/// write_tipsy(folder.join("snap"), &[dark], &TipsyOptions::default())?;
/// let back = read(folder.join("snap"), &ReadOptions::default())?;
/// assert_eq!((back.points, back.ids), (points, Some(vec![7])));
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn write_tipsy(path: impl AsRef<Path>, species: &[Species<'_>], options: &TipsyOptions) -> Result<()> {
    let path = path.as_ref();
    let refuse = |message: String| Error::file(path, message);
    let mut families: [Option<&Species<'_>>; 3] = [None; 3];
    for one in species {
        let t = one.particle_type;
        let Some(at) = Family::ALL.iter().position(|family| family.particle_type() == t) else {
            return Err(refuse(format!("cannot store type {t}; types must be gas (0), dark matter (1) or stars (4)")));
        };
        check(one).map_err(refuse)?;
        if families[at].replace(one).is_some() {
            return Err(refuse(format!("type {t} occurs twice")));
        }
    }
    let written: Vec<(Family, &Species<'_>)> =
        Family::ALL.into_iter().zip(families).filter_map(|(family, one)| Some((family, one?))).collect();
    let precision = |points: &Points| matches!(points, Points::F64(_));
    let kinds = |one: &Species<'_>| (precision(one.positions), one.velocities.map(precision), one.ids.is_some());
    if let Some(pair) = written.windows(2).find(|pair| kinds(pair[0].1) != kinds(pair[1].1)) {
        let (t, u) = (pair[0].1.particle_type, pair[1].1.particle_type);
        return Err(refuse(format!("types {t} and {u} differ in precision or in the fields that they have")));
    }
    let counts = families.map(|one| one.map_or(0, |one| one.positions.len() as u64));
    let header = Header { big_endian: options.big_endian, time: options.time, counts };
    let Some(start) = header.encode() else {
        return Err(refuse("cannot store 2^40 or more particles".into()));
    };
    let is_wide_velocity = written.first().is_some_and(|(_, one)| kinds(one).1 == Some(true));
    let is_wide_position = written.first().is_some_and(|(_, one)| kinds(one).0);
    if is_wide_velocity && !is_wide_position && options.units.is_none() {
        let message = "velocities of 64 bits beside positions of 32 bits need a .param file, and that needs units";
        return Err(refuse(message.into()));
    }
    let run = options.units.map(|units| run(&units, options)).transpose().map_err(|error| Error::file(path, error))?;
    let per_velocity = run.as_ref().map_or(1.0, |(_, per_velocity)| *per_velocity);

    let stale = [("iord", !written.iter().any(|(_, one)| one.ids.is_some())), ("param", run.is_none())];
    if let Some(other) =
        stale.iter().filter(|(_, is)| *is).map(|(end, _)| beside(path, end)).find(|other| other.exists())
    {
        let message = "exists and would be read with the snapshot; remove it".to_string();
        return Err(Error::file(other, message));
    }
    let ids: Vec<&[u64]> = written.iter().filter_map(|(_, one)| one.ids).collect();
    let mut files = vec![];
    if !ids.is_empty() {
        files.push(filled(&beside(path, "iord"), |out| {
            writeln!(out, "{}", header.total())?;
            ids.iter().copied().flatten().try_for_each(|id| writeln!(out, "{id}"))
        })?);
    }
    if let Some((mut text, _)) = run {
        // pynbody interprets any value as yes.
        for (name, is_wide) in [("bDoublePos", is_wide_position), ("bDoubleVel", is_wide_velocity)] {
            if is_wide {
                text += &format!("{name} = 1\n");
            }
        }
        files.push(filled(&beside(path, "param"), |out| out.write_all(text.as_bytes()))?);
    }
    files.push(filled(path, |out| {
        out.write_all(&start)?;
        written.iter().try_for_each(|(family, one)| records(out, *family, one, per_velocity, options.big_endian))
    })?);
    AtomicFile::commit_all(files)
}

/// Creates a file and fills it with `write`. The file is not committed yet.
fn filled(path: &Path, write: impl FnOnce(&mut AtomicFile) -> io::Result<()>) -> Result<AtomicFile> {
    let mut file = AtomicFile::create(path)?;
    write(&mut file).map_err(|error| Error::io(path, "cannot be written", error))?;
    Ok(file)
}

/// Returns `path` with a further extension appended.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(format!(".{ending}"));
    name.into()
}

/// Errors: the reason why a species cannot be written.
fn check(one: &Species<'_>) -> std::result::Result<(), String> {
    let (t, n) = (one.particle_type, one.positions.len());
    let masses = match one.masses {
        Masses::Unknown => return Err(format!("the masses of type {t} are unknown")),
        Masses::Equal(_) => n,
        Masses::Each(all) => all.len(),
    };
    let lengths = [
        ("velocities", one.velocities.map_or(n, Points::len)),
        ("ids", one.ids.map_or(n, <[u64]>::len)),
        ("masses", masses),
    ];
    if let Some((what, m)) = lengths.into_iter().find(|&(_, m)| m != n) {
        return Err(format!("type {t} has {n} positions, but {m} {what}"));
    }
    match [Some(one.positions), one.velocities].into_iter().flatten().find(|points| points.dim() != 3) {
        Some(points) => Err(format!("type {t} has vectors of {} components; Tipsy's must have 3", points.dim())),
        None => Ok(()),
    }
}

/// Returns the parameter file of a run in these units, and the factor that multiplies velocities.
fn run(units: &Units, options: &TipsyOptions) -> Result<(String, f64)> {
    let h = options.background.h;
    // Returns an error if h is required and missing, or invalid.
    units.conversion(0.0, h)?;
    if (units.length.per_h || units.mass.per_h) && h.is_none() {
        let message = format!("{units} need the Hubble constant, because Tipsy has no units of 1/h");
        return Err(Error::missing("h", message));
    }
    let per_h = |is: bool| if is { h.unwrap_or(1.0) } else { 1.0 };
    let mpc = units.length.mpc / per_h(units.length.per_h);
    let msun = units.mass.msun / per_h(units.mass.per_h);
    let km_s = (GRAVITY * msun / mpc).sqrt();
    let is_comoving = units.length.frame == Frame::Comoving;
    let mut text = format!("dKpcUnit = {}\ndMsolUnit = {msun}\nbComove = {}\n", mpc * 1e3, u8::from(is_comoving));
    text += &format!("bPeriodic = {}\n", u8::from(options.box_size.is_some()));
    let cosmology = options.background;
    for (key, value) in [
        ("dPeriod", options.box_size),
        ("dHubble0", h.map(|h| 100.0 * h * mpc / km_s)),
        ("dOmega0", cosmology.omega_m),
        ("dLambda", cosmology.omega_lambda),
    ] {
        if let Some(value) = value {
            text += &format!("{key} = {value}\n");
        }
    }
    let scale_factor = if is_comoving { options.time } else { 1.0 };
    let internal = if units.velocity.is_internal { scale_factor.sqrt() } else { 1.0 };
    Ok((text, units.velocity.km_s * internal / km_s / scale_factor))
}

fn records(
    out: &mut impl Write,
    family: Family,
    one: &Species<'_>,
    per_velocity: f64,
    big_endian: bool,
) -> io::Result<()> {
    for i in 0..one.positions.len() {
        let mass = match one.masses {
            Masses::Equal(mass) => *mass,
            Masses::Each(masses) => masses[i],
            Masses::Unknown => 0.0,
        };
        word(out, mass as f32, big_endian)?;
        vector(out, one.positions, i, 1.0, big_endian)?;
        match one.velocities {
            Some(velocities) => vector(out, velocities, i, per_velocity, big_endian)?,
            None => out.write_all(&[0; 12])?,
        }
        out.write_all(&[0; 20][..4 * family.others().len()])?;
    }
    Ok(())
}

fn vector(out: &mut impl Write, points: &Points, row: usize, factor: f64, big_endian: bool) -> io::Result<()> {
    let values = 3 * row..3 * row + 3;
    match points {
        Points::F32(table) => {
            table.as_slice()[values].iter().try_for_each(|&x| word(out, (f64::from(x) * factor) as f32, big_endian))
        }
        Points::F64(table) => table.as_slice()[values].iter().try_for_each(|&x| word(out, x * factor, big_endian)),
    }
}

fn word<T: Word>(out: &mut impl Write, value: T, big_endian: bool) -> io::Result<()> {
    let value = if foreign(big_endian) { value.swapped() } else { value };
    out.write_all(bytemuck::bytes_of(&value))
}

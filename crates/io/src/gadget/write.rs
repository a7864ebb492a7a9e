//! Writing of Gadget-2 binary snapshots, in the form that Gadget-2 writes and [`read`](crate::read) reads.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use ropewalk::{Error, Result};

use crate::atomic::replace;
use crate::gadget_header::Header;
use crate::number_types::{Word, foreign};
use crate::species::Species;
use crate::{Masses, Points, gadget};

/// Options for writing a Gadget-2 snapshot. The default is one little-endian file of `SnapFormat` 1 at a = 1, without a
/// box.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct GadgetOptions {
    /// If `true`, a label precedes each block (`SnapFormat` 2).
    pub labels: bool,
    /// If `true`, the most significant byte of each number comes first; otherwise last.
    pub big_endian: bool,
    /// If `true`, ids have 64 bits instead of 32.
    pub wide_ids: bool,
    /// The number of files. With more than one, their names are `path.0`, `path.1`, and so on.
    pub files: u32,
    /// The scale factor a. If the redshift is 1/a - 1, velocities are divided by the square root of a, as the format
    /// requires.
    pub time: f64,
    /// The redshift in the header.
    pub redshift: f64,
    /// The side of the periodic box, in the unit of the positions; `None` for no box.
    pub box_size: Option<f64>,
    /// The matter density at a = 1, in units of the critical density.
    pub omega_m: f64,
    /// The density of the cosmological constant, in units of the critical density.
    pub omega_lambda: f64,
    /// The Hubble constant in 100 km/s/Mpc.
    pub hubble: f64,
}

impl GadgetOptions {
    /// Selects `SnapFormat` 2 if `true`, in which a label precedes each block, otherwise `SnapFormat` 1. Default:
    /// `false`.
    #[must_use]
    pub fn labels(mut self, labels: bool) -> Self {
        self.labels = labels;
        self
    }

    /// Selects the byte order: the most significant byte first if `true`, otherwise last. Default: `false`.
    #[must_use]
    pub fn big_endian(mut self, big_endian: bool) -> Self {
        self.big_endian = big_endian;
        self
    }

    /// Selects ids of 64 bits if `true`, otherwise of 32 bits. Default: `false`.
    #[must_use]
    pub fn wide_ids(mut self, wide_ids: bool) -> Self {
        self.wide_ids = wide_ids;
        self
    }

    /// Sets the number of files, at least 1. With more than one, their names are `path.0`, `path.1`, and so on.
    /// Default: 1.
    #[must_use]
    pub fn files(mut self, files: u32) -> Self {
        self.files = files;
        self
    }

    /// Sets the scale factor a. If the redshift is 1/a - 1, velocities are divided by the square root of a, as the
    /// format requires. Default: 1.
    #[must_use]
    pub fn time(mut self, time: f64) -> Self {
        self.time = time;
        self
    }

    /// Sets the redshift in the header. Default: 0.
    #[must_use]
    pub fn redshift(mut self, redshift: f64) -> Self {
        self.redshift = redshift;
        self
    }

    /// Sets the side of the periodic box, in the unit of the positions. Default: no box, which is stored as 0.
    #[must_use]
    pub fn box_size(mut self, box_size: f64) -> Self {
        self.box_size = Some(box_size);
        self
    }

    /// Sets the matter density at a = 1 in the header, in units of the critical density. Default: 0.
    #[must_use]
    pub fn omega_m(mut self, omega_m: f64) -> Self {
        self.omega_m = omega_m;
        self
    }

    /// Sets the density of the cosmological constant in the header, in units of the critical density. Default: 0.
    #[must_use]
    pub fn omega_lambda(mut self, omega_lambda: f64) -> Self {
        self.omega_lambda = omega_lambda;
        self
    }

    /// Sets the Hubble constant in the header, in 100 km/s/Mpc. Default: 0.
    #[must_use]
    pub fn hubble(mut self, hubble: f64) -> Self {
        self.hubble = hubble;
        self
    }
}

impl Default for GadgetOptions {
    fn default() -> Self {
        Self {
            labels: false,
            big_endian: false,
            wide_ids: false,
            files: 1,
            time: 1.0,
            redshift: 0.0,
            box_size: None,
            omega_m: 0.0,
            omega_lambda: 0.0,
            hubble: 0.0,
        }
    }
}

/// Writes a Gadget-2 snapshot of the given species, in ascending order of type.
///
/// Each file is written under a temporary name, and renamed when it is complete.
///
/// # Errors
/// An error is returned if:
/// - a file cannot be written
/// - the arrays of a species differ in length, or do not have three dimensions
/// - the species are not in ascending order, or differ in precision or in which arrays they have
/// - masses are unknown, or equal but not positive
/// - without labels, a block is missing before one that is written
/// - an id needs 64 bits, and `wide_ids` is not set
/// - a block is too long for its 32-bit marker
pub fn write_gadget(path: impl AsRef<Path>, species: &[Species<'_>], options: &GadgetOptions) -> Result<()> {
    let path = path.as_ref();
    let refuse = |message: String| Error::file(path, message);
    if options.files == 0 {
        return Err(refuse("cannot be split over 0 files; the number of files must be 1 or more".to_string()));
    }
    let mut header = Header {
        counts: [0; 6],
        mass_table: [0.0; 6],
        time: options.time,
        redshift: options.redshift,
        box_size: options.box_size.unwrap_or(0.0),
        omega_m: options.omega_m,
        omega_lambda: options.omega_lambda,
        hubble: options.hubble,
        files: options.files,
    };
    for pair in species.windows(2) {
        if let [a, b] = pair {
            let (t, u) = (a.particle_type, b.particle_type);
            if t >= u {
                return Err(refuse(format!("type {u} comes after type {t}; types must ascend")));
            }
            if layout(a) != layout(b) {
                return Err(refuse(format!("types {t} and {u} differ in precision or in which blocks they have")));
            }
        }
    }
    // Blocks without labels are identified only by their order.
    let masses = species.iter().any(|one| matches!(one.masses, Masses::Each(_)));
    for one in species.iter().filter(|_| !options.labels) {
        if one.ids.is_none() && masses || one.velocities.is_none() && (masses || one.ids.is_some()) {
            let message = "without labels, a block can be left out only if all later blocks are left out (order: POS, VEL, ID, MASS)";
            return Err(refuse(message.to_string()));
        }
    }
    for one in species {
        check(one, options).map_err(refuse)?;
        let t = usize::from(one.particle_type);
        let (Some(count), Some(mass)) = (header.counts.get_mut(t), header.mass_table.get_mut(t)) else {
            return Err(refuse(format!("particle type {t} does not exist; types are 0 to 5")));
        };
        *count = one.positions.len() as u64;
        if let Masses::Equal(each) = one.masses {
            *mass = *each;
        }
    }
    header.check(path)?;
    for k in 0..options.files {
        let name = if options.files == 1 { path.to_path_buf() } else { gadget::part(path, k) };
        let slices: Vec<_> = species.iter().map(|one| (one, share(one.positions.len(), k, options.files))).collect();
        replace(&name, |out| write_file(out, &header, &slices, options))?;
    }
    Ok(())
}

/// Returns the properties that all species must share: precision of positions and velocities, presence of ids.
fn layout(one: &Species<'_>) -> (bool, Option<bool>, bool) {
    let wide = |points: &Points| matches!(points, Points::F64(_));
    (wide(one.positions), one.velocities.map(wide), one.ids.is_some())
}

/// Errors: the reason why a species cannot be written.
fn check(one: &Species<'_>, options: &GadgetOptions) -> std::result::Result<(), String> {
    let (t, n) = (one.particle_type, one.positions.len());
    let masses = match one.masses {
        Masses::Unknown => return Err(format!("the masses of type {t} are unknown")),
        Masses::Equal(each) if each.is_nan() || *each <= 0.0 => {
            return Err(format!("the mass of type {t} is {each}; it must be positive"));
        }
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
    if let Some(points) = [Some(one.positions), one.velocities].into_iter().flatten().find(|p| p.dim() != 3) {
        return Err(format!("type {t} has vectors of {} components; Gadget's must have 3", points.dim()));
    }
    match one.ids.into_iter().flatten().find(|&&id| id > u64::from(u32::MAX)) {
        Some(id) if !options.wide_ids => Err(format!("id {id} of type {t} needs 64 bits: set wide_ids")),
        _ => Ok(()),
    }
}

/// Returns the range of part `k` of `files` parts of `n` particles.
fn share(n: usize, k: u32, files: u32) -> Range<usize> {
    let cut = |k: u32| (n as u128 * u128::from(k) / u128::from(files)) as usize;
    cut(k)..cut(k + 1)
}

fn write_file(
    out: &mut impl Write,
    header: &Header,
    slices: &[(&Species<'_>, Range<usize>)],
    options: &GadgetOptions,
) -> io::Result<()> {
    let mut here = [0; 6];
    for (one, range) in slices {
        if let Some(count) = here.get_mut(usize::from(one.particle_type)) {
            *count = u32::try_from(range.len()).map_err(|_| too_long(range.len() as u64))?;
        }
    }
    let mut out = Blocks { out, options };
    let raw = header.encode(here, options.big_endian);
    out.frame(b"HEAD", 256, |out| out.write_all(&raw))?;

    let particles: u64 = here.into_iter().map(u64::from).sum();
    let Some((first, _)) = slices.first() else { return Ok(()) };
    let (wide_positions, wide_velocities, ids) = layout(first);
    let bytes = |wide: bool| if wide { 8 } else { 4 };
    let big = options.big_endian;

    out.frame(b"POS ", 3 * particles * bytes(wide_positions), |out| {
        slices.iter().try_for_each(|(one, range)| vectors(out, one.positions, range, 1.0, big))
    })?;
    if let Some(wide) = wide_velocities {
        let unit = if header.is_comoving() { header.time.sqrt() } else { 1.0 };
        out.frame(b"VEL ", 3 * particles * bytes(wide), |out| {
            let with = slices.iter().filter_map(|(one, range)| Some((one.velocities?, range)));
            with.into_iter().try_for_each(|(points, range)| vectors(out, points, range, unit, big))
        })?;
    }
    if ids {
        out.frame(b"ID  ", particles * bytes(options.wide_ids), |out| {
            let mut all = slices.iter().filter_map(|(one, range)| one.ids?.get(range.clone()));
            if options.wide_ids {
                all.try_for_each(|ids| words(out, ids.iter().copied(), big))
            } else {
                all.try_for_each(|ids| words(out, ids.iter().map(|&id| id as u32), big))
            }
        })?;
    }
    let each = |(one, range): &(&Species<'_>, Range<usize>)| match one.masses {
        Masses::Each(all) => all.get(range.clone()).map(<[f64]>::to_vec),
        _ => None,
    };
    let masses: Vec<f64> = slices.iter().filter_map(each).flatten().collect();
    out.frame(b"MASS", masses.len() as u64 * bytes(wide_positions), |out| {
        if wide_positions {
            words(out, masses.iter().copied(), big)
        } else {
            words(out, masses.iter().map(|&mass| mass as f32), big)
        }
    })
}

struct Blocks<'a, W> {
    out: &'a mut W,
    options: &'a GadgetOptions,
}

impl<W: Write> Blocks<'_, W> {
    /// Writes a block of `bytes` bytes between its markers. Like Gadget, writes nothing for an empty block.
    fn frame(&mut self, name: &[u8; 4], bytes: u64, data: impl FnOnce(&mut W) -> io::Result<()>) -> io::Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        // The length in the label includes the two markers.
        let whole = bytes + 8;
        let (Ok(marker), Ok(next)) = (u32::try_from(bytes), u32::try_from(whole)) else {
            return Err(too_long(bytes));
        };
        if self.options.labels {
            self.number(8)?;
            self.out.write_all(name)?;
            self.number(next)?;
            self.number(8)?;
        }
        self.number(marker)?;
        data(self.out)?;
        self.number(marker)
    }

    fn number(&mut self, value: u32) -> io::Result<()> {
        words(self.out, std::iter::once(value), self.options.big_endian)
    }
}

fn too_long(bytes: u64) -> io::Error {
    io::Error::other(format!("a block of {bytes} bytes is too long for its 32-bit marker; split over more files"))
}

/// Writes the vectors `range` of `points`, divided by `unit`.
fn vectors(out: &mut impl Write, points: &Points, range: &Range<usize>, unit: f64, big_endian: bool) -> io::Result<()> {
    let values = 3 * range.start..3 * range.end;
    match points {
        Points::F32(table) => {
            let values = table.as_slice().get(values).unwrap_or_default();
            words(out, values.iter().map(|&x| (f64::from(x) / unit) as f32), big_endian)
        }
        Points::F64(table) => {
            let values = table.as_slice().get(values).unwrap_or_default();
            words(out, values.iter().map(|&x| x / unit), big_endian)
        }
    }
}

fn words<T: Word>(out: &mut impl Write, values: impl Iterator<Item = T>, big_endian: bool) -> io::Result<()> {
    for value in values {
        let value = if foreign(big_endian) { value.swapped() } else { value };
        out.write_all(bytemuck::bytes_of(&value))?;
    }
    Ok(())
}

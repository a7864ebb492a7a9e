//! The metadata of a snapshot, from the header conventions of each code.
//!
//! In: the groups `Header`, `Parameters`, `Units`, `Cosmology` and related groups. Out: a [`Header`] with the same
//! meaning for all codes. Sources: Springel, Users guide for GADGET-2, section 6.3; the documentation of GADGET-4,
//! "Snapshot format"; of IllustrisTNG, "Data specifications"; of GIZMO, "Reading snapshots"; of SWIFT, "Snapshots";
//! the EAGLE team 2017, arXiv:1706.09899.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use ropewalk::{Error, Result};

use crate::epoch::{Epoch, EpochEntries};
use crate::expansion::Expansion;
use crate::hdf5::attributes::Attributes;
use crate::hdf5::file::File;
use crate::same_headers::check_same;
use crate::{Background, Format};

/// The family of codes whose conventions apply where a file does not state them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Lengths and masses in units of 1/h, and velocities divided by the square root of the scale factor: Gadget,
    /// AREPO, GIZMO, EAGLE.
    Gadget,
    /// Units without h, and peculiar velocities.
    Swift,
}

/// Units in centimetres, grams and seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cgs {
    pub length: Option<f64>,
    pub mass: Option<f64>,
    pub velocity: Option<f64>,
}

/// The metadata that one file states about the whole snapshot and about itself.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub dialect: Dialect,
    pub code: Option<String>,
    /// The number of particles of each type in this file.
    pub here: Vec<u64>,
    /// The number of particles of each type in all files.
    pub counts: Vec<u64>,
    /// The mass of each particle of a type; 0 if the masses are stored per particle.
    pub masses: Vec<f64>,
    pub files: u32,
    pub epoch: Epoch,
    /// The sides of the periodic box.
    pub sides: Vec<f64>,
    pub background: Background,
    pub cgs: Cgs,
    /// Notes about metadata that affects what is read.
    pub notes: Vec<String>,
    /// A note that lists the attributes that are not used; empty if all are used.
    pub unused: String,
}

/// The relative difference up to which values of one quantity are considered equal, since codes round constants
/// differently.
const EQUAL: f64 = 1e-3;
/// The relative difference up to which sides of a box are considered equal. They are rounded only to single
/// precision.
const EQUAL_SIDES: f64 = 1e-6;
/// Numbers with at most this magnitude are considered equal to 0.
const ZERO: f64 = 1e-9;
/// The maximum number of unused attributes that are listed per group.
const MAX_LISTED: usize = 24;

/// The groups with metadata of a file, in decreasing order of precedence.
const GROUPS: [&str; 6] = ["Header", "Cosmology", "Parameters", "RuntimePars", "Units", "Code"];

/// A number in one of the groups.
#[derive(Clone, Copy)]
struct Entry<'a> {
    value: f64,
    /// The name as spelled in the file.
    name: &'a str,
    /// Its index in [`GROUPS`].
    group: usize,
}

impl std::fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} is {}", self.name, GROUPS[self.group], self.value)
    }
}

/// Returns `true` for values of one quantity that contradict each other, with a relative `tolerance`.
fn differ(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() > ZERO.max(tolerance * a.abs().max(b.abs()))
}

struct MetadataGroups<'a> {
    path: &'a Path,
    groups: [Attributes; 6],
    /// The names that were looked up, as spelled in the file.
    used: RefCell<BTreeSet<String>>,
}

impl MetadataGroups<'_> {
    fn header(&self) -> &Attributes {
        &self.groups[0]
    }

    /// Returns the name as spelled in one group, and marks it as used; `None` if the group has no such attribute.
    fn spelled(&self, group: usize, name: &str) -> Option<&str> {
        let spelled = self.groups.get(group)?.spelled(name)?;
        self.used.borrow_mut().insert(spelled.to_string());
        Some(spelled)
    }

    /// Returns the numbers of an attribute of one group.
    fn numbers(&self, group: usize, name: &str) -> Result<Option<Vec<f64>>> {
        self.spelled(group, name).map_or(Ok(None), |name| self.groups[group].numbers(name))
    }

    /// Returns the number of an attribute of one group.
    ///
    /// Errors: the attribute is not a number, or is not finite.
    fn entry(&self, group: usize, name: &str) -> Result<Option<Entry<'_>>> {
        let Some(name) = self.spelled(group, name) else { return Ok(None) };
        let Some(value) = self.groups[group].number(name)? else { return Ok(None) };
        let entry = Entry { value, name, group };
        if value.is_finite() {
            Ok(Some(entry))
        } else {
            Err(Error::file(self.path, format!("{entry}; it must be finite")))
        }
    }

    /// Returns the numbers with these names in all groups.
    ///
    /// Errors: as [`MetadataGroups::entry`].
    fn entries(&self, names: &[&str]) -> Result<Vec<Entry<'_>>> {
        let all = names
            .iter()
            .flat_map(|&name| (0..GROUPS.len()).filter_map(move |group| self.entry(group, name).transpose()));
        all.collect()
    }

    /// Returns the first of several numbers of one quantity.
    ///
    /// Errors: two of the numbers differ.
    fn agreed(&self, entries: &[Entry<'_>]) -> Result<Option<f64>> {
        let Some(first) = entries.first() else { return Ok(None) };
        match entries.iter().find(|other| differ(first.value, other.value, EQUAL)) {
            Some(other) => Err(Error::file(self.path, format!("{first}, but {other}"))),
            None => Ok(Some(first.value)),
        }
    }

    /// Returns the number with one of these names, on which all groups must agree. Zero is a valid value.
    ///
    /// Errors: as [`MetadataGroups::entry`] and [`MetadataGroups::agreed`].
    fn number(&self, names: &[&str]) -> Result<Option<f64>> {
        self.agreed(&self.entries(names)?)
    }

    /// Returns the positive one of several numbers of one quantity. Zero means that a value is not set.
    ///
    /// Errors: a number is negative, or two that are set differ.
    fn positive_of(&self, mut entries: Vec<Entry<'_>>) -> Result<Option<f64>> {
        if let Some(bad) = entries.iter().find(|entry| entry.value < 0.0) {
            return Err(Error::file(self.path, format!("{bad}; it must be positive, or 0 for none")));
        }
        entries.retain(|entry| entry.value > 0.0);
        self.agreed(&entries)
    }

    /// Returns the positive number with one of these names.
    ///
    /// Errors: as [`MetadataGroups::entry`] and [`MetadataGroups::positive_of`].
    fn positive(&self, names: &[&str]) -> Result<Option<f64>> {
        self.positive_of(self.entries(names)?)
    }

    fn text(&self, group: usize, name: &str) -> Result<Option<&str>> {
        self.spelled(group, name).map_or(Ok(None), |name| self.groups[group].text(name))
    }

    /// Returns a note that lists the attributes that were not looked up.
    fn unused(&self) -> String {
        let used = self.used.borrow();
        let groups = self.groups.iter().zip(GROUPS).filter_map(|(attributes, group)| {
            let names: Vec<&str> = attributes.names().filter(|&name| !used.contains(name)).collect();
            let more = names.len().saturating_sub(MAX_LISTED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let listed = names[..names.len().min(MAX_LISTED)].join(", ");
            (!names.is_empty()).then(|| format!("of {group} {listed}{more}"))
        });
        let groups: Vec<String> = groups.collect();
        if groups.is_empty() { String::new() } else { format!("attributes not used: {}", groups.join("; ")) }
    }

    fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::file(self.path, format!("its header {what}"))
    }

    /// Returns the counts of particles by type.
    fn counts(&self, name: &str) -> Result<Option<Vec<u64>>> {
        let Some(numbers) = self.numbers(0, name)? else { return Ok(None) };
        if numbers.len() > 256 {
            return Err(self.error(format!("has {} types in {name}; it must have at most 256", numbers.len())));
        }
        let whole = |&x: &f64| (0.0..=2f64.powi(53)).contains(&x) && x.fract() == 0.0;
        match numbers.iter().find(|x| !whole(x)) {
            Some(bad) => {
                Err(self.error(format!("has {bad} particles in {name}; it must have a whole number from 0 to 2^53")))
            }
            None => Ok(Some(numbers.iter().map(|&x| x as u64).collect())),
        }
    }

    /// Returns the number of particles of each type in all files. The upper 32 bits may be in a separate attribute.
    fn totals(&self, here: &[u64]) -> Result<Vec<u64>> {
        let Some(mut totals) = self.counts("NumPart_Total")? else { return Ok(here.to_vec()) };
        let high = match self.counts("NumPart_Total_HighWord")? {
            Some(high) => Some(high),
            None => self.counts("NumPart_Total_HW")?,
        };
        for (total, high) in totals.iter_mut().zip(high.unwrap_or_default()) {
            if *total <= u64::from(u32::MAX) {
                let whole = high.checked_mul(1 << 32).and_then(|high| high.checked_add(*total));
                *total = whole.ok_or_else(|| self.error("has more than 2^64 particles"))?;
            }
        }
        Ok(totals)
    }

    /// Returns the mass of each particle of each of `n` types; 0 if masses are stored per particle.
    fn masses(&self, n: usize) -> Result<Vec<f64>> {
        let Some(masses) = self.numbers(0, "MassTable")? else { return Ok(vec![0.0; n]) };
        if masses.len() != n {
            return Err(self.error(format!("has {} masses in MassTable for {n} types", masses.len())));
        }
        match masses.iter().enumerate().find(|(_, mass)| !(mass.is_finite() && **mass >= 0.0)) {
            Some((t, mass)) => {
                Err(self.error(format!("has mass {mass} for type {t}; it must be positive, or 0 for none")))
            }
            None => Ok(masses),
        }
    }

    /// Returns the sides of the periodic box in one group; `None` if they are not set or 0.
    ///
    /// Errors: the attribute does not hold one or three lengths.
    fn sides_of(&self, group: usize) -> Result<Option<Vec<f64>>> {
        let (Some(sides), name) = (self.numbers(group, "BoxSize")?, GROUPS[group]) else { return Ok(None) };
        if !matches!(sides.len(), 1 | 3) {
            let n = sides.len();
            return Err(self.error(format!("has {n} numbers in BoxSize of {name}; it must have one or three")));
        }
        match sides.iter().find(|side| !(side.is_finite() && **side >= 0.0)) {
            Some(side) => Err(self.error(format!("has box size {side} in {name}; it must be positive, or 0 for none"))),
            None => Ok(Some(sides).filter(|sides| sides.iter().any(|&side| side > 0.0))),
        }
    }

    /// Returns the sides of the periodic box; none if the run is not periodic, which is added to `notes`.
    ///
    /// Errors: as [`MetadataGroups::sides_of`]; two groups have different sides.
    fn sides(&self, notes: &mut Vec<String>) -> Result<Vec<f64>> {
        let mut first: Option<(Vec<f64>, usize)> = None;
        // Header, Parameters and RuntimePars.
        for group in [0, 2, 3] {
            let Some(sides) = self.sides_of(group)? else { continue };
            let Some((known, known_group)) = &first else {
                first = Some((sides, group));
                continue;
            };
            let is_other = |k: usize| differ(known[k % known.len()], sides[k % sides.len()], EQUAL_SIDES);
            if (0..3).any(is_other) {
                let [a, b] =
                    [known, &sides].map(|sides| sides.iter().map(f64::to_string).collect::<Vec<_>>().join(", "));
                let (own, other) = (GROUPS[*known_group], GROUPS[group]);
                return Err(Error::file(self.path, format!("BoxSize of {own} is {a}, but BoxSize of {other} is {b}")));
            }
        }
        let sides = first.map_or(vec![], |(sides, _)| sides);
        if self.number(&["InitialConditions:periodic"])? == Some(0.0) && !sides.is_empty() {
            notes.push("InitialConditions:periodic is 0, so the box is open".into());
            return Ok(vec![]);
        }
        Ok(sides)
    }

    fn epoch(&self, background: &Background) -> Result<Epoch> {
        let redshift = self.number(&["Redshift"])?;
        if let Some(z) = redshift.filter(|z| !(z.is_finite() && *z > -1.0)) {
            return Err(self.error(format!("has redshift {z}; it must be above -1")));
        }
        Ok(Epoch::new(&EpochEntries {
            is_comoving: self.number(&["ComovingIntegrationOn", "Cosmological run"])?.map(|flag| flag != 0.0),
            // The times of EAGLE and SWIFT are times, so these codes name the scale factor as well.
            scale_factor: self.number(&["Scale-factor", "ExpansionFactor"])?,
            time: self.number(&["Time"])?,
            redshift,
            has_matter: background.omega_m.is_some(),
        }))
    }

    fn cgs(&self) -> Result<Cgs> {
        let length = self.positive(&["UnitLength_in_cm", "UnitLength_In_CGS", "Unit length in cgs (U_L)"])?;
        let mass = self.positive(&["UnitMass_in_g", "UnitMass_In_CGS", "Unit mass in cgs (U_M)"])?;
        let time = self.positive(&["Unit time in cgs (U_t)"])?;
        let velocity = self.positive(&["UnitVelocity_in_cm_per_s", "UnitVelocity_In_CGS"])?;
        Ok(Cgs { length, mass, velocity: velocity.or_else(|| Some(length? / time?)) })
    }

    /// Returns the density parameter of the cosmological constant.
    ///
    /// A group without matter has no cosmology, so a value of 0 in it means that it is not set, unless no other group
    /// has a value.
    fn lambda(&self, matter: &[&str]) -> Result<Option<f64>> {
        let with_matter: Vec<usize> =
            self.entries(matter)?.iter().filter(|entry| entry.value > 0.0).map(|entry| entry.group).collect();
        let all = self.entries(&["OmegaLambda"])?;
        let is_set = |entry: &Entry<'_>| entry.value != 0.0 || with_matter.contains(&entry.group);
        let set: Vec<Entry<'_>> = all.iter().copied().filter(is_set).collect();
        self.agreed(if set.is_empty() { &all } else { &set })
    }

    fn background(&self) -> Result<Background> {
        let matter = ["Omega0", "Omega_Matter", "Omega_m"];
        let omega_m = self.positive(&matter)?;
        let omega_lambda = self.lambda(&matter)?;
        // `h` is the Hubble parameter only in SWIFT's group Cosmology.
        let h = [self.entries(&["HubbleParam"])?, self.entry(1, "h")?.into_iter().collect()].concat();
        // A header without matter has no cosmology.
        Ok(Background { omega_m, omega_lambda: omega_lambda.filter(|_| omega_m.is_some()), h: self.positive_of(h)? })
    }

    /// Returns the code that wrote the file, and the conventions that it follows.
    fn code(&self, has_swift_units: bool) -> Result<(Dialect, Option<String>)> {
        let has = |name: &str| self.spelled(0, name).is_some();
        let name = self.text(5, "Code")?.or(self.text(0, "Code")?);
        if has_swift_units || name == Some("SWIFT") {
            let version = self.text(5, "Code Version")?.map(|version| format!("SWIFT {version}"));
            return Ok((Dialect::Swift, version.or(name.map(str::to_string))));
        }
        let code = if has("GIZMO_version") {
            Some("GIZMO")
        } else if has("ExpansionFactor") {
            Some("EAGLE")
        } else if has("Git_commit") {
            // Both codes write the commit, but GADGET-4 writes few other attributes to its header.
            Some(if has("Composition_vector_length") || has("HubbleParam") { "AREPO" } else { "GADGET-4" })
        } else {
            None
        };
        Ok((Dialect::Gadget, name.or(code).map(str::to_string)))
    }
}

impl Header {
    pub(super) fn read(file: &File) -> Result<Self> {
        let mut groups: [Attributes; 6] = Default::default();
        for (group, name) in groups.iter_mut().zip(GROUPS) {
            *group = file.attributes(name)?;
        }
        let said = MetadataGroups { path: &file.path, groups, used: RefCell::default() };
        if said.header().is_empty() {
            return Err(file.error(
                "is an HDF5 file without the group Header of a snapshot; supported codes are Gadget, AREPO, GIZMO, EAGLE and SWIFT",
            ));
        }
        let Some(here) = said.counts("NumPart_ThisFile")? else {
            return Err(said.error("has no NumPart_ThisFile, the number of particles of each type"));
        };
        // A file extracted from a snapshot still has the parameters of the run.
        let files = match said.entry(0, "NumFilesPerSnapshot")?.map(|entry| entry.value) {
            None => 1,
            Some(files) if files >= 1.0 && files <= f64::from(u32::MAX) && files.fract() == 0.0 => files as u32,
            Some(files) => {
                return Err(said.error(format!(
                    "says the snapshot is split over {files} files; it must be a whole number from 1"
                )));
            }
        };
        let mut counts = said.totals(&here)?;
        // Some generators of initial conditions leave the totals of a single file empty.
        if files == 1 && counts.iter().all(|&n| n == 0) {
            counts.clone_from(&here);
        }
        if counts.len() != here.len() {
            let (total, here) = (counts.len(), here.len());
            return Err(said.error(format!("has {total} types in NumPart_Total, but {here} in NumPart_ThisFile")));
        }
        let has_swift_units = said.entry(4, "Unit length in cgs (U_L)")?.is_some();
        let (dialect, code) = said.code(has_swift_units)?;
        let background = said.background()?;
        let epoch = said.epoch(&background)?;
        let expansion = Expansion::new(|names| said.number(names))?;
        let mut notes: Vec<String> = expansion.note(&background, epoch.redshift).into_iter().collect();
        let datasets = file.datasets(GROUPS[0])?;
        if !datasets.is_empty() {
            notes.push(format!("datasets in Header are not read, only its attributes are: {}", datasets.join(", ")));
        }
        Ok(Self {
            dialect,
            code,
            masses: said.masses(here.len())?,
            here,
            counts,
            files,
            epoch,
            sides: said.sides(&mut notes)?,
            background,
            cgs: said.cgs()?,
            notes,
            unused: said.unused(),
        })
    }

    pub(super) fn format(&self) -> Format {
        match self.dialect {
            Dialect::Gadget => Format::GadgetHdf5,
            Dialect::Swift => Format::SwiftHdf5,
        }
    }

    /// Returns the values that all files of a snapshot share, by name.
    fn shared(&self) -> [(&'static str, String); 12] {
        let shown = |value: Option<f64>| value.map_or("none".into(), |value| value.to_string());
        let (background, cgs) = (self.background, self.cgs);
        [
            ("total particle counts", format!("{:?}", self.counts)),
            ("mass table", format!("{:?}", self.masses)),
            ("redshift", shown(self.epoch.redshift)),
            ("box size", format!("{:?}", self.sides)),
            ("number of files", self.files.to_string()),
            ("Omega0", shown(background.omega_m)),
            ("OmegaLambda", shown(background.omega_lambda)),
            ("HubbleParam", shown(background.h)),
            ("unit of length in cm", shown(cgs.length)),
            ("unit of mass in g", shown(cgs.mass)),
            ("unit of velocity in cm/s", shown(cgs.velocity)),
            ("conventions", format!("{:?}", self.dialect)),
        ]
    }

    /// Returns an error if `other`, the header of the file `path`, belongs to another snapshot.
    pub(super) fn check_same(&self, other: &Self, path: &Path) -> Result<()> {
        check_same(&self.shared(), &other.shared(), path)
    }
}

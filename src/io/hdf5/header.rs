//! What a snapshot says about itself, in the words of each code.
//!
//! In: the groups `Header`, `Parameters`, `Units`, `Cosmology` and their like. Out: a [`Header`] with one meaning for all.
//! Sources: Springel, Users guide for GADGET-2, section 6.3; the documentation of GADGET-4, "Snapshot format"; of IllustrisTNG,
//! "Data specifications"; of GIZMO, "Reading snapshots"; of SWIFT, "Snapshots"; the EAGLE team 2017, arXiv:1706.09899.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use crate::io::epoch::{Epoch, Said as SaidOfTime};
use crate::io::hdf5::attributes::Attributes;
use crate::io::hdf5::file::File;
use crate::io::{Background, Error, Format, Result};

/// Whose conventions a file follows where it does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Lengths and masses over h, and velocities over the root of the scale factor: Gadget, AREPO, GIZMO, EAGLE.
    Gadget,
    /// Nothing over h, and peculiar velocities.
    Swift,
}

/// Units in centimetres, grams and seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cgs {
    pub length: Option<f64>,
    pub mass: Option<f64>,
    pub velocity: Option<f64>,
}

/// What one file says of the snapshot that it is, or is a part of.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub dialect: Dialect,
    pub code: Option<String>,
    /// Particles of each type in this file.
    pub here: Vec<u64>,
    /// Particles of each type in all files.
    pub counts: Vec<u64>,
    /// Mass of a particle of each type; 0: each has its own.
    pub masses: Vec<f64>,
    pub files: u32,
    pub epoch: Epoch,
    /// The sides of the periodic box.
    pub sides: Vec<f64>,
    pub background: Background,
    pub cgs: Cgs,
    /// Sentences about metadata that changes what is read.
    pub notes: Vec<String>,
    /// A sentence that lists the attributes that are not used; empty if all are.
    pub unused: String,
}

/// Relative difference of values of one quantity that are taken for equal.
const EQUAL: f64 = 1e-3;
/// Unused attributes of a group that are listed by name.
const MOST_LISTED: usize = 24;

/// The groups that describe a file, first those that know better.
const GROUPS: [&str; 6] = ["Header", "Cosmology", "Parameters", "RuntimePars", "Units", "Code"];

struct Said<'a> {
    path: &'a Path,
    groups: [Attributes; 6],
    /// Names that were looked up.
    used: RefCell<BTreeSet<&'static str>>,
}

impl Said<'_> {
    fn header(&self) -> &Attributes {
        &self.groups[0]
    }

    /// The numbers of an attribute of the header.
    fn numbers(&self, name: &'static str) -> Result<Option<Vec<f64>>> {
        self.used.borrow_mut().insert(name);
        self.header().numbers(name)
    }

    /// The first number that any group has by one of these names.
    ///
    /// Errors: one of them is no number, or two differ.
    fn number(&self, names: &[&'static str]) -> Result<Option<f64>> {
        let mut first: Option<(f64, &str, &str)> = None;
        for &name in names {
            self.used.borrow_mut().insert(name);
            for (attributes, group) in self.groups.iter().zip(GROUPS) {
                let Some(value) = attributes.number(name)? else { continue };
                let Some((known, known_name, known_group)) = first else {
                    first = Some((value, name, group));
                    continue;
                };
                // Zero stands for a value that is not set.
                if known != 0.0 && value != 0.0 && (known - value).abs() > EQUAL * known.abs().max(value.abs()) {
                    return Err(Error::file(
                        self.path,
                        format!("{known_name} of {known_group} is {known}, but {name} of {group} is {value}"),
                    ));
                }
            }
        }
        Ok(first.map(|(value, ..)| value))
    }

    fn text(&self, group: usize, name: &'static str) -> Result<Option<&str>> {
        self.used.borrow_mut().insert(name);
        self.groups.get(group).map_or(Ok(None), |group| group.text(name))
    }

    /// A sentence that lists the attributes that no one looked up.
    fn unused(&self) -> String {
        let used = self.used.borrow();
        let groups = self.groups.iter().zip(GROUPS).filter_map(|(attributes, group)| {
            let names: Vec<&str> = attributes.names().filter(|name| !used.contains(name)).collect();
            let more = names.len().saturating_sub(MOST_LISTED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let listed = names[..names.len().min(MOST_LISTED)].join(", ");
            (!names.is_empty()).then(|| format!("of {group} {listed}{more}"))
        });
        let groups: Vec<String> = groups.collect();
        if groups.is_empty() { String::new() } else { format!("attributes not used: {}", groups.join("; ")) }
    }

    fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::file(self.path, format!("its header {what}"))
    }

    /// Counts of particles by type.
    fn counts(&self, name: &'static str) -> Result<Option<Vec<u64>>> {
        let Some(numbers) = self.numbers(name)? else { return Ok(None) };
        if numbers.len() > 256 {
            return Err(self.error(format!("has {} types in {name}; at most 256 are read", numbers.len())));
        }
        let whole = |&x: &f64| (0.0..=2f64.powi(53)).contains(&x) && x.fract() == 0.0;
        match numbers.iter().find(|x| !whole(x)) {
            Some(bad) => Err(self.error(format!("has {bad} particles in {name}"))),
            None => Ok(Some(numbers.iter().map(|&x| x as u64).collect())),
        }
    }

    /// Particles of each type in all files; the upper 32 bits may stand apart.
    fn totals(&self, here: &[u64]) -> Result<Vec<u64>> {
        let Some(mut totals) = self.counts("NumPart_Total")? else { return Ok(here.to_vec()) };
        let high = match self.counts("NumPart_Total_HighWord")? {
            Some(high) => Some(high),
            None => self.counts("NumPart_Total_HW")?,
        };
        for (total, high) in totals.iter_mut().zip(high.unwrap_or_default()) {
            if *total <= u64::from(u32::MAX) {
                let whole = high.checked_mul(1 << 32).and_then(|high| high.checked_add(*total));
                *total = whole.ok_or_else(|| self.error("counts more particles than 64 bits do"))?;
            }
        }
        Ok(totals)
    }

    /// The mass of a particle of each of `n` types; 0 for those with masses of their own.
    fn masses(&self, n: usize) -> Result<Vec<f64>> {
        let Some(masses) = self.numbers("MassTable")? else { return Ok(vec![0.0; n]) };
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

    /// The sides of the periodic box; none if the run is not periodic, of which `notes` gets a sentence.
    fn sides(&self, notes: &mut Vec<String>) -> Result<Vec<f64>> {
        self.used.borrow_mut().insert("BoxSize");
        let mut sides = vec![];
        // The header, else the parameters.
        for group in [0, 2, 3] {
            let own = self.groups[group].numbers("BoxSize")?.unwrap_or_default();
            sides = if sides.is_empty() { own } else { sides };
        }
        if !matches!(sides.len(), 0 | 1 | 3) {
            return Err(self.error(format!("has {} numbers in BoxSize; it must have one or three", sides.len())));
        }
        if let Some(side) = sides.iter().find(|side| !(side.is_finite() && **side >= 0.0)) {
            return Err(self.error(format!("has box size {side}; it must be positive, or 0 for none")));
        }
        if self.number(&["InitialConditions:periodic"])? == Some(0.0) && !sides.is_empty() {
            notes.push("InitialConditions:periodic is 0, so the box is open".into());
            sides.clear();
        }
        Ok(sides)
    }

    fn epoch(&self, background: &Background) -> Result<Epoch> {
        let redshift = self.number(&["Redshift"])?;
        if let Some(z) = redshift.filter(|z| !(z.is_finite() && *z > -1.0)) {
            return Err(self.error(format!("has redshift {z}; it must be above -1")));
        }
        Ok(Epoch::of(&SaidOfTime {
            is_comoving: self.number(&["ComovingIntegrationOn", "Cosmological run"])?.map(|flag| flag != 0.0),
            // EAGLE's time is one, and so is SWIFT's: both name the scale factor.
            scale_factor: self.number(&["Scale-factor", "ExpansionFactor"])?,
            time: self.number(&["Time"])?,
            redshift,
            has_matter: background.omega_m.is_some(),
        }))
    }

    /// The first number by one of these names, if it is positive and finite.
    fn positive(&self, names: &[&'static str]) -> Result<Option<f64>> {
        Ok(self.number(names)?.filter(|&value| value > 0.0 && value < f64::INFINITY))
    }

    fn cgs(&self) -> Result<Cgs> {
        let length = self.positive(&["UnitLength_in_cm", "UnitLength_In_CGS", "Unit length in cgs (U_L)"])?;
        let mass = self.positive(&["UnitMass_in_g", "UnitMass_In_CGS", "Unit mass in cgs (U_M)"])?;
        let time = self.positive(&["Unit time in cgs (U_t)"])?;
        let velocity = self.positive(&["UnitVelocity_in_cm_per_s", "UnitVelocity_In_CGS"])?;
        Ok(Cgs { length, mass, velocity: velocity.or_else(|| Some(length? / time?)) })
    }

    fn background(&self) -> Result<Background> {
        let omega_m = self.positive(&["Omega0", "Omega_Matter", "Omega_m"])?;
        let lambda = self.number(&["OmegaLambda", "Omega_Lambda", "Omega_lambda"])?;
        let h = match self.positive(&["HubbleParam"])? {
            None => {
                self.used.borrow_mut().insert("h");
                self.groups[1].number("h")?.filter(|&h| h > 0.0 && h < f64::INFINITY)
            }
            known => known,
        };
        // A header without matter has no cosmology.
        Ok(Background { omega_m, omega_lambda: lambda.filter(|_| omega_m.is_some()), h })
    }

    /// The code that wrote it, and whose conventions it follows.
    fn code(&self, has_swift_units: bool) -> Result<(Dialect, Option<String>)> {
        let has = |name: &'static str| {
            self.used.borrow_mut().insert(name);
            self.header().has(name)
        };
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
            // Both write the commit; GADGET-4 has little else in its header.
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
        let said = Said { path: &file.path, groups, used: RefCell::default() };
        if said.header().is_empty() {
            return Err(file.error(
                "is an HDF5 file without the group Header of a snapshot: Gadget, AREPO, GIZMO, EAGLE and SWIFT are read",
            ));
        }
        let Some(here) = said.counts("NumPart_ThisFile")? else {
            return Err(said.error("has no NumPart_ThisFile, the particles of each type"));
        };
        let files = match said.number(&["NumFilesPerSnapshot"])? {
            None => 1,
            Some(files) if files >= 1.0 && files <= f64::from(u32::MAX) && files.fract() == 0.0 => files as u32,
            Some(files) => return Err(said.error(format!("says the snapshot is split over {files} files"))),
        };
        let mut counts = said.totals(&here)?;
        // Some makers of initial conditions leave the totals of a single file empty.
        if files == 1 && counts.iter().all(|&n| n == 0) {
            counts.clone_from(&here);
        }
        if counts.len() != here.len() {
            let (total, here) = (counts.len(), here.len());
            return Err(said.error(format!("has {total} types in NumPart_Total and {here} in NumPart_ThisFile")));
        }
        let has_swift_units = said.groups[4].number("Unit length in cgs (U_L)")?.is_some();
        let (dialect, code) = said.code(has_swift_units)?;
        let (background, mut notes) = (said.background()?, vec![]);
        Ok(Self {
            dialect,
            code,
            masses: said.masses(here.len())?,
            here,
            counts,
            files,
            epoch: said.epoch(&background)?,
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

    /// An error if `other`, of the file `path`, is not of the same snapshot.
    pub(super) fn check_same(&self, other: &Self, path: &Path) -> Result<()> {
        let shared = |header: &Self| {
            [
                ("total particle counts", format!("{:?}", header.counts)),
                ("mass table", format!("{:?}", header.masses)),
                ("redshift", format!("{:?}", header.epoch.redshift)),
                ("box size", format!("{:?}", header.sides)),
                ("number of files", header.files.to_string()),
            ]
        };
        for ((name, first), (_, here)) in shared(self).into_iter().zip(shared(other)) {
            if first != here {
                let message = format!("its header has {name} {here}, that of the first file has {first}");
                return Err(Error::file(path, message));
            }
        }
        Ok(())
    }
}

//! What a snapshot says about itself, in the words of each code.
//!
//! In: the groups `Header`, `Parameters`, `Units`, `Cosmology` and their like. Out: a [`Header`] with one meaning for all.
//! Sources: Springel, Users guide for GADGET-2, section 6.3; the documentation of GADGET-4, "Snapshot format"; of IllustrisTNG,
//! "Data specifications"; of GIZMO, "Reading snapshots"; of SWIFT, "Snapshots"; the EAGLE team 2017, arXiv:1706.09899.

use std::path::Path;

use crate::io::epoch::{Epoch, Said as SaidOfTime};
use crate::io::hdf5::file::{Attributes, File};
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
}

/// The groups that describe a file, first those that know better.
const GROUPS: [&str; 6] = ["Header", "Cosmology", "Parameters", "RuntimePars", "Units", "Code"];

struct Said<'a> {
    path: &'a Path,
    groups: [Attributes; 6],
}

impl Said<'_> {
    fn header(&self) -> &Attributes {
        &self.groups[0]
    }

    /// The first number that any group has by one of these names.
    fn number(&self, names: &[&str]) -> Option<f64> {
        names.iter().find_map(|name| self.groups.iter().find_map(|group| group.number(name)))
    }

    fn error(&self, what: impl std::fmt::Display) -> Error {
        Error::file(self.path, format!("its header {what}"))
    }

    /// Counts of particles by type.
    fn counts(&self, name: &str) -> Result<Option<Vec<u64>>> {
        let Some(numbers) = self.header().numbers(name) else { return Ok(None) };
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

    fn sides(&self) -> Result<Vec<f64>> {
        let sides = self.header().numbers("BoxSize").unwrap_or_default();
        match sides.iter().find(|side| !(side.is_finite() && **side >= 0.0)) {
            Some(side) => Err(self.error(format!("has box size {side}; it must be positive, or 0 for none"))),
            None => Ok(sides.to_vec()),
        }
    }

    fn epoch(&self, background: &Background) -> Result<Epoch> {
        let redshift = self.number(&["Redshift"]);
        if let Some(z) = redshift.filter(|z| !(z.is_finite() && *z > -1.0)) {
            return Err(self.error(format!("has redshift {z}; it must be above -1")));
        }
        Ok(Epoch::of(&SaidOfTime {
            is_comoving: self.number(&["ComovingIntegrationOn", "Cosmological run"]).map(|flag| flag != 0.0),
            // EAGLE's time is one, and so is SWIFT's: both name the scale factor.
            scale_factor: self.number(&["Scale-factor", "ExpansionFactor"]),
            time: self.number(&["Time"]),
            redshift,
            has_matter: background.omega_m.is_some(),
        }))
    }

    fn cgs(&self) -> Cgs {
        let positive = |names: &[&str]| self.number(names).filter(|&unit| unit > 0.0 && unit < f64::INFINITY);
        let length = positive(&["UnitLength_in_cm", "UnitLength_In_CGS", "Unit length in cgs (U_L)"]);
        let mass = positive(&["UnitMass_in_g", "UnitMass_In_CGS", "Unit mass in cgs (U_M)"]);
        let time = positive(&["Unit time in cgs (U_t)"]);
        let velocity = positive(&["UnitVelocity_in_cm_per_s", "UnitVelocity_In_CGS"]);
        Cgs { length, mass, velocity: velocity.or_else(|| Some(length? / time?)) }
    }

    fn background(&self) -> Background {
        let positive = |names: &[&str]| self.number(names).filter(|&value| value > 0.0 && value < f64::INFINITY);
        let omega_m = positive(&["Omega0", "Omega_Matter", "Omega_m"]);
        let lambda = self.number(&["OmegaLambda", "Omega_Lambda", "Omega_lambda"]);
        let h = positive(&["HubbleParam"]).or(self.groups[1].number("h").filter(|&h| h > 0.0 && h < f64::INFINITY));
        // A header without matter has no cosmology.
        Background { omega_m, omega_lambda: lambda.filter(|_| omega_m.is_some()), h }
    }

    /// The code that wrote it, and whose conventions it follows.
    fn code(&self, has_swift_units: bool) -> (Dialect, Option<String>) {
        let text = |group: usize, name: &str| self.groups.get(group).and_then(|group| group.text(name));
        let has = |name: &str| self.header().numbers(name).is_some() || self.header().text(name).is_some();
        let name = text(5, "Code").or(text(0, "Code"));
        if has_swift_units || name == Some("SWIFT") {
            let version = text(5, "Code Version").map(|version| format!("SWIFT {version}"));
            return (Dialect::Swift, version.or(name.map(str::to_string)));
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
        (Dialect::Gadget, name.or(code).map(str::to_string))
    }
}

impl Header {
    pub(super) fn read(file: &File) -> Result<Self> {
        let mut groups: [Attributes; 6] = Default::default();
        for (group, name) in groups.iter_mut().zip(GROUPS) {
            *group = file.attributes(name)?;
        }
        let said = Said { path: &file.path, groups };
        if said.header().is_empty() {
            return Err(file.error(
                "is an HDF5 file without the group Header of a snapshot: Gadget, AREPO, GIZMO, EAGLE and SWIFT are read",
            ));
        }
        let Some(here) = said.counts("NumPart_ThisFile")? else {
            return Err(said.error("has no NumPart_ThisFile, the particles of each type"));
        };
        let files = match said.header().number("NumFilesPerSnapshot") {
            None => 1,
            Some(files) if files >= 1.0 && files <= f64::from(u32::MAX) => files as u32,
            Some(files) => return Err(said.error(format!("says the snapshot is split over {files} files"))),
        };
        let mut counts = said.totals(&here)?;
        // Some makers of initial conditions leave the totals of a single file empty.
        if files == 1 && counts.iter().all(|&n| n == 0) {
            counts.clone_from(&here);
        }
        counts.resize(here.len(), 0);
        let mut masses = said.header().numbers("MassTable").unwrap_or_default().to_vec();
        masses.resize(here.len(), 0.0);
        if let Some((t, mass)) = masses.iter().enumerate().find(|(_, mass)| !(mass.is_finite() && **mass >= 0.0)) {
            let message = format!("has mass {mass} for type {t}; it must be positive, or 0 for none");
            return Err(said.error(message));
        }
        let has_swift_units = said.groups[4].number("Unit length in cgs (U_L)").is_some();
        let (dialect, code) = said.code(has_swift_units);
        let background = said.background();
        Ok(Self {
            dialect,
            code,
            here,
            counts,
            masses,
            files,
            epoch: said.epoch(&background)?,
            sides: said.sides()?,
            background,
            cgs: said.cgs(),
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

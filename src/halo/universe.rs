//! The cosmology and the units of a snapshot.
//!
//! In: the user's options, what the snapshot states, and the mean density of matter. Out: a [`Universe`], which has `None` for what these
//! leave open.

use crate::error::{Error, Result};
use crate::halo::{Cosmology, MassFunction, Overdensity};
use crate::units::{Conversion, Factors, KnownUnits, UnitSystem, Units, VelocityUnit, check_h};

/// The cosmology that a file names, as far as it does.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Background {
    /// The density of matter today, over the critical one.
    pub omega_m: Option<f64>,
    /// The density of the cosmological constant, over the critical one.
    pub omega_lambda: Option<f64>,
    /// The Hubble constant in 100 km/s/Mpc.
    pub h: Option<f64>,
}

impl Background {
    /// Checks the Hubble constant.
    ///
    /// # Errors
    /// An `h` that is not above 0 and below 10, as one in km/s/Mpc.
    pub fn check(&self) -> Result<()> {
        self.h.map_or(Ok(()), check_h)
    }
}

/// The units and the cosmology that a snapshot states.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatedUniverse {
    /// Density parameters and the Hubble constant.
    pub background: Background,
    /// The redshift.
    pub redshift: Option<f64>,
    /// The units.
    pub units: KnownUnits,
    /// The mass of all particles, of all types.
    pub matter: Option<f64>,
    /// The side of the periodic box, whether or not halos are found in it.
    pub side: Option<f64>,
}

/// Units and cosmology from the user. `None` takes the snapshot's, if it has any.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct UniverseOptions {
    /// Units of lengths, masses and velocities.
    pub units: KnownUnits,
    /// The redshift.
    pub redshift: Option<f64>,
    /// The density of matter today, over the critical one.
    pub omega_m: Option<f64>,
    /// The density of the cosmological constant, over the critical one.
    pub omega_lambda: Option<f64>,
    /// The density of baryons, over the critical one; for mass functions, as are the next two.
    pub omega_b: Option<f64>,
    /// The standard deviation of the linear density today in spheres of 8 Mpc/h.
    pub sigma_8: Option<f64>,
    /// The slope of the primordial power spectrum.
    pub n_s: Option<f64>,
    /// The Hubble constant in 100 km/s/Mpc.
    pub h: Option<f64>,
}

impl UniverseOptions {
    /// Checks each option by itself.
    ///
    /// # Errors
    /// A density, a Hubble constant or a redshift that no universe has, as one that is negative or not finite.
    pub fn check(&self) -> Result<()> {
        let usual = Cosmology::default();
        let cosmology = Cosmology {
            omega_m: self.omega_m.unwrap_or(usual.omega_m),
            omega_lambda: self.omega_lambda.unwrap_or(usual.omega_lambda),
            omega_b: self.omega_b.unwrap_or(0.0),
            h: self.h.unwrap_or(usual.h),
            sigma_8: self.sigma_8.unwrap_or(usual.sigma_8),
            n_s: self.n_s.unwrap_or(usual.n_s),
            redshift: self.redshift.unwrap_or(0.0),
        };
        cosmology.check()
    }
}

/// The universe of a snapshot.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Universe {
    /// The redshift.
    pub redshift: Option<f64>,
    /// The density of matter today, over the critical one.
    pub omega_m: Option<f64>,
    /// The density of the cosmological constant, over the critical one.
    pub omega_lambda: Option<f64>,
    /// The Hubble constant in 100 km/s/Mpc.
    pub h: Option<f64>,
    /// Whether the user or the file names the unit of velocities.
    pub has_velocity_unit: bool,
    /// The mean density of all matter over `omega_m` times the critical one; needs a box and units.
    pub matter: Option<f64>,
    /// The units that are named, or the ones that fit the mean density of matter.
    known: KnownUnits,
    /// The units and their conversion, or what they lack.
    units: std::result::Result<(Units, Conversion), Lack>,
    /// How the units are known.
    source: &'static str,
    options: UniverseOptions,
}

/// The reason that units cannot be converted.
#[derive(Clone, Debug, PartialEq)]
enum Lack {
    /// Units of lengths or masses, and why they are not known.
    Units(String),
    /// The Hubble constant, for this unit.
    Hubble(String),
}

impl Universe {
    /// Options come first, then what the snapshot states. Units that neither names are those in which all matter over the volume of the
    /// box is the mean density: see [`Units::matching`].
    pub fn new(options: &UniverseOptions, stated: &StatedUniverse) -> Self {
        let StatedUniverse { background, side, .. } = *stated;
        let redshift = options.redshift.or(stated.redshift);
        let omega_m = options.omega_m.or(background.omega_m);
        let omega_lambda = options.omega_lambda.or(background.omega_lambda);
        let h = options.h.or(background.h);
        let known = options.units.or(stated.units);
        let density = stated.matter.zip(side).map(|(mass, side)| mass / side.powi(3));
        let z = redshift.unwrap_or(0.0);
        let (found, source) = match (known.complete(), density.zip(omega_m)) {
            (Some(units), _) => (Ok(units), "as told"),
            (None, Some((density, omega_m))) => {
                let found = Units::matching(density, omega_m, z, h, known).map_err(|error| error.to_string());
                (found, "by the mean density of matter")
            }
            (None, None) => {
                let lacks = [
                    (stated.matter.is_none(), "the masses of all particles"),
                    (omega_m.is_none(), "omega_m"),
                    (side.is_none(), "a periodic box"),
                ];
                let lacks: Vec<&str> = lacks.into_iter().filter(|(lacks, _)| *lacks).map(|(_, what)| what).collect();
                let lacks = lacks.join(", ");
                let them = if known.length.is_some() || known.mass.is_some() { "it" } else { "them" };
                let why = format!(
                    "the file does not say {them}, and to tell {them} from the density of matter it lacks {lacks}"
                );
                (Err(why), "")
            }
        };
        // Reading has made velocities peculiar.
        let peculiar = |unit| VelocityUnit { is_internal: false, ..unit };
        let units = found.map_err(Lack::Units).and_then(|units| {
            let units = Units { velocity: peculiar(units.velocity), ..units };
            let lacks_h = |error: Error| match h {
                None if !units.length.per_h => Lack::Hubble(units.length.to_string()),
                None if !units.mass.per_h => Lack::Hubble(units.mass.to_string()),
                _ => Lack::Units(error.to_string()),
            };
            Ok((units, units.conversion(z, h).map_err(lacks_h)?))
        });
        let matter = units.as_ref().ok().zip(density.zip(omega_m));
        let matter =
            matter.map(|((_, conversion), (density, omega_m))| density / (omega_m * conversion.critical_density()));
        let has_velocity_unit = known.velocity.is_some();
        let velocity = known.velocity.map(peculiar);
        let known = match &units {
            Ok((units, _)) => KnownUnits { velocity, ..(*units).into() },
            Err(_) => KnownUnits { velocity, ..known },
        };
        Self { redshift, omega_m, omega_lambda, h, has_velocity_unit, matter, known, units, source, options: *options }
    }

    /// The units, if those of lengths and masses are known and can be converted, for which units without 1/h need `h`
    /// ([`Universe::known_units`] has those that are named all the same). The unit of velocities is km/s unless
    /// [`Universe::has_velocity_unit`].
    pub fn units(&self) -> Option<&Units> {
        self.units.as_ref().ok().map(|(units, _)| units)
    }

    /// The units of the catalogue: those that are named, and of lengths and masses else those that fit the mean density of matter.
    pub fn known_units(&self) -> KnownUnits {
        self.known
    }

    /// The units in words and how they are known, and what is not known of them and why.
    pub fn describe_units(&self) -> String {
        match (&self.units, self.lacking()) {
            (Ok(_), _) => format!("{}, {}", self.known, self.source),
            (Err(Lack::Units(why)), _) if self.known.is_empty() => format!("not known: {why}"),
            (Err(_), lacking) => format!("{}, as told; {}", self.known, lacking.unwrap_or_default()),
        }
    }

    /// Returns a sentence on the missing unit or Hubble constant, as `the unit of masses is not known: ..`; `None` if units are complete.
    pub fn lacking(&self) -> Option<String> {
        match (self.units.as_ref().err()?, self.known.length, self.known.mass) {
            (Lack::Hubble(unit), ..) => Some(format!("the Hubble constant h is not known, which {unit} needs")),
            (Lack::Units(why), None, None) => Some(format!("the units of lengths and masses are not known: {why}")),
            (Lack::Units(why), None, _) => Some(format!("the unit of lengths is not known: {why}")),
            (Lack::Units(why), _, None) => Some(format!("the unit of masses is not known: {why}")),
            (Lack::Units(why), ..) => Some(why.clone()),
        }
    }

    /// The factors from the units of the snapshot to those of a system.
    ///
    /// Errors: unknown units; physical lengths of comoving ones without a redshift; an `h` that is needed and not known.
    pub fn factors(&self, system: UnitSystem) -> Result<Factors> {
        let (units, to) = (self.known("other units")?.0, system.units());
        if units.length.frame != to.length.frame && self.redshift.is_none() {
            let message = "between comoving and physical lengths is the redshift, which is not known";
            return Err(Error::missing("redshift", message));
        }
        Factors::new(&units, &to, self.redshift.unwrap_or(0.0), self.h)
    }

    /// The factors of the units.
    ///
    /// # Errors
    /// Unknown units, which `what` needs, in the words of a reader: "overdensities".
    pub fn conversion(&self, what: &str) -> Result<Conversion> {
        Ok(self.known(what)?.1)
    }

    /// The comoving mean density of matter, `omega_m` times the critical density, in the snapshot's units. `None` where units or `omega_m`
    /// are not known.
    pub fn matter_density(&self) -> Option<f64> {
        let (_, conversion) = self.units.as_ref().ok()?;
        Some(self.omega_m? * conversion.critical_density())
    }

    fn known(&self, what: &str) -> Result<(Units, Conversion)> {
        self.units.clone().map_err(|lack| {
            let (name, lacks) = match (lack, self.known.length, self.known.mass) {
                (Lack::Hubble(unit), ..) => {
                    ("h", format!("the Hubble constant h, which is not known, for units in {unit}"))
                }
                (Lack::Units(why), None, Some(_)) => {
                    ("length_unit", format!("the unit of lengths, which is not known: {why}"))
                }
                (Lack::Units(why), Some(_), None) => {
                    ("mass_unit", format!("the unit of masses, which is not known: {why}"))
                }
                (Lack::Units(why), ..) => ("units", format!("units, which are not known: {why}")),
            };
            Error::missing(name, format!("{what} need {lacks}"))
        })
    }

    /// The comoving densities that overdensities stand for, in the snapshot's units.
    ///
    /// # Errors
    /// An unknown density of matter or unknown units, which `what` needs; as [`UniverseOptions::check`].
    pub fn thresholds(&self, overdensities: &[Overdensity], what: &str) -> Result<Vec<f64>> {
        let Some(omega_m) = self.omega_m else {
            let message = format!("{what} need the density of matter, which the snapshot does not tell");
            return Err(Error::missing("omega_m", message));
        };
        let critical_density = self.conversion(what)?.critical_density();
        let cosmology = self.cosmology(omega_m);
        cosmology.check()?;
        Ok(overdensities.iter().map(|overdensity| overdensity.threshold(&cosmology, critical_density)).collect())
    }

    fn cosmology(&self, omega_m: f64) -> Cosmology {
        let usual = Cosmology::default();
        Cosmology {
            omega_m,
            omega_lambda: self.omega_lambda.unwrap_or(1.0 - omega_m),
            omega_b: self.options.omega_b.unwrap_or(usual.omega_b.min(omega_m)),
            h: self.h.unwrap_or(usual.h),
            sigma_8: self.options.sigma_8.unwrap_or(usual.sigma_8),
            n_s: self.options.n_s.unwrap_or(usual.n_s),
            redshift: self.redshift.unwrap_or(0.0),
        }
    }

    /// The number of halos of at least each of `masses` that a mass function expects per volume, all in the snapshot's units.
    ///
    /// Errors: an unknown density of matter, unknown units; where [`Cosmology::halos_above`] does.
    pub fn halos_above(&self, masses: &[f64], function: MassFunction) -> Result<Vec<f64>> {
        let Some(omega_m) = self.omega_m else {
            return Err(Error::missing("omega_m", "omega_m is not known"));
        };
        let conversion = self.conversion("mass functions")?;
        let masses: Vec<f64> = masses.iter().map(|mass| 1e10 * conversion.mass * mass).collect();
        let numbers = self.cosmology(omega_m).halos_above(&masses, function)?;
        Ok(numbers.into_iter().map(|number| number * conversion.length.powi(3)).collect())
    }
}

//! The cosmology and the units of a snapshot.
//!
//! In: the user's options, the statements of the snapshot, and the mean density of matter. Out: a [`Universe`], with
//! `None` for unknown values.

use crate::error::{Error, Result};
use crate::halo::{Cosmology, MassFunction, Overdensity};
use crate::units::{Conversion, Factors, Frame, KnownUnits, LengthUnit, UnitSystem, Units, VelocityUnit, check_h};

/// The cosmology that a file states; `None` for values that it does not state.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
pub struct Background {
    /// The density of matter today, in units of the critical density.
    pub omega_m: Option<f64>,
    /// The density of the cosmological constant, in units of the critical density.
    pub omega_lambda: Option<f64>,
    /// The Hubble constant, in 100 km/s/Mpc.
    pub h: Option<f64>,
}

impl Background {
    /// Checks the Hubble constant, if it is stated.
    ///
    /// # Errors
    /// An `h` that is not above 0 and below 10, for example one in km/s/Mpc.
    pub fn check(&self) -> Result<()> {
        self.h.map_or(Ok(()), check_h)
    }
}

/// The units and the cosmology that a snapshot states.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatedUniverse {
    /// Density parameters and the Hubble constant.
    pub background: Background,
    /// The redshift of the snapshot.
    pub redshift: Option<f64>,
    /// The units of lengths, masses and velocities, as far as they are stated.
    pub units: KnownUnits,
    /// The total mass of the particles of all types.
    pub matter: Option<f64>,
    /// The side of the periodic box, even if halos are searched in open space.
    pub side: Option<f64>,
}

/// Units and cosmology given by the user. `None` means the value of the snapshot, if it has one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct UniverseOptions {
    /// Units of lengths, masses and velocities.
    pub units: KnownUnits,
    /// The redshift of the snapshot.
    pub redshift: Option<f64>,
    /// The density of matter today, in units of the critical density.
    pub omega_m: Option<f64>,
    /// The density of the cosmological constant, in units of the critical density.
    pub omega_lambda: Option<f64>,
    /// The density of baryons, in units of the critical density. Used only for mass functions, like `sigma_8` and
    /// `n_s`.
    pub omega_b: Option<f64>,
    /// The standard deviation of the linear density today in spheres of 8 Mpc/h.
    pub sigma_8: Option<f64>,
    /// The spectral index of the primordial power spectrum.
    pub n_s: Option<f64>,
    /// The Hubble constant, in 100 km/s/Mpc.
    pub h: Option<f64>,
}

impl UniverseOptions {
    /// Checks each option on its own.
    ///
    /// # Errors
    /// A density, a Hubble constant or a redshift that is impossible, for example one that is negative or not finite.
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

/// A parameter of the cosmology of expected mass functions.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CosmologyParameter {
    /// The name, as that of the field of [`Cosmology`].
    pub name: &'static str,
    /// The value.
    pub value: f64,
    /// `true` if neither the user nor the snapshot states the value, so that a default is used.
    pub is_assumed: bool,
}

/// The cosmology and the units of a snapshot.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Universe {
    /// The redshift of the snapshot.
    pub redshift: Option<f64>,
    /// The density of matter today, in units of the critical density.
    pub omega_m: Option<f64>,
    /// The density of the cosmological constant, in units of the critical density.
    pub omega_lambda: Option<f64>,
    /// The Hubble constant, in 100 km/s/Mpc.
    pub h: Option<f64>,
    /// `true` if the user or the file states the unit of velocities.
    pub has_velocity_unit: bool,
    /// The mean density of all matter over `omega_m` times the critical density; `None` without a box or units.
    pub matter: Option<f64>,
    /// The stated units, or the units that fit the mean density of matter.
    known: KnownUnits,
    /// The units and their conversion, or the reason why they are unknown.
    units: std::result::Result<(Units, Conversion), MissingUnits>,
    /// The source of the units, in words.
    source: &'static str,
    options: UniverseOptions,
}

/// The reason that units cannot be converted.
#[derive(Clone, Debug, PartialEq)]
enum MissingUnits {
    /// Unknown units of lengths or masses, and the reason.
    Units(String),
    /// An unknown Hubble constant, which the named unit needs.
    Hubble(String),
}

impl Universe {
    /// Combines options and statements of the snapshot; options take precedence. Units that neither states are
    /// inferred: in them, the mass of all matter over the volume of the box is the mean density ([`Units::matching`]).
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
            (Some(units), _) => (Ok(units), "as specified"),
            (None, Some((density, omega_m))) => {
                let found = Units::matching(density, omega_m, z, h, known).map_err(|error| error.to_string());
                (found, "inferred from the mean density of matter")
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
                    "the file does not specify {them}, and inferring {them} from the density of matter also needs {lacks}"
                );
                (Err(why), "")
            }
        };
        // Readers have already converted velocities to peculiar ones.
        let peculiar = |unit| VelocityUnit { is_internal: false, ..unit };
        let units = found.map_err(MissingUnits::Units).and_then(|units| {
            let units = Units { velocity: peculiar(units.velocity), ..units };
            let lacks_h = |error: Error| match h {
                None if !units.length.per_h => MissingUnits::Hubble(units.length.to_string()),
                None if !units.mass.per_h => MissingUnits::Hubble(units.mass.to_string()),
                _ => MissingUnits::Units(error.to_string()),
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

    /// Returns the units of the snapshot, if those of lengths and masses are known and can be converted. Units without
    /// 1/h need `h` for that. [`Universe::known_units`] returns the stated units in any case. The unit of velocities is
    /// km/s unless [`Universe::has_velocity_unit`].
    pub fn units(&self) -> Option<&Units> {
        self.units.as_ref().ok().map(|(units, _)| units)
    }

    /// Returns the units of the catalogue: the stated units. Units of lengths and masses that are not stated are those
    /// that fit the mean density of matter.
    pub fn known_units(&self) -> KnownUnits {
        self.known
    }

    /// Describes the units and their source in words, for users, and unknown units with the reason.
    pub fn describe_units(&self) -> String {
        match (&self.units, self.lacking()) {
            (Ok(_), _) => format!("{}, {}", self.known, self.source),
            (Err(MissingUnits::Units(why)), _) if self.known.is_empty() => format!("not known: {why}"),
            (Err(_), lacking) => format!("{}, as specified; {}", self.known, lacking.unwrap_or_default()),
        }
    }

    /// Returns a sentence about the missing unit or Hubble constant, for example
    /// `the unit of masses is not known: ..`. `None` if the units are complete.
    pub fn lacking(&self) -> Option<String> {
        match (self.units.as_ref().err()?, self.known.length, self.known.mass) {
            (MissingUnits::Hubble(unit), ..) => Some(format!("the Hubble constant h is not known, which {unit} needs")),
            (MissingUnits::Units(why), None, None) => {
                Some(format!("the units of lengths and masses are not known: {why}"))
            }
            (MissingUnits::Units(why), None, _) => Some(format!("the unit of lengths is not known: {why}")),
            (MissingUnits::Units(why), _, None) => Some(format!("the unit of masses is not known: {why}")),
            (MissingUnits::Units(why), ..) => Some(why.clone()),
        }
    }

    /// Computes the conversion factors from the units of the snapshot to those of a unit system.
    ///
    /// # Errors
    /// - Unknown units, or an unknown `h` that is needed.
    /// - A conversion between comoving and physical lengths without a redshift.
    pub fn factors(&self, system: UnitSystem) -> Result<Factors> {
        self.factors_to(system.units())
    }

    /// Computes the conversion factors to a unit system with comoving lengths in place of physical ones, for numbers
    /// per comoving volume.
    ///
    /// # Errors
    /// As [`Universe::factors`].
    pub fn comoving_factors(&self, system: UnitSystem) -> Result<Factors> {
        let units = system.units();
        self.factors_to(Units { length: LengthUnit { frame: Frame::Comoving, ..units.length }, ..units })
    }

    fn factors_to(&self, to: Units) -> Result<Factors> {
        let units = self.known("other units")?.0;
        if units.length.frame != to.length.frame && self.redshift.is_none() {
            let message = "conversions between comoving and physical lengths need the redshift, which is not known";
            return Err(Error::missing("redshift", message));
        }
        Factors::new(&units, &to, self.redshift.unwrap_or(0.0), self.h)
    }

    /// Returns the conversion of the units of the snapshot.
    ///
    /// # Errors
    /// Unknown units. `what` is the quantity that needs them, for the message: "overdensities".
    pub fn conversion(&self, what: &str) -> Result<Conversion> {
        Ok(self.known(what)?.1)
    }

    /// Computes the comoving mean density of matter, `omega_m` times the critical density, in the units of the
    /// snapshot. `None` if units or `omega_m` are unknown.
    pub fn matter_density(&self) -> Option<f64> {
        let (_, conversion) = self.units.as_ref().ok()?;
        Some(self.omega_m? * conversion.critical_density())
    }

    fn known(&self, what: &str) -> Result<(Units, Conversion)> {
        self.units.clone().map_err(|lack| {
            let (name, lacks) = match (lack, self.known.length, self.known.mass) {
                (MissingUnits::Hubble(unit), ..) => {
                    ("h", format!("the Hubble constant h, which is not known, for units in {unit}"))
                }
                (MissingUnits::Units(why), None, Some(_)) => {
                    ("length_unit", format!("the unit of lengths, which is not known: {why}"))
                }
                (MissingUnits::Units(why), Some(_), None) => {
                    ("mass_unit", format!("the unit of masses, which is not known: {why}"))
                }
                (MissingUnits::Units(why), ..) => ("units", format!("units, which are not known: {why}")),
            };
            Error::missing(name, format!("{what} need {lacks}"))
        })
    }

    /// Computes the comoving densities of overdensities, in the units of the snapshot.
    ///
    /// # Errors
    /// An unknown density of matter or unknown units, for the quantity `what`; otherwise as for
    /// [`UniverseOptions::check`].
    pub fn thresholds(&self, overdensities: &[Overdensity], what: &str) -> Result<Vec<f64>> {
        let Some(omega_m) = self.omega_m else {
            let message = format!("{what} need omega_m, which the snapshot does not specify");
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

    /// Returns the parameters of expected mass functions, besides the redshift, and the source of each value. Empty if
    /// `omega_m` is unknown.
    pub fn mass_function_parameters(&self) -> Vec<CosmologyParameter> {
        let Some(omega_m) = self.omega_m else { return vec![] };
        let used = self.cosmology(omega_m);
        let parameter =
            |name, value, given: Option<f64>| CosmologyParameter { name, value, is_assumed: given.is_none() };
        vec![
            parameter("omega_m", omega_m, self.omega_m),
            parameter("omega_lambda", used.omega_lambda, self.omega_lambda),
            parameter("omega_b", used.omega_b, self.options.omega_b),
            parameter("h", used.h, self.h),
            parameter("sigma_8", used.sigma_8, self.options.sigma_8),
            parameter("n_s", used.n_s, self.options.n_s),
        ]
    }

    /// Computes the expected number of halos per volume with at least the mass of each of `masses`, by a mass function.
    /// All values are in the units of the snapshot.
    ///
    /// # Errors
    /// An unknown density of matter, unknown units, and all errors of [`Cosmology::halos_above`].
    pub fn halos_above(&self, masses: &[f64], function: MassFunction) -> Result<Vec<f64>> {
        let Some(omega_m) = self.omega_m else {
            return Err(Error::missing("omega_m", "mass functions need omega_m, which the snapshot does not specify"));
        };
        let conversion = self.conversion("mass functions")?;
        let masses: Vec<f64> = masses.iter().map(|mass| 1e10 * conversion.mass * mass).collect();
        let numbers = self.cosmology(omega_m).halos_above(&masses, function)?;
        Ok(numbers.into_iter().map(|number| number * conversion.length.powi(3)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Quantity;

    #[test]
    fn assumed_parameters_are_marked() {
        let background = Background { omega_m: Some(0.3), omega_lambda: None, h: Some(0.7) };
        let options = UniverseOptions { n_s: Some(1.0), ..UniverseOptions::default() };
        let universe = Universe::new(&options, &StatedUniverse { background, ..StatedUniverse::default() });
        let found = universe.mass_function_parameters();
        let stated: Vec<_> = found.iter().filter(|one| !one.is_assumed).map(|one| (one.name, one.value)).collect();
        assert_eq!(stated, [("omega_m", 0.3), ("h", 0.7), ("n_s", 1.0)]);
        let assumed: Vec<_> = found.iter().filter(|one| one.is_assumed).map(|one| (one.name, one.value)).collect();
        assert_eq!(assumed, [("omega_lambda", 0.7), ("omega_b", 0.049), ("sigma_8", 0.82)]);
        assert!(Universe::new(&options, &StatedUniverse::default()).mass_function_parameters().is_empty());
    }

    #[test]
    fn numbers_per_comoving_volume() {
        let background = Background { h: Some(0.5), ..Background::default() };
        let stated = StatedUniverse { background, redshift: Some(1.0), ..StatedUniverse::default() };
        let options = UniverseOptions { units: Units::GADGET.into(), ..UniverseOptions::default() };
        let universe = Universe::new(&options, &stated);
        let of = |factors: Result<Factors>| {
            let factors = factors.unwrap();
            [Quantity::Length, Quantity::Mass, Quantity::NumberDensity].map(|quantity| factors.of(quantity))
        };
        // A comoving Mpc/h is 2 comoving Mpc and, at redshift 1, 1 physical Mpc.
        assert_eq!(of(universe.factors(UnitSystem::Physical)), [1.0, 2e10, 1.0]);
        assert_eq!(of(universe.comoving_factors(UnitSystem::Physical)), [2.0, 2e10, 0.125]);
        assert_eq!(universe.comoving_factors(UnitSystem::H).unwrap(), universe.factors(UnitSystem::H).unwrap());
    }
}

//! What is known of the universe of a snapshot: its cosmology and its units, from options, from the file, and from the mean density
//! of matter.

use ropewalk::io::Snapshot;
use ropewalk::{
    Background, Conversion, Cosmology, KnownUnits, LengthUnit, MassFunction, MassUnit, Units, VelocityUnit,
};

use super::{Failure, short};

/// What the user says. Where nothing is said, the file is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::Args)]
pub struct Overrides {
    /// What lengths are in: Mpc/h, kpc/h, Mpc, kpc and others, with a p before it for physical lengths. Otherwise what the file
    /// says, or what fits the mean density of matter
    #[arg(long, value_name = "UNIT", help_heading = "Units and cosmology")]
    pub length_unit: Option<LengthUnit>,
    /// What masses are in: 1e10 Msun/h, Msun/h, Msun and others; otherwise as for lengths
    #[arg(long, value_name = "UNIT", help_heading = "Units and cosmology")]
    pub mass_unit: Option<MassUnit>,
    /// What velocities are in: km/s and others for peculiar ones, gadget for u = v / sqrt(a) in km/s; otherwise what the file
    /// says, and gadget for Gadget's comoving snapshots
    #[arg(long, value_name = "UNIT", help_heading = "Units and cosmology")]
    pub velocity_unit: Option<VelocityUnit>,
    /// The redshift; otherwise the snapshot's, or 0
    #[arg(long, value_name = "Z", allow_negative_numbers = true, help_heading = "Units and cosmology")]
    pub redshift: Option<f64>,
    /// Density of matter over the critical one, today; otherwise the snapshot's
    #[arg(long, value_name = "OMEGA", allow_negative_numbers = true, help_heading = "Units and cosmology")]
    pub omega_m: Option<f64>,
    /// The same of the cosmological constant; otherwise the snapshot's
    #[arg(long, value_name = "OMEGA", allow_negative_numbers = true, help_heading = "Units and cosmology")]
    pub omega_lambda: Option<f64>,
    /// The same of baryons, 0.049 unless said otherwise: for the expected mass functions, as are the next two
    #[arg(long, value_name = "OMEGA", allow_negative_numbers = true, help_heading = "Units and cosmology")]
    pub omega_b: Option<f64>,
    /// Standard deviation of the linear density today in spheres of 8 Mpc/h, 0.82 unless said otherwise
    #[arg(long = "sigma8", value_name = "SIGMA", allow_negative_numbers = true, help_heading = "Units and cosmology")]
    pub sigma_8: Option<f64>,
    /// Slope of the primordial power spectrum, 0.965 unless said otherwise
    #[arg(long, value_name = "SLOPE", allow_negative_numbers = true, help_heading = "Units and cosmology")]
    pub n_s: Option<f64>,
    /// Hubble constant in 100 km/s/Mpc; otherwise the snapshot's
    #[arg(long = "h", value_name = "H", allow_negative_numbers = true, help_heading = "Units and cosmology")]
    pub hubble: Option<f64>,
}

impl Overrides {
    /// Errors where an option by itself is no property of a universe.
    pub fn check(&self) -> Result<(), Failure> {
        let usual = Cosmology::default();
        let omega_m = self.omega_m.unwrap_or(usual.omega_m);
        let cosmology = Cosmology {
            omega_m,
            omega_lambda: self.omega_lambda.unwrap_or(usual.omega_lambda),
            omega_b: self.omega_b.unwrap_or(0.0),
            h: self.hubble.unwrap_or(usual.h),
            sigma_8: self.sigma_8.unwrap_or(usual.sigma_8),
            n_s: self.n_s.unwrap_or(usual.n_s),
            redshift: self.redshift.unwrap_or(0.0),
        };
        cosmology.halos_above(&[], MassFunction::Warren2006)?;
        Ok(())
    }

    fn units(&self) -> KnownUnits {
        KnownUnits { length: self.length_unit, mass: self.mass_unit, velocity: self.velocity_unit }
    }
}

/// The universe of a snapshot.
pub struct Universe {
    /// 0 where it is not known.
    pub redshift: f64,
    pub has_redshift: bool,
    /// Density of matter over the critical one, if it is known.
    pub omega_m: Option<f64>,
    pub omega_lambda: Option<f64>,
    pub h: Option<f64>,
    /// The units and what follows from them, or why they are not known.
    pub units: Result<(Units, Conversion), String>,
    /// Whether velocities have a unit that somebody named.
    pub has_velocity_unit: bool,
    /// How the units are known.
    how: &'static str,
    /// The mean density of all matter over `omega_m` times the critical one; needs a box and units.
    pub matter: Option<f64>,
    overrides: Overrides,
}

impl Universe {
    /// `period` is the side of the periodic box, whether or not it is used for finding halos.
    pub fn new(overrides: &Overrides, snapshot: &Snapshot, period: Option<f64>) -> Self {
        let header = snapshot.header.as_ref();
        let known_redshift = overrides.redshift.or(snapshot.redshift);
        let redshift = known_redshift.unwrap_or(0.0);
        let omega_m = overrides.omega_m.or(header.map(|header| header.omega_m).filter(|&omega| omega != 0.0));
        let omega_lambda = // A header without matter says nothing.
            overrides.omega_lambda.or(header.filter(|header| header.omega_m != 0.0).map(|header| header.omega_lambda));
        let h = overrides.hubble.or(header.map(|header| header.hubble).filter(|&h| h != 0.0));
        let known = overrides.units().or(snapshot.units);
        let density = snapshot.matter.zip(period).map(|(mass, side)| mass / side.powi(3));
        let (found, how) = match (known.length, known.mass, density.zip(omega_m)) {
            (Some(length), Some(mass), _) => {
                let velocity = known.velocity.unwrap_or(VelocityUnit::KM_S);
                (Ok(Units { length, mass, velocity }), "as told")
            }
            (.., Some((density, omega_m))) => {
                let found = Units::matching(density, omega_m, redshift, h, known).map_err(|error| error.to_string());
                (found, "by the mean density of matter")
            }
            (.., None) => {
                let lacks = [
                    (snapshot.matter.is_none(), "the masses of all particles"),
                    (omega_m.is_none(), "omega_m"),
                    (period.is_none(), "a periodic box"),
                ];
                let lacks: Vec<&str> = lacks.into_iter().filter(|(lacks, _)| *lacks).map(|(_, what)| what).collect();
                (
                    Err(format!(
                        "the file does not say them, and to tell them from the density of matter it lacks {}",
                        lacks.join(", ")
                    )),
                    "",
                )
            }
        };
        // Numbers of velocities are peculiar ones since they were read.
        let peculiar =
            |units: Units| Units { velocity: VelocityUnit { is_internal: false, ..units.velocity }, ..units };
        let units = found.and_then(|units| {
            let units = peculiar(units);
            Ok((units, units.conversion(redshift, h).map_err(|error| error.to_string())?))
        });
        let matter = units.as_ref().ok().zip(density.zip(omega_m));
        let matter =
            matter.map(|((_, conversion), (density, omega_m))| density / (omega_m * conversion.critical_density()));
        let has_velocity_unit = known.velocity.is_some();
        Self {
            redshift,
            has_redshift: known_redshift.is_some(),
            omega_m,
            omega_lambda,
            h,
            units,
            has_velocity_unit,
            how,
            matter,
            overrides: *overrides,
        }
    }

    /// What a user is told of the units.
    pub fn describe_units(&self) -> String {
        match &self.units {
            Ok((units, _)) if self.has_velocity_unit => format!("{units}, {}", self.how),
            Ok((units, _)) => {
                let text = units.to_string();
                let known = text.split_once(", velocities").map_or(text.as_str(), |(known, _)| known);
                format!("{known}, {}", self.how)
            }
            Err(why) => format!("not known: {why}"),
        }
    }

    /// The units, but for that of velocities unless somebody named it.
    pub fn known_units(&self) -> KnownUnits {
        let Ok((units, _)) = self.units else { return KnownUnits::default() };
        KnownUnits { velocity: self.has_velocity_unit.then_some(units.velocity), ..units.into() }
    }

    /// What a user is told of the density of matter.
    pub fn describe_matter(&self) -> Option<String> {
        self.matter.map(|ratio| format!("{} of omega_m times the critical density, all types", short(ratio)))
    }

    /// The units, for `option`, which cannot do without.
    pub fn units_for(&self, option: &str) -> Result<(Units, Conversion), Failure> {
        self.units.clone().map_err(|why| {
            format!("{option} needs units, which are not known: {why}; give --length-unit and --mass-unit").into()
        })
    }

    /// The densities that overdensities are measured against, in the snapshot's units, for `option`.
    pub fn background(&self, option: &str) -> Result<Background, Failure> {
        let Some(omega_m) = self.omega_m else {
            return Err(format!(
                "{option} needs the density of matter, which the snapshot does not tell: give --omega-m"
            )
            .into());
        };
        let (_, conversion) = self.units_for(option)?;
        // A universe with numbers that are none has no densities.
        self.cosmology(omega_m)
            .halos_above(&[], MassFunction::Warren2006)
            .map_err(|error| format!("{option}: {error}"))?;
        Ok(Background {
            omega_m,
            omega_lambda: self.omega_lambda.unwrap_or(1.0 - omega_m),
            redshift: self.redshift,
            critical: conversion.critical_density(),
        })
    }

    fn cosmology(&self, omega_m: f64) -> Cosmology {
        let usual = Cosmology::default();
        Cosmology {
            omega_m,
            omega_lambda: self.omega_lambda.unwrap_or(1.0 - omega_m),
            omega_b: self.overrides.omega_b.unwrap_or(usual.omega_b.min(omega_m)),
            h: self.h.unwrap_or(usual.h),
            sigma_8: self.overrides.sigma_8.unwrap_or(usual.sigma_8),
            n_s: self.overrides.n_s.unwrap_or(usual.n_s),
            redshift: self.redshift,
        }
    }

    /// How many halos of at least each of `masses` a mass function expects per volume, all in the snapshot's units, or why that
    /// cannot be told.
    pub fn halos_above(&self, masses: &[f64], function: MassFunction) -> Result<Vec<f64>, String> {
        let omega_m = self.omega_m.ok_or("omega_m is not known")?;
        let (_, conversion) = self.units.as_ref().map_err(|why| format!("units are not known: {why}"))?;
        let masses: Vec<f64> = masses.iter().map(|mass| 1e10 * conversion.mass * mass).collect();
        let numbers = self.cosmology(omega_m).halos_above(&masses, function).map_err(|error| error.to_string())?;
        Ok(numbers.into_iter().map(|number| number * conversion.length.powi(3)).collect())
    }
}

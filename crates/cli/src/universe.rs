//! Options for units and cosmology. The library completes them from the file.

use ropewalk::halo::{Universe, UniverseOptions};
use ropewalk::units::{KnownUnits, LengthUnit, MassUnit, VelocityUnit};

use super::number::number;
use super::text::short;

/// User-specified units and cosmological parameters. Those that are not given are taken from the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::Args)]
pub struct Overrides {
    /// Unit of lengths: Mpc/h, kpc/h, Mpc, kpc and others [default: from the file]
    ///
    /// A p before the unit, as pMpc, is for physical lengths. If the file has no unit, the unit that fits the mean
    /// density of matter is used.
    #[arg(long, value_name = "UNIT", help_heading = "Units and cosmology")]
    pub length_unit: Option<LengthUnit>,
    /// Unit of masses: 1e10 Msun/h, Msun/h, Msun and others [default: from the file]
    ///
    /// If the file has no unit, the unit that fits the mean density of matter is used.
    #[arg(long, value_name = "UNIT", help_heading = "Units and cosmology")]
    pub mass_unit: Option<MassUnit>,
    /// Unit of velocities [default: from the file]
    ///
    /// km/s and similar units are for peculiar velocities, gadget is for u = v / sqrt(a) in km/s. The default for
    /// comoving snapshots of Gadget is gadget.
    #[arg(long, value_name = "UNIT", help_heading = "Units and cosmology")]
    pub velocity_unit: Option<VelocityUnit>,
    /// Redshift [default: the snapshot's, or 0]
    #[arg(long, value_name = "Z", value_parser = number, allow_negative_numbers = true, help_heading = "Units and cosmology")]
    pub redshift: Option<f64>,
    /// Matter density today over the critical density [default: the snapshot's]
    #[arg(long, value_name = "OMEGA", value_parser = number, allow_negative_numbers = true, help_heading = "Units and cosmology")]
    pub omega_m: Option<f64>,
    /// Cosmological constant, over the critical density [default: the snapshot's]
    #[arg(long, value_name = "OMEGA", value_parser = number, allow_negative_numbers = true, help_heading = "Units and cosmology")]
    pub omega_lambda: Option<f64>,
    /// Baryon density today over the critical density [default: 0.049]
    ///
    /// Used for the expected mass functions only.
    #[arg(long, value_name = "OMEGA", value_parser = number, allow_negative_numbers = true, help_heading = "Units and cosmology")]
    pub omega_b: Option<f64>,
    /// Standard deviation of the linear density in spheres of 8 Mpc/h [default: 0.82]
    ///
    /// Today. Used for the expected mass functions only.
    #[arg(long = "sigma8", value_name = "SIGMA", value_parser = number, allow_negative_numbers = true, help_heading = "Units and cosmology")]
    pub sigma_8: Option<f64>,
    /// Slope of the primordial power spectrum [default: 0.965]
    ///
    /// Used for the expected mass functions only.
    #[arg(long, value_name = "SLOPE", value_parser = number, allow_negative_numbers = true, help_heading = "Units and cosmology")]
    pub n_s: Option<f64>,
    /// Hubble constant in 100 km/s/Mpc [default: the snapshot's]
    #[arg(long = "h", value_name = "H", value_parser = number, allow_negative_numbers = true, help_heading = "Units and cosmology")]
    pub hubble: Option<f64>,
}

impl Overrides {
    /// Returns these options as options of the library.
    pub fn options(&self) -> UniverseOptions {
        let mut options = UniverseOptions::default();
        options.units = KnownUnits { length: self.length_unit, mass: self.mass_unit, velocity: self.velocity_unit };
        options.redshift = self.redshift;
        options.omega_m = self.omega_m;
        options.omega_lambda = self.omega_lambda;
        options.omega_b = self.omega_b;
        options.sigma_8 = self.sigma_8;
        options.n_s = self.n_s;
        options.h = self.hubble;
        options
    }
}

/// Describes the density of matter for the report; `None` if it is not known.
pub fn describe_matter(universe: &Universe) -> Option<String> {
    universe.matter.map(|ratio| format!("{} of omega_m times the critical density, all types", short(ratio)))
}

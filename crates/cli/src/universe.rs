//! Options on units and cosmology, which the library completes from the file.

use ropewalk::halo::{Universe, UniverseOptions};
use ropewalk::units::{KnownUnits, LengthUnit, MassUnit, VelocityUnit};

use super::text::short;

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
    /// The same for the library.
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

/// What a user is told of the density of matter.
pub fn describe_matter(universe: &Universe) -> Option<String> {
    universe.matter.map(|ratio| format!("{} of omega_m times the critical density, all types", short(ratio)))
}

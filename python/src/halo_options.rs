//! The options of `ropewalk.halos`, with the names of the command line.

use pyo3::prelude::*;
use ropewalk::AdaptaHop;
use ropewalk::halo::{AdaptaHopAlgorithm, SubhaloSelection, UniverseOptions};
use ropewalk::units::UnitSystem;
use ropewalk_pipeline::{CenterKind, Finder, LinkingLength, Options};

use crate::errors::unknown;
use crate::hop;
use crate::snapshot::units;

/// All options, from a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct HaloArguments {
    /// The options of HOP, if it is the finder.
    hop: Option<hop::Options>,
    /// The options of AdaptaHOP, if it is the finder. Without options of either, the finder is friends of friends.
    adaptahop: Option<AdaptaHopArguments>,
    linking_length: f64,
    eps: Option<f64>,
    min_members: usize,
    box_size: Option<f64>,
    open: bool,
    center: Vec<String>,
    softening: f64,
    overdensities: Vec<String>,
    min_so_particles: usize,
    profiles: usize,
    columns: Vec<String>,
    /// If `true`, the density of each particle is kept.
    pub density: bool,
    units: Option<String>,
    /// The number of the CUDA device that finds the halos; `None` for the CPU.
    pub device: Option<usize>,
    pub n_jobs: Option<isize>,
    universe: UniverseArguments,
}

/// The options of AdaptaHOP, read from attributes of a Python object.
#[derive(FromPyObject)]
struct AdaptaHopArguments {
    n_density: usize,
    n_hop: usize,
    density_threshold: f64,
    fudge: f64,
    fudge_epsilon: f64,
    alpha: f64,
    algorithm: String,
    selection: String,
    unbind: bool,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct UniverseArguments {
    redshift: Option<f64>,
    omega_m: Option<f64>,
    omega_lambda: Option<f64>,
    h: Option<f64>,
    length_unit: Option<String>,
    mass_unit: Option<String>,
    velocity_unit: Option<String>,
}

impl AdaptaHopArguments {
    fn finder(&self) -> ropewalk::Result<Finder> {
        let algorithm = match self.algorithm.as_str() {
            "exact" => AdaptaHopAlgorithm::Exact,
            "stepped" => AdaptaHopAlgorithm::Stepped,
            name => return unknown("algorithm", name),
        };
        let selection = match self.selection.as_str() {
            "mass" => SubhaloSelection::Mass,
            "density" => SubhaloSelection::Density,
            name => return unknown("selection", name),
        };
        let finder = AdaptaHop::new()
            .n_density(self.n_density)
            .n_hop(self.n_hop)
            .density_threshold(self.density_threshold)
            .fudge(self.fudge)
            .fudge_epsilon(self.fudge_epsilon)
            .alpha(self.alpha)
            .algorithm(algorithm)
            .selection(selection);
        Ok(Finder::AdaptaHop { finder, unbind: self.unbind })
    }
}

impl UniverseArguments {
    fn options(&self) -> ropewalk::Result<UniverseOptions> {
        let mut options = UniverseOptions::default();
        options.units = units(&self.length_unit, &self.mass_unit, &self.velocity_unit)?;
        (options.redshift, options.omega_m, options.h) = (self.redshift, self.omega_m, self.h);
        options.omega_lambda = self.omega_lambda;
        Ok(options)
    }
}

/// Returns the kind of centre with a name of the command line.
fn center(name: &str) -> ropewalk::Result<CenterKind> {
    Ok(match name {
        "mbp" => CenterKind::MostBound,
        "mbp-brute" => CenterKind::MostBoundBrute,
        "mcp" => CenterKind::MostConnected,
        "com" => CenterKind::CenterOfMass,
        "shrinking-sphere" => CenterKind::ShrinkingSphere,
        _ => return unknown("center", name),
    })
}

impl HaloArguments {
    /// Converts to the pipeline's options.
    pub fn options(&self) -> ropewalk::Result<Options> {
        let mut options = Options::default();
        options.finder = match (&self.hop, &self.adaptahop) {
            (Some(hop), _) => Finder::Hop(hop.hop()?),
            (None, Some(adaptahop)) => adaptahop.finder()?,
            (None, None) => Finder::FriendsOfFriends,
        };
        options.linking_length =
            self.eps.map_or(LinkingLength::Separations(self.linking_length), LinkingLength::Length);
        options.min_members = self.min_members;
        (options.box_size, options.open) = (self.box_size, self.open);
        options.center = self.center.first().map(|name| center(name)).transpose()?;
        options.most_connected = self.center.iter().any(|name| name == "mcp");
        options.softening = self.softening;
        options.overdensities = self.overdensities.iter().map(|name| name.parse()).collect::<ropewalk::Result<_>>()?;
        options.min_sphere_particles = self.min_so_particles;
        options.universe = self.universe.options()?;
        options.columns = self.columns.clone();
        options.profiles = self.profiles;
        options.check()?;
        Ok(options)
    }

    /// Returns the unit system of the catalogue, or `None` for the units of the particles.
    pub fn system(&self) -> ropewalk::Result<Option<UnitSystem>> {
        self.units.as_deref().map(str::parse).transpose()
    }
}

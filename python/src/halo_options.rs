//! The options of `ropewalk.halos`, with the names and defaults of the command line.

use pyo3::prelude::*;
use ropewalk::halo::UniverseOptions;
use ropewalk::units::UnitSystem;
use ropewalk::{AdaptaHop, AdaptaHopAlgorithm, Error, ErrorKind, Hop, SubhaloSelection};
use ropewalk_pipeline::{CenterKind, Finder, LinkingLength, Options};

use crate::snapshot::units;

/// All options, from a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct HaloArguments {
    finder: String,
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
    hop: HopArguments,
    adaptahop: AdaptaHopArguments,
    universe: UniverseArguments,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct HopArguments {
    n_density: Option<usize>,
    n_hop: Option<usize>,
    n_merge: Option<usize>,
    delta_outer: Option<f64>,
    delta_saddle: Option<f64>,
    delta_peak: Option<f64>,
}

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct AdaptaHopArguments {
    density_threshold: Option<f64>,
    fudge: Option<f64>,
    fudge_epsilon: Option<f64>,
    alpha: Option<f64>,
    algorithm: Option<String>,
    selection: Option<String>,
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

/// Calls methods of a builder for the values that are given.
macro_rules! set {
    ($builder:ident, $from:expr, $($name:ident),+) => {
        $(if let Some(value) = $from.$name { $builder = $builder.$name(value); })+
    };
}

impl HopArguments {
    fn finder(&self) -> Hop {
        let mut hop = Hop::new(self.delta_outer.unwrap_or(80.0));
        set!(hop, self, n_density, n_hop, n_merge, delta_saddle, delta_peak);
        hop
    }
}

impl AdaptaHopArguments {
    fn finder(&self, hop: &HopArguments) -> ropewalk::Result<AdaptaHop> {
        let mut finder = AdaptaHop::new();
        set!(finder, hop, n_density, n_hop);
        set!(finder, self, density_threshold, fudge, fudge_epsilon, alpha);
        finder = match self.algorithm.as_deref() {
            None => finder,
            Some("exact") => finder.algorithm(AdaptaHopAlgorithm::Exact),
            Some("stepped") => finder.algorithm(AdaptaHopAlgorithm::Stepped),
            Some(name) => return unknown("algorithm", name),
        };
        Ok(match self.selection.as_deref() {
            None => finder,
            Some("mass") => finder.selection(SubhaloSelection::Mass),
            Some("density") => finder.selection(SubhaloSelection::Density),
            Some(name) => return unknown("selection", name),
        })
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

/// Returns an error for a name that the Python side should have rejected.
fn unknown<T>(parameter: &str, name: &str) -> ropewalk::Result<T> {
    Err(Error::new(ErrorKind::Internal, format!("internal error: unknown {parameter} {name:?}")))
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
        options.finder = match self.finder.as_str() {
            "hop" => Finder::Hop(self.hop.finder()),
            "adaptahop" => {
                Finder::AdaptaHop { finder: self.adaptahop.finder(&self.hop)?, unbind: self.adaptahop.unbind }
            }
            "fof" => Finder::FriendsOfFriends,
            name => return unknown("finder", name),
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

//! The arguments of `ropewalk halos --finder hop` and `--finder adaptahop`.

use ropewalk::halo::{AdaptaHopAlgorithm, SubhaloSelection};

use super::number;

/// The halo finder.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Finder {
    /// Friends of friends
    Fof,
    /// Groups around density peaks: HOP, Eisenstein and Hut 1998
    Hop,
    /// Halos around density peaks, with subhalos: Aubert, Pichon and Colombi 2004, Tweed et al. 2009
    #[value(name = "adaptahop")]
    AdaptaHop,
}

/// The options of HOP. Thresholds are in units of the mean density.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "HOP and AdaptaHOP")]
pub struct Hop {
    /// Number of neighbours for the density [default: 64 for HOP, 20 for AdaptaHOP]
    ///
    /// HOP counts the particle itself, AdaptaHOP does not.
    #[arg(long, value_name = "N")]
    pub n_density: Option<usize>,
    /// Number of neighbours to hop to [default: 64 for HOP, 20 for AdaptaHOP]
    ///
    /// A particle hops to the densest of itself and these neighbours. HOP counts the particle itself, AdaptaHOP does
    /// not. AdaptaHOP also searches them for saddles.
    #[arg(long, value_name = "N")]
    pub n_hop: Option<usize>,
    /// HOP: number of neighbours, itself excluded, searched for boundaries [default: 4]
    #[arg(long, value_name = "N")]
    pub n_merge: Option<usize>,
    /// HOP: density at the edge of halos, over the mean density [default: 80]
    #[arg(long, value_name = "DENSITY", value_parser = number, allow_negative_numbers = true)]
    pub delta_outer: Option<f64>,
    /// HOP: minimum boundary density to merge halos [default: 2.5 times --delta-outer]
    #[arg(long, value_name = "DENSITY", value_parser = number, allow_negative_numbers = true)]
    pub delta_saddle: Option<f64>,
    /// HOP: minimum density of a halo's peak [default: 3 times --delta-outer]
    #[arg(long, value_name = "DENSITY", value_parser = number, allow_negative_numbers = true)]
    pub delta_peak: Option<f64>,
}

impl Hop {
    /// Returns the library's finder with these options.
    pub fn finder(&self) -> ropewalk::Hop {
        let mut hop = ropewalk::Hop::new(self.delta_outer.unwrap_or(80.0));
        if let Some(n_density) = self.n_density {
            hop = hop.n_density(n_density);
        }
        if let Some(n_hop) = self.n_hop {
            hop = hop.n_hop(n_hop);
        }
        if let Some(n_merge) = self.n_merge {
            hop = hop.n_merge(n_merge);
        }
        if let Some(delta_saddle) = self.delta_saddle {
            hop = hop.delta_saddle(delta_saddle);
        }
        if let Some(delta_peak) = self.delta_peak {
            hop = hop.delta_peak(delta_peak);
        }
        hop
    }

    /// Returns the first given option that only HOP has.
    pub fn given(&self) -> Option<&'static str> {
        first_of([
            (self.n_merge.is_some(), "--n-merge"),
            (self.delta_outer.is_some(), "--delta-outer"),
            (self.delta_saddle.is_some(), "--delta-saddle"),
            (self.delta_peak.is_some(), "--delta-peak"),
        ])
    }

    /// Returns the first given option that both HOP and AdaptaHOP have.
    pub fn given_for_both(&self) -> Option<&'static str> {
        first_of([(self.n_density.is_some(), "--n-density"), (self.n_hop.is_some(), "--n-hop")])
    }
}

fn first_of<const N: usize>(given: [(bool, &'static str); N]) -> Option<&'static str> {
    given.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
}

/// The options of AdaptaHOP. Densities are in units of the mean density. A structure is a connected component of
/// particles above a density that passes the criteria below.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "HOP and AdaptaHOP")]
pub struct AdaptaHop {
    /// AdaptaHOP: density at the edge of halos, over the mean density [default: 80]
    #[arg(long, value_name = "DENSITY", value_parser = number, allow_negative_numbers = true)]
    pub density_threshold: Option<f64>,
    /// AdaptaHOP: minimum significance of a structure above its saddle [default: 4]
    ///
    /// In standard deviations of the number of particles.
    #[arg(long, value_name = "SIGMAS", value_parser = number, allow_negative_numbers = true)]
    pub fudge: Option<f64>,
    /// AdaptaHOP: minimum rms radius, in mean separations [default: 0.05]
    ///
    /// The radius is that of a structure.
    #[arg(long, value_name = "RADIUS", value_parser = number, allow_negative_numbers = true)]
    pub fudge_epsilon: Option<f64>,
    /// AdaptaHOP: minimum ratio of peak density to mean density [default: 1]
    ///
    /// The ratio is that of a structure; values up to 1 have no effect.
    #[arg(long, value_name = "RATIO", value_parser = number, allow_negative_numbers = true)]
    pub alpha: Option<f64>,
    /// AdaptaHOP: algorithm for the tree of structures [default: exact]
    #[arg(long, value_enum)]
    pub algorithm: Option<TreeAlgorithm>,
    /// AdaptaHOP: main part of a structure that splits into several [default: mass]
    ///
    /// The main part is the structure itself; the other parts are its subhalos.
    #[arg(long, value_enum)]
    pub selection: Option<Selection>,
    /// AdaptaHOP: remove unbound particles
    ///
    /// Those of a subhalo join its parent; those of a halo become ungrouped. Structures with fewer than --min-members
    /// bound particles are dropped. Adds the columns halo_found_mass (the mass before), halo_bound_vmax and
    /// halo_bound_rvmax. halo_mass and all other columns are over bound particles.
    #[arg(long)]
    pub unbind: bool,
    /// AdaptaHOP: row of the catalogue of the structure in dendrogram.svg [default: 0, the largest halo]
    ///
    /// Rows are numbered from 0, as in the column halo_label and in labels.npy.
    #[arg(long, value_name = "ROW", conflicts_with = "no_pictures")]
    pub dendrogram: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum TreeAlgorithm {
    /// Split at the exact density of each saddle
    Exact,
    /// Split at a threshold that rises in steps, as published; a halo alone in its box then splits into its subhalos
    Stepped,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Selection {
    /// The most massive part, subhalos of the parts excluded
    Mass,
    /// The part with the densest peak
    Density,
}

impl AdaptaHop {
    /// Returns the library's finder with these options and those that it shares with HOP.
    pub fn finder(&self, hop: &Hop) -> ropewalk::AdaptaHop {
        let mut finder = ropewalk::AdaptaHop::new();
        if let Some(n_density) = hop.n_density {
            finder = finder.n_density(n_density);
        }
        if let Some(n_hop) = hop.n_hop {
            finder = finder.n_hop(n_hop);
        }
        if let Some(threshold) = self.density_threshold {
            finder = finder.density_threshold(threshold);
        }
        if let Some(fudge) = self.fudge {
            finder = finder.fudge(fudge);
        }
        if let Some(fudge_epsilon) = self.fudge_epsilon {
            finder = finder.fudge_epsilon(fudge_epsilon);
        }
        if let Some(alpha) = self.alpha {
            finder = finder.alpha(alpha);
        }
        match self.algorithm {
            Some(TreeAlgorithm::Stepped) => finder = finder.algorithm(AdaptaHopAlgorithm::Stepped),
            Some(TreeAlgorithm::Exact) | None => {}
        }
        match self.selection {
            Some(Selection::Density) => finder = finder.selection(SubhaloSelection::Density),
            Some(Selection::Mass) | None => {}
        }
        finder
    }

    /// Returns the first given option.
    pub fn given(&self) -> Option<&'static str> {
        first_of([
            (self.density_threshold.is_some(), "--density-threshold"),
            (self.fudge.is_some(), "--fudge"),
            (self.fudge_epsilon.is_some(), "--fudge-epsilon"),
            (self.alpha.is_some(), "--alpha"),
            (self.algorithm.is_some(), "--algorithm"),
            (self.selection.is_some(), "--selection"),
            (self.unbind, "--unbind"),
            (self.dendrogram.is_some(), "--dendrogram"),
        ])
    }
}

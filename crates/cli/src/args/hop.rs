//! The arguments of `ropewalk halos --finder hop` and `--finder adaptahop`.

use ropewalk::{AdaptaHopAlgorithm, SubhaloSelection};

/// What a halo is.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Finder {
    /// Friends of friends
    Fof,
    /// A group about a peak of density, as Eisenstein and Hut 1998 define it
    Hop,
    /// Halos about peaks of density with the subhalos in them, as Aubert, Pichon and Colombi 2004 and Tweed et al. 2009 define them
    #[value(name = "adaptahop")]
    AdaptaHop,
}

/// Thresholds are in units of the mean density.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "HOP and AdaptaHOP")]
pub struct Hop {
    /// HOP: the nearest particles that make a density, the particle itself counted [default: 64]; AdaptaHOP: the nearest others [default: 20]
    #[arg(long, value_name = "N")]
    pub n_density: Option<usize>,
    /// HOP: a particle hops to the densest of so many nearest, itself counted [default: 64]; AdaptaHOP: of so many nearest others, among which
    /// saddles are looked for, too [default: 20]
    #[arg(long, value_name = "N")]
    pub n_hop: Option<usize>,
    /// HOP: boundaries are looked for among so many nearest others [default: 4]
    #[arg(long, value_name = "N")]
    pub n_merge: Option<usize>,
    /// HOP: the density out to which halos reach [default: 80]
    #[arg(long, value_name = "DENSITY", allow_negative_numbers = true)]
    pub delta_outer: Option<f64>,
    /// HOP: the least density of a boundary over which two halos are one; otherwise 2.5 times --delta-outer
    #[arg(long, value_name = "DENSITY", allow_negative_numbers = true)]
    pub delta_saddle: Option<f64>,
    /// HOP: the least density of a halo's peak; otherwise 3 times --delta-outer
    #[arg(long, value_name = "DENSITY", allow_negative_numbers = true)]
    pub delta_peak: Option<f64>,
}

impl Hop {
    /// The finder of the library.
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

    /// The first option that is given and that HOP alone has.
    pub fn given(&self) -> Option<&'static str> {
        first_of([
            (self.n_merge.is_some(), "--n-merge"),
            (self.delta_outer.is_some(), "--delta-outer"),
            (self.delta_saddle.is_some(), "--delta-saddle"),
            (self.delta_peak.is_some(), "--delta-peak"),
        ])
    }

    /// The first option that is given and that both have.
    pub fn given_for_both(&self) -> Option<&'static str> {
        first_of([(self.n_density.is_some(), "--n-density"), (self.n_hop.is_some(), "--n-hop")])
    }
}

fn first_of<const N: usize>(given: [(bool, &'static str); N]) -> Option<&'static str> {
    given.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
}

/// Densities are in units of the mean density. A component of particles above a density counts if it stands out.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "HOP and AdaptaHOP")]
pub struct AdaptaHop {
    /// AdaptaHOP: the density out to which halos reach [default: 80]
    #[arg(long, value_name = "DENSITY", allow_negative_numbers = true)]
    pub density_threshold: Option<f64>,
    /// AdaptaHOP: how many standard deviations of a count of particles a structure stands out above its saddle [default: 4]
    #[arg(long, value_name = "SIGMAS", allow_negative_numbers = true)]
    pub fudge: Option<f64>,
    /// AdaptaHOP: the least root mean square radius of a structure, in mean separations [default: 0.05]
    #[arg(long, value_name = "RADIUS", allow_negative_numbers = true)]
    pub fudge_epsilon: Option<f64>,
    /// AdaptaHOP: the least ratio of a structure's largest density to its mean; up to 1 it is no condition [default: 1]
    #[arg(long, value_name = "RATIO", allow_negative_numbers = true)]
    pub alpha: Option<f64>,
    /// AdaptaHOP: how the tree of structures is found [default: exact]
    #[arg(long, value_enum)]
    pub algorithm: Option<TreeAlgorithm>,
    /// AdaptaHOP: which part of a structure that falls into several is the structure itself; the others are subhalos [default: mass]
    #[arg(long, value_enum)]
    pub selection: Option<Selection>,
    /// AdaptaHOP: remove particles that are not bound: of a subhalo they go to its parent, of a halo to none, and what has fewer than --min-members left
    /// is none. Adds columns halo_found_mass (before), halo_bound_vmax and halo_bound_rvmax; halo_mass and all else are of the bound ones
    #[arg(long)]
    pub unbind: bool,
    /// AdaptaHOP: the halo or subhalo that dendrogram.svg shows, by its halo_label; otherwise the largest
    #[arg(long, value_name = "LABEL", conflicts_with = "no_pictures")]
    pub dendrogram: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum TreeAlgorithm {
    /// At each density of saddles
    Exact,
    /// At a threshold that rises in steps, as published: a halo that is alone in its box falls apart into its subhalos
    Stepped,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Selection {
    /// The heaviest, each without what is a subhalo in it
    Mass,
    /// That with the densest peak
    Density,
}

impl AdaptaHop {
    /// The finder of the library.
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

    /// The first option that is given.
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

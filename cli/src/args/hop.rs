//! The arguments of `ropewalk halos --finder hop`.

/// What a halo is.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Finder {
    /// Friends of friends
    Fof,
    /// A group about a peak of density, as Eisenstein and Hut 1998 define it
    Hop,
}

/// Thresholds are in units of the mean density.
#[derive(Debug, clap::Args)]
pub struct Hop {
    /// HOP: the nearest particles that make a density, the particle itself counted [default: 64]
    #[arg(long, value_name = "N")]
    pub n_density: Option<usize>,
    /// HOP: a particle hops to the densest of so many nearest, itself counted [default: 64]
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

    /// The first option that is given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            (self.n_density.is_some(), "--n-density"),
            (self.n_hop.is_some(), "--n-hop"),
            (self.n_merge.is_some(), "--n-merge"),
            (self.delta_outer.is_some(), "--delta-outer"),
            (self.delta_saddle.is_some(), "--delta-saddle"),
            (self.delta_peak.is_some(), "--delta-peak"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, name)| name)
    }
}

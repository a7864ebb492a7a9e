//! The options of AdaptaHOP by name, for the header of a catalogue.

use super::{AdaptaHop, AdaptaHopAlgorithm, SubhaloSelection};

impl AdaptaHop {
    /// Returns the names and values of the numerical options.
    #[doc(hidden)]
    pub fn numbers(&self) -> [(&'static str, f64); 6] {
        [
            ("n_density", self.density.n_density as f64),
            ("n_hop", self.n_hop as f64),
            ("density_threshold", self.density_threshold),
            ("fudge", self.fudge),
            ("fudge_epsilon", self.fudge_epsilon),
            ("alpha", self.alpha),
        ]
    }

    /// Returns the names and values of the options that select an algorithm or a criterion.
    #[doc(hidden)]
    pub fn choices(&self) -> [(&'static str, &'static str); 2] {
        let algorithm = match self.algorithm {
            AdaptaHopAlgorithm::Exact => "exact",
            AdaptaHopAlgorithm::Stepped => "stepped",
        };
        let selection = match self.selection {
            SubhaloSelection::Mass => "mass",
            SubhaloSelection::Density => "density",
        };
        [("algorithm", algorithm), ("selection", selection)]
    }
}

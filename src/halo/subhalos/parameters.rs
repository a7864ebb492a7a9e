//! The options of AdaptaHOP as a reader of a catalogue sees them.

use super::{AdaptaHop, AdaptaHopAlgorithm, SubhaloSelection};
use crate::halo::header_entry::Meta;

impl AdaptaHop {
    /// Names and values for the header of a catalogue.
    pub(crate) fn parameters(&self) -> [(&'static str, Meta); 8] {
        let number = |value: f64| Meta::Number(value);
        let algorithm = match self.algorithm {
            AdaptaHopAlgorithm::Exact => "exact",
            AdaptaHopAlgorithm::Stepped => "stepped",
        };
        let selection = match self.selection {
            SubhaloSelection::Mass => "mass",
            SubhaloSelection::Density => "density",
        };
        [
            ("n_density", number(self.density.n_density as f64)),
            ("n_hop", number(self.n_hop as f64)),
            ("density_threshold", number(self.density_threshold)),
            ("fudge", number(self.fudge)),
            ("fudge_epsilon", number(self.fudge_epsilon)),
            ("alpha", number(self.alpha)),
            ("algorithm", Meta::Text(algorithm.into())),
            ("selection", Meta::Text(selection.into())),
        ]
    }
}

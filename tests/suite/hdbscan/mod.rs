//! HDBSCAN*, compared with scikit-learn and the package hdbscan, with its definition, and between runs.

mod bad_input;
mod dbscan_star;
mod definition;
mod edge_cases;
mod properties;
mod stored;

use ropewalk::Hdbscan;
use ropewalk::cluster::ClusterSelection;

/// The options for selecting clusters that tests draw at random.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    pub min_cluster_size: usize,
    pub min_samples: usize,
    pub leaf: bool,
    pub epsilon: f64,
    pub max_cluster_size: Option<usize>,
    pub single: bool,
}

impl Choice {
    pub fn new(min_cluster_size: usize, min_samples: usize) -> Self {
        Self { min_cluster_size, min_samples, leaf: false, epsilon: 0.0, max_cluster_size: None, single: false }
    }

    pub fn options(&self) -> Hdbscan {
        let selection = if self.leaf { ClusterSelection::Leaf } else { ClusterSelection::ExcessOfMass };
        let options = Hdbscan::new(self.min_cluster_size)
            .min_samples(self.min_samples)
            .cluster_selection(selection)
            .cluster_selection_epsilon(self.epsilon)
            .allow_single_cluster(self.single);
        self.max_cluster_size.map_or(options.clone(), |size| options.max_cluster_size(size))
    }
}

/// Asserts equality to 12 digits.
pub fn assert_close(found: &[f64], expected: &[f64], context: &str) {
    assert_eq!(found.len(), expected.len(), "{context}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= 1e-12, "{i}: {found} for {expected}, {context}");
    }
}

//! The arguments of `ropewalk hdbscan`.

use std::path::PathBuf;

use super::super::device::Name;
use super::Points;

/// Find clusters of any density and noise, without a radius (HDBSCAN*). Clusters are numbered by their smallest member.
///
/// The S-th nearest point, itself counted, says how dense it is around a point. As the distance that links points shrinks, clusters
/// lose points, fall apart into several of at least M points, or end; the most stable ones are chosen. FILE is a NumPy array (N x D), a
/// text table or a Gadget-2 snapshot (all particle types), with 1 to 10 coordinates per point.
#[derive(Debug, clap::Args)]
pub struct Hdbscan {
    #[command(flatten)]
    pub points: Points,
    /// How many points a cluster has at least
    #[arg(long, value_name = "M")]
    pub min_cluster_size: usize,
    /// More make more points noise; otherwise as many as a cluster has at least
    #[arg(long, value_name = "S", visible_alias = "min-pts")]
    pub min_samples: Option<usize>,
    /// Which clusters are chosen
    #[arg(long, value_enum, default_value_t = Method::Eom)]
    pub method: Method,
    /// Clusters that split off at a distance below this are not told apart
    #[arg(long, value_name = "E", default_value_t = 0.0, allow_negative_numbers = true)]
    pub epsilon: f64,
    /// How many points a cluster chosen by eom has at most
    #[arg(long, value_name = "X")]
    pub max_cluster_size: Option<usize>,
    /// All points may be one cluster
    #[arg(long)]
    pub allow_single: bool,
    /// How to break ties between equal distances; sequential gives scikit-learn's labels and numbers where no two distances are equal
    #[arg(long, value_enum, default_value_t = Ties::Together)]
    pub ties: Ties,
    /// Distances between points are divided by this, those to the S-th nearest are not
    #[arg(long, value_name = "A", default_value_t = 1.0, allow_negative_numbers = true)]
    pub alpha: f64,
    /// What finds clusters: cpu, cuda or vulkan, or one of several by its number, as cuda:1. On a device samples are
    /// at most 65, alpha is 1, and ties are removed together
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: Name,
    /// Write the cluster of each point in file order, -1 for noise, by the name's ending: .npy is a NumPy array of i32, .csv a text
    /// table with the column label
    #[arg(long, value_name = "LABELS.npy|csv")]
    pub out: Option<PathBuf>,
    /// Write how strongly each point belongs to its cluster, from 0 to 1: .npy is a NumPy array of f64, .csv a text table with the
    /// column probability
    #[arg(long, value_name = "PROBABILITIES.npy|csv")]
    pub probabilities: Option<PathBuf>,
    /// Write how far out each point is, from 0 to 1 (GLOSH): .npy is a NumPy array of f64, .csv a text table with the column outlier
    #[arg(long, value_name = "OUTLIERS.npy|csv")]
    pub outliers: Option<PathBuf>,
    /// Draw the points, coloured by cluster; for two dimensions
    #[arg(long, value_name = "CLUSTERS.png|svg|pdf")]
    pub plot: Option<PathBuf>,
    /// Draw the tree that clusters are chosen from, as SVG, PNG or PDF by the name's ending
    #[arg(long, value_name = "TREE.svg|png|pdf")]
    pub tree: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Method {
    /// Excess of mass: those of the largest stability in all
    Eom,
    /// Those that do not fall apart further: more and smaller ones
    Leaf,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Ties {
    /// Links of one length are cut at once: clusters do not depend on the order of the points
    Together,
    /// One after the other, the last in the order of `ropewalk emst` first, as scikit-learn would with that tree
    Sequential,
}

impl From<Method> for ropewalk::ClusterSelection {
    fn from(method: Method) -> Self {
        match method {
            Method::Eom => Self::ExcessOfMass,
            Method::Leaf => Self::Leaf,
        }
    }
}

impl From<Ties> for ropewalk::Ties {
    fn from(ties: Ties) -> Self {
        match ties {
            Ties::Together => Self::Together,
            Ties::Sequential => Self::Sequential,
        }
    }
}

//! The arguments of `ropewalk hdbscan`.

use std::path::PathBuf;

use super::super::device::DeviceArg;
use super::{Points, number};

/// Find clusters of any density and noise, without a radius (HDBSCAN*).
///
/// The distance to the S-th nearest point, the point itself counted, measures the density around a point. As the
/// linking distance shrinks, clusters lose points, split into several of at least M points, or vanish. The most
/// stable clusters are selected, and numbered by their smallest member.
#[derive(Debug, clap::Args)]
pub struct Hdbscan {
    #[command(flatten)]
    pub points: Points,
    /// Minimum number of points of a cluster
    #[arg(long, value_name = "M", default_value_t = 5)]
    pub min_cluster_size: usize,
    /// Rank of the neighbour that measures density, itself counted [default: M]
    ///
    /// Larger values make more points noise.
    #[arg(long, value_name = "S", visible_alias = "min-pts")]
    pub min_samples: Option<usize>,
    /// Selection of clusters
    #[arg(long, value_enum, default_value_t = Method::Eom, visible_alias = "cluster-selection-method")]
    pub method: Method,
    /// Do not split clusters at distances below this
    #[arg(
        long,
        value_name = "E",
        value_parser = number,
        default_value_t = 0.0,
        allow_negative_numbers = true,
        visible_alias = "cluster-selection-epsilon"
    )]
    pub epsilon: f64,
    /// Maximum number of points of a cluster selected by eom
    #[arg(long, value_name = "X")]
    pub max_cluster_size: Option<usize>,
    /// Allow one cluster of all points
    #[arg(long, visible_alias = "allow-single-cluster")]
    pub allow_single: bool,
    /// Order in which equal distances are cut
    ///
    /// If no two distances are equal, sequential gives the labels and numbers of scikit-learn.
    #[arg(long, value_enum, default_value_t = Ties::Together)]
    pub ties: Ties,
    /// Divide distances between points by this, except those to the S-th nearest
    #[arg(long, value_name = "A", value_parser = number, default_value_t = 1.0, allow_negative_numbers = true)]
    pub alpha: f64,
    /// Device that finds the clusters: cpu, cuda, vulkan, or one of several, as cuda:1
    ///
    /// On a device --ties is together.
    #[arg(long, value_name = "DEVICE", default_value = "cpu", hide_possible_values = true)]
    pub device: DeviceArg,
    /// Write the cluster of each point in file order, -1 for noise
    ///
    /// By the ending of the name, the input table with the columns label, probability and
    /// outlier_score (.csv, .ecsv, .parquet), or a NumPy
    /// array of i32 with the labels alone (.npy). All columns and rows of text tables and Parquet tables are kept; rows
    /// that --skip-missing skips have the label -1. For other files, such as snapshots, arrays and standard input, the
    /// table has the coordinates and the label. Standard output (-) is CSV.
    #[arg(long, value_name = "OUT.csv|ecsv|parquet|npy")]
    pub out: Option<PathBuf>,
    /// Write the strength of each point's membership in its cluster, from 0 to 1
    ///
    /// By the ending of the name, a NumPy array of f64 (.npy) or a text table with the column probability (.csv).
    #[arg(long, value_name = "PROBABILITIES.npy|csv")]
    pub probabilities: Option<PathBuf>,
    /// Write the outlier score of each point, from 0 to 1 (GLOSH)
    ///
    /// By the ending of the name, a NumPy array of f64 (.npy) or a text table with the column outlier (.csv).
    #[arg(long, value_name = "OUTLIERS.npy|csv")]
    pub outliers: Option<PathBuf>,
    /// Draw the points in two or three dimensions, coloured by cluster, or a page for a browser
    ///
    /// With the ending .html, one file for a browser: points of any dimension that can be turned and zoomed, a table
    /// of the clusters, and their condensed tree.
    #[arg(long, value_name = "CLUSTERS.png|svg|pdf|html")]
    pub plot: Option<PathBuf>,
    /// Draw the condensed cluster tree, as SVG, PNG or PDF by the ending of the name
    #[arg(long, value_name = "TREE.svg|png|pdf")]
    pub tree: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Method {
    /// Excess of mass: the clusters of largest total stability
    Eom,
    /// Leaves of the tree, which do not split further: more and smaller clusters
    Leaf,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Ties {
    /// Cut all links of one length at once: clusters do not depend on the order of points
    Together,
    /// Cut one link after the other, in the reverse order of `ropewalk emst`, as scikit-learn does with that tree
    Sequential,
}

impl From<Method> for ropewalk::cluster::ClusterSelection {
    fn from(method: Method) -> Self {
        match method {
            Method::Eom => Self::ExcessOfMass,
            Method::Leaf => Self::Leaf,
        }
    }
}

impl From<Ties> for ropewalk::cluster::Ties {
    fn from(ties: Ties) -> Self {
        match ties {
            Ties::Together => Self::Together,
            Ties::Sequential => Self::Sequential,
        }
    }
}

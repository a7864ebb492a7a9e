//! The result: labels and probabilities on the device, the tree of clusters on the host.
//!
//! In: the table of clusters, and the departures of points. Out: [`HdbscanClusters`].
//!
//! The host orders the clusters, selects among them, and uploads for each cluster the selected one that contains it.
//! Points look up their selected cluster, and contribute to its lowest member and its number of members. The host then
//! numbers the selected clusters by their lowest members, and points look up their labels. Cost: two passes over the
//! points, with a wait between them; 24 bytes per point, all of them for the result.

use cubecl::prelude::*;

use crate::cluster::CondensedCluster;
use crate::cluster::hdbscan::clusters::{ChosenClusters, label_chosen};
use crate::cluster::hdbscan::tree::CondensedTree;
use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::cluster::dendrogram::contract::NONE;
use crate::gpu::cluster::hdbscan::condense::{PointExits, Rows};
use crate::gpu::cluster::hdbscan::select_on_host::{choose, order};
use crate::gpu::cluster::labels::Labels;
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::primitives::atomic_min::lower_to;
use crate::gpu::primitives::rounding::inverse_root;
use crate::gpu::primitives::warp::Warp;
use crate::gpu::primitives::warp_atomics::{ReduceOp, block_aggregate};

/// The clusters that [`Hdbscan::run`](crate::gpu::Hdbscan::run) finds: the GPU version of
/// [`crate::cluster::HdbscanClusters`].
#[derive(Clone, Debug)]
pub struct HdbscanClusters {
    labels: Labels,
    probabilities: Buffer<f64>,
    persistence: Vec<f64>,
    /// The tree of clusters without its points, which are `cluster` and `weight2` on the device.
    tree: CondensedTree,
    cluster: Buffer<u32>,
    weight2: Buffer<f64>,
    members: ChosenClusters,
    on_host: bool,
}

impl HdbscanClusters {
    /// Selects clusters, and labels the points.
    pub(super) fn new<R: Runtime>(
        client: &ComputeClient<R>,
        device: Device,
        rows: Rows,
        departures: PointExits,
        options: &crate::Hdbscan,
    ) -> Result<Self> {
        let PointExits { cluster, weight2 } = departures;
        let (n, dim, warp) = (cluster.len(), CubeDim::new_1d(THREADS_PER_BLOCK), Warp::new(client));
        let (mut tree, number) = order(&rows, options.min_cluster_size);
        let members = choose(&tree, options);
        let (clusters, number) = (number.len(), Buffer::from_slice(client, &number));
        let chosen = Buffer::from_slice(client, &members.chosen);
        let least_lambda = Buffer::from_slice(client, &[members.least_lambda]);
        let input = || MembershipLaunch::new(chosen.arg(), least_lambda.arg(), n as u32);
        let (first, sizes) = (Buffer::filled(client, clusters, NONE), Buffer::filled(client, clusters, 0));
        let (own, counts) = (cluster.arg(), MembersArgLaunch::new(first.arg(), sizes.arg()));
        count_members::launch::<R>(client, blocks_for(n), dim, input(), number.arg(), own, weight2.arg(), counts, warp);
        let (first, sizes) = (first.read(client)?, sizes.read(client)?);
        let mut named: Vec<usize> = (0..clusters).filter(|&at| sizes[at] > 0).collect();
        named.sort_unstable_by_key(|&at| first[at]);
        let persistence = label_chosen(&mut tree, &named, &sizes);
        let label: Vec<i32> = tree.clusters.iter().map(|own| own.label.map_or(-1, |label| label as i32)).collect();
        let death: Vec<f64> = tree.clusters.iter().map(|own| own.death).collect();
        let table = ClusterLabelsLaunch::new(
            Buffer::from_slice(client, &label).arg(),
            Buffer::from_slice(client, &death).arg(),
        );
        let (labels, probabilities) = (Buffer::<i32>::new(client, n), Buffer::<f64>::new(client, n));
        let to = PointLabelsLaunch::new(labels.arg(), probabilities.arg());
        label_points::launch::<R>(client, blocks_for(n), dim, input(), table, cluster.arg(), weight2.arg(), to);
        let labels = Labels { device, labels, n_clusters: named.len() as u32, has_border_labels: false };
        Ok(Self { labels, probabilities, persistence, tree, cluster, weight2, members, on_host: false })
    }

    /// Uploads a result of the CPU.
    pub(super) fn upload<R: Runtime>(
        client: &ComputeClient<R>,
        device: Device,
        found: crate::cluster::HdbscanClusters,
    ) -> Self {
        let (labels, probabilities, persistence, mut tree, members) = found.into_parts();
        let cluster = Buffer::from_slice(client, &std::mem::take(&mut tree.cluster));
        let weight2 = Buffer::from_slice(client, &std::mem::take(&mut tree.weight2));
        let probabilities = Buffer::from_slice(client, &probabilities);
        let n_clusters = labels.n_clusters() as u32;
        let labels = Buffer::from_slice(client, labels.as_slice());
        let labels = Labels { device, labels, n_clusters, has_border_labels: false };
        Self { labels, probabilities, persistence, tree, cluster, weight2, members, on_host: true }
    }

    /// Returns the cluster of each point, -1 for noise. Clusters are numbered by their smallest member.
    pub fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Returns the membership probability of each point, from 0 to 1, on the device; 0 for noise. See
    /// [`crate::cluster::HdbscanClusters::probabilities`] for the definition.
    pub fn probabilities(&self) -> DeviceVec<f64> {
        DeviceVec { device: self.labels.device, values: self.probabilities.clone() }
    }

    /// Returns the persistence of each cluster, in the order of the labels. See
    /// [`crate::cluster::HdbscanClusters::persistence`] for the definition.
    pub fn persistence(&self) -> &[f64] {
        &self.persistence
    }

    /// Returns all clusters of the condensed tree, selected or not, in breadth-first order of the dendrogram, as
    /// [`CondensedTree::clusters`](crate::cluster::CondensedTree::clusters).
    pub fn clusters(&self) -> &[CondensedCluster] {
        &self.tree.clusters
    }

    /// Returns `true` if the host found the clusters, for tests. It does if there are fewer points than
    /// `min_cluster_size`, or if the device rounds differently.
    #[doc(hidden)]
    pub fn are_of_host(&self) -> bool {
        self.on_host
    }

    /// Waits until labels and probabilities are computed.
    ///
    /// # Errors
    /// A failing device.
    pub fn wait(&self) -> Result<()> {
        self.labels.wait()
    }

    /// Copies the result from the device, including the departures of points from the tree.
    ///
    /// # Errors
    /// A failing device.
    pub fn read(&self) -> Result<crate::cluster::HdbscanClusters> {
        let labels = self.labels.read()?;
        on!(self.labels.device, client => {
            let mut tree = self.tree.clone();
            tree.cluster = self.cluster.read(client)?;
            tree.weight2 = self.weight2.read(client)?;
            let (probabilities, persistence) = (self.probabilities.read(client)?, self.persistence.clone());
            Ok(crate::cluster::HdbscanClusters::from_parts(labels, probabilities, persistence, tree, self.members.clone()))
        })
    }
}

/// The selected cluster that contains each cluster: the kernel argument for [`ChosenClusters`].
#[derive(CubeType, CubeLaunch)]
struct Membership {
    chosen: Array<u32>,
    least_lambda: Array<f64>,
    n: u32,
}

#[cube]
impl Membership {
    /// The selected cluster of a point that leaves `cluster` at `lambda`, or [`NONE`].
    fn of(&self, cluster: u32, lambda: f64) -> u32 {
        let chosen = self.chosen[cluster as usize];
        let is_outside = chosen == 0 && lambda < self.least_lambda[0];
        select(is_outside, NONE, chosen)
    }
}

/// The lowest member of each selected cluster, and its number of members.
#[derive(CubeType, CubeLaunch)]
struct MembersArg {
    first: Array<Atomic<u32>>,
    sizes: Array<Atomic<u32>>,
}

/// Renumbers the clusters of points, and counts the members of the selected clusters.
#[cube(launch)]
fn count_members(
    membership: &Membership,
    number: &Array<u32>,
    cluster: &mut Array<u32>,
    weight2: &Array<f64>,
    members: &mut MembersArg,
    #[comptime] warp: Warp,
) {
    let point = ABSOLUTE_POS;
    let mut chosen = NONE.runtime();
    if (point as u32) < membership.n {
        let own = number[cluster[point] as usize];
        cluster[point] = own;
        chosen = membership.of(own, inverse_root(weight2[point]));
    }
    let is_member = chosen != NONE;
    let at = select(is_member, chosen, 0u32);
    lower_to(&mut members.first, at, select(is_member, point as u32, NONE), warp);
    let count = block_aggregate(at, u32::cast_from(is_member), ReduceOp::Sum, warp);
    if count != 0 {
        members.sizes[at as usize].fetch_add(count);
    }
}

/// The label of each selected cluster, and the lambda at which it ends.
#[derive(CubeType, CubeLaunch)]
struct ClusterLabels {
    label: Array<i32>,
    death: Array<f64>,
}

/// The labels and probabilities of points.
#[derive(CubeType, CubeLaunch)]
struct PointLabels {
    labels: Array<i32>,
    probabilities: Array<f64>,
}

#[cube(launch)]
fn label_points(
    membership: &Membership,
    names: &ClusterLabels,
    cluster: &Array<u32>,
    weight2: &Array<f64>,
    points: &mut PointLabels,
) {
    let point = ABSOLUTE_POS;
    if (point as u32) < membership.n {
        let own2 = weight2[point];
        let lambda = inverse_root(own2);
        let chosen = membership.of(cluster[point], lambda);
        let mut label = i32::new(-1);
        let mut probability = f64::new(0.0);
        if chosen != NONE {
            label = names.label[chosen as usize];
            let death = names.death[chosen as usize];
            // If the weight is 0, lambda is infinite.
            probability = f64::new(1.0);
            if own2 > f64::new(0.0) {
                probability = lambda.min(death) / death;
            }
        }
        points.labels[point] = label;
        points.probabilities[point] = probability;
    }
}

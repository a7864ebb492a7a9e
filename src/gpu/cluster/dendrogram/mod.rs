//! Single linkage: the GPU version of `cluster::dendrogram`.
//!
//! In: the edges of a spanning tree in ascending order. Out: a merge for each edge. The tree is contracted
//! (`contract`), and the merges are ordered along paths of the dendrogram (`chains`). No step waits for another one,
//! regardless of the length of a path. Source: Gower and Ross 1969 (single linkage from the minimum spanning tree);
//! Sao, Prokopenko and Lebrun-Grandié 2024 (PANDORA: in parallel).

pub(super) mod chains;
pub(super) mod contract;

use self::chains::Chains;
use crate::cluster::Merge;
use crate::error::Result;
use crate::geometry::distance_from_square;
use crate::gpu::buffer::{Buffer, wait};
use crate::gpu::cluster::mst::SpanningTree;
use crate::gpu::device::{Device, on};
use crate::gpu::device_vec::DeviceVec;

/// The merges of single linkage on a device, in ascending order of height: the GPU version of
/// [`crate::cluster::Dendrogram`].
///
/// ```no_run
/// use ropewalk::gpu::{Dendrogram, Device, Points, minimum_spanning_tree};
///
/// let points = Points::new(&[[0.0f32, 0.0], [1.0, 0.0], [9.0, 0.0], [11.0, 0.0]], Device::first()?)?;
/// let dendrogram = Dendrogram::new(&minimum_spanning_tree(&points)?)?;
/// let rows: Vec<_> = dendrogram.read()?.iter().map(|merge| (merge.clusters, merge.height, merge.size)).collect();
/// assert_eq!(rows, [([0, 1], 1.0, 2), ([2, 3], 2.0, 2), ([4, 5], 8.0, 4)]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dendrogram {
    device: Device,
    n_points: usize,
    weight2: Buffer<f64>,
    clusters: Buffer<u32>,
    sizes: Buffer<u32>,
}

impl Dendrogram {
    /// Computes the merges along the edges of a spanning tree, in the order of its edges.
    ///
    /// Memory besides the tree: 12 bytes per point, and some 50 while it runs.
    ///
    /// # Errors
    /// 2^31 or more points; a failing device.
    pub fn new(tree: &SpanningTree) -> Result<Self> {
        let &SpanningTree { device, n_points, ref weight2, ref low, ref high } = tree;
        on!(device, client => {
            let (clusters, sizes) = if n_points < 2 {
                (Buffer::new(client, 0), Buffer::new(client, 0))
            } else {
                let (chains, child_vertices) = Chains::new(client, n_points, low, high)?;
                chains.merges(client, &child_vertices)
            };
            Ok(Self { device, n_points, weight2: weight2.clone(), clusters, sizes })
        })
    }

    /// Returns the number of points, which is the number of merges plus one.
    pub fn n_points(&self) -> usize {
        self.n_points
    }

    /// Returns the two clusters that each merge joins, one merge after the other, the lower number first. Points are
    /// clusters `0..n`; merge number i makes the cluster `n + i`.
    pub fn clusters(&self) -> DeviceVec<u32> {
        DeviceVec { device: self.device, values: self.clusters.clone() }
    }

    /// Returns the squared height of each merge, in ascending order; a height is in the unit of the points.
    pub fn heights2(&self) -> DeviceVec<f64> {
        DeviceVec { device: self.device, values: self.weight2.clone() }
    }

    /// Returns the number of points of the cluster that each merge makes.
    pub fn sizes(&self) -> DeviceVec<u32> {
        DeviceVec { device: self.device, values: self.sizes.clone() }
    }

    /// Waits until the merges are computed.
    ///
    /// # Errors
    /// A failing device.
    pub fn wait(&self) -> Result<()> {
        on!(self.device, client => wait(client))
    }

    /// Copies the merges from the device, as in [`crate::cluster::Dendrogram::merges`].
    ///
    /// # Errors
    /// A failing device.
    pub fn read(&self) -> Result<Vec<Merge>> {
        on!(self.device, client => {
            let (clusters, sizes) = (self.clusters.read(client)?, self.sizes.read(client)?);
            let (pairs, _) = clusters.as_chunks();
            let rows = pairs.iter().zip(sizes).zip(self.weight2.read(client)?);
            Ok(rows.map(|((&clusters, size), weight2)| Merge { clusters, height: distance_from_square(weight2), size }).collect())
        })
    }
}

//! Clusters of points connected by a part of a tree's edges: the GPU version of `cut` and `cut_into` of
//! `cluster::dendrogram`.
//!
//! In: edges in order. Out: labels. The edges are united in parallel, as `connect` unites pairs. Cost: 24 bytes per
//! point.

use cubecl::prelude::*;

use crate::error::{Error, Result};
use crate::geometry::squared_limit;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::cluster::connect::{Forest, ForestArg, ForestArgLaunch, rem_union};
use crate::gpu::cluster::labels::{Labels, Membership, label, relabel};
use crate::gpu::cluster::mst::SpanningTree;
use crate::gpu::device::{is_cuda, on};

impl SpanningTree {
    /// Returns the clusters connected by edges of at most `length`, with the labels of
    /// [`crate::cluster::SpanningTree::cut`].
    ///
    /// # Errors
    /// A length that is NaN or negative; a failing device.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, Points, minimum_spanning_tree};
    ///
    /// let points = Points::new(&[[0.0f32, 0.0], [1.0, 0.0], [9.0, 0.0], [3.0, 0.0]], Device::first()?)?;
    /// assert_eq!(minimum_spanning_tree(&points)?.cut(1.0)?.read()?.as_slice(), [0, 0, -1, -1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn cut(&self, length: impl Into<f64>) -> Result<Labels> {
        let length = length.into();
        if length.is_nan() || length < 0.0 {
            return Err(Error::parameter_must("length", length, "non-negative"));
        }
        self.labels(self.low.len(), squared_limit(length), Membership::Multiple)
    }

    /// Returns exactly this many clusters, with the labels of [`crate::cluster::SpanningTree::cut_into`].
    ///
    /// # Errors
    /// 0 clusters, or more than there are points; a failing device.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Device, Points, minimum_spanning_tree};
    ///
    /// let points = Points::new(&[[0.0f32, 0.0], [1.0, 0.0], [9.0, 0.0], [3.0, 0.0]], Device::first()?)?;
    /// assert_eq!(minimum_spanning_tree(&points)?.cut_into(2)?.read()?.as_slice(), [0, 0, 1, 0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn cut_into(&self, clusters: usize) -> Result<Labels> {
        let (name, value) = ("clusters", clusters as f64);
        if clusters == 0 {
            return Err(Error::parameter_must(name, value, "at least 1"));
        }
        if clusters > self.n_points {
            return Err(Error::parameter_must(name, value, "at most the number of points"));
        }
        self.labels(self.n_points - clusters, f64::INFINITY, Membership::All)
    }

    /// The components that the first `edges` edges connect, without edges whose squared weight exceeds `limit2`.
    fn labels(&self, edges: usize, limit2: f64, membership: Membership<'_>) -> Result<Labels> {
        on!(self.device, client => {
            let forest = unite(client, self, edges, limit2)?;
            let indices = Buffer::iota(client, self.n_points);
            let (labels, n_clusters) = if self.n_points == 0 {
                (Buffer::new(client, 0), 0)
            } else {
                let (numbers, n_clusters) = relabel(client, &forest, &indices, membership)?;
                (label(client, &numbers, &indices, None), n_clusters)
            };
            Ok(Labels { device: self.device, labels, n_clusters, has_border_labels: false })
        })
    }
}

/// Unites the first `edges` edges in a forest over indices.
fn unite<R: Runtime>(client: &ComputeClient<R>, tree: &SpanningTree, edges: usize, limit2: f64) -> Result<Forest> {
    let forest = Forest { parents: Buffer::iota(client, tree.n_points), node_states: Buffer::new(client, 0) };
    let (limit, dim) = (Buffer::from_slice(client, &[limit2]), CubeDim::new_1d(THREADS_PER_BLOCK));
    let (parents, atomic) = (&forest.parents, is_cuda(client));
    if edges == 0 {
        return Ok(forest);
    }
    // As in `connect`, a union may be lost without atomics.
    loop {
        let changed = Buffer::<u32>::from_slice(client, &[0]);
        let forest = ForestArgLaunch::new(parents.arg(), parents.arg(), changed.arg(), atomic);
        unite_edges::launch::<R>(
            client,
            blocks_for(edges),
            dim,
            tree.weight2.arg(),
            tree.low.arg(),
            tree.high.arg(),
            limit.arg(),
            forest,
            edges as u32,
        );
        if atomic || changed.read(client)?[0] == 0 {
            break;
        }
    }
    Ok(forest)
}

/// Unites the ends of edges whose squared weight is at most `limit2`.
#[cube(launch)]
fn unite_edges(
    weight2: &Array<f64>,
    low: &Array<u32>,
    high: &Array<u32>,
    limit2: &Array<f64>,
    forest: &mut ForestArg,
    edges: u32,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < edges {
        if weight2[i] <= limit2[0] {
            rem_union(forest, low[i], high[i], true);
        }
    }
}

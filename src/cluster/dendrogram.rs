//! Single linkage: which clusters merge at which height, from a spanning tree.
//!
//! In: the edges of a tree in ascending order. Out: a merge for each edge, cuts into clusters, and the height at which two points
//! come together. Cost: one pass over the edges with a union-find whose trees have depth O(log n); 32 bytes a point, and 16 while it
//! runs. Source: Gower and Ross 1969 (single linkage from the minimum spanning tree).

use crate::cluster::labels::Labels;
use crate::cluster::mst::{AHEAD, SpanningTree, look_ahead};
use crate::cluster::relabel::IsCore;
use crate::cluster::union_find::UnionFind;
use crate::error::{Kind, Result};
use crate::parallel::for_tasks;

/// Edges per parallel task.
const TASK: usize = 1 << 12;
/// No edge.
const NONE: u32 = u32::MAX;

/// A point while clusters merge; all that a merge asks of it is in one place of the memory.
#[derive(Clone, Copy)]
struct Node {
    /// Towards the root; the root's is itself. And the edge that put it there.
    parent: u32,
    joined: u32,
    /// Of a root: the cluster that it stands for, and how many points that has.
    cluster: u32,
    size: u32,
}

/// Larger trees are above smaller ones, and paths are not shortened: they are O(log n) long, and asked for afterwards.
fn root(nodes: &[Node], mut at: u32) -> usize {
    while nodes[at as usize].parent != at {
        at = nodes[at as usize].parent;
    }
    at as usize
}

/// Two clusters that become one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Merge {
    /// The clusters, the lower number first. Points are clusters `0..n`; merge number i makes the cluster `n + i`.
    pub clusters: [u32; 2],
    /// The weight of the edge between them, in the units of the points.
    pub height: f64,
    /// How many points they have together.
    pub size: u32,
}

/// The merges of single linkage, the lowest first.
///
/// ```
/// use ropewalk::{Dendrogram, minimum_spanning_tree};
///
/// let tree = minimum_spanning_tree(&[[0.0f32], [1.0], [9.0], [11.0]])?;
/// let dendrogram = Dendrogram::new(&tree);
/// // The rows of scipy.cluster.hierarchy.linkage(points, "single").
/// let rows: Vec<_> = dendrogram.merges().iter().map(|merge| (merge.clusters, merge.height, merge.size)).collect();
/// assert_eq!(rows, [([0, 1], 1.0, 2), ([2, 3], 2.0, 2), ([4, 5], 8.0, 4)]);
/// assert_eq!(dendrogram.cophenetic_distance(1, 3), 8.0);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dendrogram {
    merges: Vec<Merge>,
    /// A forest of points, smaller trees below larger ones, and for each point the edge that put it below its parent.
    parent: Vec<u32>,
    joined: Vec<u32>,
}

impl Dendrogram {
    /// The merges along the edges of a spanning tree, in its order.
    pub fn new(tree: &SpanningTree) -> Self {
        let (n, edges) = (tree.n_points(), tree.edges());
        let mut nodes: Vec<Node> =
            (0..n as u32).map(|at| Node { parent: at, joined: NONE, cluster: at, size: 1 }).collect();
        let mut merges = Vec::with_capacity(edges.len());
        for (at, edge) in edges.iter().enumerate() {
            if at.is_multiple_of(AHEAD) {
                look_ahead(&edges[at..edges.len().min(at + AHEAD)], |point| nodes[point as usize].parent);
            }
            let [a, b] = [edge.low, edge.high].map(|point| root(&nodes, point));
            let [first, second] = [nodes[a], nodes[b]];
            let (large, small) = if first.size >= second.size { (a, b) } else { (b, a) };
            let size = first.size + second.size;
            let clusters = [first.cluster.min(second.cluster), first.cluster.max(second.cluster)];
            merges.push(Merge { clusters, height: edge.weight(), size });
            (nodes[small].parent, nodes[small].joined) = (large as u32, at as u32);
            (nodes[large].size, nodes[large].cluster) = (size, (n + at) as u32);
        }
        let parent = nodes.iter().map(|node| node.parent).collect();
        Self { merges, parent, joined: nodes.iter().map(|node| node.joined).collect() }
    }

    /// The merges, lowest first: one less than there are points.
    pub fn merges(&self) -> &[Merge] {
        &self.merges
    }

    /// The height at which two points come into one cluster; 0 for a point and itself. Cost: O(log n).
    ///
    /// # Panics
    /// If there is no such point.
    pub fn cophenetic_distance(&self, i: usize, j: usize) -> f64 {
        let (mut a, mut b) = (i as u32, j as u32);
        let mut last = None;
        // The edges on the way up from a point ascend, so the lower one of both is climbed first.
        while a != b {
            let (from_a, from_b) = (self.joined[a as usize], self.joined[b as usize]);
            last = Some(from_a.min(from_b));
            if from_a < from_b { a = self.parent[a as usize] } else { b = self.parent[b as usize] }
        }
        last.map_or(0.0, |edge| self.merges[edge as usize].height)
    }
}

impl SpanningTree {
    /// The clusters that edges of at most `length` join, numbered by their smallest member; points alone have none. Of the tree of
    /// lengths they are the halos of [`Fof`](crate::Fof) with this linking length; of mutual reachability, but for points that are
    /// alone, DBSCAN* with this eps.
    ///
    /// Errors: a length that is NaN or negative.
    ///
    /// ```
    /// let tree = ropewalk::minimum_spanning_tree(&[[0.0f32], [1.0], [9.0], [3.0]])?;
    /// assert_eq!(tree.cut(1.0)?.as_slice(), [0, 0, -1, -1]);
    /// assert_eq!(tree.cut(2.0)?.as_slice(), [0, 0, -1, 0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn cut(&self, length: impl Into<f64>) -> Result<Labels> {
        let length = length.into();
        if length.is_nan() || length < 0.0 {
            return Err(Kind::Parameter { name: "length", value: length, must: "a number, not negative" }.into());
        }
        let limit = length * length;
        self.labels(self.edges().partition_point(|edge| edge.weight2 <= limit), IsCore::InPairs)
    }

    /// Exactly this many clusters, numbered by their smallest member: those that are left without the heaviest edges. Each point has
    /// a cluster.
    ///
    /// Errors: no clusters, or more than there are points.
    ///
    /// ```
    /// let tree = ropewalk::minimum_spanning_tree(&[[0.0f32], [1.0], [9.0], [3.0]])?;
    /// assert_eq!(tree.cut_into(2)?.as_slice(), [0, 0, 1, 0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn cut_into(&self, clusters: usize) -> Result<Labels> {
        let (name, value) = ("clusters", clusters as f64);
        if clusters == 0 {
            return Err(Kind::Parameter { name, value, must: "at least 1" }.into());
        }
        if clusters > self.n_points() {
            return Err(Kind::Parameter { name, value, must: "at most the number of points" }.into());
        }
        self.labels(self.n_points() - clusters, IsCore::Each)
    }

    /// The components of the first edges.
    fn labels(&self, edges: usize, is_core: IsCore<'_>) -> Result<Labels> {
        let forest = UnionFind::new(self.n_points());
        for_tasks(edges, TASK, &|range| {
            for edge in &self.edges()[range] {
                forest.union(edge.low, edge.high);
            }
        });
        let order: Vec<u32> = (0..self.n_points() as u32).collect();
        Ok(forest.relabel(&order, is_core)?.into_labels(&order))
    }
}

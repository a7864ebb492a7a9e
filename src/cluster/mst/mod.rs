//! Minimum spanning trees: Euclidean, or by mutual reachability.
//!
//! In: points. Out: the n - 1 edges with the minimum total weight, in ascending order. Edges are ordered by (squared
//! weight, lower index, higher index), with weights from `f64` arithmetic on the coordinates. This order makes the
//! tree unique.

mod boruvka;
mod edge;
mod leaf_search;
mod lists;
mod search;

pub use edge::Edge;

use crate::bvh::Bvh;
use crate::cancel::{check_at, guarded};
use crate::cluster::errors;
use crate::cluster::union_find::UnionFind;
use crate::error::{Error, Result};
use crate::geometry::{Bounded, BoxSize, Scalar, Space};
use crate::precompiled::precompiled;

/// A builder of minimum spanning trees: set the options, then call [`MinimumSpanningTree::run`].
///
/// If `min_samples` is more than 1, edges are weighted by *mutual reachability*: w(i, j) = max(core(i), core(j), d(i,
/// j)). The core distance core(i) is the distance from point i to its `min_samples`-th nearest point, itself counted,
/// as in scikit-learn. Source: Campello, Moulavi and Sander 2013, definition 4.
///
/// ```
/// use ropewalk::MinimumSpanningTree;
///
/// let points = [[0.0f32], [1.0], [3.0], [9.5]];
/// let tree = MinimumSpanningTree::new().periodic(10.0).run(&points)?;
/// let edges: Vec<_> = tree.edges().iter().map(|edge| (edge.low, edge.high, edge.weight())).collect();
/// assert_eq!(edges, [(0, 3, 0.5), (0, 1, 1.0), (1, 2, 2.0)]);
///
/// // The third nearest point of point 0, itself counted, is at distance 3, that of point 1 at distance 2.
/// let tree = MinimumSpanningTree::new().min_samples(3).run(&points)?;
/// assert_eq!(tree.edges()[0].weight(), 3.0);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MinimumSpanningTree {
    min_samples: usize,
    alpha: f64,
    size: BoxSize,
}

impl Default for MinimumSpanningTree {
    fn default() -> Self {
        Self { min_samples: 1, alpha: 1.0, size: BoxSize::default() }
    }
}

impl MinimumSpanningTree {
    /// Creates the default options: edges weighted by their length, in open space.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of samples for mutual reachability, the point itself included; at least 1. Default: 1, which
    /// weights edges by their length.
    #[must_use]
    pub fn min_samples(mut self, min_samples: usize) -> Self {
        self.min_samples = min_samples;
        self
    }

    /// Sets the divisor of pair distances, but not of core distances: w(i, j) = max(core(i), core(j), d(i, j) / alpha).
    /// Default: 1. Source: Chaudhuri and Dasgupta 2010, robust single linkage.
    #[must_use]
    pub fn alpha(mut self, alpha: impl Into<f64>) -> Self {
        self.alpha = alpha.into();
        self
    }

    /// Sets the side of the periodic box, or one side per axis, in the unit of the points; `None` for open space.
    /// Default: open space.
    #[must_use]
    pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
        self.size = size.into();
        self
    }

    #[doc(hidden)]
    pub fn box_size(&self) -> &BoxSize {
        &self.size
    }

    /// Computes the minimum spanning tree of `points`.
    ///
    /// The result is exact, and the same for any number of threads. Memory beside the tree and the result: about 90
    /// bytes per point, up to 50 more for mutual reachability.
    ///
    /// # Errors
    /// - `min_samples` of 0 or of more than the number of points.
    /// - An `alpha` that is not positive or whose square is not a normal number.
    /// - A box or points that [`Bvh::build`] rejects.
    pub fn run<T: Bounded<S, D>, S: Scalar, const D: usize>(&self, points: &[T]) -> Result<SpanningTree> {
        guarded(|| self.run_on(&Bvh::build_in(points, Space::periodic(self.size.clone())?)?))
    }

    /// Computes the minimum spanning tree of the points in an existing tree. The space is that of the tree, open or
    /// periodic.
    ///
    /// # Errors
    /// As for [`MinimumSpanningTree::run`], for the options.
    pub fn run_on<S: Scalar, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<SpanningTree> {
        guarded(|| {
            let (name, n) = ("min_samples", self.min_samples);
            if n == 0 {
                return Err(Error::parameter_must(name, 0.0, "at least 1"));
            }
            if n > bvh.len() && n > 1 {
                return Err(Error::parameter_must(name, n as f64, "at most the number of points"));
            }
            check_alpha(self.alpha)?;
            Ok(SpanningTree { n_points: bvh.len(), edges: edges(bvh, self.min_samples, self.alpha)? })
        })
    }
}

#[cfg(feature = "distributed")]
impl MinimumSpanningTree {
    /// Checks the options of a tree across ranks.
    pub(crate) fn check_across(&self) -> Result<()> {
        if self.min_samples == 1 && self.alpha == 1.0 {
            return Ok(());
        }
        if self.min_samples == 0 {
            return Err(Error::parameter_must("min_samples", 0.0, "at least 1"));
        }
        check_alpha(self.alpha)?;
        let sentence = "spanning trees across ranks support only `min_samples` and `alpha` of 1; run it on one rank";
        Err(Error::new(crate::error::ErrorKind::Unsupported, sentence))
    }
}

/// Checks the divisor of distances.
pub(crate) fn check_alpha(alpha: f64) -> Result<()> {
    if alpha > 0.0 && (alpha * alpha).is_normal() {
        return Ok(());
    }
    Err(Error::parameter_must("alpha", alpha, "positive, with a square in the normal range of f64"))
}

/// Finds the Euclidean minimum spanning tree of points in open space.
///
/// ```
/// let tree = ropewalk::minimum_spanning_tree(&[[0.0f64, 0.0], [3.0, 4.0], [0.0, 1.0]])?;
/// assert_eq!((tree.edges()[0].low, tree.edges()[0].high), (0, 2));
/// assert_eq!(tree.edges()[1].weight2, 18.0);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// As for [`MinimumSpanningTree::run`].
pub fn minimum_spanning_tree<T: Bounded<S, D>, S: Scalar, const D: usize>(points: &[T]) -> Result<SpanningTree> {
    MinimumSpanningTree::new().run(points)
}

/// A minimum spanning tree: n - 1 edges, in ascending order of (squared weight, lower index, higher index).
#[derive(Clone, Default, PartialEq)]
pub struct SpanningTree {
    n_points: usize,
    edges: Vec<Edge>,
}

crate::brief::brief_debug!(SpanningTree, lists: [edges], others: [n_points]);

impl SpanningTree {
    #[cfg(feature = "gpu")]
    pub(crate) fn from_parts(n_points: usize, edges: Vec<Edge>) -> Self {
        Self { n_points, edges }
    }

    /// Creates a spanning tree from its edges in order, for example of another program or an earlier run.
    ///
    /// # Errors
    /// - A number of edges that is not one less than the number of points.
    /// - An end that is not a point; a `low` that is not less than `high`.
    /// - A squared weight that is NaN or negative.
    /// - Edges that are not in order or that form a cycle.
    ///
    /// # Example
    ///
    /// ```
    /// use ropewalk::cluster::{Edge, SpanningTree};
    /// use ropewalk::minimum_spanning_tree;
    ///
    /// let tree = minimum_spanning_tree(&[[0.0f32], [1.0], [9.0]])?;
    /// assert_eq!(SpanningTree::from_edges(3, tree.edges().to_vec())?, tree);
    /// assert!(SpanningTree::from_edges(3, vec![tree.edges()[0]; 2]).is_err());
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn from_edges(n_points: usize, edges: Vec<Edge>) -> Result<Self> {
        guarded(|| {
            if edges.len() != n_points.saturating_sub(1) {
                let (name, value) = ("edges.len()", edges.len() as f64);
                return Err(Error::parameter_must(name, value, "one less than the number of points"));
            }
            let forest = UnionFind::new(n_points);
            let place = |edge: &Edge| (edge.weight2, edge.low, edge.high);
            for (index, edge) in edges.iter().enumerate() {
                check_at(index);
                let is_edge = edge.low < edge.high && (edge.high as usize) < n_points && edge.weight2 >= 0.0;
                if !is_edge {
                    return Err(errors::edge(index, [edge.low, edge.high], edge.weight2, n_points));
                }
                if index > 0 && place(&edges[index - 1]) >= place(edge) {
                    return Err(errors::edge_order(index));
                }
                if forest.find(edge.low) == forest.find(edge.high) {
                    return Err(errors::edge_cycle(index, [edge.low, edge.high]));
                }
                forest.union(edge.low, edge.high);
            }
            Ok(Self { n_points, edges })
        })
    }

    /// Returns the number of points that the tree spans.
    pub fn n_points(&self) -> usize {
        self.n_points
    }

    /// Returns the edges in ascending order; empty for fewer than two points.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }
}

precompiled! {
    fn edges = boruvka_edges(tree: same_ref &Bvh<S, D>, min_samples: keep usize, alpha: keep f64) -> Result<Vec<Edge>>
}

fn boruvka_edges<S: Scalar, const D: usize>(tree: &Bvh<S, D>, min_samples: usize, alpha: f64) -> Result<Vec<Edge>> {
    boruvka::edges(tree, min_samples, alpha)
}

//! Minimum spanning trees: Euclidean, or by mutual reachability.
//!
//! In: points. Out: n - 1 edges of least weight in all, in ascending order. Edges are ordered by (squared weight, lower index, higher
//! index), the weight as `f64` arithmetic on the coordinates gives it, which makes the tree unique.

mod boruvka;
mod edge;
mod leaf_search;
mod lists;
mod search;

pub use edge::Edge;

use crate::bvh::Bvh;
use crate::cancel::{check_at, guarded};
use crate::cluster::union_find::UnionFind;
use crate::error::{Error, Result};
use crate::geometry::{Bounded, BoxSize, Scalar, Space};
use crate::precompiled::precompiled;

/// How to span points: [`minimum_spanning_tree`] with what it leaves out.
///
/// With `min_samples` of more than 1 edges weigh by *mutual reachability*: w(i, j) = max(core(i), core(j), d(i, j)), where core(i) is
/// the distance from point i to the `min_samples`-th nearest, itself counted. Source: Campello, Moulavi and Sander 2013, definition 4;
/// the count is scikit-learn's.
///
/// ```
/// use ropewalk::MinimumSpanningTree;
///
/// let points = [[0.0f32], [1.0], [3.0], [9.5]];
/// let tree = MinimumSpanningTree::new().periodic(10.0).run(&points)?;
/// let edges: Vec<_> = tree.edges().iter().map(|edge| (edge.low, edge.high, edge.weight())).collect();
/// assert_eq!(edges, [(0, 3, 0.5), (0, 1, 1.0), (1, 2, 2.0)]);
///
/// // The third nearest of point 0, itself counted, is 3 away, that of point 1 is 2 away.
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
    /// Edges weigh their length, in open space.
    pub fn new() -> Self {
        Self::default()
    }

    /// Edges weigh by mutual reachability with this many samples, the point itself counted; 1 is the length.
    #[must_use]
    pub fn min_samples(mut self, min_samples: usize) -> Self {
        self.min_samples = min_samples;
        self
    }

    /// Distances of pairs are divided by this, but core distances are not: w(i, j) = max(core(i), core(j), d(i, j) / alpha). Source:
    /// Chaudhuri and Dasgupta 2010, robust single linkage.
    #[must_use]
    pub fn alpha(mut self, alpha: impl Into<f64>) -> Self {
        self.alpha = alpha.into();
        self
    }

    /// A periodic box: one side, or one per axis; `None` for open space.
    #[must_use]
    pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
        self.size = size.into();
        self
    }

    #[doc(hidden)]
    pub fn box_size(&self) -> &BoxSize {
        &self.size
    }

    /// Spans the points.
    ///
    /// Exact, and the same for any number of threads. Beside the tree and the result it takes some 90 bytes a point, up to 50 more by
    /// mutual reachability.
    ///
    /// Errors: `min_samples` of 0 or of more than there are points; an `alpha` that is not a positive number; a box or points that [`Bvh::build`] refuses.
    pub fn run<T: Bounded<S, D>, S: Scalar, const D: usize>(&self, points: &[T]) -> Result<SpanningTree> {
        guarded(|| self.run_on(&Bvh::build_in(points, Space::periodic(self.size.clone())?)?))
    }

    /// Spans the points of a tree that is already built, open or periodic as the tree is.
    ///
    /// Errors: as [`MinimumSpanningTree::run`].
    pub fn run_on<S: Scalar, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<SpanningTree> {
        guarded(|| {
            let (name, n) = ("min_samples", self.min_samples);
            if n == 0 {
                return Err(Error::parameter_must(name, 0.0, "at least 1"));
            }
            if n > bvh.len() && n > 1 {
                return Err(Error::parameter_must(name, n as f64, "at most the number of points"));
            }
            if !(self.alpha > 0.0 && (self.alpha * self.alpha).is_normal()) {
                return Err(Error::parameter_must("alpha", self.alpha, "a positive number"));
            }
            Ok(SpanningTree { n_points: bvh.len(), edges: edges(bvh, self.min_samples, self.alpha)? })
        })
    }
}

/// The Euclidean minimum spanning tree of points in open space.
///
/// ```
/// let tree = ropewalk::minimum_spanning_tree(&[[0.0f64, 0.0], [3.0, 4.0], [0.0, 1.0]])?;
/// assert_eq!((tree.edges()[0].low, tree.edges()[0].high), (0, 2));
/// assert_eq!(tree.edges()[1].weight2, 18.0);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// Errors: as [`MinimumSpanningTree::run`].
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
    /// From the fields.
    #[cfg(feature = "gpu")]
    pub(crate) fn from_parts(n_points: usize, edges: Vec<Edge>) -> Self {
        Self { n_points, edges }
    }

    /// A tree that comes from elsewhere, or from an earlier run: its edges in order.
    ///
    /// Errors: other than one edge less than there are points; an end that is no point, or that is not below the other; a squared weight that is
    /// NaN or negative; edges that are not in order, or that close a ring.
    ///
    /// ```
    /// use ropewalk::{Edge, SpanningTree, minimum_spanning_tree};
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
                let is_next = index == 0 || place(&edges[index - 1]) < place(edge);
                if !is_edge || !is_next || forest.find(edge.low) == forest.find(edge.high) {
                    let (name, value) = ("index of an edge", index as f64);
                    let must =
                        "that of one between a lower and a higher point, behind the last in order, that closes no ring";
                    return Err(Error::parameter_must(name, value, must));
                }
                forest.union(edge.low, edge.high);
            }
            Ok(Self { n_points, edges })
        })
    }

    /// How many points it spans.
    pub fn n_points(&self) -> usize {
        self.n_points
    }

    /// The edges, in order; none for fewer than two points.
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

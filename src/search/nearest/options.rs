//! The options of a nearest-neighbour search.

/// The options of a nearest-neighbour search: `k`, a radius, and an excluded index.
///
/// ```
/// use ropewalk::{Bvh, Nearest};
///
/// let bvh = Bvh::build(&[[0.0f32], [1.0], [2.5], [9.0]])?;
/// let near = bvh.nearest([0.0f32], Nearest::new(3).within(2.5).excluding(0));
/// assert_eq!(near.iter().map(|n| n.index).collect::<Vec<_>>(), [1, 2]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    pub(crate) k: usize,
    pub(crate) radius: f64,
    pub(crate) excluded: Excluded,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Excluded {
    Nothing,
    Index(u32),
    Own,
}

impl Nearest {
    /// Creates options that request the `k` nearest primitives at any distance; fewer are returned if fewer exist.
    pub fn new(k: usize) -> Self {
        Self { k, radius: f64::INFINITY, excluded: Excluded::Nothing }
    }

    /// Returns the number of requested neighbours.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Returns the maximum distance of a neighbour, inclusive and in the unit of the points. Default: infinite.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// Limits neighbours to an inclusive `radius`, in the unit of the points. A negative or NaN radius excludes
    /// everything. Default: infinite.
    #[must_use]
    pub fn within(mut self, radius: impl Into<f64>) -> Self {
        self.radius = radius.into();
        self
    }

    /// Excludes the primitive with this index from the results.
    #[must_use]
    pub fn excluding(mut self, index: u32) -> Self {
        self.excluded = Excluded::Index(index);
        self
    }

    /// Excludes the primitive with the query's own index, for queries that are the stored primitives in the same
    /// order. It has no effect on a single query.
    #[must_use]
    pub fn excluding_self(mut self) -> Self {
        self.excluded = Excluded::Own;
        self
    }

    /// The index excluded from the results of query `query`.
    pub(crate) fn excluded_for(&self, query: u32) -> Option<u32> {
        match self.excluded {
            Excluded::Nothing => None,
            Excluded::Index(index) => Some(index),
            Excluded::Own => Some(query),
        }
    }
}

impl From<usize> for Nearest {
    fn from(k: usize) -> Self {
        Self::new(k)
    }
}

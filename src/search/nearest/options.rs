//! The options of a search for nearest neighbours: their number, a radius, and an index to leave out.

/// Options of a search for nearest neighbours: `k`, a radius, and an excluded index.
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
    /// The `k` nearest; fewer if there are not as many.
    pub fn new(k: usize) -> Self {
        Self { k, radius: f64::INFINITY, excluded: Excluded::Nothing }
    }

    /// The number of neighbours that are wanted.
    pub fn k(&self) -> usize {
        self.k
    }

    /// The largest distance of a neighbour, inclusive; infinite by default.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// None beyond `radius`, which is inclusive. Nothing is within a radius that is negative or NaN.
    #[must_use]
    pub fn within(mut self, radius: impl Into<f64>) -> Self {
        self.radius = radius.into();
        self
    }

    /// Not the primitive with this index.
    #[must_use]
    pub fn excluding(mut self, index: u32) -> Self {
        self.excluded = Excluded::Index(index);
        self
    }

    /// Not the primitive that has the query's own index, where the queries are the stored primitives in the same order.
    /// For a single query it has no meaning.
    #[must_use]
    pub fn excluding_self(mut self) -> Self {
        self.excluded = Excluded::Own;
        self
    }

    /// The index to leave out for query `query`.
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

//! A tree of points whose dimension and type are known at run time, for repeated queries.
//!
//! In: [`Points`], and queries that are points, too. Out: results of the generic [`Bvh`](ropewalk::Bvh), with lists
//! in ascending order.
//! Cost: that of the generic functions; the [module](super) describes the conversion of points of other kinds.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::OnceLock;

use ropewalk::geometry::{BoxSize, Space};
use ropewalk::internals::cancel::{check_at, guarded};
use ropewalk::internals::memory::{collected, zeroed};
use ropewalk::search::{Nearest, Neighbor};
use ropewalk::{Csr, Error, Result, Scalar, Sphere};

use super::errors::tree_format;
use super::pair_lists::{Pairs, list};
use super::queries::{Radii, TreeKind, check_memory, check_radius};
use super::rows::to_compiled_kind;
use super::tree_format::TreeFormat;
use super::{Points, Table};

/// A bounding volume hierarchy over points of 1 to 10 dimensions, in open space or in a periodic box.
///
/// It copies the coordinates; results are indices into the table that it was built from. Points and queries outside a
/// periodic box are wrapped into it, each rounded in its own precision. Distances are compared in `f64`, even if
/// points and queries have different precision.
///
/// Memory: as [`ropewalk::Bvh`]. Queries of 64 bits to a tree of 32 bits need a tree of 64 bits, unless all
/// coordinates fit 32 bits. It is built on first use and kept, at twice the memory of the first tree.
///
/// ```
/// use ropewalk_table::{Bvh, Points, Table};
/// use ropewalk::Nearest;
///
/// let points = Points::F32(Table::new(2, vec![0.0, 0.0, 1.0, 0.0, 9.5, 0.0])?);
/// let bvh = Bvh::build_periodic(&points, 10.0)?;
/// let centers = Points::F64(Table::new(2, vec![0.1, 0.0, 5.0, 5.0])?);
/// let lists = bvh.query(&centers, 0.7)?;
/// assert_eq!((lists.of(0), lists.of(1)), (&[0, 2][..], &[][..]));
/// assert_eq!(bvh.query(&centers, &[1.0, 0.0][..])?.of(0), [0, 1, 2]);
/// assert_eq!(bvh.nearest(&centers, 1)?.of(0)[0].index, 0);
/// assert_eq!(bvh.nearest_neighbors(Nearest::new(1).excluding_self())?.of(0)[0].distance2, 0.25);
/// assert_eq!(bvh.pairs(0.5)?.indices.as_slice(), [0, 2]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bvh {
    trees: Trees,
    dim: usize,
    size: BoxSize,
    /// `true` if the points had 64 bits before conversion to a compiled kind.
    is_f64: bool,
}

/// The continuation of [`Bvh::visit`] after a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterHit {
    /// The next hit of the same centre.
    Continue,
    /// The hits of the next centre.
    NextCenter,
    /// The end of the call.
    Stop,
}

/// A tree of one of the compiled kinds of points.
#[derive(Clone, Debug)]
enum Trees {
    F32x2(Narrow<2>),
    F32x3(Narrow<3>),
    F64x2(ropewalk::Bvh<f64, 2>),
    F64x3(ropewalk::Bvh<f64, 3>),
    F64x6(ropewalk::Bvh<f64, 6>),
    F64x10(ropewalk::Bvh<f64, 10>),
}

/// A tree of 32 bits, and a tree of the same points in 64 bits, built on first use.
#[derive(Clone, Debug)]
struct Narrow<const D: usize> {
    tree: ropewalk::Bvh<f32, D>,
    wide: OnceLock<ropewalk::Bvh<f64, D>>,
}

impl<const D: usize> Narrow<D> {
    fn new(tree: ropewalk::Bvh<f32, D>) -> Self {
        Self { tree, wide: OnceLock::new() }
    }

    fn wide(&self) -> Result<&ropewalk::Bvh<f64, D>> {
        if let Some(wide) = self.wide.get() {
            return Ok(wide);
        }
        let mut rows: Vec<[f64; D]> = zeroed(self.tree.len());
        for (position, &index) in self.tree.order().iter().enumerate() {
            check_at(position);
            rows[index as usize] = self.tree.item(position).lo.map(Into::into);
        }
        // Not inside `get_or_init`: a thread that waits for tasks may pick up one that needs the same tree, and
        // deadlock.
        let wide = ropewalk::Bvh::build_in(&rows, *self.tree.space())?;
        Ok(self.wide.get_or_init(|| wide))
    }
}

/// Builds the tree of rows of one kind.
fn tree<S: Scalar, const D: usize>(table: &Table<S>, sides: BoxSize) -> Result<ropewalk::Bvh<S, D>> {
    let rows = table.rows::<D>().ok_or_else(|| Error::dimension(table.dim()))?;
    ropewalk::Bvh::build_in(rows, Space::periodic(sides)?)
}

/// Evaluates `$work` with the tree of the stored points.
macro_rules! with_tree {
    ($bvh:expr, $tree:ident => $work:expr) => {
        match &$bvh.trees {
            Trees::F32x2(Narrow { tree: $tree, .. }) => $work,
            Trees::F32x3(Narrow { tree: $tree, .. }) => $work,
            Trees::F64x2($tree) => $work,
            Trees::F64x3($tree) => $work,
            Trees::F64x6($tree) => $work,
            Trees::F64x10($tree) => $work,
        }
    };
}

/// Evaluates `$work` with queries as rows, and a tree of the same kind.
macro_rules! with_queries {
    ($bvh:expr, $queries:expr, |$tree:ident, $rows:ident| $work:expr) => {{
        let queries = $bvh.prepared($queries)?;
        let dim = queries.dim();
        match (&$bvh.trees, &*queries) {
            (Trees::F32x2(Narrow { tree: $tree, .. }), Points::F32(table)) => table.rows::<2>().map(|$rows| $work),
            (Trees::F32x3(Narrow { tree: $tree, .. }), Points::F32(table)) => table.rows::<3>().map(|$rows| $work),
            (Trees::F32x2(narrow), Points::F64(table)) => {
                let $tree = narrow.wide()?;
                table.rows::<2>().map(|$rows| $work)
            }
            (Trees::F32x3(narrow), Points::F64(table)) => {
                let $tree = narrow.wide()?;
                table.rows::<3>().map(|$rows| $work)
            }
            (Trees::F64x2($tree), Points::F64(table)) => table.rows::<2>().map(|$rows| $work),
            (Trees::F64x3($tree), Points::F64(table)) => table.rows::<3>().map(|$rows| $work),
            (Trees::F64x6($tree), Points::F64(table)) => table.rows::<6>().map(|$rows| $work),
            (Trees::F64x10($tree), Points::F64(table)) => table.rows::<10>().map(|$rows| $work),
            _ => None,
        }
        .unwrap_or_else(|| Err(Error::dimension(dim)))
    }};
}

impl Bvh {
    /// Builds the tree in parallel, in open space.
    ///
    /// # Errors
    /// Fails as [`ropewalk::Bvh::build`] does.
    pub fn build(points: &Points) -> Result<Self> {
        Self::build_periodic(points, BoxSize::default())
    }

    /// Builds the tree in parallel, in a periodic box of the given size; open space if it has no sides.
    ///
    /// # Errors
    /// Fails as [`ropewalk::Bvh::build_periodic`] does. Fails if the box has another dimension than the points.
    pub fn build_periodic(points: &Points, size: impl Into<BoxSize>) -> Result<Self> {
        guarded(|| Self::build_in(points, size.into()))
    }

    fn build_in(points: &Points, size: BoxSize) -> Result<Self> {
        let (dim, is_f64) = (points.dim(), matches!(points, Points::F64(_)));
        let (rows, sides) = to_compiled_kind(points, &size)?;
        let trees = match (&*rows, rows.dim()) {
            (Points::F32(table), 2) => Trees::F32x2(Narrow::new(tree(table, sides)?)),
            (Points::F32(table), 3) => Trees::F32x3(Narrow::new(tree(table, sides)?)),
            (Points::F64(table), 2) => Trees::F64x2(tree(table, sides)?),
            (Points::F64(table), 3) => Trees::F64x3(tree(table, sides)?),
            (Points::F64(table), 6) => Trees::F64x6(tree(table, sides)?),
            (Points::F64(table), 10) => Trees::F64x10(tree(table, sides)?),
            _ => return Err(Error::dimension(dim)),
        };
        Ok(Self { trees, dim, size, is_f64 })
    }

    /// Returns the number of stored points.
    pub fn len(&self) -> usize {
        with_tree!(self, tree => tree.len())
    }

    /// Returns `true` if no points are stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of coordinates per point.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Returns the number of inner nodes and leaves.
    pub fn n_nodes(&self) -> usize {
        with_tree!(self, tree => tree.n_nodes())
    }

    /// Returns the periodic box, or open space.
    pub fn box_size(&self) -> &BoxSize {
        &self.size
    }

    /// Finds the points within `radius` of each centre (inclusive). Returns ascending lists, in the order of the
    /// centres.
    ///
    /// `radius` is one radius for all centres, or one for each. Memory: 8 bytes per hit, at its peak.
    ///
    /// # Errors
    /// Fails if centres have another dimension than the points or coordinates that are not finite. Fails if radii are
    /// negative or not finite, or are not one per centre. [`Error::index`](ropewalk::Error::index) is the index of
    /// the centre.
    pub fn query<'r>(&self, centers: &Points, radius: impl Into<Radii<'r>>) -> Result<Csr<u32>> {
        guarded(|| self.query_all(centers, radius.into()))
    }

    fn query_all(&self, centers: &Points, radii: Radii<'_>) -> Result<Csr<u32>> {
        radii.check(centers.len())?;
        with_queries!(self, centers, |tree, rows| Ok(tree.query_all(&balls(rows, &radii)).sorted()))
    }

    /// Counts the points within `radius` of each centre (inclusive).
    ///
    /// ```
    /// use ropewalk::geometry::BoxSize;
    /// use ropewalk_table::{Bvh, Points, Table};
    ///
    /// let points = Points::F64(Table::new(1, vec![0.0, 1.0, 3.0])?);
    /// let bvh = Bvh::build(&points)?;
    /// assert_eq!(bvh.count(&points, 1.0)?, [2, 2, 1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Bvh::query`].
    pub fn count<'r>(&self, centers: &Points, radius: impl Into<Radii<'r>>) -> Result<Vec<u32>> {
        guarded(|| self.count_all(centers, radius.into()))
    }

    fn count_all(&self, centers: &Points, radii: Radii<'_>) -> Result<Vec<u32>> {
        radii.check(centers.len())?;
        with_queries!(self, centers, |tree, rows| Ok(tree.count_all(&balls(rows, &radii))))
    }

    /// Calls `visit` with the index of a centre and the index of a point within `radius` of it (inclusive), for each
    /// such pair, and stores nothing. `radius` is as in [`Bvh::query`].
    ///
    /// Centres are visited in order, on this thread. The hits of a centre are in unspecified order, the same in every
    /// run. The walk stops where `visit` ends it: see [`AfterHit`].
    ///
    /// ```
    /// use ropewalk_table::{AfterHit, Bvh, Points, Table};
    ///
    /// let points = Points::F64(Table::new(1, vec![0.0, 0.5, 7.0])?);
    /// let mut first = vec![];
    /// Bvh::build(&points)?.visit(&points, 1.0, |center, point| {
    ///     first.push((center, point));
    ///     if center < 2 { AfterHit::NextCenter } else { AfterHit::Stop }
    /// })?;
    /// assert_eq!(first.len(), 3);
    /// assert_eq!(first[2], (2, 2));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Bvh::query`].
    pub fn visit<'r>(
        &self,
        centers: &Points,
        radius: impl Into<Radii<'r>>,
        mut visit: impl FnMut(usize, u32) -> AfterHit,
    ) -> Result<()> {
        let radii = radius.into();
        radii.check(centers.len())?;
        with_queries!(self, centers, |tree, rows| {
            for (i, &center) in rows.iter().enumerate() {
                let ends = tree.query(Sphere { center, radius: radii.of(i) }).try_for_each(|hit| match visit(i, hit) {
                    AfterHit::Continue => ControlFlow::Continue(()),
                    end => ControlFlow::Break(end),
                });
                if ends == ControlFlow::Break(AfterHit::Stop) {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Finds the nearest points to each query, nearest first, ties by index, as [`ropewalk::Bvh::nearest_all`] does.
    /// `wanted` is `k` or a [`Nearest`].
    ///
    /// # Errors
    /// Fails if queries have another dimension than the points or coordinates that are not finite, if the radius is
    /// negative or NaN, or if the lists exceed memory.
    pub fn nearest(&self, queries: &Points, wanted: impl Into<Nearest>) -> Result<Csr<Neighbor>> {
        guarded(|| self.nearest_all(queries, wanted.into()))
    }

    fn nearest_all(&self, queries: &Points, wanted: Nearest) -> Result<Csr<Neighbor>> {
        check_within(&wanted)?;
        let n = queries.len().saturating_mul(wanted.k().min(self.len()));
        // Without a radius, all lists have this length.
        if wanted.radius() == f64::INFINITY {
            check_memory(n, "neighbours", size_of::<Neighbor>())?;
        }
        with_queries!(self, queries, |tree, rows| Ok(tree.nearest_all(rows, wanted)))
    }

    /// Finds the nearest stored points to each stored point, as [`ropewalk::Bvh::nearest_neighbors`] does.
    ///
    /// # Errors
    /// Fails if the radius is negative or NaN, or if the lists exceed memory.
    pub fn nearest_neighbors(&self, wanted: impl Into<Nearest>) -> Result<Csr<Neighbor>> {
        guarded(|| {
            let wanted = wanted.into();
            check_within(&wanted)?;
            with_tree!(self, tree => tree.try_nearest_neighbors(wanted))
        })
    }

    /// Finds the stored points within `radius` of each stored point (inclusive), itself included, in ascending order.
    ///
    /// ```
    /// use ropewalk::geometry::BoxSize;
    /// use ropewalk_table::{Bvh, Points, Table};
    ///
    /// let points = Points::F64(Table::new(1, vec![3.0, 0.0, 1.0])?);
    /// let bvh = Bvh::build(&points)?;
    /// assert_eq!(bvh.neighbors(2.0)?.values(), [0, 2, 1, 2, 0, 1, 2]);
    /// assert_eq!(bvh.count_neighbors(2.0)?, [2, 2, 3]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the radius is negative or not finite.
    pub fn neighbors(&self, radius: f64) -> Result<Csr<u32>> {
        guarded(|| {
            check_radius(radius)?;
            Ok(with_tree!(self, tree => tree.neighbors(radius)).sorted())
        })
    }

    /// Counts the stored points within `radius` of each stored point (inclusive), itself included.
    ///
    /// # Errors
    /// Fails if the radius is negative or not finite.
    pub fn count_neighbors(&self, radius: f64) -> Result<Vec<u32>> {
        guarded(|| {
            check_radius(radius)?;
            Ok(with_tree!(self, tree => tree.count_neighbors(radius)))
        })
    }

    /// Finds all pairs of stored points within `radius` of each other (inclusive), each once.
    ///
    /// # Errors
    /// Fails if the radius is negative or not finite, or if the pairs exceed memory.
    pub fn pairs(&self, radius: f64) -> Result<Pairs> {
        guarded(|| {
            check_radius(radius)?;
            with_tree!(self, tree => list(tree, radius))
        })
    }

    /// Writes the nodes of the tree as text for pictures, as [`ropewalk::Bvh::write_graphviz`],
    /// [`write_tikz`](ropewalk::Bvh::write_tikz) and [`write_vtk`](ropewalk::Bvh::write_vtk) do.
    ///
    /// Points with one coordinate are written with a second coordinate of 0.
    ///
    /// ```
    /// use ropewalk_table::{Bvh, Points, Table, TreeFormat};
    ///
    /// let mut text = vec![];
    /// Bvh::build(&Points::F32(Table::new(2, vec![0.0, 0.0, 4.0, 1.0])?))?.write(TreeFormat::Graphviz, &mut text)?;
    /// assert!(text.starts_with(b"digraph bvh {"));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails if the format does not show points of this dimension: TikZ has one or two, VTK one to three. Fails if
    /// `out` does.
    pub fn write(&self, format: TreeFormat, out: impl Write) -> Result<()> {
        let written = match (format, &self.trees) {
            (TreeFormat::Graphviz, _) => with_tree!(self, tree => tree.write_graphviz(out)),
            (TreeFormat::Tikz, Trees::F32x2(Narrow { tree, .. })) => tree.write_tikz(out),
            (TreeFormat::Tikz, Trees::F64x2(tree)) => tree.write_tikz(out),
            (TreeFormat::Vtk, Trees::F32x2(Narrow { tree, .. })) => tree.write_vtk(out),
            (TreeFormat::Vtk, Trees::F32x3(Narrow { tree, .. })) => tree.write_vtk(out),
            (TreeFormat::Vtk, Trees::F64x2(tree)) => tree.write_vtk(out),
            (TreeFormat::Vtk, Trees::F64x3(tree)) => tree.write_vtk(out),
            (TreeFormat::Tikz | TreeFormat::Vtk, _) => return Err(tree_format(format.name(), self.dim)),
        };
        written.map_err(Error::write)
    }

    /// Converts queries to the kind of the tree.
    fn prepared<'q>(&self, queries: &'q Points) -> Result<std::borrow::Cow<'q, Points>> {
        let has_narrow = matches!(self.trees, Trees::F32x2(_) | Trees::F32x3(_));
        TreeKind { dim: self.dim, size: &self.size, is_f64: self.is_f64, has_narrow }.prepare(queries)
    }
}

fn balls<S: Scalar, const D: usize>(rows: &[[S; D]], radii: &Radii<'_>) -> Vec<Sphere<S, D>> {
    collected(rows.iter().enumerate().map(|(i, &center)| Sphere { center, radius: radii.of(i) }))
}

fn check_within(wanted: &Nearest) -> Result<()> {
    if wanted.radius() >= 0.0 {
        return Ok(());
    }
    Err(Error::parameter_must("radius", wanted.radius(), "a non-negative number"))
}

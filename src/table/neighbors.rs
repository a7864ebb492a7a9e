//! Neighbours of a table: the nearest of each point, and all pairs within a radius.

use super::rows::{Precision, check_dim, compiled, like, of_one_precision, with_rows};
use super::{Points, Table};
use crate::bvh::Bvh;
use crate::csr::Csr;
use crate::error::{Kind, Result};
use crate::geometry::{BoxSize, Scalar, Space};
use crate::parallel::{list_tasks, map};
use crate::search::{Nearest, Neighbor};

/// Points whose pairs a task lists.
const TASK: usize = 1 << 10;

/// The neighbours of each point among the points themselves, as [`Bvh::nearest_neighbors`] finds them: nearest first, ties by index.
///
/// Errors: points that [`Bvh::build`] refuses; a periodic box that is not positive, or not of the points' dimension; lists that are more
/// than memory holds.
///
/// ```
/// use ropewalk::table::{Points, Table, nearest_neighbors};
/// use ropewalk::{BoxSize, Nearest};
///
/// let points = Points::F64(Table::new(1, vec![0.0, 1.0, 3.0])?);
/// let lists = nearest_neighbors(&points, Nearest::new(1).excluding_self(), BoxSize::default())?;
/// assert_eq!((lists.of(2)[0].index, lists.of(2)[0].distance2), (1, 4.0));
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn nearest_neighbors(
    points: &Points,
    wanted: impl Into<Nearest>,
    box_size: impl Into<BoxSize>,
) -> Result<Csr<Neighbor>> {
    nearest_in(points, &wanted.into(), &box_size.into())
}

fn nearest_in(points: &Points, wanted: &Nearest, size: &BoxSize) -> Result<Csr<Neighbor>> {
    let (points, size) = compiled(points, size)?;
    with_rows!(&*points, rows => Bvh::build_in(rows, Space::periodic(size)?)?.try_nearest_neighbors(*wanted))
}

/// The neighbours of each of `queries` among `points`, as [`Bvh::nearest_all`] finds them. Of different precision, both are taken as 64
/// bits.
///
/// Errors: points that [`Bvh::build`] refuses; a periodic box that is not positive, or not of the points' dimension; queries of another dimension, or with coordinates that are not finite.
///
/// ```
/// use ropewalk::BoxSize;
/// use ropewalk::table::{Points, Table, nearest_to};
///
/// let points = Points::F64(Table::new(1, vec![0.0, 1.0, 3.0])?);
/// let queries = Points::F32(Table::new(1, vec![2.5])?);
/// assert_eq!(nearest_to(&queries, &points, 1, BoxSize::default())?.of(0)[0].index, 2);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn nearest_to(
    queries: &Points,
    points: &Points,
    wanted: impl Into<Nearest>,
    box_size: impl Into<BoxSize>,
) -> Result<Csr<Neighbor>> {
    check_dim("the dimension of the queries", queries, points)?;
    queries_in(queries, points, &wanted.into(), &box_size.into())
}

fn queries_in(queries: &Points, points: &Points, wanted: &Nearest, size: &BoxSize) -> Result<Csr<Neighbor>> {
    let (queries, points) = of_one_precision(queries, points);
    let (points, sides) = compiled(&points, size)?;
    let (queries, _) = compiled(&queries, size)?;
    with_rows!(&*points, rows => search(rows, &queries, *wanted, Space::periodic(sides)?))
}

fn search<S: Precision, const D: usize>(
    points: &[[S; D]],
    queries: &Points,
    wanted: Nearest,
    space: Space<D>,
) -> Result<Csr<Neighbor>> {
    let queries = like(points, queries)?;
    for (index, row) in queries.iter().enumerate() {
        if let Some((axis, value)) = (0..).zip(row.map(Into::into)).find(|(_, x): &(usize, f64)| !x.is_finite()) {
            return Err(Kind::NotFinite { index, axis, value }.into());
        }
    }
    let wrapped: Vec<[S; D]> = queries.iter().map(|&row| space.wrap(row)).collect();
    Ok(Bvh::build_in(points, space)?.nearest_all(&wrapped, wanted))
}

/// Pairs of points that are near each other.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pairs {
    /// The lower index and the higher one, in ascending order.
    pub indices: Table<u32>,
    /// The squared distance of each pair.
    pub distances2: Vec<f64>,
}

/// All pairs of points within `radius` of each other (inclusive).
///
/// Errors: points that [`Bvh::build`] refuses; more pairs than memory holds; a radius that is negative or not finite; a periodic box that is not positive, or not of
/// the points' dimension.
///
/// ```
/// use ropewalk::BoxSize;
/// use ropewalk::table::{Points, Table, pairs};
///
/// let points = Points::F64(Table::new(1, vec![3.0, 0.0, 1.0])?);
/// let pairs = pairs(&points, 2.0, BoxSize::default())?;
/// assert_eq!((pairs.indices.as_slice(), &pairs.distances2[..]), (&[0, 2, 1, 2][..], &[4.0, 1.0][..]));
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn pairs(points: &Points, radius: f64, box_size: impl Into<BoxSize>) -> Result<Pairs> {
    pairs_in(points, radius, &box_size.into())
}

fn pairs_in(points: &Points, radius: f64, size: &BoxSize) -> Result<Pairs> {
    if !(0.0..f64::INFINITY).contains(&radius) {
        return Err(Kind::Parameter { name: "radius", value: radius, must: "finite and not negative" }.into());
    }
    let (points, size) = compiled(points, size)?;
    with_rows!(&*points, rows => list(rows, radius, Space::periodic(size)?))
}

fn list<S: Scalar, const D: usize>(points: &[[S; D]], radius: f64, space: Space<D>) -> Result<Pairs> {
    let tree = Bvh::build_in(points, space)?;
    // Of lists both ways, pairs as they are found, and the result, at most; asked for before it is too late.
    let n = usize::try_from(tree.count_pairs(radius)).unwrap_or(usize::MAX);
    let bytes = n.saturating_mul(64);
    if Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
        return Err(Kind::Memory { n, what: "pairs", bytes: bytes as u128 }.into());
    }
    let lists = tree.neighbors(radius);
    // In the box, as the tree has them.
    let distance2 = |i: usize, j: u32| space.distance2(&space.wrap(points[i]), &space.wrap(points[j as usize]));
    let found = list_tasks(points.len(), TASK, &|range| {
        let mut found = vec![];
        for i in range {
            let start = found.len();
            found.extend(lists.of(i).iter().filter(|&&j| j as usize > i).map(|&j| ([i as u32, j], distance2(i, j))));
            found[start..].sort_unstable_by_key(|(pair, _)| *pair);
        }
        found
    });
    let indices = map(2 * found.len(), TASK, &|at| found[at / 2].0[at % 2]);
    let distances2 = map(found.len(), TASK, &|at| found[at].1);
    Ok(Pairs { indices: Table::of(2, indices), distances2 })
}

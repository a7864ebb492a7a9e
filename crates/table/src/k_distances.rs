//! The distance from each point to its k-th neighbour, from which `eps` of DBSCAN is chosen.

use ropewalk::geometry::{BoxSize, Space, distance_from_square};
use ropewalk::internals::cancel::guarded;
use ropewalk::internals::parallel::{list_tasks, sort};
use ropewalk::search::Nearest;
use ropewalk::{Bvh, Result, Scalar};

use super::Points;
use super::rows::{to_compiled_kind, with_rows};

/// Up to this many neighbours, computing the lists of all points at once is faster than one search per point.
const MOST_LISTED: usize = 32;

/// Returns, in ascending order, the smallest `eps` for each point at which its `k`-th neighbour is within `eps`, as
/// compared by clustering.
///
/// The point itself is not counted. Points with fewer than `k` neighbours are left out. Sorted distances of the
/// `min_samples - 1`-th neighbours bend where clusters turn into noise (Ester et al. 1996, section 4.2).
///
/// ```
/// use ropewalk::geometry::BoxSize;
/// use ropewalk_table::{Points, Table, k_distances};
///
/// let points = Points::F64(Table::new(1, vec![0.0, 1.0, 3.0, 9.5])?);
/// assert_eq!(k_distances(&points, 1, BoxSize::default())?, [1.0, 1.0, 2.0, 6.5]);
/// assert_eq!(k_distances(&points, 1, 10.0)?, [0.5, 0.5, 1.0, 2.0]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails as [`Bvh::build`] does. Fails if a periodic box is not positive, or has another dimension than the points.
pub fn k_distances(points: &Points, k: usize, box_size: impl Into<BoxSize>) -> Result<Vec<f64>> {
    guarded(|| distances_of(points, k, &box_size.into()))
}

fn distances_of(points: &Points, k: usize, size: &BoxSize) -> Result<Vec<f64>> {
    let (points, size) = to_compiled_kind(points, size)?;
    with_rows!(&*points, rows => distances(rows, k, size))
}

/// Returns the smallest `eps` for each point at which its k-th neighbour is within `eps`, in ascending order.
fn distances<S: Scalar, const D: usize>(points: &[[S; D]], k: usize, size: BoxSize) -> Result<Vec<f64>> {
    // The index of the k-th neighbour in a list; points with fewer neighbours lack it.
    let Some(last) = k.checked_sub(1) else { return Ok(vec![]) };
    let space = Space::periodic(size)?;
    let tree = Bvh::build_in(points, space)?;
    // Recomputed from the coordinates, as clustering does, so that comparisons agree.
    let distance = |i: usize, j: u32| {
        distance_from_square(space.distance2(&space.wrap(points[i]), &space.wrap(points[j as usize])))
    };
    let wanted = Nearest::new(k).excluding_self();
    // Without memory for lists, falls back to single searches.
    let lists = (k <= MOST_LISTED).then(|| tree.try_nearest_neighbors(wanted).ok()).flatten();
    let mut sorted: Vec<f64> = match lists {
        Some(lists) => collect(points.len(), &|i| Some(distance(i, lists.of(i).get(last)?.index))),
        // One search per point, keeping only the last neighbour. In tree order, consecutive searches find their data
        // in the caches.
        None => {
            let order = tree.order();
            collect(points.len(), &|at| {
                let i = order[at];
                let near = tree.nearest(space.wrap(points[i as usize]), Nearest::new(k).excluding(i));
                Some(distance(i as usize, near.get(last)?.index))
            })
        }
    };
    // Bit patterns of non-negative numbers are ordered like the numbers.
    sort::<u64>(bytemuck::cast_slice_mut(&mut sorted));
    Ok(sorted)
}

/// Not generic, so that it is compiled once.
fn collect(n: usize, of: &(dyn Fn(usize) -> Option<f64> + Sync)) -> Vec<f64> {
    list_tasks(n, 1 << 10, &|range| range.filter_map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_with_too_few_neighbors_have_none() {
        let points: Vec<[f64; 1]> = (0..40).map(|i| [f64::from(i)]).collect();
        for (k, n) in [(0, 0), (1, 40), (39, 40), (40, 0), (50, 0)] {
            assert_eq!(distances(&points, k, BoxSize::default()).unwrap().len(), n, "{k}");
        }
        assert!(distances(&points[..3], 3, BoxSize::default()).unwrap().is_empty());
    }

    #[test]
    fn distances_around_the_boundary() {
        let points = [[0.25f32, 0.0], [9.75, 0.0], [20.5, 0.0], [5.0, 5.0]];
        assert_eq!(distances(&points, 1, 10.0.into()).unwrap()[..3], [0.25, 0.25, 0.5]);
        let far = distances(&[[-1e30f32], [1e30], [1e-30]], 1, BoxSize::default()).unwrap();
        assert!(far.iter().all(|&x| (x / 1e30 - 1.0).abs() < 1e-6), "{far:?}");
        assert!(distances(&[[0.0f64], [f64::NAN]], 1, BoxSize::default()).is_err());
    }
}

//! The knee of a k-distance curve, a starting point for `eps` of DBSCAN.
//!
//! The knee is the point that lies farthest below a chord on a logarithmic axis. The chord runs from a low percentile of
//! the distances to the last one. Cost: one pass over the distances.

use ropewalk::internals::parallel::map_tasks;

/// The percentile of the non-zero distances at which the chord starts.
const CHORD: usize = 5;
/// The minimum depth of a knee below the chord, as a fraction of the chord's height. Two moons in noise have a depth
/// of 0.58, blobs 0.41. Galaxies, whose density has no gap, have 0.14; there the formula finds the emptiest voids.
const LEAST_DEPTH: f64 = 0.2;

/// Returns the indices at which the chord of the ascending distances starts and which lies farthest below it, on a
/// logarithmic axis. `None` if the curve hardly bends.
///
/// ```
/// use ropewalk_table::knee;
///
/// let bend: Vec<f64> = (0..100).map(|i| if i < 90 { 1.0 } else { 1.0 + f64::from(i - 89) }).collect();
/// assert_eq!(knee(&bend), Some([5, 89]));
/// assert_eq!(knee(&[2.0; 40]), None);
/// ```
pub fn knee(sorted: &[f64]) -> Option<[usize; 2]> {
    let zeros = sorted.partition_point(|&distance| distance <= 0.0);
    let start = zeros + (sorted.len() - zeros) * CHORD / 100;
    let end = sorted.len().checked_sub(1)?;
    let (from, to) = (sorted.get(start)?.ln(), sorted.get(end)?.ln());
    let run = end.checked_sub(start).filter(|&run| run > 0)? as f64;
    let depth = |rank: usize| from + (to - from) * (rank - start) as f64 / run - sorted[rank].ln();
    // Ties go to the lowest rank.
    let deeper = |a: (f64, usize), b: (f64, usize)| if b.0 > a.0 { b } else { a };
    let deepest = map_tasks(end + 1 - start, 1 << 16, &|ranks| {
        ranks.map(|rank| (depth(start + rank), start + rank)).reduce(deeper)
    });
    let (depth, rank) = deepest.into_iter().flatten().reduce(deeper)?;
    (depth > LEAST_DEPTH * (to - from)).then_some([start, rank])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_is_where_the_curve_turns() {
        let bend: Vec<f64> = (0..100).map(|i| if i < 90 { 1.0 } else { 1.0 + f64::from(i - 89) }).collect();
        assert_eq!(knee(&bend), Some([5, 89]));
        let with_copies: Vec<f64> = [0.0; 50].into_iter().chain(bend).collect();
        assert_eq!(knee(&with_copies), Some([55, 139]));
        for straight in [vec![], vec![0.0; 9], vec![3.0], vec![2.0; 40], (1..50).map(|i| 1.1f64.powi(i)).collect()] {
            assert_eq!(knee(&straight), None);
        }
        let hollow: Vec<f64> = (1..50).map(|i| f64::from(i).sqrt()).collect();
        assert_eq!(knee(&hollow), None);
    }
}

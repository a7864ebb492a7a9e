//! Stabilities of clusters.
//!
//! In: the nodes of a cluster and its birth. Out: S = sum over its points p of (lambda_p - lambda_birth), in ascending
//! order of lambda. Points of equal lambda form one term, so that the rounding does not depend on the order of points.
//! For [`Ties::Sequential`](super::Ties) there is one term per row, as in scikit-learn.

use super::nodes::Nodes;
use super::tree::lambda;
use crate::parallel::map;

/// The number of terms that are added sequentially.
const BLOCK: usize = 256;

/// The increase of lambda since a cluster's birth. 0 if the two lambdas are equal, even if they are infinite.
pub(super) fn gain(weight2: f64, birth2: f64) -> f64 {
    if weight2 < birth2 { lambda(weight2) - lambda(birth2) } else { 0.0 }
}

/// The stability with one term per node: `gain` times the number of points that leave there, alone or in child
/// clusters.
pub(super) fn by_node(nodes: &Nodes, path: &[u32], birth2: f64) -> f64 {
    sum_blockwise(path.len(), &|at| {
        let node = path[at];
        gain(nodes.weight2[node as usize], birth2) * f64::from(nodes.leaving(node))
    })
}

/// The stability with one term per row: each point that leaves alone, and the children, of these sizes in order, where
/// the cluster splits.
pub(super) fn by_row(nodes: &Nodes, path: &[u32], birth2: f64, children: [u32; 2]) -> f64 {
    path.iter().fold(0.0, |sum, &node| {
        let gain = gain(nodes.weight2[node as usize], birth2);
        if nodes.is_split(node) {
            children.iter().fold(sum, |sum, &size| sum + gain * f64::from(size))
        } else {
            of_points(sum, gain, nodes.leaving(node))
        }
    })
}

/// Adds one term `gain` for each of `points` points to `sum`.
pub(super) fn of_points(sum: f64, gain: f64, points: u32) -> f64 {
    (0..points).fold(sum, |sum, _| sum + gain)
}

/// The sum of terms `0..n`, in blocks of 256. Each block is added from left to right, starting at 0; the last may be
/// shorter. The sums of the blocks are added in the same way until one is left. So the bits do not depend on the
/// number of threads or on the device.
pub(super) fn sum_blockwise(n: usize, term: &(dyn Fn(usize) -> f64 + Sync)) -> f64 {
    let block = |at: usize| (at * BLOCK..n.min((at + 1) * BLOCK)).fold(0.0, |sum, at| sum + term(at));
    let mut sums = map(n.div_ceil(BLOCK), 16, &block);
    while sums.len() > 1 {
        sums = sums.chunks(BLOCK).map(|block| block.iter().fold(0.0, |sum, term| sum + term)).collect();
    }
    sums.pop().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One large term and many small ones, which are lost when added to it but not in a sum of their own.
    #[test]
    fn sums_of_blocks() {
        let tiny = f64::EPSILON / 2.0;
        let term = |at: usize| if at == 0 { 1.0 } else { tiny };
        assert_eq!(sum_blockwise(0, &term), 0.0);
        for n in [1, 2, BLOCK] {
            assert_eq!(sum_blockwise(n, &term), 1.0);
        }
        assert_eq!(sum_blockwise(BLOCK + 1, &term), 1.0);
        assert_eq!(sum_blockwise(BLOCK + 2, &term), 1.0 + 2.0 * tiny);
        assert_eq!(sum_blockwise(2 * BLOCK, &term), 1.0 + BLOCK as f64 * tiny);
        // The sums of blocks are added in blocks, too.
        let late = |at: usize| {
            if at == 0 {
                1.0
            } else if at.is_multiple_of(BLOCK) && at >= BLOCK * BLOCK {
                tiny
            } else {
                0.0
            }
        };
        assert_eq!(sum_blockwise(BLOCK * BLOCK + 1, &late), 1.0);
        assert_eq!(sum_blockwise(BLOCK * BLOCK + BLOCK + 1, &late), 1.0 + 2.0 * tiny);
        let n = 3 * BLOCK * BLOCK + 5;
        assert_eq!(sum_blockwise(n, &|at| at as f64), (n * (n - 1) / 2) as f64);
    }
}

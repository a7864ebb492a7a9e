//! Groups of chains: a watershed with markers over the graph of chains.
//!
//! In: peaks and boundaries, both in descending order of density. Out: a group for each chain, or none.
//! Chains with a dense enough peak are markers; markers with a dense enough boundary are joined. Then boundaries join
//! chains, densest first, unless both sides hold markers. So each chain joins the markers that it reaches over the
//! densest passes. The result is a maximum spanning forest (Kruskal 1956). It gives the groups of the original program
//! (`regroup.c`), whose steps depend on their order.
//! Source: Eisenstein and Hut 1998, section 2.3; Meyer and Beucher 1990 for the watershed.

use super::boundaries::ChainBoundary;
use crate::cluster::union_find::UnionFind;

/// The density thresholds of HOP.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Thresholds {
    pub outer: f64,
    pub saddle: f64,
    pub peak: f64,
}

/// The group of each chain, as the number of its densest chain.
pub(crate) fn regroup(peaks: &[f64], boundaries: &[ChainBoundary], thresholds: Thresholds) -> Vec<Option<u32>> {
    let (forest, markers) = join(peaks, boundaries, thresholds, &mut |_| ());
    (0..peaks.len() as u32).map(|chain| Some(forest.find(chain)).filter(|&root| root < markers)).collect()
}

/// The boundaries that suffice to find the groups: at most one per chain. Even together with boundaries from
/// elsewhere, the others never join chains.
#[cfg(feature = "distributed")]
pub(crate) fn decisive(peaks: &[f64], boundaries: &[ChainBoundary], thresholds: Thresholds) -> Vec<ChainBoundary> {
    let mut kept = vec![];
    join(peaks, boundaries, thresholds, &mut |boundary| kept.push(*boundary));
    kept
}

/// Joins chains, and calls `joined` with each boundary over which two trees are joined. Returns the forest and the
/// number of markers.
fn join(
    peaks: &[f64],
    boundaries: &[ChainBoundary],
    thresholds: Thresholds,
    joined: &mut dyn FnMut(&ChainBoundary),
) -> (UnionFind, u32) {
    let Thresholds { outer, saddle, peak } = thresholds;
    // Chains are in descending order of density. The root of a tree is its first chain, which is a marker if the tree
    // holds any.
    let markers = peaks.partition_point(|&density| density >= peak) as u32;
    let forest = UnionFind::new(peaks.len());
    let above = |least: f64| boundaries.iter().take_while(move |boundary| boundary.density >= least);
    for boundary in above(saddle) {
        let (a, b) = (forest.find(boundary.denser), forest.find(boundary.other));
        if a != b && boundary.denser.max(boundary.other) < markers {
            forest.union(a, b);
            joined(boundary);
        }
    }
    for boundary in above(outer) {
        let (a, b) = (forest.find(boundary.denser), forest.find(boundary.other));
        if a != b && a.max(b) >= markers {
            forest.union(a, b);
            joined(boundary);
        }
    }
    (forest, markers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_chain_goes_over_the_densest_pass() {
        let boundary = |denser, other, density| ChainBoundary { denser, other, density };
        let boundaries = [boundary(1, 2, 5.0), boundary(2, 3, 4.0), boundary(0, 3, 3.0), boundary(0, 1, 2.0)];
        let groups =
            |outer, saddle, peak| regroup(&[9.0, 8.0, 6.0, 5.5, 1.0], &boundaries, Thresholds { outer, saddle, peak });
        assert_eq!(groups(2.5, 7.0, 7.0), [Some(0), Some(1), Some(1), Some(1), None]);
        assert_eq!(groups(4.5, 7.0, 7.0), [Some(0), Some(1), Some(1), None, None]);
        // The markers themselves have a dense enough boundary.
        assert_eq!(groups(1.5, 2.0, 7.0), [Some(0), Some(0), Some(0), Some(0), None]);
        assert_eq!(groups(1.5, 7.0, 9.5), [None; 5]);
    }
}

//! From chains to groups: a watershed with markers over the graph of chains.
//!
//! In: peaks and boundaries, both in falling order of their densities. Out: a group for each chain, or none.
//! Chains whose peak is dense enough are markers; those that touch densely enough are one. Then boundaries join what they separate, the
//! densest first, but never two that hold markers: so each chain comes to the markers that it reaches over the densest of passes. It is
//! a maximum spanning forest (Kruskal 1956), and gives the groups of the original program (`regroup.c`), whose steps depend on their
//! order. Source: Eisenstein and Hut 1998, section 2.3; Meyer and Beucher 1990 for the watershed.

use super::boundaries::ChainBoundary;
use crate::cluster::union_find::UnionFind;

/// The densities that decide.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Thresholds {
    pub outer: f64,
    pub saddle: f64,
    pub peak: f64,
}

/// The group of each chain: its densest chain.
pub(crate) fn regroup(peaks: &[f64], boundaries: &[ChainBoundary], thresholds: Thresholds) -> Vec<Option<u32>> {
    let (forest, markers) = join(peaks, boundaries, thresholds, &mut |_| ());
    (0..peaks.len() as u32).map(|chain| Some(forest.find(chain)).filter(|&root| root < markers)).collect()
}

/// The boundaries that alone decide which groups these give, whatever others there are: at most one for each chain.
#[cfg(feature = "distributed")]
pub(crate) fn decisive(peaks: &[f64], boundaries: &[ChainBoundary], thresholds: Thresholds) -> Vec<ChainBoundary> {
    let mut kept = vec![];
    join(peaks, boundaries, thresholds, &mut |boundary| kept.push(*boundary));
    kept
}

/// Joins chains, and calls `joined` with each boundary over which it does; returns the forest and how many chains are markers.
fn join(
    peaks: &[f64],
    boundaries: &[ChainBoundary],
    thresholds: Thresholds,
    joined: &mut dyn FnMut(&ChainBoundary),
) -> (UnionFind, u32) {
    let Thresholds { outer, saddle, peak } = thresholds;
    // The first chains are the densest. A tree of the forest has its first chain for root, which is a marker if any is.
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
        // The markers touch densely enough themselves.
        assert_eq!(groups(1.5, 2.0, 7.0), [Some(0), Some(0), Some(0), Some(0), None]);
        assert_eq!(groups(1.5, 7.0, 9.5), [None; 5]);
    }
}

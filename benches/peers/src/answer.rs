//! Summaries of the results of operations in a few numbers, and their comparison between libraries.

use std::fmt;

use serde::Serialize;

use crate::op::Op;

/// The fraction of pairs that may be on the other side of the radius if a library computes in f32.
const ROUNDING: f64 = 2e-6;
/// The maximum relative difference between sums of distances, which may be computed in f32.
const SUMS: f64 = 1e-5;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// The number of points in a tree, or the number of given points if a library does not report it.
    Built { points: u64 },
    /// The total number of neighbours of all points, each point itself included.
    Neighbors { neighbors: u64 },
    /// The sum of the distances to the k nearest points of all points, each point itself included.
    Distances { distances: f64 },
    /// The sum of the weights of a spanning tree's edges.
    Weights { weights: f64 },
    /// The mean of the logarithms of densities.
    Densities { logarithm: f64 },
    /// The number of clusters, or of groups of two or more (FOF), of points outside these, and of members of the
    /// largest.
    Groups { groups: u64, noise: u64, largest: u64 },
}

impl Answer {
    pub fn built(points: usize) -> Self {
        Self::Built { points: points as u64 }
    }

    pub fn neighbors(counts: &[u32]) -> Self {
        Self::Neighbors { neighbors: counts.iter().map(|&count| u64::from(count)).sum() }
    }

    /// Sums up the roots of squared distances.
    pub fn distances(squares: impl Iterator<Item = f32>) -> Self {
        Self::Distances { distances: squares.map(|square| f64::from(square).sqrt()).sum() }
    }

    pub fn densities(densities: &[f64]) -> Self {
        let sum: f64 = densities.iter().map(|density| density.ln()).sum();
        Self::Densities { logarithm: sum / densities.len() as f64 }
    }

    /// Summarizes `n` labels below `n`. `None` is noise and, if `singles` is true, so is a label that only one point
    /// has.
    pub fn labels(n: usize, labels: impl Iterator<Item = Option<u32>>, singles: bool) -> Self {
        let mut sizes = vec![0u64; n];
        let mut noise = 0;
        for label in labels {
            match label {
                Some(label) => sizes[label as usize] += 1,
                None => noise += 1,
            }
        }
        let least = if singles { 2 } else { 1 };
        let groups = sizes.iter().filter(|&&size| size >= least).count() as u64;
        noise += sizes.iter().filter(|&&size| size < least).sum::<u64>();
        Self::Groups { groups, noise, largest: sizes.into_iter().max().unwrap_or(0) }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Built { points } => write!(f, "{points} points"),
            Self::Neighbors { neighbors } => write!(f, "{neighbors} neighbours"),
            Self::Distances { distances } => write!(f, "{distances:.4}"),
            Self::Densities { logarithm } => write!(f, "{logarithm:.6}"),
            Self::Weights { weights } => write!(f, "{weights:.4}"),
            Self::Groups { groups, noise, largest } => write!(f, "{groups} groups, {noise} noise, largest {largest}"),
        }
    }
}

/// Compares `got` with the reference, in words for the table: "yes", a difference with a harmless reason, or "NO"
/// with the difference.
pub fn agreement(op: Op, expected: &Answer, got: &Answer) -> String {
    match (*expected, *got) {
        (expected, got) if expected == got => "yes".into(),
        (Answer::Neighbors { neighbors: expected }, Answer::Neighbors { neighbors: got }) => {
            let difference = got as f64 - expected as f64;
            mark(difference.abs() <= 2.0 + ROUNDING * expected as f64, format!("{difference:+} neighbours"), "rounding")
        }
        (Answer::Distances { distances: expected }, Answer::Distances { distances: got })
        | (Answer::Weights { weights: expected }, Answer::Weights { weights: got })
        | (Answer::Densities { logarithm: expected }, Answer::Densities { logarithm: got }) => {
            let relative = (got - expected) / expected;
            // Two f32 sums are rarely equal, so differences below the bound are not reported.
            if relative.abs() <= SUMS { "yes".into() } else { format!("NO: {relative:+.1e} of the sum") }
        }
        (
            Answer::Groups { groups: g0, noise: n0, largest: l0 },
            Answer::Groups { groups: g1, noise: n1, largest: l1 },
        ) => {
            let far = |a: u64, b: u64| a.abs_diff(b) as f64 > 2.0 + ROUNDING * (g0 + n0) as f64;
            let signed = |a: u64, b: u64| b as i64 - a as i64;
            let text = format!("{:+} groups, {:+} noise, {:+} largest", signed(g0, g1), signed(n0, n1), signed(l0, l1));
            if op == Op::Dbscan && g0 == g1 && n0 == n1 {
                // A border point may belong to any of the clusters in its reach.
                mark(l0.abs_diff(l1) as f64 <= 0.01 * l0 as f64, text, "border points")
            } else {
                mark(!far(g0, g1) && !far(n0, n1) && !far(l0, l1), text, "rounding")
            }
        }
        _ => format!("NO: {got}"),
    }
}

fn mark(harmless: bool, difference: String, why: &str) -> String {
    if harmless { format!("{difference} ({why})") } else { format!("NO: {difference}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_never_silent() {
        let neighbors = |neighbors| Answer::Neighbors { neighbors };
        let agrees = |got| agreement(Op::RangeCount, &neighbors(1_000_000), &neighbors(got));
        assert_eq!(agrees(1_000_000), "yes");
        assert_eq!(agrees(1_000_003), "+3 neighbours (rounding)");
        assert_eq!(agrees(999_000), "NO: -1000 neighbours");
        assert!(agreement(Op::RangeCount, &neighbors(5), &Answer::built(5)).starts_with("NO"));

        let sum = |distances| Answer::Distances { distances };
        assert_eq!(agreement(Op::Knn, &sum(1.0), &sum(1.000_001)), "yes");
        assert!(agreement(Op::Knn, &sum(1.0), &sum(f64::NAN)).starts_with("NO"));
        assert!(agreement(Op::Knn, &sum(1.0), &sum(1.0001)).starts_with("NO"));

        let tree = |weights| Answer::Weights { weights };
        assert_eq!(agreement(Op::Emst, &tree(1.0), &tree(1.000_001)), "yes");
        assert!(agreement(Op::Emst, &tree(1.0), &tree(1.0001)).starts_with("NO"));
        assert!(agreement(Op::Emst, &tree(1.0), &sum(1.0)).starts_with("NO"));
    }

    #[test]
    fn only_dbscan_may_move_border_points() {
        let groups = |largest| Answer::Groups { groups: 10, noise: 100, largest };
        assert!(agreement(Op::Dbscan, &groups(1000), &groups(1007)).ends_with("(border points)"));
        assert!(agreement(Op::Fof, &groups(1000), &groups(1007)).starts_with("NO"));
    }

    #[test]
    fn labels_of_one_point_are_noise_in_friends_of_friends() {
        let labels = [Some(0), Some(0), Some(2), None];
        let of = |singles| Answer::labels(4, labels.into_iter(), singles);
        assert_eq!(of(true), Answer::Groups { groups: 1, noise: 2, largest: 2 });
        assert_eq!(of(false), Answer::Groups { groups: 2, noise: 1, largest: 2 });
    }
}

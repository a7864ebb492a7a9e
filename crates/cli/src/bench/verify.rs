//! Checks results against their definitions at some of the points, by comparing each of these with all other points
//! in `f64`.

use rayon::prelude::*;
use ropewalk::cluster::{HdbscanClusters, HopChains, SpanningTree};
use ropewalk::halo::Centers;
use ropewalk::{Bvh, Halos, Labels, Scalar};

use super::operations::{Case, Input, Outcome, kept};
use crate::failure::Failure;

/// The approximate number of points that are checked.
const SAMPLES: usize = 48;

/// Returns the first error that is found in a result.
pub fn check<S: Scalar, const D: usize>(
    case: &Case<'_, S, D>,
    prepared: &Input<S, D>,
    outcome: &Outcome<S, D>,
) -> Result<(), String> {
    if let Outcome::Tree(tree) = outcome {
        return tree.validate().map_err(|error| error.to_string());
    }
    if let (Outcome::InPlaceTree(..), Input::InPlaceTree(tree)) = (outcome, prepared) {
        return check_kept(case, &kept(tree)).map_err(|error| error.to_string());
    }
    let n = case.points.len();
    let step = n.div_ceil(SAMPLES).max(1);
    (0..n).into_par_iter().step_by(step).try_for_each(|i| match outcome {
        Outcome::Tree(_) | Outcome::InPlaceTree(..) => Ok(()),
        Outcome::Counts(counts) => same(i, "neighbours", counts[i] as usize, neighbors(case, i).len()),
        Outcome::Csr(lists) => {
            let mut found = lists.of(i).to_vec();
            found.sort_unstable();
            if found == neighbors(case, i) { Ok(()) } else { Err(format!("wrong neighbours of point {i}")) }
        }
        // A sample of points says little about a sum, so all pairs are counted with the other traversal.
        Outcome::Pairs(pairs, n) if i == 0 => {
            let tree = case.build().map_err(|error| error.to_string())?;
            let all: u64 = tree.count_neighbors(case.eps).into_iter().map(u64::from).sum();
            same(i, "pairs", *pairs as usize, ((all - n) / 2) as usize)
        }
        Outcome::Pairs(..) => Ok(()),
        Outcome::Nearest(lists) => {
            let mut all: Vec<(f64, u32)> = distances(case, i).zip(0..).collect();
            all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            all.truncate(case.k);
            let found = lists.of(i).iter().map(|near| near.index);
            if found.eq(all.into_iter().map(|near| near.1)) {
                Ok(())
            } else {
                Err(format!("wrong nearest neighbours of point {i}"))
            }
        }
        Outcome::SpanningTree(tree, min_samples) => check_edge(case, tree, *min_samples, i),
        Outcome::Hdbscan(clusters) => check_cluster(case, clusters, i),
        Outcome::Labels(labels, min_samples) => check_label(case, labels, *min_samples, i),
        Outcome::Centers(centers) => match prepared {
            Input::Halos(halos, _) => check_center(case, halos, centers, i),
            _ => Ok(()),
        },
        Outcome::Halos(halos) => check_label(case, halos.labels(), 2, i),
        Outcome::Densities(densities) => check_density(densities, i),
        Outcome::Hop(chains, _) => check_hop(case, chains, i),
        Outcome::HaloCenters(halos, centers) => {
            check_label(case, halos.labels(), 2, i)?;
            check_center(case, halos, centers, i)
        }
    })
}

/// Checks that a tree that was changed in place is valid, and finds as many neighbours of each point as a fresh tree.
fn check_kept<S: Scalar, const D: usize>(case: &Case<'_, S, D>, tree: &Bvh<S, D>) -> Result<(), Failure> {
    tree.validate()?;
    if tree.count_neighbors(case.eps) != case.build()?.count_neighbors(case.eps) {
        return Err("neighbours differ from those of a fresh tree".into());
    }
    Ok(())
}

/// Checks that a cluster is large enough, and that noise has probability 0. Samples of points cannot show more; the
/// spanning tree is checked as an operation of its own.
fn check_cluster<S: Scalar, const D: usize>(
    case: &Case<'_, S, D>,
    clusters: &HdbscanClusters,
    i: usize,
) -> Result<(), String> {
    let (labels, probability) = (clusters.labels(), clusters.probabilities()[i]);
    let is_right = match labels.get(i) {
        Some(label) => labels.sizes()[label as usize] >= case.min_cluster_size && (0.0..=1.0).contains(&probability),
        None => probability == 0.0,
    };
    if is_right {
        Ok(())
    } else {
        Err(format!("point {i} is in a cluster that is too small, or its probability is wrong"))
    }
}

/// Checks that a core point has enough neighbours and shares its label with its core neighbours. Any other point must
/// have the lowest label of its core neighbours, or no label if it has no core neighbour.
fn check_label<S: Scalar, const D: usize>(
    case: &Case<'_, S, D>,
    labels: &Labels,
    min_samples: usize,
    i: usize,
) -> Result<(), String> {
    let near = neighbors(case, i);
    if labels.is_core(i) != (near.len() >= min_samples) {
        return Err(format!("point {i} has {} neighbours, but is_core says {}", near.len(), labels.is_core(i)));
    }
    let lowest = near.iter().filter(|&&j| labels.is_core(j as usize)).map(|&j| labels.get(j as usize)).min().flatten();
    if labels.get(i) != lowest {
        return Err(format!("point {i} has the label {:?} instead of {lowest:?}", labels.get(i)));
    }
    Ok(())
}

/// Checks that the lightest edge of a point is in the tree.
fn check_edge<S: Scalar, const D: usize>(
    case: &Case<'_, S, D>,
    tree: &SpanningTree,
    min_samples: usize,
    i: usize,
) -> Result<(), String> {
    let core2 = |i: usize| -> f64 {
        let mut all: Vec<f64> = distances(case, i).collect();
        *all.select_nth_unstable_by(min_samples - 1, f64::total_cmp).1
    };
    let mut all: Vec<(f64, u32)> = distances(case, i).zip(0..).filter(|&(_, j)| j as usize != i).collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (own2, mut least) = (core2(i), (f64::INFINITY, 0, 0));
    for (distance2, j) in all {
        if distance2 > least.0 {
            break;
        }
        // An edge weighs at least its length, so core distances are computed only for points whose distance is at
        // most the lightest weight so far.
        let weight2 = if min_samples > 1 { distance2.max(own2).max(core2(j as usize)) } else { distance2 };
        let edge = (weight2, j.min(i as u32), j.max(i as u32));
        if edge < least {
            least = edge;
        }
    }
    let (weight2, low, high) = least;
    let found = tree.edges().iter().any(|edge| (edge.weight2, edge.low, edge.high) == (weight2, low, high));
    if found || case.points.len() < 2 {
        Ok(())
    } else {
        Err(format!("the lightest edge of point {i}, {low} to {high}, is missing"))
    }
}

/// Checks the potential of the centre of a halo, and that no member has a lower one.
fn check_center<S: Scalar, const D: usize>(
    case: &Case<'_, S, D>,
    halos: &Halos,
    centers: &Centers,
    i: usize,
) -> Result<(), String> {
    let Some(halo) = halos.iter().position(|members| members.binary_search(&(i as u32)).is_ok()) else { return Ok(()) };
    let potential = |i: usize| -> f64 {
        let distances2 = halos.members(halo).iter().map(|&j| distance2(case, i, j as usize));
        -distances2.filter(|&distance2| distance2 > 0.0).map(|distance2| 1.0 / distance2.sqrt()).sum::<f64>()
    };
    let center = &centers.as_slice()[halo];
    let (Some(member), Some(told)) = (center.member, center.potential) else { return Ok(()) };
    let (deepest, own) = (potential(member as usize), potential(i));
    if (told - deepest).abs() > 1e-9 * deepest.abs() {
        return Err(format!("the potential of point {member} is {deepest}, got {told}"));
    }
    if own < deepest * (1.0 + 1e-9) {
        return Err(format!("point {i} has a lower potential than point {member}, the centre of its halo"));
    }
    Ok(())
}

/// Checks that a density is positive. Its value depends on the widths of all other kernels and is not recomputed;
/// `check_hop` checks against the definition.
fn check_density(densities: &[f64], i: usize) -> Result<(), String> {
    if densities[i] > 0.0 {
        Ok(())
    } else {
        Err(format!("the density of point {i} must be positive, got {}", densities[i]))
    }
}

/// Checks that the densest of the 64 nearest points, the point itself counted, is in the same chain.
fn check_hop<S: Scalar, const D: usize>(case: &Case<'_, S, D>, chains: &HopChains, i: usize) -> Result<(), String> {
    let mut all: Vec<(f64, u32)> = distances(case, i).zip(0..).filter(|&(_, j)| j as usize != i).collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let order = |j: usize| (chains.density()[j], std::cmp::Reverse(j));
    let near = all.iter().take(63).map(|&(_, j)| j as usize);
    let densest = near.fold(i, |best, j| if order(j) > order(best) { j } else { best });
    let [own, other] = [i, densest].map(|j| chains.chain()[j]);
    if own == other {
        Ok(())
    } else {
        Err(format!("point {i} is in chain {own}, but its densest neighbour is in chain {other}"))
    }
}

fn distances<S: Scalar, const D: usize>(case: &Case<'_, S, D>, i: usize) -> impl Iterator<Item = f64> {
    (0..case.points.len()).map(move |j| distance2(case, i, j))
}

fn neighbors<S: Scalar, const D: usize>(case: &Case<'_, S, D>, i: usize) -> Vec<u32> {
    let near = distances(case, i).zip(0..).filter(|&(distance2, _)| distance2 <= case.eps * case.eps);
    near.map(|(_, index)| index).collect()
}

fn same(i: usize, what: &str, found: usize, expected: usize) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("point {i}: {found} {what} instead of {expected}")) }
}

fn distance2<S: Scalar, const D: usize>(case: &Case<'_, S, D>, i: usize, j: usize) -> f64 {
    case.space.distance2(&case.space.wrap(case.points[i]), &case.space.wrap(case.points[j]))
}

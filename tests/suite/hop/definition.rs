//! HOP from its definition, as plain loops over lists of all points. It shares no code with the library.

use std::f64::consts::PI;

use common::oracle::{NearestQuery, Side, nearest, wrap_point};
use ropewalk::Scalar;
use ropewalk::cluster::DensityKernel;

/// The kernel M4 in the form of Monaghan and Lattanzio 1985.
fn spline(r: f64, h: f64, dim: usize) -> f64 {
    let norm = if dim == 2 { 10.0 / (7.0 * PI * h.powi(2)) } else { 1.0 / (PI * h.powi(3)) };
    let q = r / h;
    if q < 1.0 {
        norm * (1.0 - 1.5 * q.powi(2) + 0.75 * q.powi(3))
    } else if q < 2.0 {
        norm * 0.25 * (2.0 - q).powi(3)
    } else {
        0.0
    }
}

/// Returns the `n_density` + 1 nearest points of each point, itself among them.
pub fn nearest_lists<S: Scalar, const D: usize>(
    points: &[[S; D]],
    n_density: usize,
    side: Side,
) -> Vec<Vec<(u32, f64)>> {
    let points: Vec<_> = points.iter().map(|point| wrap_point(point, side)).collect();
    points.iter().map(|point| nearest(&points, point, NearestQuery::new(n_density + 1), side)).collect()
}

/// Returns densities in mass per volume, from the lists of [`nearest_lists`].
pub fn densities<const D: usize>(lists: &[Vec<(u32, f64)>], masses: &[f64], kernel: DensityKernel) -> Vec<f64> {
    let n = lists.len();
    if kernel == DensityKernel::TopHat {
        let ball = |radius: f64| if D == 2 { PI * radius.powi(2) } else { 4.0 / 3.0 * PI * radius.powi(3) };
        let of = |list: &Vec<(u32, f64)>| {
            let list = &list[..list.len() - 1];
            let mass: f64 = list.iter().map(|&(j, _)| masses[j as usize]).sum();
            let radius = list[list.len() - 1].1.sqrt();
            if radius == 0.0 { f64::INFINITY } else { mass / ball(radius) }
        };
        return lists.iter().map(of).collect();
    }
    let half = if kernel == DensityKernel::Gather { 1.0 } else { 0.5 };
    let mut density = vec![0.0; n];
    for (i, list) in lists.iter().enumerate() {
        let h = 0.5 * list[list.len() - 1].1.sqrt();
        if h == 0.0 {
            density[i] = f64::INFINITY;
            continue;
        }
        for &(j, distance2) in list {
            let weight = half * spline(distance2.sqrt(), h, D);
            density[i] += weight * masses[j as usize];
            if kernel == DensityKernel::Symmetric {
                density[j as usize] += weight * masses[i];
            }
        }
    }
    density
}

/// The chains and boundaries that HOP derives from densities, with the number of each point's chain.
pub struct Chains {
    /// Indices of the peaks, in descending order of density.
    pub peaks: Vec<usize>,
    pub chain: Vec<usize>,
    /// (density, chain, later chain) in descending order of density, ties by chains.
    pub boundaries: Vec<(f64, usize, usize)>,
}

/// Returns `true` if point `a` is denser than `b`. In case of ties, the point with the lower index counts as denser.
fn is_denser(density: &[f64], a: usize, b: usize) -> bool {
    density[a] > density[b] || (density[a] == density[b] && a < b)
}

pub fn chains<S: Scalar, const D: usize>(
    points: &[[S; D]],
    density: &[f64],
    n_hop: usize,
    n_merge: usize,
    side: Side,
) -> Chains {
    let points: Vec<_> = points.iter().map(|point| wrap_point(point, side)).collect();
    let n = points.len();
    let others = |i: usize, k: usize| nearest(&points, &points[i], NearestQuery::new(k).excluding(i as u32), side);
    let next: Vec<usize> = (0..n)
        .map(|i| {
            let denser =
                |best: usize, (j, _): (u32, f64)| if is_denser(density, j as usize, best) { j as usize } else { best };
            others(i, n_hop - 1).into_iter().fold(i, denser)
        })
        .collect();
    let mut peaks: Vec<usize> = (0..n).filter(|&i| next[i] == i).collect();
    peaks.sort_by(
        |&a, &b| if is_denser(density, a, b) { std::cmp::Ordering::Less } else { std::cmp::Ordering::Greater },
    );
    let chain: Vec<usize> = (0..n)
        .map(|i| {
            let mut at = i;
            while next[at] != at {
                at = next[at];
            }
            peaks.iter().position(|&peak| peak == at).unwrap()
        })
        .collect();
    let mut boundaries: Vec<(f64, usize, usize)> = vec![];
    for i in 0..n {
        for (j, _) in others(i, n_merge) {
            let (a, b) = (chain[i], chain[j as usize]);
            if a != b {
                boundaries.push((0.5 * (density[i] + density[j as usize]), a.min(b), a.max(b)));
            }
        }
    }
    // Keeps the maximum of each pair.
    boundaries.sort_by(|a, b| (a.1, a.2).cmp(&(b.1, b.2)).then(b.0.total_cmp(&a.0)));
    boundaries.dedup_by_key(|&mut (_, a, b)| (a, b));
    boundaries.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    Chains { peaks, chain, boundaries }
}

/// Returns the group of each point, numbered by the smallest member. Groups grow from the dense chains: repeatedly,
/// the densest boundary between a chain with a group and one without is merged.
pub fn groups(chains: &Chains, density: &[f64], [outer, saddle, peak]: [f64; 3]) -> Vec<i32> {
    let is_proper = |chain: usize| density[chains.peaks[chain]] >= peak;
    let mut group: Vec<Option<usize>> =
        (0..chains.peaks.len()).map(|chain| is_proper(chain).then_some(chain)).collect();
    for _ in 0..group.len() {
        for &(boundary, a, b) in &chains.boundaries {
            if let (Some(own), Some(other)) = (group[a], group[b])
                && boundary >= saddle
            {
                let least = own.min(other);
                group
                    .iter_mut()
                    .filter(|group| **group == Some(own) || **group == Some(other))
                    .for_each(|group| *group = Some(least));
            }
        }
    }
    while let Some(&(_, a, b)) = chains
        .boundaries
        .iter()
        .find(|&&(boundary, a, b)| boundary >= outer && group[a].is_some() != group[b].is_some())
    {
        let found = group[a].or(group[b]);
        (group[a], group[b]) = (found, found);
    }
    let mut numbers: Vec<usize> = vec![];
    (0..density.len())
        .map(|i| match group[chains.chain[i]] {
            Some(group) if density[i] >= outer => {
                let known = numbers.iter().position(|&other| other == group);
                known.unwrap_or_else(|| {
                    numbers.push(group);
                    numbers.len() - 1
                }) as i32
            }
            _ => -1,
        })
        .collect()
}

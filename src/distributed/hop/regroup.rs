//! Groups of chains that reach over several ranks.
//!
//! In: the chain of each point and ghost, with densities. Out: the group of each chain.
//! Each rank finds the boundaries that its own points have, and keeps those that decide among its own: at most one for each chain. Rank 0
//! gets these, and makes of them what one process makes of all.
//! Cost: 24 bytes for each chain that a rank has a boundary of, and 16 for each boundary that it keeps, on rank 0; these are of at least the outer
//! density. Rank 0 sorts and joins them alone.

use crate::cluster::hop::boundaries::{ChainBoundary, boundaries, density_of, falling};
use crate::cluster::hop::regroup::{Thresholds, decisive, regroup};
use crate::distributed::boundary::NONE;
use crate::distributed::communicator::{agree, exchange, gather};
use crate::distributed::components::{rank_of, request, vertex};
use crate::distributed::domain::Domain;
use crate::distributed::hop::chains::Chains;
use crate::distributed::hop::neighborhood::Neighborhood;
use crate::error::{Error, Result};
use crate::geometry::Scalar;
use crate::memory::{filled, zeroed};
use crate::parallel::{map, sort};
use crate::phases::mark;

/// Points per parallel task.
const TASK: usize = 1 << 14;

/// A chain by the density of its peak, as [`falling`] has it, the peak's global index, and the peak: in their order the densest is first.
type Chain = [u64; 3];

/// The density of the peak.
fn height(chain: &Chain) -> f64 {
    density_of(chain[0])
}

/// The group of each point of this rank by its chain, which is the peak of the group's densest chain; [`NONE`] if it has none. `density`
/// is by indices of the tree. Collective.
pub(super) fn groups<S: Scalar, const D: usize>(
    domain: &Domain<'_, S, D>,
    near: &Neighborhood<S, D>,
    chains: &Chains,
    density: &[f64],
    n_merge: usize,
    thresholds: Thresholds,
) -> Result<Vec<u64>> {
    let ranks = domain.ranks;
    let first = vertex(ranks.rank(), 0);
    let heights = near.own(domain.points.len(), density);
    let own = |(&row, peak): (&u32, u64)| [falling(heights[row as usize]), domain.ids[row as usize], peak];
    let own: Vec<Chain> = chains.peaks.iter().zip(first..).map(own).collect();
    drop(heights);

    // The chains that are met here, by their peaks, and in their order.
    let roots = near.with_ghosts(domain, &chains.roots)?;
    let mut peaks = roots.clone();
    sort(&mut peaks);
    peaks.dedup();
    let route = request(ranks, &peaks)?;
    let met = route.send(ranks, &own)?;
    let mut order: Vec<(Chain, u32)> = met.into_iter().zip(0..).collect();
    sort(&mut order);
    let mut numbers = zeroed(order.len());
    order.iter().zip(0..).for_each(|(&(_, place), number)| numbers[place as usize] = number);
    let table: Vec<Chain> = order.into_iter().map(|(chain, _)| chain).collect();
    let place = |root: u64| peaks.partition_point(|&peak| peak < root);
    let chain = map(roots.len(), TASK, &|index| numbers[place(roots[index])]);
    drop(roots);

    let mut all = boundaries(&near.tree, n_merge, &chain, density, &near.is_ghost);
    drop((chain, numbers));
    all.truncate(all.partition_point(|boundary| boundary.density >= thresholds.outer));
    let heights: Vec<f64> = table.iter().map(height).collect();
    let kept = decisive(&heights, &all, thresholds);
    drop((all, heights));
    mark("boundaries");
    let joined = on_first(domain, &table, &kept, thresholds)?;

    // A peak that is dense enough is a group by itself.
    let of = |chain: &Chain| if height(chain) >= thresholds.peak { chain[2] } else { NONE };
    let mut groups: Vec<u64> = own.iter().map(of).collect();
    joined.into_iter().for_each(|[peak, group]| groups[peak as usize] = group);
    let groups = route.send(ranks, &groups)?;
    mark("groups");
    Ok(map(chains.roots.len(), TASK, &|row| groups[place(chains.roots[row])]))
}

/// Joins the chains of all ranks on the first: on each rank the numbers of its peaks whose chains have a boundary and a group, and the group.
/// Collective.
fn on_first<S: Scalar, const D: usize>(
    domain: &Domain<'_, S, D>,
    table: &[Chain],
    kept: &[ChainBoundary],
    thresholds: Thresholds,
) -> Result<Vec<[u64; 2]>> {
    let ranks = domain.ranks;
    // Those that have a boundary, and their places in what is sent.
    let mut places = filled(table.len(), u32::MAX);
    kept.iter().for_each(|boundary| [boundary.denser, boundary.other].iter().for_each(|&at| places[at as usize] = 0));
    let used: Vec<Chain> =
        table.iter().zip(&places).filter(|(_, place)| **place == 0).map(|(chain, _)| *chain).collect();
    places.iter_mut().filter(|place| **place == 0).zip(0..).for_each(|(place, at)| *place = at);
    let pack = |boundary: &ChainBoundary| {
        let [denser, other] = [boundary.denser, boundary.other].map(|at| u64::from(places[at as usize]));
        [falling(boundary.density), denser << 32 | other]
    };
    let sent: Vec<[u64; 2]> = kept.iter().map(pack).collect();
    let tables = gather(ranks, &used, 0)?;
    let lists = gather(ranks, &sent, 0)?;
    drop((used, sent));

    let mut all = tables.values().to_vec();
    sort(&mut all);
    all.dedup();
    // Numbers of 32 bits.
    let count = all.len() as f64;
    let must = "fewer than 2^32 for all ranks";
    let counted =
        if all.len() < u32::MAX as usize { Ok(()) } else { Err(Error::parameter_must("chains", count, must)) };
    agree(ranks, counted)?;
    let mut boundaries: Vec<(u64, u32, u32)> = vec![];
    for (table, list) in tables.iter().zip(lists.iter()) {
        let number = |place: u64| all.partition_point(|chain| *chain < table[place as usize]) as u32;
        let of = |&[density, pair]: &[u64; 2]| (density, number(pair >> 32), number(pair & 0xffff_ffff));
        boundaries.extend(list.iter().map(of));
    }
    drop((tables, lists));
    sort(&mut boundaries);
    let of =
        |&(falling, denser, other): &(u64, u32, u32)| ChainBoundary { denser, other, density: density_of(falling) };
    let boundaries: Vec<ChainBoundary> = boundaries.iter().map(of).collect();
    let heights: Vec<f64> = all.iter().map(height).collect();
    let groups = regroup(&heights, &boundaries, thresholds);

    // To the ranks that have the peaks.
    let mut told: Vec<[u64; 2]> = vec![];
    all.iter()
        .zip(groups)
        .for_each(|(chain, group)| told.extend(group.map(|group| [chain[2], all[group as usize][2]])));
    sort(&mut told);
    let mut counts = vec![0; ranks.size()];
    told.iter().for_each(|told| counts[rank_of(told[0])] += 1);
    let (_, arrived) = exchange(ranks, &told, &counts)?.into_parts();
    Ok(arrived.into_iter().map(|[peak, group]| [u64::from(peak as u32), group]).collect())
}

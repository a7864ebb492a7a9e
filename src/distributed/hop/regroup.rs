//! Groups of chains across several ranks.
//!
//! In: the chain of each point and ghost, with densities. Out: the group of each chain.
//! Each rank finds the boundaries of its own points, and keeps only those that can decide the grouping: at most one
//! for each chain. Rank 0 gathers these, and groups the chains as one process does.
//! Cost: on rank 0, 24 bytes for each chain with a boundary on a rank, and 16 for each boundary that the rank keeps.
//! Boundaries have at least the outer density. Rank 0 alone sorts boundaries and joins chains.

use crate::cluster::hop::boundaries::{ChainBoundary, boundaries, density_of_key, descending_key};
use crate::cluster::hop::regroup::{Thresholds, decisive, regroup};
use crate::distributed::boundary::NONE;
use crate::distributed::communicator::{agree, exchange, gather};
use crate::distributed::components::{rank_of, request, vertex};
use crate::distributed::domain::Domain;
use crate::distributed::hop::chains::Chains;
use crate::distributed::hop::neighborhood::Neighborhood;
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::Scalar;
use crate::memory::{filled, zeroed};
use crate::parallel::{map, sort};
use crate::phases::mark;

/// Points per parallel task.
const TASK: usize = 1 << 14;

/// A chain: the density of its peak as encoded by [`descending_key`], the peak's global index, and the peak as a
/// vertex. Ascending order means descending density.
type Chain = [u64; 3];

/// Returns the density of a chain's peak.
fn height(chain: &Chain) -> f64 {
    density_of_key(chain[0])
}

/// Returns the group of each point of this rank, ignoring the outer density: the peak of the densest chain in the
/// group of the point's chain, or [`NONE`]. `density` is by index in the tree. Collective.
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
    let own = |(&row, peak): (&u32, u64)| [descending_key(heights[row as usize]), domain.ids[row as usize], peak];
    let own: Vec<Chain> = chains.peaks.iter().zip(first..).map(own).collect();
    drop(heights);

    // The chains of points and ghosts, given by their peaks and sorted by density.
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
    let joined = regroup_on_rank0(domain, &table, &kept, thresholds)?;

    // A chain whose peak is dense enough is a group by itself.
    let of = |chain: &Chain| if height(chain) >= thresholds.peak { chain[2] } else { NONE };
    let mut groups: Vec<u64> = own.iter().map(of).collect();
    joined.into_iter().for_each(|[peak, group]| groups[peak as usize] = group);
    let groups = route.send(ranks, &groups)?;
    mark("groups");
    Ok(map(chains.roots.len(), TASK, &|row| groups[place(chains.roots[row])]))
}

/// Joins the chains of all ranks on rank 0. Returns, for each chain of this rank with a boundary and a group, the
/// index of its peak on this rank, and the group. Collective.
fn regroup_on_rank0<S: Scalar, const D: usize>(
    domain: &Domain<'_, S, D>,
    table: &[Chain],
    kept: &[ChainBoundary],
    thresholds: Thresholds,
) -> Result<Vec<[u64; 2]>> {
    let ranks = domain.ranks;
    // The chains with a boundary, and their positions in the message.
    let mut places = filled(table.len(), u32::MAX);
    kept.iter().for_each(|boundary| [boundary.denser, boundary.other].iter().for_each(|&at| places[at as usize] = 0));
    let used: Vec<Chain> =
        table.iter().zip(&places).filter(|(_, place)| **place == 0).map(|(chain, _)| *chain).collect();
    places.iter_mut().filter(|place| **place == 0).zip(0..).for_each(|(place, at)| *place = at);
    let pack = |boundary: &ChainBoundary| {
        let [denser, other] = [boundary.denser, boundary.other].map(|at| u64::from(places[at as usize]));
        [descending_key(boundary.density), denser << 32 | other]
    };
    let sent: Vec<[u64; 2]> = kept.iter().map(pack).collect();
    let tables = gather(ranks, &used, 0)?;
    let lists = gather(ranks, &sent, 0)?;
    drop((used, sent));

    let mut all = tables.values().to_vec();
    sort(&mut all);
    all.dedup();
    // Chains are numbered with 32 bits.
    let counted = if all.len() < u32::MAX as usize { Ok(()) } else { Err(too_many_chains(all.len())) };
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
        |&(falling, denser, other): &(u64, u32, u32)| ChainBoundary { denser, other, density: density_of_key(falling) };
    let boundaries: Vec<ChainBoundary> = boundaries.iter().map(of).collect();
    let heights: Vec<f64> = all.iter().map(height).collect();
    let groups = regroup(&heights, &boundaries, thresholds);

    // Send groups to the ranks that own the peaks.
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

/// Creates the error for more chains than 32 bits can number.
fn too_many_chains(n: usize) -> Error {
    let sentence = format!("{n} chains on all ranks; at most 2^32 - 2 are supported");
    Error::new(ErrorKind::Parameter, sentence).about("chains")
}

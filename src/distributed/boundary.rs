//! From the components of each rank to those of all, with their numbers.
//!
//! In: the component of each point on a rank, the components of other ranks that these meet, and the global indices of the points. Out: the
//! global number of each component, by its smallest point; points of one cluster have one number on all ranks.
//! Cost: messages of the size of the boundary between ranks, and 24 bytes a component. Source: Patwary et al. 2012 (PDSDBSCAN: local
//! unions first, then those across ranks).

use crate::distributed::communicator::{exchange, starts};
use crate::distributed::components::{connect, rank_of, request, vertex};
use crate::distributed::domain::Domain;
use crate::distributed::route::Route;
use crate::error::Result;
use crate::geometry::Scalar;
use crate::phases::mark;

/// The components of one rank among all.
pub(super) struct Numbered {
    /// The global number of each component.
    pub numbers: Vec<u64>,
    /// How many points of all ranks it has.
    pub sizes: Vec<u64>,
    /// The component that stands for all that it is connected with: one rank's, with its number there.
    pub roots: Vec<u64>,
    /// How many components all ranks have.
    pub count: u64,
}

/// No number.
pub(super) const NONE: u64 = u64::MAX;

/// Numbers components across ranks: `labels` has that of each point, negative for none, and `n` is how many this rank has, each with a point.
/// `edges` are between these and those of other ranks. Collective.
pub(super) fn number<S: Scalar, const D: usize>(
    domain: &Domain<'_, S, D>,
    labels: &[i32],
    n: usize,
    edges: Vec<(u32, u64)>,
) -> Result<Numbered> {
    let ranks = domain.ranks;
    let (mut smallest, mut sizes) = (vec![NONE; n], vec![0u64; n]);
    for (&label, &id) in labels.iter().zip(&domain.ids) {
        if let Ok(label) = usize::try_from(label) {
            smallest[label] = smallest[label].min(id);
            sizes[label] += 1;
        }
    }
    let roots = connect(ranks, n, edges)?;
    number_roots(domain, smallest, sizes, roots)
}

/// The same where it is known which component stands for each: `smallest` and `sizes` are of the points here. Of components that stand for
/// themselves some may have no points; they have no number. Collective.
pub(super) fn number_roots<S: Scalar, const D: usize>(
    domain: &Domain<'_, S, D>,
    mut smallest: Vec<u64>,
    mut sizes: Vec<u64>,
    roots: Vec<u64>,
) -> Result<Numbered> {
    let (ranks, n) = (domain.ranks, roots.len());
    // The smallest index and the size of each tree, at its root.
    let first = vertex(ranks.rank(), 0);
    let mut told: Vec<[u64; 3]> = (first..)
        .zip(&roots)
        .zip(smallest.iter().zip(&sizes))
        .filter(|((own, root), _)| own != *root)
        .map(|((_, &root), (&smallest, &size))| [root, smallest, size])
        .collect();
    told.sort_unstable();
    told.dedup_by(|other, kept| {
        let is_same = other[0] == kept[0];
        kept[2] += if is_same { other[2] } else { 0 };
        is_same
    });
    let mut counts = vec![0; ranks.size()];
    told.iter().for_each(|told| counts[rank_of(told[0])] += 1);
    for [root, other, size] in exchange(ranks, &told, &counts)?.into_parts().1 {
        let root = root as u32 as usize;
        smallest[root] = smallest[root].min(other);
        sizes[root] += size;
    }
    let is_root = |at: usize| roots[at] == vertex(ranks.rank(), at as u32);
    let is_met = |at: &usize| is_root(*at) && smallest[*at] != NONE;
    let own_roots: Vec<u32> = (0..n).filter(is_met).map(|at| at as u32).collect();
    let keys: Vec<u64> = own_roots.iter().map(|&at| smallest[at as usize]).collect();
    let (found, count) = rank_keys(domain, &keys)?;
    let mut known = vec![[NONE, 0]; n];
    own_roots.iter().zip(found).for_each(|(&at, number)| known[at as usize] = [number, sizes[at as usize]]);
    let wanted: Vec<u64> = told.iter().map(|told| told[0]).collect();
    let theirs = request(ranks, &wanted)?.send(ranks, &known)?;
    for at in (0..n).filter(|&at| !is_root(at)) {
        known[at] = theirs[wanted.partition_point(|&other| other < roots[at])];
    }
    mark("across ranks");
    let (numbers, sizes) = known.into_iter().map(|[number, size]| (number, size)).unzip();
    Ok(Numbered { numbers, sizes, roots, count })
}

/// The place of each key among those of all ranks, which all differ, and how many there are. Keys are global indices. Collective.
fn rank_keys<S: Scalar, const D: usize>(domain: &Domain<'_, S, D>, keys: &[u64]) -> Result<(Vec<u64>, u64)> {
    let ranks = domain.ranks;
    let to: Vec<u32> = keys.iter().map(|&key| domain.home_of(key) as u32).collect();
    let route = Route::to_one(ranks, &to)?;
    let arrived = route.send(ranks, keys)?;
    let starts = starts(ranks, arrived.len())?;
    let mut order: Vec<u32> = (0..arrived.len() as u32).collect();
    // Those of each rank mostly ascend, and this sort merges what does.
    order.sort_by_key(|&at| arrived[at as usize]);
    let mut numbers = vec![0; arrived.len()];
    order.iter().zip(starts[ranks.rank()]..).for_each(|(&at, number)| numbers[at as usize] = number);
    Ok((route.send_back(ranks, &numbers)?, starts[ranks.size()]))
}

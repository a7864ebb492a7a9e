//! From the components of each rank to those of all, with their numbers.
//!
//! In: the component of each point on a rank, the components of other ranks that these meet, and the global indices of the points. Out: the
//! global number of each component, by its smallest point; points of one cluster have one number on all ranks.
//! Cost: messages of the size of the boundary between ranks, and 28 bytes a component. Source: Patwary et al. 2012 (PDSDBSCAN: local
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
    let ranks = domain.ranks;
    let own = |at: usize| vertex(ranks.rank(), at as u32);
    let moved: Vec<u32> = (0..roots.len()).filter(|&at| roots[at] != own(at)).map(|at| at as u32).collect();
    // The smallest index and the size of each tree, at its root.
    let mut told: Vec<[u64; 3]> =
        moved.iter().map(|&at| at as usize).map(|at| [roots[at], smallest[at], sizes[at]]).collect();
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
    moved.iter().for_each(|&at| smallest[at as usize] = NONE);
    let (mut numbers, count) = rank_keys(domain, smallest)?;
    let wanted: Vec<u64> = told.iter().map(|told| told[0]).collect();
    let asked = request(ranks, &wanted)?;
    let known: Vec<[u64; 2]> = asked.rows().iter().map(|&at| [numbers[at as usize], sizes[at as usize]]).collect();
    let theirs = asked.send_packed(ranks, &known)?;
    for at in moved.into_iter().map(|at| at as usize) {
        [numbers[at], sizes[at]] = theirs[wanted.partition_point(|&other| other < roots[at])];
    }
    mark("across ranks");
    Ok(Numbered { numbers, sizes, roots, count })
}

/// The place of each key among those of all ranks, which all differ, and how many there are; [`NONE`] is no key and has no place. Keys are
/// global indices: each is ranked where its point came from, and those of a rank that are there already stay. Collective.
fn rank_keys<S: Scalar, const D: usize>(domain: &Domain<'_, S, D>, mut keys: Vec<u64>) -> Result<(Vec<u64>, u64)> {
    let ranks = domain.ranks;
    let own = domain.starts[ranks.rank()]..domain.starts[ranks.rank() + 1];
    let (mut here, mut away): (Vec<u32>, Vec<u32>) = (vec![], vec![]);
    for (at, &key) in (0..).zip(&keys).filter(|(_, key)| **key != NONE) {
        if own.contains(&key) { here.push(at) } else { away.push(at) }
    }
    // They mostly ascend, and this sort merges what does.
    here.sort_by_key(|&at| keys[at as usize]);
    let to: Vec<u32> = away.iter().map(|&at| domain.home_of(keys[at as usize]) as u32).collect();
    let sent: Vec<u64> = away.iter().map(|&at| keys[at as usize]).collect();
    let route = Route::to_one(ranks, &to)?;
    let arrived = route.send(ranks, &sent)?;
    let starts = starts(ranks, here.len() + arrived.len())?;
    let mut order: Vec<u32> = (0..arrived.len() as u32).collect();
    order.sort_by_key(|&at| arrived[at as usize]);

    let mut next = starts[ranks.rank()];
    let mut number = || {
        next += 1;
        next - 1
    };
    let mut answers = vec![0; arrived.len()];
    let mut others = order.into_iter().map(|at| at as usize).peekable();
    for at in here.into_iter().map(|at| at as usize) {
        while let Some(other) = others.next_if(|&other| arrived[other] < keys[at]) {
            answers[other] = number();
        }
        keys[at] = number();
    }
    others.for_each(|other| answers[other] = number());
    let answers = route.send_back(ranks, &answers)?;
    away.iter().zip(answers).for_each(|(&at, number)| keys[at as usize] = number);
    Ok((keys, starts[ranks.size()]))
}

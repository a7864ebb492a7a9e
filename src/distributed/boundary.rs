//! Merges the components of each rank into components of all ranks, and numbers them.
//!
//! In: the component of each point of a rank, the components of other ranks that touch these, and the global indices
//! of the points. Out: the global number of each component, in the order of their smallest points. All points of one
//! cluster have the same number on all ranks.
//! Cost: messages of the size of the boundary between ranks, and 28 bytes per component. Source: Patwary et al. 2012
//! (PDSDBSCAN: local unions first, then unions across ranks).

use crate::distributed::communicator::{exchange, starts};
use crate::distributed::components::{connect, rank_of, request, vertex};
use crate::distributed::domain::Domain;
use crate::distributed::route::Route;
use crate::error::Result;
use crate::geometry::Scalar;
use crate::memory::{filled, zeroed};
use crate::parallel::{fill, list_tasks, map, map_tasks};
use crate::phases::mark;

/// Components per parallel task. Tests have small tasks, so that few components fill several.
const TASK: usize = if cfg!(test) { 1 << 10 } else { 1 << 16 };

/// The components of one rank, with their numbers among those of all ranks.
pub(crate) struct Numbered {
    /// The global number of each component.
    pub numbers: Vec<u64>,
    /// The number of points of each component on all ranks.
    pub sizes: Vec<u64>,
    /// The components that another component represents, ascending, each with its root: a vertex (rank and component
    /// number).
    pub moved: Vec<(u32, u64)>,
    /// The number of components of all ranks.
    pub count: u64,
}

/// Marks a missing number.
pub(crate) const NONE: u64 = u64::MAX;

/// Numbers components across ranks. `labels` holds the component of each point, negative for points without one. `n`
/// is the number of components of this rank, each of which has a point. `edges` lead from these components to those
/// of other ranks. Collective.
pub(crate) fn number<S: Scalar, const D: usize>(
    domain: &Domain<'_, S, D>,
    labels: &[i32],
    n: usize,
    edges: Vec<(u32, u64)>,
) -> Result<Numbered> {
    let ranks = domain.ranks;
    let (mut smallest, mut sizes) = (filled(n, NONE), zeroed::<u64>(n));
    for (&label, &id) in labels.iter().zip(&domain.ids) {
        if let Ok(label) = usize::try_from(label) {
            smallest[label] = smallest[label].min(id);
            sizes[label] += 1;
        }
    }
    let moved = connect(ranks, edges)?;
    number_roots(domain, smallest, sizes, moved)
}

/// Numbers components whose roots are known: `moved` holds the components that are not roots, each with its root.
/// `smallest` and `sizes` are computed from the points of this rank. A root without points gets no number.
/// Collective.
pub(crate) fn number_roots<S: Scalar, const D: usize>(
    domain: &Domain<'_, S, D>,
    mut smallest: Vec<u64>,
    mut sizes: Vec<u64>,
    moved: Vec<(u32, u64)>,
) -> Result<Numbered> {
    let ranks = domain.ranks;
    // The smallest index and the size of each tree, gathered at its root.
    let mut told: Vec<[u64; 3]> =
        moved.iter().map(|&(at, root)| [root, smallest[at as usize], sizes[at as usize]]).collect();
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
    moved.iter().for_each(|&(at, _)| smallest[at as usize] = NONE);
    let (mut numbers, count) = rank_keys(domain, smallest)?;
    let wanted: Vec<u64> = told.iter().map(|told| told[0]).collect();
    let asked = request(ranks, &wanted)?;
    let known: Vec<[u64; 2]> = asked.rows().iter().map(|&at| [numbers[at as usize], sizes[at as usize]]).collect();
    let theirs = asked.send_packed(ranks, &known)?;
    for &(at, root) in &moved {
        let at = at as usize;
        [numbers[at], sizes[at]] = theirs[wanted.partition_point(|&other| other < root)];
    }
    mark("number components");
    Ok(Numbered { numbers, sizes, moved, count })
}

impl Numbered {
    /// Returns the root of each component of this rank.
    pub fn roots(&self, rank: usize) -> Vec<u64> {
        let mut roots = map(self.numbers.len(), TASK, &|at| vertex(rank, at as u32));
        self.moved.iter().for_each(|&(at, root)| roots[at as usize] = root);
        roots
    }
}

/// Returns the position of each key among the keys of all ranks, and the number of keys. All keys differ; [`NONE`] is
/// not a key. Keys are global indices. Each is sorted on the rank that its point came from; keys that are already on
/// that rank are not sent. Collective.
fn rank_keys<S: Scalar, const D: usize>(domain: &Domain<'_, S, D>, mut keys: Vec<u64>) -> Result<(Vec<u64>, u64)> {
    let ranks = domain.ranks;
    let own = domain.starts[ranks.rank()]..domain.starts[ranks.rank() + 1];
    // Gaps are missing keys and keys of other ranks. If points are in place, they are few.
    let is_gap = |at: &u32| !own.contains(&keys[*at as usize]);
    let gaps: Vec<u32> =
        list_tasks(keys.len(), TASK, &|range| (range.start as u32..range.end as u32).filter(is_gap).collect());
    let away: Vec<u32> = gaps.iter().copied().filter(|&at| keys[at as usize] != NONE).collect();
    let sent: Vec<u64> = away.iter().map(|&at| keys[at as usize]).collect();
    let to: Vec<u32> = sent.iter().map(|&key| domain.home_of(key) as u32).collect();
    let route = Route::to_one(ranks, &to)?;
    let arrived = route.send(ranks, &sent)?;
    let starts = starts(ranks, keys.len() - gaps.len() + arrived.len())?;
    let mut order: Vec<u32> = (0..arrived.len() as u32).collect();
    // The keys that arrive from each rank ascend; this stable sort merges them.
    order.sort_by_key(|&at| arrived[at as usize]);
    let others: Vec<u64> = order.iter().map(|&at| arrived[at as usize]).collect();
    let places = place(&mut keys, &gaps, &others, starts[ranks.rank()]);
    let mut answers = zeroed(arrived.len());
    order.into_iter().zip(places).for_each(|(at, place)| answers[at as usize] = place);
    let answers = route.send_back(ranks, &answers)?;
    gaps.iter().for_each(|&at| keys[at as usize] = NONE);
    away.iter().zip(answers).for_each(|(&at, place)| keys[at as usize] = place);
    Ok((keys, starts[ranks.size()]))
}

/// Replaces each key that is not at a gap by its position among these keys and `others`, counted from `first`.
/// Returns the positions of `others`, which ascend. All keys differ.
fn place(keys: &mut [u64], gaps: &[u32], others: &[u64], first: u64) -> Vec<u64> {
    // Each gap repeats the key before it, so that `keys` ascends if the other keys do.
    for at in gaps.iter().map(|&at| at as usize) {
        keys[at] = if at == 0 { 0 } else { keys[at - 1] };
    }
    let steps = keys.len().saturating_sub(1);
    let ascend = map_tasks(steps, TASK, &|range| keys[range.start..=range.end].is_sorted()).into_iter().all(|is| is);
    let gaps_below = |at: usize| gaps.partition_point(|&gap| (gap as usize) < at);
    if ascend {
        let below = |other: u64| keys.partition_point(|&key| key < other);
        let places =
            (first..).zip(others).map(|(place, &other)| place + (below(other) - gaps_below(below(other))) as u64);
        let places = places.collect();
        fill(keys, TASK, &|range, keys| {
            let mut gaps = gaps[gaps_below(range.start)..].iter().map(|&at| at as usize).peekable();
            let mut next = first + (range.start - gaps_below(range.start)) as u64;
            let mut before = keys.first().map_or(0, |&key| others.partition_point(|&other| other < key));
            for (at, key) in range.zip(keys) {
                if gaps.next_if_eq(&at).is_none() {
                    before += others[before..].iter().take_while(|other| *other < key).count();
                    *key = next + before as u64;
                    next += 1;
                }
            }
        });
        return places;
    }
    let mut gaps = gaps.iter().copied().peekable();
    let mut own: Vec<u32> = (0..keys.len() as u32).filter(|at| gaps.next_if_eq(at).is_none()).collect();
    // `own` consists of ascending runs, which this stable sort merges.
    own.sort_by_key(|&at| keys[at as usize]);
    let below = |other: u64| own.partition_point(|&at| keys[at as usize] < other) as u64;
    let places = (first..).zip(others).map(|(place, &other)| place + below(other)).collect();
    let mut before = 0;
    for (place, at) in (first..).zip(own) {
        let key = &mut keys[at as usize];
        before += others[before..].iter().take_while(|other| *other < key).count();
        *key = place + before as u64;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::mixed;

    /// Compares positions with those from a full sort. No keys, half of them or all are gaps. The first entry is a
    /// key or a gap; a run of gaps crosses the end of a task.
    #[test]
    fn places_are_those_of_a_sort() {
        const END: u64 = TASK as u64;
        let row = |at: u64| (2..5).contains(&at) || (END - 3..END + 4).contains(&at);
        let half = |at: u64| mixed(at).is_multiple_of(2);
        let patterns: [(&str, &dyn Fn(u64) -> bool); 7] = [
            ("none", &|_| false),
            ("all", &|_| true),
            ("a row", &row),
            ("all but a row", &|at| !row(at)),
            ("half, first a key", &|at| at > 0 && half(at)),
            ("half, first a gap", &|at| at == 0 || half(at)),
            ("half and a row", &|at| half(at) || row(at)),
        ];
        for n in [0, 1, 2, 10, 3 * END] {
            let mut all: Vec<u64> = (0..2 * n).map(|at| mixed(at) >> 40 << 20 | at).collect();
            all.sort_unstable();
            for is_sorted in [true, false] {
                for (gaps_are, is_gap) in patterns {
                    let is_other = |key: &u64| mixed(*key).is_multiple_of(5);
                    let (others, mut keys): (Vec<u64>, Vec<u64>) = all.iter().copied().partition(is_other);
                    if !is_sorted {
                        keys.sort_by_key(|key| mixed(*key));
                    }
                    let gaps: Vec<u32> = (0..keys.len() as u32).filter(|&at| is_gap(at.into())).collect();
                    gaps.iter().for_each(|&at| keys[at as usize] = NONE);
                    let own = keys.iter().copied().filter(|&key| key != NONE);
                    let mut sorted: Vec<u64> = own.chain(others.iter().copied()).collect();
                    sorted.sort_unstable();
                    let expected = |key: u64| 7 + sorted.binary_search(&key).unwrap() as u64;
                    let mut found = keys.clone();
                    let places = place(&mut found, &gaps, &others, 7);
                    assert!(places.into_iter().eq(others.into_iter().map(expected)), "{n}, {is_sorted}, {gaps_are}");
                    for (key, place) in keys.into_iter().zip(found).filter(|(key, _)| *key != NONE) {
                        assert_eq!(place, expected(key), "{n}, {is_sorted}, {gaps_are}");
                    }
                }
            }
        }
    }
}

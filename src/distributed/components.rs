//! Connected components across ranks.
//!
//! In: on each rank, components numbered from 0, and edges between these and components of other ranks. Out: the
//! components that are connected with a smaller one, each with the smallest component that it is connected with.
//! Each round hooks every root to the smallest root across an edge, if that is smaller. Then pointers are jumped
//! until all point to roots. Rounds repeat until no edge joins two roots. A root that stays a root for two rounds has
//! absorbed all its neighbours, so two rounds halve the number of roots.
//! Cost: O(log n) rounds of messages whose size is that of the edges. Components without an edge are not visited.
//! Source: Shiloach and Vishkin 1982.

use crate::distributed::communicator::{Communicator, Reduction, exchange, reduce};
use crate::distributed::route::Route;
use crate::error::Result;

/// Encodes a component: its rank in the high 32 bits, its number on that rank in the low 32 bits.
pub(crate) fn vertex(rank: usize, number: u32) -> u64 {
    (rank as u64) << 32 | u64::from(number)
}

/// Returns the rank of a component.
pub(crate) fn rank_of(vertex: u64) -> usize {
    (vertex >> 32) as usize
}

/// Requests rows of other ranks, named by vertices; `wanted` ascends.
pub(crate) fn request(ranks: &dyn Communicator, wanted: &[u64]) -> Result<Route> {
    let mut counts = vec![0; ranks.size()];
    wanted.iter().for_each(|&vertex| counts[rank_of(vertex)] += 1);
    let rows: Vec<u32> = wanted.iter().map(|&vertex| vertex as u32).collect();
    Route::requested(ranks, &rows, &counts)
}

/// Returns the components of this rank that are connected with a smaller one, ascending, each with the smallest
/// component that it is connected with. `edges` lead from components of this rank, by number, to components of any
/// rank. Collective.
pub(crate) fn connect(ranks: &dyn Communicator, mut edges: Vec<(u32, u64)>) -> Result<Vec<(u32, u64)>> {
    let rank = ranks.rank();
    edges.sort_unstable();
    edges.dedup();
    let mut others: Vec<u64> = edges.iter().map(|edge| edge.1).collect();
    others.sort_unstable();
    others.dedup();

    // Components without an edge keep their roots. The others, which are few, are renumbered from 0 in their order.
    let asked = request(ranks, &others)?;
    let mut met: Vec<u32> = edges.iter().map(|edge| edge.0).chain(asked.rows().iter().copied()).collect();
    met.sort_unstable();
    met.dedup();
    let place = |number: u32| met.partition_point(|&other| other < number) as u32;
    let told: Vec<u64> = asked.rows().iter().map(|&row| vertex(rank, place(row))).collect();
    let renamed = asked.send_packed(ranks, &told)?;
    drop((asked, told));
    let at = |other: u64| others.partition_point(|&lower| lower < other) as u32;
    let edges: Vec<(u32, u32)> = edges.into_iter().map(|(own, other)| (place(own), at(other))).collect();
    let parent = unite(ranks, met.len(), &edges, &renamed)?;

    let above = others_of(rank, &parent);
    let names = request(ranks, &above)?.send(ranks, &met)?;
    let root = |root: u64| match rank_of(root) {
        of if of == rank => vertex(rank, met[root as u32 as usize]),
        of => vertex(of, names[above.partition_point(|&other| other < root)]),
    };
    let roots = met.iter().zip(&parent).map(|(&number, &parent)| (number, root(parent)));
    Ok(roots.filter(|&(number, root)| root != vertex(rank, number)).collect())
}

/// Returns the smallest component that each of `n` components is connected with. Edges lead to positions in `others`,
/// which ascends. Collective.
fn unite(ranks: &dyn Communicator, n: usize, edges: &[(u32, u32)], others: &[u64]) -> Result<Vec<u64>> {
    let mut parent: Vec<u64> = (0..n as u32).map(|number| vertex(ranks.rank(), number)).collect();
    let route = request(ranks, others)?;
    loop {
        let theirs = route.send(ranks, &parent)?;
        // Each pair holds the larger of two roots, and the smaller one to which it is hooked.
        let mut hooks: Vec<[u64; 2]> = edges
            .iter()
            .map(|&(own, other)| (parent[own as usize], theirs[other as usize]))
            .filter(|(own, other)| own != other)
            .map(|(own, other)| [own.max(other), own.min(other)])
            .collect();
        if reduce(ranks, hooks.len() as u64, Reduction::Sum)? == 0 {
            return Ok(parent);
        }
        hooks.sort_unstable();
        hooks.dedup_by_key(|hook| hook[0]);
        let mut counts = vec![0; ranks.size()];
        hooks.iter().for_each(|hook| counts[rank_of(hook[0])] += 1);
        for [root, smaller] in exchange(ranks, &hooks, &counts)?.into_parts().1 {
            let parent = &mut parent[root as u32 as usize];
            *parent = (*parent).min(smaller);
        }
        jump(ranks, &mut parent)?;
    }
}

/// Returns the vertices of other ranks among `vertices`, ascending, without duplicates.
fn others_of(rank: usize, vertices: &[u64]) -> Vec<u64> {
    let mut others: Vec<u64> = vertices.iter().copied().filter(|&vertex| rank_of(vertex) != rank).collect();
    others.sort_unstable();
    others.dedup();
    others
}

/// Jumps pointers until each points to its root.
fn jump(ranks: &dyn Communicator, parent: &mut [u64]) -> Result<()> {
    let first = vertex(ranks.rank(), 0);
    loop {
        // The parents that differ from their child, here or on other ranks.
        let mut above: Vec<u64> =
            (first..).zip(&*parent).filter(|(own, parent)| own != *parent).map(|(_, &parent)| parent).collect();
        above.sort_unstable();
        above.dedup();
        let grandparents = request(ranks, &above)?.send(ranks, parent)?;
        let mut changed = 0;
        for (own, parent) in (first..).zip(&mut *parent) {
            if *parent != own {
                let grandparent = grandparents[above.partition_point(|&other| other < *parent)];
                changed += u64::from(grandparent != *parent);
                *parent = grandparent;
            }
        }
        if reduce(ranks, changed, Reduction::Sum)? == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distributed::on_threads;

    /// A chain that jumps between ranks in scrambled order, and isolated components.
    #[test]
    fn chains_are_one_component() {
        for size in [1, 2, 3, 7] {
            for links in [0u64, 1, 2, 50, 1000] {
                let at = |link: u64| vertex((link * 5 % size as u64) as usize, (link * 337 % 1000) as u32);
                let roots = on_threads(size, |ranks| {
                    let own = |link: u64| rank_of(at(link)) == ranks.rank();
                    let edges = (0..links).filter(|&link| own(link)).map(|link| (at(link) as u32, at(link + 1)));
                    connect(ranks, edges.collect())
                })
                .unwrap();
                let chain: Vec<u64> = (0..=links).map(at).collect();
                let least = *chain.iter().min().unwrap();
                for (rank, roots) in roots.iter().enumerate() {
                    let own = (0..1000).map(|number| vertex(rank, number)).filter(|own| chain.contains(own));
                    let expected = own.filter(|&own| own != least).map(|own| (own as u32, least));
                    assert!(roots.iter().copied().eq(expected), "{size} ranks, {links} links");
                }
            }
        }
    }
}

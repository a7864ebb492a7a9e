//! Pieces: parts of the spanning tree that a rank can decide by itself.
//!
//! In: the spanning tree of a rank's points, and a lower bound on the distance from each point to the points of other
//! ranks. Out: edges of the spanning tree of all ranks, the pieces that they connect, and the edges between pieces that
//! the ranks must decide together.
//! The lightest edge that leaves a piece is in the result (cut property). It is known if it is lighter than all edges
//! from the piece to other ranks. An edge that is left open is not lighter than the gaps of both its pieces, so these
//! pieces decide no later edge by themselves.
//! Cost: one pass over the edges.

use crate::bvh::Bvh;
use crate::cluster::Edge;
use crate::cluster::union_find::UnionFind;
use crate::distributed::domain::Domain;
use crate::distributed::regions::RankBoxes;
use crate::error::Result;
use crate::geometry::Scalar;
use crate::memory::filled;
use crate::parallel::map;
use crate::search::Nearest;

/// Points per parallel task.
const TASK: usize = 1 << 10;

/// Returns a lower bound on the squared distance from each point of this rank to the points of other ranks; infinity if
/// they have none. The bound holds for rounded distances, too.
pub(super) fn gaps2<S: Scalar, const D: usize>(
    domain: &Domain<'_, S, D>,
    regions: &RankBoxes<S, D>,
) -> Result<Vec<f64>> {
    let own = domain.ranks.rank() as u32;
    let others =
        regions.boxes.iter().zip(&regions.rank_of).filter(|(_, rank)| **rank != own).map(|(bounds, _)| *bounds);
    let others = Bvh::build_in(&others.collect::<Vec<_>>(), domain.space)?;
    let points = &domain.points;
    Ok(map(points.len(), TASK, &|row| {
        let nearest = others.nearest(points[row], Nearest::new(1));
        nearest.first().map_or(f64::INFINITY, |nearest| nearest.distance2)
    }))
}

/// The pieces of a rank.
pub(super) struct Pieces {
    /// The piece of each point.
    pub of_row: Vec<u32>,
    /// The number of points of each piece.
    pub sizes: Vec<u64>,
    /// Edges of the spanning tree of all ranks, within pieces.
    pub decided: Vec<Edge>,
    /// Edges between pieces, of which some are in the spanning tree of all ranks.
    pub open: Vec<Edge>,
}

impl Pieces {
    /// Contracts edges, which are those of the spanning tree of `n` points, in ascending order.
    pub fn new(n: usize, edges: &[Edge], gaps2: &[f64]) -> Self {
        let forest = UnionFind::new(n);
        // The least gap of each piece, at its root.
        let mut gaps2 = gaps2.to_vec();
        let (mut decided, mut open) = (vec![], vec![]);
        for edge in edges {
            let ends = [edge.low, edge.high].map(|end| forest.find(end) as usize);
            if ends.iter().any(|&at| edge.weight2 < gaps2[at]) {
                let root = forest.union(edge.low, edge.high) as usize;
                gaps2[root] = gaps2[ends[0]].min(gaps2[ends[1]]);
                decided.push(*edge);
            } else {
                open.push(*edge);
            }
        }
        let (mut of_row, mut sizes) = (filled(n, 0), vec![]);
        for row in 0..n {
            // The root of a tree is its smallest position, so its piece has a number already.
            let root = forest.find(row as u32) as usize;
            if root == row {
                of_row[row] = sizes.len() as u32;
                sizes.push(0);
            }
            of_row[row] = of_row[root];
            sizes[of_row[row] as usize] += 1;
        }
        Self { of_row, sizes, decided, open }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(low: u32, high: u32, weight2: f64) -> Edge {
        Edge { low, high, weight2 }
    }

    /// Points on a line; another rank begins near the last one.
    #[test]
    fn edges_shorter_than_the_way_out_are_decided() {
        let edges = [edge(0, 1, 1.0), edge(3, 4, 1.0), edge(1, 2, 4.0), edge(2, 3, 9.0)];
        let pieces = Pieces::new(5, &edges, &[64.0, 49.0, 25.0, 4.0, 0.5]);
        // The edge of points 3 and 4 is the lightest of point 3. Their piece may have a lighter one to the other rank.
        assert_eq!(pieces.decided, edges);
        assert_eq!(Pieces::new(5, &edges, &[f64::INFINITY; 5]).sizes, [5]);
        let pieces = Pieces::new(5, &edges, &[9.0; 5]);
        assert_eq!((pieces.open, pieces.of_row, pieces.sizes), (vec![edges[3]], vec![0, 0, 0, 1, 1], vec![3, 2]));
        // Equal weights are left open, since indices decide.
        assert_eq!(Pieces::new(5, &edges, &[1.0; 5]).open, edges);
        assert!(Pieces::new(0, &[], &[]).sizes.is_empty());
    }
}

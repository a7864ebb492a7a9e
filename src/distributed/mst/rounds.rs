//! Borůvka's rounds between the pieces of all ranks.
//!
//! In: the pieces of each rank. Out: the edges of the spanning tree of all ranks, some of them twice.
//! In each round, every component of pieces except the largest one finds its lightest edge to another component, and
//! the ranks unite the components that these edges connect. A component is named by a vertex, its root: a piece of
//! some rank, which gathers what all ranks know of the component.
//! Candidates are the open edges of each rank, and edges to points of other ranks. A point searches on the other ranks
//! that have boxes with other components within the lightest candidate of its component. The point nearest to
//! these boxes searches first, so that the others have a near candidate.
//! Cost: at most as many rounds as the number of pieces has bits. Most components merge into the largest in the first
//! one. A round takes O(n) on each rank, and a search for each point that is near another component on another rank.

use crate::bvh::Bvh;
use crate::distributed::communicator::{Communicator, NO_RANK, Reduction, agree, all_gather_v, reduce};
use crate::distributed::components::{connect, rank_of, vertex};
use crate::distributed::domain::Domain;
use crate::distributed::mst::foreign::{ForeignItems, HIDDEN};
use crate::distributed::mst::pieces::Pieces;
use crate::distributed::mst::tree::Edge;
use crate::distributed::regions::{RankBoxes, by_rank, most_boxes, top_nodes};
use crate::distributed::route::Route;
use crate::error::{Error, Result};
use crate::geometry::{Aabb, Scalar};
use crate::memory::filled;
use crate::parallel::{list_tasks, map};

/// Queries per parallel task.
const TASK: usize = 1 << 8;
/// The maximum number of searches that a rank sends, or receives, at once.
const BATCH: usize = 1 << 21;

/// An edge out of a component: the bits of its squared weight, the lower and the higher index of its ends, and the root
/// of the other component. Candidates of a component are ordered like edges.
type Candidate = [u64; 4];

/// No candidate: above all others.
const NONE: Candidate = [u64::MAX; 4];

/// Returns the candidate for an edge between two points.
fn candidate(weight2: f64, ends: [u64; 2], other: u64) -> Candidate {
    [weight2.to_bits(), ends[0].min(ends[1]), ends[0].max(ends[1]), other]
}

/// Returns the squared weight of a candidate, or infinity.
fn bound2(best: &Candidate) -> f64 {
    if *best == NONE { f64::INFINITY } else { f64::from_bits(best[0]) }
}

/// The components of this rank's pieces, and the route from them to the ranks of their roots.
struct Components {
    /// The roots, ascending.
    roots: Vec<u64>,
    route: Route,
    /// The roots that arrive along the route: pieces of this rank.
    arrived: Vec<u64>,
    /// The root of the component with the most points, which searches for no edge.
    largest: u64,
}

impl Components {
    /// Returns the place of a root.
    fn place(&self, root: u64) -> usize {
        self.roots.partition_point(|&other| other < root)
    }

    /// Replaces the candidates of each component by the least of all ranks. Collective.
    fn share(&self, ranks: &dyn Communicator, best: &mut Vec<Candidate>) -> Result<()> {
        let told = self.route.send(ranks, best)?;
        let mut least: Vec<(u64, Candidate)> = self.arrived.iter().copied().zip(told).collect();
        least.sort_unstable();
        least.dedup_by_key(|of| of.0);
        let least_of = |&root: &u64| least[least.partition_point(|of| of.0 < root)].1;
        *best = self.route.send_back(ranks, &self.arrived.iter().map(least_of).collect::<Vec<_>>())?;
        Ok(())
    }
}

/// The pieces of a rank, and the roots of their components.
struct Forest {
    pieces: Pieces,
    roots: Vec<u64>,
}

impl Forest {
    /// Returns the root of a point's component.
    fn root(&self, row: u32) -> u64 {
        self.roots[self.pieces.of_row[row as usize] as usize]
    }
}

/// The state of the rounds.
pub(super) struct Rounds<'a, S, const D: usize> {
    domain: &'a Domain<'a, S, D>,
    tree: &'a Bvh<S, D>,
    regions: &'a RankBoxes<S, D>,
    gaps2: &'a [f64],
    forest: Forest,
}

impl<'a, S: Scalar, const D: usize> Rounds<'a, S, D> {
    pub fn new(
        domain: &'a Domain<'a, S, D>,
        tree: &'a Bvh<S, D>,
        regions: &'a RankBoxes<S, D>,
        gaps2: &'a [f64],
        pieces: Pieces,
    ) -> Self {
        let rank = domain.ranks.rank();
        let roots = (0..pieces.sizes.len() as u32).map(|piece| vertex(rank, piece)).collect();
        Self { domain, tree, regions, gaps2, forest: Forest { pieces, roots } }
    }

    /// Returns edges that together are those of the spanning tree of all ranks. Collective.
    pub fn run(mut self) -> Result<Vec<Edge>> {
        let (ranks, ids) = (self.domain.ranks, &self.domain.ids);
        let of_rows = |edge: &crate::cluster::Edge| {
            // Rows are in the order of global indices.
            let [low, high] = [edge.low, edge.high].map(|row| ids[row as usize]);
            Edge { low, high, weight2: edge.weight2 }
        };
        let mut found: Vec<Edge> = std::mem::take(&mut self.forest.pieces.decided).iter().map(of_rows).collect();
        while let Some(components) = self.components()? {
            let mut best = self.open_candidates(&components);
            components.share(ranks, &mut best)?;
            let there = self.others()?;
            let mut near = near_others(&self, &there, &components, &best);
            self.search(&there, &components, &nearest_of_each(&components, &near), &mut best)?;
            components.share(ranks, &mut best)?;
            near.retain(|row| row.gap2 <= bound2(&best[row.place as usize]));
            self.search(&there, &components, &near, &mut best)?;
            components.share(ranks, &mut best)?;

            let is_own = |root: u64| rank_of(root) == ranks.rank() && root != components.largest;
            let own = components.roots.iter().zip(&best).filter(|(root, _)| is_own(**root));
            let own: Vec<(u32, Candidate)> = own.map(|(&root, &best)| (root as u32, best)).collect();
            let has_edges = own.iter().all(|(_, best)| *best != NONE);
            let missing = || Error::invariant("a component has no edge to another component");
            agree(ranks, has_edges.then_some(()).ok_or_else(missing))?;
            let edge =
                |&(_, [bits, low, high, _]): &(u32, Candidate)| Edge { low, high, weight2: f64::from_bits(bits) };
            found.extend(own.iter().map(edge));
            self.unite(&components, own.iter().map(|&(piece, [.., other])| (piece, other)).collect())?;
        }
        Ok(found)
    }

    /// Gathers the components; `None` if there is only one. Collective.
    fn components(&self) -> Result<Option<Components>> {
        let ranks = self.domain.ranks;
        let mut roots = self.forest.roots.clone();
        roots.sort_unstable();
        roots.dedup();
        let to: Vec<u32> = roots.iter().map(|&root| rank_of(root) as u32).collect();
        let route = Route::to_one(ranks, &to)?;
        let arrived = route.send(ranks, &roots)?;
        let mut components = Components { roots, route, arrived, largest: 0 };
        let is_own = |(root, piece): (&u64, u32)| *root == vertex(ranks.rank(), piece);
        let count = self.forest.roots.iter().zip(0..).filter(|of| is_own(*of)).count();
        if reduce(ranks, count as u64, Reduction::Sum)? <= 1 {
            return Ok(None);
        }
        let mut sizes = filled(components.roots.len(), 0u64);
        for (&root, size) in self.forest.roots.iter().zip(&self.forest.pieces.sizes) {
            sizes[components.place(root)] += size;
        }
        let sizes = components.route.send(ranks, &sizes)?;
        let mut whole = filled(self.forest.roots.len(), 0u64);
        for (&root, size) in components.arrived.iter().zip(sizes) {
            whole[root as u32 as usize] += size;
        }
        let most = reduce(ranks, whole.iter().copied().max().unwrap_or(0), Reduction::Max)?;
        let first = whole.iter().position(|&size| size == most);
        let first = first.map_or(NO_RANK, |piece| vertex(ranks.rank(), piece as u32));
        components.largest = reduce(ranks, first, Reduction::Min)?;
        Ok(Some(components))
    }

    /// Returns the least open edge of each component of this rank, and leaves out the edges within components.
    fn open_candidates(&mut self, components: &Components) -> Vec<Candidate> {
        let mut open = std::mem::take(&mut self.forest.pieces.open);
        let forest = &self.forest;
        open.retain(|edge| forest.root(edge.low) != forest.root(edge.high));
        let mut best = filled(components.roots.len(), NONE);
        for edge in &open {
            let ids = [edge.low, edge.high].map(|row| self.domain.ids[row as usize]);
            let [a, b] = [edge.low, edge.high].map(|row| self.forest.root(row));
            for (own, other) in [(a, b), (b, a)] {
                let best = &mut best[components.place(own)];
                *best = (*best).min(candidate(edge.weight2, ids, other));
            }
        }
        self.forest.pieces.open = open;
        best
    }

    /// Labels the points of this rank and the boxes of all ranks with their components. Collective.
    fn others(&self) -> Result<Others<'_, S, D>> {
        let Self { domain, tree, regions, forest, .. } = self;
        let ranks = domain.ranks;
        let points = ForeignItems::new(tree, (0..domain.points.len() as u32).map(|row| forest.root(row)).collect());
        // The boxes of a rank are those of these nodes.
        let own: Vec<u64> = top_nodes(tree, most_boxes(ranks)).into_iter().map(|node| points.of_node(node)).collect();
        let told = all_gather_v(ranks, &own)?;
        let mut next = filled(ranks.size(), 0);
        let of_box = |&rank: &u32| {
            let rank = rank as usize;
            next[rank] += 1;
            if rank == ranks.rank() { HIDDEN } else { told.of(rank)[next[rank] - 1] }
        };
        let boxes = ForeignItems::new(&regions.tree, regions.rank_of.iter().map(of_box).collect());
        Ok(Others { points, boxes })
    }

    /// Searches on other ranks for the lightest edge of each of `rows`, and lowers the candidates of components.
    /// Collective.
    fn search(
        &self,
        there: &Others<S, D>,
        components: &Components,
        rows: &[NearRow],
        best: &mut [Candidate],
    ) -> Result<()> {
        // Each row may be sent to all ranks.
        let most = (BATCH / self.domain.ranks.size()).max(1);
        let batches = reduce(self.domain.ranks, rows.len().div_ceil(most) as u64, Reduction::Max)?;
        for batch in 0..batches as usize {
            let range = (batch * most).min(rows.len())..((batch + 1) * most).min(rows.len());
            self.search_batch(there, components, &rows[range], best)?;
        }
        Ok(())
    }

    fn search_batch(
        &self,
        there: &Others<S, D>,
        components: &Components,
        rows: &[NearRow],
        best: &mut [Candidate],
    ) -> Result<()> {
        let Self { domain, regions, .. } = self;
        let (ranks, Domain { space, points: stored, ids, .. }) = (domain.ranks, domain);
        let points = map(rows.len(), TASK, &|at| stored[rows[at].row as usize]);
        let roots = map(rows.len(), TASK, &|at| components.roots[rows[at].place as usize]);
        let bounds2 = map(rows.len(), TASK, &|at| bound2(&best[rows[at].place as usize]));
        let targets = list_tasks(rows.len(), TASK, &|range| {
            let mut targets = vec![];
            for at in range {
                let mut met = vec![];
                let from = Aabb::point(space.wrap(points[at]));
                let mut is_met = |near: u32| met.push(regions.rank_of[near as usize]);
                there.boxes.for_each_within(&from, roots[at], bounds2[at], &mut is_met);
                met.sort_unstable();
                met.dedup();
                targets.extend(met.into_iter().map(|rank| (rank, at as u32)));
            }
            targets
        });
        let route = Route::from_lists(ranks, &by_rank(ranks.size(), &targets))?;
        drop(targets);
        let points = route.send(ranks, &points)?;
        let own = route.send(ranks, &roots)?;
        let bounds2 = route.send(ranks, &bounds2)?;
        let answers = map(points.len(), TASK, &|at| {
            let near = there.points.nearest(&Aabb::point(space.wrap(points[at])), own[at], bounds2[at]);
            near.map_or([u64::MAX; 3], |(distance2, row)| {
                [distance2.to_bits(), ids[row as usize], there.points.of_index(row)]
            })
        });
        for (&at, [bits, id, other]) in route.rows().iter().zip(route.answer(ranks, &answers)?) {
            if other != u64::MAX {
                let NearRow { row, place, .. } = rows[at as usize];
                let best = &mut best[place as usize];
                *best = (*best).min(candidate(f64::from_bits(bits), [ids[row as usize], id], other));
            }
        }
        Ok(())
    }

    /// Unites components along edges, from pieces of this rank that are roots to other roots. Collective.
    fn unite(&mut self, components: &Components, edges: Vec<(u32, u64)>) -> Result<()> {
        let ranks = self.domain.ranks;
        let mut renamed: Vec<u64> =
            (0..self.forest.roots.len() as u32).map(|piece| vertex(ranks.rank(), piece)).collect();
        connect(ranks, edges)?.into_iter().for_each(|(piece, root)| renamed[piece as usize] = root);
        let answers: Vec<u64> = components.arrived.iter().map(|&root| renamed[root as u32 as usize]).collect();
        let renamed = components.route.send_back(ranks, &answers)?;
        self.forest.roots.iter_mut().for_each(|root| *root = renamed[components.place(*root)]);
        Ok(())
    }
}

/// The components on this rank and on the others, as searches need them.
struct Others<'a, S, const D: usize> {
    /// The points of this rank.
    points: ForeignItems<'a, S, D>,
    /// The boxes of all ranks; those of this rank are hidden.
    boxes: ForeignItems<'a, S, D>,
}

/// A point that is near a box with another component.
#[derive(Clone, Copy)]
struct NearRow {
    row: u32,
    /// The place of its component.
    place: u32,
    /// The squared distance to the box.
    gap2: f64,
}

/// Returns the points that may have an edge to another rank as light as the candidate of their component.
fn near_others<S: Scalar, const D: usize>(
    rounds: &Rounds<S, D>,
    there: &Others<S, D>,
    components: &Components,
    best: &[Candidate],
) -> Vec<NearRow> {
    let Rounds { domain, gaps2, forest, .. } = rounds;
    let (space, points) = (&domain.space, &domain.points);
    list_tasks(gaps2.len(), TASK, &|range| {
        let near = |row: usize| {
            let root = forest.root(row as u32);
            let place = components.place(root);
            let within2 = bound2(&best[place]);
            if root == components.largest || gaps2[row] > within2 {
                return None;
            }
            let (gap2, _) = there.boxes.nearest(&Aabb::point(space.wrap(points[row])), root, within2)?;
            Some(NearRow { row: row as u32, place: place as u32, gap2 })
        };
        range.filter_map(near).collect()
    })
}

/// Returns the nearest point of each component.
fn nearest_of_each(components: &Components, near: &[NearRow]) -> Vec<NearRow> {
    let mut nearest: Vec<Option<NearRow>> = filled(components.roots.len(), None);
    for row in near {
        let nearest = &mut nearest[row.place as usize];
        if nearest.is_none_or(|nearest| row.gap2 < nearest.gap2) {
            *nearest = Some(*row);
        }
    }
    nearest.into_iter().flatten().collect()
}

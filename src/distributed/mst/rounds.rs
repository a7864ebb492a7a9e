//! Borůvka's rounds between the pieces of all ranks.
//!
//! In: the pieces of each rank. Out: the edges of the spanning tree of all ranks, some of them twice.
//! In each round, every component of pieces except the largest one finds its lightest edge to another component, and
//! the ranks unite the components that these edges connect. A component is named by a vertex, its root: a piece of
//! some rank, which gathers what all ranks know of the component.
//! Candidates are the open edges of each rank, and edges to points of other ranks. A point searches on the other ranks
//! whose boxes are nearer than the lightest candidate of its component. The point nearest to these boxes searches
//! first, so that the others have a near candidate.
//! Cost: at most as many rounds as the number of pieces has bits. Most components merge into the largest in the first
//! one, and few points are nearer to another rank than to the next piece.

use crate::bvh::Bvh;
use crate::distributed::communicator::{Communicator, Reduction, agree, reduce};
use crate::distributed::components::{connect, rank_of, vertex};
use crate::distributed::domain::Domain;
use crate::distributed::mst::pieces::{Pieces, ROUNDED_DOWN};
use crate::distributed::mst::tree::Edge;
use crate::distributed::regions::{BoxDistanceQuery, RankBoxes, by_rank};
use crate::distributed::route::Route;
use crate::error::{Error, Result};
use crate::geometry::{Aabb, Scalar, distance_from_square};
use crate::memory::filled;
use crate::parallel::{list_tasks, map};
use crate::search::Nearest;

/// Queries per parallel task.
const TASK: usize = 1 << 8;

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
        let mut found: Vec<Edge> = self.forest.pieces.decided.iter().map(of_rows).collect();
        while let Some(components) = self.components()? {
            let mut best = self.open_candidates(&components);
            components.share(ranks, &mut best)?;
            let first = self.rows_near_others(&components, &best);
            self.search(&components, &first, &mut best)?;
            components.share(ranks, &mut best)?;
            let rows = self.rows_within(&components, &best);
            self.search(&components, &rows, &mut best)?;
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
        let first = first.map_or(u64::MAX, |piece| vertex(ranks.rank(), piece as u32));
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

    /// Returns the rows that may have an edge to another rank as light as the candidate of their component.
    fn rows_within(&self, components: &Components, best: &[Candidate]) -> Vec<u32> {
        let (gaps2, forest) = (self.gaps2, &self.forest);
        list_tasks(gaps2.len(), TASK, &|range| {
            let may_search = |&row: &u32| {
                let root = forest.root(row);
                let is_within = || ROUNDED_DOWN * gaps2[row as usize] <= bound2(&best[components.place(root)]);
                root != components.largest && is_within()
            };
            (range.start as u32..range.end as u32).filter(may_search).collect()
        })
    }

    /// Returns, for each component, the one of these rows that is nearest to boxes of other ranks.
    fn rows_near_others(&self, components: &Components, best: &[Candidate]) -> Vec<u32> {
        let mut nearest = filled(components.roots.len(), u32::MAX);
        for row in self.rows_within(components, best) {
            let nearest = &mut nearest[components.place(self.forest.root(row))];
            if *nearest == u32::MAX || self.gaps2[row as usize] < self.gaps2[*nearest as usize] {
                *nearest = row;
            }
        }
        nearest.retain(|&row| row != u32::MAX);
        nearest
    }

    /// Searches on other ranks for the lightest edge of each of `rows`, and lowers the candidates of components.
    /// Collective.
    fn search(&self, components: &Components, rows: &[u32], best: &mut [Candidate]) -> Result<()> {
        let Self { domain, tree, regions, forest, .. } = self;
        let (ranks, rank, Domain { space, points: stored, ids, .. }) =
            (domain.ranks, domain.ranks.rank() as u32, domain);
        let points = map(rows.len(), TASK, &|at| stored[rows[at] as usize]);
        let roots = map(rows.len(), TASK, &|at| forest.root(rows[at]));
        let bounds2 = map(rows.len(), TASK, &|at| bound2(&best[components.place(roots[at])]));
        let targets = list_tasks(rows.len(), TASK, &|range| {
            let mut targets = vec![];
            for at in range {
                let bounds = Aabb::point(space.wrap(points[at]));
                let query = BoxDistanceQuery { bounds: &bounds, radius2: bounds2[at] / ROUNDED_DOWN };
                let met = regions.tree.query(query).map(|near| regions.rank_of[near as usize]);
                let mut met: Vec<u32> = met.filter(|&other| other != rank).collect();
                met.sort_unstable();
                met.dedup();
                targets.extend(met.into_iter().map(|rank| (rank, at as u32)));
            }
            targets
        });
        let route = Route::from_lists(ranks, &by_rank(ranks.size(), &targets))?;
        let points = route.send(ranks, &points)?;
        let there = route.send(ranks, &roots)?;
        let bounds2 = route.send(ranks, &bounds2)?;
        let answers = map(points.len(), TASK, &|at| {
            let wanted = Nearest::new(1).within(distance_from_square(bounds2[at]));
            let near = tree.nearest_where(points[at], wanted, |row| forest.root(row) != there[at]);
            near.first().map_or([u64::MAX; 3], |near| {
                [near.distance2.to_bits(), ids[near.index as usize], forest.root(near.index)]
            })
        });
        for (&at, [bits, id, other]) in route.rows().iter().zip(route.answer(ranks, &answers)?) {
            if other != u64::MAX {
                let ids = [ids[rows[at as usize] as usize], id];
                let best = &mut best[components.place(roots[at as usize])];
                *best = (*best).min(candidate(f64::from_bits(bits), ids, other));
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

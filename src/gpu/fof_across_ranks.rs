//! Friends-of-friends groups across ranks that have a device each: the GPU counterpart of `distributed::fof`.
//!
//! In: a domain and, on each rank, a device with the points of its region. Out: labels on the devices, or halos on
//! the hosts.
//! The devices build trees, find groups, and find the groups that ghost points join. Ranks exchange boxes, ghost
//! points and edges between groups through host memory.
//! Cost: that of the groups of each rank's points; the hosts number all groups, at some 30 bytes each.

use crate::cluster::labels::check_clusters;
use crate::distributed::boundary::{Numbered, number, number_roots};
use crate::distributed::communicator::{Communicator, agree, check_same_options};
use crate::distributed::components::{connect, vertex};
use crate::distributed::domain::{Domain, DomainOptions};
use crate::distributed::ghosts::Ghosts;
use crate::distributed::halos::Halos;
use crate::distributed::labels::Labels;
use crate::distributed::regions::{RankBoxes, most_boxes};
use crate::distributed::route::Route;
use crate::distributed::sends::GhostDirection;
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::{Aabb, BoxSize};
use crate::gpu::{self, Bvh, Coordinate, Device, Fof, Groups, Points};
use crate::memory::{filled, zeroed};
use crate::parallel::map;
use crate::phases::mark;

/// Groups per parallel task.
const TASK: usize = 1 << 16;

impl Fof {
    /// Finds the halos of the points of all ranks on GPUs, as [`crate::Fof::run_across`] does on the CPU. `points`
    /// are this rank's points and `device` is its device. Ranks first exchange points between the hosts. Collective.
    ///
    /// # Errors
    /// As [`crate::Fof::run_across`]; if a device fails.
    pub fn run_across<S: Coordinate, const D: usize>(
        &self,
        ranks: &dyn Communicator,
        points: &[[S; D]],
        periodic: impl Into<BoxSize>,
        device: Device,
    ) -> Result<Halos> {
        self.run_on_domain(&DomainOptions::new().periodic(periodic).distribute(ranks, points)?, device)
    }

    /// Finds the halos of the points of a domain, as [`Fof::run_across`] does. Collective.
    ///
    /// # Errors
    /// Fails on all ranks if a device fails, and as [`crate::Fof::run_on_domain`].
    pub fn run_on_domain<S: Coordinate, const D: usize>(
        &self,
        domain: &Domain<'_, S, D>,
        device: Device,
    ) -> Result<Halos> {
        let ranks = domain.ranks;
        let points = agree(ranks, Points::new_in(&domain.points, domain.space, device))?;
        let (groups, edges) = if points.exceed_f32() {
            let tree = points.widened().and_then(|wide| Bvh::from_points(&wide));
            drop(points);
            self.groups_and_edges(domain, &agree(ranks, tree)?)?
        } else {
            let tree = Bvh::from_points(&points);
            drop(points);
            self.groups_and_edges(domain, &agree(ranks, tree)?)?
        };
        let own = agree(ranks, groups.read())?;
        let numbered = number(domain, &own, groups.smallest.len(), edges)?;
        drop(groups);
        let labels = Labels::send_back(domain, &own, &numbered)?;
        Halos::gather(domain, labels, &own, &numbered, self.options.min_members)
    }

    /// Returns the group of each point of a domain, in the order of [`Domain::points`], from which `tree` was built.
    /// Group numbers are global to all ranks; the labels stay on the devices. If the domain keeps points in place, this
    /// is the order in which the rank passed in its points. Collective.
    ///
    /// ```no_run
    /// use ropewalk::distributed::{Communicator, Domain, DomainOptions, on_threads};
    /// use ropewalk::gpu::{Bvh, Device, Fof, Points};
    ///
    /// // Two ranks share a device.
    /// let found = on_threads(2, |ranks| {
    ///     let domain = DomainOptions::new().in_place().distribute(ranks, &[[ranks.rank() as f32, 0.0]])?;
    ///     let tree = Bvh::from_points(&Points::new(domain.points(), Device::first()?)?)?;
    ///     Fof::new(1.0).labels_on_domain(&domain, &tree)?.read()
    /// })?;
    /// assert!(found.iter().all(|labels| labels.as_slice() == [0]));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// - The errors of [`Fof::run_across`].
    /// - `tree` holds other points than the domain, or is in another space.
    /// - All ranks together have more than 2^31 - 1 groups.
    pub fn labels_on_domain<S: Coordinate, const D: usize>(
        &self,
        domain: &Domain<'_, S, D>,
        tree: &Bvh<S, D>,
    ) -> Result<gpu::Labels> {
        let ranks = domain.ranks;
        let (groups, edges) = self.groups_and_edges(domain, tree)?;
        // Borrows these fields because `Domain` itself is not `Sync`.
        let (ids, rows) = (&domain.ids, &groups.smallest);
        let smallest = map(rows.len(), TASK, &|at| ids[rows[at] as usize]);
        let moved = connect(ranks, edges)?;
        // `number_roots` is called for numbers only, not for sizes; `zeroed` leaves the pages untouched.
        let sizes = zeroed(smallest.len());
        let Numbered { numbers, count, .. } = number_roots(domain, smallest, sizes, moved)?;
        let labels = check_clusters(count as usize)
            .and_then(|()| groups.labels(&map(numbers.len(), TASK, &|at| numbers[at] as i32), count as usize));
        let labels = agree(ranks, labels)?;
        mark("renumber");
        Ok(labels)
    }

    /// Returns the groups of this rank's points, and their edges to the groups of other ranks. The tree holds the
    /// points of the domain, perhaps as `f64`. Collective.
    fn groups_and_edges<S: Coordinate, T: Coordinate, const D: usize>(
        &self,
        domain: &Domain<'_, S, D>,
        tree: &Bvh<T, D>,
    ) -> Result<(Groups, Vec<(u32, u64)>)> {
        let (ranks, length) = (domain.ranks, self.options.linking_length);
        agree(ranks, domain.space.check_length("linking_length", length))?;
        check_same_options(ranks, &[("linking_length", length), ("min_members", self.options.min_members as f64)])?;
        let (n, own) = (tree.len(), domain.points.len());
        let is_of_domain = n == own && *tree.space() == domain.space;
        agree(ranks, if is_of_domain { Ok(()) } else { Err(other_tree(n, own)) })?;
        let boxes = agree(ranks, tree.tops(most_boxes(ranks)))?;
        let regions = RankBoxes::from_boxes(domain, boxes.into_iter().map(converted), tree.len())?;
        let rows = agree(ranks, near(ranks.rank(), tree, &regions, length))?;
        let route = Route::from_lists(ranks, &rows)?;
        let points = route.send(ranks, &domain.points)?;
        let ghosts = Ghosts { route, points };
        mark("ghosts");

        let near_points: Vec<[T; D]> = map(ghosts.points.len(), TASK, &|at| ghosts.points[at].map(as_type));
        let mut groups = agree(ranks, Groups::find(tree, &near_points, length))?;
        let met = agree(ranks, groups.ghost_groups())?;
        // Points without a group on this rank that join a group of another rank.
        let is_met = ghosts.route.answer(ranks, &met.iter().map(|&label| u8::from(label >= 0)).collect::<Vec<_>>())?;
        let rows = ghosts.route.rows();
        let alone = agree(ranks, groups.of_rows(rows))?;
        let is_new = |&(at, _): &(usize, &u32)| is_met[at] == 1 && alone[at] < 0;
        let mut new: Vec<u32> = rows.iter().enumerate().filter(is_new).map(|(_, &row)| row).collect();
        new.sort_unstable();
        new.dedup();
        agree(ranks, check_clusters(groups.smallest.len() + new.len()).and_then(|()| groups.add(&new)))?;
        let own = agree(ranks, groups.of_rows(rows))?;
        let theirs = ghosts.route.send_packed(ranks, &own)?;
        let edges = ghosts.ranks().zip(met.iter().zip(theirs)).filter(|(_, (met, _))| **met >= 0);
        let edges = edges.map(|(rank, (&met, theirs))| (met as u32, vertex(rank, theirs as u32))).collect();
        mark("group edges");
        Ok((groups, edges))
    }
}

/// The error for a tree that does not hold the points of the domain.
fn other_tree(points: usize, domain: usize) -> Error {
    let sentence = format!(
        "the tree ({points} points) does not match the points ({domain}) or the space of the domain; build it from domain.points()"
    );
    Error::new(ErrorKind::Parameter, sentence)
}

/// Converts a coordinate of the domain between types; it is a number of both.
fn as_type<S: Coordinate, T: Coordinate>(x: S) -> T {
    T::from_f64(x.into())
}

fn converted<S: Coordinate, T: Coordinate, const D: usize>(Aabb { lo, hi }: Aabb<S, D>) -> Aabb<T, D> {
    Aabb { lo: lo.map(as_type), hi: hi.map(as_type) }
}

/// Returns, for each rank, the points of the tree that may be within `radius` of one of its boxes, in ascending
/// order. Of each two ranks only one sends ([`GhostDirection::One`]).
/// Cost: for each nearby rank, all leaves are compared with its boxes, and the flags of all points are cleared and
/// counted.
fn near<S: Coordinate, T: Coordinate, const D: usize>(
    rank: usize,
    tree: &Bvh<T, D>,
    regions: &RankBoxes<S, D>,
    radius: f64,
) -> Result<Vec<Vec<u32>>> {
    let (own, space) = (converted(tree.bounds()), tree.space());
    // Exceeds the rounding errors of box corners and periodic images.
    let largest = |bounds: &Aabb<S, D>| {
        bounds.lo.iter().chain(&bounds.hi).map(|&x| Into::<f64>::into(x).abs()).fold(0.0, f64::max)
    };
    let period = space.period().map_or(0.0, |period| period.iter().copied().fold(0.0, f64::max));
    let scale = regions.boxes.iter().map(largest).fold(radius.max(period), f64::max);
    let reach = radius + scale * f64::from(f32::EPSILON) * 4.0;
    let asked = match tree.is_empty() {
        true => vec![],
        false => regions.receiver_boxes(rank, GhostDirection::One, &own, space, reach),
    };
    let grown = |&at: &u32| {
        let Aabb { lo, hi } = regions.boxes[at as usize];
        let by = |x: S, reach: f64| T::from_f64(Into::<f64>::into(x) + reach);
        Aabb { lo: lo.map(|x| by(x, -reach)), hi: hi.map(|x| by(x, reach)) }
    };
    let mut lists = filled(regions.counts.len(), vec![]);
    for of_rank in asked.chunk_by(|&a, &b| regions.rank_of[a as usize] == regions.rank_of[b as usize]) {
        let mut rows = tree.in_boxes(&of_rank.iter().map(grown).collect::<Vec<_>>())?;
        rows.sort_unstable();
        lists[regions.rank_of[of_rank[0] as usize] as usize] = rows;
    }
    Ok(lists)
}

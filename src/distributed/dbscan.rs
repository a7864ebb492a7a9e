//! DBSCAN across ranks.

use crate::bvh::Bvh;
use crate::cluster::Dbscan;
use crate::cluster::dbscan::across_ranks::{CoreClusters, core_clusters, core_of, join_borders};
use crate::distributed::boundary::{NONE, Numbered, number};
use crate::distributed::communicator::{Communicator, agree, check_same_options};
use crate::distributed::components::vertex;
use crate::distributed::domain::{Domain, DomainOptions};
use crate::distributed::ghost_contacts::{component_contacts, map_points_near_ghosts};
use crate::distributed::ghosts::Ghosts;
use crate::distributed::labels::Labels;
use crate::distributed::regions::RankBoxes;
use crate::distributed::sends::GhostDirection;
use crate::error::Result;
use crate::geometry::Scalar;
use crate::parallel::map;
use crate::phases::mark;

/// Points per parallel task.
const TASK: usize = 1 << 14;

impl Dbscan {
    /// Finds the clusters of the points of all ranks. `points` are those of this rank. The labels equal those that
    /// [`Dbscan::run`] computes for all points in one process, for any number of ranks. Collective.
    ///
    /// Each rank decides which points of its region are core, counting ghosts as neighbours, and sends the result to
    /// the ranks that hold them as ghosts. Then core points are united on each rank and across ranks. Border points
    /// join once clusters have their numbers.
    ///
    /// ```
    /// use ropewalk::{Dbscan, distributed::{Communicator, on_threads}};
    ///
    /// let labels = on_threads(4, |ranks| {
    ///     let points = [[ranks.rank() as f32, 0.0]];
    ///     let labels = Dbscan::new(1.0, 3).run_across(ranks, &points)?;
    ///     Ok((labels.as_slice()[0], labels.is_core(0)))
    /// })?;
    /// assert_eq!(labels, [(0, false), (0, true), (0, true), (0, false)]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails on all ranks if one has input that [`Dbscan::run`] rejects, if options differ, if weights are given
    /// (they are not supported), or if a rank has ended.
    pub fn run_across<S: Scalar, const D: usize>(&self, ranks: &dyn Communicator, points: &[[S; D]]) -> Result<Labels> {
        let mut domain = DomainOptions::new().periodic(self.size().clone()).distribute(ranks, points)?;
        let tree = agree(ranks, Bvh::build_in(&domain.points, domain.space))?;
        // The tree holds a copy of the points.
        domain.points = vec![];
        self.run_in(&domain, tree)
    }

    /// Finds the clusters of the points of a domain, in its space (open or periodic). Collective.
    ///
    /// # Errors
    /// As [`Dbscan::run_across`], for the options.
    pub fn run_on_domain<S: Scalar, const D: usize>(&self, domain: &Domain<'_, S, D>) -> Result<Labels> {
        let tree = agree(domain.ranks, Bvh::build_in(&domain.points, domain.space))?;
        self.run_in(domain, tree)
    }

    /// Finds the clusters; `tree` holds the domain's points.
    fn run_in<S: Scalar, const D: usize>(&self, domain: &Domain<'_, S, D>, tree: Bvh<S, D>) -> Result<Labels> {
        let ranks = domain.ranks;
        agree(ranks, self.check_across(&domain.space))?;
        check_same_options(ranks, &self.options())?;
        let here = RankWithGhosts::new(self, domain, tree)?;
        let core = here.core()?;
        let clusters = agree(ranks, core_clusters(&here.tree, self, &core))?;
        mark("walk, union");
        let (labels, count) = clusters.labels(here.tree.order());
        let core_ghosts = here.core_ghosts(&labels)?;
        let edges = here.edges(&clusters, &labels, &core_ghosts);
        let Numbered { numbers, count: n_clusters, .. } = number(domain, &labels, count, edges)?;

        let of = |label: i32| usize::try_from(label).map_or(NONE, |label| numbers[label]);
        let theirs = here.ghosts.route.send(ranks, &map(labels.len(), TASK, &|row| of(labels[row])))?;
        drop(labels);
        let least = here.join(clusters, &numbers, &core, &core_ghosts, &theirs)?;
        drop(here);
        // The number and the core flag in one message.
        let told = |row: usize| match least[row] {
            NONE => NONE,
            number => number << 1 | u64::from(core[row] != 0),
        };
        let told = domain.home.send_back(ranks, &map(least.len(), TASK, &told))?;
        mark("borders, labels");
        let labels = told.iter().map(|&told| if told == NONE { -1 } else { (told >> 1) as i64 }).collect();
        let core = told.iter().map(|&told| told != NONE && told & 1 == 1).collect();
        Ok(Labels { labels, core: Some(core), n_clusters })
    }
}

/// The points of a rank's region, and those of other ranks within `eps`.
struct RankWithGhosts<'a, S, const D: usize> {
    options: &'a Dbscan,
    domain: &'a Domain<'a, S, D>,
    tree: Bvh<S, D>,
    ghosts: Ghosts<S, D>,
}

/// Ghosts that are core points.
struct CoreGhosts<S, const D: usize> {
    points: Vec<[S; D]>,
    /// The index of each among the ghosts.
    ghosts: Vec<u32>,
    /// The cluster of each, as a vertex of the rank that owns the point.
    clusters: Vec<u64>,
}

impl<'a, S: Scalar, const D: usize> RankWithGhosts<'a, S, D> {
    /// Builds the ghosts. Collective.
    fn new(options: &'a Dbscan, domain: &'a Domain<'a, S, D>, tree: Bvh<S, D>) -> Result<Self> {
        let regions = RankBoxes::new(domain, &tree)?;
        let ghosts = Ghosts::within(domain.ranks, &tree, &regions, options.eps(), GhostDirection::Both)?;
        Ok(Self { options, domain, tree, ghosts })
    }

    /// Returns 1 for each core point and 0 for others. Collective.
    fn core(&self) -> Result<Vec<u8>> {
        let Self { options, domain, tree, ghosts } = self;
        let mut core = core_of(tree, options);
        let near = agree(domain.ranks, Bvh::build_in(&ghosts.points, domain.space))?;
        // Points with too few neighbours on this rank: their ball holds fewer than `min_samples` points, so counting
        // all is cheap.
        let more =
            map_points_near_ghosts(tree, &near, options.eps(), &|row| core[row as usize] == 0, &|ball, ghosts| {
                let missing = options.min_samples().saturating_sub(tree.query(ball).count());
                (ghosts.take(missing).count() == missing).then_some(())
            });
        more.into_iter().for_each(|(row, ())| core[row as usize] = 1);
        mark("core");
        Ok(core)
    }

    /// Returns the ghosts that are core points. `labels` holds the cluster of each core point of this rank, and is
    /// negative for other points. Collective.
    fn core_ghosts(&self, labels: &[i32]) -> Result<CoreGhosts<S, D>> {
        let theirs = self.ghosts.route.send(self.domain.ranks, labels)?;
        let of = self.ghosts.ranks().zip(&theirs).zip(0u32..).filter(|((_, their), _)| **their >= 0);
        let (ghosts, clusters): (Vec<u32>, Vec<u64>) =
            of.map(|((rank, &their), ghost)| (ghost, vertex(rank, their as u32))).unzip();
        let points = ghosts.iter().map(|&ghost| self.ghosts.points[ghost as usize]).collect();
        Ok(CoreGhosts { points, ghosts, clusters })
    }

    /// Returns edges between clusters of this rank and clusters of other ranks with a core point within `eps` of one
    /// of their core points.
    fn edges(&self, clusters: &CoreClusters, labels: &[i32], ghosts: &CoreGhosts<S, D>) -> Vec<(u32, u64)> {
        let Self { options, tree, .. } = self;
        let of = |(at, ghost): (u32, u32)| {
            (labels[tree.order()[at as usize] as usize] as u32, ghosts.clusters[ghost as usize])
        };
        let contacts = component_contacts(tree, &|at| clusters.root(at), &ghosts.points, options.eps());
        contacts.into_iter().map(of).collect()
    }

    /// Returns the number of each point's cluster, or [`NONE`]. A border point joins the cluster with the
    /// smallest number near it. `numbers` holds the numbers of clusters, `theirs` those of ghosts. Collective.
    fn join(
        &self,
        clusters: CoreClusters,
        numbers: &[u64],
        core: &[u8],
        ghosts: &CoreGhosts<S, D>,
        theirs: &[u64],
    ) -> Result<Vec<u64>> {
        let Self { options, domain, tree, .. } = self;
        // Clusters are renumbered from 0 in the order of their global numbers, so that border points join the
        // smallest one.
        let mut met = numbers.to_vec();
        met.sort_unstable();
        met.dedup();
        let place = |cluster: u32| met.partition_point(|&number| number < numbers[cluster as usize]) as u32;
        let joined = join_borders(tree, options, clusters.renumber(&place));
        let mut least = map(core.len(), TASK, &|row| joined.get(row).map_or(NONE, |place| met[place as usize]));
        let near = agree(domain.ranks, Bvh::build_in(&ghosts.points, domain.space))?;
        let may_join = |row: u32| core[row as usize] == 0 && !options.is_star();
        let joined = map_points_near_ghosts(tree, &near, options.eps(), &may_join, &|_, near| {
            near.map(|ghost| theirs[ghosts.ghosts[ghost as usize] as usize]).min()
        });
        joined.into_iter().for_each(|(row, number)| least[row as usize] = least[row as usize].min(number));
        Ok(least)
    }
}

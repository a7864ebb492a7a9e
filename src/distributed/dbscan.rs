//! DBSCAN across ranks.

use crate::cluster::Dbscan;
use crate::cluster::dbscan::steps::{core_clusters, core_of, join_borders};
use crate::distributed::boundary::{NONE, Numbered, number};
use crate::distributed::communicator::{Communicator, agree};
use crate::distributed::domain::Domain;
use crate::distributed::fof::with_ghosts;
use crate::distributed::ghosts::Ghosts;
use crate::distributed::labels::Labels;
use crate::error::Result;
use crate::geometry::Scalar;
use crate::parallel::map;
use crate::phases::mark;

/// Points per parallel task.
const TASK: usize = 1 << 14;

impl Dbscan {
    /// The clusters of the points of all ranks, of which `points` are this rank's: the labels that [`Dbscan::run`] gives to all of them in
    /// one process, for any number of ranks. Collective.
    ///
    /// Whether a point is core is counted where it lives, with its ghosts; ghosts are told. Then core points are united on each rank and across
    /// ranks; border points join when numbers are known.
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
    /// On all ranks what [`Dbscan::run`] refuses on one; weights, which are not taken; if a rank has ended.
    pub fn run_across<S: Scalar, const D: usize>(&self, ranks: &dyn Communicator, points: &[[S; D]]) -> Result<Labels> {
        self.run_on_domain(&Domain::new(ranks, points, self.size().clone())?)
    }

    /// The same in a domain, open or periodic as that is. Collective.
    ///
    /// # Errors
    /// As [`Dbscan::run_across`], for the options.
    pub fn run_on_domain<S: Scalar, const D: usize>(&self, domain: &Domain<'_, S, D>) -> Result<Labels> {
        let ranks = domain.ranks;
        agree(ranks, self.check_across(&domain.space))?;
        let ghosts = Ghosts::within(domain, self.eps())?;
        let n = domain.points.len();

        let tree = agree(ranks, with_ghosts(domain, &ghosts))?;
        let mut core = core_of(&tree, self);
        mark("core");
        // Those of ghosts are known where these live.
        core.truncate(n);
        core.extend(ghosts.route.send(ranks, &core)?);
        let clusters = agree(ranks, core_clusters(&tree, self, &core))?;
        mark("walk, union");
        let (labels, count) = clusters.labels(tree.order());
        let Numbered { numbers: mut global, count: n_clusters, .. } = number(domain, &ghosts, &labels, count)?;

        // Clusters of ghosts alone have numbers where these live.
        let of = |label: i32| usize::try_from(label).map_or(NONE, |label| global[label]);
        let theirs = ghosts.route.send(ranks, &map(n, TASK, &|at| of(labels[at])))?;
        for (&label, their) in labels[n..].iter().zip(theirs) {
            if let Ok(label) = usize::try_from(label) {
                global[label] = their;
            }
        }
        // In the order of their numbers they are counted from 0 here, for borders to join the least.
        let mut met = global.clone();
        met.sort_unstable();
        met.dedup();
        let place = |cluster: u32| met.partition_point(|&number| number < global[cluster as usize]) as u32;
        let joined = join_borders(&tree, self, clusters.renumber(&place));
        // The number and whether it is core in one message.
        let told = map(n, TASK, &|at| {
            joined.get(at).map_or(NONE, |place| met[place as usize] << 1 | u64::from(core[at] != 0))
        });
        let told = domain.home.send_back(ranks, &told)?;
        mark("borders, labels");
        let labels = told.iter().map(|&told| if told == NONE { -1 } else { (told >> 1) as i64 }).collect();
        let core = told.iter().map(|&told| told != NONE && told & 1 == 1).collect();
        Ok(Labels { labels, core: Some(core), n_clusters })
    }
}

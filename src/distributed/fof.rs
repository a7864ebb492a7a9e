//! Friends-of-friends groups across ranks.

use crate::bvh::Bvh;
use crate::cluster::Fof;
use crate::cluster::fof::components;
use crate::cluster::relabel::IsCore;
use crate::distributed::boundary::{NONE, Numbered, number};
use crate::distributed::communicator::{Communicator, agree};
use crate::distributed::domain::Domain;
use crate::distributed::ghosts::Ghosts;
use crate::distributed::halos::Halos;
use crate::distributed::labels::Labels;
use crate::error::Result;
use crate::geometry::Scalar;
use crate::parallel::map;
use crate::phases::mark;

/// Points per parallel task.
const TASK: usize = 1 << 14;

impl Fof {
    /// The halos of the points of all ranks, of which `points` are this rank's: the labels and halos that [`Fof::run`] finds among all of
    /// them in one process, for any number of ranks. Collective.
    ///
    /// Memory: beside the points some 50 bytes for each of this rank's region and its ghosts, which are the points of other ranks within a
    /// linking length.
    ///
    /// ```
    /// use ropewalk::{Fof, distributed::{Communicator, on_threads}};
    ///
    /// // Each of four ranks has one point of a row.
    /// let labels = on_threads(4, |ranks| {
    ///     let points = [[ranks.rank() as f32, 0.0]];
    ///     Ok(Fof::new(1.0).run_across(ranks, &points)?.labels().get(0))
    /// })?;
    /// assert_eq!(labels, [Some(0); 4]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// On all ranks what [`Fof::run`] refuses on one; if a rank has ended.
    pub fn run_across<S: Scalar, const D: usize>(&self, ranks: &dyn Communicator, points: &[[S; D]]) -> Result<Halos> {
        self.run_on_domain(&Domain::new(ranks, points, self.size.clone())?)
    }

    /// The same in a domain, open or periodic as that is. Collective.
    ///
    /// # Errors
    /// As [`Fof::run_across`], for the linking length.
    pub fn run_on_domain<S: Scalar, const D: usize>(&self, domain: &Domain<'_, S, D>) -> Result<Halos> {
        let (labels, numbered) = self.groups(domain)?;
        let least = self.min_members as u64;
        let of = |label: i32| match usize::try_from(label) {
            Ok(label) if numbered.sizes[label] >= least => [numbered.numbers[label], numbered.roots[label]],
            Ok(label) => [numbered.numbers[label], NONE],
            Err(_) => [NONE; 2],
        };
        let told = map(domain.points.len(), TASK, &|at| of(labels[at]));
        let told = domain.home.send_back(domain.ranks, &told)?;
        mark("labels sent back");
        let labels = told.iter().map(|told| told[0] as i64).collect();
        let labels = Labels { labels, core: None, n_clusters: numbered.count };
        let roots: Vec<u64> = told.into_iter().map(|told| told[1]).collect();
        Halos::gather(domain, labels, &roots, &numbered.numbers, self.min_members)
    }

    /// The component of each point of a domain, negative for none, and what is known of these.
    fn groups<S: Scalar, const D: usize>(&self, domain: &Domain<'_, S, D>) -> Result<(Vec<i32>, Numbered)> {
        agree(domain.ranks, domain.space.check_length("linking_length", self.linking_length))?;
        let ghosts = Ghosts::within(domain, self.linking_length)?;
        let local = with_ghosts(domain, &ghosts).and_then(|tree| {
            let forest = components(&tree, self.linking_length);
            let labels = forest.relabel(tree.order(), IsCore::InPairs)?;
            let count = labels.n_clusters() as usize;
            Ok((labels.into_labels(tree.order()).into_vec(), count))
        });
        let (labels, count) = agree(domain.ranks, local)?;
        mark("labels");
        let numbered = number(domain, &ghosts, &labels, count)?;
        Ok((labels, numbered))
    }
}

/// The tree of this rank's points and of ghosts, which come after them.
pub(super) fn with_ghosts<S: Scalar, const D: usize>(
    domain: &Domain<'_, S, D>,
    ghosts: &Ghosts<S, D>,
) -> Result<Bvh<S, D>> {
    if ghosts.points.is_empty() {
        return Bvh::build_in(&domain.points, domain.space);
    }
    Bvh::build_in(&[&domain.points[..], &ghosts.points].concat(), domain.space)
}

//! Friends-of-friends groups across ranks.

use crate::bvh::Bvh;
use crate::cluster::Fof;
use crate::cluster::fof::components;
use crate::cluster::labels::check_clusters;
use crate::cluster::relabel::IsCore;
use crate::distributed::boundary::{Numbered, number};
use crate::distributed::communicator::{Communicator, agree, check_same_options};
use crate::distributed::components::vertex;
use crate::distributed::domain::{Domain, DomainOptions};
use crate::distributed::ghost_contacts::component_contacts;
use crate::distributed::ghosts::Ghosts;
use crate::distributed::halos::Halos;
use crate::distributed::labels::Labels;
use crate::distributed::regions::RankBoxes;
use crate::distributed::sends::GhostDirection;
use crate::error::Result;
use crate::geometry::Scalar;
use crate::memory::zeroed;
use crate::phases::mark;

impl Fof {
    /// Finds the halos of the points of all ranks. `points` are those of this rank. The labels and halos equal those
    /// that [`Fof::run`] finds among all points in one process, for any number of ranks. Collective.
    ///
    /// Memory: 50 to 60 bytes per point of the rank with the most points.
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
    /// Fails on all ranks if one has input that [`Fof::run`] rejects, if options differ, or if a rank has ended.
    /// Fails if the halos that one rank owns have more than 2^32 - 2 members.
    pub fn run_across<S: Scalar, const D: usize>(&self, ranks: &dyn Communicator, points: &[[S; D]]) -> Result<Halos> {
        let mut domain = DomainOptions::new().periodic(self.size.clone()).distribute(ranks, points)?;
        let tree = agree(ranks, Bvh::build_in(&domain.points, domain.space))?;
        // The tree holds a copy of the points.
        domain.points = vec![];
        self.run_in(&domain, tree)
    }

    /// Finds the halos of the points of a domain, in its space (open or periodic). Collective.
    ///
    /// # Errors
    /// As [`Fof::run_across`], for the options.
    pub fn run_on_domain<S: Scalar, const D: usize>(&self, domain: &Domain<'_, S, D>) -> Result<Halos> {
        let tree = agree(domain.ranks, Bvh::build_in(&domain.points, domain.space))?;
        self.run_in(domain, tree)
    }

    /// Finds the halos; `tree` holds the domain's points.
    fn run_in<S: Scalar, const D: usize>(&self, domain: &Domain<'_, S, D>, tree: Bvh<S, D>) -> Result<Halos> {
        let (own, numbered) = self.groups(domain, tree)?;
        let labels = Labels::send_back(domain, &own, &numbered)?;
        Halos::gather(domain, labels, &own, &numbered, self.min_members)
    }

    /// Returns the component of each point of a domain, negative for points alone, and the components' global numbers.
    fn groups<S: Scalar, const D: usize>(
        &self,
        domain: &Domain<'_, S, D>,
        tree: Bvh<S, D>,
    ) -> Result<(Vec<i32>, Numbered)> {
        let (ranks, length) = (domain.ranks, self.linking_length);
        agree(ranks, domain.space.check_length("linking_length", length))?;
        check_same_options(ranks, &[("linking_length", length), ("min_members", self.min_members as f64)])?;
        let regions = RankBoxes::new(domain, &tree)?;
        // One side of each pair of ranks suffices to find the contacts.
        let ghosts = Ghosts::within(ranks, &tree, &regions, length, GhostDirection::One)?;
        drop(regions);

        let groups = components(&tree, length).relabel(tree.order(), IsCore::NotSingle);
        let groups = agree(ranks, groups)?;
        let contacts = component_contacts(&tree, &|at| Some(groups.root(at)), &ghosts.points, length);
        let mut count = groups.n_clusters() as usize;
        let mut labels = groups.into_labels(tree.order()).into_vec();
        mark("labels");

        // Points without friends on this rank that have friends on other ranks.
        let mut is_met = zeroed::<u8>(ghosts.points.len());
        contacts.iter().for_each(|&(_, ghost)| is_met[ghost as usize] = 1);
        let is_met = ghosts.route.answer(ranks, &is_met)?;
        let met_there = ghosts.route.rows().iter().zip(is_met).filter(|(_, is_met)| *is_met == 1).map(|(&row, _)| row);
        let met_here = contacts.iter().map(|&(at, _)| tree.order()[at as usize]);
        let mut met: Vec<u32> = met_there.chain(met_here).filter(|&row| labels[row as usize] < 0).collect();
        met.sort_unstable();
        met.dedup();
        agree(ranks, check_clusters(count + met.len()))?;
        for row in met {
            labels[row as usize] = count as i32;
            count += 1;
        }
        let theirs = ghosts.route.send(ranks, &labels)?;
        let rank_of: Vec<usize> = ghosts.ranks().collect();
        let edge = |&(at, ghost): &(u32, u32)| {
            let label = labels[tree.order()[at as usize] as usize];
            (label as u32, vertex(rank_of[ghost as usize], theirs[ghost as usize] as u32))
        };
        let edges = contacts.iter().map(edge).collect();
        drop((tree, ghosts));
        let numbered = number(domain, &labels, count, edges)?;
        Ok((labels, numbered))
    }
}

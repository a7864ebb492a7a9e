//! HOP across ranks.
//!
//! In: points of all ranks, and masses if they differ. Out: halos, and the density of each point.
//!
//! Steps: ghosts among the nearest neighbours (`neighborhood`), widths and densities of own points, chains
//! (`chains`), groups (`regroup`), labels (`label`). Widths and densities of ghosts come from the ranks that own
//! them. Kernel sums are rounded once, from exact sums, so they equal those of one process.

mod chains;
mod label;
mod neighborhood;
mod regroup;

use crate::cluster::Hop;
use crate::cluster::hop::chains::{ChainInput, next_positions};
use crate::cluster::hop::density::{by_index, check_dimension, densities};
use crate::cluster::hop::regroup::Thresholds;
use crate::cluster::hop::smoothing::Masses;
use crate::cluster::hop::{DensityKernel, check_field};
use crate::distributed::boundary::NONE;
use crate::distributed::communicator::{Communicator, Reduction, agree, check_same_options, reduce};
use crate::distributed::domain::{Domain, DomainOptions};
use crate::distributed::errors::some_ranks_lack;
use crate::distributed::halos::Halos;
use crate::distributed::hop::chains::climb;
use crate::distributed::hop::label::label;
use crate::distributed::hop::neighborhood::Neighborhood;
use crate::distributed::hop::regroup::groups;
use crate::error::Result;
use crate::geometry::Scalar;
use crate::mass_sum::MassSum;
use crate::memory::filled;
use crate::parallel::map;
use crate::phases::mark;
use crate::search::nearest::kth_distances2;

/// Points per parallel task.
const TASK: usize = 1 << 14;

impl Hop {
    /// Finds the halos of the points of all ranks. `points` and masses are those of this rank. Collective.
    ///
    /// Labels, halos and densities equal those that [`Hop::run`] and [`Hop::chains`] compute for all points in one
    /// process, for any number of ranks.
    ///
    /// Memory: besides the points, a tree and columns for the points of this rank's region and its ghosts. Ghosts are
    /// the points of other ranks among the `n_density` nearest neighbours of a point here, and points that have a
    /// point here among their own nearest neighbours. Boundaries between chains of at least the outer density are
    /// sent to rank 0, at most one for each chain of each rank.
    ///
    /// ```
    /// use ropewalk::{Hop, distributed::{Communicator, on_threads}};
    ///
    /// // Two clumps of 27 on lattices; each rank has every third point.
    /// let corner = |i: u32| if i < 27 { 0.0 } else { 10.0 };
    /// let hop = Hop::new(1.0).n_density(12).n_hop(12);
    /// let counts = on_threads(3, |ranks| {
    ///     let own = (0..54).filter(|i| *i as usize % 3 == ranks.rank());
    ///     let points: Vec<[f64; 3]> = own.map(|i| [i / 9 % 3, i / 3 % 3, i % 3].map(|x| f64::from(x) + corner(i))).collect();
    ///     let halos = hop.run_across(ranks, &points)?;
    ///     Ok((halos.len(), halos.density().map(<[f64]>::len)))
    /// })?;
    /// assert_eq!(counts, [(2, Some(18)); 3]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Fails on all ranks if one has input that [`Hop::run`] rejects, if options differ, or if a rank has ended.
    pub fn run_across<S: Scalar, const D: usize>(&self, ranks: &dyn Communicator, points: &[[S; D]]) -> Result<Halos> {
        self.run_on_domain(&DomainOptions::new().periodic(self.density.size.clone()).distribute(ranks, points)?)
    }

    /// Finds the halos of the points of a domain, in its space (open or periodic). Collective.
    ///
    /// # Errors
    /// As [`Hop::run_across`].
    pub fn run_on_domain<S: Scalar, const D: usize>(&self, domain: &Domain<'_, S, D>) -> Result<Halos> {
        let ranks = domain.ranks;
        let n = domain.len() as usize;
        let own = (domain.own().end - domain.own().start) as usize;
        let checked = self.thresholds().and_then(|thresholds| {
            self.check_counts(n)?;
            check_dimension::<D>()?;
            Ok((thresholds, self.density.check_share(own, n)?))
        });
        let (thresholds, k) = agree(ranks, checked)?;
        self.check_same_options(ranks, thresholds)?;
        let kernel = self.density.kernel;
        let near = Neighborhood::new(domain, k.max(self.most_near(n)), kernel == DensityKernel::Symmetric)?;
        let (masses, total) = self.masses_in(domain, &near)?;

        let mut radius2 = if near.tree.is_empty() { vec![] } else { kth_distances2(&near.tree, k) };
        let own = near.own(domain.points.len(), &by_index(near.tree.order(), &radius2));
        // The widths of ghosts are computed on the ranks that own them.
        radius2 = near.in_tree_order(&near.with_ghosts(domain, &own)?);
        drop(own);
        mark("widths");
        let is_ghost = near.in_tree_order(&near.is_ghost);
        let volume = self.density.volume_in(&near.bounds, &domain.space);
        let unit = if n == 0 { Ok(1.0) } else { self.density.unit_of(&|| total, volume) };
        let in_unit = 1.0 / agree(ranks, unit)?;
        let density = if near.tree.is_empty() {
            vec![]
        } else {
            densities(&near.tree, &self.density, &masses, &radius2, in_unit, &is_ghost)
        };
        drop(masses);
        let density = near.own(domain.points.len(), &by_index(near.tree.order(), &density));
        mark("densities");
        let radius2 = Some(radius2).filter(|_| Some(k) == self.n_hop.checked_add(1));
        self.halos_of(domain, &near, &density, radius2, thresholds)
    }

    /// Finds the halos of a field that replaces the density. `field` has a value for each point that this rank passed
    /// in; thresholds are in its unit. Collective.
    ///
    /// The halos equal those of [`Hop::chains_with_density`] and [`Hop::run_on_chains`] in one process.
    ///
    /// ```
    /// use ropewalk::{Hop, distributed::{Communicator, Domain, on_threads}};
    ///
    /// let labels = on_threads(5, |ranks| {
    ///     let (x, value) = [(0.0f32, 9.0), (1.0, 5.0), (2.5, 2.0), (4.0, 4.0), (5.0, 7.0)][ranks.rank()];
    ///     let domain = Domain::new(ranks, &[[x, 0.0]])?;
    ///     let hop = Hop::new(1.0).n_hop(2).n_merge(1).delta_saddle(3.0).delta_peak(6.0);
    ///     Ok(hop.run_on_domain_with_density(&domain, &[value])?.labels().get(0))
    /// })?;
    /// assert_eq!(labels, [0, 0, 0, 1, 1].map(Some));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Hop::run_across`]. Also fails if a value is NaN, or unless there is one value per point.
    pub fn run_on_domain_with_density<S: Scalar, const D: usize>(
        &self,
        domain: &Domain<'_, S, D>,
        field: &[f64],
    ) -> Result<Halos> {
        let n = domain.len() as usize;
        let own = domain.own().end - domain.own().start;
        let checked = self.thresholds().and_then(|thresholds| {
            check_dimension::<D>()?;
            self.check_counts(n)?;
            check_field(field, own as usize)?;
            Ok(thresholds)
        });
        let thresholds = agree(domain.ranks, checked)?;
        self.check_same_options(domain.ranks, thresholds)?;
        let near = Neighborhood::new(domain, self.most_near(n), false)?;
        // Turns -0.0 into 0.0, so that both zeros compare equal.
        let field: Vec<f64> = field.iter().map(|&value| value + 0.0).collect();
        let field = domain.home.send(domain.ranks, &field)?;
        self.halos_of(domain, &near, &field, None, thresholds)
    }

    /// Returns the number of nearest neighbours, including the point itself, that chains and boundaries need among
    /// `n` points.
    fn most_near(&self, n: usize) -> usize {
        self.n_hop.saturating_add(1).min(n).max(self.n_merge.saturating_add(1))
    }

    /// Fails unless all ranks have the same options. Collective.
    fn check_same_options(&self, ranks: &dyn Communicator, thresholds: Thresholds) -> Result<()> {
        let Thresholds { outer, saddle, peak } = thresholds;
        let options = [
            ("n_density", self.density.n_density as f64),
            ("n_hop", self.n_hop as f64),
            ("n_merge", self.n_merge as f64),
            ("delta_outer", outer),
            ("delta_saddle", saddle),
            ("delta_peak", peak),
            ("min_members", self.min_members as f64),
            ("volume", self.density.volume.unwrap_or(f64::NAN)),
            ("kernel", f64::from(self.density.kernel as u8)),
            ("unit", f64::from(self.density.unit as u8)),
        ];
        check_same_options(ranks, &options)
    }

    /// Returns the masses of points and ghosts in tree order, and the total mass of the points of all ranks.
    /// Collective.
    fn masses_in<S: Scalar, const D: usize>(
        &self,
        domain: &Domain<'_, S, D>,
        near: &Neighborhood<S, D>,
    ) -> Result<(Masses, f64)> {
        let ranks = domain.ranks;
        let masses = self.density.masses.as_deref();
        // Ranks without points are ignored.
        let any = |is: bool| reduce(ranks, u64::from(is && !domain.own().is_empty()), Reduction::Max);
        let (some, none) = (any(masses.is_some())? == 1, any(masses.is_none())? == 1);
        if some && none {
            return agree(ranks, Err(some_ranks_lack("masses")));
        }
        if !some {
            return Ok((Masses::Ones, domain.len() as f64));
        }
        let own = masses.unwrap_or_default();
        let mut words = MassSum::from_values(own).words().map(|word| word as u64);
        ranks.all_reduce(&mut words, Reduction::Sum)?;
        let total = MassSum::from_words(&words.map(|word| word as i64)).map_or(f64::NAN, |sum| sum.value());
        // Bit patterns of non-negative numbers are ordered like the numbers.
        let largest = own.iter().fold(0.0, |most: f64, &mass| most.max(mass)) + 0.0;
        let largest = f64::from_bits(reduce(ranks, largest.to_bits(), Reduction::Max)?);
        let masses = near.with_ghosts(domain, &domain.home.send(ranks, own)?)?;
        Ok((Masses::Each { masses: near.in_tree_order(&masses), largest }, total))
    }

    /// Finds the halos, given the density of each point of the domain. `radius2`, in tree order, is reused for the
    /// hops if it has the right number of neighbours. Collective.
    fn halos_of<S: Scalar, const D: usize>(
        &self,
        domain: &Domain<'_, S, D>,
        near: &Neighborhood<S, D>,
        own: &[f64],
        radius2: Option<Vec<f64>>,
        thresholds: Thresholds,
    ) -> Result<Halos> {
        let density = near.with_ghosts(domain, own)?;
        let mut radius2 =
            radius2.unwrap_or_else(|| match (self.n_hop as u64) < domain.len() && !near.tree.is_empty() {
                true => kth_distances2(&near.tree, self.n_hop + 1),
                false => filled(near.tree.len(), f64::INFINITY),
            });
        // The hops of ghosts are found by the ranks that own them.
        for (radius2, &index) in radius2.iter_mut().zip(near.tree.order()) {
            if near.is_ghost[index as usize] {
                *radius2 = 0.0;
            }
        }
        let here = near.in_tree_order(&density);
        let next = next_positions(&near.tree, &ChainInput { density: &here, radius2: &radius2, n_hop: self.n_hop });
        drop((here, radius2));
        let chains = climb(domain, near, &next)?;
        drop(next);
        let groups = groups(domain, near, &chains, &density, self.n_merge, thresholds)?;
        let n_peaks = chains.peaks.len();
        drop((chains, density));
        let member_of = |row: usize| if own[row] >= thresholds.outer { groups[row] } else { NONE };
        let groups = map(own.len(), TASK, &member_of);
        label(domain, own, &groups, n_peaks, self.min_members)
    }
}

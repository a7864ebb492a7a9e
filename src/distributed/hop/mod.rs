//! HOP across ranks.
//!
//! In: points of all ranks, and masses if they differ. Out: halos, and the density of each point.
//!
//! Flow: `neighborhood` (what is near by count, as ghosts), widths and densities of own points, `chains`, `regroup`, labels. Widths and densities
//! of ghosts come from the ranks that they are of. Sums of kernels are exact before they are rounded, so they are those of one process.

mod chains;
mod label;
mod neighborhood;
mod regroup;

use crate::cluster::Hop;
use crate::cluster::hop::chains::{Landscape, hops};
use crate::cluster::hop::density::{by_index, check_dimension, densities};
use crate::cluster::hop::regroup::Thresholds;
use crate::cluster::hop::smoothing::Masses;
use crate::cluster::hop::{DensityKernel, check_field};
use crate::distributed::boundary::NONE;
use crate::distributed::communicator::{Communicator, Reduction, agree, check_same, reduce};
use crate::distributed::domain::Domain;
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
    /// The halos of the points of all ranks, of which `points` are this rank's: the labels, halos and densities that [`Hop::run`] and
    /// [`Hop::chains`] find among all of them in one process, for any number of ranks. Masses are those of this rank's points. Collective.
    ///
    /// Memory: beside the points a tree and columns for each of this rank's region and its ghosts. These are the points of other ranks among the
    /// `n_density` nearest of one here, and those that have one here among theirs. Boundaries between chains of at least the outer density come
    /// to rank 0, at most one for each chain of each rank.
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
    /// On all ranks what [`Hop::run`] refuses on one; options that are not the same on all ranks; if a rank has ended.
    pub fn run_across<S: Scalar, const D: usize>(&self, ranks: &dyn Communicator, points: &[[S; D]]) -> Result<Halos> {
        self.run_on_domain(&Domain::new(ranks, points, self.density.size.clone())?)
    }

    /// The same in a domain, open or periodic as that is. Collective.
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
        self.check_same(ranks, thresholds)?;
        let kernel = self.density.kernel;
        let near = Neighborhood::new(domain, k.max(self.most_near(n)), kernel == DensityKernel::Symmetric)?;
        let (masses, total) = self.masses_in(domain, &near)?;

        let mut radius2 = if near.tree.is_empty() { vec![] } else { kth_distances2(&near.tree, k) };
        let own = near.own(domain.points.len(), &by_index(near.tree.order(), &radius2));
        // Those of ghosts are known where these live.
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

    /// The halos of a field in place of the density, a value for each point that this rank came with: those that [`Hop::chains_of`] and
    /// [`Hop::run_on_chains`] find in one process. Thresholds are in its unit. Collective.
    ///
    /// # Errors
    /// As [`Hop::run_across`]; values that are NaN or not one per point.
    ///
    /// ```
    /// use ropewalk::{Hop, distributed::{Communicator, Domain, on_threads}};
    ///
    /// let labels = on_threads(5, |ranks| {
    ///     let (x, value) = [(0.0f32, 9.0), (1.0, 5.0), (2.5, 2.0), (4.0, 4.0), (5.0, 7.0)][ranks.rank()];
    ///     let domain = Domain::new(ranks, &[[x, 0.0]], None::<f64>)?;
    ///     let hop = Hop::new(1.0).n_hop(2).n_merge(1).delta_saddle(3.0).delta_peak(6.0);
    ///     Ok(hop.run_on_domain_of(&domain, &[value])?.labels().get(0))
    /// })?;
    /// assert_eq!(labels, [0, 0, 0, 1, 1].map(Some));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn run_on_domain_of<S: Scalar, const D: usize>(
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
        self.check_same(domain.ranks, thresholds)?;
        let near = Neighborhood::new(domain, self.most_near(n), false)?;
        // Of two zeros none is larger.
        let field: Vec<f64> = field.iter().map(|&value| value + 0.0).collect();
        let field = domain.home.send(domain.ranks, &field)?;
        self.halos_of(domain, &near, &field, None, thresholds)
    }

    /// How many nearest of `n` points, itself counted, chains and boundaries ask for.
    fn most_near(&self, n: usize) -> usize {
        self.n_hop.saturating_add(1).min(n).max(self.n_merge.saturating_add(1))
    }

    /// Whether all ranks want the same. Collective.
    fn check_same(&self, ranks: &dyn Communicator, thresholds: Thresholds) -> Result<()> {
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
        check_same(ranks, &options)
    }

    /// The masses of points and ghosts in tree order, and what all points weigh. Collective.
    fn masses_in<S: Scalar, const D: usize>(
        &self,
        domain: &Domain<'_, S, D>,
        near: &Neighborhood<S, D>,
    ) -> Result<(Masses, f64)> {
        let ranks = domain.ranks;
        let masses = self.density.masses.as_deref();
        // A rank without points has no say.
        let any = |is: bool| reduce(ranks, u64::from(is && !domain.own().is_empty()), Reduction::Max);
        let (some, none) = (any(masses.is_some())? == 1, any(masses.is_none())? == 1);
        if some && none {
            return agree(ranks, Err(some_ranks_lack("masses")));
        }
        if !some {
            return Ok((Masses::Ones, domain.len() as f64));
        }
        let own = masses.unwrap_or_default();
        let mut words = MassSum::of(own).words().map(|word| word as u64);
        ranks.all_reduce(&mut words, Reduction::Sum)?;
        let total = MassSum::from_words(&words.map(|word| word as i64)).map_or(f64::NAN, |sum| sum.value());
        // Numbers that are not negative are ordered as their bits are.
        let largest = own.iter().fold(0.0, |most: f64, &mass| most.max(mass)) + 0.0;
        let largest = f64::from_bits(reduce(ranks, largest.to_bits(), Reduction::Max)?);
        let masses = near.with_ghosts(domain, &domain.home.send(ranks, own)?)?;
        Ok((Masses::Each { masses: near.in_tree_order(&masses), largest }, total))
    }

    /// The halos where the density of each point of the domain is known; `radius2`, in tree order, if it is what chains ask for. Collective.
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
        // Where ghosts hop, other ranks find.
        for (radius2, &index) in radius2.iter_mut().zip(near.tree.order()) {
            if near.is_ghost[index as usize] {
                *radius2 = 0.0;
            }
        }
        let here = near.in_tree_order(&density);
        let next = hops(&near.tree, &Landscape { density: &here, radius2: &radius2, n_hop: self.n_hop });
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

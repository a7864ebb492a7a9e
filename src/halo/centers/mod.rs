//! Halo centres.
//!
//! In: points and their grouping into halos. Out: [`Centers`], one for each halo, by one of the definitions of
//! [`Center`].
//! Cost: see each definition. Parallel over halos, and within large halos.
//! Source: Sewell et al. 2015 for most bound and most connected particles; other sources are given with their
//! definition.

mod definition;
pub(crate) mod direct;
mod local_expansion;
mod mean;
pub(crate) mod members;
mod most_bound;
mod most_connected;
mod multipole;
mod pairwise_f32;
mod center_positions;
pub(crate) mod potential_threshold;
mod result;
mod small_halo;

pub use center_positions::CenterPositions;
pub use definition::Center;
pub use result::{Centers, HaloCenter, NoCenter};

use std::cmp::Reverse;

use self::direct::MostBound;
use self::members::{ScaledMembers, unwrap};
#[cfg(feature = "gpu")]
pub(crate) use self::members::{exponent, power};
use crate::cancel::guarded;
use crate::cluster::Halos;
use crate::error::{Error, Result};
use crate::geometry::{Boundary, Bounded, BoxSize, Scalar, Space};
use crate::halo::errors;
use crate::parallel::map;

/// A function that finds the member with the lowest potential.
pub(crate) type FindMostBound<'a> = &'a (dyn Fn(&ScaledMembers) -> Result<Option<MostBound>> + Sync);

/// A builder of halo centres: set the options, then call [`CenterFinder::run`].
///
/// ```
/// use ropewalk::halo::CenterFinder;
/// use ropewalk::{Center, Fof};
///
/// let points = [[9.5f32, 5.0, 5.0], [0.25, 5.0, 5.0], [0.5, 5.0, 5.0]];
/// let halos = Fof::new(1.0).periodic(10.0).run(&points)?;
/// let finder = CenterFinder::new(Center::MostBound { softening: 0.0 });
/// let center = finder.run(&points, &halos)?.as_slice()[0];
/// assert_eq!((center.member, center.potential), (Some(1), Some(-1.0 / 0.75 - 1.0 / 0.25)));
///
/// // A heavy particle deepens the potential of the others.
/// let centers = finder.masses(&[9.0, 1.0, 1.0]).run(&points, &halos)?;
/// assert_eq!(centers.as_slice()[0].position, [0.25, 5.0, 5.0]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CenterFinder<'a> {
    center: Center,
    size: BoxSize,
    masses: Option<&'a [f64]>,
}

impl<'a> CenterFinder<'a> {
    /// Creates a finder of centres of this definition, for points of mass 1 in the space of the halos; if that is
    /// unknown, in open space.
    pub fn new(center: Center) -> Self {
        Self { center, size: BoxSize::default(), masses: None }
    }

    /// Sets the side of the periodic box, or one side per axis, in the unit of the points; `None` for the space of the
    /// halos. Default: the space of the halos.
    ///
    /// Halos of a finder store their space, and a different box is an error. Halos from [`Halos::new`] and
    /// [`Halos::from_lists`] store none.
    ///
    /// Each member is taken at its image nearest to the first member. A halo that is at least half as wide as the box
    /// has no defined shape. It has no centre, and its row holds the reason. [`Center::MostConnected`] is an
    /// exception, because it needs only distances up to the linking length.
    #[must_use]
    pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
        self.size = size.into();
        self
    }

    /// Sets the mass of each point, positive and finite. Default: 1.
    #[must_use]
    pub fn masses(mut self, masses: &'a [f64]) -> Self {
        self.masses = Some(masses);
        self
    }

    /// Finds the centre of each halo of `points`, in the order of the halos.
    ///
    /// Points may be any primitives with a bounding box in three dimensions; boxes are represented by their middle.
    /// The result does not depend on the number of threads. The row of a halo without a centre holds the reason
    /// ([`HaloCenter::missing`]); other halos are not affected.
    ///
    /// # Errors
    /// - Halos of another number of points, or of another space.
    /// - Coordinates that are not finite.
    /// - Masses that are not one per point, or not positive and finite.
    /// - A parameter that is out of range.
    /// - A periodic box that is not positive, or smaller than twice the linking length.
    pub fn run<T: Bounded<S, 3>, S: Scalar>(&self, points: &[T], halos: &Halos) -> Result<Centers> {
        guarded(|| self.run_by(points, halos, self.find_most_bound()))
    }

    /// Like [`CenterFinder::run`], with another search for most bound particles.
    pub(crate) fn run_by<T: Bounded<S, 3>, S: Scalar>(
        &self,
        points: &[T],
        halos: &Halos,
        find: FindMostBound<'_>,
    ) -> Result<Centers> {
        self.center.check()?;
        let said = Boundary::from_box_size(&self.size)?;
        let boundary =
            Boundary::common(&[("the halos were found in", halos.boundary()), ("the centres are computed in", &said)])?;
        let space = boundary.space()?;
        self.check_points(points, halos)?;
        let order = balanced_order(halos);
        let rows = map(order.len(), 1, &|at| {
            let halo = order[at];
            Ok((halo, self.run_on(points, halos.members(halo), &space, find)?))
        });
        let mut rows = rows.into_iter().collect::<Result<Vec<(usize, HaloCenter)>>>()?;
        rows.sort_unstable_by_key(|&(index, _)| index);
        Ok(Centers::new(rows.into_iter().map(|(_, center)| center).collect(), halos, boundary))
    }

    /// The search for most bound particles of this definition.
    pub(crate) fn find_most_bound(&self) -> FindMostBound<'static> {
        match self.center {
            Center::MostBoundBrute { .. } => &|members| Ok(direct::most_bound(members)),
            Center::MostBound { .. }
            | Center::MostConnected { .. }
            | Center::CenterOfMass
            | Center::ShrinkingSphere { .. } => &most_bound::most_bound,
        }
    }

    /// The definition of the centres.
    #[cfg(feature = "reference")]
    pub(crate) fn center(&self) -> Center {
        self.center
    }

    /// The centre of one halo. Points and options have been checked; only errors of the members are detected here.
    pub(crate) fn run_on<T: Bounded<S, 3>, S: Scalar>(
        &self,
        points: &[T],
        indices: &[u32],
        space: &Space<3>,
        find: FindMostBound<'_>,
    ) -> Result<HaloCenter> {
        if let Center::MostConnected { linking_length } = self.center {
            return most_connected::most_connected(points, indices, linking_length, space);
        }
        let position = |member: usize| points[indices[member] as usize].bounds().center().map(Into::into);
        let mass = |member: usize| self.masses.map_or(1.0, |masses| masses[indices[member] as usize]);
        self.find(indices, &position, &mass, space, find)
    }

    /// The centre of a halo with positions and masses as functions of a member's number.
    pub(crate) fn find(
        &self,
        indices: &[u32],
        position: &dyn Fn(usize) -> [f64; 3],
        mass: &dyn Fn(usize) -> f64,
        space: &Space<3>,
        find: FindMostBound<'_>,
    ) -> Result<HaloCenter> {
        let mut offsets: Vec<[f64; 3]> = (0..indices.len()).map(position).collect();
        let first = offsets.first().copied().unwrap_or([f64::NAN; 3]);
        if let Err(reason) = unwrap(&mut offsets, space) {
            return Ok(HaloCenter::none(reason));
        }
        let at = |offset: [f64; 3]| {
            let place = std::array::from_fn(|k| first[k] + offset[k]);
            HaloCenter::at(space.wrap(place))
        };
        let softening = match self.center {
            Center::MostBound { softening } | Center::MostBoundBrute { softening } => softening,
            Center::CenterOfMass => return Ok(at(mean::center_of_mass(&offsets, mass))),
            Center::ShrinkingSphere { shrink, least } => {
                return Ok(at(mean::shrinking_sphere(&offsets, mass, shrink, least)));
            }
            Center::MostConnected { .. } => return Ok(HaloCenter::at(first)),
        };
        let members = ScaledMembers::new(&offsets, mass, softening);
        // Every search finds a member if there is one; direct sums do so by definition.
        let Some(MostBound { best, pairs, coincident }) = find(&members)?.or_else(|| direct::most_bound(&members))
        else {
            return Ok(HaloCenter::none(NoCenter::NoMembers));
        };
        let member = best.member as usize;
        Ok(HaloCenter {
            member: Some(indices[member]),
            potential: Some(members.potential(best.potential)),
            coincident,
            pairs,
            ..HaloCenter::at(space.wrap(position(member)))
        })
    }

    fn check_points<T: Bounded<S, 3>, S: Scalar>(&self, points: &[T], halos: &Halos) -> Result<()> {
        crate::bvh::check(points, &Space::OPEN)?;
        self.check_lengths(points.len(), halos.labels().as_slice().len())
    }

    /// Checks all requirements that do not need the points themselves.
    pub(crate) fn check_lengths(&self, points: usize, labels: usize) -> Result<()> {
        for (what, len) in [("labels", Some(labels)), ("masses", self.masses.map(<[f64]>::len))] {
            if let Some(len) = len.filter(|&len| len != points) {
                return Err(Error::length(what, len, points));
            }
        }
        let is_bad = |mass: &f64| !(*mass > 0.0 && *mass < f64::INFINITY);
        match self.masses.and_then(|masses| masses.iter().position(is_bad).map(|index| (index, masses[index]))) {
            Some((index, mass)) => Err(errors::no_mass(index, mass)),
            None => Ok(()),
        }
    }
}

/// The halos from large to small, dealt in turn to one block per thread, so that no thread meets a large halo at the
/// end.
fn balanced_order(halos: &Halos) -> Vec<usize> {
    let mut order: Vec<usize> = (0..halos.len()).collect();
    order.sort_unstable_by_key(|&halo| (Reverse(halos.members(halo).len()), halo));
    let threads = rayon::current_num_threads();
    (0..threads).flat_map(|thread| order.iter().copied().skip(thread).step_by(threads)).collect()
}

impl Halos {
    /// Finds the centre of each halo, for points of mass 1. The space is that of the halos, or open if that is unknown.
    /// For masses and other boxes see [`CenterFinder`].
    ///
    /// # Errors
    /// As for [`CenterFinder::run`].
    ///
    /// # Example
    ///
    /// ```
    /// use ropewalk::{Center, Fof};
    ///
    /// let points = [[0.0f64, 0.0, 0.0], [1.0, 0.0, 0.0], [1.5, 0.0, 0.0]];
    /// let halos = Fof::new(1.0).run(&points)?;
    /// let bound = halos.centers(&points, Center::MostBound { softening: 0.0 })?;
    /// assert_eq!(bound.as_slice()[0].member, Some(1));
    /// let mean = halos.centers(&points, Center::CenterOfMass)?;
    /// assert_eq!(mean.as_slice()[0].position, [2.5 / 3.0, 0.0, 0.0]);
    ///
    /// // Across the boundary of a box that the halos store.
    /// let points = [[9.75f64, 5.0, 5.0], [0.75, 5.0, 5.0]];
    /// let halos = Fof::new(1.0).periodic(10.0).run(&points)?;
    /// assert_eq!(halos.centers(&points, Center::CenterOfMass)?.as_slice()[0].position, [0.25, 5.0, 5.0]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn centers<T: Bounded<S, 3>, S: Scalar>(&self, points: &[T], center: Center) -> Result<Centers> {
        CenterFinder::new(center).run(points, self)
    }
}

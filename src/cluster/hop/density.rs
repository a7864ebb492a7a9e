//! Densities of particles: a kernel as wide as its nearest neighbours are far.
//!
//! In: points, and masses if they differ. Out: a density each. The widths come first, from the distance of each point's last neighbour
//! (`search::nearest`); then each point gathers from all that its kernel reaches and all whose kernel reaches it (`smoothing`), so no
//! lists are kept. Source: Eisenstein and Hut 1998, section 2.1; Hernquist and Katz 1989 for the symmetric kernel; Monaghan and
//! Lattanzio 1985 for the spline.

use crate::cancel::guarded;
use crate::cluster::errors;
use crate::geometry::errors::has_extent;
use std::f64::consts::PI;

use super::smoothing::{Masses, TopHat, gather, top_hat};
use crate::bvh::Bvh;
use crate::error::{Error, Result};
use crate::geometry::{Aabb, Bounded, BoxSize, Scalar, Space};
use crate::mass_sum::MassSum;
use crate::memory::{filled, zeroed};
use crate::parallel::fill;
use crate::phases::mark;
use crate::precompiled::precompiled;
use crate::search::nearest::kth_distances2;

/// Points per parallel task.
const TASK: usize = 1 << 14;

/// How a density is made of neighbours. h(i) is half the distance from particle i to the nearest one behind its `n_density` nearest, itself
/// counted; W(r, h) is the cubic spline (M4), which ends at r = 2h: in three dimensions 1/(pi h^3) (1 - 3/2 q^2 + 3/4 q^3) for
/// q = r/h < 1, 1/(4 pi h^3) (2 - q)^3 for q < 2; in the plane with 10/(7 pi h^2) for 1/(pi h^3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum DensityKernel {
    /// The sum over all particles j of m(j) (W(r, h(i)) + W(r, h(j))) / 2.
    #[default]
    Symmetric,
    /// The sum of m(j) W(r, h(i)).
    Gather,
    /// The masses of the `n_density` nearest, itself counted and the last at full weight, over the volume of the ball up to the last;
    /// ties by index.
    TopHat,
}

/// What densities are measured in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum DensityUnit {
    /// The mean density: the sum of masses over the volume, see [`KernelDensity::volume`].
    #[default]
    Mean,
    /// Mass over volume, in the units of the masses and the points.
    Absolute,
}

/// Densities of particles from their nearest neighbours, in two or three dimensions: the densities of [`Hop`](crate::Hop).
///
/// ```
/// use ropewalk::KernelDensity;
///
/// // A lattice: each density is the same, and about the mean.
/// let points: Vec<[f64; 3]> = (0..512).map(|i| [i / 64, i / 8 % 8, i % 8].map(f64::from)).collect();
/// let densities = KernelDensity::new().periodic(8.0).run(&points)?;
/// assert!(densities.iter().all(|&density| (density - 1.0).abs() < 0.02));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KernelDensity {
    pub(crate) n_density: usize,
    pub(crate) kernel: DensityKernel,
    pub(crate) unit: DensityUnit,
    pub(crate) volume: Option<f64>,
    pub(crate) masses: Option<Vec<f64>>,
    pub(crate) size: BoxSize,
}

impl Default for KernelDensity {
    fn default() -> Self {
        Self {
            n_density: 64,
            kernel: DensityKernel::Symmetric,
            unit: DensityUnit::Mean,
            volume: None,
            masses: None,
            size: BoxSize::default(),
        }
    }
}

/// Defines setters for options with a field `density: KernelDensity`: of the field, and of its masses, volume and box.
macro_rules! density_options {
    () => {
        /// Sets how densities are found, and in what space; thresholds have their unit.
        #[must_use]
        pub fn density(mut self, density: KernelDensity) -> Self {
            self.density = density;
            self
        }

        /// Sets the masses, as [`KernelDensity::masses`] does.
        #[must_use]
        pub fn masses(mut self, masses: impl Into<Vec<f64>>) -> Self {
            self.density = self.density.masses(masses);
            self
        }

        /// Sets the volume, as [`KernelDensity::volume`] does.
        #[must_use]
        pub fn volume(mut self, volume: impl Into<f64>) -> Self {
            self.density = self.density.volume(volume);
            self
        }

        /// Sets the periodic box, as [`KernelDensity::periodic`] does.
        #[must_use]
        pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
            self.density = self.density.periodic(size);
            self
        }
    };
}
pub(crate) use density_options;

impl KernelDensity {
    /// 64 neighbours, the symmetric kernel, equal masses of 1, in units of the mean density, in open space.
    pub fn new() -> Self {
        Self::default()
    }

    /// So many neighbours make a density, the particle itself counted.
    #[must_use]
    pub fn n_density(mut self, n_density: usize) -> Self {
        self.n_density = n_density;
        self
    }

    /// How neighbours make a density.
    #[must_use]
    pub fn kernel(mut self, kernel: DensityKernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// What densities are measured in.
    #[must_use]
    pub fn unit(mut self, unit: DensityUnit) -> Self {
        self.unit = unit;
        self
    }

    /// The volume (in the plane the area) whose mean density is the unit. By default that of the periodic box, or in open space that of the
    /// smallest box around the points.
    #[must_use]
    pub fn volume(mut self, volume: impl Into<f64>) -> Self {
        self.volume = Some(volume.into());
        self
    }

    /// A mass each, finite and not negative; 1 for all by default.
    #[must_use]
    pub fn masses(mut self, masses: impl Into<Vec<f64>>) -> Self {
        self.masses = Some(masses.into());
        self
    }

    /// A periodic box: one side, or one per axis; `None` for open space. Distances are those to the nearest image.
    #[must_use]
    pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
        self.size = size.into();
        self
    }

    /// The density of each point.
    ///
    /// Sums are exact to 70 bits of what the largest mass everywhere would give, and then rounded: so densities depend neither on the
    /// order of the points nor on the number of threads. Where more than `n_density` points are at one place (`n_density`, for the top
    /// hat) their density is infinite, as it is where it would be beyond `f64` with the largest of the masses, or with 1. Without
    /// points there are no densities. Beside the tree it takes some 50 bytes a point at its peak, the result included.
    ///
    /// Errors: an `n_density` of 0, or not less than the number of points (more, for the top hat); masses that are not one per point,
    /// finite and not negative; in units of the mean a volume that is not positive and finite, or masses of 0 in all; points that
    /// [`Bvh::build`] refuses, that have an extent, or other than 2 or 3 dimensions.
    pub fn run<T: Bounded<S, D>, S: Scalar, const D: usize>(&self, points: &[T]) -> Result<Vec<f64>> {
        guarded(|| self.run_on(&Bvh::build_in(points, Space::periodic(self.size.clone())?)?))
    }

    /// The density of each point of a tree that is already built, open or periodic as the tree is.
    ///
    /// Errors: as [`KernelDensity::run`].
    pub fn run_on<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> Result<Vec<f64>> {
        guarded(|| Ok(by_index(tree.order(), &self.found_in(tree)?.density)))
    }

    pub(super) fn found_in<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> Result<Densities> {
        check_points(tree)?;
        let k = self.check(tree.len())?;
        if tree.is_empty() {
            return Ok(Densities { density: vec![], radius2: vec![], k });
        }
        let in_unit = 1.0 / self.unit_density(tree.len(), self.volume_of(tree))?;
        let radius2 = kth_distances2(tree, k);
        mark("widths");
        let masses = Masses::of(tree.order(), self.masses.as_deref());
        let density = densities(tree, self, &masses, &radius2, in_unit, &[]);
        mark("densities");
        Ok(Densities { density, radius2, k })
    }

    /// The neighbours whose distance is asked for, where there are `n` points.
    pub(crate) fn check(&self, n: usize) -> Result<usize> {
        self.check_share(n, n)
    }

    /// The same where masses are those of only so many of the `n` points.
    pub(crate) fn check_share(&self, own: usize, n: usize) -> Result<usize> {
        let k = if self.kernel == DensityKernel::TopHat { self.n_density } else { self.n_density.saturating_add(1) };
        if self.n_density == 0 {
            return Err(Error::parameter_must("n_density", 0.0, "at least 1"));
        }
        if let Some(masses) = &self.masses {
            if masses.len() != own {
                return Err(Error::length("masses", masses.len(), own));
            }
            if let Some(index) = masses.iter().position(|mass| !(0.0..f64::INFINITY).contains(mass)) {
                return Err(Error::mass(index, masses[index]));
            }
        }
        if k > n && n > 0 {
            let must =
                if k == self.n_density { "at most the number of points" } else { "less than the number of points" };
            return Err(Error::parameter_must("n_density", self.n_density as f64, must));
        }
        Ok(k)
    }

    /// The mass of a point.
    pub(crate) fn mass_of(&self, index: usize) -> f64 {
        self.masses.as_ref().map_or(1.0, |masses| masses[index])
    }

    /// The volume whose mean density is the unit.
    pub(crate) fn volume_of<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> f64 {
        self.volume_in(&tree.bounds(), tree.space())
    }

    /// The same for points within `bounds`.
    pub(crate) fn volume_in<S: Scalar, const D: usize>(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> f64 {
        let side = |k: usize| match space.period() {
            Some(period) => period[k],
            None => bounds.hi[k].into() - bounds.lo[k].into(),
        };
        self.volume.unwrap_or_else(|| (0..D).map(side).product())
    }

    /// What sums are multiplied by.
    pub(crate) fn factor<const D: usize>(&self, in_unit: f64) -> f64 {
        let ball = if D == 2 { PI } else { 4.0 / 3.0 * PI };
        let spline = if D == 2 { 10.0 / (7.0 * PI) } else { 1.0 / PI };
        match self.kernel {
            DensityKernel::TopHat => in_unit / ball,
            DensityKernel::Symmetric => spline / 2.0 * in_unit,
            DensityKernel::Gather => spline * in_unit,
        }
    }

    /// The density that is the unit, of `n` points in a volume.
    pub(crate) fn unit_density(&self, n: usize, volume: f64) -> Result<f64> {
        let mass = || self.masses.as_ref().map_or(n as f64, |masses| MassSum::of(masses).value());
        self.unit_of(&mass, volume)
    }

    /// The same where it is known how much they weigh.
    pub(crate) fn unit_of(&self, mass: &dyn Fn() -> f64, volume: f64) -> Result<f64> {
        if self.unit == DensityUnit::Absolute {
            return Ok(1.0);
        }
        if !(volume > 0.0 && volume < f64::INFINITY) {
            let must = "positive and finite, for densities in units of the mean";
            return Err(Error::parameter_must("volume", volume, must));
        }
        let mass = mass();
        let mean = mass / volume;
        if !mean.is_normal() {
            let must = "positive in all, for densities in units of the mean";
            return Err(Error::parameter_must("masses", mass, must));
        }
        Ok(mean)
    }
}

/// Refuses what has no kernel.
pub(super) fn check_points<S: Scalar, const D: usize>(tree: &Bvh<S, D>) -> Result<()> {
    if !tree.holds_points() {
        return Err(has_extent("densities and HOP are"));
    }
    check_dimension::<D>()
}

/// The same for what is known to be points.
pub(crate) fn check_dimension<const D: usize>() -> Result<()> {
    if (2..=3).contains(&D) { Ok(()) } else { Err(errors::hop_dimension(D)) }
}

/// Values in tree order, in the caller's order.
pub(crate) fn by_index<T: Copy + Default>(order: &[u32], values: &[T]) -> Vec<T> {
    let mut all = filled(values.len(), T::default());
    for (&index, &value) in order.iter().zip(values) {
        all[index as usize] = value;
    }
    all
}

/// What was found, in tree order.
pub(super) struct Densities {
    pub density: Vec<f64>,
    /// The squared distance of the `k`-th nearest, itself counted; negative where another of the k is as far.
    pub radius2: Vec<f64>,
    pub k: usize,
}

impl Masses {
    /// Those of points in this order; 1 each if there are none.
    pub(crate) fn of(order: &[u32], masses: Option<&[f64]>) -> Self {
        let Some(masses) = masses else { return Self::Ones };
        let mut own = zeroed(order.len());
        fill(&mut own, TASK, &|range, own| {
            own.iter_mut().zip(&order[range]).for_each(|(own, &index)| *own = masses[index as usize]);
        });
        Self::Each { largest: own.iter().copied().fold(0.0, f64::max), masses: own }
    }
}

precompiled! {
    /// The density of each position, but for `ghosts`, from the distances that [`kth_distances2`] finds.
    pub(crate) fn densities = find(
        tree: same_ref &Bvh<S, D>, options: keep &KernelDensity, masses: keep &Masses, radius2: keep &[f64],
        in_unit: keep f64, ghosts: keep &[bool]
    ) -> Vec<f64>
}

fn find<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    options: &KernelDensity,
    masses: &Masses,
    radius2: &[f64],
    in_unit: f64,
    ghosts: &[bool],
) -> Vec<f64> {
    let per = options.factor::<D>(in_unit);
    match options.kernel {
        DensityKernel::TopHat => top_hat(tree, radius2, masses, &TopHat { n: options.n_density, per }),
        kernel => {
            let is_symmetric = kernel == DensityKernel::Symmetric;
            gather(tree, radius2, masses, options.n_density, is_symmetric, per, ghosts)
        }
    }
}

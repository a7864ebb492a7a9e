//! Densities of particles, from kernels whose widths are set by the distances of nearest neighbours.
//!
//! In: points, and masses if they differ. Out: a density for each point. First the widths are computed, from the
//! distance of each point's last neighbour (`search::nearest`). Then each point gathers terms from all points within
//! its kernel and from all points whose kernels reach it (`smoothing`), so no lists are stored.
//! Source: Eisenstein and Hut 1998, section 2.1. Hernquist and Katz 1989 for the symmetric kernel. Monaghan and
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

/// The kernel that estimates the density of a particle from its neighbours.
///
/// h(i) is half the distance from particle i to the neighbour after its `n_density` nearest, which include i itself.
/// W(r, h) is the cubic spline (M4), which ends at r = 2h. In three dimensions W is
/// `1/(pi h^3) (1 - 3/2 q^2 + 3/4 q^3)` for `q = r/h < 1`, and `1/(4 pi h^3) (2 - q)^3` for `1 <= q < 2`. In two
/// dimensions `10/(7 pi h^2)` replaces `1/(pi h^3)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum DensityKernel {
    /// The sum over all particles j of m(j) (W(r, h(i)) + W(r, h(j))) / 2.
    #[default]
    Symmetric,
    /// The sum over all particles j of m(j) W(r, h(i)).
    Gather,
    /// The total mass of the `n_density` nearest particles over the volume of the ball up to the last of them. The
    /// particle itself is included, the last has full weight, and ties are broken by index.
    TopHat,
}

/// The unit of densities.
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

/// Densities of particles from their nearest neighbours, in two or three dimensions, as in [`Hop`](crate::Hop).
///
/// ```
/// use ropewalk::cluster::KernelDensity;
///
/// // On a lattice all densities are equal and close to the mean.
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

/// Defines setters for a type with a field `density: KernelDensity`: for the field itself and its masses, volume and
/// box.
macro_rules! density_options {
    () => {
        /// Sets the density estimator, including its kernel, masses, volume and periodic box. Thresholds are in its
        /// unit.
        #[must_use]
        pub fn density(mut self, density: KernelDensity) -> Self {
            self.density = density;
            self
        }

        /// Sets the mass of each point, finite and not negative, for its density. Default: 1.
        #[must_use]
        pub fn masses(mut self, masses: impl Into<Vec<f64>>) -> Self {
            self.density = self.density.masses(masses);
            self
        }

        /// Sets the volume (in two dimensions the area) over which the mean density is taken, in the unit of the points
        /// to the power of their dimension. Default: that of the periodic box, or in open space that of the bounding
        /// box of the points.
        #[must_use]
        pub fn volume(mut self, volume: impl Into<f64>) -> Self {
            self.density = self.density.volume(volume);
            self
        }

        /// Sets the side of the periodic box, or one side per axis, in the unit of the points; `None` for open space.
        /// Default: open space.
        #[must_use]
        pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
            self.density = self.density.periodic(size);
            self
        }
    };
}
pub(crate) use density_options;

impl KernelDensity {
    /// Creates the default options: 64 neighbours, the symmetric kernel, masses of 1, units of the mean density, open
    /// space.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of neighbours that determine a density, the particle itself included; at least 1. Default: 64.
    #[must_use]
    pub fn n_density(mut self, n_density: usize) -> Self {
        self.n_density = n_density;
        self
    }

    /// Sets the kernel of the density sums. Default: [`DensityKernel::Symmetric`].
    #[must_use]
    pub fn kernel(mut self, kernel: DensityKernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// Sets the unit of densities: the mean density, or mass over volume. Default: [`DensityUnit::Mean`].
    #[must_use]
    pub fn unit(mut self, unit: DensityUnit) -> Self {
        self.unit = unit;
        self
    }

    /// Sets the volume (in two dimensions the area) over which the mean density is taken, in the unit of the points to
    /// the power of their dimension. Default: that of the periodic box, or in open space that of the bounding box of
    /// the points.
    #[must_use]
    pub fn volume(mut self, volume: impl Into<f64>) -> Self {
        self.volume = Some(volume.into());
        self
    }

    /// Sets the mass of each point, finite and not negative. Default: 1.
    #[must_use]
    pub fn masses(mut self, masses: impl Into<Vec<f64>>) -> Self {
        self.masses = Some(masses.into());
        self
    }

    /// Sets the side of the periodic box, or one side per axis, in the unit of the points; `None` for open space.
    /// Default: open space. Distances are those to the nearest image.
    #[must_use]
    pub fn periodic(mut self, size: impl Into<BoxSize>) -> Self {
        self.size = size.into();
        self
    }

    /// Computes the density of each point, in the order of `points`.
    ///
    /// Sums are exact to 70 bits of the sum that the largest mass at every point would give, and then rounded. So
    /// densities depend neither on the order of the points nor on the number of threads. Without points the result is
    /// empty.
    ///
    /// A density is infinite if more than `n_density` points coincide (for the top hat: `n_density`). It is also
    /// infinite if it would exceed `f64` with all masses equal to the largest mass, or to 1.
    ///
    /// # Cost
    /// Peak memory beside the tree: about 50 bytes per point, the result included.
    ///
    /// # Errors
    /// - An `n_density` of 0, or not less than the number of points (for the top hat: more than that).
    /// - Masses that are not one per point, finite and not negative.
    /// - In units of the mean density: a volume that is not positive and finite, or a total mass of 0.
    /// - Points that [`Bvh::build`] rejects, primitives with an extent, or other than 2 or 3 dimensions.
    pub fn run<T: Bounded<S, D>, S: Scalar, const D: usize>(&self, points: &[T]) -> Result<Vec<f64>> {
        guarded(|| self.run_on(&Bvh::build_in(points, Space::periodic(self.size.clone())?)?))
    }

    /// Computes the density of each point of an existing tree, in the order of the slice from which it was built. The
    /// space is that of the tree, open or periodic.
    ///
    /// # Errors
    /// As for [`KernelDensity::run`].
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
        let masses = Masses::new(tree.order(), self.masses.as_deref());
        let density = densities(tree, self, &masses, &radius2, in_unit, &[]);
        mark("densities");
        Ok(Densities { density, radius2, k })
    }

    /// Checks the options for `n` points. Returns the number of nearest neighbours, itself included, whose distance is
    /// needed.
    pub(crate) fn check(&self, n: usize) -> Result<usize> {
        self.check_share(n, n)
    }

    /// Like [`KernelDensity::check`], if masses are given for `own` of the `n` points.
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

    /// The volume over which the mean density is taken.
    pub(crate) fn volume_of<S: Scalar, const D: usize>(&self, tree: &Bvh<S, D>) -> f64 {
        self.volume_in(&tree.bounds(), tree.space())
    }

    /// The same volume, for points within `bounds`.
    pub(crate) fn volume_in<S: Scalar, const D: usize>(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> f64 {
        let side = |k: usize| match space.period() {
            Some(period) => period[k],
            None => bounds.hi[k].into() - bounds.lo[k].into(),
        };
        self.volume.unwrap_or_else(|| (0..D).map(side).product())
    }

    /// The factor that converts kernel sums to densities.
    pub(crate) fn factor<const D: usize>(&self, in_unit: f64) -> f64 {
        let ball = if D == 2 { PI } else { 4.0 / 3.0 * PI };
        let spline = if D == 2 { 10.0 / (7.0 * PI) } else { 1.0 / PI };
        match self.kernel {
            DensityKernel::TopHat => in_unit / ball,
            DensityKernel::Symmetric => spline / 2.0 * in_unit,
            DensityKernel::Gather => spline * in_unit,
        }
    }

    /// The density of the unit, for `n` points in a volume.
    pub(crate) fn unit_density(&self, n: usize, volume: f64) -> Result<f64> {
        let mass = || self.masses.as_ref().map_or(n as f64, |masses| MassSum::from_values(masses).value());
        self.unit_of(&mass, volume)
    }

    /// The density of the unit, for points with a known total mass.
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
            let must = "positive in total, for densities in units of the mean";
            return Err(Error::parameter_must("masses", mass, must));
        }
        Ok(mean)
    }
}

/// Returns an error if there is no kernel for the primitives of a tree.
pub(super) fn check_points<S: Scalar, const D: usize>(tree: &Bvh<S, D>) -> Result<()> {
    if !tree.holds_points() {
        return Err(has_extent("densities and HOP are"));
    }
    check_dimension::<D>()
}

/// Returns an error if there is no kernel in `D` dimensions.
pub(crate) fn check_dimension<const D: usize>() -> Result<()> {
    if (2..=3).contains(&D) { Ok(()) } else { Err(errors::hop_dimension(D)) }
}

/// Reorders values from tree order to the order of the points as they were given.
pub(crate) fn by_index<T: Copy + Default>(order: &[u32], values: &[T]) -> Vec<T> {
    let mut all = filled(values.len(), T::default());
    for (&index, &value) in order.iter().zip(values) {
        all[index as usize] = value;
    }
    all
}

/// Densities and radii, in tree order.
pub(super) struct Densities {
    pub density: Vec<f64>,
    /// The squared distance of the `k`-th nearest, itself counted; negative if another of the k is equally far.
    pub radius2: Vec<f64>,
    pub k: usize,
}

impl Masses {
    /// The masses of points in tree order; 1 for each point if `masses` is `None`.
    pub(crate) fn new(order: &[u32], masses: Option<&[f64]>) -> Self {
        let Some(masses) = masses else { return Self::Ones };
        let mut own = zeroed(order.len());
        fill(&mut own, TASK, &|range, own| {
            own.iter_mut().zip(&order[range]).for_each(|(own, &index)| *own = masses[index as usize]);
        });
        Self::Each { largest: own.iter().copied().fold(0.0, f64::max), masses: own }
    }
}

precompiled! {
    /// The density of each position except `ghosts`, from the distances of [`kth_distances2`].
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

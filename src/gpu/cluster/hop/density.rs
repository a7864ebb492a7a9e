//! Densities of particles: the GPU version of `cluster::hop::density`.
//!
//! In: points, and masses if they differ. Out: a density for each point. The widths of kernels are computed first
//! (`search::nearest`). Then follow the sums of kernels (`smoothing`), or for a top hat the masses of the nearest
//! points over the volume of a ball.

use cubecl::prelude::*;

use crate::cluster::hop::check_dimension;
use crate::cluster::{DensityKernel, DensityUnit};
use crate::error::{Error, Result};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, end_phase};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::cluster::hop::smoothing::{Smoothing, smooth};
use crate::gpu::device::on;
use crate::gpu::device_vec::DeviceVec;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::rounding::rounds_well;
use crate::gpu::primitives::scatter::invert;
use crate::gpu::search::nearest::{MAX_K_PER_SEARCH, MAX_KTH, RowOrder, kth_distances2};
use crate::search::nearest::Nearest;

/// Densities of particles from their nearest neighbours: the GPU version of [`crate::cluster::KernelDensity`], with the
/// same meaning of options. Points are in a periodic box if they were uploaded with one.
///
/// ```no_run
/// use ropewalk::gpu::{Device, KernelDensity, Points};
///
/// let points: Vec<[f32; 3]> = (0..512).map(|i| [i / 64, i / 8 % 8, i % 8].map(|x| x as f32)).collect();
/// let points = Points::new_periodic(&points, 8.0, Device::first()?)?;
/// let densities = KernelDensity::new().run(&points)?.read()?;
/// assert!(densities.iter().all(|&density| (density - 1.0).abs() < 0.02));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelDensity {
    options: crate::cluster::KernelDensity,
}

impl From<crate::cluster::KernelDensity> for KernelDensity {
    /// Takes over the options of the CPU version. Options that a device does not support are errors when it runs. The
    /// periodic box is that of the points on the device.
    fn from(options: crate::cluster::KernelDensity) -> Self {
        Self { options }
    }
}

impl KernelDensity {
    /// Creates the default options: 64 neighbours, the symmetric kernel, masses of 1, units of the mean density.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of neighbours that determine a density, the particle itself included: at most 128, or 64 for a
    /// top hat with masses. Default: 64.
    #[must_use]
    pub fn n_density(self, n_density: usize) -> Self {
        Self { options: self.options.n_density(n_density) }
    }

    /// Sets the kernel of the density sums. Default: [`DensityKernel::Symmetric`].
    #[must_use]
    pub fn kernel(self, kernel: DensityKernel) -> Self {
        Self { options: self.options.kernel(kernel) }
    }

    /// Sets the unit of densities: the mean density, or mass over volume. Default: [`DensityUnit::Mean`].
    #[must_use]
    pub fn unit(self, unit: DensityUnit) -> Self {
        Self { options: self.options.unit(unit) }
    }

    /// Sets the volume (in two dimensions the area) over which the mean density is taken, in the unit of the points to
    /// the power of their dimension. Default: that of the periodic box, or in open space that of the bounding box of
    /// the points.
    #[must_use]
    pub fn volume(self, volume: impl Into<f64>) -> Self {
        Self { options: self.options.volume(volume) }
    }

    /// Sets the mass of each point, finite and not negative. Default: 1.
    #[must_use]
    pub fn masses(self, masses: impl Into<Vec<f64>>) -> Self {
        Self { options: self.options.masses(masses) }
    }

    /// Computes the density of each point, bit for bit that of the CPU. Peak memory besides the tree: some 90 bytes
    /// per point.
    ///
    /// # Errors
    /// Returns an error as [`crate::cluster::KernelDensity::run`], if there are more neighbours than a device supports,
    /// or if the device fails.
    pub fn run<S: Coordinate, const D: usize>(&self, points: &Points<S, D>) -> Result<DeviceVec<f64>> {
        self.run_on(&Bvh::from_points(points)?)
    }

    /// Computes the density of each point in a tree that is already built, in the order of the points as they were
    /// given.
    ///
    /// # Errors
    /// Those of [`KernelDensity::run`].
    pub fn run_on<S: Coordinate, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<DeviceVec<f64>> {
        check::<D>(&self.options, bvh.len())?;
        let device = bvh.device;
        on!(device, client => {
            let Some(nodes) = &bvh.nodes else { return Ok(DeviceVec { device, values: Buffer::new(client, 0) }) };
            if !rounds_well(client, device)? {
                let densities = self.options.run_on(&bvh.read()?)?;
                return Ok(DeviceVec { device, values: Buffer::from_slice(client, &densities) });
            }
            let found = found_in(client, bvh, nodes, &self.options)?;
            let values = gather(client, &found.density, &invert(client, &bvh.order), 1, Layout::Rows);
            Ok(DeviceVec { device, values })
        })
    }
}

/// Rejects options that the CPU rejects, or that a device does not support.
pub(super) fn check<const D: usize>(options: &crate::cluster::KernelDensity, n: usize) -> Result<()> {
    check_dimension::<D>()?;
    options.check(n)?;
    let refuse = |must| Err(Error::parameter_must("n_density", options.n_density as f64, must));
    if options.n_density >= MAX_KTH {
        return refuse("at most 128 on a device");
    }
    if options.kernel == DensityKernel::TopHat && options.masses.is_some() && options.n_density > MAX_K_PER_SEARCH {
        return refuse("at most 64 on a device for a top hat with masses");
    }
    Ok(())
}

/// The densities, in tree order.
pub(super) struct Densities {
    pub density: Buffer<f64>,
    /// The squared distance of the `k`-th nearest neighbour, as `kth_distances2` returns it.
    pub radius2: Buffer<f64>,
    pub k: usize,
}

/// Computes the densities of points, for checked options.
pub(super) fn found_in<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    options: &crate::cluster::KernelDensity,
) -> Result<Densities> {
    let (n, k) = (bvh.len(), options.check(bvh.len())?);
    let in_unit = 1.0 / options.unit_density(n, options.volume_in(&bvh.bounds, &bvh.space))?;
    let normalization = options.factor::<D>(in_unit);
    let radius2 = kth_distances2(client, bvh, nodes, k);
    end_phase(client, "widths")?;
    let masses = options.masses.as_ref().map(|masses| Buffer::from_slice(client, masses));
    let density = if options.kernel == DensityKernel::TopHat {
        let sums = match &masses {
            Some(masses) => {
                let nearest = bvh.nearest_rows(client, Nearest::new(k), RowOrder::Tree)?;
                let sums = Buffer::<f64>::new(client, n);
                let (count, dim) = (blocks_for(n), CubeDim::new_1d(THREADS_PER_BLOCK));
                let (rows, len) = (nearest.indices.arg(), n as u32);
                sum_rows::launch::<R>(client, count, dim, rows, masses.arg(), sums.arg(), len, k as u32);
                sums
            }
            None => Buffer::filled(client, n, k as f64),
        };
        let numbers = Buffer::from_slice(client, &[normalization, f64::INFINITY, 1.0]);
        let (count, dim) = (blocks_for(n), CubeDim::new_1d(THREADS_PER_BLOCK));
        divide_by_balls::launch::<R>(client, count, dim, radius2.arg(), numbers.arg(), sums.arg(), n as u32, D);
        sums
    } else {
        let own = masses.as_ref().map(|masses| gather(client, masses, &bvh.order, 1, Layout::Rows));
        let largest = options.masses.as_ref().map_or(1.0, |masses| masses.iter().copied().fold(0.0, f64::max));
        let smoothing = Smoothing {
            radius2: &radius2,
            masses: own.as_ref(),
            largest,
            n_density: options.n_density,
            is_symmetric: options.kernel == DensityKernel::Symmetric,
            normalization,
        };
        smooth(client, bvh, nodes, &smoothing)
    };
    end_phase(client, "densities")?;
    Ok(Densities { density, radius2, k })
}

/// Sums the masses of each row of points, in the order of the row.
#[cube(launch)]
fn sum_rows(rows: &Array<u32>, masses: &Array<f64>, sums: &mut Array<f64>, n: u32, k: u32) {
    let row = ABSOLUTE_POS;
    if (row as u32) < n {
        let mut sum = Array::<f64>::new(1usize);
        sum[0] = f64::new(0.0);
        for place in 0..k {
            sum[0] = sum[0] + masses[rows[row * k as usize + place as usize] as usize];
        }
        sums[row] = sum[0];
    }
}

/// Divides sums by the volumes of balls.
#[cube(launch)]
fn divide_by_balls(radius2: &Array<f64>, numbers: &Array<f64>, sums: &mut Array<f64>, n: u32, #[comptime] d: usize) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let radius = radius2[at].abs().sqrt();
        // A factor of 1 that is passed at run time, because Vulkan compilers may replace the square of a root by the
        // number.
        let mut power = radius * (radius * numbers[2]);
        if comptime!(d == 3) {
            power *= radius;
        }
        let density = sums[at] / power * numbers[0];
        sums[at] = select(power == f64::new(0.0), numbers[1], density);
    }
}

//! Coefficients of kernel sums, for `sph`.
//!
//! In: rows of neighbours, a kernel, and optionally volumes. Out: coefficients, bit for bit those of the CPU. A thread
//! processes one target.
//! Cost: two passes over each row.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::cluster::hop::smoothing::spline;
use crate::gpu::interpolate::constants::{LARGEST, numbers};
use crate::gpu::interpolate::rows::Rows;
use crate::gpu::interpolate::stencil::Stencils;
use crate::gpu::interpolate::weights::weigh;
use crate::gpu::primitives::rounding::product;
use crate::interpolate::{SmoothingKernel, Weight};

/// Parameters known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct KernelSum {
    pub kernel: SmoothingKernel,
    pub is_normalized: bool,
    pub dim: usize,
}

impl KernelSum {
    /// The index in [`Weight::ALL`] of the function of the kernel; `None` for the spline.
    fn weight(self) -> Option<u32> {
        let weight = match self.kernel {
            SmoothingKernel::CubicSpline => return None,
            SmoothingKernel::WendlandC2 => Weight::Wendland2,
            SmoothingKernel::WendlandC4 => Weight::Wendland4,
            SmoothingKernel::WendlandC6 => Weight::Wendland6,
        };
        Weight::ALL.iter().position(|&own| own == weight).map(|at| at as u32)
    }
}

/// Computes the coefficients of the neighbours in `near`, times the volumes of the sources. Targets whose sums are not
/// positive or not finite keep their degree.
pub(super) fn kernel_sums<R: Runtime>(
    client: &ComputeClient<R>,
    near: &Stencils,
    rule: KernelSum,
    volumes: Option<&[f64]>,
    rows: &Rows,
) {
    let (n, dim) = (rows.degrees.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let input = KernelInputLaunch::new(
        near.offsets.arg(),
        near.indices.arg(),
        near.distances2.arg(),
        near.radii.arg(),
        Buffer::from_slice(client, volumes.unwrap_or_default()).arg(),
        Buffer::from_slice(client, &[rule.kernel.norm(rule.dim)]).arg(),
        Buffer::from_slice(client, &numbers(0.0)).arg(),
        n as u32,
    );
    let (coefficients, degrees) = (rows.coefficients.arg(), rows.degrees.arg());
    let has_volumes = volumes.is_some();
    add_kernels::launch::<R>(client, blocks_for(n), dim, input, coefficients, degrees, rule, has_volumes);
}

/// The neighbours of each target, the radius of its kernel, and the volumes of the sources.
#[derive(CubeType, CubeLaunch)]
struct KernelInput {
    offsets: Array<u32>,
    indices: Array<u32>,
    distances2: Array<f64>,
    radii: Array<f64>,
    volumes: Array<f64>,
    /// The normalization of the kernel, a single number.
    norm: Array<f64>,
    numbers: Array<f64>,
    n: u32,
}

#[cube(launch)]
fn add_kernels(
    input: &KernelInput,
    coefficients: &mut Array<f64>,
    degrees: &mut Array<i32>,
    #[comptime] rule: KernelSum,
    #[comptime] has_volumes: bool,
) {
    let target = ABSOLUTE_POS;
    if (target as u32) < input.n {
        let (zero, one) = (f64::new(0.0), f64::new(1.0));
        let (first, end) = (input.offsets[target], input.offsets[target + 1]);
        let radius = input.radii[target];
        let inverse = select(radius > zero, one / select(radius > zero, radius, one), zero);
        let mut sum = f64::new(0.0);
        for at in first..end {
            let x = input.distances2[at as usize].sqrt() * inverse;
            let mut own = kernel_value(x, &input.numbers, rule);
            if comptime!(has_volumes) {
                own = product(own, input.volumes[input.indices[at as usize] as usize]);
            }
            coefficients[at as usize] = own;
            sum += product(own, one);
        }
        if comptime!(rule.is_normalized) {
            if sum > zero {
                for at in first..end {
                    coefficients[at as usize] = coefficients[at as usize] / sum;
                }
                degrees[target] = 0;
            }
        } else if first < end {
            let volume = integer_power(radius, rule.dim);
            let density = input.norm[0] / select(volume > zero, volume, one);
            // The density is infinite for a kernel of radius 0.
            if volume > zero {
                if density <= input.numbers[LARGEST] {
                    for at in first..end {
                        coefficients[at as usize] = coefficients[at as usize] * density;
                    }
                    degrees[target] = -1;
                }
            }
        }
    }
}

/// The kernel without its normalization at a distance of `x` radii.
#[cube]
fn kernel_value(x: f64, numbers: &Array<f64>, #[comptime] rule: KernelSum) -> f64 {
    match comptime!(rule.weight()) {
        None => {
            let value = spline(f64::new(2.0) * x);
            select(x < f64::new(1.0) && value > f64::new(0.0), value, f64::new(0.0))
        }
        Some(weight) => weigh(x, numbers, weight),
    }
}

/// `x` to the power `n`, by the products of `f64::powi`: those of the squares that the bits of `n` select.
#[cube]
fn integer_power(x: f64, #[comptime] n: usize) -> f64 {
    let mut result = f64::new(1.0);
    let mut square = x + f64::new(0.0);
    #[unroll]
    for bit in 0..comptime!(usize::BITS - n.leading_zeros()) {
        if comptime!(n >> bit & 1 == 1) {
            result *= square;
        }
        square *= square;
    }
    result
}

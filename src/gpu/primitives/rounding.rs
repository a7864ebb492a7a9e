//! Checks that a device rounds as IEEE 754 specifies.
//!
//! In: a device. Out: `true` if quotients, roots and inverse roots of a set of numbers, including hard cases, equal
//! those of the CPU.
//! Also computes the roots of an array; if the device rounds differently, the CPU computes them.
//! Also checks that exact distances equal those of the CPU. CUDA's do, but Vulkan drivers may fuse products with
//! sums, or flush small numbers to 0.
//! Cost: one or two kernels and a wait, once per device.

use std::sync::{Mutex, PoisonError};

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::{Scalar, Space, distance_from_square};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::device::{Device, is_cuda};
use crate::gpu::errors;
use crate::gpu::metric::exact_distance2;

/// The relative step that, added to a number, rounds to the next number.
const NEXT: f32 = 0.75 * f64::EPSILON as f32;

/// Returns the rounded product `a * b`. Compilers may fuse a product with a sum, but cannot fuse an explicit `fma`.
#[cube]
pub(in crate::gpu) fn product(a: f64, b: f64) -> f64 {
    fma(a, b, f64::new(0.0))
}

/// Returns `true` if the device rounds quotients and roots in `f64` to nearest, and computes inverse roots in two
/// rounded steps, as written. CUDA guarantees this, Vulkan does not.
pub(in crate::gpu) fn rounds_well<R: Runtime>(client: &ComputeClient<R>, device: Device) -> Result<bool> {
    static KNOWN: Known<bool> = Known::new(vec![]);
    once(&KNOWN, device, || rounds_quotients_and_roots(client))
}

/// Returns an error unless [`rounds_well`].
pub(in crate::gpu) fn check_quotients<R: Runtime>(client: &ComputeClient<R>, device: Device) -> Result<()> {
    if rounds_well(client, device)? { Ok(()) } else { Err(errors::rounding()) }
}

/// Cached properties of devices.
pub(in crate::gpu) type Known<T> = Mutex<Vec<(Device, T)>>;

/// Returns the cached property of a device, computed by `find` at the first call.
pub(in crate::gpu) fn once<T: Copy>(known: &Known<T>, device: Device, find: impl FnOnce() -> Result<T>) -> Result<T> {
    let all = || known.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&(_, found)) = all().iter().find(|(other, _)| *other == device) {
        return Ok(found);
    }
    let found = find()?;
    all().push((device, found));
    Ok(found)
}

fn rounds_quotients_and_roots<R: Runtime>(client: &ComputeClient<R>) -> Result<bool> {
    // Numbers of all magnitudes that sums have, and the neighbours of squares, whose roots are closest to the middle
    // between two numbers.
    let mut bits = 1u64;
    let numbers: Vec<f64> = (0..1 << 14)
        .flat_map(|i: u64| {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let number = f64::from_bits((bits >> 12) | (1023 - 100 + i % 200) << 52);
            let root = f64::from_bits((bits >> 12 | 1) | 1023 << 52);
            [number, (root * root).next_up(), (root * root).next_down()]
        })
        .collect();
    let (n, from) = (numbers.len(), Buffer::from_slice(client, &numbers));
    let [quotients, roots, inverses] = [(); 3].map(|()| Buffer::<f64>::new(client, n));
    let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
    let results = [&quotients, &roots, &inverses].map(|results| results.arg());
    let [to_quotients, to_roots, to_inverses] = results;
    divide_and_root::launch::<R>(client, blocks_for(n), dim, from.arg(), to_quotients, to_roots, to_inverses, n as u32);
    let (quotients, roots, inverses) = (quotients.read(client)?, roots.read(client)?, inverses.read(client)?);
    Ok((0..n).all(|i| {
        let (own, other) = (numbers[i], numbers[n - 1 - i]);
        (quotients[i], roots[i], inverses[i]) == (other / own, own.sqrt(), 1.0 / other.sqrt())
    }))
}

/// Returns the inverse of the square root.
#[cube]
pub(in crate::gpu) fn inverse_root(number: f64) -> f64 {
    f64::new(1.0) / number.sqrt()
}

#[cube(launch)]
fn divide_and_root(
    numbers: &Array<f64>,
    quotients: &mut Array<f64>,
    roots: &mut Array<f64>,
    inverses: &mut Array<f64>,
    n: u32,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        quotients[i] = numbers[n as usize - 1 - i] / numbers[i];
        roots[i] = numbers[i].sqrt();
        inverses[i] = inverse_root(numbers[n as usize - 1 - i]);
    }
}

/// Returns the square root of each squared distance, rounded as by `distance_from_square`.
pub(in crate::gpu) fn roots<R: Runtime>(
    client: &ComputeClient<R>,
    device: Device,
    squares: &Buffer<f64>,
) -> Result<Buffer<f64>> {
    if !rounds_well(client, device)? {
        let roots: Vec<f64> = squares.read(client)?.into_iter().map(distance_from_square).collect();
        return Ok(Buffer::from_slice(client, &roots));
    }
    let n = squares.len();
    let roots = Buffer::new(client, n);
    let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
    take_roots::launch::<R>(client, blocks_for(n), dim, squares.arg(), roots.arg(), n as u32);
    round_up::launch::<R>(client, blocks_for(n), dim, squares.arg(), roots.arg(), n as u32);
    Ok(roots)
}

#[cube(launch)]
fn take_roots(squares: &Array<f64>, roots: &mut Array<f64>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        roots[i] = squares[i].sqrt();
    }
}

/// Replaces each root whose square is too small by the next number. This is a separate kernel, because Vulkan drivers
/// simplify a squared root to the number under the root.
#[cube(launch)]
fn round_up(squares: &Array<f64>, roots: &mut Array<f64>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let root = roots[i];
        // Between 0.75 and 1.5 times the distance to the next number.
        let step = product(root, f64::new(comptime!(NEXT)));
        roots[i] = select(product(root, root) < squares[i], root + step, root);
    }
}

/// Properties of a device's exact distances.
#[derive(Clone, Copy)]
struct Distances {
    /// `true` if sums of products are rounded as on the CPU.
    are_exact: bool,
    /// `true` if subnormal numbers of `f32` are kept.
    keep_small: bool,
}

/// Returns an error if the device's distances differ from the CPU's, or if it flushes one of the coordinates to 0.
/// `smallest_nonzero` returns the smallest nonzero absolute coordinate.
pub(in crate::gpu) fn check_distances<R: Runtime, S: Scalar>(
    client: &ComputeClient<R>,
    device: Device,
    smallest_nonzero: impl FnOnce() -> f64,
) -> Result<()> {
    static KNOWN: Known<Distances> = Known::new(vec![]);
    if is_cuda(client) {
        return Ok(());
    }
    let Distances { are_exact, keep_small } = once(&KNOWN, device, || distances(client))?;
    if !are_exact {
        return Err(errors::rounding());
    }
    if keep_small || size_of::<S>() > size_of::<f32>() {
        return Ok(());
    }
    let value = smallest_nonzero();
    if value < f64::from(f32::MIN_POSITIVE) { Err(errors::small_coordinate(value)) } else { Ok(()) }
}

fn distances<R: Runtime>(client: &ComputeClient<R>) -> Result<Distances> {
    let mut bits = 1u64;
    let mut random = || {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (bits >> 11) as f64 / (1u64 << 53) as f64
    };
    let points: Vec<[f64; 3]> = (0..1 << 12).map(|_| std::array::from_fn(|_| random())).collect();
    let small: Vec<[f32; 3]> = points.iter().map(|point| point.map(|x| f32::MIN_POSITIVE * x as f32)).collect();
    Ok(Distances { are_exact: are_as_on_the_cpu(client, &points)?, keep_small: are_as_on_the_cpu(client, &small)? })
}

/// Returns `true` if the distance from each point to the next equals that of the CPU.
fn are_as_on_the_cpu<R: Runtime, S: Scalar + Float + CubeElement>(
    client: &ComputeClient<R>,
    points: &[[S; 3]],
) -> Result<bool> {
    let axes: Vec<S> = (0..3).flat_map(|k| points.iter().map(move |point| point[k])).collect();
    let sides = Buffer::from_slice(client, &[0.0; 3]);
    let found = Buffer::<f64>::new(client, points.len() - 1);
    let n = points.len() as u32;
    let (axes, dim) = (Buffer::from_slice(client, &axes), CubeDim::new_1d(THREADS_PER_BLOCK));
    measure::launch::<S, R>(client, blocks_for(points.len()), dim, axes.arg(), sides.arg(), found.arg(), n);
    let expected = points.windows(2).map(|two| Space::OPEN.distance2(&two[0], &two[1]));
    Ok(found.read(client)?.into_iter().eq(expected))
}

#[cube(launch)]
fn measure<F: Float>(axes: &Array<F>, sides: &Array<f64>, found: &mut Array<f64>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) + 1 < n {
        let mut point = Array::<F>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            point[k] = axes[k * n as usize + i];
        }
        found[i] = exact_distance2::<F>(axes, i as u32 + 1, n, &point, sides, 3usize, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::device::on;

    /// Checks the points on the CPU, too: for some of them fused sums differ, so that the test would detect such a
    /// device.
    #[test]
    fn distances_of_a_device_that_is_not_refused() {
        let device = Device::first().unwrap();
        let points: Vec<[f64; 3]> =
            (0..100).map(|i| std::array::from_fn(|k| f64::from((7 * i + k as i32) % 10) * 0.1)).collect();
        assert!(on!(device, client => are_as_on_the_cpu(client, &points)).unwrap());
        let fused = |two: &[[f64; 3]]| {
            (0..3).fold(0.0, |sum, k| f64::mul_add(two[0][k] - two[1][k], two[0][k] - two[1][k], sum))
        };
        let differ = points.windows(2).filter(|two| fused(two) != Space::OPEN.distance2(&two[0], &two[1])).count();
        assert!(differ > 0);
    }

    #[test]
    fn roots_are_rounded_up() {
        let device = Device::first().unwrap();
        let some = (1..20_000).map(|i| 1e-7 * f64::from(i)).chain([0.0, f64::MIN_POSITIVE, 4.0, f64::INFINITY]);
        let squares: Vec<f64> = some.collect();
        let found = on!(device, client => {
            roots(client, device, &Buffer::from_slice(client, &squares)).and_then(|roots| roots.read(client))
        });
        let expected: Vec<f64> = squares.iter().map(|&square| distance_from_square(square)).collect();
        assert!(squares.iter().zip(&expected).any(|(square, distance)| square.sqrt() != *distance));
        assert_eq!(found.unwrap(), expected);
    }
}

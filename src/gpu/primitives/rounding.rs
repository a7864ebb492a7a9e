//! Whether a device rounds as IEEE 754 says.
//!
//! In: a device. Out: whether quotients, roots and reciprocals of roots of a set of numbers, hard ones among them, are those of the CPU.
//! Cost: one kernel and a wait, once a device.
//! And the roots of many numbers; where a device rounds otherwise, the CPU takes them.

use std::sync::{Mutex, PoisonError};

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::device::Device;

/// Whether a device rounds quotients and roots in `f64` to the nearest number, and 1 over a root in two steps, as it is written. CUDA promises
/// that, Vulkan does not.
pub(in crate::gpu) fn rounds_well<R: Runtime>(client: &ComputeClient<R>, device: Device) -> Result<bool> {
    static KNOWN: Mutex<Vec<(Device, bool)>> = Mutex::new(vec![]);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&(_, well)) = known().iter().find(|(other, _)| *other == device) {
        return Ok(well);
    }
    // Numbers of any magnitude that sums have; and the neighbours of squares, whose roots are nearest to the middle
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
    let dim = CubeDim::new_1d(UNITS);
    let results = [&quotients, &roots, &inverses].map(|results| results.arg());
    let [to_quotients, to_roots, to_inverses] = results;
    divide_and_root::launch::<R>(client, cubes(n), dim, from.arg(), to_quotients, to_roots, to_inverses, n as u32);
    let (quotients, roots, inverses) = (quotients.read(client)?, roots.read(client)?, inverses.read(client)?);
    let well = (0..n).all(|i| {
        let (own, other) = (numbers[i], numbers[n - 1 - i]);
        (quotients[i], roots[i], inverses[i]) == (other / own, own.sqrt(), 1.0 / other.sqrt())
    });
    known().push((device, well));
    Ok(well)
}

/// 1 over the root.
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

/// The square root of each number, as the CPU rounds it.
pub(in crate::gpu) fn roots<R: Runtime>(
    client: &ComputeClient<R>,
    device: Device,
    squares: &Buffer<f64>,
) -> Result<Buffer<f64>> {
    if !rounds_well(client, device)? {
        let roots: Vec<f64> = squares.read(client)?.into_iter().map(f64::sqrt).collect();
        return Ok(Buffer::from_slice(client, &roots));
    }
    let n = squares.len();
    let roots = Buffer::new(client, n);
    take_roots::launch::<R>(client, cubes(n), CubeDim::new_1d(UNITS), squares.arg(), roots.arg(), n as u32);
    Ok(roots)
}

#[cube(launch)]
fn take_roots(squares: &Array<f64>, roots: &mut Array<f64>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        roots[i] = squares[i].sqrt();
    }
}

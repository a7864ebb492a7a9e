//! Products and quotients of an array by a number, rounded as on the CPU.
//!
//! In: numbers, and one more. Out: each number times the other, or divided by it, rounded once to nearest. If a device
//! rounds otherwise or flushes subnormal numbers to 0, the CPU computes them. Each result is stored, so that no
//! compiler can fuse it with another operation. Cost: a pass over the numbers, in place; once per device, a check.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::device::Device;
use crate::gpu::primitives::rounding::{Known, once};

/// The operation on each number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) enum Scaling {
    Multiply,
    Divide,
}

impl Scaling {
    fn of(self, number: f64, by: f64) -> f64 {
        match self {
            Self::Multiply => number * by,
            Self::Divide => number / by,
        }
    }
}

/// Multiplies or divides all numbers by `by`. Numbers that share the buffer's memory may change.
pub(in crate::gpu) fn scale<R: Runtime>(
    client: &ComputeClient<R>,
    device: Device,
    numbers: Buffer<f64>,
    by: f64,
    scaling: Scaling,
) -> Result<Buffer<f64>> {
    static KNOWN: Known<bool> = Known::new(vec![]);
    if by == 1.0 || numbers.len() == 0 {
        return Ok(numbers);
    }
    if once(&KNOWN, device, || rounds_as_the_cpu(client))? {
        launch(client, &numbers, by, scaling);
        return Ok(numbers);
    }
    scale_on_host(client, &numbers, by, scaling)
}

fn scale_on_host<R: Runtime>(
    client: &ComputeClient<R>,
    numbers: &Buffer<f64>,
    by: f64,
    scaling: Scaling,
) -> Result<Buffer<f64>> {
    let numbers: Vec<f64> = numbers.read(client)?.into_iter().map(|number| scaling.of(number, by)).collect();
    Ok(Buffer::from_slice(client, &numbers))
}

fn launch<R: Runtime>(client: &ComputeClient<R>, numbers: &Buffer<f64>, by: f64, scaling: Scaling) {
    let (n, by) = (numbers.len(), Buffer::from_slice(client, &[by]));
    let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
    scale_each::launch::<R>(client, blocks_for(n), dim, numbers.arg(), by.arg(), n as u32, scaling);
}

#[cube(launch)]
fn scale_each(numbers: &mut Array<f64>, by: &Array<f64>, n: u32, #[comptime] scaling: Scaling) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        if comptime!(scaling == Scaling::Multiply) {
            numbers[i] = numbers[i] * by[0];
        } else {
            numbers[i] = numbers[i] / by[0];
        }
    }
}

/// Returns `true` if the device computes products and quotients as the CPU, including subnormal and infinite ones.
fn rounds_as_the_cpu<R: Runtime>(client: &ComputeClient<R>) -> Result<bool> {
    let mut bits = 1u64;
    let numbers: Vec<f64> = (0..1 << 12)
        .map(|i: u64| {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            f64::from_bits((bits >> 12) | (i % 2047) << 52)
        })
        .chain([0.0, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY])
        .collect();
    for by in [0.49, 1.69, 3.0, 16.0, 1e-300, 1e300, f64::MIN_POSITIVE] {
        for scaling in [Scaling::Multiply, Scaling::Divide] {
            let found = Buffer::from_slice(client, &numbers);
            launch(client, &found, by, scaling);
            let found = found.read(client)?;
            if !numbers.iter().zip(found).all(|(&number, found)| scaling.of(number, by).to_bits() == found.to_bits()) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::device::on;

    /// Numbers for which a product with the inverse differs from the quotient, and subnormal ones.
    #[test]
    fn results_are_those_of_the_cpu() {
        let device = Device::first().unwrap();
        let some = (1..5000).map(|i| 0.1 * f64::from(i)).chain([0.0, 1e-310, f64::MIN_POSITIVE, f64::INFINITY]);
        let numbers: Vec<f64> = some.collect();
        for by in [0.7 * 0.7, 1.0, 1.3 * 1.3, 1e-300, 1e300] {
            for scaling in [Scaling::Multiply, Scaling::Divide] {
                let [found, of_host] = on!(device, client => {
                    let upload = || Buffer::from_slice(client, &numbers);
                    let found = scale(client, device, upload(), by, scaling).and_then(|found| found.read(client));
                    let of_host = scale_on_host(client, &upload(), by, scaling).and_then(|found| found.read(client));
                    found.and_then(|found| of_host.map(|of_host| [found, of_host]))
                })
                .unwrap();
                let expected: Vec<f64> = numbers.iter().map(|&number| scaling.of(number, by)).collect();
                assert_eq!(found, expected, "{scaling:?} {by}");
                assert_eq!(of_host, expected, "{scaling:?} {by}");
            }
        }
        let by = 1.3 * 1.3;
        assert!(numbers.iter().any(|number| number / by != number * (1.0 / by)));
    }
}

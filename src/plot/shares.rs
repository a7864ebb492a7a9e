//! What those who share the particles of a picture know together.
//!
//! In: numbers of each rank's part. Out: those of the whole, which do not depend on how it is shared. One process has all of it.

#[cfg(feature = "distributed")]
use crate::distributed::{Communicator, Reduction};
use crate::error::Result;
use crate::geometry::Scalar;
use crate::halo::Particles;

/// All who share the particles. What they do together all of them do, in the same order.
pub trait Shares {
    /// Makes each number the sum of theirs, modulo 2^64.
    fn sum(&self, numbers: &mut [u64]) -> Result<()>;

    /// Makes each number the largest of theirs.
    fn max(&self, numbers: &mut [f64]) -> Result<()>;
}

/// One that has all particles.
pub struct Whole;

impl Shares for Whole {
    fn sum(&self, _: &mut [u64]) -> Result<()> {
        Ok(())
    }

    fn max(&self, _: &mut [f64]) -> Result<()> {
        Ok(())
    }
}

#[cfg(feature = "distributed")]
impl Shares for &dyn Communicator {
    fn sum(&self, numbers: &mut [u64]) -> Result<()> {
        self.all_reduce(numbers, Reduction::Sum)
    }

    fn max(&self, numbers: &mut [f64]) -> Result<()> {
        let mut keys: Vec<u64> = numbers.iter().map(|&x| ascending(x)).collect();
        self.all_reduce(&mut keys, Reduction::Max)?;
        numbers.iter_mut().zip(keys).for_each(|(x, key)| *x = number(key));
        Ok(())
    }
}

/// Numbers with the order of these, and back.
#[cfg(feature = "distributed")]
fn ascending(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

#[cfg(feature = "distributed")]
fn number(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key & !(1 << 63) } else { !key })
}

/// The corners of the box around all particles of all; zeros if there are none.
pub fn extent<S: Scalar>(particles: &Particles<S>, shares: &dyn Shares) -> Result<([f64; 3], [f64; 3])> {
    let mut most = [f64::NEG_INFINITY; 6];
    if particles.len() > 0 {
        let (lo, hi) = particles.extent();
        most = [-lo[0], -lo[1], -lo[2], hi[0], hi[1], hi[2]];
    }
    shares.max(&mut most)?;
    if most == [f64::NEG_INFINITY; 6] {
        return Ok(([0.0; 3], [0.0; 3]));
    }
    let [x, y, z, hi @ ..] = most;
    Ok(([-x, -y, -z], hi))
}

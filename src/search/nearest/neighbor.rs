//! The result of a search for nearest neighbours: an index and a squared distance.
#![allow(unsafe_code)] // To begin lists as zeros, which are written in place (see `RowWriter`).

use crate::geometry::distance_from_square;

/// A found neighbour.
///
/// ```
/// // 0.1 as `f32` has it, squared as `f64` does.
/// let near = ropewalk::Bvh::build(&[[0.1f32]])?.nearest([0.0], 1);
/// assert_eq!((near[0].index, near[0].distance2), (0, 0.1f32 as f64 * 0.1f32 as f64));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Neighbor {
    /// Its index in the slice the tree was built from.
    pub index: u32,
    /// The squared distance as [`Space::distance2`](crate::Space::distance2) computes it from the coordinates that are stored.
    pub distance2: f64,
}

impl Neighbor {
    /// The distance: the smallest radius within which the neighbour is found ([`distance_from_square`]).
    pub fn distance(&self) -> f64 {
        distance_from_square(self.distance2)
    }
}

// SAFETY: zeros are a value of each field. The derived implementation would cost each program that uses this crate a parser of Rust.
unsafe impl bytemuck::Zeroable for Neighbor {}

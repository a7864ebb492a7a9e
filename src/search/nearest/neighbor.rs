//! The result of a nearest-neighbour search: an index and a squared distance.
#![allow(unsafe_code)] // To create lists of zeros, which are then written in place (see `RowWriter`).

use crate::geometry::distance_from_square;

/// A stored primitive near a query: its index and its squared distance from the query.
///
/// ```
/// // 0.1 rounded to `f32`, squared in `f64`.
/// let near = ropewalk::Bvh::build(&[[0.1f32]])?.nearest([0.0], 1);
/// assert_eq!((near[0].index, near[0].distance2), (0, 0.1f32 as f64 * 0.1f32 as f64));
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Neighbor {
    /// The index of the primitive in the slice from which the tree was built.
    pub index: u32,
    /// The squared distance that [`Space::distance2`](crate::geometry::Space::distance2) computes from the stored
    /// coordinates.
    pub distance2: f64,
}

impl Neighbor {
    /// Returns the distance: the smallest radius within which the neighbour is found ([`distance_from_square`]).
    pub fn distance(&self) -> f64 {
        distance_from_square(self.distance2)
    }
}

// SAFETY: zero bytes are a valid value of both fields, `u32` and `f64`. A derive would make each dependent program
// compile a Rust parser.
unsafe impl bytemuck::Zeroable for Neighbor {}

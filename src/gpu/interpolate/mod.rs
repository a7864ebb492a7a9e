//! Interpolation on a device: the GPU version of `interpolate`.
//!
//! ```text
//! targets -> stencil (search::nearest, or search::range and sorted_rows)
//!         -> mls (fit: weights, qr), sph, idw -> fallback -> Interpolator
//! ```

#![allow(unsafe_code)] // A kernel without bounds checks; `fit` has its launch contract.

mod constants;
mod fallback;
mod fit;
mod idw;
mod interpolator;
mod inverse_distances;
mod kernel_sums;
mod mls;
mod qr;
mod rows;
mod sph;
mod sorted_rows;
mod stencil;
mod transpose;
mod weights;

pub use idw::InverseDistance;
pub use interpolator::Interpolator;
pub use mls::MovingLeastSquares;
pub use sph::Sph;

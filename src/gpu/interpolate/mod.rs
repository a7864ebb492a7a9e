//! Interpolation on a device: the GPU version of `interpolate`.
//!
//! ```text
//! targets -> stencil (search::nearest, or search::range and sorted_rows)
//!         -> mls (fit: weights, qr) -> fallback -> Interpolator
//! ```

#![allow(unsafe_code)] // A kernel without bounds checks; `fit` has its launch contract.

mod constants;
mod fallback;
mod fit;
mod idw;
mod interpolator;
mod mls;
mod qr;
mod rows;
mod sorted_rows;
mod stencil;
mod weights;

pub use interpolator::Interpolator;
pub use mls::MovingLeastSquares;

//! Values at places of what is known at others: moving least squares, smoothed particles, inverse distances.
//!
//! In: sources and targets, points of one type; then values at the sources. Out: values at the targets.
//! Each method prepares an [`Interpolator`] once, which takes any number of fields.
//!
//! | method | reproduces | for |
//! |---|---|---|
//! | [`MovingLeastSquares`] | polynomials of degree 0, 1 or 2 | smooth fields, gradients |
//! | [`Sph`], gather | constants, or integrals | particles with volumes |
//! | [`Sph`], scatter | the sum over all | masses and counts, which must not get lost |
//! | [`InverseDistance`] | constants; values where sources are | quick looks, never beyond the least and largest value |
//!
//! Flow: `stencil` searches (`search::nearest`), `kernels` weigh; `basis` and `qr` fit (`mls`).

pub(crate) mod basis;
pub(crate) mod errors;
mod fallback;
mod idw;
mod interpolator;
mod kernels;
pub(crate) mod mls;
mod options;
pub(crate) mod qr;
pub(crate) mod reach;
mod sph;
pub(crate) mod stencil;

pub use fallback::Fallback;
pub use idw::InverseDistance;
pub use interpolator::{FieldValue, Interpolator};
pub use kernels::{SmoothingKernel, Weight};
pub use mls::MovingLeastSquares;
pub use sph::Sph;

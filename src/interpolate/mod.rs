//! Interpolation of field values from sources to targets: moving least squares, smoothed particles, inverse distances.
//!
//! In: sources and targets, points of one type; then values at the sources. Out: values at the targets. Each method
//! prepares an [`Interpolator`] once, which is applied to any number of fields.
//!
//! | method | reproduces | use |
//! |---|---|---|
//! | [`MovingLeastSquares`] | polynomials of degree 0 to 4    | smooth fields, gradients |
//! | [`Sph`], gather | constants, or integrals | particles with volumes |
//! | [`Sph`], scatter | the total over all sources | masses and counts, which must be conserved |
//! | [`InverseDistance`] | constants; source values at the sources | quick looks; values in the range of the sources |
//!
//! Flow: `stencil` searches for neighbours (`search::nearest`), `kernels` weighs them, `basis` and `qr` fit
//! polynomials (`mls`).

pub(crate) mod basis;
pub(crate) mod errors;
mod fallback;
mod idw;
mod interpolator;
mod kernels;
pub(crate) mod mls;
mod options;
pub(crate) mod qr;
pub(crate) mod neighborhood;
pub(crate) mod sph;
pub(crate) mod stencil;

pub use fallback::Fallback;
pub use idw::InverseDistance;
pub use interpolator::{FieldValue, Interpolator};
pub use kernels::{SmoothingKernel, Weight};
pub use mls::MovingLeastSquares;
pub use sph::Sph;

//! Weights of neighbours as functions of distance: radial functions that fall from 1 to 0, and smoothing kernels with
//! an integral of 1.
//!
//! In: x, the distance over the radius at which a function ends. Out: its value. Cost: a few multiplications, and
//! logarithms, roots and exponentials for the functions of Buhmann and Gauss.
//!
//! Source: Wendland 1995; Wu 1995. Buhmann 2001 with the scale and numbering of ArborX, times the factor that makes
//! the value 1 at 0. Monaghan and Lattanzio 1985 for the spline. Dehnen and Aly 2012 for Wendland's functions as
//! smoothing kernels.

use std::f64::consts::PI;

use crate::cluster::hop::smoothing::spline;
use crate::simd::{LANES, Lanes};

/// The weight of a neighbour in a fit, as a function of x = distance over radius. Each function is 1 at x = 0, and 0
/// from x = 1 on. The number in a name counts the continuous derivatives, which the interpolant inherits if the radius
/// is fixed.
///
/// ```
/// use ropewalk::interpolate::Weight;
///
/// assert_eq!((Weight::Wendland2.at(0.0), Weight::Wendland2.at(0.5), Weight::Wendland2.at(1.0)), (1.0, 0.1875, 0.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Weight {
    /// (1 - x)^2
    Wendland0,
    /// (1 - x)^4 (4x + 1)
    #[default]
    Wendland2,
    /// (1 - x)^6 (35x^2 + 18x + 3) / 3
    Wendland4,
    /// (1 - x)^8 (32x^3 + 25x^2 + 8x + 1)
    Wendland6,
    /// (1 - x)^4 (3x^3 + 12x^2 + 16x + 4) / 4
    Wu2,
    /// (1 - x)^6 (5x^5 + 30x^4 + 72x^3 + 82x^2 + 36x + 6) / 6
    Wu4,
    /// (12 ln x - 21) x^4 + 32x^3 - 12x^2 + 1
    Buhmann2,
    /// x^8 - 84/5 x^6 + 1024/5 x^(9/2) - 378x^4 + 1024/5 x^(7/2) - 84/5 x^2 + 1
    Buhmann3,
    /// 99/35 x^8 - 132x^6 + 9216/35 x^(11/2) - 11264/35 x^(9/2) + 198x^4 - 396/35 x^2 + 1
    Buhmann4,
    /// exp(-9 x^2), cut off at x = 1, where its value is 1.2e-4.
    Gaussian,
}

impl Weight {
    /// All weights.
    pub const ALL: [Self; 10] = [
        Self::Wendland0,
        Self::Wendland2,
        Self::Wendland4,
        Self::Wendland6,
        Self::Wu2,
        Self::Wu4,
        Self::Buhmann2,
        Self::Buhmann3,
        Self::Buhmann4,
        Self::Gaussian,
    ];

    /// Returns the value of the kernel at a distance of `x` radii; 0 for NaN.
    pub fn at(self, x: f64) -> f64 {
        let mut values = [[x.abs(); LANES]];
        self.apply(&mut values);
        values[0][0]
    }

    /// Replaces distances, which must not be negative, by the values of the function.
    #[inline(always)]
    pub(super) fn apply(self, values: &mut [Lanes<f64>]) {
        match self {
            Self::Wendland0 => each(values, |x| power::<2>(1.0 - x)),
            Self::Wendland2 => each(values, |x| power::<4>(1.0 - x) * (4.0 * x + 1.0)),
            Self::Wendland4 => each(values, |x| power::<6>(1.0 - x) * polynomial(x, [35.0, 18.0, 3.0]) / 3.0),
            Self::Wendland6 => each(values, |x| power::<8>(1.0 - x) * polynomial(x, [32.0, 25.0, 8.0, 1.0])),
            Self::Wu2 => each(values, |x| power::<4>(1.0 - x) * polynomial(x, [3.0, 12.0, 16.0, 4.0]) / 4.0),
            Self::Wu4 => {
                each(values, |x| power::<6>(1.0 - x) * polynomial(x, [5.0, 30.0, 72.0, 82.0, 36.0, 6.0]) / 6.0);
            }
            // x ln x is 0 at x = 0.
            Self::Buhmann2 => {
                each(values, |x| polynomial(x, [12.0 * x.max(f64::MIN_POSITIVE).ln() - 21.0, 32.0, -12.0, 0.0, 1.0]))
            }
            Self::Buhmann3 => each(values, |x| {
                let root = 1024.0 * x.sqrt();
                polynomial(x, [5.0, 0.0, -84.0, 0.0, root - 1890.0, root, -84.0, 0.0, 5.0]) / 5.0
            }),
            Self::Buhmann4 => each(values, |x| {
                let root = x.sqrt();
                let (fifth, fourth) = (9216.0 * root, 6930.0 - 11264.0 * root);
                polynomial(x, [99.0, 0.0, -4620.0, fifth, fourth, 0.0, -396.0, 0.0, 35.0]) / 35.0
            }),
            Self::Gaussian => each(values, |x| (-9.0 * x * x).exp()),
        }
    }
}

/// Replaces each argument by the value of a function, 0 for arguments from 1 on. Values that rounding makes negative
/// become 0.
#[inline(always)]
fn each(values: &mut [Lanes<f64>], of: impl Fn(f64) -> f64) {
    for block in values {
        for x in block {
            let value = of(*x);
            *x = if *x < 1.0 && value > 0.0 { value } else { 0.0 };
        }
    }
}

/// `x` to the power `N`, for `N` of 2, 4, 6 and 8.
#[inline(always)]
fn power<const N: usize>(x: f64) -> f64 {
    let square = x * x;
    match N {
        2 => square,
        4 => square * square,
        6 => square * square * square,
        _ => (square * square) * (square * square),
    }
}

/// Evaluates a polynomial, highest coefficient first.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    coefficients.into_iter().fold(0.0, |sum, coefficient| sum * x + coefficient)
}

/// A kernel of smoothed particle hydrodynamics with an integral of 1 and a finite radius.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum SmoothingKernel {
    /// The spline M4 of [`KernelDensity`](crate::cluster::KernelDensity), with a radius of 2h.
    #[default]
    CubicSpline,
    /// The function of [`Weight::Wendland2`].
    WendlandC2,
    /// The function of [`Weight::Wendland4`].
    WendlandC4,
    /// The function of [`Weight::Wendland6`].
    WendlandC6,
}

impl SmoothingKernel {
    /// All kernels.
    pub const ALL: [Self; 4] = [Self::CubicSpline, Self::WendlandC2, Self::WendlandC4, Self::WendlandC6];

    /// Returns the value of the kernel at a distance of `x` radii in `dim` dimensions, times the volume of a cube whose
    /// side is the radius.
    ///
    /// ```
    /// use ropewalk::interpolate::SmoothingKernel;
    ///
    /// // The value is 1/(pi h^3), for a radius of 2h.
    /// assert!((SmoothingKernel::CubicSpline.at(0.0, 3) - 8.0 / std::f64::consts::PI).abs() < 1e-12);
    /// ```
    pub fn at(self, x: f64, dim: usize) -> f64 {
        let mut values = [[x.abs(); LANES]];
        self.apply(&mut values);
        values[0][0] * self.norm(dim)
    }

    /// Replaces distances by the values of the kernel without its normalization.
    #[inline(always)]
    pub(super) fn apply(self, values: &mut [Lanes<f64>]) {
        match self {
            Self::CubicSpline => each(values, |x| spline(2.0 * x)),
            Self::WendlandC2 => Weight::Wendland2.apply(values),
            Self::WendlandC4 => Weight::Wendland4.apply(values),
            Self::WendlandC6 => Weight::Wendland6.apply(values),
        }
    }

    /// The normalization: one over the integral of the values of [`SmoothingKernel::apply`] over the ball of radius 1.
    pub(crate) fn norm(self, dim: usize) -> f64 {
        // The integral of x^(dim - 1) (1 - x)^n times the polynomial `factor`, lowest power first, from 0 to 1.
        let moments = |n: usize, factor: &[f64]| -> f64 {
            factor.iter().enumerate().map(|(i, factor)| factor * beta(dim + i, n + 1)).sum()
        };
        let radial = match self {
            // With q = 2x: (2 - q)^3 / 4 up to 2, minus (1 - q)^3 up to 1.
            Self::CubicSpline => beta(dim, 4) * (2.0 - 0.5f64.powi(dim as i32)),
            Self::WendlandC2 => moments(4, &[1.0, 4.0]),
            Self::WendlandC4 => moments(6, &[1.0, 6.0, 35.0 / 3.0]),
            Self::WendlandC6 => moments(8, &[1.0, 8.0, 25.0, 32.0]),
        };
        1.0 / (sphere(dim) * radial)
    }
}

/// The beta function of positive integers: (a - 1)! (b - 1)! / (a + b - 1)!.
fn beta(a: usize, b: usize) -> f64 {
    (1..b).fold(1.0 / a as f64, |product, i| product * i as f64 / (a + i) as f64)
}

/// The surface area of the ball of radius 1: 2, 2 pi, 4 pi, and so on, by S(dim) = S(dim - 2) 2 pi / (dim - 2).
fn sphere(dim: usize) -> f64 {
    match dim {
        0 | 1 => 2.0,
        2 => 2.0 * PI,
        _ => sphere(dim - 2) * 2.0 * PI / (dim - 2) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_fall_from_one_to_zero() {
        for weight in Weight::ALL {
            assert!((weight.at(0.0) - 1.0).abs() < 1e-14, "{weight:?}");
            for beyond in [1.0, 1.5, f64::INFINITY, f64::NAN] {
                assert_eq!(weight.at(beyond), 0.0, "{weight:?} {beyond}");
            }
            let values: Vec<f64> = (0..=1000).map(|i| weight.at(f64::from(i) / 1000.0)).collect();
            assert!(values.windows(2).all(|two| two[1] <= two[0] + 1e-13), "{weight:?}");
        }
    }

    /// The values at x = 1/2 as fractions, worked out by hand from the formulas.
    #[test]
    fn weights_halfway() {
        let root = 0.5f64.sqrt();
        let expected = [
            1.0 / 4.0,
            3.0 / 16.0,
            83.0 / 768.0,
            61.0 / 1024.0,
            (3.0 / 8.0 + 3.0 + 8.0 + 4.0) / 64.0,
            (5.0 / 32.0 + 30.0 / 16.0 + 9.0 + 20.5 + 18.0 + 6.0) / 384.0,
            0.75 * 0.5f64.ln() - 21.0 / 16.0 + 4.0 - 3.0 + 1.0,
            1.0 / 256.0 - 84.0 / 320.0 + 12.8 * root - 378.0 / 16.0 + 25.6 * root - 4.2 + 1.0,
            99.0 / 8960.0 - 132.0 / 64.0 + 288.0 / 35.0 * root - 704.0 / 35.0 * root + 198.0 / 16.0 - 99.0 / 35.0 + 1.0,
            (-2.25f64).exp(),
        ];
        for (weight, expected) in Weight::ALL.into_iter().zip(expected) {
            assert!((weight.at(0.5) - expected).abs() < 1e-12, "{weight:?}: {} {expected}", weight.at(0.5));
        }
    }

    #[test]
    fn kernels_have_an_integral_of_one() {
        for kernel in SmoothingKernel::ALL {
            for dim in 1..=10 {
                let (n, surface) = (4000, [2.0, 2.0 * PI, 4.0 * PI, 2.0 * PI * PI]);
                let midpoint = |i: usize| (i as f64 + 0.5) / n as f64;
                let sum: f64 = (0..n).map(|i| kernel.at(midpoint(i), dim) * midpoint(i).powi(dim as i32 - 1)).sum();
                assert!(surface.get(dim - 1).is_none_or(|surface| (surface - sphere(dim)).abs() < 1e-12));
                assert!((sphere(dim) * sum / n as f64 - 1.0).abs() < 1e-5, "{kernel:?} {dim}");
            }
        }
        // Table 1 of Dehnen and Aly 2012.
        let printed =
            [[10.0 / (7.0 * PI) * 4.0, 8.0 / PI], [7.0 / PI, 21.0 / (2.0 * PI)], [9.0 / PI, 495.0 / (32.0 * PI)]];
        for (kernel, printed) in SmoothingKernel::ALL.into_iter().zip(printed) {
            for (dim, printed) in [2, 3].into_iter().zip(printed) {
                assert!((kernel.at(0.0, dim) / printed - 1.0).abs() < 1e-12, "{kernel:?} {dim}");
            }
        }
    }
}

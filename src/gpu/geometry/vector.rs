//! Vectors of `f64`, and the lengths, areas and volumes that they span: the GPU counterpart of
//! `geometry::shapes::vector`.
//!
//! In: vectors in local arrays. Out: polynomials of their components, rounded as on the CPU.
//! Cost: O(d), O(d²) for areas, O(d³) for volumes. Loops are unrolled in up to three dimensions.

use cubecl::prelude::*;

use crate::gpu::primitives::rounding::product;

/// The maximum dimension for which the loops of areas and volumes are unrolled.
const UNROLLED: usize = 3;

/// Returns a number in `f64`, which `f64::new` would round to `f32`.
#[cube]
pub(in crate::gpu) fn literal(#[comptime] value: f64) -> f64 {
    value.runtime()
}

/// Returns the vector that begins at position `at`.
#[cube]
pub(super) fn vector_at(all: &Array<f64>, at: u32, #[comptime] d: usize) -> Array<f64> {
    let mut out = Array::<f64>::new(d);
    #[unroll]
    for k in 0..d {
        out[k] = all[at as usize + k];
    }
    out
}

/// Returns the vector with this number among vectors of the same dimension.
#[cube]
pub(super) fn nth(all: &Array<f64>, #[comptime] n: usize, #[comptime] d: usize) -> Array<f64> {
    let mut out = Array::<f64>::new(d);
    #[unroll]
    for k in 0..d {
        out[k] = all[comptime!(n * d + k)];
    }
    out
}

/// Returns `a - b`.
#[cube]
pub(super) fn sub(a: &Array<f64>, b: &Array<f64>, #[comptime] d: usize) -> Array<f64> {
    let mut out = Array::<f64>::new(d);
    #[unroll]
    for k in 0..d {
        out[k] = a[k] - b[k];
    }
    out
}

/// Returns `a + t * b`.
#[cube]
pub(super) fn add_scaled(a: &Array<f64>, t: f64, b: &Array<f64>, #[comptime] d: usize) -> Array<f64> {
    let mut out = Array::<f64>::new(d);
    #[unroll]
    for k in 0..d {
        out[k] = a[k] + product(t, b[k]);
    }
    out
}

/// Returns `a` times a number.
#[cube]
pub(super) fn times(a: &Array<f64>, t: f64, #[comptime] d: usize) -> Array<f64> {
    let mut out = Array::<f64>::new(d);
    #[unroll]
    for k in 0..d {
        out[k] = product(a[k], t);
    }
    out
}

#[cube]
pub(super) fn dot(a: &Array<f64>, b: &Array<f64>, #[comptime] d: usize) -> f64 {
    let mut sum = product(a[0], b[0]);
    #[unroll]
    for k in 1..d {
        sum += product(a[k], b[k]);
    }
    sum
}

#[cube]
pub(super) fn length2(a: &Array<f64>, #[comptime] d: usize) -> f64 {
    dot(a, a, d)
}

/// Returns the largest absolute component.
#[cube]
pub(super) fn extent(a: &Array<f64>, #[comptime] d: usize) -> f64 {
    let mut most = a[0].abs();
    #[unroll]
    for k in 1..d {
        most = max(most, a[k].abs());
    }
    most
}

#[cube]
pub(super) fn cross(a: &Array<f64>, b: &Array<f64>) -> Array<f64> {
    let mut out = Array::<f64>::new(3usize);
    out[0] = product(a[1], b[2]) - product(a[2], b[1]);
    out[1] = product(a[2], b[0]) - product(a[0], b[2]);
    out[2] = product(a[0], b[1]) - product(a[1], b[0]);
    out
}

/// Returns the scalar triple product.
#[cube]
pub(super) fn volume(a: &Array<f64>, b: &Array<f64>, c: &Array<f64>) -> f64 {
    dot(a, &cross(b, c), 3usize)
}

/// Returns the component of the bivector of `a` and `b` in the plane of two axes.
#[cube]
fn minor(a: &Array<f64>, b: &Array<f64>, i: usize, j: usize) -> f64 {
    product(a[i], b[j]) - product(a[j], b[i])
}

/// Returns the scalar product of the bivectors of `a` and `b` and of `c` and `e`.
#[cube]
pub(super) fn bivector_dot(
    a: &Array<f64>,
    b: &Array<f64>,
    c: &Array<f64>,
    e: &Array<f64>,
    #[comptime] d: usize,
) -> f64 {
    let mut sum = Array::<f64>::new(1usize);
    sum[0] = f64::new(0.0);
    if comptime!(d <= UNROLLED) {
        #[unroll]
        for i in 0..d {
            #[unroll]
            for j in comptime!(i + 1)..d {
                sum[0] = sum[0] + product(minor(a, b, i, j), minor(c, e, i, j));
            }
        }
    } else {
        for i in 0..d {
            for j in i + 1..d {
                sum[0] = sum[0] + product(minor(a, b, i, j), minor(c, e, i, j));
            }
        }
    }
    sum[0]
}

/// Returns the squared area of the parallelogram that two vectors span.
#[cube]
pub(super) fn area2(a: &Array<f64>, b: &Array<f64>, #[comptime] d: usize) -> f64 {
    bivector_dot(a, b, a, b, d)
}

/// Returns three components of a vector.
#[cube]
fn three(a: &Array<f64>, i: usize, j: usize, k: usize) -> Array<f64> {
    let mut out = Array::<f64>::new(3usize);
    out[0] = a[i];
    out[1] = a[j];
    out[2] = a[k];
    out
}

/// Returns the scalar product of the trivectors of `a`, `b`, `c` and of `e`, `b`, `c`.
#[cube]
pub(super) fn volumes(a: &Array<f64>, e: &Array<f64>, b: &Array<f64>, c: &Array<f64>, #[comptime] d: usize) -> f64 {
    let mut sum = Array::<f64>::new(1usize);
    sum[0] = f64::new(0.0);
    if comptime!(d == 3) {
        sum[0] = product(volume(a, b, c), volume(e, b, c));
    } else if comptime!(d > 3) {
        for i in 0..d {
            for j in i + 1..d {
                for k in j + 1..d {
                    let normal = cross(&three(b, i, j, k), &three(c, i, j, k));
                    let of_a = dot(&three(a, i, j, k), &normal, 3usize);
                    let of_e = dot(&three(e, i, j, k), &normal, 3usize);
                    sum[0] = sum[0] + product(of_a, of_e);
                }
            }
        }
    }
    sum[0]
}

/// Returns the squared volume of the parallelepiped that three vectors span.
#[cube]
pub(super) fn volume2(a: &Array<f64>, b: &Array<f64>, c: &Array<f64>, #[comptime] d: usize) -> f64 {
    volumes(a, a, b, c, d)
}

/// Returns a power of two that scales lengths up to `extent` so that no product of six of them overflows or vanishes.
/// It is 1 if no scaling is needed.
#[cube]
pub(super) fn unit(extent: f64) -> f64 {
    let one = f64::new(1.0);
    let is_fair = extent >= literal(1e-45) && extent < literal(1e45);
    let bits = u64::reinterpret(one / max(extent, literal(1e-300))) & 0x7ff0_0000_0000_0000u64;
    let is_none = extent <= f64::new(0.0) || extent > literal(f64::MAX);
    select(is_fair || is_none, one, f64::reinterpret(bits))
}

/// Returns infinity, for any number that the compiler does not know. A literal does not compile for CUDA.
#[cube]
pub(super) fn infinity(any: f64) -> f64 {
    let exponent = 0x7ff0_0000_0000_0000u64;
    f64::reinterpret((u64::reinterpret(any) | exponent) & exponent)
}

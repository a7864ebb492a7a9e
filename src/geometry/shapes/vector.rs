//! Vectors of `f64`, and the lengths, areas and volumes that they span.
//!
//! Input: coordinate differences. Output: polynomials of them. For small integers, the polynomials and their signs
//! are exact.
//! Cost: O(D), O(D²) for areas, O(D³) for volumes.

use crate::geometry::Scalar;

/// Converts coordinates to `f64`.
#[inline(always)]
pub fn to_f64<S: Scalar, const D: usize>(point: &[S; D]) -> [f64; D] {
    point.map(Into::into)
}

/// Returns `a - b`.
#[inline(always)]
pub fn sub<const D: usize>(a: &[f64; D], b: &[f64; D]) -> [f64; D] {
    std::array::from_fn(|k| a[k] - b[k])
}

/// Returns `a + t * b`.
#[inline(always)]
pub fn add_scaled<const D: usize>(a: &[f64; D], t: f64, b: &[f64; D]) -> [f64; D] {
    std::array::from_fn(|k| a[k] + t * b[k])
}

#[inline(always)]
pub fn dot<const D: usize>(a: &[f64; D], b: &[f64; D]) -> f64 {
    let mut sum = 0.0;
    for k in 0..D {
        sum += a[k] * b[k];
    }
    sum
}

#[inline(always)]
pub fn length2<const D: usize>(a: &[f64; D]) -> f64 {
    dot(a, a)
}

#[inline(always)]
pub fn cross(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Returns the scalar triple product: six times the signed volume of the tetrahedron that three vectors span.
#[inline(always)]
pub fn volume(a: &[f64; 3], b: &[f64; 3], c: &[f64; 3]) -> f64 {
    dot(a, &cross(b, c))
}

/// Returns the scalar product of the bivectors of `a` and `b` and of `c` and `d`: in three dimensions `(a × b) · (c ×
/// d)`.
#[inline(always)]
pub fn bivector_dot<const D: usize>([a, b]: [&[f64; D]; 2], [c, d]: [&[f64; D]; 2]) -> f64 {
    let mut sum = 0.0;
    for i in 0..D {
        for j in i + 1..D {
            sum += (a[i] * b[j] - a[j] * b[i]) * (c[i] * d[j] - c[j] * d[i]);
        }
    }
    sum
}

/// Returns the squared area of the parallelogram that two vectors span.
#[inline(always)]
pub fn area2<const D: usize>(a: &[f64; D], b: &[f64; D]) -> f64 {
    bivector_dot([a, b], [a, b])
}

/// Returns the scalar product of the trivectors of two triples: in three dimensions the product of their volumes.
pub fn volumes<const D: usize>(abc: [&[f64; D]; 3], def: [&[f64; D]; 3]) -> f64 {
    let mut sum = 0.0;
    for i in 0..D {
        for j in i + 1..D {
            for k in j + 1..D {
                let of =
                    |[a, b, c]: [&[f64; D]; 3]| volume(&[a[i], a[j], a[k]], &[b[i], b[j], b[k]], &[c[i], c[j], c[k]]);
                sum += of(abc) * of(def);
            }
        }
    }
    sum
}

/// Returns the squared volume of the parallelepiped that three vectors span.
pub fn volume2<const D: usize>(a: &[f64; D], b: &[f64; D], c: &[f64; D]) -> f64 {
    volumes([a, b, c], [a, b, c])
}

/// Returns the first three coordinates; missing ones are zero.
#[inline(always)]
pub fn to_3d<const D: usize>(a: &[f64; D]) -> [f64; 3] {
    std::array::from_fn(|k| if k < D { a[k] } else { 0.0 })
}

/// Returns a power of two that scales lengths up to the longest of `vectors` so that no product of six of them
/// overflows or vanishes. It is 1 if no scaling is needed.
#[inline]
pub fn unit<const D: usize>(vectors: &[&[f64; D]]) -> f64 {
    let extent = vectors.iter().copied().flatten().fold(0.0, |most: f64, x| most.max(x.abs()));
    if (1e-45..1e45).contains(&extent) || !(extent > 0.0 && extent < f64::INFINITY) {
        return 1.0;
    }
    // Clearing the mantissa leaves a power of two.
    f64::from_bits((1.0 / extent.max(1e-300)).to_bits() & f64::INFINITY.to_bits())
}

/// Returns `a` times a number.
#[inline(always)]
pub fn times<const D: usize>(a: &[f64; D], t: f64) -> [f64; D] {
    a.map(|x| x * t)
}

/// Returns the interval `[lo, hi]`, whose ends may be wrong by `slack`, rounded outwards to `S`.
#[inline]
pub fn outwards<S: Scalar>(lo: f64, hi: f64, slack: f64) -> [S; 2] {
    [-round_up::<S>(slack - lo), round_up::<S>(hi + slack)].map(S::from_f64)
}

/// Rounds a value up to `S`.
#[inline]
pub fn round_up<S: Scalar>(value: f64) -> f64 {
    let rounded = S::from_f64(value);
    if rounded.into() >= value || value.is_nan() {
        return rounded.into();
    }
    let least = if S::IS_F32 { f64::from(f32::from_bits(1)) } else { f64::from_bits(1) };
    S::from_f64(value + value.abs() * 2.0 * S::ROUNDING + least).into()
}

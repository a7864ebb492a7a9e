//! Vectors of `f64`, and the lengths, areas and volumes that they span.
//!
//! In: differences of coordinates. Out: polynomials of them, which are exact for integers that are not large, and so is the sign of each.
//! Cost: O(D), O(D²) for areas, O(D³) for volumes.

use crate::geometry::Scalar;

/// Coordinates in `f64`.
#[inline(always)]
pub fn wide<S: Scalar, const D: usize>(point: &[S; D]) -> [f64; D] {
    point.map(Into::into)
}

/// `a - b`.
#[inline(always)]
pub fn sub<const D: usize>(a: &[f64; D], b: &[f64; D]) -> [f64; D] {
    std::array::from_fn(|k| a[k] - b[k])
}

/// `a + t * b`.
#[inline(always)]
pub fn along<const D: usize>(a: &[f64; D], t: f64, b: &[f64; D]) -> [f64; D] {
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

/// Six times the volume of the tetrahedron that three vectors span, with its sign.
#[inline(always)]
pub fn volume(a: &[f64; 3], b: &[f64; 3], c: &[f64; 3]) -> f64 {
    dot(a, &cross(b, c))
}

/// The scalar product of the parallelogram of `a` and `b` with that of `c` and `d`: in three dimensions `(a × b) · (c × d)`.
#[inline(always)]
pub fn areas<const D: usize>([a, b]: [&[f64; D]; 2], [c, d]: [&[f64; D]; 2]) -> f64 {
    let mut sum = 0.0;
    for i in 0..D {
        for j in i + 1..D {
            sum += (a[i] * b[j] - a[j] * b[i]) * (c[i] * d[j] - c[j] * d[i]);
        }
    }
    sum
}

/// The squared area of the parallelogram of two vectors.
#[inline(always)]
pub fn area2<const D: usize>(a: &[f64; D], b: &[f64; D]) -> f64 {
    areas([a, b], [a, b])
}

/// The scalar product of the parallelepipeds of two triples of vectors: in three dimensions the product of their volumes.
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

/// The squared volume of the parallelepiped of three vectors.
pub fn volume2<const D: usize>(a: &[f64; D], b: &[f64; D], c: &[f64; D]) -> f64 {
    volumes([a, b, c], [a, b, c])
}

/// The first three coordinates; zeros for those that are not there.
#[inline(always)]
pub fn in_space<const D: usize>(a: &[f64; D]) -> [f64; 3] {
    std::array::from_fn(|k| if k < D { a[k] } else { 0.0 })
}

/// A power of two by which lengths up to the longest of `vectors` can be multiplied so that no product of six of them overflows, or
/// vanishes; 1 if they need none.
#[inline]
pub fn unit<const D: usize>(vectors: &[&[f64; D]]) -> f64 {
    let extent = vectors.iter().copied().flatten().fold(0.0, |most: f64, x| most.max(x.abs()));
    if (1e-45..1e45).contains(&extent) || !(extent > 0.0 && extent < f64::INFINITY) {
        return 1.0;
    }
    // Without its fraction a number is a power of two.
    f64::from_bits((1.0 / extent.max(1e-300)).to_bits() & f64::INFINITY.to_bits())
}

/// `a` times a number.
#[inline(always)]
pub fn times<const D: usize>(a: &[f64; D], t: f64) -> [f64; D] {
    a.map(|x| x * t)
}

/// The distance rounded down and up to `S`: `lo` and `hi` are values that may be wrong by `slack`.
#[inline]
pub fn outwards<S: Scalar>(lo: f64, hi: f64, slack: f64) -> [S; 2] {
    [-up::<S>(slack - lo), up::<S>(hi + slack)].map(S::from_f64)
}

/// The value or the next number of `S` above it.
#[inline]
pub fn up<S: Scalar>(value: f64) -> f64 {
    let rounded = S::from_f64(value);
    if rounded.into() >= value || value.is_nan() {
        return rounded.into();
    }
    let least = if S::NARROW { f64::from(f32::from_bits(1)) } else { f64::from_bits(1) };
    S::from_f64(value + value.abs() * 2.0 * S::ROUNDING + least).into()
}

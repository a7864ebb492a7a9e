//! The monomials of a fit: 1, the coordinates, and their products.
//!
//! In: offsets from the target in units of a radius, eight neighbours at a time, axis by axis. Out: a column for each
//! monomial; the row of a neighbour is multiplied by the root of its weight.

use crate::simd::{LANES, Lanes};

/// The number of monomials up to a degree: C(dim + degree, degree).
pub(crate) fn basis_size(dim: usize, degree: usize) -> usize {
    (1..=degree).fold(1, |size, i| size * (dim + i) / i)
}

/// The largest degree of a fit.
pub(crate) const MAX_DEGREE: usize = 4;

/// Replaces the axes of a monomial's factors, in ascending order, by those of the next monomial of its degree. Returns
/// `false` after the last one.
#[inline(always)]
fn advance(factors: &mut [usize], dim: usize) -> bool {
    let Some(at) = factors.iter().rposition(|axis| axis + 1 < dim) else { return false };
    let axis = factors[at] + 1;
    factors[at..].fill(axis);
    true
}

/// Writes the columns one after the other, degree by degree: 1, each coordinate, each product of two coordinates, and so
/// on. Products of one degree are in lexicographic order of the axes of their factors, which ascend.
#[inline(always)]
pub(super) fn fill_columns(columns: &mut [Lanes<f64>], roots: &[Lanes<f64>], offsets: &[Lanes<f64>], degree: usize) {
    let blocks = roots.len();
    let dim = offsets.len() / blocks.max(1);
    columns[..blocks].copy_from_slice(roots);
    // The columns of one degree less.
    let (mut start, mut end) = (0, blocks);
    for own in 1..=degree {
        let (before, after) = columns.split_at_mut(end);
        let mut columns = after.chunks_exact_mut(blocks);
        let mut factors = [0; MAX_DEGREE];
        for first in before[start..].chunks_exact(blocks) {
            let last = if own == 1 { 0 } else { factors[own - 2] };
            for axis in offsets[last * blocks..].chunks_exact(blocks) {
                if let Some(column) = columns.next() {
                    product(column, first, axis);
                }
            }
            advance(&mut factors[..own - 1], dim);
        }
        (start, end) = (end, blocks * basis_size(dim, own));
    }
}

/// The error with which coefficients reproduce the monomials up to a degree. It is the largest error of a value at the
/// target, where the first monomial is 1 and all others are 0.
pub(super) fn reproduction_error(coefficients: &[Lanes<f64>], offsets: &[Lanes<f64>], degree: usize) -> f64 {
    let values = coefficients.as_flattened();
    let axes: Vec<&[f64]> = offsets.chunks_exact(coefficients.len().max(1)).map(|axis| axis.as_flattened()).collect();
    let mut most = (values.iter().sum::<f64>() - 1.0).abs();
    for own in 1..=degree {
        let mut factors = [0; MAX_DEGREE];
        loop {
            let product =
                |(i, &c): (usize, &f64)| factors[..own].iter().fold(c, |product, &axis| product * axes[axis][i]);
            most = most.max(values.iter().enumerate().map(product).sum::<f64>().abs());
            if !advance(&mut factors[..own], axes.len()) {
                break;
            }
        }
    }
    most
}

#[inline(always)]
fn product(out: &mut [Lanes<f64>], a: &[Lanes<f64>], b: &[Lanes<f64>]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        for l in 0..LANES {
            out[l] = a[l] * b[l];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (dim, sizes) in
            [(1, [1, 2, 3, 4, 5]), (2, [1, 3, 6, 10, 15]), (3, [1, 4, 10, 20, 35]), (10, [1, 11, 66, 286, 1001])]
        {
            assert_eq!([0, 1, 2, 3, 4].map(|degree| basis_size(dim, degree)), sizes);
        }
    }

    #[test]
    fn columns() {
        let [x, y, root] = [2.0, 3.0, 5.0].map(|x| [x; LANES]);
        let mut columns = [[0.0; LANES]; 10];
        fill_columns(&mut columns, &[root], &[x, y], 3);
        assert_eq!(columns.map(|column| column[0]), [5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 40.0, 60.0, 90.0, 135.0]);
    }
}

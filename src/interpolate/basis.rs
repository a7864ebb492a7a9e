//! The monomials of a fit: 1, the coordinates, and their products.
//!
//! In: offsets from the target in units of a radius, eight neighbours at a time, axis by axis. Out: a column for each
//! monomial; the row of a neighbour is multiplied by the root of its weight.

use crate::simd::{LANES, Lanes};

/// The number of monomials up to a degree: C(dim + degree, degree).
pub(crate) fn basis_size(dim: usize, degree: usize) -> usize {
    (1..=degree).fold(1, |size, i| size * (dim + i) / i)
}

/// Writes the columns one after the other: 1, each coordinate, each product of coordinates `a` and `b` with `b >= a`,
/// `a` slowest.
#[inline(always)]
pub(super) fn fill_columns(columns: &mut [Lanes<f64>], roots: &[Lanes<f64>], offsets: &[Lanes<f64>], degree: usize) {
    let blocks = roots.len();
    columns[..blocks].copy_from_slice(roots);
    if degree == 0 {
        return;
    }
    let dim = offsets.len() / blocks.max(1);
    let (linear, quadratic) = columns[blocks..].split_at_mut(dim * blocks);
    for (axis, offsets) in linear.chunks_exact_mut(blocks).zip(offsets.chunks_exact(blocks)) {
        product(axis, roots, offsets);
    }
    if degree == 1 {
        return;
    }
    let mut quadratic = quadratic.chunks_exact_mut(blocks);
    for (a, first) in linear.chunks_exact(blocks).enumerate() {
        for second in offsets[a * blocks..].chunks_exact(blocks) {
            if let Some(column) = quadratic.next() {
                product(column, first, second);
            }
        }
    }
}

/// The error with which coefficients reproduce the monomials up to a degree. It is the largest error of a value at the
/// target, where the first monomial is 1 and all others are 0.
pub(super) fn reproduction_error(coefficients: &[Lanes<f64>], offsets: &[Lanes<f64>], degree: usize) -> f64 {
    let values = coefficients.as_flattened();
    let axes: Vec<&[f64]> = offsets.chunks_exact(coefficients.len().max(1)).map(|axis| axis.as_flattened()).collect();
    let mut most = (values.iter().sum::<f64>() - 1.0).abs();
    if degree == 0 {
        return most;
    }
    for (a, first) in axes.iter().enumerate() {
        let linear: f64 = values.iter().zip(*first).map(|(c, x)| c * x).sum();
        most = most.max(linear.abs());
        if degree == 2 {
            for second in &axes[a..] {
                let products = values.iter().zip(*first).zip(*second);
                most = most.max(products.map(|((c, x), y)| c * x * y).sum::<f64>().abs());
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
        for (dim, sizes) in [(1, [1, 2, 3]), (2, [1, 3, 6]), (3, [1, 4, 10]), (10, [1, 11, 66])] {
            assert_eq!([0, 1, 2].map(|degree| basis_size(dim, degree)), sizes);
        }
    }

    #[test]
    fn columns() {
        let [x, y, root] = [2.0, 3.0, 5.0].map(|x| [x; LANES]);
        let mut columns = [[0.0; LANES]; 6];
        fill_columns(&mut columns, &[root], &[x, y], 2);
        assert_eq!(columns.map(|column| column[0]), [5.0, 10.0, 15.0, 20.0, 30.0, 45.0]);
    }
}

//! A QR decomposition with column pivoting, by Householder reflections: A P = Q R.
//!
//! In: a matrix of few columns, stored column by column in blocks of eight rows, the last block padded with zeros.
//! Out: its rank, and products with Q and its transpose; Q itself is not formed. Cost: 2 m n^2 operations for m rows
//! and n columns, a block of rows at a time. A decomposition no larger than an earlier one allocates nothing. Source:
//! Golub and Van Loan 2013, algorithms 5.2.1 and 5.4.1; Drmac and Bujanovic 2008 for the recomputation of column norms
//! after cancellation.

use crate::simd::{LANES, Lanes};

/// The ratio of an updated squared column norm to its last computed value below which it is recomputed.
pub(crate) const CANCELLED: f64 = 1e-6;

#[derive(Default)]
pub(super) struct Qr {
    /// The matrix. After the decomposition: the vectors of the reflections, zero above their own row.
    columns: Vec<Lanes<f64>>,
    blocks: usize,
    rows: usize,
    width: usize,
    /// R, column by column, with `width` rows each.
    upper: Vec<f64>,
    /// The matrix column at each place of the pivoted order.
    order: Vec<usize>,
    /// 2 over the squared length of each reflection's vector.
    factor: Vec<f64>,
    /// The squared norm of the remaining part of each column, and its value when it was last computed in full.
    norm2: Vec<[f64; 2]>,
    rank: usize,
}

impl Qr {
    /// Returns space for a matrix, to be filled column by column in whole blocks padded with zeros.
    #[inline(always)]
    pub fn matrix(&mut self, rows: usize, width: usize) -> &mut [Lanes<f64>] {
        (self.rows, self.width, self.blocks) = (rows, width, rows.div_ceil(LANES));
        let len = self.blocks * width;
        if self.columns.len() < len {
            self.columns.resize(len, [0.0; LANES]);
        }
        if self.upper.len() < width * width {
            self.upper.resize(width * width, 0.0);
        }
        &mut self.columns[..len]
    }

    /// Returns the number of independent columns.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Decomposes the matrix. If `is_pivoted`, the column with the largest remaining norm comes next. The
    /// decomposition stops at the first column whose remaining norm is at most `tolerance` times that of the first.
    #[inline(always)]
    pub fn decompose(&mut self, is_pivoted: bool, tolerance: f64) {
        let (width, blocks) = (self.width, self.blocks);
        self.order.clear();
        self.order.extend(0..width);
        self.factor.clear();
        self.norm2.clear();
        for column in self.columns[..width * blocks].chunks_exact(blocks.max(1)) {
            let norm2 = dot(column, column);
            self.norm2.push([norm2; 2]);
        }
        self.norm2.resize(width, [0.0; 2]);
        self.rank = width.min(self.rows);
        let mut first = 0.0;
        for j in 0..self.rank {
            if is_pivoted {
                self.pivot(j);
            }
            let start = j / LANES;
            let (done, rest) = self.columns[..width * blocks].split_at_mut((j + 1) * blocks);
            let vector = &mut done[j * blocks..];
            // The part of a column above its own row belongs to R.
            let above = vector.as_flattened_mut();
            self.upper[j * width..][..j].copy_from_slice(&above[..j]);
            above[..j].fill(0.0);
            let vector = &mut vector[start..];
            let norm = dot(vector, vector).sqrt();
            if j == 0 {
                first = norm;
            }
            if norm <= tolerance * first {
                // This column is dependent on those before it and keeps its part above the diagonal.
                done[j * blocks..].as_flattened_mut()[..j].copy_from_slice(&self.upper[j * width..][..j]);
                self.rank = j;
                break;
            }
            let diagonal = vector[0][j % LANES];
            let own = if diagonal > 0.0 { -norm } else { norm };
            self.upper[j * width + j] = own;
            vector[0][j % LANES] = diagonal - own;
            let factor = 1.0 / (norm * (norm + diagonal.abs()));
            self.factor.push(factor);
            for (column, norm2) in rest.chunks_exact_mut(blocks).zip(&mut self.norm2[j + 1..]) {
                let column = &mut column[start..];
                subtract(column, vector, factor * dot(vector, column));
                let gone = column[0][j % LANES];
                norm2[0] -= gone * gone;
                if norm2[0] < CANCELLED * norm2[1] {
                    let below = &column.as_flattened()[j % LANES + 1..];
                    *norm2 = [below.iter().map(|x| x * x).sum(); 2];
                }
            }
        }
        for j in self.rank..width {
            let column = self.columns[j * blocks..(j + 1) * blocks].as_flattened();
            self.upper[j * width..][..self.rank].copy_from_slice(&column[..self.rank]);
        }
    }

    /// Swaps the column with the largest remaining norm to place `j`; the first of ties.
    #[inline(always)]
    fn pivot(&mut self, j: usize) {
        let mut best = j;
        for (at, norm2) in self.norm2.iter().enumerate().skip(j + 1) {
            if norm2[0] > self.norm2[best][0] {
                best = at;
            }
        }
        if best == j {
            return;
        }
        let blocks = self.blocks;
        let (before, from) = self.columns.split_at_mut(best * blocks);
        before[j * blocks..(j + 1) * blocks].swap_with_slice(&mut from[..blocks]);
        self.order.swap(j, best);
        self.norm2.swap(j, best);
    }

    /// The place of a matrix column in the pivoted order.
    #[inline(always)]
    fn place(&self, column: usize) -> usize {
        self.order.iter().position(|&own| own == column).unwrap_or(0)
    }

    /// Computes the shortest vector w with A^T w = e, if all columns are independent. The vector e is 1 for `column`
    /// and 0 otherwise; w has `rows` values.
    #[inline(always)]
    pub fn shortest(&self, column: usize, w: &mut [Lanes<f64>]) {
        w.fill([0.0; LANES]);
        let place = self.place(column);
        let z = w.as_flattened_mut();
        // Solves R^T z = P^T e by forward substitution.
        for i in place..self.rank {
            let upper = &self.upper[i * self.width..][..=i];
            let sum: f64 = upper[place..i].iter().zip(&z[place..i]).map(|(r, z)| r * z).sum();
            z[i] = (if i == place { 1.0 } else { 0.0 } - sum) / upper[i];
        }
        self.reflect(w);
    }

    /// Computes at `w` the row of the pseudoinverse for `column`, if columns are dependent, from a decomposition of R^T
    /// in `transpose`. Returns the distance of A^T w from the vector e of [`Qr::shortest`]: 0 if `column` is
    /// determined.
    #[cold]
    #[inline(never)]
    pub fn pseudoinverse_row(&self, transpose: &Qr, column: usize, w: &mut [Lanes<f64>]) -> f64 {
        w.fill([0.0; LANES]);
        let mut projected = vec![[0.0; LANES]; transpose.blocks];
        projected.as_flattened_mut()[self.place(column)] = 1.0;
        for j in 0..transpose.rank {
            transpose.reflect_by(j, &mut projected);
        }
        let (inside, outside) = projected.as_flattened().split_at(transpose.rank);
        let missing = outside.iter().map(|x| x * x).sum::<f64>().sqrt();
        // Solves T z = V^T P^T e by backward substitution.
        let z = w.as_flattened_mut();
        for i in (0..transpose.rank).rev() {
            let sum: f64 = (i + 1..transpose.rank).map(|j| transpose.upper[j * transpose.width + i] * z[j]).sum();
            z[i] = (inside[i] - sum) / transpose.upper[i * transpose.width + i];
        }
        self.reflect(w);
        missing
    }

    /// Decomposes the transpose of the first `rank` rows of R.
    #[cold]
    #[inline(never)]
    pub fn decompose_transpose(&self, transpose: &mut Qr) {
        let matrix = transpose.matrix(self.width, self.rank);
        matrix.fill([0.0; LANES]);
        let height = self.width.next_multiple_of(LANES);
        for (row, column) in matrix.as_flattened_mut().chunks_exact_mut(height).enumerate() {
            for (at, value) in column.iter_mut().enumerate().take(self.width).skip(row) {
                *value = self.upper[at * self.width + row];
            }
        }
        transpose.decompose(false, 0.0);
    }

    /// Multiplies by Q.
    #[inline(always)]
    fn reflect(&self, w: &mut [Lanes<f64>]) {
        for j in (0..self.rank).rev() {
            self.reflect_by(j, w);
        }
    }

    #[inline(always)]
    fn reflect_by(&self, j: usize, w: &mut [Lanes<f64>]) {
        let start = j / LANES;
        let vector = &self.columns[j * self.blocks + start..(j + 1) * self.blocks];
        let w = &mut w[start..self.blocks];
        subtract(w, vector, self.factor[j] * dot(vector, w));
    }
}

/// The dot product, accumulated in eight partial sums.
#[inline(always)]
fn dot(a: &[Lanes<f64>], b: &[Lanes<f64>]) -> f64 {
    let mut sums = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for l in 0..LANES {
            sums[l] += a[l] * b[l];
        }
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

#[inline(always)]
fn subtract(from: &mut [Lanes<f64>], vector: &[Lanes<f64>], times: f64) {
    for (from, vector) in from.iter_mut().zip(vector) {
        for l in 0..LANES {
            from[l] -= times * vector[l];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::mixed;

    fn random(place: u64) -> f64 {
        mixed(place) as f64 / u64::MAX as f64 - 0.5
    }

    /// The columns of a random matrix; those beyond `rank` are linear combinations of the others.
    fn matrix(rows: usize, width: usize, rank: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for c in 0..width {
            let own: Vec<f64> = (0..rows)
                .map(|row| match c < rank {
                    true => random(seed << 20 | (c * rows + row) as u64),
                    false => {
                        (0..rank).map(|i| random(seed << 20 | (9000 + c * rank + i) as u64) * columns[i][row]).sum()
                    }
                })
                .collect();
            columns.push(own);
        }
        columns
    }

    fn decompose(qr: &mut Qr, columns: &[Vec<f64>], rows: usize) {
        let matrix = qr.matrix(rows, columns.len());
        matrix.fill([0.0; LANES]);
        let height = rows.next_multiple_of(LANES);
        for (to, column) in matrix.as_flattened_mut().chunks_exact_mut(height).zip(columns) {
            to[..rows].copy_from_slice(column);
        }
        qr.decompose(true, 1e-12);
    }

    /// The distance of A^T w from a unit vector.
    fn residual(columns: &[Vec<f64>], w: &[f64], column: usize) -> f64 {
        let product = |own: &[f64]| own.iter().zip(w).map(|(a, w)| a * w).sum::<f64>();
        let each = columns.iter().enumerate().map(|(c, own)| product(own) - f64::from(u8::from(c == column)));
        each.map(|x| x * x).sum::<f64>().sqrt()
    }

    #[test]
    fn shortest_solutions() {
        let mut qr = Qr::default();
        let mut transpose = Qr::default();
        for (rows, width, rank) in
            [(1, 1, 1), (20, 10, 10), (10, 10, 10), (66, 66, 66), (7, 3, 2), (20, 10, 6), (5, 10, 5)]
        {
            for seed in 0..if rows < 66 { 20 } else { 3 } {
                let columns = matrix(rows, width, rank, seed);
                decompose(&mut qr, &columns, rows);
                assert_eq!(qr.rank(), rank, "{rows} {width}");
                let mut w = vec![[0.0; LANES]; rows.div_ceil(LANES)];
                for column in 0..width {
                    let missing = if rank == width {
                        qr.shortest(column, &mut w);
                        0.0
                    } else {
                        qr.decompose_transpose(&mut transpose);
                        qr.pseudoinverse_row(&transpose, column, &mut w)
                    };
                    let w = w.as_flattened();
                    assert!(w[rows..].iter().all(|&x| x.abs() < 1e-9), "{w:?}");
                    let left = residual(&columns, w, column);
                    assert!((left - missing).abs() < 1e-7, "{rows} {width} {rank} {seed}: {left} {missing}");
                    // Least squares: the gradient along each row of A is 0. As w lies in the span of the columns, it
                    // is the shortest solution.
                    let gradient = |row: usize| -> f64 {
                        let term = |(c, own): (usize, &Vec<f64>)| {
                            let product: f64 = own.iter().zip(w).map(|(a, w)| a * w).sum();
                            own[row] * (product - f64::from(u8::from(c == column)))
                        };
                        columns.iter().enumerate().map(term).sum()
                    };
                    assert!((0..rows).all(|row| gradient(row).abs() < 1e-7));
                }
            }
        }
    }

    #[test]
    fn nothing_has_no_rank() {
        let mut qr = Qr::default();
        decompose(&mut qr, &[vec![0.0; 4], vec![0.0; 4]], 4);
        assert_eq!(qr.rank(), 0);
    }
}

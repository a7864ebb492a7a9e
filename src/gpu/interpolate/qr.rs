//! A QR decomposition with column pivoting: the GPU version of `interpolate::qr`, with bitwise equal results.
//!
//! In: a matrix in the thread's scratch, column by column, with rows padded with zeros to a multiple of eight. Out: as
//! on the CPU. Sums are accumulated in eight partial sums, as there. Columns are not moved; a list holds their order.
//! Cost and source: as on the CPU.

use cubecl::prelude::*;

use crate::gpu::primitives::rounding::product;
use crate::simd::LANES;

/// Rows per block.
const BLOCK: u32 = LANES as u32;

/// The mapping of a thread's numbers to a buffer shared by all threads. Number `i` of all threads is contiguous, so
/// that the accesses of a warp are coalesced.
#[derive(CubeType)]
pub(super) struct ThreadSlots {
    unit: u32,
    units: u32,
}

#[cube]
impl ThreadSlots {
    pub fn new(unit: u32, units: u32) -> ThreadSlots {
        ThreadSlots { unit, units }
    }

    /// Returns the place of the thread's number `i` in the buffer.
    pub fn of(&self, i: u32) -> usize {
        (i * self.units + self.unit) as usize
    }
}

/// A matrix: the start of its parts in the scratch of a thread.
#[derive(CubeType)]
pub(super) struct Qr {
    /// The matrix. After the decomposition: the vectors of the reflections, zero above their own row.
    columns: u32,
    /// R, column by column, with `width` rows each.
    upper: u32,
    /// 2 over the squared length of each reflection's vector.
    factors: u32,
    /// The squared norm of the remaining part of each column, followed by the values when each was last computed in
    /// full.
    norms: u32,
    rows: u32,
    width: u32,
    /// The matrix column at each place of the pivoted order.
    order: Array<u32>,
    /// The rank, a single number.
    rank: Array<u32>,
}

/// The size of a matrix's auxiliary data in the scratch, in numbers.
#[cube]
pub(super) fn auxiliary_size(width: u32) -> u32 {
    width * width + 3 * width
}

#[cube]
impl Qr {
    /// Creates a matrix of at most `most` columns, which start at `columns`; its auxiliary data starts at `auxiliary`.
    pub fn new(columns: u32, auxiliary: u32, rows: u32, width: u32, #[comptime] most: usize) -> Qr {
        let factors = auxiliary + width * width;
        let mut order = Array::<u32>::new(most);
        for column in 0..width {
            order[column as usize] = column;
        }
        Qr {
            columns,
            upper: auxiliary,
            factors,
            norms: factors + width,
            rows,
            width,
            order,
            rank: Array::<u32>::new(1usize),
        }
    }

    /// Returns the number of independent columns.
    pub fn rank(&self) -> u32 {
        self.rank[0]
    }

    /// Returns `true` if all columns are independent.
    pub fn is_full(&self) -> bool {
        self.rank[0] == self.width
    }

    fn blocks(&self) -> u32 {
        self.rows.div_ceil(BLOCK)
    }

    /// The start of the column at a place of the pivoted order.
    fn column(&self, place: u32) -> u32 {
        self.columns + self.order[place as usize] * (self.blocks() * BLOCK)
    }

    /// The place of an element of R.
    fn upper(&self, row: u32, column: u32) -> u32 {
        self.upper + column * self.width + row
    }

    /// Decomposes the matrix. If `is_pivoted`, the column with the largest remaining norm comes next. The
    /// decomposition stops at the first column whose remaining norm is at most `tolerance` times that of the first.
    pub fn decompose(
        &mut self,
        work: &mut Array<f64>,
        places: &ThreadSlots,
        tolerance: f64,
        cancelled: f64,
        #[comptime] is_pivoted: bool,
    ) {
        let (width, blocks) = (self.width, self.blocks());
        if comptime!(is_pivoted) {
            for j in 0..width {
                let column = self.column(j);
                let norm2 = dot(work, places, column, column, blocks);
                work[places.of(self.norms + j)] = norm2;
                work[places.of(self.norms + width + j)] = norm2;
            }
        }
        let end = min(width, self.rows);
        self.rank[0] = end;
        let mut first = Array::<f64>::new(1usize);
        first[0] = f64::new(0.0);
        let mut at = Array::<u32>::new(1usize);
        at[0] = 0;
        while at[0] < self.rank[0] {
            let j = at[0] + 0;
            if comptime!(is_pivoted) {
                self.pivot(work, places, j);
            }
            let (own, start) = (self.column(j), j / BLOCK);
            // The part of a column above its own row belongs to R.
            for i in 0..j {
                work[places.of(self.upper(i, j))] = work[places.of(own + i)];
                work[places.of(own + i)] = f64::new(0.0);
            }
            let vector = own + start * BLOCK;
            let norm = dot(work, places, vector, vector, blocks - start).sqrt();
            if j == 0 {
                first[0] = norm;
            }
            if norm <= tolerance * first[0] {
                // This column is dependent on those before it and keeps its part above the diagonal.
                for i in 0..j {
                    work[places.of(own + i)] = work[places.of(self.upper(i, j))];
                }
                self.rank[0] = j;
            } else {
                let diagonal = work[places.of(own + j)];
                let above = select(diagonal > f64::new(0.0), -norm, norm);
                work[places.of(self.upper(j, j))] = above;
                work[places.of(own + j)] = diagonal - above;
                let factor = f64::new(1.0) / (norm * (norm + diagonal.abs()));
                work[places.of(self.factors + j)] = factor;
                for k in j + 1..width {
                    let column = self.column(k);
                    let from = column + start * BLOCK;
                    let times = factor * dot(work, places, vector, from, blocks - start);
                    subtract(work, places, from, vector, times, blocks - start);
                    if comptime!(is_pivoted) {
                        self.shorten(work, places, k, j, cancelled);
                    }
                }
                at[0] = j + 1;
            }
        }
        for j in self.rank[0]..width {
            let column = self.column(j);
            for i in 0..self.rank[0] {
                work[places.of(self.upper(i, j))] = work[places.of(column + i)];
            }
        }
    }

    /// Subtracts row `j` from the squared norm of the column at place `k`, or recomputes the norm after cancellation.
    fn shorten(&self, work: &mut Array<f64>, places: &ThreadSlots, k: u32, j: u32, cancelled: f64) {
        let (column, own) = (self.column(k), self.norms + self.order[k as usize]);
        let gone = work[places.of(column + j)];
        let left = work[places.of(own)] - product(gone, gone);
        work[places.of(own)] = left;
        if left < cancelled * work[places.of(own + self.width)] {
            let mut sum = Array::<f64>::new(1usize);
            sum[0] = f64::new(0.0);
            for i in j + 1..self.blocks() * BLOCK {
                let x = work[places.of(column + i)];
                sum[0] += product(x, x);
            }
            work[places.of(own)] = sum[0];
            work[places.of(own + self.width)] = sum[0];
        }
    }

    /// Swaps the column with the largest remaining norm to place `j`; the first of ties.
    fn pivot(&mut self, work: &Array<f64>, places: &ThreadSlots, j: u32) {
        let mut best = Array::<u32>::new(1usize);
        let mut most = Array::<f64>::new(1usize);
        best[0] = j;
        most[0] = work[places.of(self.norms + self.order[j as usize])];
        for k in j + 1..self.width {
            let norm2 = work[places.of(self.norms + self.order[k as usize])];
            if norm2 > most[0] {
                best[0] = k;
                most[0] = norm2;
            }
        }
        let (own, other) = (self.order[j as usize], self.order[best[0] as usize]);
        self.order[j as usize] = other;
        self.order[best[0] as usize] = own;
    }

    /// The place of a matrix column in the pivoted order.
    fn place(&self, column: u32) -> u32 {
        let mut place = Array::<u32>::new(1usize);
        place[0] = 0;
        for k in 0..self.width {
            if self.order[k as usize] == column {
                place[0] = k;
            }
        }
        place[0]
    }

    /// Computes at `w` the shortest vector w with A^T w = e, if all columns are independent. The vector e is 1 for
    /// `column` and 0 otherwise.
    pub fn shortest(&self, work: &mut Array<f64>, places: &ThreadSlots, column: u32, w: u32) {
        clear(work, places, w, self.blocks());
        let place = self.place(column);
        // Solves R^T z = P^T e by forward substitution.
        for i in place..self.rank() {
            let mut sum = Array::<f64>::new(1usize);
            sum[0] = f64::new(0.0);
            for k in place..i {
                sum[0] += product(work[places.of(self.upper(k, i))], work[places.of(w + k)]);
            }
            let e = select(i == place, f64::new(1.0), f64::new(0.0));
            work[places.of(w + i)] = (e - sum[0]) / work[places.of(self.upper(i, i))];
        }
        self.reflect(work, places, w);
    }

    /// Computes at `w` the row of the pseudoinverse for `column`, if columns are dependent, from a decomposition of R^T
    /// in `transpose`. Returns the distance of A^T w from the vector e of [`Qr::shortest`]: 0 if `column` is
    /// determined. `projected` is the start of a working column as high as those of `transpose`.
    pub fn pseudoinverse_row(
        &self,
        work: &mut Array<f64>,
        places: &ThreadSlots,
        transpose: &Qr,
        column: u32,
        w: u32,
        projected: u32,
    ) -> f64 {
        clear(work, places, w, self.blocks());
        clear(work, places, projected, transpose.blocks());
        work[places.of(projected + self.place(column))] = f64::new(1.0);
        for j in 0..transpose.rank() {
            transpose.reflect_by(work, places, j, projected);
        }
        let mut sum = Array::<f64>::new(1usize);
        sum[0] = f64::new(0.0);
        for i in transpose.rank()..transpose.blocks() * BLOCK {
            let x = work[places.of(projected + i)];
            sum[0] += product(x, x);
        }
        let missing = sum[0].sqrt();
        // Solves T z = V^T P^T e by backward substitution.
        for turn in 0..transpose.rank() {
            let i = transpose.rank() - 1 - turn;
            sum[0] = f64::new(0.0);
            for j in i + 1..transpose.rank() {
                sum[0] += product(work[places.of(transpose.upper(i, j))], work[places.of(w + j)]);
            }
            work[places.of(w + i)] = (work[places.of(projected + i)] - sum[0]) / work[places.of(transpose.upper(i, i))];
        }
        self.reflect(work, places, w);
        missing
    }

    /// Decomposes the transpose of R into `transpose`, a matrix of `width` rows and `rank` columns.
    pub fn decompose_transpose(&self, work: &mut Array<f64>, places: &ThreadSlots, transpose: &mut Qr) {
        for row in 0..self.rank() {
            let column = transpose.column(row);
            clear(work, places, column, transpose.blocks());
            for at in row..self.width {
                work[places.of(column + at)] = work[places.of(self.upper(row, at))];
            }
        }
        transpose.decompose(work, places, f64::new(0.0), f64::new(0.0), false);
    }

    /// Multiplies by Q.
    fn reflect(&self, work: &mut Array<f64>, places: &ThreadSlots, w: u32) {
        for turn in 0..self.rank() {
            self.reflect_by(work, places, self.rank() - 1 - turn, w);
        }
    }

    fn reflect_by(&self, work: &mut Array<f64>, places: &ThreadSlots, j: u32, w: u32) {
        let start = j / BLOCK;
        let (vector, w, blocks) = (self.column(j) + start * BLOCK, w + start * BLOCK, self.blocks() - start);
        let times = work[places.of(self.factors + j)] * dot(work, places, vector, w, blocks);
        subtract(work, places, w, vector, times, blocks);
    }
}

/// The dot product, accumulated in eight partial sums.
#[cube]
fn dot(work: &Array<f64>, places: &ThreadSlots, a: u32, b: u32, blocks: u32) -> f64 {
    let mut sums = Array::<f64>::new(LANES);
    #[unroll]
    for l in 0..LANES {
        sums[l] = f64::new(0.0);
    }
    for block in 0..blocks {
        #[unroll]
        for l in 0..LANES {
            let at = block * BLOCK + l as u32;
            sums[l] += product(work[places.of(a + at)], work[places.of(b + at)]);
        }
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

#[cube]
fn subtract(work: &mut Array<f64>, places: &ThreadSlots, from: u32, vector: u32, times: f64, blocks: u32) {
    for block in 0..blocks {
        #[unroll]
        for l in 0..LANES {
            let at = block * BLOCK + l as u32;
            let less = product(times, work[places.of(vector + at)]);
            work[places.of(from + at)] = work[places.of(from + at)] - less;
        }
    }
}

/// Fills a column with zeros.
#[cube]
pub(super) fn clear(work: &mut Array<f64>, places: &ThreadSlots, column: u32, blocks: u32) {
    for i in 0..blocks * BLOCK {
        work[places.of(column + i)] = f64::new(0.0);
    }
}

//! A QR decomposition with column pivoting: the twin of `interpolate::qr`, bit for bit.
//!
//! In: a matrix in the unit's scratch, column by column, rows padded with zeros to a multiple of eight. Out: as the CPU's. Sums are those of
//! eight lanes there, too. Columns stay where they are; their order is a list.
//! Cost and source: as the CPU's.

use cubecl::prelude::*;

use crate::gpu::primitives::rounding::product;
use crate::simd::LANES;

/// A block of rows.
const BLOCK: u32 = LANES as u32;

/// The places of a unit's numbers in a buffer for all units. Those of the units are side by side, so that a warp reads one line after the other.
#[derive(CubeType)]
pub(super) struct Places {
    unit: u32,
    units: u32,
}

#[cube]
impl Places {
    pub fn new(unit: u32, units: u32) -> Places {
        Places { unit, units }
    }

    /// The place of the unit's number `i` in the buffer.
    pub fn of(&self, i: u32) -> usize {
        (i * self.units + self.unit) as usize
    }
}

/// A matrix, and where its parts begin in the scratch of a unit.
#[derive(CubeType)]
pub(super) struct Qr {
    /// The matrix; once it is decomposed the vectors of the reflections, zero above their own row.
    columns: u32,
    /// R, column by column, of `width` rows each.
    upper: u32,
    /// 2 over the squared length of each reflection's vector.
    factors: u32,
    /// What is left of each column's squared norm, and behind all of these what it was when it was last computed.
    norms: u32,
    rows: u32,
    width: u32,
    /// Which column is the one at each place.
    order: Array<u32>,
    /// One number.
    rank: Array<u32>,
}

/// Numbers that a matrix needs in the scratch beside its columns.
#[cube]
pub(super) fn size_beside(width: u32) -> u32 {
    width * width + 3 * width
}

#[cube]
impl Qr {
    /// A matrix whose columns begin at `columns`, and what it needs beside them at `beside`; of at most `most` columns.
    pub fn new(columns: u32, beside: u32, rows: u32, width: u32, #[comptime] most: usize) -> Qr {
        let factors = beside + width * width;
        let mut order = Array::<u32>::new(most);
        for column in 0..width {
            order[column as usize] = column;
        }
        Qr {
            columns,
            upper: beside,
            factors,
            norms: factors + width,
            rows,
            width,
            order,
            rank: Array::<u32>::new(1usize),
        }
    }

    /// The number of columns that are independent.
    pub fn rank(&self) -> u32 {
        self.rank[0]
    }

    /// Whether all columns are.
    pub fn is_full(&self) -> bool {
        self.rank[0] == self.width
    }

    fn blocks(&self) -> u32 {
        self.rows.div_ceil(BLOCK)
    }

    /// Where the column at a place begins.
    fn column(&self, place: u32) -> u32 {
        self.columns + self.order[place as usize] * (self.blocks() * BLOCK)
    }

    /// A number of R.
    fn upper(&self, row: u32, column: u32) -> u32 {
        self.upper + column * self.width + row
    }

    /// Decomposes the matrix. The column with most left comes next, if `is_pivoted`; what is at most `tolerance` times the first is nothing.
    pub fn decompose(
        &mut self,
        work: &mut Array<f64>,
        places: &Places,
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
            // Above its own row, a column is one of R.
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
                // It is one of the columns that are left over, and keeps what is above.
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

    /// Takes row `j` out of the norm of the column at place `k`, or computes it again where that would cancel.
    fn shorten(&self, work: &mut Array<f64>, places: &Places, k: u32, j: u32, cancelled: f64) {
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

    /// Brings the column with most left to place `j`; the first of equals.
    fn pivot(&mut self, work: &Array<f64>, places: &Places, j: u32) {
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

    /// The place of a column of the matrix.
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

    /// If all columns are independent: the shortest vector w with A^T w = e, where e is 1 for `column` and 0 otherwise, at `w`.
    pub fn shortest(&self, work: &mut Array<f64>, places: &Places, column: u32, w: u32) {
        clear(work, places, w, self.blocks());
        let place = self.place(column);
        // R^T z = P^T e, forwards.
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

    /// The same if some columns are dependent, by a decomposition of R^T in `tall`: the row of the pseudoinverse for `column`. Returns how
    /// far A^T w is from e: 0 if `column` is determined. It works in a column of `tall`'s at `projected`.
    pub fn shortest_of_dependent(
        &self,
        work: &mut Array<f64>,
        places: &Places,
        tall: &Qr,
        column: u32,
        w: u32,
        projected: u32,
    ) -> f64 {
        clear(work, places, w, self.blocks());
        clear(work, places, projected, tall.blocks());
        work[places.of(projected + self.place(column))] = f64::new(1.0);
        for j in 0..tall.rank() {
            tall.reflect_by(work, places, j, projected);
        }
        let mut sum = Array::<f64>::new(1usize);
        sum[0] = f64::new(0.0);
        for i in tall.rank()..tall.blocks() * BLOCK {
            let x = work[places.of(projected + i)];
            sum[0] += product(x, x);
        }
        let missing = sum[0].sqrt();
        // T z = V^T P^T e, backwards.
        for turn in 0..tall.rank() {
            let i = tall.rank() - 1 - turn;
            sum[0] = f64::new(0.0);
            for j in i + 1..tall.rank() {
                sum[0] += product(work[places.of(tall.upper(i, j))], work[places.of(w + j)]);
            }
            work[places.of(w + i)] = (work[places.of(projected + i)] - sum[0]) / work[places.of(tall.upper(i, i))];
        }
        self.reflect(work, places, w);
        missing
    }

    /// Decomposes the transpose of R in `tall`, a matrix of `width` rows and a column for each of the rank.
    pub fn decompose_transpose(&self, work: &mut Array<f64>, places: &Places, tall: &mut Qr) {
        for row in 0..self.rank() {
            let column = tall.column(row);
            clear(work, places, column, tall.blocks());
            for at in row..self.width {
                work[places.of(column + at)] = work[places.of(self.upper(row, at))];
            }
        }
        tall.decompose(work, places, f64::new(0.0), f64::new(0.0), false);
    }

    /// Multiplies by Q.
    fn reflect(&self, work: &mut Array<f64>, places: &Places, w: u32) {
        for turn in 0..self.rank() {
            self.reflect_by(work, places, self.rank() - 1 - turn, w);
        }
    }

    fn reflect_by(&self, work: &mut Array<f64>, places: &Places, j: u32, w: u32) {
        let start = j / BLOCK;
        let (vector, w, blocks) = (self.column(j) + start * BLOCK, w + start * BLOCK, self.blocks() - start);
        let times = work[places.of(self.factors + j)] * dot(work, places, vector, w, blocks);
        subtract(work, places, w, vector, times, blocks);
    }
}

/// The sum of products, in the order of eight sums side by side.
#[cube]
fn dot(work: &Array<f64>, places: &Places, a: u32, b: u32, blocks: u32) -> f64 {
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
fn subtract(work: &mut Array<f64>, places: &Places, from: u32, vector: u32, times: f64, blocks: u32) {
    for block in 0..blocks {
        #[unroll]
        for l in 0..LANES {
            let at = block * BLOCK + l as u32;
            let less = product(times, work[places.of(vector + at)]);
            work[places.of(from + at)] = work[places.of(from + at)] - less;
        }
    }
}

/// Puts zeros in a column.
#[cube]
pub(super) fn clear(work: &mut Array<f64>, places: &Places, column: u32, blocks: u32) {
    for i in 0..blocks * BLOCK {
        work[places.of(column + i)] = f64::new(0.0);
    }
}

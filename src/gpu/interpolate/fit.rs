//! The fit of a polynomial at each target: the GPU version of `interpolate::mls`.
//!
//! In: sources, targets and their nearest sources. Out: coefficients and slopes of these sources, and the degree at
//! each target. A thread processes one target. Its working memory is a part of one buffer, the scratch, so the number
//! of targets per launch is limited. Cost: the operations of the CPU version, which access about 2 k n^2 numbers of
//! the scratch for k neighbours and n monomials.
//!
//! **Launch contract.** The kernel has no bounds checks. It relies on:
//! - rows of neighbours, with indices below the number of sources, and a position for each source;
//! - space for a coefficient per neighbour, for a degree per target, and for the slopes if they are requested;
//! - [`scratch`] numbers for each thread, for the longest row.

use cubecl::prelude::*;

use crate::gpu::interpolate::constants::{
    CANCELLED_PART, DEPENDENT_PART, DETERMINED_WITHIN, LARGEST_SIZE, REPRODUCED_WITHIN, ROUNDING, UNCERTAIN_PART,
};
use crate::gpu::interpolate::qr::{Qr, ThreadSlots, auxiliary_size, clear};
use crate::gpu::interpolate::rows::UNUSABLE;
use crate::gpu::interpolate::weights::weigh;
use crate::gpu::metric::offset;
use crate::gpu::primitives::rounding::product;
use crate::interpolate::basis::{MAX_DEGREE, basis_size};
use crate::interpolate::mls::ROUNDING_MARGIN;
use crate::simd::LANES;

/// Rows per block.
const BLOCK: u32 = LANES as u32;

/// Parameters known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FitSpec {
    pub d: usize,
    pub periodic: bool,
    /// The largest number of monomials.
    pub width: usize,
}

impl FitSpec {
    /// One kernel fits all degrees up to 2.
    pub fn new(d: usize, periodic: bool, degree: usize) -> Self {
        Self { d, periodic, width: basis_size(d, degree.max(2)) }
    }
}

/// The size of a thread's scratch in numbers, with the layout of [`ScratchLayout`].
pub(super) fn scratch(dim: usize, degree: usize, k: usize) -> usize {
    let (rows, width) = (k.next_multiple_of(LANES), basis_size(dim, degree));
    let padded_width = width.next_multiple_of(LANES);
    rows * (2 + dim + width) + 2 * auxiliary_size(width as u32) as usize + padded_width * (width + 1)
}

/// An approximate upper bound on a thread's iterations of its innermost loops: loops over neighbours where the matrix
/// is filled and read, over blocks of rows where it is decomposed.
pub(super) fn loop_bound(dim: usize, degree: usize, k: usize) -> usize {
    let rows = k.next_multiple_of(LANES);
    let of_degree = |degree| {
        let width = basis_size(dim, degree);
        let blocks = (rows / LANES).saturating_add(width.div_ceil(LANES) + 4);
        rows.saturating_mul(width + 8 * dim + 8).saturating_add(blocks.saturating_mul(width * width))
    };
    // Two attempts per degree.
    (0..=degree).map(of_degree).fold(0usize, usize::saturating_add).saturating_mul(2)
}

/// The start of each part of a thread's scratch. The roots of the weights are at 0. R and its auxiliary data follow
/// the matrix, and likewise the transpose. The last part is one column as high as the transpose.
#[derive(CubeType)]
struct ScratchLayout {
    coefficients: u32,
    offsets: u32,
    matrix: u32,
    auxiliary: u32,
    transpose: u32,
    auxiliary_transpose: u32,
    projected: u32,
}

#[cube]
impl ScratchLayout {
    fn new(rows: u32, width: u32, #[comptime] d: usize) -> ScratchLayout {
        let (offsets, padded_width) = (2 * rows, width.div_ceil(BLOCK) * BLOCK);
        let matrix = offsets + rows * d as u32;
        let auxiliary = matrix + rows * width;
        let transpose = auxiliary + auxiliary_size(width);
        let auxiliary_transpose = transpose + padded_width * width;
        let projected = auxiliary_transpose + auxiliary_size(width);
        ScratchLayout { coefficients: rows, offsets, matrix, auxiliary, transpose, auxiliary_transpose, projected }
    }
}

/// Sources, and targets with their neighbours.
#[derive(CubeType, CubeLaunch)]
pub(super) struct FitInput<F: Float> {
    /// Coordinates of the sources in tree order, axis by axis, and the position of each source in that order.
    axes: Array<F>,
    positions: Array<u32>,
    /// Coordinates of the targets, target by target.
    targets: Array<F>,
    /// The neighbours of each target, nearest first, and the radius of the weights.
    offsets: Array<u32>,
    indices: Array<u32>,
    distances2: Array<f64>,
    radii: Array<f64>,
    sides: Array<f64>,
    numbers: Array<f64>,
    n_sources: u32,
    n_targets: u32,
    degree: u32,
    /// The index of the weight in [`Weight::ALL`](crate::interpolate::Weight::ALL).
    weight: u32,
    /// 1 if slopes are requested.
    has_slopes: u32,
    /// The first target of this launch, and its number of threads.
    first: u32,
    units: u32,
}

/// The results.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Fitted {
    coefficients: Array<f64>,
    slopes: Array<f64>,
    degrees: Array<i32>,
}

/// The parts of a fit that are the same for all degrees.
#[derive(CubeType)]
struct Fit {
    places: ThreadSlots,
    room: ScratchLayout,
    /// The first place of the target's row, and its number of neighbours.
    row: u32,
    k: u32,
    blocks: u32,
    /// `true` if any neighbour has a positive weight.
    counts: bool,
    inverse: f64,
    /// The rounding error of coordinates over the radius.
    rounding: f64,
}

#[cube(launch_unchecked)]
pub(super) fn fit_all<F: Float>(
    given: &FitInput<F>,
    fitted: &mut Fitted,
    work: &mut Array<f64>,
    #[comptime] spec: FitSpec,
) {
    let unit = ABSOLUTE_POS as u32;
    let target = given.first + unit;
    if unit < given.units && target < given.n_targets {
        let fit = prepare::<F>(given, work, unit, target, spec);
        let mut degree = Array::<i32>::new(2usize);
        // The degree to try next, and the degree found.
        degree[0] = select(fit.counts, i32::cast_from(given.degree), -1i32);
        degree[1] = comptime!(UNUSABLE).runtime();
        while degree[0] >= 0 {
            let tried = degree[0] + 0;
            degree[0] = tried - 1;
            if fit_degree(&fit, given, fitted, work, u32::cast_from(tried), spec) {
                degree[1] = tried;
                degree[0] = -1;
            }
        }
        fitted.degrees[target as usize] = degree[1];
    }
}

/// Computes the roots of the weights, and the offsets in units of the radius.
#[cube]
fn prepare<F: Float>(
    given: &FitInput<F>,
    work: &mut Array<f64>,
    unit: u32,
    target: u32,
    #[comptime] spec: FitSpec,
) -> Fit {
    let zero = f64::new(0.0);
    let row = given.offsets[target as usize];
    let k = given.offsets[(target + 1) as usize] - row;
    let places = ThreadSlots::new(unit, given.units);
    let blocks = k.div_ceil(BLOCK);
    let rows = blocks * BLOCK;
    let room = ScratchLayout::new(rows, width_of(given.degree, spec), spec.d);
    let radius = given.radii[target as usize];
    let inverse = select(radius > zero, f64::new(1.0) / select(radius > zero, radius, f64::new(1.0)), zero);
    let mut magnitude = Array::<f64>::new(1usize);
    magnitude[0] = zero;
    clear(work, &places, 0u32.runtime(), blocks);
    #[unroll]
    for axis in 0..spec.d {
        let x = f64::cast_from(given.targets[target as usize * spec.d + axis]);
        magnitude[0] = max(magnitude[0], x.abs());
        let offsets = room.offsets + rows * axis as u32;
        clear(work, &places, offsets, blocks);
        for i in 0..k {
            let position = given.positions[given.indices[(row + i) as usize] as usize] as usize;
            let other = f64::cast_from(given.axes[axis * given.n_sources as usize + position]);
            magnitude[0] = max(magnitude[0], other.abs());
            let away = offset(x, other, given.sides[axis], comptime!(spec.periodic));
            work[places.of(offsets + i)] = away * inverse;
        }
    }
    let mut most = Array::<f64>::new(1usize);
    most[0] = zero;
    for i in 0..k {
        let x = given.distances2[(row + i) as usize].sqrt() * inverse;
        let root = weigh(x, &given.numbers, given.weight).sqrt();
        work[places.of(i)] = root;
        most[0] = max(most[0], root);
    }
    let rounding = given.numbers[ROUNDING] * magnitude[0] * inverse;
    Fit { places, room, row, k, blocks, counts: most[0] > zero, inverse, rounding }
}

/// Computes the coefficients and slopes for a degree. Returns `false` if the neighbours do not determine the value at
/// the target.
#[cube]
fn fit_degree<F: Float>(
    fit: &Fit,
    given: &FitInput<F>,
    fitted: &mut Fitted,
    work: &mut Array<f64>,
    degree: u32,
    #[comptime] spec: FitSpec,
) -> bool {
    let (places, room, numbers) = (&fit.places, &fit.room, &given.numbers);
    let rounding = select(degree == 0, f64::new(0.0), fit.rounding);
    let mut is_found = Array::<u32>::new(1usize);
    is_found[0] = 0;
    if rounding <= numbers[UNCERTAIN_PART] {
        let width = width_of(degree, spec);
        let rounded = f64::new(comptime!(ROUNDING_MARGIN as f32)) * rounding;
        let is_rounded = rounded > numbers[DEPENDENT_PART];
        // Tries without directions that are due to rounding, then with them if polynomials are not reproduced.
        let mut attempt = Array::<u32>::new(1usize);
        attempt[0] = 0;
        while attempt[0] < 2 {
            let is_second = attempt[0] == 1;
            attempt[0] += select(is_rounded, 1u32, 2u32);
            let tolerance = select(is_second, f64::new(0.0), rounded);
            fill_columns(fit, work, degree, spec);
            let mut matrix = Qr::new(room.matrix, room.auxiliary, fit.k, width, spec.width);
            matrix.decompose(work, places, max(numbers[DEPENDENT_PART], tolerance), numbers[CANCELLED_PART], true);
            let mut transpose = Qr::new(room.transpose, room.auxiliary_transpose, width, matrix.rank(), spec.width);
            if !matrix.is_full() {
                matrix.decompose_transpose(work, places, &mut transpose);
            }
            let missing = solve(fit, &matrix, &transpose, work, 0u32.runtime(), f64::new(1.0));
            let mut size = Array::<f64>::new(1usize);
            size[0] = f64::new(0.0);
            for i in 0..fit.k {
                size[0] += work[places.of(room.coefficients + i)].abs();
            }
            let is_off = missing > max(numbers[DETERMINED_WITHIN], tolerance);
            let is_uncertain = product(rounding, size[0]) > numbers[UNCERTAIN_PART];
            let is_large = is_second && size[0] > numbers[LARGEST_SIZE];
            let mut is_exact = true.runtime();
            if is_off || is_uncertain || is_large {
                // Gives up this degree.
                attempt[0] = 2;
            } else if !matrix.is_full() {
                let error = reproduction_error(fit, work, degree, spec);
                is_exact = error <= numbers[REPRODUCED_WITHIN] * (f64::new(1.0) + size[0]);
            }
            if !is_off && !is_uncertain && !is_large && is_exact {
                is_found[0] = 1;
                attempt[0] = 2;
                for i in 0..fit.k {
                    fitted.coefficients[(fit.row + i) as usize] = work[places.of(room.coefficients + i)];
                }
                if given.has_slopes == 1 {
                    #[unroll]
                    for axis in 0..spec.d {
                        if degree > 0 {
                            solve(fit, &matrix, &transpose, work, 1u32 + axis as u32, fit.inverse);
                        } else {
                            clear(work, places, room.coefficients, fit.blocks);
                        }
                        for i in 0..fit.k {
                            let slope = work[places.of(room.coefficients + i)];
                            fitted.slopes[(fit.row + i) as usize * spec.d + axis] = slope;
                        }
                    }
                }
            }
        }
    }
    is_found[0] == 1
}

/// The error with which the coefficients reproduce the monomials of a degree.
#[cube]
fn reproduction_error(fit: &Fit, work: &Array<f64>, degree: u32, #[comptime] spec: FitSpec) -> f64 {
    let (places, room, rows) = (&fit.places, &fit.room, fit.blocks * BLOCK);
    let mut sums = Array::<f64>::new(2usize);
    sums[0] = f64::new(0.0);
    for i in 0..fit.k {
        sums[0] += work[places.of(room.coefficients + i)];
    }
    // The largest error so far.
    sums[1] = (sums[0] - f64::new(1.0)).abs();
    for own in 1..degree + 1 {
        let mut factors = first_factors();
        let mut is_left = true.runtime();
        while is_left {
            sums[0] = f64::new(0.0);
            for i in 0..fit.k {
                let mut term = work[places.of(room.coefficients + i)];
                for at in 0..own {
                    term = product(term, work[places.of(room.offsets + rows * factors[at as usize] + i)]);
                }
                sums[0] += term;
            }
            sums[1] = max(sums[1], sums[0].abs());
            is_left = advance(&mut factors, own, spec.d);
        }
    }
    sums[1]
}

/// The number of monomials.
#[cube]
fn width_of(degree: u32, #[comptime] spec: FitSpec) -> u32 {
    let mut width = 1u32.runtime();
    #[unroll]
    for own in 1..comptime!(MAX_DEGREE as u32 + 1) {
        width = select(degree == own, comptime!(basis_size(spec.d, own as usize) as u32), width);
    }
    width
}

/// The axes of the factors of the first monomial of each degree.
#[cube]
fn first_factors() -> Array<u32> {
    let mut factors = Array::<u32>::new(MAX_DEGREE);
    #[unroll]
    for at in 0..MAX_DEGREE {
        factors[at] = 0;
    }
    factors
}

/// Replaces the axes of the `count` factors of a monomial by those of the next one of its degree, as the function of this
/// name in `interpolate::basis`. Returns `false` after the last one.
#[cube]
fn advance(factors: &mut Array<u32>, count: u32, #[comptime] d: usize) -> bool {
    // One more than the place of the last factor with an axis after its own; 0 if there is none.
    let mut end = 0u32.runtime();
    for at in 0..count {
        if factors[at as usize] + 1 < comptime!(d as u32) {
            end = at + 1;
        }
    }
    if end > 0 {
        let axis = factors[(end - 1) as usize] + 1;
        for at in end - 1..count {
            factors[at as usize] = axis;
        }
    }
    end > 0
}

/// Writes the columns in the order of `interpolate::basis`. Each row is multiplied by the root of its weight.
#[cube]
fn fill_columns(fit: &Fit, work: &mut Array<f64>, degree: u32, #[comptime] spec: FitSpec) {
    let (places, room, rows) = (&fit.places, &fit.room, fit.blocks * BLOCK);
    for i in 0..rows {
        work[places.of(room.matrix + i)] = work[places.of(i)];
    }
    // The first column of one degree less, and the next column.
    let mut first = room.matrix + 0;
    let mut next = room.matrix + rows;
    for own in 1..degree + 1 {
        let mut factors = first_factors();
        let end = next + 0;
        while first < end {
            let mut last = 0u32.runtime();
            if own > 1 {
                last = factors[(own - 2) as usize];
            }
            for axis in last..comptime!(spec.d as u32) {
                for i in 0..rows {
                    let value = work[places.of(first + i)] * work[places.of(room.offsets + rows * axis + i)];
                    work[places.of(next + i)] = value;
                }
                next += rows;
            }
            advance(&mut factors, own - 1, spec.d);
            first += rows;
        }
    }
}

/// Replaces the coefficients by the solution for a monomial, times the roots of the weights and `times`. Returns its
/// distance from an exact solution.
#[cube]
fn solve(fit: &Fit, matrix: &Qr, transpose: &Qr, work: &mut Array<f64>, column: u32, times: f64) -> f64 {
    let (places, room) = (&fit.places, &fit.room);
    let mut missing = Array::<f64>::new(1usize);
    missing[0] = f64::new(0.0);
    if matrix.is_full() {
        matrix.shortest(work, places, column, room.coefficients);
    } else {
        missing[0] = matrix.pseudoinverse_row(work, places, transpose, column, room.coefficients, room.projected);
    }
    for i in 0..fit.k {
        let root = work[places.of(i)] * times;
        work[places.of(room.coefficients + i)] = work[places.of(room.coefficients + i)] * root;
    }
    missing[0]
}

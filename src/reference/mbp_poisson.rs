//! The approximate most bound particle, by Poisson's equation on a grid.
//!
//! In: the members of a halo. Out: the member with the lowest exact potential among those around the lowest point of a
//! grid.
//!
//! The density (cloud in cell) is sampled on a lattice inside the bounding box of the halo, with a potential of 0 on
//! its faces. Sines are the eigenfunctions of this problem, so a forward and a backward sine transform along the three
//! axes solve the equation of second differences. A sine transform of n values is a Fourier transform of 2 (n + 1)
//! values, odd about 0; two real lines are combined into a complex one.
//!
//! Cost: 3 n² Fourier transforms and 16 n³ bytes for a grid of n cells along each axis, then some exact sums. Source:
//! Sewell et al. 2015, section 3; Hockney and Eastwood 1988, sections 6-5 (the equation) and 5-3 (cloud in cell).

use std::f64::consts::PI;

use rustfft::algorithm::Radix4;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};

use crate::cluster::Halos;
use crate::error::{Error, Result};
use crate::geometry::{Aabb, Bounded, Scalar};
use crate::halo::centers::direct::{MostBound, MostBoundMember, sums};
use crate::halo::centers::members::ScaledMembers;
use crate::halo::{CenterFinder, Centers};
use crate::parallel::{Scratch, fill};
use crate::reference::check_most_bound;

/// The maximum number of cells along an axis, for a grid of 265 MB. One less than a power of two, as every number of
/// cells.
const MAX_CELLS: usize = 255;

/// The grid of [`most_bound_poisson`]. Default: that of the paper, 63 cells along each axis and a search of two cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoissonGrid {
    /// The number of cells along each axis, 1 to 255, rounded up to one less than a power of two.
    pub cells: usize,
    /// The number of cells on either side of the lowest cell, along each axis, whose members are searched.
    pub search: usize,
}

impl Default for PoissonGrid {
    fn default() -> Self {
        Self { cells: 63, search: 2 }
    }
}

/// Finds the most bound particles approximately. Poisson's equation is solved on a grid over the halo's box with a
/// potential of 0 on its faces. Then exact sums are computed for the members in a cube around the lowest cell.
///
/// The result may differ from the exact most bound member, most often in small halos and next to an attached heavy
/// neighbour. Source: Sewell et al. 2015, section 3.
///
/// # Errors
/// Returns an error as [`CenterFinder::run`], for a finder of other centres than
/// [`Center::MostBound`](crate::Center::MostBound), and for a number of cells outside 1 to 255.
pub fn most_bound_poisson<T: Bounded<S, 3>, S: Scalar>(
    finder: &CenterFinder<'_>,
    grid: PoissonGrid,
    points: &[T],
    halos: &Halos,
) -> Result<Centers> {
    check_most_bound(finder)?;
    if !(1..=MAX_CELLS).contains(&grid.cells) {
        let name = "the number of cells along an axis";
        return Err(Error::parameter_must(name, grid.cells as f64, "from 1 to 255"));
    }
    finder.run_by(points, halos, &|members| Ok(most_bound(members, grid.cells, grid.search)))
}

fn most_bound(members: &ScaledMembers, cells: usize, search: usize) -> Option<MostBound> {
    // `Radix4` handles powers of two only. A planner for any length would compile all algorithms of `rustfft`.
    let lattice = Lattice::new(members, (cells + 1).next_power_of_two() - 1);
    let lowest = lattice.lowest(members);
    // The cube extends at least to the nearest member: if the lowest point lies between two clumps, there may be no
    // member near it.
    let place = |member: u32| {
        let at = lattice.place(members.position(member as usize));
        (0..3).map(|k| (at[k] - lowest[k]).abs()).fold(0.0, f64::max)
    };
    let places: Vec<f64> = (0..members.len() as u32).map(place).collect();
    let nearest = places.iter().copied().fold(f64::INFINITY, f64::min);
    let reach = (search as f64 + 0.5).max(nearest);
    let targets: Vec<u32> =
        (0..).zip(&places).filter(|&(_, &place)| place <= reach).map(|(member, _)| member).collect();
    let sums = sums(members, &targets);
    let pairs = targets.len() as u64 * (members.len() as u64 - 1);
    let coincident = sums.iter().map(|sum| u64::from(sum.n_coincident - 1)).sum::<u64>() / 2;
    MostBoundMember::new(members, &targets, &sums).map(|best| MostBound { best, pairs, coincident })
}

/// A lattice with points 1 to `n` along each axis; 0 and `n` + 1 are the faces of the box.
struct Lattice {
    n: usize,
    lo: [f64; 3],
    step: [f64; 3],
}

impl Lattice {
    fn new(members: &ScaledMembers, n: usize) -> Self {
        let corners = (0..members.len()).map(|member| Aabb::point(members.position(member)));
        let bounds = corners.fold(Aabb::EMPTY, |all, point| all.union(&point));
        let widest = (0..3).map(|k| bounds.hi[k] - bounds.lo[k]).fold(0.0, f64::max);
        // A flat halo gets a box of nonzero thickness.
        let least = if widest > 0.0 { widest / n as f64 } else { 1.0 };
        let side: [f64; 3] = std::array::from_fn(|k| (bounds.hi[k] - bounds.lo[k]).max(least));
        let lo = std::array::from_fn(|k| 0.5 * (bounds.lo[k] + bounds.hi[k]) - 0.5 * side[k]);
        Self { n, lo, step: side.map(|side| side / (n + 1) as f64) }
    }

    /// The position in units of lattice steps.
    fn place(&self, at: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|k| (at[k] - self.lo[k]) / self.step[k])
    }

    /// The lattice point with the lowest potential, ties by index.
    fn lowest(&self, members: &ScaledMembers) -> [f64; 3] {
        let n = self.n;
        let mut grid = self.density(members);
        let fft = Radix4::new(2 * (n + 1), FftDirection::Forward);
        sines(&mut grid, n, &fft);
        // Sines are eigenfunctions of second differences, with these eigenvalues.
        let difference = |k: usize, wave: usize| {
            (2.0 - 2.0 * (PI * (wave + 1) as f64 / (n + 1) as f64).cos()) / (self.step[k] * self.step[k])
        };
        let factors: [Vec<f64>; 3] = std::array::from_fn(|k| (0..n).map(|wave| difference(k, wave)).collect());
        fill(&mut grid, n, &|range, values| {
            let line = range.start / n;
            let others = factors[1][line % n] + factors[2][line / n];
            for (value, own) in values.iter_mut().zip(&factors[0]) {
                *value /= own + others;
            }
        });
        sines(&mut grid, n, &fft);
        // The grid now holds the potential times a negative factor.
        let mut best = (0, f64::NEG_INFINITY);
        for (i, &depth) in grid.iter().enumerate() {
            if depth > best.1 {
                best = (i, depth);
            }
        }
        [best.0 % n, best.0 / n % n, best.0 / (n * n)].map(|i| (i + 1) as f64)
    }

    /// The masses at the lattice points, the first axis fastest; each member's mass is divided among the eight points
    /// around it.
    fn density(&self, members: &ScaledMembers) -> Vec<f64> {
        let n = self.n;
        let mut grid = vec![0.0; n * n * n];
        for member in 0..members.len() {
            let at = self.place(members.position(member));
            let below = at.map(|x| (x.max(0.0) as usize).min(n));
            for corner in 0..8usize {
                let mut mass = members.masses[member];
                let mut point = [0; 3];
                for k in 0..3 {
                    let up = corner >> k & 1;
                    let part = at[k] - below[k] as f64;
                    mass *= if up == 1 { part } else { 1.0 - part };
                    point[k] = below[k] + up;
                }
                // The share of the faces is dropped, as the potential there is fixed.
                if point.iter().all(|&i| (1..=n).contains(&i)) {
                    grid[((point[2] - 1) * n + point[1] - 1) * n + point[0] - 1] += mass;
                }
            }
        }
        grid
    }
}

/// Applies the sine transform along all axes.
fn sines(grid: &mut Vec<f64>, n: usize, fft: &Radix4<f64>) {
    type Buffers = (Vec<Complex<f64>>, Vec<Complex<f64>>);
    let scratches = Scratch::<Buffers>::new(Default::default);
    for _ in 0..3 {
        // Transforms two lines at a time along the first axis, then rotates the axes. After three rotations the order
        // is restored.
        fill(grid, 2 * n, &|_, lines| {
            scratches.with(|(line, scratch)| {
                let (a, b) = lines.split_at_mut(n);
                line.clear();
                line.resize(2 * (n + 1), Complex::default());
                scratch.resize(fft.get_inplace_scratch_len(), Complex::default());
                for j in 0..n {
                    let value = Complex::new(a[j], b.get(j).copied().unwrap_or(0.0));
                    line[j + 1] = value;
                    line[2 * n + 1 - j] = -value;
                }
                fft.process_with_scratch(line, scratch);
                for (j, a) in a.iter_mut().enumerate() {
                    *a = -0.5 * line[j + 1].im;
                }
                for (j, b) in b.iter_mut().enumerate() {
                    *b = 0.5 * line[j + 1].re;
                }
            });
        });
        let mut turned = vec![0.0; grid.len()];
        fill(&mut turned, n * n, &|range, plane| {
            let x = range.start / (n * n);
            for (line, value) in plane.iter_mut().enumerate() {
                *value = grid[line * n + x];
            }
        });
        *grid = turned;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sine transform by its definition.
    fn sine(values: &[f64]) -> Vec<f64> {
        let n = values.len();
        let term = |j: usize, k: usize| (PI * ((j + 1) * (k + 1)) as f64 / (n + 1) as f64).sin();
        (0..n).map(|k| (0..n).map(|j| values[j] * term(j, k)).sum()).collect()
    }

    #[test]
    fn transforms_are_sums_of_sines() {
        for n in [1, 3, 7] {
            let at = |i: usize| ((i * 7919 + 13) % 101) as f64 / 101.0 - 0.3;
            let mut grid: Vec<f64> = (0..n * n * n).map(at).collect();
            let mut expected = grid.clone();
            for stride in [1, n, n * n] {
                for start in (0..n * n * n).filter(|i| i / stride % n == 0) {
                    let line: Vec<f64> = (0..n).map(|i| expected[start + i * stride]).collect();
                    for (i, value) in sine(&line).into_iter().enumerate() {
                        expected[start + i * stride] = value;
                    }
                }
            }
            sines(&mut grid, n, &Radix4::new(2 * (n + 1), FftDirection::Forward));
            for (i, (ours, theirs)) in grid.iter().zip(&expected).enumerate() {
                assert!((ours - theirs).abs() < 1e-12 * (n * n * n) as f64, "{n}: {i}: {ours}, should be {theirs}");
            }
        }
    }
}

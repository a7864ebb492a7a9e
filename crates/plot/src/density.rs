//! The projected density of particles on a square of pixels, with adaptive smoothing.
//!
//! Each particle is spread over a few times the distance to its neighbours: about a pixel in a halo, dozens of pixels
//! in a void. The local density for this comes from counts in cubes of one cell, two cells, four, and so on.
//! Cost: 24 bytes per particle, 27 MB, and 8 bytes per pixel; about n^(1/3) pixels per particle.
//!
//! The picture does not depend on the number of threads or ranks, because a pixel is a sum of integers, which is
//! independent of order. A contribution to a pixel is resolved if it is at least 2^-61 of the total mass and 2^-51 of
//! the particle's own mass. So light particles remain visible beside one of 10^12 times their mass.

use ropewalk::distributed::{Communicator, Reduction};
use ropewalk::halo::{MassSum, Particles};
use ropewalk::internals::parallel::{fill, map, map_tasks, sort};
use ropewalk::{Result, Scalar};

use crate::slab::Slab;
use crate::window::{SIDE, Window};

/// Cells along a side of the finest grid, and the number of times that cells are merged in pairs.
const CELLS: usize = 128;
const LEVELS: usize = 4;
/// The number of particles in the cube whose side is half that of the square over which a particle is spread.
const NEIGHBOURS: f32 = 5.0;
/// Half the side of the smallest square, in pixels; at least that of cloud-in-cell.
const NARROW: f32 = 1.0;
/// Half the side of the largest square, in units.
const WIDE: f32 = 64.0;
/// Rows per parallel task.
const BAND: usize = 60;
/// Particles per parallel task.
const TASK: usize = 1 << 12;

/// The position of a particle in pixels, half the side of its square, and its weight.
#[derive(Clone, Copy)]
struct Spread {
    at: [f32; 2],
    width: f32,
    weight: f32,
}

/// Maps floats to integers of the same order.
fn ascending(x: f32) -> u32 {
    let bits = x.to_bits();
    if bits >> 31 == 0 { bits | 1 << 31 } else { !bits }
}

/// Computes the surface density in units of its mean, in row-major order from the top (the largest y), on a square of
/// `side` pixels. Also returns the number of particles, of all or of those in a slab. Without particles there are no
/// pixels.
///
/// Fails if a rank has ended.
pub fn density<S: Scalar>(
    particles: &Particles<S>,
    window: &Window,
    side: usize,
    slab: Option<&Slab>,
    ranks: &dyn Communicator,
) -> Result<(Vec<f32>, u64)> {
    let fine = side as f64 / SIDE as f64;
    // Sorted by height, the slowest axis of the grids: consecutive particles then use a part of the grids that fits a
    // cache.
    let height = |i: usize| (fine * window.pixel(particles.position(i))[1]) as f32;
    let mut order: Vec<u64> = map(particles.len(), TASK, &|i| u64::from(ascending(height(i))) << 32 | i as u64);
    if let Some(slab) = slab {
        order.retain(|&key| window.is_in(slab, particles.position(key as u32 as usize)));
    }
    let here = order.len();
    let masses = TotalMass::new(particles, &order, ranks)?;
    if masses.n == 0 {
        return Ok((vec![], 0));
    }
    let grids = Grids::new(particles, window, ranks)?;
    sort(&mut order);
    let wide = fine as f32 * WIDE;
    let spreads: Vec<Spread> = map(here, TASK, &|place| {
        let i = order[place] as u32 as usize;
        let at = particles.position(i);
        let width = (fine as f32 * grids.width(at)).clamp(NARROW, wide.max(NARROW));
        Spread { at: window.pixel(at).map(|x| (fine * x) as f32), width, weight: masses.weight(particles.mass_of(i)) }
    });
    drop(order);

    let unit = masses.unit();
    let mut image = vec![0u64; side * side];
    fill(&mut image, BAND * side, &|range, rows| {
        let top = (range.start / side) as f32;
        let bottom = top + BAND as f32;
        let mut weights = [vec![], vec![]];
        // Particles at the opposite edge contribute to a band across the periodic boundary.
        let around = if window.wraps() { side as f32 } else { 0.0 };
        let mut shifts = vec![0.0];
        if around > 0.0 {
            shifts.extend([-around, around]);
        }
        for shift in shifts {
            let first = spreads.partition_point(|spread| spread.at[1] + shift < top - wide);
            let last = spreads.partition_point(|spread| spread.at[1] + shift < bottom + wide);
            for spread in &spreads[first..last] {
                let y = spread.at[1] + shift - top;
                if y + spread.width > 0.0 && y - spread.width < BAND as f32 {
                    let counter = unit.counter(spread.weight);
                    spread.add_to(Band { rows, side, wraps: window.wraps() }, y, counter, &mut weights);
                }
            }
        }
    });
    drop(spreads);
    ranks.all_reduce(&mut image, Reduction::Sum)?;
    let scale = (side * side) as f64 / masses.n as f64 / unit.per_one();
    Ok((map(image.len(), TASK, &|at| (image[at] as i64 as f64 * scale) as f32), masses.n))
}

/// The total mass of the particles in the picture.
struct TotalMass {
    n: u64,
    mean: f64,
    /// The sum of absolute masses.
    magnitude: f64,
}

impl TotalMass {
    /// Sums the masses of the particles whose indices are the lower halves of `keys`.
    fn new<S: Scalar>(particles: &Particles<S>, keys: &[u64], ranks: &dyn Communicator) -> Result<Self> {
        let tasks = map_tasks(keys.len(), TASK, &|range| {
            // The sum of all masses, and that of negative ones.
            let mut sums = [MassSum::default(), MassSum::default()];
            for &key in &keys[range] {
                let mass = particles.mass_of(key as u32 as usize);
                sums[0].add(mass);
                if mass < 0.0 {
                    sums[1].add(mass);
                }
            }
            sums
        });
        let mut n = [keys.len() as u64];
        ranks.all_reduce(&mut n, Reduction::Sum)?;
        let mut values = [f64::NAN; 2];
        for (at, value) in values.iter_mut().enumerate() {
            let mut sum = MassSum::default();
            tasks.iter().for_each(|task| sum.merge(&task[at]));
            let mut words = sum.words().map(|word| word as u64);
            ranks.all_reduce(&mut words, Reduction::Sum)?;
            *value = MassSum::from_words(&words.map(|word| word as i64)).map_or(f64::NAN, |sum| sum.value());
        }
        let [all, below] = values;
        Ok(Self { n: n[0], mean: all / n[0] as f64, magnitude: all - 2.0 * below })
    }

    /// Returns a mass in units of the mean mass; 1 if the mean mass is not positive.
    fn weight(&self, mass: f64) -> f32 {
        if self.mean > 0.0 { (mass / self.mean) as f32 } else { 1.0 }
    }

    /// Returns the finest unit in which the sum of all weights, and so every pixel, is below 2^61.
    fn unit(&self) -> FixedPointUnit {
        let all = if self.mean > 0.0 { self.magnitude / self.mean } else { self.n as f64 };
        FixedPointUnit { bits: 60 - exponent(all) }
    }
}

/// Returns the exponent of the largest power of two that is at most the magnitude of `x`, a normal number.
fn exponent(x: f64) -> i32 {
    (x.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

/// The unit 2^-bits, of which all sums are integer multiples.
#[derive(Clone, Copy)]
struct FixedPointUnit {
    bits: i32,
}

impl FixedPointUnit {
    /// Returns the number of units in 1.
    fn per_one(self) -> f64 {
        2f64.powi(self.bits)
    }

    /// Returns a counter for the contributions of a particle. It counts units, or for heavy particles the smallest
    /// power-of-two multiple of units of which the weight is below 2^51.
    fn counter(self, weight: f32) -> FixedPointRounder {
        let bits = self.bits.min(50 - exponent(weight.into()));
        FixedPointRounder { magic: 1.5 * 2f64.powi(52 - bits), shift: (self.bits - bits) as u32 }
    }
}

/// Converts contributions of at most a particle's weight to numbers of units.
#[derive(Clone, Copy)]
struct FixedPointRounder {
    /// A float whose last bit is 2^shift units. Adding a positive or negative number to it rounds to whole multiples.
    magic: f64,
    shift: u32,
}

impl FixedPointRounder {
    /// Returns the number of units nearest to `x`, modulo 2^64.
    fn count(self, x: f32) -> u64 {
        (f64::from(x) + self.magic).to_bits().wrapping_sub(self.magic.to_bits()).wrapping_shl(self.shift)
    }
}

/// A band of rows of the picture.
struct Band<'a> {
    rows: &'a mut [u64],
    side: usize,
    wraps: bool,
}

impl Spread {
    /// Adds the particle to the rows of a band; `y` is its row in the band.
    fn add_to(&self, band: Band<'_>, y: f32, counter: FixedPointRounder, [across, down]: &mut [Vec<f32>; 2]) {
        let Band { rows, side, wraps } = band;
        let columns = kernel(self.at[0], self.width, across);
        let lines = kernel(y, self.width, down);
        for (line, weight) in (lines..).zip(down) {
            let Some(row) = usize::try_from(line).ok().and_then(|line| rows.get_mut(line * side..(line + 1) * side))
            else {
                continue;
            };
            let weight = self.weight * *weight;
            if columns >= 0 && columns as usize + across.len() <= side {
                for (pixel, across) in row[columns as usize..].iter_mut().zip(across.iter()) {
                    *pixel = pixel.wrapping_add(counter.count(weight * across));
                }
            } else {
                for (column, across) in (columns..).zip(across.iter()) {
                    let column = if wraps { column.rem_euclid(side as i64) } else { column };
                    if let Some(pixel) = usize::try_from(column).ok().and_then(|column| row.get_mut(column)) {
                        *pixel = pixel.wrapping_add(counter.count(weight * across));
                    }
                }
            }
        }
    }
}

/// Computes a biweight kernel of half width `width` around `at`: the weights, which add up to one. Returns the pixel
/// of the first weight.
fn kernel(at: f32, width: f32, weights: &mut Vec<f32>) -> i64 {
    // The middle of pixel i is at i + 0.5.
    let first = (at - width - 0.5).ceil();
    weights.clear();
    let mut x = first + 0.5 - at;
    while x <= width {
        let inside = 1.0 - (x / width) * (x / width);
        weights.push(inside * inside);
        x += 1.0;
    }
    let sum: f32 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    first as i64
}

/// Particle counts in cubes of 1, 2, 4, .. cells. The index x varies fastest, then z, then y.
struct Grids<'a> {
    window: &'a Window,
    counts: Vec<Vec<u32>>,
}

impl<'a> Grids<'a> {
    fn new<S: Scalar>(particles: &Particles<S>, window: &'a Window, ranks: &dyn Communicator) -> Result<Self> {
        let mut all = vec![0u64; CELLS * CELLS * CELLS];
        for i in 0..particles.len() {
            let cell = window.cell(particles.position(i), CELLS).map(|x| (x.max(0.0) as usize).min(CELLS - 1));
            all[(cell[1] * CELLS + cell[2]) * CELLS + cell[0]] += 1;
        }
        ranks.all_reduce(&mut all, Reduction::Sum)?;
        // Saturated counts have no effect: the spread would be below a pixel anyway.
        let mut counts =
            vec![all.into_iter().map(|count| u32::try_from(count).unwrap_or(u32::MAX)).collect::<Vec<_>>()];
        for level in 1..=LEVELS {
            let (side, finer) = (CELLS >> level, &counts[level - 1]);
            let mut coarser = vec![0u32; side * side * side];
            for (i, count) in finer.iter().enumerate() {
                let [x, z, y] = [i % (2 * side), i / (2 * side) % (2 * side), i / (4 * side * side)].map(|x| x / 2);
                let cell = &mut coarser[(y * side + z) * side + x];
                *cell = cell.saturating_add(*count);
            }
            counts.push(coarser);
        }
        Ok(Self { window, counts })
    }

    /// Returns half the side of the square over which a particle at `at` is spread, in units: the side of a cube that
    /// holds [`NEIGHBOURS`] particles at the local density.
    fn width(&self, at: [f64; 3]) -> f32 {
        let place = self.window.cell(at, CELLS).map(|x| x as f32);
        let cell = SIDE as f32 * self.window.cell_width(CELLS) as f32;
        for level in 0..=LEVELS {
            let count = self.interpolate(level, place);
            if count >= NEIGHBOURS || level == LEVELS {
                return cell * (1u32 << level) as f32 * (NEIGHBOURS / count).cbrt();
            }
        }
        WIDE
    }

    /// Returns the count in a cube of a level centred on `place`, interpolated linearly between the cubes of the
    /// grid.
    #[inline(always)]
    fn interpolate(&self, level: usize, place: [f32; 3]) -> f32 {
        let side = (CELLS >> level) as i64;
        let place = place.map(|x| x / (1u32 << level) as f32 - 0.5);
        let low = place.map(|x| x.floor());
        let wrap = |at: i64| if self.window.wraps() { at.rem_euclid(side) } else { at.clamp(0, side - 1) };
        let mut sum = 0.0;
        for corner in 0..8u8 {
            let (mut share, mut index) = (1.0, 0);
            for k in [1, 2, 0] {
                let up = corner >> k & 1;
                let part = place[k] - low[k];
                share *= if up == 1 { part } else { 1.0 - part };
                index = index * side + wrap(low[k] as i64 + i64::from(up));
            }
            sum += share * self.counts[level].get(index as usize).copied().unwrap_or(0) as f32;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use ropewalk::distributed::Alone;
    use ropewalk::geometry::Space;

    use super::*;

    #[test]
    fn weights_add_up() {
        for width in [1.0f32, 1.3, 7.7, WIDE] {
            for at in [0.0f32, 0.5, 0.99, 300.25] {
                let mut weights = vec![];
                let first = kernel(at, width, &mut weights);
                assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5);
                assert!((first as f32 + 0.5 - at).abs() <= width);
            }
        }
    }

    #[test]
    fn the_mean_is_one() {
        let positions: Vec<[f32; 3]> = (0..4000u32)
            .map(|i| [i, i.wrapping_mul(2_654_435_761), i.wrapping_mul(40_503)].map(|x| (x % 1000) as f32 / 100.0))
            .collect();
        let particles = Particles::new(&positions).periodic(10.0);
        let window = Window::new(particles.extent().into(), &Space::periodic(10.0).unwrap(), 2);
        let slab: Slab = "z:8..11".parse().unwrap();
        let inside = positions.iter().filter(|p| p[2] >= 8.0 || p[2] <= 1.0).count();
        for (side, slab, count) in
            [(SIDE, None, 4000), (300, None, 4000), (1500, None, 4000), (SIDE, Some(&slab), inside)]
        {
            let (image, n) = density(&particles, &window, side, slab, &Alone).unwrap();
            let mean = image.iter().map(|&x| f64::from(x)).sum::<f64>() / image.len() as f64;
            assert!((mean - 1.0).abs() < 1e-4, "{mean}");
            assert_eq!((image.len(), n), (side * side, count as u64));
        }
    }

    /// Masses over eighteen orders of magnitude, in both orders of particles.
    #[test]
    fn sums_have_no_order() {
        let n = 3000u32;
        let of = |i: u32| [i, i.wrapping_mul(2_654_435_761), i.wrapping_mul(40_503)].map(|x| (x % 997) as f32 / 100.0);
        let mass = |i: u32| 10f64.powi(i as i32 % 19 - 9);
        let seen = |order: Vec<u32>| {
            let positions: Vec<[f32; 3]> = order.iter().map(|&i| of(i)).collect();
            let masses: Vec<f64> = order.iter().map(|&i| mass(i)).collect();
            let particles = Particles::new(&positions).masses(&masses).periodic(10.0);
            let window = Window::new(particles.extent().into(), &Space::periodic(10.0).unwrap(), 2);
            density(&particles, &window, 200, None, &Alone).unwrap().0
        };
        let image = seen((0..n).collect());
        assert!(image == seen((0..n).rev().collect()));
        let mean = image.iter().map(|&x| f64::from(x)).sum::<f64>() / image.len() as f64;
        assert!((mean - 1.0).abs() < 1e-4, "{mean}");
    }

    /// A particle beside one of 10^12 times its mass. The expected values follow from the biweight kernel over the
    /// widest square.
    #[test]
    fn light_particles_are_seen() {
        let positions = [[2.0f32, 2.0, 5.0], [7.0, 7.0, 5.0]];
        let masses = [1.0, 1e12];
        let particles = Particles::new(&positions).masses(&masses).periodic(10.0);
        let window = Window::new(particles.extent().into(), &Space::periodic(10.0).unwrap(), 2);
        let (image, _) = density(&particles, &window, SIDE, None, &Alone).unwrap();
        for (at, mass) in positions.iter().zip(masses) {
            let [x, y] = window.pixel(at.map(f64::from));
            let near = |i: usize| (x - (i % SIDE) as f64).hypot(y - (i / SIDE) as f64) < 100.0;
            let pixels = (0..image.len()).filter(|&i| near(i)).map(|i| f64::from(image[i]));
            let (sum, peak) = pixels.fold((0.0, 0.0f64), |(sum, peak), x| (sum + x, peak.max(x)));
            let whole = mass / (masses[0] + masses[1]) * image.len() as f64;
            let highest = whole * (15.0 / 16.0 / f64::from(WIDE)).powi(2);
            assert!((sum / whole - 1.0).abs() < 1e-3, "{mass}: {sum}, {whole}");
            assert!((peak / highest - 1.0).abs() < 1e-2, "{mass}: {peak}, {highest}");
        }
    }

    #[test]
    fn units_are_counted() {
        let unit = FixedPointUnit { bits: 10 };
        assert_eq!(unit.per_one(), 1024.0);
        let counter = unit.counter(2.5);
        assert_eq!([0.0, 1.0, -2.5, 0.000_6].map(|x| counter.count(x) as i64), [0, 1024, -2560, 1]);
        // The weight is below 2^51 multiples of 2^7 units each.
        let (unit, heavy) = (FixedPointUnit { bits: 55 }, 7.0);
        let counter = unit.counter(-heavy);
        let counts = [heavy, -heavy, 2f32.powi(-48), 2f32.powi(-50)].map(|x| counter.count(x) as i64);
        assert_eq!(counts, [7 << 55, -(7 << 55), 1 << 7, 0]);
    }
}

//! Mock halos: points clustered as in a cosmological snapshot, without a simulation.
//!
//! - **Masses**, in points, follow a power law `dN/dM ~ M^-alpha`. The number of points of a halo is exactly its mass.
//! - **Profiles** are those of Navarro, Frenk and White 1997, out to the radius within which the density is 200 times
//!   the mean. The concentration falls slowly with mass, as `M^-0.081` (Duffy et al. 2008), to 6 for the heaviest
//!   halo.
//! - **Centres** lie on Rayleigh-Lévy flights (Mandelbrot 1975; Peebles 1980, section 62) of 64 halos, each with a
//!   uniformly random start. Halos at uniformly random positions would be easier for a tree and a linking length than
//!   the real universe, where halos lie in chains and knots between voids. The probability of a step longer than `l`
//!   is `(l0 / l)^1.2`. This gives the observed frequency of pairs: an excess that falls with the power -1.8 of the
//!   distance. `l0` is the sum of the two radii, so that consecutive halos at most touch.
//! - **Background**: uniform points.
//!
//! A pseudo-random permutation of the indices assigns points to halos, so the points of a halo are scattered over the
//! file.

use crate::error::{Error, Result};
use crate::parallel::{self, map};
use crate::sample::checks::{check_side, check_within};
use crate::sample::nfw::{self, Radii};
use crate::sample::random::{Permutation, Purpose, Stream, fill};
use crate::sample::uniform::check_count;

/// Mock halos in a periodic box: clustered centres, NFW profiles, a power law of masses, a uniform background.
///
/// ```
/// use ropewalk::sample::MockHalos;
///
/// let mock = MockHalos::new(10_000).seed(3).background(0.5);
/// assert_eq!(mock.points()?.len(), 10_000);
/// assert!(mock.catalog()?.iter().map(|halo| halo.mass).sum::<u32>() <= 5_000);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MockHalos {
    pub(super) n: usize,
    pub(super) seed: u64,
    pub(super) side: f64,
    pub(super) background: f64,
    pub(super) alpha: f64,
    pub(super) min_mass: u32,
    pub(super) max_mass: Option<u32>,
}

/// A halo of [`MockHalos::catalog`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MockHalo {
    /// The position of maximum density, in `[0, side)`.
    pub center: [f64; 3],
    /// The mass of the halo: its number of points.
    pub mass: u32,
    /// The radius of the sphere whose mean density is 200 times that of the box. No point is farther from the centre.
    pub radius: f64,
    /// The ratio of `radius` to the scale radius.
    pub concentration: f64,
}

impl MockHalos {
    /// Creates options for `n` points, at most 2^32 - 2. Default: seed 0, the unit box, three tenths of the points in
    /// the background, masses from 20 to `n / 50` points with `alpha` 1.9.
    pub fn new(n: usize) -> Self {
        Self { n, seed: 0, side: 1.0, background: 0.3, alpha: 1.9, min_mass: 20, max_mass: None }
    }

    /// Sets the seed, any number.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the side of the periodic box, in any unit of length, from 1e-15 to 1e15.
    #[must_use]
    pub fn side(mut self, side: f64) -> Self {
        self.side = side;
        self
    }

    /// Sets the fraction of the points that are in no halo, from 0 to 1. Points that remain after the last halo join
    /// the background; they are fewer than the minimum mass.
    #[must_use]
    pub fn background(mut self, fraction: f64) -> Self {
        self.background = fraction;
        self
    }

    /// Sets the power of the mass function, `dN/dM ~ M^-alpha`, from 0 to 5. Simulations have about 1.9 at small
    /// masses.
    #[must_use]
    pub fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }

    /// Sets the minimum and maximum mass of a halo, in points. The last halo may get fewer points than drawn, if too
    /// few remain.
    #[must_use]
    pub fn masses(mut self, min_mass: u32, max_mass: u32) -> Self {
        (self.min_mass, self.max_mass) = (min_mass, Some(max_mass));
        self
    }

    /// The maximum mass of a halo.
    pub(super) fn heaviest(&self) -> u32 {
        self.max_mass.unwrap_or_else(|| u32::try_from(self.n / 50).unwrap_or(u32::MAX).max(self.min_mass))
    }

    pub(super) fn check(&self) -> Result<()> {
        check_count(self.n)?;
        check_side(self.side)?;
        check_within("the background", self.background, 0.0, 1.0, "from 0 to 1")?;
        check_within("alpha", self.alpha, 0.0, 5.0, "from 0 to 5")?;
        if self.min_mass == 0 {
            return Err(Error::parameter_must("the minimum mass", 0.0, "at least 1"));
        }
        if self.heaviest() < self.min_mass {
            let value = f64::from(self.heaviest());
            let must = format!("at least the minimum mass, {}", self.min_mass);
            return Err(Error::parameter_must("the maximum mass", value, &must));
        }
        Ok(())
    }

    /// Generates the points, in `[0, side)`. A halo that crosses a face of the box continues at the opposite face.
    ///
    /// # Errors
    /// A parameter out of its range; more points than fit into memory.
    pub fn points(&self) -> Result<Vec<[f32; 3]>> {
        let halos = self.catalog()?;
        let assignment = PointAssignment::new(self, &halos);
        let shapes: Vec<Shape> = map(halos.len(), 64, &|halo| Shape::new(&halos[halo]));
        let radii = Radii::up_to(halos.iter().map(|halo| halo.concentration).fold(1.0, f64::max));
        fill(self.n, self.side, self.seed, |index, stream| match assignment.halo_of(index) {
            Some(halo) => shapes[halo as usize].point(self.side, &radii, stream),
            None => stream.cube(self.side),
        })
    }

    /// Generates the halos, in no particular order.
    ///
    /// # Errors
    /// A parameter out of its range.
    pub fn catalog(&self) -> Result<Vec<MockHalo>> {
        self.check()?;
        let heaviest = f64::from(self.heaviest());
        let masses = self.draw_masses();
        let mut halos = map(masses.len(), FLIGHT, &|halo| {
            let mass = masses[halo];
            let share = f64::from(mass) / self.n as f64;
            let radius = self.side * libm::cbrt(3.0 * share / (4.0 * std::f64::consts::PI * OVERDENSITY));
            let concentration = 6.0 * libm::pow(f64::from(mass) / heaviest, -0.081);
            MockHalo { center: [0.0; 3], mass, radius, concentration }
        });
        parallel::fill(&mut halos, FLIGHT, &|range, halos| {
            let flight = range.start / FLIGHT;
            self.place_flight(&mut Stream::new(self.seed, Purpose::Centers, flight as u64), halos);
        });
        Ok(halos)
    }

    /// Computes the index in [`MockHalos::catalog`] of each point's halo, or `None` in the background: the ground truth
    /// for tests of halo finders.
    ///
    /// ```
    /// use ropewalk::sample::MockHalos;
    ///
    /// let mock = MockHalos::new(1000);
    /// let of_first = mock.membership()?.iter().filter(|&&halo| halo == Some(0)).count();
    /// assert_eq!(of_first, mock.catalog()?[0].mass as usize);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// A parameter out of its range.
    pub fn membership(&self) -> Result<Vec<Option<u32>>> {
        let assignment = PointAssignment::new(self, &self.catalog()?);
        Ok(map(self.n, 1 << 14, &|index| assignment.halo_of(index as u32)))
    }

    /// Draws masses until fewer points than the minimum mass remain outside the background.
    fn draw_masses(&self) -> Vec<u32> {
        let mut stream = Stream::new(self.seed, Purpose::Masses, 0);
        let background = (self.n as f64 * self.background).round() as usize;
        let mut left = self.n.saturating_sub(background) as u32;
        // An integer mass M represents the interval from M to M + 1.
        let min_mass = f64::from(self.min_mass);
        let span = libm::log((f64::from(self.heaviest()) + 1.0) / min_mass);
        let power = 1.0 - self.alpha;
        let growth = libm::expm1(power * span);
        let mut masses = Vec::new();
        while left >= self.min_mass {
            // Inverts the cumulative law in logarithms: exact also near alpha = 1, where the law becomes log-uniform.
            let part = stream.unit();
            let log = if power == 0.0 { part * span } else { libm::log1p(part * growth) / power };
            let mass = ((min_mass * libm::exp(log)) as u32).clamp(self.min_mass, self.heaviest()).min(left);
            masses.push(mass);
            left -= mass;
        }
        masses
    }

    /// Places halos on one flight.
    fn place_flight(&self, stream: &mut Stream, halos: &mut [MockHalo]) {
        let mut at = stream.cube(self.side);
        let mut last: Option<f64> = None;
        for halo in halos {
            if let Some(radius) = last {
                let length = (radius + halo.radius) * libm::pow(1.0 - stream.unit(), -1.0 / FLIGHT_DIMENSION);
                let way = stream.direction();
                for (x, way) in at.iter_mut().zip(way) {
                    let moved: f64 = *x + length * way;
                    *x = moved - self.side * (moved / self.side).floor();
                    // Rounding can give `side` itself, which is the origin.
                    if *x >= self.side {
                        *x = 0.0;
                    }
                }
            }
            halo.center = at;
            last = Some(halo.radius);
        }
    }
}

/// The mean density of a halo in units of the mean density of the box.
const OVERDENSITY: f64 = 200.0;

/// Halos per flight (a supercluster). This number limits the largest clustered scale.
const FLIGHT: usize = 64;

/// The fractal dimension of a flight; the excess of pairs falls with distance to the power of this number minus 3.
const FLIGHT_DIMENSION: f64 = 1.2;

/// The assignment of points to halos: the halos fill consecutive places, and a permutation gives each point its place.
struct PointAssignment {
    order: Permutation,
    /// The first place of each halo, followed by the end.
    starts: Vec<u32>,
    /// For every multiple of `2^shift`, the halo at that place.
    guide: Vec<u32>,
    shift: u32,
}

impl PointAssignment {
    fn new(mock: &MockHalos, halos: &[MockHalo]) -> Self {
        let mut starts = Vec::with_capacity(halos.len() + 1);
        let mut end = 0;
        starts.push(end);
        for halo in halos {
            end += halo.mass;
            starts.push(end);
        }
        // About one entry per halo, so that the search from an entry takes a step or two on average.
        let shift = (end / (halos.len() as u32).max(1)).max(1).ilog2();
        let mut guide = Vec::with_capacity((end >> shift) as usize + 1);
        let mut halo = 0;
        for place in (0..end).step_by(1 << shift) {
            while starts[halo + 1] <= place {
                halo += 1;
            }
            guide.push(halo as u32);
        }
        Self { order: Permutation::new(mock.n as u32, mock.seed), starts, guide, shift }
    }

    #[inline]
    fn halo_of(&self, index: u32) -> Option<u32> {
        let place = self.order.of(index);
        let mut halo = *self.guide.get((place >> self.shift) as usize)?;
        // Places past the last halo are in the background.
        while *self.starts.get(halo as usize + 1)? <= place {
            halo += 1;
        }
        Some(halo)
    }
}

/// The parameters of a halo that generate its points.
struct Shape {
    center: [f64; 3],
    scale: f64,
    mass: f64,
}

impl Shape {
    fn new(halo: &MockHalo) -> Self {
        Self { center: halo.center, scale: halo.radius / halo.concentration, mass: nfw::enclosed(halo.concentration) }
    }

    #[inline]
    fn point(&self, side: f64, radii: &Radii, stream: &mut Stream) -> [f64; 3] {
        let radius = self.scale * radii.enclosing(stream.unit() * self.mass);
        let way = stream.direction();
        std::array::from_fn(|k| {
            let x = self.center[k] + radius * way[k];
            // Radii are less than half a box, so one wrap suffices.
            if x < 0.0 {
                x + side
            } else if x >= side {
                x - side
            } else {
                x
            }
        })
    }
}

//! The halo mass function of a catalogue, with expected numbers for comparison.
//!
//! In: a [`Catalog`], the volume in which its halos were found, and numbers expected by theory. Out: counts in mass
//! bins, and a table.
//! Cost: sorting the masses.

use ropewalk::units::{Factors, Quantity};

use crate::Catalog;
use crate::columns::{Column, Values};

/// The width of a bin in decades of mass.
const WIDTH: f64 = 0.1;
/// The maximum number of bins, more than 300 decades of mass.
const MOST: usize = 6000;
/// The largest relative difference of a halo's mass from a multiple of a common mass of all particles, by rounding.
const SAME: f64 = 1e-9;

/// Returns the lower and the upper limit of an expected number of which `count` were found: the Poisson errors of one
/// standard deviation, which are not symmetric.
///
/// # Source
/// The approximations of Gehrels 1986 (ApJ 303, 336), which are within 2% of the exact limits.
///
/// ```
/// let [lower, upper] = ropewalk_table::poisson_limits(1);
/// assert!((lower - 0.17).abs() < 0.01 && (upper - 3.32).abs() < 0.01);
/// ```
pub fn poisson_limits(count: usize) -> [f64; 2] {
    let n = count as f64;
    let lower = if count == 0 { 0.0 } else { n * (1.0 - 1.0 / (9.0 * n) - 1.0 / (3.0 * n.sqrt())).powi(3) };
    [lower, n + (n + 0.75).sqrt() + 1.0]
}

/// An expected mass function: a name for the legend, and numbers of halos per volume at or above masses, in the
/// catalogue's units.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ExpectedMassFunction {
    /// The name of the mass function, for the legend.
    pub name: String,
    /// Pairs of mass, in ascending order, and number per volume.
    pub points: Vec<[f64; 2]>,
    /// `true` if the fit is of corrected masses ([`MassCounts::corrected`]). The masses in `points` are uncorrected,
    /// as those of the halos.
    pub is_corrected: bool,
}

impl ExpectedMassFunction {
    /// Returns the number at or above a mass, interpolated as a power law between adjacent points. Returns `None`
    /// outside the range of the points, or if the result is not finite.
    ///
    /// ```
    /// let halos = ropewalk_table::ExpectedMassFunction {
    ///     name: "a power law".into(),
    ///     points: vec![[1.0, 8.0], [4.0, 2.0]],
    ///     is_corrected: false,
    /// };
    /// assert!((halos.at(2.0).unwrap() - 4.0).abs() < 1e-12);
    /// assert_eq!((halos.at(4.0), halos.at(4.1)), (Some(2.0), None));
    /// ```
    pub fn at(&self, mass: f64) -> Option<f64> {
        let above = self.points.partition_point(|point| point[0] < mass);
        let upper = *self.points.get(above)?;
        if upper[0] == mass {
            return Some(upper[1]);
        }
        let lower = *self.points.get(above.checked_sub(1)?)?;
        let part = (mass / lower[0]).ln() / (upper[0] / lower[0]).ln();
        let number = lower[1] * (upper[1] / lower[1]).powf(part);
        number.is_finite().then_some(number)
    }

    /// Returns the mass function in other units.
    #[must_use]
    pub fn in_units(&self, factors: &Factors) -> Self {
        let (mass, number) = (factors.of(Quantity::Mass), factors.of(Quantity::NumberDensity));
        let points = self.points.iter().map(|[x, y]| [mass * x, number * y]).collect();
        Self { name: self.name.clone(), points, is_corrected: self.is_corrected }
    }
}

/// The masses of a catalogue's halos ([`Halo::total_mass`](crate::Halo::total_mass)), counted in bins of 0.1 decades
/// from the lightest halo.
///
/// If all particles have the same mass m, the edges of bins are the nearest (N - 1/2) m. A narrow bin then has the
/// width of the whole numbers of particles in it. Subhalos and halos without mass are excluded.
///
/// ```
/// use ropewalk_table::{Catalog, MassCounts};
/// use ropewalk::halo::Particles;
/// use ropewalk::Fof;
///
/// // Two halos, of four particles and of two.
/// let positions = [[0.0f32; 3], [0.0; 3], [0.0; 3], [0.0; 3], [5.0; 3], [5.0; 3]];
/// let halos = Fof::new(0.1).run(&positions)?;
/// let counts = MassCounts::new(&Catalog::new(&halos, &Particles::new(&positions))?, 10.0);
/// assert_eq!((counts.edges(), counts.counts()), (&[1.5, 2.5, 3.5, 4.5][..], &[1, 0, 1][..]));
/// assert_eq!(counts.above(3.0), 1);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MassCounts {
    /// The masses in descending order.
    masses: Vec<f64>,
    edges: Vec<f64>,
    counts: Vec<usize>,
    volume: f64,
    /// The mass of all counted halos over the number of their members.
    particle_mass: f64,
    /// The quantity of masses; [`Quantity::Dimensionless`] if they are numbers of particles.
    quantity: Quantity,
}

impl MassCounts {
    /// Counts the halos of a catalogue. A volume that is not positive and finite is replaced by 1.
    pub fn new(catalog: &Catalog, volume: f64) -> Self {
        let hosts = catalog.halos().iter().enumerate().filter(|&(row, _)| catalog.is_host(row));
        let mut halos: Vec<(f64, f64)> = hosts
            .map(|(_, halo)| (halo.total_mass, halo.count as f64))
            .filter(|&(mass, _)| mass > 0.0 && mass < f64::INFINITY)
            .collect();
        halos.sort_by(|a, b| b.0.total_cmp(&a.0));
        let sum = |of: &dyn Fn(&(f64, f64)) -> f64| halos.iter().map(of).sum::<f64>();
        let particle_mass = sum(&|halo| halo.0) / sum(&|halo| halo.1).max(1.0);
        let is_multiple = |&(mass, count): &(f64, f64)| (mass - count * particle_mass).abs() <= SAME * mass;
        let common = Some(particle_mass).filter(|_| halos.iter().all(is_multiple));
        let masses: Vec<f64> = halos.iter().map(|halo| halo.0).collect();
        let edges = match (masses.last(), masses.first()) {
            (Some(&lightest), Some(&heaviest)) => edges([lightest, heaviest], common),
            _ => vec![],
        };
        let quantity = if catalog.counts_particles { Quantity::Dimensionless } else { Quantity::Mass };
        let volume = if volume > 0.0 && volume < f64::INFINITY { volume } else { 1.0 };
        let mut found = Self { masses, edges, counts: vec![], volume, particle_mass, quantity };
        found.counts = found.edges.windows(2).map(|pair| found.above(pair[0]) - found.above(pair[1])).collect();
        found
    }

    /// Returns the counts with masses and volume in other units. Masses that are numbers of particles are unchanged.
    ///
    /// ```
    /// use ropewalk_table::{Catalog, MassCounts};
    /// use ropewalk::halo::Particles;
    /// use ropewalk::units::{Factors, UnitSystem, Units};
    /// use ropewalk::Fof;
    ///
    /// let positions = [[0.0f32; 3]; 4];
    /// let catalog = Catalog::new(&Fof::new(0.1).run(&positions)?, &Particles::new(&positions))?;
    /// let factors = Factors::new(&Units::GADGET, &UnitSystem::H.units(), 0.0, None)?;
    /// assert_eq!(MassCounts::new(&catalog, 10.0).in_units(&factors).masses(), [4e10]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    #[must_use]
    pub fn in_units(&self, factors: &Factors) -> Self {
        let mass = |masses: &[f64]| masses.iter().map(|x| factors.of(self.quantity) * x).collect();
        Self {
            masses: mass(&self.masses),
            edges: mass(&self.edges),
            counts: self.counts.clone(),
            volume: self.volume / factors.of(Quantity::NumberDensity),
            particle_mass: factors.of(self.quantity) * self.particle_mass,
            quantity: self.quantity,
        }
    }

    /// Returns the masses, in descending order.
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// Returns the edges of the bins, one more than there are bins; empty without halos. A bin includes its lower
    /// edge.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// Returns the number of halos in each bin.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// Returns the volume by which numbers are divided.
    pub fn volume(&self) -> f64 {
        self.volume
    }

    /// Returns the number of halos of at least a mass.
    pub fn above(&self, mass: f64) -> usize {
        self.masses.partition_point(|&other| other >= mass)
    }

    /// Returns the mass of friends-of-friends halos that is corrected for the finite number of their particles:
    /// `mass (1 - N^-0.6)`, where N is `mass` over the mean mass per linked particle. Zero for one particle or less.
    ///
    /// Friends of friends overestimates the masses of halos with few particles. Fits of corrected masses must be
    /// compared with corrected masses.
    ///
    /// # Source
    /// Warren et al. 2006 (ApJ 646, 881).
    pub fn corrected(&self, mass: f64) -> f64 {
        mass * (1.0 - (mass / self.particle_mass).powf(-0.6)).max(0.0)
    }

    /// Returns columns with a row per bin, for [`write_ecsv`](crate::columns::write_ecsv):
    ///
    /// - the edges of the bin, and its number of halos,
    /// - the number per volume and e-fold of mass,
    /// - the number of halos, and the number per volume, at or above the lower edge,
    /// - the corrected mass of the lower edge, if one of `expected` is for [corrected masses](Self::corrected),
    /// - for each of `expected`, the number per volume at or above the lower edge.
    ///
    /// Errors are the distances to the [`poisson_limits`] of a number.
    pub fn columns(&self, expected: &[ExpectedMassFunction]) -> Vec<Column> {
        let bins = || self.edges.windows(2).zip(&self.counts);
        let numbers = |value: &dyn Fn(f64, f64, f64) -> f64| {
            Values::Numbers(bins().map(|(edges, &count)| value(edges[0], edges[1], count as f64)).collect())
        };
        let counts = |value: &dyn Fn(f64, usize) -> usize| {
            Values::Integers(bins().map(|(edges, &count)| value(edges[0], count) as u64).collect())
        };
        let column = |name: &str, quantity, values, description: &str| {
            Column::new(name, values).quantity(quantity).description(description)
        };
        let per = |number: f64| number / self.volume;
        let (mass, density) = (self.quantity, Quantity::NumberDensity);
        let counted = if mass == Quantity::Dimensionless {
            "; number of particles, because particles have no masses"
        } else {
            ""
        };
        let [lower, upper] = ["lower edge of the bin, included", "upper edge of the bin, not included"];
        let errors = |name: &str, number: &dyn Fn(f64, usize) -> usize, part: &dyn Fn(f64, f64) -> f64| {
            ["lower", "upper"]
                .into_iter()
                .enumerate()
                .map(|(side, which)| {
                    let values = bins().map(|(edges, &count)| {
                        let n = number(edges[0], count);
                        per((poisson_limits(n)[side] - n as f64).abs() * part(edges[0], edges[1]))
                    });
                    let about = format!("{which} Poisson error of {name}, Gehrels 1986");
                    column(&format!("{name}_error_{which}"), density, Values::Numbers(values.collect()), &about)
                })
                .collect::<Vec<_>>()
        };
        let per_fold = |lo: f64, hi: f64| 1.0 / (hi / lo).ln();
        let mut columns = vec![
            column("mass_min", mass, numbers(&|lo, _, _| lo), &format!("{lower}{counted}")),
            column("mass_max", mass, numbers(&|_, hi, _| hi), &format!("{upper}{counted}")),
            column("count", Quantity::Dimensionless, counts(&|_, count| count), "halos in the bin"),
            column(
                "dn_dlnm",
                density,
                numbers(&|lo, hi, n| per(n * per_fold(lo, hi))),
                "halos per volume and e-fold of mass",
            ),
        ];
        columns.extend(errors("dn_dlnm", &|_, count| count, &per_fold));
        columns.push(column(
            "count_above",
            Quantity::Dimensionless,
            counts(&|lo, _| self.above(lo)),
            "halos of at least mass_min",
        ));
        let above = numbers(&|lo, _, _| per(self.above(lo) as f64));
        columns.push(column("n_above", density, above, "halos of at least mass_min per volume"));
        columns.extend(errors("n_above", &|lo, _| self.above(lo), &|_, _| 1.0));
        if expected.iter().any(|curve| curve.is_corrected) {
            let about =
                "mass_min (1 - N^-0.6), N = mass_min over the mass of a particle: corrected as by Warren et al. 2006";
            columns.push(column("mass_min_corrected", mass, numbers(&|lo, _, _| self.corrected(lo)), about));
        }
        for curve in expected {
            let values = numbers(&|lo, _, _| curve.at(lo).unwrap_or(f64::NAN));
            let corrected =
                if curve.is_corrected { ", of corrected masses of at least mass_min_corrected" } else { "" };
            let description = format!("halos of at least mass_min per volume, expected by {}{corrected}", curve.name);
            columns.push(column(&format!("n_above_{}", identifier(&curve.name)), density, values, &description));
        }
        columns
    }
}

/// Returns edges of bins from the lightest halo to beyond the heaviest one. If particles have a common mass, edges
/// lie half-way between multiples of it, so that bins hold whole numbers of particles.
fn edges([lightest, heaviest]: [f64; 2], common: Option<f64>) -> Vec<f64> {
    let growth = |i: usize| 10f64.powf(WIDTH * i as f64);
    let Some(common) = common else {
        let bins = (1..MOST).find(|&i| lightest * growth(i) > heaviest).unwrap_or(MOST);
        return (0..=bins).map(|i| lightest * growth(i)).collect();
    };
    let [first, last] = [lightest, heaviest].map(|mass| (mass / common).round());
    // Edge i is below halos of this number of particles. Narrow bins may have the same number, which is kept once.
    let number = |i: usize| ((first - 0.5) * growth(i) + 0.5).round();
    let bins = (1..MOST).find(|&i| number(i) > last).unwrap_or(MOST);
    let mut numbers: Vec<f64> = (0..=bins).map(number).collect();
    numbers.dedup();
    numbers.into_iter().map(|number| (number - 0.5) * common).collect()
}

/// Converts a name to lower-case letters, digits and underscores.
fn identifier(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use ropewalk::Fof;
    use ropewalk::halo::Particles;

    use super::*;

    /// Returns counts of halos with these numbers of particles. The mass of a particle depends on its index.
    fn counts(halos: &[usize], mass: impl Fn(usize) -> f64) -> MassCounts {
        let positions: Vec<[f64; 3]> =
            halos.iter().enumerate().flat_map(|(i, &n)| vec![[10.0 * i as f64, 0.0, 0.0]; n]).collect();
        let masses: Vec<f64> = (0..positions.len()).map(mass).collect();
        let particles = Particles::new(&positions).masses(&masses);
        MassCounts::new(&Catalog::new(&Fof::new(0.1).run(&positions).unwrap(), &particles).unwrap(), 10.0)
    }

    /// The exact limits are in tables 1 and 2 of the paper.
    #[test]
    fn limits_of_small_numbers() {
        let exact = [(0, 0.0, 1.841), (1, 0.173, 3.300), (2, 0.708, 4.638), (5, 2.840, 8.382), (10, 6.891, 14.27)];
        for (count, lower, upper) in exact {
            let found = poisson_limits(count);
            assert!((found[0] - lower).abs() <= 0.01 * lower, "{count}: {found:?}");
            assert!((found[1] - upper).abs() <= 0.015 * upper, "{count}: {found:?}");
        }
        let [lower, upper] = poisson_limits(1_000_000);
        assert!((1e6 - lower - 1000.0).abs() < 1.5 && (upper - 1e6 - 1000.0).abs() < 1.5);
    }

    #[test]
    fn edges_are_between_whole_particles() {
        let mass = 0.1f64;
        let found = counts(&[20, 21, 24, 25, 31, 100], |_| mass);
        let numbers: Vec<f64> = found.edges().iter().map(|edge| edge / mass).collect();
        for (i, number) in numbers.iter().enumerate() {
            assert!((number - number.floor() - 0.5).abs() < 1e-9, "{numbers:?}");
            // Within half a particle of 0.1 decades per bin.
            assert!((number - 19.5 * 10f64.powf(0.1 * i as f64)).abs() <= 0.5 + 1e-9, "{numbers:?}");
        }
        assert_eq!(numbers.len(), 9);
        assert_eq!(found.counts(), [3, 1, 1, 0, 0, 0, 0, 1]);
        // Narrow bins hold at least one number of particles.
        let small = counts(&[2, 3, 5, 9], |_| 2.0);
        assert_eq!(small.edges(), [3.0, 5.0, 7.0, 9.0, 11.0, 15.0, 19.0]);
        assert_eq!(small.counts(), [1, 1, 0, 1, 0, 1]);
        // Without a common mass, the lightest halo is the first edge.
        let mixed = counts(&[2, 3], |i| [1.0, 1.0, 3.0, 3.0, 4.0][i]);
        assert!(mixed.edges()[0] == 2.0 && ((mixed.edges()[1] / 2.0).log10() - 0.1).abs() < 1e-12);
    }

    #[test]
    fn masses_of_few_particles_are_corrected() {
        let found = counts(&[20, 100], |_| 5.0);
        assert!((found.corrected(100.0) - 100.0 * (1.0 - 20f64.powf(-0.6))).abs() < 1e-9);
        assert_eq!([found.corrected(5.0), found.corrected(2.5)], [0.0, 0.0]);
        let curve = |is_corrected| ExpectedMassFunction { name: "A b".into(), points: vec![], is_corrected };
        let names =
            |curve| -> Vec<String> { found.columns(&[curve]).iter().map(|column| column.name().into()).collect() };
        assert_eq!(
            names(curve(true)).join(" "),
            "mass_min mass_max count dn_dlnm dn_dlnm_error_lower dn_dlnm_error_upper count_above n_above \
             n_above_error_lower n_above_error_upper mass_min_corrected n_above_a_b"
        );
        assert!(!names(curve(false)).contains(&"mass_min_corrected".into()));
        let errors = |name: &str| {
            let columns = found.columns(&[]);
            let column = columns.iter().find(|column| column.name() == name).unwrap();
            let Values::Numbers(values) = column.values() else { panic!("{name}") };
            values[0]
        };
        // One halo in the first bin, two at or above it, in a volume of 10.
        let width = (found.edges()[1] / found.edges()[0]).ln();
        for (name, expected) in [
            ("dn_dlnm_error_lower", (1.0 - poisson_limits(1)[0]) / (10.0 * width)),
            ("dn_dlnm_error_upper", (poisson_limits(1)[1] - 1.0) / (10.0 * width)),
            ("n_above_error_lower", (2.0 - poisson_limits(2)[0]) / 10.0),
            ("n_above_error_upper", (poisson_limits(2)[1] - 2.0) / 10.0),
        ] {
            assert!((errors(name) / expected - 1.0).abs() < 1e-12, "{name}: {} {expected}", errors(name));
        }
    }
}

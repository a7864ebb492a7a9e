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

/// An expected mass function: a name for the legend, and numbers of halos per volume at or above masses, in the
/// catalogue's units.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ExpectedMassFunction {
    /// The name of the mass function, for the legend.
    pub name: String,
    /// Pairs of mass, in ascending order, and number per volume.
    pub points: Vec<[f64; 2]>,
}

impl ExpectedMassFunction {
    /// Returns the number at or above a mass, interpolated as a power law between adjacent points. Returns `None`
    /// outside the range of the points, or if the result is not finite.
    ///
    /// ```
    /// let halos = ropewalk_table::ExpectedMassFunction { name: "a power law".into(), points: vec![[1.0, 8.0], [4.0, 2.0]] };
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
        Self { name: self.name.clone(), points }
    }
}

/// The masses of a catalogue's halos ([`Halo::total_mass`](crate::Halo::total_mass)), counted in bins of 0.1 decades
/// from the lightest halo.
///
/// Subhalos and halos without mass are excluded.
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
/// assert_eq!((counts.edges()[0], counts.counts()), (2.0, &[1, 0, 0, 1][..]));
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
    /// The quantity of masses; [`Quantity::Dimensionless`] if they are numbers of particles.
    quantity: Quantity,
}

impl MassCounts {
    /// Counts the halos of a catalogue. A volume that is not positive and finite is replaced by 1.
    pub fn new(catalog: &Catalog, volume: f64) -> Self {
        let hosts = catalog.halos().iter().enumerate().filter(|&(row, _)| catalog.is_host(row));
        let mut masses: Vec<f64> =
            hosts.map(|(_, halo)| halo.total_mass).filter(|&mass| mass > 0.0 && mass < f64::INFINITY).collect();
        masses.sort_by(|a, b| b.total_cmp(a));
        let quantity = if catalog.counts_particles { Quantity::Dimensionless } else { Quantity::Mass };
        let mut found = Self { masses, edges: vec![], counts: vec![], volume, quantity };
        if !(volume > 0.0 && volume < f64::INFINITY) {
            found.volume = 1.0;
        }
        if let (Some(&lightest), Some(&heaviest)) = (found.masses.last(), found.masses.first()) {
            let edge = |i: usize| lightest * 10f64.powf(WIDTH * i as f64);
            let bins = (1..MOST).find(|&i| edge(i) > heaviest).unwrap_or(MOST);
            found.edges = (0..=bins).map(edge).collect();
            let count = |pair: &[f64]| found.above(pair[0]) - found.above(pair[1]);
            found.counts = found.edges.windows(2).map(count).collect();
        }
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

    /// Returns columns with a row per bin, for [`write_ecsv`](crate::columns::write_ecsv):
    ///
    /// - the edges of the bin, and its number of halos,
    /// - the number per volume and e-fold of mass,
    /// - the number of halos, and the number per volume, at or above the lower edge,
    /// - for each of `expected`, the number per volume at or above the lower edge.
    ///
    /// Errors are Poisson errors, the square root of a number.
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
        let above = |mass: f64| self.above(mass) as f64;
        let (mass, density) = (self.quantity, Quantity::NumberDensity);
        let counted = if mass == Quantity::Dimensionless {
            "; number of particles, because particles have no masses"
        } else {
            ""
        };
        let [lower, upper] = ["lower edge of the bin, included", "upper edge of the bin, not included"];
        let mut columns = vec![
            column("mass_min", mass, numbers(&|lo, _, _| lo), &format!("{lower}{counted}")),
            column("mass_max", mass, numbers(&|_, hi, _| hi), &format!("{upper}{counted}")),
            column("count", Quantity::Dimensionless, counts(&|_, count| count), "halos in the bin"),
            column(
                "dn_dlnm",
                density,
                numbers(&|lo, hi, n| per(n / (hi / lo).ln())),
                "halos per volume and e-fold of mass",
            ),
            column(
                "dn_dlnm_error",
                density,
                numbers(&|lo, hi, n| per(n.sqrt() / (hi / lo).ln())),
                "Poisson error of dn_dlnm",
            ),
            column(
                "count_above",
                Quantity::Dimensionless,
                counts(&|lo, _| self.above(lo)),
                "halos of at least mass_min",
            ),
            column("n_above", density, numbers(&|lo, _, _| per(above(lo))), "halos of at least mass_min per volume"),
            column("n_above_error", density, numbers(&|lo, _, _| per(above(lo).sqrt())), "Poisson error of n_above"),
        ];
        for curve in expected {
            let values = numbers(&|lo, _, _| curve.at(lo).unwrap_or(f64::NAN));
            let description = format!("halos of at least mass_min per volume, expected by {}", curve.name);
            columns.push(column(&format!("n_above_{}", identifier(&curve.name)), density, values, &description));
        }
        columns
    }
}

/// Converts a name to lower-case letters, digits and underscores.
fn identifier(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("_")
}

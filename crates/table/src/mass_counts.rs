//! How many halos of each mass a catalogue has, beside what is expected.
//!
//! In: a [`Catalog`], the volume that its halos were found in, and numbers that theory expects. Out: counts in bins of mass, and a table.
//! Cost: sorting the masses.

use ropewalk::units::{Factors, Quantity};

use crate::Catalog;
use crate::columns::{Column, Values};

/// The width of a bin in decades of mass.
const WIDTH: f64 = 0.1;
/// Bins of a table: more than 300 decades are no range of masses.
const MOST: usize = 6000;

/// What is expected: a name for the legend, and numbers of halos per volume at or above masses, in the catalogue's units.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Expected {
    /// The name.
    pub name: String,
    /// Mass, in ascending order, and number per volume.
    pub points: Vec<[f64; 2]>,
}

impl Expected {
    /// The number at or above a mass: between the two points beside it as a power law; `None` outside of all points, or where one of the two
    /// is not positive.
    ///
    /// ```
    /// let halos = ropewalk_table::Expected { name: "a power law".into(), points: vec![[1.0, 8.0], [4.0, 2.0]] };
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

    /// The same numbers in other units.
    #[must_use]
    pub fn in_units(&self, factors: &Factors) -> Self {
        let (mass, number) = (factors.of(Quantity::Mass), factors.of(Quantity::NumberDensity));
        let points = self.points.iter().map(|[x, y]| [mass * x, number * y]).collect();
        Self { name: self.name.clone(), points }
    }
}

/// The masses of a catalogue's halos ([`Halo::total_mass`](crate::Halo::total_mass)), subhalos and halos without mass left out, counted in bins of 0.1 decades from the lightest on.
///
/// ```
/// use ropewalk_table::{Catalog, MassCounts};
/// use ropewalk::{Fof, Particles};
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
    /// Descending.
    masses: Vec<f64>,
    edges: Vec<f64>,
    counts: Vec<usize>,
    volume: f64,
    /// The quantity of masses; [`Quantity::Pure`] if they are numbers of particles.
    quantity: Quantity,
}

impl MassCounts {
    /// Counts the halos of a catalogue. A volume that is not positive and finite counts as 1.
    pub fn new(catalog: &Catalog, volume: f64) -> Self {
        let hosts = catalog.halos().iter().enumerate().filter(|&(row, _)| catalog.is_host(row));
        let mut masses: Vec<f64> =
            hosts.map(|(_, halo)| halo.total_mass).filter(|&mass| mass > 0.0 && mass < f64::INFINITY).collect();
        masses.sort_by(|a, b| b.total_cmp(a));
        let quantity = if catalog.counts_particles { Quantity::Pure } else { Quantity::Mass };
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

    /// The same counts with masses and volume in other units. Masses that are numbers of particles stay.
    ///
    /// ```
    /// use ropewalk_table::{Catalog, MassCounts};
    /// use ropewalk::units::{Factors, UnitSystem, Units};
    /// use ropewalk::{Fof, Particles};
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

    /// The masses, the largest first.
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// The edges of the bins, one more than there are bins; none without halos. A bin has its lower edge.
    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// The number of halos in each bin.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// The volume that numbers are divided by.
    pub fn volume(&self) -> f64 {
        self.volume
    }

    /// The number of halos of at least a mass.
    pub fn above(&self, mass: f64) -> usize {
        self.masses.partition_point(|&other| other >= mass)
    }

    /// A row for each bin, for [`write_ecsv`](crate::columns::write_ecsv): its edges and its halos, their number per volume and e-fold of mass,
    /// the number of halos and the number per volume at or above the lower edge, and there what each of `expected` has. Errors are of
    /// Poisson: the square root of a number.
    pub fn columns(&self, expected: &[Expected]) -> Vec<Column> {
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
        let counted = if mass == Quantity::Pure { "; a number of particles, which have no masses" } else { "" };
        let [lower, upper] = ["lower edge of the bin, included", "upper edge of the bin, not included"];
        let mut columns = vec![
            column("mass_min", mass, numbers(&|lo, _, _| lo), &format!("{lower}{counted}")),
            column("mass_max", mass, numbers(&|_, hi, _| hi), &format!("{upper}{counted}")),
            column("count", Quantity::Pure, counts(&|_, count| count), "halos in the bin"),
            column(
                "dn_dlnm",
                density,
                numbers(&|lo, hi, n| per(n / (hi / lo).ln())),
                "halos per volume and e-fold of mass",
            ),
            column("dn_dlnm_error", density, numbers(&|lo, hi, n| per(n.sqrt() / (hi / lo).ln())), "its Poisson error"),
            column("count_above", Quantity::Pure, counts(&|lo, _| self.above(lo)), "halos of at least mass_min"),
            column("n_above", density, numbers(&|lo, _, _| per(above(lo))), "halos of at least mass_min per volume"),
            column("n_above_error", density, numbers(&|lo, _, _| per(above(lo).sqrt())), "its Poisson error"),
        ];
        for curve in expected {
            let values = numbers(&|lo, _, _| curve.at(lo).unwrap_or(f64::NAN));
            let description = format!("halos of at least mass_min per volume, expected by {}", curve.name);
            columns.push(column(&format!("n_above_{}", identifier(&curve.name)), density, values, &description));
        }
        columns
    }
}

/// A name in small letters, digits and underscores.
fn identifier(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("_")
}

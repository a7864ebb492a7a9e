//! Names of units and redshift for axes and titles.

use ropewalk::internals::format::significant;
use ropewalk::units::{Frame, KnownUnits, LengthUnit, MassUnit};

use crate::ticks::power_of_ten;

/// Names of units and the redshift, as written on axes and in titles.
///
/// ```
/// use ropewalk_plot::AxisUnits;
/// use ropewalk::units::Units;
///
/// let units = AxisUnits::new(Some(&Units::GADGET), Some(0.5));
/// assert_eq!((units.length(), units.mass()), ("comoving Mpc/h", "10¹⁰ Msun/h"));
/// assert_eq!((units.mass_over_length(), units.number_density()), ("10¹⁰ Msun / comoving Mpc", "(comoving Mpc/h)⁻³"));
/// assert_eq!(units.when(), ", redshift 0.5");
/// assert_eq!(AxisUnits::default().length(), "snapshot length unit");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AxisUnits {
    length: String,
    mass: String,
    mass_over_length: String,
    number_density: String,
    redshift: Option<f64>,
    /// `true` if masses are numbers of particles.
    counts_particles: bool,
    /// The factor from lengths of the data to those of axes.
    length_factor: f64,
}

impl Default for AxisUnits {
    fn default() -> Self {
        Self::new(KnownUnits::default(), None)
    }
}

impl AxisUnits {
    /// Names known units, substitutes generic names for unknown ones, and stores the redshift.
    pub fn new(units: impl Into<KnownUnits>, redshift: Option<f64>) -> Self {
        let KnownUnits { length, mass, .. } = units.into();
        let frame = |unit: LengthUnit| if unit.frame == Frame::Comoving { "comoving" } else { "physical" };
        let ratio = |(length, mass): (LengthUnit, MassUnit)| {
            // An h in both units cancels in the ratio.
            let h = match (mass.per_h, length.per_h) {
                (true, false) => "/h",
                (false, true) => " h",
                _ => "",
            };
            let (plain_length, plain_mass) = (LengthUnit { per_h: false, ..length }, MassUnit { per_h: false, ..mass });
            format!("{}{h} / {} {}", raised(&plain_mass.to_string()), frame(length), raised(&plain_length.name()))
        };
        let mass_over_length = length.zip(mass).map(ratio);
        let length = length.map(|unit| format!("{} {}", frame(unit), raised(&unit.name())));
        let number_density = length.as_ref().map(|length| format!("({length})⁻³"));
        Self {
            length: length.unwrap_or_else(|| "snapshot length unit".into()),
            mass: mass.map_or_else(|| "snapshot mass unit".into(), |unit| raised(&unit.to_string())),
            mass_over_length: mass_over_length.unwrap_or_else(|| "snapshot mass / length unit".into()),
            number_density: number_density.unwrap_or_else(|| "per snapshot length unit³".into()),
            redshift,
            counts_particles: false,
            length_factor: 1.0,
        }
    }

    /// Sets the factor by which axes of positions multiply the lengths of the data, to convert them to the unit of
    /// [`AxisUnits::length`]: see [`Factors`](ropewalk::units::Factors).
    ///
    /// ```
    /// use ropewalk_plot::AxisUnits;
    ///
    /// assert_eq!(AxisUnits::default().times(0.001).length_factor(), 0.001);
    /// ```
    #[must_use]
    pub fn times(mut self, length_factor: f64) -> Self {
        self.length_factor = length_factor;
        self
    }

    /// Returns the factor from the lengths of the data to those of axes of positions; 1 unless set by
    /// [`AxisUnits::times`].
    pub fn length_factor(&self) -> f64 {
        self.length_factor
    }

    /// Declares masses to be numbers of particles.
    #[must_use]
    pub fn counting_particles(mut self) -> Self {
        self.mass = "particles".into();
        self.counts_particles = true;
        self.mass_over_length = format!("particles / {}", self.length);
        self
    }

    /// Returns the name of the unit of length.
    pub fn length(&self) -> &str {
        &self.length
    }

    /// Returns the name of the unit of mass.
    pub fn mass(&self) -> &str {
        &self.mass
    }

    /// Describes the mass of a halo after its number of particles, with three significant digits and its unit. Empty if
    /// masses are numbers of particles.
    ///
    /// ```
    /// use ropewalk_plot::AxisUnits;
    /// use ropewalk::units::{UnitSystem, Units};
    ///
    /// let units = AxisUnits::new(Some(&UnitSystem::H.units()), None);
    /// assert_eq!(units.mass_of_halo(1.10901e14), ", mass 1.11×10¹⁴ Msun/h");
    /// assert_eq!(AxisUnits::new(Some(&Units::GADGET), None).mass_of_halo(12.0), ", mass 12 × 10¹⁰ Msun/h");
    /// assert_eq!(units.counting_particles().mass_of_halo(12.0), "");
    /// ```
    pub fn mass_of_halo(&self, mass: f64) -> String {
        if self.counts_particles {
            return String::new();
        }
        let rounded = format!("{mass:.2e}");
        let parts = rounded
            .split_once('e')
            .and_then(|(digits, power)| Some((digits.parse::<f64>().ok()?, power.parse().ok()?)));
        let number = match parts {
            Some((digits, power)) if !(-2..5).contains(&power) => format!("{digits}×{}", power_of_ten(power)),
            _ => significant(mass, 3),
        };
        let times = if self.mass.starts_with("10") { " × " } else { " " };
        format!(", mass {number}{times}{}", self.mass)
    }

    /// Returns the name of the unit of a density times a squared radius.
    pub fn mass_over_length(&self) -> &str {
        &self.mass_over_length
    }

    /// Returns the name of the unit of numbers per volume.
    pub fn number_density(&self) -> &str {
        &self.number_density
    }

    /// Returns the redshift after a comma; empty if it is unknown.
    pub fn when(&self) -> String {
        self.redshift.map_or(String::new(), |redshift| {
            let rounded: f64 = format!("{redshift:.3e}").parse().unwrap_or(redshift);
            format!(", redshift {rounded}")
        })
    }
}

/// Writes a power of ten before the name of a unit, `1e10`, with a superscript.
fn raised(name: &str) -> String {
    let power = name.strip_prefix("1e").and_then(|rest| rest.split_once(' '));
    match power.and_then(|(power, rest)| Some((power.parse().ok()?, rest))) {
        Some((power, rest)) => format!("{} {rest}", power_of_ten(power)),
        None => name.into(),
    }
}

//! What the numbers of a picture are in, and when.

use ropewalk::units::{Frame, KnownUnits, LengthUnit, MassUnit};

use crate::ticks::power_of_ten;

/// Units and redshift in the words of axes and titles.
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
    /// From the lengths of the data to those of axes.
    length_factor: f64,
}

impl Default for AxisUnits {
    fn default() -> Self {
        Self::new(KnownUnits::default(), None)
    }
}

impl AxisUnits {
    /// Words for units, or for not knowing them, and for a redshift.
    pub fn new(units: impl Into<KnownUnits>, redshift: Option<f64>) -> Self {
        let KnownUnits { length, mass, .. } = units.into();
        let frame = |unit: LengthUnit| if unit.frame == Frame::Comoving { "comoving" } else { "physical" };
        let ratio = |(length, mass): (LengthUnit, MassUnit)| {
            // An h of both leaves the ratio.
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
            length_factor: 1.0,
        }
    }

    /// Axes of positions show the lengths of the data times this factor, which leads to the unit of [`AxisUnits::length`]: see
    /// [`Factors`](ropewalk::units::Factors).
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

    /// The factor from the lengths of the data to those of axes of positions: 1 unless [`AxisUnits::times`] sets it.
    pub fn length_factor(&self) -> f64 {
        self.length_factor
    }

    /// Masses are numbers of particles.
    #[must_use]
    pub fn counting_particles(mut self) -> Self {
        self.mass = "particles".into();
        self.mass_over_length = format!("particles / {}", self.length);
        self
    }

    /// The unit of lengths.
    pub fn length(&self) -> &str {
        &self.length
    }

    /// The unit of masses.
    pub fn mass(&self) -> &str {
        &self.mass
    }

    /// The unit of a density times a squared radius.
    pub fn mass_over_length(&self) -> &str {
        &self.mass_over_length
    }

    /// The unit of numbers per volume.
    pub fn number_density(&self) -> &str {
        &self.number_density
    }

    /// After a comma the redshift, if it is known.
    pub fn when(&self) -> String {
        self.redshift.map_or(String::new(), |redshift| {
            let rounded: f64 = format!("{redshift:.3e}").parse().unwrap_or(redshift);
            format!(", redshift {rounded}")
        })
    }
}

/// A number before the name of a unit, `1e10`, as a power of ten if it is one.
fn raised(name: &str) -> String {
    let power = name.strip_prefix("1e").and_then(|rest| rest.split_once(' '));
    match power.and_then(|(power, rest)| Some((power.parse().ok()?, rest))) {
        Some((power, rest)) => format!("{} {rest}", power_of_ten(power)),
        None => name.into(),
    }
}

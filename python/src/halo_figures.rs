//! The data of a catalogue that figures show, and the figures that need more than the catalogue.

use ropewalk::Result;
use ropewalk::halo::{Profile, Universe};
use ropewalk::units::{Factors, Quantity, UnitSystem};
use ropewalk_pipeline::{HaloName, Pipeline, SuitableFits, expected_mass_functions};
use ropewalk_plot::{AxisUnits, ProfilePanel, Style};
use ropewalk_table::{Catalog, MassCounts};

/// The data of a catalogue that figures show, in the units of the particles.
pub struct HaloFigures {
    pub catalog: Catalog,
    universe: Universe,
    volume: f64,
    pub period: Option<f64>,
    /// The name, the profile and R200c of each of the largest halos.
    profiles: Vec<(HaloName, Profile, Option<f64>)>,
    /// `true` if the particles are all matter of the volume and have masses, as expected mass functions require.
    is_comparable: bool,
    fits: SuitableFits,
    /// The factors to the units of axes: the requested units, or comoving Mpc/h. `None` if units are unknown.
    factors: Option<Factors>,
    pub units: AxisUnits,
}

impl HaloFigures {
    pub fn new(
        pipeline: &Pipeline<'_>,
        catalog: Catalog,
        profiles: Vec<(HaloName, Profile, Option<f64>)>,
        system: Option<UnitSystem>,
    ) -> Self {
        let universe = pipeline.universe().clone();
        let factors = universe.factors(system.unwrap_or(UnitSystem::H)).ok();
        let known = factors.as_ref().map_or(universe.known_units(), |factors| (*factors.units()).into());
        let length = factors.as_ref().map_or(1.0, |factors| factors.of(Quantity::Length));
        let units = AxisUnits::new(known, universe.redshift).times(length);
        let is_comparable = pipeline.part_of_volume().is_none() && !pipeline.counts_particles();
        Self {
            catalog,
            volume: pipeline.scales().volume,
            period: pipeline.period(),
            profiles,
            is_comparable,
            fits: pipeline.suitable_fits(),
            factors,
            units: if pipeline.counts_particles() { units.counting_particles() } else { units },
            universe,
        }
    }

    /// The unit of lengths on axes, if it is known.
    pub fn known_length(&self) -> Option<&str> {
        self.universe.known_units().length.map(|_| self.units.length())
    }

    /// Draws the mass function, with the expected ones if they are known.
    pub fn mass_function(&self, title: &str, style: Style) -> Result<Vec<u8>> {
        let measured = MassCounts::new(&self.catalog, self.volume);
        // Without cosmology or units there are no expected curves.
        let curves = if self.is_comparable {
            self.fits.choose(&expected_mass_functions(&self.universe, &measured).unwrap_or_default())
        } else {
            vec![]
        };
        let (counts, lines) = match &self.factors {
            Some(factors) => (measured.in_units(factors), curves.iter().map(|curve| curve.in_units(factors)).collect()),
            None => (measured, curves),
        };
        ropewalk_plot::mass_function(&counts, &lines, title, &self.units, style)
    }

    /// Draws the profiles of rows of the catalogue that have one.
    pub fn profiles(&self, rows: &[usize], title: &str, style: Style) -> Result<Vec<u8>> {
        let length = self.units.length_factor();
        let panel = |&row: &usize| {
            let (name, profile, radius) = self.profiles.iter().find(|(name, ..)| name.row == row)?;
            Some(ProfilePanel {
                caption: name.to_string(),
                profile: self.factors.as_ref().map_or_else(|| profile.clone(), |factors| profile.in_units(factors)),
                radius: radius.map(|radius| length * radius),
            })
        };
        let panels: Vec<ProfilePanel> = rows.iter().filter_map(panel).collect();
        ropewalk_plot::profiles(&panels, [title, "R200c"], &self.units, style)
    }
}

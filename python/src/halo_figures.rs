//! The data of a catalogue that figures show, and the figures that need more than the catalogue.

use ropewalk::Result;
use ropewalk::geometry::Space;
use ropewalk::halo::{Profile, Universe};
use ropewalk::units::{Factors, Quantity, UnitSystem};
use ropewalk_pipeline::{HaloName, Pipeline, SuitableFits, describe_cosmology};
use ropewalk_plot::{AxisUnits, GalleryHalo, GalleryPanel, ProfilePanel, Style};
use ropewalk_table::columns::{Column, Values};
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
    /// Words for titles: the finder and the mass of halos, the box, and the types of masses after a comma.
    pub described_halos: String,
    pub described_box: String,
    of_types: String,
    /// The factors to the units of axes: the requested units, or comoving Mpc/h. `None` if units are unknown.
    factors: Option<Factors>,
    pub units: AxisUnits,
    /// The same with comoving lengths, for mass functions.
    comoving: Option<Factors>,
    comoving_units: AxisUnits,
}

impl HaloFigures {
    pub fn new(
        pipeline: &Pipeline<'_>,
        catalog: Catalog,
        profiles: Vec<(HaloName, Profile, Option<f64>)>,
        system: Option<UnitSystem>,
    ) -> Self {
        let universe = pipeline.universe().clone();
        let system = system.unwrap_or(UnitSystem::H);
        let [factors, comoving] = [universe.factors(system).ok(), universe.comoving_factors(system).ok()];
        let axes = |factors: Option<&Factors>| {
            let known = factors.map_or(universe.known_units(), |factors| (*factors.units()).into());
            let length = factors.map_or(1.0, |factors| factors.of(Quantity::Length));
            let units = AxisUnits::new(known, universe.redshift).times(length);
            if pipeline.counts_particles() { units.counting_particles() } else { units }
        };
        let (units, comoving_units) = (axes(factors.as_ref()), axes(comoving.as_ref()));
        let unit = universe.known_units().length.map_or("", |_| units.length());
        let of_types = pipeline.particle_sets().linked_alone().map_or(String::new(), |types| format!(" of {types}"));
        let is_comparable = pipeline.part_of_volume().is_none() && !pipeline.counts_particles();
        Self {
            catalog,
            volume: pipeline.scales().volume,
            period: pipeline.period(),
            profiles,
            is_comparable,
            fits: pipeline.suitable_fits(),
            described_halos: pipeline.describe_halos(units.length_factor(), unit),
            described_box: pipeline.describe_box(units.length_factor(), unit),
            of_types,
            factors,
            units,
            comoving,
            comoving_units,
            universe,
        }
    }

    /// The unit of lengths on axes, if it is known.
    pub fn known_length(&self) -> Option<&str> {
        self.universe.known_units().length.map(|_| self.units.length())
    }

    /// Describes the mass of a row after its number of particles: `, mass 1.11×10¹⁴ Msun/h`, and its types.
    pub fn described_mass(&self, row: usize) -> String {
        let factor = self.factors.as_ref().map_or(1.0, |factors| factors.of(Quantity::Mass));
        let mass = self.catalog.halos().get(row).map_or(f64::NAN, |halo| factor * halo.mass);
        self.units.mass_of_halo(mass) + &self.of_types
    }

    /// Draws the mass function, with the expected ones if they are known.
    pub fn mass_function(&self, title: &str, style: Style) -> Result<Vec<u8>> {
        let measured = MassCounts::new(&self.catalog, self.volume);
        // Without cosmology or units there are no expected curves.
        let curves = if self.is_comparable {
            self.fits.choose(&self.fits.expected(&self.universe, &measured).unwrap_or_default())
        } else {
            vec![]
        };
        let (counts, lines) = match &self.comoving {
            Some(factors) => (measured.in_units(factors), curves.iter().map(|curve| curve.in_units(factors)).collect()),
            None => (measured, curves),
        };
        let cosmology = describe_cosmology(&self.universe);
        ropewalk_plot::mass_function(&counts, &lines, title, &cosmology, &self.comoving_units, style)
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

    /// Draws rows of the catalogue side by side. `centers` has the middle parts of the names of columns, such as `mcp`
    /// for `fof_halo_mcp_x`, and names for the legend; centres without columns are left out. `members` returns the linked
    /// members of a place in `rows`, and those of each attached type.
    pub fn gallery(
        &self,
        rows: &[usize],
        centers: &[(String, String)],
        members: impl Fn(usize) -> (Vec<[f64; 3]>, Vec<(u8, Vec<[f64; 3]>)>),
        title: &str,
        style: Style,
    ) -> Result<Vec<u8>> {
        let columns = |(part, name): &'_ (String, String)| {
            let axis = |axis: &str| self.numbers(&self.catalog.name(&format!("{part}_{axis}")));
            Some(([axis("x")?, axis("y")?, axis("z")?], name.clone()))
        };
        let (centers, names): (Vec<[&[f64]; 3]>, Vec<String>) = centers.iter().filter_map(columns).unzip();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        // The sphere is around the first centre.
        let radii = self.numbers("sod_halo_r200c").filter(|_| !centers.is_empty());
        let radius = |row: usize| radii.map(|radii| radii[row]).filter(|radius| radius.is_finite());
        let space: Space<3> = Space::periodic(self.period)?;
        let panel = |(place, &row): (usize, &usize)| {
            let (members, others) = members(place);
            let halo = GalleryHalo {
                name: HaloName { row, tag: self.catalog.halos()[row].tag }.to_string(),
                members,
                others,
                centers: centers.iter().map(|columns| columns.map(|values| values[row])).collect(),
                r200c: radius(row),
            };
            halo.panel(&space, &self.units)
        };
        let panels: Vec<GalleryPanel> = rows.iter().enumerate().map(panel).collect();
        let sphere = if panels.iter().any(|panel| panel.radius.is_some()) { "R200c" } else { "" };
        ropewalk_plot::gallery(&panels, &names, [title, sphere], &self.units, style)
    }

    /// Returns the numbers of a column in the units of the particles, if there is one of that name.
    fn numbers(&self, name: &str) -> Option<&[f64]> {
        let column: &Column = self.catalog.columns().iter().find(|column| column.name() == name)?;
        match column.values() {
            Values::Numbers(values) => Some(values),
            _ => None,
        }
    }
}

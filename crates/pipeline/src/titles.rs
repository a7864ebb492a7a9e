//! Descriptions of a run for the titles of figures: lengths, and the cosmology of expected mass functions.

use ropewalk::halo::Universe;
use ropewalk::internals::format::significant;
use ropewalk_table::columns::Meta;

use crate::{Finder, Pipeline};

/// The number of significant digits in titles.
const DIGITS: usize = 4;

/// Returns the cosmology of expected mass functions in a line for figures, with the assumed parameters separately.
/// Empty if it is unknown.
///
/// ```
/// use ropewalk::halo::{Background, StatedUniverse, Universe, UniverseOptions};
///
/// let background = Background { omega_m: Some(0.31), omega_lambda: Some(0.69), h: Some(0.68) };
/// let universe =
///     Universe::new(&UniverseOptions::default(), &StatedUniverse { background, ..StatedUniverse::default() });
/// let line = ropewalk_pipeline::describe_cosmology(&universe);
/// assert_eq!(line, "fits: Ωm 0.31, ΩΛ 0.69, h 0.68; assumed: Ωb 0.049, σ8 0.82, n_s 0.965");
/// ```
pub fn describe_cosmology(universe: &Universe) -> String {
    let parameters = universe.mass_function_parameters();
    let list = |is_assumed: bool| {
        let own = parameters.iter().filter(|parameter| parameter.is_assumed == is_assumed);
        let names: Vec<String> = own
            .map(|parameter| format!("{} {}", symbol(parameter.name), significant(parameter.value, DIGITS)))
            .collect();
        names.join(", ")
    };
    match (list(false), list(true)) {
        (stated, _) if stated.is_empty() => stated,
        (stated, assumed) if assumed.is_empty() => format!("fits: {stated}"),
        (stated, assumed) => format!("fits: {stated}; assumed: {assumed}"),
    }
}

/// Returns the symbol of a parameter in figures.
fn symbol(name: &str) -> &str {
    match name {
        "omega_m" => "Ωm",
        "omega_lambda" => "ΩΛ",
        "omega_b" => "Ωb",
        "sigma_8" => "σ8",
        _ => name,
    }
}

/// Adds the cosmology of expected mass functions to the entries of a header: parameters that it lacks, and a list of
/// those that are assumed.
pub fn add_cosmology(meta: &mut Vec<(&str, Meta)>, universe: &Universe) {
    let parameters = universe.mass_function_parameters();
    for parameter in &parameters {
        if meta.iter().all(|(name, _)| *name != parameter.name) {
            meta.push((parameter.name, Meta::Number(parameter.value)));
        }
    }
    let assumed: Vec<&str> = parameters.iter().filter(|one| one.is_assumed).map(|one| one.name).collect();
    if !assumed.is_empty() {
        meta.push(("assumed_parameters", Meta::Text(assumed.join(", "))));
    }
}

impl Pipeline<'_> {
    /// Describes the finder and the mass of halos for a mass function: `linking length 0.1126 Mpc/h (b = 0.2)`, and the
    /// types or the part of the volume that it is over. `factor` converts lengths to `unit`, which is empty if it is
    /// unknown.
    pub fn describe_halos(&self, factor: f64, unit: &str) -> String {
        let mut words = match self.finder() {
            Finder::FriendsOfFriends => format!("linking length {}", self.describe_linking_length(factor, unit)),
            finder if self.particle_sets().attached.is_empty() => finder.to_string(),
            finder => format!("{finder}, other types within {}", self.describe_linking_length(factor, unit)),
        };
        if let Some(types) = self.particle_sets().alone() {
            words += &format!(", mass of {types}");
        }
        if let Some(part) = self.part_of_volume() {
            words += &format!(", {part}");
        }
        words
    }

    fn describe_linking_length(&self, factor: f64, unit: &str) -> String {
        let scales = self.scales();
        let length = length(factor * scales.linking_length, unit);
        let of = if scales.share_of_matter.is_some() { " at the mean density of matter" } else { "" };
        match scales.separations {
            Some(separations) => format!("{length} (b = {}{of})", significant(separations, DIGITS)),
            None => length,
        }
    }

    /// Describes the boundaries: `box 32 Mpc/h`, or `open boundaries`. Parameters as for
    /// [`Pipeline::describe_halos`].
    pub fn describe_box(&self, factor: f64, unit: &str) -> String {
        match self.period() {
            Some(side) => format!("box {}", length(factor * side, unit)),
            None => "open boundaries".into(),
        }
    }
}

fn length(value: f64, unit: &str) -> String {
    let space = if unit.is_empty() { "" } else { " " };
    format!("{}{space}{unit}", significant(value, DIGITS))
}

//! Expected mass functions, and the choice of those that a figure compares with the halos of a finder.
//!
//! In: the masses of halos, and a finder with its linking length. Out: the numbers of halos that are expected, and those
//! for the finder's kind of halos, named by the definition that each is for.
//! Source: Warren et al. 2006 (friends of friends with 0.2 mean separations); Tinker et al. 2008 (spherical
//! overdensities).

use ropewalk::Result;
use ropewalk::halo::{MassFunction, Universe};
use ropewalk_table::{ExpectedMassFunction, MassCounts};

use crate::{Finder, Pipeline};

/// The names of the mass functions in tables.
const WARREN: &str = "Warren et al. 2006";
const TINKER: &str = "Tinker et al. 2008, 200m";

/// Returns the expected numbers of halos in the range of the measured masses, by Warren et al. and by Tinker et al., in
/// the units of the universe. Empty if there are no halos.
///
/// # Errors
/// As [`Universe::halos_above`].
pub fn expected_mass_functions(universe: &Universe, measured: &MassCounts) -> Result<Vec<ExpectedMassFunction>> {
    let (Some(&lightest), Some(&heaviest)) = (measured.masses().last(), measured.masses().first()) else {
        return Ok(vec![]);
    };
    // The masses extend slightly beyond both ends and include the edges of the bins.
    let (from, to) = (0.7 * lightest, 2.0 * heaviest);
    let mut masses: Vec<f64> = (0..=100).map(|i| from * (to / from).powf(f64::from(i) / 100.0)).collect();
    masses.extend(measured.edges());
    masses.sort_by(f64::total_cmp);
    masses.dedup();
    let curve = |name: &str, function| -> Result<ExpectedMassFunction> {
        let numbers = universe.halos_above(&masses, function)?;
        let points = masses.iter().zip(numbers).map(|(&mass, number)| [mass, number]).collect();
        Ok(ExpectedMassFunction { name: name.into(), points })
    };
    Ok(vec![curve(WARREN, MassFunction::Warren2006)?, curve(TINKER, MassFunction::Tinker2008)?])
}

/// The mass functions that suit the halos of a finder.
///
/// ```
/// use ropewalk_pipeline::SuitableFits;
/// use ropewalk_table::ExpectedMassFunction;
///
/// let curves = ["Warren et al. 2006", "Tinker et al. 2008, 200m"]
///     .map(|name| ExpectedMassFunction { name: name.into(), points: vec![] });
/// // Halos of HOP.
/// assert_eq!(SuitableFits::default().choose(&curves)[0].name, "Tinker et al. 2008 (SO, 200m)");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuitableFits {
    /// `true` for friends of friends with about 0.2 mean separations.
    of_groups: bool,
}

impl SuitableFits {
    /// Returns the suitable ones of the [`expected_mass_functions`].
    pub fn choose(&self, curves: &[ExpectedMassFunction]) -> Vec<ExpectedMassFunction> {
        let named = |curve: &ExpectedMassFunction| {
            let of_groups = curve.name == WARREN;
            let name = if of_groups { "Warren et al. 2006 (FOF, b = 0.2)" } else { "Tinker et al. 2008 (SO, 200m)" };
            (self.of_groups || !of_groups)
                .then(|| ExpectedMassFunction { name: name.into(), points: curve.points.clone() })
        };
        curves.iter().filter_map(named).collect()
    }
}

impl Pipeline<'_> {
    /// Returns the choice of mass functions for the halos of this run. Friends of friends are compared with Warren et
    /// al. if the linking length is 0.15 to 0.25 mean separations, or is not known in mean separations.
    pub fn suitable_fits(&self) -> SuitableFits {
        let is_near = self.scales().separations.is_none_or(|b| (0.15..=0.25).contains(&b));
        SuitableFits { of_groups: matches!(self.finder(), Finder::FriendsOfFriends) && is_near }
    }
}

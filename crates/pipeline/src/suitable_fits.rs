//! Expected mass functions, and the choice of those that a figure compares with the halos of a finder.
//!
//! In: the masses of halos, and a finder with its linking length. Out: the numbers of halos that are expected, and
//! those for the finder's kind of halos, named by the definition that each is for. The fit of Warren et al. is of
//! masses that are corrected for the number of particles. For groups it is therefore evaluated at the corrected masses.
//! Source: Warren et al. 2006 (friends of friends with 0.2 mean separations); Tinker et al. 2008 (spherical
//! overdensities).

use ropewalk::Result;
use ropewalk::halo::{MassFunction, Universe};
use ropewalk_table::{ExpectedMassFunction, MassCounts};

use crate::{Finder, Pipeline};

/// The names of the mass functions in tables.
const WARREN: &str = "Warren et al. 2006";
const TINKER: &str = "Tinker et al. 2008, 200m";

/// The mass functions that suit the halos of a finder.
///
/// ```
/// use ropewalk_pipeline::SuitableFits;
/// use ropewalk_table::ExpectedMassFunction;
///
/// let curves = ["Warren et al. 2006", "Tinker et al. 2008, 200m"]
///     .map(|name| ExpectedMassFunction { name: name.into(), points: vec![], is_corrected: false });
/// // Halos of HOP.
/// assert_eq!(SuitableFits::default().choose(&curves)[0].name, "Tinker et al. 2008 (SO, 200m)");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuitableFits {
    /// `true` for friends of friends with about 0.2 mean separations.
    of_groups: bool,
}

impl SuitableFits {
    /// Returns the expected numbers of halos in the range of the measured masses, by Warren et al. and by Tinker et
    /// al., in the units of the universe. Empty if there are no halos.
    ///
    /// For friends of friends with about 0.2 mean separations, the numbers by Warren et al. at a mass are those of the
    /// fit at the [corrected mass](MassCounts::corrected).
    ///
    /// # Errors
    /// As [`Universe::halos_above`].
    pub fn expected(&self, universe: &Universe, measured: &MassCounts) -> Result<Vec<ExpectedMassFunction>> {
        let (Some(&lightest), Some(&heaviest)) = (measured.masses().last(), measured.masses().first()) else {
            return Ok(vec![]);
        };
        // The masses extend slightly beyond both ends and include the edges of the bins.
        let (from, to) = (0.7 * lightest, 2.0 * heaviest);
        let mut masses: Vec<f64> = (0..=100).map(|i| from * (to / from).powf(f64::from(i) / 100.0)).collect();
        masses.extend(measured.edges());
        masses.sort_by(f64::total_cmp);
        masses.dedup();
        let curve = |name: &str, function, is_corrected| -> Result<ExpectedMassFunction> {
            let of_fit = |&mass: &f64| [mass, if is_corrected { measured.corrected(mass) } else { mass }];
            // The corrected mass of a single particle is zero.
            let mut pairs: Vec<[f64; 2]> = masses.iter().map(of_fit).filter(|pair| pair[1] > 0.0).collect();
            pairs.dedup_by(|next, pair| next[1] <= pair[1]);
            let numbers = universe.halos_above(&pairs.iter().map(|pair| pair[1]).collect::<Vec<_>>(), function)?;
            let points = pairs.iter().zip(numbers).map(|(pair, number)| [pair[0], number]).collect();
            Ok(ExpectedMassFunction { name: name.into(), points, is_corrected })
        };
        let warren = curve(WARREN, MassFunction::Warren2006, self.of_groups)?;
        Ok(vec![warren, curve(TINKER, MassFunction::Tinker2008, false)?])
    }

    /// Returns the suitable ones of the [expected](Self::expected) mass functions, with names for a legend.
    pub fn choose(&self, curves: &[ExpectedMassFunction]) -> Vec<ExpectedMassFunction> {
        let named = |curve: &ExpectedMassFunction| {
            let of_groups = curve.name == WARREN;
            let name = if of_groups { "Warren et al. 2006 (FOF, b = 0.2)" } else { "Tinker et al. 2008 (SO, 200m)" };
            (self.of_groups || !of_groups).then(|| ExpectedMassFunction { name: name.into(), ..curve.clone() })
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

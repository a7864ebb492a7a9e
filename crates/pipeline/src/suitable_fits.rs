//! The choice of expected mass functions that a figure compares with the halos of a finder.
//!
//! In: a finder with its linking length, and mass functions. Out: those for its kind of halos, named by the definition
//! that each is for.
//! Source: Warren et al. 2006 (friends of friends with 0.2 mean separations); Tinker et al. 2008 (spherical
//! overdensities).

use ropewalk_table::ExpectedMassFunction;

use crate::{Finder, Pipeline};

/// The name of the mass function of Warren et al. in tables.
pub const WARREN: &str = "Warren et al. 2006";
/// The name of the mass function of Tinker et al. in tables.
pub const TINKER: &str = "Tinker et al. 2008, 200m";

/// The mass functions that suit the halos of a finder.
///
/// ```
/// use ropewalk_pipeline::{SuitableFits, TINKER, WARREN};
/// use ropewalk_table::ExpectedMassFunction;
///
/// let curves = [WARREN, TINKER].map(|name| ExpectedMassFunction { name: name.into(), points: vec![] });
/// // Halos of HOP.
/// assert_eq!(SuitableFits::default().choose(&curves)[0].name, "Tinker et al. 2008 (SO, 200m)");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SuitableFits {
    /// `true` for friends of friends with about 0.2 mean separations.
    of_groups: bool,
}

impl SuitableFits {
    /// Returns the suitable ones of `curves`, which are named [`WARREN`] and [`TINKER`].
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

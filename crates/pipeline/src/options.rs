//! The options of a pipeline: plain data with defaults.

use std::fmt;

use ropewalk::cluster::Hop;
use ropewalk::halo::{AdaptaHop, Center, Overdensity, UniverseOptions};
use ropewalk::{Error, Result};

use crate::errors;

/// The linking length of friends of friends.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum LinkingLength {
    /// In mean separations, `(volume / particles)^(1/3)`. The volume is that of the box if it is known, otherwise
    /// that of the smallest box around the particles. In zoom runs, where linked particles and baryons are less than
    /// half of the matter of the volume, it is the volume that they would fill at the mean density. See
    /// [`Scales::share_of_matter`](super::Scales::share_of_matter).
    Separations(f64),
    /// In the snapshot's unit of length.
    Length(f64),
}

/// The halo finder.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Finder {
    /// Groups of friends of friends, with [`Options::linking_length`].
    #[default]
    FriendsOfFriends,
    /// Groups around density peaks. The pipeline sets box, masses, the volume for the mean density, and the minimum
    /// number of members.
    Hop(Hop),
    /// Halos around density peaks, and their subhalos, each with a row of its own. The members of a row include those
    /// of all nested subhalos. The pipeline sets box, masses, volume and the minimum number of members.
    AdaptaHop {
        /// The options of the finder.
        finder: AdaptaHop,
        /// Removes unbound particles ([`Unbinding`](ropewalk::halo::Unbinding), with [`Options::softening`]), so that
        /// members are the bound particles. Adds the columns `halo_found_mass`, `halo_bound_vmax` and
        /// `halo_bound_rvmax`. Needs masses, velocities and their units.
        unbind: bool,
    },
}

impl Finder {
    /// Returns the prefix of column names: `fof_halo` for friends of friends, as in HACC's catalogues, otherwise
    /// `halo`, as in halotools.
    pub fn column_prefix(&self) -> &'static str {
        match self {
            Self::FriendsOfFriends => "fof_halo",
            Self::Hop(_) | Self::AdaptaHop { .. } => "halo",
        }
    }

    /// Returns `true` if the linking length determines the halos.
    pub(super) fn has_linking_length(&self) -> bool {
        match self {
            Self::FriendsOfFriends => true,
            Self::Hop(_) | Self::AdaptaHop { .. } => false,
        }
    }

    /// Returns `true` if halos depend on the mean density, other than through a linking length in mean separations.
    pub(super) fn has_mean_density(&self) -> bool {
        match self {
            Self::FriendsOfFriends => false,
            Self::Hop(_) | Self::AdaptaHop { .. } => true,
        }
    }

    /// Returns `true` if halos have subhalos, each with a row of its own.
    pub(super) fn has_subhalos(&self) -> bool {
        match self {
            Self::FriendsOfFriends | Self::Hop(_) => false,
            Self::AdaptaHop { .. } => true,
        }
    }
}

/// The name of the finder, such as "friends of friends".
impl fmt::Display for Finder {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::FriendsOfFriends => "friends of friends",
            Self::Hop(_) => "HOP",
            Self::AdaptaHop { .. } => "AdaptaHOP",
        })
    }
}

/// A definition of [`Center`] without its lengths, which are those of the pipeline's [`Options`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum CenterKind {
    /// [`Center::MostBound`].
    MostBound,
    /// [`Center::MostBoundBrute`].
    MostBoundBrute,
    /// [`Center::MostBound`] by [`most_bound_a_star`](ropewalk::reference::most_bound_a_star).
    MostBoundAStar,
    /// [`Center::MostBound`] by [`most_bound_poisson`](ropewalk::reference::most_bound_poisson), with its default
    /// grid.
    MostBoundPoisson,
    /// [`Center::MostConnected`] with the linking length of the halos.
    MostConnected,
    /// [`Center::CenterOfMass`].
    CenterOfMass,
    /// [`Center::shrinking_sphere`].
    ShrinkingSphere,
}

impl CenterKind {
    /// Returns the definition with its lengths.
    pub(super) fn center(self, softening: f64, linking_length: f64) -> Center {
        match self {
            Self::MostBound | Self::MostBoundAStar | Self::MostBoundPoisson => Center::MostBound { softening },
            Self::MostBoundBrute => Center::MostBoundBrute { softening },
            Self::MostConnected => Center::MostConnected { linking_length },
            Self::CenterOfMass => Center::CenterOfMass,
            Self::ShrinkingSphere => Center::shrinking_sphere(),
        }
    }

    /// Returns `true` for the searches of the module `reference`.
    pub(super) fn is_reference(self) -> bool {
        matches!(self, Self::MostBoundAStar | Self::MostBoundPoisson)
    }

    /// Returns `true` if the centre is a particle.
    pub(super) fn is_particle(self) -> bool {
        !matches!(self, Self::CenterOfMass | Self::ShrinkingSphere)
    }
}

/// The name of the centre, such as "most bound particle".
impl fmt::Display for CenterKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::MostBound | Self::MostBoundBrute | Self::MostBoundAStar => "most bound particle",
            Self::MostBoundPoisson => "most bound particle near the lowest cell of a grid's potential",
            Self::MostConnected => "most connected particle",
            Self::CenterOfMass => "centre of mass",
            Self::ShrinkingSphere => "centre of mass within a shrinking sphere",
        })
    }
}

/// The options of a run: what to find in a snapshot, and what to measure. Start from [`Options::default`] and set
/// fields.
///
/// ```
/// use ropewalk_pipeline::{LinkingLength, Options};
///
/// let mut options = Options::default();
/// options.linking_length = LinkingLength::Separations(0.168);
/// options.overdensities = vec!["200c".parse()?, "vir".parse()?];
/// options.check()?;
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Options {
    /// The halo finder. Default: friends of friends.
    pub finder: Finder,
    /// The linking length, also for most connected particles. Default: 0.2 mean separations.
    pub linking_length: LinkingLength,
    /// The minimum number of particles of a halo. Default: 20.
    pub min_members: usize,
    /// The side of the periodic box. Default: the snapshot's, if it has one.
    pub box_size: Option<f64>,
    /// `true` for open boundaries, even if a box is known.
    pub open: bool,
    /// The centre of each halo: columns `fof_halo_center_*` ([`Finder::column_prefix`]). `None` leaves them out,
    /// except that overdensities need [`CenterKind::MostBound`].
    pub center: Option<CenterKind>,
    /// `true` to add the most connected particle of each halo: columns `fof_halo_mcp_*`.
    pub most_connected: bool,
    /// The Plummer softening length of the potential for most bound particles and unbinding, in the snapshot's unit
    /// of length. Default: 0.
    pub softening: f64,
    /// Spherical overdensities about the centre, over all particles read: columns `sod_halo_*`, and the structure of
    /// each halo.
    pub overdensities: Vec<Overdensity>,
    /// Spheres of fewer particles have a count, but NaN for mass and radius. Default: 20.
    pub min_sphere_particles: usize,
    /// Units and cosmology.
    pub universe: UniverseOptions,
    /// The columns of the catalogue to keep, in this order. Default: all columns.
    pub columns: Vec<String>,
    /// The number of largest halos, without subhalos, that get a density profile out to R200c. Default: 0.
    pub profiles: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            finder: Finder::FriendsOfFriends,
            linking_length: LinkingLength::Separations(0.2),
            min_members: 20,
            box_size: None,
            open: false,
            center: None,
            most_connected: false,
            softening: 0.0,
            overdensities: vec![],
            min_sphere_particles: 20,
            universe: UniverseOptions::default(),
            columns: vec![],
            profiles: 0,
        }
    }
}

impl Options {
    /// Checks the options, as far as that is possible without a snapshot.
    ///
    /// # Errors
    /// [`Error::parameter`](ropewalk::Error::parameter) is the name of the field.
    ///
    /// - a linking length or softening that is negative or not finite
    /// - thresholds that [`Hop::run`] or [`AdaptaHop::run`] refuses
    /// - a box that is not positive and finite
    /// - an overdensity or a column that is named twice
    /// - a cosmology out of range
    pub fn check(&self) -> Result<()> {
        self.universe.check()?;
        match &self.finder {
            Finder::FriendsOfFriends => {}
            Finder::Hop(hop) => hop.check()?,
            Finder::AdaptaHop { finder, .. } => finder.check()?,
        }
        if let Some(value) = first_twice(&self.overdensities) {
            return Err(errors::named_twice("overdensities", value));
        }
        if let Some(value) = first_twice(&self.columns) {
            return Err(errors::named_twice("columns", value));
        }
        let (LinkingLength::Separations(value) | LinkingLength::Length(value)) = self.linking_length;
        if !(0.0..f64::INFINITY).contains(&value) {
            return Err(Error::parameter_must("linking_length", value, "finite and not negative"));
        }
        if !(0.0..f64::INFINITY).contains(&self.softening) {
            let (name, must) = ("softening", "finite and not negative");
            return Err(Error::parameter_must(name, self.softening, must));
        }
        if let Some(value) = self.box_size.filter(|&side| !(side > 0.0 && side < f64::INFINITY)) {
            return Err(Error::parameter_must("box_size", value, "positive and finite"));
        }
        Ok(())
    }

    /// Returns `true` if the most connected particle is requested, as the centre or in addition.
    pub(super) fn has_most_connected(&self) -> bool {
        self.most_connected || self.center == Some(CenterKind::MostConnected)
    }

    /// Returns the requested centre, or the one that spheres need.
    pub(super) fn center_kind(&self) -> Option<CenterKind> {
        self.center.or((!self.overdensities.is_empty()).then_some(CenterKind::MostBound))
    }
}

fn first_twice<T: PartialEq>(items: &[T]) -> Option<&T> {
    (0..items.len()).find(|&i| items[..i].contains(&items[i])).map(|i| &items[i])
}

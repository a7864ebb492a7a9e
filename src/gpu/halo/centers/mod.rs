//! Halo centres on a device: the GPU version of `halo::centers`.
//!
//! In: points and their grouping into halos. Out: [`Centers`], equal to those of the CPU.
//! ```text
//! halos -> by_size -> members -> direct                           small halos: all sums in f64
//!                             -> blocks -> far, near_field, pairwise_f32 -> bounds -> direct
//!                                                                 large ones: bounds in f32, then the survivors in f64
//!                  -> most_connected                              counts of friends
//!                  -> on_host                                     what the device leaves to the CPU
//! ```
//! φ is the potential at a member due to all others (G is 1). Kernels compute -φ, which is positive: every sum and
//! every `potential` has this sign, and [`Units::potential`] changes it. Equations are numbered across the files: (1)
//! and (2) in `multipole`, (3) to (5) in `local_expansion`, (6) and (7) in `bounds`, (8) in `near_field`, (9) in
//! `direct`, (10) in `most_connected`.
//!
//! Cost: see [`CenterFinder::run`]. Source: Sewell et al. 2015 for the definitions.
//!
//! # Launch contract
//! Some kernels are launched without bounds checks. Their arguments come from the constructors here, which guarantee:
//! - Every halo in `owners` is below the number of halos (of large halos, for blocks).
//! - `offsets` and `of_halos` ascend and have one entry more than there are halos. Their last entries are the number
//!   of members and the number of blocks.
//! - Entries of `order` are below the number of members, entries of `of_members` below the number of blocks. `first`
//!   ascends and ends with the number of members in blocks.
//! - Arrays are as long as their items require: three axes per member, twelve numbers per block, `capacity` places per
//!   list. A count above `capacity` marks a list that is not read.
//!
//! A kernel compares its own position with the number of its items, or clamps it. All other indices come from these
//! arrays, and loops run over ranges of these indices. Kernels with further requirements state them at the launch.

mod argmax;
mod blocks;
mod bounds;
mod by_size;
mod direct;
mod local_expansion;
mod members;
mod most_bound;
mod most_connected;
mod multipole;
mod near_field;
mod near_field_lists;
mod on_host;
mod pairwise_f32;

use cubecl::prelude::*;

use self::argmax::Maximum;
use self::by_size::SortedHalos;
use self::members::{AMBIGUOUS, Members, Units};
use self::most_bound::MostBound;
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::Boundary;
use crate::gpu::buffer::{Buffer, end_phase};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::cluster::halos::Halos;
use crate::gpu::device::{check_same, on};
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::rounding::rounds_well;
use crate::halo::centers::{Center, Centers, HaloCenter};
use crate::parallel::map;

/// Halos per parallel task.
const TASK: usize = 1 << 10;

/// The options to find halo centres on a device, followed by [`CenterFinder::run`]. The GPU version of
/// [`crate::halo::CenterFinder`].
///
/// Space is open or periodic as for the points. Halos found in a different space are an error.
///
/// ```no_run
/// use ropewalk::gpu::{CenterFinder, Device, Halos, Points};
/// use ropewalk::{Center, Fof};
///
/// let (points, device) = ([[9.5f32, 5.0, 5.0], [0.25, 5.0, 5.0], [0.5, 5.0, 5.0]], Device::first()?);
/// let halos = Halos::upload(&Fof::new(1.0).periodic(10.0).run(&points)?, device)?;
/// let points = Points::new_periodic(&points, 10.0, device)?;
/// let finder = CenterFinder::new(Center::MostBound { softening: 0.0 }).masses(&[9.0, 1.0, 1.0]);
/// assert_eq!(finder.run(&points, &halos)?.as_slice()[0].position, [0.25, 5.0, 5.0]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CenterFinder<'a> {
    center: Center,
    masses: Option<&'a [f64]>,
}

/// Centres, and the processor that computed each, so that a test of a device cannot pass on the CPU.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct CentersWithDevice {
    pub centers: Centers,
    /// For each halo, `true` if the device computed its centre.
    pub on_device: Vec<bool>,
}

impl<'a> CenterFinder<'a> {
    /// Creates a finder of centres of this definition, for points of mass 1.
    pub fn new(center: Center) -> Self {
        Self { center, masses: None }
    }

    /// Sets a mass for each point, positive and finite.
    #[must_use]
    pub fn masses(mut self, masses: &'a [f64]) -> Self {
        self.masses = Some(masses);
        self
    }

    /// Finds the centre of each halo of `points`, in the order of the halos: [`Center::MostBound`] or
    /// [`Center::MostConnected`].
    ///
    /// Members, potentials, friends and coincident pairs equal those of the CPU bit by bit, for points within the
    /// periodic box. The number of pairs evaluated differs from the CPU. With softening, coincident pairs are counted
    /// as by [`Center::MostBoundBrute`].
    ///
    /// # Cost
    /// Most bound particles: n² for halos of up to 512 members. For larger halos:
    /// - some hundreds of pairs per member;
    /// - a term for each pair of blocks of about 20 members;
    /// - n for each member whose potential is close to the minimum, some dozens per halo.
    ///
    /// Most connected particles: n² for halos of up to 512 members. For larger halos: the pairs of members not much
    /// farther apart than the linking length.
    ///
    /// Memory: some 50 bytes per member, and 80 more for members of large halos.
    ///
    /// # Fallback to the CPU
    /// The CPU computes:
    /// - most bound particles of halos that may be half as wide as a periodic box;
    /// - most bound particles of all halos, if the device does not round according to IEEE 754;
    /// - most bound particles of all halos, if masses differ by more than a factor of 1e15, or the largest mass is
    ///   outside 1e-100 to 1e100;
    /// - all centres, if the extent of the points differs from the softening or linking length by more than a factor
    ///   of 1e15;
    /// - all centres, if the extent of the points differs from their smallest nonzero coordinate by more than a factor
    ///   of 1e30;
    /// - all centres, if the extent of the points is not 0 and outside 1e-100 to 1e100;
    /// - all centres, if large halos have more than 2^26 blocks (2^25 for most connected particles).
    ///
    /// The positions of the members of these halos, and the indices of all members, are then copied from the device.
    ///
    /// # Errors
    /// Returns an error as [`crate::halo::CenterFinder::run`], and for:
    /// - halos found in a different space than that of the points;
    /// - another definition of the centre;
    /// - points and halos on different devices;
    /// - a failing device.
    pub fn run<S: Coordinate>(&self, points: &Points<S, 3>, halos: &Halos) -> Result<Centers> {
        Ok(self.run_traced(points, halos)?.centers)
    }

    /// Finds the centre of each halo as [`CenterFinder::run`] does, and the processor that computed each.
    #[doc(hidden)]
    pub fn run_traced<S: Coordinate>(&self, points: &Points<S, 3>, halos: &Halos) -> Result<CentersWithDevice> {
        self.center.check()?;
        check_same(["the points", "the halos"], [points.device, halos.device])?;
        on_host::finder(self.center, self.masses).check_lengths(points.len, halos.labels.len())?;
        let boundary = Boundary::common(&[
            ("the halos were found in", &halos.boundary),
            ("the points are in", &Boundary::new(&points.space)),
        ])?;
        on!(points.device, client => {
            let halos = SortedHalos::new(client, halos)?;
            let found = if halos.len() > 0 { self.find(client, points, &halos)? } else { DeviceCenters::Nothing };
            let found_points: Vec<_> = (0..halos.len()).map(|halo| found.point(halo)).collect();
            let rows = halos.in_given_order(self.rows(client, points, &halos, &found, &found_points)?);
            let on_device = halos.in_given_order(found_points.iter().map(Option::is_some).collect());
            end_phase(client, "rows")?;
            let sizes = (0..halos.len()).map(|halo| halos.size(halo) as usize);
            Ok(CentersWithDevice { centers: Centers::from_parts(rows, sizes, boundary), on_device })
        })
    }

    /// Computes the centres of the halos that are not left to the CPU.
    fn find<R: Runtime, S: Coordinate>(
        &self,
        client: &ComputeClient<R>,
        points: &Points<S, 3>,
        halos: &SortedHalos,
    ) -> Result<DeviceCenters> {
        match self.center {
            Center::MostBound { softening } => {
                let is_exact = rounds_well(client, points.device)?;
                let Some(units) = Units::new(points, self.masses, softening).filter(|_| is_exact) else {
                    return Ok(DeviceCenters::Nothing);
                };
                let members = Members::new(client, points, halos, self.masses, softening, units)?;
                end_phase(client, "members")?;
                let flags = if members.any_ambiguous { members.flags.read(client)? } else { vec![] };
                let found = most_bound::most_bound(client, points, halos, &members, units)?;
                Ok(found.map_or(DeviceCenters::Nothing, |rows| DeviceCenters::MostBound { rows, flags, units }))
            }
            Center::MostConnected { linking_length } => {
                points.space.check_length("linking_length", linking_length)?;
                let Some(units) = Units::new(points, None, linking_length) else { return Ok(DeviceCenters::Nothing) };
                let found = most_connected::most_connected(client, points, halos, linking_length, units)?;
                Ok(found.map_or(DeviceCenters::Nothing, DeviceCenters::MostConnected))
            }
            center => {
                let sentence =
                    format!("center {center:?} is not supported on a device; use MostBound or MostConnected");
                Err(Error::new(ErrorKind::Unsupported, sentence))
            }
        }
    }

    /// The rows of all halos; the CPU computes those that the device did not.
    fn rows<R: Runtime, S: Coordinate>(
        &self,
        client: &ComputeClient<R>,
        points: &Points<S, 3>,
        halos: &SortedHalos,
        found: &DeviceCenters,
        found_points: &[Option<u32>],
    ) -> Result<Vec<HaloCenter>> {
        let n = found_points.len();
        let missing: Vec<usize> = (0..n).filter(|&halo| found_points[halo].is_none()).collect();
        let cpu_rows = on_host::rows(client, self.center, self.masses, points, halos, &missing)?;
        let indices: Vec<u32> = found_points.iter().map(|point| point.unwrap_or(0)).collect();
        let indices = Buffer::from_slice(client, &indices);
        let axes = if missing.len() < n {
            gather(client, &points.values, &indices, 3, Layout::Columns).read(client)?
        } else {
            vec![]
        };
        // The vector is newly allocated, and all threads fill it.
        Ok(map(n, TASK, &|halo| match missing.binary_search(&halo) {
            Ok(at) => cpu_rows[at],
            Err(_) => found.row(halo, std::array::from_fn(|k| axes[k * n + halo].into())),
        }))
    }
}

/// The centres that the device found.
enum DeviceCenters {
    Nothing,
    MostBound {
        rows: Vec<Option<MostBound>>,
        /// The flags of [`Members`], or empty if no halo is wide.
        flags: Vec<u32>,
        units: Units,
    },
    MostConnected(Vec<Maximum<u32>>),
}

impl DeviceCenters {
    /// The particle that is the centre of a halo, or `None` if the device has no centre for it.
    fn point(&self, halo: usize) -> Option<u32> {
        match self {
            Self::Nothing => None,
            Self::MostBound { rows, flags, .. } => {
                // A wide halo can be unwrapped in more than one way. The CPU selects one if it is narrow enough,
                // otherwise it selects none.
                let is_ambiguous = flags.get(halo).is_some_and(|flags| flags & AMBIGUOUS != 0);
                rows[halo].as_ref().filter(|_| !is_ambiguous).map(|row| row.point)
            }
            Self::MostConnected(rows) => Some(rows[halo].point),
        }
    }

    /// The row of a halo whose centre is at a position.
    fn row(&self, halo: usize, position: [f64; 3]) -> HaloCenter {
        let center = HaloCenter { member: self.point(halo), ..HaloCenter::at(position) };
        match self {
            Self::Nothing => center,
            Self::MostBound { rows, units, .. } => rows[halo].as_ref().map_or(center, |row| HaloCenter {
                potential: Some(units.potential(row.potential)),
                coincident: row.coincident,
                pairs: row.pairs,
                ..center
            }),
            Self::MostConnected(rows) => {
                HaloCenter { friends: Some(rows[halo].value.saturating_sub(1)), ties: Some(rows[halo].count), ..center }
            }
        }
    }
}

impl Halos {
    /// Finds the centre of each halo for equal masses of 1, as [`crate::Halos::centers`]. Space is open or periodic as
    /// for the points. For other masses see [`CenterFinder`].
    ///
    /// # Errors
    /// Those of [`CenterFinder::run`].
    pub fn centers<S: Coordinate>(&self, points: &Points<S, 3>, center: Center) -> Result<Centers> {
        CenterFinder::new(center).run(points, self)
    }
}

//! Halo centres on a device: the twin of `halo::centers`.
//!
//! In: points and their grouping into halos. Out: [`Centers`], those of the CPU.
//! ```text
//! halos -> by_size -> members -> direct                           small halos: all sums in f64
//!                             -> blocks -> far, near, pairwise_f32 -> bounds -> direct
//!                                                                 large ones: bounds in f32, then the survivors in f64
//!                  -> most_connected                              counts of friends
//!                  -> on_host                                     what the device leaves to the CPU
//! ```
//! φ is the potential at a member by all others (G is 1). Kernels compute -φ, which is positive: every sum and every
//! `potential` has this sign, and [`Units::potential`] changes it. Equations are numbered through the files: (1) and
//! (2) in `multipole`, (3) to (5) in `local_expansion`, (6) and (7) in `bounds`, (8) in `near`, (9) in `direct`, (10) in
//! `most_connected`.
//! Cost: see [`CenterFinder::run`]. Source: Sewell et al. 2015 for the definitions.
//!
//! # Launch contract
//! Some kernels are launched without bounds checks. Their arguments are what the constructors here make, so that
//! - every halo in `owners` is below the number of halos (of large ones, for blocks), and `offsets` and `of_halos`
//!   ascend and have one number more than there are halos; their last number is that of the members, and of the blocks;
//! - `order`, the numbers in `first` and those in `of_members` are below the numbers of members, of members, and of
//!   blocks; `first` ascends and ends with the number of members in blocks;
//! - arrays have as many elements as what they are about: three axes a member, twelve numbers a block, `capacity`
//!   places a list; a count above `capacity` marks a list that is not read.
//!
//! A kernel compares its own position with the number of its items, or clamps it, and reaches everything else through
//! these. Its loops are over ranges of these numbers. Where a kernel takes more than that, the launch says so.

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
mod near;
mod near_lists;
mod on_host;
mod pairwise_f32;

use cubecl::prelude::*;

use self::argmax::Maximum;
use self::by_size::SortedHalos;
use self::members::{Members, Units, WIDE};
use self::most_bound::MostBound;
use crate::error::{Error, ErrorKind, Result};
use crate::geometry::Boundary;
use crate::gpu::buffer::{Buffer, mark};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::cluster::halos::Halos;
use crate::gpu::device::{check_same, on};
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::rounding::rounds_well;
use crate::halo::centers::{Center, Centers, HaloCenter};
use crate::parallel::map;

/// Halos per parallel task.
const TASK: usize = 1 << 10;

/// How to find centres on a device: options, then [`CenterFinder::run`]. The twin of [`crate::CenterFinder`].
///
/// Space is open or periodic as the points are; halos that know another one are refused.
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

/// Centres, and where they were computed, so that a test of a device cannot pass on the CPU.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Traced {
    pub centers: Centers,
    /// Whether the device has computed the centre of each halo.
    pub on_device: Vec<bool>,
}

impl<'a> CenterFinder<'a> {
    /// Equal masses of 1.
    pub fn new(center: Center) -> Self {
        Self { center, masses: None }
    }

    /// A mass for each point, positive and finite.
    #[must_use]
    pub fn masses(mut self, masses: &'a [f64]) -> Self {
        self.masses = Some(masses);
        self
    }

    /// Finds the centre of each halo of `points`, in the order of the halos: [`Center::MostBound`] or
    /// [`Center::MostConnected`].
    ///
    /// Members, potentials, friends and pairs at no distance are those of the CPU, bit by bit, with points within a
    /// periodic box. The number of pairs looked at is the device's own, and with softening pairs at no distance are
    /// counted as by [`Center::MostBoundBrute`].
    ///
    /// Cost of most bound particles: n² for halos of up to 512 members; for larger ones some hundreds of pairs a
    /// member, a node for each pair of blocks of some 20 members, and n for each member whose potential is nearly the
    /// lowest, some dozens a halo. Of most connected ones: n² up to 512, and beyond pairs of members not much farther
    /// apart than the linking length. Memory: some 50 bytes a member, and 80 more for those of large halos.
    ///
    /// The CPU computes most bound particles of halos that may be half as wide as a periodic box; those of all halos on
    /// a device that does not round as IEEE 754 says, and where masses, or softening and extent, differ by a factor of
    /// 1e15; and all centres where coordinates that are not 0 differ by 1e30, and where large halos have more than 2^26
    /// blocks (2^25 for most connected particles). For that the positions of the members of these halos, and the indices
    /// of all members, are copied from the device.
    ///
    /// Errors as [`crate::CenterFinder::run`]; halos found in another space than the points'; another definition of the
    /// centre; points and halos on two devices; if a device fails.
    pub fn run<S: Coordinate>(&self, points: &Points<S, 3>, halos: &Halos) -> Result<Centers> {
        Ok(self.run_traced(points, halos)?.centers)
    }

    /// The same, and where each centre was computed.
    #[doc(hidden)]
    pub fn run_traced<S: Coordinate>(&self, points: &Points<S, 3>, halos: &Halos) -> Result<Traced> {
        self.center.check()?;
        check_same(["the points", "the halos"], [points.device, halos.device])?;
        on_host::finder(self.center, self.masses).check_lengths(points.len, halos.labels.len())?;
        let boundary = Boundary::agree(&[
            ("the halos were found in", &halos.boundary),
            ("the points are in", &Boundary::of(&points.space)),
        ])?;
        on!(points.device, client => {
            let halos = SortedHalos::new(client, halos)?;
            let found = if halos.len() > 0 { self.find(client, points, &halos)? } else { Found::Nothing };
            let rows = halos.in_given_order(self.rows(client, points, &halos, &found)?);
            let on_device = halos.in_given_order((0..halos.len()).map(|halo| found.point(halo).is_some()).collect());
            mark(client, "rows")?;
            let sizes = (0..halos.len()).map(|halo| halos.size(halo) as usize);
            Ok(Traced { centers: Centers::of(rows, sizes, boundary), on_device })
        })
    }

    /// The centres of those halos that are not left to the CPU.
    fn find<R: Runtime, S: Coordinate>(
        &self,
        client: &ComputeClient<R>,
        points: &Points<S, 3>,
        halos: &SortedHalos,
    ) -> Result<Found> {
        match self.center {
            Center::MostBound { softening } => {
                let is_exact = rounds_well(client, points.device)?;
                let Some(units) = Units::of(points, self.masses, softening).filter(|_| is_exact) else {
                    return Ok(Found::Nothing);
                };
                let members = Members::new(client, points, halos, self.masses, softening, units)?;
                mark(client, "members")?;
                let flags = if members.any_wide { members.flags.read(client)? } else { vec![] };
                let found = most_bound::most_bound(client, points, halos, &members, units)?;
                Ok(found.map_or(Found::Nothing, |rows| Found::MostBound { rows, flags, units }))
            }
            Center::MostConnected { linking_length } => {
                points.space.check_length("linking_length", linking_length)?;
                let Some(units) = Units::of(points, None, linking_length) else { return Ok(Found::Nothing) };
                let found = most_connected::most_connected(client, points, halos, linking_length, units)?;
                Ok(found.map_or(Found::Nothing, Found::MostConnected))
            }
            center => {
                let sentence = format!(
                    "on a device, centres are most bound or most connected particles (MostBound, MostConnected), not {center:?}"
                );
                Err(Error::new(ErrorKind::Unsupported, sentence))
            }
        }
    }

    /// All rows, with those that are missing from the CPU.
    fn rows<R: Runtime, S: Coordinate>(
        &self,
        client: &ComputeClient<R>,
        points: &Points<S, 3>,
        halos: &SortedHalos,
        found: &Found,
    ) -> Result<Vec<HaloCenter>> {
        let n = halos.len();
        let missing: Vec<usize> = (0..n).filter(|&halo| found.point(halo).is_none()).collect();
        let theirs = on_host::rows(client, self.center, self.masses, points, halos, &missing)?;
        let indices: Vec<u32> = (0..n).map(|halo| found.point(halo).unwrap_or(0)).collect();
        let indices = Buffer::from_slice(client, &indices);
        let axes = if missing.len() < n {
            gather(client, &points.values, &indices, 3, Layout::Columns).read(client)?
        } else {
            vec![]
        };
        // Fresh memory, which all threads fill.
        Ok(map(n, TASK, &|halo| match missing.binary_search(&halo) {
            Ok(at) => theirs[at],
            Err(_) => found.row(halo, std::array::from_fn(|k| axes[k * n + halo].into())),
        }))
    }
}

/// What a device has found of each halo.
enum Found {
    Nothing,
    MostBound {
        rows: Vec<Option<MostBound>>,
        /// None, or those of [`Members`].
        flags: Vec<u32>,
        units: Units,
    },
    MostConnected(Vec<Maximum<u32>>),
}

impl Found {
    /// The particle that is the centre of a halo.
    fn point(&self, halo: usize) -> Option<u32> {
        match self {
            Self::Nothing => None,
            Self::MostBound { rows, flags, .. } => {
                // A wide halo has more than one shape, of which the CPU takes one, if it is narrow enough, or none.
                let is_wide = flags.get(halo).is_some_and(|flags| flags & WIDE != 0);
                rows[halo].as_ref().filter(|_| !is_wide).map(|row| row.point)
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
    /// The centre of each halo, all points having the same mass of 1: as [`crate::Halos::centers`], in open or periodic
    /// space as the points are. For masses see [`CenterFinder`].
    ///
    /// Errors as [`CenterFinder::run`].
    pub fn centers<S: Coordinate>(&self, points: &Points<S, 3>, center: Center) -> Result<Centers> {
        CenterFinder::new(center).run(points, self)
    }
}

//! Halo centres on a device: the twin of `center`.
//!
//! In: points and their grouping into halos. Out: [`Centers`], those of the CPU.
//! ```text
//! members -> direct              small halos: all sums in f64
//!         -> blocks -> bound -> direct    large ones: bounds in f32 (far, near, rough), then the sums of who is left
//! ```
//! Cost: see [`CenterFinder::run`]. Source: Sewell et al. 2015 for the definitions.

mod blocks;
mod direct;
mod far;
mod members;
mod most_bound;
mod most_connected;
mod near;
mod pairwise_f32;

use cubecl::prelude::*;
use rayon::prelude::*;

use self::members::{Members, Units, WIDE};
use crate::error::{Kind, Result};
use crate::geometry::Boundary;
use crate::gpu::buffer::Buffer;
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::device::on;
use crate::gpu::halo::groups::Halos;
use crate::gpu::primitives::gather::gather;
use crate::halo::centers::{Center, Centers, HaloCenter, NoCenter, power};

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
/// let centering = CenterFinder::new(Center::MostBound { softening: 0.0 }).masses(&[9.0, 1.0, 1.0]);
/// assert_eq!(centering.run(&points, &halos)?.as_slice()[0].position, [0.25, 5.0, 5.0]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CenterFinder<'a> {
    center: Center,
    masses: Option<&'a [f64]>,
}

/// The most bound particle of a halo.
struct Row {
    point: u32,
    felt: f64,
    coincident: u64,
    pairs: u64,
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

    /// Finds the centre of each halo of `points`, in the order of the halos: [`Center::MostBound`] or [`Center::MostConnected`].
    ///
    /// Members, potentials, friends and pairs at no distance are those of the CPU, bit by bit, with points within a periodic box;
    /// how many pairs were looked at is a number of its own, and with softening pairs at no distance are counted as by
    /// [`Center::MostBoundBrute`]. Cost of most bound particles: n² for halos of up to 512 members; for larger ones some hundreds
    /// of pairs a member, a node for each pair of blocks of some 20 members, and n for each member whose potential is nearly the
    /// lowest, some dozens a halo. Of most connected ones: n² up to 512, and beyond pairs of members not much
    /// farther apart than the linking length. Memory: some 50 bytes a member, and 80 more for those of large halos.
    ///
    /// Left to the CPU are: halos that may be half as wide as a periodic box; all of them on a device that does not round as
    /// IEEE 754 says, where coordinates that are not 0 differ by a factor of 1e30, or masses by 1e15, and where large halos have more
    /// than 2^26 blocks.
    ///
    /// Errors as [`crate::CenterFinder::run`]; halos found in another space than the points'; another definition of the centre; points and halos on two devices; if a device fails.
    pub fn run<S: Coordinate>(&self, points: &Points<S, 3>, halos: &Halos) -> Result<Centers> {
        self.center.check()?;
        if points.device != halos.device {
            let [points, halos] = [points.device, halos.device].map(|device| format!("{device:?}"));
            return Err(Kind::Devices { points, halos }.into());
        }
        self.on_host().check_lengths(points.len, halos.points())?;
        let boundary = Boundary::agree(&[
            ("the halos were found in", &halos.boundary),
            ("the points are in", &Boundary::of(&points.space)),
        ])?;
        on!(points.device, client => {
            let offsets = halos.offsets.read(client)?;
            let rows = self.rows(client, points, halos, &offsets)?;
            let rows = match &halos.given {
                None => rows,
                Some(given) => {
                    let mut rows: Vec<_> = given.iter().zip(rows).collect();
                    rows.sort_unstable_by_key(|&(halo, _)| halo);
                    rows.into_iter().map(|(_, row)| row).collect()
                }
            };
            Ok(Centers::of(rows, offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize), boundary))
        })
    }

    /// The centres of the halos in the order of their sizes.
    fn rows<R: Runtime, S: Coordinate>(
        &self,
        client: &ComputeClient<R>,
        points: &Points<S, 3>,
        halos: &Halos,
        offsets: &[u32],
    ) -> Result<Vec<HaloCenter>> {
        let all: Vec<usize> = (0..halos.len()).collect();
        match self.center {
            _ if all.is_empty() => Ok(vec![]),
            Center::MostBound { softening } => {
                let rounds_well = direct::rounds_well(client, points.device)?;
                let Some(units) = Units::of(points, self.masses, softening).filter(|_| rounds_well) else {
                    return self.rows_on_host(client, points, halos, offsets, &all);
                };
                let (members, any_wide) = Members::new(client, points, halos, self.masses, softening, units)?;
                let flags = if any_wide { members.flags.read(client)? } else { vec![] };
                let is_wide = |halo: usize| flags.get(halo).is_some_and(|flags| flags & WIDE != 0);
                let Some(found) = most_bound(client, points, halos, offsets, &members, units)? else {
                    return self.rows_on_host(client, points, halos, offsets, &all);
                };
                let order: Vec<u32> = found.iter().map(|row| row.as_ref().map_or(0, |row| row.point)).collect();
                let places =
                    gather::<R, S, 3>(client, &points.values, &Buffer::from_slice(client, &order)).read(client)?;
                let n = order.len();
                // What is not known yet the CPU finds: halos of which bounds leave no one, for they may be too wide to be
                // unwrapped in one way, and all that may be so.
                let others: Vec<usize> =
                    all.into_iter().filter(|&halo| is_wide(halo) || found[halo].is_none()).collect();
                let row = |(i, row): (usize, Option<Row>)| {
                    let Some(row) = row else { return HaloCenter::none(NoCenter::NoMembers) };
                    HaloCenter {
                        member: Some(row.point),
                        potential: Some(-(row.felt * power(units.weight)) * power(-units.length)),
                        coincident: row.coincident,
                        pairs: row.pairs,
                        ..HaloCenter::at(std::array::from_fn(|k| places[k * n + i].into()))
                    }
                };
                let mut rows: Vec<HaloCenter> = found.into_iter().enumerate().map(row).collect();
                if !others.is_empty() {
                    let theirs = self.rows_on_host(client, points, halos, offsets, &others)?;
                    others.into_iter().zip(theirs).for_each(|(halo, row)| rows[halo] = row);
                }
                Ok(rows)
            }
            Center::MostConnected { linking_length } => {
                points.space.check_length("linking_length", linking_length)?;
                let Some(units) = Units::of(points, None, linking_length) else {
                    return self.rows_on_host(client, points, halos, offsets, &all);
                };
                let found = most_connected::most_connected(client, points, halos, linking_length, units)?;
                let row = |((place, count), ties): ((HaloCenter, u32), u32)| HaloCenter {
                    friends: Some(count - 1),
                    ties: Some(ties),
                    ..place
                };
                let places = at(client, points, &found.points)?;
                Ok(places.into_iter().zip(found.counts).zip(found.ties).map(row).collect())
            }
            _ => Err(Kind::DeviceCenter { center: format!("{:?}", self.center) }.into()),
        }
    }

    fn on_host(&self) -> crate::CenterFinder<'a> {
        let centering = crate::CenterFinder::new(self.center);
        if let Some(masses) = self.masses { centering.masses(masses) } else { centering }
    }

    /// The centres of some halos as the CPU finds them.
    fn rows_on_host<R: Runtime, S: Coordinate>(
        &self,
        client: &ComputeClient<R>,
        points: &Points<S, 3>,
        halos: &Halos,
        offsets: &[u32],
        some: &[usize],
    ) -> Result<Vec<HaloCenter>> {
        let (places, members) = (points.values.read(client)?, halos.members.read(client)?);
        let (places, centering) = (places.as_chunks::<3>().0, self.on_host());
        let row = |&halo: &usize| {
            let own = &members[offsets[halo] as usize..offsets[halo + 1] as usize];
            centering.run_on(places, own, &points.space)
        };
        some.par_iter().with_max_len(1).map(row).collect()
    }
}

/// Centres that are particles.
fn at<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    points: &Points<S, 3>,
    indices: &[u32],
) -> Result<Vec<HaloCenter>> {
    let n = indices.len();
    let axes = gather::<R, S, 3>(client, &points.values, &Buffer::from_slice(client, indices)).read(client)?;
    let place = |(i, &index): (usize, &u32)| HaloCenter {
        member: Some(index),
        ..HaloCenter::at(std::array::from_fn(|k| axes[k * n + i].into()))
    };
    Ok(indices.iter().enumerate().map(place).collect())
}

/// None if there are too many members; and for a halo of which bounds leave no one. What it says of wide halos is void.
fn most_bound<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    points: &Points<S, 3>,
    halos: &Halos,
    offsets: &[u32],
    members: &Members,
    units: Units,
) -> Result<Option<Vec<Option<Row>>>> {
    let large = halos.large[0];
    let best = direct::most_bound(client, members, &halos.offsets, &halos.members, halos.large);
    let mut rows = Vec::with_capacity(halos.len());
    if large > 0 {
        let Some(left) = most_bound::left(client, points, halos, members, units)? else { return Ok(None) };
        let felt = direct::sums(client, members, &halos.offsets, &left.members).read(client)?;
        let (positions, indices) = (left.members.read(client)?, left.points.read(client)?);
        let (pairs, coincident) = (left.pairs.read(client)?, left.coincident.read(client)?);
        let wide = |words: &[u32], halo: usize| u64::from(words[2 * halo]) | u64::from(words[2 * halo + 1]) << 32;
        let mut next = 0;
        for halo in 0..large {
            let first = next;
            next += positions[first..].partition_point(|&position| position < offsets[halo + 1]);
            let deeper = |&a: &usize, &b: &usize| felt[a].total_cmp(&felt[b]).then(positions[b].cmp(&positions[a]));
            let others = u64::from(offsets[halo + 1] - offsets[halo] - 1);
            rows.push((first..next).max_by(deeper).map(|best| Row {
                point: indices[best],
                felt: felt[best],
                coincident: wide(&coincident, halo) / 2,
                pairs: wide(&pairs, halo) + (next - first) as u64 * others,
            }));
        }
    }
    let (felt, coincident) = (best.felt.read(client)?, best.coincident.read(client)?);
    for (i, point) in best.points.read(client)?.into_iter().enumerate() {
        let n = u64::from(offsets[large + i + 1] - offsets[large + i]);
        rows.push(Some(Row { point, felt: felt[i], coincident: u64::from(coincident[i]), pairs: n * (n - 1) }));
    }
    Ok(Some(rows))
}

impl Halos {
    /// The centre of each halo, all points having the same mass of 1: as [`crate::Halos::centers`], in open or periodic space as
    /// the points are. For masses see [`CenterFinder`].
    ///
    /// Errors as [`CenterFinder::run`].
    pub fn centers<S: Coordinate>(&self, points: &Points<S, 3>, center: Center) -> Result<Centers> {
        CenterFinder::new(center).run(points, self)
    }
}

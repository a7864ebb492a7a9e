//! The members of all halos, prepared for sums over pairs: the GPU version of `halo::centers::members`.
//!
//! In: points and halos. Out: each member's position relative to the first member of its halo, in `f64`, unwrapped and
//! scaled by a power of two that is the same for all halos. Cost: 28 bytes per member, and 8 for its mass.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::Space;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::halo::centers::by_size::{HalosArg, SortedHalos, owner};
use crate::halo::centers::{exponent, power};

/// Binary logarithms of the units of length and mass. In these units coordinates and masses are at most 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Units {
    pub length: i32,
    pub mass: i32,
}

impl Units {
    /// Returns `None` if lengths or masses have too large a range for `f32` in any units.
    pub fn new<S: Coordinate>(points: &Points<S, 3>, masses: Option<&[f64]>, softening: f64) -> Option<Self> {
        let sides = points.space.period().into_iter().flatten().copied();
        let corners = points.bounds.lo.into_iter().chain(points.bounds.hi).map(|x| Into::<f64>::into(x).abs());
        let extent = corners.chain(sides).fold(0.0, f64::max);
        let length = if extent > 0.0 { exponent(extent) } else { 0 };
        let (lightest, heaviest) = masses.map_or((1.0, 1.0), |masses| {
            masses.iter().fold((f64::INFINITY, 0.0), |(least, most), &mass| (mass.min(least), mass.max(most)))
        });
        let mass = if masses.is_some() { exponent(heaviest) } else { 0 };
        let within = |x: f64, most: f64| x == 0.0 || (1.0 / most..most).contains(&x);
        let fits = within(extent, 1e100)
            && within(heaviest, 1e100)
            && lightest >= 1e-15 * heaviest
            && within(softening * power(-length), 1e15)
            && points.smallest_nonzero >= 1e-30 * extent;
        fits.then_some(Self { length, mass })
    }

    /// Returns the factor from the unit of the points to these units, followed by the sides of the periodic box in
    /// these units, or 0 in open space.
    pub fn scale_and_sides<S: Coordinate>(self, points: &Points<S, 3>) -> [f64; 4] {
        let scale = power(-self.length);
        let [x, y, z] = points.space.period().copied().unwrap_or([0.0; 3]).map(|side| side * scale);
        [scale, x, y, z]
    }

    /// Converts the sum -φ over scaled members to the potential φ in the units of the points and masses.
    pub fn potential(self, sum: f64) -> f64 {
        -(sum * power(self.mass)) * power(-self.length)
    }
}

/// The members of all halos on a device, in the order of the halos.
pub(super) struct Members {
    /// Coordinates, axis by axis.
    pub axes: Buffer<f64>,
    /// The halo of each member.
    pub owners: Buffer<u32>,
    /// The mass of each member; empty if all masses are 1.
    pub masses: Buffer<f64>,
    /// For each halo a bit for each axis along which it crosses the periodic boundary, and [`AMBIGUOUS`].
    pub flags: Buffer<u32>,
    /// `true` if any halo is [`AMBIGUOUS`].
    pub any_ambiguous: bool,
    /// The square of the softening length, and the root of that square.
    pub softening: Buffer<f64>,
    pub len: usize,
}

/// The kernel argument for [`Members`].
#[derive(CubeType, CubeLaunch)]
pub(super) struct MembersArg {
    pub axes: Array<f64>,
    pub masses: Array<f64>,
    pub owners: Array<u32>,
    pub softening: Array<f64>,
    /// The number of members.
    pub n: u32,
    #[cube(comptime)]
    pub weighted: bool,
}

/// The flag of a halo that may be half as wide as the periodic box: a member is at least a quarter of the box from the
/// first one.
pub(super) const AMBIGUOUS: u32 = 8;

impl Members {
    pub fn new<R: Runtime, S: Coordinate>(
        client: &ComputeClient<R>,
        points: &Points<S, 3>,
        halos: &SortedHalos,
        masses: Option<&[f64]>,
        softening: f64,
        units: Units,
    ) -> Result<Self> {
        let (n, dim) = (halos.members.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
        let numbers = units.scale_and_sides(points);
        let softening = softening * numbers[0];
        // As on the CPU, the root is that of the rounded square.
        let softening = [softening * softening, (softening * softening).sqrt()];
        let own_masses = Buffer::new(client, masses.map_or(0, |_| n));
        let (axes, owners) = (Buffer::new(client, 3 * n), Buffer::new(client, n));
        let flags = Buffer::<u32>::filled(client, halos.len(), 0);
        let any_ambiguous = Buffer::<u32>::filled(client, 1, 0);
        place_members::launch::<S, R>(
            client,
            blocks_for(n),
            dim,
            points.values.arg(),
            halos.arg(),
            Buffer::from_slice(client, &numbers).arg(),
            PlacedArgLaunch::new(axes.arg(), owners.arg(), flags.arg(), any_ambiguous.arg()),
            n as u32,
            points.space != Space::OPEN,
        );
        if let Some(masses) = masses {
            let masses: Vec<f64> = masses.iter().map(|mass| mass * power(-units.mass)).collect();
            let masses = Buffer::from_slice(client, &masses);
            take_masses::launch::<R>(
                client,
                blocks_for(n),
                dim,
                masses.arg(),
                halos.members.arg(),
                own_masses.arg(),
                n as u32,
            );
        }
        let any_ambiguous = any_ambiguous.read(client)?[0] != 0;
        let softening = Buffer::from_slice(client, &softening);
        Ok(Self { axes, owners, masses: own_masses, flags, any_ambiguous, softening, len: n })
    }

    /// Returns the members as a kernel argument.
    pub fn arg<R: Runtime>(&self) -> MembersArgLaunch<R> {
        let weighted = self.masses.len() > 0;
        MembersArgLaunch::new(
            self.axes.arg(),
            self.masses.arg(),
            self.owners.arg(),
            self.softening.arg(),
            self.len as u32,
            weighted,
        )
    }
}

/// The mass of a member.
#[cube]
pub(super) fn mass(members: &MembersArg, member: u32) -> f64 {
    let mut mass = f64::new(1.0);
    if comptime!(members.weighted) {
        mass = members.masses[member as usize];
    }
    mass
}

/// The output of [`place_members`].
#[derive(CubeType, CubeLaunch)]
struct PlacedArg {
    axes: Array<f64>,
    owners: Array<u32>,
    flags: Array<Atomic<u32>>,
    any_ambiguous: Array<Atomic<u32>>,
}

/// Writes the position of each member's nearest image relative to the first member of its halo. `numbers` holds the
/// scale and the sides of the box.
#[cube(launch)]
fn place_members<F: Float>(
    points: &Array<F>,
    halos: &HalosArg,
    numbers: &Array<f64>,
    placed: &mut PlacedArg,
    n: u32,
    #[comptime] periodic: bool,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let halo = owner(&halos.offsets, i as u32, halos.n);
        let first = halos.members[halos.offsets[halo as usize] as usize] as usize;
        let own = halos.members[i] as usize;
        let mut flag = 0u32.runtime();
        #[unroll]
        for k in 0..3usize {
            // Multiplication by a power of two is exact, so it may be fused.
            let mut d =
                f64::cast_from(points[own * 3 + k]) * numbers[0] - f64::cast_from(points[first * 3 + k]) * numbers[0];
            if comptime!(periodic) {
                let side = numbers[1 + k];
                if d > side * f64::new(0.5) {
                    d -= side;
                    flag |= comptime!(1u32 << k);
                } else if d < side * f64::new(-0.5) {
                    d += side;
                    flag |= comptime!(1u32 << k);
                }
                if d.abs() >= side * f64::new(0.25) {
                    flag |= AMBIGUOUS;
                }
            }
            placed.axes[k * n as usize + i] = d;
        }
        placed.owners[i] = halo;
        if flag != 0 {
            placed.flags[halo as usize].fetch_or(flag);
            if flag >= AMBIGUOUS {
                placed.any_ambiguous[0].fetch_or(1);
            }
        }
    }
}

#[cube(launch)]
fn take_masses(all: &Array<f64>, members: &Array<u32>, masses: &mut Array<f64>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        masses[i] = all[members[i] as usize];
    }
}

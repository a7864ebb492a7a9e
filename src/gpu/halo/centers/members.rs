//! The members of all halos, as sums over pairs want them: the twin of `center::members`.
//!
//! In: points and halos. Out: each member's place relative to the first one of its halo, in `f64`, unwrapped and scaled by a power
//! of two, which is one for all halos.
//! Cost: 28 bytes a member, and 8 for its mass.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::Space;
use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::halo::groups::Halos;
use crate::halo::centers::{exponent, power};

/// Binary logarithms of the units of length and mass: in these, coordinates and masses are at most 1.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) struct Units {
    pub length: i32,
    pub weight: i32,
}

impl Units {
    /// None if lengths or masses are so far apart that `f32` could not tell them in any units.
    pub fn of<S: Coordinate>(points: &Points<S, 3>, masses: Option<&[f64]>, softening: f64) -> Option<Self> {
        let sides = points.space.period().into_iter().flatten().copied();
        let corners = points.bounds.lo.into_iter().chain(points.bounds.hi).map(|x| Into::<f64>::into(x).abs());
        let extent = corners.chain(sides).fold(0.0, f64::max);
        let length = if extent > 0.0 { exponent(extent) } else { 0 };
        let (lightest, heaviest) = masses.map_or((1.0, 1.0), |masses| {
            masses.iter().fold((f64::INFINITY, 0.0), |(least, most), &mass| (mass.min(least), mass.max(most)))
        });
        let weight = if masses.is_some() { exponent(heaviest) } else { 0 };
        let within = |x: f64, most: f64| x == 0.0 || (1.0 / most..most).contains(&x);
        let fits = within(extent, 1e100)
            && within(heaviest, 1e100)
            && lightest >= 1e-15 * heaviest
            && within(softening * power(-length), 1e15)
            && points.finest >= 1e-30 * extent;
        fits.then_some(Self { length, weight })
    }
}

/// The members of all halos on a device, in the order of the halos.
pub(in crate::gpu) struct Members {
    /// Coordinates, axis by axis.
    pub axes: Buffer<f64>,
    /// The halo of each member, by its rank.
    pub owners: Buffer<u32>,
    /// Empty if all are 1.
    pub masses: Buffer<f64>,
    /// Of each halo: a bit for each axis along which it crosses the border of the box, and [`WIDE`].
    pub flags: Buffer<u32>,
    /// The square of the softening length, and that itself.
    pub softening: Buffer<f64>,
    pub weighted: bool,
    pub len: usize,
}

/// A halo may be half as wide as the periodic box.
pub(in crate::gpu) const WIDE: u32 = 8;

impl Members {
    /// The members, and whether any halo may be too wide.
    pub fn new<R: Runtime, S: Coordinate>(
        client: &ComputeClient<R>,
        points: &Points<S, 3>,
        halos: &Halos,
        masses: Option<&[f64]>,
        softening: f64,
        units: Units,
    ) -> Result<(Self, bool)> {
        let (n, dim) = (halos.members.len(), CubeDim::new_1d(UNITS));
        let scale = power(-units.length);
        let sides = points.space.period().copied().unwrap_or([0.0; 3]).map(|side| side * scale);
        let numbers: Vec<f64> = [scale].into_iter().chain(sides).collect();
        let softening = softening * scale;
        // As on the CPU, the root is that of the square.
        let softening = [softening * softening, (softening * softening).sqrt()];
        let members = Self {
            axes: Buffer::new(client, 3 * n),
            owners: Buffer::new(client, n),
            masses: Buffer::new(client, if masses.is_some() { n } else { 0 }),
            flags: Buffer::<u32>::filled(client, halos.len(), 0),
            softening: Buffer::from_slice(client, &softening),
            weighted: masses.is_some(),
            len: n,
        };
        let any = Buffer::<u32>::filled(client, 1, 0);
        place_members::launch::<S, R>(
            client,
            cubes(n),
            dim,
            points.values.arg(),
            halos.offsets.arg(),
            halos.members.arg(),
            Buffer::from_slice(client, &numbers).arg(),
            members.axes.arg(),
            members.owners.arg(),
            members.flags.arg(),
            any.arg(),
            n as u32,
            halos.len() as u32,
            points.space != Space::OPEN,
        );
        if let Some(masses) = masses {
            let masses: Vec<f64> = masses.iter().map(|mass| mass * power(-units.weight)).collect();
            let masses = Buffer::from_slice(client, &masses);
            take_masses::launch::<R>(
                client,
                cubes(n),
                dim,
                masses.arg(),
                halos.members.arg(),
                members.masses.arg(),
                n as u32,
            );
        }
        let any = any.read(client)?[0] != 0;
        Ok((members, any))
    }
}

/// The halo, of so many, that a member belongs to: the last that does not digit_base after it.
#[cube]
pub(in crate::gpu) fn owner(offsets: &Array<u32>, member: u32, halos: u32) -> u32 {
    let mut lo = 0u32.runtime();
    let mut hi = halos + 0;
    while lo + 1 < hi {
        let middle = lo + (hi - lo) / 2;
        if offsets[middle as usize] <= member {
            lo = middle;
        } else {
            hi = middle;
        }
    }
    lo
}

/// A member's mass.
#[cube]
pub(in crate::gpu) fn mass(masses: &Array<f64>, member: u32, #[comptime] weighted: bool) -> f64 {
    let mut mass = f64::new(1.0);
    if comptime!(weighted) {
        mass = masses[member as usize];
    }
    mass
}

#[cube(launch)]
fn place_members<F: Float>(
    points: &Array<F>,
    offsets: &Array<u32>,
    members: &Array<u32>,
    numbers: &Array<f64>,
    axes: &mut Array<f64>,
    owners: &mut Array<u32>,
    flags: &mut Array<Atomic<u32>>,
    any: &mut Array<Atomic<u32>>,
    n: u32,
    halos: u32,
    #[comptime] periodic: bool,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let halo = owner(offsets, i as u32, halos);
        let first = members[offsets[halo as usize] as usize] as usize;
        let own = members[i] as usize;
        let mut flag = 0u32.runtime();
        #[unroll]
        for k in 0..3usize {
            // Multiplying by a power of two rounds nothing, and may be fused.
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
                    flag |= 8u32;
                }
            }
            axes[k * n as usize + i] = d;
        }
        owners[i] = halo;
        if flag != 0 {
            flags[halo as usize].fetch_or(flag);
            if flag >= 8 {
                any[0].fetch_or(1);
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

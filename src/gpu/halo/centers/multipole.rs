//! Moments of blocks, and the potential of blocks at large distance: the GPU version of `halo::centers::multipole`.
//!
//! In: members in blocks. Out: for each block its mass M, its centre c, its radius r, and the mass-weighted means of
//! x_j x_k, where x is a member's position relative to c.
//!
//! The centre is rounded to `f32`. The moments are about the rounded centre, and the distance d of the centre of mass
//! from it is stored. At R from a member, with ρ² = R² + ε² and the softening length ε, the member adds m / ρ to -φ.
//! To second order, a block at R from its centre adds
//! ```text
//! (1)  M/ρ + M/ρ · (3/2 R̂ᵀQR̂ - 1/2 tr Q) / ρ²,   R̂ = R/ρ,   Q = <x xᵀ>,
//! ```
//! and, as |x| is at most r, the remaining terms are at most
//! ```text
//! (2)  M/ρ · (tr Q / ρ² · r / (ρ - r) + d / ρ).
//! ```
//! Cost: two passes over the members of a block; 52 bytes per block. Source: Salmon and Warren 1994, section 3.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::halo::centers::members::{Members, MembersArg, mass};

/// Four numbers that are loaded at once.
pub(super) type Vec4 = Vector<f32, Const<4>>;

/// The moments and the halo of each block. The moments are twelve numbers: centre and mass; the means of xx, yy, zz,
/// and the radius; twice the means of xy, xz, yz, and the distance d. The radius and d are rounded up.
pub(super) struct Moments {
    pub moments: Buffer<f32>,
    pub owners: Buffer<u32>,
}

impl Moments {
    /// Computes the moments of blocks. `first` holds the position in `order` of the first member of each block,
    /// followed by the end.
    pub fn new<R: Runtime>(
        client: &ComputeClient<R>,
        members: &Members,
        order: &Buffer<u32>,
        first: &Buffer<u32>,
    ) -> Self {
        let n = first.len() - 1;
        let found = Self { moments: Buffer::new(client, 12 * n), owners: Buffer::new(client, n) };
        find_moments::launch::<R>(
            client,
            blocks_for(n),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            members.arg(),
            order.arg(),
            first.arg(),
            found.owners.arg(),
            found.moments.arg(),
            n as u32,
        );
        found
    }
}

/// The centre and the mass of a block.
#[cube]
pub(super) fn center_of(moments: &Array<Vec4>, block: u32) -> Vec4 {
    moments[block as usize * 3]
}

/// The means of xx, yy and zz, and the radius.
#[cube]
pub(super) fn squares_of(moments: &Array<Vec4>, block: u32) -> Vec4 {
    moments[block as usize * 3 + 1]
}

#[cube]
pub(super) fn radius_of(moments: &Array<Vec4>, block: u32) -> f32 {
    moments[block as usize * 3 + 1][3]
}

/// Twice the means of xy, xz and yz, and the distance of the centre of mass from the centre.
#[cube]
pub(super) fn products_of(moments: &Array<Vec4>, block: u32) -> Vec4 {
    moments[block as usize * 3 + 2]
}

/// The mean square of the distance from a block's centre, tr Q.
#[cube]
pub(super) fn trace(squares: Vec4) -> f32 {
    squares[0] + squares[1] + squares[2]
}

/// The contribution of a block to -φ at a distance.
#[derive(CubeType)]
pub(super) struct Term {
    pub rho2: f32,
    /// 1 / ρ.
    pub inverse: f32,
    /// M / ρ.
    pub monopole: f32,
    /// The sum of both terms of equation (1).
    pub sum: f32,
}

/// Equation (1) for a block at (dx, dy, dz).
#[cube]
pub(super) fn term(center: Vec4, squares: Vec4, products: Vec4, dx: f32, dy: f32, dz: f32, softening2: f32) -> Term {
    let rho2 = dx * dx + dy * dy + dz * dz + softening2;
    let inverse = rho2.inverse_sqrt();
    let monopole = center[3] * inverse;
    let (x, y, z) = (dx * inverse, dy * inverse, dz * inverse);
    let along = squares[0] * x * x + squares[1] * y * y + squares[2] * z * z;
    let across = products[0] * x * y + products[1] * x * z + products[2] * y * z;
    let second = 1.5f32 * (along + across) - 0.5f32 * trace(squares);
    Term { rho2, inverse, monopole, sum: monopole + monopole * second * inverse * inverse }
}

/// `x` rounded up to `f32`, for `x` that is not negative.
#[cube]
fn round_up(x: f64) -> f32 {
    f32::cast_from(x * f64::new(1.000001))
}

#[cube(launch)]
fn find_moments(
    members: &MembersArg,
    order: &Array<u32>,
    first: &Array<u32>,
    owners: &mut Array<u32>,
    moments: &mut Array<f32>,
    blocks: u32,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < blocks {
        let all = members.n as usize;
        let (start, end) = (first[i], first[i + 1]);
        let any = order[start as usize] as usize;
        owners[i] = members.owners[any];
        let zero = f64::new(0.0);
        let mut sums = Array::<f64>::new(4usize);
        #[unroll]
        for k in 0..4usize {
            sums[k] = zero;
        }
        for at in start..end {
            let member = order[at as usize];
            let m = mass(members, member);
            #[unroll]
            for k in 0..3usize {
                sums[k] += m * members.axes[k * all + member as usize];
            }
            sums[3] += m;
        }
        let mut center = Array::<f32>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            center[k] = f32::cast_from(sums[k] / sums[3]);
        }
        // About the rounded centre the members have a nonzero first moment.
        let mut dipole = Array::<f64>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            dipole[k] = zero;
        }
        let mut radius2 = f64::cast_from(0u32.runtime());
        let mut second = Array::<f64>::new(6usize);
        #[unroll]
        for k in 0..6usize {
            second[k] = zero;
        }
        for at in start..end {
            let member = order[at as usize];
            let m = mass(members, member);
            let x = members.axes[member as usize] - f64::cast_from(center[0]);
            let y = members.axes[all + member as usize] - f64::cast_from(center[1]);
            let z = members.axes[2 * all + member as usize] - f64::cast_from(center[2]);
            let d2 = x * x + y * y + z * z;
            dipole[0] += m * x;
            dipole[1] += m * y;
            dipole[2] += m * z;
            second[0] += m * x * x;
            second[1] += m * y * y;
            second[2] += m * z * z;
            second[3] += m * x * y;
            second[4] += m * x * z;
            second[5] += m * y * z;
            radius2 = radius2.max(d2);
        }
        let dipole2 = dipole[0] * dipole[0] + dipole[1] * dipole[1] + dipole[2] * dipole[2];
        let to = i * 12;
        #[unroll]
        for k in 0..3usize {
            moments[to + k] = center[k];
            moments[to + 4 + k] = f32::cast_from(second[k] / sums[3]);
            moments[to + 8 + k] = f32::cast_from(f64::new(2.0) * second[3 + k] / sums[3]);
        }
        moments[to + 3] = f32::cast_from(sums[3]);
        moments[to + 7] = round_up(radius2.sqrt());
        moments[to + 11] = round_up(dipole2.sqrt() / sums[3]);
    }
}

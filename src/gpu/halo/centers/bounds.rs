//! Bounds on potentials, and pruning by these bounds.
//!
//! In: for each member a sum S of -φ in single precision, and its error E. Out: bounds, and the members that may be
//! most bound.
//! ```text
//! (6)  lower = S - E,  upper = S + E,   with the relative error of sums in f32, 1e-5, as a part of E.
//! (7)  A member whose upper bound is below the largest lower bound of its halo is not the most bound one.
//! ```
//! Bounds are rounded to `f32`, an error that the 1e-5 includes. Numbers that are not negative have the same order as
//! their bits, so atomic maxima of bits find the largest bounds of a halo. Cost: 4 bytes per member and 24 per halo,
//! and one compaction for each pruning.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::halo::centers::blocks::{Blocks, BlocksArg, halo_of};
use crate::gpu::primitives::compact::{Compact, Emit};

/// An upper limit of the relative error of sums in single precision.
pub(super) const RELATIVE_ERROR: f32 = 1e-5;

/// The best bounds and the pair counts of each large halo.
pub(super) struct HaloBounds {
    /// The largest lower bound and the largest upper bound among the halo's members, as bits; 0 for no bound.
    pub lower: Buffer<u32>,
    pub upper: Buffer<u32>,
    /// The number of ordered pairs evaluated, and of ordered coincident pairs, in two words each.
    pub pairs: Buffer<u32>,
    pub coincident: Buffer<u32>,
}

impl HaloBounds {
    pub fn new<R: Runtime>(client: &ComputeClient<R>, halos: usize) -> Self {
        let zeros = |n| Buffer::<u32>::filled(client, n, 0);
        Self { lower: zeros(halos), upper: zeros(halos), pairs: zeros(2 * halos), coincident: zeros(2 * halos) }
    }
}

/// The destination of the bounds of some members.
pub(super) struct TargetBounds<'a> {
    /// The upper bound of each member.
    pub upper: Buffer<f32>,
    best: &'a HaloBounds,
}

/// The kernel argument for [`TargetBounds`].
#[derive(CubeType, CubeLaunch)]
pub(super) struct TargetBoundsArg {
    pub upper: Array<f32>,
    pub best_lower: Array<Atomic<u32>>,
    pub pairs: Array<Atomic<u32>>,
}

impl<'a> TargetBounds<'a> {
    pub fn new<R: Runtime>(client: &ComputeClient<R>, targets: usize, best: &'a HaloBounds) -> Self {
        Self { upper: Buffer::new(client, targets), best }
    }

    /// Returns the bounds as a kernel argument.
    pub fn arg<R: Runtime>(&self) -> TargetBoundsArgLaunch<R> {
        TargetBoundsArgLaunch::new(self.upper.arg(), self.best.lower.arg(), self.best.pairs.arg())
    }
}

/// A lower bound as bits; 0 if it is not positive.
#[cube]
pub(super) fn lower_bits(lower: f64) -> u32 {
    let mut bits = 0u32.runtime();
    if lower > f64::new(0.0) {
        bits = u32::reinterpret(f32::cast_from(lower.min(f64::new(1e38))));
    }
    bits
}

/// Adds to a number of two words, of which the low one comes first.
#[cube]
pub(super) fn add_u64(words: &mut Array<Atomic<u32>>, at: u32, value: u32) {
    let old = words[2 * at as usize].fetch_add(value);
    if old > 0xffff_ffffu32 - value {
        words[2 * at as usize + 1].fetch_add(1);
    }
}

/// The value of a number of two words.
pub(super) fn read_u64(words: &[u32], at: usize) -> u64 {
    words.get(2 * at..).and_then(|words| words.get(..2)).map_or(0, |two| u64::from(two[0]) | u64::from(two[1]) << 32)
}

/// The first member of each halo, in block order, with the largest upper bound in `upper`.
///
/// The result is `u32::MAX` for a halo without such a member, which happens if a device orders bits or NaN in its own
/// way. Kernels clamp this value to the last member and compute valid bounds of that member. The search in such a halo
/// is therefore still exact, only slower.
pub(super) fn argmax_upper<R: Runtime>(
    client: &ComputeClient<R>,
    blocks: &Blocks,
    upper: &Buffer<f32>,
    best: &HaloBounds,
) -> Buffer<u32> {
    let argmax = Buffer::<u32>::filled(client, best.upper.len(), u32::MAX);
    find_argmax::launch::<R>(
        client,
        blocks_for(upper.len()),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        upper.arg(),
        best.upper.arg(),
        blocks.arg(),
        argmax.arg(),
        upper.len() as u32,
    );
    argmax
}

#[cube(launch)]
fn find_argmax(
    upper: &Array<f32>,
    best_upper: &Array<u32>,
    blocks: &BlocksArg,
    argmax: &mut Array<Atomic<u32>>,
    n: u32,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let halo = halo_of(blocks, i as u32) as usize;
        if u32::reinterpret(upper[i]) == best_upper[halo] {
            argmax[halo].fetch_min(i as u32);
        }
    }
}

/// Applies equation (7): returns the members whose upper bound reaches the largest lower bound, among `some` or among
/// all members in block order.
pub(super) fn prune<R: Runtime>(
    client: &ComputeClient<R>,
    blocks: &Blocks,
    some: Option<&Buffer<u32>>,
    upper: &Buffer<f32>,
    best: &HaloBounds,
) -> Result<Buffer<u32>> {
    let n = upper.len();
    let targets = || match some {
        Some(some) => TargetsArgLaunch::new(some.arg(), true),
        None => TargetsArgLaunch::new(blocks.order.arg(), false),
    };
    let flags = Buffer::<u32>::new(client, n + 1);
    flag_survivors::launch::<R>(
        client,
        blocks_for(n + 1),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        targets(),
        upper.arg(),
        best.lower.arg(),
        blocks.arg(),
        flags.arg(),
        n as u32,
    );
    let chosen = Compact::new(client, flags)?;
    let survivors = Buffer::new(client, chosen.len);
    chosen.emit::<R, TakeTarget>(client, targets(), survivors.arg());
    Ok(survivors)
}

/// Positions in block order: those in `some`, or all.
#[derive(CubeType, CubeLaunch)]
struct TargetsArg {
    some: Array<u32>,
    #[cube(comptime)]
    listed: bool,
}

#[cube]
fn target(targets: &TargetsArg, i: u32) -> u32 {
    let mut own = i + 0;
    if comptime!(targets.listed) {
        own = targets.some[i as usize];
    }
    own
}

struct TakeTarget;

#[cube]
impl Emit for TakeTarget {
    type Input = TargetsArg;
    type Output = Array<u32>;

    fn emit(targets: &TargetsArg, survivors: &mut Array<u32>, item: u32, rank: u32) {
        survivors[rank as usize] = target(targets, item);
    }
}

/// Flags the targets that equation (7) does not exclude, followed by a 0.
#[cube(launch)]
fn flag_survivors(
    targets: &TargetsArg,
    upper: &Array<f32>,
    best_lower: &Array<u32>,
    blocks: &BlocksArg,
    flags: &mut Array<u32>,
    n: u32,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let halo = halo_of(blocks, target(targets, i as u32));
        let mut flag = 0u32.runtime();
        if upper[i] >= f32::reinterpret(best_lower[halo as usize]) {
            flag = 1;
        }
        flags[i] = flag;
    } else if (i as u32) == n {
        flags[i] = 0;
    }
}

//! The most connected particle of each halo: the GPU version of `halo::centers::most_connected`.
//!
//! In: points, halos, a linking length. Out: for each halo the member with the most other members within that length,
//! and the number of ties.
//!
//! Members of small halos are compared with all others. Members of large halos are compared with the blocks near to
//! their own; blocks that are entirely within the length are counted as a whole. With the distance R of the centres
//! and the radii r_a and r_b, a block
//! ```text
//! (10)  may have friends if |R| <= r_a + r_b + length,  and has only friends if |R| + r_a + r_b <= length,
//! ```
//! each with a margin that exceeds all rounding errors. Distances of points are decided as on the CPU. Cost: n² for
//! halos of up to 512 members; for others 560 bytes per block, and 12 to 24 per member. Source: Sewell et al. 2015.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::{FilteredRadius, Space};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::halo::centers::argmax::{Count, Maximum, argmax_large, argmax_small};
use crate::gpu::halo::centers::blocks::{Blocks, BlocksArg};
use crate::gpu::halo::centers::by_size::{HalosArg, SortedHalos, owner};
use crate::gpu::halo::centers::members::{Members, Units};
use crate::gpu::halo::centers::multipole::{center_of, radius_of};
use crate::gpu::halo::centers::near_field_lists::{NearLists, NearListsArg, block_at, near_list};
use crate::gpu::metric::{distance2, exact_distance2};
use crate::gpu::primitives::gather::{Layout, gather};
use crate::halo::centers::power;

/// The capacity of a list of near blocks. A block with more near blocks tests all blocks of the halo again.
const NEAR: usize = 128;

/// The coordinates of the members, and the thresholds of their comparison.
struct Friends<S> {
    /// Coordinates of the members, axis by axis.
    axes: Buffer<S>,
    /// The sides of the periodic box, followed by the squared distances below which points are certainly, and
    /// possibly, within the length.
    numbers: Buffer<S>,
    /// The sides, and the square of the length for the exact test.
    exact: Buffer<f64>,
    periodic: bool,
}

/// The kernel argument for [`Friends`].
#[derive(CubeType, CubeLaunch)]
struct FriendsArg<F: Float> {
    axes: Array<F>,
    numbers: Array<F>,
    exact: Array<f64>,
    /// The number of members.
    n: u32,
    #[cube(comptime)]
    periodic: bool,
}

impl<S: Coordinate> Friends<S> {
    fn new<R: Runtime>(
        client: &ComputeClient<R>,
        points: &Points<S, 3>,
        halos: &SortedHalos,
        linking_length: f64,
    ) -> Self {
        let reach = FilteredRadius::<S, 3>::new(linking_length, &points.space);
        let sides = points.space.period().copied().unwrap_or([0.0; 3]);
        let numbers: Vec<S> =
            sides.iter().map(|&side| S::from_f64(side)).chain([reach.certain_limit, reach.possible_limit]).collect();
        let exact: Vec<f64> = sides.into_iter().chain([reach.radius2]).collect();
        Self {
            axes: gather(client, &points.values, &halos.members, 3, Layout::Columns),
            numbers: Buffer::from_slice(client, &numbers),
            exact: Buffer::from_slice(client, &exact),
            periodic: points.space != Space::OPEN,
        }
    }

    fn arg<R: Runtime>(&self) -> FriendsArgLaunch<S, R> {
        let n = self.axes.len() / 3;
        FriendsArgLaunch::new(self.axes.arg(), self.numbers.arg(), self.exact.arg(), n as u32, self.periodic)
    }
}

/// The result of each halo, in the order of `halos`: the point, the number of members within the length of it,
/// including itself, and the number of ties. `None` if there are too many blocks.
pub(super) fn most_connected<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    points: &Points<S, 3>,
    halos: &SortedHalos,
    linking_length: f64,
    units: Units,
) -> Result<Option<Vec<Maximum<u32>>>> {
    let (n, dim) = (halos.members.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let friends = Friends::new(client, points, halos, linking_length);
    let of_large = Buffer::<u32>::new(client, halos.large.members);
    let of_small = Buffer::<u32>::new(client, n - halos.large.members);
    if of_large.len() > 0 {
        let members = Members::new(client, points, halos, None, 0.0, units)?;
        let blocks = Blocks::new(client, &members, halos)?;
        let Some(near) = NearLists::new(client, blocks.len, NEAR) else { return Ok(None) };
        let scale = power(-units.length);
        let sides = points.space.period().copied().unwrap_or([0.0; 3]);
        let scaled: Vec<f32> = [linking_length].into_iter().chain(sides).map(|x| (x * scale) as f32).collect();
        let scaled = Buffer::from_slice(client, &scaled);
        list_near::launch::<R>(
            client,
            blocks_for(blocks.len),
            dim,
            blocks.arg(),
            scaled.arg(),
            near.arg(),
            friends.periodic,
        );
        count_large::launch::<S, R>(
            client,
            blocks_for(of_large.len()),
            dim,
            friends.arg(),
            blocks.arg(),
            near.arg(),
            scaled.arg(),
            of_large.arg(),
        );
    }
    if of_small.len() > 0 {
        let first = halos.large.members as u32;
        count_small::launch::<S, R>(
            client,
            blocks_for(of_small.len()),
            dim,
            friends.arg(),
            halos.arg(),
            of_small.arg(),
            first,
        );
    }
    let mut rows = argmax_large(client, halos, &of_large).read(client)?;
    rows.extend(argmax_small(client, halos, &of_small, Count::Ties).read(client)?);
    Ok(Some(rows))
}

/// The distance between the centres of two blocks, by the nearest image. `scaled` holds the linking length and the
/// sides of the box in the units of the blocks.
#[cube]
fn center_distance(blocks: &BlocksArg, a: u32, b: u32, scaled: &Array<f32>, #[comptime] periodic: bool) -> f32 {
    let (a, b) = (center_of(&blocks.moments, a), center_of(&blocks.moments, b));
    let mut d2 = f32::cast_from(0u32.runtime());
    #[unroll]
    for k in 0..3usize {
        let mut d = (b[k] - a[k]).abs();
        if comptime!(periodic) {
            d = d.min((scaled[1 + k] - d).abs());
        }
        d2 += d * d;
    }
    d2.sqrt()
}

/// Equation (10): returns `true` if any two members of two blocks may be within the length. Lengths are at most 1.
#[cube]
fn is_near(blocks: &BlocksArg, a: u32, b: u32, scaled: &Array<f32>, #[comptime] periodic: bool) -> bool {
    let reach = radius_of(&blocks.moments, a) + radius_of(&blocks.moments, b) + scaled[0];
    center_distance(blocks, a, b, scaled, periodic) <= reach * 1.00001f32 + 1e-6f32
}

#[cube(launch)]
fn list_near(blocks: &BlocksArg, scaled: &Array<f32>, near: &mut NearListsArg, #[comptime] periodic: bool) {
    let own = ABSOLUTE_POS as u32;
    if own < blocks.n {
        let halo = blocks.owners[own as usize] as usize;
        let mut count = 0u32.runtime();
        for other in blocks.of_halos[halo]..blocks.of_halos[halo + 1] {
            if is_near(blocks, own, other, scaled, periodic) {
                if count < near.capacity {
                    near.blocks[(own * near.capacity + count) as usize] = other;
                }
                count += 1;
            }
        }
        near.counts[own as usize] = count;
    }
}

/// Returns `true` if a member is within the length of a point.
#[cube]
fn is_friend<F: Float>(friends: &FriendsArg<F>, member: u32, point: &Array<F>) -> bool {
    let n = friends.n;
    let periodic = comptime!(friends.periodic);
    let d2 = distance2::<F>(&friends.axes, member, n, point, &friends.numbers, 3usize, periodic);
    let mut friend = d2 <= friends.numbers[3];
    if !friend {
        if d2 <= friends.numbers[4] {
            let d2 = exact_distance2::<F>(&friends.axes, member, n, point, &friends.exact, 3usize, periodic);
            friend = d2 <= friends.exact[3];
        }
    }
    friend
}

/// The coordinates of a member.
#[cube]
fn point_of<F: Float>(friends: &FriendsArg<F>, member: u32) -> Array<F> {
    let mut point = Array::<F>::new(3usize);
    #[unroll]
    for k in 0..3usize {
        point[k] = friends.axes[k * friends.n as usize + member as usize];
    }
    point
}

/// Counts the friends of a member of a large halo per thread, in block order.
#[cube(launch)]
fn count_large<F: Float>(
    friends: &FriendsArg<F>,
    blocks: &BlocksArg,
    near: &NearListsArg,
    scaled: &Array<f32>,
    counts: &mut Array<u32>,
) {
    let own = ABSOLUTE_POS as u32;
    if own < blocks.members {
        let periodic = comptime!(friends.periodic);
        let member = blocks.order[own as usize];
        let block = blocks.of_members[own as usize];
        let list = near_list(near, blocks, block);
        let point = point_of::<F>(friends, member);
        let mut count = 0u32.runtime();
        for i in 0..list.len {
            let other = block_at(near, &list, i);
            let start = blocks.first[other as usize];
            let mut end = blocks.first[other as usize + 1];
            let reach = radius_of(&blocks.moments, block) + radius_of(&blocks.moments, other);
            let distance = center_distance(blocks, block, other, scaled, periodic);
            let farthest = (distance + reach) * 1.00001f32 + 1e-6f32;
            if farthest <= scaled[0] {
                count += end - start;
                end = start;
            } else if !list.listed {
                if !is_near(blocks, block, other, scaled, periodic) {
                    end = start;
                }
            }
            for at in start..end {
                if is_friend::<F>(friends, blocks.order[at as usize], &point) {
                    count += 1;
                }
            }
        }
        counts[member as usize] = count;
    }
}

/// Counts the friends of a member of a small halo per thread.
#[cube(launch)]
fn count_small<F: Float>(friends: &FriendsArg<F>, halos: &HalosArg, counts: &mut Array<u32>, first: u32) {
    let own = first + ABSOLUTE_POS as u32;
    if own < friends.n {
        let halo = owner(&halos.offsets, own, halos.n) as usize;
        let point = point_of::<F>(friends, own);
        let mut count = 0u32.runtime();
        for other in halos.offsets[halo]..halos.offsets[halo + 1] {
            if is_friend::<F>(friends, other, &point) {
                count += 1;
            }
        }
        counts[ABSOLUTE_POS] = count;
    }
}

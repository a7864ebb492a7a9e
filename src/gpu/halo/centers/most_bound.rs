//! The most bound particle of each halo: the GPU version of `halo::centers::most_bound`.
//!
//! In: members. Out: for each halo the member with the largest -φ of equation (9), the first of ties. Small halos: all
//! sums in `f64` (`direct`). Large halos: branch and bound with equations (6) and (7):
//! ```text
//! members -> blocks                       Morton order, moments
//!         -> expand far, list near        a local expansion for each block
//!         -> bound all                    near pairs in f32, far blocks by the expansions
//!         -> bound the best one pairwise  a lower bound that prunes most
//!         -> prune, tighten far blocks, prune, bound pairwise, prune
//!         -> sum the survivors in f64
//! ```
//! All bounds are wider than any rounding error, so pruning never removes a member that the sums in `f64` would
//! choose.
//!
//! Cost: n² for small halos. For large halos: a term for each pair of blocks, a pair for each two members of near
//! blocks, and n for each survivor. Memory: 344 bytes per block, 60 per member, 16 per halo. Source: Salmon and Warren
//! 1994, section 3, for the bounds.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, end_phase};
use crate::gpu::bvh::{Coordinate, Points};
use crate::gpu::halo::centers::blocks::Blocks;
use crate::gpu::halo::centers::bounds::{HaloBounds, argmax_upper, prune, read_u64};
use crate::gpu::halo::centers::by_size::SortedHalos;
use crate::gpu::halo::centers::direct;
use crate::gpu::halo::centers::local_expansion::{Interactions, tighten};
use crate::gpu::halo::centers::members::{Members, Units};
use crate::gpu::halo::centers::near_field::bound_all;
use crate::gpu::halo::centers::pairwise_f32::{Sources, bound_pairwise};

/// Targets per block in the last pairwise bounds.
const GROUP: usize = 4;

/// The most bound particle of a halo.
pub(super) struct MostBound {
    pub point: u32,
    /// -φ of equation (9).
    pub potential: f64,
    /// The number of coincident pairs of members.
    pub coincident: u64,
    /// The number of ordered pairs evaluated.
    pub pairs: u64,
}

/// The members that the bounds do not exclude, with the bounds and counts of their halos.
struct Survivors {
    /// The members as positions in the halos, ascending, and as points.
    members: Buffer<u32>,
    points: Buffer<u32>,
    best: HaloBounds,
}

/// The most bound particle of each halo, in the order of `halos`. A row is `None` if the bounds exclude all members of
/// the halo; the whole result is `None` if there are too many blocks. Rows of halos that are too wide for a unique
/// unwrapping are invalid.
pub(super) fn most_bound<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    points: &Points<S, 3>,
    halos: &SortedHalos,
    members: &Members,
    units: Units,
) -> Result<Option<Vec<Option<MostBound>>>> {
    let small = direct::most_bound(client, members, halos);
    end_phase(client, "small halos")?;
    let mut rows = Vec::with_capacity(halos.len());
    if halos.large.halos > 0 {
        let Some(left) = survivors(client, points, halos, members, units)? else { return Ok(None) };
        rows = sum_survivors(client, halos, members, &left)?;
        end_phase(client, "sums")?;
    }
    for (i, best) in small.read(client)?.into_iter().enumerate() {
        let n = u64::from(halos.size(halos.large.halos + i));
        rows.push(Some(MostBound {
            point: best.point,
            potential: best.value,
            coincident: u64::from(best.count),
            pairs: n * n.saturating_sub(1),
        }));
    }
    Ok(Some(rows))
}

/// Finds the survivors of the large halos, or `None` if there are too many blocks.
fn survivors<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    points: &Points<S, 3>,
    halos: &SortedHalos,
    members: &Members,
    units: Units,
) -> Result<Option<Survivors>> {
    let blocks = &Blocks::new(client, members, halos)?;
    end_phase(client, "blocks")?;
    let best = HaloBounds::new(client, halos.large.halos);
    let Some(interactions) = &Interactions::new(client, members, blocks, &best.pairs) else { return Ok(None) };
    let sources = &Sources::new(client, points, halos, members, blocks, units);
    end_phase(client, "far blocks")?;
    let near = bound_all(client, members, blocks, sources, interactions, &best);
    end_phase(client, "near blocks")?;

    let likely = argmax_upper(client, blocks, &near.upper, &best);
    bound_pairwise(client, members, blocks, sources, &likely, 1, &best);
    let left = prune(client, blocks, None, &near.upper, &best)?;
    let upper = tighten(client, members, blocks, &near.sums, &left, &best);
    let left = prune(client, blocks, Some(&left), &upper, &best)?;
    let upper = bound_pairwise(client, members, blocks, sources, &left, GROUP, &best);
    let left = prune(client, blocks, Some(&left), &upper, &best)?;
    end_phase(client, "bounds")?;

    let n = left.len();
    let survivors = Survivors { members: Buffer::new(client, n), points: Buffer::new(client, n), best };
    to_indices::launch::<R>(
        client,
        blocks_for(n),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        left.arg(),
        blocks.order.arg(),
        halos.members.arg(),
        survivors.members.arg(),
        survivors.points.arg(),
        n as u32,
    );
    Ok(Some(survivors))
}

/// The rows of the large halos, from the exact sums of their survivors.
fn sum_survivors<R: Runtime>(
    client: &ComputeClient<R>,
    halos: &SortedHalos,
    members: &Members,
    left: &Survivors,
) -> Result<Vec<Option<MostBound>>> {
    let sums = direct::sums(client, members, halos, &left.members).read(client)?;
    let (positions, points) = (left.members.read(client)?, left.points.read(client)?);
    let (pairs, coincident) = (left.best.pairs.read(client)?, left.best.coincident.read(client)?);
    let mut next = 0;
    let row = |halo: usize| {
        let first = next;
        next += positions[first..].partition_point(|&position| position < halos.host_offsets[halo + 1]);
        let by_potential = |&a: &usize, &b: &usize| sums[a].total_cmp(&sums[b]).then(positions[b].cmp(&positions[a]));
        let others = u64::from(halos.size(halo).saturating_sub(1));
        (first..next).max_by(by_potential).map(|best| MostBound {
            point: points[best],
            potential: sums[best],
            coincident: read_u64(&coincident, halo) / 2,
            pairs: read_u64(&pairs, halo) + (next - first) as u64 * others,
        })
    };
    Ok((0..halos.large.halos).map(row).collect())
}

/// Converts positions in block order to members and points.
#[cube(launch)]
fn to_indices(
    some: &Array<u32>,
    order: &Array<u32>,
    indices: &Array<u32>,
    members: &mut Array<u32>,
    points: &mut Array<u32>,
    n: u32,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let member = order[some[i] as usize];
        members[i] = member;
        points[i] = indices[member as usize];
    }
}

//! Casts of many rays through a tree: the GPU counterpart of `search::mesh::rays`.
//!
//! In: rays and a tree. Out: the first hit of each ray, or whether it has any hit, or the number of its hits, or all
//! hits.
//! Rays are first converted to the unit of the tree and sorted, so that the rays of a warp meet the same nodes
//! (`prepared`). A kernel (`cast_kernels`) walks the tree, and marks rays whose result depends on rounding. A second
//! kernel decides these without rounding.
//! Cost: O(log n) nodes of 80 bytes for the first hit on a compact mesh. Source: Ylitie, Karras and Laine 2017.
//!
//! **Launch contract.** The kernels have no bounds checks. They rely on the following:
//! - Threads compare the positions of rays with the number of rays.
//! - Each ray has three numbers for its origin and for its direction, two for its range if there are ranges, and
//!   those of `prepared`.
//! - Nodes and items belong to one compressed tree, which is not empty.
//! - Results and marks have a place for each ray; lists have the counted numbers of places, and rows `k` places.

#![allow(unsafe_code)] // Unchecked kernels: see the launch contract.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, grid};
use crate::gpu::bvh::Coordinate;
use crate::gpu::device::{MAX_ITERATIONS, is_cuda};
use crate::gpu::errors;
use crate::gpu::search::hit_lists::HitListsLaunch;
use crate::gpu::search::mesh::cast_kernels::cast_rays;
use crate::gpu::search::mesh::cast_spec::{CastSpec, MARK_TEST_ALL, Wanted};
use crate::gpu::search::mesh::lists::CastOutput;
use crate::gpu::search::mesh::prepared::PreparedRays;
use crate::gpu::search::mesh::primitives::Items;
use crate::gpu::search::mesh::rays::Rays;
use crate::gpu::search::mesh::tree::Tree;

/// Threads of a small block and of a large one. A multiprocessor has room for one large block. The compiler then uses
/// at most 96 registers, so that 20 warps run instead of 16.
const SMALL_BLOCK_THREADS: u32 = 64;
const LARGE_BLOCK_THREADS: u32 = 640;

/// Rays that each thread of a large block takes in turn, and the number of rays from which on blocks are large.
const LARGE_BLOCK_TURNS: u32 = 16;
const MANY_RAYS: usize = 1 << 22;

/// A thread of a small block takes one ray per this many rays in total, so that there are blocks for all
/// multiprocessors.
const RAYS_PER_TURN: usize = 1 << 18;

/// Casts rays, in the order of `prepared`, through a tree that is not empty. Rows have `k` places.
pub(super) fn cast<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    tree: &Tree,
    items: &Items<S>,
    rays: &Rays<S>,
    prepared: &PreparedRays,
    wanted: Wanted,
    k: usize,
    found: &CastOutput,
) -> Result<()> {
    let n = rays.len();
    let marks = Buffer::<u32>::new(client, n);
    let spec = CastSpec {
        item: items.item,
        wanted,
        has_ranges: rays.has_ranges(),
        exact: false,
        takes_turns: false,
        is_ordered: prepared.is_ordered(),
        is_guarded: !is_cuda(client),
    };
    let hits = || HitListsLaunch::new(found.indices.arg(), found.numbers.arg(), found.offsets.arg());
    // Drivers that end long loops count the iterations for all rays of a thread.
    let (units, turns) = if spec.is_guarded {
        (SMALL_BLOCK_THREADS, 1)
    } else if n >= MANY_RAYS {
        (LARGE_BLOCK_THREADS, LARGE_BLOCK_TURNS)
    } else {
        (SMALL_BLOCK_THREADS, (n / RAYS_PER_TURN).max(1) as u32)
    };
    for exact in [false, true] {
        // Few rays are in doubt, but each takes long.
        let (units, turns) = if exact { (SMALL_BLOCK_THREADS, 1) } else { (units, turns) };
        let spec = CastSpec { exact, takes_turns: turns > 1, ..spec };
        // SAFETY: the launch contract of this module. `marks` and `rays` have an element for each of the `n` rays;
        // `found` is allocated by the caller for `wanted`.
        unsafe {
            cast_rays::launch_unchecked::<S, R>(
                client,
                grid(n.div_ceil((units * turns) as usize)),
                CubeDim::new_1d(units),
                tree.arg(),
                items.arg(),
                rays.arg(),
                prepared.arg(),
                hits(),
                marks.arg(),
                n as u32,
                turns,
                k as u32,
                spec,
            );
        }
        let left = if spec.is_guarded { marks.read(client)? } else { vec![] };
        if left.iter().any(|&mark| if exact { mark != 0 } else { mark == MARK_TEST_ALL && items.n > MAX_ITERATIONS }) {
            let what = if exact { "a ray with many exact tests" } else { "a ray far from the primitives" };
            return Err(errors::long_loops(what));
        }
    }
    Ok(())
}

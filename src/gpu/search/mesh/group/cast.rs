//! Casts of many rays at a group of meshes.
//!
//! In: rays and a group. Out: the first hit of each ray, or whether it has any, or lists of hits.
//! Rays are converted to the unit of the tree over the instances and sorted, as for a mesh (`prepared`). A kernel walks
//! that tree and the meshes (`instance_walk`), and marks rays whose result depends on rounding. A second kernel decides
//! these without rounding.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, grid};
use crate::gpu::bvh::Coordinate;
use crate::gpu::device::is_cuda;
use crate::gpu::errors;
use crate::gpu::search::hit_lists::HitListsLaunch;
use crate::gpu::search::mesh::cast_spec::{MARK_LONG, Wanted};
use crate::gpu::search::mesh::group::instance_walk::{WalkSpec, cast_rays};
use crate::gpu::search::mesh::group::storage::Placed;
use crate::gpu::search::mesh::lists::CastOutput;
use crate::gpu::search::mesh::prepared::PreparedRays;
use crate::gpu::search::mesh::rays::Rays;

/// Threads of a block.
const THREADS: u32 = 64;

/// Casts at least one ray. Rows have `k` places.
///
/// Errors: without CUDA, a walk with more steps than drivers allow.
pub(super) fn cast<R: Runtime, S: Coordinate>(
    client: &ComputeClient<R>,
    placed: &Placed<S>,
    rays: &Rays<S>,
    prepared: &PreparedRays,
    wanted: Wanted,
    k: usize,
    found: &CastOutput,
) -> Result<()> {
    let n = rays.len();
    let marks = Buffer::<u32>::filled(client, n, 0);
    for exact in [false, true] {
        let spec = WalkSpec {
            wanted,
            has_ranges: rays.has_ranges(),
            exact,
            is_ordered: prepared.is_ordered(),
            is_guarded: !is_cuda(client),
        };
        cast_rays::launch::<S, R>(
            client,
            grid(n.div_ceil(THREADS as usize)),
            CubeDim::new_1d(THREADS),
            placed.top.arg(),
            placed.items.arg(),
            placed.arg(),
            rays.arg(),
            prepared.arg(),
            HitListsLaunch::new(found.indices.arg(), found.numbers.arg(), found.offsets.arg()),
            marks.arg(),
            n as u32,
            k as u32,
            spec,
        );
        if spec.is_guarded && marks.read(client)?.contains(&MARK_LONG) {
            return Err(errors::long_loops("a ray that meets many instances, or starts far away from them,"));
        }
    }
    Ok(())
}

//! Casts of many rays through a tree: the GPU counterpart of `search::mesh::rays`.
//!
//! In: rays and a tree. Out: the first hit of each ray, or whether it has any hit, or the number of its hits, or all
//! hits.
//! Rays are first converted to the unit of the tree and sorted, so that the rays of a warp meet the same nodes
//! (`prepared`). A kernel (`cast_kernels`) walks the tree, and marks rays whose result depends on rounding. For first hits
//! on triangles, a second kernel (`finish`) computes where each ray hits the triangle found. The last kernel decides marked
//! rays without rounding.
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
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, grid};
use crate::gpu::bvh::Coordinate;
use crate::gpu::device::{MAX_ITERATIONS, is_cuda};
use crate::gpu::errors;
use crate::gpu::search::hit_lists::HitListsLaunch;
use crate::gpu::search::mesh::cast_kernels::cast_rays;
use crate::gpu::search::mesh::cast_spec::{CastSpec, MARK_LONG, MARK_TEST_ALL, Wanted};
use crate::gpu::search::mesh::finish::finish_hits;
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

/// Rays to be cast through a tree, which is not empty, and where their results go.
pub(super) struct Cast<'a, S> {
    pub tree: &'a Tree,
    pub items: &'a Items<S>,
    pub rays: &'a Rays<S>,
    /// The rays in the unit of the tree, and the order in which they are cast.
    pub prepared: &'a PreparedRays,
    pub wanted: Wanted,
    /// The number of places of a row.
    pub k: usize,
    pub found: &'a CastOutput,
}

impl<S: Coordinate> Cast<'_, S> {
    /// Casts the rays.
    pub fn run<R: Runtime>(&self, client: &ComputeClient<R>) -> Result<()> {
        let marks = Buffer::<u32>::new(client, self.rays.len());
        self.launch(client, &marks, false);
        self.check(client, &marks, false)?;
        self.launch(client, &marks, true);
        self.check(client, &marks, true)
    }

    /// Casts all rays, and marks those whose results depend on rounding, or decides marked rays without rounding.
    fn launch<R: Runtime>(&self, client: &ComputeClient<R>, marks: &Buffer<u32>, exact: bool) {
        let (n, is_guarded) = (self.rays.len(), !is_cuda(client));
        // Few rays are in doubt, but each takes long. Drivers that end long loops count the iterations for all rays of
        // a thread.
        let (units, turns) = if exact || is_guarded {
            (SMALL_BLOCK_THREADS, 1)
        } else if n >= MANY_RAYS {
            (LARGE_BLOCK_THREADS, LARGE_BLOCK_TURNS)
        } else {
            (SMALL_BLOCK_THREADS, (n / RAYS_PER_TURN).max(1) as u32)
        };
        let spec = CastSpec {
            item: self.items.item,
            wanted: self.wanted,
            has_ranges: self.rays.has_ranges(),
            exact,
            takes_turns: turns > 1,
            is_ordered: self.prepared.is_ordered(),
            is_guarded,
        };
        let (indices, numbers) = (&self.found.indices, &self.found.numbers);
        // SAFETY: the launch contract of this module. `marks` and `rays` have an element for each of the `n` rays;
        // `found` is allocated by the caller for `wanted`.
        unsafe {
            cast_rays::launch_unchecked::<S, R>(
                client,
                grid(n.div_ceil((units * turns) as usize)),
                CubeDim::new_1d(units),
                self.tree.arg(),
                self.items.arg(),
                self.rays.arg(),
                self.prepared.arg(),
                HitListsLaunch::new(indices.arg(), numbers.arg(), self.found.offsets.arg()),
                marks.arg(),
                n as u32,
                turns,
                self.k as u32,
                spec,
            );
        }
        if spec.is_approximate() && self.wanted == Wanted::First {
            let (dim, items, rays) = (CubeDim::new_1d(THREADS_PER_BLOCK), self.items.arg(), self.rays.arg());
            let (indices, numbers, marks) = (indices.arg(), numbers.arg(), marks.arg());
            finish_hits::launch::<S, R>(client, blocks_for(n), dim, items, rays, indices, numbers, marks, n as u32);
        }
    }

    /// Returns an error if loops for a ray were longer than the driver allows.
    fn check<R: Runtime>(&self, client: &ComputeClient<R>, marks: &Buffer<u32>, exact: bool) -> Result<()> {
        let left = if is_cuda(client) { vec![] } else { marks.read(client)? };
        let has_too_many = self.items.n > MAX_ITERATIONS;
        if left.contains(&MARK_LONG) {
            let what = if exact { "a ray with many exact tests" } else { "a ray that meets many primitives" };
            return Err(errors::long_loops(what));
        }
        if !exact && has_too_many && left.contains(&MARK_TEST_ALL) {
            return Err(errors::long_loops("a ray far from the primitives"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::device::on;
    use crate::gpu::{self, Device};
    use crate::{Mesh, Ray};

    /// Rays whose results depend on rounding are cast again, so there must be few of them. They may start near the
    /// surface, but not on it.
    #[test]
    fn few_rays_are_in_doubt() -> Result<()> {
        let side = 40;
        let height = |i: usize, j: usize| 0.1 * (i as f32).sin() * (0.7 * j as f32).cos();
        let vertices: Vec<[f32; 3]> = (0..side * side)
            .map(|at| (at % side, at / side))
            .map(|(i, j)| [i as f32, j as f32, height(i, j)])
            .collect();
        let faces: Vec<[u32; 3]> = (0..(side - 1) * (side - 1))
            .map(|at| (at % (side - 1) + at / (side - 1) * side) as u32)
            .flat_map(|a| [[a, a + 1, a + side as u32], [a + 1, a + side as u32 + 1, a + side as u32]])
            .collect();
        let steps = [0.819_172_5, 0.671_043_6, 0.549_700_5, 0.436_790_1];
        let at = |i: usize, k: usize| (steps[k] * i as f32).fract() * (side - 1) as f32;
        let rays: Vec<Ray<f32, 3>> = (1..2001)
            .map(|i| ([at(i, 0), at(i, 1)], [at(i, 2), at(i, 3)]))
            .map(|(from, to)| Ray::new([from[0], from[1], 5.0], [to[0] - from[0], to[1] - from[1], -5.5]))
            .collect();
        let on_host = Mesh::build(&vertices, &faces)?;
        // The closest places before and behind the hits that are certain to be found or not.
        let moved = |factor: f64| -> Vec<Ray<f32, 3>> {
            let hits = rays.iter().zip(on_host.first_hits(&rays));
            hits.filter_map(|(ray, hit)| Some(Ray { from: hit?.t * factor, ..*ray })).collect()
        };
        let (before, behind) = (moved(1.0 - 1e-12), moved(1.0 + 1e-12));
        let device = Device::first()?;
        let mesh = gpu::Mesh::upload(&on_host, device)?;
        let cases = [Wanted::First, Wanted::Any, Wanted::Count, Wanted::Rows].map(|wanted| (&rays, wanted, 1900));
        for (rays, wanted, least_hits) in
            cases.into_iter().chain([(&before, Wanted::First, 1900), (&behind, Wanted::Any, 0)])
        {
            let rays = Rays::new(rays, device)?;
            let (in_doubt, hits): (usize, usize) = on!(device, client => {
                let (items, n) = (&mesh.stored.items, rays.len());
                let found = CastOutput {
                    indices: Buffer::new(client, n),
                    numbers: Buffer::new(client, 4 * n),
                    offsets: Buffer::filled(client, n + 1, 0),
                };
                let prepared = PreparedRays::new(client, items, &rays)?;
                let tree = mesh.stored.tree.as_ref().unwrap();
                let cast = Cast { tree, items, rays: &rays, prepared: &prepared, wanted, k: 1, found: &found };
                let marks = Buffer::<u32>::new(client, n);
                cast.launch(client, &marks, false);
                let results = if wanted == Wanted::Rows { &found.offsets } else { &found.indices };
                let has_hit = |&&result: &&u32| if wanted == Wanted::First { result != u32::MAX } else { result != 0 };
                let hits = results.read(client)?.iter().filter(has_hit).count();
                Ok((marks.read(client)?.iter().filter(|&&mark| mark != 0).count(), hits))
            })?;
            assert!(in_doubt < 10, "{wanted:?}: {in_doubt} rays of 2000");
            assert!(hits >= least_hits, "{wanted:?}: {hits} rays have hits");
        }
        Ok(())
    }
}

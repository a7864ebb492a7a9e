//! Interleaved walks of several rays on one thread.
//!
//! Input: rays, of which consecutive ones are similar. Output: calls of a visitor, as for a single ray.
//! A packet of rays descends together as long as all its rays enter the child that any of them enters first. After
//! that, each ray has its own walk, and the walks are interleaved. A ray that reaches a block or a triangle
//! prefetches it and lets the others continue, so that all rays wait for memory at the same time.
//! Cost: two tests instead of eight at each node of the common path, then as for single rays.
//! Source: Reshetov, Soupikov and Hurley 2005 (entry points).

use crate::bvh::traverse::bits;
use crate::geometry::{Ray, Scalar};
use crate::search::mesh::Mesh;
use crate::search::mesh::beam::Beam;
use crate::search::mesh::frame::{FrameRay, Prepared};
use crate::search::mesh::rays::{candidates, keys};
use crate::search::mesh::triangle_hit::TriangleRay;
use crate::search::mesh::wide_node::Node;
use crate::search::mesh::wide_tree::Stack;
use crate::simd::{Isa, LANES, prefetch};

/// The number of rays in a packet.
const PACKET: usize = 8;

/// The walk of one ray.
struct Walk {
    ray: usize,
    frame_ray: FrameRay,
    /// The ray for triangle tests, created on first use.
    exact: Option<TriangleRay>,
    limit: f32,
    /// The child at which the walk starts.
    from: Option<u32>,
    /// The current block; `candidates` is a mask of its triangles that are yet to be decided.
    block: Option<u32>,
    candidates: u32,
}

impl Walk {
    #[inline(always)]
    fn new(ray: usize, frame_ray: FrameRay, to: f64) -> Self {
        let limit = frame_ray.limit_of(to).min(f32::MAX);
        Self { ray, frame_ray, exact: None, limit, from: None, block: None, candidates: 0 }
    }
}

impl<S: Scalar> Mesh<S> {
    /// Makes the same calls as [`cast`](Mesh::cast) for each ray, with the index of the ray. Nearer hits may come
    /// later than in `cast`.
    #[inline(always)]
    pub(super) fn walk_interleaved<I: Isa, H>(
        &self,
        isa: I,
        rays: &[Ray<S, 3>],
        decide: impl Fn(&TriangleRay, u32) -> Option<H>,
        mut visit: impl FnMut(usize, H) -> Option<f64>,
    ) {
        if self.is_empty() {
            return;
        }
        let mut shared = Stack::new();
        let mut stacks: [Stack; PACKET] = std::array::from_fn(|_| Stack::new());
        let mut walks = Vec::with_capacity(PACKET);
        for first in (0..rays.len()).step_by(PACKET) {
            walks.clear();
            let together = first..rays.len().min(first + PACKET);
            for (place, ray) in together.clone().zip(&rays[together]) {
                if !ray.is_proper() {
                    continue;
                }
                match FrameRay::new(ray, &self.frame) {
                    Prepared::Nothing => {}
                    Prepared::TooFar => self.cast(isa, ray, &decide, |hit| visit(place, hit)),
                    Prepared::Ready(frame_ray) => walks.push(Walk::new(place, frame_ray, ray.to)),
                }
            }
            let from = match Beam::around(walks.iter().map(|walk: &Walk| &walk.frame_ray)) {
                Some(beam) => self.tree.descend(
                    isa,
                    &mut shared,
                    #[inline(always)]
                    |node: &Node| beam.keys(isa, node),
                ),
                None => {
                    shared.clear();
                    Some(self.tree.root)
                }
            };
            if from.is_none() {
                continue;
            }
            for (walk, stack) in walks.iter_mut().zip(&mut stacks) {
                walk.from = from;
                stack.assign(&shared);
            }
            let mut active = (1 << walks.len()) - 1;
            while active != 0 {
                for index in bits(active) {
                    let (walk, stack) = (&mut walks[index], &mut stacks[index % PACKET]);
                    if self.advance(isa, &rays[walk.ray], walk, stack, &decide, &mut visit).is_none() {
                        active &= !(1 << index);
                    }
                }
            }
        }
    }

    /// Advances the walk of a ray: decides triangles or selects candidates, and continues to the next block. `None`
    /// at its end.
    #[inline(always)]
    fn advance<I: Isa, H>(
        &self,
        isa: I,
        ray: &Ray<S, 3>,
        walk: &mut Walk,
        stack: &mut Stack,
        decide: &impl Fn(&TriangleRay, u32) -> Option<H>,
        visit: &mut impl FnMut(usize, H) -> Option<f64>,
    ) -> Option<()> {
        if let Some(block) = walk.block {
            let block = &self.tree.blocks[block as usize];
            if walk.candidates == 0 {
                walk.candidates = candidates(isa, &walk.frame_ray, block, walk.limit);
                if walk.candidates != 0 {
                    let first = block.triangle[walk.candidates.trailing_zeros() as usize % LANES];
                    prefetch_all(&self.corners[first as usize]);
                    return Some(());
                }
            }
            for lane in bits(std::mem::take(&mut walk.candidates)) {
                let exact = walk.exact.get_or_insert_with(|| TriangleRay::new(ray));
                if let Some(hit) = decide(exact, block.triangle[lane % LANES]) {
                    let most = visit(walk.ray, hit)?;
                    exact.end_at(most);
                    walk.limit = walk.limit.min(walk.frame_ray.limit_of(most));
                }
            }
        }
        let block = self.tree.next_block(
            isa,
            walk.from.take(),
            walk.limit,
            stack,
            #[inline(always)]
            |node: &Node| keys(&walk.frame_ray, node),
        )?;
        prefetch_all(&self.tree.blocks[block as usize]);
        walk.block = Some(block);
        Some(())
    }
}

/// Prefetches all cache lines of a value.
#[inline(always)]
fn prefetch_all<T>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<u8>();
    for at in (0..size_of::<T>()).step_by(64) {
        prefetch(start.wrapping_add(at));
    }
    prefetch(start.wrapping_add(size_of::<T>() - 1));
}

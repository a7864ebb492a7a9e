//! Many rays at a time, on one thread.
//!
//! In: rays, of which neighbours are more or less alike. Out: calls of a visitor, as for one ray.
//! Some rays go down the tree together, as long as all of them enter the child that any of them enters first; from there on each has a walk of
//! its own. These take turns: a ray that comes to a block, or to a triangle, asks for it and lets the others go on, so that memory is waited for by all at once.
//! Cost: two looks at each node of the common way, not eight; then as one ray's. Source: Reshetov, Soupikov and Hurley 2005 (entry points).

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

/// Rays that take turns.
const TOGETHER: usize = 8;

/// A ray on its way.
struct Walk {
    ray: usize,
    frame_ray: FrameRay,
    /// Made once it is needed.
    exact: Option<TriangleRay>,
    limit: f32,
    /// The child to begin with.
    from: Option<u32>,
    /// Where it is, and the triangles there that are to be decided, a bit each.
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
    /// For each ray calls as those of [`cast`](Mesh::cast), with the ray's place; what is nearer may come later than there.
    #[inline(always)]
    pub(super) fn take_turns<I: Isa, H>(
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
        let mut stacks: [Stack; TOGETHER] = std::array::from_fn(|_| Stack::new());
        let mut walks = Vec::with_capacity(TOGETHER);
        for first in (0..rays.len()).step_by(TOGETHER) {
            walks.clear();
            let together = first..rays.len().min(first + TOGETHER);
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
            let mut left = (1 << walks.len()) - 1;
            while left != 0 {
                for turn in bits(left) {
                    let (walk, stack) = (&mut walks[turn], &mut stacks[turn % TOGETHER]);
                    if self.turn(isa, &rays[walk.ray], walk, stack, &decide, &mut visit).is_none() {
                        left &= !(1 << turn);
                    }
                }
            }
        }
    }

    /// A turn of a ray: it decides triangles or looks for some, and goes on to the next block; `None` at its end.
    #[inline(always)]
    fn turn<I: Isa, H>(
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
                    ask_for(&self.corners[first as usize]);
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
        ask_for(&self.tree.blocks[block as usize]);
        walk.block = Some(block);
        Some(())
    }
}

/// Has a value brought into the cache.
#[inline(always)]
fn ask_for<T>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<u8>();
    for at in (0..size_of::<T>()).step_by(64) {
        prefetch(start.wrapping_add(at));
    }
    prefetch(start.wrapping_add(size_of::<T>() - 1));
}

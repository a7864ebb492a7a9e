//! A tree with eight children per node, over triangles in blocks of eight.
//!
//! Input: triangles in the unit of their [`Frame`](super::frame::Frame). Output: one ordered walk, whose visitors are
//! rays and nearest-point searches. It can advance block by block, and several queries can share its beginning.
//! Boxes and triangles are `f32`, with one array per coordinate, so that one instruction tests eight. They only
//! select candidates. Their rounding errors are less than the padding of each query, and `f64` decides among the
//! candidates.
//! Cost: 40 bytes per lane of a block, and about 8 bytes per triangle for the nodes. About two thirds of the lanes
//! are filled.
//! Source: Wald, Benthin and Boulos 2008 (wide trees); Embree (Wald et al. 2014).

use crate::bvh::traverse::bits;
use crate::parallel::map;
use crate::search::mesh::sah::build;
use crate::search::mesh::wide_node::{BLOCK, Node};
use crate::simd::{Isa, LANES, Lanes};

/// The smaller of two numbers, computed by one instruction; the second if one is NaN.
#[inline(always)]
pub(super) fn lower(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The larger of two numbers, computed by one instruction; the second if one is NaN.
#[inline(always)]
pub(super) fn higher(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// Up to eight triangles.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(crate) struct TriangleBlock {
    /// The corners as `corners[corner][axis]`; NaN for a missing triangle.
    pub corners: [[Lanes<f32>; 3]; 3],
    /// The indices of the triangles; `u32::MAX` for a missing triangle.
    pub triangle: Lanes<u32>,
}

impl TriangleBlock {
    pub const EMPTY: Self = Self { corners: [[[f32::NAN; LANES]; 3]; 3], triangle: [u32::MAX; LANES] };
}

/// The wide tree.
#[derive(Clone, Debug)]
pub(crate) struct WideTree {
    pub nodes: Vec<Node>,
    pub blocks: Vec<TriangleBlock>,
    /// The number of the root as a child; unspecified if there are no blocks.
    pub root: u32,
}

impl WideTree {
    /// Builds the tree over `n` triangles with the corners `corners(triangle)`.
    pub fn build(n: usize, corners: &(dyn Fn(usize) -> [[f32; 3]; 3] + Sync)) -> Self {
        let bounds = |triangle: usize| {
            let corners = corners(triangle);
            let along = |k: usize, pick: fn(f32, f32) -> f32| pick(corners[0][k], pick(corners[1][k], corners[2][k]));
            [std::array::from_fn(|k| along(k, f32::min)), std::array::from_fn(|k| along(k, f32::max))]
        };
        let tree = build(n, &bounds);
        let blocks = map(tree.blocks.len() - 1, 1 << 10, &|block| {
            let mut own = TriangleBlock::EMPTY;
            for (lane, &triangle) in tree.items(block).iter().enumerate().take(LANES) {
                own.triangle[lane] = triangle;
                for (to, from) in own.corners.iter_mut().zip(corners(triangle as usize)) {
                    for (to, from) in to.iter_mut().zip(from) {
                        to[lane] = from;
                    }
                }
            }
            own
        });
        Self { nodes: tree.nodes, blocks, root: tree.root }
    }

    /// Visits blocks, nearest first.
    ///
    /// `enter` returns a key for each child, which must not be negative; children with keys above the limit are
    /// skipped. `visit` inspects a block, and returns the new limit, or `None` to end.
    #[inline(always)]
    pub fn walk<I: Isa>(
        &self,
        isa: I,
        limit: f32,
        enter: impl Fn(&Node) -> Lanes<f32>,
        mut visit: impl FnMut(&TriangleBlock, f32) -> Option<f32>,
    ) {
        if self.blocks.is_empty() {
            return;
        }
        let mut stack = Stack::new();
        // The limit must be finite, because the key of an empty child is infinite.
        let mut limit = limit.min(f32::MAX);
        let mut from = Some(self.root);
        while let Some(block) = self.next_block(
            isa,
            from.take(),
            limit,
            &mut stack,
            #[inline(always)]
            |node| enter(node),
        ) {
            match visit(&self.blocks[block as usize], limit) {
                Some(left) => limit = left.min(f32::MAX),
                None => return,
            }
        }
    }

    /// Finds the next block of a walk that starts at the child `from`, or continues with the children on the stack.
    #[inline(always)]
    pub fn next_block<I: Isa>(
        &self,
        isa: I,
        mut from: Option<u32>,
        limit: f32,
        stack: &mut Stack,
        enter: impl Fn(&Node) -> Lanes<f32>,
    ) -> Option<u32> {
        loop {
            let mut at = match from.take() {
                Some(at) => at,
                None => loop {
                    let entry = stack.pop()?;
                    if f32::from_bits((entry >> 32) as u32) <= limit {
                        break entry as u32;
                    }
                },
            };
            loop {
                if at & BLOCK != 0 {
                    return Some(at ^ BLOCK);
                }
                let node = &self.nodes[at as usize];
                let keys = enter(node);
                let mask = isa.at_most_f32(&keys, limit);
                if mask == 0 {
                    break;
                }
                at = if mask & (mask - 1) == 0 {
                    node.child[mask.trailing_zeros() as usize % LANES]
                } else {
                    stack.push(mask, &keys, &node.child)
                };
            }
        }
    }

    /// Descends for several queries at once, as long as all of them enter the nearest child.
    ///
    /// Returns the child from which each query then continues, with the deferred children on the stack; `None` if
    /// nothing is left for any query. `enter` returns the minimum of their keys for each child, and a mask of the
    /// children that all of them enter.
    #[inline(always)]
    pub fn descend<I: Isa>(
        &self,
        isa: I,
        stack: &mut Stack,
        enter: impl Fn(&Node) -> (Lanes<f32>, u32),
    ) -> Option<u32> {
        stack.clear();
        let mut at = self.root;
        while at & BLOCK == 0 {
            let node = &self.nodes[at as usize];
            let (keys, entered_by_all) = enter(node);
            let mask = isa.at_most_f32(&keys, f32::MAX);
            if mask == 0 {
                at = stack.pop()? as u32;
                continue;
            }
            let nearest = bits(mask).min_by_key(|&lane| entry(lane % LANES, &keys, &node.child)).unwrap_or(0);
            if entered_by_all >> nearest & 1 == 0 {
                break;
            }
            at = stack.push(mask, &keys, &node.child);
        }
        Some(at)
    }
}

/// The number of entries that are stored without an allocation: more than walks defer at one time, except in unusual
/// trees.
const FEW: usize = 96;

/// The deferred children of a walk, the farthest child of a node deepest. An entry has a key in the upper half and a
/// child in the lower half. Entries are ordered like their keys, because keys are not negative.
pub(crate) struct Stack {
    few: [u64; FEW],
    len: usize,
    /// The entries above the first [`FEW`].
    more: Vec<u64>,
}

impl Stack {
    pub fn new() -> Self {
        Self { few: [0; FEW], len: 0, more: vec![] }
    }

    #[inline(always)]
    pub fn clear(&mut self) {
        self.len = 0;
        self.more.clear();
    }

    /// Copies the entries of another stack.
    #[inline(always)]
    pub fn assign(&mut self, other: &Self) {
        self.len = other.len;
        self.few[..other.len].copy_from_slice(&other.few[..other.len]);
        self.more.clear();
        self.more.extend_from_slice(&other.more);
    }

    /// Pushes the children of a non-empty mask except the nearest one, which it returns.
    #[inline(always)]
    fn push(&mut self, mask: u32, keys: &Lanes<f32>, child: &Lanes<u32>) -> u32 {
        let entry = |lane: usize| entry(lane, keys, child);
        let room = self.few.get_mut(self.len..).and_then(<[u64]>::first_chunk_mut::<LANES>);
        if let (Some(room), true) = (room, self.more.is_empty()) {
            let n = insert(room, mask, entry);
            self.len += n - 1;
            return room[(n - 1) % LANES] as u32;
        }
        let mut room = [0; LANES];
        let n = insert(&mut room, mask, entry);
        self.more.extend_from_slice(&room[..(n - 1) % LANES]);
        room[(n - 1) % LANES] as u32
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<u64> {
        if let Some(entry) = self.more.pop() {
            return Some(entry);
        }
        self.len = self.len.checked_sub(1)?;
        Some(self.few[self.len])
    }
}

/// The stack entry of a child.
#[inline(always)]
fn entry(lane: usize, keys: &Lanes<f32>, child: &Lanes<u32>) -> u64 {
    u64::from(keys[lane].to_bits()) << 32 | u64::from(child[lane])
}

/// Writes the entries of a mask in descending order, and returns their number.
#[inline(always)]
fn insert(room: &mut Lanes<u64>, mask: u32, entry: impl Fn(usize) -> u64) -> usize {
    let mut n = 0;
    for lane in bits(mask) {
        let entry = entry(lane % LANES);
        let mut place = n;
        while place > 0 && room[(place - 1) % LANES] < entry {
            room[place % LANES] = room[(place - 1) % LANES];
            place -= 1;
        }
        room[place % LANES] = entry;
        n += 1;
    }
    n
}

//! The wide tree, built top-down with the surface area heuristic.
//!
//! Input: boxes in the unit of their frame. Output: nodes in depth-first order, and the contents of the leaves in
//! blocks of up to eight.
//! The boxes of a node are split in two at the boundary between bins with the least estimated cost of walks. The part
//! with the largest surface is split next, until there are eight parts.
//! Cost: O(n log n), parallel over subtrees. Source: Wald 2007 (bins); Wald, Benthin and Boulos 2008.

use crate::memory::{collected, with_capacity};
use crate::parallel::{fill, for_each, map};
use crate::search::mesh::wide_node::{BLOCK, Node};
use crate::simd::LANES;

/// The number of bins along each axis.
const BINS: usize = 16;

/// The depth from which nodes are split in halves, so that a tree has at most 32 more levels.
const FREE_DEPTH: usize = 24;

/// Subtrees with fewer triangles are built by one thread.
const SEQUENTIAL: usize = 1 << 12;

/// The box of an item.
#[derive(Clone, Copy)]
struct Item {
    lo: [f32; 3],
    hi: [f32; 3],
    index: u32,
    /// The number of items in the block, if this is the first of them; otherwise 0.
    len: u32,
}

/// A box that grows.
#[derive(Clone, Copy)]
struct Extent {
    lo: [f32; 3],
    hi: [f32; 3],
}

impl Extent {
    const EMPTY: Self = Self { lo: [f32::INFINITY; 3], hi: [f32::NEG_INFINITY; 3] };

    #[inline(always)]
    fn add(&mut self, lo: &[f32; 3], hi: &[f32; 3]) {
        for k in 0..3 {
            self.lo[k] = self.lo[k].min(lo[k]);
            self.hi[k] = self.hi[k].max(hi[k]);
        }
    }

    /// Half the surface area.
    fn area(&self) -> f32 {
        let [x, y, z] = std::array::from_fn(|k| (self.hi[k] - self.lo[k]).max(0.0));
        x * y + y * z + z * x
    }
}

/// A child that may be split further.
struct SplitCandidate<'a> {
    items: &'a mut [Item],
    /// The position of the first item among all items.
    first: usize,
    extent: Extent,
}

impl<'a> SplitCandidate<'a> {
    fn new(items: &'a mut [Item], first: usize) -> Self {
        let mut extent = Extent::EMPTY;
        for item in &*items {
            extent.add(&item.lo, &item.hi);
        }
        Self { items, first, extent }
    }
}

/// Nodes over items in the order of the leaves.
pub(crate) struct SahTree {
    /// Parents come before their children. The number of a child that is a block is its index in `blocks`, with the
    /// bit [`BLOCK`].
    pub nodes: Vec<Node>,
    /// The number of the root as a child; unspecified if there are no items.
    pub root: u32,
    /// The items, block after block.
    pub order: Vec<u32>,
    /// The position in `order` of the first item of each block, followed by the number of items.
    pub blocks: Vec<u32>,
}

impl SahTree {
    /// Returns the items of a block.
    pub fn items(&self, block: usize) -> &[u32] {
        &self.order[self.blocks[block] as usize..self.blocks[block + 1] as usize]
    }
}

/// Builds the tree over `n` items, whose boxes have the corners `bounds(item)`.
pub(crate) fn build(n: usize, bounds: &(dyn Fn(usize) -> [[f32; 3]; 2] + Sync)) -> SahTree {
    let mut items = map(n, 1 << 14, &|item| {
        let [lo, hi] = bounds(item);
        Item { lo, hi, index: item as u32, len: 0 }
    });
    if n == 0 {
        return SahTree { nodes: vec![], root: 0, order: vec![], blocks: vec![0] };
    }
    let mut appended = vec![];
    let mut root = if n <= LANES {
        items[0].len = n as u32;
        BLOCK
    } else {
        subtree(SplitCandidate::new(&mut items, 0), 0, &mut appended);
        0
    };
    // Copied to memory with large pages, which speed up walks.
    let mut nodes = with_capacity(appended.len());
    nodes.append(&mut appended);
    drop(appended);
    // Numbers blocks in the order of the leaves, which now is the order of the items.
    let mut blocks: Vec<u32> = collected((0..n).filter(|&at| items[at].len != 0).map(|at| at as u32));
    let number = |child: &mut u32| {
        if *child & BLOCK != 0 {
            *child = BLOCK | blocks.binary_search(&(*child ^ BLOCK)).unwrap_or(0) as u32;
        }
    };
    fill(&mut nodes, 1 << 8, &|_, nodes: &mut [Node]| {
        nodes.iter_mut().for_each(|node| node.child.iter_mut().for_each(number));
    });
    number(&mut root);
    blocks.push(n as u32);
    SahTree { nodes, root, order: map(n, 1 << 14, &|at| items[at].index), blocks }
}

/// Appends the node over a part and the nodes below it.
fn subtree(part: SplitCandidate<'_>, depth: usize, nodes: &mut Vec<Node>) {
    let is_parallel = part.items.len() >= SEQUENTIAL;
    let mut parts = vec![part];
    while parts.len() < LANES {
        let widest = (0..parts.len())
            .filter(|&at| parts[at].items.len() > LANES)
            .max_by(|&a, &b| parts[a].extent.area().total_cmp(&parts[b].extent.area()));
        let Some(widest) = widest else { break };
        let SplitCandidate { items, first, .. } = parts.swap_remove(widest);
        let middle = split(items, depth);
        let (left, right) = items.split_at_mut(middle);
        parts.push(SplitCandidate::new(left, first));
        parts.push(SplitCandidate::new(right, first + middle));
    }
    // Sorted in the order of their items.
    parts.sort_unstable_by_key(|part| part.first);
    let own = nodes.len();
    nodes.push(Node::EMPTY);
    let mut node = Node::EMPTY;
    for (lane, part) in parts.iter_mut().enumerate() {
        for k in 0..3 {
            node.bounds[k][lane] = part.extent.lo[k];
            node.bounds[k + 3][lane] = part.extent.hi[k];
        }
        if part.items.len() <= LANES {
            // Sorted, so that the order of the indices does not depend on the splits.
            part.items.sort_unstable_by_key(|item| item.index);
            part.items[0].len = part.items.len() as u32;
            node.child[lane] = BLOCK | part.first as u32;
        }
    }
    if is_parallel {
        let mut below: Vec<Vec<Node>> = parts.iter().map(|_| vec![]).collect();
        let tasks: Vec<_> = parts.into_iter().zip(&mut below).collect();
        for_each(tasks, &|_, (part, nodes)| {
            if part.items.len() > LANES {
                subtree(part, depth + 1, nodes);
            }
        });
        for (lane, below) in below.into_iter().enumerate() {
            let offset = nodes.len() as u32;
            if !below.is_empty() {
                node.child[lane] = offset;
            }
            nodes.extend(below.into_iter().map(|mut node| {
                // An empty child points to an existing node, and is never followed.
                node.child.iter_mut().filter(|child| **child & BLOCK == 0).for_each(|child| *child += offset);
                node
            }));
        }
    } else {
        for (lane, part) in parts.into_iter().enumerate() {
            if part.items.len() > LANES {
                node.child[lane] = nodes.len() as u32;
                subtree(part, depth + 1, nodes);
            }
        }
    }
    nodes[own] = node;
}

/// Splits more than eight items in two, and returns the number of items in the first part.
fn split(items: &mut [Item], depth: usize) -> usize {
    // Twice the centre of the item's box.
    let center = |item: &Item, axis: usize| item.lo[axis] + item.hi[axis];
    let mut centers = Extent::EMPTY;
    for item in &*items {
        let at = std::array::from_fn(|k| center(item, k));
        centers.add(&at, &at);
    }
    if depth < FREE_DEPTH
        && let Some((axis, place, bin)) = best_plane(items, &centers)
    {
        let middle = partition(items, |item| bin_of(center(item, axis), centers.lo[axis], place) < bin);
        if (1..items.len()).contains(&middle) {
            return middle;
        }
    }
    // Splits in halves, along the longest axis.
    let longest = |&a: &usize, &b: &usize| {
        let extent = |k: usize| centers.hi[k] - centers.lo[k];
        extent(a).total_cmp(&extent(b))
    };
    let axis = (0..3).max_by(longest).unwrap_or(0);
    let middle = items.len() / 2;
    items
        .select_nth_unstable_by(middle, |a, b| center(a, axis).total_cmp(&center(b, axis)).then(a.index.cmp(&b.index)));
    middle
}

#[inline(always)]
fn bin_of(center: f32, lo: f32, scale: f32) -> usize {
    (((center - lo) * scale) as usize).min(BINS - 1)
}

/// The axis, the scale of its bins, and the first bin behind the plane of least cost; `None` if all centres coincide.
fn best_plane(items: &[Item], centers: &Extent) -> Option<(usize, f32, usize)> {
    let scale: [f32; 3] = std::array::from_fn(|k| {
        let scale = BINS as f32 * 0.999_99 / (centers.hi[k] - centers.lo[k]);
        if scale.is_finite() { scale } else { 0.0 }
    });
    let mut bins = [[(Extent::EMPTY, 0u32); BINS]; 3];
    for item in items {
        for k in 0..3 {
            let (extent, count) = &mut bins[k][bin_of(item.lo[k] + item.hi[k], centers.lo[k], scale[k])];
            extent.add(&item.lo, &item.hi);
            *count += 1;
        }
    }
    let mut best = None;
    let mut least = f32::INFINITY;
    for (axis, bins) in bins.iter().enumerate().filter(|&(axis, _)| scale[axis] > 0.0) {
        // The cost of the items behind each plane.
        let mut behind = [0.0; BINS];
        let (mut extent, mut count) = (Extent::EMPTY, 0);
        for bin in (1..BINS).rev() {
            extent.add(&bins[bin].0.lo, &bins[bin].0.hi);
            count += bins[bin].1;
            behind[bin] = cost(&extent, count);
        }
        let (mut extent, mut count) = (Extent::EMPTY, 0);
        for bin in 1..BINS {
            extent.add(&bins[bin - 1].0.lo, &bins[bin - 1].0.hi);
            count += bins[bin - 1].1;
            let sum = cost(&extent, count) + behind[bin];
            if count > 0 && (count as usize) < items.len() && sum < least {
                (least, best) = (sum, Some((axis, scale[axis], bin)));
            }
        }
    }
    best
}

/// The cost of a part: its surface times the number of half blocks that its items fill.
fn cost(extent: &Extent, count: u32) -> f32 {
    if count == 0 { 0.0 } else { extent.area() * count.div_ceil(LANES as u32 / 2) as f32 }
}

/// Moves the items for which `before` is true to the front, and returns their number.
fn partition(items: &mut [Item], before: impl Fn(&Item) -> bool) -> usize {
    let (mut first, mut last) = (0, items.len());
    loop {
        while first < last && before(&items[first]) {
            first += 1;
        }
        while first < last && !before(&items[last - 1]) {
            last -= 1;
        }
        if first >= last {
            return first;
        }
        items.swap(first, last - 1);
    }
}

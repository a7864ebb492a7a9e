//! The wide tree, built from the top by the surface area heuristic.
//!
//! In: boxes in the unit of their frame. Out: nodes in depth-first order, and what the leaves hold, in blocks of up to eight.
//! A node's boxes are split in two where bins along the axes say that walks cost least; the part of the largest surface is split next,
//! until there are eight. Cost: O(n log n), parallel over subtrees. Source: Wald 2007 (bins); Wald, Benthin and Boulos 2008.

use crate::memory::{collected, with_capacity};
use crate::parallel::{fill, for_each, map};
use crate::search::mesh::wide_node::{BLOCK, Node};
use crate::simd::LANES;

/// Bins along each axis.
const BINS: usize = 16;

/// The depth at which the builder begins to halve, so that no tree is deeper than 32 levels more.
const FREE_DEPTH: usize = 24;

/// Subtrees of fewer triangles are built by one thread.
const SEQUENTIAL: usize = 1 << 12;

/// An item's box.
#[derive(Clone, Copy)]
struct Item {
    lo: [f32; 3],
    hi: [f32; 3],
    index: u32,
    /// Of the first in a block: how many are in it.
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

    /// Half the surface.
    fn area(&self) -> f32 {
        let [x, y, z] = std::array::from_fn(|k| (self.hi[k] - self.lo[k]).max(0.0));
        x * y + y * z + z * x
    }
}

/// A child that may be split further.
struct Part<'a> {
    items: &'a mut [Item],
    /// Where they are among all.
    first: usize,
    extent: Extent,
}

impl<'a> Part<'a> {
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
    /// Parents come before their children. The number of a child that is a block is that among `blocks`, with [`BLOCK`].
    pub nodes: Vec<Node>,
    /// A child's number; none if there are no items.
    pub root: u32,
    /// Items, block after block.
    pub order: Vec<u32>,
    /// Where the items of each block begin in `order`, and behind the last their number.
    pub blocks: Vec<u32>,
}

impl SahTree {
    /// The items of a block.
    pub fn items(&self, block: usize) -> &[u32] {
        &self.order[self.blocks[block] as usize..self.blocks[block + 1] as usize]
    }
}

/// The tree over `n` items, whose boxes are between the corners `bounds(item)`.
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
        subtree(Part::new(&mut items, 0), 0, &mut appended);
        0
    };
    // Walks want them in large pages.
    let mut nodes = with_capacity(appended.len());
    nodes.append(&mut appended);
    drop(appended);
    // Blocks in the order of the leaves, which is that of the items by now.
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
fn subtree(part: Part<'_>, depth: usize, nodes: &mut Vec<Node>) {
    let is_parallel = part.items.len() >= SEQUENTIAL;
    let mut parts = vec![part];
    while parts.len() < LANES {
        let widest = (0..parts.len())
            .filter(|&at| parts[at].items.len() > LANES)
            .max_by(|&a, &b| parts[a].extent.area().total_cmp(&parts[b].extent.area()));
        let Some(widest) = widest else { break };
        let Part { items, first, .. } = parts.swap_remove(widest);
        let middle = split(items, depth);
        let (left, right) = items.split_at_mut(middle);
        parts.push(Part::new(left, first));
        parts.push(Part::new(right, first + middle));
    }
    // In the order of their items.
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
            // A copy of the numbers does not depend on how they were split.
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
                // An empty child points to a node that is there, and nothing follows it.
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

/// Splits more than eight items in two, and returns how many are in the first part.
fn split(items: &mut [Item], depth: usize) -> usize {
    // Twice the centre of a box.
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
    // Halves, along the longest axis.
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

/// The axis, the scale of its bins and the first bin behind the plane that costs least, unless all centres are one point.
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
        // Behind each plane.
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

/// What a part costs: its surface times its blocks, for half a block costs as much as a whole one.
fn cost(extent: &Extent, count: u32) -> f32 {
    if count == 0 { 0.0 } else { extent.area() * count.div_ceil(LANES as u32 / 2) as f32 }
}

/// Moves those that are `before` to the front, and returns how many they are.
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

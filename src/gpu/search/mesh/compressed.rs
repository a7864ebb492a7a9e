//! The wide tree as devices store it, with 80 bytes for eight children.
//!
//! In: the nodes of the CPU's tree. Out: nodes whose children's boxes have one byte per bound, and items in the order
//! of the leaves.
//! A box is rounded outwards to 255 steps of its parent's box, so no candidate is missed. Each leaf is one item: a
//! block on the CPU is a node here. Children are stored in the places that suit their octants best. A walk that
//! visits places in the order of a ray's octant therefore visits near children first.
//! Cost: O(n). Source: Ylitie, Karras and Laine 2017.

use crate::parallel::map;
use crate::search::mesh::wide_node::{BLOCK, Node};
use crate::simd::LANES;

/// The number of words of a node. Its words are:
/// - 0 to 2: its lower corner.
/// - 3: the exponents of the steps along the axes and a mask of children that are nodes, a byte each.
/// - 4, 5: the first node and the first item of the children.
/// - 6: a mask of children that are items. Word 7 is unused.
/// - 8 to 19: lower and then upper bounds along x, y and z, a byte for each child.
pub(super) const WORDS: usize = 20;

/// A box in the unit of the tree.
pub(super) type Bounds = [[f32; 3]; 2];

/// A child of a node of the CPU's tree.
#[derive(Clone, Copy)]
pub(super) enum Child {
    /// A node or a block, by its number in the tree.
    Below(u32),
    /// An item.
    Item(u32),
}

/// Up to eight children and their boxes.
pub(super) type Children = [Option<(Bounds, Child)>; LANES];

/// A tree to be compressed.
pub(super) trait Source: Sync {
    /// The number of the root, if there are items.
    fn root(&self) -> u32;
    /// The children of a node or a block.
    fn children(&self, at: u32) -> Children;
}

/// A compressed tree as devices store it.
pub(super) struct Compressed {
    pub nodes: Vec<[u32; WORDS]>,
    /// Items in the order of the leaves.
    pub order: Vec<u32>,
}

/// A node with its children in their places, and the numbers of its first child node and first child item.
struct Placed {
    children: Children,
    first_node: u32,
    first_item: u32,
}

/// Compresses a tree of at least one item.
pub(super) fn compress(source: &impl Source) -> Compressed {
    let mut placed: Vec<Placed> = vec![];
    let (mut nodes, mut order) = (vec![source.root()], vec![]);
    // Level by level: the children of a level are found in parallel.
    let mut from = 0;
    while from < nodes.len() {
        let level: Vec<_> = map(nodes.len() - from, 1 << 8, &|at| places(&source.children(nodes[from + at])));
        from = nodes.len();
        for children in level {
            let (first_node, first_item) = (nodes.len() as u32, order.len() as u32);
            for (_, child) in children.iter().flatten() {
                match *child {
                    Child::Below(at) => nodes.push(at),
                    Child::Item(item) => order.push(item),
                }
            }
            placed.push(Placed { children, first_node, first_item });
        }
    }
    Compressed { nodes: map(placed.len(), 1 << 10, &|at| words(&placed[at])), order }
}

/// Assigns children to the places whose directions suit them best. Bit `k` of a place is 1 for the upper side along
/// axis `k`.
fn places(children: &Children) -> Children {
    let center = |bounds: &Bounds, k: usize| bounds[0][k] + bounds[1][k];
    let present = || children.iter().flatten().map(|(bounds, _)| bounds);
    let n = present().count().max(1) as f32;
    let middle: [f32; 3] = std::array::from_fn(|k| present().map(|bounds| center(bounds, k)).sum::<f32>() / n);
    let mut pairs = [(f32::NEG_INFINITY, 0, 0); LANES * LANES];
    for (child, bounds) in children.iter().enumerate().filter_map(|(at, child)| Some((at, &child.as_ref()?.0))) {
        for place in 0..LANES {
            let along = |k: usize| (center(bounds, k) - middle[k]) * if place >> k & 1 == 1 { 1.0 } else { -1.0 };
            pairs[child * LANES + place] = ((0..3).map(along).sum(), child, place);
        }
    }
    pairs.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut placed = [None; LANES];
    let mut left = *children;
    for (_, child, place) in pairs {
        if placed[place].is_none() {
            placed[place] = left[child].take();
        }
    }
    placed
}

/// Encodes a node as words.
fn words(node: &Placed) -> [u32; WORDS] {
    let mut words = [0; WORDS];
    let mut inner = 0;
    for (place, (_, child)) in
        node.children.iter().enumerate().filter_map(|(place, child)| Some((place, child.as_ref()?)))
    {
        match child {
            Child::Below(_) => inner |= 1 << place,
            Child::Item(_) => words[6] |= 1 << place,
        }
    }
    (words[3], words[4], words[5]) = (inner << 24, node.first_node, node.first_item);
    for k in 0..3 {
        let present = || node.children.iter().flatten().map(|(bounds, _)| (bounds[0][k], bounds[1][k]));
        let lo = present().fold(f32::INFINITY, |lo, (x, _)| lo.min(x));
        let extent = present().map(|(_, x)| f64::from(x) - f64::from(lo)).fold(0.0, f64::max);
        // The smallest power of two of which 255 steps cover the extent.
        let mut exponent = 1u32;
        while exponent < 254 && extent > 255.0 * step(exponent) {
            exponent += 1;
        }
        words[k] = lo.to_bits();
        words[3] |= exponent << (8 * k);
        for place in 0..LANES {
            let (word, shift) = (2 * k + place / 4, 8 * (place % 4));
            let [mut from, mut to] = [255, 0];
            if let Some((bounds, _)) = &node.children[place] {
                let steps = |x: f32| (f64::from(x) - f64::from(lo)) / step(exponent);
                (from, to) = (steps(bounds[0][k]).floor() as u32, steps(bounds[1][k]).ceil() as u32);
            }
            words[8 + word] |= from << shift;
            words[14 + word] |= to << shift;
        }
    }
    words
}

/// Returns the power of two with a biased exponent.
fn step(exponent: u32) -> f64 {
    f64::from(f32::from_bits(exponent << 23))
}

/// Returns the bounding box of corners.
pub(super) fn bounds_of(corners: &[[f32; 3]]) -> Bounds {
    corners.iter().fold([[f32::INFINITY; 3], [f32::NEG_INFINITY; 3]], |[lo, hi], corner| {
        [std::array::from_fn(|k| lo[k].min(corner[k])), std::array::from_fn(|k| hi[k].max(corner[k]))]
    })
}

/// Returns the children that a node of the CPU's tree has. `only` returns the item of a block that has a single one.
pub(super) fn children_of(node: &Node, only: impl Fn(usize) -> Option<(Bounds, Child)>) -> Children {
    std::array::from_fn(|lane| {
        let corner = |from: usize| std::array::from_fn(|k| node.bounds[from + k][lane]);
        let (is_there, below) = (node.bounds[0][lane] < f32::INFINITY, node.child[lane]);
        let own = || Some(([corner(0), corner(3)], Child::Below(below)));
        is_there.then(|| block(below).and_then(&only).or_else(own)).flatten()
    })
}

/// Returns the number of a block, or `None` if `at` is the number of a node.
pub(super) fn block(at: u32) -> Option<usize> {
    (at & BLOCK != 0).then_some((at & !BLOCK) as usize)
}

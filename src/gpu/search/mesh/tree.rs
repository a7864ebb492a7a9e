//! The buffers of a compressed tree, and the state of a walk through it.
//!
//! In: the number of a node. Out: its children, and a walk through the tree, group by group, in the order of a ray's
//! octant.

use cubecl::prelude::*;

use crate::gpu::buffer::Buffer;
use crate::gpu::search::mesh::compressed::Compressed;

/// An array of groups of four words, each group loaded at once.
pub(in crate::gpu::search) type Vec4 = Array<Vector<u32, Const<4>>>;

/// The number of vectors of a node.
pub(super) const VECTORS: u32 = 5;

/// The number of vectors of a triangle, one for each corner.
pub(super) const CORNERS: u32 = 3;

/// The number of vectors of a box.
pub(super) const BOX_CORNERS: u32 = 2;

/// The maximum number of levels. Trees of the CPU have at most 57: those built without restriction, those that halve
/// 2^31 items, and a block's. Trees that are built on the device have at most 66: see `build::collapse`.
pub(super) const LEVELS: usize = 68;

/// The tree on a device.
#[derive(Clone, Debug)]
pub(in crate::gpu::search) struct Tree {
    /// The nodes, followed by the triangles in the order of the leaves and in the unit of the tree. A triangle has
    /// three corners of four words. In a tree of boxes that was built on the device, boxes with two corners follow.
    pub words: Buffer<u32>,
    /// The index of the first triangle's first vector.
    pub triangles: u32,
    /// Boxes or balls in the order of the leaves. Empty for triangles, whose indices are stored with their corners.
    order: Buffer<u32>,
}

impl Tree {
    /// Copies nodes, and triangles if there are any, to the device.
    pub(super) fn new<R: Runtime>(client: &ComputeClient<R>, compressed: &Compressed, triangles: &[u32]) -> Self {
        let nodes = compressed.nodes.as_flattened();
        Self {
            words: Buffer::from_slice(client, &[nodes, triangles].concat()),
            triangles: (nodes.len() / 4) as u32,
            order: Buffer::from_slice(client, if triangles.is_empty() { &compressed.order } else { &[] }),
        }
    }

    /// Creates a tree of triangles from its words. The first triangle's first vector has the index `triangles`.
    pub fn from_words<R: Runtime>(client: &ComputeClient<R>, words: Buffer<u32>, triangles: u32) -> Self {
        Self { words, triangles, order: Buffer::new(client, 0) }
    }

    /// Returns the number of nodes.
    pub fn nodes(&self) -> usize {
        (self.triangles / VECTORS) as usize
    }

    pub fn arg<R: Runtime>(&self) -> NodesLaunch<R> {
        NodesLaunch::new(self.words.quads(), self.triangles, self.order.arg())
    }
}

/// The kernel argument for a [`Tree`].
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu::search) struct Nodes {
    words: Vec4,
    triangles: u32,
    /// Boxes or balls in the order of the leaves.
    pub order: Array<u32>,
}

/// The bounds of a node's children along one axis, `lo + step * byte`.
#[derive(CubeType)]
pub(in crate::gpu::search) struct Axis {
    pub lo: f32,
    pub step: f32,
    /// The bytes of the lower bounds, four per word, and those of the upper bounds.
    pub from: Array<u32>,
    pub to: Array<u32>,
}

/// The children of a node.
#[derive(CubeType)]
pub(in crate::gpu::search) struct Node {
    first_node: u32,
    first_item: u32,
    /// The places of child nodes, and those of child items.
    inner: u32,
    items: u32,
    pub x: Axis,
    pub y: Axis,
    pub z: Axis,
}

#[cube]
impl Nodes {
    pub fn node(&self, at: u32) -> Node {
        read_node(&self.words, at * VECTORS)
    }

    /// Reads the box at a position, of a tree of boxes.
    pub fn boxed(&self, position: u32) -> StoredBox {
        let first = (self.triangles + position * BOX_CORNERS) as usize;
        let (lo, hi) = (self.words[first], self.words[first + 1]);
        let mut corners = Array::<f32>::new(6usize);
        #[unroll]
        for k in 0..3usize {
            corners[k] = f32::reinterpret(lo[k]);
            corners[k + 3] = f32::reinterpret(hi[k]);
        }
        StoredBox { corners, index: lo[3] }
    }

    /// Reads the triangle at a position.
    pub fn triangle(&self, position: u32) -> Triangle {
        read_triangle(&self.words, self.triangles + position * CORNERS)
    }
}

/// Reads the node whose first vector is `first`.
#[cube]
pub(super) fn read_node(words: &Vec4, first: u32) -> Node {
    let first = first as usize;
    let (a, b) = (words[first], words[first + 1]);
    let (c, d, e) = (words[first + 2], words[first + 3], words[first + 4]);
    let exponents = a[3];
    Node {
        first_node: b[0],
        first_item: b[1],
        inner: exponents >> 24,
        items: b[2],
        x: axis(a[0], exponents & 255, c[0], c[1], d[2], d[3]),
        y: axis(a[1], (exponents >> 8) & 255, c[2], c[3], e[0], e[1]),
        z: axis(a[2], (exponents >> 16) & 255, d[0], d[1], e[2], e[3]),
    }
}

/// Reads the triangle whose first vector is `first`.
#[cube]
pub(super) fn read_triangle(words: &Vec4, first: u32) -> Triangle {
    let first = first as usize;
    let mut corners = Array::<f32>::new(9usize);
    let mut index = 0u32.runtime();
    #[unroll]
    for corner in 0..3usize {
        let own = words[first + corner];
        #[unroll]
        for k in 0..3usize {
            corners[3 * corner + k] = f32::reinterpret(own[k]);
        }
        if comptime!(corner == 0) {
            index = own[3];
        }
    }
    Triangle { corners, index }
}

/// A box as the walk reads it.
#[derive(CubeType)]
pub(in crate::gpu::search) struct StoredBox {
    /// The lower corner in the unit of the tree, then the upper one.
    pub corners: Array<f32>,
    pub index: u32,
}

/// A triangle as the walk reads it.
#[derive(CubeType)]
pub(in crate::gpu::search) struct Triangle {
    /// The corners in the unit of the tree.
    pub corners: Array<f32>,
    pub index: u32,
}

#[cube]
impl Node {
    /// Returns `true` if there is a child at the place of a bit.
    pub fn has(&self, bit: u32) -> bool {
        (self.inner | self.items) & bit != 0
    }

    /// Returns the number of the child at the place of a bit: that of a node, or that of an item combined with
    /// `mark`.
    pub fn child(&self, bit: u32, mark: u32) -> u32 {
        let node = self.first_node + (self.inner & (bit - 1)).count_ones();
        let item = self.first_item + (self.items & (bit - 1)).count_ones();
        select(self.inner & bit != 0, node, item | mark)
    }
}

#[cube]
fn axis(lo: u32, exponent: u32, from: u32, from_upper: u32, to: u32, to_upper: u32) -> Axis {
    let (mut lower, mut upper) = (Array::<u32>::new(2usize), Array::<u32>::new(2usize));
    lower[0] = from;
    lower[1] = from_upper;
    upper[0] = to;
    upper[1] = to_upper;
    Axis { lo: f32::reinterpret(lo), step: f32::reinterpret(exponent << 23), from: lower, to: upper }
}

/// Returns one of four bytes as a number.
#[cube]
pub(super) fn byte(word: u32, #[comptime] at: u32) -> f32 {
    f32::cast_from((word >> comptime!(8 * at)) & 255)
}

/// Permutes places: bit `p` of the mask moves to `p ^ octant`, for two masks of eight bits side by side.
#[cube]
fn by_octant(mask: u32, octant: u32) -> u32 {
    let one = select(octant & 1 != 0, ((mask & 0x5555) << 1) | ((mask >> 1) & 0x5555), mask);
    let two = select(octant & 2 != 0, ((one & 0x3333) << 2) | ((one >> 2) & 0x3333), one);
    select(octant & 4 != 0, ((two & 0x0f0f) << 4) | ((two >> 4) & 0x0f0f), two)
}

/// The state of a walk: the remaining children of one node, those of nodes above, and the remaining items.
///
/// Children are numbered by octant here, so that the lowest bit is the nearest child.
#[derive(CubeType)]
pub(in crate::gpu::search) struct TreeWalk {
    /// The first node of the group, its remaining children, and the places of all its child nodes.
    group: Array<u32>,
    /// The first item of the group, the remaining items, and the places of all its items.
    items: Array<u32>,
    above: Array<u32>,
    above_left: Array<u32>,
    /// The number of groups above, and 1 while the walk continues.
    state: Array<u32>,
}

#[cube]
impl TreeWalk {
    /// Creates a walk that has ended.
    pub fn new() -> TreeWalk {
        let mut state = Array::<u32>::new(2usize);
        state[0] = 0;
        state[1] = 0;
        let mut items = Array::<u32>::new(3usize);
        items[1] = 0;
        TreeWalk {
            group: Array::<u32>::new(3usize),
            items,
            above: Array::<u32>::new(LEVELS),
            above_left: Array::<u32>::new(LEVELS),
            state,
        }
    }

    /// Starts the walk at the root.
    pub fn begin(&mut self, octant: u32) {
        self.group[0] = 0;
        self.group[1] = 1u32 << octant;
        self.group[2] = 1;
        self.items[1] = 0;
        self.state[0] = 0;
        self.state[1] = 1;
    }

    pub fn goes_on(&self) -> bool {
        self.state[1] != 0
    }

    /// Ends the walk.
    pub fn end(&mut self) {
        self.state[1] = 0;
        self.items[1] = 0;
    }

    pub fn has_items(&self) -> bool {
        self.items[1] != 0
    }

    /// Returns `true` if a node remains. Otherwise the walk ends.
    pub fn find_node(&mut self) -> bool {
        if self.group[1] == 0 {
            if self.state[0] == 0 {
                self.state[1] = 0;
            } else {
                let top = self.state[0] - 1;
                self.state[0] = top;
                let left = self.above_left[top as usize];
                self.group[0] = self.above[top as usize];
                self.group[1] = left & 255;
                self.group[2] = left >> 8;
            }
        }
        self.state[1] != 0
    }

    /// Takes the nearest node of the group, by octant.
    pub fn next_node(&mut self, octant: u32) -> u32 {
        let place = (self.group[1].find_first_set() - 1) ^ octant;
        let left = self.group[1] & (self.group[1] - 1);
        let node = self.group[0] + (self.group[2] & ((1u32 << place) - 1)).count_ones();
        if left != 0 {
            self.above[self.state[0] as usize] = self.group[0];
            self.above_left[self.state[0] as usize] = left | (self.group[2] << 8);
            self.state[0] = self.state[0] + 1;
        }
        node
    }

    /// Continues with the children of a node that are set in `hits`, a bit for each place.
    pub fn enter(&mut self, node: &Node, hits: u32, octant: u32) {
        let both = by_octant((hits & node.inner) | ((hits & node.items) << 8), octant);
        self.group[0] = node.first_node;
        self.group[1] = both & 255;
        self.group[2] = node.inner;
        self.items[0] = node.first_item;
        self.items[1] = both >> 8;
        self.items[2] = node.items;
    }

    /// Takes the position of the nearest item, by octant.
    pub fn next_item(&mut self, octant: u32) -> u32 {
        let place = (self.items[1].find_first_set() - 1) ^ octant;
        self.items[1] = self.items[1] & (self.items[1] - 1);
        self.items[0] + (self.items[2] & ((1u32 << place) - 1)).count_ones()
    }
}

//! Windows of 32 nodes, consecutive in depth-first order, that the threads of a warp test together.
//!
//! Each thread tests one node against the boxes around the warp's queries. Nodes below one that is too far are
//! excluded. The next window begins at the rope of the last such node, so a window replaces many steps of a walk.
//! Leaves come in the order of the tree.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::packet::Packet;
use crate::gpu::bvh::traverse::spec::{EMPTY, Tree, UNIFORM};
use crate::gpu::metric::{corners, min_distance2};
use crate::gpu::primitives::warp::{WIDTH, Warp, warp_any, warp_ballot, warp_or, warp_shuffle};

/// The number of leaves that are accepted without a test at first. Also the number of misses that are tolerated
/// before each query is tested at each node.
const PATIENCE: u32 = 64;

/// A window, and how effective windows have been so far.
#[derive(CubeType)]
pub(in crate::gpu) struct Windows<F: Float> {
    /// The number of nodes.
    end: u32,
    /// If `asking` is set, each query is tested at nodes that are uniform or whose squared diagonal is at most this.
    small: F,
    #[cube(comptime)]
    asking: bool,
    #[cube(comptime)]
    warp: Warp,
    /// Bits of the leaves that the walk enters, and of the nodes at which each query is tested.
    leaves: RuntimeCell<u32>,
    asks: RuntimeCell<u32>,
    /// The first node of the next window.
    next: RuntimeCell<u32>,
    /// The number of accepted leaves, and of those among them that were near the boxes but near no query.
    taken: RuntimeCell<u32>,
    missed: RuntimeCell<u32>,
}

#[cube]
pub(in crate::gpu) fn windows<F: Float>(
    end: u32,
    small: F,
    #[comptime] asking: bool,
    #[comptime] warp: Warp,
) -> Windows<F> {
    Windows::<F> {
        end,
        small,
        asking,
        warp,
        leaves: RuntimeCell::<u32>::new(0),
        asks: RuntimeCell::<u32>::new(0),
        next: RuntimeCell::<u32>::new(0),
        taken: RuntimeCell::<u32>::new(0),
        missed: RuntimeCell::<u32>::new(0),
    }
}

#[cube]
impl<F: Float> Windows<F> {
    /// Tests 32 nodes from `base` on for a distance of at most `limit` from the packet's boxes. `node_state` is the
    /// state of the thread's own node.
    pub fn test_window(&self, tree: &Tree<F>, packet: &Packet<F>, base: u32, limit: F, node_state: u32) {
        let warp = comptime!(self.warp);
        let unit = UNIT_POS % WIDTH;
        let node = min(base + unit, self.end);
        let rope = tree.links[node as usize][0];
        let d = comptime!(packet.d);
        let corners = corners::<F>(&tree.bounds, node, d);
        let near =
            base + unit < self.end && node_state != EMPTY && packet.min_distance2(&corners, &tree.sides) <= limit;
        // Nodes below one that is too far are cut off.
        let cut = warp_or(select(near, 0u32, below(unit, rope - base)), warp);
        let far = warp_ballot(!near, warp) & !cut;
        let entered = warp_ballot(near, warp) & !cut;
        self.leaves.store(warp_ballot(rope == node + 1, warp) & entered);
        if comptime!(self.asking) {
            let mut diagonal2 = F::new(0.0);
            #[unroll]
            for k in 0..d {
                let side = corners[d + k] - corners[k];
                diagonal2 += side * side;
            }
            self.asks.store(warp_ballot(node_state == UNIFORM || diagonal2 <= self.small, warp) & entered);
        }
        // Among the nodes that are too far, the last one has the farthest rope.
        let last = warp_shuffle::<u32>(rope, 31 - min(far.leading_zeros(), 31u32), warp);
        self.next.store(max(base + WIDTH, select(far != 0, last, 0u32)));
    }

    /// Tests one node with each query. Used if the queries are so far apart that the boxes around them are
    /// ineffective.
    pub fn test_node(&self, tree: &Tree<F>, node: u32, near: bool, asks: bool) {
        let rope = tree.links[node as usize][0];
        let any = warp_any(near, comptime!(self.warp));
        self.leaves.store(u32::cast_from(any && rope == node + 1));
        self.asks.store(u32::cast_from(any && asks));
        self.next.store(select(any, node + 1, rope));
    }

    /// Returns `true` if many leaves were near the boxes but near no query.
    pub fn are_ineffective(&self) -> bool {
        self.missed.read() > PATIENCE
    }

    /// Returns the nodes to stop at: leaves, and nodes at which each query is tested.
    pub fn stops(&self) -> u32 {
        self.leaves.read() | self.asks.read()
    }

    pub fn is_leaf(&self, bit: u32) -> bool {
        (self.leaves.read() >> bit) & 1 != 0
    }

    pub fn tests_queries(&self, bit: u32) -> bool {
        let mut asks = false.runtime();
        if comptime!(self.asking) {
            asks = (self.asks.read() >> bit) & 1 != 0;
        }
        asks
    }

    pub fn next(&self) -> u32 {
        self.next.read()
    }

    /// Returns `true` if a query that `wants` a leaf should take it. Leaves are tested only after many were accepted.
    pub fn takes(
        &self,
        tree: &Tree<F>,
        packet: &Packet<F>,
        leaf: u32,
        point: &Array<F>,
        limit: F,
        wants: bool,
    ) -> bool {
        let mut is_far = false.runtime();
        self.taken.store(self.taken.read() + 1);
        if self.taken.read() > PATIENCE {
            let (d, periodic) = comptime!((packet.d, packet.periodic));
            let corners = corners::<F>(&tree.bounds, leaf, d);
            is_far = min_distance2::<F>(&corners, point, &tree.sides, d, periodic) > limit;
            if !warp_any(wants && !is_far, comptime!(self.warp)) {
                self.missed.store(self.missed.read() + 1);
            }
        }
        wants && !is_far
    }
}

/// Returns the bits of the nodes below the one at `bit`. `rope` is the distance from the window's first node to that
/// node's rope.
#[cube]
pub(in crate::gpu) fn below(bit: u32, rope: u32) -> u32 {
    // A shift by 32 would shift by 0.
    let behind = select(rope < WIDTH, !0u32 << (rope % WIDTH), 0u32);
    ((!0u32 << bit) << 1) & !behind
}

//! The points of a group's runs, one packet after the other, those around the group first.
//!
//! In: the runs of a group of 32 stored points (`runs`). Out: packets of points near the boxes around the group. Searches
//! whose limits fall while they find points begin with the points around the group, because these lower limits most.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::packet::Packet;
use crate::gpu::bvh::traverse::runs::{RUNS, Runs};
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::primitives::warp::WIDTH;

/// The points of a group that were not queued yet.
#[derive(CubeType)]
pub(in crate::gpu) struct Feed {
    group: u32,
    /// The number of runs.
    count: u32,
    /// The points around the group, which come first.
    begin: u32,
    end: u32,
    /// Four numbers: the next of the points around the group, the next run, and the rest of the current one.
    state: Array<u32>,
}

#[cube]
impl Feed {
    /// Begins with a group among `n` points that has `count` runs.
    pub fn new(group: u32, count: u32, n: u32) -> Feed {
        let begin = max(group * WIDTH, WIDTH) - WIDTH;
        let mut state = Array::<u32>::new(4usize);
        state[0] = begin;
        #[unroll]
        for at in 1..4usize {
            state[at] = 0;
        }
        Feed { group, count, begin, end: min(group * WIDTH + 2 * WIDTH, n), state }
    }

    /// Queues the next points: the next 32 around the group, or those within the limits of the boxes until the packet is
    /// full. Returns `false` if no points remain. The packet then holds the last ones, if any.
    pub fn fill<F: Float>(&mut self, packet: &mut Packet<F>, tree: &Tree<F>, runs: &Runs, limits: &Array<F>) -> bool {
        let mut goes_on = true.runtime();
        let around = self.state[0];
        if around < self.end {
            packet.enqueue_all(tree, around, min(self.end - around, WIDTH));
            self.state[0] = around + WIDTH;
        } else {
            while !packet.is_full() && (self.state[2] < self.state[3] || self.state[1] < self.count) {
                if self.state[2] >= self.state[3] {
                    let range = runs.ranges[(self.group * RUNS + self.state[1]) as usize];
                    self.state[2] = range[0];
                    self.state[3] = range[1];
                    self.state[1] = self.state[1] + 1;
                }
                // The points from `begin` to `end` were the first ones.
                let (first, behind) = (self.state[2], self.state[3]);
                let first = select(first >= self.begin && first < self.end, self.end, first);
                let stop = select(first < self.begin, min(behind, self.begin), behind);
                if first < stop {
                    packet.enqueue_swept(tree, first, stop, limits, true.runtime(), false);
                }
                self.state[2] = first + WIDTH;
            }
            if !packet.is_full() {
                packet.want_queued();
                goes_on = false.runtime();
            }
        }
        goes_on
    }
}

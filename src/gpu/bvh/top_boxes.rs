//! The top of a tree, as boxes that contain all points: the GPU counterpart of `tops` in `distributed::regions`.
//!
//! In: a tree. Out: the boxes of the uppermost nodes with at most a given number of points.
//! Cost: one or a few passes over the nodes; 4 bytes per node.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::Aabb;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::device::on;
use crate::gpu::primitives::compact::Compact;
use crate::gpu::primitives::gather::{Layout, gather};

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Returns at most `most` boxes, or one if `most` is 0, that contain all points.
    pub(crate) fn tops(&self, most: usize) -> Result<Vec<Aabb<S, D>>> {
        let Some(nodes) = &self.nodes else { return Ok(vec![]) };
        on!(self.device, client => {
            let (end, dim) = (nodes.end(), CubeDim::new_1d(THREADS_PER_BLOCK));
            let mut fill = self.len().div_ceil(most.max(1)).max(1);
            loop {
                let flags = Buffer::<u32>::filled(client, end + 1, 0);
                let limit = fill.min(self.len()) as u32;
                flag_tops::launch::<_>(client, blocks_for(end), dim, nodes.links.arg(), flags.arg(), end as u32, limit);
                let found = Compact::new(client, flags)?;
                // With a limit equal to the number of points, the root is flagged.
                if found.len > most && fill < self.len() {
                    fill *= 2;
                    continue;
                }
                let corners = gather(client, &nodes.bounds, &found.items(client), 2 * D, Layout::Rows).read(client)?;
                let (corners, _) = corners.as_chunks::<D>();
                return Ok(corners.chunks_exact(2).map(|both| Aabb { lo: both[0], hi: both[1] }).collect());
            }
        })
    }
}

/// Flags the nodes with at most `limit` points below nodes with more, and leaves whatever their size. Each node flags
/// its children.
#[cube(launch)]
fn flag_tops(links: &Array<u32>, flags: &mut Array<u32>, end: u32, limit: u32) {
    let at = ABSOLUTE_POS as u32;
    if at < end {
        let is_open = has_more(links, at, limit);
        if at == 0 && !is_open {
            flags[0] = 1;
        }
        if is_open {
            let left = at + 1;
            let right = links[2 * left as usize];
            if !has_more(links, left, limit) {
                flags[left as usize] = 1;
            }
            if !has_more(links, right, limit) {
                flags[right as usize] = 1;
            }
        }
    }
}

/// Returns `true` if a node has children and more than `limit` points.
#[cube]
fn has_more(links: &Array<u32>, at: u32, limit: u32) -> bool {
    let rope = links[2 * at as usize];
    let first = links[2 * at as usize + 1];
    let behind = links[2 * rope as usize + 1];
    rope != at + 1 && behind - first > limit
}

#[cfg(test)]
mod tests {
    use crate::gpu::{Bvh, Device};

    #[test]
    fn boxes_are_few_and_hold_everything() {
        let device = Device::first().unwrap();
        for n in [0usize, 1, 40, 5000] {
            let points: Vec<[f32; 2]> = (0..n).map(|i| [(i * i % 4099) as f32, (i % 83) as f32]).collect();
            let bvh = Bvh::build(&points, device).unwrap();
            for most in [1, 7, 100] {
                let boxes = bvh.tops(most).unwrap();
                assert!(boxes.len() <= most.max(1));
                assert_eq!(boxes.is_empty(), n == 0);
                let holds = |point: &[f32; 2]| {
                    boxes.iter().any(|of| (0..2).all(|k| of.lo[k] <= point[k] && point[k] <= of.hi[k]))
                };
                assert!(points.iter().all(holds), "{n} points, {most} boxes");
            }
        }
    }
}

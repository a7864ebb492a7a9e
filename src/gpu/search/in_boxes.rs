//! Queries for the stored points that are in any of a few boxes.
//!
//! In: boxes. Out: the points, each once, in the order of the tree.
//! Each thread reads a leaf. If it meets one of the boxes, each of its points is compared with all boxes. So a box
//! with many points takes no longer than others, as it would if one thread walked for it.
//! Cost: O(leaves · boxes). Each call clears and counts a flag per stored point, with 4 bytes per point while it
//! runs.

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::Aabb;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::device::on;
use crate::gpu::metric::corners;
use crate::gpu::primitives::compact::Compact;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::search::boxes::{BoxSpec, ends_of, takes};

impl<S: Coordinate, const D: usize> Bvh<S, D> {
    /// Returns the indices of the points in any of the boxes or on their faces, each once.
    pub(crate) fn in_boxes(&self, boxes: &[Aabb<S, D>]) -> Result<Vec<u32>> {
        let Some(nodes) = self.nodes.as_ref().filter(|_| !boxes.is_empty()) else { return Ok(vec![]) };
        on!(self.device, client => {
            let (ends, images) = ends_of(&self.space, boxes);
            let (ends, flags) = (Buffer::from_slice(client, &ends), Buffer::<u32>::filled(client, self.len() + 1, 0));
            let (end, tree) = (nodes.end(), self.tree(client, nodes));
            let spec = BoxSpec { d: D, images, lists: true };
            let (n, end, dim) = (boxes.len() as u32, end as u32, CubeDim::new_1d(THREADS_PER_BLOCK));
            flag_points::launch::<S, _>(client, blocks_for(end as usize), dim, tree, ends.arg(), flags.arg(), n, end, spec);
            let places = Compact::new(client, flags)?.items(client);
            gather(client, &self.order, &places, 1, Layout::Rows).read(client)
        })
    }
}

/// Flags the points that are in any of `n` boxes. `end` is the number of nodes.
#[cube(launch)]
fn flag_points<F: Float>(
    tree: &Tree<F>,
    ends: &Array<F>,
    flags: &mut Array<u32>,
    n: u32,
    end: u32,
    #[comptime] spec: BoxSpec,
) {
    let at = ABSOLUTE_POS as u32;
    if at < end {
        let link = tree.links[at as usize];
        if link[0] == at + 1 {
            let d = comptime!(spec.d);
            let behind = tree.links[link[0] as usize][1];
            let corners = corners::<F>(&tree.bounds, at, d);
            if any_takes::<F>(ends, &corners, n, spec) {
                let mut point = Array::<F>::new(comptime!(2 * spec.d));
                for place in link[1]..behind {
                    #[unroll]
                    for k in 0..d {
                        point[k] = tree.axes[k * tree.stored as usize + place as usize];
                        point[d + k] = point[k];
                    }
                    if any_takes::<F>(ends, &point, n, spec) {
                        flags[place as usize] = 1;
                    }
                }
            }
        }
    }
}

/// Returns `true` if any of `n` boxes meets the box between `corners`.
#[cube]
fn any_takes<F: Float>(all: &Array<F>, corners: &Array<F>, n: u32, #[comptime] spec: BoxSpec) -> bool {
    let width = comptime!(2 * spec.images * spec.d);
    let mut ends = Array::<F>::new(width);
    // In an array, because one of cubecl's optimisers fails on loop variables.
    let mut found = Array::<u32>::new(1usize);
    found[0] = 0;
    for of in 0..n {
        if found[0] == 0 {
            #[unroll]
            for at in 0..width {
                ends[at] = all[of as usize * width + at];
            }
            if takes::<F>(&ends, corners, false, spec) {
                found[0] = 1;
            }
        }
    }
    found[0] == 1
}

#[cfg(test)]
mod tests {
    use crate::Aabb;
    use crate::geometry::Space;
    use crate::gpu::{Bvh, Device, Points};

    #[test]
    fn points_are_those_in_any_box() {
        let device = Device::first().unwrap();
        let points: Vec<[f32; 2]> = (0..3000).map(|i| [(i * i % 4099) as f32 / 41.0, (i % 83) as f32]).collect();
        let boxes = [
            Aabb::new([10.0f32, 10.0], [30.0, 20.0]),
            Aabb::new([20.0, 15.0], [25.0, 90.0]),
            Aabb::new([-5.0, 70.0], [3.0, 104.0]),
            Aabb::new([7.0, 7.0], [6.0, 8.0]),
        ];
        for space in [Space::OPEN, Space::periodic(100.0).unwrap()] {
            let bvh = Bvh::from_points(&Points::new_in(&points, space, device).unwrap()).unwrap();
            let mut found = bvh.in_boxes(&boxes).unwrap();
            found.sort_unstable();
            // Brute force over the images.
            let shifts = if space.period().is_some() { vec![-100.0, 0.0, 100.0] } else { vec![0.0] };
            let is_in = |at: &u32| {
                let [x, y] = points[*at as usize];
                let image = |dx: f32, dy: f32| boxes.iter().any(|bounds| bounds.contains([x + dx, y + dy]));
                shifts.iter().any(|&dx| shifts.iter().any(|&dy| image(dx, dy)))
            };
            let expected: Vec<u32> = (0..3000).filter(is_in).collect();
            assert!(expected.len() > 100 && expected.len() < 1500);
            assert_eq!(found, expected);
            assert!(bvh.in_boxes(&[]).unwrap().is_empty());
        }
    }
}

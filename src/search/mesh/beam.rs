//! Tests of a node against several rays at once.
//!
//! Input: rays that go up or down along the same axes. Output: for each child of a node, a lower bound on where the
//! first of them enters it, and whether all of them enter it.
//! Cost: twice that of one ray. Source: Reshetov, Soupikov and Hurley 2005 (interval arithmetic).

use crate::search::mesh::frame::FrameRay;
use crate::search::mesh::rays::keys_between;
use crate::search::mesh::wide_node::Node;
use crate::search::mesh::wide_tree::{higher, lower};
use crate::simd::{Isa, Lanes};

/// The intervals of the numbers of several rays that go in the same direction along each axis. Each pair is in
/// ascending order along axes on which the rays go up, and in descending order on the other axes.
pub(super) struct Beam {
    near: [[f32; 3]; 2],
    far: [[f32; 3]; 2],
    inverse: [[f32; 3]; 2],
    rows: [[usize; 3]; 2],
}

impl Beam {
    /// Creates the beam around rays; `None` without rays, or if two rays go in opposite directions along an axis.
    #[inline(always)]
    pub fn around<'a>(mut rays: impl Iterator<Item = &'a FrameRay>) -> Option<Self> {
        let first = rays.next()?;
        let (mut near, mut far, mut inverse) = ([first.near; 2], [first.far; 2], [first.inverse; 2]);
        for ray in rays {
            for (range, own) in [(&mut near, &ray.near), (&mut far, &ray.far), (&mut inverse, &ray.inverse)] {
                for k in 0..3 {
                    range[0][k] = lower(own[k], range[0][k]);
                    range[1][k] = higher(own[k], range[1][k]);
                }
            }
        }
        for k in 0..3 {
            if inverse[0][k] < 0.0 {
                if inverse[1][k] > 0.0 {
                    return None;
                }
                for [low, high] in [&mut near, &mut far, &mut inverse] {
                    std::mem::swap(&mut low[k], &mut high[k]);
                }
            }
        }
        Some(Self { near, far, inverse, rows: [first.near_row, first.far_row] })
    }

    /// Computes a lower bound on the keys of all rays for each child of a node, and a mask of the children that all
    /// rays enter.
    ///
    /// Differences and products round monotonically, so bounds on their inputs give bounds on their results. A
    /// negative result lies before the start of the ray, with either inverse.
    #[inline(always)]
    pub fn keys<I: Isa>(&self, isa: I, node: &Node) -> (Lanes<f32>, u32) {
        let [small, large] = &self.inverse;
        let least = keys_between([&self.near[1], small], [&self.far[0], large], &self.rows, node);
        let most = keys_between([&self.near[0], large], [&self.far[1], small], &self.rows, node);
        (least, isa.at_most_f32(&most, f32::MAX))
    }
}

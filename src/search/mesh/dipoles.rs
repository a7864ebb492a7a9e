//! Dipoles: far-field approximations of the triangles below each node and in each block of the tree.
//!
//! Input: a tree and the corners of its triangles. Output: for each node and block a normal, a centre and a radius,
//! and Taylor bounds on the approximation error.
//! Cost: O(n), parallel over blocks. Source: Barill et al. 2018.

use crate::memory::filled;
use crate::parallel::map;
use crate::search::mesh::wide_node::{BLOCK, Node};
use crate::search::mesh::wide_tree::WideTree;

/// A node is approximated by a dipole for points that are this many of its radii away.
pub(super) const FAR_RADII: f64 = 5.0;

/// The far-field approximation of some triangles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Dipole {
    /// The sum of the normals of the triangles, whose lengths are the areas.
    pub normal: [f64; 3],
    /// The mean position of the triangles, weighted by area.
    pub center: [f64; 3],
    /// An upper bound on the distance of all triangles from the centre.
    pub radius: f64,
    /// The error bound at distance d: the first number divided by d^3, plus the second divided by d^4.
    pub error_bounds: [f32; 2],
}

/// A dipole, and the moments from which the dipole of more triangles is computed.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    dipole: Dipole,
    area: f64,
    /// The integral of offsets from the centre times normals; `second` is the integral of squared offsets.
    first: [[f64; 3]; 3],
    second: f64,
}

/// The dipoles of nodes and blocks.
#[derive(Clone, Debug)]
pub(super) struct Dipoles {
    pub nodes: Vec<Dipole>,
    pub blocks: Vec<Dipole>,
}

pub(super) fn cross(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

pub(super) fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(super) fn minus(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| a[k] - b[k])
}

impl Moments {
    /// The moments of a triangle, without the radius.
    fn of_triangle([a, b, c]: &[[f64; 3]; 3]) -> Self {
        let normal = cross(&minus(b, a), &minus(c, a)).map(|x| 0.5 * x);
        let center = std::array::from_fn(|k| (a[k] + b[k] + c[k]) / 3.0);
        let area = dot(&normal, &normal).sqrt();
        let edges2: f64 = [minus(b, a), minus(c, b), minus(a, c)].iter().map(|edge| dot(edge, edge)).sum();
        let dipole = Dipole { normal, center, ..Dipole::default() };
        Self { dipole, area, second: area * edges2 / 36.0, ..Self::default() }
    }

    /// The combined moments of several parts.
    fn joined(parts: &[Self]) -> Self {
        let mut all = Self::default();
        let Dipole { normal, center, radius, .. } = &mut all.dipole;
        for part in parts {
            all.area += part.area;
            for k in 0..3 {
                normal[k] += part.dipole.normal[k];
                center[k] += part.area * part.dipole.center[k];
            }
        }
        *center = if all.area > 0.0 {
            center.map(|x| x / all.area)
        } else {
            parts.first().map_or([0.0; 3], |part| part.dipole.center)
        };
        for part in parts {
            let off = minus(&part.dipole.center, center);
            let distance2 = dot(&off, &off);
            all.second += part.second + part.area * distance2;
            for (k, row) in all.first.iter_mut().enumerate() {
                (0..3).for_each(|l| row[l] += part.first[k][l] + off[k] * part.dipole.normal[l]);
            }
            *radius = radius.max(distance2.sqrt() + part.dipole.radius);
        }
        all
    }

    /// The dipole with its error bounds. The derivative of the field x / |x|^3 is symmetric and has no trace; its
    /// norm is sqrt(6) / d^3. The second derivatives are at most 6 / d^4, where d is the distance of the nearest
    /// point.
    fn bounded(&self) -> Dipole {
        let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = self.first;
        let third = (xx + yy + zz) / 3.0;
        let diagonal: f64 = [xx, yy, zz].iter().map(|x| (x - third).powi(2)).sum();
        let square = diagonal + 0.5 * ((xy + yx).powi(2) + (xz + zx).powi(2) + (yz + zy).powi(2));
        let up = |x: f64| (x * (1.0 + 1e-6)) as f32;
        let error_bounds = [up((6.0 * square).sqrt()), up(3.0 * self.second / (1.0 - 1.0 / FAR_RADII).powi(4))];
        Dipole { error_bounds, ..self.dipole }
    }
}

impl Dipoles {
    /// Computes the dipoles of a tree with the triangles `corners(triangle)`.
    pub fn new(tree: &WideTree, corners: &(dyn Fn(usize) -> [[f64; 3]; 3] + Sync)) -> Self {
        let blocks = map(tree.blocks.len(), 1 << 10, &|block| {
            let own = tree.blocks[block].triangle.iter().filter(|&&triangle| triangle != u32::MAX);
            let triangles: Vec<_> = own.map(|&triangle| corners(triangle as usize)).collect();
            let mut all = Moments::joined(&triangles.iter().map(Moments::of_triangle).collect::<Vec<_>>());
            for corner in triangles.as_flattened() {
                let off = minus(corner, &all.dipole.center);
                all.dipole.radius = all.dipole.radius.max(dot(&off, &off).sqrt());
            }
            all
        });
        let mut nodes = filled(tree.nodes.len(), Moments::default());
        // Children come after their parents.
        for at in (0..nodes.len()).rev() {
            let parts: Vec<Moments> = children(&tree.nodes[at])
                .map(|child| if child & BLOCK == 0 { nodes[child as usize] } else { blocks[(child ^ BLOCK) as usize] })
                .collect();
            nodes[at] = Moments::joined(&parts);
        }
        let bounded = |all: &[Moments]| all.iter().map(Moments::bounded).collect();
        Self { nodes: bounded(&nodes), blocks: bounded(&blocks) }
    }
}

/// The children of a node, without empty ones.
pub(super) fn children(node: &Node) -> impl Iterator<Item = u32> {
    node.child.iter().zip(&node.bounds[0]).filter(|(_, lo)| **lo < f32::INFINITY).map(|(&child, _)| child)
}

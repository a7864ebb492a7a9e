//! Inside and outside: winding numbers.
//!
//! In: a point. Out: how often the surface goes around it, the sum of the solid angles of its triangles over `4 pi`.
//! Triangles nearby are summed as they are; those below a node that is far away, measured by its radius, are one dipole.
//! Cost: O(log n) on a compact mesh. Source: van Oosterom and Strackee 1983 (solid angles); Jacobson, Kavan and Sorkine-Hornung 2013; Barill
//! et al. 2018 (dipoles).

use std::f64::consts::PI;

use crate::geometry::Scalar;
use crate::parallel::map;
use crate::search::mesh::Mesh;
use crate::search::mesh::batch::in_turn;
use crate::search::mesh::wide_tree::{BLOCK, Node, WideTree};

/// A node is a dipole to points that are this many of its radii away.
const FAR: f64 = 5.0;

/// Points per parallel task.
const TASK: usize = 1 << 7;

/// Triangles seen from far away.
#[derive(Clone, Copy, Debug, Default)]
struct Dipole {
    /// The sum of the triangles' normals, as long as their areas.
    normal: [f64; 3],
    /// Their mean place, weighted by area.
    center: [f64; 3],
    area: f64,
    /// No triangle reaches farther from the centre.
    radius: f64,
}

/// The dipoles of nodes and blocks.
#[derive(Clone, Debug)]
pub(super) struct Dipoles {
    nodes: Vec<Dipole>,
    blocks: Vec<Dipole>,
}

fn cross(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn minus(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| a[k] - b[k])
}

impl Dipole {
    /// Of a triangle; its radius is not known yet.
    fn of_triangle([a, b, c]: &[[f64; 3]; 3]) -> Self {
        let normal = cross(&minus(b, a), &minus(c, a)).map(|x| 0.5 * x);
        let center = std::array::from_fn(|k| (a[k] + b[k] + c[k]) / 3.0);
        Self { normal, center, area: dot(&normal, &normal).sqrt(), radius: 0.0 }
    }

    /// Of several.
    fn joined(parts: &[Self]) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.area += part.area;
            for k in 0..3 {
                all.normal[k] += part.normal[k];
                all.center[k] += part.area * part.center[k];
            }
        }
        all.center = if all.area > 0.0 {
            all.center.map(|x| x / all.area)
        } else {
            parts.first().map_or([0.0; 3], |part| part.center)
        };
        let reach = |part: &Self| {
            let off = minus(&part.center, &all.center);
            dot(&off, &off).sqrt() + part.radius
        };
        all.radius = parts.iter().map(reach).fold(0.0, f64::max);
        all
    }
}

impl Dipoles {
    /// Of a tree, whose triangles are `corners(triangle)`.
    pub fn of(tree: &WideTree, corners: &(dyn Fn(usize) -> [[f64; 3]; 3] + Sync)) -> Self {
        let blocks = map(tree.blocks.len(), 1 << 10, &|block| {
            let own = tree.blocks[block].triangle.iter().filter(|&&triangle| triangle != u32::MAX);
            let triangles: Vec<_> = own.map(|&triangle| corners(triangle as usize)).collect();
            let mut all = Dipole::joined(&triangles.iter().map(Dipole::of_triangle).collect::<Vec<_>>());
            for corner in triangles.as_flattened() {
                let off = minus(corner, &all.center);
                all.radius = all.radius.max(dot(&off, &off).sqrt());
            }
            all
        });
        let mut nodes = vec![Dipole::default(); tree.nodes.len()];
        // Children come after their parents.
        for at in (0..nodes.len()).rev() {
            let parts: Vec<Dipole> = children(&tree.nodes[at])
                .map(|child| if child & BLOCK == 0 { nodes[child as usize] } else { blocks[(child ^ BLOCK) as usize] })
                .collect();
            nodes[at] = Dipole::joined(&parts);
        }
        Self { nodes, blocks }
    }
}

/// The children that are there.
fn children(node: &Node) -> impl Iterator<Item = u32> {
    node.child.iter().zip(&node.bounds[0]).filter(|(_, lo)| **lo < f32::INFINITY).map(|(&child, _)| child)
}

impl<S: Scalar> Mesh<S> {
    /// How often the surface goes around a point: 1 inside of a closed surface whose faces turn counterclockwise as seen from outside, 0
    /// outside of it, and in between about holes. On the surface it is any of the values beside it. NaN if the point is not finite.
    ///
    /// It is approximate: triangles far away are taken together, which changes it by less than a hundredth where it was measured.
    ///
    /// ```
    /// let corners = [[0.0f64, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    /// let mesh = ropewalk::Mesh::build(&corners, &[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])?;
    /// assert!((mesh.winding_number([0.1, 0.1, 0.1]) - 1.0).abs() < 1e-12);
    /// assert!(mesh.winding_number([1.0, 1.0, 1.0]).abs() < 1e-12);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn winding_number(&self, point: impl Into<[S; 3]>) -> f64 {
        let point: [f64; 3] = point.into().map(Into::into);
        if !point.iter().all(|x| x.is_finite()) {
            return f64::NAN;
        }
        if self.is_empty() {
            return 0.0;
        }
        let from = self.frame.place(point);
        let mut sum = 0.0;
        let mut left = vec![self.tree.root];
        while let Some(child) = left.pop() {
            let at = (child & !BLOCK) as usize;
            let dipole = if child & BLOCK == 0 { &self.dipoles.nodes[at] } else { &self.dipoles.blocks[at] };
            let to = minus(&dipole.center, &from);
            let distance2 = dot(&to, &to);
            if distance2 > (FAR * dipole.radius).powi(2) {
                sum += dot(&dipole.normal, &to) / (distance2 * distance2.sqrt());
            } else if child & BLOCK == 0 {
                left.extend(children(&self.tree.nodes[at]));
            } else {
                for &triangle in self.tree.blocks[at].triangle.iter().filter(|&&triangle| triangle != u32::MAX) {
                    let corners = self.corners_of(triangle);
                    sum += solid_angle(&corners.map(|corner| minus(&self.frame.place(corner), &from)));
                }
            }
        }
        sum / (4.0 * PI)
    }

    /// Whether a point is inside: whether the surface goes around it more than half, whichever way its faces turn.
    ///
    /// For a closed mesh that does not cross itself this is the inside; about holes it is what is mostly enclosed. For points on the surface
    /// it is either.
    pub fn contains(&self, point: impl Into<[S; 3]>) -> bool {
        self.winding_number(point).abs() > 0.5
    }

    /// The distance to the surface, negative [inside](Mesh::contains). Infinite if there is no triangle; NaN if the point is not finite.
    ///
    /// ```
    /// let corners = [[0.0f32, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    /// let mesh = ropewalk::Mesh::build(&corners, &[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])?;
    /// assert_eq!(mesh.signed_distance([0.25, 0.25, 0.125]), -0.125);
    /// assert_eq!(mesh.signed_distance([0.25, 0.25, -1.0]), 1.0);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn signed_distance(&self, point: impl Into<[S; 3]>) -> f64 {
        let point = point.into();
        let Some(near) = self.nearest(point) else {
            return if point.iter().all(|x| x.abs() <= S::MAX) { f64::INFINITY } else { f64::NAN };
        };
        let distance = near.distance2.sqrt();
        if self.contains(point) { -distance } else { distance }
    }

    /// [`winding_number`](Mesh::winding_number) of each point, in parallel.
    pub fn winding_numbers(&self, points: &[[S; 3]]) -> Vec<f64> {
        self.of_each(points, &|point| self.winding_number(point))
    }

    /// [`signed_distance`](Mesh::signed_distance) of each point, in parallel.
    pub fn signed_distances(&self, points: &[[S; 3]]) -> Vec<f64> {
        self.of_each(points, &|point| self.signed_distance(point))
    }

    /// A number for each point, in parallel.
    fn of_each(&self, points: &[[S; 3]], number: &(dyn Fn([S; 3]) -> f64 + Sync)) -> Vec<f64> {
        in_turn(points, Some(&self.point_order(points)), TASK, &|points, found| {
            points.iter().zip(found).for_each(|(&point, found)| *found = number(point));
        })
    }
}

/// The solid angle of a triangle seen from the origin, positive where its corners turn clockwise.
fn solid_angle([a, b, c]: &[[f64; 3]; 3]) -> f64 {
    let [la, lb, lc] = [a, b, c].map(|x| dot(x, x).sqrt());
    let volume = dot(a, &cross(b, c));
    2.0 * volume.atan2(la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb)
}

//! Inside and outside tests by winding numbers.
//!
//! Input: a point. Output: the winding number of the surface around it, which is the sum of the solid angles of its
//! triangles over `4 pi`.
//! Near triangles are summed individually. Triangles below a node that is far away, measured by its radius, are one
//! dipole (`dipoles`). The approximation has an error bound, with which inside and outside are decided.
//! Cost: O(log n) on a compact mesh. Source: van Oosterom and Strackee 1983 (solid angles). Jacobson, Kavan and
//! Sorkine-Hornung 2013. Barill et al. 2018 (dipoles).

use std::f64::consts::PI;

use crate::geometry::Scalar;
use crate::precompiled::precompiled_in_space;
use crate::search::mesh::Mesh;
use crate::search::mesh::batch::run_ordered;
use crate::search::mesh::dipoles::{FAR_RADII, children, cross, dot, minus};
use crate::search::mesh::wide_node::BLOCK;

/// The maximum distance of dipoles, in radii of their nodes. If [`FAR_RADII`] does not decide between inside and
/// outside, the distance is doubled up to this one. After that, all triangles are summed.
const FARTHEST: f64 = 80.0;

/// The maximum error of a winding number that decides. Winding numbers of closed surfaces are integers, and then on
/// the correct side of a half. Near holes, the surface between inside and outside is displaced by as little.
const MAX_ERROR: f64 = 0.1;

/// Points per parallel task.
const TASK: usize = 1 << 7;

impl<S: Scalar> Mesh<S> {
    /// Computes the winding number of the surface around a point.
    ///
    /// It is 1 inside a closed surface whose faces are counterclockwise as seen from outside, 0 outside, and in
    /// between near holes. On the surface it is any of the adjacent values. NaN if the point is not finite.
    ///
    /// The result is approximate, because triangles far away are combined. For one surface (an octahedron of 8 to
    /// 20,000 triangles), this changed it by less than 0.01. The errors of many nested surfaces add up, to 0.6 for
    /// 500 spheres. [`contains`](Mesh::contains) does not rely on it.
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
        self.winding(&point, FAR_RADII)[0]
    }

    /// The winding number, and a bound on its error. Nodes are dipoles for points that are `far` of their radii away.
    fn winding(&self, point: &[f64; 3], far: f64) -> [f64; 2] {
        if self.is_empty() {
            return [0.0; 2];
        }
        let from = self.frame.place(*point);
        let (mut sum, mut error) = (0.0, 0.0);
        let mut pending = vec![self.tree.root];
        while let Some(child) = pending.pop() {
            let at = (child & !BLOCK) as usize;
            let dipole = if child & BLOCK == 0 { &self.dipoles.nodes[at] } else { &self.dipoles.blocks[at] };
            let to = minus(&dipole.center, &from);
            let distance2 = dot(&to, &to);
            if distance2 > (far * dipole.radius).powi(2) {
                let distance = distance2.sqrt();
                let cube = (distance2 * distance).recip();
                let [first, second] = dipole.error_bounds.map(f64::from);
                sum += dot(&dipole.normal, &to) * cube;
                error += (first + second / distance) * cube;
            } else if child & BLOCK == 0 {
                pending.extend(children(&self.tree.nodes[at]));
            } else {
                for &triangle in self.tree.blocks[at].triangle.iter().filter(|&&triangle| triangle != u32::MAX) {
                    let corners = self.corners_of(triangle);
                    sum += solid_angle(&corners.map(|corner| minus(&self.frame.place(corner), &from)));
                }
            }
        }
        [sum, error].map(|x| x / (4.0 * PI))
    }

    /// Returns `true` if a point is inside: if the magnitude of its winding number exceeds one half, for either
    /// orientation of the faces.
    ///
    /// For a closed mesh that does not intersect itself, this is the inside. For any number of nested meshes with the
    /// same orientation, it is the inside of any of them. Near holes it is the region that is mostly enclosed, up to
    /// a tenth. Points on the surface are either. `false` if the point is not finite.
    ///
    /// Triangles far away are combined as long as this cannot change the result. If hundreds of surfaces are nested,
    /// few triangles are combined, and the cost is up to O(n).
    pub fn contains(&self, point: impl Into<[S; 3]>) -> bool {
        let point: [f64; 3] = point.into().map(Into::into);
        if !point.iter().all(|x| x.is_finite()) {
            return false;
        }
        let mut far = FAR_RADII;
        loop {
            let [winding, error] = self.winding(&point, far);
            let is_known = error < MAX_ERROR || (winding.abs() - 0.5).abs() > error;
            if is_known || far == f64::INFINITY {
                return winding.abs() > 0.5;
            }
            far = if far < FARTHEST { 2.0 * far } else { f64::INFINITY };
        }
    }

    /// Computes the distance from a point to the surface, negative [inside](Mesh::contains). Infinite if the mesh has
    /// no triangles; NaN if the point is not finite or is beyond 1e150 in `f64`. For distances below 1e-150, see
    /// [`nearest`](Mesh::nearest).
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
            return if point.iter().all(|x| Into::<f64>::into(x.abs()) <= S::LIMIT) { f64::INFINITY } else { f64::NAN };
        };
        let distance = near.distance();
        if self.contains(point) { -distance } else { distance }
    }

    /// Computes the winding number around each point, as [`winding_number`](Mesh::winding_number) does, in parallel.
    /// Results are in the order of `points`.
    pub fn winding_numbers(&self, points: &[[S; 3]]) -> Vec<f64> {
        winding(self, points)
    }

    /// Computes the signed distance to the surface for each point, as [`signed_distance`](Mesh::signed_distance) does,
    /// in parallel. Results are in the order of `points`.
    pub fn signed_distances(&self, points: &[[S; 3]]) -> Vec<f64> {
        distances(self, points)
    }

    /// Tests for each point whether it is inside the surface, as [`contains`](Mesh::contains) does, in parallel.
    /// Results are in the order of `points`.
    pub fn contains_all(&self, points: &[[S; 3]]) -> Vec<bool> {
        inside(self, points)
    }

    /// A result for each point, computed in parallel.
    fn of_each<T: Copy + Default + Send + Sync>(
        &self,
        points: &[[S; 3]],
        answer: &(dyn Fn([S; 3]) -> T + Sync),
    ) -> Vec<T> {
        run_ordered(points, Some(&self.point_order(points)), TASK, &|points, found| {
            points.iter().zip(found).for_each(|(&point, found)| *found = answer(point));
        })
    }
}

precompiled_in_space! {
    fn winding = winding_of_each(mesh: same_ref &Mesh<S>, points: same_points &[[S; 3]]) -> Vec<f64>
}

fn winding_of_each<S: Scalar>(mesh: &Mesh<S>, points: &[[S; 3]]) -> Vec<f64> {
    mesh.of_each(points, &|point| mesh.winding_number(point))
}

precompiled_in_space! {
    fn distances = distance_of_each(mesh: same_ref &Mesh<S>, points: same_points &[[S; 3]]) -> Vec<f64>
}

fn distance_of_each<S: Scalar>(mesh: &Mesh<S>, points: &[[S; 3]]) -> Vec<f64> {
    mesh.of_each(points, &|point| mesh.signed_distance(point))
}

precompiled_in_space! {
    fn inside = inside_of_each(mesh: same_ref &Mesh<S>, points: same_points &[[S; 3]]) -> Vec<bool>
}

fn inside_of_each<S: Scalar>(mesh: &Mesh<S>, points: &[[S; 3]]) -> Vec<bool> {
    mesh.of_each(points, &|point| mesh.contains(point))
}

/// The solid angle of a triangle seen from the origin, positive if its corners are in clockwise order.
fn solid_angle([a, b, c]: &[[f64; 3]; 3]) -> f64 {
    let [la, lb, lc] = [a, b, c].map(|x| dot(x, x).sqrt());
    let volume = dot(a, &cross(b, c));
    2.0 * volume.atan2(la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb)
}

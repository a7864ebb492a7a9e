//! Inside and outside: winding numbers.
//!
//! In: a point. Out: how often the surface goes around it, the sum of the solid angles of its triangles over `4 pi`.
//! Triangles nearby are summed as they are; those below a node that is far away, measured by its radius, are one dipole (`dipoles`). What that
//! leaves out has a bound, by which inside and outside are decided.
//! Cost: O(log n) on a compact mesh. Source: van Oosterom and Strackee 1983 (solid angles); Jacobson, Kavan and Sorkine-Hornung 2013; Barill
//! et al. 2018 (dipoles).

use std::f64::consts::PI;

use crate::geometry::Scalar;
use crate::precompiled::precompiled_in_space;
use crate::search::mesh::Mesh;
use crate::search::mesh::batch::in_turn;
use crate::search::mesh::dipoles::{FAR, children, cross, dot, minus};
use crate::search::mesh::wide_node::BLOCK;

/// The largest distance of nodes, in their radii. Where [`FAR`] leaves inside or outside open, it is doubled up to here; then all triangles
/// are summed.
const FARTHEST: f64 = 80.0;

/// What a winding number may be off by at most to decide. Those of closed surfaces are whole, and on the right side of a half then; about
/// holes the surface that divides inside and outside is moved by as little.
const KNOWN: f64 = 0.1;

/// Points per parallel task.
const TASK: usize = 1 << 7;

impl<S: Scalar> Mesh<S> {
    /// How often the surface goes around a point: 1 inside of a closed surface whose faces turn counterclockwise as seen from outside, 0
    /// outside of it, and in between about holes. On the surface it is any of the values beside it. NaN if the point is not finite.
    ///
    /// It is approximate: triangles far away are taken together. That changed it by less than a hundredth for one surface (an octahedron, of
    /// 8 to 20,000 triangles), but the errors of many nested ones add up, to 0.6 for 500 spheres. [`contains`](Mesh::contains) does not rely on it.
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
        self.winding(&point, FAR)[0]
    }

    /// The winding number, nodes being dipoles to points that are `far` of their radii away, and what it may be off by.
    fn winding(&self, point: &[f64; 3], far: f64) -> [f64; 2] {
        if self.is_empty() {
            return [0.0; 2];
        }
        let from = self.frame.place(*point);
        let (mut sum, mut error) = (0.0, 0.0);
        let mut left = vec![self.tree.root];
        while let Some(child) = left.pop() {
            let at = (child & !BLOCK) as usize;
            let dipole = if child & BLOCK == 0 { &self.dipoles.nodes[at] } else { &self.dipoles.blocks[at] };
            let to = minus(&dipole.center, &from);
            let distance2 = dot(&to, &to);
            if distance2 > (far * dipole.radius).powi(2) {
                let distance = distance2.sqrt();
                let cube = (distance2 * distance).recip();
                let [first, second] = dipole.error.map(f64::from);
                sum += dot(&dipole.normal, &to) * cube;
                error += (first + second / distance) * cube;
            } else if child & BLOCK == 0 {
                left.extend(children(&self.tree.nodes[at]));
            } else {
                for &triangle in self.tree.blocks[at].triangle.iter().filter(|&&triangle| triangle != u32::MAX) {
                    let corners = self.corners_of(triangle);
                    sum += solid_angle(&corners.map(|corner| minus(&self.frame.place(corner), &from)));
                }
            }
        }
        [sum, error].map(|x| x / (4.0 * PI))
    }

    /// Whether a point is inside: whether the surface goes around it more than half, whichever way its faces turn.
    ///
    /// For a closed mesh that does not cross itself this is the inside, and of nested ones whose faces turn alike, however many, the inside of
    /// any; about holes it is what is mostly enclosed, up to a tenth. For points on the surface it is either. False if the point is not finite.
    ///
    /// Triangles far away are taken together as far as that cannot change the answer: where hundreds of surfaces are nested, few are, and
    /// the cost is up to O(n).
    pub fn contains(&self, point: impl Into<[S; 3]>) -> bool {
        let point: [f64; 3] = point.into().map(Into::into);
        if !point.iter().all(|x| x.is_finite()) {
            return false;
        }
        let mut far = FAR;
        loop {
            let [winding, error] = self.winding(&point, far);
            let is_known = error < KNOWN || (winding.abs() - 0.5).abs() > error;
            if is_known || far == f64::INFINITY {
                return winding.abs() > 0.5;
            }
            far = if far < FARTHEST { 2.0 * far } else { f64::INFINITY };
        }
    }

    /// The distance to the surface, negative [inside](Mesh::contains). Infinite if there is no triangle; NaN if the point is not finite, or
    /// beyond 1e150 in `f64`. What is below 1e-150 is as by [`nearest`](Mesh::nearest).
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

    /// [`winding_number`](Mesh::winding_number) of each point, in parallel.
    pub fn winding_numbers(&self, points: &[[S; 3]]) -> Vec<f64> {
        winding(self, points)
    }

    /// [`signed_distance`](Mesh::signed_distance) of each point, in parallel.
    pub fn signed_distances(&self, points: &[[S; 3]]) -> Vec<f64> {
        distances(self, points)
    }

    /// [`contains`](Mesh::contains) of each point, in parallel.
    pub fn contains_all(&self, points: &[[S; 3]]) -> Vec<bool> {
        inside(self, points)
    }

    /// An answer for each point, in parallel.
    fn of_each<T: Copy + Default + Send + Sync>(
        &self,
        points: &[[S; 3]],
        answer: &(dyn Fn([S; 3]) -> T + Sync),
    ) -> Vec<T> {
        in_turn(points, Some(&self.point_order(points)), TASK, &|points, found| {
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

/// The solid angle of a triangle seen from the origin, positive where its corners turn clockwise.
fn solid_angle([a, b, c]: &[[f64; 3]; 3]) -> f64 {
    let [la, lb, lc] = [a, b, c].map(|x| dot(x, x).sqrt());
    let volume = dot(a, &cross(b, c));
    2.0 * volume.atan2(la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb)
}

//! First hits with the bvh crate, whose leaves hold one triangle each, by a two-sided Möller-Trumbore test in f32.
//! (The crate's own test ignores back sides and small triangles.)

use bvh::aabb::{Aabb, Bounded};
use bvh::bounding_hierarchy::BHShape;
use bvh::bvh::{Bvh, BvhNode};
use bvh::ray::Ray;
use nalgebra::Point3;

/// A triangle in which bvh stores the index of its node.
pub struct Triangle {
    pub corners: [Point3<f32>; 3],
    pub node: usize,
}

impl Bounded<f32, 3> for Triangle {
    fn aabb(&self) -> Aabb<f32, 3> {
        self.corners.iter().fold(Aabb::empty(), |bounds, corner| bounds.grow(corner))
    }
}

impl BHShape<f32, 3> for Triangle {
    fn set_bh_node_index(&mut self, node: usize) {
        self.node = node;
    }

    fn bh_node_index(&self) -> usize {
        self.node
    }
}

impl Triangle {
    /// Returns `t` of the hit, or infinity.
    fn hit(&self, ray: &Ray<f32, 3>) -> f32 {
        let [a, b, c] = &self.corners;
        let (e, f) = (b - a, c - a);
        let p = ray.direction.cross(&f);
        let inverse = 1.0 / e.dot(&p);
        let to = ray.origin - a;
        let u = to.dot(&p) * inverse;
        let q = to.cross(&e);
        let v = ray.direction.dot(&q) * inverse;
        let t = f.dot(&q) * inverse;
        if u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t >= 0.0 { t } else { f32::INFINITY }
    }
}

/// Finds the first hit with the crate's iterator, which yields boxes by ascending distance, and stops at a box behind
/// the best hit.
pub fn first_hit_in_order(tree: &Bvh<f32, 3>, triangles: &[Triangle], ray: &Ray<f32, 3>) -> f32 {
    let mut best = f32::INFINITY;
    for triangle in tree.nearest_traverse_iterator(ray, triangles) {
        if best < f32::INFINITY
            && ray.intersection_slice_for_aabb(&triangle.aabb()).is_none_or(|(enter, _)| enter > best)
        {
            break;
        }
        best = best.min(triangle.hit(ray));
    }
    best
}

/// Finds the first hit with our own traversal of the crate's nodes, nearer child first, skipping boxes behind the
/// best hit. The crate has no such traversal.
pub fn first_hit_by_walk(tree: &Bvh<f32, 3>, triangles: &[Triangle], ray: &Ray<f32, 3>) -> f32 {
    let mut best = f32::INFINITY;
    let mut stack = [(0.0, 0); 128];
    let mut len = 1;
    while len > 0 {
        len -= 1;
        let (enter, mut at) = stack[len];
        if enter > best {
            continue;
        }
        loop {
            match &tree.nodes[at] {
                BvhNode::Leaf { shape_index, .. } => {
                    best = best.min(triangles[*shape_index].hit(ray));
                    break;
                }
                BvhNode::Node { child_l_index, child_l_aabb, child_r_index, child_r_aabb, .. } => {
                    let of = |bounds| ray.intersection_slice_for_aabb(bounds).map_or(f32::INFINITY, |(enter, _)| enter);
                    let (mut near, mut far) = ((of(child_l_aabb), *child_l_index), (of(child_r_aabb), *child_r_index));
                    if far.0 < near.0 {
                        (near, far) = (far, near);
                    }
                    if near.0 == f32::INFINITY || near.0 > best {
                        break;
                    }
                    if far.0 < f32::INFINITY {
                        stack[len] = far;
                        len += 1;
                    }
                    at = near.1;
                }
            }
        }
    }
    best
}

//! Bounding volume hierarchies: parry3d's Bvh (binned, its default) and bvh. They support counts, but not the k
//! nearest points. Queries are in Morton order (the sort is not timed).

use bvh::aabb::{Aabb, Bounded};
use bvh::ball::Ball;
use bvh::bounding_hierarchy::{BHShape, BoundingHierarchy};
use nalgebra::Point3;
use parry3d::math::Vector;
use parry3d::partitioning::{BvhBuildStrategy, BvhNode};

use super::queries::{counted, counts};
use crate::answer::Answer;
use crate::data::Point;
use crate::input::Input;
use crate::op::Op;
use crate::peer::{Peer, Run};

/// parry3d, whose build uses one thread.
pub struct Parry;

impl Peer for Parry {
    fn name(&self) -> &'static str {
        "parry3d"
    }

    fn is_serial(&self, op: Op) -> bool {
        op == Op::Build
    }

    fn prepare<'a>(&self, op: Op, input: &'a Input) -> Option<Run<'a>> {
        let vector = |&[x, y, z]: &Point| Vector::new(x, y, z);
        let tree = move || {
            let boxes =
                input.points.iter().map(|point| parry3d::bounding_volume::Aabb::new(vector(point), vector(point)));
            parry3d::partitioning::Bvh::from_iter(BvhBuildStrategy::Binned, boxes.enumerate())
        };
        Some(match op {
            Op::Build => Box::new(move || {
                let tree = tree();
                Box::new(move || Answer::built(tree.leaf_count() as usize))
            }),
            Op::RangeCount => {
                let tree = tree();
                let queries = input.sorted();
                let square = (input.parameters.radius as f32).powi(2);
                Box::new(move || {
                    counted(counts(queries, |query| {
                        let query = vector(query);
                        let near = |node: &BvhNode| {
                            let apart = query.max(node.mins()).min(node.maxs()) - query;
                            apart.dot(apart) <= square
                        };
                        tree.leaves(near).count() as u32
                    }))
                })
            }
            _ => return None,
        })
    }
}

/// A shape in which bvh stores the index of its node.
struct Shape {
    at: Point3<f32>,
    node: usize,
}

impl Bounded<f32, 3> for Shape {
    fn aabb(&self) -> Aabb<f32, 3> {
        Aabb::with_bounds(self.at, self.at)
    }
}

impl BHShape<f32, 3> for Shape {
    fn set_bh_node_index(&mut self, node: usize) {
        self.node = node;
    }

    fn bh_node_index(&self) -> usize {
        self.node
    }
}

pub struct Bvh;

impl Bvh {
    fn tree(shapes: &mut [Shape], threads: usize) -> bvh::bvh::Bvh<f32, 3> {
        match threads {
            1 => bvh::bvh::Bvh::build(shapes),
            _ => bvh::bvh::Bvh::build_par(shapes),
        }
    }
}

impl Peer for Bvh {
    fn name(&self) -> &'static str {
        "bvh"
    }

    fn prepare<'a>(&self, op: Op, input: &'a Input) -> Option<Run<'a>> {
        let threads = input.parameters.threads;
        // Conversion to the library's own type of points, which is not timed.
        let mut shapes: Vec<Shape> = input.points.iter().map(|&at| Shape { at: at.into(), node: 0 }).collect();
        Some(match op {
            Op::Build => Box::new(move || {
                let tree = Self::tree(&mut shapes, threads);
                // In a binary tree with one shape per leaf, half of the nodes, rounded up, are leaves.
                Box::new(move || Answer::built(tree.nodes.len().div_ceil(2)))
            }),
            Op::RangeCount => {
                let tree = Self::tree(&mut shapes, threads);
                let queries = input.sorted();
                let radius = input.parameters.radius as f32;
                Box::new(move || {
                    counted(counts(queries, |&query| {
                        tree.traverse_iterator(&Ball::new(query.into(), radius), &shapes).count() as u32
                    }))
                })
            }
            _ => return None,
        })
    }
}

//! Other k-d trees: nabo, fnntw and kd-tree. Queries are in Morton order (the sort is not timed).

use nabo::simple_point::SimplePoint;

use super::queries::{counted, counts, fill, found, nearest};
use crate::answer::Answer;
use crate::data::Point;
use crate::input::Input;
use crate::op::Op;
use crate::peer::{Peer, Run};

/// nabo: only nearest neighbours; builds on one thread.
pub struct Nabo;

impl Peer for Nabo {
    fn name(&self) -> &'static str {
        "nabo"
    }

    fn is_serial(&self, op: Op) -> bool {
        op == Op::Build
    }

    fn prepare<'a>(&self, op: Op, input: &'a Input) -> Option<Run<'a>> {
        let own = |points: &[Point]| -> Vec<SimplePoint<3>> {
            points.iter().map(|&[x, y, z]| SimplePoint::new3d(x, y, z)).collect()
        };
        let points = own(&input.points);
        let k = input.parameters.k;
        Some(match op {
            Op::Build => Box::new(move || {
                let tree = nabo::KDTree::new(&points);
                let n = points.len();
                Box::new(move || {
                    drop(tree);
                    Answer::built(n)
                })
            }),
            Op::Knn => {
                let tree = nabo::KDTree::new(&points);
                let queries = own(input.sorted());
                Box::new(move || {
                    found(nearest(&queries, k, |query, slots| {
                        let near = tree.knn(k as u32, query);
                        fill(slots, near.iter().map(|near| (near.index, near.dist2.into_inner())));
                    }))
                })
            }
            _ => return None,
        })
    }
}

/// fnntw: only nearest neighbours.
pub struct Fnntw;

impl Fnntw {
    /// The value in its documentation.
    const LEAF: usize = 32;

    fn tree(input: &Input) -> fnntw::Tree<'_, f32, 3> {
        match input.parameters.threads {
            1 => fnntw::Tree::new(&input.points, Self::LEAF),
            // The argument is the number of levels that are split before threads start: one level gives two tasks.
            threads => fnntw::Tree::new_parallel(&input.points, Self::LEAF, threads.ilog2().max(1) as usize),
        }
        .expect("points are finite")
    }
}

impl Peer for Fnntw {
    fn name(&self) -> &'static str {
        "fnntw"
    }

    fn prepare<'a>(&self, op: Op, input: &'a Input) -> Option<Run<'a>> {
        let k = input.parameters.k;
        Some(match op {
            Op::Build => Box::new(move || {
                let tree = Self::tree(input);
                Box::new(move || Answer::built(tree.get_data().len()))
            }),
            Op::Knn => {
                let tree = Self::tree(input);
                let queries = input.sorted();
                // The library's own parallel loop over queries returns distances and indices.
                Box::new(move || {
                    let (squares, indices) = tree.query_nearest_k_parallel(queries, k).expect("points are finite");
                    Box::new(move || {
                        drop(indices);
                        Answer::distances(squares.into_iter())
                    })
                })
            }
            _ => return None,
        })
    }
}

/// kd-tree: sorts the points in place.
pub struct KdTree;

impl KdTree {
    fn tree(input: &Input) -> kd_tree::KdTree3<(Point, u32)> {
        let items = input.points.iter().zip(0..).map(|(&point, at)| (point, at)).collect();
        match input.parameters.threads {
            1 => kd_tree::KdTree::build_by_ordered_float(items),
            _ => kd_tree::KdTree::par_build_by_ordered_float(items),
        }
    }
}

impl Peer for KdTree {
    fn name(&self) -> &'static str {
        "kd-tree"
    }

    fn prepare<'a>(&self, op: Op, input: &'a Input) -> Option<Run<'a>> {
        let wanted = input.parameters;
        Some(match op {
            Op::Build => Box::new(move || {
                let tree = Self::tree(input);
                Box::new(move || Answer::built(tree.len()))
            }),
            Op::RangeCount => {
                let tree = Self::tree(input);
                let queries = input.sorted();
                let radius = wanted.radius as f32;
                Box::new(move || counted(counts(queries, |query| tree.within_radius(query, radius).len() as u32)))
            }
            Op::Knn => {
                let tree = Self::tree(input);
                let queries = input.sorted();
                Box::new(move || {
                    found(nearest(queries, wanted.k, |query, slots| {
                        let near = tree.nearests(query, wanted.k);
                        fill(slots, near.iter().map(|near| (near.item.1, near.squared_distance)));
                    }))
                })
            }
            _ => return None,
        })
    }
}

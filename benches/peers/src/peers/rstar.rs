//! rstar: an R*-tree, built by bulk loading.

use rstar::RTree;
use rstar::primitives::GeomWithData;

use super::queries::{counted, counts, fill, found, nearest};
use crate::answer::Answer;
use crate::data::Point;
use crate::input::Input;
use crate::op::Op;
use crate::peer::{Peer, Run};

pub struct Rstar;

fn tree(points: &[Point]) -> RTree<GeomWithData<Point, u32>> {
    RTree::bulk_load(points.iter().zip(0..).map(|(&point, at)| GeomWithData::new(point, at)).collect())
}

impl Peer for Rstar {
    fn name(&self) -> &'static str {
        "rstar"
    }

    fn is_serial(&self, op: Op) -> bool {
        op == Op::Build
    }

    fn prepare<'a>(&self, op: Op, input: &'a Input) -> Option<Run<'a>> {
        let points = &input.points;
        let wanted = input.parameters;
        Some(match op {
            Op::Build => Box::new(move || {
                let tree = tree(points);
                Box::new(move || Answer::built(tree.size()))
            }),
            Op::RangeCount => {
                let tree = tree(points);
                let square = (wanted.radius as f32).powi(2);
                let queries = input.sorted();
                Box::new(move || {
                    counted(counts(queries, |&query| tree.locate_within_distance(query, square).count() as u32))
                })
            }
            Op::Knn => {
                let tree = tree(points);
                let queries = input.sorted();
                Box::new(move || {
                    found(nearest(queries, wanted.k, |&query, slots| {
                        let near = tree.nearest_neighbor_iter_with_distance_2(query);
                        fill(slots, near.map(|(near, square)| (near.data, square)));
                    }))
                })
            }
            _ => return None,
        })
    }
}

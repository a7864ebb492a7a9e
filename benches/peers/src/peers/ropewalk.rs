//! The library itself.

use ropewalk::cluster::{DensityKernel, DensityUnit, KernelDensity};
use ropewalk::{Bvh, Fof, Hdbscan, Labels, MinimumSpanningTree, dbscan};

use super::queries::{counted, fill, found as all_found};
use crate::answer::Answer;
use crate::data::Point;
use crate::input::Input;
use crate::op::Op;
use crate::peer::{Peer, Run};

pub struct Ropewalk;

impl Peer for Ropewalk {
    fn name(&self) -> &'static str {
        "ropewalk"
    }

    fn prepare<'a>(&self, op: Op, input: &'a Input) -> Option<Run<'a>> {
        let points = &input.points;
        let wanted = input.parameters;
        let tree = || Bvh::build(points).expect("points are finite");
        Some(match op {
            Op::Build => Box::new(move || {
                let tree = tree();
                Box::new(move || Answer::built(tree.len()))
            }),
            Op::RangeCount => {
                let tree = tree();
                Box::new(move || counted(tree.count_neighbors(wanted.radius)))
            }
            Op::Knn => {
                let tree = tree();
                Box::new(move || {
                    let found = tree.nearest_neighbors(wanted.k);
                    Box::new(move || Answer::distances(found.values().iter().map(|near| near.distance2 as f32)))
                })
            }
            Op::Nearest => {
                let (tree, query_points) = (tree(), input.query_points());
                Box::new(move || {
                    let (mut near, mut found) = (vec![], vec![(0, 0.0); query_points.len() * wanted.k]);
                    for (&place, slots) in query_points.iter().zip(found.chunks_mut(wanted.k)) {
                        tree.nearest_into(place, wanted.k, &mut near);
                        fill(slots, near.iter().map(|near| (near.index, near.distance2 as f32)));
                    }
                    all_found(found)
                })
            }
            Op::Density => {
                let tree = tree();
                let density = KernelDensity::new()
                    .n_density(wanted.k - 1)
                    .kernel(DensityKernel::Gather)
                    .unit(DensityUnit::Absolute);
                Box::new(move || {
                    let densities = density.run_on(&tree).expect("k is at least 2");
                    Box::new(move || Answer::densities(&densities))
                })
            }
            Op::Fof => Box::new(move || {
                let halos = Fof::new(wanted.eps).run(points).expect("eps is positive");
                Box::new(move || Answer::Groups {
                    groups: halos.len() as u64,
                    noise: (points.len() - halos.all_members().len()) as u64,
                    largest: halos.members(0).len() as u64,
                })
            }),
            Op::Dbscan => Box::new(move || {
                let labels = dbscan(points, wanted.eps, wanted.min_pts).expect("eps is positive");
                Box::new(move || labelled(&labels))
            }),
            Op::Emst => spanning(points, 1),
            Op::MutualReachability => spanning(points, wanted.min_pts),
            Op::Hdbscan => Box::new(move || {
                let hdbscan = Hdbscan::new(wanted.min_cluster_size).min_samples(wanted.min_pts);
                let found = hdbscan.run(points).expect("there are enough points");
                Box::new(move || labelled(found.labels()))
            }),
        })
    }

    fn is_serial(&self, op: Op) -> bool {
        op == Op::Nearest
    }
}

fn spanning(points: &[Point], samples: usize) -> Run<'_> {
    Box::new(move || {
        let tree = MinimumSpanningTree::new().min_samples(samples).run(points).expect("there are enough points");
        Box::new(move || Answer::Weights { weights: tree.edges().iter().map(|edge| edge.weight()).sum() })
    })
}

fn labelled(labels: &Labels) -> Answer {
    let labels = labels.as_slice();
    Answer::labels(labels.len(), labels.iter().map(|&label| u32::try_from(label).ok()), false)
}

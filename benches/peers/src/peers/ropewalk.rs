//! The library itself.

use ropewalk::{Bvh, Fof, dbscan};

use super::counted;
use crate::answer::Answer;
use crate::race::{Op, Peer, Run};
use crate::work::Work;

pub struct Ropewalk;

impl Peer for Ropewalk {
    fn name(&self) -> &'static str {
        "ropewalk"
    }

    fn enter<'a>(&self, op: Op, work: &'a Work) -> Option<Run<'a>> {
        let points = &work.points;
        let wanted = work.parameters;
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
                Box::new(move || {
                    Answer::labels(
                        points.len(),
                        labels.as_slice().iter().map(|&label| u32::try_from(label).ok()),
                        false,
                    )
                })
            }),
        })
    }
}

//! kiddo 6, the immutable tree. Queries are in file order or in Morton order (the sort is not timed).

use std::f64::consts::PI;
use std::num::NonZeroUsize;

use kiddo::{ImmutableKdTree, SquaredEuclidean};

use super::queries::{counted, counts, densities, fill, found, nearest};
use crate::answer::Answer;
use crate::data::Point;
use crate::input::Input;
use crate::op::Op;
use crate::peer::{Peer, Run};

pub type Tree = ImmutableKdTree<f32, 3>;
pub type Metric = SquaredEuclidean<f32>;

/// Builds a tree, on rayon's threads if it is large enough.
pub fn tree(points: &[Point]) -> Tree {
    Tree::new_from_slice(points).expect("points are finite")
}

/// The cubic spline kernel M4.
fn spline(q: f64) -> f64 {
    if q < 1.0 { 1.0 - 1.5 * q * q + 0.75 * q * q * q } else { 0.25 * (2.0 - q).max(0.0).powi(3) }
}

pub struct Kiddo {
    pub sorted: bool,
}

impl Peer for Kiddo {
    fn name(&self) -> &'static str {
        if self.sorted { "kiddo-sorted" } else { "kiddo" }
    }

    fn package(&self) -> &'static str {
        "kiddo"
    }

    fn prepare<'a>(&self, op: Op, input: &'a Input) -> Option<Run<'a>> {
        let points = &input.points;
        let queries = if self.sorted { input.sorted() } else { points };
        let wanted = input.parameters;
        Some(match op {
            // The order of queries does not affect a build.
            Op::Build if !self.sorted => Box::new(move || {
                let tree = tree(points);
                Box::new(move || Answer::built(tree.size()))
            }),
            Op::RangeCount => {
                let tree = tree(points);
                let square = (wanted.radius as f32).powi(2);
                Box::new(move || {
                    counted(counts(queries, |query| {
                        let mut count = 0;
                        tree.query(query).within::<Metric>(square).unsorted().visit(|_| count += 1);
                        count
                    }))
                })
            }
            Op::Knn => {
                let tree = tree(points);
                let k = NonZeroUsize::new(wanted.k)?;
                Box::new(move || {
                    found(nearest(queries, wanted.k, |query, slots| {
                        let near = tree.query(query).nearest_n::<Metric>(k).execute();
                        fill(slots, near.iter().map(|near| (near.item, near.distance)));
                    }))
                })
            }
            Op::Nearest if !self.sorted => {
                let (tree, query_points) = (tree(points), input.query_points());
                let k = NonZeroUsize::new(wanted.k)?;
                Box::new(move || {
                    let mut all = vec![(0, 0.0); query_points.len() * wanted.k];
                    for (place, slots) in query_points.iter().zip(all.chunks_mut(wanted.k)) {
                        if wanted.k == 1 {
                            let near = tree.query(place).nearest_one::<Metric>().execute();
                            slots[0] = (near.item, near.distance);
                        } else {
                            let near = tree.query(place).nearest_n::<Metric>(k).execute();
                            fill(slots, near.iter().map(|near| (near.item, near.distance)));
                        }
                    }
                    found(all)
                })
            }
            Op::Density => {
                let tree = tree(points);
                let k = NonZeroUsize::new(wanted.k)?;
                Box::new(move || {
                    let densities = densities(queries, |query| {
                        let near = tree.query(query).nearest_n::<Metric>(k).execute();
                        let h = 0.5 * near.iter().map(|near| f64::from(near.distance)).fold(0.0, f64::max).sqrt();
                        let sum: f64 = near.iter().map(|near| spline(f64::from(near.distance).sqrt() / h)).sum();
                        sum / (PI * h.powi(3))
                    });
                    Box::new(move || Answer::densities(&densities))
                })
            }
            _ => return None,
        })
    }

    fn is_serial(&self, op: Op) -> bool {
        op == Op::Nearest
    }
}

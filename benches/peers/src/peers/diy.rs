//! DIY: clustering in a few lines with kiddo, rayon and an atomic union-find, with the points in Morton order. This
//! is what a Rust user can do without ropewalk. The sort and the tree are timed.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use super::kiddo::{Metric, Tree, tree};
use super::queries::TASK;
use crate::answer::Answer;
use crate::data::Point;
use crate::input::{Input, morton_order};
use crate::op::Op;
use crate::peer::{FinishedRun, Peer, Run};

pub struct Diy;

impl Peer for Diy {
    fn name(&self) -> &'static str {
        "DIY"
    }

    fn package(&self) -> &'static str {
        "kiddo"
    }

    fn prepare<'a>(&self, op: Op, input: &'a Input) -> Option<Run<'a>> {
        let points = &input.points;
        let wanted = input.parameters;
        let eps = wanted.eps as f32;
        match op {
            Op::Fof => Some(Box::new(move || labelled(fof(points, eps), true))),
            Op::Dbscan => Some(Box::new(move || labelled(dbscan(points, eps, wanted.min_pts), false))),
            _ => None,
        }
    }
}

fn labelled<'a>(labels: Vec<u32>, singles: bool) -> FinishedRun<'a> {
    Box::new(move || {
        let labels = labels.iter().map(|&label| (label != NOISE).then_some(label));
        Answer::labels(labels.len(), labels, singles)
    })
}

const NOISE: u32 = u32::MAX;

/// Returns a label for each point; a single point has its own label.
fn fof(points: &[Point], eps: f32) -> Vec<u32> {
    let sorted = Sorted::new(points);
    let forest = Forest::new(points.len());
    sorted.points.par_iter().zip(0..points.len() as u32).with_min_len(TASK).for_each(|(point, at)| {
        sorted.visit(point, eps, |other| {
            if other < at {
                forest.union(at, other);
            }
        });
    });
    sorted.scatter(|at| forest.find(at))
}

/// Returns a label for each point, or [`NOISE`].
fn dbscan(points: &[Point], eps: f32, min_pts: usize) -> Vec<u32> {
    let sorted = Sorted::new(points);
    // Counts all neighbours, since the visit cannot be stopped at min_pts.
    let core: Vec<bool> = sorted
        .points
        .par_iter()
        .with_min_len(TASK)
        .map(|point| {
            let mut count = 0;
            sorted.visit(point, eps, |_| count += 1);
            count >= min_pts
        })
        .collect();
    let forest = Forest::new(points.len());
    let border: Vec<AtomicU32> = (0..points.len()).into_par_iter().map(|_| AtomicU32::new(NOISE)).collect();
    sorted.points.par_iter().zip(0..points.len() as u32).with_min_len(TASK).for_each(|(point, at)| {
        if !core[at as usize] {
            return;
        }
        sorted.visit(point, eps, |other| {
            if !core[other as usize] {
                // The first core point in tree order, so that the result does not depend on timing.
                border[other as usize].fetch_min(at, Relaxed);
            } else if other < at {
                forest.union(at, other);
            }
        });
    });
    sorted.scatter(|at| match (core[at as usize], border[at as usize].load(Relaxed)) {
        (true, _) => forest.find(at),
        (false, NOISE) => NOISE,
        (false, core) => forest.find(core),
    })
}

/// Points in Morton order, and a tree of them.
struct Sorted {
    order: Vec<u32>,
    points: Vec<Point>,
    tree: Tree,
}

impl Sorted {
    fn new(points: &[Point]) -> Self {
        let order = morton_order(points);
        let points: Vec<Point> = order.par_iter().map(|&at| points[at as usize]).collect();
        let tree = tree(&points);
        Self { order, points, tree }
    }

    fn visit(&self, point: &Point, eps: f32, mut visit: impl FnMut(u32)) {
        self.tree.query(point).within::<Metric>(eps * eps).unsorted().visit(|near| visit(near.item));
    }

    /// Returns labels in the caller's order.
    fn scatter(&self, label: impl Fn(u32) -> u32 + Sync + Send) -> Vec<u32> {
        let labels: Vec<u32> = (0..self.order.len() as u32).into_par_iter().map(label).collect();
        let mut scattered = vec![0; labels.len()];
        for (&at, label) in self.order.iter().zip(labels) {
            scattered[at as usize] = label;
        }
        scattered
    }
}

/// A concurrent union-find in which the larger root is attached to the smaller.
struct Forest(Vec<AtomicU32>);

impl Forest {
    fn new(n: usize) -> Self {
        Self((0..n as u32).into_par_iter().map(AtomicU32::new).collect())
    }

    fn find(&self, mut at: u32) -> u32 {
        loop {
            let parent = self.0[at as usize].load(Relaxed);
            if parent == at {
                return at;
            }
            let grandparent = self.0[parent as usize].load(Relaxed);
            if parent != grandparent {
                self.0[at as usize].store(grandparent, Relaxed);
            }
            at = parent;
        }
    }

    fn union(&self, mut a: u32, mut b: u32) {
        loop {
            (a, b) = (self.find(a), self.find(b));
            if a == b {
                return;
            }
            let (small, large) = (a.min(b), a.max(b));
            if self.0[large as usize].compare_exchange(large, small, Relaxed, Relaxed).is_ok() {
                return;
            }
        }
    }
}

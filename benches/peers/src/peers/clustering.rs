//! Clustering libraries: linfa-clustering and petal-clustering, for which friends of friends is DBSCAN with min_pts
//! of 2, and hdbscan-rs.

use linfa::traits::Transformer;
use ndarray_linfa::Array2 as LinfaArray;
use ndarray_petal::Array2 as PetalArray;
use petal_clustering::Fit;
use petal_neighbors::distance::Euclidean;

use crate::answer::Answer;
use crate::data::Point;
use crate::input::Input;
use crate::op::Op;
use crate::peer::{Peer, Run};

fn min_pts(op: Op, input: &Input) -> Option<usize> {
    match op {
        Op::Fof => Some(2),
        Op::Dbscan => Some(input.parameters.min_pts),
        _ => None,
    }
}

fn flat(points: &[Point]) -> Vec<f32> {
    points.as_flattened().to_vec()
}

/// linfa-clustering, which runs on one thread.
pub struct Linfa;

impl Peer for Linfa {
    fn name(&self) -> &'static str {
        "linfa-clustering"
    }

    fn is_serial(&self, _op: Op) -> bool {
        true
    }

    fn prepare<'a>(&self, op: Op, input: &'a Input) -> Option<Run<'a>> {
        let min_pts = min_pts(op, input)?;
        let n = input.points.len();
        let points = LinfaArray::from_shape_vec((n, 3), flat(&input.points)).expect("three coordinates per point");
        let eps = input.parameters.eps as f32;
        Some(Box::new(move || {
            let found = linfa_clustering::Dbscan::params(min_pts).tolerance(eps).transform(&points);
            let labels = found.expect("eps is positive");
            Box::new(move || Answer::labels(n, labels.iter().map(|label| label.map(|label| label as u32)), false))
        }))
    }
}

/// petal-clustering, which finds and stores all neighbours on rayon's threads, then clusters on one thread.
pub struct Petal;

impl Peer for Petal {
    fn name(&self) -> &'static str {
        "petal-clustering"
    }

    fn prepare<'a>(&self, op: Op, input: &'a Input) -> Option<Run<'a>> {
        let min_pts = min_pts(op, input)?;
        let points = PetalArray::from_shape_vec((input.points.len(), 3), flat(&input.points))
            .expect("three coordinates per point");
        let eps = input.parameters.eps as f32;
        Some(Box::new(move || {
            let found = petal_clustering::Dbscan::new(eps, min_pts, Euclidean::default()).fit(&points, None);
            Box::new(move || {
                let (clusters, noise) = found;
                Answer::Groups {
                    groups: clusters.len() as u64,
                    noise: noise.len() as u64,
                    largest: clusters.values().map(Vec::len).max().unwrap_or(0) as u64,
                }
            })
        }))
    }
}

/// hdbscan-rs, which runs on one thread and, like ropewalk, counts the point itself among its samples.
pub struct HdbscanRs;

impl Peer for HdbscanRs {
    fn name(&self) -> &'static str {
        "hdbscan-rs"
    }

    fn is_serial(&self, _op: Op) -> bool {
        true
    }

    fn prepare<'a>(&self, op: Op, input: &'a Input) -> Option<Run<'a>> {
        if op != Op::Hdbscan {
            return None;
        }
        let n = input.points.len();
        let wide = input.points.as_flattened().iter().map(|&x| f64::from(x)).collect();
        let points = LinfaArray::from_shape_vec((n, 3), wide).expect("three coordinates per point");
        let wanted = hdbscan_rs::HdbscanParams {
            min_cluster_size: input.parameters.min_cluster_size,
            min_samples: Some(input.parameters.min_pts),
            ..Default::default()
        };
        Some(Box::new(move || {
            let found = hdbscan_rs::Hdbscan::new(wanted.clone()).fit_predict(&points.view());
            let labels = found.expect("there are enough points");
            Box::new(move || Answer::labels(n, labels.iter().map(|&label| u32::try_from(label).ok()), false))
        }))
    }
}

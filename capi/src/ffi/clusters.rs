//! The functions of `ropewalk_points.h` that find clusters of points of any dimension.

use std::ffi::c_int;

use ropewalk::cluster::ClusterSelection;
use ropewalk::internals::memory::{collected, copy_of};
use ropewalk::{Dbscan, Hdbscan, Labels};
use ropewalk_table::{dbscan, hdbscan};

use super::tree::box_size;
use super::{alone, memory, required, store};
use crate::find::{invalid, saturating_usize};
use crate::types::{self, HdbscanOptions, PointArray, PointDbscanOptions, RunResult};

/// See `ropewalk_points.h`.
///
/// # Safety
/// Pointers are null or valid as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_points_dbscan(
    points: *const PointArray,
    options: *const PointDbscanOptions,
    result: *mut *mut RunResult,
) -> c_int {
    // SAFETY: by the contract, pointers are null or valid. The points are dropped before this function returns.
    alone(|| unsafe {
        store("result", result, || {
            let options = required("options", options)?;
            let points = memory::points("points", required("points", points)?)?;
            let finder = Dbscan::new(options.eps, saturating_usize(options.min_samples));
            let labels = dbscan(&points, &finder.periodic(box_size(options.box_size, &points)?))?;
            let core = collected((0..points.len()).map(|i| labels.is_core(i).into()));
            Ok(RunResult { core: Some(core), ..labelled(&labels) })
        })
    })
}

/// See `ropewalk_points.h`.
///
/// # Safety
/// Pointers are null or valid as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_hdbscan(
    points: *const PointArray,
    options: *const HdbscanOptions,
    result: *mut *mut RunResult,
) -> c_int {
    // SAFETY: by the contract, pointers are null or valid. The points are dropped before this function returns.
    alone(|| unsafe {
        store("result", result, || {
            let options = required("options", options)?;
            let points = memory::points("points", required("points", points)?)?;
            let finder = finder(options)?.periodic(box_size(options.box_size, &points)?);
            let found = hdbscan(&points, &finder)?;
            Ok(RunResult {
                probabilities: Some(copy_of(found.probabilities())),
                outlier_scores: Some(found.outlier_scores()),
                ..labelled(found.labels())
            })
        })
    })
}

/// Returns the finder with the options except for the box. Zeros mean the default.
fn finder(options: &HdbscanOptions) -> ropewalk::Result<Hdbscan> {
    let selection = match options.cluster_selection {
        types::EXCESS_OF_MASS => ClusterSelection::ExcessOfMass,
        types::LEAF => ClusterSelection::Leaf,
        other => {
            return Err(invalid(format!(
                "cluster_selection must be ROPEWALK_EXCESS_OF_MASS or ROPEWALK_LEAF, got {other}"
            )));
        }
    };
    let mut finder = Hdbscan::new(saturating_usize(options.min_cluster_size))
        .cluster_selection(selection)
        .cluster_selection_epsilon(options.cluster_selection_epsilon)
        .allow_single_cluster(options.allow_single_cluster != 0);
    if options.min_samples != 0 {
        finder = finder.min_samples(saturating_usize(options.min_samples));
    }
    if options.max_cluster_size != 0 {
        finder = finder.max_cluster_size(saturating_usize(options.max_cluster_size));
    }
    Ok(if options.alpha == 0.0 { finder } else { finder.alpha(options.alpha) })
}

fn labelled(labels: &Labels) -> RunResult {
    let clusters = labels.n_clusters() as u64;
    let labels = collected(labels.as_slice().iter().map(|&label| label.into()));
    RunResult { labels, clusters, halos: clusters, ..RunResult::default() }
}

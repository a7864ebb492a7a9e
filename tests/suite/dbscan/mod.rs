//! DBSCAN: stored results of scikit-learn, the definition in other cases, and invalid input.

mod bad_input;
mod definition;
mod oracle;
mod predict;
mod properties;
mod snapshot;
mod stored;
mod pitfalls;

use std::sync::LazyLock;

use oracle::Clusters;
use rayon::{ThreadPool, ThreadPoolBuilder};
use ropewalk::cluster::DbscanAlgorithm;
use ropewalk::{Bounded, Dbscan, Labels, Scalar};

const ALGORITHMS: [DbscanAlgorithm; 3] = [DbscanAlgorithm::Auto, DbscanAlgorithm::Fdbscan, DbscanAlgorithm::DenseBox];

/// Pools of 1, 2 and 5 threads, created once, since there are thousands of small runs.
static POOLS: LazyLock<[ThreadPool; 3]> =
    LazyLock::new(|| [1, 2, 5].map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap()));

/// Asserts that every algorithm finds these clusters with every number of threads.
#[track_caller]
fn assert_clusters<T: Bounded<S, D> + Sync, S: Scalar, const D: usize>(
    dbscan: &Dbscan,
    points: &[T],
    expected: &Clusters,
    what: &dyn Fn() -> String,
) {
    for algorithm in ALGORITHMS {
        let dbscan = dbscan.clone().algorithm(algorithm);
        for pool in POOLS.iter() {
            let labels = pool.install(|| dbscan.run(points)).unwrap();
            let threads = pool.current_num_threads();
            assert_same(&labels, expected, &|| format!("{}: {algorithm:?}, {threads} threads, {dbscan:?}", what()));
        }
    }
}

#[track_caller]
fn assert_same(found: &Labels, expected: &Clusters, what: &dyn Fn() -> String) {
    let wrong = difference(found, expected);
    assert!(wrong.is_none(), "{}: {}", what(), wrong.unwrap_or_default());
}

/// Describes a difference of labels, core flags or derived counts, if there is one.
fn difference(found: &Labels, expected: &Clusters) -> Option<String> {
    if found.as_slice().len() != expected.labels.len() {
        return Some(format!("{} labels for {} points", found.as_slice().len(), expected.labels.len()));
    }
    for (i, (&found_label, &label)) in found.as_slice().iter().zip(&expected.labels).enumerate() {
        if found_label != label {
            return Some(format!("point {i} is labelled {found_label}, should be {label}"));
        }
        if found.get(i) != u32::try_from(label).ok() {
            return Some(format!("point {i}: get() is {:?}, the label {label}", found.get(i)));
        }
        if expected.core.get(i).is_some_and(|&core| core != found.is_core(i)) {
            return Some(format!("is point {i} core? Said {}", found.is_core(i)));
        }
    }
    let clusters = expected.labels.iter().max().map_or(0, |&last| (last + 1) as usize);
    let mut sizes = vec![0; clusters];
    expected.labels.iter().filter(|&&label| label >= 0).for_each(|&label| sizes[label as usize] += 1);
    let noise = expected.labels.iter().filter(|&&label| label < 0).count();
    let counted = (found.n_clusters(), found.n_noise(), found.sizes());
    let expected = (clusters, noise, sizes);
    (counted != expected).then(|| format!("clusters, noise, sizes {counted:?} instead of {expected:?}"))
}

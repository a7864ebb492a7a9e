//! Counters of work for unit tests: the number of distances that a task computes. Compiled to nothing otherwise.
//!
//! In: a task. Out: a number that does not depend on the machine or its load, so that tests can measure how cost
//! grows. Counts are per thread; a counted task runs on one thread.

#[cfg(test)]
std::thread_local! {
    static DISTANCES: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Adds `n` distances, between points or boxes.
#[inline(always)]
pub(crate) fn count(n: usize) {
    #[cfg(test)]
    DISTANCES.set(DISTANCES.get() + n as u64);
    #[cfg(not(test))]
    let _ = n;
}

/// Returns the number of distances that a task computes on one thread.
#[cfg(test)]
pub(crate) fn distances<R: Send>(task: impl FnOnce() -> R + Send) -> u64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    pool.install(|| {
        let before = DISTANCES.get();
        task();
        DISTANCES.get() - before
    })
}

#[cfg(test)]
mod growth;
#[cfg(test)]
#[allow(dead_code, reason = "benches use more of them")]
mod sets;

#[cfg(test)]
mod tests {
    use super::distances;
    use super::sets::random;
    use crate::cluster::DbscanAlgorithm;
    use crate::{Bvh, Dbscan, Fof, Nearest, Scalar};

    fn uniform<S: Scalar, const D: usize>(n: usize, unit: f64) -> Vec<[S; D]> {
        let mut random = random(n as u64);
        (0..n).map(|_| std::array::from_fn(|_| S::from_f64(unit * random()))).collect()
    }

    fn tree<S: Scalar, const D: usize>(points: &[[S; D]], side: Option<f64>) -> Bvh<S, D> {
        Bvh::build_periodic(points, side).unwrap()
    }

    /// Returns the cost of each operation, with a radius and with queries at `some` points.
    fn costs<S: Scalar, const D: usize>(tree: &Bvh<S, D>, radius: f64, some: &[[S; D]]) -> Vec<(&'static str, u64)> {
        let nearest = |k| distances(|| tree.nearest_all(some, k));
        let dbscan = |algorithm| distances(|| Dbscan::new(radius, 5).algorithm(algorithm).run_on(tree).unwrap());
        vec![
            ("count_neighbors", distances(|| tree.count_neighbors(radius))),
            ("count_pairs", distances(|| tree.count_pairs(radius))),
            ("copies", distances(|| tree.count_pairs(0.0))),
            ("halos", distances(|| Fof::new(radius / 2.0).run_on(tree).unwrap())),
            ("FDBSCAN", dbscan(DbscanAlgorithm::Fdbscan)),
            ("DenseBox", dbscan(DbscanAlgorithm::DenseBox)),
            ("nearest of all", distances(|| tree.nearest_neighbors(Nearest::new(4).excluding_self()))),
            ("nearest of some", nearest(1)),
            ("many nearest", nearest(50)),
        ]
    }

    /// Asserts that no cost exceeds `times` the expected one.
    #[track_caller]
    fn assert_costs(found: &[(&str, u64)], expected: &[(&str, u64)], times: f64, what: &str) {
        for ((name, found), (_, expected)) in found.iter().zip(expected) {
            let most = times * (*expected as f64 + 1000.0);
            assert!((*found as f64) < most, "{name}, {what}: {found} distances instead of {expected}");
        }
    }

    #[test]
    fn every_operation_is_counted() {
        let points = uniform::<f32, 3>(2000, 1.0);
        let tree = tree(&points, None);
        for (name, cost) in costs(&tree, 0.1, &points) {
            assert!((2000..4_000_000).contains(&cost), "{name}: {cost}");
        }
        // A query visits at least one leaf, eight points at a time.
        assert!(distances(|| tree.query_all(&[crate::Sphere::new([0.5f32; 3], 0.2)])) > 50);
    }

    /// The cost of copies of a few points grows linearly with their number, not with that of their pairs.
    #[test]
    fn copies_cost_what_points_cost() {
        fn heaps<S: Scalar, const D: usize>(places: usize, radius: f64) {
            let measured = |n: usize| {
                let points: Vec<[S; D]> = (0..n).map(|i| [S::from_f64((i % places) as f64); D]).collect();
                costs(&tree(&points, None), radius, &points[..200])
            };
            // Four times the points, 16 times the pairs.
            let what = format!("{places} places of {D} dimensions, radius {radius}");
            assert_costs(&measured(8_000), &measured(2_000), 6.0, &what);
        }
        heaps::<f32, 3>(1, 0.0);
        heaps::<f32, 3>(1, 0.5);
        heaps::<f64, 2>(1, 1e-30);
        heaps::<f64, 1>(4, 1.0);
        heaps::<f32, 2>(3, 1.5);
    }

    /// If the radius encloses all points, the cost is linear in their number.
    #[test]
    fn a_radius_larger_than_the_domain() {
        let n = 20_000;
        let points = uniform::<f32, 3>(n, 1.0);
        let tree = tree(&points, None);
        for radius in [2.0, 1e20, 1e300] {
            for (min_samples, most) in [(1, 100), (5, 100), (n, 100), (n + 1, 100)] {
                let cost = distances(|| Dbscan::new(radius, min_samples).run_on(&tree).unwrap());
                assert!(cost < most * n as u64, "eps {radius:e}, min_samples {min_samples}: {cost}");
            }
            assert!(distances(|| tree.count_neighbors(radius)) < 100 * n as u64);
            assert!(distances(|| tree.count_pairs(radius)) < 100 * n as u64);
        }
    }

    /// The cost of a large `k` is not quadratic in `k`.
    #[test]
    fn half_of_all_points() {
        let points = uniform::<f32, 2>(50_000, 1.0);
        let tree = tree(&points, None);
        for k in [1, 65, 1000, 25_000, 50_000, usize::MAX] {
            let cost = distances(|| tree.nearest(points[7], k));
            let most = 1000 + 20 * k.min(points.len()) as u64;
            assert!(cost < most, "k = {k}: {cost} distances");
        }
    }

    /// The cost does not depend on the unit. If squares leave the range of a type, redoing everything in `f64` would
    /// be quadratic, as it once was.
    #[test]
    fn units_cost_nothing() {
        fn same<S: Scalar>(exponents: &[i32]) {
            for side in [None, Some(1.0)] {
                let measured = |unit: f64| {
                    let points = uniform::<S, 3>(2000, unit);
                    let tree = tree(&points, side.map(|side| side * unit));
                    costs(&tree, 0.1 * unit, &points[..200])
                };
                let expected = measured(1.0);
                for &exponent in exponents {
                    let what = format!("side {side:?}, in units of 2^{exponent}");
                    assert_costs(&measured(2f64.powi(exponent)), &expected, 1.5, &what);
                }
            }
        }
        same::<f32>(&[-100, -65, -50, 50, 65, 100, 124]);
        same::<f64>(&[-400, -100, 64, 100, 400]);
    }

    /// A distant point puts all others into one cell of the Morton grid. They are sorted as if it were not there.
    #[test]
    fn an_outlier_costs_nothing() {
        let mut points = uniform::<f64, 3>(8_000, 1.0);
        let measured = |points: &[[f64; 3]]| costs(&tree(points, None), 0.04, &points[..800]);
        let expected = measured(&points);
        for far in [1e8, 1e16] {
            points[0] = [far, 0.0, 0.0];
            assert_costs(&measured(&points), &expected, 1.5, &format!("a point at {far:e}"));
        }
    }

    /// Clusters at many scales: `f32` uses a unit per leaf, and costs about what `f64` costs.
    #[test]
    fn scales_within_scales() {
        let mut random = random(13);
        let points: Vec<[f32; 3]> = (0..9000)
            .map(|i| {
                let size = 1e-4f64.powi(i % 9);
                [(size * (1.0 + random())) as f32, (size * random()) as f32, (size * random()) as f32]
            })
            .collect();
        let wide: Vec<[f64; 3]> = points.iter().map(|point| point.map(f64::from)).collect();
        for k in [1, 8] {
            let wanted = Nearest::new(k).excluding_self();
            let found = distances(|| tree(&points, None).nearest_neighbors(wanted));
            let expected = distances(|| tree(&wide, None).nearest_neighbors(wanted));
            assert!(found < 2 * expected, "{k} nearest: {found} distances instead of {expected}");
        }
    }
}

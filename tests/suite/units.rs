//! Independence of units: points scaled by a power of two have the same neighbours, labels and nearest points.
//! `src/work.rs` checks that the cost is the same.

use common::random::Random;
use ropewalk::cluster::DbscanAlgorithm;
use ropewalk::reference::{fof_all_pairs, fof_bins};
use ropewalk::{Bvh, Dbscan, Fof, Nearest, Scalar, Sphere};

/// Returns points whose coordinates are multiples of 2^-16, so that they are exact in any unit and some distances
/// tie.
fn cloud<S: Scalar, const D: usize>(n: usize) -> Vec<[S; D]> {
    let mut random = Random::new(11);
    let mut coordinate = |i: usize| {
        let step = if i.is_multiple_of(3) { 1 << 12 } else { 1 };
        S::from_f64((random.below(1 << 16) / step * step) as f64 / 65536.0)
    };
    (0..n).map(|i| std::array::from_fn(|_| coordinate(i))).collect()
}

fn scaled<S: Scalar, const D: usize>(points: &[[S; D]], unit: f64) -> Vec<[S; D]> {
    points.iter().map(|point| point.map(|x| S::from_f64(x.into() * unit))).collect()
}

fn tree<S: Scalar, const D: usize>(points: &[[S; D]], side: Option<f64>) -> Bvh<S, D> {
    side.map_or_else(|| Bvh::build(points), |side| Bvh::build_periodic(points, side)).unwrap()
}

/// Returns the results of all queries as indices and numbers without units.
fn answers<S: Scalar, const D: usize>(points: &[[S; D]], unit: f64, periodic: bool) -> Vec<Vec<u64>> {
    let points = scaled(points, unit);
    let bvh = tree(&points, periodic.then_some(unit));
    let mut answers: Vec<Vec<u64>> = vec![];
    let ids = |ids: &[u32]| ids.iter().map(|&i| u64::from(i)).collect();
    let labels = |labels: &[i32]| labels.iter().map(|&label| label as u64).collect();
    for radius in [0.0, 0.0625, 0.1, 0.3] {
        let radius = radius * unit;
        // In sorted order, since the grid is coarser for extremely small points.
        answers.extend(bvh.neighbors(radius).iter().map(|list| {
            let mut list: Vec<u64> = ids(list);
            list.sort_unstable();
            list
        }));
        answers.push(ids(&bvh.count_neighbors(radius)));
        answers.push(vec![bvh.count_pairs(radius)]);
        let balls: Vec<_> = points.iter().map(|&center| Sphere::new(center, radius)).collect();
        answers.push(ids(&bvh.count_all(&balls)));
        for algorithm in [DbscanAlgorithm::Fdbscan, DbscanAlgorithm::DenseBox] {
            for min_samples in [2, 5] {
                let dbscan = Dbscan::new(radius, min_samples).algorithm(algorithm);
                answers.push(labels(dbscan.run_on(&bvh).unwrap().as_slice()));
            }
        }
        answers.push(labels(Fof::new(radius).run_on(&bvh).unwrap().labels().as_slice()));
        let fof = Fof::new(radius);
        let fof = if periodic { fof.periodic(unit) } else { fof };
        answers.push(labels(fof_bins(&fof, &points).unwrap().labels().as_slice()));
        answers.push(labels(fof_all_pairs(&fof, &points).unwrap().labels().as_slice()));
    }
    for k in [1, 6, 40] {
        for wanted in [Nearest::new(k), Nearest::new(k).within(0.2 * unit).excluding_self()] {
            for graph in [bvh.nearest_neighbors(wanted), bvh.nearest_all(&points, wanted)] {
                answers.push(graph.offsets().iter().map(|&offset| offset as u64).collect());
                answers.push(graph.values().iter().map(|near| u64::from(near.index)).collect());
                answers.push(graph.values().iter().map(|near| (near.distance2 / unit / unit).to_bits()).collect());
            }
        }
    }
    answers
}

fn same_answers<S: Scalar, const D: usize>(exponents: &[i32]) {
    let points = cloud::<S, D>(500);
    for periodic in [false, true] {
        let expected = answers(&points, 1.0, periodic);
        for &exponent in exponents {
            let found = answers(&points, 2f64.powi(exponent), periodic);
            for (question, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert!(found == expected, "in units of 2^{exponent}, question {question}, periodic: {periodic}");
            }
        }
    }
}

#[test]
fn answers_have_no_unit() {
    let exponents =
        [-100, -80, -60, -50, -45, -40, -39, -30, -20, -10, 10, 20, 30, 39, 40, 41, 50, 60, 64, 80, 100, 124];
    same_answers::<f32, 2>(&exponents);
    same_answers::<f32, 3>(&exponents);
    let exponents = [-400, -300, -200, -100, -70, -40, -20, 20, 40, 60, 65, 100, 200, 300, 400];
    same_answers::<f64, 2>(&exponents);
    same_answers::<f64, 3>(&exponents);
}

/// A cloud with structure at many scales: each leaf has its own unit.
#[test]
fn scales_within_scales() {
    let mut random = Random::new(13);
    let points: Vec<[f32; 3]> = (0..20_000)
        .map(|i| {
            let size = 1e-4f64.powi(i % 9);
            std::array::from_fn(|k| {
                if k == 0 { (size * (1.0 + random.unit())) as f32 } else { (size * random.unit()) as f32 }
            })
        })
        .collect();
    let wide: Vec<[f64; 3]> = points.iter().map(|point| point.map(f64::from)).collect();
    let (narrow, wide) = (Bvh::build(&points).unwrap(), Bvh::build(&wide).unwrap());
    for k in [1, 8] {
        let wanted = Nearest::new(k).excluding_self();
        assert!(narrow.nearest_neighbors(wanted) == wide.nearest_neighbors(wanted), "{k} nearest");
    }
}

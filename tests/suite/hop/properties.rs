//! Invariance of halos and densities: under the number of threads, the order of points, units, and the way of
//! calling.

use common::clouds;
use common::random::Random;
use proptest::prelude::*;
use rayon::ThreadPoolBuilder;
use ropewalk::cluster::{DensityKernel, DensityUnit, KernelDensity};
use ropewalk::{Bvh, Hop};

use super::definition;
use super::density::assert_close;

fn shuffled(random: &mut Random, n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    (1..n).for_each(|at| order.swap(at, random.below(at + 1)));
    order
}

/// Returns clumps and uniform points of various masses, without equal densities.
fn clumps(n: usize, seed: u64) -> (Vec<[f32; 3]>, Vec<f64>) {
    let mut random = Random::new(seed);
    let centers: Vec<[f64; 3]> = (0..12).map(|_| std::array::from_fn(|_| random.unit())).collect();
    let mut point = |i: usize| -> [f32; 3] {
        let width = 0.01 * (1 + i % 4) as f64;
        std::array::from_fn(|k| {
            let x = if i.is_multiple_of(4) { random.unit() } else { centers[i % 12][k] + width * random.normal() };
            x.rem_euclid(1.0) as f32
        })
    };
    let points = (0..n).map(&mut point).collect();
    (points, (0..n).map(|_| 0.5 + random.unit()).collect())
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let (points, masses) = clumps(20_000, 1);
    for side in [None, Some(1.0)] {
        let hop = Hop::new(4.0).masses(masses.as_slice()).periodic(side);
        let run = |threads: usize| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (hop.chains(&points).unwrap(), hop.run(&points).unwrap()))
        };
        let one = run(1);
        assert!(one.1.len() > 5, "{}", one.1.len());
        assert!(run(2) == one && run(5) == one);
    }
}

/// Equal to the last bit, since sums are exact.
#[test]
fn the_order_of_points_does_not_matter() {
    let (points, masses) = clumps(6000, 2);
    let mut random = Random::new(3);
    // A distant point puts all others into one cell of the Morton grid, which changes the order of summation.
    for far in [0.0, 1e12] {
        let mut points = points.clone();
        points[17] = [far; 3];
        for kernel in [DensityKernel::Symmetric, DensityKernel::Gather, DensityKernel::TopHat] {
            let run = |points: &[[f32; 3]], masses: Vec<f64>| {
                let density = KernelDensity::new().kernel(kernel).masses(masses).volume(1.0);
                Hop::new(3.0).density(density).chains(points).unwrap()
            };
            let found = run(&points, masses.clone());
            let order = shuffled(&mut random, points.len());
            let rows: Vec<_> = order.iter().map(|&row| points[row]).collect();
            let other = run(&rows, order.iter().map(|&row| masses[row]).collect());
            for (at, &row) in order.iter().enumerate() {
                assert_eq!(other.density()[at].to_bits(), found.density()[row].to_bits(), "{kernel:?}");
                assert_eq!(other.chain()[at], found.chain()[row], "{kernel:?}");
            }
            assert_eq!(other.boundaries(), found.boundaries());
        }
    }
}

/// The tree uses another unit, while the box is the same.
#[test]
fn units_do_not_matter() {
    let (points, _) = clumps(3000, 4);
    let halos = Hop::new(5.0).periodic(1.0).run(&points).unwrap();
    for exponent in [-60, -20, 20, 60] {
        let unit = 2f32.powi(exponent);
        let scaled: Vec<[f32; 3]> = points.iter().map(|point| point.map(|x| unit * x)).collect();
        let hop = Hop::new(5.0).periodic(unit);
        assert_eq!(hop.run(&scaled).unwrap(), halos);
        let wide: Vec<[f64; 3]> = scaled.iter().map(|point| point.map(f64::from)).collect();
        assert_eq!(hop.run(&wide).unwrap(), halos);
    }
}

#[test]
fn units_of_density() {
    let points = clouds::plummer::<f64, 3>().points;
    let absolute = KernelDensity::new().unit(DensityUnit::Absolute).run(&points).unwrap();
    let volume = |density: KernelDensity| {
        let of_mean = density.run(&points).unwrap();
        let volume = of_mean[0] / absolute[0] * points.len() as f64;
        let expected: Vec<f64> = absolute.iter().map(|density| density * volume / points.len() as f64).collect();
        assert_close(&of_mean, &expected, "of the mean");
        volume
    };
    let sides = Bvh::build(&points).unwrap().bounds();
    let bounding: f64 = (0..3).map(|k| sides.hi[k] - sides.lo[k]).product();
    assert!((volume(KernelDensity::new()) / bounding - 1.0).abs() < 1e-12);
    assert!((volume(KernelDensity::new().volume(7.0)) / 7.0 - 1.0).abs() < 1e-12);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// On a grid, most distances and many densities are equal.
    #[test]
    fn densities_and_groups_of_any_points(
        points in prop::collection::vec(prop::array::uniform3((0u8..12).prop_map(|x| f32::from(x) / 4.0)), 2..120),
        counts in (1usize..20, 1usize..20, 0usize..8),
        periodic in any::<bool>(),
        outer in 0.0f64..3.0,
    ) {
        let n = points.len();
        let (n_density, n_hop, n_merge) = (counts.0.min(n - 1), counts.1.min(n), counts.2.min(n - 1));
        let side = periodic.then_some(3.0);
        let density = KernelDensity::new().n_density(n_density).volume(1.0).periodic(side);
        let found = density.run(&points).unwrap();
        let lists = definition::nearest_lists(&points, n_density, side);
        let expected = definition::densities::<3>(&lists, &vec![1.0 / n as f64; n], DensityKernel::Symmetric);
        assert_close(&found, &expected, "proptest");
        let hop = Hop::new(outer).density(density).n_hop(n_hop).n_merge(n_merge);
        let chains = hop.chains(&points).unwrap();
        prop_assert_eq!(chains.density(), found.as_slice());
        let expected = definition::chains(&points, &found, n_hop, n_merge, side);
        let groups = definition::groups(&expected, &found, [outer, 2.5 * outer, 3.0 * outer]);
        let halos = hop.run_on_chains(&chains).unwrap();
        prop_assert_eq!(halos.labels().as_slice(), groups.as_slice());
    }
}

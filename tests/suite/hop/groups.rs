//! Chains, boundaries and groups, compared with their definition.

use common::clouds;
use common::oracle::Side;
use common::random::Random;
use ropewalk::cluster::{HopChains, KernelDensity};
use ropewalk::{Bvh, Hop, Scalar};

use super::definition;

/// The numbers of neighbours for chains and boundaries.
#[derive(Clone, Copy)]
struct Counts {
    n_hop: usize,
    n_merge: usize,
}

/// Asserts equal chains for given densities, whose last bits decide ties. Densities are compared in another test.
fn assert_chains<S: Scalar, const D: usize>(
    found: &HopChains,
    points: &[[S; D]],
    Counts { n_hop, n_merge }: Counts,
    side: Side,
    context: &str,
) -> definition::Chains {
    let expected = definition::chains(points, found.density(), n_hop, n_merge, side);
    let peaks: Vec<usize> = found.peaks().iter().map(|peak| peak.index as usize).collect();
    assert_eq!(peaks, expected.peaks, "{context}");
    assert!(found.peaks().iter().all(|peak| peak.density == found.density()[peak.index as usize]), "{context}");
    assert!(found.chain().iter().map(|&chain| chain as usize).eq(expected.chain.iter().copied()), "{context}");
    let boundaries: Vec<_> =
        found.boundaries().iter().map(|b| (b.density, b.denser as usize, b.other as usize)).collect();
    assert_eq!(boundaries, expected.boundaries, "{context}");
    expected
}

/// Returns random thresholds in the range of the densities.
fn thresholds(random: &mut Random, density: &[f64]) -> [f64; 3] {
    let mut three: [f64; 3] = std::array::from_fn(|_| match density[random.below(density.len())] {
        f64::INFINITY => 1e300,
        density => density * (1.0 + 0.2 * random.unit()),
    });
    three.sort_by(f64::total_cmp);
    three
}

fn compare<S: Scalar, const D: usize>(name: &str, points: &[[S; D]], side: f64, random: &mut Random) -> usize {
    let n = points.len();
    let mut most = 0;
    for (n_density, n_hop, n_merge) in [(2, 3, 1), (8, 8, 4), (12, 5, 4), (5, 16, 7), (1, n, n - 1), (3, 1, 0)] {
        if n_density >= n || n_hop > n || n_merge >= n || (n_hop == n && n > 200) {
            continue;
        }
        for side in [None, Some(side)] {
            let context = format!("{name}, {D} dimensions, {n_density}, {n_hop}, {n_merge}, {side:?}");
            let density = KernelDensity::new().n_density(n_density).volume(1.0);
            let hop = Hop::new(0.0).density(density).periodic(side).n_hop(n_hop).n_merge(n_merge);
            let chains = hop.chains(points).unwrap();
            let expected = assert_chains(&chains, points, Counts { n_hop, n_merge }, side, &context);
            most = most.max(expected.peaks.len());
            for _ in 0..4 {
                let [outer, saddle, peak] = thresholds(random, chains.density());
                let density = KernelDensity::new().n_density(n_density).volume(1.0).periodic(side);
                let hop = Hop::new(outer).density(density).n_hop(n_hop).n_merge(n_merge).min_members(2);
                let hop = hop.delta_saddle(saddle).delta_peak(peak);
                let halos = hop.run_on_chains(&chains).unwrap();
                let groups = definition::groups(&expected, chains.density(), [outer, saddle, peak]);
                assert_eq!(halos.labels().as_slice(), groups, "{context}, {outer}, {saddle}, {peak}");
                assert!(halos.iter().all(|members| members.len() >= 2));
                assert_eq!(hop.run(points).unwrap(), halos, "{context}");
            }
            // A user-defined field with many ties.
            let field: Vec<f64> = (0..n).map(|_| random.below(6) as f64 - 2.0).collect();
            let bvh = Bvh::build_periodic(points, side).unwrap();
            let chains = hop.chains_with_density(&bvh, &field).unwrap();
            assert_eq!(chains.density(), field);
            assert_chains(&chains, points, Counts { n_hop, n_merge }, side, &format!("{context}, a field"));
        }
    }
    most
}

fn compare_all<S: Scalar, const D: usize>() {
    let mut random = Random::new(D as u64);
    let mut most = 0;
    for cloud in clouds::small::<S, D>().into_iter().filter(|cloud| cloud.points.len() > 1) {
        most = most.max(compare(cloud.name, &cloud.points, cloud.side, &mut random));
    }
    assert!(most > 20, "{most} chains");
}

#[test]
fn clouds_of_f32_in_space() {
    compare_all::<f32, 3>();
}

#[test]
fn clouds_of_f64_in_space() {
    compare_all::<f64, 3>();
}

#[test]
fn clouds_in_the_plane() {
    compare_all::<f32, 2>();
    compare_all::<f64, 2>();
}

/// The usual parameters.
#[test]
fn particles_of_a_snapshot() {
    let points = &clouds::snapshot::<f32, 3>().unwrap().points[..1200];
    for side in [None, Some(9.0)] {
        let hop = Hop::new(1.0).periodic(side);
        let chains = hop.chains(points).unwrap();
        let expected = assert_chains(&chains, points, Counts { n_hop: 64, n_merge: 4 }, side, "snapshot");
        for outer in [0.1, 1.0, 3.0, 10.0] {
            let hop = Hop::new(outer).periodic(side).min_members(1);
            let halos = hop.run_on_chains(&chains).unwrap();
            let groups = definition::groups(&expected, chains.density(), [outer, 2.5 * outer, 3.0 * outer]);
            assert_eq!(halos.labels().as_slice(), groups, "{outer}, {side:?}");
            assert_eq!(halos.len(), halos.labels().n_clusters());
        }
    }
}

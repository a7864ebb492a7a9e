//! HDBSCAN* on a device, compared with the CPU: labels, probabilities and the tree of clusters.

use common::clouds::{self, Cloud};
use common::random::Random;
use ropewalk::cluster::{ClusterSelection, HdbscanClusters, Ties};
use ropewalk::gpu::{self, Coordinate, Device, Points};
use ropewalk::sample::Sample;
use ropewalk::{ErrorKind, Hdbscan, MinimumSpanningTree};

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

/// Asserts equality to the last bit.
fn assert_same(name: &str, ours: &HdbscanClusters, theirs: &HdbscanClusters) {
    assert!(ours.labels() == theirs.labels(), "{name}: labels differ");
    assert!(bits(ours.probabilities()) == bits(theirs.probabilities()), "{name}: probabilities differ");
    assert!(bits(&ours.outlier_scores()) == bits(&theirs.outlier_scores()), "{name}: outlier scores differ");
    let (one, other) = (ours.condensed_tree(), theirs.condensed_tree());
    assert!(one.rows().eq(other.rows()), "{name}: condensed trees differ");
    assert_eq!(one.clusters().len(), other.clusters().len(), "{name}");
    for (one, other) in one.clusters().iter().zip(other.clusters()) {
        let key = |cluster: &ropewalk::cluster::CondensedCluster| {
            let (birth, death) = (cluster.birth.to_bits(), cluster.death.to_bits());
            (
                cluster.parent,
                cluster.children.clone(),
                birth,
                death,
                cluster.size,
                cluster.label,
                cluster.stability.to_bits(),
            )
        };
        assert_eq!(key(one), key(other), "{name}");
    }
    assert!(bits(ours.persistence()) == bits(theirs.persistence()), "{name}: persistence differs");
}

/// The same spanning tree on the device and on the host, to compare clusters of.
struct Case<'a> {
    name: &'a str,
    ours: gpu::SpanningTree,
    theirs: ropewalk::cluster::SpanningTree,
}

impl<'a> Case<'a> {
    fn new<S: Coordinate, const D: usize>(
        name: &'a str,
        points: &[[S; D]],
        side: Option<f64>,
        min_samples: usize,
        alpha: f64,
    ) -> Self {
        let samples = min_samples.min(points.len().max(1));
        let there = Points::new_periodic(points, side, device()).unwrap();
        let ours = gpu::MinimumSpanningTree::new().min_samples(samples).alpha(alpha).run(&there).unwrap();
        let options = MinimumSpanningTree::new().min_samples(samples).alpha(alpha).periodic(side);
        let theirs = options.run(points).unwrap();
        assert!(ours.read().unwrap() == theirs, "{name}: the spanning trees differ");
        Self { name, ours, theirs }
    }

    fn compare(&self, options: &Hdbscan) -> HdbscanClusters {
        let ours = gpu::Hdbscan::from(options.clone()).run_on_spanning_tree(&self.ours).unwrap();
        let theirs = options.run_on_spanning_tree(&self.theirs).unwrap();
        let read = ours.read().unwrap();
        // Only in small cases can no cluster reach the minimum size, so that the host is used.
        assert!(theirs.labels().as_slice().len() <= 100 || !ours.are_of_host(), "{}: found by the host", self.name);
        assert_same(&format!("{}, {options:?}", self.name), &read, &theirs);
        assert_eq!(ours.clusters().len(), theirs.condensed_tree().clusters().len());
        assert!(bits(&ours.probabilities().read().unwrap()) == bits(theirs.probabilities()));
        theirs
    }
}

/// Returns options with all selection methods.
fn options(min_cluster_size: usize, scale: f64) -> Vec<Hdbscan> {
    let new = || Hdbscan::new(min_cluster_size);
    vec![
        new(),
        new().cluster_selection(ClusterSelection::Leaf),
        new().cluster_selection_epsilon(scale),
        new().cluster_selection(ClusterSelection::Leaf).cluster_selection_epsilon(scale).allow_single_cluster(true),
        new().max_cluster_size(4 * min_cluster_size),
        new().allow_single_cluster(true),
        new().allow_single_cluster(true).cluster_selection_epsilon(scale),
    ]
}

fn compare<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>, min_cluster_sizes: &[usize]) {
    let scale = cloud.radii.last().copied().unwrap_or(0.1);
    for (min_samples, side) in [(1, None), (5, None), (5, Some(cloud.side))] {
        let case = Case::new(cloud.name, &cloud.points, side, min_samples, 1.0);
        for &min_cluster_size in min_cluster_sizes {
            for options in options(min_cluster_size, scale) {
                case.compare(&options);
            }
        }
    }
}

#[test]
fn clouds_in_f32() {
    clouds::small::<f32, 2>().iter().for_each(|cloud| compare(cloud, &[5]));
}

#[test]
#[ignore = "wide"]
fn wide_clouds() {
    let sizes = [2, 5, 20];
    clouds::small::<f32, 2>().iter().for_each(|cloud| compare(cloud, &sizes));
    clouds::small::<f32, 3>().iter().for_each(|cloud| compare(cloud, &sizes));
    clouds::small::<f64, 2>().iter().for_each(|cloud| compare(cloud, &sizes));
    clouds::small::<f64, 3>().iter().for_each(|cloud| compare(cloud, &sizes));
}

/// Many edges of equal weight, and copies of points.
#[test]
fn lattices_and_copies() {
    let mut random = Random::new(3);
    for (n, cells) in [(300, 3), (300, 9), (1500, 12)] {
        let mut point = || std::array::from_fn(|_| random.below(cells) as f32);
        let points: Vec<[f32; 3]> = (0..n).map(|_| point()).collect();
        for min_samples in [1, 4] {
            let case = Case::new("lattice with copies", &points, None, min_samples, 1.0);
            for min_cluster_size in [2, 3, 10, 50] {
                options(min_cluster_size, 1.5).iter().for_each(|options| _ = case.compare(options));
            }
        }
    }
}

/// Points on a line with ascending gaps, which leave one by one, and with gaps like marks on a ruler, which give
/// nested clusters.
#[test]
fn lines() {
    let line = |gap: &dyn Fn(u32) -> u32| -> Vec<[f64; 2]> {
        let mut x = 0.0;
        (0..20_000u32)
            .map(|i| {
                x += f64::from(gap(i));
                [x, 0.0]
            })
            .collect()
    };
    for (name, points) in [
        ("ascending", line(&|i| i + 1)),
        ("in steps", line(&|i| i / 7 + 1)),
        ("as a ruler", line(&|i| 1 << (i + 1).trailing_zeros())),
        ("as a ruler, ascending", line(&|i| (1 << (i + 1).trailing_zeros()) * 1000 + i)),
    ] {
        let case = Case::new(name, &points, None, 1, 1.0);
        for options in [Hdbscan::new(2), Hdbscan::new(3), Hdbscan::new(100), Hdbscan::new(5000)] {
            case.compare(&options.allow_single_cluster(true));
        }
    }
}

/// From points to clusters, with sums of more terms than are added at once; two runs are equal.
#[test]
fn halos() {
    let points = Sample::parse("halos:n=20000,seed=3").unwrap().points().unwrap();
    let there = Points::new(&points, device()).unwrap();
    for options in [Hdbscan::new(10), Hdbscan::new(50).min_samples(4)] {
        let theirs = options.run(&points).unwrap();
        assert!(theirs.labels().n_clusters() > 5);
        let run = || gpu::Hdbscan::from(options.clone()).run(&there).unwrap().read().unwrap();
        let ours = run();
        assert_same("halos", &ours, &theirs);
        assert!(run() == ours);
    }
    let periodic = Points::new_periodic(&points, 1.0, device()).unwrap();
    let ours = gpu::Hdbscan::new(10).run_on(&gpu::Bvh::from_points(&periodic).unwrap()).unwrap();
    assert_same("periodic", &ours.read().unwrap(), &Hdbscan::new(10).periodic(1.0).run(&points).unwrap());
}

const ALPHAS: [f64; 5] = [0.5, 0.7, 1.0, 1.3, 4.0];

#[test]
#[ignore = "wide"]
fn wide_alpha_of_clouds() {
    for cloud in clouds::small::<f32, 2>() {
        for alpha in ALPHAS {
            for (min_samples, side) in [(1, None), (5, Some(cloud.side))] {
                let case = Case::new(cloud.name, &cloud.points, side, min_samples, alpha);
                case.compare(&Hdbscan::new(5).alpha(alpha));
            }
        }
    }
}

/// From points to clusters: halos, and a lattice with coincident points, in open space and in a periodic box.
#[test]
fn alpha_of_points() {
    let mut random = Random::new(11);
    let halos: Vec<[f32; 3]> = Sample::parse("halos:n=3000,seed=3").unwrap().points().unwrap();
    let lattice = (0..1500).map(|_| std::array::from_fn(|_| random.below(12) as f32 * 0.1)).collect();
    for (name, points, side) in [("halos", halos, 1.0), ("lattice", lattice, 1.2)] {
        let mut different = 0;
        for side in [None, Some(side)] {
            let there = Points::new_periodic(&points, side, device()).unwrap();
            let plain = Hdbscan::new(5).periodic(side).run(&points).unwrap();
            for alpha in ALPHAS {
                let options = Hdbscan::new(5).alpha(alpha).periodic(side);
                let theirs = options.run(&points).unwrap();
                let ours = gpu::Hdbscan::new(5).alpha(alpha).run(&there).unwrap();
                assert!(!ours.are_of_host());
                assert_same(&format!("{name}, alpha {alpha}, {side:?}"), &ours.read().unwrap(), &theirs);
                let converted = gpu::Hdbscan::from(options).run(&there).unwrap();
                assert!(converted.read().unwrap() == theirs);
                different += usize::from(!theirs.condensed_tree().rows().eq(plain.condensed_tree().rows()));
            }
        }
        // A device that ignores alpha would fail.
        assert_eq!(different, 8, "{name}");
    }
}

/// Fewer points than the minimum size of a cluster, including none and one.
#[test]
fn few_points() {
    for n in [0, 1, 2, 3, 9, 10, 11] {
        let points = Sample::parse(&format!("halos:n={n},seed=5")).unwrap().points().unwrap();
        let there = Points::new(&points, device()).unwrap();
        for least in [10, 2, 3] {
            let options = Hdbscan::new(least).allow_single_cluster(least == 3);
            let ours = gpu::Hdbscan::from(options.clone()).run(&there).unwrap();
            let theirs = options.run(&points).unwrap();
            assert_eq!((ours.labels().len(), ours.are_of_host()), (n, n < least));
            assert_same(&n.to_string(), &ours.read().unwrap(), &theirs);
        }
    }
}

/// Compares the clusters of new points, near the old ones and far away.
fn compare_predictions<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>, options: &Hdbscan, side: Option<f64>) {
    let (old, new): (Vec<(usize, [S; D])>, _) = cloud.points.iter().copied().enumerate().partition(|(i, _)| i % 4 > 0);
    let [old, mut new] = [old, new].map(|points| points.into_iter().map(|(_, point)| point).collect::<Vec<_>>());
    new.extend(&old[..old.len().min(10)]);
    new.extend([[S::from_f64(0.45 * cloud.side); D], [S::from_f64(0.99 * cloud.side); D]]);
    let theirs = options.clone().periodic(side);
    let clusters = theirs.run(&old).unwrap();
    let expected = theirs.predict(&old, &clusters, &new).unwrap();
    let points = Points::new_periodic(&old, side, device()).unwrap();
    let ours = gpu::Hdbscan::from(options.clone());
    let found = ours.predict(&points, &ours.run(&points).unwrap(), &new).unwrap();
    assert_eq!(found, expected, "{}, {options:?}, {side:?}", cloud.name);
    assert!(ours.predict(&points, &ours.run(&points).unwrap(), &[]).unwrap().labels.is_empty());
}

#[test]
fn predictions() {
    let cloud = clouds::clustered::<f32, 3>();
    compare_predictions(&cloud, &Hdbscan::new(10).min_samples(4).alpha(1.3), None);
}

#[test]
#[ignore = "wide"]
fn wide_predictions() {
    let cloud = clouds::clustered::<f64, 2>();
    for samples in [1, 2, 5, 40, 70] {
        compare_predictions(&cloud, &Hdbscan::new(12).min_samples(samples), None);
        compare_predictions(
            &cloud,
            &Hdbscan::new(12).min_samples(samples).allow_single_cluster(true),
            Some(cloud.side),
        );
    }
    let mut random = Random::new(5);
    let points: Vec<[f32; 2]> = (0..400).map(|_| std::array::from_fn(|_| random.below(10) as f32)).collect();
    let lattice = Cloud { name: "lattice with copies", points, radii: vec![], side: 10.0 };
    compare_predictions(&lattice, &Hdbscan::new(5), None);
    compare_predictions(&lattice, &Hdbscan::new(5), Some(10.0));
}

#[test]
fn predictions_that_are_refused() {
    let of = |n: usize| Points::new(&vec![[0.5f32, 0.5]; n], device()).unwrap();
    let hdbscan = gpu::Hdbscan::new(2).min_samples(2);
    let clusters = hdbscan.run(&of(5)).unwrap();
    assert_eq!(hdbscan.predict(&of(4), &clusters, &[[0.0, 0.0]]).unwrap_err().kind(), ErrorKind::Input);
    assert_eq!(hdbscan.predict(&of(5), &clusters, &[[0.0, f32::NAN]]).unwrap_err().kind(), ErrorKind::NotFinite);
    let many = hdbscan.clone().min_samples(6);
    assert_eq!(many.predict(&of(5), &clusters, &[[0.0, 0.0]]).unwrap_err().parameter(), Some("min_samples"));
    let none = hdbscan.run(&of(0)).unwrap_or_else(|_| gpu::Hdbscan::new(2).run(&of(0)).unwrap());
    let found = gpu::Hdbscan::new(2).predict(&of(0), &none, &[[0.0, 0.0]]).unwrap();
    assert_eq!((found.labels, found.probabilities), (vec![-1], vec![0.0]));
}

#[test]
fn bad_input() {
    let points = Points::new(&[[0.0f32, 0.0], [1.0, 0.0], [2.0, 0.0]], device()).unwrap();
    let run = |options: Hdbscan| gpu::Hdbscan::from(options).run(&points).unwrap_err();
    for (options, name) in [
        (Hdbscan::new(1), "min_cluster_size"),
        (Hdbscan::new(2).min_samples(0), "min_samples"),
        (Hdbscan::new(2).min_samples(4), "min_samples"),
        (Hdbscan::new(2).cluster_selection_epsilon(f64::NAN), "cluster_selection_epsilon"),
        (Hdbscan::new(2).max_cluster_size(0), "max_cluster_size"),
        (Hdbscan::new(2).alpha(0.0), "alpha"),
        (Hdbscan::new(2).alpha(f64::INFINITY), "alpha"),
        (Hdbscan::new(2).alpha(1e-200), "alpha"),
    ] {
        let error = run(options);
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::Parameter, Some(name)), "{error}");
    }
    let error = run(Hdbscan::new(2).ties(Ties::Sequential));
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("Ties::Together"), "{error}");
}

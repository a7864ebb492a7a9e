//! Trees and queries on a device, compared with the CPU, whose results are tested elsewhere.

use common::clouds::{Cloud, all};
use ropewalk::Nearest;
use ropewalk::cluster::DbscanAlgorithm;
use ropewalk::gpu::{self, Bvh, Coordinate, Device, Origin};
use ropewalk::sample::Sample;

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

/// Asserts equal bytes, except for the sign of zeros.
fn assert_same<S: Coordinate, const D: usize>(name: &str, ours: &gpu::Bvh<S, D>, theirs: &ropewalk::Bvh<S, D>) {
    assert!(ours.bounds() == theirs.bounds() && ours.space() == theirs.space(), "{name}: bounds differ");
    let ours = ours.read().unwrap();
    assert!(ours.nodes() == theirs.nodes(), "{name}: nodes differ");
    assert!(ours.order() == theirs.order(), "{name}: orders differ");
    ours.validate().unwrap();
}

/// Clouds of distinct points with many points in one cell of the Morton grid.
const CLOSER_THAN_CELLS: [&str; 1] = ["denormals"];

fn compare<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>) {
    let (name, points) = (cloud.name, &cloud.points[..]);
    let side = cloud.side;
    // Invalid clouds give the same error.
    let (ours, theirs) = match (Bvh::build(points, device()), ropewalk::Bvh::build(points)) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (ours, theirs) => {
            let message = |error: Option<ropewalk::Error>| error.map(|error| error.to_string());
            assert_eq!(message(ours.err()), message(theirs.err()), "{name}");
            return;
        }
    };
    assert_same(name, &ours, &theirs);
    // A tree built on the CPU would not test the device. Only leaves with too many equal codes are left to the CPU.
    let mut distinct = points.to_vec();
    distinct.sort_by(|a, b| a.partial_cmp(b).expect("finite coordinates"));
    distinct.dedup();
    if distinct.len() == points.len() && !CLOSER_THAN_CELLS.contains(&name) {
        assert!(ours.origin() != Origin::Host, "{name}: built on the CPU");
    }
    let periodic = Bvh::build_periodic(points, side, device()).unwrap();
    let their_periodic = ropewalk::Bvh::build_periodic(points, side).unwrap();
    assert_same(name, &periodic, &their_periodic);
    compare_nearest(name, &ours, &theirs);
    compare_nearest(&format!("{name}, periodic"), &periodic, &their_periodic);
    for &radius in &cloud.radii {
        compare_clusters(&format!("{name}, eps {radius}"), &ours, &theirs, radius);
        compare_clusters(&format!("{name}, eps {radius}, periodic"), &periodic, &their_periodic, radius);
        compare_neighbors(&format!("{name}, radius {radius}"), &ours, &theirs, radius);
        compare_neighbors(&format!("{name}, radius {radius}, periodic"), &periodic, &their_periodic, radius);
    }
}

fn compare_neighbors<S: Coordinate, const D: usize>(
    name: &str,
    ours: &gpu::Bvh<S, D>,
    theirs: &ropewalk::Bvh<S, D>,
    radius: f64,
) {
    assert!(ours.count_neighbors(radius).unwrap().read().unwrap() == theirs.count_neighbors(radius), "{name}: counts");
    assert_eq!(ours.count_pairs(radius).unwrap(), theirs.count_pairs(radius), "{name}: pairs");
    assert!(ours.neighbors(radius).unwrap().read().unwrap() == theirs.neighbors(radius), "{name}: lists");
    compare_lists(name, ours, theirs, Nearest::new(5).within(radius));
}

fn compare_nearest<S: Coordinate, const D: usize>(name: &str, ours: &gpu::Bvh<S, D>, theirs: &ropewalk::Bvh<S, D>) {
    compare_lists(name, ours, theirs, Nearest::new(40));
    compare_lists(name, ours, theirs, Nearest::new(5).excluding_self());
}

fn compare_lists<S: Coordinate, const D: usize>(
    name: &str,
    ours: &gpu::Bvh<S, D>,
    theirs: &ropewalk::Bvh<S, D>,
    wanted: Nearest,
) {
    let found = ours.nearest_neighbors(wanted).unwrap().read().unwrap();
    assert!(found == theirs.nearest_neighbors(wanted), "{name}: {wanted:?}");
}

fn compare_clusters<S: Coordinate, const D: usize>(
    name: &str,
    ours: &gpu::Bvh<S, D>,
    theirs: &ropewalk::Bvh<S, D>,
    eps: f64,
) {
    for (min_samples, algorithms) in [
        (1, &[DbscanAlgorithm::Auto][..]),
        (2, &[DbscanAlgorithm::Auto, DbscanAlgorithm::Fdbscan]),
        (5, &[DbscanAlgorithm::Fdbscan, DbscanAlgorithm::DenseBox]),
        // The largest number for which neighbours are listed, and one more.
        (16, &[DbscanAlgorithm::Auto]),
        (17, &[DbscanAlgorithm::Auto]),
        (50, &[DbscanAlgorithm::DenseBox]),
    ] {
        let theirs = ropewalk::Dbscan::new(eps, min_samples).run_on(theirs);
        for &algorithm in algorithms {
            let context = format!("{name}, {min_samples} {algorithm:?}");
            match (gpu::Dbscan::new(eps, min_samples).algorithm(algorithm).run_on(ours), &theirs) {
                (Ok(ours), Ok(theirs)) => {
                    assert!(ours.column().unwrap().read().unwrap() == theirs.as_slice(), "{context}");
                    if theirs.as_slice().len() < 20 {
                        assert_eq!(ours.read().unwrap(), *theirs)
                    } else {
                        assert!(ours.read().unwrap() == *theirs, "{context}")
                    }
                }
                (ours, theirs) => {
                    let ours = ours.err().map(|error| error.to_string());
                    assert_eq!(ours, theirs.as_ref().err().map(|error| error.to_string()), "{context}");
                }
            }
        }
    }
    if let Ok(theirs) = ropewalk::Dbscan::new(eps, 5).star(true).run_on(theirs) {
        let ours = gpu::Dbscan::new(eps, 5).star(true).run_on(ours).unwrap();
        assert!(ours.read().unwrap() == theirs, "{name}, star");
    }
}

#[test]
fn clouds_in_f32() {
    all::<f32, 3>().iter().for_each(compare);
}

#[test]
fn clouds_in_f64() {
    all::<f64, 2>().iter().for_each(compare);
}

#[test]
#[ignore = "wide"]
fn wide_clouds() {
    all::<f32, 2>().iter().for_each(compare);
    all::<f64, 3>().iter().for_each(compare);
}

#[test]
fn halos() {
    for (spec, side) in [("halos:n=20000,seed=3", 1.0), ("lattice:n=20^3,box=20", 20.0), ("nfw:n=3000", 1.0)] {
        let points = Sample::parse(spec).unwrap().points().unwrap();
        for eps in [0.01 * side, 0.05 * side] {
            let ours = gpu::Fof::new(eps).min_members(5).run(&gpu::Points::new(&points, device()).unwrap()).unwrap();
            let theirs = ropewalk::Fof::new(eps).min_members(5).run(&points).unwrap();
            assert!(ours.read().unwrap() == theirs, "{spec}, {eps}");
            let points_there = gpu::Points::new_periodic(&points, side, device()).unwrap();
            let ours = gpu::Fof::new(eps).run(&points_there).unwrap();
            let theirs = ropewalk::Fof::new(eps).periodic(side).run(&points).unwrap();
            assert!(ours.read().unwrap() == theirs, "{spec}, {eps}, periodic");
        }
    }
}

/// A forced setting is used.
#[test]
fn warps_are_as_asked() {
    let warp = device().warp().unwrap();
    match std::env::var("ROPEWALK_WARP").as_deref() {
        Ok(asked) => assert_eq!(warp, asked),
        Err(_) => assert!(["native", "none"].contains(&warp), "{warp}"),
    }
}

/// Lists that exceed the device's largest buffer are rejected before anything is written.
#[test]
fn too_large_for_a_buffer() {
    let points = Sample::parse("uniform:n=60000,seed=1").unwrap().points().unwrap();
    let tree = Bvh::build(&points, device()).unwrap();
    // 14.4 GB, which exceeds a buffer of software Vulkan, but not the memory of large GPUs.
    match tree.neighbors(2.0) {
        Ok(lists) => assert_eq!(lists.n_values(), 3_600_000_000),
        Err(error) => assert!(error.to_string().contains("14400000000 bytes"), "{error}"),
    }
}

/// Sizes close to those of leaves, tiles and blocks.
#[test]
fn sizes() {
    for n in [0, 1, 2, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 4097, 70_000] {
        let points = Sample::parse(&format!("halos:n={n},seed=5")).unwrap().points().unwrap();
        let ours = Bvh::build(&points, device()).unwrap();
        assert_eq!(ours.origin(), if n == 0 { Origin::Empty } else { Origin::LeadingBits }, "{n}");
        assert_same("mock halos", &ours, &ropewalk::Bvh::build(&points).unwrap());
    }
}

/// More points in one cell than a leaf holds, which are sorted by separate grids.
#[test]
fn crowded_cells() {
    let mut points = Sample::parse("uniform:n=3000,seed=1,box=1e-9").unwrap().points().unwrap();
    points.extend(Sample::parse("uniform:n=1000,seed=2").unwrap().points().unwrap());
    points.extend([[0.5f32; 3]; 500]);
    let ours = Bvh::build(&points, device()).unwrap();
    assert_eq!(ours.origin(), Origin::Host);
    assert_same("crowded", &ours, &ropewalk::Bvh::build(&points).unwrap());
}

/// Points that share the leading bits of their codes: a few, which are ordered by counting, and more than counting
/// can handle.
#[test]
fn close_points() {
    for n in [20, 33, 2000] {
        let mut points = Sample::parse("uniform:n=3000,seed=1").unwrap().points().unwrap();
        points.extend(Sample::parse(&format!("uniform:n={n},seed=2,box=1e-5")).unwrap().points().unwrap());
        points.extend(Sample::parse("uniform:n=9,seed=3,box=4e-6").unwrap().points().unwrap());
        let ours = Bvh::build(&points, device()).unwrap();
        assert_eq!(ours.origin(), if n == 20 { Origin::LeadingBits } else { Origin::AllBits }, "{n}");
        assert_same("close", &ours, &ropewalk::Bvh::build(&points).unwrap());
    }
}

#[test]
fn a_tree_goes_there_and_back() {
    let points = Sample::parse("nfw:n=3000").unwrap().points().unwrap();
    let tree = ropewalk::Bvh::build_periodic(&points, 1.0).unwrap();
    let there = Bvh::upload(&tree, device()).unwrap();
    assert_eq!(there.origin(), Origin::Upload);
    assert_same("uploaded", &there, &tree);
    assert_eq!(there.count_neighbors(0.1).unwrap().read().unwrap(), tree.count_neighbors(0.1));
}

#[test]
fn twenty_runs_are_one() {
    let points = Sample::parse("halos:n=20000,seed=9").unwrap().points().unwrap();
    let run = || {
        let tree = Bvh::build(&points, device()).unwrap();
        (tree.read().unwrap().nodes().to_vec(), tree.count_neighbors(0.01).unwrap().read().unwrap())
    };
    let first = run();
    for _ in 1..20 {
        assert!(run() == first);
    }
}

#[test]
fn bad_input() {
    let says = |error: ropewalk::Error, words: &[&str]| {
        let message = error.to_string();
        assert!(words.iter().all(|word| message.contains(word)), "'{message}' does not say {words:?}");
    };
    says(Bvh::build(&[[0.0f32, f32::NAN, 1.0]], device()).unwrap_err(), &["point 0", "NaN"]);
    says(Bvh::build(&[[0.0f32; 11]], device()).unwrap_err(), &["dimension 11", "1 to 10"]);
    says(Bvh::build_periodic(&[[0.0f32; 3]], -1.0, device()).unwrap_err(), &["-1"]);
    let boxes = [ropewalk::Aabb::new([0.0f32; 2], [1.0; 2])];
    says(Bvh::upload(&ropewalk::Bvh::build(&boxes).unwrap(), device()).unwrap_err(), &["boxes"]);
    let tree = Bvh::build(&[[0.0f32; 3]; 3], device()).unwrap();
    for (radius, count) in [(-1.0, 0), (f64::NAN, 0), (0.0, 3), (f64::INFINITY, 3)] {
        let ours = tree.count_neighbors(radius).unwrap().read().unwrap();
        assert_eq!(ours, [count; 3]);
        assert_eq!(ours, ropewalk::Bvh::build(&[[0.0f32; 3]; 3]).unwrap().count_neighbors(radius));
    }
    #[cfg(feature = "vulkan")]
    says(Device::vulkan(1000).unwrap_err(), &["no Vulkan device 1000"]);
    #[cfg(feature = "cuda")]
    says(Device::cuda(1000).unwrap_err(), &["no CUDA device 1000"]);
}

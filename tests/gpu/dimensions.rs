//! A short test of all dimensions on a device, compared with the CPU and with the definitions.

use common::clouds::{self, Cloud};
use common::oracle::{self, NearestQuery};
use common::random::Random;
use ropewalk::geometry::BoxSize;
use ropewalk::gpu::{self, Bvh, Coordinate, Device, Origin};
use ropewalk::{Dbscan, ErrorKind, Hdbscan, Nearest, Sphere};
use ropewalk_table::{Coordinates, DevicePoints, Points, Table, on_device};

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

/// Returns a tree on the device and the CPU's tree, after checking that their nodes are equal.
fn trees<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>, side: Option<f64>) -> (Bvh<S, D>, ropewalk::Bvh<S, D>) {
    let what = format!("{} in {D} dimensions, side {side:?}", cloud.name);
    let ours = match side {
        None => Bvh::build(&cloud.points, device()),
        Some(side) => Bvh::build_periodic(&cloud.points, side, device()),
    };
    let (ours, theirs) = (ours.unwrap(), ropewalk::Bvh::build_periodic(&cloud.points, side).unwrap());
    let read = ours.read().unwrap();
    assert!(read.nodes() == theirs.nodes() && read.order() == theirs.order(), "{what}: the trees differ");
    assert!(ours.bounds() == theirs.bounds(), "{what}");
    // Leaves with more points in one cell than a leaf holds are left to the CPU, and would test nothing.
    let mut distinct = cloud.points.clone();
    distinct.sort_by(|a, b| a.partial_cmp(b).unwrap());
    distinct.dedup();
    assert!(distinct.len() < cloud.points.len() || ours.origin() != Origin::Host, "{what}: built on the CPU");
    (ours, theirs)
}

/// Tests uniform points, lattices with ties, copies of points, and powers of two.
fn cloud_trees<S: Coordinate, const D: usize>() {
    // More than 16 x 16 leaves, and enough for boxes of three sizes.
    let many = clouds::uniform::<S, D>("many", 12_000, -1.0, 2.0, &[], 1.5);
    for cloud in [many, clouds::two(), clouds::whole_lattice(), clouds::geometric(20), clouds::geometric(100)] {
        for side in [None, Some(cloud.side)] {
            trees(&cloud, side);
        }
    }
}

#[test]
fn trees_of_all_dimensions() {
    cloud_trees::<f64, 1>();
    cloud_trees::<f32, 4>();
    cloud_trees::<f32, 10>();
}

#[test]
#[ignore = "wide"]
fn wide_trees_of_all_dimensions() {
    cloud_trees::<f32, 1>();
    cloud_trees::<f64, 5>();
    cloud_trees::<f32, 7>();
    cloud_trees::<f64, 10>();
}

/// Returns 400 points, a third of them on a lattice with many copies and ties.
fn mixed<S: Coordinate, const D: usize>() -> Cloud<S, D> {
    let mut random = Random::new(D as u64);
    let points = (0..400).map(|i| {
        let coordinate = |random: &mut Random| match i % 3 {
            0 => random.below(3) as f64 * 0.25,
            1 => random.unit(),
            _ => 0.5 + 0.03 * random.normal(),
        };
        std::array::from_fn(|_| S::from_f64(coordinate(&mut random)))
    });
    Cloud { name: "mixed", points: points.collect(), radii: vec![0.1, 0.25], side: 1.0 }
}

fn searches<S: Coordinate, const D: usize>(side: Option<f64>) {
    let cloud = mixed::<S, D>();
    let what = format!("{D} dimensions, side {side:?}");
    let (ours, theirs) = trees(&cloud, side);
    let points: Vec<_> = cloud.points.iter().map(|point| oracle::wrap_point(point, side)).collect();
    for &radius in &cloud.radii {
        let lists = oracle::neighbors(&points, radius, side);
        let counts: Vec<u32> = lists.iter().map(|list| list.len() as u32).collect();
        assert!(counts.iter().any(|&count| count > 1), "{what}: {radius} says nothing");
        assert!(ours.count_neighbors(radius).unwrap().read().unwrap() == counts, "{what}: counts");
        let pairs = counts.iter().map(|&count| u64::from(count) - 1).sum::<u64>() / 2;
        assert_eq!(ours.count_pairs(radius).unwrap(), pairs, "{what}");
        let found = ours.neighbors(radius).unwrap().read().unwrap();
        assert!(found == theirs.neighbors(radius), "{what}: lists");
        let sorted = |list: &[u32]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list
        };
        assert!((0..points.len()).all(|i| sorted(found.of(i)) == lists[i]), "{what}: lists");
        let balls: Vec<_> = points.iter().rev().take(100).map(|&center| Sphere::new(center, radius)).collect();
        let found = ours.query_all(&balls).unwrap().read().unwrap();
        assert!(found == theirs.query_all(&balls), "{what}: balls");
        let labels = gpu::Dbscan::new(radius, 2).run_on(&ours).unwrap().read().unwrap();
        assert_eq!(labels.as_slice(), oracle::components(&lists), "{what}");
        let labels = gpu::Dbscan::new(radius, 5).run_on(&ours).unwrap().read().unwrap();
        assert!(labels == Dbscan::new(radius, 5).run_on(&theirs).unwrap(), "{what}: DBSCAN");
        let halos = gpu::Fof::new(radius).min_members(3).run_on(&ours).unwrap().read().unwrap();
        assert!(halos == ropewalk::Fof::new(radius).min_members(3).run_on(&theirs).unwrap(), "{what}: FOF");
    }
    let found = ours.nearest_neighbors(Nearest::new(4).excluding_self()).unwrap().read().unwrap();
    assert!(found == theirs.nearest_neighbors(Nearest::new(4).excluding_self()), "{what}: nearest");
    for (i, point) in points.iter().enumerate() {
        let expected = oracle::nearest(&points, point, NearestQuery::new(4).excluding(i as u32), side);
        assert!(found.of(i).iter().map(|near| (near.index, near.distance2)).eq(expected), "{what}, point {i}");
    }
    let tree = gpu::MinimumSpanningTree::new().min_samples(3).run_on(&ours).unwrap().read().unwrap();
    let expected = ropewalk::MinimumSpanningTree::new().min_samples(3).run_on(&theirs).unwrap();
    assert!(tree == expected, "{what}: spanning trees");
    let clusters = gpu::Hdbscan::from(Hdbscan::new(10).min_samples(3)).run_on(&ours).unwrap().read().unwrap();
    let expected = Hdbscan::new(10).min_samples(3).run_on(&theirs).unwrap();
    assert!(clusters.labels() == expected.labels() && clusters.labels().n_clusters() > 0, "{what}: HDBSCAN*");
    assert_eq!(clusters.probabilities(), expected.probabilities(), "{what}");
    // Density kernels exist in two and three dimensions only, on the host and on the device.
    let hop = ropewalk::Hop::new(1.0).n_density(5).n_hop(5);
    let (ours, theirs) = (gpu::Hop::from(hop.clone()).run_on(&ours).unwrap_err(), hop.run_on(&theirs).unwrap_err());
    assert_eq!((ours.kind(), ours.to_string()), (ErrorKind::Unsupported, theirs.to_string()));
}

#[test]
fn searches_in_one_dimension() {
    searches::<f64, 1>(None);
}

#[test]
#[ignore = "wide"]
fn wide_searches_in_four_dimensions() {
    searches::<f32, 4>(Some(1.0));
}

#[test]
#[ignore = "wide"]
fn wide_searches_in_six_dimensions() {
    searches::<f32, 6>(None);
}

#[test]
fn searches_in_ten_dimensions() {
    searches::<f64, 10>(Some(1.0));
}

/// More coordinates than are loaded at once, for traversals by whole warps.
#[test]
fn warps_of_many_coordinates() {
    let (ours, theirs) = trees(&mixed::<f32, 5>(), None);
    assert_eq!(ours.count_pairs(0.25).unwrap(), theirs.count_pairs(0.25));
}

/// Compares the padding of tables to a larger dimension on the host and on the device.
fn widened<S: Coordinate, const D: usize, const WIDE: usize>(
    table: impl Fn(Table<S>) -> ropewalk_table::Points,
    eps: f64,
    size: Option<[f64; D]>,
) {
    // Some points are outside of the box.
    let points: Vec<[S; D]> = mixed::<S, D>()
        .points
        .iter()
        .map(|point| point.map(|x| S::from_f64(3.0 * Into::<f64>::into(x) - 1.1)))
        .collect();
    let size = size.map_or(BoxSize::default(), BoxSize::from);
    let dbscan = Dbscan::new(eps, 3).periodic(size.clone());
    let expected =
        ropewalk_table::dbscan(&table(Table::new(D, points.as_flattened().to_vec()).unwrap()), &dbscan).unwrap();
    assert!(expected.n_clusters() > 0 && expected.n_noise() > 0, "{D} dimensions");
    let there = gpu::DeviceVec::new(points.as_flattened(), device()).unwrap().widened(D, size).unwrap();
    assert_eq!((there.dim, there.coordinates.len()), (WIDE, WIDE * points.len()));
    let there = gpu::Points::<f64, WIDE>::from_device(&there.coordinates, there.size).unwrap();
    assert!(gpu::Dbscan::new(eps, 3).run(&there).unwrap().read().unwrap() == expected, "{D} dimensions");
}

#[test]
fn tables_of_any_dimension() {
    widened::<f32, 1, 2>(ropewalk_table::Points::F32, 0.01, Some([1.7]));
    widened::<f64, 7, 10>(ropewalk_table::Points::F64, 0.4, Some([1.0, 1.3, 1.6, 1.9, 2.2, 2.5, 2.8]));
    widened::<f32, 8, 10>(ropewalk_table::Points::F32, 0.4, None);
    let numbers = gpu::DeviceVec::new(&[0.0f32; 8], device()).unwrap();
    let says = |error: ropewalk::Error, words: &str| assert!(error.to_string().contains(words), "'{error}'");
    says(numbers.widened(0, None::<f64>).unwrap_err(), "dimension 0");
    says(numbers.widened(11, None::<f64>).unwrap_err(), "dimension 11");
    says(numbers.widened(3, None::<f64>).unwrap_err(), "multiple of the dimension 3");
    says(numbers.widened(4, [1.0; 3]).unwrap_err(), "3 sides");
    says(numbers.widened(4, -1.0).unwrap_err(), "-1");
    // A value that is not finite is kept and detected.
    let widened = gpu::DeviceVec::new(&[0.0f32, 1.0, 2.0, f32::NAN], device()).unwrap().widened(1, 1.5).unwrap();
    says(gpu::Points::<f64, 2>::from_device(&widened.coordinates, widened.size).unwrap_err(), "3");
}

/// A tree can be copied to the device and back in any dimension. Too many or no dimensions are rejected as on the
/// CPU.
#[test]
fn other_dimensions() {
    let cloud = mixed::<f32, 9>();
    let tree = ropewalk::Bvh::build(&cloud.points).unwrap();
    assert!(Bvh::upload(&tree, device()).unwrap().read().unwrap().nodes() == tree.nodes());
    let says = |error: ropewalk::Error, theirs: ropewalk::Error| {
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Unsupported, theirs.to_string()));
    };
    let (none, eleven) = ([[0.0f32; 0]; 2], [[0.0f32; 11]; 2]);
    says(Bvh::build(&none, device()).unwrap_err(), ropewalk::Bvh::build(&none).unwrap_err());
    says(Bvh::build(&eleven, device()).unwrap_err(), ropewalk::Bvh::build(&eleven).unwrap_err());
    let coordinates = gpu::DeviceVec::new(&[0.0f32; 22], device()).unwrap();
    says(
        gpu::Points::<f32, 11>::from_device(&coordinates, None::<f64>).unwrap_err(),
        ropewalk::Bvh::build(&eleven).unwrap_err(),
    );
    says(
        gpu::Points::<f32, 0>::from_device(&coordinates, None::<f64>).unwrap_err(),
        ropewalk::Bvh::build(&none).unwrap_err(),
    );
}

#[test]
fn tables_on_a_device() {
    tables(&[3, 5]);
}

/// All types that kernels are compiled for, and one that is padded.
#[test]
#[ignore = "wide"]
fn wide_tables_on_a_device() {
    tables(&[1, 2, 6, 10]);
}

/// Tests points whose type and dimension are known at run time: copied directly, and from coordinates that are on the
/// device.
fn tables(dimensions: &[usize]) {
    for &dim in dimensions {
        let data: Vec<f64> = (0..90 * dim).map(|i| (i * i % 97) as f64 / 8.0).collect();
        let narrow = Table::new(dim, data.iter().map(|&x| x as f32).collect()).unwrap();
        for points in [Points::F32(narrow), Points::F64(Table::new(dim, data).unwrap())] {
            let dbscan = Dbscan::new(3.0, 4).periodic(16.0);
            let expected = ropewalk_table::dbscan(&points, &dbscan).unwrap();
            let coordinates = Coordinates::new(&points, device()).unwrap();
            for there in [
                DevicePoints::new(&points, 16.0, device()).unwrap(),
                DevicePoints::from_device(&coordinates, dim, 16.0).unwrap(),
            ] {
                let tree = there.tree().unwrap();
                assert_eq!((tree.len(), tree.is_empty()), (90, false));
                let found = on_device!(DeviceBvh, &tree, bvh => gpu::Dbscan::new(3.0, 4).run_on(bvh)).unwrap();
                assert_eq!(found.read().unwrap().as_slice(), expected.as_slice(), "{dim} dimensions");
            }
            coordinates.check_sides(dim, &vec![16.0; dim]).unwrap();
            let mut sides = vec![16.0; dim];
            sides[dim - 1] = 2.0;
            let refused = coordinates.check_sides(dim, &sides).unwrap_err();
            assert_eq!(refused.to_string(), points.check_sides(&sides).unwrap_err().to_string());
            assert!(refused.to_string().contains(&format!("along axis {}", dim - 1)), "{refused}");
        }
        let wrong = Coordinates::F32(gpu::DeviceVec::new(&[0.0; 101], device()).unwrap());
        assert!(101 % dim == 0 || DevicePoints::from_device(&wrong, dim, None::<f64>).is_err());
    }
}

/// Points in units whose squares leave the range of `f32`, such as cm, become `f64`. Otherwise each pair would be
/// compared in `f64`.
#[test]
fn tables_in_other_units() {
    let unit = 2f32.powi(82);
    let data: Vec<f32> = (0..3 * 90).map(|i| unit * ((i * i % 97) as f32 / 8.0 - 1.0)).collect();
    let points = Points::F32(Table::new(3, data).unwrap());
    let (eps, side) = (2.0 * f64::from(unit), 16.0 * f64::from(unit));
    let expected = ropewalk_table::dbscan(&points, &Dbscan::new(eps, 4).periodic(side)).unwrap();
    assert!(expected.n_clusters() > 0 && expected.n_noise() > 0);
    let coordinates = Coordinates::new(&points, device()).unwrap();
    for there in
        [DevicePoints::new(&points, side, device()).unwrap(), DevicePoints::from_device(&coordinates, 3, side).unwrap()]
    {
        assert!(matches!(there, DevicePoints::F64In3(_)));
        let found = on_device!(DevicePoints, &there, points => gpu::Dbscan::new(eps, 4).run(points)).unwrap();
        assert_eq!(found.read().unwrap().as_slice(), expected.as_slice());
    }
}

//! Brute force on a device, compared with brute force and with the tree on the CPU.

use common::clouds::{self, Cloud, clustered, small};
use ropewalk::geometry::Query;
use ropewalk::gpu::{self, Coordinate, Device, RangeQuery};
use ropewalk::reference::BruteForce;
use ropewalk::sample::Sample;
use ropewalk::{Aabb, Nearest, Sphere};

use crate::queries::{beside, boxes, brute_force};

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

/// Returns brute force on the device and on the CPU, in open space or in a periodic box.
fn twins<S: Coordinate, const D: usize>(
    cloud: &Cloud<S, D>,
    side: Option<f64>,
) -> (gpu::BruteForce<S, D>, BruteForce<S, D>) {
    let ours = match side {
        Some(side) => gpu::BruteForce::build_periodic(&cloud.points, side, device()),
        None => gpu::BruteForce::build(&cloud.points, device()),
    };
    (ours.unwrap(), brute_force(cloud, side))
}

fn compare_hits<S: Coordinate, const D: usize, Q: RangeQuery<S, D> + Query<S, D>>(
    name: &str,
    ours: &gpu::BruteForce<S, D>,
    theirs: &BruteForce<S, D>,
    queries: &[Q],
) {
    let expected = theirs.query_all(queries);
    assert!(ours.query_all(queries).unwrap().read().unwrap() == expected, "{name}");
    assert_eq!(ours.count_all(queries).unwrap().read().unwrap(), theirs.count_all(queries), "{name}");
}

fn compare<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>) {
    for side in [None, Some(cloud.side)] {
        if side.is_none() && BruteForce::build(&cloud.points).is_err() {
            continue;
        }
        let (ours, theirs) = twins(cloud, side);
        let name = format!("{} in {D} dimensions, side {side:?}", cloud.name);
        assert_eq!((ours.len(), ours.is_empty()), (cloud.points.len(), cloud.points.is_empty()), "{name}");
        if let Some(&radius) = cloud.radii.first() {
            assert!(ours.neighbors(radius).unwrap().read().unwrap() == theirs.neighbors(radius), "{name}");
            let counts = ours.count_neighbors(radius).unwrap().read().unwrap();
            assert_eq!(counts, theirs.count_neighbors(radius), "{name}");
            assert_eq!(ours.count_pairs(radius).unwrap(), theirs.count_pairs(radius), "{name}");

            let points = beside(cloud, radius);
            let radii = [radius, 0.5 * radius, 0.0, 3.0 * radius, -1.0, f64::NAN, f64::INFINITY, 1.5 * cloud.side];
            let spheres: Vec<Sphere<S, D>> =
                points.iter().zip(radii.iter().cycle()).map(|(&center, &radius)| Sphere::new(center, radius)).collect();
            compare_hits(&name, &ours, &theirs, &spheres);
            compare_hits(&name, &ours, &theirs, &boxes(cloud, radius));
            compare_hits(&name, &ours, &theirs, &points);

            for wanted in [Nearest::new(3), Nearest::new(3).within(radius).excluding(7)] {
                let found = ours.nearest_all(&points, wanted).unwrap().read().unwrap();
                assert!(found == theirs.nearest_all(&points, wanted), "{name}: {wanted:?}");
            }
            let wanted = Nearest::new(3).within(2.0 * radius).excluding_self();
            let found = ours.nearest_neighbors(wanted).unwrap().read().unwrap();
            assert!(found == theirs.nearest_neighbors(wanted), "{name}: {wanted:?}");
        }
    }
}

#[test]
fn searches_of_clouds() {
    small::<f32, 3>().iter().for_each(compare);
}

#[test]
#[ignore = "wide"]
fn wide_searches_in_all_dimensions() {
    compare(&clouds::whole_lattice::<f32, 1>());
    compare(&clouds::geometric::<f64, 5>(20));
    compare(&clustered::<f32, 10>());
}

#[test]
#[ignore = "wide"]
fn wide_searches_of_clouds() {
    compare(&clustered::<f64, 2>());
    small::<f64, 1>().iter().for_each(compare);
    small::<f32, 2>().iter().for_each(compare);
    small::<f64, 3>().iter().for_each(compare);
    small::<f32, 4>().iter().for_each(compare);
    small::<f64, 10>().iter().for_each(compare);
}

/// Consecutive searches for 64 neighbours, with ties and copies.
#[test]
#[ignore = "wide"]
fn wide_more_than_64_neighbors() {
    let mut cloud = clouds::uniform::<f32, 2>("uniform", 200, 0.0, 1.0, &[], 1.0);
    cloud.points.extend([cloud.points[3]; 80]);
    for side in [None, Some(1.0)] {
        let (ours, theirs) = twins(&cloud, side);
        for wanted in [Nearest::new(100).excluding_self(), Nearest::new(129).within(0.4), Nearest::new(1000)] {
            let found = ours.nearest_neighbors(wanted).unwrap();
            assert_eq!(found.k(), wanted.k().min(280));
            assert!(found.read().unwrap() == theirs.nearest_neighbors(wanted), "{wanted:?}, side {side:?}");
        }
    }
}

/// More points than one kernel compares on devices whose loops are limited, and more queries than a block has threads.
#[test]
#[ignore = "wide"]
fn wide_many_points() {
    let points = Sample::parse("halos:n=61000,seed=3").unwrap().points().unwrap();
    let theirs = ropewalk::Bvh::build_periodic(&points, 1.0).unwrap();
    let ours = gpu::BruteForce::build_periodic(&points, 1.0, device()).unwrap();
    let queries = &points[points.len() - 300..];
    let spheres: Vec<_> = queries.iter().map(|&center| Sphere::new(center, 0.02)).collect();
    let boxes: Vec<_> = queries.iter().map(|&lo| Aabb::new(lo, lo.map(|x| x + 0.1))).collect();
    assert_eq!(ours.count_all(&spheres).unwrap().read().unwrap(), theirs.count_all(&spheres));
    let (lists, expected) = (ours.query_all(&boxes).unwrap().read().unwrap(), theirs.query_all(&boxes));
    for i in 0..boxes.len() {
        let mut ascending = expected.of(i).to_vec();
        ascending.sort();
        assert_eq!(lists.of(i), ascending, "box {i}");
    }
    let found = ours.nearest_all(queries, 5).unwrap().read().unwrap();
    assert!(found == theirs.nearest_all(queries, 5));
}

#[test]
fn nothing() {
    let empty = gpu::BruteForce::build(&[] as &[[f64; 2]], device()).unwrap();
    assert!(empty.is_empty() && empty.nearest_neighbors(3).unwrap().read().unwrap().is_empty());
    assert_eq!(empty.count_all(&[Aabb::new([0.0; 2], [1.0; 2]); 2]).unwrap().read().unwrap(), [0, 0]);
    assert_eq!(empty.query_all(&[[0.0; 2]; 2]).unwrap().read().unwrap().len(), 2);
    assert_eq!((empty.neighbors(1.0).unwrap().len(), empty.count_pairs(1.0).unwrap()), (0, 0));
    let two = gpu::BruteForce::build(&[[0.5f64; 2], [1.0; 2]], device()).unwrap();
    assert!(two.count_all::<Sphere<f64, 2>>(&[]).unwrap().read().unwrap().is_empty());
    assert_eq!(two.query_all::<Aabb<f64, 2>>(&[]).unwrap().read().unwrap().len(), 0);
    for radius in [-1.0, f64::NAN] {
        assert_eq!(two.count_neighbors(radius).unwrap().read().unwrap(), [0, 0]);
        assert_eq!(two.count_pairs(radius).unwrap(), 0);
        let found = two.nearest_neighbors(Nearest::new(2).within(radius)).unwrap().read().unwrap();
        assert!(found.values().is_empty());
    }
    assert_eq!(two.nearest_all(&[[f64::NAN; 2], [0.5; 2]], 0).unwrap().read().unwrap().values().len(), 0);
    assert!(gpu::BruteForce::build(&[[f64::NAN; 2]], device()).is_err());
    assert!(gpu::BruteForce::build_periodic(&[[0.5f64; 2]], -1.0, device()).is_err());
}

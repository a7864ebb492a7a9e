//! Queries with points and boxes that are not stored, on a device, compared with the CPU and with brute force.

use common::clouds::{Cloud, clustered, small, snapshot};
use ropewalk::geometry::Space;
use ropewalk::gpu::{self, Coordinate, Device};
use ropewalk::reference::BruteForce;
use ropewalk::sample::Sample;
use ropewalk::{Aabb, Nearest};

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

/// Returns points at stored points, next to them, far from all, and some that are not finite.
pub(super) fn beside<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>, step: f64) -> Vec<[S; D]> {
    let points = cloud.points.iter().filter(|point| point.iter().all(|x| Into::<f64>::into(*x).is_finite()));
    let mut beside: Vec<[S; D]> = points
        .enumerate()
        .map(|(i, &point)| {
            let mut point = point;
            let by = step * [0.0, 0.5, 1.0, -0.3][i % 4] + cloud.side * [0.0, 0.0, 0.0, 3.0, -1.0][i % 5];
            point[i % D] = S::from_f64(Into::<f64>::into(point[i % D]) + by);
            point
        })
        .collect();
    for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, -1e30, 1e-200, 0.5 * cloud.side] {
        let mut point = [S::from_f64(0.5 * cloud.side); D];
        point[D - 1] = S::from_f64(x);
        beside.insert(beside.len() / 2, point);
    }
    beside
}

/// A tree on the device and on the CPU, open or in a periodic box.
type Twins<S, const D: usize> = (&'static str, gpu::Bvh<S, D>, ropewalk::Bvh<S, D>, Option<f64>);

fn twins<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>) -> Vec<Twins<S, D>> {
    let Ok(open) = ropewalk::Bvh::build(&cloud.points) else { return vec![] };
    let periodic = ropewalk::Bvh::build_periodic(&cloud.points, cloud.side).unwrap();
    [("open", open, None), ("periodic", periodic, Some(cloud.side))]
        .map(|(space, theirs, side)| (space, gpu::Bvh::upload(&theirs, device()).unwrap(), theirs, side))
        .into()
}

pub(super) fn brute_force<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>, side: Option<f64>) -> BruteForce<S, D> {
    match side {
        Some(side) => BruteForce::build_periodic(&cloud.points, side).unwrap(),
        None => BruteForce::build(&cloud.points).unwrap(),
    }
}

fn compare_nearest<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>) {
    for (space, ours, theirs, side) in twins(cloud) {
        for &radius in &cloud.radii[..cloud.radii.len().min(2)] {
            let points = beside(cloud, radius);
            for wanted in [
                Nearest::new(3),
                Nearest::new(3).within(radius),
                Nearest::new(40).excluding_self(),
                Nearest::new(1).within(1.5 * radius).excluding(7),
            ] {
                let found = ours.nearest_all(&points, wanted).unwrap().read().unwrap();
                let expected = theirs.nearest_all(&points, wanted);
                let name = format!("{}, {space}, {wanted:?}", cloud.name);
                assert_eq!(found.len(), points.len(), "{name}");
                for (i, point) in points.iter().enumerate() {
                    assert_eq!(found.of(i), expected.of(i), "{name}: query {i} at {point:?}");
                }
                if points.len() < 300 {
                    assert!(found == brute_force(cloud, side).nearest_all(&points, wanted), "{name}: brute force");
                }
            }
        }
    }
}

#[test]
fn nearest_in_space() {
    small::<f32, 3>().iter().for_each(compare_nearest);
    snapshot::<f32, 3>().iter().for_each(compare_nearest);
    compare_nearest(&clustered::<f64, 2>());
}

#[test]
#[ignore = "wide"]
fn wide_nearest() {
    small::<f32, 2>().iter().for_each(compare_nearest);
    small::<f64, 2>().iter().for_each(compare_nearest);
    small::<f64, 3>().iter().for_each(compare_nearest);
}

/// Few queries that are far apart, and many around one position.
#[test]
fn nearest_of_few_points() {
    let points = Sample::parse("halos:n=20000,seed=3").unwrap().points().unwrap();
    let theirs = ropewalk::Bvh::build_periodic(&points, 1.0).unwrap();
    let ours = gpu::Bvh::build_periodic(&points, 1.0, device()).unwrap();
    let far = Sample::parse("uniform:n=70,seed=4").unwrap().points().unwrap();
    let near: Vec<[f32; 3]> = far.iter().map(|far| far.map(|x| points[5][0] + 1e-3 * x)).collect();
    for queries in [&far[..], &near, &far[..1], &[points[9]; 100], &[]] {
        for wanted in [Nearest::new(1), Nearest::new(20)] {
            let found = ours.nearest_all(queries, wanted).unwrap();
            assert_eq!((found.len(), found.k()), (queries.len(), if wanted == Nearest::new(1) { 1 } else { 20 }));
            assert!(found.read().unwrap() == theirs.nearest_all(queries, wanted), "{} queries", queries.len());
        }
    }
}

/// With the stored points as queries, each point is its own nearest neighbour.
#[test]
fn nearest_of_stored_points() {
    let points = Sample::parse("nfw:n=3000").unwrap().points().unwrap();
    let bvh = gpu::Bvh::build(&points, device()).unwrap();
    for wanted in [Nearest::new(6), Nearest::new(6).excluding_self()] {
        let found = bvh.nearest_all(&points, wanted).unwrap().read().unwrap();
        assert!(found == bvh.nearest_neighbors(wanted).unwrap().read().unwrap());
    }
}

/// Groups of queries near few points, near many copies of a point, and far from all others. With `ROPEWALK_WARP`, they
/// are answered from runs of points.
#[test]
fn runs_near_groups() {
    let mut points = Sample::parse("nfw:n=2000").unwrap().points().unwrap();
    points.extend([points[7]; 300]);
    points.extend([[9.0f32, -3.0, 0.5], [-40.0, 2.0, 7.0]]);
    let theirs = ropewalk::Bvh::build(&points).unwrap();
    let ours = gpu::Bvh::build(&points, device()).unwrap();
    assert_eq!(ours.count_neighbors(0.05).unwrap().read().unwrap(), theirs.count_neighbors(0.05));
    let wanted = Nearest::new(3).excluding_self();
    assert!(ours.nearest_neighbors(wanted).unwrap().read().unwrap() == theirs.nearest_neighbors(wanted));
}

/// Squared distances of `f64` that are beyond the range of `f32`, or below it.
#[test]
fn nearest_beyond_single_precision() {
    let unit = Sample::parse("uniform:n=150,seed=4").unwrap().points().unwrap();
    for scale in [1e149, 1e20, 1e-20, 1e-140] {
        let points: Vec<[f64; 3]> = unit.iter().map(|point| point.map(|x| scale * f64::from(x))).collect();
        let theirs = ropewalk::Bvh::build(&points).unwrap();
        let ours = gpu::Bvh::build(&points, device()).unwrap();
        let found = ours.nearest_neighbors(2).unwrap().read().unwrap();
        assert!(found == theirs.nearest_neighbors(2), "{scale:e}");
    }
}

/// Returns boxes with corners at stored points and next to them: thin, large, beyond the faces of a periodic box,
/// inverted, not finite.
pub(super) fn boxes<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>, step: f64) -> Vec<Aabb<S, D>> {
    let (points, side) = (beside(cloud, step), cloud.side);
    let mut boxes: Vec<Aabb<S, D>> = points
        .iter()
        .enumerate()
        .map(|(i, &lo)| {
            let sides = [0.0, step, 2.0 * step, 0.4 * side, 0.999 * side, side, 1.5 * side];
            let hi = std::array::from_fn(|k| S::from_f64(Into::<f64>::into(lo[k]) + sides[(i + k) % sides.len()]));
            Aabb::new(lo, if i % 9 == 8 { lo } else { hi })
        })
        .collect();
    // Between stored points, so that points are exactly on faces.
    boxes.extend(cloud.points.windows(2).map(|two| {
        let (lo, hi) = (std::array::from_fn(|k| two[0][k]), std::array::from_fn(|k| two[1][k]));
        let all = Aabb::point(lo).union(&Aabb::point(hi));
        if two[0][0] == two[1][0] { Aabb::new(hi, lo) } else { all }
    }));
    let everything = [f64::NEG_INFINITY, -f64::MAX, -3.0 * side, -1e-3 * side, 0.0, side, 1e30];
    for (i, &lo) in everything.iter().enumerate() {
        let hi = [0.5 * side, f64::INFINITY, f64::MAX, f64::NAN][i % 4];
        boxes.push(Aabb::new([S::from_f64(lo); D], [S::from_f64(hi); D]));
        boxes.push(Aabb::new([S::from_f64(lo); D], [S::from_f64(lo + side); D]));
    }
    boxes
}

fn compare_boxes<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>) {
    for (space, ours, theirs, side) in twins(cloud) {
        for &radius in &cloud.radii[..cloud.radii.len().min(2)] {
            let (name, boxes) = (format!("{}, {space}", cloud.name), boxes(cloud, radius));
            let (found, expected) = (ours.query_all(&boxes).unwrap().read().unwrap(), theirs.query_all(&boxes));
            let brute_force = brute_force(cloud, side);
            for (i, of) in boxes.iter().enumerate() {
                assert_eq!(found.of(i), expected.of(i), "{name}: {of:?}");
                if boxes.len() < 1000 {
                    let mut ascending = found.of(i).to_vec();
                    ascending.sort();
                    assert!(ascending.into_iter().eq(brute_force.query(of)), "{name}: {of:?} by brute force");
                }
            }
            assert_eq!(ours.count_all(&boxes).unwrap().read().unwrap(), theirs.count_all(&boxes), "{name}");
        }
    }
}

#[test]
fn boxes_in_space() {
    small::<f32, 3>().iter().for_each(compare_boxes);
    snapshot::<f32, 3>().iter().for_each(compare_boxes);
    compare_boxes(&clustered::<f64, 2>());
}

#[test]
#[ignore = "wide"]
fn wide_boxes() {
    small::<f32, 2>().iter().for_each(compare_boxes);
    small::<f64, 2>().iter().for_each(compare_boxes);
    small::<f64, 3>().iter().for_each(compare_boxes);
}

/// More boxes than a block of threads, each of which contains a large part of the points.
#[test]
fn large_boxes() {
    let points = Sample::parse("halos:n=20000,seed=3").unwrap().points().unwrap();
    let theirs = ropewalk::Bvh::build_periodic(&points, 1.0).unwrap();
    let ours = gpu::Bvh::build_periodic(&points, 1.0, device()).unwrap();
    let boxes: Vec<Aabb<f32, 3>> = points[..300].iter().map(|&lo| Aabb::new(lo, lo.map(|x| x + 0.6))).collect();
    assert!(ours.query_all(&boxes).unwrap().read().unwrap() == theirs.query_all(&boxes));
    assert!(ours.count_all(&boxes).unwrap().read().unwrap() == theirs.count_all(&boxes));
}

#[test]
fn no_boxes() {
    let empty = gpu::Bvh::build(&[] as &[[f64; 2]], device()).unwrap();
    assert_eq!(empty.count_all(&[Aabb::new([0.0; 2], [1.0; 2]); 2]).unwrap().read().unwrap(), [0, 0]);
    assert_eq!(empty.query_all(&[Aabb::new([0.0; 2], [1.0; 2]); 2]).unwrap().read().unwrap().len(), 2);
    let one = gpu::Bvh::build(&[[0.5f64; 2]], device()).unwrap();
    assert!(one.count_all::<Aabb<f64, 2>>(&[]).unwrap().read().unwrap().is_empty());
    assert_eq!(one.query_all::<Aabb<f64, 2>>(&[]).unwrap().read().unwrap().len(), 0);
}

/// Compares consecutive searches for 64 neighbours, including ties and copies.
fn compare_many<S: Coordinate>(name: &str, points: &[[S; 3]], side: Option<f64>) {
    let theirs = match side {
        Some(side) => ropewalk::Bvh::build_periodic(points, side).unwrap(),
        None => ropewalk::Bvh::build(points).unwrap(),
    };
    let ours = gpu::Bvh::upload(&theirs, device()).unwrap();
    let cloud = Cloud { name: "many", points: points.to_vec(), radii: vec![], side: side.unwrap_or(1.0) };
    let (queries, brute_force) = (beside(&cloud, 0.1), brute_force(&cloud, side));
    let all = points.len() + 1;
    for (k, wanted) in [
        (65, Nearest::new(65)),
        (128, Nearest::new(128).excluding_self()),
        (200, Nearest::new(200).within(0.3).excluding_self()),
        (all, Nearest::new(all)),
    ] {
        let name = format!("{name}, {wanted:?}");
        let found = ours.nearest_neighbors(wanted).unwrap();
        assert_eq!(found.k(), points.len().min(k), "{name}");
        let found = found.read().unwrap();
        assert!(found == theirs.nearest_neighbors(wanted), "{name}");
        assert!(found == brute_force.nearest_neighbors(wanted), "{name}, brute force");
        let found = ours.nearest_all(&queries, wanted).unwrap().read().unwrap();
        assert!(found == brute_force.nearest_all(&queries, wanted), "{name}, other points");
    }
}

#[test]
fn more_than_64() {
    let uniform = Sample::parse("uniform:n=300,seed=3").unwrap().points().unwrap();
    compare_many("uniform", &uniform, None);
    let copies: Vec<[f32; 3]> = (0..260).map(|i| [0.1 * (i % 2) as f32; 3]).collect();
    compare_many("copies", &copies, None);
}

#[test]
#[ignore = "wide"]
fn wide_more_than_64() {
    let uniform = Sample::parse("uniform:n=300,seed=3").unwrap().points().unwrap();
    compare_many("uniform, periodic", &uniform, Some(1.0));
    let lattice: Vec<[f64; 3]> = (0..343).map(|i| [i / 49, i / 7 % 7, i % 7].map(|x| 0.125 * f64::from(x))).collect();
    compare_many("lattice", &lattice, Some(0.875));
}

#[test]
fn nothing() {
    let empty = gpu::Bvh::build(&[] as &[[f32; 3]], device()).unwrap();
    assert_eq!(empty.space(), &Space::OPEN);
    let bvh = gpu::Bvh::build(&[[0.0f32; 3], [1.0; 3]], device()).unwrap();
    let nowhere = [[f32::NAN; 3], [0.0, f32::INFINITY, 0.0]];
    for (bvh, points, wanted) in [
        (&empty, &[[0.0; 3]; 3][..], Nearest::new(2)),
        (&bvh, &[], Nearest::new(2)),
        (&bvh, &[[0.0; 3]; 3], Nearest::new(0)),
        (&bvh, &nowhere, Nearest::new(2)),
        (&bvh, &[[0.0; 3]; 3], Nearest::new(2).within(-1.0)),
        (&bvh, &[[0.0; 3]; 3], Nearest::new(2).within(f64::NAN)),
    ] {
        let lists = bvh.nearest_all(points, wanted).unwrap().read().unwrap();
        assert_eq!((lists.len(), lists.values().len()), (points.len(), 0), "{points:?}, {wanted:?}");
    }
}

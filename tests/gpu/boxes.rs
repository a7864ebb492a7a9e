//! Trees of boxes on a device, compared with the CPU and with integer arithmetic.

use common::random::Random;
use ropewalk::geometry::{Bounded, Triangle};
use ropewalk::gpu::{self, BoxBvh, Coordinate, Device, Origin};
use ropewalk::{Aabb, Bvh, Nearest, Sphere};

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

/// Returns boxes of many sizes around positions in a cube of side 8, some of them without extent, some beyond the cube,
/// and some copies.
pub(super) fn boxes<S: Coordinate, const D: usize>(random: &mut Random, n: usize, grid: f64) -> Vec<Aabb<S, D>> {
    let mut all: Vec<Aabb<S, D>> = vec![];
    for i in 0..n {
        if i % 7 == 6 {
            all.push(all[random.below(i)]);
            continue;
        }
        let size = [0.0, 0.01, 0.3, 2.0, 7.9, 8.0][random.below(6)];
        let mut lo = [S::from_f64(0.0); D];
        let mut hi = lo;
        for k in 0..D {
            let snapped = |x: f64| if grid > 0.0 { (x / grid).round() * grid } else { x };
            let at = snapped(random.unit() * 10.0 - 1.0);
            lo[k] = S::from_f64(at);
            hi[k] = ropewalk::Scalar::max(S::from_f64(at + snapped(size * random.unit())), lo[k]);
        }
        all.push(Aabb::new(lo, hi));
    }
    all
}

/// Returns spheres about corners of boxes and elsewhere. Many touch a box.
fn spheres<S: Coordinate, const D: usize>(random: &mut Random, boxes: &[Aabb<S, D>], n: usize) -> Vec<Sphere<S, D>> {
    let sphere = |i: usize| {
        let mut center = [S::from_f64(0.0); D];
        for (k, x) in center.iter_mut().enumerate() {
            *x = if boxes.is_empty() || i.is_multiple_of(2) {
                S::from_f64(random.unit() * 24.0 - 8.0)
            } else {
                boxes[i % boxes.len()].hi[k]
            };
        }
        let radius = [0.0, 0.5, 1.0, 3.0, 20.0, -1.0, f64::NAN, f64::INFINITY][random.below(8)];
        if i % 31 == 5 {
            center[D - 1] = S::from_f64(f64::NAN);
        }
        Sphere::new(center, radius)
    };
    (0..n).map(sphere).collect()
}

/// More neighbours than one search finds.
fn compare_many_neighbors<S: Coordinate, const D: usize>(boxes: &[Aabb<S, D>]) {
    let (theirs, ours) = (Bvh::build(boxes).unwrap(), BoxBvh::build(boxes, device()).unwrap());
    for wanted in [Nearest::new(130), Nearest::new(70).within(2.0)] {
        let found = ours.nearest_all(&boxes[..60], wanted).unwrap().read().unwrap();
        assert_eq!(found, theirs.nearest_all(&boxes[..60], wanted), "{wanted:?}");
    }
}

/// Compares nodes, order and the results of queries with those of the CPU.
fn compare<S: Coordinate, const D: usize>(boxes: &[Aabb<S, D>], random: &mut Random, name: &str) {
    let spheres = spheres(random, boxes, 60);
    let mut asked: Vec<Aabb<S, D>> = boxes.iter().take(40).copied().collect();
    asked.extend(self::boxes::<S, D>(random, 40, 0.5));
    asked.push(Aabb::EMPTY);
    asked.push(Aabb::new([S::from_f64(f64::NAN); D], [S::from_f64(1.0); D]));
    asked.push(Aabb::new([S::from_f64(-100.0); D], [S::from_f64(100.0); D]));
    let points: Vec<[S; D]> = asked.iter().map(|own| own.hi).collect();
    for side in [None, Some(8.0), Some(9.7)] {
        let name = format!("{name}, {} boxes in {D} dimensions, side {side:?}", boxes.len());
        let theirs = match side {
            Some(side) => Bvh::build_periodic(boxes, side).unwrap(),
            None => Bvh::build(boxes).unwrap(),
        };
        let built = match side {
            Some(side) => BoxBvh::build_periodic(boxes, side, device()).unwrap(),
            None => BoxBvh::build(boxes, device()).unwrap(),
        };
        for ours in [built, BoxBvh::upload(&theirs, device()).unwrap()] {
            let read = ours.read().unwrap();
            assert_eq!((read.nodes(), read.order()), (theirs.nodes(), theirs.order()), "{name}");
            assert!(read == theirs || boxes.is_empty(), "{name}");
            assert_eq!((ours.len(), ours.bounds()), (boxes.len(), theirs.bounds()), "{name}");

            let found = ours.query_all(&spheres).unwrap().read().unwrap();
            assert_eq!(found, theirs.query_all(&spheres), "{name}: spheres");
            assert_eq!(ours.count_all(&spheres).unwrap().read().unwrap(), theirs.count_all(&spheres), "{name}");
            let found = ours.query_all(&asked).unwrap().read().unwrap();
            assert_eq!(found, theirs.query_all(&asked), "{name}: boxes");
            assert_eq!(ours.count_all(&asked).unwrap().read().unwrap(), theirs.count_all(&asked), "{name}");
            let found = ours.query_all(&points).unwrap().read().unwrap();
            assert_eq!(found, theirs.query_all(&points), "{name}: points");

            for wanted in [
                Nearest::new(1),
                Nearest::new(5).excluding_self(),
                Nearest::new(5).excluding(3).within(0.5),
                Nearest::new(2).within(-1.0),
            ] {
                let found = ours.nearest_all(&points, wanted).unwrap().read().unwrap();
                assert_eq!(found, theirs.nearest_all(&points, wanted), "{name}: {wanted:?} of points");
                let found = ours.nearest_all(&asked, wanted).unwrap().read().unwrap();
                assert_eq!(found, theirs.nearest_all(&asked, wanted), "{name}: {wanted:?} of boxes");
            }
        }
    }
}

#[test]
fn trees_and_queries() {
    let mut random = Random::new(3);
    for n in [0, 1, 2, 40, 3000] {
        compare(&boxes::<f32, 3>(&mut random, n, 0.5), &mut random, "boxes on a grid");
    }
}

#[test]
#[ignore = "wide"]
fn wide_trees_in_the_plane_and_on_a_line() {
    let mut random = Random::new(3);
    for n in [0, 1, 2, 40, 3000] {
        compare(&boxes::<f64, 2>(&mut random, n, 0.5), &mut random, "boxes on a grid");
    }
    compare_many_neighbors(&boxes::<f64, 1>(&mut random, 900, 0.0));
}

#[test]
#[ignore = "wide"]
fn wide_trees_and_queries() {
    let mut random = Random::new(4);
    for (n, grid) in [(700, 0.0), (700, 0.5), (20_000, 0.01)] {
        compare(&boxes::<f32, 1>(&mut random, n, grid), &mut random, "wide");
        compare(&boxes::<f32, 2>(&mut random, n, grid), &mut random, "wide");
        compare(&boxes::<f64, 3>(&mut random, n, grid), &mut random, "wide");
        compare(&boxes::<f32, 5>(&mut random, n, grid), &mut random, "wide");
    }
    compare(&boxes::<f64, 10>(&mut random, 900, 0.0), &mut random, "wide");
    compare_many_neighbors(&boxes::<f32, 3>(&mut random, 900, 0.5));
}

/// Integer coordinates, where every decision is exact, against all pairs.
#[test]
fn whole_numbers() {
    let mut random = Random::new(5);
    let mut interval = || {
        let at = random.below(30) as i32;
        [at, at + [0, 1, 5][random.below(3)]]
    };
    let whole: Vec<[[i32; 2]; 3]> = (0..500).map(|_| [(); 3].map(|()| interval())).collect();
    let of = |own: &[[i32; 2]; 3]| Aabb::new(own.map(|of| of[0] as f32), own.map(|of| of[1] as f32));
    let bvh = BoxBvh::build(&whole.iter().map(of).collect::<Vec<_>>(), device()).unwrap();
    let boxes: Vec<Aabb<f32, 3>> = whole[..50].iter().map(of).collect();
    let spheres: Vec<Sphere<f32, 3>> = boxes.iter().map(|own| Sphere::new(own.lo, 5.0)).collect();
    let by_box = bvh.query_all(&boxes).unwrap().read().unwrap();
    let by_sphere = bvh.query_all(&spheres).unwrap().read().unwrap();
    let nearest = bvh.nearest_all(&boxes, 4).unwrap().read().unwrap();
    for (i, query) in whole[..50].iter().enumerate() {
        let select = |test: &dyn Fn(&[[i32; 2]; 3]) -> bool| -> Vec<u32> {
            (0..500u32).filter(|&at| test(&whole[at as usize])).collect()
        };
        let sorted = |list: &[u32]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list
        };
        let meets = |own: &[[i32; 2]; 3]| (0..3).all(|k| own[k][0] <= query[k][1] && query[k][0] <= own[k][1]);
        assert_eq!(sorted(by_box.of(i)), select(&meets), "box {i}");
        let near = |own: &[[i32; 2]; 3]| {
            let gap = |k: usize| (own[k][0] - query[k][0]).max(query[k][0] - own[k][1]).max(0);
            (0..3).map(|k| gap(k).pow(2)).sum::<i32>() <= 25
        };
        assert_eq!(sorted(by_sphere.of(i)), select(&near), "sphere {i}");
        let distance2 = |own: &[[i32; 2]; 3]| {
            let gap = |k: usize| (own[k][0] - query[k][1]).max(query[k][0] - own[k][1]).max(0);
            (0..3).map(|k| gap(k).pow(2)).sum::<i32>()
        };
        let mut ranked: Vec<(i32, u32)> = (0..500u32).map(|at| (distance2(&whole[at as usize]), at)).collect();
        ranked.sort_unstable();
        let found: Vec<(i32, u32)> = nearest.of(i).iter().map(|near| (near.distance2 as i32, near.index)).collect();
        assert_eq!(found, ranked[..4], "nearest {i}");
    }
}

/// Shapes are stored by their boxes, and points as boxes without extent. Too many equal centres are left to the CPU.
#[test]
fn shapes_points_and_equal_centres() {
    let triangles = [0.0, 5.0].map(|x| Triangle::new([x, 0.0, 0.0], [x + 1.0, 0.0, 0.0], [x, 1.0, 1.0f32]));
    let bvh = BoxBvh::build(&triangles, device()).unwrap();
    assert_eq!(bvh.bounds(), triangles[0].bounds().union(&triangles[1].bounds()));
    assert_eq!(bvh.origin(), Origin::LeadingBits);
    assert_eq!(bvh.query_all(&[[5.5f32, 0.5, 0.5]]).unwrap().read().unwrap().of(0), [1]);

    let points: Vec<[f32; 2]> = (0..900).map(|i| [(i * 7 % 30) as f32, (i / 30) as f32]).collect();
    let theirs = Bvh::build(&points).unwrap();
    let asked: Vec<Aabb<f32, 2>> = points.iter().map(|&at| Aabb::new(at, at.map(|x| x + 2.5))).collect();
    for ours in [BoxBvh::build(&points, device()).unwrap(), BoxBvh::upload(&theirs, device()).unwrap()] {
        assert_eq!(ours.nearest_all(&asked, 4).unwrap().read().unwrap(), theirs.nearest_all(&asked, 4));
        assert_eq!(ours.read().unwrap().nodes(), theirs.nodes());
    }

    let nested: Vec<Aabb<f64, 2>> = (0..200).map(|i| Aabb::new([-f64::from(i); 2], [f64::from(i); 2])).collect();
    let bvh = BoxBvh::build(&nested, device()).unwrap();
    assert_eq!(bvh.origin(), Origin::Host);
    assert_eq!(bvh.read().unwrap(), Bvh::build(&nested).unwrap());
    assert_eq!(bvh.count_all(&[[10.0, 0.0], [0.0, -199.0], [200.0, 0.0]]).unwrap().read().unwrap(), [190, 1, 0]);
}

#[test]
fn bad_boxes() {
    let fails = |own: Aabb<f32, 2>| {
        let theirs = Bvh::build(&[own]).unwrap_err();
        assert_eq!(BoxBvh::build(&[own], device()).unwrap_err().to_string(), theirs.to_string());
    };
    fails(Aabb::new([1.0f32, 0.0], [0.0, 1.0]));
    fails(Aabb::new([f32::NAN, 0.0], [0.0, 1.0]));
    fails(Aabb::new([0.0f32, 0.0], [f32::INFINITY, 1.0]));
    let unit = [Aabb::new([0.0f32, 0.0], [1.0, 1.0])];
    assert!(BoxBvh::build_periodic(&unit, -1.0, device()).is_err());
    assert!(BoxBvh::build_periodic(&unit, [1.0, 2.0, 3.0], device()).is_err());
}

#[test]
#[ignore = "wide"]
fn wide_options_of_each_query() {
    let mut random = Random::new(13);
    let boxes: Vec<Aabb<f32, 3>> = boxes(&mut random, 500, 0.5);
    let points: Vec<[f32; 3]> = boxes.iter().map(|own| own.lo).collect();
    let odd = [0.0, -1.0, f64::NAN, 0.5, f64::INFINITY];
    let wanted: Vec<Nearest> = (0..100)
        .map(|i| Nearest::new([0, 1, 3, 70, 600][i % 5]).within(odd[i / 5 % 5]))
        .enumerate()
        .map(|(i, wanted)| if i % 3 == 0 { wanted.excluding_self() } else { wanted.excluding(i as u32 / 2) })
        .collect();
    for side in [None, Some(8.0)] {
        let (theirs, ours) = match side {
            Some(side) => (Bvh::build_periodic(&boxes, side), BoxBvh::build_periodic(&boxes, side, device())),
            None => (Bvh::build(&boxes), BoxBvh::build(&boxes, device())),
        };
        let found = ours.unwrap().nearest_all_each(&boxes[..100], &wanted).unwrap().read().unwrap();
        let expected = theirs.unwrap().nearest_all_each(&boxes[..100], &wanted).unwrap();
        assert_eq!(found, expected, "boxes, side {side:?}");
        let (theirs, ours) = match side {
            Some(side) => (Bvh::build_periodic(&points, side), gpu::Bvh::build_periodic(&points, side, device())),
            None => (Bvh::build(&points), gpu::Bvh::build(&points, device())),
        };
        let (theirs, ours) = (theirs.unwrap(), ours.unwrap());
        let expected = theirs.nearest_all_each(&points[..100], &wanted).unwrap();
        assert_eq!(ours.nearest_all_each(&points[..100], &wanted).unwrap().read().unwrap(), expected, "side {side:?}");
        for (query, wanted) in wanted.iter().enumerate() {
            let alone = match query % 3 {
                0 => wanted.excluding(query as u32),
                _ => *wanted,
            };
            assert_eq!(expected.of(query), theirs.nearest(points[query], alone), "query {query}");
        }
        let error = ours.nearest_all_each(&points, &wanted).unwrap_err();
        assert_eq!(error.to_string(), theirs.nearest_all_each(&points, &wanted).unwrap_err().to_string());
    }
}

//! Queries, boxes and meshes that are in device memory already, compared with the same numbers in host memory.

use common::clouds::{Cloud, small};
use common::random::Random;
use ropewalk::geometry::Triangle;
use ropewalk::gpu::{self, BoxBvh, Coordinate, DeviceVec, Origin, Points};
use ropewalk::{Aabb, Bvh, ErrorKind, Mesh, Nearest, Sphere, ValueBvh};

use crate::boxes::boxes;
use crate::queries::{beside, brute_force};
use crate::values::device;

/// Copies points to the device.
fn placed<S: Coordinate, const D: usize>(points: &[[S; D]], side: Option<f64>) -> Points<S, D> {
    Points::from_device(&on_device(points.as_flattened()), side).unwrap()
}

fn on_device<T: ropewalk::gpu::cubecl::prelude::CubeElement>(numbers: &[T]) -> DeviceVec<T> {
    DeviceVec::new(numbers, device()).unwrap()
}

/// Returns the corners of boxes, box by box.
fn corners<S: Coordinate, const D: usize>(boxes: &[Aabb<S, D>]) -> Vec<S> {
    boxes.iter().flat_map(|own| [own.lo, own.hi]).flatten().collect()
}

fn compare_points<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>, sides: &[Option<f64>]) {
    let radius = cloud.radii.first().copied().unwrap_or(1.0);
    let fits = |point: &[S; D]| point.iter().all(|&x| Into::<f64>::into(x).abs() <= 1e15);
    let points: Vec<[S; D]> = beside(cloud, radius).into_iter().filter(fits).collect();
    for &side in sides {
        let theirs = Bvh::build_periodic(&cloud.points, side).unwrap();
        let name = format!("{}, side {side:?}", cloud.name);
        let ours = gpu::Bvh::upload(&theirs, device()).unwrap();
        let asked = placed(&points, side);
        for radius in [radius, 0.0, -1.0, f64::NAN] {
            let spheres: Vec<Sphere<S, D>> = points.iter().map(|&point| Sphere::new(point, radius)).collect();
            let found = ours.neighbors_of(&asked, radius).unwrap().read().unwrap();
            assert_eq!(found, theirs.query_all(&spheres), "{name}, radius {radius}");
            let counts = ours.count_neighbors_of(&asked, radius).unwrap().read().unwrap();
            let expected = brute_force(cloud, side).count_all(&spheres);
            assert_eq!(counts, expected, "{name}, radius {radius}");
        }
        for wanted in [Nearest::new(3), Nearest::new(40).excluding_self(), Nearest::new(2).within(radius).excluding(7)]
        {
            let found = ours.nearest_of(&asked, wanted).unwrap().read().unwrap();
            assert_eq!(found, theirs.nearest_all(&points, wanted), "{name}, {wanted:?}");
        }
    }
}

/// Each cloud in one of the two spaces; the wide test has both.
#[test]
fn points_as_queries() {
    for (i, cloud) in small::<f32, 3>().iter().enumerate() {
        compare_points(cloud, &[[None, Some(cloud.side)][i % 2]]);
    }
}

#[test]
#[ignore = "wide"]
fn wide_points_as_queries() {
    small::<f32, 3>().iter().for_each(|cloud| compare_points(cloud, &[None, Some(cloud.side)]));
    small::<f64, 2>().iter().for_each(|cloud| compare_points(cloud, &[None, Some(cloud.side)]));
}

#[test]
fn nearest_boxes_and_triangles_of_points() {
    let mut random = Random::new(31);
    let mut points: Vec<[f32; 3]> = (0..200).map(|_| std::array::from_fn(|_| random.unit() as f32 * 8.0)).collect();
    points.push([1e9, 0.0, -3.0]);
    let options = [
        Nearest::new(4).excluding_self(),
        Nearest::new(4).within(2.0).excluding(3),
        Nearest::new(4).within(f64::NAN),
        Nearest::new(0),
    ];
    let stored = boxes::<f32, 3>(&mut random, 90, 0.5);
    for side in [None, Some(9.5)] {
        let (theirs, ours) = match side {
            None => (Bvh::build(&stored).unwrap(), BoxBvh::build(&stored, device()).unwrap()),
            Some(side) => {
                (Bvh::build_periodic(&stored, side).unwrap(), BoxBvh::build_periodic(&stored, side, device()).unwrap())
            }
        };
        for wanted in options {
            let found = ours.nearest_of(&placed(&points, side), wanted).unwrap().read().unwrap();
            assert_eq!(found, theirs.nearest_all(&points, wanted), "boxes, side {side:?}, {wanted:?}");
        }
    }

    let triangles: Vec<Triangle<f32, 3>> =
        stored.chunks_exact(3).map(|of| Triangle::new(of[0].lo, of[1].lo, of[2].hi)).collect();
    let (theirs, ours) =
        (ValueBvh::build(triangles.clone()).unwrap(), gpu::ValueBvh::build(triangles, device()).unwrap());
    let asked = placed(&points, None);
    for wanted in options {
        let found = ours.nearest_of(&asked, wanted).unwrap().read().unwrap();
        assert_eq!(found, theirs.nearest_all(&points, wanted), "triangles, {wanted:?}");
    }

    let vertices: Vec<[f32; 3]> = stored.iter().map(|own| own.lo).collect();
    let faces: Vec<[u32; 3]> = (0..30).map(|i| [3 * i, 3 * i + 1, 3 * i + 2]).collect();
    let mesh = Mesh::build(&vertices, &faces).unwrap();
    let ours = gpu::Mesh::from_device(&on_device(vertices.as_flattened()), &on_device(faces.as_flattened())).unwrap();
    for radius in [f64::INFINITY, 1.0, 0.0, -1.0, f64::NAN] {
        let found = ours.nearest_of(&asked, radius).unwrap().read().unwrap();
        assert_eq!(found, mesh.nearest_all(&points, radius), "mesh, radius {radius}");
    }
}

#[test]
fn no_queries_and_nothing_stored() {
    let (none, point) = (placed::<f32, 2>(&[], None), placed(&[[1.0f32, 2.0]], None));
    let (empty, one) = (gpu::Bvh::from_points(&none).unwrap(), gpu::Bvh::from_points(&point).unwrap());
    assert_eq!(one.neighbors_of(&none, 1.0).unwrap().read().unwrap().offsets(), [0]);
    assert!(one.count_neighbors_of(&none, 1.0).unwrap().is_empty());
    assert_eq!(one.nearest_of(&none, 1).unwrap().read().unwrap().len(), 0);
    assert_eq!(empty.neighbors_of(&point, 1.0).unwrap().read().unwrap().offsets(), [0, 0]);
    assert_eq!(empty.count_neighbors_of(&point, 1.0).unwrap().read().unwrap(), [0]);
    assert!(empty.nearest_of(&point, 3).unwrap().read().unwrap().of(0).is_empty());
    let boxes = BoxBvh::<f32, 2>::from_device(&on_device(&[])).unwrap();
    assert!(boxes.is_empty() && boxes.read().unwrap().is_empty());
    assert!(boxes.nearest_of(&point, 3).unwrap().read().unwrap().of(0).is_empty());
    let mut mesh = gpu::Mesh::<f32>::from_device(&on_device(&[]), &on_device(&[])).unwrap();
    mesh.refit_from_device(&on_device(&[])).unwrap();
    let far = placed(&[[0.0f32; 3]], None);
    assert_eq!(mesh.nearest_of(&far, 9.0).unwrap().read().unwrap(), [None]);
    assert_eq!(mesh.nearest_of(&placed(&[], None), 9.0).unwrap().read().unwrap(), []);
}

fn compare_boxes<S: Coordinate, const D: usize>(n: usize, grid: f64) {
    let mut random = Random::new(n as u64);
    let (before, after) = (boxes::<S, D>(&mut random, n, grid), boxes::<S, D>(&mut random, n, 0.0));
    let mut theirs = Bvh::build(&before).unwrap();
    let mut ours = BoxBvh::<S, D>::from_device(&on_device(&corners(&before))).unwrap();
    // Copies fill a cell of the Morton grid, so that the CPU builds the tree.
    assert_eq!(ours.origin() == Origin::Host, grid > 5.0);
    for moved in [None, Some(&before), Some(&after)] {
        if let Some(moved) = moved {
            theirs.refit(moved).unwrap();
            ours.refit_from_device(&on_device(&corners(moved))).unwrap();
        }
        let read = ours.read().unwrap();
        assert_eq!((read.nodes(), read.order()), (theirs.nodes(), theirs.order()), "{n} boxes in {D} dimensions");
        assert_eq!(ours.bounds(), theirs.bounds(), "{n} boxes in {D} dimensions");
    }
}

#[test]
fn stored_boxes() {
    for (n, grid) in [(1, 0.0), (2, 0.0), (300, 0.0), (700, 8.0)] {
        compare_boxes::<f32, 3>(n, grid);
    }
}

/// More neighbours than one search finds, and the least and the greatest dimension.
fn compare_many_neighbors<const D: usize>() {
    let mut random = Random::new(9);
    let stored = boxes::<f32, D>(&mut random, 300, 0.5);
    let points: Vec<[f32; D]> = (0..600).map(|_| std::array::from_fn(|_| random.unit() as f32 * 8.0)).collect();
    let (theirs, ours) = (Bvh::build(&stored).unwrap(), BoxBvh::build(&stored, device()).unwrap());
    for wanted in [Nearest::new(2), Nearest::new(70).excluding_self()] {
        let found = ours.nearest_of(&placed(&points, None), wanted).unwrap().read().unwrap();
        assert_eq!(found, theirs.nearest_all(&points, wanted), "{D} dimensions, {wanted:?}");
    }
}

#[test]
#[ignore = "wide"]
fn wide_many_neighbors() {
    compare_many_neighbors::<1>();
    compare_many_neighbors::<3>();
    compare_many_neighbors::<10>();
}

#[test]
#[ignore = "wide"]
fn wide_stored_boxes() {
    compare_boxes::<f64, 2>(200, 0.0);
    compare_boxes::<f32, 10>(500, 0.0);
}

/// Coordinates that cannot be stored have the errors of boxes in host memory.
#[test]
fn boxes_that_cannot_be_stored() {
    let mut random = Random::new(7);
    let sound = boxes::<f32, 2>(&mut random, 600, 0.0);
    let mut tree = BoxBvh::<f32, 2>::from_device(&on_device(&corners(&sound))).unwrap();
    let nan = f32::NAN;
    for (at, lo, hi) in [
        (0, [nan, 0.0], [1.0, 1.0]),
        (599, [0.0, 0.0], [1.0, f32::INFINITY]),
        (300, [0.0, 2.0], [1.0, 1.0]),
        (301, [-1e38, nan], [nan, 1.0]),
        (2, [0.0, nan], [1e38, 1.0]),
    ] {
        let mut broken = sound.clone();
        broken[at] = Aabb { lo, hi };
        broken[at.max(550)] = Aabb { lo, hi };
        let expected = Bvh::build(&broken).unwrap_err().to_string();
        let broken = on_device(&corners(&broken));
        assert_eq!(BoxBvh::<f32, 2>::from_device(&broken).unwrap_err().to_string(), expected);
        assert_eq!(tree.refit_from_device(&broken).unwrap_err().to_string(), expected);
    }
    assert_eq!(tree.read().unwrap().nodes(), Bvh::build(&sound).unwrap().nodes());
    let error = BoxBvh::<f32, 2>::from_device(&on_device(&[0.0; 6])).unwrap_err();
    assert_eq!(error.to_string(), "a box has 4 coordinates, twice the dimension, so 6 coordinates are not whole boxes");
    assert_eq!(tree.refit_from_device(&on_device(&[0.0; 4])).unwrap_err().kind(), ErrorKind::Input);
    let mut periodic = BoxBvh::build_periodic(&sound, 20.0, device()).unwrap();
    assert_eq!(periodic.refit_from_device(&on_device(&corners(&sound))).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn stored_meshes() {
    let mut random = Random::new(8);
    let vertices =
        |random: &mut Random| -> Vec<[f64; 3]> { (0..300).map(|_| std::array::from_fn(|_| random.unit())).collect() };
    let (before, after) = (vertices(&mut random), vertices(&mut random));
    let faces: Vec<[u32; 3]> = (0..400).map(|_| std::array::from_fn(|_| random.below(300) as u32)).collect();
    let indices = on_device(faces.as_flattened());
    let mut ours = gpu::Mesh::from_device(&on_device(before.as_flattened()), &indices).unwrap();
    let points = vertices(&mut random);
    for moved in [&before, &after] {
        ours.refit_from_device(&on_device(moved.as_flattened())).unwrap();
        let theirs = Mesh::build(moved, &faces).unwrap();
        assert_eq!((ours.len(), ours.bounds()), (400, theirs.bounds()));
        let found = ours.nearest_all(&points, f64::INFINITY).unwrap().read().unwrap();
        assert_eq!(found, theirs.nearest_all(&points, f64::INFINITY));
    }

    let mut broken = before.clone();
    broken[200][1] = f64::NAN;
    let expected = Mesh::build(&broken, &faces).unwrap_err().to_string();
    let broken = on_device(broken.as_flattened());
    assert_eq!(gpu::Mesh::from_device(&broken, &indices).unwrap_err().to_string(), expected);
    assert_eq!(ours.refit_from_device(&broken).unwrap_err().to_string(), expected);
    for at in [0, 7, 399] {
        let mut missing = faces.clone();
        (missing[at][1], missing[399][2]) = (300, u32::MAX);
        let expected = Mesh::build(&before, &missing).unwrap_err().to_string();
        let missing = on_device(missing.as_flattened());
        let error = gpu::Mesh::from_device(&on_device(before.as_flattened()), &missing).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let error = gpu::Mesh::from_device(&on_device(before.as_flattened()), &on_device(&[0, 1])).unwrap_err();
    assert_eq!(error.to_string(), "the number of vertex indices must be a multiple of 3, got 2");
    assert_eq!(gpu::Mesh::from_device(&on_device(&[0.0; 4]), &indices).unwrap_err().kind(), ErrorKind::Input);
    assert_eq!(ours.refit_from_device(&on_device(&[0.0; 9])).unwrap_err().kind(), ErrorKind::Input);
}

/// Points in another space than the tree are refused.
#[test]
fn points_in_another_space() {
    let at = [[1.0f32, 2.0, 3.0]];
    let (open, periodic) = (placed(&at, None), placed(&at, Some(10.0)));
    let tree = gpu::Bvh::from_points(&open).unwrap();
    let sentence =
        "the points are in another space than the tree; both must be in open space or in the same periodic box";
    assert_eq!(tree.neighbors_of(&periodic, 1.0).unwrap_err().to_string(), sentence);
    assert_eq!(tree.count_neighbors_of(&periodic, 1.0).unwrap_err().to_string(), sentence);
    assert_eq!(tree.nearest_of(&periodic, 1).unwrap_err().to_string(), sentence);
    assert_eq!(BoxBvh::build(&at, device()).unwrap().nearest_of(&periodic, 1).unwrap_err().to_string(), sentence);
    let values = gpu::ValueBvh::build(at.to_vec(), device()).unwrap();
    assert_eq!(values.nearest_of(&periodic, 1).unwrap_err().to_string(), sentence);
    let mesh = gpu::Mesh::build(&at, &[[0; 3]], device()).unwrap();
    let error = mesh.nearest_of(&periodic, 1.0).unwrap_err().to_string();
    assert_eq!(error, sentence.replace("the tree", "the mesh"));
    let other = gpu::Bvh::from_points(&periodic).unwrap();
    assert_eq!(other.nearest_of(&placed(&at, Some(11.0)), 1).unwrap_err().kind(), ErrorKind::Input);
}

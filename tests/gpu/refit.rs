//! Refitted trees on a device, compared with those of the CPU, and user-defined kernels that walk a tree.

use common::random::Random;
use ropewalk::geometry::Triangle;
use ropewalk::gpu::cubecl::{self, prelude::*};
use ropewalk::gpu::{self, BoxBvh, Coordinate, Device, DeviceVec, KernelCall, Points, TreeArg, TreeView};
use ropewalk::{Aabb, Bvh, ErrorKind, Ray, Result, Sphere, ValueBvh};

use crate::values::Places;

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

fn points<S: Coordinate, const D: usize>(random: &mut Random, n: usize) -> Vec<[S; D]> {
    (0..n).map(|_| std::array::from_fn(|_| S::from_f64(random.unit() * 8.0))).collect()
}

/// Compares a tree of points after each of two moves.
fn compare_points<S: Coordinate, const D: usize>(random: &mut Random, n: usize, side: Option<f64>) {
    let name = format!("{n} points in {D} dimensions, side {side:?}");
    let first: Vec<[S; D]> = points(random, n);
    let (mut theirs, placed) = match side {
        Some(side) => (Bvh::build_periodic(&first, side).unwrap(), Points::new_periodic(&first, side, device())),
        None => (Bvh::build(&first).unwrap(), Points::new(&first, device())),
    };
    let mut ours = gpu::Bvh::from_points(&placed.unwrap()).unwrap();
    assert_eq!(ours.degradation().unwrap(), 1.0, "{name}");
    // Far moves, and copies that fill inner nodes.
    let second: Vec<[S; D]> = points(random, n);
    let third: Vec<[S; D]> =
        first.iter().map(|at| at.map(|x| S::from_f64((Into::<f64>::into(x) / 4.0).floor()))).collect();
    for moved in [&second, &third] {
        theirs.refit(moved).unwrap();
        let placed = match side {
            Some(side) => Points::new_periodic(moved, side, device()),
            None => Points::new(moved, device()),
        };
        ours.refit(&placed.unwrap()).unwrap();
        let read = ours.read().unwrap();
        assert_eq!((read.nodes(), read.order()), (theirs.nodes(), theirs.order()), "{name}");
        assert_eq!((ours.bounds(), read.bounds()), (theirs.bounds(), theirs.bounds()), "{name}");
        let (found, expected) = (ours.degradation().unwrap(), theirs.degradation());
        assert!((found - expected).abs() <= 1e-12 * expected, "{name}: {found} instead of {expected}");
        assert_eq!(ours.neighbors(0.5).unwrap().read().unwrap(), theirs.neighbors(0.5), "{name}");
        let found = ours.nearest_neighbors(3).unwrap().read().unwrap();
        assert_eq!(found, theirs.nearest_neighbors(3), "{name}");
    }
    theirs.rebuild(&first).unwrap();
    let placed = match side {
        Some(side) => Points::new_periodic(&first, side, device()),
        None => Points::new(&first, device()),
    };
    ours.rebuild(&placed.unwrap()).unwrap();
    assert_eq!(ours.read().unwrap().nodes(), theirs.nodes(), "{name}");
    assert_eq!(ours.degradation().unwrap(), 1.0, "{name}");
}

fn compare_boxes<S: Coordinate, const D: usize>(random: &mut Random, n: usize) {
    let boxes = |random: &mut Random| -> Vec<Aabb<S, D>> {
        let size = |random: &mut Random| S::from_f64(random.unit());
        points::<S, D>(random, n).into_iter().map(|lo| Aabb::new(lo, lo.map(|x| x + size(random)))).collect()
    };
    let first = boxes(random);
    let (mut theirs, mut ours) = (Bvh::build(&first).unwrap(), BoxBvh::build(&first, device()).unwrap());
    let moved = boxes(random);
    theirs.refit(&moved).unwrap();
    ours.refit(&moved).unwrap();
    let read = ours.read().unwrap();
    assert_eq!((read.nodes(), read.order()), (theirs.nodes(), theirs.order()), "{n} boxes");
    let (found, expected) = (ours.degradation().unwrap(), theirs.degradation());
    assert!((found - expected).abs() <= 1e-12 * expected, "{n} boxes: {found} instead of {expected}");
    let spheres: Vec<Sphere<S, D>> = points(random, 20).into_iter().map(|at| Sphere::new(at, 1.0)).collect();
    assert_eq!(ours.query_all(&spheres).unwrap().read().unwrap(), theirs.query_all(&spheres), "{n} boxes");
    ours.rebuild(&moved).unwrap();
    assert_eq!(ours.read().unwrap().nodes(), Bvh::build(&moved).unwrap().nodes(), "{n} boxes");
}

#[test]
fn moved_primitives() {
    let mut random = Random::new(11);
    for n in [0, 1, 40, 3000] {
        compare_points::<f32, 3>(&mut random, n, Some(8.0));
        compare_points::<f64, 2>(&mut random, n, None);
        compare_boxes::<f32, 3>(&mut random, n);
    }
}

/// Triangles that move, and their hits, crossings and nearest neighbours after each move.
#[test]
fn moved_values() {
    let mut random = Random::new(12);
    let mut places = Places { random: &mut random, grid: 0.5 };
    let mut triangles = || -> Vec<Triangle<f32, 3>> { (0..300).map(|_| places.triangle()).collect() };
    let (first, second) = (triangles(), triangles());
    let spheres: Vec<Sphere<f32, 3>> = (0..40).map(|_| places.sphere()).collect();
    let rays: Vec<Ray<f32, 3>> = (0..40).map(|_| places.ray()).collect();
    let points: Vec<[f32; 3]> = (0..40).map(|_| places.point()).collect();
    let mut theirs = ValueBvh::build(first.clone()).unwrap();
    let mut ours = gpu::ValueBvh::build(first.clone(), device()).unwrap();
    let compare = |ours: &gpu::ValueBvh<_, f32, 3>, theirs: &ValueBvh<_, f32, 3>| {
        assert_eq!(ours.values(), theirs.values());
        assert_eq!(ours.boxes().read().unwrap().nodes(), theirs.bvh().nodes());
        assert_eq!(ours.query_all(&spheres).unwrap().read().unwrap(), theirs.query_all(&spheres));
        assert_eq!(ours.crossings_all(&rays).unwrap().read().unwrap(), theirs.crossings_all(&rays));
        assert_eq!(ours.nearest_all(&points, 5).unwrap().read().unwrap(), theirs.nearest_all(&points, 5));
    };
    compare(&ours, &theirs);
    for (moved, before) in [(&second, &first), (&first, &second)] {
        assert_eq!(&ours.refit(moved.clone()).unwrap(), before);
        theirs.refit(moved.clone()).unwrap();
        compare(&ours, &theirs);
    }

    let error = ours.refit(second[..7].to_vec()).unwrap_err();
    let sentence = "refitting needs the 300 primitives of the tree, got 7; for another number build a new tree";
    assert_eq!(error.to_string(), sentence);
    let mut broken = second.clone();
    broken[5].vertices[1][0] = f32::NAN;
    assert_eq!(ours.refit(broken).unwrap_err().kind(), ErrorKind::NotFinite);
    compare(&ours, &theirs);
}

#[test]
fn points_that_do_not_fit() {
    let mut tree = gpu::Bvh::build(&[[0.0f32, 0.0], [1.0, 0.0]], device()).unwrap();
    let error = tree.refit(&Points::new(&[[0.0f32, 0.0]], device()).unwrap()).unwrap_err();
    let sentence = "refitting needs the 2 primitives of the tree, got 1; for another number build a new tree";
    assert_eq!(error.to_string(), sentence);
    let periodic = Points::new_periodic(&[[0.0f32, 0.0], [1.0, 0.0]], 2.0, device()).unwrap();
    let error = tree.refit(&periodic).unwrap_err();
    let sentence =
        "the points are in another space than the tree; both must be in open space or in the same periodic box";
    assert_eq!(error.to_string(), sentence);
    assert_eq!(tree.count_neighbors(1.0).unwrap().read().unwrap(), [2, 2]);

    let mut boxes = BoxBvh::build(&[Sphere::new([0.0f32, 0.0], 1.0)], device()).unwrap();
    assert!(boxes.refit(&[Sphere::new([0.0f32, 0.0], f64::NAN)]).is_err());
    assert_eq!(boxes.count_all(&[[0.5f32, 0.0]]).unwrap().read().unwrap(), [1]);
}

/// The soft repulsion of points nearer than 1, in a periodic box.
#[cube(launch)]
fn repel(tree: &TreeView<f32>, forces: &mut Array<f64>) {
    if (ABSOLUTE_POS as u32) < tree.n_points() {
        let own = tree.point(ABSOLUTE_POS as u32, 3usize);
        let mut force = Array::<f64>::new(3usize);
        #[unroll]
        for k in 0..3usize {
            force[k] = f64::new(0.0);
        }
        let mut walk = tree.walk();
        while walk.goes_on() {
            let node = tree.node(&walk);
            // The distance to the box is rounded, so a little beyond the radius counts.
            let is_near = tree.min_distance2(&node, &own, 3usize, true) <= 1.001f32;
            if is_near && node.is_leaf {
                for other in node.first..tree.end_of(&node) {
                    let mut offset = Array::<f64>::new(3usize);
                    let mut distance2 = f64::new(0.0);
                    #[unroll]
                    for k in 0..3usize {
                        offset[k] = tree.offset(own[k], tree.coordinate(other, k), k, true);
                        distance2 += offset[k] * offset[k];
                    }
                    if distance2 > f64::new(0.0) && distance2 <= f64::new(1.0) {
                        let distance = distance2.sqrt();
                        #[unroll]
                        for k in 0..3usize {
                            force[k] -= (f64::new(1.0) - distance) * offset[k] / distance;
                        }
                    }
                }
            }
            walk.step(&node, is_near);
        }
        let index = tree.index(ABSOLUTE_POS as u32) as usize;
        #[unroll]
        for k in 0..3usize {
            forces[3 * index + k] = force[k];
        }
    }
}

struct Repel(Device);

impl KernelCall<f32> for Repel {
    type Output = Result<DeviceVec<f64>>;

    fn call<R: Runtime>(self, client: &ComputeClient<R>, tree: &TreeArg<f32>) -> Self::Output {
        let forces = DeviceVec::zeros(3 * tree.n_points(), self.0)?;
        let count = CubeCount::new_1d(tree.n_points().div_ceil(64).max(1) as u32);
        repel::launch::<R>(client, count, CubeDim::new_1d(64), tree.arg(), forces.arg());
        Ok(forces)
    }
}

#[test]
fn forces_in_a_kernel_of_the_user() {
    let mut random = Random::new(12);
    for n in [0, 1, 2000] {
        let points: Vec<[f32; 3]> = points(&mut random, n);
        let tree = gpu::Bvh::build_periodic(&points, 8.0, device()).unwrap();
        let found = tree.call(Repel(device())).unwrap().unwrap().read().unwrap();
        let expected = Bvh::build_periodic(&points, 8.0).unwrap().map_neighbors(1.0, |_, near| {
            let mut force = [0.0; 3];
            for other in near.iter().filter(|other| other.distance2 > 0.0) {
                let distance = other.distance2.sqrt();
                for (force, offset) in force.iter_mut().zip(other.offset) {
                    *force -= (1.0 - distance) * offset / distance;
                }
            }
            force
        });
        assert_eq!(found.len(), 3 * n);
        for (found, expected) in found.iter().zip(expected.as_flattened()) {
            assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
        }
    }
}

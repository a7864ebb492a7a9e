//! Callbacks that emit values for hits, nearest neighbours and crossings of rays, compared with the CPU.

use std::ops::ControlFlow;

use common::random::Random;
use cubecl::prelude::*;
use ropewalk::gpu::cubecl;
use ropewalk::gpu::{self, BoxBvh, Coordinate, CrossingMapper, Emitter, HitMapper, NearestMapper};
use ropewalk::{Aabb, Bvh, Ray, Sphere, ValueBvh};

use crate::values::{Places, device};

/// Emits each larger value and its index, and their number; ends after three of them.
struct Larger;

#[derive(CubeType)]
struct OwnAndCount {
    own: u32,
    count: RuntimeCell<u32>,
}

#[cube]
impl HitMapper for Larger {
    type Value = u32;
    type Output = u32;
    type State = OwnAndCount;

    fn start(query: u32, own: u32) -> OwnAndCount {
        OwnAndCount { own: own + query, count: RuntimeCell::<u32>::new(0) }
    }

    fn map(state: &OwnAndCount, index: u32, value: u32, out: &Emitter<u32>) -> bool {
        if value > state.own {
            out.emit(index);
            out.emit(value);
            state.count.store(state.count.read() + 1);
        }
        state.count.read() < 3
    }

    fn finish(state: &OwnAndCount, out: &Emitter<u32>) {
        out.emit(state.count.read());
    }
}

/// The definition of [`Larger`] on the CPU, without the end after three hits.
fn larger<'a>(own: &'a [u32], values: &'a [u32]) -> impl Fn(usize, u32) -> Option<[u32; 2]> + Sync + 'a {
    move |query, index| {
        let value = values[index as usize];
        (value > own[query] + query as u32).then_some([index, value])
    }
}

#[test]
fn callbacks_emit_values() {
    let mut random = Random::new(8);
    let places = &mut Places { random: &mut random, grid: 0.0 };
    for n in [0, 1, 2000] {
        let points: Vec<[f32; 3]> = (0..n).map(|_| places.point()).collect();
        let spheres: Vec<Sphere<f32, 3>> = (0..50).map(|_| places.sphere()).collect();
        let boxes: Vec<Aabb<f32, 3>> = (0..50).map(|_| places.aabb()).collect();
        let values: Vec<u32> = (0..n).map(|i| i as u32 * 7919 % 100).collect();
        let own: Vec<u32> = (0..50).collect();
        let emits = larger(&own, &values);
        let tree = Bvh::build(&points).unwrap();
        let map = |query: usize, index: u32, out: &mut ropewalk::search::Emitter<u32>| {
            out.extend(emits(query, index).into_iter().flatten());
            ControlFlow::Continue(())
        };
        let expect = |all: ropewalk::Csr<u32>, found: ropewalk::Csr<u32>, name: &str| {
            assert_eq!(found.len(), 50, "{name}");
            for query in 0..50 {
                let mut expected = all.of(query)[..all.of(query).len().min(6)].to_vec();
                expected.push(expected.len() as u32 / 2);
                assert_eq!(found.of(query), expected, "{name}: {n} points, query {query}");
            }
        };
        let ours = gpu::Bvh::build(&points, device()).unwrap();
        let found = ours.map_hits::<Larger, _>(&spheres, &own, &values).unwrap();
        expect(tree.map_hits(&spheres, map), found.read().unwrap(), "spheres");
        let found = ours.map_hits::<Larger, _>(&boxes, &own, &values).unwrap();
        expect(tree.map_hits(&boxes, map), found.read().unwrap(), "boxes");

        let balls: Vec<Sphere<f32, 3>> = points.iter().map(|&at| Sphere::new(at, 0.3)).collect();
        let found = BoxBvh::build(&balls, device()).unwrap().map_hits::<Larger, _>(&boxes, &own, &values).unwrap();
        expect(Bvh::build(&balls).unwrap().map_hits(&boxes, map), found.read().unwrap(), "boxes of balls");
        let found = gpu::ValueBvh::build(balls.clone(), device()).unwrap();
        let found = found.map_hits::<Larger, _>(&boxes, &own, &values).unwrap();
        let by_value = ValueBvh::build(balls).unwrap();
        let all = by_value.map_hits(&boxes, |query, hit, out| map(query, hit.index, out));
        expect(all, found.read().unwrap(), "balls");
    }
    let tree = gpu::Bvh::build(&[[0.0f32, 0.0]], device()).unwrap();
    let error = tree.map_hits::<Larger, _>(&[[0.0f32, 0.0]], &[], &[1]).unwrap_err();
    assert_eq!(error.to_string(), "expected one value each, got 0 values for 1 queries");
}

/// The energy that a ray leaves in each shape, until none is left, followed by the rest.
struct Absorbed;

#[cube]
impl CrossingMapper for Absorbed {
    type Value = f64;
    type Output = f64;
    type State = RuntimeCell<f64>;

    fn start(_ray: u32, energy: f64) -> RuntimeCell<f64> {
        RuntimeCell::<f64>::new(energy)
    }

    fn map(left: &RuntimeCell<f64>, _index: u32, enter: f64, leave: f64, value: f64, out: &Emitter<f64>) -> bool {
        let deposit = min(left.read(), value * (leave - enter));
        out.emit(deposit);
        left.store(left.read() - deposit);
        left.read() > f64::new(0.0)
    }

    fn finish(left: &RuntimeCell<f64>, out: &Emitter<f64>) {
        out.emit(left.read());
    }
}

fn compare_crossings<T, S: Coordinate, const D: usize>(stored: &[T], rays: &[Ray<S, D>])
where
    T: gpu::Crossed<S, D> + ropewalk::geometry::Crossed<S, D> + Clone,
{
    let theirs = ValueBvh::build(stored.to_vec()).unwrap();
    let ours = gpu::ValueBvh::build(stored.to_vec(), device()).unwrap();
    let found = ours.crossings_all(rays).unwrap();
    let expected = theirs.crossings_all(rays);
    assert_eq!(found.read().unwrap(), expected);
    assert!(rays.iter().zip(&expected).all(|(ray, list)| theirs.crossings(ray) == list));
    for k in [0, 1, 4, 1000] {
        let found = ours.k_crossings_all(rays, k).unwrap().read().unwrap();
        assert_eq!(found, theirs.k_crossings_all(rays, k), "the first {k}");
    }
    let values: Vec<f64> = (0..stored.len()).map(|i| 0.5 + i as f64 / 8.0).collect();
    let energies: Vec<f64> = (0..rays.len()).map(|i| i as f64 / 4.0).collect();
    let lists = found.map::<Absorbed>(&energies, &values).unwrap().read().unwrap();
    for (ray, list) in expected.iter().enumerate() {
        let mut left = energies[ray];
        let mut absorbed = vec![];
        for crossing in list {
            let deposit = (values[crossing.index as usize] * (crossing.leave - crossing.enter)).min(left);
            absorbed.push(deposit);
            left -= deposit;
            if left <= 0.0 {
                break;
            }
        }
        absorbed.push(left);
        assert_eq!(lists.of(ray), absorbed, "ray {ray}");
    }
}

#[test]
fn rays_cross_shapes_in_order() {
    let mut random = Random::new(9);
    let places = &mut Places { random: &mut random, grid: 0.5 };
    for n in [0, 1, 400] {
        let boxes: Vec<Aabb<f32, 3>> = (0..n).map(|_| places.aabb()).collect();
        let rays: Vec<Ray<f32, 3>> = (0..60).map(|_| places.ray()).collect();
        compare_crossings(&boxes, &rays);
        let spheres: Vec<(Sphere<f32, 3>, u8)> = (0..n).map(|_| (places.sphere(), 1)).collect();
        compare_crossings(&spheres, &rays);
    }
}

/// Compares rays that begin far away or are odd, along a row of boxes that overlap.
fn compare_row<S: Coordinate, const D: usize>(n: usize, scale: f64) {
    let number = S::from_f64;
    let boxes: Vec<Aabb<S, D>> = (0..n)
        .map(|i| {
            let at = scale * (i % 600) as f64;
            Aabb::new([number(at); D], std::array::from_fn(|k| number(at + scale * (1 + k) as f64)))
        })
        .collect();
    let mut rays = vec![];
    for reach in [10.0, 100.0, f64::INFINITY] {
        for start in [-1.0, 0.0, 300.5, -1e9, 1e12, 1e30] {
            let diagonal = |sign: f64| Ray::new([number(scale * start); D], [number(sign); D]);
            rays.extend([1.0, -1.0].map(|sign| diagonal(sign).between(0.0, scale * reach)));
            let mut along: [S; D] = [number(0.0); D];
            along[D - 1] = number(-0.5);
            rays.push(Ray::new([number(scale * 5.0); D], along).between(f64::NEG_INFINITY, scale * reach));
        }
    }
    rays.push(Ray::new([number(f64::NAN); D], [number(1.0); D]));
    rays.push(Ray::new([number(1.0); D], [number(0.0); D]));
    compare_crossings(&boxes, &rays);
}

/// Lists of up to 16, 512 and more entries, and equal boxes.
#[test]
fn rays_that_cross_many_shapes() {
    for n in [1, 17, 1300] {
        compare_row::<f32, 3>(n, 1.0);
    }
}

/// Numbers beyond the range of `f32`, and rays in the plane.
#[test]
#[ignore = "wide"]
fn wide_rays_that_cross_many_shapes() {
    compare_row::<f64, 3>(700, 1e-200);
    compare_row::<f64, 3>(40, 1e110);
    compare_row::<f32, 2>(700, 1.0);
}

/// The index and the squared distance of each neighbour within a radius of the query's own, up to one of value 0.
struct Within;

#[cube]
impl NearestMapper for Within {
    type Value = f64;
    type Output = f64;
    type State = RuntimeCell<f64>;

    fn start(_query: u32, own: f64) -> RuntimeCell<f64> {
        RuntimeCell::<f64>::new(own)
    }

    fn map(own: &RuntimeCell<f64>, index: u32, distance2: f64, value: f64, out: &Emitter<f64>) -> bool {
        if distance2 <= own.read() {
            out.emit(f64::cast_from(index));
            out.emit(distance2);
        }
        value > f64::new(0.0)
    }

    fn finish(_own: &RuntimeCell<f64>, _out: &Emitter<f64>) {}
}

#[test]
fn callbacks_of_nearest_neighbors() {
    let mut random = Random::new(10);
    let places = &mut Places { random: &mut random, grid: 0.25 };
    for (n, k) in [(0, 3), (2, 3), (500, 7)] {
        let points: Vec<[f32; 3]> = (0..n).map(|_| places.point()).collect();
        let queries: Vec<[f32; 3]> = (0..50).map(|_| places.point()).chain([[f32::NAN; 3]]).collect();
        let own: Vec<f64> = (0..51).map(|i| f64::from(i) / 8.0).collect();
        let values: Vec<f64> = (0..n).map(|i| (i % 5) as f64).collect();
        let near = gpu::Bvh::build(&points, device()).unwrap().nearest_all(&queries, k).unwrap();
        let found = near.map::<Within>(&own, &values).unwrap().read().unwrap();
        let lists = Bvh::build(&points).unwrap().nearest_all(&queries, k);
        for (query, list) in lists.iter().enumerate() {
            let mut expected = vec![];
            for near in list {
                if near.distance2 <= own[query] {
                    expected.extend([f64::from(near.index), near.distance2]);
                }
                if values[near.index as usize] == 0.0 {
                    break;
                }
            }
            assert_eq!(found.of(query), expected, "query {query} of {n} points");
        }
        assert!(near.map::<Within>(&own[..50], &values).is_err());
    }
}

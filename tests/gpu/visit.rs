//! Range queries and callbacks on a device, compared with the CPU.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use common::clouds::{Cloud, clustered, small, snapshot};
use cubecl::prelude::*;
use ropewalk::Sphere;
use ropewalk::gpu::{self, Coordinate, Device, Visitor, cubecl};

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

/// Finds the index of the heaviest other point, the first in case of ties; `u32::MAX` if there is no other point.
struct Heaviest;

#[derive(CubeType)]
struct Best {
    query: u32,
    mass: RuntimeCell<f32>,
    index: RuntimeCell<u32>,
}

#[cube]
impl Visitor for Heaviest {
    type Value = f32;
    type Output = u32;
    type State = Best;

    fn start(query: u32, _own: f32) -> Best {
        Best { query, mass: RuntimeCell::<f32>::new(-1.0), index: RuntimeCell::<u32>::new(u32::MAX) }
    }

    fn visit<F: Float>(state: &Best, index: u32, _distance2: F, mass: f32) -> bool {
        if index != state.query {
            let best = state.mass.read();
            if mass > best || (mass == best && index < state.index.read()) {
                state.mass.store(mass);
                state.index.store(index);
            }
        }
        true.runtime()
    }

    fn finish(state: &Best) -> u32 {
        state.index.read()
    }
}

/// Counts calls, and stops when their number reaches the point's own value.
struct FirstFew;

#[derive(CubeType)]
struct Calls {
    most: u32,
    made: RuntimeCell<u32>,
}

#[cube]
impl Visitor for FirstFew {
    type Value = u32;
    type Output = u32;
    type State = Calls;

    fn start(_query: u32, most: u32) -> Calls {
        Calls { most, made: RuntimeCell::<u32>::new(0) }
    }

    fn visit<F: Float>(state: &Calls, _index: u32, _distance2: F, _value: u32) -> bool {
        let made = state.made.read() + 1;
        state.made.store(made);
        made < state.most
    }

    fn finish(state: &Calls) -> u32 {
        state.made.read()
    }
}

/// Combines all values in their order to a 64-bit number.
struct Trace;

#[cube]
impl Visitor for Trace {
    type Value = u64;
    type Output = u64;
    type State = RuntimeCell<u64>;

    fn start(_query: u32, own: u64) -> RuntimeCell<u64> {
        RuntimeCell::<u64>::new(own)
    }

    fn visit<F: Float>(state: &RuntimeCell<u64>, index: u32, _distance2: F, value: u64) -> bool {
        state.store((state.read() * 31u64 + value) * 31u64 + u64::cast_from(index));
        true.runtime()
    }

    fn finish(state: &RuntimeCell<u64>) -> u64 {
        state.read()
    }
}

/// Computes the squared distance to the farthest neighbour.
struct Farthest;

#[cube]
impl Visitor for Farthest {
    type Value = i32;
    type Output = f64;
    type State = RuntimeCell<f64>;

    fn start(_query: u32, _own: i32) -> RuntimeCell<f64> {
        RuntimeCell::<f64>::new(-1.0)
    }

    fn visit<F: Float>(state: &RuntimeCell<f64>, _index: u32, distance2: F, _value: i32) -> bool {
        state.store(max(state.read(), f64::cast_from(distance2)));
        true.runtime()
    }

    fn finish(state: &RuntimeCell<f64>) -> f64 {
        state.read()
    }
}

/// Counts the other points.
struct Met;

#[cube]
impl Visitor for Met {
    type Value = u32;
    type Output = u32;
    type State = RuntimeCell<u32>;

    fn start(_query: u32, _own: u32) -> RuntimeCell<u32> {
        RuntimeCell::<u32>::new(0)
    }

    fn visit<F: Float>(state: &RuntimeCell<u32>, _index: u32, _distance2: F, value: u32) -> bool {
        state.store(state.read() + value);
        true.runtime()
    }

    fn finish(state: &RuntimeCell<u32>) -> u32 {
        state.read()
    }
}

/// Returns spheres of many sizes at and next to stored points, some of which contain no points or all points.
fn balls<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>, radius: f64) -> Vec<Sphere<S, D>> {
    let points = cloud.points.iter().filter(|point| point.iter().all(|x| Into::<f64>::into(*x).is_finite()));
    let mut balls: Vec<_> = points
        .enumerate()
        .map(|(i, &point)| {
            let mut center = point;
            if i % 3 == 1 {
                center[i % D] = S::from_f64(Into::<f64>::into(center[i % D]) + cloud.side * (i % 7) as f64 - radius);
            }
            Sphere::new(center, radius * [1.0, 0.0, 1.5, -1.0, 0.99, f64::NAN, 1.0][i % 7])
        })
        .collect();
    for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, -1e30] {
        let mut center = [S::from_f64(0.5); D];
        center[D - 1] = S::from_f64(x);
        balls.extend([radius, 1e31, f64::INFINITY].map(|radius| Sphere::new(center, radius)));
    }
    balls.extend([1e-200, 1e160, f64::MAX, f64::INFINITY].map(|radius| Sphere::new([S::from_f64(0.3); D], radius)));
    balls
}

fn compare<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>) {
    let (name, points, side) = (cloud.name, &cloud.points[..], cloud.side);
    let Ok(theirs) = ropewalk::Bvh::build(points) else { return };
    let ours = gpu::Bvh::build(points, device()).unwrap();
    let their_periodic = ropewalk::Bvh::build_periodic(points, side).unwrap();
    let our_periodic = gpu::Bvh::build_periodic(points, side, device()).unwrap();
    for &radius in &cloud.radii {
        let balls = balls(cloud, radius);
        for (name, ours, theirs) in [
            (format!("{name}, radius {radius}"), &ours, &theirs),
            (format!("{name}, radius {radius}, periodic"), &our_periodic, &their_periodic),
        ] {
            compare_queries(&name, ours, theirs, &balls);
            compare_neighbors(&name, ours, theirs, radius);
        }
    }
}

fn compare_queries<S: Coordinate, const D: usize>(
    name: &str,
    ours: &gpu::Bvh<S, D>,
    theirs: &ropewalk::Bvh<S, D>,
    balls: &[Sphere<S, D>],
) {
    let lists = theirs.query_all(balls);
    let found = ours.query_all(balls).unwrap().read().unwrap();
    for (i, ball) in balls.iter().enumerate() {
        assert!(found.of(i) == lists.of(i), "{name}, {ball:?}: {:?} is not {:?}", found.of(i), lists.of(i));
    }
    assert_eq!(ours.count_all(balls).unwrap().read().unwrap(), theirs.count_all(balls), "{name}: counts");

    // All hits in order, with a state from the first to the last.
    let values: Vec<u64> = (0..theirs.len() as u64).map(|i| (i << 40) ^ (i * 7)).collect();
    let own: Vec<u64> = (0..balls.len() as u64).map(|i| i << 33 | 1).collect();
    let traces = ours.for_each_hit::<Trace>(balls, &own, &values).unwrap().read().unwrap();
    for (i, trace) in traces.into_iter().enumerate() {
        let step = |state: u64, &index: &u32| {
            let state = state.wrapping_mul(31).wrapping_add(values[index as usize]);
            state.wrapping_mul(31).wrapping_add(u64::from(index))
        };
        assert_eq!(trace, lists.of(i).iter().fold(own[i], step), "{name}, ball {i}: trace");
    }

    // There is no call after the last one.
    let most: Vec<u32> = (0..balls.len()).map(|i| [1, 2, 5, 40][i % 4]).collect();
    let calls: Vec<_> = balls.iter().map(|_| AtomicU32::new(0)).collect();
    theirs.for_each_hit(balls, |ball, _| {
        let made = calls[ball].fetch_add(1, Relaxed) + 1;
        if made < most[ball] { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let calls: Vec<u32> = calls.into_iter().map(AtomicU32::into_inner).collect();
    let zeros = vec![0; theirs.len()];
    assert_eq!(ours.for_each_hit::<FirstFew>(balls, &most, &zeros).unwrap().read().unwrap(), calls, "{name}: calls");
}

fn compare_neighbors<S: Coordinate, const D: usize>(
    name: &str,
    ours: &gpu::Bvh<S, D>,
    theirs: &ropewalk::Bvh<S, D>,
    radius: f64,
) {
    let n = theirs.len();
    let neighbors = theirs.neighbors(radius);
    let masses: Vec<f32> = (0..n).map(|i| (i * 37 % 101) as f32).collect();
    let heaviest: Vec<u32> = (0..n)
        .map(|i| {
            let others = neighbors.of(i).iter().copied().filter(|&j| j as usize != i);
            others.reduce(|a, b| if (masses[b as usize], a) > (masses[a as usize], b) { b } else { a })
        })
        .map(|found| found.unwrap_or(u32::MAX))
        .collect();
    let found = ours.for_each_neighbor::<Heaviest>(radius, &masses).unwrap().read().unwrap();
    assert_eq!(found, heaviest, "{name}: heaviest");

    let most: Vec<u32> = (0..n).map(|i| [1, 3, 31][i % 3]).collect();
    let calls: Vec<u32> = (0..n).map(|i| most[i].min(neighbors.of(i).len() as u32)).collect();
    let found = ours.for_each_neighbor::<FirstFew>(radius, &most).unwrap().read().unwrap();
    assert_eq!(found, calls, "{name}: calls");

    let met = ours.for_each_pair::<Met>(radius, &vec![1; n]).unwrap().read().unwrap();
    assert_eq!(met.into_iter().map(u64::from).sum::<u64>(), theirs.count_pairs(radius), "{name}: pairs");
}

#[test]
fn clouds() {
    small::<f32, 3>().iter().for_each(compare);
    snapshot::<f32, 3>().iter().for_each(compare);
    compare(&clustered::<f64, 2>());
}

#[test]
#[ignore = "wide"]
fn wide_clouds() {
    small::<f32, 2>().iter().for_each(compare);
    small::<f64, 2>().iter().for_each(compare);
    small::<f64, 3>().iter().for_each(compare);
}

#[test]
fn distances() {
    let points: Vec<[f64; 2]> = (0..1000).map(|i| [f64::from(i * 7 % 97), f64::from(i * 13 % 89)]).collect();
    let radius = 7.3;
    let theirs = ropewalk::Bvh::build_periodic(&points, 100.0).unwrap();
    let neighbors = theirs.neighbors(radius);
    let farthest = |i: usize| {
        let distances = neighbors.of(i).iter().map(|&j| theirs.space().distance2(&points[i], &points[j as usize]));
        distances.fold(-1.0, f64::max)
    };
    // Small integers, whose squares are exact in either type.
    let expected: Vec<f64> = (0..points.len()).map(farthest).collect();
    let ours = gpu::Bvh::upload(&theirs, device()).unwrap();
    assert_eq!(ours.for_each_neighbor::<Farthest>(radius, &[0; 1000]).unwrap().read().unwrap(), expected);
    let narrow: Vec<[f32; 2]> = points.iter().map(|point| point.map(|x| x as f32)).collect();
    let ours = gpu::Bvh::build_periodic(&narrow, 100.0, device()).unwrap();
    assert_eq!(ours.for_each_neighbor::<Farthest>(radius, &[0; 1000]).unwrap().read().unwrap(), expected);
}

#[test]
fn nothing() {
    let empty = gpu::Bvh::build(&[] as &[[f32; 3]], device()).unwrap();
    let some = gpu::Bvh::build(&[[0.0f32; 3]; 5], device()).unwrap();
    let ball = Sphere::new([0.0f32; 3], 1.0);
    assert_eq!(empty.query_all(&[ball; 3]).unwrap().read().unwrap().len(), 3);
    assert_eq!(empty.count_all(&[ball; 3]).unwrap().read().unwrap(), [0; 3]);
    assert_eq!(some.query_all::<Sphere<f32, 3>>(&[]).unwrap().read().unwrap().len(), 0);
    assert!(some.count_all::<Sphere<f32, 3>>(&[]).unwrap().read().unwrap().is_empty());
    assert!(some.for_each_hit::<Trace>(&[], &[], &[1; 5]).unwrap().read().unwrap().is_empty());
    assert!(empty.for_each_neighbor::<Trace>(1.0, &[]).unwrap().read().unwrap().is_empty());
    assert!(empty.for_each_pair::<Trace>(1.0, &[]).unwrap().read().unwrap().is_empty());
    let nowhere = Sphere::new([f32::NAN; 3], 1.0);
    assert_eq!(some.count_all(&[nowhere; 300]).unwrap().read().unwrap(), [0; 300]);
    // Queries without hits are also finished.
    assert_eq!(empty.for_each_hit::<Trace>(&[ball; 2], &[7, 8], &[]).unwrap().read().unwrap(), [7, 8]);
    assert_eq!(some.for_each_neighbor::<FirstFew>(f64::NAN, &[1; 5]).unwrap().read().unwrap(), [0; 5]);
}

#[test]
fn bad_input() {
    let says = |error: ropewalk::Error, words: &str| assert!(error.to_string().contains(words), "{error}");
    let bvh = gpu::Bvh::build(&[[0.0f32; 3]; 5], device()).unwrap();
    let ball = Sphere::new([0.0f32; 3], 1.0);
    says(bvh.for_each_neighbor::<Met>(1.0, &[1; 4]).unwrap_err(), "4 values for 5 points");
    says(bvh.for_each_pair::<Met>(1.0, &[1; 6]).unwrap_err(), "6 values for 5 points");
    says(bvh.for_each_hit::<Met>(&[ball], &[1], &[1; 4]).unwrap_err(), "4 values for 5 points");
    says(bvh.for_each_hit::<Met>(&[ball], &[], &[1; 5]).unwrap_err(), "0 values for 1 spheres");
}

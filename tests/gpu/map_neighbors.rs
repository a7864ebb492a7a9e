//! Values computed from neighbours on a device, compared with the CPU.

use common::clouds::{Cloud, clustered, small};
use common::random::Random;
use cubecl::prelude::*;
use ropewalk::Bvh;
use ropewalk::gpu::{self, Coordinate, Device, NeighborMap, cubecl};

fn device() -> Device {
    Device::first().expect("a device; for software Vulkan install mesa-vulkan-drivers")
}

/// Sums the first two components of offsets and the squared distances, each multiplied by the neighbour's value.
struct Moments;

#[derive(CubeType)]
struct Sums {
    x: RuntimeCell<f64>,
    y: RuntimeCell<f64>,
    squares: RuntimeCell<f64>,
}

#[cube]
impl NeighborMap for Moments {
    type Value = f64;
    type Output = f64;
    type State = Sums;
    const OUTPUTS: usize = 3;

    fn start(_index: u32, _own: f64) -> Sums {
        Sums { x: RuntimeCell::<f64>::new(0.0), y: RuntimeCell::<f64>::new(0.0), squares: RuntimeCell::<f64>::new(0.0) }
    }

    fn visit(state: &Sums, _index: u32, distance2: f64, offset: &Array<f64>, value: f64) {
        state.x.store(state.x.read() + value * offset[0]);
        state.y.store(state.y.read() + value * offset[1]);
        state.squares.store(state.squares.read() + value * distance2);
    }

    fn finish(state: &Sums, #[comptime] component: usize) -> f64 {
        if comptime!(component == 0) {
            state.x.read()
        } else if comptime!(component == 1) {
            state.y.read()
        } else {
            state.squares.read()
        }
    }
}

/// Combines the indices and the values of neighbours in their order, after those of the point itself.
struct Trace;

#[cube]
impl NeighborMap for Trace {
    type Value = u32;
    type Output = u64;
    type State = RuntimeCell<u64>;
    const OUTPUTS: usize = 1;

    fn start(index: u32, own: u32) -> RuntimeCell<u64> {
        RuntimeCell::<u64>::new(u64::cast_from(index) * 31u64 + u64::cast_from(own))
    }

    fn visit(state: &RuntimeCell<u64>, index: u32, _distance2: f64, _offset: &Array<f64>, value: u32) {
        state.store((state.read() * 31u64 + u64::cast_from(value)) * 31u64 + u64::cast_from(index));
    }

    fn finish(state: &RuntimeCell<u64>, #[comptime] _component: usize) -> u64 {
        state.read()
    }
}

fn trees<S: Coordinate, const D: usize>(points: &[[S; D]], side: Option<f64>) -> (Bvh<S, D>, gpu::Bvh<S, D>) {
    (Bvh::build_periodic(points, side).unwrap(), gpu::Bvh::build_periodic(points, side, device()).unwrap())
}

/// Compares sums in the order of the tree, bit by bit, with sums of the CPU's offsets.
fn compare<S: Coordinate, const D: usize>(theirs: &Bvh<S, D>, ours: &gpu::Bvh<S, D>, radius: f64) {
    let n = theirs.len();
    // Products with whole powers of two are exact, so a fused product and sum is rounded in the same way.
    let masses: Vec<f64> = (0..n).map(|i| [1.0, 8.0, 4.0, 2.0][i % 4]).collect();
    let lists = theirs.neighbors(radius);
    let expected = theirs.map_neighbors(radius, |i, near| {
        lists.of(i as usize).iter().fold([0.0; 3], |[x, y, squares], index| {
            let at = &near[near.binary_search_by_key(index, |near| near.index).unwrap()];
            let mass = masses[*index as usize];
            [x + mass * at.offset[0], y + mass * at.offset[1], squares + mass * at.distance2]
        })
    });
    let found = ours.map_neighbors::<Moments>(radius, &masses).unwrap().read().unwrap();
    assert_eq!(found, expected.as_flattened(), "radius {radius}");

    let values: Vec<u32> = (0..n as u32).map(|i| i * 7 % 1000).collect();
    let step = |state: u64, &index: &u32| {
        let state = state.wrapping_mul(31).wrapping_add(u64::from(values[index as usize]));
        state.wrapping_mul(31).wrapping_add(u64::from(index))
    };
    let expected: Vec<u64> =
        (0..n).map(|i| lists.of(i).iter().fold(i as u64 * 31 + u64::from(values[i]), step)).collect();
    assert_eq!(ours.map_neighbors::<Trace>(radius, &values).unwrap().read().unwrap(), expected, "radius {radius}");
}

fn compare_cloud<S: Coordinate, const D: usize>(cloud: &Cloud<S, D>) {
    if Bvh::build(&cloud.points).is_err() {
        return;
    }
    for side in [None, Some(cloud.side)] {
        let (theirs, ours) = trees(&cloud.points, side);
        for &radius in cloud.radii.iter().filter(|radius| radius.is_finite()) {
            compare(&theirs, &ours, radius);
        }
    }
}

/// Whole coordinates in a periodic box, against sums of integers over all pairs.
fn on_a_grid<S: Coordinate, const D: usize>(random: &mut Random, n: usize) {
    const SIDE: i64 = 20;
    let whole: Vec<[i64; D]> = (0..n).map(|_| std::array::from_fn(|_| random.below(SIDE as usize) as i64)).collect();
    let points: Vec<[S; D]> = whole.iter().map(|point| point.map(|x| S::from_f64(x as f64))).collect();
    let masses: Vec<i64> = (0..n as i64).map(|i| i % 5 - 2).collect();
    let (_, ours) = trees(&points, Some(SIDE as f64));
    let expected: Vec<[i64; 3]> = (0..n)
        .map(|i| {
            (0..n).fold([0; 3], |[x, y, squares], j| {
                // The nearest image, or the direct one at a distance of half a side.
                let offset: [i64; D] = std::array::from_fn(|k| {
                    let direct = whole[j][k] - whole[i][k];
                    if direct.abs() > SIDE / 2 { direct - SIDE * direct.signum() } else { direct }
                });
                let distance2: i64 = offset.iter().map(|x| x * x).sum();
                let mass = if distance2 <= 25 { masses[j] } else { 0 };
                [x + mass * offset[0], y + mass * offset[1], squares + mass * distance2]
            })
        })
        .collect();
    let masses: Vec<f64> = masses.iter().map(|&mass| mass as f64).collect();
    let found = ours.map_neighbors::<Moments>(5.0, &masses).unwrap().read().unwrap();
    let found: Vec<i64> = found.into_iter().map(|x| x as i64).collect();
    assert_eq!(found, expected.as_flattened());
}

#[test]
fn sums_over_neighbors() {
    let mut random = Random::new(41);
    for n in [0, 1, 2, 300] {
        on_a_grid::<f32, 3>(&mut random, n);
        on_a_grid::<f64, 2>(&mut random, n);
    }
    let points: Vec<[f32; 3]> = (0..3000).map(|_| std::array::from_fn(|_| random.unit() as f32)).collect();
    let (theirs, ours) = trees(&points, Some(1.0));
    for radius in [0.1, -1.0, f64::NAN] {
        compare(&theirs, &ours, radius);
    }
    compare_cloud(&clustered::<f64, 2>());
}

#[test]
#[ignore = "wide"]
fn wide_sums_over_neighbors() {
    small::<f32, 3>().iter().for_each(compare_cloud);
    small::<f64, 3>().iter().for_each(compare_cloud);
    small::<f32, 2>().iter().for_each(compare_cloud);
}

/// Outputs in the memory of earlier ones.
#[test]
fn reused_memory() {
    let mut outputs = trees(&[[0.0f32, 0.0]; 5], None).1.map_neighbors::<Moments>(1.0, &[1.0; 5]).unwrap();
    for n in [9, 3, 0, 4] {
        let points: Vec<[f32; 2]> = (0..n).map(|i| [i as f32, 0.0]).collect();
        let (_, ours) = trees(&points, None);
        let masses: Vec<f64> = (0..n).map(f64::from).collect();
        ours.map_neighbors_into::<Moments>(1.0, &masses, &mut outputs).unwrap();
        let expected = ours.map_neighbors::<Moments>(1.0, &masses).unwrap();
        assert_eq!((outputs.len(), outputs.read().unwrap()), (3 * n as usize, expected.read().unwrap()));
    }
}

#[test]
fn number_of_values() {
    let (_, ours) = trees(&[[0.0f32, 0.0]; 5], None);
    let error = ours.map_neighbors::<Moments>(1.0, &[1.0; 4]).unwrap_err();
    assert!(error.to_string().contains("4 values for 5 points"), "{error}");
}

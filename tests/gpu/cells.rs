//! Neighbour lists in triclinic cells on a device, compared with the CPU, entry for entry.

use common::cells::{CellCase, cases, on_grid, uniform};
use common::random::Random;
use cubecl::prelude::*;
use ropewalk::ErrorKind;
use ropewalk::geometry::Cell;
use ropewalk::gpu::{self, Device, DeviceVec, NeighborMap, cubecl};
use ropewalk::search::CellBvh;

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

/// Compares all searches with the CPU.
fn compare<const D: usize>(case: &CellCase<D>) {
    let cell = Cell::new(case.vectors).unwrap();
    let theirs = CellBvh::build(&case.points, &cell).unwrap();
    let ours = gpu::CellBvh::build(&case.points, &cell, device()).unwrap();
    let coordinates = DeviceVec::new(case.points.as_flattened(), device()).unwrap();
    let from_device = gpu::CellBvh::from_device(&coordinates, &cell).unwrap();
    assert_eq!((ours.len(), ours.is_empty(), ours.cell()), (theirs.len(), theirs.is_empty(), &cell));
    for &radius in &case.radii {
        let about = format!("{}, radius {radius}", case.name);
        let lists = ours.neighbors(radius).unwrap();
        let expected = theirs.neighbors(radius).unwrap();
        assert_eq!(lists.read().unwrap(), expected, "{about}");
        assert_eq!(from_device.neighbors(radius).unwrap().read().unwrap(), expected, "{about}, on the device");
        assert_eq!((lists.len(), lists.indices().n_values()), (expected.len(), expected.values().len()));
        assert_eq!(lists.shifts().len(), D * expected.values().len());
        let halves = ours.half_neighbors(radius).unwrap().read().unwrap();
        assert_eq!(halves, theirs.half_neighbors(radius).unwrap(), "{about}");
        let counts = ours.count_neighbors(radius).unwrap().read().unwrap();
        assert_eq!(counts, theirs.count_neighbors(radius).unwrap(), "{about}");
        let radii: Vec<f64> = (0..case.points.len()).map(|i| radius * [1.0, 0.5, 0.0][i % 3]).collect();
        let within = ours.neighbors_within(&radii).unwrap().read().unwrap();
        assert_eq!(within, theirs.neighbors_within(&radii).unwrap(), "{about}");

        // Products with powers of two are exact, so a fused product and sum is rounded in the same way.
        let masses: Vec<f64> = (0..case.points.len()).map(|i| [1.0, 8.0, 4.0, 2.0][i % 4]).collect();
        let expected = theirs.map_neighbors(radius, |_, near| {
            near.iter().fold([0.0; 3], |[x, y, squares], near| {
                let mass = masses[near.index as usize];
                [x + mass * near.offset[0], y + mass * near.offset[1], squares + mass * near.distance2]
            })
        });
        let found = ours.map_neighbors::<Moments>(radius, &masses).unwrap().read().unwrap();
        assert_eq!(found, expected.unwrap().as_flattened(), "{about}");
    }
}

#[test]
fn lists_in_cells() {
    for case in cases::<3>().into_iter().step_by(5) {
        compare(&CellCase { radii: case.radii[2..3].to_vec(), ..case });
    }
    let many = uniform::<3>(&mut Random::new(81), 3000, 0.6);
    compare(&CellCase { radii: vec![0.5 * many.radii[1]], ..many });
}

#[test]
#[ignore = "wide"]
fn wide_lists_in_cells() {
    compare(&on_grid::<2>(&mut Random::new(80), 40, 1));
    cases::<2>().iter().for_each(compare);
    cases::<3>().iter().for_each(compare);
    let mut random = Random::new(82);
    for _ in 0..10 {
        let n = random.below(150);
        compare(&on_grid::<3>(&mut random, n, 2));
        let skew = 2.0 * random.unit();
        compare(&uniform::<2>(&mut random, n, skew));
    }
}

#[test]
fn invalid_input() {
    let cell = Cell::new([[2.0, 0.0], [1.0, 1.0]]).unwrap();
    let build = |points: &[[f32; 2]]| gpu::CellBvh::build(points, &cell, device());
    assert_eq!(build(&[[0.0, f32::NAN]]).unwrap_err().kind(), ErrorKind::NotFinite);
    assert_eq!(build(&[[0.0, 1e10]]).unwrap_err().index(), Some(0));
    let on_device =
        |coordinates: &[f32]| gpu::CellBvh::from_device(&DeviceVec::new(coordinates, device()).unwrap(), &cell);
    assert_eq!(on_device(&[0.0, f32::NAN]).unwrap_err().kind(), ErrorKind::NotFinite);
    assert_eq!(on_device(&[0.0, 0.0, 0.0, 1e10]).unwrap_err().index(), Some(1));
    assert_eq!(on_device(&[0.0; 3]).unwrap_err().kind(), ErrorKind::Input);
    let bvh = build(&[[0.0, 0.0], [0.5, 0.5]]).unwrap();
    for radius in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(bvh.neighbors(radius).unwrap_err().kind(), ErrorKind::Parameter);
        assert_eq!(bvh.half_neighbors(radius).unwrap_err().kind(), ErrorKind::Parameter);
        assert_eq!(bvh.count_neighbors(radius).unwrap_err().kind(), ErrorKind::Parameter);
        assert_eq!(bvh.neighbors_within(&[0.0, radius]).unwrap_err().kind(), ErrorKind::Parameter);
        assert_eq!(bvh.map_neighbors::<Moments>(radius, &[1.0; 2]).unwrap_err().kind(), ErrorKind::Parameter);
    }
    assert_eq!(bvh.neighbors(1e6).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(bvh.neighbors_within(&[0.0]).unwrap_err().kind(), ErrorKind::Input);
    assert_eq!(bvh.map_neighbors::<Moments>(1.0, &[1.0]).unwrap_err().kind(), ErrorKind::Input);
}

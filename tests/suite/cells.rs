//! Neighbour lists in triclinic cells, compared with a loop over all images, and with periodic boxes.

use std::sync::Mutex;

use common::cells::{CellCase, Image, cases, half, neighbors, neighbors_of, on_grid, uniform};
use common::random::Random;
use ropewalk::geometry::Cell;
use ropewalk::search::{CellBvh, CellNeighbor};
use ropewalk::{Bvh, Csr, Error, ErrorKind, Sphere};

fn tree<const D: usize>(case: &CellCase<D>) -> CellBvh<D> {
    CellBvh::build(&case.points, &Cell::new(case.vectors).unwrap()).unwrap()
}

fn images<const D: usize>(lists: &Csr<CellNeighbor<D>>) -> Vec<Vec<Image<D>>> {
    lists.iter().map(|list| list.iter().map(|near| (near.index, near.shift)).collect()).collect()
}

/// Compares all searches with a loop over all images.
fn compare<const D: usize>(case: &CellCase<D>) {
    let bvh = tree(case);
    for &radius in &case.radii {
        let about = format!("{}, radius {radius}", case.name);
        let expected = neighbors(&case.vectors, &case.points, radius);
        assert_eq!(images(&bvh.neighbors(radius).unwrap()), expected, "{about}");
        let expected_half = half(&expected);
        assert_eq!(images(&bvh.half_neighbors(radius).unwrap()), expected_half, "{about}");
        let counts: Vec<u32> = expected.iter().map(|list| list.len() as u32).collect();
        assert_eq!(bvh.count_neighbors(radius).unwrap(), counts, "{about}");

        let pairs = Mutex::new(vec![vec![]; case.points.len()]);
        bvh.for_each_pair(radius, |i, j, shift| pairs.lock().unwrap()[i as usize].push((j, shift))).unwrap();
        let mut pairs = pairs.into_inner().unwrap();
        pairs.iter_mut().for_each(|list| list.sort());
        assert_eq!(pairs, expected_half, "{about}");

        let mapped = bvh.map_neighbors(radius, |i, near| {
            for near in near {
                let [from, to] = [i, near.index].map(|i| case.points[i as usize]);
                let at: [f64; D] = std::array::from_fn(|axis| {
                    let translation: f64 = (0..D).map(|k| f64::from(near.shift[k]) * case.vectors[k][axis]).sum();
                    to[axis] + translation - from[axis]
                });
                assert!((0..D).all(|k| (at[k] - near.offset[k]).abs() < 1e-9), "{about}: {near:?}, not {at:?}");
                assert_eq!(near.distance2, near.offset.iter().fold(0.0, |sum, x| sum + x * x));
                assert!(near.distance2 <= radius * radius);
            }
            near.iter().map(|near| (near.index, near.shift)).collect::<Vec<_>>()
        });
        assert_eq!(mapped.unwrap(), expected, "{about}");

        let radii: Vec<f64> = (0..case.points.len()).map(|i| radius * [1.0, 0.5, 0.0][i % 3]).collect();
        let expected: Vec<_> =
            (0..radii.len()).map(|i| neighbors_of(&case.vectors, &case.points, i, radii[i])).collect();
        assert_eq!(images(&bvh.neighbors_within(&radii).unwrap()), expected, "{about}");
    }
}

#[test]
fn all_images() {
    cases::<2>().iter().for_each(compare);
    cases::<3>().iter().for_each(compare);
}

#[test]
#[ignore = "wide"]
fn wide_all_images() {
    let mut random = Random::new(72);
    for _ in 0..100 {
        let n = random.below(60);
        compare(&on_grid::<2>(&mut random, n, 3));
        compare(&on_grid::<3>(&mut random, n, 3));
        let skew = 3.0 * random.unit();
        compare(&uniform::<2>(&mut random, n, skew));
        compare(&uniform::<3>(&mut random, n, skew));
    }
}

/// The radii are distances of pairs, so that rounding decides whether these pairs are within the radius. Both
/// directions of a pair have the same result, and exactly opposite vectors.
#[test]
fn both_directions_of_a_pair() {
    let mut random = Random::new(73);
    for skew in [0.3, 1.0, 3.0] {
        let case = uniform::<3>(&mut random, 30, skew);
        let bvh = tree(&case);
        let distances = bvh.map_neighbors(case.radii[2], |_, near| near.iter().map(|near| near.distance2).collect());
        let distances: Vec<Vec<f64>> = distances.unwrap();
        for distance2 in distances.concat().into_iter().step_by(7) {
            let radius = distance2.sqrt();
            let lists = bvh
                .map_neighbors(radius, |_, near| {
                    near.iter().map(|near| (near.index, near.shift, near.offset)).collect::<Vec<_>>()
                })
                .unwrap();
            for (i, list) in lists.iter().enumerate() {
                for &(j, shift, offset) in list {
                    let back = (i as u32, shift.map(|s| -s));
                    let found = lists[j as usize].iter().find(|near| (near.0, near.1) == back);
                    assert_eq!(found.map(|near| near.2), Some(offset.map(|x| -x)), "{i}, {j}, {shift:?}, {radius}");
                }
            }
            let within = bvh.neighbors_within(&vec![radius; bvh.len()]).unwrap();
            assert_eq!(within, bvh.neighbors(radius).unwrap());
        }
    }
}

/// A cell with sides along the axes, compared with a periodic box. The radius is less than half of a side, so the
/// nearest image is the only one.
#[test]
fn orthogonal_cell() {
    let mut random = Random::new(74);
    let sides = [3.0f32, 4.0, 7.0];
    let points: Vec<[f32; 3]> = (0..2000).map(|_| sides.map(|side| side * random.unit() as f32)).collect();
    let boxed = Bvh::build_periodic(&points, sides).unwrap();
    let bvh = CellBvh::build(&points, &Cell::orthogonal(sides.map(f64::from)).unwrap()).unwrap();
    for radius in [0.0, 0.4, 1.4] {
        let lists = bvh.neighbors(radius).unwrap();
        for (list, expected) in lists.iter().zip(&boxed.neighbors(radius)) {
            let mut expected = expected.to_vec();
            expected.sort();
            assert_eq!(list.iter().map(|near| near.index).collect::<Vec<_>>(), expected);
        }
        let halves = bvh.half_neighbors(radius).unwrap();
        let halves: Vec<u32> = halves.values().iter().map(|near| near.index).collect();
        assert_eq!(halves, boxed.half_neighbors(radius).values());
        assert_eq!(bvh.count_neighbors(radius).unwrap(), boxed.count_neighbors(radius));
    }
}

/// Points within the cell are not changed, and neighbours without a shift are those of a tree in open space.
#[test]
fn wrapped_points() {
    let case = uniform::<3>(&mut Random::new(75), 500, 1.0);
    let cell = Cell::new(case.vectors).unwrap();
    let bvh = tree(&case);
    for (place, point) in bvh.wrapped().iter().zip(&case.points) {
        let fractions = cell.fractions(place);
        assert!(fractions.iter().all(|x| (-1e-12..=1.0 + 1e-12).contains(x)), "{fractions:?}");
        let (image, wrap) = cell.wrap(point).unwrap();
        assert_eq!(image, *place);
        let inside = cell.fractions(point).iter().all(|x| (0.0..1.0).contains(x));
        assert_eq!(inside, wrap == [0; 3]);
        assert!(!inside || place == point);
    }
    let again = CellBvh::build(bvh.wrapped(), &cell).unwrap();
    let lists = again.neighbors(0.2).unwrap();
    let open = Bvh::build(again.wrapped()).unwrap().neighbors(0.2);
    for (list, expected) in lists.iter().zip(&open) {
        let direct = list.iter().filter(|near| near.shift == [0; 3]).map(|near| near.index);
        let mut expected = expected.to_vec();
        expected.sort();
        assert_eq!(direct.collect::<Vec<_>>(), expected);
    }
}

/// Points of a small part of a large cell need no images.
#[test]
fn cells_from_lengths_and_angles() {
    let cell = Cell::from_lengths_and_angles([3.0, 4.0, 5.0], [70.0, 80.0, 100.0]).unwrap();
    let [a, b, c] = *cell.vectors();
    let length = |v: [f64; 3]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let angle = |v: [f64; 3], w: [f64; 3]| {
        let dot: f64 = v.iter().zip(&w).map(|(v, w)| v * w).sum();
        (dot / length(v) / length(w)).acos().to_degrees()
    };
    let found = [length(a), length(b), length(c), angle(b, c), angle(a, c), angle(a, b)];
    let expected = [3.0, 4.0, 5.0, 70.0, 80.0, 100.0];
    assert!((0..6).all(|k| (found[k] - expected[k]).abs() < 1e-12), "{found:?}");
    let cube = Cell::from_lengths_and_angles([2.0; 3], [90.0; 3]).unwrap();
    assert_eq!(cube, Cell::orthogonal([2.0; 3]).unwrap());
    assert_eq!((cube.volume(), cube.heights()), (8.0, [2.0; 3]));
}

#[track_caller]
fn refused<T>(result: Result<T, Error>, kind: ErrorKind, words: &[&str]) {
    let error = result.err().expect("an error");
    let message = error.to_string();
    assert_eq!(error.kind(), kind, "{message}");
    assert!(words.iter().all(|word| message.contains(word)), "'{message}' does not say {words:?}");
}

#[test]
fn invalid_cells() {
    let parameter = ErrorKind::Parameter;
    let with = |c: [f64; 3]| Cell::new([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], c]);
    refused(with([0.0, f64::NAN, 1.0]), parameter, &["vector 2", "NaN", "finite"]);
    refused(with([0.0, 0.0, f64::INFINITY]), parameter, &["vector 2", "inf"]);
    refused(with([0.0; 3]), parameter, &["vector 2", "length 0"]);
    refused(with([1e120, 0.0, 1.0]), parameter, &["vector 2", "1e120", "1e100"]);
    for flat in [[1.0, 1.0, 0.0], [1.0, -2.0, 1e-9], [0.0, 0.0, 1e-7], [0.0, 0.0, 1e7]] {
        refused(with(flat), parameter, &["almost no volume", "1e-6"]);
    }
    assert!(with([5.0, 3.0, -1e-3]).is_ok(), "left-handed");
    refused(Cell::orthogonal([1.0, 0.0]), parameter, &["vector 1"]);
    let of = Cell::from_lengths_and_angles;
    refused(of([1.0; 3], [90.0, 180.0, 90.0]), parameter, &["beta", "180"]);
    refused(of([1.0; 3], [90.0, 90.0, f64::NAN]), parameter, &["gamma", "NaN"]);
    refused(of([1.0; 3], [30.0, 30.0, 90.0]), parameter, &["30, 30 and 90", "360"]);
    refused(of([1.0, -1.0, 1.0], [90.0; 3]), parameter, &["length 1", "-1"]);
}

#[test]
fn invalid_points_and_radii() {
    let cell = Cell::new([[2.0, 0.0], [1.0, 1.0]]).unwrap();
    let build = |points: &[[f64; 2]]| CellBvh::build(points, &cell);
    refused(build(&[[0.0, 0.0], [f64::NAN, 0.0]]), ErrorKind::NotFinite, &["point 1", "NaN"]);
    refused(build(&[[0.0, 0.0], [0.0, 1e10]]), ErrorKind::Input, &["point 1", "2^29", "wrap"]);
    refused(CellBvh::build(&[Sphere::new([0.0f32, 0.0], 1.0)], &cell), ErrorKind::Unsupported, &["points only"]);
    assert!(build(&[[5e8, 5e8]]).is_ok());

    let bvh = build(&[[0.0, 0.0], [0.5, 0.5]]).unwrap();
    for (radius, word) in [(-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        let (kind, words) = (ErrorKind::Parameter, ["radius", word, "finite and not negative"]);
        refused(bvh.neighbors(radius), kind, &words);
        refused(bvh.half_neighbors(radius), kind, &words);
        refused(bvh.count_neighbors(radius), kind, &words);
        refused(bvh.for_each_pair(radius, |_, _, _| ()), kind, &words);
        refused(bvh.map_neighbors(radius, |_, _| ()), kind, &words);
        refused(bvh.neighbors_within(&[1.0, radius]), kind, &words);
    }
    refused(bvh.neighbors(1e6), ErrorKind::Unsupported, &["radius", "1000000", "65535"]);
    refused(bvh.neighbors(1e200), ErrorKind::Unsupported, &["radius", "65535"]);
    refused(bvh.neighbors_within(&[1.0]), ErrorKind::Input, &["1 radii", "2"]);
}

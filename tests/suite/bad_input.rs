//! Invalid input is an error that names the value and the index, and never a wrong result.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use ropewalk::geometry::BoxSize;
use ropewalk::halo::{CenterFinder, Particles, profiles};
use ropewalk::reference::BruteForce;
use ropewalk::{Aabb, Bounded, Bvh, Center, Dbscan, Error, ErrorKind, Fof, Labels, Nearest, Result, Sphere};
use ropewalk_table::Catalog;

const NAN: f64 = f64::NAN;
const INFINITY: f64 = f64::INFINITY;

/// Asserts an error whose message contains all of the words.
#[track_caller]
fn refused<T>(result: Result<T>, words: &[&str]) {
    let message = result.err().expect("an error").to_string();
    for word in words {
        assert!(message.contains(word), "'{message}' does not say '{word}'");
    }
}

/// Asserts an error from every function that accepts points.
#[track_caller]
fn points_refused<T: ropewalk::Bounded<S, D>, S: ropewalk::Scalar, const D: usize>(points: &[T], words: &[&str]) {
    refused(Bvh::build(points), words);
    refused(Bvh::build_periodic(points, 10.0), words);
    refused(BruteForce::build(points), words);
    refused(BruteForce::build_periodic(points, 10.0), words);
    refused(Fof::new(0.1).run(points), words);
    refused(Fof::new(0.1).periodic(10.0).run(points), words);
}

#[test]
fn coordinates_must_be_finite() {
    for (value, word) in [(NAN, "NaN"), (INFINITY, "inf"), (-INFINITY, "-inf")] {
        for index in [0, 7, 40_000] {
            let mut points = vec![[1.0f64, 2.0, 3.0]; 40_001];
            points[index][1] = value;
            let index = format!("point {index}:");
            points_refused(&points, &[&index, "coordinate 1", word, "finite"]);
            let points: Vec<[f32; 3]> = points.iter().map(|point| point.map(|x| x as f32)).collect();
            points_refused(&points, &[&index, "coordinate 1", word, "finite"]);
        }
    }
}

#[test]
fn velocities_and_masses_must_be_finite() {
    let positions = [[0.0f64; 3]; 4];
    let halos = Fof::new(1.0).run(&positions).unwrap();
    for bad in [NAN, INFINITY] {
        let mut velocities = [[0.0; 3]; 4];
        velocities[2][1] = bad;
        let error = Catalog::new(&halos, &Particles::new(&positions).velocities(&velocities)).unwrap_err();
        assert_eq!((error.kind(), error.index()), (ErrorKind::NotFinite, Some(2)));
        assert!(error.to_string().starts_with("particle 2: velocity 1 is "), "{error}");
        let error = Catalog::new(&halos, &Particles::new(&positions).masses(&[1.0, bad, 1.0, 1.0])).unwrap_err();
        assert_eq!(error.index(), Some(1));
    }
}

#[test]
fn the_first_fault_is_named() {
    let mut points = vec![[0.0f32; 2]; 100_000];
    points[99_999][0] = f32::NAN;
    points[50_000][1] = f32::INFINITY;
    points_refused(&points, &["point 50000:", "coordinate 1"]);
}

#[test]
fn coordinates_whose_squares_overflow() {
    points_refused(&[[0.0, 0.0], [0.0, -1.1e150]], &["point 1:", "coordinate 1", "e150", "rescale"]);
    assert!(Bvh::build(&[[1e150, -1e150]]).is_ok());
    assert!(Bvh::build(&[[f32::MAX, -f32::MAX]]).is_ok());
}

#[test]
fn boxes_must_be_upright() {
    let upside_down = Aabb::new([0.0f32, 5.0], [1.0, 4.0]);
    points_refused(&[Aabb::point([0.0f32, 0.0]), upside_down], &["item 1:", "5", "4", "axis 1"]);
    points_refused(&[Aabb::<f64, 3>::EMPTY], &["0:", "inf"]);
    points_refused(&[Sphere::new([0.0f64], -1.0)], &["item 0:", "axis 0"]);
    points_refused(&[Sphere::new([0.0f64], NAN)], &["0:", "NaN"]);
    points_refused(&[Sphere::new([0.0f64], INFINITY)], &["0:", "inf"]);
}

#[test]
fn one_to_ten_dimensions() {
    points_refused(&[[0.0f32; 0]; 3], &["dimension 0", "1 to 10"]);
    points_refused(&[[0.0f64; 11]; 3], &["dimension 11", "1 to 10"]);
    assert!(Bvh::build(&[[0.0f64; 10]; 3]).is_ok());
    // The dimension is checked even without points.
    refused(Bvh::build::<[f32; 11]>(&[]), &["dimension 11"]);
}

#[test]
fn linking_lengths() {
    let points = [[1.0f32, 2.0], [3.0, 4.0]];
    let tree = Bvh::build(&points).unwrap();
    let periodic = Bvh::build_periodic(&points, 10.0).unwrap();
    for (value, word) in [(NAN, "NaN"), (-0.5, "-0.5"), (INFINITY, "inf"), (-INFINITY, "-inf")] {
        refused(Fof::new(value).run(&points), &["linking_length is", word, "finite and not negative"]);
        refused(Fof::new(value).periodic(10.0).run(&points), &["linking_length", word]);
        refused(Fof::new(value).run_on(&tree), &["linking_length", word]);
        refused(Fof::new(value).run_on(&periodic), &["linking_length", word]);
    }
    assert!(Fof::new(0.0).run(&points).is_ok());
    assert!(Fof::new(-0.0).run(&points).is_ok());
    assert!(Fof::new(1e300).run(&points).is_ok());
}

#[test]
fn periodic_boxes_have_positive_sides() {
    let points = [[1.0f32, 2.0, 3.0]];
    for (value, word) in [(0.0, " 0;"), (-0.0, "0;"), (-3.0, " -3;"), (NAN, "NaN"), (INFINITY, "inf")] {
        for (size, axis) in [(BoxSize::from(value), "axis 0"), (BoxSize::from([1.0, 1.0, value]), "axis 2")] {
            let words = [word, axis, "positive and at most 1e150"];
            refused(Bvh::build_periodic(&points, size.clone()), &words);
            refused(BruteForce::build_periodic(&points, size.clone()), &words);
            refused(Fof::new(0.1).periodic(size).run(&points), &words);
        }
    }
}

#[test]
fn periodic_boxes_have_a_side_for_each_axis() {
    let points = [[1.0f32, 2.0, 3.0]];
    for size in [BoxSize::from([5.0, 5.0]), BoxSize::from([5.0; 4]), BoxSize::from([0.0f64; 0])] {
        refused(Bvh::build_periodic(&points, size.clone()), &["sides", "3 dimensions"]);
        refused(BruteForce::build_periodic(&points, size.clone()), &["sides", "3 dimensions"]);
        refused(Fof::new(0.1).periodic(size).run(&points), &["sides", "3 dimensions"]);
    }
}

#[test]
fn periodic_boxes_hold_two_linking_lengths() {
    let points = [[1.0f64, 2.0], [3.0, 4.0]];
    refused(Fof::new(2.5).periodic([9.0, 4.9]).run(&points), &["4.9", "axis 1", "linking_length = 2.5"]);
    refused(
        Fof::new(2.5).run_on(&Bvh::build_periodic(&points, 4.9).unwrap()),
        &["4.9", "axis 0", "linking_length = 2.5"],
    );
    assert!(Fof::new(2.5).periodic(5.0).run(&points).is_ok());
    // The box size is checked even without points.
    refused(Fof::new(2.5).periodic(4.9).run::<[f64; 2], _, _>(&[]), &["linking_length = 2.5"]);
}

/// Valid input that looks like an edge case.
#[test]
fn empty_and_small_input_is_fine() {
    let none: [[f32; 3]; 0] = [];
    let bvh = Bvh::build(&none).unwrap();
    bvh.validate().unwrap();
    assert!(bvh.is_empty() && bvh.nodes().is_empty() && bvh.order().is_empty());
    assert_eq!(bvh.bounds(), Aabb::EMPTY);
    assert_eq!(bvh.query(Sphere::new([0.0f32; 3], INFINITY)).next(), None);
    assert_eq!(bvh.count_all(&[Sphere::new([0.0f32; 3], 1.0)]), [0]);
    assert!(bvh.nearest([0.0f32; 3], 3).is_empty());
    assert!(bvh.nearest_neighbors(3).is_empty());
    assert_eq!((bvh.count_pairs(1.0), bvh.neighbors(1.0).len()), (0, 0));
    let halos = Fof::new(1.0).run(&none).unwrap();
    assert_eq!((halos.len(), halos.offsets(), halos.labels().n_clusters()), (0, &[0][..], 0));

    let one = Bvh::build(&[[1.0f32]]).unwrap();
    assert_eq!(one.query_all::<Sphere<f32, 1>>(&[]).len(), 0);
    assert_eq!(one.nearest([5.0f32], 0), []);
    assert_eq!(one.nearest([5.0f32], usize::MAX).len(), 1);
    assert_eq!(one.nearest([5.0f32], Nearest::new(1).excluding(0)), []);
    assert_eq!(one.nearest([f32::NAN], 1), []);
    assert_eq!(Fof::new(1.0).run(&[[1.0f32]]).unwrap().labels().as_slice(), [-1]);
}

/// Errors have a kind and the index of the item that they concern.
#[test]
fn kinds_and_indices() {
    let points = [[1.0f64; 3], [2.0; 3]];
    let sort = |error: Error| (error.kind(), error.index());
    let error = |points: &[[f64; 3]]| sort(Bvh::build(points).unwrap_err());
    assert_eq!(error(&[points[0], [0.0, NAN, 0.0]]), (ErrorKind::NotFinite, Some(1)));
    assert_eq!(error(&[[1e200, 0.0, 0.0]]), (ErrorKind::Input, Some(0)));
    let upside_down = Bvh::build(&[Aabb::point([0.0]), Aabb::new([5.0], [4.0])]).unwrap_err();
    assert_eq!(sort(upside_down), (ErrorKind::Input, Some(1)));
    assert_eq!(sort(Bvh::build(&[[0.0f32; 11]]).unwrap_err()), (ErrorKind::Unsupported, None));
    assert_eq!(sort(Fof::new(NAN).run(&points).unwrap_err()), (ErrorKind::Parameter, None));
    assert_eq!(sort(Bvh::build_periodic(&points, [1.0, 2.0]).unwrap_err()), (ErrorKind::Parameter, None));
    let weights = Dbscan::new(1.0, 2).weights([1.0, -1.0]).run(&points).unwrap_err();
    assert_eq!(sort(weights), (ErrorKind::Input, Some(1)));
    assert_eq!(sort(Labels::from_slice(&[0, 7]).unwrap_err()), (ErrorKind::Input, Some(1)));
}

/// Errors call a parameter by its name in the function.
#[test]
fn parameters_have_their_own_names() {
    let points = [[1.0f64; 3], [2.0; 3]];
    refused(Dbscan::new(-1.0, 2).run(&points), &["eps is -1"]);
    refused(Dbscan::new(3.0, 2).periodic(5.0).run(&points), &["twice eps = 3"]);
    let halos = Fof::new(5.0).run(&points).unwrap();
    let connected = |linking_length| CenterFinder::new(Center::MostConnected { linking_length }).run(&points, &halos);
    refused(connected(-1.0), &["linking_length is -1"]);
    refused(profiles(&Particles::new(&points), &[[0.0; 3]], &[-1.0], 3), &["radius is -1"]);
}

#[test]
fn errors_about_files_keep_their_source() {
    use std::error::Error as _;

    let missing = ropewalk_io::read("/no/such/file.npy", &Default::default()).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Io);
    let source = missing.source().expect("the system's error").downcast_ref::<std::io::Error>().expect("of files");
    assert_eq!(source.kind(), std::io::ErrorKind::NotFound);

    let path = std::env::temp_dir().join(format!("ropewalk-kinds-{}.npy", std::process::id()));
    std::fs::write(&path, b"\x93NUMPY").unwrap();
    let broken = ropewalk_io::read(&path, &Default::default()).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(broken.kind(), ErrorKind::Format);
    assert!(broken.source().is_none());
}

/// A box that changes between calls is an error if detected, and must not create a tree of arbitrary depth, which
/// once overflowed the stack.
#[test]
fn boxes_that_change() {
    struct Changing<'a>(&'a AtomicU32, u32);
    impl Bounded<f32, 2> for Changing<'_> {
        const IS_POINT: bool = true;
        fn bounds(&self) -> Aabb<f32, 2> {
            let call = self.0.fetch_add(1, Relaxed).wrapping_mul(2_654_435_761) >> 8;
            match self.1 {
                0 => Aabb::point([call as f32, (call ^ 0x5a5a) as f32]),
                // Valid at the check, and invalid afterwards.
                _ if self.0.load(Relaxed) > 20_000 => Aabb::point([f32::NAN, f32::INFINITY]),
                _ => Aabb::point([call as f32, 0.0]),
            }
        }
    }
    for kind in [0, 1] {
        let calls = AtomicU32::new(0);
        let changing: Vec<_> = (0..40_000).map(|_| Changing(&calls, kind)).collect();
        // `bounds` is called once per primitive: the same value is checked and stored.
        match Bvh::build(&changing) {
            Ok(bvh) => {
                assert_eq!(kind, 0);
                bvh.validate().unwrap();
            }
            Err(error) => {
                assert_eq!((kind, error.kind()), (1, ErrorKind::NotFinite));
                assert!(error.index().is_some_and(|index| index < changing.len()), "{error}");
            }
        }
        assert_eq!(calls.into_inner(), 40_000);
    }
}

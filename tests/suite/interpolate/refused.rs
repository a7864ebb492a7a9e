//! Invalid input is an error that names the parameter and the number.

use ropewalk::interpolate::SmoothingKernel::CubicSpline;
use ropewalk::interpolate::{InverseDistance, MovingLeastSquares, Sph};
use ropewalk::{Aabb, Error, ErrorKind};

use super::points;

#[track_caller]
fn check(error: Error, kind: ErrorKind, parameter: Option<&str>, text: &str) {
    assert_eq!((error.kind(), error.parameter()), (kind, parameter), "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn options() {
    let (sources, targets) = (points::<3>(50, 1), points::<3>(4, 2));
    let mls = |degree| MovingLeastSquares::new(degree);
    let of = |options: MovingLeastSquares| options.prepare(&sources, &targets).unwrap_err();
    check(of(mls(5)), ErrorKind::Parameter, Some("degree"), "degree is 5; it must be 0, 1, 2, 3 or 4");
    let few = of(mls(2).neighbors(9));
    check(
        few,
        ErrorKind::Parameter,
        Some("neighbors"),
        "9 neighbours are too few: a polynomial of degree 2 in 3 dimensions has 10",
    );
    check(of(mls(0).neighbors(0)), ErrorKind::Parameter, Some("neighbors"), "0 neighbours are too few");
    assert!(mls(2).neighbors(10).prepare(&sources, &targets).is_ok());
    for radius in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        check(of(mls(1).radius(radius)), ErrorKind::Parameter, Some("radius"), "it must be positive and finite");
        let idw = InverseDistance::new(2.0).radius(radius).prepare(&sources, &targets).unwrap_err();
        check(idw, ErrorKind::Parameter, Some("radius"), "it must be positive and finite");
    }
    check(of(mls(1).radius(0.6).periodic(1.0)), ErrorKind::Parameter, Some("radius"), "at least twice radius");
    check(of(mls(1).periodic([1.0, 2.0])), ErrorKind::Parameter, None, "2 sides");
    for power in [0.0, -2.0, f64::NAN, f64::INFINITY] {
        let error = InverseDistance::new(power).prepare(&sources, &targets).unwrap_err();
        check(error, ErrorKind::Parameter, Some("power"), "positive and finite");
    }
    let sph = || Sph::new(CubicSpline);
    let of = |options: Sph| options.gather(&sources, &targets).unwrap_err();
    check(of(sph().neighbors(0)), ErrorKind::Parameter, Some("neighbors"), "at least 1");
    check(of(sph().normalized(false)), ErrorKind::Missing, Some("volumes"), "need a volume for each source");
    check(of(sph().volumes(vec![1.0; 49])), ErrorKind::Input, None, "49 volumes");
    let mut volumes = vec![1.0; 50];
    volumes[7] = -1.0;
    let error = of(sph().volumes(volumes));
    assert_eq!(error.index(), Some(7));
    check(error, ErrorKind::Input, None, "source 7: its volume is -1");
    check(of(sph().radii([0.5; 3])), ErrorKind::Parameter, Some("radius"), "3 radii for 4 centres");
    let error = of(sph().radii([0.5, 0.5, f64::NAN, 0.5]));
    assert_eq!(error.index(), Some(2));
    let error = sph().scatter(&sources, &targets[..0]).unwrap_err();
    check(
        error,
        ErrorKind::Parameter,
        Some("the number of targets"),
        "the number of targets is 0; it must be at least 1",
    );
    check(of(sph().radii([0.5, 0.7, 0.2, 0.5]).periodic(1.0)), ErrorKind::Parameter, Some("radius"), "0.7");
}

#[test]
fn points_and_values() {
    let (sources, targets) = (points::<2>(50, 1), points::<2>(4, 2));
    let mls = MovingLeastSquares::new(1);
    let mut broken = sources.clone();
    broken[9][1] = f64::NAN;
    let error = mls.prepare(&broken, &targets).unwrap_err();
    assert_eq!((error.kind(), error.index()), (ErrorKind::NotFinite, Some(9)));
    let error = mls.prepare(&sources, &broken).unwrap_err();
    assert_eq!((error.kind(), error.index()), (ErrorKind::NotFinite, Some(9)));
    let error = mls.clone().periodic(1.0).prepare(&sources, &broken).unwrap_err();
    assert_eq!(error.index(), Some(9));
    let error = mls.prepare(&sources, &[[0.0, 1e200]]).unwrap_err();
    assert_eq!((error.kind(), error.index()), (ErrorKind::Input, Some(0)));
    let boxes = [Aabb::new([0.0, 0.0], [1.0, 1.0])];
    for error in [mls.prepare(&boxes, &targets), mls.prepare(&sources, &boxes)].map(Result::unwrap_err) {
        check(error, ErrorKind::Unsupported, None, "interpolation is for points");
    }
    let interpolator = mls.prepare(&sources, &targets).unwrap();
    let mut field = vec![1.0; 50];
    check(interpolator.apply(&field[1..]).unwrap_err(), ErrorKind::Input, None, "49 values for 50 sources");
    check(
        interpolator.apply_rows(&field, 2).unwrap_err(),
        ErrorKind::Input,
        None,
        "50 values for 50 sources; it must have 2 per source",
    );
    check(interpolator.apply_rows(&field, 0).unwrap_err(), ErrorKind::Parameter, Some("columns"), "at least 1");
    check(interpolator.gradient::<2>(&field).unwrap_err(), ErrorKind::Missing, Some("with_gradients"), "not prepared");
    field[3] = f64::NAN;
    let error = interpolator.apply(&field).unwrap_err();
    assert_eq!(error.index(), Some(3));
    check(error, ErrorKind::Input, None, "source 3: its value is NaN");
    field[3] = f64::INFINITY;
    assert!(interpolator.apply(&field).is_err());
}

//! Rejected input, and unusual input that is accepted.

use ropewalk::halo::{NoCenter, Particles, Unbinding};
use ropewalk::{Error, ErrorKind, Fof, Halos};

const POINTS: [[f64; 3]; 4] = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [9.0, 9.0, 9.0]];
const AT_REST: [[f64; 3]; 4] = [[0.0; 3]; 4];

fn halos() -> Halos {
    Fof::new(1.0).run(&POINTS).unwrap()
}

#[track_caller]
fn refused(particles: &Particles<f64>, options: Unbinding) -> Error {
    halos().unbind(particles, &options).unwrap_err()
}

#[test]
fn options() {
    let particles = Particles::new(&POINTS).velocities(&AT_REST);
    let of = Unbinding::new;
    for (options, name, value) in [
        (of(0.0), "gravity", "0"),
        (of(-1.0), "gravity", "-1"),
        (of(f64::NAN), "gravity", "NaN"),
        (of(f64::INFINITY), "gravity", "inf"),
        (of(1.0).softening(-0.5), "softening", "-0.5"),
        (of(1.0).softening(f64::NAN), "softening", "NaN"),
        (of(1.0).softening(f64::INFINITY), "softening", "inf"),
        (of(1.0).hubble_flow(-1.0), "hubble_flow", "-1"),
        (of(1.0).hubble_flow(f64::NAN), "hubble_flow", "NaN"),
        (of(1.0).max_removed(0.0), "max_removed", "0"),
        (of(1.0).max_removed(1.5), "max_removed", "1.5"),
        (of(1.0).max_removed(f64::NAN), "max_removed", "NaN"),
    ] {
        let error = refused(&particles, options);
        assert_eq!((error.kind(), error.parameter()), (ErrorKind::Parameter, Some(name)), "{error}");
        assert!(error.to_string().contains(&format!("{name} is {value};")), "{error}");
    }
}

#[test]
fn particles() {
    let options = Unbinding::new(1.0);
    let error = refused(&Particles::new(&POINTS), options);
    assert_eq!((error.kind(), error.parameter()), (ErrorKind::Missing, Some("velocities")));
    for bad in [f64::NAN, f64::INFINITY] {
        let mut velocities = AT_REST;
        velocities[3][1] = bad;
        let error = refused(&Particles::new(&POINTS).velocities(&velocities), options);
        assert_eq!((error.kind(), error.index()), (ErrorKind::NotFinite, Some(3)), "{error}");
        assert!(error.to_string().contains("particle 3: velocity 1"), "{error}");
        let mut points = POINTS;
        points[2][0] = bad;
        let error = refused(&Particles::new(&points).velocities(&AT_REST), options);
        assert_eq!((error.kind(), error.index()), (ErrorKind::NotFinite, Some(2)), "{error}");
    }
    let moving = Particles::new(&POINTS).velocities(&AT_REST);
    for masses in [&[1.0, 1.0, 0.0, 1.0], &[1.0, 1.0, -1.0, 1.0], &[1.0, 1.0, f64::NAN, 1.0]] {
        let error = refused(&moving.clone().masses(masses), options);
        assert_eq!((error.kind(), error.index()), (ErrorKind::Input, Some(2)), "{error}");
    }
    assert_eq!(refused(&moving.clone().masses(&[1e308; 4]), options).kind(), ErrorKind::Parameter);
    assert_eq!(refused(&moving.clone().masses(&[1.0; 3]), options).kind(), ErrorKind::Input);
    assert_eq!(refused(&Particles::new(&POINTS).velocities(&AT_REST[1..]), options).kind(), ErrorKind::Input);
    assert_eq!(refused(&Particles::new(&POINTS[1..]).velocities(&AT_REST[1..]), options).kind(), ErrorKind::Input);
    assert_eq!(refused(&moving.periodic(5.0), options).kind(), ErrorKind::Parameter);
}

#[test]
fn nothing_to_unbind() {
    let none: [[f32; 3]; 0] = [];
    let halos = Fof::new(1.0).run(&none).unwrap();
    let bound = halos.unbind(&Particles::new(&none).velocities(&none), &Unbinding::new(1.0)).unwrap();
    assert!(bound.structures.is_empty() && bound.rows.is_empty());
    // A minimum of 0 members is no condition.
    let particles = Particles::new(&POINTS).velocities(&AT_REST);
    let bound = self::halos().unbind(&particles, &Unbinding::new(1.0).min_members(0)).unwrap();
    assert_eq!(bound.structures.labels().as_slice(), [0, 0, 0, -1]);
    // All particles are removed if a single one would not suffice.
    let apart = [[0.0; 3], [99.0, 0.0, 0.0], [-99.0, 0.0, 0.0], [0.0; 3]];
    let particles = Particles::new(&POINTS).velocities(&apart);
    let bound = self::halos().unbind(&particles, &Unbinding::new(1.0).min_members(0)).unwrap();
    assert_eq!((bound.rows[0].mass, bound.structures.members(0)), (1.0, &[0][..]));
    assert!(self::halos().unbind(&particles, &Unbinding::new(1.0).min_members(2)).unwrap().structures.is_empty());
}

/// No value is NaN. If squares overflow, all particles count as equally fast.
#[test]
fn enormous_speeds() {
    for (speed, left) in [(1e150, 1), (f64::MAX, 0)] {
        let mut velocities = AT_REST;
        velocities[0][0] = speed;
        let particles = Particles::new(&POINTS).velocities(&velocities);
        let bound = halos().unbind(&particles, &Unbinding::new(1.0).min_members(2)).unwrap();
        assert_eq!(bound.structures.len(), left);
        assert!(bound.rows.iter().all(|row| row.velocity == [0.0; 3] && row.mass == 2.0));
    }
}

/// All particles at one position: without softening the potential is undefined, and with softening all are bound.
#[test]
fn in_one_place() {
    let points = [[0.25f32; 3]; 50];
    let velocities: Vec<[f32; 3]> = (0..50).map(|i| [i as f32, 0.0, 0.0]).collect();
    let particles = Particles::new(&points).velocities(&velocities);
    let halos = Fof::new(1.0).run(&points).unwrap();
    assert!(halos.unbind(&particles, &Unbinding::new(1.0)).unwrap().structures.is_empty());
    let bound = halos.unbind(&particles, &Unbinding::new(1.0).softening(0.01)).unwrap();
    assert_eq!((bound.structures.members(0).len(), bound.rows[0].rounds), (50, 1));
}

/// A halo as wide as the box has no centre: all particles are kept, and the row gives the reason.
#[test]
fn as_wide_as_the_box() {
    let points: Vec<[f64; 3]> = (0..30).map(|i| [f64::from(i), 5.0, 5.0]).collect();
    let mut velocities = vec![[0.0; 3]; 30];
    velocities[3] = [1e9, 0.0, 0.0];
    let halos = Fof::new(1.0).periodic(30.0).run(&points).unwrap();
    let bound = halos.unbind(&Particles::new(&points).velocities(&velocities), &Unbinding::new(1.0)).unwrap();
    let row = &bound.rows[0];
    assert!(matches!(row.missing, Some(NoCenter::TooWide { axis: 0, .. })), "{row:?}");
    assert!(row.v_max.is_nan() && row.most_bound.is_none() && row.rounds == 0);
    assert_eq!((bound.structures.members(0).len(), row.mass), (30, 30.0));
}

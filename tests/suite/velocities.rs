//! Velocities that are no numbers are refused: one would be that of its whole halo.

use ropewalk::{Catalog, ErrorKind, Fof, Particles};

#[test]
fn velocities_that_are_no_numbers() {
    let positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [5.0, 5.0, 5.0f64]];
    let halos = Fof::new(1.0).run(&positions).unwrap();
    for value in [f64::NAN, f64::INFINITY] {
        let mut velocities = [[1.0f64; 3]; 3];
        velocities[1][2] = value;
        let particles = Particles::new(&positions).velocities(&velocities);
        let error = Catalog::new(&halos, &particles).unwrap_err();
        assert_eq!((error.kind(), error.index()), (ErrorKind::NotFinite, Some(1)));
        assert!(error.to_string().starts_with("particle 1: velocity 2 is "), "{error}");
    }
    let particles = Particles::new(&positions).masses(&[1.0, f64::NAN, 1.0]);
    assert_eq!(Catalog::new(&halos, &particles).unwrap_err().index(), Some(1));
}

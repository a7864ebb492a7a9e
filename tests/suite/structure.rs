//! The structure of halos, compared with closed forms.

use common::random::Random;
use ropewalk::halo::{Particles, SphericalOverdensity, Structure, measure_structure};
use ropewalk::{Fof, Halos, Labels};

const N: usize = 200_000;

/// Returns points in a sphere of radius 1 around the origin.
fn ball(seed: u64) -> Vec<[f64; 3]> {
    let mut random = Random::new(seed);
    let mut points = vec![];
    while points.len() < N {
        let point: [f64; 3] = std::array::from_fn(|_| 2.0 * random.unit() - 1.0);
        if point.iter().map(|x| x * x).sum::<f64>() <= 1.0 {
            points.push(point);
        }
    }
    points
}

/// Returns all points as one halo.
fn one_halo(points: &[[f64; 3]]) -> Halos {
    let halos = Fof::new(100.0).run(points).unwrap();
    assert_eq!((halos.len(), halos.members(0).len()), (1, points.len()));
    halos
}

fn structure(particles: &Particles<f64>, points: &[[f64; 3]], center: [f64; 3], gravity: f64) -> Structure {
    let sphere = SphericalOverdensity { mass: 3.0, radius: 1.0, count: points.len() };
    measure_structure(&one_halo(points), particles, &[center], &[sphere], gravity).unwrap()[0]
}

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found}, should be {expected}");
}

#[test]
fn a_ball_that_rotates() {
    let points = ball(1);
    let (omega, drift) = (0.7, [3.0, -2.0, 1.0]);
    let velocities: Vec<[f64; 3]> =
        points.iter().map(|[x, y, _]| [drift[0] - omega * y, drift[1] + omega * x, drift[2]]).collect();
    let particles = Particles::new(&points).velocities(&velocities).mass(3.0 / N as f64);
    let found = structure(&particles, &points, [0.0; 3], 2.0);
    // The density is constant: M(<r) = 3 r^3, and the circular velocity has its maximum at the edge.
    let v: f64 = 6f64.sqrt();
    near(found.v_max, v, 0.01 * v);
    near(found.v_max_radius, 1.0, 0.01);
    near(found.half_mass_radius, 0.5f64.cbrt(), 0.005);
    near(found.axis_ratio_b, 1.0, 0.01);
    near(found.axis_ratio_c, 1.0, 0.01);
    near(found.center_offset, 0.0, 0.01);
    // J = 2/5 M R^2 omega.
    near(found.spin.unwrap(), 0.4 * omega / (2f64.sqrt() * v), 0.01 * 0.4 * omega / v);
    // Without rotation the spin is 0; without velocities it is unknown.
    let still = vec![drift; N];
    near(structure(&particles.clone().velocities(&still), &points, [0.0; 3], 2.0).spin.unwrap(), 0.0, 1e-9);
    assert_eq!(structure(&Particles::new(&points), &points, [0.0; 3], 2.0).spin, None);
}

#[test]
fn an_ellipsoid_off_center() {
    let axes = [0.3, 1.0, 0.6];
    let points: Vec<[f64; 3]> = ball(2).iter().map(|point| [0, 1, 2].map(|k| axes[k] * point[k])).collect();
    let found = structure(&Particles::new(&points), &points, [0.0; 3], 1.0);
    near(found.axis_ratio_b, 0.6, 0.005);
    near(found.axis_ratio_c, 0.3, 0.005);
    // The result is the same across the boundary of a box.
    let around: Vec<[f64; 3]> = points.iter().map(|point| point.map(|x| (x + 9.9).rem_euclid(10.0))).collect();
    // A radius that fits into any box.
    let halos = Halos::new(Labels::from_slice(&vec![0; N]).unwrap(), 2);
    let sphere = SphericalOverdensity { mass: 3.0, radius: 0.5, count: 7 };
    let particles = Particles::new(&around).periodic(10.0);
    let moved = measure_structure(&halos, &particles, &[[9.9, 9.9, 0.1]], &[sphere], 1.0).unwrap()[0];
    // The second moments of an ellipsoid are a fifth of its squared half axes; the shift adds to the z moment.
    near(moved.axis_ratio_b, (0.36 + 5.0 * 0.04f64).sqrt(), 0.005);
    near(moved.axis_ratio_c, 0.3, 0.005);
    // The centre of mass is displaced by 0.2 along z, and the sphere's radius is 0.5.
    near(moved.center_offset, 0.4, 0.01);
}

#[test]
fn odd_halos() {
    // Copies of one point; no mass; and errors.
    let points = [[1.0; 3]; 30];
    let halos = Fof::new(1.0).run(&points).unwrap();
    let sphere = [SphericalOverdensity::default()];
    let particles = Particles::new(&points);
    let found = measure_structure(&halos, &particles, &[[1.0; 3]], &sphere, 1.0).unwrap()[0];
    assert_eq!(found, Structure::default());
    assert_eq!(measure_structure(&halos, &particles.clone().mass(0.0), &[[1.0; 3]], &sphere, 1.0).unwrap()[0], found);
    let message = |result: ropewalk::Result<Vec<Structure>>| result.unwrap_err().to_string();
    assert!(message(measure_structure(&halos, &particles, &[], &sphere, 1.0)).contains("centers has 0"));
    assert!(message(measure_structure(&halos, &particles, &[[1.0; 3]], &[], 1.0)).contains("spheres has 0"));
    for bad in [0.0, -1.0, f64::NAN] {
        assert!(message(measure_structure(&halos, &particles, &[[1.0; 3]], &sphere, bad)).contains("gravity"));
    }
}

//! Each definition of a centre on halos of all shapes.

use ropewalk::halo::HaloCenter;
use ropewalk::reference::PoissonGrid;
use ropewalk::{Center, Halos, Labels};

use super::search::CenterSearch;
use super::{oracle, shapes};
use common::random::Random;

/// Returns all points as one halo.
pub fn whole(n: usize) -> Halos {
    Halos::new(Labels::from_slice(&vec![0; n]).unwrap(), 1)
}

pub fn center(points: &[[f64; 3]], search: impl Into<CenterSearch>, masses: Option<&[f64]>) -> HaloCenter {
    let halos = whole(points.len());
    let centers = match masses {
        Some(masses) => search.into().run(|finder| finder.masses(masses), points, &halos),
        None => search.into().centers(points, &halos),
    };
    centers.unwrap().as_slice()[0]
}

/// Checks that all exact searches find the same member, and that by the definition no other member is more bound.
pub fn most_bound_is_right(points: &[[f64; 3]], masses: Option<&[f64]>, softening: f64) -> Result<(), String> {
    let brute = center(points, Center::MostBoundBrute { softening }, masses);
    let equal = vec![1.0; points.len()];
    let potentials = oracle::potentials(points, masses.unwrap_or(&equal), softening, None);
    let lowest = potentials.iter().copied().fold(0.0, f64::min);
    let Some(member) = brute.member else { return Err("no member".into()) };
    let found = potentials[member as usize];
    if found > lowest * (1.0 - 1e-9) {
        return Err(format!("member {member} at {found}, where {lowest} is possible"));
    }
    if brute.position != points[member as usize] {
        return Err(format!("not at member {member}"));
    }
    if !brute.potential.is_some_and(|potential| (potential - found).abs() <= 1e-9 * found.abs()) {
        return Err(format!("the potential is {:?}, not {found}", brute.potential));
    }
    let n = points.len() as u64;
    if (brute.coincident, brute.pairs) != (oracle::coincident(points), n * (n - 1)) {
        return Err(format!("{} coincident pairs, {} pairs", brute.coincident, brute.pairs));
    }
    for search in [CenterSearch::Of(Center::MostBound { softening }), CenterSearch::AStar(softening)] {
        let other = center(points, search, masses);
        if (other.member, other.potential) != (brute.member, brute.potential) {
            return Err(format!("{search:?}: {:?} instead of {:?}", other, brute));
        }
        let is_whole = search == CenterSearch::Of(Center::MostBound { softening: 0.0 });
        if is_whole && other.coincident != brute.coincident {
            return Err(format!("{} coincident pairs instead of {}", other.coincident, brute.coincident));
        }
    }
    Ok(())
}

#[test]
fn most_bound_of_all_shapes() {
    most_bound_of_shapes(&[1, 2, 3, 9, 100, 1000]);
}

#[test]
#[ignore = "wide"]
fn wide_most_bound_of_all_shapes() {
    most_bound_of_shapes(&[2500]);
}

fn most_bound_of_shapes(sizes: &[usize]) {
    let mut random = Random::new(5);
    for &n in sizes {
        for (shape, points) in shapes::all(&mut random, n) {
            if points.is_empty() {
                continue;
            }
            let masses: Vec<f64> = points.iter().map(|_| 10f64.powf(4.0 * random.unit() - 2.0)).collect();
            for softening in [0.0, 1e-3, 0.5] {
                for masses in [None, Some(masses.as_slice())] {
                    most_bound_is_right(&points, masses, softening)
                        .unwrap_or_else(|wrong| panic!("{n} points, {shape}, softening {softening}: {wrong}"));
                }
            }
        }
    }
}

/// Neither the units nor the position of a halo affect the most bound particle.
#[test]
fn most_bound_in_any_units() {
    let points = shapes::plummer(&mut Random::new(8), 3000);
    let expected = center(&points, Center::MostBound { softening: 0.0 }, None);
    for power in [-900, -100, 100, 480] {
        let scale = 2f64.powi(power);
        let scaled: Vec<[f64; 3]> = points.iter().map(|point| point.map(|x| x * scale)).collect();
        for mass in [1e-20, 1.0, 1e20] {
            let found = center(&scaled, Center::MostBound { softening: 0.0 }, Some(&vec![mass; scaled.len()]));
            assert_eq!(found.member, expected.member, "2^{power}, {mass}");
            let ratio = found.potential.unwrap() / (expected.potential.unwrap() * mass / scale);
            assert!((ratio - 1.0).abs() < 1e-14, "2^{power}, {mass}: {ratio}");
        }
    }
    let far: Vec<[f64; 3]> = points.iter().map(|point| point.map(|x| x + 4096.0)).collect();
    assert_eq!(center(&far, Center::MostBound { softening: 0.0 }, None).member, expected.member);
}

/// A close pair has the deepest potential without softening, but not with it.
#[test]
fn softening_matters() {
    let mut points = vec![[50.0, 0.0, 0.0], [50.0, 0.0, 1e-100], [50.0, 1e-6, 0.0]];
    points.extend(shapes::plummer(&mut Random::new(9), 5000));
    let pair = center(&points, Center::MostBound { softening: 0.0 }, None);
    assert!(pair.member < Some(2), "{pair:?}");
    assert_eq!(pair.member, center(&points, Center::MostBoundBrute { softening: 0.0 }, None).member);
    let peak = center(&points, Center::MostBound { softening: 0.1 }, None);
    assert!(peak.member > Some(2), "{peak:?}");
    assert_eq!(peak.member, center(&points, Center::MostBoundBrute { softening: 0.1 }, None).member);
}

/// The centre of a halo across all faces of the box is that of the same halo in the middle.
#[test]
fn halos_across_the_boundary() {
    let side = 8.0;
    let middle: Vec<[f64; 3]> = shapes::cusp(&mut Random::new(3), 2000)
        .iter()
        .map(|point| point.map(|x| 4.0 + (x * 1024.0).round() / 1024.0))
        .collect();
    let around: Vec<[f64; 3]> = middle.iter().map(|point| point.map(|x| (x + 3.875).rem_euclid(side))).collect();
    for search in [
        CenterSearch::Of(Center::MostBound { softening: 0.0 }),
        CenterSearch::Of(Center::MostBoundBrute { softening: 0.01 }),
        CenterSearch::AStar(0.0),
        CenterSearch::poisson(0.0),
        CenterSearch::Of(Center::MostConnected { linking_length: 0.1 }),
        CenterSearch::Of(Center::CenterOfMass),
        CenterSearch::Of(Center::shrinking_sphere()),
    ] {
        let inside = center(&middle, search, None);
        let halos = whole(around.len());
        let across = search.run(|finder| finder.periodic(side), &around, &halos).unwrap().as_slice()[0];
        assert_eq!((across.member, across.friends), (inside.member, inside.friends), "{search:?}");
        for k in 0..3 {
            let expected = (inside.position[k] + 3.875).rem_euclid(side);
            assert!(oracle::apart(across.position[k], expected, Some(side)) < 1e-9, "{search:?}");
            assert!((0.0..=side).contains(&across.position[k]));
        }
    }
}

#[test]
fn most_connected_of_all_shapes() {
    let mut random = Random::new(6);
    for n in [1, 2, 30, 60, 600] {
        for (shape, points) in shapes::all(&mut random, n).into_iter().filter(|(_, points)| !points.is_empty()) {
            for linking_length in [0.0, 0.2, 1.0, 100.0] {
                let found = center(&points, Center::MostConnected { linking_length }, None);
                let friends = oracle::friends(&points, linking_length, None);
                let most = friends.iter().copied().max();
                let first = friends.iter().position(|&count| Some(count) == most).map(|i| i as u32);
                let ties = friends.iter().filter(|&&count| Some(count) == most).count() as u32;
                let ours = (found.member, found.friends, found.ties);
                assert_eq!(ours, (first, most, Some(ties)), "{n} points, {shape}, {linking_length}");
            }
        }
    }
}

#[test]
fn centers_of_mass() {
    let points = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 8.0, 0.0]];
    assert_eq!(center(&points[..2], Center::CenterOfMass, None).position, [2.0, 0.0, 0.0]);
    assert_eq!(center(&points, Center::CenterOfMass, Some(&[1.0, 1.0, 2.0])).position, [1.0, 4.0, 0.0]);
    // Masses whose sum overflows f64.
    assert_eq!(center(&points[..2], Center::CenterOfMass, Some(&[1e308, 1e308])).position, [2.0, 0.0, 0.0]);
}

/// An attached clump shifts the centre of mass, but not that of a shrinking sphere.
#[test]
fn a_shrinking_sphere_finds_the_peak() {
    let mut random = Random::new(2);
    let mut points = shapes::cusp(&mut random, 8000);
    points.extend(shapes::cusp(&mut random, 2000).iter().map(|&[x, y, z]| [0.5 * x + 2.5, 0.5 * y, 0.5 * z]));
    let off = |center: HaloCenter| center.position.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!(off(center(&points, Center::CenterOfMass, None)) > 0.4);
    assert!(off(center(&points, Center::shrinking_sphere(), None)) < 0.05);
    // Copies of one point, around which a sphere could shrink forever.
    let copies = vec![[1.5; 3]; 500];
    assert_eq!(center(&copies, Center::shrinking_sphere(), None).position, [1.5; 3]);
}

/// The sphere stops shrinking for any members and in any unit, even if their squared distances are 0.
#[test]
fn a_sphere_does_not_shrink_for_ever() {
    let found =
        |points: &[[f64; 3]], shrink| center(points, Center::ShrinkingSphere { shrink, least: 1 }, None).position;
    for shrink in [0.5, 0.975, 0.9999] {
        for tiny in [1e-170, 5e-324, 1e-100, 1e149] {
            // Both members are equally far from the middle, so the first step would leave no members.
            let mean = 0.5 * tiny;
            assert_eq!(found(&[[0.0; 3], [tiny, 0.0, 0.0]], shrink), [mean, 0.0, 0.0], "{tiny}, {shrink}");
        }
        assert_eq!(found(&[[7.0, 1.0, 0.0]; 40], shrink), [7.0, 1.0, 0.0]);
    }
    // Nested spheres.
    let nested: Vec<[f64; 3]> = (-300..=0).map(|power| [10f64.powi(power), 0.0, 0.0]).collect();
    for shrink in [0.5, 0.975] {
        let position = found(&nested, shrink);
        assert!(position[0] > 0.0 && position[0] < 1e-100, "{position:?}");
    }
    // Independence of units.
    let points = shapes::cusp(&mut Random::new(11), 3000);
    let expected = center(&points, Center::shrinking_sphere(), None).position;
    for power in [-900, -520, 480] {
        let scale = 2f64.powi(power);
        let scaled: Vec<[f64; 3]> = points.iter().map(|point| point.map(|x| x * scale)).collect();
        assert_eq!(center(&scaled, Center::shrinking_sphere(), None).position, expected.map(|x| x * scale));
    }
}

/// The grid is accurate enough for a smooth halo.
#[test]
fn poisson_finds_the_peak() {
    let points = shapes::cusp(&mut Random::new(4), 20_000);
    let exact = center(&points, Center::MostBound { softening: 0.05 }, None);
    assert_eq!(center(&points, CenterSearch::poisson(0.05), None).member, exact.member);
    // There is a result for any grid and any halo.
    for (shape, points) in shapes::all(&mut Random::new(1), 200) {
        for cells in [1, 2, 8] {
            let search = CenterSearch::Poisson(0.0, PoissonGrid { cells, search: 0 });
            assert!(center(&points, search, None).member.is_some(), "{shape}");
        }
    }
}

//! Centres, and quantities measured around them, use the space in which the halos were found.

use ropewalk::geometry::Boundary;
use ropewalk::halo::{CenterFinder, NoCenter, NoSphere, Particles, measure_structure, overdensities, profiles};
use ropewalk::reference::{fof_all_pairs, fof_bins};
use ropewalk::{Bvh, Center, Fof, Halos, Labels, Result};
use ropewalk_table::Catalog;

use super::search::CenterSearch;
use super::{oracle, shapes};
use common::random::Random;

const MBP: Center = Center::MostBound { softening: 0.0 };
const SIDE: f64 = 8.0;
const ALL: [CenterSearch; 7] = [
    CenterSearch::Of(MBP),
    CenterSearch::Of(Center::MostBound { softening: 0.05 }),
    CenterSearch::Of(Center::MostBoundBrute { softening: 0.01 }),
    CenterSearch::AStar(0.0),
    CenterSearch::Of(Center::MostConnected { linking_length: 0.1 }),
    CenterSearch::Of(Center::CenterOfMass),
    CenterSearch::Of(Center::ShrinkingSphere { shrink: 0.9, least: 10 }),
];

#[track_caller]
fn refused<T>(result: Result<T>, words: &[&str]) {
    let message = result.err().expect("an error").to_string();
    for word in words {
        assert!(message.contains(word), "'{message}' does not say '{word}'");
    }
}

/// Returns a halo in the middle of the box, in steps of 1 / 1024, so that translation is exact.
fn middle() -> Vec<[f64; 3]> {
    let mut points: Vec<[f64; 3]> = shapes::cusp(&mut Random::new(3), 2000);
    points.extend(shapes::cusp(&mut Random::new(4), 500).iter().map(|&[x, y, z]| [0.4 * x + 1.0, 0.4 * y, 0.4 * z]));
    points.iter().map(|point| point.map(|x| 4.0 + (x * 1024.0).round() / 1024.0)).collect()
}

/// Returns the same halo across all faces.
fn around() -> Vec<[f64; 3]> {
    middle().iter().map(|point| point.map(|x| (x + 3.875).rem_euclid(SIDE))).collect()
}

/// The two lines of the README give the same result for a halo across the boundary as for its unwrapped copy, with
/// every finder.
#[test]
fn two_lines_are_enough() {
    let (points, unwrapped) = (around(), middle());
    let open = Fof::new(0.5).min_members(20).run(&unwrapped).unwrap();
    assert_eq!((open.len(), open.boundary()), (1, &Boundary::Open));
    let periodic = Boundary::Periodic(vec![SIDE; 3]);
    let tree = Bvh::build_periodic(&points, SIDE).unwrap();
    let fof = Fof::new(0.5).min_members(20);
    assert_eq!(fof.run_on(&tree).unwrap().boundary(), &periodic);
    let fof = fof.periodic(SIDE);
    let all = [fof.run(&points), fof_bins(&fof, &points), fof_all_pairs(&fof, &points)];
    for halos in all.map(Result::unwrap) {
        assert_eq!(halos.boundary(), &periodic);
        for center in ALL {
            let ours = center.centers(&points, &halos).unwrap();
            let theirs = center.centers(&unwrapped, &open).unwrap();
            assert_eq!((ours.boundary(), theirs.boundary()), (&periodic, &Boundary::Open));
            let (ours, theirs) = (ours.as_slice()[0], theirs.as_slice()[0]);
            assert_eq!((ours.member, ours.friends, ours.ties), (theirs.member, theirs.friends, theirs.ties));
            let apart = |a: Option<f64>, b: Option<f64>| (a.unwrap_or(0.0) - b.unwrap_or(0.0)).abs();
            assert!(apart(ours.potential, theirs.potential) <= 1e-12 * ours.potential.unwrap_or(0.0).abs());
            for k in 0..3 {
                let moved = (theirs.position[k] + 3.875).rem_euclid(SIDE);
                assert!(oracle::apart(ours.position[k], moved, Some(SIDE)) < 1e-9, "{center:?}");
            }
        }
        // The same holds for spheres, profiles, measure_structure and the catalogue.
        let (there, here) = (Particles::new(&points), Particles::new(&unwrapped));
        let (ours, theirs) = (halos.centers(&points, MBP).unwrap(), open.centers(&unwrapped, MBP).unwrap());
        let spheres =
            [overdensities(&there, &ours, &[300.0]), overdensities(&here, &theirs, &[300.0])].map(Result::unwrap);
        assert_eq!(spheres[0], spheres[1]);
        let sphere = spheres[0][0][0].unwrap();
        assert!(sphere.count > 500);
        let shells = [profiles(&there, &ours, &[0.5], 9), profiles(&here, &theirs, &[0.5], 9)].map(Result::unwrap);
        assert_eq!(shells[0], shells[1]);
        let measure_structure = [
            measure_structure(&halos, &there, &ours, &[sphere], 1.0).unwrap(),
            measure_structure(&open, &here, &theirs, &[sphere], 1.0).unwrap(),
        ];
        assert_eq!(measure_structure[0][0].half_mass_radius, measure_structure[1][0].half_mass_radius);
        assert_eq!(measure_structure[0][0].v_max, measure_structure[1][0].v_max);
        let radius = |halos, particles| Catalog::new(halos, particles).unwrap().halos()[0].max_radius;
        assert!((radius(&halos, &there) - radius(&open, &here)).abs() < 1e-9);
    }
}

/// The most bound particle of every halo in a periodic box of random clumps equals that of the definition.
#[test]
fn clumps_all_over_a_box() {
    let mut random = Random::new(12);
    let mut points = vec![];
    for _ in 0..300 {
        let at: [f64; 3] = std::array::from_fn(|_| SIDE * random.unit());
        let n = 5 + random.below(60);
        let clump = shapes::plummer(&mut random, n);
        points.extend(
            clump.iter().map(|p| -> [f64; 3] {
                std::array::from_fn(|k| (at[k] + 0.05 * p[k].clamp(-3.0, 3.0)).rem_euclid(SIDE))
            }),
        );
    }
    let halos = Fof::new(0.08).min_members(5).periodic(SIDE).run(&points).unwrap();
    let centers = halos.centers(&points, MBP).unwrap();
    let mut across = 0;
    for (members, center) in halos.iter().zip(centers.as_slice()) {
        let own: Vec<[f64; 3]> = members.iter().map(|&i| points[i as usize]).collect();
        let potentials = oracle::potentials(&own, &vec![1.0; own.len()], 0.0, Some(SIDE));
        let lowest = potentials.iter().copied().fold(0.0, f64::min);
        assert!((center.potential.unwrap() - lowest).abs() < 1e-9 * lowest.abs());
        let rank = members.iter().position(|&i| Some(i) == center.member).unwrap();
        assert!(potentials[rank] <= lowest * (1.0 - 1e-9));
        across += usize::from((0..3).any(|k| own.iter().any(|p| p[k] < 1.0) && own.iter().any(|p| p[k] > SIDE - 1.0)));
    }
    assert!(halos.len() > 60 && across > 10, "{} halos, {across} of them across a face", halos.len());
}

#[test]
fn two_spaces_are_one_too_many() {
    let points = around();
    let particles = Particles::new(&points);
    let halos = Fof::new(0.5).periodic(SIDE).run(&points).unwrap();
    let open = Fof::new(0.5).run(&points).unwrap();
    let both = ["halos", "a periodic box of 8", "a periodic box of 9"];
    refused(CenterFinder::new(MBP).periodic(9.0).run(&points, &halos), &both);
    refused(CenterFinder::new(MBP).periodic([8.0, 8.0, 9.0]).run(&points, &halos), &["of 8,", "[8.0, 8.0, 9.0]"]);
    refused(CenterFinder::new(MBP).periodic(8.0).run(&points, &open), &["open space", "a periodic box of 8"]);
    assert!(CenterFinder::new(MBP).periodic([8.0; 3]).run(&points, &halos).is_ok());
    refused(Catalog::new(&halos, &particles.clone().periodic(9.0)), &both);
    refused(Catalog::new(&open, &particles.clone().periodic(8.0)), &["open space", "the particles"]);
    assert!(Catalog::new(&halos, &particles.clone().periodic(8.0)).is_ok());

    let centers = halos.centers(&points, MBP).unwrap();
    let wrong = particles.clone().periodic(9.0);
    let both = ["centres", "a periodic box of 8", "a periodic box of 9"];
    refused(overdensities(&wrong, &centers, &[1.0]), &both);
    refused(profiles(&wrong, &centers, &vec![0.1; centers.len()], 5), &both);
    let spheres = vec![Default::default(); halos.len()];
    refused(measure_structure(&halos, &wrong, &centers, &spheres, 1.0), &["halos", "a periodic box of 9"]);
    let elsewhere = open.centers(&points, MBP).unwrap();
    assert_eq!(elsewhere.boundary(), &Boundary::Open);
    refused(
        measure_structure(
            &open,
            &particles.clone().periodic(8.0),
            &elsewhere,
            &vec![Default::default(); open.len()],
            1.0,
        ),
        &["open"],
    );

    // Halos from other sources are valid in any space, which is set by the computation of centres.
    let lists = Halos::from_lists(points.len(), halos.offsets(), halos.all_members()).unwrap();
    let labels = Halos::new(Labels::from_slice(halos.labels().as_slice()).unwrap(), 2);
    for theirs in [lists, labels] {
        assert_eq!(theirs.boundary(), &Boundary::Unknown);
        let found = CenterFinder::new(MBP).periodic(SIDE).run(&points, &theirs).unwrap();
        assert_eq!(found, centers);
        assert_eq!(found.boundary(), centers.boundary());
        assert_eq!(theirs.centers(&points, MBP).unwrap().boundary(), &Boundary::Unknown);
        assert!(Catalog::new(&theirs, &particles.clone().periodic(9.0)).is_ok());
    }
    // Halos of a plane are invalid in this space.
    let flat: Vec<[f64; 2]> = points.iter().map(|&[x, y, _]| [x, y]).collect();
    let flat = Fof::new(0.5).periodic(SIDE).run(&flat).unwrap();
    refused(flat.centers(&points, MBP), &["2 sides", "3"]);
}

/// A halo that is too wide for its box has no centre, with a reason, while the others keep their centres.
#[test]
fn a_wide_halo_is_alone_in_that() {
    // A filament through the whole box, and two clumps.
    let mut points: Vec<[f64; 3]> = (0..40).map(|i| [0.25 * f64::from(i), 1.0, 1.0]).collect();
    let clump = |at: f64, n: u32| (0..n).map(move |i| [at + 0.1 * f64::from(i), 6.0, 6.0]);
    points.extend(clump(3.0, 5).chain(clump(9.8, 3)));
    let halos = Fof::new(0.25).periodic(10.0).run(&points).unwrap();
    assert_eq!(halos.len(), 3);
    let centers = ALL.map(|center| center.centers(&points, &halos).unwrap());
    for (centers, center) in centers.iter().zip(ALL) {
        let rows = centers.as_slice();
        if !matches!(center, CenterSearch::Of(Center::MostConnected { .. })) {
            let wide = NoCenter::TooWide { axis: 0, width: 9.75, size: 10.0 };
            assert_eq!(rows[0].missing, Some(wide), "{center:?}");
            assert!(rows[0].position.iter().all(|x| x.is_nan()) && rows[0].member.is_none());
            assert!(wide.to_string().contains("9.75 wide along axis 0"));
        }
        assert!((rows[1].position[0] - 3.2).abs() < 0.11, "{:?}", rows[1]);
        assert!(oracle::apart(rows[2].position[0], 9.9, Some(10.0)) < 0.11, "{:?}", rows[2]);
        assert!(rows[1].missing.is_none() && rows[2].missing.is_none());
        assert_eq!(*centers, center.centers(&points, &halos).unwrap());
    }

    // Quantities measured around it have no values.
    let (particles, centers) = (Particles::new(&points), &centers[0]);
    let spheres = overdensities(&particles, centers, &[10.0]).unwrap();
    assert_eq!(spheres[0], [Err(NoSphere::NoCenter)]);
    assert!(spheres[1][0].is_ok() && spheres[2][0].is_ok());
    let found = profiles(&particles, centers, &[1.0; 3], 4).unwrap();
    assert_eq!(found.iter().map(|profile| profile.shells.len()).collect::<Vec<_>>(), [0, 4, 4]);
    let spheres: Vec<_> = spheres.iter().map(|row| row[0].unwrap_or_default()).collect();
    let found = measure_structure(&halos, &particles, centers, &spheres, 1.0).unwrap();
    assert!(found[0].half_mass_radius.is_nan() && found[0].v_max.is_nan() && found[1].half_mass_radius > 0.0);
    assert_eq!(Catalog::new(&halos, &particles).unwrap().halos().len(), 3);
    // Positions given by the caller must be finite.
    refused(overdensities(&particles, &[[f64::NAN; 3]], &[1.0]), &["point 0", "NaN"]);
    refused(measure_structure(&halos, &particles, &[[f64::NAN; 3]; 3], &spheres, 1.0), &["point 0", "NaN"]);
}

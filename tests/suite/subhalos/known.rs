//! A host with three subhalos, one of which has a subhalo, and a separate halo: all are found with their masses.

use common::random::Random;
use ropewalk::AdaptaHop;
use ropewalk::halo::{AdaptaHopAlgorithm, SubhaloSelection, Subhalos};

/// A clump whose number of particles within r is proportional to (r/edge)^(1/power).
struct Profile {
    edge: f64,
    power: f64,
}

/// Adds particles around a position.
fn clump(random: &mut Random, n: usize, profile: Profile, center: [f64; 3], points: &mut Vec<[f64; 3]>) {
    let Profile { edge, power } = profile;
    for _ in 0..n {
        let way: [f64; 3] = std::array::from_fn(|_| random.normal());
        let length = way.iter().map(|x| x * x).sum::<f64>().sqrt();
        let r = edge * random.unit().powf(power);
        points.push(std::array::from_fn(|k| (center[k] + r * way[k] / length).rem_euclid(1.0)));
    }
}

/// The first index of each part: host, three subhalos, the subhalo of the first one, the other halo. The host crosses
/// a face of the box.
const STARTS: [usize; 7] = [0, 20_000, 26_000, 28_000, 30_000, 31_200, 33_200];

fn sky(power: f64) -> Vec<[f64; 3]> {
    let mut random = Random::new(7);
    let mut points = vec![];
    clump(&mut random, 20_000, Profile { edge: 0.15, power: 1.0 }, [0.05, 0.5, 0.5], &mut points);
    clump(&mut random, 6000, Profile { edge: 0.018, power }, [0.93, 0.5, 0.5], &mut points);
    clump(&mut random, 2000, Profile { edge: 0.014, power }, [0.05, 0.59, 0.52], &mut points);
    clump(&mut random, 2000, Profile { edge: 0.012, power }, [0.12, 0.45, 0.42], &mut points);
    clump(&mut random, 1200, Profile { edge: 0.0025, power }, [0.941, 0.511, 0.5], &mut points);
    clump(&mut random, 2000, Profile { edge: 0.05, power }, [0.5, 0.1, 0.2], &mut points);
    clump(&mut random, 1000, Profile { edge: 1.0, power: 0.5 }, [0.5; 3], &mut points);
    points
}

/// Returns the structure that contains most particles of a part.
fn structure_of(found: &Subhalos, part: usize) -> usize {
    let labels = &found.structures().labels().as_slice()[STARTS[part]..STARTS[part + 1]];
    let count = |at: usize| labels.iter().filter(|&&label| label == at as i32).count();
    (0..found.len()).max_by_key(|&at| count(at)).unwrap()
}

#[track_caller]
fn assert_near(mass: f64, expected: usize, within: f64) {
    let ratio = mass / expected as f64;
    assert!((ratio - 1.0).abs() < within, "{mass} for {expected}");
}

#[test]
fn subhalos_are_found() {
    let points = sky(0.5);
    for algorithm in [AdaptaHopAlgorithm::Exact, AdaptaHopAlgorithm::Stepped] {
        for selection in [SubhaloSelection::Mass, SubhaloSelection::Density] {
            let finder = AdaptaHop::new()
                .density_threshold(10.0)
                .min_members(100)
                .algorithm(algorithm)
                .selection(selection)
                .periodic(1.0);
            let found = finder.run(&points).unwrap();
            let rows: Vec<_> = found.rows().iter().map(|row| (row.parent, row.level, row.mass)).collect();
            assert_eq!(found.len(), 6, "{algorithm:?} {selection:?} {rows:?}");
            let [host, first, second, third, inner, other] = std::array::from_fn(|part| structure_of(&found, part));
            let row = |at: usize| found.rows()[at];
            if selection == SubhaloSelection::Density {
                // The inner peak is denser than that of the enclosing subhalo, so the inner structure takes over the
                // identity of the subhalo, and the subhalo's own peak becomes a child.
                let (row, peaks) = (row(inner), STARTS[4]..STARTS[5]);
                assert_eq!((row.parent, row.level, row.n_children), (Some(host as u32), 2, 1), "{algorithm:?}");
                assert!(peaks.contains(&(row.peak as usize)));
                assert_near(row.mass, 7200, 0.05);
                continue;
            }
            let parents = [host, first, second, third, inner, other].map(|at| row(at).parent.map(|at| at as usize));
            assert_eq!(parents, [None, Some(host), Some(host), Some(host), Some(first), None], "{algorithm:?}");
            assert_eq!([host, first, inner, other].map(|at| row(at).level), [1, 2, 3, 1]);
            assert_eq!([host, first, second].map(|at| row(at).n_children), [3, 1, 0]);
            assert!([first, second, third, inner].iter().all(|&at| row(at).host as usize == host));
            for (part, at) in [(2, second), (3, third), (4, inner), (5, other)] {
                assert_near(row(at).mass, STARTS[part + 1] - STARTS[part], 0.05);
            }
            // Including substructures.
            assert_near(row(first).mass, 7200, 0.05);
            assert_near(row(host).mass, 31_200, 0.05);
            let halos = found.halos();
            assert_eq!((halos.len(), halos.clusters()), (2, &[host as u32, other as u32][..]));
            assert_eq!(halos.members(0), found.members(host));
            assert_eq!(found.members(first).len() as f64, row(first).mass);
            assert_eq!((found.at_level(2).len(), found.at_level(3).len(), found.at_level(4).len()), (3, 1, 0));
        }
    }
}

/// Centres and catalogues of structures are computed like those of other halos.
#[test]
fn subhalos_have_centers() {
    let points = sky(0.5);
    let found = AdaptaHop::new()
        .density_threshold(10.0)
        .fudge_epsilon(0.01)
        .min_members(100)
        .periodic(1.0)
        .run(&points)
        .unwrap();
    let centers = found.structures().centers(&points, ropewalk::Center::MostBound { softening: 1e-4 }).unwrap();
    let second = structure_of(&found, 2);
    let center = centers.as_slice()[second].position;
    let distance = (0..3).map(|k| (center[k] - [0.05, 0.59, 0.52][k]).powi(2)).sum::<f64>().sqrt();
    assert!(distance < 0.002, "{center:?}");
    let catalog =
        ropewalk_table::Catalog::new(found.structures(), &ropewalk::halo::Particles::new(&points).periodic(1.0))
            .unwrap();
    assert_eq!(catalog.halos().len(), 6);
}

/// If the density is proportional to r^-2 within a radius, the root mean square radius is the radius / sqrt(3). For
/// the innermost subhalo it is below 0.05 mean separations, so this subhalo is dropped regardless of its density.
#[test]
fn a_subhalo_that_is_too_narrow() {
    let points = sky(1.0);
    let inner = |fudge_epsilon: f64, algorithm| {
        let finder = AdaptaHop::new().density_threshold(10.0).min_members(100).fudge_epsilon(fudge_epsilon);
        let found = finder.algorithm(algorithm).periodic(1.0).run(&points).unwrap();
        let (first, inner) = (structure_of(&found, 1), structure_of(&found, 4));
        (found.len(), (first != inner).then(|| found.rows()[inner].mass))
    };
    for algorithm in [AdaptaHopAlgorithm::Exact, AdaptaHopAlgorithm::Stepped] {
        assert_eq!(inner(0.05, algorithm), (5, None));
        let (n, mass) = inner(0.01, algorithm);
        assert_eq!(n, 6);
        assert_near(mass.unwrap(), 1200, 0.05);
    }
}

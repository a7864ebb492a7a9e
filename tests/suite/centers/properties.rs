//! Branch and bound, compared with brute force, and both with the definition, on input from proptest.

use proptest::prelude::*;

use ropewalk::{Center, Fof};

use super::definition::{center, most_bound_is_right};
use super::search::CenterSearch;
use super::shapes;
use common::random::Random;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn most_bound(
        seed: u64,
        n in prop_oneof![1usize..60, 600usize..1500],
        shape in 0usize..9,
        softening in prop_oneof![Just(0.0), 1e-9..1e-3f64, 1e-3..10.0f64, Just(1e9)],
        spread in prop_oneof![Just(None), (0.1..12.0f64).prop_map(Some)],
    ) {
        let mut random = Random::new(seed);
        let (name, points) = shapes::all(&mut random, n).swap_remove(shape);
        prop_assume!(!points.is_empty());
        let masses: Option<Vec<f64>> =
            spread.map(|spread| points.iter().map(|_| 10f64.powf(spread * random.unit())).collect());
        if let Err(wrong) = most_bound_is_right(&points, masses.as_deref(), softening) {
            prop_assert!(false, "{name}: {wrong}");
        }
    }
}

const SEARCHES: [CenterSearch; 7] = [
    CenterSearch::Of(Center::MostBound { softening: 0.0 }),
    CenterSearch::Of(Center::MostBound { softening: 0.125 }),
    CenterSearch::Of(Center::MostBoundBrute { softening: 0.125 }),
    CenterSearch::AStar(0.0),
    CenterSearch::Of(Center::MostConnected { linking_length: 0.25 }),
    CenterSearch::Of(Center::CenterOfMass),
    CenterSearch::Of(Center::ShrinkingSphere { shrink: 0.975, least: 5 }),
];

/// Returns points in steps of 1 / 64, many of which coincide. Translation and scaling by powers of two are exact.
fn dyadic(seed: u64, n: usize) -> Vec<[f64; 3]> {
    shapes::plummer(&mut Random::new(seed), n).iter().map(|point| point.map(|x| (x * 64.0).round() / 64.0)).collect()
}

/// Neither the origin, nor the units, nor a common factor of the masses matters.
#[test]
fn places_and_units_do_not_matter() {
    for (seed, n) in [(1, 30), (2, 700), (3, 2500)] {
        let points = dyadic(seed, n);
        for search in SEARCHES {
            let expected = center(&points, search, None);
            let heavy = center(&points, search, Some(&vec![8.0; n]));
            assert_eq!(
                (heavy.member, heavy.potential),
                (expected.member, expected.potential.map(|phi| 8.0 * phi)),
                "{search:?}"
            );
            for far in [1024.0, -3e9] {
                let moved: Vec<[f64; 3]> = points.iter().map(|point| point.map(|x| x + far)).collect();
                let found = center(&moved, search, None);
                assert_eq!(
                    (found.member, found.potential, found.friends),
                    (expected.member, expected.potential, expected.friends),
                    "{search:?}, {n} points, {far} away"
                );
            }
            let scale = 2f64.powi(-60);
            let scaled: Vec<[f64; 3]> = points.iter().map(|point| point.map(|x| x * scale)).collect();
            let search = match search {
                CenterSearch::Of(Center::MostBound { softening }) => {
                    Center::MostBound { softening: softening * scale }.into()
                }
                CenterSearch::Of(Center::MostBoundBrute { softening }) => {
                    Center::MostBoundBrute { softening: softening * scale }.into()
                }
                CenterSearch::Of(Center::MostConnected { linking_length }) => {
                    Center::MostConnected { linking_length: linking_length * scale }.into()
                }
                same => same,
            };
            let found = center(&scaled, search, None);
            assert_eq!(found.position, expected.position.map(|x| x * scale), "{search:?}");
            assert_eq!((found.member, found.friends, found.ties), (expected.member, expected.friends, expected.ties));
        }
    }
}

/// The order of points only affects ties: in another order, the potential is equally deep and the number of friends
/// equal.
#[test]
fn the_order_does_not_matter() {
    for seed in 0..6 {
        let mut random = Random::new(100 + seed);
        let points = dyadic(seed, 1800);
        let mut order: Vec<usize> = (0..points.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i + 1));
        }
        let shuffled: Vec<[f64; 3]> = order.iter().map(|&i| points[i]).collect();
        for search in SEARCHES {
            let (a, b) = (center(&points, search, None), center(&shuffled, search, None));
            assert_eq!((a.friends, a.ties, a.member.is_some()), (b.friends, b.ties, b.member.is_some()));
            let (ours, theirs) = (a.potential.unwrap_or(0.0), b.potential.unwrap_or(0.0));
            assert!((ours - theirs).abs() <= 1e-12 * ours.abs(), "{search:?}: {ours}, {theirs}");
            if a.member.is_none() {
                assert!((0..3).all(|k| (a.position[k] - b.position[k]).abs() < 1e-9), "{search:?}");
            }
        }
    }
}

/// A halo has the same centre alone as among others, and centres do not depend on the origin of the periodic box.
#[test]
fn halos_are_on_their_own() {
    let mut points = vec![];
    for (seed, at) in [(1, [2.0, 2.0, 2.0]), (2, [9.5, 9.0, 0.0]), (3, [0.25, 5.0, 9.75])] {
        points.extend(dyadic(seed, 400).iter().map(|p| -> [f64; 3] {
            std::array::from_fn(|k| (at[k] + 0.125 * p[k].clamp(-4.0, 4.0)).rem_euclid(16.0))
        }));
    }
    let run = |points: &[[f64; 3]]| Fof::new(0.25).min_members(50).periodic(16.0).run(points).unwrap();
    let halos = run(&points);
    assert_eq!(halos.len(), 3);
    for search in SEARCHES {
        let all = search.centers(&points, &halos).unwrap();
        for (halo, members) in halos.iter().enumerate() {
            let own: Vec<[f64; 3]> = members.iter().map(|&i| points[i as usize]).collect();
            let alone = search.centers(&own, &run(&own)).unwrap().as_slice()[0];
            let there = all.as_slice()[halo];
            assert_eq!((alone.member.map(|i| members[i as usize]), alone.potential), (there.member, there.potential));
            assert_eq!(alone.position, there.position);
        }
        let moved: Vec<[f64; 3]> =
            points.iter().map(|p| -> [f64; 3] { [p[0] + 5.0, p[1] + 11.5, p[2] + 0.125].map(|x| x % 16.0) }).collect();
        let there = search.centers(&moved, &run(&moved)).unwrap();
        for (a, b) in all.as_slice().iter().zip(there.as_slice()) {
            assert_eq!((a.member, a.potential, a.friends), (b.member, b.potential, b.friends), "{search:?}");
        }
    }
}

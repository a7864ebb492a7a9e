//! `Bvh::map_neighbors`, compared with the definition.

use common::oracle::{self, Side};
use common::random::Random;
use proptest::prelude::*;
use rayon::ThreadPoolBuilder;
use ropewalk::geometry::Space;
use ropewalk::search::NeighborAt;
use ropewalk::{Aabb, Bvh, Scalar};

type Lists<const D: usize> = Vec<Vec<NeighborAt<D>>>;

fn lists<S: Scalar, const D: usize>(tree: &Bvh<S, D>, radius: f64) -> Lists<D> {
    let lists = tree.map_neighbors(radius, |i, near| (i, near.to_vec()));
    assert!(lists.iter().map(|list| list.0).eq(0..tree.len() as u32));
    lists.into_iter().map(|list| list.1).collect()
}

fn are_those_of_the_definition<S: Scalar, const D: usize>(
    points: &[[f64; D]],
    radius: f64,
    side: Side,
) -> Result<(), TestCaseError> {
    let (tree, points) = super::stored::<S, D>(points, side);
    let space = Space::periodic(side).unwrap();
    let found = lists(&tree, radius);
    prop_assert_eq!(found.len(), points.len());
    for ((i, found), expected) in (0..).zip(&found).zip(oracle::neighbors(&points, radius, side)) {
        prop_assert_eq!(found.iter().map(|near| near.index).collect::<Vec<_>>(), expected);
        for near in found {
            let (from, to): (&[S; D], _) = (&points[i], &points[near.index as usize]);
            prop_assert_eq!(near.distance2.to_bits(), oracle::distance2(from, to, side).to_bits());
            prop_assert_eq!(near.offset, space.offset(from, to));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn are_right_in_f32((points, radius) in super::cloud::<3>(), side in super::side()) {
        are_those_of_the_definition::<f32, 3>(&points, radius, side)?;
    }

    #[test]
    fn are_right_in_f64((points, radius) in super::cloud::<2>(), side in super::side()) {
        are_those_of_the_definition::<f64, 2>(&points, radius, side)?;
    }
}

#[test]
fn one_and_ten_dimensions() {
    let mut random = Random::new(3);
    let line: Vec<[f64; 1]> = (0..200).map(|_| [10.0 * random.unit()]).collect();
    let many: Vec<[f64; 10]> = (0..200).map(|_| std::array::from_fn(|_| 10.0 * random.unit())).collect();
    for side in [None, Some(10.0)] {
        are_those_of_the_definition::<f32, 1>(&line, 0.5, side).unwrap();
        are_those_of_the_definition::<f64, 10>(&many, 9.0, side).unwrap();
    }
}

/// A sum in `f32`, which depends on the order of its terms.
#[test]
fn sums_are_the_same_on_any_number_of_threads() {
    let mut random = Random::new(4);
    let points: Vec<[f32; 3]> = (0..20_000).map(|_| std::array::from_fn(|_| 10.0 * random.unit() as f32)).collect();
    let tree = Bvh::build_periodic(&points, 10.0).unwrap();
    let sums = |threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            tree.map_neighbors(0.7, |_, near| {
                near.iter().fold(0.0f32, |sum, near| sum + near.offset[0] as f32).to_bits()
            })
        })
    };
    let one = sums(1);
    assert!(one == sums(2) && one == sums(5));
}

#[test]
fn nothing_and_a_radius_that_holds_nothing() {
    assert!(lists(&Bvh::<f32, 3>::build::<[f32; 3]>(&[]).unwrap(), 1.0).is_empty());
    let tree = Bvh::build(&[[0.0f64], [0.0], [3.0]]).unwrap();
    for radius in [-1.0, f64::NAN] {
        assert_eq!(lists(&tree, radius), [[], [], []]);
        assert!(tree.neighbors(radius).values().is_empty());
    }
    // Copies are neighbours at distance 0, and all points are within an infinite radius.
    assert_eq!(
        tree.map_neighbors(0.0, |_, near| near.iter().map(|near| near.index).collect::<Vec<_>>()),
        [vec![0, 1], vec![0, 1], vec![2]]
    );
    assert_eq!(tree.map_neighbors(f64::INFINITY, |_, near| near.len()), [3, 3, 3]);
}

#[test]
fn boxes_are_a_gap_apart() {
    let mut random = Random::new(5);
    let boxes: Vec<Aabb<f32, 2>> = (0..300)
        .map(|_| {
            let lo: [f32; 2] = std::array::from_fn(|_| random.below(512) as f32 / 64.0);
            Aabb::new(lo, lo.map(|lo| lo + random.below(40) as f32 / 64.0))
        })
        .collect();
    for side in [None, Some(8.0)] {
        let space = Space::<2>::periodic(side).unwrap();
        let tree = Bvh::build_periodic(&boxes, side).unwrap();
        for ((i, found), mut expected) in
            (0..).zip(lists(&tree, 0.5)).zip(tree.neighbors(0.5).iter().map(<[u32]>::to_vec))
        {
            expected.sort_unstable();
            assert_eq!(found.iter().map(|near| near.index).collect::<Vec<_>>(), expected);
            for near in found {
                let (from, to): (&Aabb<f32, 2>, _) = (&boxes[i], &boxes[near.index as usize]);
                assert_eq!((near.offset, near.distance2), (space.min_offset(from, to), space.min_distance2(from, to)));
                assert!(near.distance2 <= 0.25);
            }
        }
    }
}

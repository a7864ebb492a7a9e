//! `Bvh::pairs` and `Bvh::overlapping_pairs`, compared with the definition.

use common::oracle::{self, Side};
use common::random::Random;
use proptest::prelude::*;
use rayon::ThreadPoolBuilder;
use ropewalk::{Aabb, Bvh, Scalar};

/// Returns the entries of each list that are above the list's own index, as pairs.
fn upper(lists: &[Vec<u32>]) -> Vec<[u32; 2]> {
    let above =
        |(i, list): (u32, &Vec<u32>)| -> Vec<[u32; 2]> { list.iter().filter(|&&j| j > i).map(|&j| [i, j]).collect() };
    (0..).zip(lists).flat_map(above).collect()
}

fn are_those_of_the_definition<S: Scalar, const D: usize>(
    points: &[[f64; D]],
    radius: f64,
    side: Side,
) -> Result<(), TestCaseError> {
    let (tree, points) = super::stored::<S, D>(points, side);
    prop_assert_eq!(tree.pairs(radius), upper(&oracle::neighbors(&points, radius, side)));
    prop_assert_eq!(tree.overlapping_pairs(), upper(&oracle::neighbors(&points, 0.0, side)));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn are_right_in_f32((points, radius) in super::cloud::<3>(), side in super::side()) {
        are_those_of_the_definition::<f32, 3>(&points, radius, side)?;
    }

    #[test]
    fn are_right_in_f64((points, radius) in super::cloud::<1>(), side in super::side()) {
        are_those_of_the_definition::<f64, 1>(&points, radius, side)?;
    }
}

#[test]
fn few_points_and_radii_that_hold_nothing() {
    for points in [&[][..], &[[1.0f32, 2.0]]] {
        assert!(Bvh::build(points).unwrap().pairs(1e9).is_empty());
    }
    let tree = Bvh::build(&[[1.0f64]; 4]).unwrap();
    assert!(tree.pairs(-1.0).is_empty() && tree.pairs(f64::NAN).is_empty());
    assert_eq!(tree.overlapping_pairs(), [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]);
}

#[test]
fn the_same_on_any_number_of_threads() {
    let mut random = Random::new(6);
    let points: Vec<[f32; 3]> = (0..20_000).map(|_| std::array::from_fn(|_| 10.0 * random.unit() as f32)).collect();
    let tree = Bvh::build_periodic(&points, 10.0).unwrap();
    let [one, two, five] = [1, 2, 5]
        .map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| tree.pairs(0.5)));
    assert!(one == two && one == five);
    assert!(one.len() as u64 == tree.count_pairs(0.5) && one.is_sorted());
}

/// On a lattice, where arithmetic is exact; expected results from all images.
#[test]
fn boxes_that_touch_or_overlap() {
    let mut random = Random::new(7);
    let boxes: Vec<Aabb<f64, 2>> = (0..400)
        .map(|_| {
            let lo: [f64; 2] = std::array::from_fn(|_| random.below(64) as f64 / 8.0);
            Aabb::new(lo, lo.map(|lo| lo + random.below(8) as f64 / 8.0))
        })
        .collect();
    for side in [None, Some(8.0)] {
        let shifts = side.map_or(vec![0.0], |side| vec![-side, 0.0, side]);
        let meets = |a: &Aabb<f64, 2>, b: &Aabb<f64, 2>| {
            (0..2).all(|k| shifts.iter().any(|shift| a.lo[k] <= b.hi[k] + shift && b.lo[k] + shift <= a.hi[k]))
        };
        let expected: Vec<[u32; 2]> = (0..400)
            .flat_map(|i| (i + 1..400).map(move |j| [i, j]))
            .filter(|&[i, j]| meets(&boxes[i as usize], &boxes[j as usize]))
            .collect();
        let tree = Bvh::build_periodic(&boxes, side).unwrap();
        assert_eq!(tree.overlapping_pairs(), expected, "side {side:?}");
    }
}

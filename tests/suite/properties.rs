//! The tree, compared with the definitions on input from proptest. Half of the clouds are on a coarse grid, so that
//! distances tie, points coincide, and points are exactly at the radius.

use common::oracle::{self, NearestQuery, Side};
use proptest::collection::vec;
use proptest::prelude::*;
use ropewalk::{Aabb, Bvh, Fof, Nearest, Scalar, Sphere};

/// A coordinate in general position, or on the grid.
fn coordinate(on_grid: bool) -> BoxedStrategy<f64> {
    if on_grid { (-20i32..60).prop_map(|i| f64::from(i) * 0.25).boxed() } else { (-5.0..15.0).boxed() }
}

fn radius(on_grid: bool) -> BoxedStrategy<f64> {
    if on_grid { (0i32..16).prop_map(|i| f64::from(i) * 0.25).boxed() } else { (0.0..4.0).boxed() }
}

#[derive(Debug)]
struct Question<const D: usize> {
    points: Vec<[f64; D]>,
    asked: Vec<[f64; D]>,
    radius: f64,
    k: usize,
    side: Side,
}

fn question<const D: usize>() -> impl Strategy<Value = Question<D>> {
    any::<bool>().prop_flat_map(|on_grid| {
        let points = |n| vec(vec(coordinate(on_grid), D).prop_map(|x| -> [f64; D] { x.try_into().unwrap() }), n);
        let side = prop::option::of(prop_oneof![Just(8.0), Just(9.7), 8.0..30.0]);
        (points(0..200), points(1..10), radius(on_grid), 0usize..40, side)
            .prop_map(|(points, asked, radius, k, side)| Question { points, asked, radius, k, side })
    })
}

fn answers_are_right<S: Scalar, const D: usize>(question: &Question<D>) -> Result<(), TestCaseError> {
    let &Question { radius, k, side, .. } = question;
    let stored: Vec<[S; D]> = question.points.iter().map(|point| point.map(S::from_f64)).collect();
    let points: Vec<[S; D]> = stored.iter().map(|point| oracle::wrap_point(point, side)).collect();
    let tree = side.map_or_else(|| Bvh::build(&stored), |side| Bvh::build_periodic(&stored, side)).unwrap();
    tree.validate().unwrap();

    let sorted = |mut hits: Vec<u32>| {
        hits.sort_unstable();
        hits
    };
    for asked in &question.asked {
        let asked = asked.map(S::from_f64);
        let hits = sorted(tree.query(Sphere::new(asked, radius)).collect());
        prop_assert_eq!(hits, oracle::in_ball(&points, &asked, radius, side));
        let corner = asked.map(|x| S::from_f64(Into::<f64>::into(x) + radius));
        let hits = sorted(tree.query(Aabb::new(asked, corner)).collect());
        prop_assert_eq!(hits, oracle::in_box(&points, &asked, &corner, side));
        for wanted in [NearestQuery::new(k), NearestQuery::new(k).within(radius).excluding(0)] {
            let near = Nearest::new(k).within(wanted.radius);
            let near = tree.nearest(asked, wanted.excluded.map_or(near, |index| near.excluding(index)));
            let near: Vec<_> = near.iter().map(|near| (near.index, near.distance2)).collect();
            prop_assert_eq!(near, oracle::nearest(&points, &asked, wanted, side));
        }
    }

    let lists = oracle::neighbors(&points, radius, side);
    let found: Vec<_> = tree.neighbors(radius).iter().map(|list| sorted(list.to_vec())).collect();
    prop_assert_eq!(&found, &lists);
    let ends: usize = lists.iter().map(Vec::len).sum();
    prop_assert_eq!(tree.count_pairs(radius), (ends - points.len()) as u64 / 2);
    let halos = Fof::new(radius).run_on(&tree).unwrap();
    prop_assert_eq!(halos.labels().as_slice(), oracle::components(&lists));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_are_right_in_f32(question in question::<3>()) {
        answers_are_right::<f32, 3>(&question)?;
    }

    #[test]
    fn answers_are_right_in_f64(question in question::<2>()) {
        answers_are_right::<f64, 2>(&question)?;
    }
}

//! `Bvh::nearest_into` gives the result of the definition in a reused vector.

use common::oracle::{self, NearestQuery, Side};
use proptest::prelude::*;
use ropewalk::search::Neighbor;
use ropewalk::{Bvh, Nearest, Scalar};

fn are_those_of_the_definition<S: Scalar, const D: usize>(
    points: &[[f64; D]],
    radius: f64,
    side: Side,
) -> Result<(), TestCaseError> {
    let (tree, wrapped) = super::stored::<S, D>(points, side);
    let mut found = Vec::with_capacity(100);
    let place = found.as_ptr();
    // Queries may be outside of the box.
    for (i, asked) in (0..).zip(points.iter().map(|point| point.map(S::from_f64))) {
        let queries = [
            NearestQuery::new(0),
            NearestQuery::new(5).within(radius).excluding(i),
            NearestQuery::new(80),
            NearestQuery::new(3).within(-1.0),
        ];
        for query in queries {
            let wanted = Nearest::new(query.k).within(query.radius);
            let wanted = query.excluded.map_or(wanted, |index| wanted.excluding(index));
            tree.nearest_into(asked, wanted, &mut found);
            let expected = oracle::nearest(&wrapped, &asked, query, side);
            prop_assert!(found.iter().map(|near| (near.index, near.distance2)).eq(expected));
            prop_assert_eq!(&tree.nearest(asked, wanted), &found);
            prop_assert!(found.as_ptr() == place && found.capacity() == 100);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn are_right_in_f32((points, radius) in super::cloud::<3>(), side in super::side()) {
        are_those_of_the_definition::<f32, 3>(&points, radius, side)?;
    }

    #[test]
    fn are_right_in_f64((points, radius) in super::cloud::<2>(), side in super::side()) {
        are_those_of_the_definition::<f64, 2>(&points, radius, side)?;
    }
}

/// The previous contents of the vector are replaced, even without hits.
#[test]
fn what_was_there_is_replaced() {
    let old = vec![Neighbor { index: 9, distance2: 1.0 }; 3];
    for (points, asked) in [(&[][..], 1.0), (&[[2.0f64]], f64::NAN)] {
        let mut found = old.clone();
        Bvh::build(points).unwrap().nearest_into([asked], 2, &mut found);
        assert!(found.is_empty());
    }
}

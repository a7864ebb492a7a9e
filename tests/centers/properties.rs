//! Branch and bound against brute force, and both against the definition, on whatever proptest comes up with.

use proptest::prelude::*;

use crate::common::random::Random;
use crate::definition::most_bound_is_right;
use crate::shapes;

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

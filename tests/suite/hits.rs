//! The shortcuts of the iterator `Hits` give the same results as single steps.

use common::clouds;
use ropewalk::geometry::Query;
use ropewalk::{Aabb, Bvh, Sphere};

fn shortcuts_agree<Q: Query<f32, 3> + Copy>(bvh: &Bvh<f32, 3>, query: Q) {
    let mut stepped = vec![];
    let mut hits = bvh.query(query);
    while let Some(hit) = hits.next() {
        // The remaining hits are the same for a clone, when counted, and when collected.
        stepped.push(hit);
        if stepped.len() % 5 == 1 {
            let left: Vec<u32> = hits.clone().collect();
            assert_eq!(hits.clone().count(), left.len());
            assert_eq!(hits.clone().last(), left.last().copied());
            for n in [0, 1, 31, 32, 100] {
                let mut skipped = hits.clone();
                assert_eq!(skipped.nth(n), left.get(n).copied(), "nth({n}) of {} left", left.len());
                let behind = left.get(n + 1..).unwrap_or_default();
                assert_eq!(skipped.collect::<Vec<_>>(), behind, "after nth({n})");
            }
        }
    }
    assert_eq!((hits.next(), hits.nth(3), hits.count()), (None, None, 0), "the end is the end");
    assert_eq!(bvh.query(query).collect::<Vec<_>>(), stepped);
    for n in 0..stepped.len() + 2 {
        assert_eq!(bvh.query(query).nth(n), stepped.get(n).copied(), "nth({n}) of {}", stepped.len());
    }
}

#[test]
fn nth_count_and_clone() {
    for cloud in clouds::small::<f32, 3>() {
        let bvh = Bvh::build(&cloud.points).unwrap();
        let center = cloud.points.first().copied().unwrap_or_default();
        // Whole nodes at once, leaf by leaf, and no hits.
        for radius in [f64::INFINITY, cloud.side, 0.3 * cloud.side, cloud.radii[0], 0.0, -1.0] {
            shortcuts_agree(&bvh, Sphere::new(center, radius));
        }
        shortcuts_agree(&bvh, Aabb::point(center).union(&bvh.bounds()));
        shortcuts_agree(&bvh, Aabb::new(center, center.map(|x| x + 0.4 * cloud.side as f32)));
    }
}

#[test]
fn the_order_is_the_same_every_time() {
    let cloud = clouds::plummer::<f32, 3>();
    let bvh = Bvh::build(&cloud.points).unwrap();
    let ball = Sphere::new([0.0f32; 3], 1.0);
    let hits: Vec<u32> = bvh.query(ball).collect();
    assert!(hits.len() > 50);
    assert_eq!(bvh.query_all(&[ball]).of(0), hits);
    assert_eq!(Bvh::build(&cloud.points).unwrap().query(ball).collect::<Vec<_>>(), hits);
}

//! A short comparison of the tree with the definitions in all dimensions, including those with the longest inner
//! loops.

use common::clouds;
use common::oracle::{self, NearestQuery};
use ropewalk::{Bvh, Fof, Nearest, Scalar};

fn agrees<S: Scalar, const D: usize>() {
    for cloud in [clouds::clustered::<S, D>(), clouds::whole_lattice(), clouds::geometric(100)] {
        for side in [None, Some(cloud.side)] {
            let tree = match side {
                None => Bvh::build(&cloud.points),
                Some(side) => Bvh::build_periodic(&cloud.points, side),
            }
            .unwrap();
            tree.validate().unwrap();
            let points: Vec<_> = cloud.points.iter().map(|point| oracle::wrap_point(point, side)).collect();
            let radius = cloud.radii[0] * if D > 3 { 3.0 } else { 1.0 };
            let lists = oracle::neighbors(&points, radius, side);
            let counts: Vec<u32> = lists.iter().map(|list| list.len() as u32).collect();
            let what = format!("{} in {D} dimensions, side {side:?}", cloud.name);
            assert_eq!(tree.count_neighbors(radius), counts, "{what}");
            if side.is_none_or(|side| side >= 2.0 * radius) {
                let halos = Fof::new(radius).run_on(&tree).unwrap();
                assert_eq!(halos.labels().as_slice(), oracle::components(&lists), "{what}");
            }
            let graph = tree.nearest_neighbors(Nearest::new(4));
            for (i, point) in points.iter().enumerate() {
                let expected = oracle::nearest(&points, point, NearestQuery::new(4), side);
                assert!(graph.of(i).iter().map(|near| (near.index, near.distance2)).eq(expected), "{what}, point {i}");
            }
        }
    }
}

#[test]
fn one_four_seven_and_ten() {
    agrees::<f64, 1>();
    agrees::<f32, 4>();
    agrees::<f32, 7>();
    agrees::<f64, 10>();
}

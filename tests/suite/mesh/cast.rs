//! Ray casting on user-defined shapes: candidates, and the first hit by a user-defined test.

use super::solids::Random;
use ropewalk::{Aabb, Bvh, Ray, Sphere};

#[test]
fn first_of_balls() {
    let mut random = Random(8);
    for n in [0usize, 1, 40, 3000] {
        let balls: Vec<Sphere<f64, 3>> =
            (0..n).map(|_| Sphere::new([0.0; 3].map(|_: f64| random.unit()), 0.03 * random.unit())).collect();
        let bvh = Bvh::build(&balls).unwrap();
        for _ in 0..200 {
            let [o, d] = [3.0, 2.0].map(|wide| [0.0; 3].map(|_: f64| wide * random.unit() - 1.0));
            let ray = Ray::new(o, d).between(0.2, 2.0);
            let meets = |ball: u32| {
                let Sphere { center, radius } = balls[ball as usize];
                let (mut a, mut b, mut c) = (0.0, 0.0, -radius * radius);
                for k in 0..3 {
                    let off = o[k] - center[k];
                    (a, b, c) = (a + d[k] * d[k], b + d[k] * off, c + off * off);
                }
                let square = b * b - a * c;
                (square >= 0.0).then(|| (-b - square.sqrt()) / a)
            };
            let expected = (0..n as u32)
                .filter_map(|ball| meets(ball).filter(|t| (0.2..=2.0).contains(t)).map(|t| (t, ball)))
                .min_by(|a, b| a.0.total_cmp(&b.0));
            let found = bvh.cast(&ray, meets);
            assert_eq!(found.map(|hit| (hit.t, hit.index)), expected);
            let candidates: Vec<u32> = bvh.query(ray).collect();
            assert!(expected.is_none_or(|(_, ball)| candidates.contains(&ball)));
            assert_eq!(bvh.query_all(&[ray]).of(0), candidates);
        }
    }
}

/// With integer coordinates, a ray hits all boxes that it touches, including at faces, edges and corners.
#[test]
fn boxes_that_are_touched() {
    let boxes =
        [Aabb::new([0.0f32, 0.0], [1.0, 1.0]), Aabb::new([1.0, 1.0], [2.0, 3.0]), Aabb::new([3.0, 0.0], [3.0, 0.0])];
    let bvh = Bvh::build(&boxes).unwrap();
    let met = |ray: Ray<f32, 2>| {
        let mut met: Vec<u32> = bvh.query(ray).collect();
        met.sort_unstable();
        met
    };
    assert_eq!(met(Ray::new([-1.0, 0.0], [1.0, 0.0])), [0, 2]);
    assert_eq!(met(Ray::new([-1.0, 1.0], [3.0, 0.0])), [0, 1]);
    assert_eq!(met(Ray::new([0.0, 2.0], [1.0, -1.0])), [0, 1]);
    assert_eq!(met(Ray::new([0.0, 2.0], [1.0, -1.0]).between(0.0, 0.9)), [0u32; 0]);
    assert_eq!(met(Ray::new([0.0, 2.0], [1.0, -1.0]).between(1.0, 1.0)), [0, 1]);
    for none in [[0.0, 0.0], [f32::NAN, 1.0], [f32::INFINITY, 0.0]] {
        assert!(met(Ray::new([0.5, 0.5], none)).is_empty());
        assert_eq!(bvh.cast(&Ray::new([0.5, 0.5], none), |_| Some(0.0)), None);
    }
    // Ties go to the lower index, and NaN is not a hit.
    assert_eq!(bvh.cast(&Ray::new([0.0, 2.0], [1.0, -1.0]), |_| Some(1.0)).unwrap().index, 0);
    assert_eq!(bvh.cast(&Ray::new([0.0, 2.0], [1.0, -1.0]), |_| Some(f64::NAN)), None);
}

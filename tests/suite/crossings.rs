//! Crossings of rays, and the first k of them, compared with loops over all shapes.

use common::random::Random;
use ropewalk::geometry::{Crossed, Triangle};
use ropewalk::search::Crossing;
use ropewalk::{Aabb, Bounded, Ray, Sphere, ValueBvh};

/// A user-defined shape, whose crossings begin before its box.
#[derive(Clone)]
struct Early([f64; 2]);

impl Bounded<f64, 2> for Early {
    fn bounds(&self) -> Aabb<f64, 2> {
        Aabb::new(self.0, self.0.map(|x| x + 1.0))
    }
}

impl Crossed<f64, 2> for Early {
    fn crossing(&self, ray: &Ray<f64, 2>) -> Option<[f64; 2]> {
        (self.0[0] as i64 % 3 != 0).then_some([ray.from, if self.0[1] > 4.0 { f64::NAN } else { ray.from }])
    }
}

/// Compares the first crossings with those of a loop. `enters` returns the parameter where a ray enters a box.
fn compare<T: Crossed<f64, D> + Clone, const D: usize>(shapes: &[T], rays: &[Ray<f64, D>]) -> usize {
    let bvh = ValueBvh::build(shapes.to_vec()).unwrap();
    let all = bvh.crossings_all(rays);
    let mut longest = 0;
    for (i, ray) in rays.iter().enumerate() {
        let mut expected: Vec<Crossing> = (0..)
            .zip(shapes)
            .filter_map(|(index, shape)| Some((index, shape.crossing(ray)?, enters(ray, &shape.bounds())?)))
            .filter(|(_, [enter, leave], _)| enter <= leave)
            .map(|(index, [enter, leave], first)| {
                let enter = enter.max(first);
                Crossing { index, enter, leave: leave.max(enter) }
            })
            .collect();
        expected.sort_by(|a, b| a.enter.partial_cmp(&b.enter).unwrap().then(a.index.cmp(&b.index)));
        assert_eq!(all.of(i).len(), expected.len(), "{ray:?}");
        for (found, expected) in all.of(i).iter().zip(&expected) {
            let is_near = |a: f64, b: f64| (a - b).abs() < 1e-12;
            let are_near = is_near(found.enter, expected.enter) && is_near(found.leave, expected.leave);
            assert!(found.index == expected.index && are_near, "{ray:?}: {found:?} is not {expected:?}");
        }
        longest = longest.max(expected.len());
    }
    for k in [0, 1, 2, 5, 100_000, usize::MAX] {
        let lists = bvh.k_crossings_all(rays, k);
        for (i, ray) in rays.iter().enumerate() {
            assert_eq!(lists.of(i), &all.of(i)[..k.min(all.of(i).len())], "{k}: {ray:?}");
            assert_eq!(lists.of(i), bvh.k_crossings(ray, k), "{k}: {ray:?}");
        }
    }
    longest
}

/// The definition of the parameter where a ray enters a box, for numbers that are not rounded.
fn enters<const D: usize>(ray: &Ray<f64, D>, bounds: &Aabb<f64, D>) -> Option<f64> {
    let (mut first, mut last) = (ray.from, ray.to);
    for k in 0..D {
        let (from, by) = (ray.origin[k], ray.direction[k]);
        if by == 0.0 {
            if from < bounds.lo[k] || from > bounds.hi[k] {
                return None;
            }
        } else {
            let (a, b) = ((bounds.lo[k] - from) / by, (bounds.hi[k] - from) / by);
            (first, last) = (first.max(a.min(b)), last.min(a.max(b)));
        }
    }
    (first <= last).then_some(first)
}

/// Integers and powers of two, so that nothing is rounded, with ties.
#[test]
fn crossings_on_a_grid() {
    let mut random = Random::new(4);
    let mut place = |n: usize| [0.0; 3].map(|_: f64| random.below(n) as f64);
    let rays: Vec<Ray<f64, 3>> = (0..300)
        .map(|i| {
            let direction = place(3).map(|x| [0.0, 1.0, -2.0][x as usize]);
            let ray = Ray::new(place(12).map(|x| x - 1.0), direction);
            if i % 3 == 0 { ray.between(-4.0, 3.0) } else { ray }
        })
        .collect();
    for n in [0, 1, 500] {
        let boxes: Vec<Aabb<f64, 3>> = (0..n)
            .map(|_| {
                let (lo, size) = (place(10), place(4));
                Aabb::new(lo, std::array::from_fn::<f64, 3, _>(|k| lo[k] + size[k]))
            })
            .collect();
        assert!(compare(&boxes, &rays) > 10 || n < 500);
        let points: Vec<([f64; 3], u8)> = (0..n).map(|_| (place(10), 3)).collect();
        compare(&points, &rays);
    }
}

/// Bounds of user-defined shapes hold: a crossing does not begin before the box.
#[test]
fn crossings_begin_in_the_box() {
    let shapes: Vec<Early> = (0..100).map(|i| Early([f64::from(i % 10), f64::from(i / 10)])).collect();
    let rays: Vec<Ray<f64, 2>> = (0..20).map(|i| Ray::new([-1.0, f64::from(i) * 0.5], [1.0, 0.0])).collect();
    assert!(compare(&shapes, &rays) > 5);
}

/// The first k of shapes whose crossings are rounded are the first of all.
#[test]
fn first_crossings_of_shapes() {
    let mut random = Random::new(6);
    let mut place = |size: f32| [0.0; 3].map(|_: f32| size * random.unit() as f32);
    let mut rays: Vec<Ray<f32, 3>> = (0..200).map(|_| Ray::new(place(10.0), place(2.0).map(|x| x - 1.0))).collect();
    rays.push(Ray::new([f32::NAN, 0.0, 0.0], [1.0; 3]));
    rays.push(Ray::new([0.0; 3], [0.0; 3]));
    let spheres: Vec<Sphere<f32, 3>> = (0..400).map(|_| Sphere::new(place(10.0), 1.5)).collect();
    let triangles: Vec<Triangle<f32, 3>> = (0..400)
        .map(|i| {
            let (a, mut b, mut c) = (place(10.0), place(10.0), place(10.0));
            // Flat ones, which fill their boxes.
            if i % 2 == 0 {
                (b[i % 3], c[i % 3]) = (a[i % 3], a[i % 3]);
            }
            Triangle::new(a, b, c)
        })
        .collect();
    fn check<T: Crossed<f32, 3>>(shapes: Vec<T>, rays: &[Ray<f32, 3>]) {
        let bvh = ValueBvh::build(shapes).unwrap();
        let all = bvh.crossings_all(rays);
        let order = |a: &Crossing, b: &Crossing| (a.enter, a.index) < (b.enter, b.index);
        assert!(all.iter().any(|list| list.len() > 4) && all.iter().all(|list| list.is_sorted_by(order)));
        for (i, ray) in rays.iter().enumerate() {
            for (index, shape) in (0..).zip(bvh.values()) {
                let own = shape.crossing(ray);
                let found = all.of(i).iter().find(|crossing| crossing.index == index);
                assert_eq!(found.is_some(), own.is_some(), "{ray:?}");
                if let (Some(found), Some([enter, leave])) = (found, own) {
                    assert!((found.enter - enter).abs() < 1e-12 && (found.leave - leave).abs() < 1e-12, "{ray:?}");
                }
            }
            for k in 0..8 {
                assert_eq!(bvh.k_crossings(ray, k), all.of(i)[..k.min(all.of(i).len())], "{ray:?}");
            }
        }
    }
    check(spheres, &rays);
    check(triangles, &rays);
}

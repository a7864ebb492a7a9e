//! Nearest neighbours by the distance to shapes, and trees that own their values, compared with loops over all
//! shapes.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Mutex;

use common::random::Random;
use ropewalk::geometry::{Distance, HitBy, Query, Space};
use ropewalk::search::Neighbor;
use ropewalk::{Aabb, Bounded, Bvh, ErrorKind, Nearest, Scalar, Sphere, ValueBvh};

/// A user-defined shape: the segment between two corners of a box, whose distance differs much from that of the box.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stick<S, const D: usize>([S; D], [S; D]);

impl<S: Scalar, const D: usize> Bounded<S, D> for Stick<S, D> {
    fn bounds(&self) -> Aabb<S, D> {
        Aabb::point(self.0).union(&Aabb::point(self.1))
    }
}

impl<S: Scalar, const D: usize> Distance<S, D> for Stick<S, D> {
    fn distance2_to(&self, point: &[S; D]) -> f64 {
        let wide = |at: &[S; D]| at.map(Into::<f64>::into);
        let (from, to, at) = (wide(&self.0), wide(&self.1), wide(point));
        let dot = |a: [f64; D], b: [f64; D]| (0..D).map(|k| a[k] * b[k]).sum::<f64>();
        let minus = |a: [f64; D], b: [f64; D]| std::array::from_fn(|k| a[k] - b[k]);
        let (along, offset) = (minus(to, from), minus(at, from));
        let length2 = dot(along, along);
        let t = if length2 > 0.0 { (dot(along, offset) / length2).clamp(0.0, 1.0) } else { 0.0 };
        let rest: [f64; D] = std::array::from_fn(|k| offset[k] - t * along[k]);
        dot(rest, rest)
    }
}

impl<S: Scalar, const D: usize> HitBy<Sphere<S, D>> for Stick<S, D> {
    fn is_hit_by(&self, ball: &Sphere<S, D>) -> bool {
        ball.radius >= 0.0 && self.distance2_to(&ball.center) <= ball.radius * ball.radius
    }
}

/// Returns the expected neighbours, sorted by distance, ties by index. A distance that rounding puts below that of
/// the box is replaced by that of the box.
fn expected<T: Distance<S, D>, S: Scalar, const D: usize>(
    shapes: &[T],
    point: [S; D],
    k: usize,
    radius: f64,
    keep: impl Fn(u32) -> bool,
) -> Vec<Neighbor> {
    let to_box = |shape: &T| Space::OPEN.min_distance2(&Aabb::point(point), &shape.bounds());
    let mut all: Vec<Neighbor> = (0..)
        .zip(shapes)
        .filter(|&(index, _)| keep(index))
        .map(|(index, shape)| (index, shape.distance2_to(&point), to_box(shape)))
        .filter(|(_, distance2, _)| !distance2.is_nan())
        .map(|(index, distance2, to_box)| Neighbor { index, distance2: distance2.max(to_box) })
        .filter(|near| radius >= 0.0 && near.distance2 <= radius * radius)
        .collect();
    all.sort_by(|a, b| a.distance2.total_cmp(&b.distance2).then(a.index.cmp(&b.index)));
    all.truncate(k);
    all
}

/// Returns a number from 0 to 8, either any number or one on a grid, which creates ties.
fn number<S: Scalar>(random: &mut Random, grid: bool) -> S {
    S::from_f64(if grid { random.below(9) as f64 } else { 8.0 * random.unit() })
}

fn place<S: Scalar, const D: usize>(random: &mut Random, grid: bool) -> [S; D] {
    std::array::from_fn(|_| number(random, grid))
}

fn compare<T: Distance<S, D> + Clone + PartialEq + std::fmt::Debug, S: Scalar, const D: usize>(
    name: &str,
    make: impl Fn(&mut Random, bool) -> T,
) {
    for (n, grid) in [(0, false), (1, true), (40, true), (300, false), (300, true)] {
        let mut random = Random::new(n as u64 + u64::from(grid));
        let shapes: Vec<T> = (0..n).map(|_| make(&mut random, grid)).collect();
        let stored: Vec<(T, usize)> = shapes.iter().cloned().zip(0..).collect();
        let bvh = ValueBvh::build(stored).unwrap();
        let mut asked: Vec<[S; D]> = (0..9).map(|_| place(&mut random, grid)).collect();
        asked.push([S::from_f64(-1000.0); D]);
        for k in [0, 1, 7, 65, n, n + 1] {
            for &point in &asked {
                let what = format!("{name}, {n} shapes, grid {grid}, k = {k}, {point:?}");
                let found = |wanted: Nearest, keep: &dyn Fn(u32) -> bool| -> Vec<Neighbor> {
                    let near = bvh.nearest_where(point, wanted, |hit| keep(hit.index));
                    assert!(near.iter().all(|near| near.value.1 == near.index as usize), "{what}");
                    near.iter().map(|near| Neighbor { index: near.index, distance2: near.distance2 }).collect()
                };
                let (all, wanted) = (|_| true, Nearest::new(k));
                assert_eq!(found(wanted, &all), expected(&shapes, point, k, f64::INFINITY, all), "{what}");
                // The radius is inclusive: a radius equal to the second distance includes that neighbour.
                let second = expected(&shapes, point, 2, f64::INFINITY, all).last().map_or(1.0, |near| near.distance2);
                for radius in [0.0, 1.0, second.sqrt(), -1.0, f64::NAN] {
                    let near = expected(&shapes, point, k, radius, all);
                    assert_eq!(found(wanted.within(radius), &all), near, "{what}, within {radius}");
                }
                let third = |index: u32| index % 3 == 1;
                assert_eq!(
                    found(wanted, &third),
                    expected(&shapes, point, k, f64::INFINITY, third),
                    "{what}, every third"
                );
                let near = expected(&shapes, point, k, f64::INFINITY, |index| index != 0);
                assert_eq!(found(wanted.excluding(0), &all), near, "{what}, not the first");
            }
            let lists = bvh.nearest_all(&asked, k);
            for (of, &point) in asked.iter().enumerate() {
                assert_eq!(lists.of(of), expected(&shapes, point, k, f64::INFINITY, |_| true), "{name}, all at once");
            }
            let lists = bvh.nearest_all(&asked, Nearest::new(k).excluding_self());
            for (of, &point) in asked.iter().enumerate() {
                let near = expected(&shapes, point, k, f64::INFINITY, |index| index as usize != of);
                assert_eq!(lists.of(of), near, "{name}, not the own");
            }
        }
        assert_eq!(bvh.nearest([S::from_f64(f64::NAN); D], 3), []);
        assert_eq!(bvh.nearest([S::INFINITY; D], 3), []);
    }
}

fn compare_all<S: Scalar, const D: usize>() {
    compare::<_, S, D>("sticks", |random, grid| Stick(place(random, grid), place(random, grid)));
    compare::<_, S, D>("short sticks", |random, grid| {
        let from: [S; D] = place(random, grid);
        Stick(from, from.map(|x| x + S::from_f64(random.below(2) as f64 * 0.5)))
    });
    compare::<_, S, D>("balls", |random, grid| {
        Sphere::new(place::<S, D>(random, grid), if grid { random.below(4) as f64 } else { 2.0 * random.unit() })
    });
    compare::<_, S, D>("boxes", |random, grid| {
        let corner: [S; D] = place(random, grid);
        Aabb::point(corner).union(&Aabb::point(place(random, grid)))
    });
    compare::<_, S, D>("points", |random, grid| place::<S, D>(random, grid));
}

#[test]
fn nearest_by_the_distance_to_shapes() {
    compare_all::<f32, 2>();
    compare_all::<f32, 3>();
    compare_all::<f64, 3>();
    compare_all::<f64, 1>();
}

/// Copies have the same box, but each has its own distance.
#[test]
fn copies_at_distances_of_their_own() {
    let n = 500;
    let bvh = Bvh::build(&vec![[1.0f32, 2.0]; n]).unwrap();
    let distance2 = |index: u32| f64::from((index * 7 + 3) % n as u32 / 2);
    for point in [[1.0f32, 2.0], [1.5, 2.0]] {
        for k in [1, 5, 100, n] {
            let to_box = f64::from(point[0] - 1.0).powi(2);
            let mut all: Vec<(f64, u32)> = (0..n as u32).map(|i| (distance2(i).max(to_box), i)).collect();
            all.sort_by(|a, b| a.partial_cmp(b).unwrap());
            let near = bvh.nearest_by(point, k, |index| Some(distance2(index)));
            let found: Vec<(f64, u32)> = near.iter().map(|near| (near.distance2, near.index)).collect();
            assert_eq!(found, all[..k]);
        }
    }
}

/// Unusual distances: NaN and `None` are never near, a negative distance counts as that of the box, infinity is the
/// farthest.
#[test]
fn odd_distances() {
    let bvh = Bvh::build(&[[0.0f64], [1.0], [2.0], [3.0], [4.0]]).unwrap();
    let distances = [Some(f64::NAN), None, Some(f64::INFINITY), Some(-7.0), Some(-0.0)];
    for k in [2, 5] {
        let near = bvh.nearest_by([4.0], k, |index| distances[index as usize]);
        let found: Vec<(u32, f64)> = near.iter().map(|near| (near.index, near.distance2)).collect();
        assert_eq!(found, [(4, 0.0), (3, 1.0), (2, f64::INFINITY)][..k.min(3)]);
        assert!(near[0].distance2.is_sign_positive());
    }
    // A search within a search.
    let near = bvh.nearest_by([2.0], 1, |index| {
        let near = bvh.nearest([f64::from(index)], 2);
        Some(near[1].distance2 + f64::from(index.abs_diff(2)).powi(2))
    });
    assert_eq!((near[0].index, near[0].distance2), (2, 1.0));
}

/// In a periodic box, the caller computes distances to the nearest image. The tree finds boxes by the distance to their
/// images.
#[test]
fn periodic_boxes() {
    let mut random = Random::new(5);
    let points: Vec<[f64; 2]> = (0..300).map(|_| [0.0; 2].map(|_| random.unit() * 10.0)).collect();
    let bvh = Bvh::build_periodic(&points, 10.0).unwrap();
    for _ in 0..50 {
        let of = [0.0; 2].map(|_| random.unit() * 10.0);
        let by = bvh.nearest_by(of, 8, |index| Some(bvh.space().distance2(&of, &points[index as usize])));
        assert_eq!(by, bvh.nearest(of, 8));
        let odd = bvh.nearest_where(of, 8, |index| index % 2 == 1);
        let expected: Vec<Neighbor> = bvh.nearest(of, 300).into_iter().filter(|near| near.index % 2 == 1).collect();
        assert_eq!(odd, expected[..8]);
    }
}

/// Few distances are requested: only those of shapes whose boxes are nearer than the k-th neighbour.
#[test]
fn few_distances_are_asked_for() {
    let mut random = Random::new(9);
    let sticks: Vec<Stick<f32, 3>> = (0..20_000)
        .map(|_| {
            let from: [f32; 3] = place(&mut random, false);
            Stick(from, from.map(|x| x + 0.1 * random.unit() as f32))
        })
        .collect();
    let bvh = Bvh::build(&sticks).unwrap();
    for k in [1, 8] {
        let (asked, needed) = (Cell::new(0), Cell::new(0));
        for _ in 0..100 {
            let of: [f32; 3] = place(&mut random, false);
            let near = bvh.nearest_by(of, k, |index| {
                asked.set(asked.get() + 1);
                Some(sticks[index as usize].distance2_to(&of))
            });
            let kth = near[k - 1].distance2;
            let of = Aabb::point(of);
            let is_needed = |stick: &&Stick<f32, 3>| Space::OPEN.min_distance2(&of, &stick.bounds()) <= kth;
            needed.set(needed.get() + sticks.iter().filter(is_needed).count());
        }
        let (asked, needed) = (asked.get(), needed.get());
        assert!(asked >= needed && asked < 3 * needed + 100 * k, "{asked} distances, {needed} needed for k = {k}");
    }
    // No neighbours are requested, so no distances are needed.
    for wanted in [Nearest::new(0), Nearest::new(3).within(-1.0), Nearest::new(3).within(f64::NAN)] {
        assert_eq!(bvh.nearest_by([0.0; 3], wanted, |_| unreachable!("no distance is needed")), []);
    }
}

fn intersecting<T, Q>(name: &str, grid: bool, shapes: Vec<T>, queries: &[Q])
where
    T: Bounded<f32, 2> + HitBy<Q> + Clone,
    Q: Query<f32, 2> + Copy + std::fmt::Debug,
{
    let bvh = ValueBvh::build(shapes.iter().cloned().zip(100usize..).collect()).unwrap();
    let lists = bvh.query_all(queries);
    let called = Mutex::new(vec![vec![]; queries.len()]);
    bvh.for_each_hit(queries, |query, hit| {
        assert_eq!(hit.value.1, 100 + hit.index as usize);
        called.lock().unwrap()[query].push(hit.index);
        ControlFlow::Continue(())
    });
    let called = called.into_inner().unwrap();
    let firsts = Mutex::new(vec![vec![]; queries.len()]);
    bvh.for_each_hit(queries, |query, hit| {
        firsts.lock().unwrap()[query].push(hit.index);
        ControlFlow::Break(())
    });
    let firsts = firsts.into_inner().unwrap();
    let mut false_candidates = 0;
    for (at, query) in queries.iter().enumerate() {
        let what = format!("{name}, grid {grid}, {query:?}");
        let expected: Vec<u32> =
            (0..).zip(&shapes).filter(|(_, shape)| shape.is_hit_by(query)).map(|(i, _)| i).collect();
        let hits: Vec<u32> = bvh.query(*query).map(|hit| hit.index).collect();
        assert_eq!((&lists[at], &called[at]), (&hits[..], &hits), "{what}");
        assert_eq!(firsts[at], hits[..hits.len().min(1)], "{what}");
        false_candidates += bvh.bvh().query(*query).count() - hits.len();
        let mut hits = hits;
        hits.sort_unstable();
        assert_eq!(hits, expected, "{what}");
    }
    // For points and boxes the box determines the distance.
    assert_eq!(false_candidates > 0, ["sticks", "balls"].contains(&name), "{name}: {false_candidates}");
}

#[test]
fn what_shapes_intersect() {
    for grid in [false, true] {
        let mut random = Random::new(3);
        let mut places = |n: usize| -> Vec<[f32; 2]> { (0..n).map(|_| place(&mut random, grid)).collect() };
        let (from, to) = (places(400), places(400));
        let balls: Vec<Sphere<f32, 2>> =
            places(100).iter().zip(0..).map(|(&at, i)| Sphere::new(at, i % 4 - 1)).collect();
        let corners = |[from, to]: [&[f32; 2]; 2]| Aabb::point(*from).union(&Aabb::point(*to));
        let mut boxes: Vec<Aabb<f32, 2>> = places(100).iter().zip(&places(100)).map(|(a, b)| corners([a, b])).collect();
        boxes.extend([Aabb::EMPTY, Aabb::new([2.0, 2.0], [1.0, 3.0])]);
        let stored_balls: Vec<Sphere<f32, 2>> = from.iter().zip(0..).map(|(&at, i)| Sphere::new(at, i % 3)).collect();
        let stored_boxes: Vec<Aabb<f32, 2>> = from.iter().zip(&to).map(|(a, b)| corners([a, b])).collect();
        intersecting("sticks", grid, from.iter().zip(&to).map(|(a, b)| Stick(*a, *b)).collect(), &balls);
        intersecting("points", grid, from.clone(), &balls);
        intersecting("points", grid, from, &boxes);
        intersecting("balls", grid, stored_balls.clone(), &balls);
        intersecting("balls", grid, stored_balls, &boxes);
        intersecting("boxes", grid, stored_boxes.clone(), &balls);
        intersecting("boxes", grid, stored_boxes, &boxes);
    }
}

#[test]
fn values_that_move() {
    let mut bvh = ValueBvh::build(vec![([0.0f64, 0.0], 'a'), ([5.0, 0.0], 'b'), ([9.0, 0.0], 'c')]).unwrap();
    let old = bvh.refit(vec![([5.0, 1.0], 'd'), ([0.0, 0.0], 'e'), ([9.0, 0.0], 'f')]).unwrap();
    assert_eq!(old.iter().map(|value| value.1).collect::<String>(), "abc");
    assert_eq!(bvh.nearest([5.0, 0.0], 1)[0].value.1, 'd');
    // Values that cannot be stored leave the tree unchanged.
    for bad in [vec![([0.0, 0.0], 'x')], vec![([f64::NAN, 0.0], 'x'); 3]] {
        let error = bvh.refit(bad).unwrap_err();
        assert!([ErrorKind::Input, ErrorKind::NotFinite].contains(&error.kind()), "{error}");
        assert_eq!(bvh.nearest([5.0, 0.0], 1)[0].value.1, 'd');
    }
    assert!(ValueBvh::build(vec![([f32::NAN], 0)]).is_err());
    let pairs = Mutex::new(vec![]);
    bvh.for_each_pair(4.5, |a, b| pairs.lock().unwrap().push([a.value.1, b.value.1]));
    assert_eq!(pairs.into_inner().unwrap(), [['d', 'f']]);
    assert_eq!((bvh.len(), bvh.is_empty()), (3, false));
    assert_eq!(bvh.into_values().len(), 3);
}

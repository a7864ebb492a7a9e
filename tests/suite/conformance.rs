//! One suite for all implementations: each must give the results of the definitions.
//!
//! Implementations are brute force, a tree of points that have moved, and the tree on 1, 2 and 5 threads. The suite
//! covers `f32` and `f64`, 2 and 3 dimensions, open space and periodic boxes. `dimensions.rs` tests other dimensions
//! with fewer instantiations.

mod images;

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use common::clouds::{self, Cloud};
use common::engine::Engine;
use common::oracle::{self, NearestQuery, Side};
use common::random::Random;
use ropewalk::geometry::{Query, Space};
use ropewalk::search::Neighbor;
use ropewalk::{Aabb, Csr, Nearest, Scalar, Sphere};

/// A query of either shape, in one type, so that the suite is compiled only once.
#[derive(Clone, Copy, Debug)]
enum Shape<S, const D: usize> {
    Ball(Sphere<S, D>),
    Box(Aabb<S, D>),
}

impl<S: Scalar, const D: usize> Query<S, D> for Shape<S, D> {
    fn meets(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool {
        match self {
            Shape::Ball(ball) => ball.meets(bounds, space),
            Shape::Box(query) => query.meets(bounds, space),
        }
    }
    fn covers(&self, bounds: &Aabb<S, D>, space: &Space<D>) -> bool {
        match self {
            Shape::Ball(ball) => ball.covers(bounds, space),
            Shape::Box(query) => query.covers(bounds, space),
        }
    }
    fn center(&self) -> Option<[S; D]> {
        match self {
            Shape::Ball(ball) => Query::center(ball),
            Shape::Box(query) => Query::center(query),
        }
    }
    fn as_ball(&self) -> Option<&Sphere<S, D>> {
        match self {
            Shape::Ball(ball) => Some(ball),
            Shape::Box(_) => None,
        }
    }
}

/// A nearest-neighbour search for several points, and the expected results.
struct NearCase<S, const D: usize> {
    query: NearestQuery,
    centers: Vec<[S; D]>,
    expected: Vec<Vec<(u32, f64)>>,
}

/// A cloud with queries, and the results by definition.
struct Case<S, const D: usize> {
    cloud: Cloud<S, D>,
    side: Side,
    shapes: Vec<Shape<S, D>>,
    hits: Vec<Vec<u32>>,
    /// For each radius, the neighbours of each point.
    neighbors: Vec<(f64, Vec<Vec<u32>>)>,
    near: Vec<NearCase<S, D>>,
}

fn cases<S: Scalar, const D: usize>(clouds: Vec<Cloud<S, D>>, periodic: bool) -> Vec<Case<S, D>> {
    clouds.into_iter().map(|cloud| case(cloud, periodic)).collect()
}

fn case<S: Scalar, const D: usize>(cloud: Cloud<S, D>, periodic: bool) -> Case<S, D> {
    let side = periodic.then_some(cloud.side);
    let points: Vec<_> = cloud.points.iter().map(|point| oracle::wrap_point(point, side)).collect();
    let is_small = points.len() <= 400;

    let centers = centers(&cloud);
    let mut radii = cloud.radii.clone();
    radii.extend([0.0, -1.0, f64::NAN, f64::INFINITY, 0.6 * cloud.side]);
    let balls = centers.iter().flat_map(|&center| radii.iter().map(move |&radius| Sphere::new(center, radius)));
    let shapes: Vec<_> = balls.map(Shape::Ball).chain(boxes(&cloud).into_iter().map(Shape::Box)).collect();
    let hits = shapes
        .iter()
        .map(|shape| match shape {
            Shape::Ball(ball) => oracle::in_ball(&points, &ball.center, ball.radius, side),
            Shape::Box(query) => oracle::in_box(&points, &query.lo, &query.hi, side),
        })
        .collect();

    let radii = if is_small { radii } else { cloud.radii.clone() };
    let neighbors = radii.iter().map(|&radius| (radius, oracle::neighbors(&points, radius, side))).collect();

    let (n, radius) = (points.len(), cloud.radii[0]);
    let mut queries = vec![NearestQuery::new(0), NearestQuery::new(1), NearestQuery::new(10).excluding(3)];
    queries.push(NearestQuery::new(10).within(radius));
    queries.extend([0.0, -1.0, f64::NAN].map(|radius| NearestQuery::new(3).within(radius)));
    if is_small {
        queries.extend([NearestQuery::new(n), NearestQuery::new(n + 5).excluding(0)]);
        queries.push(NearestQuery::new(n).within(radius));
    }
    let near = queries
        .into_iter()
        .map(|query| {
            let of = |center: &[S; D]| oracle::nearest(&points, center, query, side);
            NearCase { query, centers: centers.clone(), expected: centers.iter().map(of).collect() }
        })
        .collect();
    Case { cloud, side, shapes, hits, neighbors, near }
}

/// Returns centres of queries: points of the cloud, positions between, outside and far outside, and invalid ones.
fn centers<S: Scalar, const D: usize>(cloud: &Cloud<S, D>) -> Vec<[S; D]> {
    let mut random = Random::new(1);
    let side = cloud.side;
    let mut centers: Vec<[S; D]> =
        (0..4.min(cloud.points.len())).map(|i| cloud.points[i * 7 % cloud.points.len()]).collect();
    for extent in [1.0, 1.2, 4.5] {
        centers.push(std::array::from_fn(|_| S::from_f64(side * (0.5 + extent * (random.unit() - 0.5)))));
    }
    // Corners and faces of the periodic box, and images of points several periods away.
    centers.extend([
        [S::ZERO; D],
        [S::from_f64(side); D],
        [S::from_f64(-1e-9 * side); D],
        [S::from_f64(7.25 * side); D],
    ]);
    if let Some(point) = cloud.points.last() {
        centers.push(point.map(|x| S::from_f64(Into::<f64>::into(x) - 3.0 * side)));
    }
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut center = [S::ZERO; D];
        center[D - 1] = S::from_f64(odd);
        centers.push(center);
    }
    centers
}

/// Returns boxes around points (with points on their faces), random boxes, and some that contain nothing or
/// everything.
fn boxes<S: Scalar, const D: usize>(cloud: &Cloud<S, D>) -> Vec<Aabb<S, D>> {
    let mut random = Random::new(2);
    let side = cloud.side;
    let mut boxes = vec![];
    for i in 0..4.min(cloud.points.len()) {
        let (a, b) = (cloud.points[i * 7 % cloud.points.len()], cloud.points[i * 13 % cloud.points.len()]);
        boxes.extend([Aabb::point(a), Aabb::point(a).union(&Aabb::point(b))]);
    }
    for extent in [0.1, 0.5, 0.9, 1.5, 3.0] {
        for shift in [0.0, -0.4, 0.7, 5.0] {
            let lo: [f64; D] = std::array::from_fn(|_| side * (shift + random.unit() - 0.5 * extent));
            let hi = lo.map(|lo| lo + extent * side);
            boxes.push(Aabb::new(lo.map(S::from_f64), hi.map(S::from_f64)));
        }
    }
    let [nan, infinity] = [f64::NAN, f64::INFINITY].map(S::from_f64);
    boxes.extend([Aabb::EMPTY, Aabb::new([S::NEG_INFINITY; D], [infinity; D]), Aabb::new([S::ZERO; D], [infinity; D])]);
    boxes.extend([Aabb::new([nan; D], [infinity; D]), Aabb::new([S::NEG_INFINITY; D], [nan; D])]);
    boxes
}

fn sorted(mut hits: Vec<u32>) -> Vec<u32> {
    hits.sort_unstable();
    hits
}

fn sorted_lists(lists: &Csr<u32>) -> Vec<Vec<u32>> {
    lists.iter().map(|list| sorted(list.to_vec())).collect()
}

fn pairs(near: &[Neighbor]) -> Vec<(u32, f64)> {
    near.iter().map(|near| (near.index, near.distance2)).collect()
}

fn conforms<S: Scalar, const D: usize, E: Engine<S, D>>(cases: &[Case<S, D>], threads: usize) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    for case in cases {
        let engine = pool.install(|| E::new(&case.cloud.points, case.side)).unwrap();
        let what = case.cloud.name;
        for (shape, hits) in case.shapes.iter().zip(&case.hits) {
            assert_eq!(&sorted(engine.query(*shape)), hits, "{what}: query({shape:?})");
        }
        pool.install(|| {
            many_queries(&engine, &case.shapes, &case.hits, what);
            for (radius, lists) in &case.neighbors {
                neighbors(&engine, *radius, lists, case, what);
            }
            for near in &case.near {
                nearest(&engine, near, what);
            }
            nearest_of_the_stored(&engine, case);
        });
    }
}

fn many_queries<S: Scalar, const D: usize, E: Engine<S, D>>(
    engine: &E,
    queries: &[Shape<S, D>],
    expected: &[Vec<u32>],
    what: &str,
) {
    assert_eq!(sorted_lists(&engine.query_all(queries)), expected, "{what}: query_all");
    let counts: Vec<u32> = expected.iter().map(|hits| hits.len() as u32).collect();
    assert_eq!(engine.count_all(queries), counts, "{what}: count_all");

    let visited: Vec<Mutex<Vec<u32>>> = queries.iter().map(|_| Mutex::default()).collect();
    engine.for_each_hit(queries, |query, hit| {
        visited[query].lock().unwrap().push(hit);
        ControlFlow::Continue(())
    });
    let visited: Vec<_> = visited.into_iter().map(|hits| sorted(hits.into_inner().unwrap())).collect();
    assert_eq!(visited, expected, "{what}: for_each_hit");

    // Break ends only the query that returns it.
    let visits: Vec<AtomicU32> = queries.iter().map(|_| AtomicU32::new(0)).collect();
    engine.for_each_hit(queries, |query, _| {
        let before = visits[query].fetch_add(1, Relaxed);
        if query % 2 == 0 || before == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let visits: Vec<u32> = visits.into_iter().map(AtomicU32::into_inner).collect();
    let stopped: Vec<u32> = counts.iter().enumerate().map(|(i, &n)| n.min(if i % 2 == 0 { 1 } else { 3 })).collect();
    assert_eq!(visits, stopped, "{what}: for_each_hit with Break");
}

fn neighbors<S: Scalar, const D: usize, E: Engine<S, D>>(
    engine: &E,
    radius: f64,
    lists: &[Vec<u32>],
    case: &Case<S, D>,
    what: &str,
) {
    let what = format!("{what}, radius {radius}");
    assert!(sorted_lists(&engine.neighbors(radius)) == lists, "{what}: neighbors");
    let counts: Vec<u32> = lists.iter().map(|list| list.len() as u32).collect();
    assert_eq!(engine.count_neighbors(radius), counts, "{what}: count_neighbors");

    let pairs = Mutex::new(vec![]);
    engine.for_each_pair(radius, |i, j| pairs.lock().unwrap().push((i, j)));
    let mut pairs = pairs.into_inner().unwrap();
    pairs.sort_unstable();
    let of = |(i, list): (u32, &Vec<u32>)| -> Vec<_> { list.iter().filter(|&&j| i < j).map(|&j| (i, j)).collect() };
    let expected: Vec<(u32, u32)> = (0..).zip(lists).flat_map(of).collect();
    assert!(pairs == expected, "{what}: for_each_pair");
    assert_eq!(engine.count_pairs(radius), expected.len() as u64, "{what}: count_pairs");

    if radius >= 0.0 && radius.is_finite() && case.side.is_none_or(|side| 2.0 * radius <= side) {
        let Some(halos) = engine.halos(radius) else { return };
        assert_eq!(halos.labels().as_slice(), oracle::components(lists), "{what}: labels");
    }
}

fn nearest<S: Scalar, const D: usize, E: Engine<S, D>>(
    engine: &E,
    NearCase { query, centers, expected }: &NearCase<S, D>,
    what: &str,
) {
    let wanted = Nearest::new(query.k).within(query.radius);
    let wanted = query.excluded.map_or(wanted, |index| wanted.excluding(index));
    for (point, expected) in centers.iter().zip(expected) {
        assert_eq!(&pairs(&engine.nearest(*point, wanted)), expected, "{what}: nearest({point:?}, {wanted:?})");
    }
    let all: Vec<_> = engine.nearest_all(centers, wanted).iter().map(pairs).collect();
    assert_eq!(&all, expected, "{what}: nearest_all({wanted:?})");
}

/// Compares some stored points with the definition, and all stored points with each other.
fn nearest_of_the_stored<S: Scalar, const D: usize, E: Engine<S, D>>(engine: &E, case: &Case<S, D>) {
    let points: Vec<_> = case.cloud.points.iter().map(|point| oracle::wrap_point(point, case.side)).collect();
    for k in [1, 5] {
        let wanted = Nearest::new(k).excluding_self();
        let graph = engine.nearest_neighbors(wanted);
        assert_eq!(graph.len(), points.len());
        for i in (0..points.len()).step_by(points.len() / 100 + 1) {
            let expected = oracle::nearest(&points, &points[i], NearestQuery::new(k).excluding(i as u32), case.side);
            assert_eq!(pairs(graph.of(i)), expected, "{}: the neighbours of {i}", case.cloud.name);
        }
        let asked = engine.nearest_all(&case.cloud.points, wanted);
        assert!(asked == graph, "{}: nearest_all and nearest_neighbors differ", case.cloud.name);
    }
}

macro_rules! stamp {
    ($($name:ident: $scalar:ty, $dim:literal;)*) => {$(
        mod $name {
            stamp!(open: false, $scalar, $dim);
            stamp!(periodic: true, $scalar, $dim);
        }
    )*};
    ($space:ident: $periodic:literal, $scalar:ty, $dim:literal) => {
        mod $space {
            use super::super::{Case, cases, clouds, conforms};
            use common::engine::Refitted;
            use ropewalk::reference::BruteForce;
            use ropewalk::Bvh;
            use std::sync::LazyLock;

            static CASES: LazyLock<Vec<Case<$scalar, $dim>>> = LazyLock::new(|| cases(clouds::all(), $periodic));

            #[test]
            fn brute_force() {
                conforms::<$scalar, $dim, BruteForce<$scalar, $dim>>(&CASES, 2);
            }

            #[test]
            fn tree_with_1_thread() {
                conforms::<$scalar, $dim, Bvh<$scalar, $dim>>(&CASES, 1);
            }

            #[test]
            fn tree_with_2_threads() {
                conforms::<$scalar, $dim, Bvh<$scalar, $dim>>(&CASES, 2);
            }

            #[test]
            fn tree_with_5_threads() {
                conforms::<$scalar, $dim, Bvh<$scalar, $dim>>(&CASES, 5);
            }

            #[test]
            fn refitted_tree() {
                conforms::<$scalar, $dim, Refitted<$scalar, $dim>>(&CASES, 2);
            }
        }
    };
}

stamp! {
    f32_in_2: f32, 2;
    f32_in_3: f32, 3;
    f64_in_2: f64, 2;
    f64_in_3: f64, 3;
}

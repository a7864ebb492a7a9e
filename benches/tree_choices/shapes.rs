//! Nodes that are boxes or k-DOPs: tests and times of queries by balls, boxes and rays.

use std::hint::black_box;

use ropewalk::geometry::{Convex, Segment, Triangle};
use ropewalk::{Aabb, Ray, Sphere};

use crate::clock::seconds;
use crate::curves::{Curve, codes};
use crate::tree::{Tree, Work};
use crate::volumes::{Bounds, Kdop, Kind, Query, Volume};
use crate::{Result, Sizes, radius_for, sets};

/// Prints the rows of one kind of queries: work per query, and ratios to the first row.
struct Table {
    first: Option<[f64; 4]>,
    queries: usize,
}

impl Table {
    fn new(title: &str, queries: usize) -> Self {
        println!("\n{title}: per query, and ratios to boxes");
        println!("{:>24} {:>16} {:>16} {:>16} {:>16} {:>9}", "volumes", "nodes", "volumes", "shapes", "us", "hits");
        Self { first: None, queries }
    }

    fn row(&mut self, name: &str, work: Work, seconds: f64) {
        let per_query = |x: f64| x / self.queries as f64;
        let row = [work.nodes as f64, work.volumes as f64, work.primitives as f64, 1e6 * seconds].map(per_query);
        let first = *self.first.get_or_insert(row);
        let cells: Vec<String> =
            row.iter().zip(first).map(|(own, first)| format!("{own:>8.2} ({:>5.3})", own / first)).collect();
        println!("{name:>24} {} {:>9.2}", cells.join(" "), per_query(work.hits as f64));
    }
}

/// A name, and a function that runs all queries.
type Walk<'a, const D: usize> = (&'a str, &'a dyn Fn(&[Query<D>]) -> Work);

/// Runs several walks in turns, and prints the shortest time of each.
fn race<const D: usize>(title: &str, queries: &[Query<D>], turns: usize, walks: &[Walk<'_, D>]) {
    let mut results = vec![(Work::default(), f64::INFINITY); walks.len()];
    for _ in 0..turns {
        for (result, (_, walk)) in results.iter_mut().zip(walks) {
            let start = seconds();
            result.0 = black_box(walk(queries));
            result.1 = result.1.min(seconds() - start);
        }
    }
    let mut table = Table::new(title, queries.len());
    for ((name, _), (work, seconds)) in walks.iter().zip(&results) {
        assert_eq!(work.hits, results[0].0.hits, "{title}, {name}: all volumes have the same hits");
        table.row(name, *work, *seconds);
    }
}

fn sum(works: impl Iterator<Item = Work>) -> Work {
    works.fold(Work::default(), |a, b| Work {
        nodes: a.nodes + b.nodes,
        volumes: a.volumes + b.volumes,
        primitives: a.primitives + b.primitives,
        hits: a.hits + b.hits,
    })
}

/// Compares volumes of nodes for points.
pub fn compare_points(name: &str, points: &[[f32; 3]], sizes: &Sizes) {
    compare_points_in::<3, 4>(name, points, sizes);
    compare_points_in::<2, 2>(name, &sets::flat(points), sizes);
}

fn compare_points_in<const D: usize, const E: usize>(name: &str, points: &[[f32; D]], sizes: &Sizes) {
    let codes = codes(points, Curve::Morton, 63 / D as u32);
    let boxes = Tree::<Bounds<D>, D>::new(&codes, |i| Bounds::around(&[points[i]]));
    let kdops = Tree::<Kdop<D, E>, D>::new(&codes, |i| Kdop::around(&[points[i]]));
    let axes: [Vec<f32>; D] = std::array::from_fn(|k| boxes.order.iter().map(|&i| points[i as usize][k]).collect());
    let stride = (points.len() / sizes.queries).max(1);
    let centers: Vec<[f32; D]> = boxes.order.iter().step_by(stride).map(|&i| points[i as usize]).collect();
    for hits in [10.0, 100.0] {
        let radius = radius_for::<D>(points.len(), hits);
        let balls: Vec<_> = centers.iter().map(|&center| Query::ball(center, radius)).collect();
        let squares: Vec<_> = centers.iter().map(|&center| Query::around(center, 0.8 * radius)).collect();
        for (kind, queries) in [("balls", balls), ("boxes", squares)] {
            let title = format!("{name}, {} points in {D} dimensions, {kind} of radius {radius:.5}", points.len());
            race(
                &title,
                &queries,
                sizes.turns,
                &[
                    ("boxes", &|queries| sum(queries.iter().map(|query| count_points(&boxes, &axes, query)))),
                    ("k-DOPs", &|queries| sum(queries.iter().map(|query| count_points(&kdops, &axes, query)))),
                ],
            );
        }
    }
}

/// Counts the points in a ball or a box. Leaves are tested by loops that compile to vector instructions.
#[inline(always)]
fn count_points<V: Volume<D>, const D: usize>(tree: &Tree<V, D>, axes: &[Vec<f32>; D], query: &Query<D>) -> Work {
    let mut work = Work::default();
    work.nodes = tree.walk(query, |leaf| {
        work.volumes += leaf.len() as u64;
        let axes: [&[f32]; D] = std::array::from_fn(|k| &axes[k][leaf.clone()]);
        let hits: u32 = match &query.kind {
            Kind::Ball { center, radius } => (0..leaf.len())
                .map(|i| (0..D).map(|k| (axes[k][i] - center[k]).powi(2)).sum::<f32>())
                .map(|distance2| u32::from(distance2 <= radius * radius))
                .sum(),
            Kind::Box { lo, hi } => (0..leaf.len())
                .map(|i| (0..D).fold(true, |inside, k| inside & (lo[k] <= axes[k][i]) & (axes[k][i] <= hi[k])))
                .map(u32::from)
                .sum(),
            Kind::Ray { .. } => 0,
        };
        work.hits += u64::from(hits);
    });
    work.primitives = work.volumes;
    work
}

/// Compares volumes of nodes, and of stored shapes, for segments and triangles.
pub fn compare_shapes(sizes: &Sizes) -> Result<()> {
    let n = sizes.shapes;
    let spacing = (n as f32).cbrt().recip();
    let triangle = |[a, b, c]: &[[f32; 3]; 3]| Triangle::new(*a, *b, *c);
    let segment = |[a, b]: &[[f32; 3]; 2]| Segment::new(*a, *b);
    compare_set::<_, 3, 4, 3>("small triangles", &sets::triangles(n, spacing, spacing)?, triangle, sizes)?;
    compare_set::<_, 3, 4, 3>(
        "long thin triangles",
        &sets::triangles(n, 8.0 * spacing, 0.2 * spacing)?,
        triangle,
        sizes,
    )?;
    compare_set::<_, 3, 4, 3>("triangles of a surface", &sets::surface(n), triangle, sizes)?;
    compare_set::<_, 3, 4, 2>("long segments", &sets::segments(n, 8.0 * spacing)?, segment, sizes)?;
    let spacing = (n as f32).sqrt().recip();
    let segment = |[a, b]: &[[f32; 2]; 2]| Segment::new(*a, *b);
    compare_set::<_, 2, 2, 2>("long segments in the plane", &sets::segments(n, 8.0 * spacing)?, segment, sizes)
}

fn compare_set<P: Convex<f32, D>, const D: usize, const E: usize, const M: usize>(
    name: &str,
    corners: &[[[f32; D]; M]],
    shape: impl Fn(&[[f32; D]; M]) -> P,
    sizes: &Sizes,
) -> Result<()> {
    let shapes: Vec<P> = corners.iter().map(shape).collect();
    let centers: Vec<[f32; D]> = corners
        .iter()
        .map(|corners| Bounds::around(corners))
        .map(|bounds| std::array::from_fn(|k| 0.5 * (bounds.lo[k] + bounds.hi[k])))
        .collect();
    let codes = codes(&centers, Curve::Morton, 63 / D as u32);
    let boxes = Tree::<Bounds<D>, D>::new(&codes, |i| Bounds::around(&corners[i]));
    let kdops = Tree::<Kdop<D, E>, D>::new(&codes, |i| Kdop::around(&corners[i]));

    // Queries near shapes, in the order of the tree.
    let radius = (corners.len() as f32).powf(-1.0 / D as f32);
    let moves = sets::vectors::<D>(corners.len(), 8, radius)?;
    let ways = sets::vectors::<D>(corners.len(), 9, 1.0)?;
    let stride = (4 * corners.len() / sizes.queries).max(1);
    let near = boxes.order.iter().step_by(stride).map(|&i| i as usize);
    let near: Vec<(usize, [f32; D])> =
        near.map(|i| (i, std::array::from_fn(|k| corners[i][0][k] + moves[i][k]))).collect();
    let balls = near.iter().map(|&(_, center)| Query::ball(center, radius)).collect();
    let squares = near.iter().map(|&(_, center)| Query::around(center, 0.8 * radius)).collect();
    let rays = near.iter().step_by(10).map(|&(i, origin)| Query::ray(origin, ways[i])).collect();
    let kinds: [(&str, Vec<Query<D>>); 3] = [("balls", balls), ("boxes", squares), ("rays", rays)];
    for (kind, queries) in kinds {
        // Rays do not hit segments in space.
        if kind == "rays" && D == 3 && M == 2 {
            continue;
        }
        let title = format!("{name}: {} shapes, {kind}", shapes.len());
        let with = |query: &Query<D>, i: usize| hits(&shapes[i], query);
        race(
            &title,
            &queries,
            sizes.turns,
            &[
                ("boxes", &|queries| {
                    sum(queries.iter().map(|query| boxes.count(query, &boxes.volumes, &|i| with(query, i))))
                }),
                ("k-DOPs of nodes", &|queries| {
                    sum(queries.iter().map(|query| kdops.count(query, &boxes.volumes, &|i| with(query, i))))
                }),
                ("k-DOPs of shapes", &|queries| {
                    sum(queries.iter().map(|query| boxes.count(query, &kdops.volumes, &|i| with(query, i))))
                }),
                ("k-DOPs of both", &|queries| {
                    sum(queries.iter().map(|query| kdops.count(query, &kdops.volumes, &|i| with(query, i))))
                }),
            ],
        );
    }
    Ok(())
}

/// The library's test of a shape.
fn hits<const D: usize>(shape: &impl Convex<f32, D>, query: &Query<D>) -> bool {
    match query.kind {
        Kind::Ball { center, radius } => shape.intersects(&Sphere::new(center, f64::from(radius))),
        Kind::Box { lo, hi } => shape.intersects(&Aabb::new(lo, hi)),
        Kind::Ray { origin, direction, .. } => shape.ray_interval(&Ray::new(origin, direction)).is_some(),
    }
}

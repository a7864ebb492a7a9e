//! Choices in the design of a tree that ropewalk does not offer. They are the Hilbert curve instead of the Morton curve,
//! codes of 32 bits instead of 64, and k-DOPs instead of boxes as volumes of nodes.
//!
//!     cargo bench -p ropewalk-benches --bench tree_choices -- [PART] [POINTS.npy]
//!
//! PART is `curves`, `order` or `volumes`; all three by default. POINTS.npy is an array N x 3 of `f32`. Without
//! `--bench`, all parts run once with few points.
//!
//! The trees are built here, with the splits, leaves and ropes of the library, and walked by one thread without vector
//! instructions of AVX2. They count the tests of each choice. Ratios of times compare walks with each other, not
//! with those of the library. Tests of shapes are those of the library. Part `order` times the library itself. On Linux,
//! times are processor times of the thread, so that other programs change them less.

use std::error::Error;
use std::hint::black_box;

use ropewalk::Bvh;

mod clock;
mod curves;
mod order;
mod sets;
mod shapes;
mod tree;
mod volumes;

use clock::seconds;
use curves::{Curve, codes};
use tree::Tree;
use volumes::{Bounds, Query};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The sizes of a run.
struct Sizes {
    points: usize,
    shapes: usize,
    queries: usize,
    turns: usize,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let sizes = match arguments.iter().any(|argument| argument == "--bench") {
        true => Sizes { points: 1_000_000, shapes: 200_000, queries: 100_000, turns: 5 },
        false => Sizes { points: 2000, shapes: 1000, queries: 200, turns: 1 },
    };
    let named: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| !argument.starts_with("--")).collect();
    let file = named.iter().copied().find(|name| name.ends_with(".npy"));
    let runs = |part: &str| named.iter().all(|name| *name == part || name.ends_with(".npy"));
    curves::check::<2>();
    curves::check::<3>();
    let clouds = sets::clouds(sizes.points, file)?;
    if runs("curves") {
        for (name, points) in &clouds {
            compare_codes::<3>(name, points, &sizes)?;
            compare_codes::<2>(name, &sets::flat(points), &sizes)?;
        }
    }
    if runs("order") {
        for (name, points) in &clouds {
            order::compare(name, points, &sizes)?;
        }
    }
    if runs("volumes") {
        for (name, points) in &clouds {
            shapes::compare_points(name, points, &sizes);
        }
        shapes::compare_shapes(&sizes)?;
    }
    Ok(())
}

/// The shortest time of several turns, in seconds, and the last result.
fn shortest<T>(turns: usize, mut run: impl FnMut() -> T) -> (f64, T) {
    let mut turn = || {
        let start = seconds();
        let result = black_box(run());
        (seconds() - start, result)
    };
    (1..turns).fold(turn(), |(shortest, _), _| {
        let (time, result) = turn();
        (time.min(shortest), result)
    })
}

/// The radius of a sphere or circle that holds `hits` of `n` uniform points in the unit box.
fn radius_for<const D: usize>(n: usize, hits: f64) -> f32 {
    let volume = if D == 2 { std::f64::consts::PI } else { 4.0 / 3.0 * std::f64::consts::PI };
    (hits / (n as f64 * volume)).powf(1.0 / D as f64) as f32
}

/// Compares trees over codes of different curves and numbers of bits.
fn compare_codes<const D: usize>(name: &str, points: &[[f32; D]], sizes: &Sizes) -> Result<()> {
    // The smaller radius is for the dense parts of clustered sets.
    let radius = radius_for::<D>(points.len(), 10.0);
    for radius in [radius, 0.1 * radius] {
        compare_codes_at(name, points, radius, sizes)?;
    }
    Ok(())
}

fn compare_codes_at<const D: usize>(name: &str, points: &[[f32; D]], radius: f32, sizes: &Sizes) -> Result<()> {
    let (wide, narrow) = (63 / D as u32, 32 / D as u32);
    let stride = (points.len() / sizes.queries).max(1);
    println!("\n{name}, {D} dimensions, {} points: spheres of radius {radius:.5} around stored points", points.len());
    println!("{:>16} {:>9} {:>9} {:>9} {:>9} {:>9}", "codes", "bits", "nodes", "points", "time", "sort");
    let mut first = None;
    for (curve, bits) in
        [(Curve::Morton, wide), (Curve::Hilbert, wide), (Curve::Morton, narrow), (Curve::Hilbert, narrow)]
    {
        let codes = codes(points, curve, bits);
        let tree = Tree::<Bounds<D>, D>::new(&codes, |i| Bounds { lo: points[i], hi: points[i] });
        if (curve, bits) == (Curve::Morton, wide) {
            is_that_of_the_library(&tree, points)?;
        }
        let queries: Vec<Query<D>> =
            tree.order.iter().step_by(stride).map(|&i| Query::ball(points[i as usize], radius)).collect();
        let (time, (nodes, tested)) = shortest(sizes.turns, || {
            queries.iter().fold((0, 0), |(nodes, tested), query| {
                let mut own = 0;
                let visited = tree.walk(query, |leaf| own += leaf.len() as u64);
                (nodes + visited, tested + own)
            })
        });
        let sort = sort_time(&codes, bits * D as u32, sizes.turns);
        let row = [nodes as f64, tested as f64, time, sort];
        let &mut base = first.get_or_insert(row);
        let ratios: Vec<String> = row.iter().zip(base).map(|(own, base)| format!("{:>9.3}", own / base)).collect();
        let per_query = |x: f64| x / queries.len() as f64;
        println!(
            "{:>16} {:>9} {}   ({:.1} nodes, {:.1} points, {:.2} us per query, sort {:.1} ms)",
            format!("{curve:?}"),
            bits * D as u32,
            ratios.join(" "),
            per_query(nodes as f64),
            per_query(tested as f64),
            per_query(1e6 * time),
            1e3 * sort
        );
    }
    Ok(())
}

/// The time of a radix sort of codes with their indices, as numbers of 32 or 64 bits.
fn sort_time(codes: &[u64], bits: u32, turns: usize) -> f64 {
    let time = |sort: &mut dyn FnMut()| shortest(turns, sort).0;
    if bits <= 32 {
        let pairs: Vec<(u32, u32)> = codes.iter().map(|&code| code as u32).zip(0..).collect();
        let copy = time(&mut || drop(black_box(pairs.clone())));
        time(&mut || radsort::sort_by_key(&mut black_box(pairs.clone()), |pair| pair.0)) - copy
    } else {
        let pairs: Vec<(u64, u32)> = codes.iter().copied().zip(0..).collect();
        let copy = time(&mut || drop(black_box(pairs.clone())));
        time(&mut || radsort::sort_by_key(&mut black_box(pairs.clone()), |pair| pair.0)) - copy
    }
}

/// Checks that the nodes over Morton codes are those of the library. Sets with more equal codes than a leaf holds have
/// other nodes there.
fn is_that_of_the_library<const D: usize>(tree: &Tree<Bounds<D>, D>, points: &[[f32; D]]) -> Result<()> {
    let library = Bvh::build(points)?;
    let alike =
        library.n_nodes() + 1 == tree.nodes.len()
            && library.nodes().iter().zip(&tree.nodes).all(|(a, b)| {
                (a.rope, a.first, a.bounds.lo, a.bounds.hi) == (b.rope, b.first, b.volume.lo, b.volume.hi)
            });
    println!("nodes of the library: {}", if alike { "equal" } else { "different" });
    Ok(())
}

//! Early exit: a query is a lazy iterator that traverses the tree while it is read.
//!
//! `cargo run --release --example early_exit`

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ropewalk::{Bvh, Sphere};

fn main() -> ropewalk::Result<()> {
    // A spiral of 100,000 points, dense at the centre and sparse outside.
    let points: Vec<[f64; 2]> = (0..100_000)
        .map(|i| {
            let (radius, angle) = ((f64::from(i) / 100_000.0).powi(2), f64::from(i) * 0.01);
            [radius * angle.cos(), radius * angle.sin()]
        })
        .collect();
    let bvh = Bvh::build(&points)?;

    // Are at least 20 points near? `nth` stops at the twentieth.
    for (place, center) in [("centre", [0.0, 0.0]), ("edge", [0.0, 1.0])] {
        let is_dense = bvh.query(Sphere::new(center, 0.01)).nth(20 - 1).is_some();
        println!("{place}: {}", if is_dense { "dense" } else { "sparse" });
    }

    // Is there any point at all? All iterator methods that stop early also end the traversal.
    let far = Sphere::new([3.0, 3.0], 0.5);
    assert_eq!(bvh.query(far).next(), None);
    let even = bvh.query(Sphere::new([0.5, 0.0], 0.1)).any(|i| i % 2 == 0);
    println!("a point with an even index near (0.5, 0): {even}");

    // Many queries in parallel: Break ends one query, and the others continue.
    let balls: Vec<_> = points.iter().map(|&center| Sphere::new(center, 0.5)).collect();
    let (hits, visited) = (bvh.count_all(&balls), AtomicUsize::new(0));
    let counts: Vec<_> = balls.iter().map(|_| AtomicUsize::new(0)).collect();
    bvh.for_each_hit(&balls, |ball, _point| {
        visited.fetch_add(1, Relaxed);
        if counts[ball].fetch_add(1, Relaxed) + 1 == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let all: f64 = hits.iter().map(|&n| f64::from(n)).sum();
    println!("visited {} of {:.1} billion hits: five per sphere", visited.load(Relaxed), all / 1e9);
    assert_eq!(visited.load(Relaxed), 5 * balls.len());
    Ok(())
}

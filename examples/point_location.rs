//! The tetrahedron of a mesh that contains a point, and interpolation of a field from its corners.
//!
//!     cargo run --release --example point_location

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use ropewalk::geometry::Tetrahedron;
use ropewalk::{Result, ValueBvh};

const CELLS: usize = 20;

fn main() -> Result<()> {
    // Each cell of a grid is split into six tetrahedra around its diagonal, one for each order of the axes (Kuhn
    // 1960).
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let field = |[x, y, z]: [f64; 3]| 2.0 * x - y + 0.5 * z;
    let mut mesh = vec![];
    for cell in 0..CELLS.pow(3) {
        let corner = [cell / CELLS / CELLS, cell / CELLS % CELLS, cell % CELLS].map(|x| x as f64);
        for order in orders {
            let mut corners = [corner; 4];
            for (step, axis) in order.into_iter().enumerate() {
                corners[step + 1..].iter_mut().for_each(|corner| corner[axis] += 1.0);
            }
            // Each tetrahedron stores the field at its corners.
            mesh.push((Tetrahedron::new(corners), corners.map(field)));
        }
    }
    let bvh = ValueBvh::build(mesh)?;

    // One point: the tree finds a few candidates by their boxes, and one or more of them contain the point. Faces
    // belong to a tetrahedron, and the test is exact, so no point falls between two tetrahedra.
    let point = [7.25, 3.5, 11.125];
    let hit = bvh.query(point).next();
    let candidates = bvh.bvh().query(point).count();
    if let Some(hit) = hit {
        let (tetrahedron, values) = hit.value;
        let weights = tetrahedron.barycentric(point).unwrap_or_default();
        let value: f64 = weights.iter().zip(values).map(|(weight, value)| weight * value).sum();
        println!("{point:?} is in tetrahedron {} of {}, one of {candidates} candidates", hit.index, bvh.len());
        println!("the field there is {value:.6}, exact {:.6}", field(point));
        assert!((value - field(point)).abs() < 1e-12);
    }

    // Many points in parallel: the first tetrahedron that contains a point suffices.
    let points: Vec<[f64; 3]> = (1..=100_000)
        .map(|i| {
            [0.819_172_513_396_164, 0.671_043_606_703_789, 0.549_700_477_901_970]
                .map(|step| 1.25 * CELLS as f64 * (step * f64::from(i)).fract())
        })
        .collect();
    let inside = AtomicU64::new(0);
    bvh.for_each_hit(&points, |query, hit| {
        let (tetrahedron, values) = hit.value;
        let weights = tetrahedron.barycentric(points[query]).unwrap_or_default();
        let value: f64 = weights.iter().zip(values).map(|(weight, value)| weight * value).sum();
        assert!((value - field(points[query])).abs() < 1e-10);
        inside.fetch_add(1, Relaxed);
        ControlFlow::Break(())
    });
    let inside = inside.into_inner();
    let expected = points.iter().filter(|point| point.iter().all(|&x| x <= CELLS as f64)).count();
    println!("{inside} of {} points are inside the mesh", points.len());
    assert_eq!(inside, expected as u64);
    Ok(())
}

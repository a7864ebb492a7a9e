//! Single queries of the library in the order of the Morton curve, in that of the Hilbert curve, and in random order.

use ropewalk::sample::Uniform;
use ropewalk::{Bvh, Sphere};

use crate::curves::{Curve, codes};
use crate::{Result, Sizes, radius_for, shortest};

/// Times range queries and nearest-neighbour queries in each order.
pub fn compare(name: &str, points: &[[f32; 3]], sizes: &Sizes) -> Result<()> {
    let tree = Bvh::build(points)?;
    let radius = f64::from(radius_for::<3>(points.len(), 10.0));
    // Queries near stored points, so that they are clustered as the points are.
    let moves = Uniform::new(points.len()).seed(7).points()?;
    let stride = (points.len() / (5 * sizes.queries)).max(1);
    let random: Vec<[f32; 3]> = points
        .iter()
        .zip(&moves)
        .step_by(stride)
        .map(|(point, by)| std::array::from_fn(|k| point[k] + (by[k] - 0.5) * radius as f32))
        .collect();
    let sorted = |curve| {
        let codes = codes(&random, curve, 21);
        let mut order: Vec<usize> = (0..random.len()).collect();
        order.sort_by_key(|&query| codes[query]);
        order.into_iter().map(|query| random[query]).collect::<Vec<_>>()
    };
    let orders = [("Morton", sorted(Curve::Morton)), ("Hilbert", sorted(Curve::Hilbert)), ("random", random.clone())];

    println!("\n{name}, {} single queries of the library on {} points", random.len(), points.len());
    println!("{:>16} {:>9} {:>9} {:>9}", "order", "count", "1 near", "10 near");
    let mut rows = [[f64::INFINITY; 3]; 3];
    // In turns, because times on a busy machine drift.
    for _ in 0..sizes.turns {
        for (row, (_, queries)) in rows.iter_mut().zip(&orders) {
            let mut found = vec![];
            let count = || queries.iter().map(|&center| tree.query(Sphere::new(center, radius)).count()).sum::<usize>();
            row[0] = row[0].min(shortest(1, count).0);
            for (time, k) in row[1..].iter_mut().zip([1, 10]) {
                let mut nearest = || {
                    queries.iter().fold(0.0, |sum, &point| {
                        tree.nearest_into(point, k, &mut found);
                        sum + found[0].distance2
                    })
                };
                *time = time.min(shortest(1, &mut nearest).0);
            }
        }
    }
    for ((order, queries), row) in orders.iter().zip(rows) {
        let ratios: Vec<String> = row.iter().zip(rows[0]).map(|(own, base)| format!("{:>9.3}", own / base)).collect();
        let micro: Vec<String> = row.iter().map(|time| format!("{:.2}", 1e6 * time / queries.len() as f64)).collect();
        println!("{order:>16} {}   (us per query: {})", ratios.join(" "), micro.join(", "));
    }
    Ok(())
}

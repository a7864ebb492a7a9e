//! The boxes that contain points: one point, then many in parallel.
//!
//!     cargo run --release --example simple_intersection

use ropewalk::{Aabb, Bvh, Result};

fn main() -> Result<()> {
    // Four unit squares around the centre of a larger square.
    let mut boxes: Vec<Aabb<f64, 2>> = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
        .map(|corner| Aabb::new(corner, corner.map(|x| x + 1.0)))
        .to_vec();
    boxes.push(Aabb::new([0.25, 0.25], [1.75, 1.75]));
    let bvh = Bvh::build(&boxes)?;

    // A point is a query. Faces belong to a box.
    println!("{} boxes contain the centre", bvh.query([1.0, 1.0]).count());

    let points = [[0.125, 0.125], [0.5, 0.5], [1.0, 0.5], [1.75, 1.75], [2.0, 2.0], [3.0, 0.0]];
    let lists = bvh.query_all(&points);
    for (point, hits) in points.iter().zip(&lists) {
        let mut hits = hits.to_vec();
        hits.sort_unstable();
        println!("{point:?} is in {hits:?}");
        assert!((0..5).all(|i| hits.contains(&i) == boxes[i as usize].contains(*point)));
    }
    Ok(())
}

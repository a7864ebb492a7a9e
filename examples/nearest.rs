//! The k nearest neighbours: of a place, of many places, of all stored points.
//!
//! `cargo run --release --example nearest`

use ropewalk::{Bvh, Nearest};

const CITIES: [(&str, [f64; 2]); 8] = [
    ("Amsterdam", [4.90, 52.37]),
    ("Berlin", [13.40, 52.52]),
    ("Copenhagen", [12.57, 55.68]),
    ("Hamburg", [9.99, 53.55]),
    ("Paris", [2.35, 48.86]),
    ("Prague", [14.44, 50.08]),
    ("Vienna", [16.37, 48.21]),
    ("Zurich", [8.54, 47.38]),
];

fn main() -> ropewalk::Result<()> {
    // Longitude and latitude are used as plane coordinates, which suffices for an example.
    let places = CITIES.map(|(_, place)| place);
    let bvh = Bvh::build(&places)?;
    let name = |index: u32| CITIES[index as usize].0;

    // The three nearest cities to a place, nearest first.
    let dresden = [13.74, 51.05];
    println!("nearest to Dresden:");
    for near in bvh.nearest(dresden, 3) {
        println!("  {:<10} {:.2} degrees", name(near.index), near.distance2.sqrt());
    }

    // Within 1.6 degrees there may be fewer than three.
    let close = bvh.nearest(dresden, Nearest::new(3).within(1.6));
    println!("within 1.6 degrees: {}", close.iter().map(|near| name(near.index)).collect::<Vec<_>>().join(", "));
    assert_eq!(close.len(), 2);

    // The nearest other city of each city: a graph of all stored points, computed in parallel.
    let graph = bvh.nearest_neighbors(Nearest::new(1).excluding_self());
    for (city, near) in graph.iter().enumerate() {
        println!("{:<10} -> {}", CITIES[city].0, name(near[0].index));
    }
    assert!(graph.iter().enumerate().all(|(city, near)| near[0].index != city as u32));
    Ok(())
}

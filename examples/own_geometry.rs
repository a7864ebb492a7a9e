//! User-defined geometry in the tree: streets are segments, and a query finds those that pass near a place.
//!
//! `cargo run --release --example own_geometry`

use ropewalk::{Aabb, Bounded, Bvh, Sphere};

struct Street {
    name: &'static str,
    from: [f64; 2],
    to: [f64; 2],
}

/// The only requirement of the tree: a bounding box of each primitive.
impl Bounded<f64, 2> for Street {
    fn bounds(&self) -> Aabb<f64, 2> {
        Aabb::point(self.from).union(&Aabb::point(self.to))
    }
}

impl Street {
    /// Returns the distance from a place to the nearest point of the street.
    fn distance(&self, place: [f64; 2]) -> f64 {
        let along = [self.to[0] - self.from[0], self.to[1] - self.from[1]];
        let offset = [place[0] - self.from[0], place[1] - self.from[1]];
        let length2 = along[0] * along[0] + along[1] * along[1];
        let t = ((along[0] * offset[0] + along[1] * offset[1]) / length2).clamp(0.0, 1.0);
        (offset[0] - t * along[0]).hypot(offset[1] - t * along[1])
    }
}

fn main() -> ropewalk::Result<()> {
    let streets = [
        Street { name: "Ropewalk", from: [0.0, 0.0], to: [8.0, 0.0] },
        Street { name: "Harbour Lane", from: [0.0, 0.0], to: [0.0, 5.0] },
        Street { name: "The Diagonal", from: [0.0, 5.0], to: [8.0, 0.0] },
        Street { name: "Far Road", from: [20.0, 20.0], to: [30.0, 20.0] },
    ];
    let bvh = Bvh::build(&streets)?;

    // The tree finds candidates by their boxes, and user code tests them.
    let (home, radius) = ([1.0, 0.5], 1.25);
    let candidates = bvh.query(Sphere::new(home, radius)).count();
    let mut near: Vec<&Street> = bvh
        .query(Sphere::new(home, radius))
        .map(|i| &streets[i as usize])
        .filter(|s| s.distance(home) <= radius)
        .collect();
    near.sort_by_key(|street| street.name);

    println!("{candidates} of {} streets are candidates", streets.len());
    for street in &near {
        println!("{}: {:.2} away", street.name, street.distance(home));
    }
    // The bounding box of The Diagonal contains the place, but the street is not near.
    assert_eq!((candidates, near.len()), (3, 2));
    Ok(())
}

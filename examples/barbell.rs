//! The centre of a halo that is really two halos: a bar-bell that friends of friends has linked by a bridge.
//!
//! `cargo run --release --example barbell`

use ropewalk::{Center, Fof};

fn main() -> ropewalk::Result<()> {
    // A heavy, wide galaxy on the left, a light, dense one on the right, and a thin bridge of stars.
    let mut stars: Vec<[f64; 3]> = vec![];
    for (x, n, radius) in [(-4.0, 6000, 1.6), (4.0, 1000, 0.4)] {
        // A golden spiral covers all directions evenly. The mass within r grows as r², as in the inner part of real
        // halos.
        for i in 0..n {
            let t = (i as f64 + 0.5) / n as f64;
            let (z, angle) = (1.0 - 2.0 * t, 2.399_963 * i as f64);
            let (r, ring) = (radius * (i as f64 * 0.618_034).fract().sqrt(), (1.0 - z * z).sqrt());
            stars.push([x + r * ring * angle.cos(), r * ring * angle.sin(), r * z]);
        }
    }
    stars.extend((0..40).map(|i| [-2.4 + 0.15 * f64::from(i), 0.0, 0.0]));

    let linking_length = 0.4;
    let halos = Fof::new(linking_length).run(&stars)?;
    println!("{} stars, {} halo with {} members", stars.len(), halos.len(), halos.members(0).len());

    let centers = [
        ("most bound particle", Center::MostBound { softening: 0.0 }),
        ("by brute force", Center::MostBoundBrute { softening: 0.0 }),
        ("most connected particle", Center::MostConnected { linking_length }),
        ("centre of mass", Center::CenterOfMass),
        ("shrinking sphere", Center::shrinking_sphere()),
    ];
    let mut places = vec![];
    for (name, center) in centers {
        let found = halos.centers(&stars, center)?.as_slice()[0];
        // Rounds to one decimal. Adding 0.0 removes the sign of zero.
        let [x, y, z] = found.position.map(|x| (10.0 * x).round() / 10.0 + 0.0);
        println!("{name:<24} ({x:4.1}, {y:4.1}, {z:4.1})");
        places.push(found.position[0]);
    }
    // The heavy galaxy has the deeper potential, the light one the higher density. The centre of mass is in neither.
    assert!((places[0] + 4.0).abs() < 0.5 && places[0] == places[1]);
    assert!((places[2] - 4.0).abs() < 0.5);
    Ok(())
}

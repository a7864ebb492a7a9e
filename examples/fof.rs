//! Friends of friends: galaxies in a periodic universe, one of them across its boundary.
//!
//! `cargo run --release --example fof`

use ropewalk::Fof;

fn main() -> ropewalk::Result<()> {
    // Three galaxies (centre, radius, stars) and a sparse background of single stars in a box of side 10.
    let galaxies = [([2.0, 2.0, 2.0], 0.5, 4000), ([5.0, 6.0, 7.0], 0.3, 1500), ([9.9, 5.0, 0.1], 0.4, 2500)];
    let mut stars: Vec<[f32; 3]> = vec![];
    for (center, radius, n) in galaxies {
        // A golden spiral fills the sphere evenly.
        for i in 0..n {
            let t = (i as f64 + 0.5) / n as f64;
            let (z, angle) = (1.0 - 2.0 * t, 2.399_963 * i as f64);
            let r = radius * (i as f64 * 0.618_034).fract().cbrt();
            let ring = (1.0 - z * z).sqrt();
            let offset = [ring * angle.cos(), ring * angle.sin(), z];
            stars.push(std::array::from_fn(|k| (center[k] + r * offset[k]).rem_euclid(10.0) as f32));
        }
    }
    stars.extend((0..125).map(|i| [i % 5, i / 5 % 5, i / 25].map(|x| 2.0 * x as f32 + 1.0)));

    let halos = Fof::new(0.15).min_members(20).periodic(10.0).run(&stars)?;
    println!("{} stars, {} halos", stars.len(), halos.len());
    for (halo, members) in halos.iter().enumerate() {
        println!("halo {halo}: {:>4} stars, the first has index {}", members.len(), members[0]);
    }
    assert_eq!(halos.len(), 3);

    // Labels include groups of any size. Points without friends have no label.
    let labels = halos.labels();
    let last = stars.len() - 1;
    println!("star 0: group {:?}, star {last}: group {:?}", labels.get(0), labels.get(last));
    println!("{} stars without a group", labels.n_noise());

    // With open boundaries the third galaxy is split.
    let torn = Fof::new(0.15).min_members(20).run(&stars)?;
    println!("in open space: {} halos", torn.len());
    assert!(torn.len() > halos.len());
    Ok(())
}

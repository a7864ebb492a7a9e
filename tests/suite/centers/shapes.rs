//! Halos of many shapes.

use common::random::Random;

fn direction(random: &mut Random) -> [f64; 3] {
    let direction: [f64; 3] = std::array::from_fn(|_| random.normal());
    let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-300);
    direction.map(|x| x / length)
}

fn ball(random: &mut Random, n: usize, radius: impl Fn(f64) -> f64) -> Vec<[f64; 3]> {
    (0..n)
        .map(|_| {
            let r = radius(random.unit());
            direction(random).map(|x| r * x)
        })
        .collect()
}

/// Plummer 1911: the mass within r is proportional to (1 + r^-2)^(-3/2).
pub fn plummer(random: &mut Random, n: usize) -> Vec<[f64; 3]> {
    ball(random, n, |u| 1.0 / ((u * 0.999 + 5e-4).powf(-2.0 / 3.0) - 1.0).sqrt())
}

/// A cusp as steep as in the centre of Navarro, Frenk and White 1997: the mass within r is proportional to r².
pub fn cusp(random: &mut Random, n: usize) -> Vec<[f64; 3]> {
    ball(random, n, f64::sqrt)
}

/// Two halos in contact, one of them 1.5 times as heavy.
pub fn merging(random: &mut Random, n: usize) -> Vec<[f64; 3]> {
    let mut points = plummer(random, n * 3 / 5);
    points.extend(plummer(random, n - n * 3 / 5).iter().map(|&[x, y, z]| [x + 6.0, y - 1.0, z]));
    points
}

/// A nearly straight line.
pub fn line(random: &mut Random, n: usize) -> Vec<[f64; 3]> {
    (0..n).map(|_| [10.0 * random.unit(), 1e-9 * random.unit(), 0.0]).collect()
}

/// Corners of regular polygons on a ring, all with the same potential up to rounding.
pub fn ring(n: usize) -> Vec<[f64; 3]> {
    (0..n)
        .map(|i| {
            let angle = std::f64::consts::TAU * i as f64 / n as f64;
            [angle.cos(), angle.sin(), 0.0]
        })
        .collect()
}

/// A cubic part of a lattice, with eightfold symmetry and therefore exact ties.
pub fn lattice(side: usize) -> Vec<[f64; 3]> {
    (0..side.pow(3)).map(|i| [i % side, i / side % side, i / (side * side)].map(|x| x as f64)).collect()
}

/// Points, most of which have copies.
pub fn copies(random: &mut Random, n: usize) -> Vec<[f64; 3]> {
    let some = plummer(random, n.div_ceil(4));
    (0..n).map(|_| some[random.below(some.len())]).collect()
}

/// Two scales: a compact clump in a wide cloud.
pub fn two_scales(random: &mut Random, n: usize) -> Vec<[f64; 3]> {
    let mut points = cusp(random, n);
    for point in points.iter_mut().step_by(3) {
        *point = point.map(|x| 0.3 + 1e-7 * x);
    }
    points
}

/// Returns every shape, with about `n` points.
pub fn all(random: &mut Random, n: usize) -> Vec<(&'static str, Vec<[f64; 3]>)> {
    vec![
        ("plummer", plummer(random, n)),
        ("cusp", cusp(random, n)),
        ("merging", merging(random, n)),
        ("line", line(random, n)),
        ("ring", ring(n)),
        ("lattice", lattice((n as f64).cbrt() as usize)),
        ("copies", copies(random, n)),
        ("two scales", two_scales(random, n)),
        ("one place", vec![[3.0, -1.0, 2.0]; n]),
    ]
}

//! Named point clouds, each of which has once broken a tree.

use ropewalk::Scalar;

use super::random::Random;

/// Points, characteristic radii, and the side of a periodic box that may contain the points.
#[derive(Clone, Debug)]
pub struct Cloud<S, const D: usize> {
    pub name: &'static str,
    pub points: Vec<[S; D]>,
    pub radii: Vec<f64>,
    pub side: f64,
}

fn cloud<S: Scalar, const D: usize>(
    name: &'static str,
    points: impl IntoIterator<Item = [f64; D]>,
    radii: &[f64],
    side: f64,
) -> Cloud<S, D> {
    let points = points.into_iter().map(|point| point.map(S::from_f64)).collect();
    Cloud { name, points, radii: radii.to_vec(), side }
}

/// All clouds, of a few hundred points each, except for the snapshot and the thousandfold points.
pub fn all<S: Scalar, const D: usize>() -> Vec<Cloud<S, D>> {
    let mut all = small();
    all.push(thousandfold());
    all.extend(snapshot());
    all
}

/// The clouds of a few hundred points.
pub fn small<S: Scalar, const D: usize>() -> Vec<Cloud<S, D>> {
    vec![
        cloud("empty", [], &[1.0], 4.0),
        cloud("one", [[0.5; D]], &[1.0], 4.0),
        two(),
        cloud("all equal", [[0.3; D]; 100], &[0.0, 0.5], 1.0),
        // On the diagonal, in random order.
        cloud("collinear", (0..150).map(|i| [f64::from(i * 37 % 150) * 0.01; D]), &[0.01, 0.05], 1.5),
        flat(),
        lattice_of_tenths(),
        whole_lattice(),
        uniform("far from the origin", 200, 1e6, 1.0, &[0.01, 0.2], 0.7),
        two_scales(),
        geometric(200),
        denormals(),
        extremes(),
        plummer(),
        clustered(),
    ]
}

pub fn two<S: Scalar, const D: usize>() -> Cloud<S, D> {
    let mut far = [0.25; D];
    far[0] = 1.25;
    cloud("two", [[0.25; D], far], &[1.0, 0.99], 2.0)
}

pub fn uniform<S: Scalar, const D: usize>(
    name: &'static str,
    n: usize,
    corner: f64,
    extent: f64,
    radii: &[f64],
    side: f64,
) -> Cloud<S, D> {
    let mut random = Random::new(n as u64);
    cloud(name, (0..n).map(|_| std::array::from_fn(|_| corner + extent * random.unit())), radii, side)
}

fn flat<S: Scalar, const D: usize>() -> Cloud<S, D> {
    let mut flat: Cloud<S, D> = uniform("flat", 200, -0.2, 1.4, &[0.05, 0.15], 1.0);
    flat.points.iter_mut().for_each(|point| point[D - 1] = S::from_f64(0.7));
    flat
}

/// The number of points per axis of a lattice of a few hundred points.
fn per_axis(dim: usize) -> usize {
    [0, 100, 16, 6, 4, 3, 2][dim.min(6)]
}

/// Returns all points of a lattice, with each axis mapped separately.
fn lattice<S: Scalar, const D: usize>(axis: impl Fn(usize) -> S) -> Vec<[S; D]> {
    let m = per_axis(D);
    (0..m.pow(D.min(8) as u32)).map(|i| std::array::from_fn(|k| axis(i / m.pow(k.min(8) as u32) % m))).collect()
}

/// A lattice with a spacing of 0.1, which is not a binary number. In the storage type, some neighbours are at most
/// 0.1 apart and others slightly more. Only `f64` arithmetic on the stored coordinates distinguishes them.
fn lattice_of_tenths<S: Scalar, const D: usize>() -> Cloud<S, D> {
    let tenth = S::from_f64(0.1);
    let points = lattice(|i| S::from_f64(i as f64) * tenth);
    let rounded: f64 = tenth.into();
    Cloud { name: "lattice of tenths", points, radii: vec![0.1, rounded, 0.2, 0.3], side: 0.1 * per_axis(D) as f64 }
}

/// A lattice of integers, where ties are exact in any arithmetic.
pub fn whole_lattice<S: Scalar, const D: usize>() -> Cloud<S, D> {
    let points = lattice(|i| S::from_f64(i as f64));
    let radii = vec![1.0, 2f64.sqrt(), 2.0];
    // With two points per axis, points would be neighbours across both boundaries; three more units separate them.
    let m = per_axis(D);
    Cloud { name: "whole lattice", points, radii, side: if m > 4 { m } else { 5 } as f64 }
}

/// Two length scales that differ by a factor of a million.
fn two_scales<S: Scalar, const D: usize>() -> Cloud<S, D> {
    let mut random = Random::new(5);
    let points = (0..300).map(|i| {
        let extent = if i % 2 == 0 { 1.0 } else { 1e-6 };
        std::array::from_fn(|_| extent * random.unit())
    });
    cloud("two scales", points, &[1e-7, 1e-6, 0.05], 1.0)
}

/// Powers of two along each axis, one point for each bit of a code, and `at_origin` points at their limit: the
/// deepest possible tree. With 16,384 points at the origin, a path has more than 70 nodes.
pub fn geometric<S: Scalar, const D: usize>(at_origin: usize) -> Cloud<S, D> {
    let mut points = vec![[0.0; D]; at_origin];
    for axis in 0..D {
        for exponent in 0..=63 / D as i32 {
            let mut point = [0.0; D];
            point[axis] = 0.5f64.powi(exponent);
            points.push(point);
        }
    }
    cloud("geometric progression", points, &[1e-5, 0.25], 1.0)
}

/// Coordinates whose squares underflow to 0 in their own type; for `f64` also in the definition.
fn denormals<S: Scalar, const D: usize>() -> Cloud<S, D> {
    let smallest = if Into::<f64>::into(S::MAX) < 1e300 { f64::from(f32::from_bits(1)) } else { f64::from_bits(1) };
    let mut random = Random::new(6);
    let points = (0..150).map(|_| std::array::from_fn(|_| random.below(40) as f64 * smallest));
    cloud("denormals", points, &[0.0, smallest, 3.0 * smallest], 40.0 * smallest)
}

/// Coordinates near the allowed maximum, whose differences overflow in `f32`.
fn extremes<S: Scalar, const D: usize>() -> Cloud<S, D> {
    let largest = S::LIMIT * 0.999;
    let mut random = Random::new(7);
    let points = (0..150).map(|_| std::array::from_fn(|_| largest * (2.0 * random.unit() - 1.0)));
    cloud("extremes", points, &[0.1 * largest, 0.9 * largest], largest)
}

/// A Plummer sphere (Plummer 1911): dense at the centre, with distant points.
pub fn plummer<S: Scalar, const D: usize>() -> Cloud<S, D> {
    let mut random = Random::new(8);
    let points = (0..300).map(|_| {
        let radius = (random.unit().max(1e-6).powf(-2.0 / 3.0) - 1.0).powf(-0.5).min(50.0);
        let direction: [f64; D] = std::array::from_fn(|_| random.normal());
        let norm = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
        direction.map(|x| radius * x / norm)
    });
    cloud("Plummer sphere", points, &[0.1, 0.4], 8.0)
}

pub fn clustered<S: Scalar, const D: usize>() -> Cloud<S, D> {
    let mut random = Random::new(9);
    let centers: Vec<[f64; D]> = (0..8).map(|_| std::array::from_fn(|_| random.unit())).collect();
    let points = (0..350).map(|_| centers[random.below(8)].map(|x| x + 0.02 * random.normal()));
    cloud("clustered", points, &[0.01, 0.03], 1.0)
}

/// Two places with a thousand points each.
pub fn thousandfold<S: Scalar, const D: usize>() -> Cloud<S, D> {
    cloud("thousandfold", (0..2000).map(|i| [0.125 * f64::from(1 + i % 2); D]), &[0.0, 0.1], 1.0)
}

/// 4,000 particles from one corner of the sample snapshot: halos, filaments, voids. Only up to 3 dimensions.
pub fn snapshot<S: Scalar, const D: usize>() -> Option<Cloud<S, D>> {
    if D > 3 {
        return None;
    }
    let file = std::fs::read(super::data::root().join("data/p3m_64.gadget2")).expect("the sample snapshot");
    // The header with its two markers, the marker of the block of positions, then three f32 per particle.
    let positions = &file[4 + 256 + 4 + 4..][..12 * 64 * 64 * 64];
    let number = |bytes: &[u8]| f64::from(f32::from_le_bytes(bytes.try_into().unwrap()));
    let points = positions
        .chunks(12)
        .map(|particle| -> [f64; 3] { std::array::from_fn(|k| number(&particle[4 * k..4 * k + 4])) })
        .filter(|particle| particle.iter().all(|&x| x < 9.0))
        .take(4000)
        .map(|particle| std::array::from_fn(|k| particle[k]));
    Some(cloud("snapshot", points, &[if D < 3 { 0.02 } else { 0.1 }], 9.0))
}

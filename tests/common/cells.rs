//! Points in triclinic cells, and their neighbours by a loop over all images.

use std::cmp::Ordering;

use crate::random::Random;

/// A neighbour: the index of a point, and the multiples of lattice vectors from it to its image.
pub type Image<const D: usize> = (u32, [i32; D]);

/// A cell with points, and radii.
#[derive(Clone, Debug)]
pub struct CellCase<const D: usize> {
    pub name: String,
    pub vectors: [[f64; D]; D],
    pub points: Vec<[f64; D]>,
    pub radii: Vec<f64>,
}

/// A vector in three dimensions; two dimensions are a plane there.
fn in_space<const D: usize>(vector: &[f64; D]) -> [f64; 3] {
    std::array::from_fn(|k| vector.get(k).copied().unwrap_or(0.0))
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn product(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The normals of the faces of a cell by Cramer's rule: the product of a vector with normal `k` is its multiple of
/// lattice vector `k`.
fn normals<const D: usize>(vectors: &[[f64; D]; D]) -> [[f64; 3]; D] {
    let mut all = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    vectors.iter().enumerate().for_each(|(k, vector)| all[k] = in_space(vector));
    std::array::from_fn(|k| {
        let normal = cross(all[(k + 1) % 3], all[(k + 2) % 3]);
        let volume = product(all[k], normal);
        normal.map(|x| x / volume)
    })
}

/// Lists the images of points within `radius` of each point, sorted by index and shift, from the coordinates as they
/// are. Ties are right if coordinates and vectors are multiples of a power of two.
pub fn neighbors<const D: usize>(vectors: &[[f64; D]; D], points: &[[f64; D]], radius: f64) -> Vec<Vec<Image<D>>> {
    (0..points.len()).map(|i| neighbors_of(vectors, points, i, radius)).collect()
}

/// Lists the images of points within `radius` of point `i`.
pub fn neighbors_of<const D: usize>(
    vectors: &[[f64; D]; D],
    points: &[[f64; D]],
    i: usize,
    radius: f64,
) -> Vec<Image<D>> {
    assert!((2..=3).contains(&D));
    let normals = normals(vectors);
    // More shifts than the distance between two faces admits.
    let most = normals.map(|normal| (radius * product(normal, normal).sqrt()).ceil() as i32 + 1);
    let sides = most.map(|most| 2 * most + 1);
    let mut near = vec![];
    for (j, point) in points.iter().enumerate() {
        let apart: [f64; D] = std::array::from_fn(|k| point[k] - points[i][k]);
        let nearest = normals.map(|normal| -product(normal, in_space(&apart)).round() as i32);
        for number in 0..sides.iter().product::<i32>() {
            let mut rest = number;
            let mut shift = [0; D];
            for k in (0..D).rev() {
                shift[k] = nearest[k] - most[k] + rest % sides[k];
                rest /= sides[k];
            }
            let distance2: f64 = (0..D)
                .map(|axis| {
                    let translation: f64 = (0..D).map(|k| f64::from(shift[k]) * vectors[k][axis]).sum();
                    (apart[axis] + translation).powi(2)
                })
                .sum();
            if distance2 <= radius * radius {
                near.push((j as u32, shift));
            }
        }
    }
    near.sort_unstable();
    near
}

/// Selects the entries of half lists: higher indices, and own images whose first nonzero shift is positive.
pub fn half<const D: usize>(lists: &[Vec<Image<D>>]) -> Vec<Vec<Image<D>>> {
    let is_kept = |i: usize, &(j, shift): &Image<D>| j as usize > i || (j as usize == i && shift > [0; D]);
    lists.iter().enumerate().map(|(i, list)| list.iter().copied().filter(|near| is_kept(i, near)).collect()).collect()
}

/// Returns points at fractional positions that are multiples of 1/4 in cells with whole vectors: many ties, copies, and
/// points on faces, edges and corners. `far` is the maximum number of cells by which points are outside.
pub fn on_grid<const D: usize>(random: &mut Random, n: usize, far: usize) -> CellCase<D> {
    let whole = |random: &mut Random, most: i32| random.below(2 * most as usize + 1) as i32 - most;
    let vectors = loop {
        let vectors: [[f64; D]; D] = std::array::from_fn(|_| std::array::from_fn(|_| f64::from(whole(random, 4))));
        let heights = normals(&vectors).map(|normal| 1.0 / product(normal, normal).sqrt());
        if heights.iter().all(|&height| height >= 0.9) {
            break vectors;
        }
    };
    let points = (0..n)
        .map(|_| {
            let at: [f64; D] =
                std::array::from_fn(|_| f64::from(whole(random, far as i32)) + random.below(4) as f64 / 4.0);
            std::array::from_fn(|axis| (0..D).map(|k| at[k] * vectors[k][axis]).sum())
        })
        .collect();
    let name = format!("{n} points on a grid in {vectors:?}, up to {far} cells outside");
    CellCase { name, vectors, points, radii: vec![0.0, 0.75, 1.25, 2.5, 5.0] }
}

/// Returns random points in a random cell. Larger numbers for `skew` are for flatter cells.
pub fn uniform<const D: usize>(random: &mut Random, n: usize, skew: f64) -> CellCase<D> {
    let mut component = |k: usize, axis: usize| match axis.cmp(&k) {
        Ordering::Less => skew * (2.0 * random.unit() - 1.0),
        Ordering::Equal => 0.5 + random.unit(),
        Ordering::Greater => 0.0,
    };
    let mut vectors: [[f64; D]; D] = std::array::from_fn(|k| std::array::from_fn(|axis| component(k, axis)));
    // Cells of both orientations.
    vectors.swap(0, random.below(D));
    let points: Vec<[f64; D]> = (0..n)
        .map(|_| {
            let at: [f64; D] = std::array::from_fn(|_| 3.0 * random.unit() - 1.0);
            std::array::from_fn(|axis| (0..D).map(|k| at[k] * vectors[k][axis]).sum())
        })
        .collect();
    let heights = normals(&vectors).map(|normal| 1.0 / product(normal, normal).sqrt());
    let least = heights.into_iter().fold(f64::INFINITY, f64::min);
    let name = format!("{n} random points in {vectors:?}");
    CellCase { name, vectors, points, radii: vec![1e-6, 0.3 * least, 0.9 * least, 2.3 * least] }
}

/// Returns cases for tests: small numbers of points, ties, faces, skewed cells, and points far outside.
pub fn cases<const D: usize>() -> Vec<CellCase<D>> {
    let mut random = Random::new(71);
    let mut cases = vec![];
    for n in [0, 1, 2, 25] {
        for far in [0, 1, 1000] {
            cases.push(on_grid(&mut random, n, far));
        }
        for skew in [0.0, 0.5, 4.0] {
            cases.push(uniform(&mut random, n, skew));
        }
    }
    cases
}

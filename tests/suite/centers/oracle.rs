//! The definitions as plain loops.

use std::collections::HashMap;

/// Returns the distance between two coordinates, to the nearest image in a periodic box.
pub fn apart(a: f64, b: f64, side: Option<f64>) -> f64 {
    let d = (a - b).abs();
    side.map_or(d, |side| d.min(side - d))
}

fn distance2(a: [f64; 3], b: [f64; 3], side: Option<f64>) -> f64 {
    (0..3).map(|k| apart(a[k], b[k], side).powi(2)).sum()
}

/// Returns the potential at each point of all other points.
pub fn potentials(points: &[[f64; 3]], masses: &[f64], softening: f64, side: Option<f64>) -> Vec<f64> {
    let share = |i: usize, j: usize| {
        let d2 = distance2(points[i], points[j], side) + softening * softening;
        if i == j || d2 == 0.0 { 0.0 } else { -masses[j] / d2.sqrt() }
    };
    (0..points.len()).map(|i| (0..points.len()).map(|j| share(i, j)).sum()).collect()
}

/// Returns the same potentials, summed over positions: coinciding points are combined, so that copies cost nothing.
pub fn potentials_by_place(points: &[[f64; 3]], masses: &[f64], softening: f64, side: Option<f64>) -> Vec<f64> {
    let mut numbers = HashMap::new();
    let (mut places, mut totals) = (vec![], vec![]);
    let of: Vec<usize> = points
        .iter()
        .zip(masses)
        .map(|(point, mass)| {
            // Zeros of both signs are the same position.
            let number = *numbers.entry(point.map(|x| (x + 0.0).to_bits())).or_insert_with(|| {
                places.push(*point);
                totals.push(0.0);
                places.len() - 1
            });
            totals[number] += mass;
            number
        })
        .collect();
    let apart = |i: usize| -> f64 {
        let share = |j: usize| totals[j] / (distance2(places[i], places[j], side) + softening * softening).sqrt();
        (0..places.len()).filter(|&j| j != i).map(share).sum()
    };
    let apart: Vec<f64> = (0..places.len()).map(apart).collect();
    let here = |i: usize, mass: f64| if softening > 0.0 { (totals[i] - mass) / softening } else { 0.0 };
    of.iter().zip(masses).map(|(&i, &mass)| -apart[i] - here(i, mass)).collect()
}

/// Returns the number of pairs of coinciding points.
pub fn coincident(points: &[[f64; 3]]) -> u64 {
    (0..points.len()).map(|i| points[..i].iter().filter(|&other| *other == points[i]).count() as u64).sum()
}

/// Returns the number of other points within a distance of each point.
pub fn friends(points: &[[f64; 3]], linking_length: f64, side: Option<f64>) -> Vec<u32> {
    let near = |i: usize, j: usize| i != j && distance2(points[i], points[j], side) <= linking_length * linking_length;
    (0..points.len()).map(|i| (0..points.len()).filter(|&j| near(i, j)).count() as u32).collect()
}

//! The definitions as plain loops.

/// The difference of two coordinates, to the nearest image in a periodic box.
pub fn apart(a: f64, b: f64, side: Option<f64>) -> f64 {
    let d = (a - b).abs();
    side.map_or(d, |side| d.min(side - d))
}

fn distance2(a: [f64; 3], b: [f64; 3], side: Option<f64>) -> f64 {
    (0..3).map(|k| apart(a[k], b[k], side).powi(2)).sum()
}

/// The potential of each point in the field of all others.
pub fn potentials(points: &[[f64; 3]], masses: &[f64], softening: f64, side: Option<f64>) -> Vec<f64> {
    let share = |i: usize, j: usize| {
        let d2 = distance2(points[i], points[j], side) + softening * softening;
        if i == j || d2 == 0.0 { 0.0 } else { -masses[j] / d2.sqrt() }
    };
    (0..points.len()).map(|i| (0..points.len()).map(|j| share(i, j)).sum()).collect()
}

/// How many pairs of points coincide.
pub fn coincident(points: &[[f64; 3]]) -> u64 {
    (0..points.len()).map(|i| points[..i].iter().filter(|&other| *other == points[i]).count() as u64).sum()
}

/// How many others are within a distance of each point.
pub fn friends(points: &[[f64; 3]], linking_length: f64, side: Option<f64>) -> Vec<u32> {
    let near = |i: usize, j: usize| i != j && distance2(points[i], points[j], side) <= linking_length * linking_length;
    (0..points.len()).map(|i| (0..points.len()).filter(|&j| near(i, j)).count() as u32).collect()
}

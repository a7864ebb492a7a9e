//! The point of a triangle that is nearest to a given point.
//!
//! Input: a triangle and a point in `f64`. Output: the squared distance, the nearest point, and the weights of the
//! corners.
//! Each edge is a segment that starts at its lower corner. Two triangles that share an edge therefore have exactly
//! the same distance, if the edge is the nearest part of both. A triangle without area is reduced to its edges.
//! Source: Ericson 2005, section 5.1.

/// The nearest point of a triangle.
#[derive(Clone, Copy)]
pub(super) struct Closest {
    pub distance2: f64,
    pub point: [f64; 3],
    pub weights: [f64; 3],
}

fn minus(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| a[k] - b[k])
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The point of a triangle that is nearest to `from`.
pub(super) fn closest(corners: &[[f64; 3]; 3], from: &[f64; 3]) -> Closest {
    let mut best = Closest { distance2: f64::INFINITY, point: corners[0], weights: [1.0, 0.0, 0.0] };
    for at in 0..3 {
        let (mut p, mut q) = (at, (at + 1) % 3);
        if corners[p] > corners[q] {
            (p, q) = (q, p);
        }
        let (along, ahead) = (minus(&corners[q], &corners[p]), minus(from, &corners[p]));
        let part = (dot(&ahead, &along) / dot(&along, &along)).clamp(0.0, 1.0);
        // NaN if the two corners coincide.
        let part = if part.is_nan() { 0.0 } else { part };
        let point = if part == 1.0 { corners[q] } else { std::array::from_fn(|k| corners[p][k] + part * along[k]) };
        let off = minus(from, &point);
        let distance2 = dot(&off, &off);
        if distance2 < best.distance2 {
            let mut weights = [0.0; 3];
            (weights[p], weights[q]) = (1.0 - part, part);
            best = Closest { distance2, point, weights };
        }
    }
    inside(corners, from).filter(|inside| inside.distance2 < best.distance2).unwrap_or(best)
}

/// The foot of the perpendicular, if it lies inside the triangle.
fn inside(corners: &[[f64; 3]; 3], from: &[f64; 3]) -> Option<Closest> {
    let edges: [[f64; 3]; 3] = std::array::from_fn(|at| minus(&corners[(at + 1) % 3], &corners[at]));
    // With this scale no product overflows or underflows, unless the triangle is a sliver.
    let longest = edges.iter().flatten().fold(0.0, |most, x| f64::max(most, x.abs()));
    let scale = if (1e-40..1e40).contains(&longest) { 1.0 } else { longest.recip() };
    if !scale.is_normal() {
        return None;
    }
    let edges = edges.map(|edge| edge.map(|x| x * scale));
    let normal = cross(&edges[0], &edges[1]);
    let square = dot(&normal, &normal);
    let ahead = corners.map(|corner| minus(from, &corner).map(|x| x * scale));
    let weights: [f64; 3] = std::array::from_fn(|at| {
        let across = (at + 1) % 3;
        dot(&cross(&normal, &edges[across]), &ahead[across]) / square
    });
    if !weights.iter().all(|&weight| weight > 0.0) {
        return None;
    }
    let height = dot(&normal, &ahead[0]);
    let off = height / square / scale;
    Some(Closest {
        distance2: height / square * height / scale / scale,
        point: std::array::from_fn(|k| from[k] - normal[k] * off),
        weights,
    })
}

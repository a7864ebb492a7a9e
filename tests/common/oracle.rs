//! The definitions as plain `f64` loops that share no code with the crate.

use ropewalk::Scalar;

/// Open space (`None`), or the side of a cubic periodic box.
pub type Side = Option<f64>;

/// Wraps a coordinate into the periodic box: the remainder, rounded to the storage type. If rounding leaves the box,
/// the result is its face.
pub fn wrap<S: Scalar>(x: S, side: Side) -> S {
    let at: f64 = x.into();
    match side {
        Some(side) if !(0.0..=side).contains(&at) => {
            let inside = S::from_f64(at.rem_euclid(side));
            if inside.into() > side { S::from_f64(0.0) } else { inside }
        }
        _ => x,
    }
}

pub fn wrap_point<S: Scalar, const D: usize>(point: &[S; D], side: Side) -> [S; D] {
    point.map(|x| wrap(x, side))
}

/// Returns the squared distance between two points in the box.
pub fn distance2<S: Scalar, const D: usize>(a: &[S; D], b: &[S; D], side: Side) -> f64 {
    let axis = |k: usize| {
        let (a, b): (f64, f64) = (a[k].into(), b[k].into());
        let open = (a - b).abs();
        side.map_or(open, |side| open.min((side - open).max(0.0)))
    };
    (0..D).map(axis).fold(0.0, |sum, d| sum + d * d)
}

pub fn is_finite<S: Scalar, const D: usize>(point: &[S; D]) -> bool {
    point.iter().all(|&x| Into::<f64>::into(x).is_finite())
}

/// Returns the points in a sphere, ascending. `points` are in the box; the centre need not be.
pub fn in_ball<S: Scalar, const D: usize>(points: &[[S; D]], center: &[S; D], radius: f64, side: Side) -> Vec<u32> {
    if !is_finite(center) {
        return vec![];
    }
    let center = wrap_point(center, side);
    select(points, |point| radius >= 0.0 && distance2(&center, point, side) <= radius * radius)
}

/// Returns the points in a box or any of its images, ascending. The corners of the box are wrapped like points.
pub fn in_box<S: Scalar, const D: usize>(points: &[[S; D]], lo: &[S; D], hi: &[S; D], side: Side) -> Vec<u32> {
    let holds = |k: usize, x: f64| {
        let (from, to): (f64, f64) = (lo[k].into(), hi[k].into());
        let Some(side) = side else { return from <= x && x <= to };
        let (start, end): (f64, f64) = (wrap(lo[k], Some(side)).into(), wrap(hi[k], Some(side)).into());
        let turns = ((to - from - (end - start)) / side).round();
        let holds_image = |image: f64| start + image * side <= x && x <= end + (image + turns) * side;
        to - from >= side || holds_image(-1.0) || holds_image(0.0) || holds_image(1.0)
    };
    // An inverted box along any axis contains nothing.
    let is_upright = (0..D).all(|k| lo[k] <= hi[k]);
    select(points, |point| is_upright && (0..D).all(|k| holds(k, point[k].into())))
}

fn select<T>(primitives: &[T], wanted: impl Fn(&T) -> bool) -> Vec<u32> {
    (0..primitives.len() as u32).filter(|&i| wanted(&primitives[i as usize])).collect()
}

/// A nearest-neighbour query.
#[derive(Clone, Copy, Debug)]
pub struct NearestQuery {
    pub k: usize,
    /// The radius, inclusive.
    pub radius: f64,
    /// The index of a point to ignore.
    pub excluded: Option<u32>,
}

impl NearestQuery {
    /// Returns a query for the `k` nearest at any distance.
    pub fn new(k: usize) -> Self {
        Self { k, radius: f64::INFINITY, excluded: None }
    }

    #[must_use]
    pub fn within(self, radius: f64) -> Self {
        Self { radius, ..self }
    }

    #[must_use]
    pub fn excluding(self, index: u32) -> Self {
        Self { excluded: Some(index), ..self }
    }
}

/// Returns the `k` nearest within `radius`, nearest first, ties by index, with their squared distances.
pub fn nearest<S: Scalar, const D: usize>(
    points: &[[S; D]],
    of: &[S; D],
    NearestQuery { k, radius, excluded }: NearestQuery,
    side: Side,
) -> Vec<(u32, f64)> {
    if !is_finite(of) || radius.is_nan() || radius < 0.0 {
        return vec![];
    }
    let of = wrap_point(of, side);
    let mut near: Vec<(f64, u32)> = (0..points.len() as u32)
        .filter(|&i| Some(i) != excluded)
        .map(|i| (distance2(&of, &points[i as usize], side), i))
        .filter(|&(distance2, _)| distance2 <= radius * radius)
        .collect();
    near.sort_by(|a, b| a.partial_cmp(b).unwrap());
    near.truncate(k);
    near.into_iter().map(|(distance2, i)| (i, distance2)).collect()
}

/// Returns the points within `radius` of each point, itself included, each list ascending.
pub fn neighbors<S: Scalar, const D: usize>(points: &[[S; D]], radius: f64, side: Side) -> Vec<Vec<u32>> {
    points.iter().map(|point| in_ball(points, point, radius, side)).collect()
}

/// Returns the connected components of a neighbour graph, numbered by their smallest member; -1 for a point without
/// friends.
pub fn components(neighbors: &[Vec<u32>]) -> Vec<i32> {
    let mut labels = vec![-1; neighbors.len()];
    let mut next = 0;
    for start in 0..neighbors.len() {
        if labels[start] >= 0 || neighbors[start].len() < 2 {
            continue;
        }
        labels[start] = next;
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            for &friend in &neighbors[at] {
                if labels[friend as usize] < 0 {
                    labels[friend as usize] = next;
                    open.push(friend as usize);
                }
            }
        }
        next += 1;
    }
    labels
}

/// Returns the squared distance from each point to its `min_samples`-th nearest point, itself counted.
pub fn core_distances2<S: Scalar, const D: usize>(points: &[[S; D]], min_samples: usize, side: Side) -> Vec<f64> {
    let of = |point: &[S; D]| {
        let mut all: Vec<f64> = points.iter().map(|other| distance2(point, other, side)).collect();
        all.sort_by(f64::total_cmp);
        all[min_samples - 1]
    };
    points.iter().map(of).collect()
}

/// Returns the minimum spanning tree by mutual reachability, with distances divided by alpha, by Prim's algorithm.
/// Edges are (squared weight, lower index, higher index), and are compared lexicographically.
pub fn spanning_tree<S: Scalar, const D: usize>(
    points: &[[S; D]],
    min_samples: usize,
    alpha: f64,
    side: Side,
) -> Vec<(f64, u32, u32)> {
    let core2 = core_distances2(points, min_samples, side);
    let edge = |a: usize, b: usize| {
        let distance2 = distance2(&points[a], &points[b], side) / (alpha * alpha);
        let weight2 = distance2.max(core2[a]).max(core2[b]);
        (weight2, a.min(b) as u32, a.max(b) as u32)
    };
    // The least edge from the spanned points to each other point.
    let mut least: Vec<_> = (1..points.len()).map(|other| (other, edge(0, other))).collect();
    let mut tree = vec![];
    while let Some(next) = (0..least.len()).min_by(|&a, &b| least[a].1.partial_cmp(&least[b].1).unwrap()) {
        let (point, taken) = least.swap_remove(next);
        tree.push(taken);
        for (other, least) in &mut least {
            let new = edge(point, *other);
            if new < *least {
                *least = new;
            }
        }
    }
    tree.sort_by(|a, b| a.partial_cmp(b).unwrap());
    tree
}

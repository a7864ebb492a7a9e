//! Unbinding from its definition, as plain loops over all pairs. It shares no code with the library.

use common::oracle::Side;

/// Particles, and the options by name.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    pub points: &'a [[f64; 3]],
    pub velocities: &'a [[f64; 3]],
    pub masses: &'a [f64],
    pub side: Side,
    pub gravity: f64,
    pub softening: f64,
    pub hubble_flow: f64,
    pub max_removed: f64,
    pub min_members: usize,
}

/// The bound part of a structure.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The number of the structure before unbinding.
    pub from: usize,
    /// The number of its parent before unbinding.
    pub parent: Option<usize>,
    /// Its own particles, ascending.
    pub own: Vec<usize>,
    /// Its own particles and those of its substructures.
    pub all: Vec<usize>,
    pub velocity: [f64; 3],
    pub rounds: u32,
}

/// Returns the remaining structures in the given order. `own` holds the particles of each structure without
/// substructures.
pub fn unbind(own: &[Vec<usize>], parents: &[Option<usize>], rules: Rules) -> Vec<Row> {
    let mut own = own.to_vec();
    let mut parents = parents.to_vec();
    let mut left: Vec<usize> = (0..own.len()).collect();
    let mut rows: Vec<Row> = vec![];
    // The next structure without unprocessed substructures.
    while let Some(at) = left.iter().copied().find(|&at| left.iter().all(|&other| parents[other] != Some(at))) {
        left.retain(|&other| other != at);
        let is_in = |row: &Row| {
            let mut up = row.parent;
            while let Some(parent) = up.filter(|&parent| parent != at) {
                up = parents[parent];
            }
            up == Some(at)
        };
        let within: Vec<usize> = rows.iter().filter(|row| is_in(row)).flat_map(|row| row.own.clone()).collect();
        let (bound, velocity, rounds) = settle(&own[at], &within, rules);
        let stays = bound.len() >= rules.min_members;
        if let Some(parent) = parents[at] {
            let leaving: Vec<usize> =
                own[at].iter().copied().filter(|particle| !stays || !bound.contains(particle)).collect();
            own[parent].extend(leaving);
        }
        if stays {
            let mut all = [bound.clone(), within].concat();
            all.sort();
            rows.push(Row { from: at, parent: parents[at], own: bound, all, velocity, rounds });
        } else {
            rows.iter_mut().filter(|row| row.parent == Some(at)).for_each(|row| row.parent = parents[at]);
            let above = parents[at];
            parents.iter_mut().filter(|parent| **parent == Some(at)).for_each(|parent| *parent = above);
        }
    }
    rows.sort_by_key(|row| row.from);
    rows
}

fn settle(own: &[usize], within: &[usize], rules: Rules) -> (Vec<usize>, [f64; 3], u32) {
    let mut bound = own.to_vec();
    bound.sort();
    let mut rounds = 0;
    loop {
        let mass: f64 = bound.iter().map(|&i| rules.masses[i]).sum();
        // The mean of a single particle is its own velocity without rounding, so that its energy is 0.
        let average = |of: &dyn Fn(usize) -> [f64; 3]| -> [f64; 3] {
            std::array::from_fn(|k| bound.iter().map(|&i| rules.masses[i] / mass * of(i)[k]).sum::<f64>())
        };
        let mean = average(&|i| rules.velocities[i]);
        let way = |i: usize| offset(own[0], i, rules);
        let center = average(&way);
        if bound.len() < rules.min_members {
            return (bound, mean, rounds);
        }
        rounds += 1;
        let speed2 = |i: usize| {
            let flow = |k: usize| rules.hubble_flow * (way(i)[k] - center[k]);
            (0..3).map(|k| (rules.velocities[i][k] - mean[k] + flow(k)).powi(2)).sum::<f64>()
        };
        let sources: Vec<usize> = bound.iter().chain(within).copied().collect();
        let energy = |i: usize| 0.5 * speed2(i) + rules.gravity * potential(i, &sources, rules);
        let mut unbound: Vec<usize> = bound.iter().copied().filter(|&i| energy(i) > 0.0).collect();
        if unbound.is_empty() {
            return (bound, mean, rounds);
        }
        let most = ((rules.max_removed * bound.len() as f64).floor() as usize).max(1);
        unbound.sort_by(|&a, &b| speed2(b).total_cmp(&speed2(a)));
        // Removes groups of equally fast particles up to the maximum number, but at least one group.
        let mut leaving = 0;
        for group in unbound.chunk_by(|&a, &b| speed2(a) == speed2(b)) {
            if leaving > 0 && leaving + group.len() > most {
                break;
            }
            leaving += group.len();
        }
        unbound.truncate(leaving);
        bound.retain(|i| !unbound.contains(i));
    }
}

/// Returns the vector from one particle to the nearest image of another.
fn offset(from: usize, to: usize, rules: Rules) -> [f64; 3] {
    std::array::from_fn(|k| {
        let d = rules.points[to][k] - rules.points[from][k];
        rules.side.map_or(d, |side| d - side * (d / side).round())
    })
}

/// Returns the potential without the gravitational constant.
pub fn potential(i: usize, sources: &[usize], rules: Rules) -> f64 {
    let term = |&j: &usize| {
        let d2: f64 = offset(i, j, rules).iter().map(|d| d * d).sum();
        let distance2 = d2 + rules.softening * rules.softening;
        if j == i || distance2 == 0.0 { 0.0 } else { -rules.masses[j] / distance2.sqrt() }
    };
    sources.iter().map(term).sum()
}

/// Returns the maximum circular velocity around a particle, and its radius; the innermost seven particles do not
/// count.
pub fn v_max(center: usize, members: &[usize], rules: Rules) -> (f64, f64) {
    let distance = |j: usize| offset(center, j, rules).iter().map(|d| d * d).sum::<f64>().sqrt();
    let mut by_distance: Vec<(f64, f64)> = members.iter().map(|&j| (distance(j), rules.masses[j])).collect();
    by_distance.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut mass, mut best) = (0.0, (0.0, 0.0));
    for (i, (distance, own)) in by_distance.into_iter().enumerate() {
        mass += own;
        let v = (rules.gravity * mass / distance).sqrt();
        if i >= 7 && v > best.0 {
            best = (v, distance);
        }
    }
    best
}

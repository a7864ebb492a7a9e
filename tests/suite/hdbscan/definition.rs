//! HDBSCAN* from its definition, top down on the matrix of mutual reachability, without a spanning tree of all
//! points. It shares no code with the library.

use common::oracle::{Side, core_distances2, distance2, wrap_point};
use common::random::Random;
use ropewalk::Scalar;

use super::{Choice, assert_close};

pub struct Expected {
    pub labels: Vec<i32>,
    pub probabilities: Vec<f64>,
    /// `true` if the selection depends on the last bits of sums that should be equal.
    pub is_close: bool,
}

struct Node {
    parent: usize,
    birth: f64,
    death: f64,
    size: usize,
    stability: f64,
    children: Vec<usize>,
    /// The points that leave the node, and the level at which they leave.
    rows: Vec<(usize, f64)>,
}

/// Returns the weight at which points become connected: the largest weight of the minimum spanning tree, grown from
/// the first point.
fn bottleneck(weight2: &[Vec<f64>], points: &[usize]) -> f64 {
    let mut least: Vec<(usize, f64)> = points[1..].iter().map(|&p| (p, weight2[points[0]][p])).collect();
    let mut most = f64::NEG_INFINITY;
    while let Some(next) = (0..least.len()).min_by(|&a, &b| least[a].1.total_cmp(&least[b].1)) {
        let (point, weight) = least.swap_remove(next);
        most = most.max(weight);
        least.iter_mut().for_each(|(other, least)| *least = least.min(weight2[point][*other]));
    }
    most
}

/// Returns the connected components of points, using pairs that weigh less than a limit.
fn pieces(weight2: &[Vec<f64>], points: &[usize], limit: f64) -> Vec<Vec<usize>> {
    let mut rest = points.to_vec();
    let mut pieces = vec![];
    while let Some(first) = rest.pop() {
        let (mut piece, mut at) = (vec![first], 0);
        while at < piece.len() {
            let (near, far): (Vec<_>, Vec<_>) = rest.iter().partition(|&&p| weight2[piece[at]][p] < limit);
            piece.extend(near);
            rest = far;
            at += 1;
        }
        pieces.push(piece);
    }
    pieces
}

/// The place at which a cluster splits off.
struct Split {
    parent: usize,
    lambda: f64,
}

fn grow(nodes: &mut Vec<Node>, weight2: &[Vec<f64>], points: Vec<usize>, least: usize, from: Split) {
    let own = nodes.len();
    let (size, rows) = (points.len(), vec![]);
    let Split { parent, lambda: birth } = from;
    nodes.push(Node { parent, birth, death: 0.0, size, stability: 0.0, children: vec![], rows });
    let mut whole = points;
    loop {
        let limit = bottleneck(weight2, &whole);
        let lambda = 1.0 / limit.sqrt();
        nodes[own].death = lambda;
        let (large, small): (Vec<_>, Vec<_>) =
            pieces(weight2, &whole, limit).into_iter().partition(|piece| piece.len() >= least);
        nodes[own].rows.extend(small.into_iter().flatten().map(|point| (point, lambda)));
        nodes[own].stability +=
            (lambda - birth) * (whole.len() - large.first().filter(|_| large.len() == 1).map_or(0, Vec::len)) as f64;
        if large.len() == 1 {
            whole = large.into_iter().next().unwrap();
            continue;
        }
        for piece in large {
            let child = nodes.len();
            nodes[own].children.push(child);
            grow(nodes, weight2, piece, least, Split { parent: own, lambda });
        }
        return;
    }
}

/// Returns the maximum sum of stabilities at or below a node, with its clusters.
fn best(nodes: &[Node], at: usize, choice: &Choice, is_close: &mut bool) -> (f64, Vec<usize>) {
    let node = &nodes[at];
    let (mut below, mut chosen, mut sizes) = (0.0, vec![], 0);
    for &child in &node.children {
        let (sum, mut clusters) = best(nodes, child, choice, is_close);
        below += sum;
        chosen.append(&mut clusters);
        sizes += nodes[child].size;
    }
    if at == 0 && (!choice.single || node.size < choice.min_cluster_size) {
        return (below, chosen);
    }
    *is_close |= !node.children.is_empty() && (below - node.stability).abs() <= 1e-9 * node.stability;
    let size = if at == 0 { sizes } else { node.size };
    if below > node.stability || choice.max_cluster_size.is_some_and(|most| size > most) {
        return (below, chosen);
    }
    (node.stability, vec![at])
}

fn climb(nodes: &[Node], at: usize, choice: &Choice) -> usize {
    match nodes[at].parent {
        0 if choice.single => 0,
        0 => at,
        parent if 1.0 / nodes[parent].birth > choice.epsilon => parent,
        parent => climb(nodes, parent, choice),
    }
}

pub fn expected<S: Scalar, const D: usize>(points: &[[S; D]], side: Side, choice: &Choice) -> Expected {
    let points: Vec<_> = points.iter().map(|point| wrap_point(point, side)).collect();
    let n = points.len();
    let core2 = core_distances2(&points, choice.min_samples, side);
    let weight = |a: usize, b: usize| distance2(&points[a], &points[b], side).max(core2[a]).max(core2[b]);
    let weight2: Vec<Vec<f64>> = (0..n).map(|a| (0..n).map(|b| weight(a, b)).collect()).collect();
    let mut nodes = vec![];
    grow(&mut nodes, &weight2, (0..n).collect(), choice.min_cluster_size, Split { parent: usize::MAX, lambda: 0.0 });

    let mut is_close = false;
    let mut chosen = match choice.leaf {
        true => (1..nodes.len()).filter(|&at| nodes[at].children.is_empty()).collect(),
        false => best(&nodes, 0, choice, &mut is_close).1,
    };
    for at in &mut chosen {
        if *at > 0 && 1.0 / nodes[*at].birth < choice.epsilon {
            *at = climb(&nodes, *at, choice);
        }
    }
    let mut cluster = vec![None; n];
    let mut probabilities = vec![0.0; n];
    for (at, node) in nodes.iter().enumerate() {
        let mut up = at;
        while !chosen.contains(&up) && up != 0 {
            up = nodes[up].parent;
        }
        for &(point, lambda) in &node.rows {
            let threshold = if choice.epsilon == 0.0 { nodes[0].death } else { 1.0 / choice.epsilon };
            let is_alone = chosen.iter().all(|&other| other == 0);
            if chosen.contains(&up) && (up > 0 || is_alone && lambda >= threshold) {
                cluster[point] = Some(up);
                let death = nodes[up].death;
                probabilities[point] = if lambda.is_infinite() { 1.0 } else { lambda.min(death) / death };
            }
        }
    }
    // Numbered by the smallest member.
    let mut order: Vec<usize> = vec![];
    for cluster in cluster.iter().flatten() {
        if !order.contains(cluster) {
            order.push(*cluster);
        }
    }
    let number =
        |cluster: &Option<usize>| cluster.map_or(-1, |own| order.iter().position(|&c| c == own).unwrap() as i32);
    Expected { labels: cluster.iter().map(number).collect(), probabilities, is_close }
}

/// Lattices, compact lumps, copies, and clusters in steps of a tenth, so that most weights are tied.
pub fn tied<const D: usize>(random: &mut Random, kind: usize, n: usize) -> Vec<[f64; D]> {
    let mut points: Vec<[f64; D]> = (0..n)
        .map(|_| {
            let lump = random.below(4);
            std::array::from_fn(|_| match kind % 4 {
                0 => random.below(7) as f64,
                1 => (lump * lump * 4 + random.below(3)) as f64,
                2 => 0.1 * (10.0 * (lump as f64 + 0.4 * random.normal())).round(),
                _ => random.unit(),
            })
        })
        .collect();
    if kind % 8 == 7 {
        for at in 1..n {
            points[at] = if random.below(2) == 0 { points[at - 1] } else { points[at] };
        }
    }
    points
}

pub fn draw(random: &mut Random, n: usize) -> Choice {
    let min_cluster_size = 2 + random.below(6);
    Choice {
        leaf: random.below(3) == 0,
        max_cluster_size: (random.below(3) == 0).then(|| min_cluster_size + random.below(n)),
        epsilon: if random.below(3) == 0 { 1.5 * random.unit() } else { 0.0 },
        single: random.below(3) == 0,
        ..Choice::new(min_cluster_size, 1 + random.below(5.min(n)))
    }
}

fn compare<const D: usize>(cases: u64) {
    let (mut clustered, mut close) = (0, 0);
    for case in 0..cases {
        let mut random = Random::new(case);
        let n = 1 + random.below(60);
        let points: Vec<[f64; D]> = tied(&mut random, case as usize, n);
        let choice = draw(&mut random, n);
        for side in [None, Some(7.0)] {
            let expected = expected(&points, side, &choice);
            if expected.is_close {
                close += 1;
                continue;
            }
            let clusters = choice.options().periodic(side).run(&points).unwrap();
            let context = format!("case {case}, {n} points, {side:?}, {choice:?}");
            assert_eq!(clusters.labels().as_slice(), expected.labels, "{context}");
            assert_close(clusters.probabilities(), &expected.probabilities, &context);
            clustered += usize::from(clusters.labels().n_clusters() > 1);
        }
    }
    assert!(clustered as u64 > cases / 2 && close < cases / 20, "{clustered} clustered, {close} close of {cases}");
}

#[test]
fn random_sets_in_the_plane() {
    compare::<2>(600);
}

#[test]
fn random_sets_in_space() {
    compare::<3>(200);
}

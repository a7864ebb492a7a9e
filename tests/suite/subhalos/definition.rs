//! AdaptaHOP from its definition, as plain loops. It shares no code with the library. The tree without steps is found
//! from the hosts downwards, by the densest saddle at which each component is still connected.

use crate::hop::definition::chains;
use common::oracle::{NearestQuery, Side, nearest};
use ropewalk::halo::{AdaptaHopAlgorithm, SubhaloSelection};

/// The options, named as in the paper.
#[derive(Clone, Copy)]
pub struct Rules {
    pub n_hop: usize,
    pub threshold: f64,
    pub fudge: f64,
    pub alpha: f64,
    pub min_members: usize,
    pub min_radius: f64,
    pub selection: SubhaloSelection,
    pub algorithm: AdaptaHopAlgorithm,
}

/// A structure. Rows are in any order, since the smallest member is not recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub parent: Option<usize>,
    pub level: u32,
    pub peak: u32,
    pub saddle: f64,
    pub mass: f64,
    pub own: Vec<u32>,
}

struct Node {
    chains: Vec<usize>,
    saddle: f64,
    children: Vec<Node>,
}

struct Particles<'a> {
    points: &'a [[f64; 3]],
    masses: &'a [f64],
    density: &'a [f64],
    side: Side,
    rules: Rules,
    /// In descending order of density. The chains of peaks above the threshold come first.
    peaks: Vec<usize>,
    chain: Vec<usize>,
    /// The saddle density between each two chains, or 0.
    saddle: Vec<Vec<f64>>,
}

pub fn structures(points: &[[f64; 3]], masses: &[f64], density: &[f64], side: Side, rules: Rules) -> Vec<Row> {
    let found = chains(points, density, rules.n_hop + 1, 0, side);
    let n = found.peaks.iter().filter(|&&peak| density[peak] > rules.threshold).count();
    let mut seen = vec![vec![0.0f64; n]; n];
    for p in (0..points.len()).filter(|&p| density[p] > rules.threshold) {
        for (q, _) in nearest(points, &points[p], NearestQuery::new(rules.n_hop).excluding(p as u32), side) {
            let q = q as usize;
            if density[q] > rules.threshold && found.chain[p] != found.chain[q] {
                let best = &mut seen[found.chain[p]][found.chain[q]];
                *best = best.max(density[p].min(density[q]));
            }
        }
    }
    let saddle = (0..n).map(|a| (0..n).map(|b| seen[a][b].min(seen[b][a])).collect()).collect();
    let particles = Particles { points, masses, density, side, rules, peaks: found.peaks, chain: found.chain, saddle };
    let all: Vec<usize> = (0..n).collect();
    let hosts = match rules.algorithm {
        AdaptaHopAlgorithm::Stepped => particles.children_by_steps(&all, rules.threshold),
        _ => {
            let hosts = particles.components(&all, rules.threshold).into_iter();
            let host = |chains: Vec<usize>| {
                let (counts, children) = particles.look_into(&chains, rules.threshold);
                counts.then_some(Node { chains, saddle: rules.threshold, children })
            };
            hosts.filter_map(host).collect()
        }
    };
    let mut rows = vec![];
    for host in &hosts {
        particles.list(host, None, &mut rows);
    }
    rows
}

impl Particles<'_> {
    /// Returns groups of chains connected by saddles above a density, for chains with peaks above that density.
    fn components(&self, chains: &[usize], above: f64) -> Vec<Vec<usize>> {
        let mut left: Vec<usize> = chains.iter().copied().filter(|&c| self.density[self.peaks[c]] > above).collect();
        let mut components = vec![];
        while let Some(first) = left.first().copied() {
            let mut component = vec![first];
            left.retain(|&c| c != first);
            let mut at = 0;
            while at < component.len() {
                let from = component[at];
                component.extend(left.iter().filter(|&&to| self.saddle[from][to] > above));
                left.retain(|&to| self.saddle[from][to] <= above);
                at += 1;
            }
            component.sort();
            components.push(component);
        }
        components
    }

    fn particles(&self, chains: &[usize], above: f64) -> Vec<usize> {
        (0..self.points.len()).filter(|&p| self.density[p] > above && chains.contains(&self.chain[p])).collect()
    }

    fn mass(&self, chains: &[usize], above: f64) -> f64 {
        self.particles(chains, above).into_iter().map(|p| self.masses[p]).sum()
    }

    fn stands_out(&self, particles: &[usize], above: f64) -> bool {
        let n = particles.len() as f64;
        n > 0.0
            && particles.iter().map(|&p| self.density[p]).sum::<f64>() / n > above * (1.0 + self.rules.fudge / n.sqrt())
    }

    fn passes(&self, chains: &[usize], above: f64) -> bool {
        let particles = self.particles(chains, above);
        if particles.len() < self.rules.min_members.max(1) {
            return false;
        }
        let densest = particles.iter().copied().max_by(|&a, &b| self.density[a].total_cmp(&self.density[b])).unwrap();
        let mean = particles.iter().map(|&p| self.density[p]).sum::<f64>() / particles.len() as f64;
        let way = |p: usize| -> [f64; 3] {
            std::array::from_fn(|k| {
                let d = self.points[p][k] - self.points[densest][k];
                self.side.map_or(d, |side| d - side * (d / side).round())
            })
        };
        let mass: f64 = particles.iter().map(|&p| self.masses[p]).sum();
        let center: [f64; 3] =
            std::array::from_fn(|k| particles.iter().map(|&p| self.masses[p] * way(p)[k]).sum::<f64>() / mass);
        let from_center = |p: usize| (0..3).map(|k| (way(p)[k] - center[k]).powi(2)).sum::<f64>();
        let radius = (particles.iter().map(|&p| self.masses[p] * from_center(p)).sum::<f64>() / mass).sqrt();
        self.density[densest] >= self.rules.alpha * mean
            && radius >= self.rules.min_radius
            && (self.stands_out(&particles, above)
                || chains.iter().any(|&chain| self.stands_out(&self.particles(&[chain], above), above)))
    }

    /// Returns whether a component counts, and the counting components that meet in it at the least dense saddle.
    fn look_into(&self, chains: &[usize], above: f64) -> (bool, Vec<Node>) {
        let mut saddles: Vec<f64> =
            chains.iter().flat_map(|&a| chains.iter().map(move |&b| self.saddle[a][b])).collect();
        saddles.retain(|&saddle| saddle > above);
        saddles.sort_by(f64::total_cmp);
        // The lowest density at which the component splits.
        let apart = saddles.into_iter().map(|at| (at, self.components(chains, at))).find(|(_, parts)| parts.len() > 1);
        if let Some((saddle, parts)) = apart {
            let look = |part: Vec<usize>| {
                let (counts, children) = self.look_into(&part, saddle);
                (counts, Node { chains: part, saddle, children })
            };
            let found: Vec<(bool, Node)> = parts.into_iter().map(look).collect();
            if found.iter().filter(|(counts, _)| *counts).count() > 1 {
                return (true, found.into_iter().filter_map(|(counts, node)| counts.then_some(node)).collect());
            }
            // Components that meet in one of the parts also meet in the whole.
            let below: Vec<Node> = found.into_iter().flat_map(|(_, node)| node.children).collect();
            if !below.is_empty() {
                return (true, below);
            }
        }
        (self.passes(chains, above), vec![])
    }

    fn children_by_steps(&self, chains: &[usize], threshold: f64) -> Vec<Node> {
        let parts = self.components(chains, threshold);
        let counting: Vec<&Vec<usize>> = parts.iter().filter(|part| self.passes(part, threshold)).collect();
        let next = |part: &[usize]| {
            let n = part.iter().map(|&chain| self.particles(&[chain], threshold).len()).max().unwrap();
            threshold * (1.0 + self.rules.fudge / (n as f64).sqrt())
        };
        match counting[..] {
            [] => vec![],
            [only] => self.children_by_steps(&parts.concat(), next(only)),
            _ => {
                let child = |part: &&Vec<usize>| Node {
                    chains: part.to_vec(),
                    saddle: threshold,
                    children: self.children_by_steps(part, next(part)),
                };
                counting.iter().map(child).collect()
            }
        }
    }

    /// Returns the mass without substructures, except for the main child, which has the largest such mass.
    fn own_mass(&self, node: &Node) -> f64 {
        let all = |node: &Node| self.mass(&node.chains, node.saddle);
        let below: f64 = node.children.iter().map(all).sum();
        all(node) - below + node.children.iter().map(|child| self.own_mass(child)).fold(0.0, f64::max)
    }

    /// Appends the structure that starts with a node, then its substructures.
    fn list(&self, node: &Node, parent: Option<usize>, rows: &mut Vec<Row>) {
        let own = rows.len();
        let level = parent.map_or(1, |parent: usize| rows[parent].level + 1);
        let mass = self.mass(&node.chains, node.saddle);
        rows.push(Row { parent, level, peak: 0, saddle: node.saddle, mass, own: vec![] });
        let mut members = self.particles(&node.chains, node.saddle);
        let mut at = node;
        let peak = loop {
            let is_main = |child: &Node| match self.rules.selection {
                SubhaloSelection::Density => -(child.chains[0] as f64),
                _ => self.own_mass(child),
            };
            let main = at.children.iter().max_by(|a, b| is_main(a).total_cmp(&is_main(b)));
            for child in at.children.iter().filter(|child| !std::ptr::eq(*child, main.unwrap())) {
                self.list(child, Some(own), rows);
                let theirs = self.particles(&child.chains, child.saddle);
                members.retain(|p| !theirs.contains(p));
            }
            match main {
                Some(main) => at = main,
                None => break at.chains[0],
            }
        };
        rows[own].peak = self.peaks[peak] as u32;
        rows[own].own = members.into_iter().map(|p| p as u32).collect();
    }
}

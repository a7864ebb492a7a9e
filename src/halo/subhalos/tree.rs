//! The tree of nodes in the density field, and the structures formed from it.
//!
//! In: nodes, each with the particles of a component above a density. Out: structures. Each consists of a node, its
//! main child, the main child of that, and so on.
//! Source: Tweed et al. 2009, sections 2.1 and 2.2.

use crate::cancel::check_at;
use crate::memory::filled;

/// Marks a missing node, chain or structure.
pub(super) const NONE: u32 = u32::MAX;

/// A component above a density.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Node {
    /// The node of lower density that contains this one; [`NONE`] for a host.
    pub parent: u32,
    /// The density above which all its particles are.
    pub saddle: f64,
    /// The mass of its particles.
    pub mass: f64,
    /// The chain with the densest peak of the node.
    pub peak: u32,
}

/// The nodes, and the deepest node of each chain.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub nodes: Vec<Node>,
    pub of_chain: Vec<u32>,
}

/// The criterion for the main child, which continues the structure of its parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum SubhaloSelection {
    /// The child with the densest peak: the *density profile method* (DPM) of Tweed et al. 2009.
    Density,
    /// The child with the largest mass above its saddle, not counting its subhalos; ties by the densest peak. Main
    /// children are chosen from the deepest nodes upwards. So a subhalo is never heavier than its parent, both without
    /// their subhalos: the *most massive substructure method* (MSM).
    #[default]
    Mass,
}

/// A halo or subhalo: a node that is not a main child, and the main children below it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Structure {
    /// The structure that contains this one; [`NONE`] for a host.
    pub parent: u32,
    /// The saddle of the structure's uppermost node; particles of lower density belong to the parent.
    pub saddle: f64,
    /// The mass above the saddle, including nested structures.
    pub mass: f64,
    /// The chain of the structure's own peak.
    pub peak: u32,
}

/// The structures, parents first, and the deepest structure of each chain.
pub(super) struct Structures {
    pub all: Vec<Structure>,
    pub of_chain: Vec<u32>,
}

impl Tree {
    pub fn structures(&self, selection: SubhaloSelection) -> Structures {
        let nodes = &self.nodes;
        let mut children: Vec<(u32, u32)> = (0..nodes.len()).map(|at| (nodes[at].parent, at as u32)).collect();
        children.sort_unstable();
        let of_parent = |parent: u32| {
            let start = children.partition_point(|&(of, _)| of < parent);
            children[start..].iter().take_while(move |&&(of, _)| of == parent).map(|&(_, at)| at)
        };
        // Nodes in breadth-first order, hosts first.
        let mut order: Vec<u32> = of_parent(NONE).collect();
        let mut at = 0;
        while let Some(&node) = order.get(at) {
            check_at(at);
            order.extend(of_parent(node));
            at += 1;
        }
        // The mass of a node and its main children, without other children.
        let mut own: Vec<f64> = nodes.iter().map(|node| node.mass).collect();
        let mut main = filled(nodes.len(), NONE);
        for (turn, &at) in order.iter().rev().enumerate() {
            check_at(turn);
            let is_before = |&a: &u32, &b: &u32| {
                let by_peak = nodes[a as usize].peak.cmp(&nodes[b as usize].peak);
                match selection {
                    SubhaloSelection::Density => by_peak,
                    SubhaloSelection::Mass => own[b as usize].total_cmp(&own[a as usize]).then(by_peak),
                }
            };
            if let Some(best) = of_parent(at).min_by(is_before) {
                main[at as usize] = best;
                let others: f64 =
                    of_parent(at).filter(|&child| child != best).map(|child| nodes[child as usize].mass).sum();
                own[at as usize] -= others + (nodes[best as usize].mass - own[best as usize]);
            }
        }
        let mut all = vec![];
        let mut of_node = filled(nodes.len(), NONE);
        for at in order {
            let Node { parent, saddle, mass, peak } = nodes[at as usize];
            if main.get(parent as usize) == Some(&at) {
                let structure = of_node[parent as usize];
                of_node[at as usize] = structure;
                // The peak is finally that of the deepest main child.
                all[structure as usize] = Structure { peak, ..all[structure as usize] };
            } else {
                of_node[at as usize] = all.len() as u32;
                let parent = of_node.get(parent as usize).copied().unwrap_or(NONE);
                all.push(Structure { parent, saddle, mass, peak });
            }
        }
        let structure = |node: &u32| of_node.get(*node as usize).copied().unwrap_or(NONE);
        Structures { of_chain: self.of_chain.iter().map(structure).collect(), all }
    }
}

impl Structures {
    /// Returns the structure of a particle of the given chain and density, if it has one.
    pub fn of(&self, chain: u32, density: f64) -> Option<u32> {
        let mut at = *self.of_chain.get(chain as usize)?;
        while let Some(structure) = self.all.get(at as usize) {
            if density > structure.saddle {
                return Some(at);
            }
            at = structure.parent;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host with two children; the lighter one is denser and has two children itself.
    #[test]
    fn a_main_child_has_the_identity_of_its_parent() {
        let node = |parent, saddle, mass, peak| Node { parent, saddle, mass, peak };
        let nodes = vec![
            node(4, 5.0, 2.0, 0),
            node(4, 5.0, 1.0, 2),
            node(3, 2.0, 9.0, 1),
            node(NONE, 1.0, 20.0, 0),
            node(3, 2.0, 4.0, 0),
        ];
        let tree = Tree { nodes, of_chain: vec![0, 2, 1, 3, NONE] };
        let by_mass = tree.structures(SubhaloSelection::Mass);
        let parents = |found: &Structures| -> Vec<u32> { found.all.iter().map(|structure| structure.parent).collect() };
        let peaks = |found: &Structures| -> Vec<u32> { found.all.iter().map(|structure| structure.peak).collect() };
        assert_eq!((parents(&by_mass), peaks(&by_mass)), (vec![NONE, 0, 1], vec![1, 0, 2]));
        assert_eq!(by_mass.of_chain, [1, 0, 2, 0, NONE]);
        let of = |chain, density| by_mass.of(chain, density);
        assert_eq!(
            [of(2, 5.5), of(2, 5.0), of(2, 2.0), of(2, 1.0), of(4, 9.0)],
            [Some(2), Some(1), Some(0), None, None]
        );
        let by_density = tree.structures(SubhaloSelection::Density);
        assert_eq!((parents(&by_density), peaks(&by_density)[0]), (vec![NONE, 0, 0], 0));
        assert_eq!(by_density.of_chain[0], 0);
    }

    /// The heavier of two children splits into three nodes. Without two of these it is the lighter child, and becomes
    /// a subhalo.
    #[test]
    fn subhalos_do_not_count_for_what_they_are_in() {
        let node = |parent, saddle, mass, peak| Node { parent, saddle, mass, peak };
        let mut nodes = vec![node(NONE, 1.0, 20.0, 0), node(0, 2.0, 10.0, 0), node(0, 2.0, 9.0, 3)];
        nodes.extend([0, 1, 2].map(|peak| node(1, 3.0, 3.0, peak)));
        let tree = Tree { nodes, of_chain: vec![3, 4, 5, 2] };
        let by_mass = tree.structures(SubhaloSelection::Mass);
        let rows: Vec<(u32, f64, u32)> = by_mass.all.iter().map(|row| (row.parent, row.mass, row.peak)).collect();
        assert_eq!(rows, [(NONE, 20.0, 3), (0, 10.0, 0), (1, 3.0, 1), (1, 3.0, 2)]);
        assert_eq!(by_mass.of_chain, [1, 2, 3, 0]);
    }
}

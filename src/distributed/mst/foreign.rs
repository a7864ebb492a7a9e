//! Searches for items of other components.
//!
//! In: a tree, and the component of each item. Out: the nearest item of another component than that of a query, or all
//! such items within a distance. Nodes with items of the query's component alone are skipped, so a search takes no
//! longer if it begins deep inside its component. Among equally near items, such as copies, a search skips nodes whose
//! indices are all above the lowest so far.
//! Cost: O(n) for the nodes; a search usually that of a nearest neighbour.

use crate::bvh::Bvh;
use crate::geometry::{Aabb, Scalar};

/// The component of an item or node that holds several.
pub(super) const MIXED: u64 = u64::MAX;
/// The component of an item that no search finds.
pub(super) const HIDDEN: u64 = u64::MAX - 1;

/// A tree whose items have components.
pub(super) struct ForeignItems<'a, S, const D: usize> {
    tree: &'a Bvh<S, D>,
    of_index: Vec<u64>,
    of_node: Vec<Items>,
}

/// The items of a node.
#[derive(Clone, Copy, Default)]
struct Items {
    component: u64,
    lowest: u32,
}

impl<'a, S: Scalar, const D: usize> ForeignItems<'a, S, D> {
    /// Assigns components to the items of a tree, by index.
    pub fn new(tree: &'a Bvh<S, D>, of_index: Vec<u64>) -> Self {
        let item = |&index: &u32| Items { component: of_index[index as usize], lowest: index };
        let none = Items { component: HIDDEN, lowest: u32::MAX };
        let of_leaf = |at: usize| tree.order()[tree.span(at)].iter().map(item).fold(none, joined);
        let of_node = tree.reduce(of_leaf, |_, [left, right]| joined(*left, *right));
        Self { tree, of_index, of_node }
    }

    /// Returns the component of an item.
    pub fn of_index(&self, index: u32) -> u64 {
        self.of_index[index as usize]
    }

    /// Returns the component of a node: [`MIXED`] if it holds several.
    pub fn of_node(&self, node: usize) -> u64 {
        self.of_node[node].component
    }

    /// Returns the squared distance and the index of the nearest item of another component than `own`, within a squared
    /// distance (inclusive). Of equally near items, that is the one of lowest index.
    pub fn nearest(&self, from: &Aabb<S, D>, own: u64, within2: f64) -> Option<(f64, u32)> {
        let (tree, space) = (self.tree, self.tree.space());
        let (mut best2, mut best) = (within2, None);
        let entry = |node: usize| (space.min_distance2(from, &tree.node(node).bounds), self.of_node[node].lowest, node);
        let mut open = vec![];
        if !tree.is_empty() {
            open.push(entry(0));
        }
        while let Some((to_node2, lowest, at)) = open.pop() {
            let is_beyond = to_node2 > best2 || to_node2 == best2 && best.is_some_and(|best| lowest > best);
            if is_beyond || !is_foreign(self.of_node(at), own) {
                continue;
            }
            if !tree.is_leaf(at) {
                let mut nodes = children(tree, at).map(entry);
                nodes.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
                open.extend(nodes);
                continue;
            }
            for position in tree.span(at) {
                let index = tree.order()[position];
                if is_foreign(self.of_index(index), own) {
                    let to_item2 = space.min_distance2(from, &tree.item(position));
                    if to_item2 < best2 || to_item2 == best2 && best.is_none_or(|best| index < best) {
                        (best2, best) = (to_item2, Some(index));
                    }
                }
            }
        }
        best.map(|index| (best2, index))
    }

    /// Calls `found` with the index of each item of another component than `own` within a squared distance (inclusive).
    pub fn for_each_within(&self, from: &Aabb<S, D>, own: u64, within2: f64, found: &mut dyn FnMut(u32)) {
        let (tree, space) = (self.tree, self.tree.space());
        let mut open = vec![];
        if !tree.is_empty() {
            open.push(0);
        }
        while let Some(at) = open.pop() {
            let is_near = || space.min_distance2(from, &tree.node(at).bounds) <= within2;
            if !is_foreign(self.of_node(at), own) || !is_near() {
                continue;
            }
            if !tree.is_leaf(at) {
                open.extend(children(tree, at));
                continue;
            }
            for position in tree.span(at) {
                let index = tree.order()[position];
                let is_near = || space.min_distance2(from, &tree.item(position)) <= within2;
                if is_foreign(self.of_index(index), own) && is_near() {
                    found(index);
                }
            }
        }
    }
}

/// Returns the two children of an inner node.
fn children<S: Scalar, const D: usize>(tree: &Bvh<S, D>, at: usize) -> [usize; 2] {
    [at + 1, tree.node(at + 1).rope as usize]
}

/// Returns what two nodes hold together.
fn joined(a: Items, b: Items) -> Items {
    let component = match (a.component, b.component) {
        (HIDDEN, of) | (of, HIDDEN) => of,
        (one, other) if one == other => one,
        _ => MIXED,
    };
    Items { component, lowest: a.lowest.min(b.lowest) }
}

/// Returns `true` if a search of the component `own` may find something of the component `of`.
fn is_foreign(of: u64, own: u64) -> bool {
    of != own && of != HIDDEN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::mixed;

    #[test]
    fn searches_equal_brute_force() {
        let points: Vec<[f64; 2]> = (0..600).map(|i| [(mixed(i) % 40) as f64, (mixed(i + 1000) % 40) as f64]).collect();
        let of_index = |i: u64| match mixed(i + 2000) % 6 {
            0 => HIDDEN,
            1 => MIXED,
            _ => u64::from(points[i as usize][0] < 20.0),
        };
        let of_index: Vec<u64> = (0..600).map(of_index).collect();
        for space in [None, Some(40.0)] {
            let tree = Bvh::build_periodic(&points, space).unwrap();
            let items = ForeignItems::new(&tree, of_index.clone());
            for (at, own, within2) in (0..600).flat_map(|at| [(at, 0, 9.0), (at, 1, 400.0), (at, 7, f64::INFINITY)]) {
                let from = Aabb::point(points[at]);
                let mut expected: Vec<(u64, u32)> = (0..600)
                    .filter(|&i| of_index[i as usize] != own && of_index[i as usize] != HIDDEN)
                    .map(|i| (tree.space().distance2(&points[at], &points[i as usize]) as u64, i))
                    .filter(|of| of.0 as f64 <= within2)
                    .collect();
                expected.sort_unstable();
                let nearest = items.nearest(&from, own, within2).map(|(distance2, index)| (distance2 as u64, index));
                assert_eq!(nearest, expected.first().copied());
                let mut found = vec![];
                items.for_each_within(&from, own, within2, &mut |index| found.push(index));
                found.sort_unstable();
                let mut expected: Vec<u32> = expected.into_iter().map(|of| of.1).collect();
                expected.sort_unstable();
                assert_eq!(found, expected);
            }
        }
        let none: Bvh<f64, 2> = Bvh::build(&[] as &[[f64; 2]]).unwrap();
        assert_eq!(ForeignItems::new(&none, vec![]).nearest(&Aabb::point([0.0; 2]), 0, 9.0), None);
    }

    /// A search deep in its component, and one among copies, visit few items: their work does not grow with the number
    /// of items.
    #[test]
    fn searches_skip_their_component_and_copies() {
        let distances = |n: u64| {
            let apart: Vec<[f64; 1]> = (0..n).map(|i| [if i % 2 == 0 { i as f64 / n as f64 } else { 50.0 }]).collect();
            let tree = Bvh::build(&apart).unwrap();
            let items = ForeignItems::new(&tree, (0..n).map(|i| i % 2).collect());
            crate::work::distances(|| {
                assert_eq!(items.nearest(&Aabb::point([0.5]), 0, f64::INFINITY).unwrap().1, 1);
            })
        };
        let (few, many) = (distances(2_000), distances(64_000));
        assert!(many < few + 300, "{few} and {many} distances");
    }
}

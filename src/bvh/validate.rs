//! Checks of all invariants of a tree.

use crate::bvh::{Bvh, DEPTH, LEAF};
use crate::error::{Error, Result};
use crate::geometry::{Aabb, Scalar};
use crate::memory::zeroed;

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Checks every invariant: each primitive is stored once, leaves have 1 to [`LEAF`] primitives, ropes and ranges
    /// are nested, boxes are tight, and the depth is at most 222.
    ///
    /// # Errors
    /// The first broken invariant, which would be a bug of this crate.
    pub fn validate(&self) -> Result<()> {
        let n = self.len();
        let mut seen: Vec<bool> = zeroed(n);
        for &index in &self.index {
            match seen.get_mut(index as usize) {
                Some(seen) if !*seen => *seen = true,
                _ => return broken(format!("primitive {index} is stored twice, or out of range for {n} primitives")),
            }
        }
        // The later checks rely on these. Without them, they could read past the end or not terminate.
        let (end, nodes) = (self.end(), &self.nodes);
        if let Some(at) = (0..end).find(|&at| !(at + 1..=end).contains(&(nodes[at].rope as usize))) {
            return broken(format!("the rope of node {at} is {}, but must be in {}..={end}", nodes[at].rope, at + 1));
        }
        if let Some(at) = (0..end).find(|&at| !(nodes[at].first..=n as u32).contains(&nodes[at + 1].first)) {
            return broken(format!(
                "node {at} begins at primitive {} and the next node at {}; they must ascend, to at most {n}",
                nodes[at].first,
                nodes[at + 1].first
            ));
        }
        let sentinel = self.node(self.end());
        if sentinel.first as usize != n || sentinel.bounds != Aabb::EMPTY {
            return broken(format!("the sentinel holds primitives: {sentinel:?}"));
        }
        if n > 0 {
            self.validate_below(0, self.end(), 1)?;
        }
        Ok(())
    }

    /// Checks the subtree at `at`, which must end at `end`.
    fn validate_below(&self, at: usize, end: usize, depth: usize) -> Result<()> {
        let node = self.node(at);
        let span = self.span(at);
        if node.rope as usize != end {
            return broken(format!("the rope of node {at} is {} instead of {end}", node.rope));
        }
        if depth > DEPTH {
            return broken(format!("node {at} is at depth {depth}; the maximum is {DEPTH}"));
        }
        let tight = if self.is_leaf(at) {
            if !(1..=LEAF).contains(&span.len()) {
                return broken(format!("leaf {at} has {} primitives; leaves have 1 to {LEAF}", span.len()));
            }
            span.map(|position| self.item(position)).fold(Aabb::EMPTY, |bounds, item| bounds.union(&item))
        } else {
            let (left, right) = (at + 1, self.node(at + 1).rope as usize);
            if !(left < right && right < end) {
                return broken(format!("node {at} ends at {end}, but its children are {left} and {right}"));
            }
            if span.len() <= LEAF {
                return broken(format!("inner node {at} has only {} primitives; leaves have up to {LEAF}", span.len()));
            }
            if self.span(left).start != span.start || self.span(left).end != self.span(right).start {
                return broken(format!("the primitives of the children of node {at} are not adjacent ranges"));
            }
            self.validate_below(left, right, depth + 1)?;
            self.validate_below(right, end, depth + 1)?;
            self.node(left).bounds.union(&self.node(right).bounds)
        };
        if tight != node.bounds {
            return broken(format!("the box of node {at} is {:?} instead of {tight:?}", node.bounds));
        }
        Ok(())
    }
}

fn broken(how: String) -> Result<()> {
    Err(Error::invariant(how))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bvh::Node;

    fn sound() -> Bvh<f32, 2> {
        let points: Vec<[f32; 2]> = (0..500).map(|i| [(i % 25) as f32, (i / 25) as f32]).collect();
        Bvh::build(&points).unwrap()
    }

    /// Breaks a valid tree, and checks the error message.
    #[track_caller]
    fn complains(broken_by: impl Fn(&mut Bvh<f32, 2>), about: &str) {
        let mut tree = sound();
        tree.validate().unwrap();
        broken_by(&mut tree);
        let message = tree.validate().expect_err("a broken tree").to_string();
        assert!(message.contains(about), "'{message}' is not about '{about}'");
    }

    #[test]
    fn every_invariant_can_be_broken() {
        let leaf = (0..sound().end()).find(|&at| sound().is_leaf(at)).unwrap();
        complains(|tree| tree.index[3] = tree.index[4], "stored twice");
        complains(|tree| tree.index[3] = 500, "out of range");
        complains(|tree| tree.lo[1][7] += 100.0, "the box of node");
        complains(|tree| tree.nodes[0].bounds.hi[0] += 1.0, "the box of node 0");
        complains(|tree| tree.nodes[leaf].bounds.lo[1] -= 1.0, "the box of node");
        complains(|tree| tree.nodes[1].rope += 1, "node");
        complains(|tree| tree.nodes[0].rope -= 1, "the rope of node 0");
        complains(|tree| tree.nodes[leaf].first += 1, "node");
        complains(|tree| tree.nodes[leaf + 1].first += 1, "node");
        complains(|tree| tree.nodes.last_mut().unwrap().first -= 1, "sentinel");
    }

    #[test]
    fn leaves_that_are_too_large_or_too_small() {
        // A root that is marked as a leaf, and a root that is split although its primitives fit in a leaf.
        complains(
            |tree| {
                let end = Node { rope: 1, ..tree.nodes[tree.end()] };
                tree.nodes = vec![Node { rope: 1, ..tree.nodes[0] }, end];
            },
            "has 500 primitives",
        );
        let mut tree = Bvh::build(&[[0.0f32], [1.0]]).unwrap();
        let leaf = |at: usize| Node { bounds: Aabb::point([at as f32]), rope: at as u32 + 2, first: at as u32 };
        tree.nodes = vec![Node { rope: 3, ..tree.nodes[0] }, leaf(0), leaf(1), Node { rope: 3, ..tree.nodes[1] }];
        assert!(tree.validate().unwrap_err().to_string().contains("only 2 primitives"));
    }
}

//! The nodes of a tree as a graph in the DOT language of Graphviz: edges to children, and dashed edges along ropes.

use std::io::{BufWriter, Result, Write};

use crate::bvh::Bvh;
use crate::geometry::Scalar;

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Writes the nodes of the tree as a directed graph in the DOT language of Graphviz.
    ///
    /// | statement | meaning |
    /// |---|---|
    /// | `n4 [shape=ellipse, label="4"]` | inner node 4 |
    /// | `n5 [shape=box, label="5\n0..17"]` | leaf 5 with the primitives `order()[0..17]` (see [`order`](Bvh::order)) |
    /// | `n4 -> n5` | edge from a node to a child, the left child first |
    /// | `n5 -> n6 [style=dashed, ..]` | rope: the node at which a walk continues that skips node 5 |
    /// | `end [shape=point]` | the end of the walk |
    ///
    /// Nodes are numbered in depth-first order from the root, node 0. They are written in this order, each with its
    /// edges to children. All ropes follow in the same order. An empty tree gives a graph without nodes. Equal trees
    /// give equal text.
    ///
    /// `dot -Tsvg tree.dot -o tree.svg` draws the graph. Graphs of more than a few thousand primitives are too wide to
    /// read.
    ///
    /// ```
    /// use ropewalk::Bvh;
    ///
    /// let points: Vec<[f32; 2]> = (0..40).map(|i| [(i % 8) as f32, (i / 8) as f32]).collect();
    /// let mut text = Vec::new();
    /// Bvh::build(&points)?.write_graphviz(&mut text)?;
    /// let text = String::from_utf8(text)?;
    /// assert!(text.starts_with("digraph bvh {") && text.contains("n0 -> n1;"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `out`, which is buffered here and flushed at the end.
    ///
    /// # Cost
    /// One pass over the nodes, about 120 bytes of text per node. There are about 2 nodes per 20 points.
    ///
    /// # Source
    /// The language: <https://graphviz.org/doc/info/lang.html>. The ropes: Prokopenko and Lebrun-Grandié 2024.
    pub fn write_graphviz(&self, out: impl Write) -> Result<()> {
        let mut out = BufWriter::new(out);
        writeln!(out, "digraph bvh {{")?;
        for at in 0..self.end() {
            if self.is_leaf(at) {
                let span = self.span(at);
                writeln!(out, "  n{at} [shape=box, label=\"{at}\\n{}..{}\"];", span.start, span.end)?;
            } else {
                let [left, right] = [at + 1, self.node(at + 1).rope as usize];
                writeln!(out, "  n{at} [shape=ellipse, label=\"{at}\"];\n  n{at} -> n{left};\n  n{at} -> n{right};")?;
            }
        }
        // Graphviz draws left children to the left only if the end and the ropes follow the edges to children.
        if !self.is_empty() {
            writeln!(out, "  end [shape=point];")?;
        }
        for (at, node) in self.nodes().iter().enumerate() {
            let target = if node.rope as usize == self.end() { "end".to_owned() } else { format!("n{}", node.rope) };
            writeln!(out, "  n{at} -> {target} [style=dashed, color=gray, constraint=false];")?;
        }
        writeln!(out, "}}")?;
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bvh::LEAF;
    use crate::bvh::export::tests::{depths, tree_of_boxes, trees_of_points};
    use std::collections::HashMap;
    use std::ops::Range;

    /// A graph as read from its text alone.
    #[derive(Default)]
    struct Graph {
        inner: Vec<usize>,
        leaves: HashMap<usize, Range<usize>>,
        children: HashMap<usize, Vec<usize>>,
        /// The targets of ropes; `None` for the end.
        ropes: HashMap<usize, Option<usize>>,
    }

    impl Graph {
        fn read(text: &str) -> Self {
            let mut graph = Self::default();
            let body = text.strip_prefix("digraph bvh {\n").unwrap().strip_suffix("}\n").unwrap();
            let number = |name: &str| name.strip_prefix('n').unwrap().parse::<usize>().unwrap();
            for line in body.lines() {
                let line = line.trim().strip_suffix(';').unwrap();
                let (subject, attributes) = line.split_once(" [").unwrap_or((line, ""));
                if let Some((from, to)) = subject.split_once(" -> ") {
                    if attributes.contains("style=dashed") {
                        let target = (to != "end").then(|| number(to));
                        assert_eq!(graph.ropes.insert(number(from), target), None);
                    } else {
                        assert_eq!(attributes, "");
                        graph.children.entry(number(from)).or_default().push(number(to));
                    }
                } else if let Some(name) = subject.strip_prefix('n') {
                    let label = attributes.split("label=\"").nth(1).unwrap().strip_suffix("\"]").unwrap();
                    let mut rows = label.split("\\n");
                    assert_eq!(rows.next(), Some(name));
                    match rows.next() {
                        None => {
                            assert!(attributes.starts_with("shape=ellipse,"));
                            graph.inner.push(number(subject));
                        }
                        Some(range) => {
                            assert!(attributes.starts_with("shape=box,"));
                            let (start, end) = range.split_once("..").unwrap();
                            let range = start.parse().unwrap()..end.parse().unwrap();
                            assert_eq!(graph.leaves.insert(number(subject), range), None);
                        }
                    }
                } else {
                    assert_eq!(line, "end [shape=point]");
                }
            }
            graph
        }

        /// Visits a subtree, and checks that its ropes end at `rope`. Returns the primitives and depths of its nodes.
        fn visit(&self, at: usize, rope: Option<usize>, depth: usize, depths: &mut [usize]) -> Range<usize> {
            depths[at] = depth;
            assert_eq!(self.ropes[&at], rope);
            match (self.leaves.get(&at), self.children.get(&at)) {
                (Some(range), None) => range.clone(),
                (None, Some(children)) => {
                    assert!(self.inner.contains(&at));
                    let [left, right] = children[..] else { panic!("node {at} has {} children", children.len()) };
                    let of_left = self.visit(left, Some(right), depth + 1, depths);
                    let of_right = self.visit(right, rope, depth + 1, depths);
                    assert_eq!(of_left.end, of_right.start);
                    of_left.start..of_right.end
                }
                _ => panic!("node {at} must be either a leaf or have children"),
            }
        }
    }

    fn text<S: Scalar, const D: usize>(tree: &Bvh<S, D>) -> String {
        let mut bytes = Vec::new();
        tree.write_graphviz(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn check<S: Scalar, const D: usize>(tree: &Bvh<S, D>) {
        let graph = Graph::read(&text(tree));
        let nodes = tree.nodes();
        assert_eq!(graph.inner.len() + graph.leaves.len(), nodes.len());
        assert_eq!(graph.ropes.len(), nodes.len());
        assert_eq!(graph.children.values().map(Vec::len).sum::<usize>(), nodes.len().saturating_sub(1));
        if !nodes.is_empty() {
            // All nodes are reached once, in depth-first order, and leaves partition the primitives.
            let mut reached = vec![usize::MAX; nodes.len()];
            assert_eq!(graph.visit(0, None, 0, &mut reached), 0..tree.len());
            assert_eq!(reached, depths(tree));
        }
        for (&from, children) in &graph.children {
            let [parent, left, right] = [from, children[0], children[1]].map(|at| nodes[at].bounds);
            assert_eq!(left.union(&right), parent);
        }
        for (&leaf, range) in &graph.leaves {
            assert!((1..=LEAF).contains(&range.len()) && range.start == nodes[leaf].first as usize);
        }
    }

    #[test]
    fn text_describes_the_tree() {
        trees_of_points::<f32, 1>().iter().for_each(check);
        trees_of_points::<f32, 2>().iter().for_each(check);
        trees_of_points::<f64, 7>().iter().for_each(check);
        check(&tree_of_boxes::<3>());
    }

    #[test]
    fn small_trees() {
        assert_eq!(text(&Bvh::<f32, 2>::build::<[f32; 2]>(&[]).unwrap()), "digraph bvh {\n}\n");
        let leaf = "  n0 [shape=box, label=\"0\\n0..1\"];\n  end [shape=point];\n  \
                    n0 -> end [style=dashed, color=gray, constraint=false];\n";
        assert_eq!(text(&Bvh::build(&[[1.0f32]]).unwrap()), format!("digraph bvh {{\n{leaf}}}\n"));
    }
}

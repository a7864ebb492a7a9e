//! The boxes and primitives of a tree in two dimensions as a TikZ picture for LaTeX.

use std::io::{BufWriter, Result, Write};

use crate::bvh::Bvh;
use crate::bvh::export::with_depths;
use crate::geometry::{Aabb, Scalar};

/// The longer side of the picture in cm. TeX has no lengths above 575 cm.
const SIDE: f64 = 10.0;
/// Positions per cm. TeX rounds lengths to 5.4e-7 cm.
const STEPS: f64 = 1e6;

/// The map from coordinates of a tree to positions in a picture.
struct Frame {
    origin: [f64; 2],
    side: f64,
}

impl Frame {
    /// The picture of a box, with the same scale on both axes.
    fn around<S: Scalar>(bounds: &Aabb<S, 2>) -> Self {
        let origin = bounds.lo.map(Into::into);
        let [width, height] = [0, 1].map(|k| bounds.hi[k].into() - origin[k]);
        Self { origin, side: width.max(height) }
    }

    /// A position in cm, rounded to 1e-6 cm, as TikZ reads it.
    fn place<S: Scalar>(&self, point: [S; 2]) -> String {
        let [x, y] = [0, 1].map(|k| {
            let offset: f64 = point[k].into() - self.origin[k];
            let share = if offset > 0.0 { offset / self.side } else { 0.0 };
            (share * SIDE * STEPS).round() / STEPS
        });
        format!("({x}, {y})")
    }

    fn rectangle<S: Scalar>(&self, bounds: &Aabb<S, 2>) -> String {
        format!("{} rectangle {}", self.place(bounds.lo), self.place(bounds.hi))
    }
}

impl<S: Scalar> Bvh<S, 2> {
    /// Writes the boxes of all nodes and the primitives of a tree in two dimensions as a `tikzpicture` for LaTeX.
    ///
    /// The picture needs the package `tikz`, without libraries. This document contains nothing else:
    ///
    /// ```latex
    /// \documentclass{standalone}
    /// \usepackage{tikz}
    /// \begin{document}
    /// \input{tree.tikz}
    /// \end{document}
    /// ```
    ///
    /// The options of the picture define its styles. Boxes of nodes are rectangles of style `depth 0` (the root),
    /// `depth 1` and so on, in depth-first order. The primitives are drawn over them in tree order, with the style
    /// `primitive`: points as discs, boxes as rectangles.
    ///
    /// Comments give the number of each node, the range of primitives of each leaf, and the index of each primitive in
    /// the slice from which the tree was built. A range is one of positions in tree order (see [`order`](Bvh::order)).
    ///
    /// The lower left corner of the tree's box is at (0, 0), and its longer side is 10 cm long. Positions are rounded
    /// to 1e-6 cm, because TeX has neither lengths above 575 cm nor smaller steps. The first line is a comment with the
    /// exact box in the coordinates of the tree. An empty tree gives a picture with the words "empty tree". Equal trees
    /// give equal text.
    ///
    /// Pictures of more than a few thousand primitives are slow in TeX and too dense to read.
    ///
    /// ```
    /// use ropewalk::Bvh;
    ///
    /// let mut text = Vec::new();
    /// Bvh::build(&[[0.0f32, 0.0], [4.0, 1.0]])?.write_tikz(&mut text)?;
    /// let text = String::from_utf8(text)?;
    /// assert!(text.contains("\\draw[depth 0] (0, 0) rectangle (10, 2.5); % leaf 0: 0..2"));
    /// assert!(text.contains("\\fill[primitive] (10, 2.5) circle[radius=0.03]; % 1"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `out`, which is buffered here and flushed at the end.
    ///
    /// # Cost
    /// O(n): about 70 bytes of text per primitive and per node.
    ///
    /// # Source
    /// The language: the manual of PGF and TikZ, <https://tikz.dev>.
    pub fn write_tikz(&self, out: impl Write) -> Result<()> {
        let mut out = BufWriter::new(out);
        if self.is_empty() {
            writeln!(out, "\\begin{{tikzpicture}}\n\\node {{empty tree}};\n\\end{{tikzpicture}}")?;
            return out.flush();
        }
        let Aabb { lo, hi } = self.bounds();
        let frame = Frame::around(&self.bounds());
        writeln!(out, "% Box of the tree: ({:?}, {:?}) to ({:?}, {:?})", lo[0], lo[1], hi[0], hi[1])?;
        writeln!(out, "\\begin{{tikzpicture}}[")?;
        let deepest = with_depths(self).map(|(_, depth)| depth).max().unwrap_or(0);
        for depth in 0..=deepest {
            // From thick blue lines to thin red ones.
            let (red, width) = (100 * depth / deepest.max(1), 1.2 / (1.0 + 0.5 * depth as f64));
            writeln!(out, "  depth {depth}/.style={{draw=red!{red}!blue, line width={width:.2}pt}},")?;
        }
        let is_filled = self.holds_points();
        writeln!(out, "  primitive/.style={{{}}}]", if is_filled { "fill=black" } else { "draw=black, thin" })?;
        for (at, depth) in with_depths(self) {
            write!(out, "\\draw[depth {depth}] {}; % ", frame.rectangle(&self.node(at).bounds))?;
            if self.is_leaf(at) {
                let span = self.span(at);
                writeln!(out, "leaf {at}: {}..{}", span.start, span.end)?;
            } else {
                writeln!(out, "node {at}")?;
            }
        }
        for (position, index) in self.order().iter().enumerate() {
            let item = self.item(position);
            if is_filled {
                writeln!(out, "\\fill[primitive] {} circle[radius=0.03]; % {index}", frame.place(item.lo))?;
            } else {
                writeln!(out, "\\draw[primitive] {}; % {index}", frame.rectangle(&item))?;
            }
        }
        writeln!(out, "\\end{{tikzpicture}}")?;
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bvh::export::tests::{depths, tree_of_boxes, trees_of_points};
    use std::fmt::Debug;
    use std::ops::Range;
    use std::str::FromStr;

    /// A box as `[x, y]` of both corners.
    type Rectangle = [[f64; 2]; 2];

    /// A picture as read from its text alone.
    #[derive(Default)]
    struct Picture {
        /// The box of the tree in its own coordinates.
        whole: Rectangle,
        styles: usize,
        nodes: Vec<(usize, Rectangle, Option<Range<usize>>)>,
        primitives: Vec<(usize, Rectangle)>,
    }

    fn corner(text: &str) -> [f64; 2] {
        // TeX reads no exponents.
        assert!(text.chars().all(|c| c.is_ascii_digit() || "(., )".contains(c)), "{text} is no position in TeX");
        point(text)
    }

    fn point<T: FromStr<Err: Debug>>(text: &str) -> [T; 2] {
        let (x, y) = text.strip_prefix('(').unwrap().strip_suffix(')').unwrap().split_once(", ").unwrap();
        [x, y].map(|number| number.parse().unwrap())
    }

    fn rectangle(text: &str) -> Rectangle {
        let (lo, hi) = text.split_once(" rectangle ").unwrap();
        [lo, hi].map(corner)
    }

    impl Picture {
        fn read<S: Scalar + FromStr<Err: Debug>>(text: &str) -> Self {
            let mut picture = Self::default();
            let (first, body) = text.split_once("\n\\begin{tikzpicture}[\n").unwrap();
            let whole = first.strip_prefix("% Box of the tree: ").unwrap().split_once(" to ").unwrap();
            picture.whole = [whole.0, whole.1].map(|corner| point::<S>(corner).map(Into::into));
            let (styles, body) = body.split_once("]\n").unwrap();
            picture.styles = styles.lines().filter(|line| line.trim().starts_with("depth ")).count();
            for line in body.strip_suffix("\\end{tikzpicture}\n").unwrap().lines() {
                let (command, comment) = line.split_once("; % ").unwrap();
                let (style, path) = command.split_once("] ").unwrap();
                if let Some(depth) = style.strip_prefix("\\draw[depth ") {
                    let (kind, number) = comment.split_once(' ').unwrap();
                    let (number, range) = number.split_once(": ").unwrap_or((number, ""));
                    assert_eq!(number.parse(), Ok(picture.nodes.len()));
                    assert_eq!(kind == "leaf", !range.is_empty());
                    let range = range.split_once("..").map(|(start, end)| start.parse().unwrap()..end.parse().unwrap());
                    picture.nodes.push((depth.parse().unwrap(), rectangle(path), range));
                } else {
                    let item = match path.strip_suffix(" circle[radius=0.03]") {
                        Some(point) => [corner(point); 2],
                        None => rectangle(path),
                    };
                    picture.primitives.push((comment.parse().unwrap(), item));
                }
            }
            picture
        }
    }

    fn text<S: Scalar>(tree: &Bvh<S, 2>) -> String {
        let mut bytes = Vec::new();
        tree.write_tikz(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn is_inside(inner: &Rectangle, outer: &Rectangle) -> bool {
        (0..2).all(|k| outer[0][k] <= inner[0][k] && inner[0][k] <= inner[1][k] && inner[1][k] <= outer[1][k])
    }

    fn check<S: Scalar + FromStr<Err: Debug>>(tree: &Bvh<S, 2>) {
        let picture = Picture::read::<S>(&text(tree));
        let nodes = tree.nodes();
        assert_eq!(picture.whole, [nodes[0].bounds.lo, nodes[0].bounds.hi].map(|corner| corner.map(Into::into)));
        assert!(picture.nodes.iter().map(|(depth, ..)| *depth).eq(depths(tree)));
        assert_eq!(picture.styles, depths(tree).into_iter().max().unwrap() + 1);

        // Positions are within rounding of what the box of the tree says.
        let size: [f64; 2] = std::array::from_fn(|k| picture.whole[1][k] - picture.whole[0][k]);
        let agrees = |drawn: &Rectangle, stored: &Aabb<S, 2>| {
            let stored = [stored.lo, stored.hi];
            (0..2).all(|end| {
                (0..2).all(|k| {
                    let stored: f64 = stored[end][k].into();
                    let side = size[0].max(size[1]);
                    let read = picture.whole[0][k] + drawn[end][k] / 10.0 * side;
                    (read - stored).abs() <= 6e-8 * side + 1e-15 * stored.abs()
                })
            })
        };
        assert!(picture.nodes.iter().zip(nodes).all(|((_, drawn, _), node)| agrees(drawn, &node.bounds)));
        let longest = picture.nodes[0].1[1].into_iter().fold(0.0, f64::max);
        assert_eq!(longest, if size == [0.0; 2] { 0.0 } else { 10.0 });

        // Boxes are nested: the parent is the last node before that is one level higher.
        let mut path: Vec<Rectangle> = Vec::new();
        for (depth, drawn, _) in &picture.nodes {
            path.truncate(*depth);
            assert!(path.last().is_none_or(|parent| is_inside(drawn, parent)));
            path.push(*drawn);
        }

        // Each primitive is in one leaf, and within its box.
        let mut seen = vec![false; tree.len()];
        let mut next = 0;
        for (_, drawn, range) in &picture.nodes {
            let Some(range) = range else { continue };
            assert_eq!(range.start, next);
            next = range.end;
            for (index, item) in &picture.primitives[range.clone()] {
                assert!(is_inside(item, drawn) && !std::mem::replace(&mut seen[*index], true));
            }
        }
        assert!(next == tree.len() && seen.into_iter().all(|seen| seen));
        let items = picture.primitives.iter().enumerate();
        items.for_each(|(position, (_, drawn))| assert!(agrees(drawn, &tree.item(position))));
    }

    #[test]
    fn text_describes_the_tree() {
        trees_of_points::<f32, 2>().iter().filter(|tree| !tree.is_empty()).for_each(check);
        trees_of_points::<f64, 2>().iter().filter(|tree| !tree.is_empty()).for_each(check);
        check(&tree_of_boxes::<2>());
        check(&Bvh::build(&[[-1e150f64, 5.0], [1e150, 5.0], [0.0, 5.0]]).unwrap());
        check(&Bvh::build(&[[0.0f64, 5e-324], [0.0, 0.0]]).unwrap());
    }

    #[test]
    fn small_trees() {
        let empty = text(&Bvh::<f32, 2>::build::<[f32; 2]>(&[]).unwrap());
        assert_eq!(empty, "\\begin{tikzpicture}\n\\node {empty tree};\n\\end{tikzpicture}\n");
        let point = "% Box of the tree: (0.1, -7.0) to (0.1, -7.0)\n\\begin{tikzpicture}[\n  \
                     depth 0/.style={draw=red!0!blue, line width=1.20pt},\n  primitive/.style={fill=black}]\n\
                     \\draw[depth 0] (0, 0) rectangle (0, 0); % leaf 0: 0..1\n\
                     \\fill[primitive] (0, 0) circle[radius=0.03]; % 0\n\\end{tikzpicture}\n";
        assert_eq!(text(&Bvh::build(&[[0.1f32, -7.0]]).unwrap()), point);
    }
}

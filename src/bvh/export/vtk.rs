//! The boxes of the nodes of a tree as a VTK file of lines, rectangles or boxes.

use std::fmt::Display;
use std::io::{BufWriter, Result, Write};

use crate::bvh::Bvh;
use crate::bvh::export::with_depths;
use crate::geometry::Scalar;

/// The corners of a hexahedron in VTK's order: 0 is the lower side of an axis, 1 the upper one. The first 4 are those
/// of a quadrilateral, the first 2 those of a line.
const CORNERS: [[usize; 3]; 8] =
    [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];

/// VTK's numbers of lines, quadrilaterals and hexahedra.
const CELL_TYPES: [u8; 3] = [3, 9, 12];

impl<S: Scalar, const D: usize> Bvh<S, D> {
    /// Writes the boxes of all nodes as a VTK file, which ParaView opens: legacy format, `UNSTRUCTURED_GRID`, text.
    ///
    /// Cell `i` is node `i` in depth-first order, so the root is cell 0. Cells are lines, quadrilaterals or hexahedra
    /// in one, two or three dimensions. They share no corners. Missing coordinates are 0. Cell data:
    ///
    /// | name | type | meaning |
    /// |---|---|---|
    /// | `depth` | `int` | the number of ancestors, 0 for the root |
    /// | `leaf` | `int` | 1 for leaves, 0 for inner nodes |
    /// | `primitives` | `unsigned_int` | the number of primitives in the subtree |
    ///
    /// Coordinates are in the units of the tree, of type `float` or `double`, and are read back exactly. In a periodic
    /// box they are the wrapped coordinates. An empty tree gives a file without cells. Trees of equal bits give
    /// equal text.
    ///
    /// In ParaView, choose the representation *Wireframe*. The filter *Threshold* on `depth` or `leaf` selects one
    /// level or the leaves.
    ///
    /// ```
    /// use ropewalk::Bvh;
    ///
    /// let mut text = Vec::new();
    /// Bvh::build(&[[0.0f32, 0.0], [4.0, 0.1]])?.write_vtk(&mut text)?;
    /// let text = String::from_utf8(text)?;
    /// assert!(text.contains("POINTS 4 float\n0.0 0.0 0.0\n4.0 0.0 0.0\n4.0 0.1 0.0\n0.0 0.1 0.0\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Trees of more dimensions do not compile:
    ///
    /// ```compile_fail,E0080
    /// ropewalk::Bvh::build(&[[0.0f32; 4]]).unwrap().write_vtk(std::io::stdout()).unwrap();
    /// ```
    ///
    /// # Errors
    /// Those of `out`, which is buffered here and flushed at the end.
    ///
    /// # Cost
    /// O(n): in three dimensions about 500 bytes of text per node for `f64`, and 280 for `f32`. There are about 2 nodes
    /// per 20 points.
    ///
    /// # Source
    /// The format: *VTK File Formats*, <https://docs.vtk.org/en/latest/vtk_file_formats/vtk_legacy_file_format.html>.
    pub fn write_vtk(&self, out: impl Write) -> Result<()> {
        const { assert!(1 <= D && D <= 3, "VTK files have coordinates in one to three dimensions") };
        let mut out = BufWriter::new(out);
        let (nodes, corners) = (self.end(), &CORNERS[..1 << D]);
        writeln!(out, "# vtk DataFile Version 3.0\nNodes of a tree of {} primitives", self.len())?;
        writeln!(out, "ASCII\nDATASET UNSTRUCTURED_GRID")?;

        writeln!(out, "POINTS {} {}", nodes * corners.len(), if S::IS_F32 { "float" } else { "double" })?;
        for node in self.nodes() {
            for sides in corners {
                let side = |k: usize| if sides[k] == 0 { node.bounds.lo[k] } else { node.bounds.hi[k] };
                let [x, y, z]: [S; 3] = std::array::from_fn(|k| if k < D { side(k) } else { S::ZERO });
                // `Debug` is as exact as `Display`, but has exponents: some readers fail at numbers of 120 digits.
                writeln!(out, "{x:?} {y:?} {z:?}")?;
            }
        }
        writeln!(out, "CELLS {nodes} {}", nodes * (1 + corners.len()))?;
        for first in (0..nodes).map(|at| at * corners.len()) {
            write!(out, "{}", corners.len())?;
            (first..first + corners.len()).try_for_each(|corner| write!(out, " {corner}"))?;
            writeln!(out)?;
        }
        writeln!(out, "CELL_TYPES {nodes}")?;
        (0..nodes).try_for_each(|_| writeln!(out, "{}", CELL_TYPES[D - 1]))?;

        writeln!(out, "CELL_DATA {nodes}")?;
        write_cell_data(&mut out, "depth", "int", with_depths(self).map(|(_, depth)| depth))?;
        write_cell_data(&mut out, "leaf", "int", (0..nodes).map(|at| u8::from(self.is_leaf(at))))?;
        write_cell_data(&mut out, "primitives", "unsigned_int", (0..nodes).map(|at| self.span(at).len()))?;
        out.flush()
    }
}

/// Writes one number per cell.
fn write_cell_data<T: Display>(
    out: &mut impl Write,
    name: &str,
    number: &str,
    mut values: impl Iterator<Item = T>,
) -> Result<()> {
    writeln!(out, "SCALARS {name} {number} 1\nLOOKUP_TABLE default")?;
    values.try_for_each(|value| writeln!(out, "{value}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bvh::LEAF;
    use crate::bvh::export::tests::{depths, tree_of_boxes, trees_of_points};
    use crate::geometry::Aabb;
    use std::fmt::Debug;
    use std::str::{FromStr, SplitWhitespace};

    fn text<S: Scalar, const D: usize>(tree: &Bvh<S, D>) -> String {
        let mut bytes = Vec::new();
        tree.write_vtk(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// Reads the next words, the first of which must be `keyword`.
    fn section<T: FromStr<Err: Debug>>(words: &mut SplitWhitespace<'_>, header: &str, count: usize) -> Vec<T> {
        header.split_whitespace().for_each(|word| assert_eq!(words.next(), Some(word), "in '{header}'"));
        (0..count).map(|_| words.next().unwrap().parse().unwrap()).collect()
    }

    fn check<S: Scalar + FromStr<Err: Debug>, const D: usize>(tree: &Bvh<S, D>) {
        let (n, text) = (tree.n_nodes(), text(tree));
        let mut lines = text.splitn(3, '\n');
        assert_eq!(lines.next(), Some("# vtk DataFile Version 3.0"));
        assert!(lines.next().unwrap().len() < 256);
        let words = &mut lines.next().unwrap().split_whitespace();
        let corners = 1 << D;
        let number = if size_of::<S>() == 4 { "float" } else { "double" };
        let header = format!("ASCII DATASET UNSTRUCTURED_GRID POINTS {} {number}", corners * n);
        let points = section::<S>(words, &header, 3 * corners * n);
        let cells = section::<usize>(words, &format!("CELLS {n} {}", (corners + 1) * n), (corners + 1) * n);
        let types = section::<usize>(words, &format!("CELL_TYPES {n}"), n);
        assert!(types.into_iter().all(|kind| kind == [0, 3, 9, 12][D]));
        let header = format!("CELL_DATA {n} SCALARS depth int 1 LOOKUP_TABLE default");
        assert_eq!(section::<usize>(words, &header, n), depths(tree));
        let is_leaf = section::<usize>(words, "SCALARS leaf int 1 LOOKUP_TABLE default", n);
        let sizes = section::<u32>(words, "SCALARS primitives unsigned_int 1 LOOKUP_TABLE default", n);
        assert_eq!(words.next(), None);

        // Boxes have the bits of those of the tree. Consecutive corners differ in one axis, as around a face.
        let mut boxes = Vec::new();
        for (at, cell) in cells.chunks(corners + 1).enumerate() {
            assert_eq!(cell[0], corners);
            let corners: Vec<[S; 3]> = cell[1..].iter().map(|&i| points[3 * i..][..3].try_into().unwrap()).collect();
            let bounds = corners.iter().fold(Aabb::EMPTY, |bounds, &corner| bounds.union(&Aabb::point(corner)));
            let stored = tree.nodes()[at].bounds;
            assert!((0..D).all(|k| bounds.lo[k] == stored.lo[k] && bounds.hi[k] == stored.hi[k]));
            assert!((D..3).all(|k| bounds.lo[k] == S::ZERO && bounds.hi[k] == S::ZERO));
            // Each corner of the box occurs, and VTK's order around the lower and the upper face.
            for mask in 0..1 << D {
                let wanted: [S; 3] =
                    std::array::from_fn(|k| if mask >> k & 1 == 0 { bounds.lo[k] } else { bounds.hi[k] });
                assert!(corners.contains(&wanted));
            }
            for face in corners.chunks(4).filter(|face| face.len() == 4) {
                for (i, corner) in face.iter().enumerate() {
                    assert!((0..3).filter(|&k| corner[k] != face[(i + 1) % 4][k]).count() <= 1);
                }
            }
            boxes.push(bounds);
        }

        // Children are in the boxes of their parents; leaves partition the primitives.
        for at in (0..n).filter(|&at| is_leaf[at] == 0) {
            let [left, right] = [at + 1, tree.nodes()[at + 1].rope as usize];
            assert_eq!(boxes[left].union(&boxes[right]), boxes[at]);
            assert_eq!(sizes[left] + sizes[right], sizes[at]);
        }
        assert_eq!(is_leaf.iter().sum::<usize>(), n.div_ceil(2));
        let leaves = (0..n).filter(|&at| is_leaf[at] == 1);
        assert_eq!(leaves.clone().map(|at| sizes[at] as usize).sum::<usize>(), tree.len());
        assert!(leaves.clone().all(|at| (1..=LEAF as u32).contains(&sizes[at])));
    }

    #[test]
    fn text_describes_the_tree() {
        trees_of_points::<f32, 1>().iter().for_each(check);
        trees_of_points::<f32, 2>().iter().for_each(check);
        trees_of_points::<f64, 3>().iter().for_each(check);
        check(&tree_of_boxes::<1>());
        check(&tree_of_boxes::<3>());
        check(&Bvh::build(&[[-1e150f64], [5e-324], [f64::MIN_POSITIVE], [0.1 + 0.2], [1e150]]).unwrap());
        check(&Bvh::build(&[[f32::MIN], [1e-45], [f32::MAX], [0.1]]).unwrap());
    }

    #[test]
    fn one_point() {
        let expected = "# vtk DataFile Version 3.0\nNodes of a tree of 1 primitives\nASCII\nDATASET UNSTRUCTURED_GRID\n\
                        POINTS 2 float\n0.1 0.0 0.0\n0.1 0.0 0.0\nCELLS 1 3\n2 0 1\nCELL_TYPES 1\n3\nCELL_DATA 1\n\
                        SCALARS depth int 1\nLOOKUP_TABLE default\n0\nSCALARS leaf int 1\nLOOKUP_TABLE default\n1\n\
                        SCALARS primitives unsigned_int 1\nLOOKUP_TABLE default\n1\n";
        assert_eq!(text(&Bvh::build(&[[0.1f32]]).unwrap()), expected);
    }
}

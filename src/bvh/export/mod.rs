//! Text exports of a tree for pictures: the graph of its nodes (`graphviz`), and their boxes (`tikz`, `vtk`).
//!
//! The number of a node is its position in depth-first order. The root is node 0, and the left child of a node is the
//! next node. The primitives of a leaf are a range of positions in tree order, the order of [`Bvh::order`].
//! Source: the visualisation of trees in ArborX (GraphViz and TikZ).

mod graphviz;
mod tikz;
mod vtk;

use crate::bvh::{Bvh, DEPTH};
use crate::geometry::Scalar;

/// The nodes of a tree in depth-first order, each with its depth: the number of its ancestors.
fn with_depths<S: Scalar, const D: usize>(bvh: &Bvh<S, D>) -> impl Iterator<Item = (usize, usize)> + '_ {
    // The ends of the subtrees around the current node.
    let mut ends = Vec::with_capacity(DEPTH);
    (0..bvh.end()).map(move |at| {
        while ends.last().is_some_and(|&end| end <= at) {
            ends.pop();
        }
        ends.push(bvh.node(at).rope as usize);
        (at, ends.len() - 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Aabb;
    use std::io::{self, Write};

    /// Trees without primitives, of one leaf, of few and many nodes, of equal points, and in a periodic box.
    pub(super) fn trees_of_points<S: Scalar, const D: usize>() -> Vec<Bvh<S, D>> {
        let point =
            |i: u32| std::array::from_fn(|k| S::from_f64(f64::from(i * [37, 61, 89][k % 3] % 997) / 9.7 - 30.0));
        let mut trees: Vec<_> = [0, 1, 2, 32, 33, 1000].map(|n| Bvh::build(&Vec::from_iter((0..n).map(point)))).into();
        trees.push(Bvh::build(&[[S::from_f64(0.1); D]; 100]));
        trees.push(Bvh::build_periodic(&Vec::from_iter((0..200).map(point)), 60.0));
        // Coordinates that would need exponents, in both directions.
        trees.push(Bvh::build(&Vec::from_iter((0..100).map(|i| [S::from_f64(f64::from(i % 50) * 1e30); D]))));
        trees.push(Bvh::build(&Vec::from_iter((0..100).map(|i| [S::from_f64(f64::from(i % 50) * 1e-30); D]))));
        trees.into_iter().map(Result::unwrap).collect()
    }

    /// A tree of overlapping boxes.
    pub(super) fn tree_of_boxes<const D: usize>() -> Bvh<f64, D> {
        let boxes: Vec<_> = (0..150u32)
            .map(|i| {
                let lo = std::array::from_fn(|k| f64::from(i * [37, 61, 89][k % 3] % 149) / 3.0);
                Aabb { lo, hi: lo.map(|x| x + f64::from(i % 7)) }
            })
            .collect();
        Bvh::build(&boxes).unwrap()
    }

    /// The depths by recursion over the children, in depth-first order.
    pub(super) fn depths<S: Scalar, const D: usize>(bvh: &Bvh<S, D>) -> Vec<usize> {
        fn below<S: Scalar, const D: usize>(bvh: &Bvh<S, D>, at: usize, depths: &mut [usize]) {
            if !bvh.is_leaf(at) {
                for child in [at + 1, bvh.nodes()[at + 1].rope as usize] {
                    depths[child] = depths[at] + 1;
                    below(bvh, child, depths);
                }
            }
        }
        let mut depths = vec![0; bvh.n_nodes()];
        if !bvh.is_empty() {
            below(bvh, 0, &mut depths);
        }
        depths
    }

    #[test]
    fn depths_count_ancestors() {
        for tree in trees_of_points::<f32, 2>() {
            assert!(with_depths(&tree).eq(depths(&tree).into_iter().enumerate()));
        }
    }

    /// Writes into a buffer that is one byte too short. The last bytes are lost only when the text is flushed.
    #[test]
    fn errors_of_the_writer() {
        fn check(write: impl Fn(&mut dyn Write) -> io::Result<()>) {
            let mut text = Vec::new();
            write(&mut text).unwrap();
            let length = text.len();
            assert!(write(&mut &mut text[..length]).is_ok());
            assert!(write(&mut &mut text[..length - 1]).is_err());
        }
        for tree in trees_of_points::<f32, 2>() {
            check(|out| tree.write_graphviz(out));
            check(|out| tree.write_tikz(out));
            check(|out| tree.write_vtk(out));
        }
    }
}

//! The arguments of `ropewalk tree`.

use std::path::PathBuf;

use super::Points;

/// Write the search tree of points, for Graphviz, LaTeX or ParaView.
///
/// The tree is the one that searches use: a hierarchy of boxes over the points in Morton order, with up to 32 points in a
/// leaf. Nodes are numbered from the root, 0, in depth-first order.
#[derive(Debug, clap::Args)]
#[command(mut_arg("skip_missing", |arg| arg.hide(true)))]
pub struct Tree {
    #[command(flatten)]
    pub points: Points,
    /// Write the tree: .dot or .gv (Graphviz), .tikz or .tex (LaTeX), .vtk (ParaView)
    ///
    /// Graphviz draws the graph of the nodes and their ropes, of points of any dimension: dot -Tsvg tree.dot -o
    /// tree.svg. TikZ draws boxes and points in one or two dimensions; the file is a tikzpicture for \input in a
    /// document with the package tikz. VTK has the boxes in one to three dimensions, with the depth and the number of
    /// points of each. Graphs and TikZ pictures of more than a few thousand points are too dense to read.
    #[arg(long, value_name = "TREE.dot|tikz|vtk")]
    pub out: PathBuf,
}

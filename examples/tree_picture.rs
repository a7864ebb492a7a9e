//! A picture of a tree: its nodes, their children and the ropes along which a search skips nodes, for Graphviz.
//!
//!     cargo run --release --example tree_picture | dot -Tsvg -o tree.svg
//!
//! `Bvh::write_tikz` and `write_vtk` write the boxes of the nodes, for LaTeX and ParaView.

use ropewalk::Bvh;

fn main() -> std::io::Result<()> {
    // A spiral, dense at the centre.
    let points: Vec<[f64; 2]> = (0..120)
        .map(|i| {
            let (radius, angle) = ((f64::from(i) / 120.0).powi(2), f64::from(i) * 0.2);
            [radius * angle.cos(), radius * angle.sin()]
        })
        .collect();
    Bvh::build(&points).map_err(std::io::Error::other)?.write_graphviz(std::io::stdout().lock())
}

//! The minimum spanning tree of a table.

use ropewalk::Result;
use ropewalk::cluster::{MinimumSpanningTree, SpanningTree};
use ropewalk::internals::cancel::guarded;

use super::Points;
use super::rows::{to_compiled_kind, with_rows};

/// Computes the minimum spanning tree of points, as [`MinimumSpanningTree::run`] does.
///
/// Cost: as [`MinimumSpanningTree::run`]; points of a kind that is not compiled are copied (see the [module](super)).
///
/// ```
/// use ropewalk::MinimumSpanningTree;
/// use ropewalk_table::{Points, Table};
///
/// let points = Points::F32(Table::new(1, vec![0.0, 1.0, 3.0, 9.5])?);
/// let tree = ropewalk_table::minimum_spanning_tree(&points, &MinimumSpanningTree::new().periodic(10.0))?;
/// assert_eq!((tree.edges()[0].low, tree.edges()[0].high, tree.edges()[0].weight()), (0, 3, 0.5));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// As [`MinimumSpanningTree::run`].
pub fn minimum_spanning_tree(points: &Points, options: &MinimumSpanningTree) -> Result<SpanningTree> {
    guarded(|| {
        let (points, size) = to_compiled_kind(points, options.box_size())?;
        let options = options.clone().periodic(size);
        with_rows!(&*points, rows => options.run(rows))
    })
}

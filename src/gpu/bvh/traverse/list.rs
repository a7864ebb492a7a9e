//! The visitor that lists the points within the radius.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::visitor::LeafVisitor;

/// The destination of a query's list.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct ListOutput {
    /// The indices of stored points in tree order, and the indices of queries.
    pub order: Array<u32>,
    pub queries: Array<u32>,
    pub offsets: Array<u32>,
}

/// Writes the indices of the points within the radius.
pub(in crate::gpu) struct List;

#[cube]
impl LeafVisitor for List {
    type Input = ListOutput;
    type Output = Array<u32>;
    type State = RuntimeCell<u32>;

    fn start(rows: &Self::Input, _lists: &mut Self::Output, query: u32) -> Self::State {
        RuntimeCell::<u32>::new(rows.offsets[rows.queries[query as usize] as usize])
    }

    fn on_hit(state: &Self::State, rows: &Self::Input, lists: &mut Self::Output, position: u32) -> bool {
        let at = state.read();
        lists[at as usize] = rows.order[position as usize];
        state.store(at + 1);
        false.runtime()
    }
}

//! Lists of hits by one search for most queries.
//!
//! In: groups of queries. Out: their lists. The search that counts hits keeps the first ones of each query. Lists that
//! are kept whole are copied, and a second search lists the hits of the other queries only.
//! Cost: 4 [`KEPT`] bytes per query while it runs.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for, check_allocation};
use crate::gpu::bvh::traverse::list::ListOutput;
use crate::gpu::bvh::traverse::visitor::LeafVisitor;

/// The number of hits of a query that are kept.
pub(super) const KEPT: u32 = 16;

/// The first hits of each query.
pub(super) struct KeptHits {
    /// The first hit of all queries in the order of the search, then the second one, and so on.
    hits: Buffer<u32>,
    n: usize,
}

impl KeptHits {
    /// Allocates the hits of `n` queries; `None` if there are too many for one buffer.
    pub fn new<R: Runtime>(client: &ComputeClient<R>, n: usize) -> Option<Self> {
        let len = KEPT as usize * n;
        let fits = len as u64 <= u64::from(u32::MAX) && check_allocation(client, 4 * len as u128).is_ok();
        fits.then(|| Self { hits: Buffer::new(client, len), n })
    }

    /// Returns the output of [`Keep`], which writes the number of hits of each query to `counts`.
    pub fn output<R: Runtime>(&self, counts: &Buffer<u32>) -> KeepOutputLaunch<R> {
        KeepOutputLaunch::new(counts.arg(), self.hits.arg(), self.n as u32)
    }

    /// Copies the lists of queries with at most [`KEPT`] hits.
    pub fn copy<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        queries: &Buffer<u32>,
        offsets: &Buffer<u32>,
        lists: &Buffer<u32>,
    ) {
        let (hits, dim) = (self.hits.arg(), CubeDim::new_1d(THREADS_PER_BLOCK));
        let (queries, offsets, n) = (queries.arg(), offsets.arg(), self.n as u32);
        copy_kept::launch::<R>(client, blocks_for(self.n), dim, hits, queries, offsets, lists.arg(), n);
    }
}

/// The number of hits of each query, and the first of them.
#[derive(CubeType, CubeLaunch)]
pub(super) struct KeepOutput {
    counts: Array<u32>,
    hits: Array<u32>,
    /// The number of queries.
    n: u32,
}

/// The query of a search, and the number of its hits so far.
#[derive(CubeType)]
pub(super) struct Keeping {
    query: u32,
    count: RuntimeCell<u32>,
}

/// Counts the hits of each query, and keeps the first ones.
pub(super) struct Keep;

#[cube]
impl LeafVisitor for Keep {
    type Input = ListOutput;
    type Output = KeepOutput;
    type State = Keeping;

    fn start(_rows: &Self::Input, _output: &mut Self::Output, query: u32) -> Self::State {
        Keeping { query, count: RuntimeCell::<u32>::new(0) }
    }

    fn on_hit(state: &Self::State, rows: &Self::Input, output: &mut Self::Output, position: u32) -> bool {
        let count = state.count.read();
        if count < KEPT {
            output.hits[(count * output.n + state.query) as usize] = rows.order[position as usize];
        }
        state.count.store(count + 1);
        false.runtime()
    }

    fn finish(state: &Self::State, rows: &Self::Input, output: &mut Self::Output, query: u32) {
        let row = rows.queries[query as usize] as usize;
        output.counts[row] = state.count.read();
    }
}

/// The place of a query's next hit, and whether its list was not kept whole.
#[derive(CubeType)]
pub(super) struct Listing {
    place: RuntimeCell<u32>,
    is_open: bool,
}

/// Writes the lists of queries with more than [`KEPT`] hits.
pub(super) struct ListRest;

#[cube]
impl LeafVisitor for ListRest {
    type Input = ListOutput;
    type Output = Array<u32>;
    type State = Listing;

    fn start(rows: &Self::Input, _lists: &mut Self::Output, query: u32) -> Self::State {
        let row = rows.queries[query as usize] as usize;
        let (first, behind) = (rows.offsets[row], rows.offsets[row + 1]);
        Listing { place: RuntimeCell::<u32>::new(first), is_open: behind - first > KEPT }
    }

    fn on_hit(state: &Self::State, rows: &Self::Input, lists: &mut Self::Output, position: u32) -> bool {
        let place = state.place.read();
        lists[place as usize] = rows.order[position as usize];
        state.place.store(place + 1);
        false.runtime()
    }

    fn is_open(state: &Self::State, _rows: &Self::Input) -> bool {
        state.is_open
    }
}

/// Copies the hits that were kept, for each of `n` queries with at most [`KEPT`].
#[cube(launch)]
fn copy_kept(hits: &Array<u32>, queries: &Array<u32>, offsets: &Array<u32>, lists: &mut Array<u32>, n: u32) {
    let query = ABSOLUTE_POS as u32;
    if query < n {
        let row = queries[query as usize] as usize;
        let (first, behind) = (offsets[row], offsets[row + 1]);
        if behind - first <= KEPT {
            for at in 0..behind - first {
                lists[(first + at) as usize] = hits[(at * n + query) as usize];
            }
        }
    }
}

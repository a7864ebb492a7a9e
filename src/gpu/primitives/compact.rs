//! Stream compaction: keeps the flagged items, in their order.
//!
//! In: a flag for each item. Out: the number of flagged items and, for each, the output of an [`Emit`] at its rank.
//! Cost: an exclusive sum over the flags, a wait for the count, and a pass over the ranks. If the order does not
//! matter, [`append`] needs no sums and no ranks.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::primitives::scan::{exclusive, last};
use crate::gpu::primitives::warp::{Warp, block_sums};

/// The ranks of flagged items.
pub(in crate::gpu) struct Compact {
    /// For each item the number of flagged items before it, followed by the number of all flagged items.
    pub ranks: Buffer<u32>,
    /// The number of flagged items.
    pub len: usize,
}

/// The output to write for a flagged item.
#[cube]
pub(in crate::gpu) trait Emit: Send + Sync + 'static {
    type Input: LaunchArg;
    type Output: LaunchArg;

    /// Writes the output for `item` at index `rank`.
    fn emit(input: &Self::Input, output: &mut Self::Output, item: u32, rank: u32);
}

impl Compact {
    /// Ranks the items whose flag is 1 rather than 0. `flags` ends with an extra 0, and is overwritten. Waits for the
    /// count.
    pub fn new<R: Runtime>(client: &ComputeClient<R>, flags: Buffer<u32>) -> Result<Self> {
        exclusive(client, &flags);
        let len = last(client, &flags)?;
        Ok(Self { ranks: flags, len })
    }

    /// Ranks the items if their number is known to be `len`. Does not wait.
    pub fn with_known_len<R: Runtime>(client: &ComputeClient<R>, flags: Buffer<u32>, len: usize) -> Self {
        exclusive(client, &flags);
        Self { ranks: flags, len }
    }

    /// Lists the flagged items, in their order.
    pub fn items<R: Runtime>(&self, client: &ComputeClient<R>) -> Buffer<u32> {
        let items = Buffer::new(client, self.len);
        self.emit::<R, Item>(client, self.ranks.arg(), items.arg());
        items
    }

    /// Calls `E` for each flagged item. The output has room for [`Compact::len`] items.
    pub fn emit<R: Runtime, E: Emit>(
        &self,
        client: &ComputeClient<R>,
        input: <E::Input as LaunchArg>::RuntimeArg<R>,
        output: <E::Output as LaunchArg>::RuntimeArg<R>,
    ) {
        let n = self.ranks.len() - 1;
        let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
        emit_flagged::launch::<E, R>(client, blocks_for(n), dim, self.ranks.arg(), input, output, n as u32);
    }
}

/// Writes the number of each flagged item.
struct Item;

#[cube]
impl Emit for Item {
    type Input = Array<u32>;
    type Output = Array<u32>;

    fn emit(_ranks: &Self::Input, list: &mut Self::Output, item: u32, rank: u32) {
        list[rank as usize] = item;
    }
}

#[cube(launch)]
fn emit_flagged<E: Emit>(ranks: &Array<u32>, input: &E::Input, output: &mut E::Output, n: u32) {
    let item = ABSOLUTE_POS;
    if (item as u32) < n {
        let rank = ranks[item];
        if ranks[item + 1] > rank {
            E::emit(input, output, item as u32, rank);
        }
    }
}

/// Appends `value` to a list of `count[0]` numbers if `flag` is set. Values of one block are in the order of its
/// threads; blocks are in no particular order. All threads of a block of [`THREADS_PER_BLOCK`] must call this
/// function, once per kernel.
#[cube]
pub(in crate::gpu) fn append(
    flag: bool,
    value: u32,
    list: &mut Array<u32>,
    count: &mut Array<Atomic<u32>>,
    #[comptime] warp: Warp,
) {
    let mut shared = SharedMemory::<u32>::new(comptime!(THREADS_PER_BLOCK as usize));
    let sums = block_sums(u32::cast_from(flag), &mut shared, warp);
    if UNIT_POS == 0 {
        if sums.all > 0 {
            shared[0] = count[0].fetch_add(sums.all);
        }
    }
    sync_cube();
    if flag {
        list[(shared[0] + sums.before) as usize] = value;
    }
}

//! Blocks of members: the leaves of the search in large halos.
//!
//! In: the members of large halos. Out: [`Blocks`]: these members in Morton order, each halo separately, and blocks of
//! up to [`BLOCK`] members with their moments. A block is a cell of the Morton grid, or half or a quarter of one.
//! Cells are compact, unlike runs of equal length. Cost: two sorts of the members; 32 bytes per member, 56 per block.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::morton::spread;
use crate::gpu::halo::centers::by_size::SortedHalos;
use crate::gpu::halo::centers::members::{Members, MembersArg};
use crate::gpu::halo::centers::multipole::{Moments, Vec4};
use crate::gpu::primitives::bits::highest_bit;
use crate::gpu::primitives::compact::Compact;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::radix_sort::pass::CODE;
use crate::gpu::primitives::radix_sort::{order, sort_words};
use crate::gpu::primitives::warp::{WIDTH, Warp};
use crate::gpu::primitives::warp_atomics::warp_atomic_max;

/// The maximum number of members of a block: the width of a warp.
pub(super) const BLOCK: u32 = WIDTH;
/// The number of bits of a cell along each axis.
const CELL_BITS: u32 = 12;
/// The index of the last cell along an axis.
const LAST_CELL: u32 = (1 << CELL_BITS) - 1;

/// The blocks of all large halos.
pub(super) struct Blocks {
    /// The members of large halos in Morton order, as positions in [`Members`].
    pub order: Buffer<u32>,
    /// The first block of each halo, followed by the number of blocks.
    of_halos: Buffer<u32>,
    /// The position in `order` of the first member of each block, followed by the length of `order`.
    first: Buffer<u32>,
    /// The block of each position in `order`.
    of_members: Buffer<u32>,
    moments: Moments,
    pub len: usize,
}

/// The kernel argument for [`Blocks`].
#[derive(CubeType, CubeLaunch)]
pub(super) struct BlocksArg {
    pub order: Array<u32>,
    pub of_halos: Array<u32>,
    pub first: Array<u32>,
    pub of_members: Array<u32>,
    /// The halo of each block.
    pub owners: Array<u32>,
    pub moments: Array<Vec4>,
    /// The number of members in all blocks.
    pub members: u32,
    /// The number of blocks.
    pub n: u32,
}

impl Blocks {
    pub fn new<R: Runtime>(client: &ComputeClient<R>, members: &Members, halos: &SortedHalos) -> Result<Self> {
        let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
        let (halo_count, n) = (halos.large.halos, halos.large.members);
        let extents = Buffer::<u32>::filled(client, halo_count, 0);
        find_extents::launch::<R>(
            client,
            blocks_for(n),
            dim,
            members.arg(),
            extents.arg(),
            n as u32,
            Warp::new(client),
        );
        let (codes, keys) = (Buffer::new(client, n), Buffer::<u64>::new(client, n));
        code_members::launch::<R>(
            client,
            blocks_for(n),
            dim,
            members.arg(),
            extents.arg(),
            codes.arg(),
            keys.arg(),
            n as u32,
        );
        // Words with an index are sorted in half the time of keys with values. A word has no room for the halo beside
        // the code and the index, so the members are sorted by code, then by halo.
        let by_code = order(client, codes, 3 * CELL_BITS);
        let words = Buffer::<u64>::new(client, n);
        write_words::launch::<R>(client, blocks_for(n), dim, members.arg(), by_code.arg(), words.arg(), n as u32);
        let order = sort_words(client, words, halo_count as u64);
        let keys = gather(client, &keys, &order, 1, Layout::Rows);

        let flags = Buffer::<u32>::new(client, n + 1);
        flag_starts::launch::<R>(client, blocks_for(n + 1), dim, keys.arg(), flags.arg(), n as u32);
        let starts = Compact::new(client, flags)?;
        let (first, of_members) = (Buffer::new(client, starts.len + 1), Buffer::new(client, n));
        let ranks = &starts.ranks;
        take_starts::launch::<R>(client, blocks_for(n + 1), dim, ranks.arg(), first.arg(), of_members.arg(), n as u32);
        let of_halos = Buffer::new(client, halo_count + 1);
        find_halos::launch::<R>(
            client,
            blocks_for(halo_count + 1),
            dim,
            ranks.arg(),
            halos.offsets.arg(),
            of_halos.arg(),
            halo_count as u32,
        );
        let moments = Moments::new(client, members, &order, &first);
        Ok(Self { order, of_halos, first, of_members, moments, len: starts.len })
    }

    /// Returns the blocks as a kernel argument.
    pub fn arg<R: Runtime>(&self) -> BlocksArgLaunch<R> {
        BlocksArgLaunch::new(
            self.order.arg(),
            self.of_halos.arg(),
            self.first.arg(),
            self.of_members.arg(),
            self.moments.owners.arg(),
            self.moments.moments.arg(),
            self.order.len() as u32,
            self.len as u32,
        )
    }
}

/// The halo of a member, given its position in `order`.
#[cube]
pub(super) fn halo_of(blocks: &BlocksArg, position: u32) -> u32 {
    blocks.owners[blocks.of_members[position as usize] as usize]
}

/// Finds the largest absolute coordinate of each halo, as bits.
#[cube(launch)]
fn find_extents(members: &MembersArg, extents: &mut Array<Atomic<u32>>, n: u32, #[comptime] warp: Warp) {
    let i = ABSOLUTE_POS;
    let mut halo = 0u32.runtime();
    let mut bits = 0u32.runtime();
    if (i as u32) < n {
        let mut most = members.axes[i].abs();
        #[unroll]
        for k in 1..3usize {
            let x = members.axes[k * members.n as usize + i].abs();
            if x > most {
                most = x;
            }
        }
        bits = u32::reinterpret(f32::cast_from(most));
        halo = members.owners[i];
    }
    warp_atomic_max(extents, halo, bits, warp);
}

/// Computes the Morton code of each member's cell in a cube about the halo's first member, and its key: the halo, then
/// the code. Codes are shifted to the highest bits by which codes are sorted.
#[cube(launch)]
fn code_members(members: &MembersArg, extents: &Array<u32>, codes: &mut Array<u64>, keys: &mut Array<u64>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let halo = members.owners[i];
        let extent = f32::reinterpret(extents[halo as usize]);
        let cells = comptime!((1u32 << CELL_BITS) as f32);
        let mut code = u64::cast_from(0u32.runtime());
        #[unroll]
        for k in 0..3usize {
            let x = f32::cast_from(members.axes[k * members.n as usize + i]);
            let mut cell = 0u32.runtime();
            if extent > 0.0f32 {
                cell = u32::cast_from((x / extent * 0.5f32 + 0.5f32).max(0.0f32) * cells);
            }
            if cell > LAST_CELL {
                cell = LAST_CELL.runtime();
            }
            code |= spread(u64::cast_from(cell), 3usize) << comptime!((2 - k) as u64);
        }
        codes[i] = code << comptime!((CODE - 3 * CELL_BITS) as u64);
        keys[i] = (u64::cast_from(halo) << comptime!(3 * CELL_BITS as u64)) | code;
    }
}

/// Writes the halo of each member above the member, in the order of `some`.
#[cube(launch)]
fn write_words(members: &MembersArg, some: &Array<u32>, words: &mut Array<u64>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let member = some[i];
        words[i] = (u64::cast_from(members.owners[member as usize]) << 32u64) | u64::cast_from(member);
    }
}

/// Counts the keys next to the one at `at`, up to `most` on one side, whose bits from `shift` on are equal.
#[cube]
fn count_equal(keys: &Array<u64>, at: u32, shift: u32, most: u32, #[comptime] right: bool) -> u32 {
    let own = keys[at as usize];
    let mut equal = 0u32.runtime();
    let mut end = most + 1;
    while equal + 1 < end {
        let middle = (equal + end) / 2;
        let mut other = at + middle;
        if comptime!(!right) {
            other = at - middle;
        }
        if (keys[other as usize] ^ own) >> u64::cast_from(shift) == 0 {
            equal = middle;
        } else {
            end = middle;
        }
    }
    equal
}

/// Flags the first member of each block. A member's block is the largest cell around it that has at most [`BLOCK`]
/// members, where halves of cells count as cells. A block therefore starts between two members whose smallest common
/// cell has more. If the smallest cell has more, every [`BLOCK`]th position starts a block, too.
#[cube(launch)]
fn flag_starts(keys: &Array<u64>, flags: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS as u32;
    if i == n {
        flags[i as usize] = 0;
    } else if i < n {
        let mut flag = 1u32.runtime();
        if i > 0 {
            // The smallest common cell of the two members.
            let differing = keys[i as usize] ^ keys[i as usize - 1];
            let mut shift = 0u32.runtime();
            if differing != 0 {
                shift = highest_bit(differing) + 1;
            }
            let before = min(i, BLOCK);
            let after = min(n - 1 - i, BLOCK);
            let is_full =
                count_equal(keys, i, shift, before, false) + count_equal(keys, i, shift, after, true) >= BLOCK;
            flag = u32::cast_from(is_full && (shift > 0 || i % BLOCK == 0));
        }
        flags[i as usize] = flag;
    }
}

/// Writes the first member of each block, and the block of each member: the number of block starts up to and including
/// the member, minus one.
#[cube(launch)]
fn take_starts(ranks: &Array<u32>, first: &mut Array<u32>, of_members: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) == n {
        let end = ranks[i] as usize;
        first[end] = n;
    } else if (i as u32) < n {
        let block = ranks[i + 1] - 1;
        of_members[i] = block;
        if ranks[i] == block {
            first[block as usize] = i as u32;
        }
    }
}

/// Writes the number of blocks that start before each halo.
#[cube(launch)]
fn find_halos(ranks: &Array<u32>, offsets: &Array<u32>, of_halos: &mut Array<u32>, halos: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) <= halos {
        of_halos[i] = ranks[offsets[i] as usize];
    }
}

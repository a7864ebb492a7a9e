//! Which leaves there are, and how they join: the twin of `tree::topology`.
//!
//! In: sorted codes. Out: the leaves; for each gap between them the leaves below its node, and the gap above it.
//! The levels of gaps and the starts of leaves come from the codes beside each; how far the node of a gap reaches, from a search
//! in the codes to both sides; the node above, from the gaps at its ends. So no unit waits for another.
//! Cost: 24 bytes a leaf, 8 a point. Source: Karras 2012, section 4, for the search; Apetrei 2014, section 3, for what is above.

use cubecl::prelude::*;

use super::buffer::{Buffer, UNITS, cubes};
use super::scan::exclusive;
use crate::error::Result;

pub(super) struct Topology {
    /// The first point of each leaf, and the number of points.
    pub starts: Buffer<u32>,
    pub leaves: usize,
    /// First and last leaf of the node of each gap; gap `g` stands before leaf `g`.
    pub first: Buffer<u32>,
    pub last: Buffer<u32>,
    /// The gap above the node of a gap, and above a leaf.
    pub above: Buffer<u32>,
    pub above_leaf: Buffer<u32>,
}

/// None if more points than a leaf holds have one code.
pub(super) fn topology<R: Runtime>(client: &ComputeClient<R>, codes: &Buffer<u64>) -> Result<Option<Topology>> {
    let (n, dim) = (codes.len(), CubeDim::new_1d(UNITS));
    let levels = Buffer::<u32>::new(client, n + 1);
    let crowded = Buffer::<u32>::from_slice(client, &[0]);
    find_levels::launch::<R>(client, cubes(n + 1), dim, codes.arg(), levels.arg(), crowded.arg(), n as u32);
    let ids = Buffer::<u32>::new(client, n + 1);
    find_starts::launch::<R>(client, cubes(n + 1), dim, levels.arg(), ids.arg(), n as u32);
    exclusive(client, &ids);
    let tail = Buffer::<u32>::new(client, 2);
    take_tail::launch::<R>(client, cubes(1), dim, ids.arg(), crowded.arg(), tail.arg(), n as u32);
    let tail = tail.read(client)?;
    if tail[1] != 0 {
        return Ok(None);
    }
    let leaves = tail[0] as usize;
    let starts = Buffer::<u32>::new(client, leaves + 1);
    let gaps = Buffer::<u32>::new(client, leaves + 1);
    take_starts::launch::<R>(client, cubes(n + 1), dim, ids.arg(), levels.arg(), starts.arg(), gaps.arg(), n as u32);
    let new = || Buffer::<u32>::new(client, leaves);
    let (first, last, above, above_leaf) = (new(), new(), new(), new());
    find_nodes::launch::<R>(
        client,
        cubes(leaves),
        dim,
        codes.arg(),
        starts.arg(),
        gaps.arg(),
        first.arg(),
        last.arg(),
        above.arg(),
        above_leaf.arg(),
        leaves as u32,
    );
    Ok(Some(Topology { starts, leaves, first, last, above, above_leaf }))
}

/// The highest bit of a number that is not zero.
#[cube]
fn highest(x: u64) -> u32 {
    let high = u32::cast_from(x >> 32u64);
    let low = u32::cast_from(x & 0xffff_ffffu64);
    let mut bit = 31 - low.leading_zeros();
    if high != 0 {
        bit = 63 - high.leading_zeros();
    }
    bit
}

/// The level of the gap before each point; and whether more points than a leaf holds share a code.
#[cube(launch)]
fn find_levels(codes: &Array<u64>, levels: &mut Array<u32>, crowded: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS as u32;
    if i <= n {
        let mut level = 255u32.runtime();
        if i > 0 && i < n {
            let differing = codes[i as usize] ^ codes[(i - 1) as usize];
            if differing == 0 {
                level = 31 - ((i - 1) ^ i).leading_zeros();
            } else {
                level = 32 + highest(differing);
            }
            if i >= 32 {
                if codes[i as usize] == codes[(i - 32) as usize] {
                    crowded[0] = 1;
                }
            }
        }
        levels[i as usize] = level;
    }
}

/// 1 where a leaf starts: the subtree of the gap before has more points than a leaf holds.
#[cube(launch)]
fn find_starts(levels: &Array<u32>, starts: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS as u32;
    if i <= n {
        let mut start = 0u32.runtime();
        if i < n {
            let own = levels[i as usize];
            let mut size = 2u32.runtime();
            let mut back = 1u32.runtime();
            while back <= 32 {
                let mut level = 255u32.runtime();
                if back <= i {
                    level = levels[(i - back) as usize];
                }
                if level < own {
                    size += 1;
                    back += 1;
                } else {
                    back = 64u32.runtime();
                }
            }
            let mut ahead = 1u32.runtime();
            while ahead <= 32 {
                let mut level = 255u32.runtime();
                if i + ahead <= n {
                    level = levels[(i + ahead) as usize];
                }
                if level < own {
                    size += 1;
                    ahead += 1;
                } else {
                    ahead = 64u32.runtime();
                }
            }
            if size > 32 || i == 0 {
                start = 1u32.runtime();
            }
        }
        starts[i as usize] = start;
    }
}

#[cube(launch)]
fn take_tail(ids: &Array<u32>, crowded: &Array<u32>, tail: &mut Array<u32>, n: u32) {
    if ABSOLUTE_POS == 0 {
        tail[0] = ids[n as usize];
        tail[1] = crowded[0];
    }
}

#[cube(launch)]
fn take_starts(ids: &Array<u32>, levels: &Array<u32>, starts: &mut Array<u32>, gaps: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS as u32;
    if i <= n {
        let id = ids[i as usize];
        let mut is_start = i == n;
        if i < n {
            is_start = ids[(i + 1) as usize] != id;
        }
        if is_start {
            starts[id as usize] = i;
            gaps[id as usize] = levels[i as usize];
        }
    }
}

/// The highest level between two different positions.
#[cube]
fn between(codes: &Array<u64>, a: u32, b: u32) -> u32 {
    let differing = codes[a as usize] ^ codes[b as usize];
    let mut level = 31 - (a ^ b).leading_zeros();
    if differing != 0 {
        level = 32 + highest(differing);
    }
    level
}

/// The lower of the gaps beside a range of leaves; none if these are all.
#[cube]
fn parent(gaps: &Array<u32>, first: u32, last: u32, leaves: u32) -> u32 {
    let mut parent = last + 1;
    if gaps[first as usize] < gaps[(last + 1) as usize] {
        parent = first;
    }
    if first == 0 && last == leaves - 1 {
        parent = 0xffff_ffffu32.runtime();
    }
    parent
}

/// The leaves below each gap, as far as levels are lower: by steps of twice the length, and then of half.
#[cube(launch)]
fn find_nodes(
    codes: &Array<u64>,
    starts: &Array<u32>,
    gaps: &Array<u32>,
    first_of: &mut Array<u32>,
    last_of: &mut Array<u32>,
    above: &mut Array<u32>,
    above_leaf: &mut Array<u32>,
    leaves: u32,
) {
    let gap = ABSOLUTE_POS as u32;
    if gap < leaves {
        above_leaf[gap as usize] = parent(gaps, gap, gap, leaves);
        if gap > 0 {
            let level = gaps[gap as usize];
            let right = starts[gap as usize];
            let left = right - 1;

            let mut first = gap - 1;
            let mut step = 1u32.runtime();
            while step > 0 {
                let mut is_below = false.runtime();
                if step <= first {
                    let at = starts[(first - step) as usize];
                    is_below = between(codes, at, left) < level;
                }
                if is_below {
                    first -= step;
                    step *= 2;
                } else {
                    step /= 2;
                }
            }
            let mut last = gap;
            let mut ahead = 1u32.runtime();
            while ahead > 0 {
                let mut is_below = false.runtime();
                if last + ahead < leaves {
                    let at = starts[(last + ahead) as usize];
                    is_below = between(codes, right, at) < level;
                }
                if is_below {
                    last += ahead;
                    ahead *= 2;
                } else {
                    ahead /= 2;
                }
            }
            first_of[gap as usize] = first;
            last_of[gap as usize] = last;
            above[gap as usize] = parent(gaps, first, last, leaves);
        }
    }
}

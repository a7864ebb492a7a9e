//! The maximum or the sum of the values below each node: the GPU counterpart of `bvh::reduce`.
//!
//! In: a value for each position. Out: for each node the maximum or the sum of the values at its positions.
//! Groups of sixteen values are combined first, then groups of sixteen of these, and so on. Each node combines at
//! most thirty groups of each size, so no node waits for its children.
//! Cost: two passes over the values, and one value per sixteen.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::ropes::Nodes;

/// The number of values that are combined into one of the next size.
const GROUP: u32 = 16;

/// The combination of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Reduction {
    Largest,
    Sum,
}

/// Returns the maximum value below each node. The value of the sentinel is unspecified.
pub(in crate::gpu) fn largest_below<R: Runtime, S, T: CubeElement + Numeric>(
    client: &ComputeClient<R>,
    nodes: &Nodes<S>,
    values: &Buffer<T>,
) -> Buffer<T> {
    fold_below(client, nodes, values, Reduction::Largest)
}

/// Returns the sum of the values below each node, in an unspecified order of additions. The value of the sentinel is
/// unspecified.
pub(in crate::gpu) fn sum_below<R: Runtime, S, T: CubeElement + Numeric>(
    client: &ComputeClient<R>,
    nodes: &Nodes<S>,
    values: &Buffer<T>,
) -> Buffer<T> {
    fold_below(client, nodes, values, Reduction::Sum)
}

fn fold_below<R: Runtime, S, T: CubeElement + Numeric>(
    client: &ComputeClient<R>,
    nodes: &Nodes<S>,
    values: &Buffer<T>,
    rule: Reduction,
) -> Buffer<T> {
    let (n, end, dim) = (values.len(), nodes.end(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let mut sizes = vec![n.div_ceil(GROUP as usize)];
    while let Some(&most) = sizes.last().filter(|&&most| most >= GROUP as usize) {
        sizes.push(most.div_ceil(GROUP as usize));
    }
    let groups = Buffer::<T>::new(client, sizes.iter().sum());
    let (mut offsets, mut from, mut before) = (vec![], 0, n);
    for (at, &size) in sizes.iter().enumerate() {
        let to: usize = sizes[..at].iter().sum();
        offsets.push(to as u32);
        let range = GroupsLaunch::new(from as u32, before as u32, to as u32, at == 0);
        fold_groups::launch::<T, R>(client, blocks_for(size), dim, values.arg(), groups.arg(), range, rule);
        (from, before) = (to, size);
    }
    let folded = Buffer::<T>::new(client, end + 1);
    fold_nodes::launch::<T, R>(
        client,
        blocks_for(end + 1),
        dim,
        values.arg(),
        groups.arg(),
        Buffer::from_slice(client, &offsets).arg(),
        nodes.links.arg(),
        folded.arg(),
        end as u32,
        rule,
    );
    folded
}

/// The range of values of one size, and the offset of the next size.
#[derive(CubeType, CubeLaunch)]
struct Groups {
    from: u32,
    len: u32,
    to: u32,
    #[cube(comptime)]
    of_values: bool,
}

/// Combines a value with the one in `best`.
#[cube]
fn fold<T: Numeric>(best: &mut Array<T>, value: T, #[comptime] rule: Reduction) {
    if comptime!(rule == Reduction::Sum) {
        best[0] = best[0] + value;
    } else {
        best[0] = max(best[0], value);
    }
}

/// Combines each sixteen of the range's values: those of `values` for the first size, of `groups` for others.
#[cube(launch)]
fn fold_groups<T: Numeric>(values: &Array<T>, groups: &mut Array<T>, range: &Groups, #[comptime] rule: Reduction) {
    let own = ABSOLUTE_POS as u32;
    if own * GROUP < range.len {
        let first = range.from + own * GROUP;
        let behind = range.from + min(own * GROUP + GROUP, range.len);
        let mut best = Array::<T>::new(1usize);
        if comptime!(range.of_values) {
            best[0] = values[first as usize];
            for at in first + 1..behind {
                fold(&mut best, values[at as usize], rule);
            }
        } else {
            best[0] = groups[first as usize];
            for at in first + 1..behind {
                fold(&mut best, groups[at as usize], rule);
            }
        }
        groups[(range.to + own) as usize] = best[0];
    }
}

#[cube(launch)]
fn fold_nodes<T: Numeric>(
    values: &Array<T>,
    groups: &Array<T>,
    offsets: &Array<u32>,
    links: &Array<u32>,
    folded: &mut Array<T>,
    end: u32,
    #[comptime] rule: Reduction,
) {
    let node = ABSOLUTE_POS;
    if (node as u32) < end {
        let first = links[2 * node + 1];
        let behind = links[2 * links[2 * node] as usize + 1];
        let mut best = Array::<T>::new(1usize);
        best[0] = values[first as usize];
        // The start, the end and the size of the remaining groups.
        let mut range = Array::<u32>::new(3usize);
        range[0] = first + 1;
        range[1] = behind;
        while range[0] < range[1] && range[0] % GROUP != 0 {
            fold(&mut best, values[range[0] as usize], rule);
            range[0] = range[0] + 1;
        }
        while range[0] < range[1] && range[1] % GROUP != 0 {
            range[1] = range[1] - 1;
            fold(&mut best, values[range[1] as usize], rule);
        }
        range[0] = range[0] / GROUP;
        range[1] = range[1] / GROUP;
        range[2] = 0;
        while range[0] < range[1] {
            let offset = offsets[range[2] as usize];
            while range[0] < range[1] && range[0] % GROUP != 0 {
                fold(&mut best, groups[(offset + range[0]) as usize], rule);
                range[0] = range[0] + 1;
            }
            while range[0] < range[1] && range[1] % GROUP != 0 {
                range[1] = range[1] - 1;
                fold(&mut best, groups[(offset + range[1]) as usize], rule);
            }
            range[0] = range[0] / GROUP;
            range[1] = range[1] / GROUP;
            range[2] = range[2] + 1;
        }
        folded[node] = best[0];
    } else if node as u32 == end {
        folded[node] = values[0];
    }
}

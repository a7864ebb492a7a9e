//! The largest value below each node, or the sum: the twin of `bvh::reduce`.
//!
//! In: a value for each position. Out: for each node the largest of its positions' values, or their sum.
//! Those of sixteen positions, of sixteen of these, and so on, are found first; each node puts its own together from at most thirty of
//! a size, so no node waits for its children.
//! Cost: two passes over the values, and a value for each sixteen.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::bvh::ropes::Nodes;

/// Values that are put into one of the next size.
const GROUP: u32 = 16;

/// What is made of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fold {
    Largest,
    Sum,
}

/// The largest value below each node; the sentinel has some value.
pub(in crate::gpu) fn largest_below<R: Runtime, S, T: CubeElement + Numeric>(
    client: &ComputeClient<R>,
    nodes: &Nodes<S>,
    values: &Buffer<T>,
) -> Buffer<T> {
    fold_below(client, nodes, values, Fold::Largest)
}

/// The sum of the values below each node, in some order of additions; the sentinel has some value.
pub(in crate::gpu) fn sum_below<R: Runtime, S, T: CubeElement + Numeric>(
    client: &ComputeClient<R>,
    nodes: &Nodes<S>,
    values: &Buffer<T>,
) -> Buffer<T> {
    fold_below(client, nodes, values, Fold::Sum)
}

fn fold_below<R: Runtime, S, T: CubeElement + Numeric>(
    client: &ComputeClient<R>,
    nodes: &Nodes<S>,
    values: &Buffer<T>,
    rule: Fold,
) -> Buffer<T> {
    let (n, end, dim) = (values.len(), nodes.end(), CubeDim::new_1d(UNITS));
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
        fold_groups::launch::<T, R>(client, cubes(size), dim, values.arg(), groups.arg(), range, rule);
        (from, before) = (to, size);
    }
    let folded = Buffer::<T>::new(client, end + 1);
    fold_nodes::launch::<T, R>(
        client,
        cubes(end + 1),
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

/// The values of one size, and where those of the next go.
#[derive(CubeType, CubeLaunch)]
struct Groups {
    from: u32,
    len: u32,
    to: u32,
    #[cube(comptime)]
    of_values: bool,
}

/// Folds a value into the one at hand.
#[cube]
fn fold<T: Numeric>(best: &mut Array<T>, value: T, #[comptime] rule: Fold) {
    if comptime!(rule == Fold::Sum) {
        best[0] = best[0] + value;
    } else {
        best[0] = max(best[0], value);
    }
}

/// Folds each sixteen of `len` values from `from` on: of `values`, or of `groups`.
#[cube(launch)]
fn fold_groups<T: Numeric>(values: &Array<T>, groups: &mut Array<T>, range: &Groups, #[comptime] rule: Fold) {
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
    #[comptime] rule: Fold,
) {
    let node = ABSOLUTE_POS;
    if (node as u32) < end {
        let first = links[2 * node + 1];
        let behind = links[2 * links[2 * node] as usize + 1];
        let mut best = Array::<T>::new(1usize);
        best[0] = values[first as usize];
        // From where to where, and the size of the groups.
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

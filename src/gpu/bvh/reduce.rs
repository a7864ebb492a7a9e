//! The largest value below each node: the twin of `bvh::reduce`.
//!
//! In: a value for each position. Out: for each node the largest of its positions' values.
//! The largest of sixteen positions, of sixteen of those, and so on, are found first; each node puts its own together from at most thirty of
//! a size, so no node waits for its children.
//! Cost: two passes over the values, and a value for each sixteen.

use cubecl::prelude::*;

use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::bvh::ropes::Nodes;

/// Values that are put into one of the next size.
const GROUP: u32 = 16;

/// The largest value below each node; the sentinel has some value.
pub(in crate::gpu) fn largest_below<R: Runtime, S, T: CubeElement + Numeric>(
    client: &ComputeClient<R>,
    nodes: &Nodes<S>,
    values: &Buffer<T>,
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
        let (counts, own) = ([from as u32, before as u32, to as u32], cubes(size));
        let [first, len, to_group] = counts;
        group_largest::launch::<T, R>(client, own, dim, values.arg(), groups.arg(), first, len, to_group, at == 0);
        (from, before) = (to, size);
    }
    let largest = Buffer::<T>::new(client, end + 1);
    largest_of_nodes::launch::<T, R>(
        client,
        cubes(end + 1),
        dim,
        values.arg(),
        groups.arg(),
        Buffer::from_slice(client, &offsets).arg(),
        nodes.links.arg(),
        largest.arg(),
        end as u32,
    );
    largest
}

/// The largest of each sixteen of `len` values from `from` on: of `values`, or of `groups`.
#[cube(launch)]
fn group_largest<T: Numeric>(
    values: &Array<T>,
    groups: &mut Array<T>,
    from: u32,
    len: u32,
    to: u32,
    #[comptime] of_values: bool,
) {
    let own = ABSOLUTE_POS as u32;
    if own * GROUP < len {
        let first = from + own * GROUP;
        let behind = from + min(own * GROUP + GROUP, len);
        let mut largest = Array::<T>::new(1usize);
        if comptime!(of_values) {
            largest[0] = values[first as usize];
            for at in first + 1..behind {
                largest[0] = max(largest[0], values[at as usize]);
            }
        } else {
            largest[0] = groups[first as usize];
            for at in first + 1..behind {
                largest[0] = max(largest[0], groups[at as usize]);
            }
        }
        groups[(to + own) as usize] = largest[0];
    }
}

#[cube(launch)]
fn largest_of_nodes<T: Numeric>(
    values: &Array<T>,
    groups: &Array<T>,
    offsets: &Array<u32>,
    links: &Array<u32>,
    largest: &mut Array<T>,
    end: u32,
) {
    let node = ABSOLUTE_POS;
    if (node as u32) < end {
        let first = links[2 * node + 1];
        let behind = links[2 * links[2 * node] as usize + 1];
        let mut best = Array::<T>::new(1usize);
        best[0] = values[first as usize];
        // From where to where, and the size of the groups.
        let mut range = Array::<u32>::new(3usize);
        range[0] = first;
        range[1] = behind;
        while range[0] < range[1] && range[0] % GROUP != 0 {
            best[0] = max(best[0], values[range[0] as usize]);
            range[0] = range[0] + 1;
        }
        while range[0] < range[1] && range[1] % GROUP != 0 {
            range[1] = range[1] - 1;
            best[0] = max(best[0], values[range[1] as usize]);
        }
        range[0] = range[0] / GROUP;
        range[1] = range[1] / GROUP;
        range[2] = 0;
        while range[0] < range[1] {
            let offset = offsets[range[2] as usize];
            while range[0] < range[1] && range[0] % GROUP != 0 {
                best[0] = max(best[0], groups[(offset + range[0]) as usize]);
                range[0] = range[0] + 1;
            }
            while range[0] < range[1] && range[1] % GROUP != 0 {
                range[1] = range[1] - 1;
                best[0] = max(best[0], groups[(offset + range[1]) as usize]);
            }
            range[0] = range[0] / GROUP;
            range[1] = range[1] / GROUP;
            range[2] = range[2] + 1;
        }
        largest[node] = best[0];
    } else if node as u32 == end {
        largest[node] = values[0];
    }
}

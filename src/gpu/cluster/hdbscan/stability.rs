//! Stabilities of clusters.
//!
//! In: large nodes, and the births of clusters. Out: for each cluster the sum over its nodes of
//! ```text
//! (lambda - lambda_birth) * (points that leave at the node),
//! ```
//! in ascending order of lambda. The sum is defined by blocks, so that the order of summation does not depend on the
//! device. Each 256 consecutive terms are summed from first to last, then these sums in the same way, until one is
//! left. Cost: a sort of the large nodes, a wait for their number, and one for the sums; 32 bytes per large node.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::cluster::dendrogram::chains::{ChainsArg, range_starts};
use crate::gpu::cluster::hdbscan::nodes::{BelowArg, Nodes, NodesArg, OwnersArg};
use crate::gpu::primitives::compact::{Compact, Emit};
use crate::gpu::primitives::radix_sort::sort_words;
use crate::gpu::primitives::rounding::inverse_root;
use crate::gpu::primitives::scan::exclusive;

/// The number of terms per block, summed one after the other.
const BLOCK: u32 = 256;

/// The stability of each cluster, and the number of its nodes without the one at which it ends.
pub(super) fn stabilities<R: Runtime>(
    client: &ComputeClient<R>,
    nodes: &Nodes,
    birth2: &Buffer<f64>,
) -> Result<(Vec<f64>, Vec<u32>)> {
    let (chains, m, dim) = (nodes.chains, nodes.weight2.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let flags = Buffer::<u32>::new(client, m + 1);
    flag_large::launch::<R>(client, blocks_for(m + 1), dim, chains.arg(), nodes.arg(), flags.arg());
    let large = Compact::new(client, flags)?;
    let words = Buffer::<u64>::new(client, large.len);
    large.emit::<R, ByCluster>(client, PlacesLaunch::new(chains.arg(), nodes.arg(), nodes.owners()), words.arg());
    let tops = sort_words(client, words, nodes.n_clusters as u64);
    let n = tops.len();
    let (cluster, terms) = (Buffer::<u32>::new(client, n), Buffer::<f64>::new(client, n));
    write_terms::launch::<R>(
        client,
        blocks_for(n),
        dim,
        chains.arg(),
        nodes.arg(),
        nodes.below(),
        nodes.owners(),
        nodes.weight2.arg(),
        TermsInputLaunch::new(tops.arg(), birth2.arg(), n as u32),
        TermsLaunch::new(cluster.arg(), terms.arg()),
    );
    let begin = range_starts(client, &cluster, nodes.n_clusters);
    let sums = sum_blocks(client, terms, &begin);
    let begin = begin.read(client)?;
    // The last node of a cluster is the one at which it ends.
    let merges = begin.windows(2).map(|ends| ends[1].saturating_sub(ends[0] + 1)).collect();
    Ok((sums.read(client)?, merges))
}

/// The sums of lists of terms, block by block. `begin` holds the start of each list, followed by the number of terms.
fn sum_blocks<R: Runtime>(client: &ComputeClient<R>, terms: Buffer<f64>, begin: &Buffer<u32>) -> Buffer<f64> {
    let (lists, dim) = (begin.len() - 1, CubeDim::new_1d(THREADS_PER_BLOCK));
    let longest = terms.len();
    let (mut sums, mut begin, mut reach) = (terms, begin.clone(), 1);
    loop {
        let blocks = Buffer::<u32>::new(client, lists + 1);
        count_blocks::launch::<R>(client, blocks_for(lists + 1), dim, begin.arg(), blocks.arg(), lists as u32);
        exclusive(client, &blocks);
        // An upper bound: each list has at most one partial block.
        let most = sums.len().min(sums.len() / BLOCK as usize + lists);
        let next = Buffer::<f64>::new(client, most);
        let (from, to) = ((sums.arg(), begin.arg()), (blocks.arg(), next.arg()));
        add_blocks::launch::<R>(client, blocks_for(most), dim, from.0, from.1, to.0, to.1, lists as u32);
        (sums, begin) = (next, blocks);
        reach *= BLOCK as usize;
        if reach >= longest {
            return sums;
        }
    }
}

/// Flags the last edges of large nodes, the heaviest first, followed by a 0.
#[cube(launch)]
fn flag_large(chains: &ChainsArg, nodes: &NodesArg, flags: &mut Array<u32>) {
    let i = ABSOLUTE_POS as u32;
    if i < chains.n_edges {
        let place = chains.place[(chains.n_edges - 1 - i) as usize];
        flags[i as usize] = u32::cast_from(nodes.is_large_at(place));
    } else if i == chains.n_edges {
        flags[i as usize] = 0;
    }
}

/// Data that identify the cluster of an edge.
#[derive(CubeType, CubeLaunch)]
struct Places {
    chains: ChainsArg,
    nodes: NodesArg,
    owners: OwnersArg,
}

/// Emits the cluster of a large node in the upper half of a word, and its top in the lower half.
struct ByCluster;

#[cube]
impl Emit for ByCluster {
    type Input = Places;
    type Output = Array<u64>;

    fn emit(input: &Self::Input, words: &mut Self::Output, item: u32, rank: u32) {
        let top = input.nodes.at(input.chains.place[(input.chains.n_edges - 1 - item) as usize]);
        words[rank as usize] = (u64::cast_from(input.owners.of(top)) << 32u64) | u64::cast_from(top);
    }
}

/// Large nodes, and the births of clusters.
#[derive(CubeType, CubeLaunch)]
struct TermsInput {
    tops: Array<u32>,
    birth2: Array<f64>,
    n: u32,
}

/// Terms, and their clusters.
#[derive(CubeType, CubeLaunch)]
struct Terms {
    cluster: Array<u32>,
    terms: Array<f64>,
}

#[cube(launch)]
fn write_terms(
    chains: &ChainsArg,
    nodes: &NodesArg,
    below: &BelowArg,
    owners: &OwnersArg,
    weight2: &Array<f64>,
    input: &TermsInput,
    output: &mut Terms,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < input.n {
        let top = input.tops[i];
        let cluster = owners.of(top);
        let mut leaving = nodes.size(top);
        if below.children[top as usize] == 1 {
            leaving -= nodes.size(below.child[top as usize]);
        }
        let own2 = weight2[chains.order[nodes.place(top) as usize] as usize];
        let birth2 = input.birth2[cluster as usize];
        let mut term = f64::new(0.0);
        // Equal lambdas differ by 0, also if they are infinite.
        if own2 < birth2 {
            term = (inverse_root(own2) - inverse_root(birth2)) * f64::cast_from(leaving);
        }
        output.cluster[i] = cluster;
        output.terms[i] = term;
    }
}

/// The number of blocks of each list, followed by a 0.
#[cube(launch)]
fn count_blocks(begin: &Array<u32>, blocks: &mut Array<u32>, lists: u32) {
    let list = ABSOLUTE_POS;
    if (list as u32) < lists {
        blocks[list] = (begin[list + 1] - begin[list]).div_ceil(BLOCK);
    } else if list as u32 == lists {
        blocks[list] = 0;
    }
}

/// Adds up the terms of each block. `first` holds the first block of each list, followed by the number of blocks.
#[cube(launch)]
fn add_blocks(terms: &Array<f64>, begin: &Array<u32>, first: &Array<u32>, sums: &mut Array<f64>, lists: u32) {
    let block = ABSOLUTE_POS as u32;
    if block < first[lists as usize] {
        // The bounds of a binary search for the list of the block. They are in an array because an optimiser of cubecl
        // fails on such loops over variables.
        let mut between = Array::<u32>::new(2usize);
        between[0] = 0;
        between[1] = lists;
        while between[1] - between[0] > 1 {
            let middle = between[0] + (between[1] - between[0]) / 2;
            if first[middle as usize] <= block {
                between[0] = middle;
            } else {
                between[1] = middle;
            }
        }
        let list = between[0] as usize;
        let start = begin[list] + (block - first[list]) * BLOCK;
        let end = min(start + BLOCK, begin[list + 1]);
        let mut sum = f64::cast_from(0u32.runtime());
        for at in start..end {
            sum += terms[at as usize];
        }
        sums[block as usize] = sum;
    }
}

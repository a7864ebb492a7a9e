//! The dendrogram as chains: paths from a merge to its parent, stored one after the other.
//!
//! In: a contracted tree. Out: the edges chain by chain, and the number of points of each merge.
//!
//! An edge e that is contracted on a level lies in a vertex V of the next level. Let V_k be the first vertex on the
//! path up from V with e < lightest(V_k), or the last vertex. V_k is the chain of e. Then:
//!
//! - The edges of a chain in order are a path: the parent of each edge is the next one.
//! - The parent of the last edge is lightest(V_k), an edge of a chain of a higher level.
//! - The children of e are the preceding edge of its chain, if there is one, and each end x with lightest(x) = e
//!   (`child_vertices`). The end x is a point, or it represents the last edge of the chain of x.
//!
//! A stable sort of the edges by their chain gives their *places*, at which merges come before their parents. Cost: a
//! sort, and a prefix sum over each level; 28 bytes per point, and up to 24 more while it runs. Source: Sao,
//! Prokopenko and Lebrun-Grandié 2024 (PANDORA).

use cubecl::prelude::*;

use crate::error::{Error, Result};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::cluster::dendrogram::contract::{Contraction, NONE};
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::radix_sort::sort_words;
use crate::gpu::primitives::scan::exclusive;
use crate::gpu::primitives::scatter::invert;

/// The merges of a tree of at least two points, by place.
pub(in crate::gpu) struct Chains {
    pub n_points: usize,
    /// The maximum length of a path up through the chains.
    pub levels: usize,
    /// The edge at each place, and the place of each edge.
    pub order: Buffer<u32>,
    pub place: Buffer<u32>,
    /// The chain of each place; and the first place of each chain, followed by the number of edges.
    pub chain: Buffer<u32>,
    pub begin: Buffer<u32>,
    /// The number of points of the cluster made by the merge at each place.
    pub size: Buffer<u32>,
    /// The least edge of each vertex of the contraction: the points, followed by a vertex for each chain.
    pub least_edge: Buffer<u32>,
}

/// The kernel argument for [`Chains`].
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct ChainsArg {
    pub order: Array<u32>,
    pub place: Array<u32>,
    pub chain: Array<u32>,
    pub begin: Array<u32>,
    pub least_edge: Array<u32>,
    pub n_points: u32,
    pub n_edges: u32,
}

#[cube]
impl ChainsArg {
    /// Returns the place of the parent of the merge at a place, or [`NONE`].
    pub fn parent(&self, place: u32) -> u32 {
        let chain = self.chain[place as usize];
        let mut parent = place + 1;
        if parent == self.begin[(chain + 1) as usize] {
            let edge = self.least_edge[(chain + self.n_points) as usize];
            parent = NONE.runtime();
            if edge != NONE {
                parent = self.place[edge as usize];
            }
        }
        parent
    }
}

impl Chains {
    /// Computes the chains of a tree of at least two points, and for each edge the vertices below, as in
    /// [`Contraction`].
    ///
    /// Errors: those of [`Contraction::new`].
    pub fn new<R: Runtime>(
        client: &ComputeClient<R>,
        n_points: usize,
        low: &Buffer<u32>,
        high: &Buffer<u32>,
    ) -> Result<(Self, Buffer<u32>)> {
        let Contraction { bases, parent_vertex, least_edge, child_vertices } =
            Contraction::new(client, n_points, low, high)?;
        let (n, m, dim) = (n_points as u32, low.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
        let n_chains = bases.last().map_or(0, |vertices| vertices - n_points);
        let (words, chain) = (Buffer::<u64>::new(client, m), Buffer::<u32>::new(client, m));
        let to = (words.arg(), chain.arg());
        find_chains::launch::<R>(
            client,
            blocks_for(m),
            dim,
            child_vertices.arg(),
            parent_vertex.arg(),
            least_edge.arg(),
            to.0,
            to.1,
            n,
            m as u32,
        );
        drop(parent_vertex);
        let order = sort_words(client, words, n_chains as u64);
        let chain = gather(client, &chain, &order, 1, Layout::Rows);
        let (place, begin) = (invert(client, &order), range_starts(client, &chain, n_chains));
        let size = Buffer::<u32>::new(client, m);
        let chains = Self { n_points, levels: bases.len(), order, place, chain, begin, size, least_edge };
        chains.sum_up(client, &bases, &child_vertices)?;
        Ok((chains, child_vertices))
    }

    pub fn arg<R: Runtime>(&self) -> ChainsArgLaunch<R> {
        let Self { n_points, order, place, chain, begin, least_edge, .. } = self;
        let (n, m) = (*n_points as u32, order.len() as u32);
        ChainsArgLaunch::new(order.arg(), place.arg(), chain.arg(), begin.arg(), least_edge.arg(), n, m)
    }

    /// Finds the sizes of merges, level by level. The chains of a level are contiguous.
    fn sum_up<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        bases: &[usize],
        child_vertices: &Buffer<u32>,
    ) -> Result<()> {
        let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
        let first: Vec<u32> = bases[1..].iter().map(|vertex| (vertex - self.n_points) as u32).collect();
        let places = gather(client, &self.begin, &Buffer::from_slice(client, &first), 1, Layout::Rows).read(client)?;
        for level in places.windows(2) {
            let Some(len) = level[1].checked_sub(level[0]) else {
                return Err(Error::invariant("chain starts of a dendrogram do not ascend"));
            };
            let weights = Buffer::<u32>::new(client, len as usize + 1);
            let count = blocks_for(len as usize + 1);
            let (child_vertices, size) = (child_vertices.arg(), self.size.arg());
            weigh::launch::<R>(
                client,
                count.clone(),
                dim,
                self.arg(),
                child_vertices,
                size,
                weights.arg(),
                level[0],
                len,
            );
            exclusive(client, &weights);
            sum_chains::launch::<R>(client, count, dim, self.arg(), weights.arg(), self.size.arg(), level[0], len);
        }
        Ok(())
    }

    /// Computes the clusters that each edge merges, two per edge, the lower number first; and the number of points of
    /// the new cluster. Points are clusters `0..n`, edge i makes the cluster n + i.
    pub fn merges<R: Runtime>(
        &self,
        client: &ComputeClient<R>,
        child_vertices: &Buffer<u32>,
    ) -> (Buffer<u32>, Buffer<u32>) {
        let m = self.order.len();
        let (clusters, sizes) = (Buffer::<u32>::new(client, 2 * m), Buffer::<u32>::new(client, m));
        let (child_vertices, to) = (child_vertices.arg(), MergesArgLaunch::new(clusters.arg(), sizes.arg()));
        write_merges::launch::<R>(
            client,
            blocks_for(m),
            CubeDim::new_1d(THREADS_PER_BLOCK),
            self.arg(),
            child_vertices,
            self.size.arg(),
            to,
        );
        (clusters, sizes)
    }
}

/// The start of each number's range in an ascending list that contains every number below `end`, followed by the
/// length of the list.
pub(in crate::gpu) fn range_starts<R: Runtime>(
    client: &ComputeClient<R>,
    numbers: &Buffer<u32>,
    end: usize,
) -> Buffer<u32> {
    let (n, begin) = (numbers.len(), Buffer::<u32>::new(client, end + 1));
    let dim = CubeDim::new_1d(THREADS_PER_BLOCK);
    find_range_starts::launch::<R>(client, blocks_for(n + 1), dim, numbers.arg(), begin.arg(), n as u32, end as u32);
    begin
}

#[cube(launch)]
fn find_range_starts(numbers: &Array<u32>, begin: &mut Array<u32>, n: u32, end: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let own = numbers[i];
        let mut is_first = i == 0;
        if i > 0 {
            is_first = numbers[i - 1] != own;
        }
        if is_first {
            begin[own as usize] = i as u32;
        }
    } else if i as u32 == n {
        begin[end as usize] = n;
    }
}

/// Finds the chain of each edge, also as a word with the edge in its lower half.
#[cube(launch)]
fn find_chains(
    child_vertices: &Array<u32>,
    parent_vertex: &Array<u32>,
    least_edge: &Array<u32>,
    words: &mut Array<u64>,
    chain: &mut Array<u32>,
    n: u32,
    m: u32,
) {
    let edge = ABSOLUTE_POS;
    if (edge as u32) < m {
        // The current vertex and its least edge. They are in an array because an optimiser of cubecl fails on such
        // loops over variables. The last vertex has no edge, so the loop ends.
        let mut way = Array::<u32>::new(2usize);
        // At least one of both is a vertex, and `NONE` is larger than any vertex.
        way[0] = parent_vertex[min(child_vertices[2 * edge], child_vertices[2 * edge + 1]) as usize];
        way[1] = least_edge[way[0] as usize];
        while way[1] < edge as u32 {
            way[0] = parent_vertex[way[0] as usize];
            way[1] = least_edge[way[0] as usize];
        }
        let own = way[0] - n;
        chain[edge] = own;
        words[edge] = (u64::cast_from(own) << 32u64) | u64::cast_from(edge);
    }
}

/// The number of points of a vertex.
#[cube]
fn vertex_size(chains: &ChainsArg, size: &Array<u32>, vertex: u32) -> u32 {
    let mut points = 1u32.runtime();
    if vertex >= chains.n_points {
        points = size[(chains.begin[(vertex - chains.n_points + 1) as usize] - 1) as usize];
    }
    points
}

/// The number of a vertex as a cluster: that of its last merge.
#[cube]
fn vertex_cluster(chains: &ChainsArg, vertex: u32) -> u32 {
    let mut cluster = vertex + 0;
    if vertex >= chains.n_points {
        let last = chains.begin[(vertex - chains.n_points + 1) as usize] - 1;
        cluster = chains.n_points + chains.order[last as usize];
    }
    cluster
}

/// Finds the number of points that each of the `len` places of a level adds to its chain, followed by a 0.
#[cube(launch)]
fn weigh(
    chains: &ChainsArg,
    child_vertices: &Array<u32>,
    size: &Array<u32>,
    weights: &mut Array<u32>,
    first: u32,
    len: u32,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < len {
        let edge = chains.order[i + first as usize];
        let mut weight = 0u32.runtime();
        #[unroll]
        for k in 0..2usize {
            let vertex = child_vertices[2 * edge as usize + k];
            if vertex != NONE {
                weight += vertex_size(chains, size, vertex);
            }
        }
        weights[i] = weight;
    } else if i as u32 == len {
        weights[i] = 0;
    }
}

/// Adds up the weights of a level within each chain. `sums` are the prefix sums before each place.
#[cube(launch)]
fn sum_chains(chains: &ChainsArg, sums: &Array<u32>, size: &mut Array<u32>, first: u32, len: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < len {
        let place = i + first as usize;
        let begin = chains.begin[chains.chain[place] as usize] - first;
        size[place] = sums[i + 1] - sums[begin as usize];
    }
}

/// Merges in the order of edges.
#[derive(CubeType, CubeLaunch)]
struct MergesArg {
    clusters: Array<u32>,
    sizes: Array<u32>,
}

#[cube(launch)]
fn write_merges(chains: &ChainsArg, child_vertices: &Array<u32>, size: &Array<u32>, merges: &mut MergesArg) {
    let place = ABSOLUTE_POS;
    if (place as u32) < chains.n_edges {
        let edge = chains.order[place] as usize;
        let (a, b) = (child_vertices[2 * edge], child_vertices[2 * edge + 1]);
        // Both vertices below are children of the first edge of a chain. Other edges have one vertex below, and the
        // preceding edge as the other child.
        let mut other = chains.n_points + 0;
        if place as u32 == chains.begin[chains.chain[place] as usize] {
            other = vertex_cluster(chains, max(a, b));
        } else {
            other += chains.order[place - 1];
        }
        let one = vertex_cluster(chains, min(a, b));
        merges.clusters[2 * edge] = min(one, other);
        merges.clusters[2 * edge + 1] = max(one, other);
        merges.sizes[edge] = size[place];
    }
}

//! The table of clusters: the GPU version of `cluster::hdbscan::condense`, with rows in another order.
//!
//! In: large nodes and their clusters. Out, on the host: a row for each cluster, children before their parents. Out,
//! on the device: for each point the last cluster that contains it, and the squared weight at which the point leaves
//! that cluster.
//!
//! A point leaves at the lowest large merge above it. In a chain all merges after the first large one are large, so
//! each point climbs from chain to chain until it reaches a chain with a large merge. Cost: a pass over the points and
//! one over the runs; 12 bytes per point, 8 of them for the result.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::cluster::dendrogram::chains::{Chains, ChainsArg};
use crate::gpu::cluster::dendrogram::contract::NONE;
use crate::gpu::cluster::hdbscan::nodes::{BelowArg, Nodes, NodesArg, OwnersArg};
use crate::gpu::cluster::hdbscan::stability::stabilities;
use crate::gpu::primitives::atomic_min::lower_to;
use crate::gpu::primitives::warp::Warp;

/// The cluster that each point leaves last, and the squared weight at which it leaves.
pub(super) struct PointExits {
    pub cluster: Buffer<u32>,
    pub weight2: Buffer<f64>,
}

/// The table of clusters, as columns.
pub(super) struct Rows {
    /// The parent cluster; [`NONE`] for the root.
    pub parent: Vec<u32>,
    pub birth2: Vec<f64>,
    pub death2: Vec<f64>,
    pub size: Vec<u32>,
    /// The lowest of the points that are in no child cluster.
    pub smallest: Vec<u32>,
    pub stability: Vec<f64>,
    /// The number of nodes of the cluster, without the one at which it ends.
    pub merges: Vec<u32>,
}

/// Builds the table of the clusters with at least `min_cluster_size` points. There must be at least that many points.
pub(super) fn condense<R: Runtime>(
    client: &ComputeClient<R>,
    chains: &Chains,
    weight2: &Buffer<f64>,
    min_cluster_size: usize,
) -> Result<(Rows, PointExits)> {
    let nodes = Nodes::new(client, chains, weight2, min_cluster_size)?;
    let (clusters, runs, dim) = (nodes.n_clusters, nodes.n_runs(), CubeDim::new_1d(THREADS_PER_BLOCK));
    let parent = Buffer::filled(client, clusters, NONE);
    let size = Buffer::filled(client, clusters, chains.n_points as u32);
    let birth2 = Buffer::filled(client, clusters, f64::INFINITY);
    let death2 = Buffer::<f64>::new(client, clusters);
    let table = TableLaunch::new(parent.arg(), size.arg(), birth2.arg(), death2.arg());
    let (below, owners) = (nodes.below(), nodes.owners());
    let weights = weight2.arg();
    describe::launch::<R>(
        client,
        blocks_for(runs),
        dim,
        chains.arg(),
        nodes.arg(),
        below,
        owners,
        weights,
        table,
        runs as u32,
    );
    let (stability, merges) = stabilities(client, &nodes, &birth2)?;
    let (departures, smallest) = depart(client, &nodes);
    let rows = Rows {
        parent: parent.read(client)?,
        birth2: birth2.read(client)?,
        death2: death2.read(client)?,
        size: size.read(client)?,
        smallest: smallest.read(client)?,
        stability,
        merges,
    };
    Ok((rows, departures))
}

/// Finds the departures of all points, and the lowest point that leaves each cluster.
fn depart<R: Runtime>(client: &ComputeClient<R>, nodes: &Nodes) -> (PointExits, Buffer<u32>) {
    let (chains, weight2, dim) = (nodes.chains, nodes.weight2, CubeDim::new_1d(THREADS_PER_BLOCK));
    let (n, edges) = (chains.n_points, weight2.len());
    let first_large = Buffer::filled(client, chains.begin.len() - 1, NONE);
    find_first_large::launch::<R>(client, blocks_for(edges), dim, chains.arg(), nodes.arg(), first_large.arg());
    let departures = PointExits { cluster: Buffer::new(client, n), weight2: Buffer::new(client, n) };
    let smallest = Buffer::filled(client, nodes.n_clusters, NONE);
    leave::launch::<R>(
        client,
        blocks_for(n),
        dim,
        chains.arg(),
        nodes.arg(),
        nodes.owners(),
        weight2.arg(),
        first_large.arg(),
        DeparturesArgLaunch::new(departures.cluster.arg(), departures.weight2.arg()),
        smallest.arg(),
        Warp::new(client),
    );
    (departures, smallest)
}

/// The columns of the table that follow from the first and the last node of each cluster.
#[derive(CubeType, CubeLaunch)]
struct Table {
    parent: Array<u32>,
    size: Array<u32>,
    birth2: Array<f64>,
    death2: Array<f64>,
}

/// Describes the clusters that end at each large node, or that split off from another one there.
#[cube(launch)]
fn describe(
    chains: &ChainsArg,
    nodes: &NodesArg,
    below: &BelowArg,
    owners: &OwnersArg,
    weight2: &Array<f64>,
    table: &mut Table,
    n: u32,
) {
    let own = ABSOLUTE_POS as u32;
    if own < n {
        if nodes.is_large(own) {
            let cluster = owners.of(own) as usize;
            let place = nodes.place(own);
            if below.children[own as usize] != 1 {
                table.death2[cluster] = weight2[chains.order[place as usize] as usize];
            }
            let parent = chains.parent(place);
            if parent != NONE {
                let above = nodes.at(parent);
                if below.children[above as usize] > 1 {
                    table.parent[cluster] = owners.of(above);
                    table.birth2[cluster] = weight2[chains.order[parent as usize] as usize];
                    table.size[cluster] = nodes.size(own);
                }
            }
        }
    }
}

/// Finds the first large merge of each chain, if there is one.
#[cube(launch)]
fn find_first_large(chains: &ChainsArg, nodes: &NodesArg, first: &mut Array<u32>) {
    let place = ABSOLUTE_POS as u32;
    if place < chains.n_edges {
        let chain = chains.chain[place as usize] as usize;
        if nodes.is_enough(place) {
            let mut is_first = place == chains.begin[chain];
            if !is_first {
                is_first = !nodes.is_enough(place - 1);
            }
            if is_first {
                first[chain] = place;
            }
        }
    }
}

/// The kernel argument for [`PointExits`].
#[derive(CubeType, CubeLaunch)]
struct DeparturesArg {
    cluster: Array<u32>,
    weight2: Array<f64>,
}

/// Finds the departure of each point, and the lowest point of each cluster.
#[cube(launch)]
fn leave(
    chains: &ChainsArg,
    nodes: &NodesArg,
    owners: &OwnersArg,
    weight2: &Array<f64>,
    first_large: &Array<u32>,
    departures: &mut DeparturesArg,
    smallest: &mut Array<Atomic<u32>>,
    #[comptime] warp: Warp,
) {
    let point = ABSOLUTE_POS as u32;
    let mut cluster = 0u32.runtime();
    let mut lowest = NONE.runtime();
    if point < chains.n_points {
        // The current vertex, and the place found. They are in an array because an optimiser of cubecl fails on such
        // loops over variables. The last chain has large merges, so the loop ends.
        let mut way = Array::<u32>::new(2usize);
        way[0] = point;
        way[1] = NONE;
        while way[1] == NONE {
            let place = chains.place[chains.least_edge[way[0] as usize] as usize];
            let chain = chains.chain[place as usize];
            let first = first_large[chain as usize];
            way[0] = chain + chains.n_points;
            if first != NONE {
                way[1] = max(place, first);
            }
        }
        let place = way[1];
        cluster = owners.of(nodes.at(place));
        lowest = point;
        departures.cluster[point as usize] = cluster;
        departures.weight2[point as usize] = weight2[chains.order[place as usize] as usize];
    }
    lower_to(smallest, cluster, lowest, warp);
}

//! The table of clusters: the twin of `cluster::hdbscan::condense`, but for its order.
//!
//! In: large nodes and their clusters. Out: on the host a row for each cluster, children before their parents; on the device for each
//! point the last cluster that it is in, and the squared weight at which it leaves it.
//! A point leaves at the lowest merge above it that is large. In a chain the large merges are those behind the first large one, so each
//! point climbs from chain to chain until there is one.
//! Cost: a pass over the points and one over the runs; 12 bytes a point, 8 of them the result's.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::cluster::dendrogram::chains::{Chains, ChainsArg};
use crate::gpu::cluster::dendrogram::contract::NONE;
use crate::gpu::cluster::hdbscan::nodes::{BelowArg, Nodes, NodesArg, OwnersArg};
use crate::gpu::cluster::hdbscan::stability::stabilities;
use crate::gpu::primitives::lower::lower_to;
use crate::gpu::primitives::warp::Warp;

/// Where the points leave the tree of clusters.
pub(super) struct Departures {
    pub cluster: Buffer<u32>,
    pub weight2: Buffer<f64>,
}

/// A row for each cluster, as columns.
pub(super) struct Rows {
    /// [`NONE`] for the root.
    pub parent: Vec<u32>,
    pub birth2: Vec<f64>,
    pub death2: Vec<f64>,
    pub size: Vec<u32>,
    /// The lowest of the points that are in no cluster below.
    pub smallest: Vec<u32>,
    pub stability: Vec<f64>,
    /// How many nodes it goes on through.
    pub merges: Vec<u32>,
}

/// The clusters of at least so many points, of which there are enough.
pub(super) fn condense<R: Runtime>(
    client: &ComputeClient<R>,
    chains: &Chains,
    weight2: &Buffer<f64>,
    min_cluster_size: usize,
) -> Result<(Rows, Departures)> {
    let nodes = Nodes::new(client, chains, weight2, min_cluster_size)?;
    let (clusters, runs, dim) = (nodes.n_clusters, nodes.n_runs(), CubeDim::new_1d(UNITS));
    let parent = Buffer::filled(client, clusters, NONE);
    let size = Buffer::filled(client, clusters, chains.n_points as u32);
    let birth2 = Buffer::filled(client, clusters, f64::INFINITY);
    let death2 = Buffer::<f64>::new(client, clusters);
    let table = TableLaunch::new(parent.arg(), size.arg(), birth2.arg(), death2.arg());
    let (below, owners) = (nodes.below(), nodes.owners());
    let weights = weight2.arg();
    describe::launch::<R>(
        client,
        cubes(runs),
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

/// Where each point leaves, and the lowest point that leaves each cluster.
fn depart<R: Runtime>(client: &ComputeClient<R>, nodes: &Nodes) -> (Departures, Buffer<u32>) {
    let (chains, weight2, dim) = (nodes.chains, nodes.weight2, CubeDim::new_1d(UNITS));
    let (n, edges) = (chains.n_points, weight2.len());
    let first_large = Buffer::filled(client, chains.begin.len() - 1, NONE);
    find_first_large::launch::<R>(client, cubes(edges), dim, chains.arg(), nodes.arg(), first_large.arg());
    let departures = Departures { cluster: Buffer::new(client, n), weight2: Buffer::new(client, n) };
    let smallest = Buffer::filled(client, nodes.n_clusters, NONE);
    leave::launch::<R>(
        client,
        cubes(n),
        dim,
        chains.arg(),
        nodes.arg(),
        nodes.owners(),
        weight2.arg(),
        first_large.arg(),
        DeparturesArgLaunch::new(departures.cluster.arg(), departures.weight2.arg()),
        smallest.arg(),
        Warp::of(client),
    );
    (departures, smallest)
}

/// What is known of clusters from their first and their last node.
#[derive(CubeType, CubeLaunch)]
struct Table {
    parent: Array<u32>,
    size: Array<u32>,
    birth2: Array<f64>,
    death2: Array<f64>,
}

/// Describes the clusters that end, or fall out of another one, at each large node.
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

/// Finds the first large merge of each chain that has one.
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

/// [`Departures`] in kernels.
#[derive(CubeType, CubeLaunch)]
struct DeparturesArg {
    cluster: Array<u32>,
    weight2: Array<f64>,
}

/// Finds where each point leaves, and the lowest of each cluster.
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
        // In an array, because an optimiser of cubecl's fails on such loops of variables. The last chain has large merges, so it ends the way.
        let mut way = Array::<u32>::new(2usize);
        way[0] = point;
        way[1] = NONE;
        while way[1] == NONE {
            let place = chains.place[chains.lightest[way[0] as usize] as usize];
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

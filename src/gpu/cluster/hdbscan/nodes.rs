//! Merges of equal weight as nodes, and the cluster of each large node.
//!
//! In: chains and weights. Out: nodes, and for each large node its cluster.
//!
//! Consecutive edges of a chain with one weight are a *run*. Runs of one weight of which one is the parent of the
//! other form a *node*, identified by its highest run, the *top*. A node is large if it has at least
//! `min_cluster_size` points.
//!
//! A large node with no large node below, or with two or more, is the bottom of a cluster. A large node above a single
//! large node belongs to the cluster of that node. The cluster of a node is therefore the end of a path downwards.
//! Most of a path is along a chain, where nodes are neighbours. Only *stops* are followed: nodes that do not belong to
//! the cluster of the preceding run. No path has more stops than there are levels. Clusters are numbered from below,
//! children before their parents.
//!
//! Cost: three prefix sums, and waits for the numbers of runs, stops and clusters; 28 bytes per point.

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::cluster::dendrogram::chains::{Chains, ChainsArg};
use crate::gpu::cluster::dendrogram::contract::NONE;
use crate::gpu::primitives::compact::Compact;
use crate::gpu::primitives::gather::{Layout, gather};
use crate::gpu::primitives::pointer_jumping::find_roots;

pub(super) struct Nodes<'a> {
    pub chains: &'a Chains,
    /// The squared weights of edges.
    pub weight2: &'a Buffer<f64>,
    pub min_cluster_size: usize,
    /// The run of each place, and the last place of each run.
    run: Buffer<u32>,
    end: Buffer<u32>,
    /// The top of each run's node.
    top: Buffer<u32>,
    /// The number of large nodes below each top, and one of them.
    children: Buffer<u32>,
    child: Buffer<u32>,
    /// The number of stops before each run, and the cluster of each stop.
    stops: Buffer<u32>,
    cluster: Buffer<u32>,
    pub n_clusters: usize,
}

/// The kernel argument for [`Nodes`]. Runs and places are numbers.
#[derive(CubeType, CubeLaunch)]
pub(super) struct NodesArg {
    run: Array<u32>,
    end: Array<u32>,
    top: Array<u32>,
    sizes: Array<u32>,
    min_cluster_size: u32,
}

#[cube]
impl NodesArg {
    /// Returns the top of the node at a place.
    pub fn at(&self, place: u32) -> u32 {
        self.top[self.run[place as usize] as usize]
    }

    /// Returns the last place of a run; for a top this is the last place of the whole node.
    pub fn place(&self, run: u32) -> u32 {
        self.end[run as usize]
    }

    /// Returns the number of points of a node.
    pub fn size(&self, top: u32) -> u32 {
        self.sizes[self.end[top as usize] as usize]
    }

    /// Returns `true` if the merge at a place has at least `min_cluster_size` points.
    pub fn is_enough(&self, place: u32) -> bool {
        self.sizes[place as usize] >= self.min_cluster_size
    }

    /// Returns `true` if a run is the top of a large node.
    pub fn is_large(&self, run: u32) -> bool {
        self.top[run as usize] == run && self.is_enough(self.end[run as usize])
    }

    /// Returns `true` if an edge is the last of the top of a large node.
    pub fn is_large_at(&self, place: u32) -> bool {
        let run = self.run[place as usize];
        self.end[run as usize] == place && self.is_large(run)
    }
}

/// The large nodes below each node.
#[derive(CubeType, CubeLaunch)]
pub(super) struct BelowArg {
    pub children: Array<u32>,
    pub child: Array<u32>,
}

/// The clusters of large nodes.
#[derive(CubeType, CubeLaunch)]
pub(super) struct OwnersArg {
    stops: Array<u32>,
    cluster: Array<u32>,
}

#[cube]
impl OwnersArg {
    /// Returns the cluster of a large node.
    pub fn of(&self, top: u32) -> u32 {
        self.cluster[(self.stops[(top + 1) as usize] - 1) as usize]
    }
}

impl<'a> Nodes<'a> {
    pub fn new<R: Runtime>(
        client: &ComputeClient<R>,
        chains: &'a Chains,
        weight2: &'a Buffer<f64>,
        min_cluster_size: usize,
    ) -> Result<Self> {
        let (m, dim) = (weight2.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
        let flags = Buffer::<u32>::new(client, m + 1);
        flag_ends::launch::<R>(client, blocks_for(m + 1), dim, chains.arg(), weight2.arg(), flags.arg());
        let runs = Compact::new(client, flags)?;
        let n = runs.len;
        let new = || Buffer::<u32>::new(client, n);
        let (end, up) = (runs.items(client), new());
        let (run, count) = (runs.ranks, blocks_for(n));
        let to = (run.arg(), end.arg(), up.arg());
        link_tops::launch::<R>(client, count.clone(), dim, chains.arg(), weight2.arg(), to.0, to.1, to.2, n as u32);
        let top = find_roots(client, up, chains.levels);
        let (children, child) = (Buffer::filled(client, n, 0), new());
        let (stops, cluster) = (new(), new());
        let mut nodes =
            Self { chains, weight2, min_cluster_size, run, end, top, children, child, stops, cluster, n_clusters: 0 };
        let (counts, child) = (nodes.children.arg(), nodes.child.arg());
        count_children::launch::<R>(client, count, dim, chains.arg(), nodes.arg(), counts, child, n as u32);
        nodes.find_clusters(client)?;
        Ok(nodes)
    }

    /// Follows the stops to the bottoms of their clusters.
    fn find_clusters<R: Runtime>(&mut self, client: &ComputeClient<R>) -> Result<()> {
        let (n, dim) = (self.end.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
        let flags = Buffer::<u32>::new(client, n + 1);
        flag_stops::launch::<R>(client, blocks_for(n + 1), dim, self.arg(), self.below(), flags.arg(), n as u32);
        let stops = Compact::new(client, flags)?;
        let (runs, parent) = (stops.items(client), Buffer::<u32>::new(client, stops.len));
        let flags = Buffer::<u32>::new(client, stops.len + 1);
        let (count, from) = (blocks_for(stops.len + 1), (runs.arg(), stops.ranks.arg()));
        let (to, len) = ((parent.arg(), flags.arg()), stops.len as u32);
        link_stops::launch::<R>(client, count, dim, self.arg(), self.below(), from.0, from.1, to.0, to.1, len);
        let bottoms = Compact::new(client, flags)?;
        let bottom = find_roots(client, parent, self.chains.levels);
        self.cluster = gather(client, &bottoms.ranks, &bottom, 1, Layout::Rows);
        (self.stops, self.n_clusters) = (stops.ranks, bottoms.len);
        Ok(())
    }

    /// Returns the number of runs.
    pub fn n_runs(&self) -> usize {
        self.end.len()
    }

    pub fn arg<R: Runtime>(&self) -> NodesArgLaunch<R> {
        let Self { run, end, top, .. } = self;
        // A cluster cannot have more points than there are edges, plus one.
        let size = self.min_cluster_size.min(u32::MAX as usize) as u32;
        NodesArgLaunch::new(run.arg(), end.arg(), top.arg(), self.chains.size.arg(), size)
    }

    pub fn below<R: Runtime>(&self) -> BelowArgLaunch<R> {
        BelowArgLaunch::new(self.children.arg(), self.child.arg())
    }

    pub fn owners<R: Runtime>(&self) -> OwnersArgLaunch<R> {
        OwnersArgLaunch::new(self.stops.arg(), self.cluster.arg())
    }
}

/// Flags the last places of runs, followed by a 0.
#[cube(launch)]
fn flag_ends(chains: &ChainsArg, weight2: &Array<f64>, flags: &mut Array<u32>) {
    let place = ABSOLUTE_POS as u32;
    if place < chains.n_edges {
        let mut is_end = true.runtime();
        if place + 1 < chains.n_edges {
            if chains.chain[place as usize] == chains.chain[(place + 1) as usize] {
                let own = weight2[chains.order[place as usize] as usize];
                is_end = own != weight2[chains.order[(place + 1) as usize] as usize];
            }
        }
        flags[place as usize] = u32::cast_from(is_end);
    } else if place == chains.n_edges {
        flags[place as usize] = 0;
    }
}

/// Finds the next higher run of the same node for each run; a top gets itself.
#[cube(launch)]
fn link_tops(
    chains: &ChainsArg,
    weight2: &Array<f64>,
    run: &Array<u32>,
    end: &Array<u32>,
    up: &mut Array<u32>,
    n: u32,
) {
    let own = ABSOLUTE_POS;
    if (own as u32) < n {
        let place = end[own];
        let parent = chains.parent(place);
        let mut above = own as u32 + 0;
        if parent != NONE {
            let weight = weight2[chains.order[place as usize] as usize];
            if weight2[chains.order[parent as usize] as usize] == weight {
                above = run[parent as usize];
            }
        }
        up[own] = above;
    }
}

/// Counts the large nodes below each node, and stores one of them.
#[cube(launch)]
fn count_children(
    chains: &ChainsArg,
    nodes: &NodesArg,
    children: &mut Array<Atomic<u32>>,
    child: &mut Array<u32>,
    n: u32,
) {
    let own = ABSOLUTE_POS as u32;
    if own < n {
        if nodes.is_large(own) {
            let parent = chains.parent(nodes.place(own));
            if parent != NONE {
                let above = nodes.at(parent);
                children[above as usize].fetch_add(1);
                child[above as usize] = own;
            }
        }
    }
}

/// Flags all runs except large nodes that belong to the cluster of the preceding run, followed by a 0.
#[cube(launch)]
fn flag_stops(nodes: &NodesArg, below: &BelowArg, flags: &mut Array<u32>, n: u32) {
    let own = ABSOLUTE_POS as u32;
    if own < n {
        let mut is_stop = true.runtime();
        if nodes.is_large(own) {
            if below.children[own as usize] == 1 {
                is_stop = below.child[own as usize] + 1 != own;
            }
        }
        flags[own as usize] = u32::cast_from(is_stop);
    } else if own == n {
        flags[own as usize] = 0;
    }
}

/// Finds the stop that follows each stop, or the stop itself, and flags those that are bottoms of clusters, followed
/// by a 0. `runs` are the runs of the stops; `ranks` is the number of stops before each run.
#[cube(launch)]
fn link_stops(
    nodes: &NodesArg,
    below: &BelowArg,
    runs: &Array<u32>,
    ranks: &Array<u32>,
    parent: &mut Array<u32>,
    flags: &mut Array<u32>,
    n: u32,
) {
    let own = ABSOLUTE_POS as u32;
    if own < n {
        let run = runs[own as usize];
        let mut to = own + 0;
        let mut is_bottom = false.runtime();
        if nodes.is_large(run) {
            is_bottom = below.children[run as usize] != 1;
            if !is_bottom {
                to = ranks[(below.child[run as usize] + 1) as usize] - 1;
            }
        }
        parent[own as usize] = to;
        flags[own as usize] = u32::cast_from(is_bottom);
    } else if own == n {
        flags[own as usize] = 0;
    }
}

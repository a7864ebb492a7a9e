//! The contraction of a spanning tree along least edges, level by level, until one vertex is left.
//!
//! In: the ends of edges, which are identified by their rank. Out: for each vertex its least edge and its vertex of
//! the next level.
//!
//! The vertices of level 0 are the points. On each level a vertex joins the one across its least edge. The joined
//! vertices become a vertex of the next level, which has at most half as many vertices. Vertices are numbered across
//! all levels: first the points, then those of level 1, and so on; fewer than 2 n in all.
//!
//! Cost: for each level a pass over the remaining edges and vertices, and a wait for the number of the next vertices.
//! Memory: 24 bytes per point, and up to 24 more while it runs. Source: Sao, Prokopenko and Lebrun-Grandié 2024
//! (PANDORA).

use cubecl::prelude::*;

use crate::error::{Error, Result};
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::primitives::atomic_min::lower;
use crate::gpu::primitives::compact::{Compact, Emit};
use crate::gpu::primitives::pointer_jumping::{Joined, join_least};

/// No edge, and no vertex.
pub(in crate::gpu) const NONE: u32 = u32::MAX;

pub(super) struct Contraction {
    /// The first vertex of each level, followed by the number of all vertices.
    pub bases: Vec<usize>,
    /// The vertex of the next level for each vertex; undefined for the last one.
    pub parent_vertex: Buffer<u32>,
    /// The least edge of each vertex; [`NONE`] for the last vertex.
    pub least_edge: Buffer<u32>,
    /// For each edge, two entries: the vertices whose least edge it is, or [`NONE`]. There are one or two of them, on
    /// one level.
    pub child_vertices: Buffer<u32>,
}

impl Contraction {
    /// Contracts a tree of at least two points.
    ///
    /// Returns an error for 2^31 or more points, for edges that are not a tree, and if the device fails.
    pub fn new<R: Runtime>(
        client: &ComputeClient<R>,
        n_points: usize,
        low: &Buffer<u32>,
        high: &Buffer<u32>,
    ) -> Result<Self> {
        let (max, m, dim) = (i32::MAX as usize, low.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
        if n_points > max {
            return Err(Error::too_many_points(n_points, max));
        }
        let (parent_vertex, ends) = (Buffer::<u32>::new(client, 2 * n_points), Buffer::<u32>::new(client, 2 * m));
        let least_edge = Buffer::<u32>::filled(client, 2 * n_points, NONE);
        pair_ends::launch::<R>(client, blocks_for(m), dim, low.arg(), high.arg(), ends.arg(), m as u32);
        let mut contraction = Self { bases: vec![0, n_points], parent_vertex, least_edge, child_vertices: ends };
        let (mut edges, mut count) = (Buffer::iota(client, m), n_points);
        while count > 1 {
            let left = contraction.contract(client, &mut edges)?;
            if left == 0 || left >= count {
                return Err(Error::invariant("a vertex of a spanning tree has no edge"));
            }
            count = left;
        }
        Ok(contraction)
    }

    /// Contracts the last level along `edges`, and replaces these by the edges of the next level. Returns the number
    /// of its vertices.
    fn contract<R: Runtime>(&mut self, client: &ComputeClient<R>, edges: &mut Buffer<u32>) -> Result<usize> {
        // `ends` holds the current vertices of an edge until the edge is the least edge of at least one of them.
        let Self { bases, parent_vertex, least_edge, child_vertices: ends } = self;
        let (&[base, behind], m, dim) =
            (bases.last_chunk().unwrap_or(&[0, 0]), edges.len(), CubeDim::new_1d(THREADS_PER_BLOCK));
        let count = behind - base;
        let [first, len] = [base, count].map(|number| number as u32);
        find_least_edges::launch::<R>(client, blocks_for(m), dim, edges.arg(), ends.arg(), least_edge.arg(), m as u32);
        let next = Buffer::<u32>::new(client, count);
        vertex_across::launch::<R>(
            client,
            blocks_for(count),
            dim,
            least_edge.arg(),
            ends.arg(),
            next.arg(),
            first,
            len,
        );
        let Joined { roots, root } = join_least(client, &next)?;
        let ranks = roots.ranks.arg();
        lift::launch::<R>(
            client,
            blocks_for(count),
            dim,
            root.arg(),
            ranks,
            parent_vertex.arg(),
            first,
            len,
            behind as u32,
        );
        bases.push(behind + roots.len);
        // Each vertex that is not a root has used up an edge.
        let left = m.saturating_sub(count - roots.len);
        let flags = Buffer::<u32>::new(client, m + 1);
        flag_remaining::launch::<R>(
            client,
            blocks_for(m + 1),
            dim,
            edges.arg(),
            ends.arg(),
            least_edge.arg(),
            flags.arg(),
            m as u32,
        );
        let kept = Compact::with_known_len(client, flags, left);
        let to = Buffer::<u32>::new(client, left);
        let input = LevelEdgesLaunch::new(edges.arg(), parent_vertex.arg());
        kept.emit::<R, KeepEdge>(client, input, NextLevelLaunch::new(to.arg(), ends.arg()));
        *edges = to;
        Ok(roots.len)
    }
}

#[cube(launch)]
fn pair_ends(low: &Array<u32>, high: &Array<u32>, ends: &mut Array<u32>, m: u32) {
    let edge = ABSOLUTE_POS;
    if (edge as u32) < m {
        ends[2 * edge] = low[edge];
        ends[2 * edge + 1] = high[edge];
    }
}

/// Lowers the least edge of both ends of each remaining edge.
#[cube(launch)]
fn find_least_edges(edges: &Array<u32>, ends: &Array<u32>, least_edge: &mut Array<Atomic<u32>>, m: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < m {
        let edge = edges[i];
        lower(least_edge, ends[2 * edge as usize], edge);
        lower(least_edge, ends[2 * edge as usize + 1], edge);
    }
}

/// Finds the vertex across the least edge of each vertex of a level, both relative to the first vertex of the level.
#[cube(launch)]
fn vertex_across(least_edge: &Array<u32>, ends: &Array<u32>, next: &mut Array<u32>, first: u32, count: u32) {
    let own = ABSOLUTE_POS;
    if (own as u32) < count {
        let vertex = own as u32 + first;
        let edge = least_edge[vertex as usize];
        let mut across = own as u32 + 0;
        if edge != NONE {
            let (a, b) = (ends[2 * edge as usize], ends[2 * edge as usize + 1]);
            across = select(a == vertex, b, a) - first;
        }
        next[own] = across;
    }
}

/// Finds the vertex of the next level for each vertex; `behind` is the first vertex of the next level.
#[cube(launch)]
fn lift(root: &Array<u32>, ranks: &Array<u32>, parent_vertex: &mut Array<u32>, first: u32, count: u32, behind: u32) {
    let own = ABSOLUTE_POS;
    if (own as u32) < count {
        parent_vertex[own + first as usize] = behind + ranks[root[own] as usize];
    }
}

/// Flags the edges that are not the least edge of either end, followed by a 0. Of the other edges, the ends for which
/// they are not least become [`NONE`].
#[cube(launch)]
fn flag_remaining(edges: &Array<u32>, ends: &mut Array<u32>, least_edge: &Array<u32>, flags: &mut Array<u32>, m: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < m {
        let edge = edges[i];
        let first = 2 * edge as usize;
        let is_least_of_a = least_edge[ends[first] as usize] == edge;
        let is_least_of_b = least_edge[ends[first + 1] as usize] == edge;
        if is_least_of_a && !is_least_of_b {
            ends[first + 1] = NONE;
        }
        if is_least_of_b && !is_least_of_a {
            ends[first] = NONE;
        }
        flags[i] = u32::cast_from(!is_least_of_a && !is_least_of_b);
    } else if i as u32 == m {
        flags[i] = 0;
    }
}

/// The edges and vertices of a level.
#[derive(CubeType, CubeLaunch)]
struct LevelEdges {
    edges: Array<u32>,
    parent_vertex: Array<u32>,
}

/// The edges of the next level, and the ends of all edges.
#[derive(CubeType, CubeLaunch)]
struct NextLevel {
    edges: Array<u32>,
    ends: Array<u32>,
}

/// Lists an edge for the next level, between the vertices there.
struct KeepEdge;

#[cube]
impl Emit for KeepEdge {
    type Input = LevelEdges;
    type Output = NextLevel;

    fn emit(input: &Self::Input, output: &mut Self::Output, item: u32, rank: u32) {
        let edge = input.edges[item as usize];
        output.edges[rank as usize] = edge;
        let (a, b) = (output.ends[2 * edge as usize], output.ends[2 * edge as usize + 1]);
        output.ends[2 * edge as usize] = input.parent_vertex[a as usize];
        output.ends[2 * edge as usize + 1] = input.parent_vertex[b as usize];
    }
}

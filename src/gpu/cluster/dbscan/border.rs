//! The clusters of border points: the GPU version of `cluster::dbscan::border`.
//!
//! In: core points and the cluster number of each. Out: for each other point the lowest number among its core
//! neighbours. If neighbours were listed while core points were found, the lists are searched; otherwise the tree is
//! traversed again. Cost: one pass over the lists; or a traversal for each possible border point, and 16 bytes for
//! each of them in three dimensions of `f32`.

use std::marker::PhantomData;

use cubecl::prelude::*;

use crate::error::Result;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::spec::TraversalMode;
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::cluster::dbscan::core::Lists;
use crate::gpu::cluster::labels::NO_CLUSTER;
use crate::gpu::primitives::compact::{Compact, Emit};

/// Gives each border point the lowest number among its listed core neighbours.
pub(super) fn label_listed<R: Runtime>(
    client: &ComputeClient<R>,
    near: &Lists,
    core: &Buffer<u32>,
    numbers: &Buffer<u32>,
) {
    let n = core.len();
    look_through::launch::<R>(
        client,
        blocks_for(n),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        near.positions.arg(),
        core.arg(),
        numbers.arg(),
        n as u32,
        near.width,
    );
}

#[cube(launch)]
fn look_through(near: &Array<u32>, core: &Array<u32>, numbers: &mut Array<u32>, n: u32, width: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        if core[i] == 0 {
            let mut lowest = NO_CLUSTER.runtime();
            let mut place = 0u32.runtime();
            while place < width {
                let other = near[place as usize * n as usize + i];
                if other == u32::MAX {
                    place = width + 0;
                } else {
                    if core[other as usize] != 0 {
                        lowest = min(lowest, numbers[other as usize]);
                    }
                    place += 1;
                }
            }
            numbers[i] = lowest;
        }
    }
}

/// The input of [`label_border`].
pub(super) struct BorderInput<'a> {
    /// A flag for each possible border point, followed by a 0.
    pub candidates: Buffer<u32>,
    pub core: &'a Buffer<u32>,
    pub node_states: &'a Buffer<u32>,
}

/// Gives each border point the lowest number among its core neighbours. The candidates are compacted first, so that
/// warps are full.
pub(super) fn label_border<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    eps: f64,
    input: BorderInput<'_>,
    numbers: &Buffer<u32>,
) -> Result<()> {
    let BorderInput { candidates, core, node_states } = input;
    let candidates = Compact::new(client, candidates)?;
    let n = candidates.len;
    let (positions, axes) = (Buffer::<u32>::new(client, n), Buffer::<S>::new(client, n * D));
    let from = AxesLaunch::new(bvh.axes.arg(), bvh.len() as u32, n as u32, D);
    let to = CandidatesLaunch::new(positions.arg(), axes.arg());
    candidates.emit::<R, EmitCandidate<S>>(client, from, to);
    let asked = bvh.balls_about(client, &axes, n, eps);
    let input = || CoreLaunch::new(positions.arg(), core.arg(), node_states.arg());
    bvh.walk_queries::<R, Border>(client, nodes, &asked, TraversalMode::EachUniform, input, || numbers.arg());
    Ok(())
}

/// Coordinates of `n` points, axis by axis, of which `kept` are emitted.
#[derive(CubeType, CubeLaunch)]
struct Axes<F: Float> {
    axes: Array<F>,
    n: u32,
    kept: u32,
    #[cube(comptime)]
    d: usize,
}

/// The positions and coordinates of the possible border points.
#[derive(CubeType, CubeLaunch)]
struct Candidates<F: Float> {
    positions: Array<u32>,
    axes: Array<F>,
}

/// Emits a point's position and its coordinates.
struct EmitCandidate<F>(PhantomData<F>);

#[cube]
impl<F: Float> Emit for EmitCandidate<F> {
    type Input = Axes<F>;
    type Output = Candidates<F>;

    fn emit(from: &Self::Input, to: &mut Self::Output, item: u32, rank: u32) {
        to.positions[rank as usize] = item;
        #[unroll]
        for k in 0..comptime!(from.d) {
            to.axes[k * from.kept as usize + rank as usize] = from.axes[k * from.n as usize + item as usize];
        }
    }
}

/// The core points, and the corresponding state of each node.
#[derive(CubeType, CubeLaunch)]
struct Core {
    /// The positions of the possible border points, which are the queries.
    candidates: Array<u32>,
    marks: Array<u32>,
    node_states: Array<u32>,
}

/// Finds the lowest number among the core neighbours of a point that is not core.
struct Border;

#[cube]
impl LeafVisitor for Border {
    type Input = Core;
    type Output = Array<u32>;
    type State = RuntimeCell<u32>;

    fn start(_core: &Self::Input, _numbers: &mut Self::Output, _query: u32) -> Self::State {
        RuntimeCell::<u32>::new(NO_CLUSTER)
    }

    fn node_state(core: &Self::Input, node: u32) -> u32 {
        core.node_states[node as usize]
    }

    fn should_enter(state: &Self::State, _core: &Self::Input, numbers: &mut Self::Output, first: u32) -> bool {
        numbers[first as usize] < state.read()
    }

    fn on_hit(state: &Self::State, core: &Self::Input, numbers: &mut Self::Output, position: u32) -> bool {
        let is_core = core.marks[position as usize] != 0;
        if is_core {
            state.store(min(state.read(), numbers[position as usize]));
        }
        is_core
    }

    fn finish(state: &Self::State, core: &Self::Input, numbers: &mut Self::Output, query: u32) {
        let position = core.candidates[query as usize] as usize;
        numbers[position] = state.read();
    }
}

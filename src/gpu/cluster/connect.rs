//! Union of all pairs within a radius: the GPU version of `cluster::connect`.
//!
//! In: a tree, a radius, and the participating points. Out: a union-find forest over tree order.
//!
//! Each thread takes a point and traverses the points behind it, so each pair is visited once. A node is *uniform* if
//! its diagonal is at most the radius and all of its points participate. These points are united before the traversal.
//! One hit among them is then as good as all, and a point that is already united with them skips the node.
//!
//! Roots are hooked by an atomic minimum, except on Vulkan: one of its drivers (Mesa 22.3 on the CPU) runs a loop that
//! contains atomics exactly twice. There, plain stores hook the roots. One of two simultaneous stores may be lost, so
//! the traversal is repeated until nothing changes; each repetition leaves fewer roots.
//!
//! Cost: 4 bytes per point and 4 per node. Source: Prokopenko et al. 2023 (FDBSCAN: tree and union-find). Dijkstra
//! 1976 (Rem's algorithm). Jaiganesh and Burtscher 2018 (path halving).

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::FilteredRadius;
use crate::gpu::buffer::{Buffer, THREADS_PER_BLOCK, blocks_for};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::spec::{EMPTY, MIXED, TraversalMode, UNIFORM};
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::device::is_cuda;
use crate::gpu::primitives::warp::{Warp, warp_max, warp_min};

/// The result of a search for a common tree of two points: not known yet, different trees, same tree.
const OPEN: u32 = 0;
const APART: u32 = 1;
const TOGETHER: u32 = 2;

/// No position.
const NONE: u32 = u32::MAX;

/// The points that participate.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) enum Participants<'a> {
    All,
    /// A 1 for each participant in tree order; and the number of participants before each position, followed by their
    /// total.
    Marked(&'a Buffer<u32>, &'a Buffer<u32>),
}

/// A forest over tree order.
pub(in crate::gpu) struct Forest {
    /// The root of a tree is its smallest position.
    pub parents: Buffer<u32>,
    /// The state of each node: [`EMPTY`] without participants, [`UNIFORM`] if its points are united, otherwise
    /// [`MIXED`].
    pub node_states: Buffer<u32>,
}

/// Unites all pairs of participants within `radius`. Uniform nodes are used only if `dense`.
pub(in crate::gpu) fn connect<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    radius: f64,
    participants: Participants<'_>,
    dense: bool,
) -> Result<Forest> {
    let (n, end) = (bvh.len(), nodes.end());
    let filter = FilteredRadius::<S, D>::new(radius, &bvh.space);
    let (parents, node_states) = (Buffer::<u32>::new(client, n), Buffer::<u32>::new(client, end));
    // If all points participate, the marks are not read.
    let (marks, before, marked) = match participants {
        Participants::All => (&bvh.order, &bvh.order, false),
        Participants::Marked(marks, before) => (marks, before, true),
    };
    unite_nodes::launch::<S, R>(
        client,
        blocks_for(end),
        CubeDim::new_1d(THREADS_PER_BLOCK),
        nodes.bounds.arg(),
        nodes.links.arg(),
        before.arg(),
        Buffer::from_slice(client, &[if dense { filter.certain_limit } else { S::from_f64(-1.0) }]).arg(),
        parents.arg(),
        node_states.arg(),
        end as u32,
        D,
        marked,
    );
    until_united(client, &parents, |output| {
        let input = || InputLaunch::new(marks.arg(), node_states.arg(), 0, marked);
        bvh.walk::<R, Unite>(client, nodes, radius, TraversalMode::HalfUniform, input, output);
    })?;
    Ok(Forest { parents, node_states })
}

/// Unites additional points with the stored points within `radius`. All stored points must participate and be united
/// already. `axes` holds the coordinates of the additional points, axis by axis; in the forest they follow the stored
/// points. Pairs of additional points are not tested.
#[cfg(feature = "distributed")]
pub(in crate::gpu) fn connect_others<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    radius: f64,
    forest: &Forest,
    axes: &Buffer<S>,
) -> Result<Forest> {
    let (n, others) = (bvh.len(), axes.len() / D);
    let (parents, dim) = (Buffer::<u32>::new(client, n + others), CubeDim::new_1d(THREADS_PER_BLOCK));
    let all = (n + others) as u32;
    add_roots::launch::<R>(client, blocks_for(n + others), dim, forest.parents.arg(), parents.arg(), n as u32, all);
    let node_states = &forest.node_states;
    until_united(client, &parents, |output| {
        let input = || InputLaunch::new(bvh.order.arg(), node_states.arg(), n as u32, false);
        let asked = bvh.balls_about(client, axes, others, radius);
        bvh.walk_queries::<R, Unite>(client, nodes, &asked, TraversalMode::EachUniform, input, output);
    })?;
    Ok(Forest { parents, node_states: node_states.clone() })
}

/// Traverses once if hooks are atomic, otherwise until a traversal hooks nothing.
fn until_united<R: Runtime>(
    client: &ComputeClient<R>,
    parents: &Buffer<u32>,
    walk: impl Fn(&dyn Fn() -> ForestArgLaunch<R>),
) -> Result<()> {
    let atomic = is_cuda(client);
    loop {
        let changed = Buffer::<u32>::from_slice(client, &[0]);
        walk(&|| ForestArgLaunch::new(parents.arg(), parents.arg(), changed.arg(), atomic));
        if atomic || changed.read(client)?[0] == 0 {
            return Ok(());
        }
    }
}

/// Copies a forest and appends roots.
#[cfg(feature = "distributed")]
#[cube(launch)]
fn add_roots(from: &Array<u32>, to: &mut Array<u32>, n: u32, all: u32) {
    let at = ABSOLUTE_POS as u32;
    if at < all {
        let mut parent = at + 0;
        if at < n {
            parent = from[at as usize];
        }
        to[at as usize] = parent;
    }
}

/// Returns `true` if all points of a node are certainly within the radius of each other, as copies of one point always
/// are.
#[cube]
pub(in crate::gpu) fn is_clique<F: Float>(bounds: &Array<F>, node: u32, sure: F, #[comptime] d: usize) -> bool {
    let mut diagonal2 = F::new(0.0);
    let mut is_point = true.runtime();
    #[unroll]
    for k in 0..d {
        let lo = bounds[node as usize * 2 * d + k];
        let hi = bounds[node as usize * 2 * d + d + k];
        diagonal2 += (hi - lo) * (hi - lo);
        is_point = is_point && lo == hi;
    }
    is_point || diagonal2 <= sure
}

/// Writes the state of each node, and the parents that follow from it. Each split between two points belongs to one
/// inner node or lies in a leaf, so every parent is written once.
#[cube(launch)]
fn unite_nodes<F: Float>(
    bounds: &Array<F>,
    links: &Array<u32>,
    before: &Array<u32>,
    sure: &Array<F>,
    parents: &mut Array<u32>,
    node_states: &mut Array<u32>,
    end: u32,
    #[comptime] d: usize,
    #[comptime] marked: bool,
) {
    let at = ABSOLUTE_POS as u32;
    if at < end {
        let rope = links[2 * at as usize];
        let first = links[2 * at as usize + 1];
        let behind = links[2 * rope as usize + 1];
        let mut all = behind - first;
        if comptime!(marked) {
            all = before[behind as usize] - before[first as usize];
        }
        let mut state = MIXED.runtime();
        if all == 0 {
            state = EMPTY.runtime();
        }
        if is_clique::<F>(bounds, at, sure[0], d) {
            if all == behind - first {
                state = UNIFORM.runtime();
            }
        }
        node_states[at as usize] = state;

        if rope == at + 1 {
            for point in first + 1..behind {
                let mut parent = point + 0;
                if state == UNIFORM {
                    parent = first;
                }
                parents[point as usize] = parent;
            }
        } else {
            let right = links[2 * links[2 * (at + 1) as usize] as usize + 1];
            let mut parent = right + 0;
            if state == UNIFORM {
                parent = first;
            }
            parents[right as usize] = parent;
        }
        if at == 0 {
            parents[0] = 0;
        }
    }
}

/// The participating points.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct Input {
    marks: Array<u32>,
    node_states: Array<u32>,
    /// The position of the first query in the forest.
    first: u32,
    /// `true` if `marks` are read.
    #[cube(comptime)]
    marked: bool,
}

/// A forest. The parents are bound twice, for plain accesses and for atomic hooks.
///
/// Plain reads may be stale, even if a compiler treats the two bindings as different memory. Stale reads are harmless,
/// because every value that a parent ever had is in its tree. It is smaller than the child, or is the child itself
/// while the child is a root. Therefore:
/// - A path upwards ends in its tree, whichever of these values it reads. A point that was read as a non-root never
///   becomes a root again.
/// - A plain store, by path halving, goes to a point that is not a root. It stores a former ancestor, so the point
///   stays in its tree.
/// - Only `fetch_min` hooks a root, and it returns the value that it replaced. If that value is the root itself, the
///   hook is valid: a later plain store there has read it. Otherwise the point was no longer a root, and the next
///   round unites its tree and the target, regardless of this store.
/// - In each round the larger of two points is replaced by a smaller one, so the loop ends.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct ForestArg {
    parents: Array<u32>,
    hooks: Array<Atomic<u32>>,
    /// 1 if a plain store has hooked a root.
    changed: Array<u32>,
    #[cube(comptime)]
    atomic: bool,
}

/// Rem's algorithm. If `unite`, unites two points and returns an ancestor of both; otherwise returns 1 if they are in
/// one tree, else 0. The point with the larger parent moves up one step at a time. A root is therefore hooked below a
/// smaller position of the other tree, which need not be that tree's root.
#[cube]
pub(in crate::gpu) fn rem_union(forest: &mut ForestArg, a: u32, b: u32, #[comptime] unite: bool) -> u32 {
    // The current positions. They are in arrays because an optimiser of cubecl fails on such loops over variables.
    let mut way = Array::<u32>::new(2usize);
    way[0] = a;
    way[1] = b;
    let mut answer = Array::<u32>::new(2usize);
    answer[0] = OPEN;
    while answer[0] == OPEN {
        let (one, other) = (way[0], way[1]);
        let (above_one, above_other) = (forest.parents[one as usize], forest.parents[other as usize]);
        let swap = above_one < above_other;
        let low = select(swap, other, one);
        let parent = max(above_one, above_other);
        let target = min(above_one, above_other);
        way[1] = select(swap, one, other);
        answer[1] = target;
        if parent == target {
            answer[0] = TOGETHER;
        } else if parent != low {
            // Moves up, halving the path.
            let next = forest.parents[parent as usize];
            if next != parent {
                forest.parents[low as usize] = next;
            }
            way[0] = parent;
        } else {
            answer[0] = APART;
            if comptime!(unite) {
                if comptime!(forest.atomic) {
                    let found = forest.hooks[low as usize].fetch_min(target);
                    if found != low {
                        // Another thread has hooked it first. The smaller parent stays, and both must be united.
                        answer[0] = OPEN;
                        way[0] = found;
                        way[1] = target;
                    }
                } else {
                    forest.parents[low as usize] = target;
                    forest.changed[0] = 1;
                }
            }
        }
    }
    let mut result = u32::cast_from(answer[0] == TOGETHER);
    if comptime!(unite) {
        result = answer[1];
    }
    result
}

/// Unites each participant with the participants within the radius.
struct Unite;

/// An ancestor of a query point, and its participation.
#[derive(CubeType)]
struct Uniting {
    ancestor: RuntimeCell<u32>,
    /// The parent that the ancestors of all participants of the group have, or [`NONE`].
    common: RuntimeCell<u32>,
    takes_part: bool,
}

#[cube]
impl LeafVisitor for Unite {
    type Input = Input;
    type Output = ForestArg;
    type State = Uniting;

    fn start(input: &Self::Input, _forest: &mut Self::Output, query: u32) -> Self::State {
        let mut takes_part = true.runtime();
        if comptime!(input.marked) {
            takes_part = input.marks[query as usize] != 0;
        }
        Uniting {
            ancestor: RuntimeCell::<u32>::new(query + input.first),
            common: RuntimeCell::<u32>::new(NONE),
            takes_part,
        }
    }

    fn is_open(state: &Self::State, _input: &Self::Input) -> bool {
        state.takes_part
    }

    fn skips(state: &Self::State, input: &Self::Input, forest: &mut Self::Output, position: u32) -> bool {
        let mut skips = forest.parents[position as usize] == state.common.read();
        if comptime!(input.marked) {
            skips = skips || input.marks[position as usize] == 0;
        }
        skips
    }

    fn after_points(
        state: &Self::State,
        _input: &Self::Input,
        forest: &mut Self::Output,
        is_query: bool,
        #[comptime] warp: Warp,
    ) {
        let parent = forest.parents[state.ancestor.read() as usize];
        let counts = is_query && state.takes_part;
        let least = warp_min::<u32>(select(counts, parent, NONE), warp);
        let most = warp_max::<u32>(select(counts, parent, 0u32), warp);
        state.common.store(select(least == most, least, NONE));
    }

    fn node_state(input: &Self::Input, node: u32) -> u32 {
        input.node_states[node as usize]
    }

    fn should_enter(state: &Self::State, _input: &Self::Input, forest: &mut Self::Output, first: u32) -> bool {
        rem_union(forest, state.ancestor.read(), first, false) == 0
    }

    fn on_hit(state: &Self::State, input: &Self::Input, forest: &mut Self::Output, position: u32) -> bool {
        let mut takes_part = true.runtime();
        if comptime!(input.marked) {
            takes_part = input.marks[position as usize] != 0;
        }
        if takes_part {
            state.ancestor.store(rem_union(forest, state.ancestor.read(), position, true));
        }
        takes_part
    }
}

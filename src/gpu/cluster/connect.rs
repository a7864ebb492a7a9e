//! Joining what is within a radius: the twin of `link`.
//!
//! In: a tree, a radius, and which points take part. Out: a union-find forest over tree order.
//! Each unit takes a point and walks to those behind it, so each pair is met once. A node with a diagonal of at most the radius
//! whose points all take part is *joined*: they are united before the walk, and in it one friend among them is as good as all; a
//! point that is already united with them skips them.
//! Parents are smaller than their children and in the same tree, also when they are stale: they are read from plain memory.
//! Roots are hooked by an atomic minimum; not so on Vulkan, where a loop with atomics in it runs twice and no more by one of the
//! drivers (Mesa 22.3, on the processor). There roots are hooked by plain stores. One of two that are hooked at once may get lost,
//! so this is repeated until all friends are found together: each time there are fewer roots.
//! Cost: 4 bytes a point and 4 a node. Source: Prokopenko et al. 2023 (FDBSCAN: tree and union-find); Dijkstra 1976 (Rem's
//! algorithm); Jaiganesh and Burtscher 2018 (halving the way).

use cubecl::prelude::*;

use crate::error::Result;
use crate::geometry::FilteredRadius;
use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::packet::Hits;
use crate::gpu::bvh::traverse::spec::{EMPTY, LeafVisitor, MIXED, TraversalMode, Tree, UNIFORM, WalkSpec};
use crate::gpu::bvh::{Bvh, Coordinate};
use crate::gpu::device::is_cuda;

/// Whether two points are in one tree.
const OPEN: u32 = 0;
const APART: u32 = 1;
const TOGETHER: u32 = 2;

/// The points that take part.
#[derive(Clone, Copy, Debug)]
pub(in crate::gpu) enum Members<'a> {
    All,
    /// 1 for those that do, in tree order; and how many come before each, with the number of all behind.
    Marked(&'a Buffer<u32>, &'a Buffer<u32>),
}

/// A forest over tree order.
pub(in crate::gpu) struct Forest {
    /// Roots are the smallest position of their tree.
    pub parents: Buffer<u32>,
    /// What of each node takes part: [`EMPTY`]; something, [`MIXED`]; or all of it, and that is joined, so [`UNIFORM`].
    pub kinds: Buffer<u32>,
}

/// Joins all pairs of members within `radius`; without looking for joined nodes unless `dense`.
pub(in crate::gpu) fn link<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    radius: f64,
    members: Members<'_>,
    dense: bool,
) -> Result<Forest> {
    let (n, end) = (bvh.len(), nodes.end());
    let reach = FilteredRadius::<S, D>::new(radius, &bvh.space);
    let (parents, kinds) = (Buffer::<u32>::new(client, n), Buffer::<u32>::new(client, end));
    // Where all take part, nobody looks who does.
    let (marks, before, marked) = match members {
        Members::All => (&bvh.order, &bvh.order, false),
        Members::Marked(marks, before) => (marks, before, true),
    };
    join_nodes::launch::<S, R>(
        client,
        cubes(end),
        CubeDim::new_1d(UNITS),
        nodes.bounds.arg(),
        nodes.links.arg(),
        before.arg(),
        Buffer::from_slice(client, &[if dense { reach.sure } else { S::from_f64(-1.0) }]).arg(),
        parents.arg(),
        kinds.arg(),
        end as u32,
        D,
        marked,
    );
    let atomic = is_cuda(client);
    loop {
        let changed = Buffer::<u32>::from_slice(client, &[0]);
        let input = PartLaunch::new(marks.arg(), kinds.arg(), marked);
        let output = TreesLaunch::new(parents.arg(), parents.arg(), changed.arg(), atomic);
        bvh.walk::<R, Unite>(client, nodes, radius, TraversalMode::HalfAlike, input, output);
        if atomic || changed.read(client)?[0] == 0 {
            break;
        }
    }
    Ok(Forest { parents, kinds })
}

/// Whether all points of a node are surely within the radius of each other; copies of one point always are.
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

/// What kind each node is, and the parents that follow from it: each gap between points belongs to one inner node or is inside
/// of a leaf, so every point is written once.
#[cube(launch)]
fn join_nodes<F: Float>(
    bounds: &Array<F>,
    links: &Array<u32>,
    before: &Array<u32>,
    sure: &Array<F>,
    parents: &mut Array<u32>,
    kinds: &mut Array<u32>,
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
        let mut kind = MIXED.runtime();
        if all == 0 {
            kind = EMPTY.runtime();
        }
        if is_clique::<F>(bounds, at, sure[0], d) {
            if all == behind - first {
                kind = UNIFORM.runtime();
            }
        }
        kinds[at as usize] = kind;

        if rope == at + 1 {
            for point in first + 1..behind {
                let mut parent = point + 0;
                if kind == UNIFORM {
                    parent = first;
                }
                parents[point as usize] = parent;
            }
        } else {
            let right = links[2 * links[2 * (at + 1) as usize] as usize + 1];
            let mut parent = right + 0;
            if kind == UNIFORM {
                parent = first;
            }
            parents[right as usize] = parent;
        }
        if at == 0 {
            parents[0] = 0;
        }
    }
}

/// Who takes part.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct Part {
    marks: Array<u32>,
    kinds: Array<u32>,
    /// Whether `marks` are to be looked at.
    #[cube(comptime)]
    marked: bool,
}

/// The same parents twice: for plain reads, and for hooking where that is atomic.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct Trees {
    parents: Array<u32>,
    hooks: Array<Atomic<u32>>,
    /// Not 0 if anything was hooked without atomics.
    changed: Array<u32>,
    #[cube(comptime)]
    atomic: bool,
}

/// Whether two points are in one tree, as 0 or 1; or makes it so, and returns what is above both. Of the two the one with the
/// larger parent climbs, so that a root is hung below a smaller position of the other tree, be that its root or not (Rem's
/// algorithm).
#[cube]
fn climb(trees: &mut Trees, a: u32, b: u32, #[comptime] unite: bool) -> u32 {
    // Where both are; in arrays, because an optimiser of cubecl's fails on such loops of variables.
    let mut way = Array::<u32>::new(2usize);
    way[0] = a;
    way[1] = b;
    let mut answer = Array::<u32>::new(2usize);
    answer[0] = OPEN;
    while answer[0] == OPEN {
        let (one, other) = (way[0], way[1]);
        let (above_one, above_other) = (trees.parents[one as usize], trees.parents[other as usize]);
        let swap = above_one < above_other;
        let low = select(swap, other, one);
        let parent = max(above_one, above_other);
        let target = min(above_one, above_other);
        way[1] = select(swap, one, other);
        answer[1] = target;
        if parent == target {
            answer[0] = TOGETHER;
        } else if parent != low {
            // Up, and the way is halved.
            let next = trees.parents[parent as usize];
            if next != parent {
                trees.parents[low as usize] = next;
            }
            way[0] = parent;
        } else {
            answer[0] = APART;
            if comptime!(unite) {
                if comptime!(trees.atomic) {
                    let found = trees.hooks[low as usize].fetch_min(target);
                    if found != low {
                        // Someone else has hung it up, and it stays with the smaller one.
                        answer[0] = OPEN;
                        way[0] = found;
                        way[1] = target;
                    }
                } else {
                    trees.parents[low as usize] = target;
                    trees.changed[0] = 1;
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

/// Unites a point with those that it meets.
struct Unite;

/// A point, and who is above it.
#[derive(CubeType)]
struct Uniting {
    above: RuntimeCell<u32>,
    is_member: bool,
}

#[cube]
impl LeafVisitor for Unite {
    type Input = Part;
    type Output = Trees;
    type State = Uniting;

    fn start(part: &Self::Input, _trees: &mut Self::Output, query: u32) -> Self::State {
        let mut is_member = true.runtime();
        if comptime!(part.marked) {
            is_member = part.marks[query as usize] != 0;
        }
        Uniting { above: RuntimeCell::<u32>::new(query), is_member }
    }

    fn is_open(state: &Self::State, _part: &Self::Input) -> bool {
        state.is_member
    }

    fn kind(part: &Self::Input, node: u32) -> u32 {
        part.kinds[node as usize]
    }

    fn should_enter(state: &Self::State, _part: &Self::Input, trees: &mut Self::Output, first: u32) -> bool {
        climb(trees, state.above.read(), first, false) == 0
    }

    fn meet<F: Float>(
        state: &Self::State,
        part: &Self::Input,
        trees: &mut Self::Output,
        _tree: &Tree<F>,
        _point: &Array<F>,
        hits: &Hits,
        #[comptime] _shape: WalkSpec,
    ) {
        let mut left = Array::<u32>::new(1usize);
        left[0] = hits.bits;
        while left[0] != 0 {
            let bit = left[0].find_first_set() - 1;
            let position = hits.position(bit);
            left[0] = left[0] & (left[0] - 1);
            let mut is_member = true.runtime();
            if comptime!(part.marked) {
                is_member = part.marks[position as usize] != 0;
            }
            if is_member {
                state.above.store(climb(trees, state.above.read(), position, true));
                left[0] = hits.after(left[0], bit);
            }
        }
    }

    fn on_subtree(_state: &Self::State, _points: u32) {}

    fn finish(_state: &Self::State, _part: &Self::Input, _trees: &mut Self::Output, _query: u32) {}
}

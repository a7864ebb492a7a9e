//! DBSCAN: the twin of `cluster::dbscan`.
//!
//! In: points, a radius `eps` and a least number `min_pts`. Out: [`Labels`], equal to the CPU's and scikit-learn's.
//! Three steps: find the core points, unite those within `eps` of each other (`connect`), and give each border point its cluster. No
//! neighbour is ever stored.
//! Cost: as [`DbscanAlgorithm`]'s; beside the tree 32 bytes a point, and 16 for one of three `f32` that may be on a border.
//! Source: Ester et al. 1996 (the definition); Prokopenko et al. 2023.

mod predict;
mod weights;

use std::marker::PhantomData;

use cubecl::prelude::*;

use crate::cluster::dbscan::{DbscanAlgorithm, check_weights};
use crate::error::{Kind, Result};
use crate::geometry::{FilteredRadius, Space};
use crate::gpu::buffer::{Buffer, UNITS, cubes, mark};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::hits::Hits;
use crate::gpu::bvh::traverse::spec::{TraversalMode, Tree, WalkSpec};
use crate::gpu::bvh::traverse::visitor::LeafVisitor;
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::cluster::connect::{Participants, connect, is_clique};
use crate::gpu::cluster::labels::{Labels, Membership, NO_CLUSTER, label, relabel};
use crate::gpu::device::on;
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::compact::{Compact, Emit};
use crate::gpu::primitives::scan::exclusive;

/// The mark of a point without neighbours; that of a core point is 1.
const ALONE: u32 = 2;

/// The clusters of points on a device: [`crate::cluster::dbscan()`], label for label.
///
/// Errors: `eps` NaN, negative or infinite, or more than half of a periodic box; `min_pts` 0; if the device fails.
///
/// ```no_run
/// use ropewalk::gpu::{Device, Points, dbscan};
///
/// let points = Points::new(&[[0.0f32, 0.0], [0.1, 0.0], [0.0, 0.1], [5.0, 5.0]], Device::first()?)?;
/// assert_eq!(dbscan(&points, 0.2, 3)?.read()?.as_slice(), [0, 0, 0, -1]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn dbscan<S: Coordinate, const D: usize>(
    points: &Points<S, D>,
    eps: impl Into<f64>,
    min_pts: usize,
) -> Result<Labels> {
    Dbscan::new(eps, min_pts).run(points)
}

/// DBSCAN with options, then [`Dbscan::run`]: the twin of [`crate::Dbscan`]. Points are in a periodic box if they were uploaded so.
///
/// ```no_run
/// use ropewalk::DbscanAlgorithm;
/// use ropewalk::gpu::{Dbscan, Device, Points};
///
/// let points = Points::new_periodic(&[[0.0f64, 0.0], [1.0, 0.0], [2.0, 0.0], [9.5, 0.0]], 10.0, Device::first()?)?;
/// let labels = Dbscan::new(1.0, 3).algorithm(DbscanAlgorithm::Fdbscan).run(&points)?.read()?;
/// assert_eq!(labels.as_slice(), [0, 0, 0, 0]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dbscan {
    eps: f64,
    min_pts: usize,
    algorithm: DbscanAlgorithm,
    star: bool,
    weights: Option<Vec<f64>>,
}

impl Dbscan {
    /// Neighbours are at most `eps` apart; a core point has at least `min_pts` of them, itself included.
    pub fn new(eps: impl Into<f64>, min_pts: usize) -> Self {
        Self { eps: eps.into(), min_pts, algorithm: DbscanAlgorithm::Auto, star: false, weights: None }
    }

    /// How to find the clusters. All give the same labels.
    #[must_use]
    pub fn algorithm(mut self, algorithm: DbscanAlgorithm) -> Self {
        self.algorithm = algorithm;
        self
    }

    /// DBSCAN* (Campello et al. 2013): border points are noise.
    #[must_use]
    pub fn star(mut self, star: bool) -> Self {
        self.star = star;
        self
    }

    /// A weight per point in the caller's order, finite and not negative: a point is core if the weights within `eps`, its own included,
    /// reach `min_pts`. The same points are core as on the CPU, by sums that are rounded as there: see [`crate::Dbscan::weights`].
    ///
    /// Memory: while it runs, 28 bytes a point and 8 a node.
    ///
    /// ```no_run
    /// use ropewalk::gpu::{Dbscan, Device, Points};
    ///
    /// let points = Points::new(&[[0.0f32, 0.0], [0.1, 0.0], [5.0, 5.0]], Device::first()?)?;
    /// let labels = Dbscan::new(0.2, 3).weights([2.5, 0.5, 2.9]).run(&points)?.read()?;
    /// assert_eq!(labels.as_slice(), [0, 0, -1]);
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    #[must_use]
    pub fn weights(mut self, weights: impl Into<Vec<f64>>) -> Self {
        self.weights = Some(weights.into());
        self
    }

    fn check_options<const D: usize>(&self, space: &Space<D>) -> Result<()> {
        space.check_length("eps", self.eps)?;
        if self.min_pts == 0 {
            return Err(Kind::Parameter { name: "min_pts", value: 0.0, must: "at least 1" }.into());
        }
        Ok(())
    }

    /// Finds the clusters of `points`.
    ///
    /// Exact, and the same in every run.
    ///
    /// Errors: `eps` NaN, negative or infinite, or more than half of a periodic box; `min_pts` 0; weights that are not one per point,
    /// finite and not negative; if the device fails.
    pub fn run<S: Coordinate, const D: usize>(&self, points: &Points<S, D>) -> Result<Labels> {
        self.run_on(&Bvh::of(points)?)
    }

    /// Finds the clusters in a tree that is already built.
    ///
    /// Errors: as [`Dbscan::run`].
    pub fn run_on<S: Coordinate, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<Labels> {
        self.check_options(&bvh.space)?;
        if let Some(weights) = &self.weights {
            check_weights(weights, bvh.len())?;
        }
        let dense = self.algorithm != DbscanAlgorithm::Fdbscan;
        // With `min_pts` 2 a point with a neighbour is core: nothing to count.
        let tells_border = self.min_pts > 2 || self.weights.is_some();
        on!(bvh.device, client => {
            let Some(nodes) = &bvh.nodes else {
                let labels = Buffer::new(client, 0);
                return Ok(Labels { device: bvh.device, labels, n_clusters: 0, tells_border });
            };
            if !tells_border {
                let forest = connect(client, bvh, nodes, self.eps, Participants::All, dense)?;
                mark(client, "walk, union")?;
                let membership = if self.min_pts == 1 { Membership::All } else { Membership::Together };
                let (numbers, n_clusters) = relabel(client, &forest, &bvh.order, membership)?;
                let labels = label(client, &numbers, &bvh.order, None);
                mark(client, "labels")?;
                return Ok(Labels { device: bvh.device, labels, n_clusters, tells_border: false });
            }
            let core = match &self.weights {
                Some(weights) => weights::find_core(client, bvh, nodes, self.eps, (weights, self.min_pts), dense)?,
                None => find_core(client, bvh, nodes, self.eps, self.min_pts, dense),
            };
            let (before, candidates) = split_core_marks(client, &core);
            mark(client, "core")?;
            let forest = connect(client, bvh, nodes, self.eps, Participants::Marked(&core, &before), dense)?;
            mark(client, "walk, union")?;
            let (numbers, n_clusters) = relabel(client, &forest, &bvh.order, Membership::Marked(&core))?;
            if !self.star {
                let input = BorderInput { candidates, core: &core, node_states: &forest.node_states };
                label_border(client, bvh, nodes, self.eps, input, &numbers)?;
            }
            let labels = label(client, &numbers, &bvh.order, Some(&core));
            mark(client, "borders, labels")?;
            Ok(Labels { device: bvh.device, labels, n_clusters, tells_border: true })
        })
    }
}

/// Of each point in tree order: 1 if it is core, [`ALONE`] without neighbours, else 0.
fn find_core<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    eps: f64,
    min_pts: usize,
    dense: bool,
) -> Buffer<u32> {
    let (n, end) = (bvh.len(), nodes.end());
    // One more than all points is never reached.
    let enough = min_pts.min(n + 1) as u32;
    let filter = FilteredRadius::<S, D>::new(eps, &bvh.space);
    let core = Buffer::<u32>::filled(client, n, 0);
    mark_dense::launch::<S, R>(
        client,
        cubes(end),
        CubeDim::new_1d(UNITS),
        nodes.bounds.arg(),
        nodes.links.arg(),
        Buffer::from_slice(client, &[if dense { filter.sure } else { S::from_f64(-1.0) }]).arg(),
        core.arg(),
        end as u32,
        enough,
        D,
    );
    bvh.walk::<R, Enough>(client, nodes, eps, TraversalMode::WholeWarpFirst, LeastLaunch::new(enough), core.arg());
    core
}

/// What [`label_border`] reads.
struct BorderInput<'a> {
    /// A flag for each point that may be on a border, with a 0 behind.
    candidates: Buffer<u32>,
    core: &'a Buffer<u32>,
    node_states: &'a Buffer<u32>,
}

/// Gives each border point the lowest number among its core neighbours. The candidates are compacted first, so that warps are full.
fn label_border<R: Runtime, S: Coordinate, const D: usize>(
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
    let input = CoreLaunch::new(positions.arg(), core.arg(), node_states.arg());
    bvh.walk_queries::<R, Border>(client, nodes, asked, TraversalMode::EachUniform, input, numbers.arg());
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

/// The positions and coordinates of the points that may be on a border.
#[derive(CubeType, CubeLaunch)]
struct Candidates<F: Float> {
    positions: Array<u32>,
    axes: Array<F>,
}

/// Keeps a point's position and its coordinates.
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

/// Counts the core points before each point, with the number of all behind; and flags each point that may be on a border. Of the marks
/// those of core points are left.
fn split_core_marks<R: Runtime>(client: &ComputeClient<R>, core: &Buffer<u32>) -> (Buffer<u32>, Buffer<u32>) {
    let n = core.len();
    let (before, candidates) = (Buffer::<u32>::new(client, n + 1), Buffer::<u32>::new(client, n + 1));
    let dim = CubeDim::new_1d(UNITS);
    copy_marks::launch::<R>(client, cubes(n + 1), dim, core.arg(), before.arg(), candidates.arg(), n as u32);
    exclusive(client, &before);
    (before, candidates)
}

#[cube(launch)]
fn copy_marks(core: &mut Array<u32>, before: &mut Array<u32>, candidates: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let own = core[i];
        before[i] = own % ALONE;
        candidates[i] = u32::cast_from(own == 0);
        core[i] = own % ALONE;
    } else if (i as u32) == n {
        before[i] = 0;
        candidates[i] = 0;
    }
}

/// Marks the points of nodes that are cliques of enough points, once: where no child has enough.
#[cube(launch)]
fn mark_dense<F: Float>(
    bounds: &Array<F>,
    links: &Array<u32>,
    sure: &Array<F>,
    core: &mut Array<u32>,
    end: u32,
    enough: u32,
    #[comptime] d: usize,
) {
    let at = ABSOLUTE_POS as u32;
    if at < end {
        let rope = links[2 * at as usize];
        let first = links[2 * at as usize + 1];
        let behind = links[2 * rope as usize + 1];
        let mut is_dense = behind - first >= enough;
        if is_dense {
            is_dense = is_clique::<F>(bounds, at, sure[0], d);
        }
        if is_dense {
            if rope != at + 1 {
                let right = links[2 * links[2 * (at + 1) as usize] as usize + 1];
                is_dense = right - first < enough && behind - right < enough;
            }
        }
        if is_dense {
            for point in first..behind {
                core[point as usize] = 1;
            }
        }
    }
}

/// How many neighbours make a core point.
#[derive(CubeType, CubeLaunch)]
struct Least {
    enough: u32,
}

/// Counts neighbours until there are enough.
struct Enough;

#[cube]
impl LeafVisitor for Enough {
    type Input = Least;
    type Output = Array<u32>;
    type State = RuntimeCell<u32>;

    fn start(least: &Self::Input, core: &mut Self::Output, query: u32) -> Self::State {
        // Points that are marked have enough.
        RuntimeCell::<u32>::new(core[query as usize] * least.enough)
    }

    fn is_open(state: &Self::State, least: &Self::Input) -> bool {
        state.read() < least.enough
    }

    fn on_hits<F: Float>(
        state: &Self::State,
        _least: &Self::Input,
        _core: &mut Self::Output,
        _tree: &Tree<F>,
        _point: &Array<F>,
        hits: &Hits,
        #[comptime] _spec: WalkSpec,
    ) {
        state.store(state.read() + hits.bits.count_ones());
    }

    fn on_subtree(state: &Self::State, _least: &Self::Input, _node: u32, points: u32) {
        state.store(state.read() + points);
    }

    fn finish(state: &Self::State, least: &Self::Input, core: &mut Self::Output, query: u32) {
        let found = state.read();
        // Where there are not enough, all have been counted.
        core[query as usize] = select(found >= least.enough, 1u32, select(found == 1, ALONE, 0u32));
    }
}

/// The core points, and the state of each node by them.
#[derive(CubeType, CubeLaunch)]
struct Core {
    /// The positions of the points that may be on a border, which are the queries.
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

    fn on_hits<F: Float>(
        state: &Self::State,
        core: &Self::Input,
        numbers: &mut Self::Output,
        _tree: &Tree<F>,
        _point: &Array<F>,
        hits: &Hits,
        #[comptime] _spec: WalkSpec,
    ) {
        let mut left = Bits::new(hits.bits);
        while left.any() {
            let bit = left.pop();
            let position = hits.position(bit) as usize;
            if core.marks[position] != 0 {
                state.store(min(state.read(), numbers[position]));
                left.set(hits.after(left.left(), bit));
            }
        }
    }

    fn finish(state: &Self::State, core: &Self::Input, numbers: &mut Self::Output, query: u32) {
        let position = core.candidates[query as usize] as usize;
        numbers[position] = state.read();
    }
}

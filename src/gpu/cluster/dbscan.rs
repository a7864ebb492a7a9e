//! DBSCAN: the twin of `dbscan`.
//!
//! In: points, a radius `eps` and a least number `min_pts`. Out: [`Labels`], equal to the CPU's and scikit-learn's.
//! Three steps: which points are core, which core points are linked (`link`), and which cluster each border point joins. No
//! neighbour is ever stored.
//! Cost: as [`DbscanAlgorithm`]'s; beside the tree 32 bytes a point, and 16 for one of three `f32` that may be on a border.
//! Source: Ester et al. 1996 (the definition); Prokopenko et al. 2023.

use cubecl::prelude::*;

use crate::cluster::dbscan::DbscanAlgorithm;
use crate::error::{Kind, Result};
use crate::geometry::FilteredRadius;
use crate::gpu::buffer::{Buffer, UNITS, cubes};
use crate::gpu::bvh::ropes::Nodes;
use crate::gpu::bvh::traverse::packet::Hits;
use crate::gpu::bvh::traverse::spec::{LeafVisitor, MIXED, TraversalMode, Tree, WalkSpec};
use crate::gpu::bvh::{Bvh, Coordinate, Points};
use crate::gpu::cluster::connect::{Members, is_clique, link};
use crate::gpu::cluster::labels::{Belongs, Labels, NOBODY, label, number};
use crate::gpu::device::on;
use crate::gpu::primitives::scan::{exclusive, last};

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

/// DBSCAN with options, then [`Dbscan::run`]: the twin of [`crate::Dbscan`], for points without weights. Points are in a periodic
/// box if they were uploaded so.
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
}

impl Dbscan {
    /// Neighbours are at most `eps` apart; a core point has at least `min_pts` of them, itself included.
    pub fn new(eps: impl Into<f64>, min_pts: usize) -> Self {
        Self { eps: eps.into(), min_pts, algorithm: DbscanAlgorithm::Auto, star: false }
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

    /// Finds the clusters of `points`.
    ///
    /// Exact, and the same in every run.
    ///
    /// Errors: `eps` NaN, negative or infinite, or more than half of a periodic box; `min_pts` 0; if the device fails.
    pub fn run<S: Coordinate, const D: usize>(&self, points: &Points<S, D>) -> Result<Labels> {
        self.run_on(&Bvh::of(points)?)
    }

    /// Finds the clusters in a tree that is already built.
    ///
    /// Errors: as [`Dbscan::run`].
    pub fn run_on<S: Coordinate, const D: usize>(&self, bvh: &Bvh<S, D>) -> Result<Labels> {
        bvh.space.check_length("eps", self.eps)?;
        if self.min_pts == 0 {
            return Err(Kind::Parameter { name: "min_pts", value: 0.0, must: "at least 1" }.into());
        }
        let dense = self.algorithm != DbscanAlgorithm::Fdbscan;
        on!(bvh.device, client => {
            let Some(nodes) = &bvh.nodes else {
                let labels = Buffer::new(client, 0);
                return Ok(Labels { device: bvh.device, labels, n_clusters: 0, tells_border: self.min_pts > 2 });
            };
            // A point and a friend are two: nothing to count.
            if self.min_pts <= 2 {
                let forest = link(client, bvh, nodes, self.eps, Members::All, dense)?;
                let belongs = if self.min_pts == 1 { Belongs::All } else { Belongs::Together };
                let (numbers, n_clusters) = number(client, &forest, &bvh.order, belongs)?;
                let labels = label(client, &numbers, &bvh.order, None);
                return Ok(Labels { device: bvh.device, labels, n_clusters, tells_border: false });
            }
            let core = find_core(client, bvh, nodes, self.eps, self.min_pts, dense);
            let (before, open) = split_core_marks(client, &core);
            let forest = link(client, bvh, nodes, self.eps, Members::Marked(&core, &before), dense)?;
            let (numbers, n_clusters) = number(client, &forest, &bvh.order, Belongs::Marked(&core))?;
            if !self.star {
                join_border(client, bvh, nodes, self.eps, &core, &open, &forest.kinds, &numbers)?;
            }
            let labels = label(client, &numbers, &bvh.order, Some(&core));
            Ok(Labels { device: bvh.device, labels, n_clusters, tells_border: true })
        })
    }
}

/// Of each point in tree order, whether it is core, or even [`ALONE`].
fn find_core<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    eps: f64,
    min_pts: usize,
    dense: bool,
) -> Buffer<u32> {
    let (n, end) = (bvh.len(), nodes.end());
    // More than there are is never reached.
    let enough = min_pts.min(n + 1) as u32;
    let reach = FilteredRadius::<S, D>::new(eps, &bvh.space);
    let core = Buffer::<u32>::filled(client, n, 0);
    mark_dense::launch::<S, R>(
        client,
        cubes(end),
        CubeDim::new_1d(UNITS),
        nodes.bounds.arg(),
        nodes.links.arg(),
        Buffer::from_slice(client, &[if dense { reach.sure } else { S::from_f64(-1.0) }]).arg(),
        core.arg(),
        end as u32,
        enough,
        D,
    );
    bvh.walk::<R, Enough>(client, nodes, eps, TraversalMode::WholeAround, LeastLaunch::new(enough), core.arg());
    core
}

/// Gives points that are not core the lowest number among their core neighbours. Those that are not alone, which are marked, are
/// taken by themselves, for few of the units of a plane would have one otherwise. The marks are used up.
#[allow(clippy::too_many_arguments)]
fn join_border<R: Runtime, S: Coordinate, const D: usize>(
    client: &ComputeClient<R>,
    bvh: &Bvh<S, D>,
    nodes: &Nodes<S>,
    eps: f64,
    core: &Buffer<u32>,
    open: &Buffer<u32>,
    kinds: &Buffer<u32>,
    numbers: &Buffer<u32>,
) -> Result<()> {
    exclusive(client, open);
    let (n, others) = (bvh.len(), last(client, open)?);
    let positions = Buffer::<u32>::new(client, others);
    let axes = Buffer::<S>::new(client, others * D);
    compact_border::launch::<S, R>(
        client,
        cubes(n),
        CubeDim::new_1d(UNITS),
        open.arg(),
        bvh.axes.arg(),
        positions.arg(),
        axes.arg(),
        n as u32,
        others as u32,
        D,
    );
    let queries = bvh.queries(client, &axes, eps);
    let input = CoreLaunch::new(positions.arg(), core.arg(), kinds.arg());
    let manner = (TraversalMode::EachAlike, false);
    bvh.walk_queries::<R, Border>(client, nodes, queries, others, manner, input, numbers.arg());
    Ok(())
}

/// How many core points come before each point, with the number of all behind; and 1 for each that may be on a border. Of the marks
/// those of core points are left.
fn split_core_marks<R: Runtime>(client: &ComputeClient<R>, core: &Buffer<u32>) -> (Buffer<u32>, Buffer<u32>) {
    let n = core.len();
    let (before, open) = (Buffer::<u32>::new(client, n + 1), Buffer::<u32>::new(client, n + 1));
    let dim = CubeDim::new_1d(UNITS);
    copy_marks::launch::<R>(client, cubes(n + 1), dim, core.arg(), before.arg(), open.arg(), n as u32);
    exclusive(client, &before);
    (before, open)
}

/// The positions and coordinates of points that may be on a border.
#[cube(launch)]
fn compact_border<F: Float>(
    open: &Array<u32>,
    axes: &Array<F>,
    positions: &mut Array<u32>,
    others: &mut Array<F>,
    n: u32,
    count: u32,
    #[comptime] d: usize,
) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let to = open[i] as usize;
        if open[i + 1] as usize > to {
            positions[to] = i as u32;
            #[unroll]
            for k in 0..d {
                others[k * count as usize + to] = axes[k * n as usize + i];
            }
        }
    }
}

#[cube(launch)]
fn copy_marks(core: &mut Array<u32>, before: &mut Array<u32>, open: &mut Array<u32>, n: u32) {
    let i = ABSOLUTE_POS;
    if (i as u32) < n {
        let own = core[i];
        before[i] = own % ALONE;
        open[i] = u32::cast_from(own == 0);
        core[i] = own % ALONE;
    } else if (i as u32) == n {
        before[i] = 0;
        open[i] = 0;
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

/// From how many points on they make a core point.
#[derive(CubeType, CubeLaunch)]
struct Least {
    enough: u32,
}

/// Counts until there are enough.
struct Enough;

#[cube]
impl LeafVisitor for Enough {
    type Input = Least;
    type Output = Array<u32>;
    type State = RuntimeCell<u32>;

    fn start(least: &Self::Input, core: &mut Self::Output, query: u32) -> Self::State {
        // Those that are marked have enough.
        RuntimeCell::<u32>::new(core[query as usize] * least.enough)
    }

    fn is_open(state: &Self::State, least: &Self::Input) -> bool {
        state.read() < least.enough
    }

    fn kind(_least: &Self::Input, _node: u32) -> u32 {
        MIXED.runtime()
    }

    fn should_enter(_state: &Self::State, _least: &Self::Input, _core: &mut Self::Output, _first: u32) -> bool {
        true.runtime()
    }

    fn meet<F: Float>(
        state: &Self::State,
        _least: &Self::Input,
        _core: &mut Self::Output,
        _tree: &Tree<F>,
        _point: &Array<F>,
        hits: &Hits,
        #[comptime] _shape: WalkSpec,
    ) {
        state.store(state.read() + hits.bits.count_ones());
    }

    fn on_subtree(state: &Self::State, points: u32) {
        state.store(state.read() + points);
    }

    fn finish(state: &Self::State, least: &Self::Input, core: &mut Self::Output, query: u32) {
        let found = state.read();
        // All have been counted where there are not enough.
        core[query as usize] = select(found >= least.enough, 1u32, select(found == 1, ALONE, 0u32));
    }
}

/// The core points, and what each node has of them.
#[derive(CubeType, CubeLaunch)]
struct Core {
    /// The points that may be on a border.
    others: Array<u32>,
    marks: Array<u32>,
    kinds: Array<u32>,
}

/// Finds the lowest number among the core neighbours of a point that is not core.
struct Border;

#[cube]
impl LeafVisitor for Border {
    type Input = Core;
    type Output = Array<u32>;
    type State = RuntimeCell<u32>;

    fn start(_core: &Self::Input, _numbers: &mut Self::Output, _query: u32) -> Self::State {
        RuntimeCell::<u32>::new(NOBODY)
    }

    fn is_open(_state: &Self::State, _core: &Self::Input) -> bool {
        true.runtime()
    }

    fn kind(core: &Self::Input, node: u32) -> u32 {
        core.kinds[node as usize]
    }

    fn should_enter(state: &Self::State, _core: &Self::Input, numbers: &mut Self::Output, first: u32) -> bool {
        numbers[first as usize] < state.read()
    }

    fn meet<F: Float>(
        state: &Self::State,
        core: &Self::Input,
        numbers: &mut Self::Output,
        _tree: &Tree<F>,
        _point: &Array<F>,
        hits: &Hits,
        #[comptime] _shape: WalkSpec,
    ) {
        let mut left = Array::<u32>::new(1usize);
        left[0] = hits.bits;
        while left[0] != 0 {
            let bit = left[0].find_first_set() - 1;
            let position = hits.position(bit) as usize;
            left[0] = left[0] & (left[0] - 1);
            if core.marks[position] != 0 {
                state.store(min(state.read(), numbers[position]));
                left[0] = hits.after(left[0], bit);
            }
        }
    }

    fn on_subtree(_state: &Self::State, _points: u32) {}

    fn finish(state: &Self::State, core: &Self::Input, numbers: &mut Self::Output, query: u32) {
        let position = core.others[query as usize] as usize;
        numbers[position] = state.read();
    }
}

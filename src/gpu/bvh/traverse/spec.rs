//! What a walk through a tree is given, and what it is for: a [`LeafVisitor`] makes counts, lists, unions or labels of what is found.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::packet::Hits;
use crate::gpu::metric::Vec2;
use crate::gpu::primitives::warp::Warp;

/// A tree's buffers.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct Tree<F: Float> {
    /// The lower corner, then the upper one, of each node.
    pub bounds: Vec2<F>,
    /// The rope, and the first point below, of each.
    pub links: Vec2<u32>,
    /// The leaf of every 32nd point.
    pub leaves: Array<u32>,
    /// The points in tree order, axis by axis.
    pub axes: Array<F>,
    /// The sides of the periodic box, in both precisions.
    pub sides: Array<F>,
    pub exact_sides: Array<f64>,
    /// How many points there are.
    pub stored: u32,
}

/// Where to look, and how far.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct Queries<F: Float> {
    /// Centres, axis by axis.
    pub axes: Array<F>,
    /// What is surely within, then what is maybe: once, or for each query.
    pub reach: Array<F>,
    /// The squared radius, which decides.
    pub radius2: Array<f64>,
}

/// How to walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) enum TraversalMode {
    /// To every point within the radius.
    Each,
    /// The same, but nodes that are surely within the radius are met as a whole.
    Whole,
    /// The same from stored points, which may meet those next to them in tree order first.
    WholeAround,
    /// From a stored point to those behind it in tree order.
    Half,
    /// As [`TraversalMode::Each`] and [`TraversalMode::Half`], among nodes that may be [`UNIFORM`].
    EachAlike,
    HalfAlike,
}

/// What is known when a kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) struct WalkSpec {
    pub d: usize,
    pub periodic: bool,
    /// Whether, and how, the units of a warp walk together.
    pub warp: Warp,
    /// Whether each query has a radius of its own.
    pub own_radii: bool,
    /// Whether a query is a stored point that meets only those behind it in tree order.
    pub half: bool,
    /// Whether nodes that are surely within the radius are met as a whole.
    pub whole: bool,
    /// Whether queries are stored points that meet those of their plane first.
    pub around: bool,
    /// Whether nodes may be [`UNIFORM`].
    pub alike: bool,
}

/// What a node is to a visitor: nothing to see; points to meet; points of which one is as good as all, so that queries are asked
/// whether they want any of them.
pub(in crate::gpu) const EMPTY: u32 = 0;
pub(in crate::gpu) const MIXED: u32 = 1;
pub(in crate::gpu) const UNIFORM: u32 = 2;

/// What a walk does with what it finds. A state is shared by its methods, so what changes in it is in cells.
#[cube]
pub(in crate::gpu) trait LeafVisitor: Send + Sync + 'static {
    /// What it reads, and what it writes.
    type Input: LaunchArg;
    type Output: LaunchArg;
    /// What it keeps for a query.
    type State: CubeType;

    fn start(input: &Self::Input, output: &mut Self::Output, query: u32) -> Self::State;
    /// Whether the query wants more.
    fn is_open(state: &Self::State, input: &Self::Input) -> bool;
    /// What a node is: [`EMPTY`], [`MIXED`] or [`UNIFORM`], and then all that is below is alike, too.
    fn kind(input: &Self::Input, node: u32) -> u32;
    /// Whether the query wants a point of a node near enough that are alike; `first` is the first of them.
    fn should_enter(state: &Self::State, input: &Self::Input, output: &mut Self::Output, first: u32) -> bool;
    /// Points within the radius, in the order of the tree.
    fn meet<F: Float>(
        state: &Self::State,
        input: &Self::Input,
        output: &mut Self::Output,
        tree: &Tree<F>,
        point: &Array<F>,
        hits: &Hits,
        #[comptime] shape: WalkSpec,
    );
    /// So many points within the radius at once.
    fn on_subtree(state: &Self::State, points: u32);
    fn finish(state: &Self::State, input: &Self::Input, output: &mut Self::Output, query: u32);
}

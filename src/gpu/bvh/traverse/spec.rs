//! The arguments and the compile-time options of a walk.

use std::any::TypeId;

use cubecl::prelude::*;

use crate::gpu::metric::Vec2;
use crate::gpu::primitives::warp::Warp;

/// A tree's buffers.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct Tree<F: Float> {
    /// The lower corner of each node, followed by the upper one.
    pub bounds: Vec2<F>,
    /// The rope of each node, and the first point below it.
    pub links: Vec2<u32>,
    /// The leaf of every 32nd point.
    pub leaf_of_point: Array<u32>,
    /// The points in tree order, axis by axis.
    pub axes: Array<F>,
    /// The sides of the periodic box, in both precisions.
    pub sides: Array<F>,
    pub exact_sides: Array<f64>,
    /// The number of points.
    pub stored: u32,
}

/// Spheres in which points are searched.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct Queries<F: Float> {
    /// Centres, axis by axis.
    pub axes: Array<F>,
    /// Squared radii, once or for each query: points up to the first are certainly within (or within an inner radius; see
    /// `LeafVisitor::HAS_INNER`), and points beyond the second are certainly not.
    pub filters: Array<F>,
    /// The exact squared radius, which decides between the two.
    pub radius2: Array<f64>,
}

/// The mode of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) enum TraversalMode {
    /// Visits each point within the radius.
    Each,
    /// Visits each point within the radius, but takes a node certainly within it as a whole.
    Whole,
    /// The mode [`TraversalMode::Whole`] for stored points, which visit the points of their own warp first.
    WholeWarpFirst,
    /// The mode [`TraversalMode::Each`] for stored points, which visit the points of their own warp first.
    EachWarpFirst,
    /// Visits, from each stored point, the points behind it in tree order.
    Half,
    /// The mode [`TraversalMode::Each`] among nodes that may be [`UNIFORM`].
    EachUniform,
    /// The mode [`TraversalMode::Half`] among nodes that may be [`UNIFORM`].
    HalfUniform,
    /// The mode [`TraversalMode::Each`] for nearest neighbours, whose radii may be much too large.
    Nearest,
}

/// The compile-time options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) struct WalkSpec {
    pub d: usize,
    pub periodic: bool,
    /// The way in which the threads of a warp walk together, if they do.
    pub warp: Warp,
    /// `true` if each query has its own radius.
    pub own_radii: bool,
    /// `true` if queries are stored points that visit only points behind them in tree order.
    pub half: bool,
    /// `true` if nodes certainly within the radius are taken as a whole.
    pub whole: bool,
    /// `true` if queries are stored points that visit the points of their warp first.
    pub warp_first: bool,
    /// `true` if nodes may be [`UNIFORM`].
    pub uniform: bool,
    /// `true` if only the queries of heavy groups walk.
    pub only_heavy: bool,
    /// The type of the visitor. Cached kernels are identified by type names, and two types may have the same name.
    pub visitor: TypeId,
}

/// State of a node that is skipped, because none of its points take part.
pub(in crate::gpu) const EMPTY: u32 = 0;
/// State of a node whose points are tested one by one.
pub(in crate::gpu) const MIXED: u32 = 1;
/// State of a node whose points all give the same answer, so that one hit is enough. A query may decline to enter it.
pub(in crate::gpu) const UNIFORM: u32 = 2;

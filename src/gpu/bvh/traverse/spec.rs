//! What a walk is given, and how it goes.

use std::any::TypeId;

use cubecl::prelude::*;

use crate::gpu::metric::Vec2;
use crate::gpu::primitives::warp::Warp;

/// A tree's buffers.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct Tree<F: Float> {
    /// The lower corner of each node, then the upper one.
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
    /// How many points there are.
    pub stored: u32,
}

/// Balls to look for points in.
#[derive(CubeType, CubeLaunch)]
pub(in crate::gpu) struct Queries<F: Float> {
    /// Centres, axis by axis.
    pub axes: Array<F>,
    /// Squared radii, once or for each query: points up to the first are surely within, points beyond the second surely not.
    pub filters: Array<F>,
    /// The exact squared radius, which decides between.
    pub radius2: Array<f64>,
}

/// How to walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gpu) enum TraversalMode {
    /// To each point within the radius.
    Each,
    /// The same, but a node that is surely within the radius is taken as a whole.
    Whole,
    /// The same from stored points, which meet those of their own warp first.
    WholeWarpFirst,
    /// As [`TraversalMode::Each`], from stored points, which meet those of their own warp first.
    EachWarpFirst,
    /// From each stored point to those behind it in tree order.
    Half,
    /// As [`TraversalMode::Each`], among nodes that may be [`UNIFORM`].
    EachUniform,
    /// As [`TraversalMode::Half`], among nodes that may be [`UNIFORM`].
    HalfUniform,
}

/// What is known when a kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::gpu) struct WalkSpec {
    pub d: usize,
    pub periodic: bool,
    /// How the units of a warp walk together, if they do.
    pub warp: Warp,
    /// Whether each query has a radius of its own.
    pub own_radii: bool,
    /// Whether a query is a stored point that meets only those behind it in tree order.
    pub half: bool,
    /// Whether nodes that are surely within the radius are taken as a whole.
    pub whole: bool,
    /// Whether queries are stored points that meet those of their warp first.
    pub warp_first: bool,
    /// Whether nodes may be [`UNIFORM`].
    pub uniform: bool,
    /// The type of the visitor: kernels that are kept between processes are known by names of types, and two types may have one name.
    pub visitor: TypeId,
}

/// State of a node: no points of it take part, and it is skipped.
pub(in crate::gpu) const EMPTY: u32 = 0;
/// State of a node: each of its points is tested.
pub(in crate::gpu) const MIXED: u32 = 1;
/// State of a node: its points have one answer, so one hit is as good as all, and a query may not want any.
pub(in crate::gpu) const UNIFORM: u32 = 2;

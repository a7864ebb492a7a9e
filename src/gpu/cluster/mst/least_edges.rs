//! Data on the least edges of points and of components.
//!
//! A weight is the square computed by `f64` arithmetic. Its bits ascend with it. They are compared as two words,
//! because not all devices have 64-bit atomics. Edges are compared by the upper word, then the lower word, the lower
//! index, and the higher index.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::metric::exact_distance2;
use crate::gpu::primitives::warp::Warp;

/// No position, no component, no bound.
pub(super) const NONE: u32 = u32::MAX;

/// Compile-time parameters of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct MstSpec {
    pub d: usize,
    pub periodic: bool,
    /// `true` if edges are weighted by mutual reachability.
    pub mutual: bool,
    /// The number of nearest neighbours listed for each point.
    pub listed: usize,
    /// `true` if the lists contain all other points.
    pub all_listed: bool,
    pub warp: Warp,
}

/// Data on points that the rounds do not change, in tree order.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Samples {
    /// The index of each position, and the position of each index.
    pub order: Array<u32>,
    pub position: Array<u32>,
    /// The positions of each point's nearest neighbours, nearest first, and the squared distance of the last of them.
    pub listed: Array<u32>,
    pub last2: Array<f64>,
    /// Squared core distances times the square of alpha, for mutual reachability.
    pub core2: Array<f64>,
}

/// The least edge found from each position to another component, or a lower bound on its weight.
#[derive(CubeType, CubeLaunch)]
pub(super) struct PointEdges {
    /// The squared weight of the edge or, without an end, a lower bound on it.
    pub weight2: Array<f64>,
    /// The position of the other end, or [`NONE`].
    pub end: Array<u32>,
}

/// The upper half of the bits of a weight.
#[cube]
pub(super) fn upper(weight2: f64) -> u32 {
    u32::cast_from(u64::reinterpret(weight2) >> 32u64)
}

/// The lower half of the bits of a weight.
#[cube]
pub(super) fn lower(weight2: f64) -> u32 {
    u32::cast_from(u64::reinterpret(weight2) & 0xffff_ffffu64)
}

/// The weight with the given halves of its bits.
#[cube]
pub(super) fn weight2_of(upper: u32, lower: u32) -> f64 {
    f64::reinterpret((u64::cast_from(upper) << 32u64) | u64::cast_from(lower))
}

/// The squared weight of the edge between position `at`, whose point is given, and position `other`.
#[cube]
pub(super) fn weight2<F: Float>(
    tree: &Tree<F>,
    core2: &Array<f64>,
    at: u32,
    point: &Array<F>,
    other: u32,
    #[comptime] spec: MstSpec,
) -> f64 {
    let mut weight2 = exact_distance2::<F>(
        &tree.axes,
        other,
        tree.stored,
        point,
        &tree.exact_sides,
        comptime!(spec.d),
        comptime!(spec.periodic),
    );
    if comptime!(spec.mutual) {
        weight2 = weight2.max(core2[at as usize]).max(core2[other as usize]);
    }
    weight2
}

/// The point at a position.
#[cube]
pub(super) fn point_at<F: Float>(tree: &Tree<F>, at: u32, #[comptime] d: usize) -> Array<F> {
    let mut point = Array::<F>::new(d);
    #[unroll]
    for k in 0..d {
        point[k] = tree.axes[k * tree.stored as usize + at as usize];
    }
    point
}

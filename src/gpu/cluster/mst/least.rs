//! What is known of least edges: of points, and of components.
//!
//! A weight is the square that `f64` arithmetic gives. Its bits, which ascend with it, are compared as two words, because not every
//! device has atomics of 64 bits: first the upper ones, then the lower ones among those with the least upper ones, then the lower index,
//! then the higher one.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::metric::exact_distance2;
use crate::gpu::primitives::warp::Warp;

/// No position, no component, no bound.
pub(super) const NONE: u32 = u32::MAX;

/// What kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct MstSpec {
    pub d: usize,
    pub periodic: bool,
    /// Whether edges weigh by mutual reachability.
    pub mutual: bool,
    /// Nearest neighbours that are listed for each point.
    pub listed: usize,
    /// Whether these are all other points.
    pub all_listed: bool,
    pub warp: Warp,
}

/// What is known of points before the rounds, in tree order.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Samples {
    /// The index of each point, and the position of each index.
    pub order: Array<u32>,
    pub position: Array<u32>,
    /// The positions of the nearest of each point, nearest first, and the squared distance of the last of them.
    pub listed: Array<u32>,
    pub last2: Array<f64>,
    /// Squared core distances, by mutual reachability.
    pub core2: Array<f64>,
}

/// What each position knows of its least edge to another component.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Least {
    /// Its squared weight; or, without an end, what it is not less than.
    pub weight2: Array<f64>,
    /// The position of the other end, or [`NONE`].
    pub end: Array<u32>,
}

/// The upper half of the bits of a weight.
#[cube]
pub(super) fn upper(weight2: f64) -> u32 {
    u32::cast_from(u64::reinterpret(weight2) >> 32u64)
}

/// The lower half.
#[cube]
pub(super) fn lower(weight2: f64) -> u32 {
    u32::cast_from(u64::reinterpret(weight2) & 0xffff_ffffu64)
}

/// The weight of both halves.
#[cube]
pub(super) fn weight2_of(upper: u32, lower: u32) -> f64 {
    f64::reinterpret((u64::cast_from(upper) << 32u64) | u64::cast_from(lower))
}

/// The squared weight of the edge between a position, whose point is given, and another.
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

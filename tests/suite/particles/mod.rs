//! Functions for particle codes: vectors to nearest images, values computed from neighbours, lists of pairs.

mod lists;
mod nearest;
mod neighbors;
mod offset;
mod pairs;

use common::oracle::{self, Side};
use proptest::collection::vec;
use proptest::prelude::*;
use ropewalk::{Bvh, Scalar};

/// Returns the tree of points rounded to `S`, and these points wrapped into the box.
fn stored<S: Scalar, const D: usize>(points: &[[f64; D]], side: Side) -> (Bvh<S, D>, Vec<[S; D]>) {
    let rounded: Vec<[S; D]> = points.iter().map(|point| point.map(S::from_f64)).collect();
    let wrapped = rounded.iter().map(|point| oracle::wrap_point(point, side)).collect();
    (Bvh::build_periodic(&rounded, side).unwrap(), wrapped)
}

/// A coordinate in general position, or on a grid, so that distances tie and points coincide.
fn coordinate(on_grid: bool) -> BoxedStrategy<f64> {
    if on_grid { (-20i32..60).prop_map(|i| f64::from(i) * 0.25).boxed() } else { (-5.0..15.0).boxed() }
}

fn points<const D: usize>(on_grid: bool, most: usize) -> impl Strategy<Value = Vec<[f64; D]>> {
    vec(vec(coordinate(on_grid), D).prop_map(|x| -> [f64; D] { x.try_into().unwrap() }), 0..most)
}

/// Open space, or a periodic box whose side is or is not a multiple of the grid.
fn side() -> impl Strategy<Value = Option<f64>> {
    prop::option::of(prop_oneof![Just(8.0), Just(9.75), Just(9.7), 8.0..30.0])
}

/// Points and a radius, which some distances equal on the grid.
fn cloud<const D: usize>() -> impl Strategy<Value = (Vec<[f64; D]>, f64)> {
    any::<bool>()
        .prop_flat_map(|on_grid| (points::<D>(on_grid, 150), (0i32..16).prop_map(|steps| f64::from(steps) * 0.25)))
}

//! Visitors, which decide what a walk does with its hits: count, list, unite or label them.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::hits::Hits;
use crate::gpu::bvh::traverse::spec::{MIXED, Tree, WalkSpec};
use crate::gpu::primitives::bits::Bits;
use crate::gpu::primitives::warp::Warp;

type Expand<T> = <T as CubeType>::ExpandType;

/// A visitor of the hits of a walk. The methods share the state, so mutable parts of it are cells.
///
/// Implementations use `#[cube]`. The trait does not, because `#[cube]` does not support default methods of traits.
/// While cubecl builds a kernel, it calls each `__expand_` method in place of the method of that name.
#[allow(clippy::too_many_arguments)] // `on_hits` has several arguments, and its expansion another one for the scope.
pub(in crate::gpu) trait LeafVisitor: Sized + Send + Sync + 'static {
    /// The data that the visitor reads, and the data that it writes.
    type Input: LaunchArg;
    type Output: LaunchArg;
    /// The state of a query.
    type State: CubeType;

    /// `true` if the first limit of a query is that of an inner radius. [`LeafVisitor::on_inner`] takes the points up to
    /// it, and [`LeafVisitor::on_hits`] those beyond it up to the second limit, of which the visitor decides which are
    /// within the radius.
    const HAS_INNER: bool = false;

    fn start(input: &Self::Input, output: &mut Self::Output, query: u32) -> Self::State;
    fn __expand_start(
        scope: &mut Scope,
        input: Expand<Self::Input>,
        output: Expand<Self::Output>,
        query: NativeExpand<u32>,
    ) -> Expand<Self::State>;

    /// Visits a point within the radius. Returns `true` if the other points of its leaf may be skipped, provided that
    /// the leaf is [`UNIFORM`](super::spec::UNIFORM).
    fn on_hit(_state: &Self::State, _input: &Self::Input, _output: &mut Self::Output, _position: u32) -> bool {
        false
    }
    fn __expand_on_hit(
        _: &mut Scope,
        _: Expand<Self::State>,
        _: Expand<Self::Input>,
        _: Expand<Self::Output>,
        _: NativeExpand<u32>,
    ) -> NativeExpand<bool> {
        false.into()
    }

    /// Visits points within the radius, in the order of the tree. The default calls [`LeafVisitor::on_hit`] for each;
    /// visitors that count points or need distances override it.
    fn on_hits<F: Float>(
        state: &Self::State,
        input: &Self::Input,
        output: &mut Self::Output,
        _tree: &Tree<F>,
        _point: &Array<F>,
        hits: &Hits,
        spec: WalkSpec,
    ) {
        take_each::<Self>(state, input, output, hits, spec.uniform);
    }
    fn __expand_on_hits<F: Float>(
        scope: &mut Scope,
        state: Expand<Self::State>,
        input: Expand<Self::Input>,
        output: Expand<Self::Output>,
        _: Expand<Tree<F>>,
        _: Expand<Array<F>>,
        hits: Expand<Hits>,
        spec: WalkSpec,
    ) {
        take_each::expand::<Self>(scope, state, input, output, hits, spec.uniform);
    }

    /// Takes the number of points up to the inner radius.
    fn on_inner(_state: &Self::State, _points: u32) {}
    fn __expand_on_inner(_: &mut Scope, _: Expand<Self::State>, _: NativeExpand<u32>) {}

    /// Returns `true` if the query wants more points.
    fn is_open(_state: &Self::State, _input: &Self::Input) -> bool {
        true
    }
    fn __expand_is_open(_: &mut Scope, _: Expand<Self::State>, _: Expand<Self::Input>) -> NativeExpand<bool> {
        true.into()
    }

    /// Returns `true` if no query of the group needs to be compared with a point.
    fn skips(_state: &Self::State, _input: &Self::Input, _output: &mut Self::Output, _position: u32) -> bool {
        false
    }
    fn __expand_skips(
        _: &mut Scope,
        _: Expand<Self::State>,
        _: Expand<Self::Input>,
        _: Expand<Self::Output>,
        _: NativeExpand<u32>,
    ) -> NativeExpand<bool> {
        false.into()
    }

    /// Prepares [`LeafVisitor::skips`], after the group's queries were compared with some points. All threads of the
    /// warp take part; `is_query` is false in surplus ones.
    fn after_points(
        _state: &Self::State,
        _input: &Self::Input,
        _output: &mut Self::Output,
        _is_query: bool,
        _warp: Warp,
    ) {
    }
    fn __expand_after_points(
        _: &mut Scope,
        _: Expand<Self::State>,
        _: Expand<Self::Input>,
        _: Expand<Self::Output>,
        _: NativeExpand<bool>,
        _: Warp,
    ) {
    }

    /// The state of a node: [`EMPTY`](super::spec::EMPTY), [`MIXED`] or [`UNIFORM`](super::spec::UNIFORM). All nodes
    /// below a uniform one are uniform.
    fn node_state(_input: &Self::Input, _node: u32) -> u32 {
        MIXED
    }
    fn __expand_node_state(_: &mut Scope, _: Expand<Self::Input>, _: NativeExpand<u32>) -> NativeExpand<u32> {
        MIXED.into()
    }

    /// Returns `true` if the query wants any point of a uniform node within its radius. `first` is the first of the
    /// node's points.
    fn should_enter(_state: &Self::State, _input: &Self::Input, _output: &mut Self::Output, _first: u32) -> bool {
        true
    }
    fn __expand_should_enter(
        _: &mut Scope,
        _: Expand<Self::State>,
        _: Expand<Self::Input>,
        _: Expand<Self::Output>,
        _: NativeExpand<u32>,
    ) -> NativeExpand<bool> {
        true.into()
    }

    /// Takes a node that is within the radius as a whole. `points` is the number of its points, without those that
    /// the warp visited first.
    fn on_subtree(_state: &Self::State, _input: &Self::Input, _node: u32, _points: u32) {}
    fn __expand_on_subtree(
        _: &mut Scope,
        _: Expand<Self::State>,
        _: Expand<Self::Input>,
        _: NativeExpand<u32>,
        _: NativeExpand<u32>,
    ) {
    }

    /// Ends a query.
    fn finish(_state: &Self::State, _input: &Self::Input, _output: &mut Self::Output, _query: u32) {}
    fn __expand_finish(
        _: &mut Scope,
        _: Expand<Self::State>,
        _: Expand<Self::Input>,
        _: Expand<Self::Output>,
        _: NativeExpand<u32>,
    ) {
    }
}

/// Passes the hits to a visitor one by one. If `uniform` is set, nodes may be uniform, so that one hit may be enough
/// for its leaf.
#[cube]
fn take_each<V: LeafVisitor>(
    state: &V::State,
    input: &V::Input,
    output: &mut V::Output,
    hits: &Hits,
    #[comptime] uniform: bool,
) {
    let mut left = Bits::new(hits.bits);
    while left.any() {
        let bit = left.pop();
        let ends_leaf = V::on_hit(state, input, output, hits.position(bit));
        if comptime!(uniform) {
            if ends_leaf {
                left.set(hits.after(left.left(), bit));
            }
        }
    }
}

//! The least edges and bounds that points have before they search: from earlier rounds, and from the lists of their
//! nearest neighbours.

#![allow(clippy::too_many_arguments)] // The scope precedes the parameters of a kernel.

use cubecl::prelude::*;

use crate::gpu::bvh::traverse::spec::Tree;
use crate::gpu::cluster::mst::least_edges::{MstSpec, NONE, PointEdges, Samples, point_at, upper, weight2};
use crate::gpu::primitives::atomic_min::lower_to;
use crate::gpu::primitives::compact::append;
use crate::gpu::primitives::warp::Warp;

/// Lists the first of the `k` nearest neighbours of each position; the neighbour of rank `core` gives the core
/// distance. Each position starts as a component without a known edge.
#[cube(launch)]
pub(super) fn list(
    indices: &Array<u32>,
    distances2: &Array<f64>,
    samples: &mut Samples,
    least: &mut PointEdges,
    component: &mut Array<u32>,
    n: u32,
    k: u32,
    core: u32,
    #[comptime] spec: MstSpec,
) {
    let at = ABSOLUTE_POS;
    if (at as u32) < n {
        let row = at * k as usize;
        let listed = comptime!(spec.listed);
        #[unroll]
        for rank in 0..listed {
            samples.listed[at * listed + rank] = samples.position[indices[row + rank] as usize];
        }
        samples.last2[at] = distances2[row + comptime!(listed - 1)];
        if comptime!(spec.mutual) {
            samples.core2[at] = distances2[row + core as usize];
        }
        least.weight2[at] = f64::new(0.0);
        least.end[at] = NONE;
        component[at] = at as u32;
    }
}

/// Updates the known edge or bound of each point, and lowers the upper bound on the least edge of its component, by
/// its upper bits.
#[cube(launch)]
pub(super) fn update_bounds<F: Float>(
    tree: &Tree<F>,
    samples: &Samples,
    component: &Array<u32>,
    least: &mut PointEdges,
    bounds: &mut Array<Atomic<u32>>,
    #[comptime] spec: MstSpec,
) {
    let at = ABSOLUTE_POS as u32;
    let n = tree.stored;
    let mut own = 0u32.runtime();
    let mut bound = NONE.runtime();
    if at < n {
        own = component[at as usize];
        let known = least.weight2[at as usize];
        let end = least.end[at as usize];
        let mut is_kept = false.runtime();
        if end != NONE {
            is_kept = component[end as usize] != own;
        }
        if is_kept {
            bound = upper(known);
        } else {
            let mut least2 = known + f64::new(0.0);
            let mut least_end = NONE.runtime();
            let last2 = samples.last2[at as usize];
            let mut looks = known <= last2;
            if comptime!(!spec.mutual) {
                // If a point without a known edge has the bound `last2`, its list had no point of another component,
                // and never will. A bound that another step raised to just this number only costs a search.
                looks = known < last2 || (looks && (end != NONE || last2 == f64::new(0.0)));
            }
            if looks {
                let found = search_list::<F>(tree, samples, component, at, own, known, spec);
                least2 = found.weight2;
                least_end = found.end;
                bound = found.bound;
            }
            if looks || end != NONE {
                least.weight2[at as usize] = least2;
                least.end[at as usize] = least_end;
            }
            if least_end == NONE {
                // The edges to the neighbours in tree order are upper bounds.
                if at > 0 {
                    bound = min(bound, bound_to::<F>(tree, samples, component, at, at - 1, own, spec));
                }
                if at + 1 < n {
                    bound = min(bound, bound_to::<F>(tree, samples, component, at, at + 1, own, spec));
                }
            }
        }
    }
    lower_to(bounds, own, bound, comptime!(spec.warp));
}

/// Returns the upper bits of the weight of the edge to `other`, or [`NONE`] if that is of the same component.
#[cube]
fn bound_to<F: Float>(
    tree: &Tree<F>,
    samples: &Samples,
    component: &Array<u32>,
    at: u32,
    other: u32,
    own: u32,
    #[comptime] spec: MstSpec,
) -> u32 {
    let mut bound = NONE.runtime();
    if component[other as usize] != own {
        let point = point_at::<F>(tree, at, comptime!(spec.d));
        bound = upper(weight2::<F>(tree, &samples.core2, at, &point, other, spec));
    }
    bound
}

/// The information from a list.
#[derive(CubeType)]
struct ListResult {
    weight2: f64,
    end: u32,
    /// The upper bits of a weight that the component's least edge does not exceed.
    bound: u32,
}

/// Finds the least edge in the list of nearest neighbours, or a lower bound on its weight if the list does not
/// determine it.
#[cube]
fn search_list<F: Float>(
    tree: &Tree<F>,
    samples: &Samples,
    component: &Array<u32>,
    at: u32,
    own: u32,
    known: f64,
    #[comptime] spec: MstSpec,
) -> ListResult {
    let listed = comptime!(spec.listed);
    let mut end = NONE.runtime();
    let mut end_index = NONE.runtime();
    let mut end2 = f64::new(0.0);
    #[unroll]
    for rank in 0..listed {
        // If weights are lengths, the first neighbour of another component is the nearest.
        let mut looks = end == NONE;
        if comptime!(spec.mutual) {
            looks = true.runtime();
        }
        if looks {
            let other = samples.listed[at as usize * listed + rank];
            if component[other as usize] != own {
                if comptime!(spec.mutual) {
                    let index = samples.order[other as usize];
                    let point = point_at::<F>(tree, at, comptime!(spec.d));
                    let other2 = weight2::<F>(tree, &samples.core2, at, &point, other, spec);
                    if end == NONE || other2 < end2 || (other2 == end2 && index < end_index) {
                        end = other;
                        end_index = index;
                        end2 = other2;
                    }
                } else {
                    end = other;
                }
            }
        }
    }
    // Unlisted points are no nearer than the last listed one.
    let mut others2 = samples.last2[at as usize];
    let mut is_least = end != NONE;
    let mut bound = NONE.runtime();
    if end != NONE {
        if comptime!(spec.mutual) {
            others2 = others2.max(samples.core2[at as usize]);
            is_least = end2 < others2 || comptime!(spec.all_listed);
        } else {
            let point = point_at::<F>(tree, at, comptime!(spec.d));
            end2 = weight2::<F>(tree, &samples.core2, at, &point, end, spec);
        }
        bound = upper(end2);
        others2 = others2.min(end2);
    } else if comptime!(spec.mutual) {
        others2 = others2.max(samples.core2[at as usize]);
    }
    let weight2 = select(is_least, end2, known.max(others2));
    ListResult { weight2, end: select(is_least, end, NONE), bound }
}

/// Data that identify the points that search.
#[derive(CubeType, CubeLaunch)]
pub(super) struct ActiveInput {
    pub component: Array<u32>,
    /// For each component the upper bits of an upper bound on its least edge, and its number of points.
    pub bounds: Array<u32>,
    pub sizes: Array<u32>,
    /// Components of more points do not search.
    pub most: u32,
    pub n: u32,
}

/// Lists the positions that may have the least edge of their component and do not know it. In large components these
/// positions do not search, so the component remains without an edge in this round: it is `skipped`.
#[cube(launch)]
pub(super) fn list_active(
    input: &ActiveInput,
    least: &PointEdges,
    skipped: &mut Array<u32>,
    active: &mut Array<u32>,
    count: &mut Array<Atomic<u32>>,
    #[comptime] warp: Warp,
) {
    let at = ABSOLUTE_POS;
    let mut is_active = false.runtime();
    if (at as u32) < input.n {
        if least.end[at] == NONE {
            let own = input.component[at] as usize;
            if upper(least.weight2[at]) <= input.bounds[own] {
                is_active = input.sizes[own] <= input.most;
                if !is_active {
                    skipped[own] = 1;
                }
            }
        }
    }
    append(is_active, at as u32, active, count, warp);
}

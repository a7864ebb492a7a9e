//! Contacts between the points of this rank and ghost points.
//!
//! In: a tree of this rank's points, and ghosts. Out, for each ghost: the components with a point within its radius,
//! each given by one point (`component_contacts`). Or, for each point with ghosts within the radius: a value
//! (`map_points_near_ghosts`).
//! A subtree of a single component is skipped if the ghost already has a contact with that component.
//! Cost: O(log n) per ghost, and one leaf for each component that it touches; 4 bytes per node. Source:
//! Prokopenko et al. 2023 (FDBSCAN: subtrees of one component), Patwary et al. 2012 (unions across ranks come last).

use crate::bvh::Bvh;
use crate::bvh::traverse::Step;
use crate::distributed::regions::BoxDistanceQuery;
use crate::geometry::{Aabb, Scalar, Sphere};
use crate::parallel::list_tasks;

/// Ghosts per parallel task.
const TASK: usize = 1 << 9;
/// Nodes per parallel task.
const NODES: usize = 1 << 9;
/// The component of points without a component.
const NONE: u32 = u32::MAX;
/// Marks a node with points of more than one component.
const MIXED: u32 = u32::MAX - 1;

/// Returns pairs of a tree position and a ghost: for each ghost one position of each component with a point within
/// the radius. `component` maps a position to its component, a number below the number of points.
pub(super) fn component_contacts<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    component: &(dyn Fn(u32) -> Option<u32> + Sync),
    ghosts: &[[S; D]],
    radius: f64,
) -> Vec<(u32, u32)> {
    if ghosts.is_empty() {
        return vec![];
    }
    let (space, radius2) = (tree.space(), radius * radius);
    let of = |at: usize| component(at as u32).unwrap_or(NONE);
    let both = |a: u32, b: u32| match (a, b) {
        (a, NONE) => a,
        (NONE, b) => b,
        _ => [MIXED, a][usize::from(a == b)],
    };
    let of_node = tree.reduce(|leaf| tree.span(leaf).map(of).fold(NONE, both), |_, [left, right]| both(*left, *right));
    list_tasks(ghosts.len(), TASK, &|range| {
        let (mut pairs, mut met) = (vec![], vec![]);
        for ghost in range {
            let bounds = Aabb::point(space.wrap(ghosts[ghost]));
            met.clear();
            tree.walk(0..tree.end(), |at, node| {
                let is_known = of_node[at] == NONE || met.contains(&of_node[at]);
                if is_known || space.min_distance2(&bounds, &node.bounds) > radius2 {
                    return Step::Skip;
                }
                if tree.is_leaf(at) {
                    for position in tree.span(at) {
                        let component = of(position);
                        let is_new = component != NONE && !met.contains(&component);
                        if is_new && space.distance2(&bounds.lo, &tree.item(position).lo) <= radius2 {
                            met.push(component);
                            pairs.push((position as u32, ghost as u32));
                        }
                    }
                }
                Step::Enter
            });
        }
        pairs
    })
}

/// Maps a ball and the ghosts in it to a value, if there is one.
type OfBall<'a, S, T, const D: usize> = dyn Fn(Sphere<S, D>, &mut dyn Iterator<Item = u32>) -> Option<T> + Sync + 'a;

/// Calls `value` with the ball around each point of a tree and the ghosts in that ball. Returns the values with the
/// points' indices. Skips points for which `is_asked` is `false`, and leaves without ghosts within the radius.
pub(super) fn map_points_near_ghosts<S: Scalar, T: Send + Sync, const D: usize>(
    tree: &Bvh<S, D>,
    ghosts: &Bvh<S, D>,
    radius: f64,
    is_asked: &(dyn Fn(u32) -> bool + Sync),
    value: &OfBall<'_, S, T, D>,
) -> Vec<(u32, T)> {
    if ghosts.is_empty() {
        return vec![];
    }
    list_tasks(tree.end(), NODES, &|nodes| {
        let mut values = vec![];
        for leaf in nodes.filter(|&at| tree.is_leaf(at)) {
            let positions = || tree.span(leaf).filter(|&at| is_asked(tree.order()[at]));
            let near = BoxDistanceQuery { bounds: &tree.node(leaf).bounds, radius2: radius * radius };
            if positions().next().is_none() || ghosts.query(near).next().is_none() {
                continue;
            }
            for at in positions() {
                let ball = Sphere { center: tree.item(at).lo, radius };
                values.extend(value(ball, &mut ghosts.query(ball)).map(|value| (tree.order()[at], value)));
            }
        }
        values
    })
}

//! The stored points nearest to a box.
//!
//! Input: a box with an extent, and a tree of points, whose other searches take points only. Output: the nearest
//! neighbours, by the distance of the nearest points of two boxes. All decisions are in `f64`.
//! Cost: a walk with the distance of the k-th neighbour so far.

use crate::bvh::Bvh;
use crate::bvh::traverse::Step;
use crate::geometry::{Aabb, Scalar};
use crate::search::nearest::exact_heap::ExactHeap;

/// Returns the squared distance of an index, given the squared distance to its box; `None` if the index is not wanted.
pub(super) type Distance2<'a> = &'a mut dyn FnMut(u32, f64) -> Option<f64>;

/// Returns `true` if only this search finds the nearest primitives of a box.
#[inline(always)]
pub(super) fn is_needed<S: Scalar, const D: usize>(tree: &Bvh<S, D>, of: &Aabb<S, D>) -> bool {
    tree.holds_points() && of.lo != of.hi
}

/// Fills `best` by the distances that `distance2` returns for an index and its distance from the box.
#[cold]
#[inline(never)]
pub(super) fn search_of_box<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    of: &Aabb<S, D>,
    excluded: Option<u32>,
    distance2: Distance2<'_>,
    best: &mut ExactHeap,
) {
    let space = tree.space();
    let of = space.wrap_box(*of);
    tree.walk(0..tree.end(), |at, node| {
        if space.min_distance2(&of, &node.bounds) > best.limit() {
            return Step::Skip;
        }
        for position in if tree.is_leaf(at) { tree.span(at) } else { 0..0 } {
            let (index, to_box) = (tree.order()[position], space.min_distance2(&of, &tree.item(position)));
            if Some(index) != excluded
                && best.accepts(to_box, index)
                && let Some(distance2) = distance2(index, to_box)
                && !distance2.is_nan()
            {
                best.push(if distance2 > to_box { distance2 } else { to_box }, index);
            }
        }
        Step::Enter
    });
}

#[cfg(test)]
mod tests {
    use crate::geometry::{Aabb, Space};
    use crate::search::nearest::{Nearest, Neighbor};
    use crate::{Bvh, Sphere};

    /// Boxes around and between points on a lattice, compared with all pairs. Many distances are tied.
    #[test]
    fn boxes_and_lattice_points() {
        let points: Vec<[f32; 2]> = (0..400).map(|i| [(i * 7 % 20) as f32, (i * 11 % 400 / 20) as f32]).collect();
        let boxes: Vec<Aabb<f32, 2>> = (0..40)
            .map(|i| {
                let lo = [(i * 13 % 24) as f32 - 2.0, (i * 5 % 23) as f32 - 1.5];
                Aabb::new(lo, [lo[0] + [0.0, 0.5, 3.0][i % 3], lo[1] + [0.5, 9.0][i % 2]])
            })
            .collect();
        for (space, bvh) in [
            (Space::OPEN, Bvh::build(&points).unwrap()),
            (Space::periodic(20.0).unwrap(), Bvh::build_periodic(&points, 20.0).unwrap()),
        ] {
            for wanted in [Nearest::new(3), Nearest::new(70).within(4.0), Nearest::new(5).excluding_self()] {
                let found = bvh.nearest_all(&boxes, wanted);
                for (i, own) in boxes.iter().enumerate() {
                    let placed = space.wrap_box(*own);
                    let distance2 = |at: &[f32; 2]| {
                        let gap =
                            |k: usize, by: f32| (at[k] + by - placed.hi[k]).max(placed.lo[k] - at[k] - by).max(0.0);
                        let shifts: &[f32] = if space == Space::OPEN { &[0.0] } else { &[-20.0, 0.0, 20.0] };
                        let least = |k| shifts.iter().map(|&by| gap(k, by)).fold(f32::INFINITY, f32::min);
                        f64::from(least(0) * least(0) + least(1) * least(1))
                    };
                    let mut all: Vec<Neighbor> = (0..400)
                        .map(|index| Neighbor { index, distance2: distance2(&points[index as usize]) })
                        .filter(|near| near.distance2 <= wanted.radius() * wanted.radius())
                        .filter(|near| wanted != Nearest::new(5).excluding_self() || near.index != i as u32)
                        .collect();
                    all.sort_by(|a, b| a.distance2.total_cmp(&b.distance2).then(a.index.cmp(&b.index)));
                    all.truncate(wanted.k());
                    assert_eq!(found.of(i), all, "{space:?}, {wanted:?}, {own:?}");
                }
                let by_distance = bvh.nearest_all_by(&boxes, wanted, |_, _| Some(0.0));
                assert_eq!(by_distance, found, "distances below that of the box count as rounded");
            }
        }
        // The box of a sphere.
        let near = Bvh::build(&[[0.0f32], [9.0]]).unwrap().nearest_all(&[Sphere::new([5.0f32], 3.9)], 1);
        assert_eq!(near.values()[0].index, 1);
    }
}

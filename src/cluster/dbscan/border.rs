//! Border points: assigns each to a cluster, and builds the labels.

use std::sync::atomic::Ordering::Relaxed;

use crate::bvh::traverse::{Step, bits, low_bits};
use crate::bvh::{Bvh, LEAF};
use crate::cluster::dbscan::core::copies;
use crate::cluster::flags::Flags;
use crate::cluster::labels::Labels;
use crate::cluster::relabel::CompactLabels;
use crate::geometry::Scalar;
use crate::memory::zeroed;
use crate::parallel::{atomics, for_each, for_tasks, signed};
use crate::search::radius_test::{RadiusTest, RadiusTests, with_radius_test};
use crate::simd::{Isa, dispatch};

/// Nodes per parallel task.
const TASK: usize = 1 << 8;
/// Words of 64 labels per parallel task.
const WORDS: usize = 1 << 9;
/// No cluster; larger than every cluster number.
const NONE: u32 = u32::MAX;
/// The label of points without a cluster.
const NOISE: i32 = -1;

/// The core points and their clusters.
pub(super) struct Cores<'a> {
    /// A mask of core points for each leaf; for each inner node 1 if there are core points below it, else 0.
    pub masks: &'a [u32],
    pub flags: &'a Flags,
    pub clusters: CompactLabels,
}

/// Labels core points with the number of their tree. A border point gets the lowest number among its core neighbours;
/// if `star`, it is noise.
pub(super) fn label<S: Scalar, const D: usize>(tree: &Bvh<S, D>, eps: f64, cores: Cores<'_>, star: bool) -> Labels {
    let tests = RadiusTests::new(tree, eps);
    let labels = atomics(tree.len(), NONE);
    for_tasks(tree.end(), TASK, &|nodes| {
        dispatch!(isa => for leaf in nodes {
            if tree.is_leaf(leaf) {
                let mut numbers = [NONE; LEAF];
                for (at, number) in tree.span(leaf).zip(&mut numbers) {
                    if cores.flags.at(at as u32) {
                        *number = cores.clusters.of(at as u32).unwrap_or(NONE);
                    }
                }
                if !star && !tree.duplicates_predecessor(leaf) {
                    join(isa, &tests, tree, leaf, &cores, &mut numbers);
                }
                for ((at, number), bit) in tree.span(leaf).zip(numbers).zip(0..) {
                    if number != NONE {
                        // The sign bit marks core points until all labels are known.
                        let core = cores.masks[leaf] >> bit << 31;
                        labels[tree.order()[at] as usize].store(number | core, Relaxed);
                    }
                }
            }
        });
    });
    if !star {
        // Copies get the label of the point before them.
        for leaf in copies(tree) {
            let span = tree.span(leaf as usize);
            let label = labels[tree.order()[span.start - 1] as usize].load(Relaxed);
            span.for_each(|at| labels[tree.order()[at] as usize].store(label, Relaxed));
        }
    }
    let (mut labels, mut core_of) = (signed(labels), zeroed(tree.len().div_ceil(64)));
    let tasks = labels.chunks_mut(64 * WORDS).zip(core_of.chunks_mut(WORDS)).collect();
    for_each(tasks, &|_, (labels, words): (&mut [i32], &mut [u64])| {
        for (labels, word) in labels.chunks_mut(64).zip(words) {
            *word = labels.iter().rev().fold(0, |word, &label| word << 1 | u64::from(label < NOISE));
            // Labels of core points are negative, too, until their sign bit is cleared.
            labels.iter_mut().for_each(|label| *label = if *label == NOISE { NOISE } else { *label & i32::MAX });
        }
    });
    Labels::from_parts(labels, cores.clusters.n_clusters(), Some(core_of))
}

/// Lowers the numbers of a leaf's non-core points to the lowest number among their core neighbours.
#[inline(always)]
fn join<S: Scalar, I: Isa, const D: usize>(
    isa: I,
    tests: &RadiusTests<S, D>,
    tree: &Bvh<S, D>,
    leaf: usize,
    cores: &Cores<'_>,
    numbers: &mut [u32; LEAF],
) {
    let others = low_bits(tree.span(leaf).len()) & !cores.masks[leaf];
    if others != 0 {
        with_radius_test!(I, tests, tree.node(leaf), |test| join_by(isa, test, tree, leaf, others, cores, numbers));
    }
}

#[inline(always)]
fn join_by<S: Scalar, I: Isa, const D: usize, const GENERAL: bool>(
    isa: I,
    test: &RadiusTest<S, D, GENERAL>,
    tree: &Bvh<S, D>,
    leaf: usize,
    others: u32,
    cores: &Cores<'_>,
    numbers: &mut [u32; LEAF],
) {
    let here = tree.blocks(&tree.span(leaf));
    let bounds = &tree.node(leaf).bounds;
    tree.walk(
        0..tree.end(),
        #[inline(always)]
        |at, node| {
            if cores.masks[at] == 0 || !test.meets(bounds, &node.bounds) || tree.duplicates_predecessor(at) {
                return Step::Skip;
            }
            if tree.is_leaf(at) {
                let there = tree.blocks(&tree.span(at));
                for primitive in bits(test.candidates(isa, &node.bounds, &here) & others) {
                    let hits = test.hits(isa, &tree.item(here.first + primitive), &there) & cores.masks[at];
                    for hit in bits(hits) {
                        let number = cores.clusters.of((there.first + hit) as u32).unwrap_or(NONE);
                        numbers[primitive] = numbers[primitive].min(number);
                    }
                }
            }
            Step::Enter
        },
    );
}

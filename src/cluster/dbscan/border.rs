//! Which cluster each border point joins, and the labels.

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use rayon::prelude::*;

use crate::bvh::traverse::{BallPredicate, bits};
use crate::bvh::{Bvh, LEAF};
use crate::cluster::dbscan::core::Flags;
use crate::cluster::labels::Labels;
use crate::cluster::relabel::CompactLabels;
use crate::geometry::Scalar;
use crate::simd::{Isa, dispatch};

/// Nodes per parallel task.
const TASK: usize = 1 << 8;
/// No cluster; larger than all that are.
const NONE: u32 = u32::MAX;

/// Labels core points as their trees are, and border points with the lowest number among their core neighbours' unless they
/// are noise by definition (`star`).
pub(super) fn label<S: Scalar, const D: usize>(
    tree: &Bvh<S, D>,
    eps: f64,
    core: &[u32],
    numbered: CompactLabels,
    is_core: &Flags,
    star: bool,
) -> Labels {
    let open: BallPredicate<S, D, false> = BallPredicate::new(tree, eps);
    let general = BallPredicate::general(tree, eps);
    let labels: Vec<AtomicI32> = (0..tree.len()).map(|_| AtomicI32::new(-1)).collect();
    (0..tree.end().div_ceil(TASK)).into_par_iter().for_each(|task| {
        dispatch!(level => for leaf in task * TASK..((task + 1) * TASK).min(tree.end()) {
            if tree.is_leaf(leaf) {
                let mut numbers = [NONE; LEAF];
                for (at, number) in tree.span(leaf).zip(&mut numbers) {
                    if is_core.at(at as u32) {
                        *number = numbered.of(at as u32).unwrap_or(NONE);
                    }
                }
                if !star && !tree.duplicates_predecessor(leaf) {
                    match &general {
                        Some(probe) if probe.is_for(&tree.node(leaf).bounds) => {
                            join(level, probe, tree, leaf, core, &numbered, &mut numbers);
                        }
                        _ => join(level, &open, tree, leaf, core, &numbered, &mut numbers),
                    }
                }
                for (at, number) in tree.span(leaf).zip(numbers) {
                    if number != NONE {
                        labels[tree.order()[at] as usize].store(number as i32, Relaxed);
                    }
                }
            }
        });
    });
    if !star {
        // Copies are labelled as the point before them is.
        for leaf in (0..tree.end()).filter(|&at| tree.is_leaf(at) && tree.duplicates_predecessor(at)) {
            let span = tree.span(leaf);
            let label = labels[tree.order()[span.start - 1] as usize].load(Relaxed);
            span.for_each(|at| labels[tree.order()[at] as usize].store(label, Relaxed));
        }
    }
    let mut core_of = vec![0u64; tree.len().div_ceil(64)];
    for (at, &index) in tree.order().iter().enumerate() {
        core_of[index as usize / 64] |= u64::from(is_core.at(at as u32)) << (index % 64);
    }
    Labels::from_parts(labels.into_iter().map(AtomicI32::into_inner).collect(), numbered.n_clusters(), Some(core_of))
}

/// Lowers the numbers of a leaf's points that are not core to those of their core neighbours.
#[inline(always)]
fn join<S: Scalar, L: Isa, const D: usize, const P: bool>(
    level: L,
    probe: &BallPredicate<S, D, P>,
    tree: &Bvh<S, D>,
    leaf: usize,
    core: &[u32],
    numbered: &CompactLabels,
    numbers: &mut [u32; LEAF],
) {
    let own = tree.span(leaf);
    let others = u32::MAX >> (u32::BITS - own.len() as u32) & !core[leaf];
    if others == 0 {
        return;
    }
    let bounds = &tree.node(leaf).bounds;
    let mut at = 0;
    while at < tree.end() {
        let node = tree.node(at);
        if core[at] == 0 || !probe.meets(bounds, &node.bounds) || tree.duplicates_predecessor(at) {
            at = node.rope as usize;
            continue;
        }
        if tree.is_leaf(at) {
            let span = tree.span(at);
            for primitive in bits(probe.candidates(level, &node.bounds, own.clone()) & others) {
                let hits = probe.hits(level, &tree.item(own.start + primitive), span.clone()) & core[at];
                for hit in bits(hits) {
                    let number = numbered.of((span.start + hit) as u32).unwrap_or(NONE);
                    numbers[primitive] = numbers[primitive].min(number);
                }
            }
        }
        at += 1;
    }
}

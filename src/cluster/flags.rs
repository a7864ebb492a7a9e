//! A bit for each position in tree order, which marks core points.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::bvh::Bvh;
use crate::geometry::Scalar;
use crate::memory::collected;
use crate::parallel::for_tasks;

/// Nodes per parallel task.
const TASK: usize = 1 << 8;

/// One bit per position in tree order.
pub(crate) struct Flags {
    words: Vec<AtomicU64>,
}

impl Flags {
    /// Converts one mask per leaf to flags.
    pub fn from_masks<S: Scalar, const D: usize>(tree: &Bvh<S, D>, masks: &[u32]) -> Self {
        let flags = Self { words: collected((0..tree.len().div_ceil(64)).map(|_| AtomicU64::new(0))) };
        for_tasks(tree.end(), TASK, &|nodes| {
            for leaf in nodes.filter(|&at| tree.is_leaf(at)) {
                let first = tree.span(leaf).start;
                let mask = u128::from(masks[leaf]) << (first % 64);
                for (word, part) in [(first / 64, mask as u64), (first / 64 + 1, (mask >> 64) as u64)] {
                    if part != 0 {
                        flags.words[word].fetch_or(part, Relaxed);
                    }
                }
            }
        });
        flags
    }

    #[inline]
    pub fn at(&self, position: u32) -> bool {
        self.words[position as usize / 64].load(Relaxed) >> (position % 64) & 1 == 1
    }
}

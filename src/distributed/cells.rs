//! The boxes around parts of each rank's points, which all ranks know: where neighbours may be.
//!
//! In: the codes of a rank's points. Out: cells of the Morton curve with about as many points each, and the box around the points of each.
//! A cell is a prefix of codes, a cube of space or a few; the fullest is split until there are enough.
//! Cost: one pass; a box a cell on every rank. Source: the tops of trees of Warren and Salmon 1993.

use std::collections::BinaryHeap;

use crate::geometry::{Aabb, Scalar, Space};
use crate::parallel::fold_tasks;

/// Cells of a rank, at most.
const MOST: usize = 1 << 10;
/// Cells of all ranks, at most, unless there are more ranks.
const MOST_OF_ALL: usize = 1 << 20;
/// Bits of a code that are looked up.
const LOOKUP: u32 = 15;
/// Codes by which cells are chosen.
const SAMPLES: usize = 1 << 16;
/// Points per parallel task.
const TASK: usize = 1 << 14;

/// Cells of the curve.
pub(super) struct Cells {
    /// The first code of each.
    firsts: Vec<u64>,
    /// The cell of the first code with each highest bits.
    lookup: Vec<u32>,
    shift: u32,
}

impl Cells {
    /// Cells for codes of so many bits, on one of so many ranks.
    pub fn of(codes: &[u64], bits: u32, ranks: usize) -> Self {
        let most = (MOST_OF_ALL / ranks).clamp(16, MOST);
        let stride = codes.len().div_ceil(SAMPLES).max(1);
        let mut samples: Vec<u64> = codes.iter().copied().step_by(stride).collect();
        samples.sort_unstable();
        // The number of samples, where they begin, the first code, and the free bits.
        let mut open = BinaryHeap::from([(samples.len(), 0usize, 0u64, bits)]);
        let mut firsts = vec![];
        while let Some((count, start, first, free)) = open.pop() {
            if free == 0 || count < 2 || open.len() + firsts.len() + 2 > most {
                firsts.push(first);
                continue;
            }
            let middle = first + (1 << (free - 1));
            let left = samples[start..start + count].partition_point(|&code| code < middle);
            open.push((left, start, first, free - 1));
            open.push((count - left, start + left, middle, free - 1));
        }
        firsts.sort_unstable();
        let shift = bits.saturating_sub(LOOKUP);
        let cell = |code: u64| firsts.partition_point(|&first| first <= code).saturating_sub(1) as u32;
        let lookup = (0..1u64 << (bits - shift)).map(|top| cell(top << shift)).collect();
        Self { firsts, lookup, shift }
    }

    pub fn len(&self) -> usize {
        self.firsts.len()
    }

    /// The cell that a code is in.
    #[inline]
    pub fn at(&self, code: u64) -> usize {
        let top = (code >> self.shift) as usize;
        let start = self.lookup[top] as usize;
        let end = self.lookup.get(top + 1).map_or(self.firsts.len(), |&next| next as usize + 1);
        start + self.firsts[(start + 1).min(end)..end].partition_point(|&first| first <= code)
    }

    /// The box around the points of each cell, in the periodic box if there is one; empty where there are none.
    pub fn boxes<S: Scalar, const D: usize>(
        &self,
        codes: &[u64],
        points: &[[S; D]],
        space: &Space<D>,
    ) -> Vec<Aabb<S, D>> {
        let part = |range: std::ops::Range<usize>| {
            let mut boxes = vec![Aabb::EMPTY; self.len()];
            for (&code, &point) in codes[range.clone()].iter().zip(&points[range]) {
                let cell = &mut boxes[self.at(code)];
                *cell = cell.union(&Aabb::point(space.wrap(point)));
            }
            boxes
        };
        let both = |a: Vec<Aabb<S, D>>, b: Vec<Aabb<S, D>>| a.iter().zip(&b).map(|(a, b)| a.union(b)).collect();
        // Few parts, for each has all cells.
        fold_tasks(0..points.len(), points.len().div_ceil(64).max(TASK), &part, &both)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_even_and_complete() {
        for codes in [vec![], vec![5; 3000], (0..9000).map(|i| i * i % 4096).collect::<Vec<u64>>(), vec![0, 4095]] {
            let cells = Cells::of(&codes, 12, 4);
            assert!(cells.len() <= MOST && cells.firsts[0] == 0 && cells.firsts.is_sorted());
            for code in 0..4096 {
                assert_eq!(cells.at(code), cells.firsts.partition_point(|&first| first <= code) - 1);
            }
        }
    }
}

//! Many lists in one allocation: compressed sparse rows.

use rayon::prelude::*;

/// One list per query in the order of the queries, stored one after the other (CSR).
///
/// ```
/// use ropewalk::{Bvh, Sphere};
///
/// let bvh = Bvh::build(&[[0.0f32], [1.0], [7.0]])?;
/// let lists = bvh.query_all(&[Sphere::new([0.5f32], 0.5), Sphere::new([3.0f32], 1.0)]);
/// assert_eq!((lists.len(), lists.of(0).len(), lists.of(1).len()), (2, 2, 0));
/// assert_eq!(lists.offsets(), [0, 2, 2]);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lists<T> {
    offsets: Vec<usize>,
    values: Vec<T>,
}

impl<T> Lists<T> {
    /// How many lists there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no list at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// List `i`; empty if there is none.
    pub fn of(&self, i: usize) -> &[T] {
        match (self.offsets.get(i), self.offsets.get(i + 1)) {
            (Some(&start), Some(&end)) => &self.values[start..end],
            _ => &[],
        }
    }

    /// Each list in turn.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[T]> {
        (0..self.len()).map(|i| self.of(i))
    }

    /// Where the lists begin: list `i` is `values[offsets[i]..offsets[i + 1]]`.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// All lists, one after the other.
    pub fn values(&self) -> &[T] {
        &self.values
    }
}

/// Some lists as one task made them.
pub(crate) struct Block<T> {
    pub values: Vec<T>,
    /// The length of each list.
    pub lengths: Vec<u32>,
}

impl<T> Default for Block<T> {
    fn default() -> Self {
        Self { values: Vec::new(), lengths: Vec::new() }
    }
}

/// Lists per parallel task.
const TASK: usize = 1 << 12;

impl<T: Copy + bytemuck::Zeroable + Send + Sync> Lists<T> {
    /// Puts the lists of all blocks in order: the `i`-th of them belongs to `order[i]`.
    pub(crate) fn from_blocks(order: &[u32], blocks: &[Block<T>]) -> Self {
        let n = order.len();
        let mut offsets = vec![0; n + 1];
        // A block's number, and where in it: blocks are fewer than 2^24, for each has some hundred lists.
        const START_BITS: u32 = 40;
        let mut source = vec![0u64; n];
        let mut order = order.iter();
        for (number, block) in blocks.iter().enumerate() {
            let mut start = 0;
            for (&length, &to) in block.lengths.iter().zip(order.by_ref()) {
                offsets[to as usize + 1] = length as usize;
                source[to as usize] = (number as u64) << START_BITS | start;
                start += u64::from(length);
            }
        }
        for i in 0..n {
            offsets[i + 1] += offsets[i];
        }

        // Fresh zeros come from the system without being written.
        let mut values: Vec<T> = bytemuck::zeroed_vec(offsets[n]);
        let mut rest = values.as_mut_slice();
        let mut tasks = Vec::with_capacity(n.div_ceil(TASK));
        for first in (0..n).step_by(TASK) {
            let last = (first + TASK).min(n);
            let (own, others) = rest.split_at_mut(offsets[last] - offsets[first]);
            tasks.push((first..last, own));
            rest = others;
        }
        tasks.into_par_iter().for_each(|(lists, mut own)| {
            for list in lists {
                let (block, start) = (source[list] >> START_BITS, source[list] & ((1 << START_BITS) - 1));
                let (block, start) = (block as usize, start as usize);
                let (to, others) = own.split_at_mut(offsets[list + 1] - offsets[list]);
                to.copy_from_slice(&blocks[block].values[start..start + to.len()]);
                own = others;
            }
        });
        Self { offsets, values }
    }
}

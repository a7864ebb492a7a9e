//! Many lists in one allocation: compressed sparse rows.
#![allow(unsafe_code)] // Measured in benches/LOG.md: nearest neighbours are an eighth faster when written in place.

mod half;

use std::marker::PhantomData;
use std::ops::Range;

use crate::cancel::check;
use crate::error::{Error, Result};
use crate::memory::{try_zeroed, zeroed};
use crate::parallel::{for_each, map};
use crate::simd::prefetch;

/// One list per query, in the order of the queries, stored in one array (compressed sparse rows).
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
#[derive(Clone, PartialEq, Eq)]
pub struct Csr<T> {
    offsets: Vec<usize>,
    values: Vec<T>,
}

impl<T: std::fmt::Debug> std::fmt::Debug for Csr<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Csr")
            .field("offsets", &crate::brief::Brief(&self.offsets))
            .field("values", &crate::brief::Brief(&self.values))
            .finish()
    }
}

impl<T> Csr<T> {
    /// Creates lists from their parts. `offsets` ascends from 0 to the number of values.
    pub(crate) fn from_parts(offsets: Vec<usize>, values: Vec<T>) -> Self {
        Self { offsets, values }
    }

    /// Takes the memory of the lists, for reuse; leaves no lists.
    pub(crate) fn take_parts(&mut self) -> (Vec<usize>, Vec<T>) {
        (std::mem::take(&mut self.offsets), std::mem::take(&mut self.values))
    }

    /// Returns the number of lists.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns `true` if there are no lists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns list `i`; empty if `i` is out of bounds.
    pub fn of(&self, i: usize) -> &[T] {
        if i >= self.len() {
            return &[];
        }
        &self.values[self.offsets[i]..self.offsets[i + 1]]
    }

    /// Iterates over the lists, in the order of the queries.
    pub fn iter(&self) -> Iter<'_, T> {
        self.into_iter()
    }

    /// Returns the start of each list, followed by the number of values. List `i` is
    /// `values[offsets[i]..offsets[i + 1]]`.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Returns the values of all lists, concatenated.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Returns the offsets and the values without a copy.
    ///
    /// ```
    /// let lists = ropewalk::Bvh::build(&[[0.0f32], [5.0]])?.neighbors(1.0);
    /// assert_eq!(lists.into_parts(), (vec![0, 1, 2], vec![0, 1]));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    pub fn into_parts(self) -> (Vec<usize>, Vec<T>) {
        (self.offsets, self.values)
    }
}

#[cfg(feature = "distributed")]
impl<T: Ord + Send> Csr<T> {
    /// Sorts each list in ascending order.
    #[doc(hidden)]
    pub fn sorted(mut self) -> Self {
        let lists = split_tasks(&mut self.values, &self.offsets);
        for_each(lists, &|_, (lists, mut own): (Range<usize>, &mut [T])| {
            for list in lists {
                let (one, others) = own.split_at_mut(self.offsets[list + 1] - self.offsets[list]);
                one.sort_unstable();
                own = others;
            }
        });
        self
    }
}

/// Divides the lists into parallel tasks of [`TASK`] lists each, with their values.
fn split_tasks<'a, T>(mut rest: &'a mut [T], offsets: &[usize]) -> Vec<(Range<usize>, &'a mut [T])> {
    let n = offsets.len() - 1;
    let mut tasks = Vec::with_capacity(n.div_ceil(TASK));
    for first in (0..n).step_by(TASK) {
        let last = (first + TASK).min(n);
        let (own, others) = rest.split_at_mut(offsets[last] - offsets[first]);
        tasks.push((first..last, own));
        rest = others;
    }
    tasks
}

impl<T> Default for Csr<T> {
    fn default() -> Self {
        Self { offsets: vec![0], values: vec![] }
    }
}

impl<T> std::ops::Index<usize> for Csr<T> {
    type Output = [T];

    /// Returns list `i`.
    ///
    /// # Panics
    /// Panics if `i` is out of bounds; [`Csr::of`] returns an empty list instead.
    fn index(&self, i: usize) -> &[T] {
        &self.values[self.offsets[i]..self.offsets[i + 1]]
    }
}

impl<'a, T> IntoIterator for &'a Csr<T> {
    type Item = &'a [T];
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        Iter { lists: self, next: 0 }
    }
}

/// An iterator over the lists of a [`Csr`].
#[derive(Clone, Debug)]
pub struct Iter<'a, T> {
    lists: &'a Csr<T>,
    next: usize,
}

impl<'a, T> Iterator for Iter<'a, T> {
    type Item = &'a [T];

    fn next(&mut self) -> Option<&'a [T]> {
        let own = self.next;
        (own < self.lists.len()).then(|| {
            self.next += 1;
            self.lists.of(own)
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.lists.len() - self.next;
        (left, Some(left))
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}
impl<T> std::iter::FusedIterator for Iter<'_, T> {}

/// The lists that one task computed.
pub(crate) struct CsrChunk<T> {
    pub values: Vec<T>,
    /// The length of each list.
    pub lengths: Vec<u32>,
}

impl<T> Default for CsrChunk<T> {
    fn default() -> Self {
        Self { values: Vec::new(), lengths: Vec::new() }
    }
}

/// Lists of equal length, written in any order by many threads.
pub(crate) struct RowWriter<'a, T> {
    start: *mut T,
    rows: usize,
    length: usize,
    borrowed: PhantomData<&'a mut [T]>,
}

// SAFETY: shared writers allow only `write`, `replace` and `prefetch`. The contracts of the first two demand that no
// row is written by two threads at once; `prefetch` accesses no value. Values may move between threads because `T:
// Send`.
unsafe impl<T: Send> Sync for RowWriter<'_, T> {}

impl<T: Copy> RowWriter<'_, T> {
    /// Writes row `row`. `values` must yield as many values as a row holds.
    ///
    /// # Safety
    /// No row is written by two threads at once.
    #[inline(always)]
    pub unsafe fn write(&self, row: usize, values: impl Iterator<Item = T>) {
        assert!(row < self.rows, "row {row} is out of bounds");
        // No overflow: `from_rows` has allocated `rows * length` values.
        let first = row * self.length;
        for (at, value) in (first..first + self.length).zip(values) {
            // SAFETY: `at < self.rows * self.length`, the number of values, because `row < self.rows` was asserted
            // above. The caller promises that no other thread writes this row.
            unsafe { self.start.add(at).write(value) };
        }
    }
}

impl<'a, T> RowWriter<'a, T> {
    /// Creates a writer over existing values, as rows of one value each.
    pub fn over(values: &'a mut [T]) -> Self {
        Self { start: values.as_mut_ptr(), rows: values.len(), length: 1, borrowed: PhantomData }
    }

    /// Replaces the value of row `row`; rows must have length 1.
    ///
    /// # Safety
    /// No row is written by two threads at once.
    #[inline(always)]
    pub unsafe fn replace(&self, row: usize, value: T) {
        assert!(row < self.rows && self.length == 1, "row {row} is out of bounds");
        // SAFETY: `row < self.rows`, the number of values, because rows have length 1; both were asserted above.
        // `values` is borrowed mutably, and the caller promises that no other thread writes this row.
        unsafe { *self.start.add(row) = value };
    }

    /// Prefetches the memory of a row that will be written.
    #[inline(always)]
    pub fn prefetch(&self, row: usize) {
        for at in (row * self.length..(row + 1) * self.length).step_by((64 / size_of::<T>()).max(1)) {
            prefetch(self.start.wrapping_add(at));
        }
    }
}

/// Lists per parallel task.
const TASK: usize = 1 << 12;

impl<T: Copy + bytemuck::Zeroable + Send + Sync> Csr<T> {
    /// Creates `n` lists of `length` values each, which `fill` writes.
    ///
    /// Fails if memory for them cannot be allocated.
    pub(crate) fn from_rows(n: usize, length: usize, fill: impl FnOnce(&RowWriter<'_, T>)) -> Result<Self> {
        let none = || Error::memory(n, "lists", n as u128 * length as u128 * size_of::<T>() as u128);
        // Fresh zeroed pages are not written.
        let values = n.checked_mul(length).and_then(try_zeroed);
        let mut values: Vec<T> = values.ok_or_else(none)?;
        fill(&RowWriter { start: values.as_mut_ptr(), rows: n, length, borrowed: PhantomData });
        Ok(Self { offsets: map(n + 1, 1 << 15, &|row| row * length), values })
    }

    /// Collects the lists of all chunks in order: the `i`-th list of all chunks becomes list `order[i]`.
    pub(crate) fn gather(order: &[u32], chunks: &[CsrChunk<T>]) -> Self {
        Self::gather_into(order, chunks, zeroed)
    }
}

impl<T: Copy + Send + Sync> Csr<T> {
    /// Does the work of [`Csr::gather`] with values that `allocate` returns, which are overwritten.
    pub(crate) fn gather_into(order: &[u32], chunks: &[CsrChunk<T>], allocate: impl FnOnce(usize) -> Vec<T>) -> Self {
        let n = order.len();
        let mut offsets = zeroed(n + 1);
        // The number of a chunk, and the position of a list in it. There are fewer than 2^24 chunks, since each has
        // hundreds of lists.
        const START_BITS: u32 = 40;
        let mut source = zeroed::<u64>(n);
        let mut order = order.iter();
        for (number, chunk) in chunks.iter().enumerate() {
            check();
            let mut start = 0;
            for (&length, &to) in chunk.lengths.iter().zip(order.by_ref()) {
                offsets[to as usize + 1] = length as usize;
                source[to as usize] = (number as u64) << START_BITS | start;
                start += u64::from(length);
            }
        }
        for i in 0..n {
            offsets[i + 1] += offsets[i];
        }

        let mut values = allocate(offsets[n]);
        for_each(split_tasks(&mut values, &offsets), &|_, (lists, mut own): (Range<usize>, &mut [T])| {
            for list in lists {
                let (chunk, start) = (source[list] >> START_BITS, source[list] & ((1 << START_BITS) - 1));
                let (chunk, start) = (chunk as usize, start as usize);
                let (to, others) = own.split_at_mut(offsets[list + 1] - offsets[list]);
                to.copy_from_slice(&chunks[chunk].values[start..start + to.len()]);
                own = others;
            }
        });
        Self { offsets, values }
    }
}

#[cfg(feature = "distributed")]
impl<T: Copy + bytemuck::Zeroable + Send + Sync> Csr<T> {
    /// Concatenates lists into `n` lists: list `i` of `lists` is appended to list `rows[i]` of the result, in order
    /// of `i`.
    pub(crate) fn concatenated_by_row(n: usize, rows: &[u32], lists: &Self) -> Self {
        let (mut offsets, mut starts) = (zeroed(n + 1), zeroed(n + 1));
        for (&row, list) in rows.iter().zip(lists) {
            offsets[row as usize + 1] += list.len();
            starts[row as usize + 1] += 1;
        }
        for row in 0..n {
            offsets[row + 1] += offsets[row];
            starts[row + 1] += starts[row];
        }
        let (mut next, mut parts) = (starts.clone(), zeroed(rows.len()));
        for (part, &row) in rows.iter().enumerate() {
            parts[next[row as usize]] = part;
            next[row as usize] += 1;
        }
        let mut values = zeroed(offsets[n]);
        for_each(split_tasks(&mut values, &offsets), &|_, (rows, mut own): (Range<usize>, &mut [T])| {
            for &part in &parts[starts[rows.start]..starts[rows.end]] {
                let (to, others) = own.split_at_mut(lists.of(part).len());
                to.copy_from_slice(lists.of(part));
                own = others;
            }
        });
        Self { offsets, values }
    }

    /// Returns the part of each list that `part` selects, given the number of the list and the list.
    pub(crate) fn sublists(&self, part: &(dyn Fn(usize, &[T]) -> Range<usize> + Sync)) -> Self {
        let parts = map(self.len(), TASK, &|list| part(list, self.of(list)));
        let mut offsets = Vec::with_capacity(parts.len() + 1);
        let mut end = 0;
        offsets.push(0);
        offsets.extend(parts.iter().map(|part| {
            end += part.len();
            end
        }));
        let mut values = zeroed(end);
        for_each(split_tasks(&mut values, &offsets), &|_, (lists, mut own): (Range<usize>, &mut [T])| {
            for list in lists {
                let from = &self.of(list)[parts[list].clone()];
                let (to, others) = own.split_at_mut(from.len());
                to.copy_from_slice(from);
                own = others;
            }
        });
        Self { offsets, values }
    }

    /// Maps each value; the lengths of the lists stay the same.
    pub(crate) fn of_values<U: Send>(&self, value: &(dyn Fn(T) -> U + Sync)) -> Csr<U> {
        let values = map(self.values.len(), 1 << 14, &|at| value(self.values[at]));
        Csr { offsets: self.offsets.clone(), values }
    }

    /// Copies the lists with the given numbers, in this order.
    pub(crate) fn selected(&self, rows: &[u32]) -> Self {
        let mut lists = Self::default();
        for &row in rows {
            lists.values.extend_from_slice(self.of(row as usize));
            lists.offsets.push(lists.values.len());
        }
        lists
    }

    /// Replaces list `rows[i]` by list `i` of `lists`; `rows` ascends.
    pub(crate) fn replace(&mut self, rows: &[u32], lists: &Self) {
        if rows.iter().zip(lists).all(|(&row, list)| self.of(row as usize).len() == list.len()) {
            for (&row, list) in rows.iter().zip(lists) {
                let start = self.offsets[row as usize];
                self.values[start..start + list.len()].copy_from_slice(list);
            }
            return;
        }
        let is_kept = |row: usize| rows.binary_search(&(row as u32)).is_err();
        let mut kept = self.sublists(&|row, list| 0..if is_kept(row) { list.len() } else { 0 });
        let n = self.len();
        kept.append(lists);
        let of: Vec<u32> = crate::memory::collected((0..n as u32).chain(rows.iter().copied()));
        *self = Self::concatenated_by_row(n, &of, &kept);
    }

    /// Appends other lists.
    pub(crate) fn append(&mut self, other: &Self) {
        let start = self.values.len();
        self.offsets.extend(other.offsets.iter().skip(1).map(|offset| start + offset));
        self.values.extend_from_slice(&other.values);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    #[cfg(feature = "distributed")]
    fn lists_joined_and_cut() {
        let mut lists = Csr::from_parts(vec![0, 2, 2], vec![5, 3]);
        lists.append(&Csr::from_parts(vec![0, 1, 4], vec![9, 1, 2, 7]));
        assert_eq!(lists, Csr::from_parts(vec![0, 2, 2, 3, 6], vec![5, 3, 9, 1, 2, 7]));
        let joined = Csr::concatenated_by_row(4, &[2, 0, 2, 1], &lists);
        assert_eq!(joined, Csr::from_parts(vec![0, 0, 3, 6, 6], vec![1, 2, 7, 5, 3, 9]));
        assert_eq!(
            joined.sublists(&|list, of| list.min(of.len())..of.len()).into_parts(),
            (vec![0, 0, 2, 3, 3], vec![2, 7, 9])
        );
        assert_eq!(joined.selected(&[2, 0, 1]), Csr::from_parts(vec![0, 3, 3, 6], vec![5, 3, 9, 1, 2, 7]));
        assert_eq!(joined.selected(&[]), Csr::default());
        let mut replaced = joined.clone();
        replaced.replace(&[1, 2], &Csr::from_parts(vec![0, 3, 6], vec![0, 1, 2, 3, 4, 5]));
        assert_eq!(replaced, Csr::from_parts(vec![0, 0, 3, 6, 6], vec![0, 1, 2, 3, 4, 5]));
        replaced.replace(&[0, 2], &Csr::from_parts(vec![0, 1, 3], vec![9, 8, 7]));
        assert_eq!(replaced, Csr::from_parts(vec![0, 1, 4, 6, 6], vec![9, 0, 1, 2, 8, 7]));
        assert_eq!(joined.of_values(&|value| 2 * value).of(2), [10, 6, 18]);
        assert_eq!(Csr::<u8>::concatenated_by_row(0, &[], &Csr::default()), Csr::default());
        // More rows than a task, in reverse order.
        let n = 3 * TASK as u32 + 5;
        let one = Csr::from_parts((0..=n as usize).collect(), (0..n).collect::<Vec<u32>>());
        let rows: Vec<u32> = (0..n).rev().collect();
        assert!(Csr::concatenated_by_row(n as usize, &rows, &one).values() == rows);
        assert!(one.sublists(&|_, _| 0..1) == one);
    }

    #[test]
    fn lists_too_large_for_memory() {
        // Sizes that overflow, and sizes beyond the address space.
        for (n, length) in [(usize::MAX, 3), (usize::MAX / 2 + 1, 2), (1 << 40, 1 << 16)] {
            // The compiler removes allocations that are not used, so `fill` uses it.
            let fill = |rows: &RowWriter<'_, u64>| panic!("there is no memory to fill at {:p}", rows.start);
            let error = Csr::<u64>::from_rows(n, length, fill).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Memory);
            assert!(error.to_string().contains(&n.to_string()), "{error}");
        }
    }
}

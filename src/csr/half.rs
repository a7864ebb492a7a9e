//! Half lists, which store each pair once, and their expansion to full lists.
//!
//! Input: full lists of neighbours, or half lists. Output: half lists or full lists, each in ascending order.
//! In half lists, the point with the lower index of a pair lists the other one.
//! Cost: two passes over the lists, and a sort of each list.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::{Csr, TASK, split_tasks};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::{with_capacity, zeroed};
use crate::parallel::{atomics, for_each, for_tasks, map, map_tasks, plain, shared};

impl Csr<u32> {
    /// Expands half lists to full lists: list `i` of the result holds each point that forms a pair with point `i`, in
    /// ascending order.
    ///
    /// Half lists are those of [`Bvh::half_neighbors`](crate::Bvh::half_neighbors). The full lists are those of
    /// [`Bvh::neighbors`](crate::Bvh::neighbors) in ascending order, without the points themselves.
    ///
    /// ```
    /// let bvh = ropewalk::Bvh::build(&[[0.0f32], [5.0], [1.0]])?;
    /// let lists = bvh.half_neighbors(4.0).symmetric()?;
    /// assert_eq!(lists.into_parts(), (vec![0, 1, 2, 4], vec![2, 2, 0, 1]));
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a list is not ascending, or holds an index that is not above the number of the list or not below the number
    /// of lists.
    ///
    /// # Cost
    /// Two passes over the lists, and a sort of each list. Memory: 8 bytes per pair and 12 per list.
    pub fn symmetric(&self) -> Result<Self> {
        self.check_half()?;
        let n = self.len();
        let below = atomics(n, 0);
        for_tasks(n, TASK, &|lists| {
            for &j in &self.values[self.offsets[lists.start]..self.offsets[lists.end]] {
                below[j as usize].fetch_add(1, Relaxed);
            }
        });
        let offsets = offsets_of(n, |i| below[i].load(Relaxed) as usize + self.of(i).len());

        let values = shared(zeroed(offsets[n]));
        for_tasks(n, TASK, &|lists| {
            for i in lists {
                for &j in self.of(i) {
                    let slot = below[j as usize].fetch_sub(1, Relaxed) as usize - 1;
                    values[offsets[j as usize] + slot].store(i as u32, Relaxed);
                }
            }
        });
        let mut values = plain(values);
        for_each(split_tasks(&mut values, &offsets), &|_, (lists, mut own): (Range<usize>, &mut [u32])| {
            for list in lists {
                let (all, others) = own.split_at_mut(offsets[list + 1] - offsets[list]);
                let (below, above) = all.split_at_mut(all.len() - self.of(list).len());
                // Threads have written the lower indices in any order.
                below.sort_unstable();
                above.copy_from_slice(self.of(list));
                own = others;
            }
        });
        Ok(Self { offsets, values })
    }

    /// Returns an error if these are not half lists.
    pub(crate) fn check_half(&self) -> Result<()> {
        let n = self.len();
        let fault = |i: usize| {
            let mut last = i as u32;
            self.of(i).iter().find(|&&j| {
                let fits = j > last && (j as usize) < n;
                last = j;
                !fits
            })
        };
        let faults = map_tasks(n, TASK, &|lists| lists.into_iter().find_map(|i| Some((i, *fault(i)?))));
        match faults.into_iter().flatten().next() {
            None => Ok(()),
            Some((i, j)) => {
                let sentence = format!(
                    "{j} in list {i} of {n}; half lists must hold ascending indices between the number of the list and \
                     the number of lists"
                );
                Err(Error::new(ErrorKind::Input, sentence))
            }
        }
    }

    /// Returns the entries above the number of their list, in ascending order.
    pub(crate) fn upper_half(&self) -> Self {
        let above = |i: usize| self.of(i).iter().copied().filter(move |&j| j as usize > i);
        let lengths = map(self.len(), TASK, &|i| above(i).count());
        let offsets = offsets_of(self.len(), |i| lengths[i]);
        let mut values = zeroed(offsets[self.len()]);
        for_each(split_tasks(&mut values, &offsets), &|_, (lists, mut own): (Range<usize>, &mut [u32])| {
            for list in lists {
                let (to, others) = own.split_at_mut(lengths[list]);
                to.iter_mut().zip(above(list)).for_each(|(slot, j)| *slot = j);
                to.sort_unstable();
                own = others;
            }
        });
        Self { offsets, values }
    }
}

/// Returns the offsets of `n` lists of the given lengths.
fn offsets_of(n: usize, length: impl Fn(usize) -> usize) -> Vec<usize> {
    let mut offsets = with_capacity(n + 1);
    let mut end = 0;
    offsets.push(end);
    offsets.extend((0..n).map(|i| {
        end += length(i);
        end
    }));
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_are_not_half_lists() {
        let fails = |offsets: &[usize], values: &[u32], words: &str| {
            let lists = Csr::from_parts(offsets.to_vec(), values.to_vec());
            let error = lists.symmetric().unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        };
        fails(&[0, 1, 1], &[0], "0 in list 0 of 2");
        fails(&[0, 1, 2], &[1, 0], "0 in list 1 of 2");
        fails(&[0, 1, 1], &[2], "2 in list 0 of 2");
        fails(&[0, 2, 2, 2], &[2, 1], "1 in list 0 of 3");
        fails(&[0, 2, 2, 2], &[2, 2], "2 in list 0 of 3");
        assert_eq!(Csr::default().symmetric().unwrap(), Csr::default());
    }
}

//! Moves rows between ranks, and sends answers back.
//!
//! In: the target rank of each row. Out: a route, along which columns are sent. Rows arrive in the order of the ranks
//! that they come from, and rows of one rank in that rank's order. Answers return to the position of their row.
//! Cost: 4 bytes per row; for each column sent, a copy of it in rank order.

use bytemuck::Pod;

use crate::csr::Csr;
use crate::distributed::communicator::{Communicator, exchange, exchange_known, received};
use crate::error::Result;
use crate::memory::zeroed;
use crate::parallel::map;

/// Rows per parallel task.
const TASK: usize = 1 << 14;

/// The rows that a rank sends, and the numbers of rows that it sends to and receives from each rank.
#[derive(Debug)]
pub(crate) struct Route {
    /// The rows that are sent, ordered by target rank.
    rows: Vec<u32>,
    sent: Vec<usize>,
    received: Vec<usize>,
}

impl Route {
    /// Sends each row to one rank. Collective.
    pub fn to_one(ranks: &dyn Communicator, to: &[u32]) -> Result<Self> {
        let mut sent = vec![0; ranks.size()];
        to.iter().for_each(|&rank| sent[rank as usize] += 1);
        let mut next = Vec::with_capacity(sent.len());
        let mut end = 0;
        for count in &sent {
            next.push(end);
            end += count;
        }
        let mut rows = zeroed(to.len());
        for (row, &rank) in (0..).zip(to) {
            rows[next[rank as usize]] = row;
            next[rank as usize] += 1;
        }
        let received = received(ranks, &sent)?;
        Ok(Self { rows, sent, received })
    }

    /// Sends each rank a list of rows; a row may go to several ranks, or to none. Collective.
    pub fn from_lists(ranks: &dyn Communicator, lists: &[Vec<u32>]) -> Result<Self> {
        let sent: Vec<usize> = lists.iter().map(Vec::len).collect();
        let received = received(ranks, &sent)?;
        Ok(Self { rows: lists.concat(), sent, received })
    }

    /// Requests rows from other ranks: `counts[rank]` consecutive entries of `rows` from each rank. [`Route::send`]
    /// then returns a value for each entry, in this order. Collective.
    pub fn requested(ranks: &dyn Communicator, rows: &[u32], counts: &[usize]) -> Result<Self> {
        let asked = exchange(ranks, rows, counts)?;
        let sent = asked.iter().map(<[u32]>::len).collect();
        let (_, rows) = asked.into_parts();
        Ok(Self { rows, sent, received: counts.to_vec() })
    }

    /// Returns the global index of each row that arrives. `starts` holds the global index of each rank's first row.
    /// Collective.
    pub fn global_indices(&self, ranks: &dyn Communicator, starts: &[u64]) -> Result<Vec<u64>> {
        let rows = exchange_known(ranks, &self.rows, &self.sent, &self.received)?;
        let first = starts.iter().zip(&self.received).flat_map(|(&start, &count)| std::iter::repeat_n(start, count));
        Ok(rows.into_iter().zip(first).map(|(row, first)| first + u64::from(row)).collect())
    }

    /// Returns the number of rows sent to each rank.
    pub fn sent(&self) -> &[usize] {
        &self.sent
    }

    /// Returns the number of rows received from each rank.
    pub fn received(&self) -> &[usize] {
        &self.received
    }

    /// Returns the rows that are sent, ordered by target rank.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Sends a column and returns the values that arrive. Collective.
    pub fn send<T: Pod + Send + Sync>(&self, ranks: &dyn Communicator, column: &[T]) -> Result<Vec<T>> {
        self.send_packed(ranks, &map(self.rows.len(), TASK, &|at| column[self.rows[at] as usize]))
    }

    /// Sends `values`, one for each of [`Route::rows`], and returns the values that arrive. Collective.
    pub fn send_packed<T: Pod>(&self, ranks: &dyn Communicator, values: &[T]) -> Result<Vec<T>> {
        exchange_known(ranks, values, &self.sent, &self.received)
    }

    /// Sends back a value for each row that arrived. Returns a value for each row sent, in the order of
    /// [`Route::rows`]. Collective.
    pub fn answer<T: Pod>(&self, ranks: &dyn Communicator, answers: &[T]) -> Result<Vec<T>> {
        exchange_known(ranks, answers, &self.received, &self.sent)
    }

    /// Sends back a value for each row that arrived. Returns a column indexed by row; each row must have been sent
    /// once. Collective.
    pub fn send_back<T: Pod>(&self, ranks: &dyn Communicator, answers: &[T]) -> Result<Vec<T>> {
        let packed = self.answer(ranks, answers)?;
        let mut column = zeroed(self.rows.len());
        for (&row, value) in self.rows.iter().zip(packed) {
            column[row as usize] = value;
        }
        Ok(column)
    }

    /// Sends back a list for each row that arrived. Returns a list for each row sent, in the order of
    /// [`Route::rows`]. Collective.
    pub fn answer_lists<T: Pod>(&self, ranks: &dyn Communicator, lists: &Csr<T>) -> Result<Csr<T>> {
        let lengths: Vec<u64> = lists.iter().map(|list| list.len() as u64).collect();
        let lengths = self.answer(ranks, &lengths)?;
        let mut end = 0;
        let mut offsets = Vec::with_capacity(lengths.len() + 1);
        offsets.push(0);
        offsets.extend(lengths.iter().map(|&length| {
            end += length as usize;
            end
        }));
        let sent = stretches(lists.offsets(), &self.received);
        let values = exchange_known(ranks, lists.values(), &sent, &stretches(&offsets, &self.sent))?;
        Ok(Csr::from_parts(offsets, values))
    }

    /// Sends back a list for each row that arrived. Returns lists indexed by row; each row must have been sent once.
    /// Collective.
    pub fn send_back_lists<T: Pod + Send + Sync>(&self, ranks: &dyn Communicator, lists: &Csr<T>) -> Result<Csr<T>> {
        Ok(Csr::concatenated_by_row(self.rows.len(), &self.rows, &self.answer_lists(ranks, lists)?))
    }
}

/// Returns the number of values in each group of consecutive lists; `counts` holds the number of lists of each group.
fn stretches(offsets: &[usize], counts: &[usize]) -> Vec<usize> {
    let mut first = 0;
    let of = |&count: &usize| {
        let start = first;
        first += count;
        offsets[first] - offsets[start]
    };
    counts.iter().map(of).collect()
}

//! Rows that move between ranks, and answers that come back.
//!
//! In: for each row the rank that it goes to. Out: a route, along which columns are sent: the rows that arrive are in the order of the ranks
//! that they come from, and of each rank in that rank's order. What is sent back arrives where its row was.
//! Cost: 4 bytes a row; for each column sent, a copy of it in the order of the ranks.

use bytemuck::Pod;

use crate::csr::Csr;
use crate::distributed::communicator::{Communicator, exchange, exchange_known, received};
use crate::error::Result;
use crate::memory::zeroed;
use crate::parallel::map;

/// Rows per parallel task.
const TASK: usize = 1 << 14;

/// Where rows go, and how many come.
#[derive(Debug)]
pub(crate) struct Route {
    /// The rows that are sent, in the order of the ranks they go to.
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
    pub fn of_lists(ranks: &dyn Communicator, lists: &[Vec<u32>]) -> Result<Self> {
        let sent: Vec<usize> = lists.iter().map(Vec::len).collect();
        let received = received(ranks, &sent)?;
        Ok(Self { rows: lists.concat(), sent, received })
    }

    /// Asks each rank for rows of its own, `counts` from each: what [`Route::send`] brings is a value for each in this order. Collective.
    pub fn requested(ranks: &dyn Communicator, rows: &[u32], counts: &[usize]) -> Result<Self> {
        let asked = exchange(ranks, rows, counts)?;
        let sent = asked.iter().map(<[u32]>::len).collect();
        let (_, rows) = asked.into_parts();
        Ok(Self { rows, sent, received: counts.to_vec() })
    }

    /// The global index of each row that arrives, where those of each rank begin at `starts`. Collective.
    pub fn global_indices(&self, ranks: &dyn Communicator, starts: &[u64]) -> Result<Vec<u64>> {
        let rows = exchange_known(ranks, &self.rows, &self.sent, &self.received)?;
        let first = starts.iter().zip(&self.received).flat_map(|(&start, &count)| std::iter::repeat_n(start, count));
        Ok(rows.into_iter().zip(first).map(|(row, first)| first + u64::from(row)).collect())
    }

    /// How many rows go to each rank.
    pub fn sent(&self) -> &[usize] {
        &self.sent
    }

    /// How many rows come from each rank.
    pub fn received(&self) -> &[usize] {
        &self.received
    }

    /// The rows that are sent, in the order of the ranks they go to.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Sends a column: what arrives. Collective.
    pub fn send<T: Pod + Send + Sync>(&self, ranks: &dyn Communicator, column: &[T]) -> Result<Vec<T>> {
        self.send_packed(ranks, &map(self.rows.len(), TASK, &|at| column[self.rows[at] as usize]))
    }

    /// Sends values that are one for each of [`Route::rows`]. Collective.
    pub fn send_packed<T: Pod>(&self, ranks: &dyn Communicator, values: &[T]) -> Result<Vec<T>> {
        exchange_known(ranks, values, &self.sent, &self.received)
    }

    /// Sends a value back for each row that has arrived: one for each row that was sent, in the order of [`Route::rows`]. Collective.
    pub fn answer<T: Pod>(&self, ranks: &dyn Communicator, answers: &[T]) -> Result<Vec<T>> {
        exchange_known(ranks, answers, &self.received, &self.sent)
    }

    /// The same, put at the places of the rows, of which each was sent once. Collective.
    pub fn send_back<T: Pod>(&self, ranks: &dyn Communicator, answers: &[T]) -> Result<Vec<T>> {
        let packed = self.answer(ranks, answers)?;
        let mut column = zeroed(self.rows.len());
        for (&row, value) in self.rows.iter().zip(packed) {
            column[row as usize] = value;
        }
        Ok(column)
    }

    /// Sends a list back for each row that has arrived: one for each row that was sent, in the order of [`Route::rows`]. Collective.
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

    /// The same, put at the places of the rows, of which each was sent once. Collective.
    pub fn send_back_lists<T: Pod + Send + Sync>(&self, ranks: &dyn Communicator, lists: &Csr<T>) -> Result<Csr<T>> {
        Ok(Csr::joined(self.rows.len(), &self.rows, &self.answer_lists(ranks, lists)?))
    }
}

/// How many values are in so many lists each.
fn stretches(offsets: &[usize], counts: &[usize]) -> Vec<usize> {
    let mut first = 0;
    let of = |&count: &usize| {
        let start = first;
        first += count;
        offsets[first] - offsets[start]
    };
    counts.iter().map(of).collect()
}

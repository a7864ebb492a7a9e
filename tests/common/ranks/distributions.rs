//! Distributions of points over ranks, in contiguous ranges.

use std::ops::Range;

use ropewalk::distributed::Communicator;

use crate::random::Random;

/// A distribution of points over ranks.
#[derive(Clone, Copy, Debug)]
pub enum Distribution {
    /// Equal numbers.
    Even,
    /// Unequal numbers.
    Uneven,
    /// All points on the first rank.
    First,
    /// No points on the second rank, if there are several.
    OneEmpty,
}

/// Returns all distributions.
pub fn distributions() -> [Distribution; 4] {
    [Distribution::Even, Distribution::Uneven, Distribution::First, Distribution::OneEmpty]
}

impl Distribution {
    /// Returns the range of a rank's points.
    pub fn of(self, n: usize, ranks: &dyn Communicator) -> Range<usize> {
        let (rank, size) = (ranks.rank(), ranks.size());
        let start = |rank: usize| match self {
            Self::Even => n * rank / size,
            Self::Uneven => {
                let mut random = Random::new(size as u64);
                let mut starts: Vec<usize> = (1..size).map(|_| random.below(n + 1)).collect();
                starts.extend([0, n]);
                starts.sort_unstable();
                starts[rank]
            }
            Self::First => n * rank.min(1),
            Self::OneEmpty => {
                let parts = (size - 1).max(1);
                n * (if rank < 2 { rank } else { rank - 1 }).min(parts) / parts
            }
        };
        start(rank)..start(rank + 1)
    }
}

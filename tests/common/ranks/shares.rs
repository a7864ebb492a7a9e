//! How points are shared out to ranks, in stretches.

use std::ops::Range;

use ropewalk::distributed::Communicator;

use crate::random::Random;

/// Which points each rank has.
#[derive(Clone, Copy, Debug)]
pub enum Share {
    /// All as many.
    Even,
    /// Any number.
    Uneven,
    /// The first one all.
    First,
    /// The second one, of several, none.
    OneEmpty,
}

/// All of them.
pub fn shares() -> [Share; 4] {
    [Share::Even, Share::Uneven, Share::First, Share::OneEmpty]
}

impl Share {
    /// The points of a rank.
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

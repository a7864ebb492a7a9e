//! The direction in which ranks send ghost points.
//!
//! In: two ranks. Out: whether the first sends its points to the second; the second computes the same without a message.

/// The rule by which one of two ranks, or each, sends its points to the other.
#[derive(Clone, Copy)]
pub(crate) enum Sends {
    /// Both: each has ghosts of the other.
    Both,
    /// One, where it is enough that one of them meets each pair. Each rank is it for about half of the others.
    One,
}

impl Sends {
    pub fn is_from(self, rank: usize, to: usize) -> bool {
        match self {
            _ if rank == to => false,
            Self::Both => true,
            Self::One => (rank < to) != ((rank ^ to) & 1 == 1),
        }
    }
}

//! The rule by which two ranks that are near each other send each other their points.

/// Which of two ranks sends its points to the other.
#[derive(Clone, Copy)]
pub(super) enum Sends {
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

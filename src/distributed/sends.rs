//! The direction in which ranks send ghost points.
//!
//! In: two ranks. Out: `true` if the first sends its points to the second. Both compute this without a message.

/// The rule that decides which of two ranks send points to each other.
#[derive(Clone, Copy)]
pub(crate) enum GhostDirection {
    /// Both ranks send: each has ghosts of the other.
    Both,
    /// One of the two ranks sends, if it suffices that one rank sees each pair of points. Each rank sends to about
    /// half of the others.
    One,
}

impl GhostDirection {
    pub fn is_from(self, rank: usize, to: usize) -> bool {
        match self {
            _ if rank == to => false,
            Self::Both => true,
            Self::One => (rank < to) != ((rank ^ to) & 1 == 1),
        }
    }
}

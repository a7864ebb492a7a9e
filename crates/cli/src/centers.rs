//! The values of `--center`.

use ropewalk_pipeline::CenterKind;

/// The kinds of centres, by their names on the command line.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum CenterArg {
    /// Most bound particle, exact
    Mbp,
    /// Most bound particle by sums over all pairs
    MbpBrute,
    /// Most bound particle by a best-first search on a grid
    MbpAstar,
    /// Most bound particle near the lowest cell of a grid's potential
    MbpPoisson,
    /// Most connected particle
    Mcp,
    /// Centre of mass
    Com,
    /// Centre of mass within a shrinking sphere
    ShrinkingSphere,
}

impl From<CenterArg> for CenterKind {
    fn from(kind: CenterArg) -> Self {
        match kind {
            CenterArg::Mbp => Self::MostBound,
            CenterArg::MbpBrute => Self::MostBoundBrute,
            CenterArg::MbpAstar => Self::MostBoundAStar,
            CenterArg::MbpPoisson => Self::MostBoundPoisson,
            CenterArg::Mcp => Self::MostConnected,
            CenterArg::Com => Self::CenterOfMass,
            CenterArg::ShrinkingSphere => Self::ShrinkingSphere,
        }
    }
}

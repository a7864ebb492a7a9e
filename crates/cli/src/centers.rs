//! The values of `--center`.

use ropewalk_pipeline::CenterKind;

/// The kinds of centres, by their names on the command line.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Kind {
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

impl From<Kind> for CenterKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Mbp => Self::MostBound,
            Kind::MbpBrute => Self::MostBoundBrute,
            Kind::MbpAstar => Self::MostBoundAStar,
            Kind::MbpPoisson => Self::MostBoundPoisson,
            Kind::Mcp => Self::MostConnected,
            Kind::Com => Self::CenterOfMass,
            Kind::ShrinkingSphere => Self::ShrinkingSphere,
        }
    }
}

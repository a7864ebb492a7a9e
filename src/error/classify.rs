//! The kind of each error, and the parameter or the item that it is about.

use crate::error::{ErrorKind, Kind};

impl Kind {
    pub(super) fn kind(&self) -> ErrorKind {
        match self {
            Kind::OfType { error, .. } => error.kind(),
            Kind::NotFinite { .. } | Kind::Velocity { .. } => ErrorKind::NotFinite,
            Kind::TooFar { .. }
            | Kind::Inverted { .. }
            | Kind::Length { .. }
            | Kind::Refit { .. }
            | Kind::Mass { .. }
            | Kind::ColumnLength { .. }
            | Kind::ColumnTaken { .. }
            | Kind::ColumnUnknown { .. }
            | Kind::UnequalColumns { .. }
            | Kind::HaloDimension { .. }
            | Kind::Label { .. }
            | Kind::NoOffsets { .. }
            | Kind::Offsets { .. }
            | Kind::LastOffset { .. }
            | Kind::Member { .. }
            | Kind::MemberTwice { .. }
            | Kind::NoMass { .. }
            | Kind::WeightCount { .. }
            | Kind::FieldValue { .. }
            | Kind::FieldLength { .. }
            | Kind::SourceValue { .. }
            | Kind::Volume { .. }
            | Kind::Weight { .. }
            | Kind::Face { .. }
            | Kind::Changed => ErrorKind::Input,
            Kind::Parameter { .. }
            | Kind::BasisSize { .. }
            | Kind::BoxDimension { .. }
            | Kind::BoxSize { .. }
            | Kind::BoxTooSmall { .. }
            | Kind::Spaces { .. }
            | Kind::UnknownUnit { .. }
            | Kind::UnknownOverdensity { .. }
            | Kind::UnknownFormat { .. }
            | Kind::Twice { .. }
            | Kind::BoxTooNarrow { .. }
            | Kind::UnitNeedsH { .. }
            | Kind::AmbiguousUnits { .. }
            | Kind::NoUnits { .. } => ErrorKind::Parameter,
            #[cfg(feature = "plot")]
            Kind::UnknownSlab { .. } => ErrorKind::Parameter,
            Kind::TooMany { .. }
            | Kind::TooManyFaces { .. }
            | Kind::TooManyClusters { .. }
            | Kind::Dimension { .. }
            | Kind::BinsDimension { .. }
            | Kind::BinsExtent
            | Kind::HopDimension { .. }
            | Kind::Extent { .. } => ErrorKind::Unsupported,
            Kind::Missing { .. } | Kind::NoSeparation { .. } => ErrorKind::Missing,
            Kind::Memory { .. } | Kind::NoMemory { .. } => ErrorKind::Memory,
            Kind::Write { .. } => ErrorKind::Io,
            #[cfg(feature = "distributed")]
            Kind::OnRank { kind, .. } => *kind,
            Kind::Own { kind, .. } => *kind,
            #[cfg(feature = "distributed")]
            Kind::AcrossWeights | Kind::AcrossOption { .. } => ErrorKind::Unsupported,
            #[cfg(feature = "distributed")]
            Kind::AcrossOptions => ErrorKind::Parameter,
            #[cfg(all(feature = "distributed", feature = "gpu"))]
            Kind::AcrossTree { .. } => ErrorKind::Parameter,
            #[cfg(feature = "distributed")]
            Kind::AcrossColumn { .. } => ErrorKind::Input,
            #[cfg(feature = "distributed")]
            Kind::RankGone { .. } => ErrorKind::Rank,
            #[cfg(feature = "mpi")]
            Kind::Mpi(_) => ErrorKind::Rank,
            Kind::Invariant(_) => ErrorKind::Internal,
            Kind::Cancelled => ErrorKind::Cancelled,
            Kind::Radii { .. } | Kind::Radius { .. } => ErrorKind::Parameter,
            #[cfg(feature = "plot")]
            Kind::Picture(_) => ErrorKind::Internal,
            #[cfg(feature = "sample")]
            Kind::Spec { .. } => ErrorKind::Parameter,
            #[cfg(feature = "io")]
            Kind::File { source: Some(error), .. } => match error.kind() {
                std::io::ErrorKind::OutOfMemory => ErrorKind::Memory,
                _ => ErrorKind::Io,
            },
            #[cfg(feature = "io")]
            Kind::File { source: None, .. } => ErrorKind::Format,
            #[cfg(feature = "gpu")]
            Kind::DevicePoints
            | Kind::DeviceLists { .. }
            | Kind::DeviceCenter { .. }
            | Kind::DeviceTies
            | Kind::DeviceRounding
            | Kind::DeviceLoops { .. }
            | Kind::DeviceSmall { .. } => ErrorKind::Unsupported,
            #[cfg(all(feature = "io", feature = "gpu"))]
            Kind::DeviceAdaptaHop => ErrorKind::Unsupported,
            #[cfg(feature = "gpu")]
            Kind::DeviceMemory { .. } => ErrorKind::Memory,
            #[cfg(feature = "gpu")]
            Kind::DeviceValues { .. } | Kind::DeviceRows { .. } | Kind::Devices { .. } => ErrorKind::Input,
            #[cfg(feature = "cuda")]
            Kind::DeviceAddress { .. } => ErrorKind::Input,
            #[cfg(feature = "gpu")]
            Kind::NoDevice { .. } | Kind::Device(_) => ErrorKind::Device,
        }
    }

    pub(super) fn parameter(&self) -> Option<&'static str> {
        match *self {
            Kind::OfType { ref error, .. } => error.parameter(),
            Kind::Radii { .. } | Kind::Radius { .. } => Some("radius"),
            Kind::Parameter { name, .. }
            | Kind::BoxTooSmall { name, .. }
            | Kind::Twice { name, .. }
            | Kind::Missing { name, .. } => Some(name),
            Kind::NoSeparation { .. } => Some("linking_length"),
            Kind::BasisSize { .. } => Some("neighbors"),
            _ => None,
        }
    }

    pub(super) fn index(&self) -> Option<usize> {
        match *self {
            Kind::OfType { ref error, .. } => error.index(),
            Kind::NotFinite { index, .. }
            | Kind::TooFar { index, .. }
            | Kind::Inverted { index, .. }
            | Kind::Mass { index, .. }
            | Kind::NoMass { index, .. }
            | Kind::Velocity { index, .. }
            | Kind::FieldValue { index }
            | Kind::SourceValue { index, .. }
            | Kind::Volume { index, .. }
            | Kind::Radius { index, .. }
            | Kind::Weight { index, .. }
            | Kind::Face { index, .. } => Some(index),
            Kind::Label { point, .. } => Some(point),
            Kind::MemberTwice { point, .. } => Some(point as usize),
            Kind::Offsets { halo, .. } | Kind::Member { halo, .. } => Some(halo),
            _ => None,
        }
    }
}

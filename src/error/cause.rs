//! What went wrong, with the numbers that its sentence has.

#[cfg(feature = "io")]
use std::path::PathBuf;

use crate::error::{Error, ErrorKind};

#[derive(Debug)]
#[allow(dead_code, reason = "what only some features refuse")]
pub(crate) enum Kind {
    /// An error about a particle, with its index among the particles of its type.
    OfType {
        particle_type: u8,
        error: Error,
    },
    NotFinite {
        index: usize,
        axis: usize,
        value: f64,
    },
    TooFar {
        index: usize,
        axis: usize,
        value: f64,
        limit: f64,
    },
    Inverted {
        index: usize,
        axis: usize,
        lo: f64,
        hi: f64,
    },
    #[cfg(feature = "gpu")]
    NoDevice {
        what: &'static str,
        index: usize,
        found: usize,
    },
    #[cfg(feature = "gpu")]
    DevicePoints,
    #[cfg(feature = "gpu")]
    DeviceLists {
        values: u64,
    },
    #[cfg(feature = "gpu")]
    DeviceMemory {
        bytes: u128,
        most: u64,
    },
    #[cfg(feature = "gpu")]
    DeviceCenter {
        center: String,
    },
    #[cfg(feature = "gpu")]
    DeviceTies,
    #[cfg(feature = "gpu")]
    DeviceRounding,
    #[cfg(feature = "gpu")]
    DeviceLoops {
        what: &'static str,
    },
    #[cfg(feature = "gpu")]
    DeviceSmall {
        value: f64,
    },
    #[cfg(all(feature = "io", feature = "gpu"))]
    DeviceAdaptaHop,
    #[cfg(feature = "gpu")]
    Devices {
        what: [&'static str; 2],
        on: [String; 2],
    },
    #[cfg(feature = "gpu")]
    DeviceValues {
        len: usize,
        n: usize,
        what: &'static str,
    },
    #[cfg(feature = "gpu")]
    DeviceRows {
        len: usize,
        dim: usize,
    },
    #[cfg(feature = "cuda")]
    DeviceAddress {
        address: u64,
        bytes: u64,
        index: usize,
        found: String,
    },
    #[cfg(feature = "gpu")]
    Device(String),
    TooManyClusters {
        clusters: usize,
        max: usize,
    },
    TooMany {
        n: usize,
        max: usize,
    },
    TooManyFaces {
        n: usize,
        max: usize,
    },
    Face {
        index: usize,
        vertex: u32,
        vertices: usize,
    },
    Dimension {
        dim: usize,
    },
    BinsDimension {
        dim: usize,
    },
    BinsExtent,
    HopDimension {
        dim: usize,
    },
    Extent {
        what: &'static str,
    },
    BasisSize {
        k: usize,
        basis: usize,
        degree: usize,
        dim: usize,
    },
    FieldLength {
        len: usize,
        sources: usize,
    },
    SourceValue {
        index: usize,
        value: f64,
    },
    Volume {
        index: usize,
        volume: f64,
    },
    FieldValue {
        index: usize,
    },
    Parameter {
        name: &'static str,
        value: f64,
        must: &'static str,
    },
    BoxDimension {
        sides: usize,
        dim: usize,
    },
    BoxSize {
        axis: usize,
        size: f64,
        limit: f64,
    },
    BoxTooSmall {
        axis: usize,
        size: f64,
        name: &'static str,
        length: f64,
    },
    Length {
        what: &'static str,
        len: usize,
        points: usize,
    },
    Refit {
        len: usize,
        points: usize,
    },
    Mass {
        index: usize,
        mass: f64,
    },
    ColumnLength {
        name: String,
        len: usize,
        halos: usize,
    },
    ColumnTaken {
        name: String,
    },
    ColumnUnknown {
        name: String,
        known: String,
    },
    Label {
        point: usize,
        label: i32,
        points: usize,
    },
    NoOffsets {
        count: usize,
    },
    Offsets {
        halo: usize,
        start: usize,
        end: usize,
    },
    LastOffset {
        end: usize,
        members: usize,
    },
    Member {
        halo: usize,
        point: u32,
        points: usize,
    },
    MemberTwice {
        point: u32,
        first: usize,
        halo: usize,
    },
    NoMass {
        index: usize,
        mass: f64,
    },
    Velocity {
        index: usize,
        axis: usize,
        value: f64,
    },
    Spaces {
        what: &'static str,
        of: String,
        other_what: &'static str,
        other_of: String,
    },
    UnknownOverdensity {
        text: String,
    },
    #[cfg(feature = "plot")]
    UnknownSlab {
        text: String,
    },
    Twice {
        name: &'static str,
        value: String,
    },
    Missing {
        name: &'static str,
        message: String,
    },
    NoSeparation {
        volume: f64,
    },
    HaloDimension {
        what: &'static str,
        dim: usize,
    },
    BoxTooNarrow {
        what: &'static str,
        side: f64,
        axis: usize,
        lo: f64,
        hi: f64,
        outside: u64,
        points: u64,
    },
    UnequalColumns {
        name: String,
        len: usize,
        first: usize,
    },
    Write {
        source: std::io::Error,
    },
    #[cfg(feature = "plot")]
    Picture(String),
    WeightCount {
        weights: usize,
        n: usize,
    },
    Weight {
        index: usize,
        value: f64,
    },
    UnknownUnit {
        what: &'static str,
        text: String,
        known: &'static str,
    },
    UnknownFormat {
        text: String,
        known: String,
    },
    UnitNeedsH {
        unit: String,
    },
    AmbiguousUnits {
        first: String,
        second: String,
    },
    NoUnits {
        /// The mass of the particles over the one expected in the box, in these units.
        share: f64,
        units: String,
        omega_m: f64,
    },
    #[cfg(feature = "distributed")]
    OnRank {
        rank: usize,
        kind: ErrorKind,
        message: String,
    },
    #[cfg(feature = "distributed")]
    AcrossWeights,
    #[cfg(feature = "distributed")]
    AcrossOption {
        what: &'static str,
    },
    #[cfg(feature = "distributed")]
    AcrossOptions,
    #[cfg(all(feature = "distributed", feature = "gpu"))]
    AcrossTree {
        points: usize,
        domain: usize,
    },
    #[cfg(feature = "distributed")]
    AcrossColumn {
        what: &'static str,
    },
    #[cfg(feature = "distributed")]
    RankGone {
        rank: usize,
    },
    #[cfg(feature = "mpi")]
    Mpi(String),
    Own {
        kind: ErrorKind,
        sentence: String,
    },
    Invariant(String),
    Changed,
    Cancelled,
    Radii {
        len: usize,
        centers: usize,
    },
    Radius {
        index: usize,
        radius: f64,
    },
    #[cfg(feature = "sample")]
    Spec {
        spec: String,
        message: String,
    },
    NoMemory {
        bytes: u128,
    },
    Memory {
        n: usize,
        what: &'static str,
        bytes: u128,
    },
    #[cfg(feature = "io")]
    File {
        path: PathBuf,
        message: String,
        source: Option<std::io::Error>,
    },
}

impl Kind {
    /// Of a coordinate that is not finite, or beyond `limit`.
    pub(crate) fn coordinate(index: usize, axis: usize, value: f64, limit: f64) -> Self {
        if value.is_finite() {
            Self::TooFar { index, axis, value, limit }
        } else {
            Self::NotFinite { index, axis, value }
        }
    }
}

//! The one error type: a sentence a user can act on, with the numbers in it.

#[cfg(feature = "io")]
use std::path::PathBuf;

/// What went wrong: a sentence for people, which is what it prints, and for programs an [`ErrorKind`] and often an index.
///
/// Where the operating system refused a file, its own error is the [`source`](std::error::Error::source).
///
/// ```
/// use ropewalk::{Bvh, ErrorKind};
///
/// // A program can leave out what cannot be stored, and try again.
/// let mut points = vec![[0.0f32, 1.0], [f32::NAN, 2.0], [3.0, 4.0]];
/// let bvh = loop {
///     match Bvh::build(&points) {
///         Ok(bvh) => break bvh,
///         Err(error) if error.kind() == ErrorKind::NotFinite => {
///             let Some(index) = error.index() else { return Err(error) };
///             assert_eq!(error.to_string(), "point 1: coordinate 0 is NaN; coordinates must be finite");
///             points.remove(index);
///         }
///         Err(error) => return Err(error),
///     }
/// };
/// assert_eq!(bvh.len(), 2);
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Kind>);

/// What sort of error an [`Error`] is, for a program to choose by. More may be added.
///
/// ```
/// use ropewalk::{Bvh, ErrorKind, Fof};
///
/// let points = [[0.0f32, 1.0]];
/// assert_eq!(Fof::new(-1.0).run(&points).unwrap_err().kind(), ErrorKind::Parameter);
/// assert_eq!(Bvh::build(&[[0.0f32; 11]]).unwrap_err().kind(), ErrorKind::Unsupported);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A coordinate is NaN or infinite; [`Error::index`] says which point's.
    NotFinite,
    /// Other data are refused: a box upside down, a negative mass, labels that are not one per point. [`Error::index`] says
    /// which item, if it is one.
    Input,
    /// An option is out of its range, by itself or for these data.
    Parameter,
    /// The data are sound, but more than this crate, this algorithm or this device can take.
    Unsupported,
    /// There is not enough memory, here or on a device.
    Memory,
    /// The operating system refuses a file; its error is the source.
    Io,
    /// A file does not hold what it should.
    Format,
    /// A device is missing, or fails.
    Device,
    /// A bug, of this crate or of what it is built on.
    Internal,
}

impl Error {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind()
    }

    /// The item it is about: a point or particle as the caller counts them, or a halo, from 0. `None` if it is about no one
    /// item.
    pub fn index(&self) -> Option<usize> {
        self.0.index()
    }
}

/// The crate's results.
pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
#[allow(dead_code, reason = "what only some features refuse")]
pub(crate) enum Kind {
    #[error("point {index}: coordinate {axis} is {value}; coordinates must be finite", value = Number(*value))]
    NotFinite { index: usize, axis: usize, value: f64 },
    #[error(
        "point {index}: coordinate {axis} is {value}; beyond {limit:e} squared distances overflow, so rescale the data",
        value = Number(*value)
    )]
    TooFar { index: usize, axis: usize, value: f64, limit: f64 },
    #[error(
        "item {index}: its box runs from {lo} down to {hi} along axis {axis}; lower corners must not exceed upper ones",
        lo = Number(*lo), hi = Number(*hi)
    )]
    Inverted { index: usize, axis: usize, lo: f64, hi: f64 },
    #[cfg(any(feature = "cuda", feature = "vulkan"))]
    #[error("there is no {what} device {index}: {found} were found")]
    NoDevice { what: &'static str, index: usize, found: usize },
    #[cfg(any(feature = "cuda", feature = "vulkan"))]
    #[error("points have {dim} dimensions; trees on a device have 2 or 3")]
    DeviceDimension { dim: usize },
    #[cfg(any(feature = "cuda", feature = "vulkan"))]
    #[error("the tree is over boxes; trees on a device are over points")]
    DevicePoints,
    #[cfg(any(feature = "cuda", feature = "vulkan"))]
    #[error(
        "{values} neighbours are too many for lists on a device, which hold at most 4294967295; ask for less at a time"
    )]
    DeviceLists { values: u64 },
    #[cfg(any(feature = "cuda", feature = "vulkan"))]
    #[error("a buffer of {bytes} bytes is needed; this device's have at most {most}. Use less at a time, or the CPU")]
    DeviceMemory { bytes: u128, most: u64 },
    #[cfg(any(feature = "cuda", feature = "vulkan"))]
    #[error("the {k} nearest are asked for; a device finds at most {most}")]
    DeviceNearest { k: usize, most: usize },
    #[cfg(any(feature = "cuda", feature = "vulkan"))]
    #[error("on a device, centres are most bound or most connected particles (MostBound, MostConnected), not {center}")]
    DeviceCenter { center: String },
    #[cfg(any(feature = "cuda", feature = "vulkan"))]
    #[error("the points are on {points}, the halos on {halos}; they must be on the same device")]
    Devices { points: String, halos: String },
    #[cfg(any(feature = "cuda", feature = "vulkan"))]
    #[error("there are {len} values for {n} {what}; there must be one each")]
    DeviceValues { len: usize, n: usize, what: &'static str },
    #[cfg(any(feature = "cuda", feature = "vulkan"))]
    #[error("the device failed: {0}")]
    Device(String),
    #[error("there are {clusters} clusters; labels are 32-bit numbers, so at most {max} can be told apart")]
    TooManyClusters { clusters: usize, max: usize },
    #[error("{n} points are too many: indices are 32 bits, so at most {max} points fit one tree")]
    TooMany { n: usize, max: usize },
    #[error("{dim} dimensions: points may have 1 to 10")]
    Dimension { dim: usize },
    #[error("{dim} dimensions: bins are for points of 1 to 3; the tree takes up to 10 (FofAlgorithm::Tree)")]
    BinsDimension { dim: usize },
    #[error("bins are for points, and these primitives have an extent; the tree takes them (FofAlgorithm::Tree)")]
    BinsExtent,
    #[error("{name} is {value}; it must be {must}", value = Number(*value))]
    Parameter { name: &'static str, value: f64, must: &'static str },
    #[error("the periodic box has {sides} sides but the points have {dim} dimensions")]
    BoxDimension { sides: usize, dim: usize },
    #[error("the periodic box is {size} along axis {axis}; it must be positive and at most {limit:e}", size = Number(*size))]
    BoxSize { axis: usize, size: f64, limit: f64 },
    #[error(
        "the periodic box is {size} along axis {axis}, less than twice {name} = {length}: a point could meet two images of \
         another",
        size = Number(*size), length = Number(*length)
    )]
    BoxTooSmall { axis: usize, size: f64, name: &'static str, length: f64 },
    #[error("there are {len} {what} for {points} particles; there must be one each")]
    Length { what: &'static str, len: usize, points: usize },
    #[error("particle {index}: its mass is {mass}; masses must be finite and not negative", mass = Number(*mass))]
    Mass { index: usize, mass: f64 },
    #[error("column {name} has {len} values for {halos} halos; there must be one each")]
    ColumnLength { name: String, len: usize, halos: usize },
    #[error("there is a column {name} already")]
    ColumnTaken { name: String },
    #[error("there is no column {name}; there are {known}")]
    ColumnUnknown { name: String, known: String },
    #[error("point {point} has the label {label}; of {points} points labels must be less than that")]
    Label { point: usize, label: i32, points: usize },
    #[error(
        "the members of halos are told by {count} offsets; there must be one more than there are halos, the first of them 0"
    )]
    NoOffsets { count: usize },
    #[error("halo {halo} begins at member {start} and ends at {end}; offsets must ascend, for each halo has members")]
    Offsets { halo: usize, start: usize, end: usize },
    #[error("the last offset is {end}, but there are {members} members")]
    LastOffset { end: usize, members: usize },
    #[error("halo {halo} has point {point} for a member, but there are {points} points, counted from 0")]
    Member { halo: usize, point: u32, points: usize },
    #[error("point {point} is a member of halo {first} and again of halo {halo}; a point has one halo at most")]
    MemberTwice { point: u32, first: usize, halo: usize },
    #[error("particle {index}: its mass is {mass}; the centre of a halo takes masses that are finite and positive", mass = Number(*mass))]
    NoMass { index: usize, mass: f64 },
    #[error("{what} {of}, but {other_what} {other_of}: both must be the same space")]
    Spaces { what: &'static str, of: String, other_what: &'static str, other_of: String },
    #[cfg(feature = "plot")]
    #[error("the picture could not be made: {0}")]
    Picture(String),
    #[error("there are {weights} weights for {n} points; there must be one each")]
    WeightCount { weights: usize, n: usize },
    #[error("the weight of point {index} is {value}; weights must be finite and not negative", value = Number(*value))]
    Weight { index: usize, value: f64 },
    #[error("`{text}` is no unit of {what}; it may be {known}")]
    UnknownUnit { what: &'static str, text: String, known: &'static str },
    #[error("{unit} needs the Hubble constant h, which is not known")]
    UnitNeedsH { unit: String },
    #[error("{first} fit the mean density of matter, and so do {second}: both are possible")]
    AmbiguousUnits { first: String, second: String },
    #[error(
        "no usual units fit: matter has a mean density of {density:e}, which for omega_m = {omega_m} is {expected:e} in 1e10 Msun/h \
         and comoving Mpc/h, and more or less by a known factor in kpc, Msun or without h"
    )]
    NoUnits { density: f64, omega_m: f64, expected: f64 },
    #[error("the tree is broken: {0}")]
    Invariant(String),
    #[cfg(feature = "sample")]
    #[error("sample `{spec}`: {message}")]
    Spec { spec: String, message: String },
    #[error("{n} {what} take {bytes} bytes, which could not be had")]
    Memory { n: usize, what: &'static str, bytes: u128 },
    #[cfg(feature = "io")]
    #[error("{path}: {message}", path = path.display())]
    File { path: PathBuf, message: String, source: Option<std::io::Error> },
}

impl Kind {
    fn kind(&self) -> ErrorKind {
        match self {
            Kind::NotFinite { .. } => ErrorKind::NotFinite,
            Kind::TooFar { .. }
            | Kind::Inverted { .. }
            | Kind::Length { .. }
            | Kind::Mass { .. }
            | Kind::ColumnLength { .. }
            | Kind::ColumnTaken { .. }
            | Kind::ColumnUnknown { .. }
            | Kind::Label { .. }
            | Kind::NoOffsets { .. }
            | Kind::Offsets { .. }
            | Kind::LastOffset { .. }
            | Kind::Member { .. }
            | Kind::MemberTwice { .. }
            | Kind::NoMass { .. }
            | Kind::WeightCount { .. }
            | Kind::Weight { .. } => ErrorKind::Input,
            Kind::Parameter { .. }
            | Kind::BoxDimension { .. }
            | Kind::BoxSize { .. }
            | Kind::BoxTooSmall { .. }
            | Kind::Spaces { .. }
            | Kind::UnknownUnit { .. }
            | Kind::UnitNeedsH { .. }
            | Kind::AmbiguousUnits { .. }
            | Kind::NoUnits { .. } => ErrorKind::Parameter,
            Kind::TooMany { .. }
            | Kind::TooManyClusters { .. }
            | Kind::Dimension { .. }
            | Kind::BinsDimension { .. }
            | Kind::BinsExtent => ErrorKind::Unsupported,
            Kind::Memory { .. } => ErrorKind::Memory,
            Kind::Invariant(_) => ErrorKind::Internal,
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
            #[cfg(any(feature = "cuda", feature = "vulkan"))]
            Kind::DeviceDimension { .. }
            | Kind::DevicePoints
            | Kind::DeviceLists { .. }
            | Kind::DeviceNearest { .. }
            | Kind::DeviceCenter { .. } => ErrorKind::Unsupported,
            #[cfg(any(feature = "cuda", feature = "vulkan"))]
            Kind::DeviceMemory { .. } => ErrorKind::Memory,
            #[cfg(any(feature = "cuda", feature = "vulkan"))]
            Kind::DeviceValues { .. } | Kind::Devices { .. } => ErrorKind::Input,
            #[cfg(any(feature = "cuda", feature = "vulkan"))]
            Kind::NoDevice { .. } | Kind::Device(_) => ErrorKind::Device,
        }
    }

    fn index(&self) -> Option<usize> {
        match *self {
            Kind::NotFinite { index, .. }
            | Kind::TooFar { index, .. }
            | Kind::Inverted { index, .. }
            | Kind::Mass { index, .. }
            | Kind::NoMass { index, .. }
            | Kind::Weight { index, .. } => Some(index),
            Kind::Label { point, .. } => Some(point),
            Kind::MemberTwice { point, .. } => Some(point as usize),
            Kind::Offsets { halo, .. } | Kind::Member { halo, .. } => Some(halo),
            _ => None,
        }
    }
}

/// A number as it stands, or with an exponent where that would take many digits.
struct Number(f64);

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(x) = *self;
        if x == 0.0 || !x.is_finite() || (1e-5..1e15).contains(&x.abs()) {
            write!(f, "{x}")
        } else {
            write!(f, "{x:e}")
        }
    }
}

impl From<Kind> for Error {
    fn from(kind: Kind) -> Self {
        Self(Box::new(kind))
    }
}

#[cfg(feature = "io")]
impl Error {
    /// An error about what is in a file: `path: message`.
    pub(crate) fn file(path: impl Into<PathBuf>, message: impl std::fmt::Display) -> Self {
        Kind::File { path: path.into(), message: message.to_string(), source: None }.into()
    }

    /// A file that the operating system refuses: `path: what failed: why`. It keeps the system's error.
    pub(crate) fn io(path: impl Into<PathBuf>, failed: impl std::fmt::Display, error: std::io::Error) -> Self {
        Kind::File { path: path.into(), message: format!("{failed}: {error}"), source: Some(error) }.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown =
            [-0.2, 0.0, 31.0, 1e14, 1e15, -1e308, 5e-324, f64::NAN, f64::INFINITY].map(|x| Number(x).to_string());
        assert_eq!(shown, ["-0.2", "0", "31", "100000000000000", "1e15", "-1e308", "5e-324", "NaN", "inf"]);
        let error = Error::from(Kind::Mass { index: 3, mass: -5e-324 });
        assert_eq!(error.to_string(), "particle 3: its mass is -5e-324; masses must be finite and not negative");
    }
}

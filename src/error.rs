//! The one error type: a sentence a user can act on, with the numbers in it.

#[cfg(feature = "io")]
use std::path::PathBuf;

/// What went wrong, as a sentence. The kinds are private: print it, or pass it on.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Kind>);

/// The crate's results.
pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
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
    #[error("{n} points are too many: indices are 32 bits, so at most {max} points fit one tree")]
    TooMany { n: usize, max: usize },
    #[error("{dim} dimensions: points may have 1 to 10")]
    Dimension { dim: usize },
    #[error("{dim} dimensions: bins are for points of 1 to 3; the tree takes up to 10 (FofAlgorithm::Tree)")]
    BinsDimension { dim: usize },
    #[error("bins are for points, and these things have an extent; the tree takes them (FofAlgorithm::Tree)")]
    BinsExtent,
    #[error("{name} is {value}; it must be {must}", value = Number(*value))]
    Parameter { name: &'static str, value: f64, must: &'static str },
    #[error("the periodic box has {sides} sides but the points have {dim} dimensions")]
    BoxDimension { sides: usize, dim: usize },
    #[error("the periodic box is {size} along axis {axis}; it must be positive and at most {limit:e}", size = Number(*size))]
    BoxSize { axis: usize, size: f64, limit: f64 },
    #[error(
        "the periodic box is {size} along axis {axis}, less than twice eps = {eps}: a point could meet two images of another",
        size = Number(*size), eps = Number(*eps)
    )]
    BoxTooSmall { axis: usize, size: f64, eps: f64 },
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
    #[error(
        "halo {halo} is {width} wide along axis {axis}, half the periodic box of {size} or more: members are nearest to each \
         other around the boundary, so it has no shape to find a centre of",
        width = Number(*width), size = Number(*size)
    )]
    HaloTooWide { halo: usize, axis: usize, width: f64, size: f64 },
    #[cfg(feature = "plot")]
    #[error("the picture could not be made: {0}")]
    Picture(String),
    #[error("there are {weights} weights for {n} points; there must be one each")]
    WeightCount { weights: usize, n: usize },
    #[error("the weight of point {index} is {value}; weights must be finite and not negative", value = Number(*value))]
    Weight { index: usize, value: f64 },
    #[error("the tree is broken: {0}")]
    Invariant(String),
    #[cfg(feature = "sample")]
    #[error("sample `{spec}`: {message}")]
    Spec { spec: String, message: String },
    #[cfg(feature = "sample")]
    #[error("{n} points take {bytes} bytes, which could not be had")]
    Memory { n: usize, bytes: usize },
    #[cfg(feature = "io")]
    #[error("{path}: {message}", path = path.display())]
    File { path: PathBuf, message: String },
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
    /// An error about a file: `path: message`.
    pub(crate) fn file(path: impl Into<PathBuf>, message: impl std::fmt::Display) -> Self {
        Kind::File { path: path.into(), message: message.to_string() }.into()
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

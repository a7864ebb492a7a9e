//! The kinds of errors, for programs to choose by.

/// What sort of error an [`Error`](crate::Error) is, for a program to choose by. More may be added.
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
    /// A coordinate or a velocity is NaN or infinite; [`Error::index`](crate::Error::index) says which point's.
    NotFinite,
    /// Other data are refused: a box upside down, a negative mass, labels that are not one per point.
    /// [`Error::index`](crate::Error::index) says which item, if it is one.
    Input,
    /// An option is out of its range, by itself or for these data.
    Parameter,
    /// Something that is needed is neither told nor in the file: masses, units, a density of matter.
    /// [`Error::parameter`](crate::Error::parameter) says what.
    Missing,
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
    /// Another rank has ended, or the engine that ranks talk by fails.
    Rank,
    /// The caller ended it: see [`Cancel`](crate::Cancel).
    Cancelled,
    /// A bug, of this crate or of what it is built on.
    Internal,
}

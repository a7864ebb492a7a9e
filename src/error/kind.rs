//! The kinds of errors, by which programs distinguish them.

/// The kind of an [`Error`](crate::Error), by which programs distinguish errors. Kinds may be added.
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
    /// A coordinate or a velocity is NaN or infinite; [`Error::index`](crate::Error::index) is the index of the
    /// point.
    NotFinite,
    /// Other invalid data: a box with swapped corners, a negative mass, labels that are not one per point.
    /// [`Error::index`](crate::Error::index) is the index of the item, if the error is about a single one.
    Input,
    /// An option is out of its range, either in general or for these data.
    Parameter,
    /// A required quantity is neither specified nor in the file: masses, units, a density of matter.
    /// [`Error::parameter`](crate::Error::parameter) names it.
    Missing,
    /// The data are valid, but exceed a limit of this crate, this algorithm or this device.
    Unsupported,
    /// An allocation failed, on the host or on a device.
    Memory,
    /// An operation of the operating system on a file failed; its error is the source.
    Io,
    /// The contents of a file are invalid.
    Format,
    /// A device is missing or failed.
    Device,
    /// Another rank has ended, or communication between ranks failed.
    Rank,
    /// The call was cancelled: see [`Cancel`](crate::Cancel).
    Cancelled,
    /// A bug of this crate or of a library that it uses.
    Internal,
}

//! The error type of the crate: a message that includes the values, a kind, and the parameter or the item that the
//! error is about.
//!
//! Errors are created where input is rejected. Messages shared by several modules are in `common`, those about files
//! in `file`.

mod common;
mod file;
mod kind;

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;

pub use kind::ErrorKind;

/// The result of a function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The error type of this crate: a message, an [`ErrorKind`] and, if a single item of the input such as a point caused
/// the error, its index. `Display` and `Debug` both print the message.
///
/// If the operating system failed on a file, its error is the [`source`](std::error::Error::source).
///
/// ```
/// use ropewalk::{Bvh, ErrorKind};
///
/// // A program can remove the points that are rejected, and try again.
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
pub struct Error(Box<Fields>);

struct Fields {
    kind: ErrorKind,
    parameter: Option<&'static str>,
    index: Option<usize>,
    subject: Subject,
    sentence: Cow<'static, str>,
    source: Option<std::io::Error>,
    is_of_another_rank: bool,
}

/// The start of the printed message, before a colon. Stored separately because callers may renumber items or rename
/// files.
enum Subject {
    None,
    /// The item with the index [`Fields::index`].
    Item {
        noun: &'static str,
        particle_type: Option<u8>,
    },
    File(PathBuf),
}

/// Constructors and setters.
impl Error {
    /// Creates an error with a message: lower case, without a full stop. The message says what is wrong, the value,
    /// and what would be right.
    ///
    /// Programs create their own errors with it, for example in a failing [`Communicator`](crate#many-processes).
    ///
    /// ```
    /// use ropewalk::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Rank, "MPI_Allreduce returns 16");
    /// assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Rank, "MPI_Allreduce returns 16"));
    /// let error = Error::new(ErrorKind::Parameter, "eps is 0").about("eps");
    /// assert_eq!(error.parameter(), Some("eps"));
    /// ```
    pub fn new(kind: ErrorKind, sentence: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Fields {
            kind,
            parameter: None,
            index: None,
            subject: Subject::None,
            sentence: sentence.into(),
            source: None,
            is_of_another_rank: false,
        }))
    }

    /// Sets the parameter that caused the error.
    #[must_use]
    pub fn about(mut self, parameter: &'static str) -> Self {
        self.0.parameter = Some(parameter);
        self
    }

    /// Sets the index of the item that caused the error. If [`Error::of_item`] set the item, it is printed with this
    /// index.
    #[must_use]
    pub fn at(mut self, index: usize) -> Self {
        self.0.index = Some(index);
        self
    }

    /// Sets the noun and the index of the item that caused the error, and prints the item before the message.
    ///
    /// ```
    /// use ropewalk::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Input, "its mass is -1").of_item("particle", 3);
    /// assert_eq!((error.index(), error.to_string().as_str()), (Some(3), "particle 3: its mass is -1"));
    /// let error = error.of_type(5, 1);
    /// assert_eq!((error.index(), error.to_string().as_str()), (Some(1), "type 5: particle 1: its mass is -1"));
    /// ```
    #[must_use]
    pub fn of_item(mut self, noun: &'static str, index: usize) -> Self {
        self.0.subject = Subject::Item { noun, particle_type: None };
        self.at(index)
    }

    /// Renumbers the item among the particles of a type, and prints the type before it. Errors without an item are
    /// unchanged.
    #[must_use]
    pub fn of_type(mut self, particle_type: u8, index: usize) -> Self {
        if let Subject::Item { particle_type: of, .. } = &mut self.0.subject {
            *of = Some(particle_type);
            self.0.index = Some(index);
        }
        self
    }

    /// Sets the error that caused this one.
    #[must_use]
    pub fn caused_by(mut self, source: std::io::Error) -> Self {
        self.0.source = Some(source);
        self
    }

    /// Marks the error of another rank: one that the rank has reported, or that says that it has ended.
    /// `distributed::agree` prefers errors that are not marked.
    #[must_use]
    pub fn of_another_rank(mut self) -> Self {
        self.0.is_of_another_rank = true;
        self
    }
}

/// Getters.
impl Error {
    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the name of the parameter that caused the error, spelled as in this crate; `None` if there is no single
    /// one.
    pub fn parameter(&self) -> Option<&'static str> {
        self.0.parameter
    }

    /// Returns the index, from 0, of the item that caused the error: a point or particle as counted by the caller, or a
    /// halo. `None` if there is no single one.
    pub fn index(&self) -> Option<usize> {
        self.0.index
    }

    /// Returns `true` if another rank has reported the error, or if the error says that another rank has ended.
    pub fn is_of_another_rank(&self) -> bool {
        self.0.is_of_another_rank
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.subject {
            Subject::None => {}
            Subject::Item { noun, particle_type } => {
                if let Some(particle_type) = particle_type {
                    write!(f, "type {particle_type}: ")?;
                }
                write!(f, "{noun} {}: ", self.0.index.unwrap_or_default())?;
            }
            Subject::File(path) => write!(f, "{}: ", path.display())?,
        }
        f.write_str(&self.0.sentence)
    }
}

/// Prints the message, because a `main` that returns an error prints it with `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|error| error as _)
    }
}

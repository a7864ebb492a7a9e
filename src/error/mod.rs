//! The one error type: a sentence a user can act on, with the numbers in it.

#[cfg(feature = "io")]
mod file;
mod cause;
mod classify;
mod kind;
mod message;

pub(crate) use cause::Kind;
pub use kind::ErrorKind;

/// What went wrong: a sentence for people, which both `Display` and `Debug` print, and for programs an [`ErrorKind`] and often an index.
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
pub struct Error(Box<Kind>);

/// The sentence, for a program whose `main` returns an error prints it this way.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// An error of the caller's own, for what is written beside this crate: a source of ranks that cannot talk, or what a rank refuses that
    /// all are to know of (`distributed::agree`).
    ///
    /// ```
    /// use ropewalk::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Rank, "MPI_Allreduce returns 16");
    /// assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Rank, "MPI_Allreduce returns 16"));
    /// ```
    pub fn new(kind: ErrorKind, sentence: impl Into<String>) -> Self {
        Kind::Own { kind, sentence: sentence.into() }.into()
    }

    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind()
    }

    /// The parameter it is about, by its name in this crate. `None` if it is about no one parameter.
    pub fn parameter(&self) -> Option<&'static str> {
        self.0.parameter()
    }

    /// The item it is about: a point or particle as the caller counts them, or a halo, from 0. `None` if it is about no one
    /// item.
    pub fn index(&self) -> Option<usize> {
        self.0.index()
    }

    /// The same error about a particle of a type, with the particle's index among those of its type.
    #[cfg(feature = "io")]
    pub(crate) fn of_type(self, particle_type: u8, index: usize) -> Self {
        let error = match *self.0 {
            Kind::NotFinite { axis, value, .. } => Kind::NotFinite { index, axis, value },
            Kind::TooFar { axis, value, limit, .. } => Kind::TooFar { index, axis, value, limit },
            Kind::Velocity { axis, value, .. } => Kind::Velocity { index, axis, value },
            Kind::Mass { mass, .. } => Kind::Mass { index, mass },
            other => return other.into(),
        };
        Kind::OfType { particle_type, error: error.into() }.into()
    }

    /// Whether it is told by another rank, or is about one that has ended.
    #[cfg(feature = "distributed")]
    pub(crate) fn is_of_another_rank(&self) -> bool {
        matches!(*self.0, Kind::OnRank { .. } | Kind::RankGone { .. })
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &*self.0 {
            Kind::Write { source } => Some(source),
            #[cfg(feature = "io")]
            Kind::File { source, .. } => source.as_ref().map(|error| error as _),
            _ => None,
        }
    }
}

/// The crate's results.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// What a writer refuses. It keeps the writer's error.
    pub(crate) fn write(source: std::io::Error) -> Self {
        Kind::Write { source }.into()
    }
}

impl From<Kind> for Error {
    fn from(kind: Kind) -> Self {
        Self(Box::new(kind))
    }
}

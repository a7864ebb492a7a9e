//! Formats for pictures of trees.

use std::ffi::OsStr;
use std::path::Path;

use ropewalk::{Error, Result};

/// A text format in which [`Bvh::write`](crate::Bvh::write) writes the nodes of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeFormat {
    /// The graph of the nodes in the DOT language of Graphviz, for points of any dimension.
    Graphviz,
    /// The boxes of the nodes and the points as a `tikzpicture` for LaTeX, in one or two dimensions.
    Tikz,
    /// The boxes of the nodes as a file of VTK, which ParaView opens, in one to three dimensions.
    Vtk,
}

impl TreeFormat {
    /// Returns the format for the extension of a file name: `.dot` or `.gv` for Graphviz, `.tikz` or `.tex`, `.vtk`.
    /// Upper case counts as lower case.
    ///
    /// ```
    /// use ropewalk_table::TreeFormat;
    ///
    /// assert_eq!(TreeFormat::from_path("tree.dot")?, TreeFormat::Graphviz);
    /// assert_eq!(TreeFormat::from_path("tree.TEX")?, TreeFormat::Tikz);
    /// assert!(TreeFormat::from_path("tree.svg").is_err());
    /// # Ok::<(), ropewalk::Error>(())
    /// ```
    ///
    /// # Errors
    /// Another extension, or none.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let ending = path.extension().map(OsStr::to_ascii_lowercase);
        match ending.as_deref().and_then(OsStr::to_str) {
            Some("dot" | "gv") => Ok(Self::Graphviz),
            Some("tikz" | "tex") => Ok(Self::Tikz),
            Some("vtk") => Ok(Self::Vtk),
            _ => Err(Error::file(path, "unknown extension; use .dot, .gv, .tikz, .tex or .vtk")),
        }
    }

    /// Returns the name of the format in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Graphviz => "Graphviz",
            Self::Tikz => "TikZ",
            Self::Vtk => "VTK",
        }
    }
}

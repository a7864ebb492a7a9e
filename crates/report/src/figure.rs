//! Figures of a report: images within the page.

use std::io::{self, Write};

use crate::embed::{escaped, write_base64};

/// A figure of a report.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The caption, also read to those who do not see the figure.
    pub caption: String,
    /// An SVG or PNG file.
    pub image: Vec<u8>,
}

impl Figure {
    /// Writes the figure as an image, in which no script of an SVG runs.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let kind = if self.image.starts_with(b"\x89PNG") { "png" } else { "svg+xml" };
        let caption = escaped(&self.caption);
        write!(out, "<figure><img alt=\"{caption}\" src=\"data:image/{kind};base64,")?;
        write_base64(out, &self.image)?;
        writeln!(out, "\"><figcaption>{caption}</figcaption></figure>")
    }
}

//! The options for the pictures of `ropewalk halos`.

use ropewalk_plot::{PictureFormat, Slab, Style};

use super::number;

/// The format and resolution of pictures, and the slab of the projection.
#[derive(Clone, Debug, clap::Args)]
pub struct Pictures {
    /// Format of all pictures [default: png for projection and gallery, svg for others]
    ///
    /// Widths in inches: mass function, dendrogram and profiles 10, projection 8.5, gallery 5.7, or 8.4 for three and
    /// more halos.
    #[arg(long, value_enum, help_heading = "Pictures")]
    pub format: Option<Format>,
    /// Pixels per inch, from 10 to 1200 [default: 153.6, in SVG and PDF 300]
    ///
    /// In SVG and PDF files this is the resolution of the images within them.
    #[arg(long, value_name = "DPI", value_parser = dpi, help_heading = "Pictures")]
    pub dpi: Option<f64>,
    /// Project only the particles and halos between two planes, as z:10..20
    ///
    /// The projection is along the axis. The limits are in the snapshot's length unit.
    #[arg(long, value_name = "AXIS:FROM..TO", conflicts_with = "no_pictures", help_heading = "Pictures")]
    pub slab: Option<Slab>,
}

impl Pictures {
    /// Returns the format and resolution of a picture whose default format is `usual`.
    pub fn style(&self, usual: PictureFormat) -> Style {
        Style::new(self.format.map_or(usual, Into::into)).dpi(self.dpi)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Format {
    /// Raster image
    Png,
    /// Vector graphics for browsers
    Svg,
    /// Vector graphics for papers
    Pdf,
}

impl From<Format> for PictureFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Png => Self::Png,
            Format::Svg => Self::Svg,
            Format::Pdf => Self::Pdf,
        }
    }
}

fn dpi(text: &str) -> Result<f64, String> {
    let dpi = number(text)?;
    Style::default().dpi(dpi).resolution().map_err(|error| error.to_string())
}

//! How the pictures of `ropewalk halos` are made.

use ropewalk_plot::{PictureFormat, Slab, Style};

/// File format, resolution, and what the projection shows.
#[derive(Clone, Debug, clap::Args)]
pub struct Pictures {
    /// The file format of all pictures; otherwise projection.png and gallery.png, and the others as SVG. Widths in inches: mass function,
    /// dendrogram and profiles 10, projection 8.1, gallery 2.8 a halo
    #[arg(long, value_enum, help_heading = "Pictures")]
    pub format: Option<Format>,
    /// Pixels per inch, from 10 to 1200, of PNG pictures (153.6 unless said otherwise) and of images within SVG and PDF (300)
    #[arg(long, value_name = "DPI", value_parser = dpi, help_heading = "Pictures")]
    pub dpi: Option<f64>,
    /// Only particles and halos between two planes in the projection, seen along this axis, in the snapshot's length unit: z:10..20
    #[arg(long, value_name = "AXIS:FROM..TO", conflicts_with = "no_pictures", help_heading = "Pictures")]
    pub slab: Option<Slab>,
}

impl Pictures {
    /// The format and the resolution of a picture that has a usual format.
    pub fn style(&self, usual: PictureFormat) -> Style {
        Style::new(self.format.map_or(usual, Into::into)).dpi(self.dpi)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum Format {
    /// Pixels
    Png,
    /// Lines and text, for browsers
    Svg,
    /// Lines and text, for papers
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
    let dpi = text.parse::<f64>().map_err(|_| "is not a number".to_string())?;
    Style::default().dpi(dpi).resolution().map_err(|error| error.to_string())
}

//! The file format of a picture, and how fine it is.

use ropewalk::{Error, Result};

/// Pixels per inch unless said otherwise: of a PNG enough for a projector, of images within other formats enough for print.
const SCREEN: f64 = 153.6;
const PRINT: f64 = 300.0;

/// The file format of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum PictureFormat {
    /// Pixels.
    #[default]
    Png,
    /// Lines and text, as browsers have it.
    Svg,
    /// Lines and text, with the font, as journals have it.
    Pdf,
}

impl PictureFormat {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Png, Self::Svg, Self::Pdf];

    /// The ending of a file's name.
    ///
    /// ```
    /// use ropewalk_plot::PictureFormat;
    ///
    /// assert_eq!(PictureFormat::ALL.map(PictureFormat::ending), ["png", "svg", "pdf"]);
    /// ```
    pub fn ending(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Svg => "svg",
            Self::Pdf => "pdf",
        }
    }
}

/// A file format and a resolution. A [`PictureFormat`] is a style, too.
///
/// ```
/// use ropewalk_plot::{PictureFormat, Style, k_distances};
///
/// let style = Style::new(PictureFormat::Png).dpi(72.0);
/// let png = k_distances(&[0.1, 0.2, 0.5], 1, None, "three points", style)?;
/// // Ten inches wide.
/// assert_eq!(&png[16..20], &720u32.to_be_bytes());
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Style {
    format: PictureFormat,
    dpi: Option<f64>,
}

impl Style {
    /// The range of resolutions.
    pub const DPI: [f64; 2] = [10.0, 1200.0];

    /// A format, with the usual resolution.
    pub fn new(format: PictureFormat) -> Self {
        Self { format, dpi: None }
    }

    /// Pixels per inch of a PNG, and of images within other formats, from 10 to 1200; 153.6 and 300 unless said otherwise.
    #[must_use]
    pub fn dpi(mut self, dpi: impl Into<Option<f64>>) -> Self {
        self.dpi = dpi.into();
        self
    }

    /// The file format.
    pub fn format(&self) -> PictureFormat {
        self.format
    }

    /// Pixels per inch.
    ///
    /// Errors: a number that is not from 10 to 1200.
    pub fn resolution(&self) -> Result<f64> {
        let [least, most] = Self::DPI;
        match self.dpi {
            Some(value) if !(least..=most).contains(&value) => {
                Err(Error::parameter_must("dpi", value, "from 10 to 1200"))
            }
            Some(dpi) => Ok(dpi),
            None if self.format == PictureFormat::Png => Ok(SCREEN),
            None => Ok(PRINT),
        }
    }
}

impl From<PictureFormat> for Style {
    fn from(format: PictureFormat) -> Self {
        Self::new(format)
    }
}

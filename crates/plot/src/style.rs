//! The file format and the resolution of a picture.

use ropewalk::{Error, Result};

/// Default pixels per inch: of a PNG, sufficient for projectors, and of images in other formats, sufficient for
/// print.
const SCREEN: f64 = 153.6;
const PRINT: f64 = 300.0;

/// The file format of a picture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum PictureFormat {
    /// A PNG file: pixels.
    #[default]
    Png,
    /// An SVG file: vectors and text, for browsers.
    Svg,
    /// A PDF file: vectors and text with an embedded font, for journals.
    Pdf,
}

impl PictureFormat {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Png, Self::Svg, Self::Pdf];

    /// Returns the file extension of the format.
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

/// A file format and a resolution. A [`PictureFormat`] converts to a style with the default resolution.
///
/// ```
/// use ropewalk_plot::{PictureFormat, Style, k_distances};
///
/// let style = Style::new(PictureFormat::Png).dpi(72.0);
/// let png = k_distances(&[0.1, 0.2, 0.5], 1, None, "three points", "", style)?;
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
    /// The range of valid resolutions.
    pub const DPI: [f64; 2] = [10.0, 1200.0];

    /// Creates a style with the default resolution.
    pub fn new(format: PictureFormat) -> Self {
        Self { format, dpi: None }
    }

    /// Sets the pixels per inch of a PNG, or of images in other formats, from 10 to 1200. Default: 153.6 for PNG, 300
    /// for others.
    #[must_use]
    pub fn dpi(mut self, dpi: impl Into<Option<f64>>) -> Self {
        self.dpi = dpi.into();
        self
    }

    /// Returns the file format of the picture.
    pub fn format(&self) -> PictureFormat {
        self.format
    }

    /// Returns the pixels per inch.
    ///
    /// # Errors
    /// Fails unless it is from 10 to 1200.
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

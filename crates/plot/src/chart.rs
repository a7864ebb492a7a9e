//! A drawing of lines, areas, discs, images and text, independent of the file format.

use ropewalk::Result;

use crate::canvas::{Align, Canvas, Image};
use crate::colors::Rgb;
use crate::font::fitting;
use crate::style::{PictureFormat, Style};

/// Units of a drawing per inch: those of CSS, and the default pixels of a PNG.
const FINE: f64 = 96.0;
const COARSE: f64 = 153.6;
/// The offsets of the copies that form an outline around text, in units.
const SEAM: [[f64; 2]; 8] =
    [[-1.5, 0.0], [1.5, 0.0], [0.0, -1.5], [0.0, 1.5], [-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]];

/// A rectangle: the corner of the smallest coordinates and that of the largest.
pub type Rect = [[f64; 2]; 2];

/// Returns `true` if two rectangles have a point in common, or are closer than `gap` along both axes.
pub fn meet(a: &Rect, b: &Rect, gap: f64) -> bool {
    (0..2).all(|k| a[0][k] < b[1][k] + gap && b[0][k] < a[1][k] + gap)
}

/// A drawing that is not yet encoded.
#[derive(Clone, Debug)]
pub struct Chart {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) units_per_inch: f64,
    pub(super) title: String,
    pub(super) marks: Vec<(Option<Rect>, Mark)>,
    clip: Option<Rect>,
}

/// An element of a drawing, in units from the upper left corner.
#[derive(Clone, Debug)]
pub enum Mark {
    Line { points: Vec<[f64; 2]>, width: f64, color: Rgb },
    Area { corners: Vec<[f64; 2]>, color: Rgb, opacity: f64 },
    Disc { at: [f64; 2], radius: f64, color: Rgb },
    Ring { at: [f64; 2], radius: f64, width: f64, color: Rgb },
    Image { corner: [f64; 2], size: [f64; 2], image: Image },
    Text { text: String, at: [f64; 2], size: f64, align: Align, upwards: bool, color: Rgb },
}

impl Chart {
    /// Creates a page in units of 1/96 inch. The title becomes the document title of a PDF.
    pub fn new(width: f64, height: f64, title: &str) -> Self {
        Self { width, height, units_per_inch: FINE, title: title.into(), marks: Vec::new(), clip: None }
    }

    /// Creates a page whose units are the pixels of a PNG of default resolution.
    pub fn in_pixels(width: f64, height: f64, title: &str) -> Self {
        Self { units_per_inch: COARSE, ..Self::new(width, height, title) }
    }

    /// Returns the number of pixels per unit.
    pub fn scale(&self, style: Style) -> Result<f64> {
        Ok(style.resolution()? / self.units_per_inch)
    }

    /// Clips subsequent drawing to a rectangle.
    pub fn clip(&mut self, to: Option<Rect>) {
        self.clip = to;
    }

    fn mark(&mut self, mark: Mark) {
        self.marks.push((self.clip, mark));
    }

    /// Draws a line through `points`.
    pub fn line(&mut self, points: Vec<[f64; 2]>, width: f64, color: Rgb) {
        self.mark(Mark::Line { points, width, color });
    }

    /// Draws the outline of a rectangle.
    pub fn outline(&mut self, [[left, top], [right, bottom]]: Rect, width: f64, color: Rgb) {
        self.line(vec![[left, top], [right, top], [right, bottom], [left, bottom], [left, top]], width, color);
    }

    /// Draws a straight dashed line.
    pub fn dashes(&mut self, from: [f64; 2], to: [f64; 2], width: f64, color: Rgb) {
        self.dashed(&[from, to], [8.0, 6.0], width, color);
    }

    /// Draws a dashed line through `points`, with the lengths of dashes and gaps.
    pub fn dashed(&mut self, points: &[[f64; 2]], [dash, gap]: [f64; 2], width: f64, color: Rgb) {
        let (mut piece, mut left, mut is_dash) = (points.first().copied().into_iter().collect::<Vec<_>>(), dash, true);
        for pair in points.windows(2) {
            let (mut from, to) = (pair[0], pair[1]);
            let mut length = (to[0] - from[0]).hypot(to[1] - from[1]);
            while length > left {
                from = [0, 1].map(|k| from[k] + (to[k] - from[k]) * left / length);
                length -= left;
                if is_dash {
                    piece.push(from);
                    self.line(std::mem::take(&mut piece), width, color);
                }
                is_dash = !is_dash;
                left = if is_dash { dash } else { gap };
                piece = vec![from];
            }
            left -= length;
            piece.push(to);
        }
        if is_dash && piece.len() > 1 {
            self.line(piece, width, color);
        }
    }

    /// Fills a polygon by the even-odd rule.
    pub fn area(&mut self, corners: Vec<[f64; 2]>, color: Rgb) {
        self.mark(Mark::Area { corners, color, opacity: 1.0 });
    }

    /// Fills a polygon with a translucent colour, by the even-odd rule.
    pub fn tint(&mut self, corners: Vec<[f64; 2]>, color: Rgb, opacity: f64) {
        self.mark(Mark::Area { corners, color, opacity });
    }

    /// Fills a rectangle.
    pub fn fill(&mut self, [[left, top], [right, bottom]]: Rect, color: Rgb) {
        self.area(vec![[left, top], [right, top], [right, bottom], [left, bottom]], color);
    }

    pub fn disc(&mut self, at: [f64; 2], radius: f64, color: Rgb) {
        self.mark(Mark::Disc { at, radius, color });
    }

    pub fn ring(&mut self, at: [f64; 2], radius: f64, width: f64, color: Rgb) {
        self.mark(Mark::Ring { at, radius, width, color });
    }

    /// Draws an image on a rectangle.
    pub fn image(&mut self, corner: [f64; 2], size: [f64; 2], image: Image) {
        self.mark(Mark::Image { corner, size, image });
    }

    /// Writes a line of text with its baseline through `at`.
    pub fn text(&mut self, text: impl Into<String>, at: [f64; 2], size: f64, align: Align, color: Rgb) {
        self.mark(Mark::Text { text: text.into(), at, size, align, upwards: false, color });
    }

    /// Writes a centred line of text, shrunk to fit the page.
    pub fn heading(&mut self, text: &str, at: [f64; 2], size: f64, color: Rgb) {
        let room = 2.0 * at[0].min(self.width - at[0]) - 20.0;
        self.text(text, at, fitting(text, size, room), Align::Center, color);
    }

    /// Writes centred text that runs upwards, shrunk to fit `room`.
    pub fn text_upwards(&mut self, text: impl Into<String>, at: [f64; 2], size: f64, room: f64, color: Rgb) {
        let text = text.into();
        let size = fitting(&text, size, room);
        self.mark(Mark::Text { text, at, size, align: Align::Center, upwards: true, color });
    }

    /// Writes text with an outline in another colour, legible on any background.
    pub fn text_outlined(&mut self, text: &str, [x, y]: [f64; 2], size: f64, [color, outline]: [Rgb; 2]) {
        for [dx, dy] in SEAM {
            self.text(text, [x + dx, y + dy], size, Align::Left, outline);
        }
        self.text(text, [x, y], size, Align::Left, color);
    }

    /// Encodes the drawing as a file.
    pub fn encoded(&self, style: impl Into<Style>) -> Result<Vec<u8>> {
        let style = style.into();
        match style.format() {
            PictureFormat::Png => self.png(style.resolution()?),
            PictureFormat::Svg => Ok(self.svg()?.into_bytes()),
            PictureFormat::Pdf => self.pdf(),
        }
    }

    /// Encodes the drawing as a PNG file.
    ///
    /// # Errors
    /// Fails if it has too many pixels, or if encoding fails.
    pub fn png(&self, dpi: f64) -> Result<Vec<u8>> {
        let scale = dpi / self.units_per_inch;
        let pixels = [self.width, self.height].map(|x| (scale * x).round() as usize);
        let mut canvas = Canvas::new(pixels[0], pixels[1], [255; 3])?;
        let scaled = |at: [f64; 2]| at.map(|x| scale * x);
        let all = |points: &[[f64; 2]]| points.iter().map(|&at| scaled(at)).collect::<Vec<_>>();
        for (clip, mark) in &self.marks {
            canvas.clip(clip.map(|clip| clip.map(|corner| scaled(corner).map(|x| x.round() as i64))));
            match mark {
                Mark::Line { points, width, color } => canvas.line(&all(points), scale * width, *color),
                Mark::Area { corners, color, opacity } => canvas.polygon(&all(corners), *color, *opacity),
                Mark::Disc { at, radius, color } => canvas.disc(scaled(*at), scale * radius, *color, 1.0),
                Mark::Ring { at, radius, width, color } => {
                    canvas.ring(scaled(*at), scale * radius, scale * width, *color);
                }
                Mark::Image { corner, size, image } => canvas.image(image, scaled(*corner), scaled(*size)),
                Mark::Text { text, at, size, upwards: true, align, color } => {
                    canvas.text_upwards(text, scaled(*at), scale * size, *align, *color);
                }
                Mark::Text { text, at, size, align, color, .. } => {
                    canvas.text(text, scaled(*at), scale * size, *align, *color);
                }
            }
        }
        canvas.into_image().png(dpi)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_follow_the_line() {
        let mut chart = Chart::new(100.0, 100.0, "");
        // Around a corner: dashes of length 8, starting at 0, 14, 28, ..
        chart.dashed(&[[0.0, 0.0], [20.0, 0.0], [20.0, 15.0]], [8.0, 6.0], 1.0, [0; 3]);
        let lines: Vec<Vec<[f64; 2]>> = chart
            .marks
            .into_iter()
            .filter_map(|(_, mark)| if let Mark::Line { points, .. } = mark { Some(points) } else { None })
            .collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], [[0.0, 0.0], [8.0, 0.0]]);
        assert_eq!(lines[1], [[14.0, 0.0], [20.0, 0.0], [20.0, 2.0]]);
        assert_eq!(lines[2], [[20.0, 8.0], [20.0, 15.0]]);
    }

    #[test]
    fn every_format_has_its_size() {
        let mut chart = Chart::new(96.0, 48.0, "one inch");
        chart.text("a", [10.0, 20.0], 12.0, Align::Left, [0; 3]);
        let png = chart.encoded(Style::default().dpi(300.0)).unwrap();
        assert_eq!((&png[16..20], &png[20..24]), (&300u32.to_be_bytes()[..], &150u32.to_be_bytes()[..]));
        assert!(chart.svg().unwrap().contains(r#"width="96" height="48""#));
        let pdf = chart.encoded(PictureFormat::Pdf).unwrap();
        assert!(pdf.windows(24).any(|part| part.starts_with(b"/MediaBox [0 0 72 36]")));
        assert!(chart.encoded(Style::default().dpi(f64::NAN)).is_err());
        assert!(Chart::new(1e6, 1e6, "").encoded(PictureFormat::Png).is_err());
    }
}

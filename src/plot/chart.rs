//! A drawing of lines, areas, discs and text that can become either file format.

use std::fmt::Write;

use crate::error::Result;
use crate::plot::canvas::{Align, Canvas};
use crate::plot::colors::Rgb;

/// Pixels of the PNG for one unit of the drawing: enough for a projector.
const SCALE: f64 = 1.6;

/// The file format of a picture that can have either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PictureFormat {
    /// Pixels.
    Png,
    /// Lines and text.
    Svg,
}

/// A picture that is not yet a file.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    width: f64,
    height: f64,
    marks: Vec<Mark>,
}

#[derive(Clone, Debug)]
enum Mark {
    Line { points: Vec<[f64; 2]>, width: f64, color: Rgb },
    Area { corners: Vec<[f64; 2]>, color: Rgb },
    Disc { at: [f64; 2], radius: f64, color: Rgb },
    Text { text: String, at: [f64; 2], size: f64, align: Align, upwards: bool, color: Rgb },
}

impl Chart {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, marks: Vec::new() }
    }

    /// A line through `points`.
    pub(super) fn line(&mut self, points: Vec<[f64; 2]>, width: f64, color: Rgb) {
        self.marks.push(Mark::Line { points, width, color });
    }

    /// A straight line in dashes.
    pub(super) fn dashes(&mut self, from: [f64; 2], to: [f64; 2], width: f64, color: Rgb) {
        let at = |t: f64| [from[0] + t * (to[0] - from[0]), from[1] + t * (to[1] - from[1])];
        let length = (to[0] - from[0]).hypot(to[1] - from[1]);
        let (dash, step) = (8.0, 14.0);
        for i in 0..(length / step).ceil() as usize {
            let start = i as f64 * step;
            self.line(vec![at(start / length), at((start + dash).min(length) / length)], width, color);
        }
    }

    /// A filled polygon.
    pub(super) fn area(&mut self, corners: Vec<[f64; 2]>, color: Rgb) {
        self.marks.push(Mark::Area { corners, color });
    }

    pub(super) fn disc(&mut self, at: [f64; 2], radius: f64, color: Rgb) {
        self.marks.push(Mark::Disc { at, radius, color });
    }

    /// A line of text with its baseline through `at`.
    pub(super) fn text(&mut self, text: impl Into<String>, at: [f64; 2], size: f64, align: Align, color: Rgb) {
        self.marks.push(Mark::Text { text: text.into(), at, size, align, upwards: false, color });
    }

    /// The same, centred and read from below.
    pub(super) fn text_upwards(&mut self, text: impl Into<String>, at: [f64; 2], size: f64, color: Rgb) {
        self.marks.push(Mark::Text { text: text.into(), at, size, align: Align::Center, upwards: true, color });
    }

    /// The picture as a file.
    pub fn encoded(&self, format: PictureFormat) -> Result<Vec<u8>> {
        match format {
            PictureFormat::Png => self.png(),
            PictureFormat::Svg => Ok(self.svg().into_bytes()),
        }
    }

    /// The picture as an SVG file.
    pub fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let mut svg = format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif">
<rect width="100%" height="100%" fill="#ffffff"/>
"##
        );
        for mark in &self.marks {
            // Writing to a string does not fail.
            _ = match mark {
                Mark::Line { points, width, color } => {
                    let path = path(points);
                    let stroke = hex(*color);
                    let ends = r#"stroke-linecap="round" stroke-linejoin="round""#;
                    writeln!(svg, r#"<path d="{path}" fill="none" stroke="{stroke}" stroke-width="{width}" {ends}/>"#)
                }
                Mark::Area { corners, color } => {
                    writeln!(svg, r#"<path d="{}Z" fill="{}"/>"#, path(corners), hex(*color))
                }
                Mark::Disc { at: [x, y], radius, color } => {
                    writeln!(svg, r#"<circle cx="{x:.2}" cy="{y:.2}" r="{radius}" fill="{}"/>"#, hex(*color))
                }
                Mark::Text { text, at: [x, y], size, align, upwards, color } => {
                    let anchor = match align {
                        Align::Left => "start",
                        Align::Center => "middle",
                        Align::Right => "end",
                    };
                    let turn = if *upwards { " rotate(-90)" } else { "" };
                    let place = format!(r#"transform="translate({x:.1} {y:.1}){turn}" text-anchor="{anchor}""#);
                    let fill = hex(*color);
                    writeln!(svg, r#"<text {place} font-size="{size}" fill="{fill}">{}</text>"#, escaped(text))
                }
            };
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The picture as a PNG file.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn png(&self) -> Result<Vec<u8>> {
        let pixels = [self.width, self.height].map(|x| (SCALE * x).round() as usize);
        let whole = [[0, 0], pixels.map(|x| x as i64)];
        let mut canvas = Canvas::new(pixels[0], pixels[1], [255; 3])?;
        let scaled = |at: [f64; 2]| at.map(|x| SCALE * x);
        for mark in &self.marks {
            match mark {
                Mark::Line { points, width, color } => {
                    let points: Vec<_> = points.iter().map(|&at| scaled(at)).collect();
                    canvas.line(&points, SCALE * width, *color);
                }
                Mark::Area { corners, color } => {
                    let corners: Vec<_> = corners.iter().map(|&at| scaled(at)).collect();
                    canvas.polygon(&corners, *color);
                }
                Mark::Disc { at, radius, color } => canvas.disc(scaled(*at), SCALE * radius, *color, 1.0, whole),
                Mark::Text { text, at, size, upwards: true, align, color } => {
                    canvas.text_upwards(text, scaled(*at), SCALE * size, *align, *color);
                }
                Mark::Text { text, at, size, align, color, .. } => {
                    canvas.text(text, scaled(*at), SCALE * size, *align, *color);
                }
            }
        }
        canvas.png()
    }
}

/// Straight lines from point to point, as SVG has them.
fn path(points: &[[f64; 2]]) -> String {
    let mut path = String::new();
    for (i, [x, y]) in points.iter().enumerate() {
        // Writing to a string does not fail.
        _ = write!(path, "{}{x:.2} {y:.2}", if i == 0 { 'M' } else { 'L' });
    }
    path
}

fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Text that may stand in XML.
pub fn escaped(text: &str) -> String {
    text.chars()
        .filter(|letter| !letter.is_control())
        .map(|letter| match letter {
            '&' => "&amp;".into(),
            '<' => "&lt;".into(),
            '>' => "&gt;".into(),
            _ => letter.to_string(),
        })
        .collect()
}

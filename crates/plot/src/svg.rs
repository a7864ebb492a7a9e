//! Encodes a drawing as SVG.

use std::fmt::Write;

use ropewalk::Result;

use crate::canvas::Align;
use crate::chart::{Chart, Mark};
use crate::colors::Rgb;

/// SVG units per inch.
const PER_INCH: f64 = 96.0;
/// The alphabet of RFC 4648.
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl Chart {
    /// Encodes the drawing as an SVG file, with images as embedded PNG.
    ///
    /// # Errors
    /// Fails if encoding an image fails.
    pub fn svg(&self) -> Result<String> {
        let (width, height) = (self.width, self.height);
        let [wide, high] = [width, height].map(|x| x / self.units_per_inch * PER_INCH);
        let mut svg = format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 {width} {height}" width="{wide}" height="{high}" font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif">
<rect width="100%" height="100%" fill="#ffffff"/>
"##
        );
        let (mut current, mut clips) = (None, 0);
        for (clip, mark) in &self.marks {
            if *clip != current {
                if current.is_some() {
                    svg.push_str("</g>\n");
                }
                if let Some([[left, top], [right, bottom]]) = clip {
                    clips += 1;
                    // Writing to a string does not fail.
                    _ = writeln!(
                        svg,
                        r##"<clipPath id="c{clips}"><path d="M{left} {top}H{right}V{bottom}H{left}Z"/></clipPath>
<g clip-path="url(#c{clips})">"##
                    );
                }
                current = *clip;
            }
            self.write(&mut svg, mark)?;
        }
        svg.push_str(if current.is_some() { "</g>\n</svg>\n" } else { "</svg>\n" });
        Ok(svg)
    }

    fn write(&self, svg: &mut String, mark: &Mark) -> Result<()> {
        // Writing to a string does not fail.
        _ = match mark {
            Mark::Line { points, width, color } => {
                let path = path(points);
                let stroke = hex(*color);
                let ends = r#"stroke-linecap="round" stroke-linejoin="round""#;
                writeln!(svg, r#"<path d="{path}" fill="none" stroke="{stroke}" stroke-width="{width}" {ends}/>"#)
            }
            Mark::Area { corners, color, opacity } => {
                let opacity = if *opacity < 1.0 { format!(r#" fill-opacity="{opacity}""#) } else { String::new() };
                let fill = hex(*color);
                writeln!(svg, r#"<path d="{}Z" fill="{fill}" fill-rule="evenodd"{opacity}/>"#, path(corners))
            }
            Mark::Disc { at: [x, y], radius, color } => {
                writeln!(svg, r#"<circle cx="{x:.2}" cy="{y:.2}" r="{radius:.2}" fill="{}"/>"#, hex(*color))
            }
            Mark::Ring { at: [x, y], radius, width, color } => {
                let stroke = hex(*color);
                let circle = format!(r#"<circle cx="{x:.2}" cy="{y:.2}" r="{radius:.2}""#);
                writeln!(svg, r#"{circle} fill="none" stroke="{stroke}" stroke-width="{width}"/>"#)
            }
            Mark::Image { corner: [x, y], size: [width, height], image } => {
                let data = base64(&image.png(image.width as f64 / width * self.units_per_inch)?);
                let place = format!(r#"x="{x:.2}" y="{y:.2}" width="{width:.2}" height="{height:.2}""#);
                let whole = r#"preserveAspectRatio="none""#;
                writeln!(svg, r#"<image {place} {whole} xlink:href="data:image/png;base64,{data}"/>"#)
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
        Ok(())
    }
}

/// Returns a path of straight lines through points.
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

/// Escapes text for XML.
fn escaped(text: &str) -> String {
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

/// Encodes bytes as Base64: RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let six = bits >> (18 - 6 * place) & 63;
            text.push(if place <= group.len() { BASE64[six as usize].into() } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 4648, section 10.
    #[test]
    fn bytes_as_text() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}

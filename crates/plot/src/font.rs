//! The font of all pictures: DejaVu Sans, of which a subset is compiled in.
//!
//! In: a line of text and its size. Out: its glyphs and its width, which are the same for PNG, PDF, and tests of
//! overlapping labels.

use ab_glyph::{Font, FontRef, GlyphId, PxScale, ScaleFont};

use ropewalk::Result;

use crate::errors;

/// The font file DejaVu Sans with Latin, Greek and some symbols; see DejaVuSans.LICENSE for the terms.
pub const FONT: &[u8] = include_bytes!("DejaVuSans.ttf");

/// The height of digits and capitals, in units of the font size.
pub const HIGH: f64 = 0.76;

/// Parses the font.
pub fn font() -> Result<FontRef<'static>> {
    FontRef::try_from_slice(FONT).map_err(errors::picture)
}

/// Returns the scale of a font size: that of `ab_glyph` is the line height, whereas `size` is the em, as elsewhere.
pub fn scale(font: &FontRef<'_>, size: f64) -> PxScale {
    let em = font.height_unscaled() / font.units_per_em().unwrap_or(1.0);
    PxScale::from(size as f32 * em)
}

/// Returns the glyphs of a line, each with its letter and its start, and the end of the line.
pub fn glyphs(font: &FontRef<'_>, text: &str, size: f64) -> (Vec<(GlyphId, char, f32)>, f32) {
    let scaled = font.as_scaled(scale(font, size));
    let (mut line, mut end) = (Vec::<(GlyphId, char, f32)>::new(), 0.0f32);
    for letter in text.chars() {
        let id = scaled.glyph_id(letter);
        end += line.last().map_or(0.0, |&(last, ..)| scaled.kern(last, id));
        line.push((id, letter, end));
        end += scaled.h_advance(id);
    }
    (line, end)
}

/// Returns the width of a line. Without a font, which cannot happen, an estimate.
pub fn width(text: &str, size: f64) -> f64 {
    font().map_or(0.64 * size * text.chars().count() as f64, |font| glyphs(&font, text, size).1.into())
}

/// Returns `size`, or a smaller size at which a line fits `room`.
pub fn fitting(text: &str, size: f64, room: f64) -> f64 {
    let wide = width(text, size);
    // Whole tenths, so that files do not contain long numbers.
    if wide > room && room > 0.0 { (10.0 * size * room / wide).floor() / 10.0 } else { (10.0 * size).round() / 10.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_font() {
        // A digit is 1303 of 2048 units wide.
        assert!((width("0000", 20.0) - 4.0 * 20.0 * 1303.0 / 2048.0).abs() < 1e-3);
        assert_eq!((width("", 20.0), fitting("0", 20.0, 100.0)), (0.0, 20.0));
        let line = "a title that is much longer than the picture is wide";
        assert!(width(line, fitting(line, 26.0, 300.0)) <= 300.0);
    }
}

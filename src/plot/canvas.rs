//! A page of pixels: boxes, rings, text, and the PNG they become.

use ab_glyph::{Font, FontRef, Glyph, PxScale, ScaleFont, point};

use crate::error::{Error, Kind, Result};
use crate::plot::colors::{Rgb, mix};

/// Latin, Greek and some symbols; DejaVuSans.LICENSE tells the terms.
const FONT: &[u8] = include_bytes!("DejaVuSans.ttf");

/// Where a text's position is along its line.
#[derive(Clone, Copy, Debug)]
pub enum Align {
    Left,
    Center,
    Right,
}

/// An RGB picture with a font. Drawing is clipped at its edges.
pub struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Rgb>,
    font: FontRef<'static>,
}

fn error(cause: impl std::fmt::Display) -> Error {
    Kind::Picture(cause.to_string()).into()
}

impl Canvas {
    pub fn new(width: usize, height: usize, background: Rgb) -> Result<Self> {
        let font = FontRef::try_from_slice(FONT).map_err(error)?;
        Ok(Self { width, height, pixels: vec![background; width * height], font })
    }

    /// Lays a colour over a pixel; `cover` is 1 for all of it.
    pub fn blend(&mut self, x: i64, y: i64, color: Rgb, cover: f64) {
        let inside = |at: i64, end: usize| usize::try_from(at).ok().filter(|&at| at < end);
        if let (Some(x), Some(y)) = (inside(x, self.width), inside(y, self.height)) {
            let pixel = &mut self.pixels[y * self.width + x];
            *pixel = mix(*pixel, color, cover.clamp(0.0, 1.0));
        }
    }

    /// Fills `w` by `h` pixels from the corner `x`, `y`.
    pub fn fill(&mut self, [x, y]: [i64; 2], [w, h]: [i64; 2], color: Rgb) {
        for row in y..y + h {
            for column in x..x + w {
                self.blend(column, row, color, 1.0);
            }
        }
    }

    /// The outline of `w` by `h` pixels, two pixels wide and outside of them.
    pub fn frame(&mut self, [x, y]: [i64; 2], [w, h]: [i64; 2], color: Rgb) {
        self.fill([x - 2, y - 2], [w + 4, 2], color);
        self.fill([x - 2, y + h], [w + 4, 2], color);
        self.fill([x - 2, y], [2, h], color);
        self.fill([x + w, y], [2, h], color);
    }

    /// A ring of the given line width, only where it lies within the square of `side` pixels at `corner`.
    pub fn ring(&mut self, center: [f64; 2], radius: f64, line: f64, color: Rgb, corner: [i64; 2], side: i64) {
        let reach = radius + line;
        let span = |k: usize| {
            let lo = (center[k] - reach).floor().max(corner[k] as f64) as i64;
            let hi = (center[k] + reach).ceil().min((corner[k] + side - 1) as f64) as i64;
            lo..=hi
        };
        for y in span(1) {
            for x in span(0) {
                let distance = (x as f64 + 0.5 - center[0]).hypot(y as f64 + 0.5 - center[1]);
                let cover = 0.5 + 0.5 * line - (distance - radius).abs();
                if cover > 0.0 {
                    self.blend(x, y, color, cover);
                }
            }
        }
    }

    /// A disc, only where it lies within `size` pixels from `corner`. One smaller than a pixel is pale instead.
    pub fn disc(&mut self, center: [f64; 2], radius: f64, color: Rgb, cover: f64, [corner, size]: [[i64; 2]; 2]) {
        let span = |k: usize| {
            let lo = (center[k] - radius - 0.5).floor().max(corner[k] as f64) as i64;
            let hi = (center[k] + radius + 0.5).ceil().min((corner[k] + size[k]) as f64) as i64;
            lo..hi
        };
        for y in span(1) {
            for x in span(0) {
                let distance = (x as f64 + 0.5 - center[0]).hypot(y as f64 + 0.5 - center[1]);
                let inside = (radius + 0.5 - distance).min(1.0);
                if inside > 0.0 {
                    self.blend(x, y, color, cover * inside);
                }
            }
        }
    }

    /// Fills a polygon; what is inside an even number of times is outside.
    pub fn polygon(&mut self, corners: &[[f64; 2]], color: Rgb) {
        /// Lines of a row of pixels, each of which is covered from crossing to crossing.
        const LINES: u32 = 4;
        let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
        for [_, y] in corners {
            (lo, hi) = (lo.min(*y), hi.max(*y));
        }
        for row in lo.max(0.0).floor() as usize..self.height.min(hi.max(0.0).ceil() as usize) {
            let mut cover = vec![0.0; self.width];
            for line in 0..LINES {
                let y = row as f64 + (f64::from(line) + 0.5) / f64::from(LINES);
                let edges = corners.iter().zip(corners.iter().cycle().skip(1));
                let mut crossings: Vec<f64> = edges
                    .filter(|([_, from], [_, to])| (*from <= y) != (*to <= y))
                    .map(|(from, to)| from[0] + (to[0] - from[0]) * (y - from[1]) / (to[1] - from[1]))
                    .map(|x| x.clamp(0.0, self.width as f64))
                    .collect();
                crossings.sort_by(f64::total_cmp);
                for span in crossings.as_chunks::<2>().0 {
                    for (x, cover) in cover.iter_mut().enumerate().take(span[1].ceil() as usize).skip(span[0] as usize)
                    {
                        let inside = span[1].min(x as f64 + 1.0) - span[0].max(x as f64);
                        *cover += inside.max(0.0) / f64::from(LINES);
                    }
                }
            }
            for (x, &cover) in cover.iter().enumerate().filter(|(_, cover)| **cover > 0.0) {
                self.blend(x as i64, row as i64, color, cover);
            }
        }
    }

    /// A line through `points` with round ends and corners.
    pub fn line(&mut self, points: &[[f64; 2]], width: f64, color: Rgb) {
        // Pieces overlap at the corners, which would be darker if each were laid over the others.
        let mut covers = vec![0.0f32; self.pixels.len()];
        let reach = 0.5 * width + 0.5;
        for pair in points.windows(2) {
            let ([from, to], d) = ([pair[0], pair[1]], [pair[1][0] - pair[0][0], pair[1][1] - pair[0][1]]);
            let length2 = d[0] * d[0] + d[1] * d[1];
            let span = |k: usize, end: usize| {
                let lo = (from[k].min(to[k]) - reach).floor().max(0.0) as usize;
                lo..(from[k].max(to[k]) + reach).ceil().min(end as f64).max(0.0) as usize
            };
            for y in span(1, self.height) {
                for x in span(0, self.width) {
                    let at = [x as f64 + 0.5 - from[0], y as f64 + 0.5 - from[1]];
                    let along = if length2 > 0.0 { (at[0] * d[0] + at[1] * d[1]) / length2 } else { 0.0 };
                    let along = along.clamp(0.0, 1.0);
                    let distance = (at[0] - along * d[0]).hypot(at[1] - along * d[1]);
                    let cover = &mut covers[y * self.width + x];
                    *cover = cover.max((reach - distance).clamp(0.0, 1.0) as f32);
                }
            }
        }
        for (pixel, &cover) in self.pixels.iter_mut().zip(&covers).filter(|(_, cover)| **cover > 0.0) {
            *pixel = mix(*pixel, color, cover.into());
        }
    }

    /// Writes a line of text with its baseline through `at`.
    pub fn text(&mut self, text: &str, at: [f64; 2], size: f64, align: Align, color: Rgb) {
        self.glyphs(text, size, align, |canvas, x, y, cover| {
            canvas.blend((at[0] + x).floor() as i64, (at[1] + y).floor() as i64, color, cover);
        });
    }

    /// The same, read from below.
    pub fn text_upwards(&mut self, text: &str, at: [f64; 2], size: f64, align: Align, color: Rgb) {
        self.glyphs(text, size, align, |canvas, x, y, cover| {
            canvas.blend((at[0] + y).floor() as i64, (at[1] - x).floor() as i64, color, cover);
        });
    }

    /// Text with a dark seam, legible on any background.
    pub fn text_outlined(&mut self, text: &str, at: [f64; 2], size: f64, color: Rgb) {
        for (dx, dy) in
            [(-1.5, 0.0), (1.5, 0.0), (0.0, -1.5), (0.0, 1.5), (-1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (1.0, -1.0)]
        {
            self.text(text, [at[0] + dx, at[1] + dy], size, Align::Left, [0, 0, 0]);
        }
        self.text(text, at, size, Align::Left, color);
    }

    /// Hands each pixel's cover to `put`, relative to the text's position.
    fn glyphs(&mut self, text: &str, size: f64, align: Align, put: impl Fn(&mut Self, f64, f64, f64)) {
        let font = self.font.clone();
        // ab_glyph's scale is the line height; `size` is that of an em, as everywhere else.
        let em = font.height_unscaled() / font.units_per_em().unwrap_or(1.0);
        let scale = PxScale::from(size as f32 * em);
        let scaled = font.as_scaled(scale);
        let mut glyphs: Vec<Glyph> = Vec::new();
        let mut width = 0.0f32;
        for letter in text.chars() {
            let id = scaled.glyph_id(letter);
            width += glyphs.last().map_or(0.0, |last| scaled.kern(last.id, id));
            glyphs.push(id.with_scale_and_position(scale, point(width, 0.0)));
            width += scaled.h_advance(id);
        }
        let start = match align {
            Align::Left => 0.0,
            Align::Center => -0.5 * f64::from(width),
            Align::Right => -f64::from(width),
        };
        for outline in glyphs.into_iter().filter_map(|glyph| font.outline_glyph(glyph)) {
            let corner = outline.px_bounds().min;
            outline.draw(|x, y, cover| {
                let (x, y) = (f64::from(corner.x) + f64::from(x), f64::from(corner.y) + f64::from(y));
                put(self, start.round() + x, y, f64::from(cover));
            });
        }
    }

    /// The picture as a PNG file.
    pub fn png(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header().map_err(error)?;
        writer.write_image_data(self.pixels.as_flattened()).map_err(error)?;
        writer.finish().map_err(error)?;
        Ok(bytes)
    }
}

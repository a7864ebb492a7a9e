//! A raster page: discs, rings, polygons, lines, text, and encoding as PNG.

use ab_glyph::{Font, FontRef, point};

use ropewalk::Result;

use crate::colors::{Rgb, mix};
use crate::errors;
use crate::font::{font, glyphs, scale};

/// The maximum number of pixels; such a picture takes about 2.4 GB while it is drawn.
const MOST: f64 = 4e8;

/// The horizontal alignment of text relative to its position.
#[derive(Clone, Copy, Debug)]
pub enum Align {
    Left,
    Center,
    Right,
}

/// An RGB picture with a font. Drawing is clipped to its edges, and to the rectangle of [`Canvas::clip`].
pub struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<Rgb>,
    font: FontRef<'static>,
    /// The first column and row that can be drawn on, and the first column and row after them.
    clip: [[i64; 2]; 2],
}

/// Pixels in row-major order.
#[derive(Clone, Debug)]
pub struct Image {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<Rgb>,
}

/// Checks the number of pixels of a picture, and returns an error if there would be too many.
pub fn check_pixels(width: usize, height: usize) -> Result<()> {
    if width as f64 * height as f64 > MOST {
        return Err(errors::too_many_pixels(width, height, MOST));
    }
    Ok(())
}

impl Canvas {
    pub fn new(width: usize, height: usize, background: Rgb) -> Result<Self> {
        check_pixels(width, height)?;
        let clip = [[0, 0], [width as i64, height as i64]];
        Ok(Self { width, height, pixels: vec![background; width * height], font: font()?, clip })
    }

    /// Clips subsequent drawing to a rectangle, from the first corner (included) to the second (excluded).
    pub fn clip(&mut self, to: Option<[[i64; 2]; 2]>) {
        let (whole, size) = ([[0, 0], [i64::MAX; 2]], [self.width as i64, self.height as i64]);
        self.clip = to.unwrap_or(whole).map(|corner| [0, 1].map(|k| corner[k].clamp(0, size[k])));
    }

    /// Returns the columns (`k` = 0) or rows (1) from `lo` to `hi` that can be drawn on.
    fn span(&self, k: usize, lo: f64, hi: f64) -> std::ops::Range<i64> {
        (lo.floor() as i64).max(self.clip[0][k])..(hi.ceil() as i64).min(self.clip[1][k])
    }

    /// Blends a colour over a pixel; `cover` is the covered fraction.
    pub fn blend(&mut self, x: i64, y: i64, color: Rgb, cover: f64) {
        let [lo, hi] = self.clip;
        if (lo[0]..hi[0]).contains(&x) && (lo[1]..hi[1]).contains(&y) {
            let pixel = &mut self.pixels[y as usize * self.width + x as usize];
            *pixel = mix(*pixel, color, cover.clamp(0.0, 1.0));
        }
    }

    /// Copies a picture onto a rectangle of `size` pixels, resampled with the nearest pixel.
    pub fn image(&mut self, image: &Image, corner: [f64; 2], size: [f64; 2]) {
        let ([left, top], [width, height]) = (corner.map(f64::round), size.map(f64::round));
        let nearest = |at: i64, from: f64, size: f64, own: usize| {
            (((at as f64 + 0.5 - from) / size * own as f64) as usize).min(own.saturating_sub(1))
        };
        for y in self.span(1, top, top + height) {
            let row = nearest(y, top, height, image.height) * image.width;
            for x in self.span(0, left, left + width) {
                if let Some(&color) = image.pixels.get(row + nearest(x, left, width, image.width)) {
                    self.pixels[y as usize * self.width + x as usize] = color;
                }
            }
        }
    }

    /// Draws a ring of the given line width.
    pub fn ring(&mut self, center: [f64; 2], radius: f64, line: f64, color: Rgb) {
        let reach = radius + line;
        for y in self.span(1, center[1] - reach, center[1] + reach + 1.0) {
            for x in self.span(0, center[0] - reach, center[0] + reach + 1.0) {
                let distance = (x as f64 + 0.5 - center[0]).hypot(y as f64 + 0.5 - center[1]);
                let cover = 0.5 + 0.5 * line - (distance - radius).abs();
                if cover > 0.0 {
                    self.blend(x, y, color, cover);
                }
            }
        }
    }

    /// Draws a disc. Discs smaller than a pixel are drawn paler instead.
    pub fn disc(&mut self, center: [f64; 2], radius: f64, color: Rgb, cover: f64) {
        for y in self.span(1, center[1] - radius - 0.5, center[1] + radius + 0.5) {
            for x in self.span(0, center[0] - radius - 0.5, center[0] + radius + 0.5) {
                let distance = (x as f64 + 0.5 - center[0]).hypot(y as f64 + 0.5 - center[1]);
                let inside = (radius + 0.5 - distance).min(1.0);
                if inside > 0.0 {
                    self.blend(x, y, color, cover * inside);
                }
            }
        }
    }

    /// Fills a polygon by the even-odd rule.
    pub fn polygon(&mut self, corners: &[[f64; 2]], color: Rgb, opacity: f64) {
        /// Subdivisions of a row of pixels, each filled between pairs of crossings.
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
                self.blend(x as i64, row as i64, color, opacity * cover);
            }
        }
    }

    /// Draws a line through `points`, with round ends and corners.
    pub fn line(&mut self, points: &[[f64; 2]], width: f64, color: Rgb) {
        let reach = 0.5 * width + 0.5;
        let extent = |k: usize| {
            let ends =
                points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), at| (at[k].min(lo), at[k].max(hi)));
            self.span(k, ends.0 - reach, ends.1 + reach)
        };
        let (columns, rows) = (extent(0), extent(1));
        if columns.is_empty() || rows.is_empty() {
            return;
        }
        // Segments overlap at corners. Their coverage is merged before blending, so that corners are not darker.
        let across = (columns.end - columns.start) as usize;
        let mut covers = vec![0.0f32; across * (rows.end - rows.start) as usize];
        for pair in points.windows(2) {
            let ([from, to], d) = ([pair[0], pair[1]], [pair[1][0] - pair[0][0], pair[1][1] - pair[0][1]]);
            let length2 = d[0] * d[0] + d[1] * d[1];
            let own = |k: usize| self.span(k, from[k].min(to[k]) - reach, from[k].max(to[k]) + reach);
            for y in own(1) {
                for x in own(0) {
                    let at = [x as f64 + 0.5 - from[0], y as f64 + 0.5 - from[1]];
                    let along = if length2 > 0.0 { (at[0] * d[0] + at[1] * d[1]) / length2 } else { 0.0 };
                    let along = along.clamp(0.0, 1.0);
                    let distance = (at[0] - along * d[0]).hypot(at[1] - along * d[1]);
                    let cover = &mut covers[(y - rows.start) as usize * across + (x - columns.start) as usize];
                    *cover = cover.max((reach - distance).clamp(0.0, 1.0) as f32);
                }
            }
        }
        for (y, row) in rows.zip(covers.chunks(across)) {
            for (x, &cover) in columns.clone().zip(row).filter(|(_, cover)| **cover > 0.0) {
                self.blend(x, y, color, cover.into());
            }
        }
    }

    /// Writes a line of text with its baseline through `at`.
    pub fn text(&mut self, text: &str, at: [f64; 2], size: f64, align: Align, color: Rgb) {
        let [left, base] = at.map(|x| x.floor() as i64);
        self.glyphs(text, size, align, |canvas, x, y, cover| canvas.blend(left + x, base + y, color, cover));
    }

    /// Writes a line of text that runs upwards, with its baseline through `at`.
    pub fn text_upwards(&mut self, text: &str, at: [f64; 2], size: f64, align: Align, color: Rgb) {
        let [base, bottom] = at.map(|x| x.floor() as i64);
        self.glyphs(text, size, align, |canvas, x, y, cover| canvas.blend(base + y, bottom - x, color, cover));
    }

    /// Calls `put` with the coverage of each pixel, relative to the position of the text. Positions are whole pixels:
    /// fractional ones could be rounded differently from column to column.
    fn glyphs(&mut self, text: &str, size: f64, align: Align, put: impl Fn(&mut Self, i64, i64, f64)) {
        let font = self.font.clone();
        let scale = scale(&font, size);
        let (line, width) = glyphs(&font, text, size);
        let start = match align {
            Align::Left => 0.0,
            Align::Center => -0.5 * f64::from(width),
            Align::Right => -f64::from(width),
        };
        let placed = line.into_iter().map(|(id, _, x)| id.with_scale_and_position(scale, point(x, 0.0)));
        for outline in placed.filter_map(|glyph| font.outline_glyph(glyph)) {
            let corner = outline.px_bounds().min;
            outline.draw(|x, y, cover| {
                let (left, top) = (start.round() as i64 + corner.x as i64, corner.y as i64);
                put(self, left + i64::from(x), top + i64::from(y), f64::from(cover));
            });
        }
    }

    /// Returns the picture.
    pub fn into_image(self) -> Image {
        Image { width: self.width, height: self.height, pixels: self.pixels }
    }
}

impl Image {
    /// Encodes the picture as a PNG file with a resolution in pixels per inch.
    pub fn png(&self, dpi: f64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let per_meter = (dpi / 0.0254).round() as u32;
        encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: per_meter, yppu: per_meter, unit: png::Unit::Meter }));
        let mut writer = encoder.write_header().map_err(errors::picture)?;
        writer.write_image_data(self.pixels.as_flattened()).map_err(errors::picture)?;
        writer.finish().map_err(errors::picture)?;
        Ok(bytes)
    }
}

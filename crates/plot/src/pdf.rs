//! Encodes a drawing as PDF: vectors, images, and text in the embedded font.
//!
//! In: a [`Chart`]. Out: a file of one page, whose size is that of the drawing in inches. The output is reproducible
//! byte for byte.
//! Source: ISO 32000-1:2008, sections 8 (graphics) and 9.7 (composite fonts).

use std::collections::BTreeMap;
use std::io::Write;

use ab_glyph::Font;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{CidFontType, FontFlags, LineCapStyle, LineJoinStyle, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};

use ropewalk::Result;

use crate::canvas::{Align, Image};
use crate::chart::{Chart, Mark};
use crate::colors::Rgb;
use crate::errors;
use crate::font::{FONT, font, glyphs};

/// PDF units per inch.
const PER_INCH: f64 = 72.0;
/// The control point distance of Bezier curves that approximate a quarter circle.
const ROUND: f64 = 0.552_284_749_831;
const FONT_NAME: Name = Name(b"DejaVuSans");
const TEXT: Name = Name(b"F");
const SYSTEM: SystemInfo = SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };
/// Metrics of DejaVu Sans, in thousandths of the font size.
const CAPITALS: f32 = 729.0;
const STEM: f32 = 90.0;
const BOX: Rect = Rect { x1: -1021.0, y1: -463.0, x2: 1793.0, y2: 1232.0 };

/// Object numbers of the file; images and opacities follow.
const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);
const INFO: Ref = Ref::new(5);
const TYPE0: Ref = Ref::new(6);
const CID: Ref = Ref::new(7);
const DESCRIPTOR: Ref = Ref::new(8);
const FONT_FILE: Ref = Ref::new(9);
const UNICODE: Ref = Ref::new(10);
const REST: i32 = 11;

impl Chart {
    /// Encodes the drawing as a PDF file.
    ///
    /// # Errors
    /// Fails if encoding fails.
    pub fn pdf(&self) -> Result<Vec<u8>> {
        let scale = PER_INCH / self.units_per_inch;
        let [width, height] = [self.width, self.height].map(|x| scale * x);
        let mut page = Page {
            scale,
            height,
            content: Content::new(),
            letters: BTreeMap::new(),
            images: vec![],
            opacities: vec![],
        };
        page.content.set_line_cap(LineCapStyle::RoundCap).set_line_join(LineJoinStyle::RoundJoin);
        for (clip, mark) in &self.marks {
            page.content.save_state();
            if let Some([[left, top], [right, bottom]]) = *clip {
                let ([x, y], size) =
                    (page.at([left, bottom]), [right - left, bottom - top].map(|x| (scale * x) as f32));
                page.content.rect(x, y, size[0], size[1]).clip_nonzero().end_path();
            }
            page.draw(mark)?;
            page.content.restore_state();
        }
        page.file(&self.title, [width, height].map(|x| x as f32))
    }
}

struct Page<'a> {
    scale: f64,
    height: f64,
    content: Content,
    /// The glyphs in use, and their characters.
    letters: BTreeMap<u16, char>,
    images: Vec<&'a Image>,
    opacities: Vec<f64>,
}

impl<'a> Page<'a> {
    /// Converts a position to PDF units from the lower left corner.
    fn at(&self, [x, y]: [f64; 2]) -> [f32; 2] {
        [(self.scale * x) as f32, (self.height - self.scale * y) as f32]
    }

    fn fill_color(&mut self, color: Rgb) {
        let [r, g, b] = color.map(|x| f32::from(x) / 255.0);
        self.content.set_fill_rgb(r, g, b);
    }

    fn pen(&mut self, width: f64, color: Rgb) {
        let [r, g, b] = color.map(|x| f32::from(x) / 255.0);
        self.content.set_stroke_rgb(r, g, b).set_line_width((self.scale * width) as f32);
    }

    fn path(&mut self, points: &[[f64; 2]]) {
        for (i, &point) in points.iter().enumerate() {
            let [x, y] = self.at(point);
            if i == 0 {
                self.content.move_to(x, y)
            } else {
                self.content.line_to(x, y)
            };
        }
    }

    fn circle(&mut self, center: [f64; 2], radius: f64) {
        let at = |x: f64, y: f64| self.at([center[0] + radius * x, center[1] + radius * y]);
        // Four quarter circles, each rotated from the previous one.
        let corners = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]].map(|[x, y]: [f64; 2]| {
            let (from, to) = ([x, y], [-y, x]);
            let near = |a: [f64; 2], b: [f64; 2]| at(a[0] + ROUND * b[0], a[1] + ROUND * b[1]);
            [near(from, to), near(to, from), at(to[0], to[1])]
        });
        let [x, y] = at(1.0, 0.0);
        self.content.move_to(x, y);
        for [a, b, c] in corners {
            self.content.cubic_to(a[0], a[1], b[0], b[1], c[0], c[1]);
        }
        self.content.close_path();
    }

    fn draw(&mut self, mark: &'a Mark) -> Result<()> {
        match mark {
            Mark::Line { points, width, color } => {
                self.pen(*width, *color);
                self.path(points);
                self.content.stroke();
            }
            Mark::Area { corners, color, opacity } => {
                if *opacity < 1.0 {
                    let known = self.opacities.iter().position(|other| other == opacity);
                    let number = known.unwrap_or(self.opacities.len());
                    if known.is_none() {
                        self.opacities.push(*opacity);
                    }
                    self.content.set_parameters(Name(format!("G{number}").as_bytes()));
                }
                self.fill_color(*color);
                self.path(corners);
                self.content.fill_even_odd();
            }
            Mark::Disc { at, radius, color } => {
                self.fill_color(*color);
                self.circle(*at, *radius);
                self.content.fill_nonzero();
            }
            Mark::Ring { at, radius, width, color } => {
                self.pen(*width, *color);
                self.circle(*at, *radius);
                self.content.stroke();
            }
            Mark::Image { corner, size, image } => {
                let ([x, y], [w, h]) =
                    (self.at([corner[0], corner[1] + size[1]]), size.map(|x| (self.scale * x) as f32));
                self.content.transform([w, 0.0, 0.0, h, x, y]);
                self.content.x_object(Name(format!("I{}", self.images.len()).as_bytes()));
                self.images.push(image);
            }
            Mark::Text { text, at, size, align, upwards, color } => {
                self.fill_color(*color);
                self.text(text, *at, *size, *align, *upwards)?;
            }
        }
        Ok(())
    }

    fn text(&mut self, text: &str, at: [f64; 2], size: f64, align: Align, upwards: bool) -> Result<()> {
        let font = font()?;
        let (line, end) = glyphs(&font, text, size);
        let back = match align {
            Align::Left => 0.0,
            Align::Center => 0.5 * f64::from(end),
            Align::Right => f64::from(end),
        };
        let [x, y] = if upwards { self.at([at[0], at[1] + back]) } else { self.at([at[0] - back, at[1]]) };
        let turn = if upwards { [0.0, 1.0, -1.0, 0.0] } else { [1.0, 0.0, 0.0, 1.0] };
        let em = font.units_per_em().unwrap_or(1.0);
        let content = &mut self.content;
        content.begin_text().set_font(TEXT, (self.scale * size) as f32);
        content.set_text_matrix([turn[0], turn[1], turn[2], turn[3], x, y]);
        let mut shown = content.show_positioned();
        let mut items = shown.items();
        let mut reached = 0.0;
        for (id, letter, start) in line {
            // Kerning, in thousandths of the font size.
            let kern = 1000.0 * (reached - start) / size as f32;
            if kern.abs() > 0.5 {
                items.adjust(kern);
            }
            items.show(Str(&id.0.to_be_bytes()));
            self.letters.insert(id.0, letter);
            reached = start + font.h_advance_unscaled(id) / em * size as f32;
        }
        items.finish();
        shown.finish();
        self.content.end_text();
        Ok(())
    }

    /// Assembles the file.
    fn file(self, title: &str, [width, height]: [f32; 2]) -> Result<Vec<u8>> {
        let mut pdf = Pdf::new();
        pdf.catalog(CATALOG).pages(PAGES);
        pdf.pages(PAGES).kids([PAGE]).count(1);
        let mut info = pdf.document_info(INFO);
        info.title(TextStr(title)).producer(TextStr(concat!("ropewalk ", env!("CARGO_PKG_VERSION"))));
        info.finish();
        let images = (REST..).map(Ref::new);
        let states = (REST + self.images.len() as i32..).map(Ref::new);
        let mut page = pdf.page(PAGE);
        page.media_box(Rect::new(0.0, 0.0, width, height)).parent(PAGES).contents(CONTENT);
        let mut resources = page.resources();
        resources.fonts().pair(TEXT, TYPE0);
        let mut objects = resources.x_objects();
        for (number, id) in (0..self.images.len()).zip(images.clone()) {
            objects.pair(Name(format!("I{number}").as_bytes()), id);
        }
        objects.finish();
        let mut parameters = resources.ext_g_states();
        for (number, id) in (0..self.opacities.len()).zip(states.clone()) {
            parameters.pair(Name(format!("G{number}").as_bytes()), id);
        }
        parameters.finish();
        resources.finish();
        page.finish();
        pdf.stream(CONTENT, &deflated(&self.content.finish())?).filter(Filter::FlateDecode);
        for (image, id) in self.images.iter().zip(images) {
            let data = deflated(image.pixels.as_flattened())?;
            let mut object = pdf.image_xobject(id, &data);
            object.filter(Filter::FlateDecode);
            object.width(image.width as i32).height(image.height as i32);
            object.color_space().device_rgb();
            object.bits_per_component(8);
        }
        for (&opacity, id) in self.opacities.iter().zip(states) {
            pdf.ext_graphics(id).non_stroking_alpha(opacity as f32);
        }
        embed(&mut pdf, &self.letters)?;
        Ok(pdf.finish())
    }
}

/// Embeds the font, with the widths and characters of the glyphs in use.
fn embed(pdf: &mut Pdf, letters: &BTreeMap<u16, char>) -> Result<()> {
    let font = font()?;
    let thousandths = |x: f32| 1000.0 * x / font.units_per_em().unwrap_or(1.0);
    pdf.type0_font(TYPE0)
        .base_font(FONT_NAME)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(CID)
        .to_unicode(UNICODE);
    let mut cid = pdf.cid_font(CID);
    cid.subtype(CidFontType::Type2).base_font(FONT_NAME).system_info(SYSTEM).font_descriptor(DESCRIPTOR);
    cid.default_width(0.0).cid_to_gid_map_predefined(Name(b"Identity"));
    let mut widths = cid.widths();
    for &id in letters.keys() {
        widths.consecutive(id, [thousandths(font.h_advance_unscaled(ab_glyph::GlyphId(id)))]);
    }
    widths.finish();
    cid.finish();
    let mut descriptor = pdf.font_descriptor(DESCRIPTOR);
    descriptor.name(FONT_NAME).flags(FontFlags::SYMBOLIC).bbox(BOX).italic_angle(0.0);
    descriptor.ascent(thousandths(font.ascent_unscaled())).descent(thousandths(font.descent_unscaled()));
    descriptor.cap_height(CAPITALS).stem_v(STEM).font_file2(FONT_FILE);
    descriptor.finish();
    let data = deflated(FONT)?;
    let mut file = pdf.stream(FONT_FILE, &data);
    file.filter(Filter::FlateDecode).pair(Name(b"Length1"), FONT.len() as i32);
    file.finish();
    let mut unicode = UnicodeCmap::new(Name(b"Custom"), SYSTEM);
    for (&id, &letter) in letters {
        unicode.pair(id, letter);
    }
    pdf.cmap(UNICODE, &unicode.finish());
    Ok(())
}

fn deflated(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(6));
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.map_err(errors::picture)
}

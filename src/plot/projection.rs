//! All particles seen along the z axis, with the largest halos and subhalos circled.

use crate::error::Result;
use crate::geometry::{Boundary, Scalar, Space};
use crate::halo::{Catalog, Halo, Particles};
use crate::plot::canvas::{Align, Canvas};
use crate::plot::colors::{Rgb, inferno};
use crate::plot::density::{SIDE, density};
use crate::plot::ticks::{between_decades, decades, power_of_ten, round_values};

const WIDTH: usize = 1240;
const HEIGHT: usize = 1130;
/// The upper left corner of the density.
const CORNER: [i64; 2] = [120, 80];
const INK: Rgb = [25, 25, 30];
const PAPER: Rgb = [255, 255, 255];
/// How many halos have circles and numbers, and how many subhalos circles.
const CIRCLED: usize = 25;
const NUMBERED: usize = 10;
const SUBHALOS: usize = 100;
/// The colour of a subhalo's circle, which the scale of densities does not have.
const CYAN: Rgb = [80, 235, 255];
/// What notes are written in, and what stands behind the circles among them.
const FAINT: Rgb = [90, 90, 100];
const NIGHT: Rgb = [33, 12, 74];

/// A PNG file, 1240 by 1130 pixels: the density projected along z in units of its mean, on a logarithmic colour scale, of the periodic
/// box or of the smallest square around the particles; the 25 largest halos circled at the radius of their farthest member, and the 10
/// largest numbered. Of a catalogue with subhalos ([`Catalog::add_subhalos`]) it circles the 25 largest halos and, in another colour, the
/// 100 largest subhalos in these, both at the root mean square distance of their members. `title` is the line above.
///
/// Errors: a periodic box that is not positive, or another one than the catalogue's; a picture that cannot be encoded.
pub fn projection<S: Scalar>(particles: &Particles<S>, catalog: &Catalog, title: &str) -> Result<Vec<u8>> {
    let said = particles.boundary()?;
    let known = [("the halos were measured in", catalog.boundary()), ("the particles are in", &said)];
    let window = Window::new(particles, &Boundary::agree(&known)?.space()?);
    let circles = Circles::new(catalog);
    let mut canvas = Canvas::new(WIDTH, HEIGHT, PAPER)?;
    let side = SIDE as i64;

    canvas.fill(CORNER, [side, side], inferno(0.0));
    if particles.is_empty() {
        let middle = CORNER.map(|x| (x + side / 2) as f64);
        canvas.text("no particles", middle, 32.0, Align::Center, PAPER);
    } else {
        let image = density(particles, &window);
        let scale = Scale::new(&image);
        for (row, pixels) in image.chunks(SIDE).enumerate() {
            for (column, &pixel) in pixels.iter().enumerate() {
                canvas.blend(CORNER[0] + column as i64, CORNER[1] + row as i64, scale.color(pixel), 1.0);
            }
        }
        scale.draw(&mut canvas);
        circles.draw(&mut canvas, &window);
    }
    axes(&mut canvas, &window);

    let middle = CORNER[0] as f64 + 0.5 * SIDE as f64;
    canvas.text(title, [middle, 36.0], 25.0, Align::Center, INK);
    circles.legend(&mut canvas, middle);
    canvas.png()
}

/// The halos and subhalos that are circled, the largest first.
struct Circles<'a> {
    halos: Vec<&'a Halo>,
    subhalos: Vec<&'a Halo>,
    /// Whether the catalogue knows of subhalos. Its halos reach far out, so that circles do not go out to the farthest member.
    nested: bool,
}

impl<'a> Circles<'a> {
    fn new(catalog: &'a Catalog) -> Self {
        let all = catalog.halos();
        let hosts: Vec<usize> = (0..all.len()).filter(|&row| catalog.is_host(row)).take(CIRCLED).collect();
        let in_circled = |&row: &usize| {
            let host = catalog.subhalos()[row].host as usize;
            host != row && hosts.binary_search(&host).is_ok()
        };
        let subhalos = (0..catalog.subhalos().len()).filter(in_circled).take(SUBHALOS);
        Self {
            subhalos: subhalos.map(|row| &all[row]).collect(),
            halos: hosts.iter().map(|&row| &all[row]).collect(),
            nested: !catalog.subhalos().is_empty(),
        }
    }

    fn draw(&self, canvas: &mut Canvas, window: &Window) {
        for halo in self.subhalos.iter().rev() {
            circle(canvas, window, halo.center, (halo.rms_radius, 4.0), CYAN, None);
        }
        for (rank, halo) in self.halos.iter().enumerate().rev() {
            let radius = if self.nested { halo.rms_radius } else { halo.max_radius };
            let number = (rank < NUMBERED).then_some(rank + 1);
            circle(canvas, window, halo.center, (radius, 7.0), PAPER, number);
        }
    }

    /// The line below the title.
    fn legend(&self, canvas: &mut Canvas, middle: f64) {
        let circled = self.halos.len();
        let note = match (circled, self.nested) {
            (0, _) => "no halos".into(),
            (1, false) => "circle: the halo, out to its farthest member".into(),
            (_, false) => format!("circles: the {circled} largest halos, out to their farthest members"),
            (_, true) => return self.nested_legend(canvas, middle),
        };
        canvas.text(&note, [middle, 66.0], 19.0, Align::Center, FAINT);
    }

    fn nested_legend(&self, canvas: &mut Canvas, middle: f64) {
        let name = |count: usize, what: &str| match count {
            0 => format!("no {what}s"),
            1 => format!("the largest {what}"),
            _ => format!("the {count} largest {what}s"),
        };
        let entries = [
            (Some(PAPER), name(self.halos.len(), "halo")),
            (Some(CYAN), format!("{} in them", name(self.subhalos.len(), "subhalo"))),
            (None, "out to their root mean square radius".into()),
        ];
        let width = |color: Option<Rgb>, text: &str| color.map_or(30.0, |_| 62.0) + 9.7 * text.chars().count() as f64;
        let mut x = middle + 15.0 - 0.5 * entries.iter().map(|(color, text)| width(*color, text)).sum::<f64>();
        for (color, text) in entries {
            let step = width(color, &text);
            if let Some(color) = color {
                canvas.fill([x as i64 - 2, 49], [24, 24], NIGHT);
                canvas.ring([x as i64 as f64 + 10.0, 61.0], 7.0, 1.2, color, [0, 0], WIDTH as i64);
            }
            canvas.text(&text, [x + step - 30.0 - 9.7 * text.chars().count() as f64, 67.0], 19.0, Align::Left, FAINT);
            x += step;
        }
    }
}

/// What is shown: a square of the x-y plane, and the cube around all particles.
pub struct Window {
    lo: [f64; 3],
    /// The side of the square, which begins at the cube's corner.
    side: f64,
    /// The side of the cube.
    cube: f64,
    period: Option<[f64; 3]>,
}

impl Window {
    /// The periodic box, or the smallest square and cube around the particles with some air.
    pub fn new<S: Scalar>(particles: &Particles<S>, space: &Space<3>) -> Self {
        if let Some(&period) = space.period() {
            let [x, y, z] = period;
            return Self { lo: [0.0; 3], side: x.max(y), cube: x.max(y).max(z), period: Some(period) };
        }
        let (lo, hi) = particles.extent();
        // Particles that are all in one place still need a window with some width, in their own numbers.
        let least = 1e-3 * lo.iter().chain(&hi).fold(1e-300, |most: f64, x| most.max(x.abs()));
        let extent = |k: usize| if hi[k] > lo[k] { 1.02 * (hi[k] - lo[k]) } else { least };
        let side = extent(0).max(extent(1));
        let middle: [f64; 3] = std::array::from_fn(|k| 0.5 * lo[k] + 0.5 * hi[k]);
        Self {
            lo: [middle[0] - 0.5 * side, middle[1] - 0.5 * side, lo[2]],
            side,
            cube: side.max(extent(2)),
            period: None,
        }
    }

    /// Whether the left edge of the picture continues the right one, and so on along each axis.
    pub fn wraps(&self) -> bool {
        self.period == Some([self.side; 3])
    }

    fn inside(&self, x: f64, k: usize) -> f64 {
        self.period.map_or(x, |period| x.rem_euclid(period[k])) - self.lo[k]
    }

    /// A place of the picture, in pixels from its upper left corner.
    pub fn pixel(&self, [x, y, _]: [f64; 3]) -> [f64; 2] {
        let scale = SIDE as f64 / self.side;
        [self.inside(x, 0) * scale, SIDE as f64 - self.inside(y, 1) * scale]
    }

    /// A place of the cube cut into `cells` along each side, in cells.
    pub fn cell(&self, at: [f64; 3], cells: usize) -> [f64; 3] {
        std::array::from_fn(|k| self.inside(at[k], k) / self.cube * cells as f64)
    }

    /// The width of such a cell, in sides of the picture.
    pub fn cell_width(&self, cells: usize) -> f64 {
        self.cube / (self.side * cells as f64)
    }
}

/// From densities to colours.
struct Scale {
    lo: f64,
    hi: f64,
}

impl Scale {
    /// From the one in two hundred pixels that is darkest to the one in ten thousand that is brightest.
    fn new(image: &[f32]) -> Self {
        let mut values: Vec<f32> = image.iter().copied().filter(|&value| value > 0.0).collect();
        let n = values.len();
        let mut at = |part: f64| {
            let place = ((part * n as f64) as usize).min(n.saturating_sub(1));
            let value = if n > 0 { *values.select_nth_unstable_by(place, f32::total_cmp).1 } else { 1.0 };
            f64::from(value).log10()
        };
        let (lo, hi) = (at(0.005), at(0.9999));
        // A scale of less than a decade would show nothing but noise.
        let hi = hi.max(lo + 1.0);
        Self { lo, hi }
    }

    fn color(&self, density: f32) -> Rgb {
        inferno((f64::from(density).log10() - self.lo) / (self.hi - self.lo))
    }

    /// The colour bar on the right.
    fn draw(&self, canvas: &mut Canvas) {
        let (left, top, height) = (CORNER[0] + SIDE as i64 + 26, CORNER[1], SIDE as i64);
        for row in 0..height {
            let color = inferno(1.0 - (row as f64 + 0.5) / height as f64);
            canvas.fill([left, top + row], [24, 1], color);
        }
        canvas.frame([left, top], [24, height], INK);
        for power in decades(self.lo, self.hi) {
            let at = top as f64 + height as f64 * (self.hi - f64::from(power)) / (self.hi - self.lo);
            canvas.fill([left + 26, at.round() as i64 - 1], [7, 2], INK);
            canvas.text(&power_of_ten(power), [(left + 38) as f64, at + 7.0], 20.0, Align::Left, INK);
        }
        for log in between_decades(self.lo, self.hi) {
            let at = top as f64 + height as f64 * (self.hi - log) / (self.hi - self.lo);
            canvas.fill([left + 26, at.round() as i64], [4, 1], INK);
        }
        let middle = (top + height / 2) as f64;
        canvas.text_upwards("projected density / mean", [(left + 112) as f64, middle], 22.0, Align::Center, INK);
    }
}

/// A circle of a radius, but of so many pixels at least, as a smaller one would hide what is in it, at all images of it that the picture
/// shows, and a number beside the first.
fn circle(
    canvas: &mut Canvas,
    window: &Window,
    center: [f64; 3],
    (radius, least): (f64, f64),
    color: Rgb,
    number: Option<usize>,
) {
    let scale = SIDE as f64 / window.side;
    let at = window.pixel(center);
    let radius = (radius * scale).clamp(least, SIDE as f64);
    let shifts = |k: usize| match window.period {
        Some(period) => vec![0.0, -period[k] * scale, period[k] * scale],
        None => vec![0.0],
    };
    for dy in shifts(1) {
        for dx in shifts(0) {
            let center = [CORNER[0] as f64 + at[0] + dx, CORNER[1] as f64 + at[1] + dy];
            canvas.ring(center, radius, 1.2, color, CORNER, SIDE as i64);
        }
    }
    if let Some(number) = number {
        let label = number.to_string();
        let (width, height) = (14.0 * label.len() as f64, 16.0);
        // On the upper right of the circle; on its other side where the picture ends.
        let (end, reach) = (SIDE as f64, 0.72 * radius + 4.0);
        let x = if at[0] + reach + width < end { at[0] + reach } else { at[0] - reach - width };
        let y = if at[1] - reach - height > 0.0 { at[1] - reach } else { at[1] + reach + height };
        canvas.text_outlined(&label, [CORNER[0] as f64 + x, CORNER[1] as f64 + y], 21.0, PAPER);
    }
}

fn axes(canvas: &mut Canvas, window: &Window) {
    let side = SIDE as i64;
    let ([left, top], bottom) = (CORNER, CORNER[1] + side);
    canvas.frame(CORNER, [side, side], INK);
    let pixel = |at: f64, k: usize| SIDE as f64 * (at - window.lo[k]) / window.side;
    for (value, label) in round_values(window.lo[0], window.lo[0] + window.side) {
        let x = left as f64 + pixel(value, 0);
        canvas.fill([x.round() as i64 - 1, bottom + 2], [2, 7], INK);
        canvas.text(&label, [x, bottom as f64 + 31.0], 20.0, Align::Center, INK);
    }
    for (value, label) in round_values(window.lo[1], window.lo[1] + window.side) {
        let y = bottom as f64 - pixel(value, 1);
        canvas.fill([left - 9, y.round() as i64 - 1], [7, 2], INK);
        canvas.text(&label, [left as f64 - 14.0, y + 7.0], 20.0, Align::Right, INK);
    }
    let middle = 0.5 * SIDE as f64;
    canvas.text("x  [snapshot length unit]", [left as f64 + middle, bottom as f64 + 66.0], 22.0, Align::Center, INK);
    canvas.text_upwards("y  [snapshot length unit]", [34.0, top as f64 + middle], 22.0, Align::Center, INK);
}

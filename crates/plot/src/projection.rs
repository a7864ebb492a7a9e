//! The projected density of all particles, or of a slab, with the largest halos and subhalos circled.

use ropewalk::distributed::{Alone, Communicator};
use ropewalk::geometry::{Boundary, Space};
use ropewalk::halo::Particles;
use ropewalk::{Result, Scalar};
use ropewalk_table::{Catalog, Halo};

use crate::axis::{FAINT, INK, PAPER};
use crate::axis_units::AxisUnits;
use crate::canvas::{Align, Image};
use crate::chart::{Chart, Rect};
use crate::colors::{Rgb, inferno};
use crate::density::density;
use crate::font::{HIGH, width};
use crate::panel::{Panel, Scale};
use crate::slab::{AXES, Slab};
use crate::style::Style;
use crate::ticks::{Room, Side, between_decades, logarithmic};
use crate::window::{SIDE, Window};

const WIDTH: f64 = 1240.0;
const HEIGHT: f64 = 1130.0;
/// The edges of the density.
const LEFT: f64 = 120.0;
const TOP: f64 = 80.0;
const RIGHT: f64 = LEFT + SIDE as f64;
const BOTTOM: f64 = TOP + SIDE as f64;
const PLOT: Rect = [[LEFT, TOP], [RIGHT, BOTTOM]];
const MIDDLE: f64 = 0.5 * (LEFT + RIGHT);
/// The numbers of halos with circles, of halos with numbers, and of subhalos with circles.
const CIRCLED: usize = 25;
const NUMBERED: usize = 10;
const SUBHALOS: usize = 100;
/// The font size of these numbers.
const NUMBER: f64 = 21.0;
/// The colour of subhalo circles, which is not part of the density scale.
const CYAN: Rgb = [80, 235, 255];
/// The background of circles in the legend.
const NIGHT: Rgb = [33, 12, 74];

/// Options of a projection: title, units, and slab.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Projection {
    /// The heading line.
    pub title: String,
    /// The units of lengths, and the redshift.
    pub units: AxisUnits,
    /// Restricts the picture to particles and halos in this slab, seen along its axis. Default: everything, seen
    /// along z.
    pub slab: Option<Slab>,
}

/// Draws the density projected along an axis, in units of its mean, on a logarithmic colour scale. Shows the periodic
/// box, or the smallest square around the particles.
///
/// The 25 largest halos have circles at the radius of their farthest member; the 10 largest have the numbers of their rows. If the
/// catalogue has subhalos ([`Catalog::add_subhalos`]), the 100 largest subhalos in these halos are circled in another
/// colour. All circles are then at the root mean square distance of the members. Halos belong to a slab if their
/// centre does. The picture is 8.07 by 7.36 inches, 1240 by 1130 pixels at the default resolution.
///
/// # Errors
/// Fails if a periodic box is not positive or differs from that of the catalogue, or if encoding fails.
pub fn projection<S: Scalar>(
    particles: &Particles<S>,
    catalog: &Catalog,
    shown: &Projection,
    style: impl Into<Style>,
) -> Result<Vec<u8>> {
    let style = style.into();
    let said = particles.boundary()?;
    let known = [("the halos were measured in", catalog.boundary()), ("the particles are in", &said)];
    let space = Boundary::common(&known)?.space()?;
    ProjectedDensity::new(particles, particles.extent().into(), &space, shown.slab.as_ref(), style, &Alone)?
        .draw(catalog, shown, style)
}

/// The density of the particles as seen in the picture.
pub struct ProjectedDensity {
    window: Window,
    /// The number of pixels along a side, and their densities, row by row from the top; empty without particles.
    side: usize,
    image: Vec<f32>,
    n: u64,
}

impl ProjectedDensity {
    /// Computes the density of the particles of all ranks. `extent` holds the corners of the box around all of them,
    /// and `space` is the space that they are in. Collective.
    ///
    /// Fails if the resolution is invalid, or if a rank has ended.
    pub fn new<S: Scalar>(
        particles: &Particles<S>,
        extent: [[f64; 3]; 2],
        space: &Space<3>,
        slab: Option<&Slab>,
        style: Style,
        ranks: &dyn Communicator,
    ) -> Result<Self> {
        let scale = Chart::in_pixels(WIDTH, HEIGHT, "").scale(style)?;
        let side = (scale * SIDE as f64).round().max(1.0) as usize;
        let window = Window::new(extent, space, slab.map_or(2, Slab::axis));
        let (image, n) = density(particles, &window, side, slab, ranks)?;
        Ok(Self { window, side, image, n })
    }

    /// Draws the picture with the halos.
    ///
    /// Fails if encoding fails.
    pub fn draw(&self, catalog: &Catalog, shown: &Projection, style: Style) -> Result<Vec<u8>> {
        let Self { window, side, image, n } = self;
        let slab = shown.slab.as_ref();
        let circles = Circles::new(catalog, |at| slab.is_none_or(|slab| window.is_in(slab, at)));
        let mut chart = Chart::in_pixels(WIDTH, HEIGHT, &shown.title);
        chart.fill(PLOT, inferno(0.0));
        if *n == 0 {
            let what = if slab.is_some() { "no particles in the slab" } else { "no particles" };
            chart.text(what, [MIDDLE, 0.5 * (TOP + BOTTOM)], 32.0, Align::Center, PAPER);
        } else {
            let scale = Colors::new(image);
            let pixels = image.iter().map(|&density| scale.color(density)).collect();
            chart.image([LEFT, TOP], [SIDE as f64; 2], Image { width: *side, height: *side, pixels });
            scale.draw(&mut chart);
        }
        let places = [[LEFT, RIGHT], [BOTTOM, TOP]];
        let scale = |k: usize| {
            let from = window.lo[window.axes[k]];
            let ends = [from, from + window.side].map(|x| x * shown.units.length_factor());
            Scale::linear(ends, places[k])
        };
        let panel = Panel { is_gridded: false, is_outside: true, ..Panel::new(scale(0), scale(1)) };
        let names = window.axes.map(|k| format!("{}  [{}]", AXES[k], shown.units.length()));
        panel.draw(&mut chart, [Some(&names[0]), Some(&names[1])], |chart| {
            if *n > 0 {
                circles.draw(chart, window);
            }
        });
        let mut line = 36.0;
        if let Some(slab) = slab {
            line = 27.0;
            let slab = slab.times(shown.units.length_factor());
            chart.heading(&slab.describe(*n, shown.units.length()), [MIDDLE, 49.0], 18.0, INK);
        }
        chart.heading(&shown.title, [MIDDLE, line], 25.0, INK);
        circles.legend(&mut chart, if slab.is_some() { 71.0 } else { 67.0 });
        chart.encoded(style)
    }
}

/// The halos and subhalos with circles, largest first.
struct Circles<'a> {
    halos: Vec<&'a Halo>,
    /// The rows of these halos in the catalogue.
    rows: Vec<usize>,
    subhalos: Vec<&'a Halo>,
    /// `true` if the catalogue has subhalos. Its halos are extended, so their circles do not enclose the farthest
    /// member.
    nested: bool,
}

impl<'a> Circles<'a> {
    fn new(catalog: &'a Catalog, is_shown: impl Fn([f64; 3]) -> bool) -> Self {
        let all = catalog.halos();
        let shown = |row: &usize| is_shown(all[*row].center);
        let hosts: Vec<usize> =
            (0..all.len()).filter(|&row| catalog.is_host(row)).filter(shown).take(CIRCLED).collect();
        let in_circled = |&row: &usize| {
            let host = catalog.subhalos()[row].host as usize;
            host != row && hosts.binary_search(&host).is_ok()
        };
        let subhalos = (0..catalog.subhalos().len()).filter(in_circled).filter(shown).take(SUBHALOS);
        Self {
            subhalos: subhalos.map(|row| &all[row]).collect(),
            halos: hosts.iter().map(|&row| &all[row]).collect(),
            rows: hosts,
            nested: !catalog.subhalos().is_empty(),
        }
    }

    fn draw(&self, chart: &mut Chart, window: &Window) {
        for halo in self.subhalos.iter().rev() {
            circle(chart, window, halo.center, halo.rms_radius, 4.0, CYAN);
        }
        let radius = |halo: &Halo| if self.nested { halo.rms_radius } else { halo.max_radius };
        for halo in self.halos.iter().rev() {
            circle(chart, window, halo.center, radius(halo), 7.0, PAPER);
        }
        // The numbers of larger halos take precedence: later ones that would overlap them move, or are omitted.
        let mut taken: Vec<Rect> = vec![];
        for (row, halo) in self.rows.iter().zip(&self.halos).take(NUMBERED) {
            let label = row.to_string();
            if let Some(place) = room_for(&label, window, halo.center, shown_radius(window, radius(halo), 7.0), &taken)
            {
                chart.text_outlined(&label, [place[0][0], place[1][1]], NUMBER, PAPER);
                taken.push(place);
            }
        }
    }

    /// Draws the line below the title.
    fn legend(&self, chart: &mut Chart, line: f64) {
        let circled = self.halos.len();
        let note = match (circled, self.nested) {
            (0, _) => "no halos".into(),
            (1, false) => "circle: the halo; radius: farthest member".into(),
            (_, false) => format!("circles: the {circled} largest halos; radius: farthest member"),
            (_, true) => return self.nested_legend(chart, line),
        };
        chart.text(&note, [MIDDLE, line - 1.0], 19.0, Align::Center, FAINT);
    }

    fn nested_legend(&self, chart: &mut Chart, line: f64) {
        let name = |count: usize, what: &str| match count {
            0 => format!("no {what}s"),
            1 => format!("the largest {what}"),
            _ => format!("the {count} largest {what}s"),
        };
        let entries = [
            (Some(PAPER), name(self.halos.len(), "halo")),
            (Some(CYAN), format!("{} of these halos", name(self.subhalos.len(), "subhalo"))),
            (None, "radius: root mean square distance".into()),
        ];
        let indent = |color: Option<Rgb>| color.map_or(0.0, |_| 32.0);
        let step = |(color, text): &(Option<Rgb>, String)| indent(*color) + width(text, 19.0) + 30.0;
        let mut x = MIDDLE + 15.0 - 0.5 * entries.iter().map(step).sum::<f64>();
        for entry in &entries {
            let (color, text) = entry;
            if let Some(color) = *color {
                chart.fill([[x - 2.0, line - 18.0], [x + 22.0, line + 6.0]], NIGHT);
                chart.ring([x + 10.0, line - 6.0], 7.0, 1.2, color);
            }
            chart.text(text, [x + indent(*color), line], 19.0, Align::Left, FAINT);
            x += step(entry);
        }
    }
}

/// Maps densities to colours.
struct Colors {
    lo: f64,
    hi: f64,
}

impl Colors {
    /// Creates a scale from the 0.5th to the 99.99th percentile of positive pixels.
    fn new(image: &[f32]) -> Self {
        let mut values: Vec<f32> = image.iter().copied().filter(|&value| value > 0.0).collect();
        let n = values.len();
        let mut at = |part: f64| {
            let place = ((part * n as f64) as usize).min(n.saturating_sub(1));
            let value = if n > 0 { *values.select_nth_unstable_by(place, f32::total_cmp).1 } else { 1.0 };
            f64::from(value).log10()
        };
        let (lo, hi) = (at(0.005), at(0.9999));
        // A scale of less than a decade would only show noise.
        let hi = hi.max(lo + 1.0);
        Self { lo, hi }
    }

    fn color(&self, density: f32) -> Rgb {
        inferno((f64::from(density).log10() - self.lo) / (self.hi - self.lo))
    }

    /// Draws the colour bar on the right.
    fn draw(&self, chart: &mut Chart) {
        let (left, right) = (RIGHT + 26.0, RIGHT + 50.0);
        // As many pixels as it is wide: viewers would blend a single column with its surroundings.
        let wide = (right - left) as usize;
        let color = |row: usize| inferno(1.0 - (row as f64 + 0.5) / SIDE as f64);
        let pixels = (0..SIDE).flat_map(|row| std::iter::repeat_n(color(row), wide)).collect();
        let bar = Image { width: wide, height: SIDE, pixels };
        chart.image([left, TOP], [right - left, SIDE as f64], bar);
        chart.outline([[left, TOP], [right, BOTTOM]], 2.0, INK);
        let ends = [self.lo, self.hi].map(|log| 10f64.powf(log));
        let scale = Scale::logarithmic(ends, [BOTTOM, TOP]);
        let ticks = logarithmic(ends, &|value| scale.at(value), Room::new(Side::Left, 20.0));
        let name = ticks.named("projected density / mean");
        for (value, label) in ticks.marks {
            let y = scale.at(value);
            chart.line(vec![[right + 2.0, y], [right + 8.0, y]], 2.0, INK);
            chart.text(label, [right + 14.0, y + 7.0], 20.0, Align::Left, INK);
        }
        for y in between_decades(ends).into_iter().map(|value| scale.at(value)) {
            chart.line(vec![[right + 2.0, y], [right + 5.0, y]], 1.0, INK);
        }
        chart.text_upwards(name, [WIDTH - 18.0, 0.5 * (TOP + BOTTOM)], 22.0, BOTTOM - TOP, INK);
    }
}

/// Returns the radius of a circle on the page, at least `least`, since a smaller circle would hide its contents.
fn shown_radius(window: &Window, radius: f64, least: f64) -> f64 {
    (radius * SIDE as f64 / window.side).clamp(least, SIDE as f64)
}

/// Draws a circle at all of its periodic images that the picture shows.
fn circle(chart: &mut Chart, window: &Window, center: [f64; 3], radius: f64, least: f64, color: Rgb) {
    let scale = SIDE as f64 / window.side;
    let at = window.pixel(center);
    let radius = shown_radius(window, radius, least);
    let shifts = |k: usize| match window.period {
        Some(period) => vec![0.0, -period[window.axes[k]] * scale, period[window.axes[k]] * scale],
        None => vec![0.0],
    };
    let sees = |x: f64| (-radius - 1.0..=SIDE as f64 + radius + 1.0).contains(&x);
    for dy in shifts(1) {
        for dx in shifts(0) {
            if sees(at[0] + dx) && sees(at[1] + dy) {
                chart.ring([LEFT + at[0] + dx, TOP + at[1] + dy], radius, 1.2, color);
            }
        }
    }
}

/// Returns the rectangle of a number beside its circle: at the upper right, or at the first other corner that is
/// inside the picture and does not overlap `taken` rectangles. Returns `None` if no corner is free.
fn room_for(label: &str, window: &Window, center: [f64; 3], radius: f64, taken: &[Rect]) -> Option<Rect> {
    let (wide, high) = (width(label, NUMBER), HIGH * NUMBER);
    let [x, y] = window.pixel(center);
    let reach = 0.72 * radius + 4.0;
    let corners = [[1.0, -1.0], [-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]];
    let places = corners.map(|[right, down]| {
        let left = LEFT + x + if right > 0.0 { reach } else { -reach - wide };
        let bottom = TOP + y + if down > 0.0 { reach + high } else { -reach };
        [[left, bottom - high], [left + wide, bottom]]
    });
    let is_free = |[lo, hi]: &Rect| {
        let inside = (0..2).all(|k| lo[k] > PLOT[0][k] + 3.0 && hi[k] < PLOT[1][k] - 3.0);
        inside && !taken.iter().any(|other| (0..2).all(|k| lo[k] < other[1][k] + 3.0 && other[0][k] < hi[k] + 3.0))
    };
    places.into_iter().find(is_free)
}

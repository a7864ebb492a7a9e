//! The projected density of all particles, or of a slab, with the largest halos and subhalos circled.

use ropewalk::distributed::{Alone, Communicator};
use ropewalk::geometry::{Boundary, Space};
use ropewalk::halo::Particles;
use ropewalk::internals::format::counted;
use ropewalk::{Result, Scalar};
use ropewalk_table::Catalog;

use crate::axis::{INK, PAPER};
use crate::axis_units::AxisUnits;
use crate::canvas::{Align, Image};
use crate::chart::Chart;
use crate::circles::Circles;
use crate::colors::{Rgb, inferno};
use crate::density::density;
use crate::panel::{Panel, Scale};
use crate::slab::{AXES, Slab};
use crate::style::Style;
use crate::ticks::{Room, Side, between_decades, logarithmic};
use crate::window::{LETTERS, PLOT, SIDE, Window};

const WIDTH: f64 = 1366.0;
const HEIGHT: f64 = 1290.0;
/// The edges of the density.
const LEFT: f64 = PLOT[0][0];
const TOP: f64 = PLOT[0][1];
const RIGHT: f64 = PLOT[1][0];
const BOTTOM: f64 = PLOT[1][1];
/// The font size of the title.
const TITLE: f64 = 38.0;
/// Options of a projection: title, units, and slab.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Projection {
    /// The heading line. With a slab, the line below it has the numbers of particles and halos.
    pub title: String,
    /// The units of lengths, and the redshift.
    pub units: AxisUnits,
    /// Restricts the picture to particles and halos in this slab, seen along its axis. Default: everything.
    pub slab: Option<Slab>,
    /// The line of sight without a slab. Default: z.
    pub axis: LineOfSight,
}

impl Projection {
    /// Returns the axis along which the picture looks, 0 for x.
    pub(super) fn axis(&self) -> usize {
        self.slab.map_or(self.axis as usize, |slab| slab.axis())
    }
}

/// The axis along which a picture looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LineOfSight {
    /// Along x: the picture shows y and z.
    X,
    /// Along y: the picture shows x and z.
    Y,
    /// Along z: the picture shows x and y.
    #[default]
    Z,
}

/// Draws the density projected along an axis, in units of its mean, on a logarithmic colour scale. Shows the periodic
/// box, or the smallest square around the particles.
///
/// The 25 largest halos have circles at the radius of their farthest member. The 10 largest have the numbers of their
/// rows in the catalogue. If the catalogue has subhalos ([`Catalog::add_subhalos`]), the 100 largest subhalos in these
/// halos are circled in another colour. All circles are then at the root mean square distance of the members. Halos belong to a slab if their
/// centre does. The picture is 8.89 by 8.40 inches, 1366 by 1290 pixels at the default resolution.
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
    ProjectedDensity::new(particles, particles.extent().into(), &space, shown, style, &Alone)?
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
        shown: &Projection,
        style: Style,
        ranks: &dyn Communicator,
    ) -> Result<Self> {
        let scale = Chart::in_pixels(WIDTH, HEIGHT, "").scale(style)?;
        let side = (scale * SIDE as f64).round().max(1.0) as usize;
        let window = Window::new(extent, space, shown.axis());
        let (image, n) = density(particles, &window, side, shown.slab.as_ref(), ranks)?;
        Ok(Self { window, side, image, n })
    }

    /// Draws the picture with the halos.
    ///
    /// Fails if encoding fails.
    pub fn draw(&self, catalog: &Catalog, shown: &Projection, style: Style) -> Result<Vec<u8>> {
        let Self { window, side, image, n } = self;
        let slab = shown.slab.as_ref();
        let circles = Circles::new(catalog, slab.is_some(), |at| slab.is_none_or(|slab| window.is_in(slab, at)));
        let mut chart = Chart::in_pixels(WIDTH, HEIGHT, &shown.title);
        chart.fill(PLOT, inferno(0.0));
        if *n == 0 {
            let what = if slab.is_some() { "no particles in the slab" } else { "no particles" };
            chart.text(what, [0.5 * (LEFT + RIGHT), 0.5 * (TOP + BOTTOM)], LETTERS, Align::Center, PAPER);
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
        let panel = Panel { letters: LETTERS, is_gridded: false, is_outside: true, ..Panel::new(scale(0), scale(1)) };
        let names = window.axes.map(|k| format!("{}  [{}]", AXES[k], shown.units.length()));
        panel.draw(&mut chart, [Some(&names[0]), Some(&names[1])], |chart| {
            if *n > 0 {
                circles.draw(chart, window);
            }
        });
        let middle = 0.5 * WIDTH;
        match slab {
            Some(slab) => {
                let period = window.period.map(|period| shown.units.length_factor() * period[slab.axis()]);
                let slab = slab.times(shown.units.length_factor()).within(period);
                let particles = counted(*n, "particle");
                let line = format!("{particles}, {} with {slab} {}", circles.counts(), shown.units.length());
                chart.heading(&shown.title, [middle, 46.0], TITLE, INK);
                chart.heading(&line, [middle, 92.0], LETTERS, INK);
            }
            None => chart.heading(&shown.title, [middle, 70.0], TITLE, INK),
        }
        circles.legend(&mut chart, [middle, if slab.is_some() { 138.0 } else { 126.0 }]);
        chart.encoded(style)
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
        let ticks = logarithmic(ends, &|value| scale.at(value), Room::new(Side::Left, LETTERS));
        let name = ticks.named("projected density / mean");
        for (value, label) in ticks.marks {
            let y = scale.at(value);
            chart.line(vec![[right + 2.0, y], [right + 8.0, y]], 2.0, INK);
            chart.text(label, [right + 14.0, y + 12.0], LETTERS, Align::Left, INK);
        }
        for y in between_decades(ends).into_iter().map(|value| scale.at(value)) {
            chart.line(vec![[right + 2.0, y], [right + 5.0, y]], 1.0, INK);
        }
        chart.text_upwards(name, [WIDTH - 16.0, 0.5 * (TOP + BOTTOM)], 1.1 * LETTERS, BOTTOM - TOP, INK);
    }
}

//! How many halos there are above each mass.

use std::fmt::Write;

use crate::error::Result;
use crate::halo::Catalog;
use crate::plot::chart::escaped;
use crate::plot::ticks::{between_decades, decades};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 680.0;
/// The plot's sides: left, right, top, bottom.
const LEFT: f64 = 130.0;
const RIGHT: f64 = 920.0;
const TOP: f64 = 90.0;
const BOTTOM: f64 = 580.0;
/// Steps closer together than this many pixels are drawn as one.
const STEP: f64 = 0.25;

/// What is expected: a name for the legend, and numbers of halos per volume at or above masses, in the catalogue's units.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The name.
    pub name: String,
    /// Mass, and number per volume.
    pub points: Vec<[f64; 2]>,
}

/// Colours and dashes of what is expected.
const LINES: [(&str, &str); 3] = [("#1f4e9c", "none"), ("#1b7f6b", "10 6"), ("#7a6a1d", "3 5")];

/// An SVG file: the number of halos at or above each mass, per volume, on logarithmic axes, with a band of one Poisson error
/// (the square root of the number) to each side; and what was `expected`, as lines. `title` is the line above, `mass_unit` is
/// written on the axis.
///
/// Subhalos and halos without mass are not shown. Infinite or zero volumes count as 1.
///
/// Errors: none today; the type is that of the other pictures.
pub fn mass_function(
    catalog: &Catalog,
    volume: f64,
    expected: &[Expected],
    title: &str,
    mass_unit: &str,
) -> Result<Vec<u8>> {
    let volume = if volume > 0.0 && volume < f64::INFINITY { volume } else { 1.0 };
    let hosts = catalog.halos().iter().enumerate().filter(|&(row, _)| catalog.is_host(row));
    let mut masses: Vec<f64> = hosts.map(|(_, halo)| halo.mass).filter(|&mass| mass > 0.0).collect();
    masses.sort_by(|a, b| b.total_cmp(a));
    let mut svg = head(title);
    match (masses.last(), masses.first()) {
        (Some(&lightest), Some(&heaviest)) => {
            let plot = Plot {
                x: widened(lightest.log10() - 0.08, heaviest.log10() + 0.12),
                y: widened((0.6 / volume).log10(), (masses.len() as f64 / volume).log10() + 0.2),
            };
            plot.grid(&mut svg);
            plot.curve(&mut svg, &masses, volume);
            plot.expected(&mut svg, expected);
            plot.axes(&mut svg, mass_unit);
        }
        _ => {
            frame(&mut svg);
            text(&mut svg, [0.5 * (LEFT + RIGHT), 0.5 * (TOP + BOTTOM)], 26, "middle", "no halos");
        }
    }
    svg.push_str("</svg>\n");
    Ok(svg.into_bytes())
}

/// At least a decade and a half, so that a tick or two can be labelled.
fn widened(lo: f64, hi: f64) -> [f64; 2] {
    let lack = (1.5 - (hi - lo)).max(0.0);
    [lo - 0.5 * lack, hi + 0.5 * lack]
}

/// Logarithmic axes.
struct Plot {
    x: [f64; 2],
    y: [f64; 2],
}

impl Plot {
    fn across(&self, log: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * (log - self.x[0]) / (self.x[1] - self.x[0])
    }

    fn up(&self, log: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * (log - self.y[0]) / (self.y[1] - self.y[0])
    }

    fn grid(&self, svg: &mut String) {
        let mut path = String::new();
        for x in decades(self.x[0], self.x[1]).into_iter().map(|power| self.across(power.into())) {
            _ = write!(path, "M{x:.1} {TOP}V{BOTTOM}");
        }
        for y in decades(self.y[0], self.y[1]).into_iter().map(|power| self.up(power.into())) {
            _ = write!(path, "M{LEFT} {y:.1}H{RIGHT}");
        }
        _ = writeln!(svg, r##"<path d="{path}" stroke="#d9d9e0" fill="none"/>"##);
    }

    /// The staircase and the band around it.
    fn curve(&self, svg: &mut String, masses: &[f64], volume: f64) {
        // Corners from the heaviest halo on: where a step is, and how many halos there are from there on.
        let mut steps: Vec<(f64, usize)> = Vec::new();
        for (i, mass) in masses.iter().enumerate() {
            let x = self.across(mass.log10());
            match steps.last_mut() {
                Some((at, count)) if *at - x < STEP => *count = i + 1,
                _ => steps.push((x, i + 1)),
            }
        }
        let height = |number: f64| {
            let y = self.up((number.max(0.0) / volume).log10());
            // One halo less its error is none: below the plot.
            y.min(BOTTOM + 20.0)
        };
        let (mut number, mut upper, mut lower) = (String::new(), String::new(), String::new());
        for (i, &(x, count)) in steps.iter().enumerate() {
            let n = count as f64;
            let to = if i == 0 { format!("M{x:.2} {:.2}", BOTTOM + 20.0) } else { format!("H{x:.2}") };
            _ = write!(number, "{to}V{:.2}", height(n));
            _ = write!(upper, "{to}V{:.2}", height(n + n.sqrt()));
        }
        // Back along the lower edge, from the lightest halo to the heaviest.
        for &(x, count) in steps.iter().rev().skip(1) {
            let n = count as f64;
            _ = write!(lower, "V{:.2}H{x:.2}", height(n - n.sqrt()));
        }
        _ = writeln!(
            svg,
            r##"<clipPath id="plot"><path d="M{LEFT} {TOP}H{RIGHT}V{BOTTOM}H{LEFT}Z"/></clipPath>
<g clip-path="url(#plot)">
<path d="{upper}{lower}Z" fill="#bc3754" fill-opacity="0.22"/>
<path d="{number}" fill="none" stroke="#9c2e61" stroke-width="3" stroke-linejoin="round"/>
</g>"##
        );
        let (x, y) = (RIGHT - 324.0, TOP + 34.0);
        _ = writeln!(
            svg,
            r##"<path d="M{x} {}h46v22h-46Z" fill="#bc3754" fill-opacity="0.22"/>
<path d="M{x} {y}h46" stroke="#9c2e61" stroke-width="3"/>"##,
            y - 11.0
        );
        text(svg, [x + 58.0, y + 7.0], 20, "start", "n(≥ M) ± Poisson");
    }

    /// Lines, and their names below that of the staircase.
    fn expected(&self, svg: &mut String, expected: &[Expected]) {
        for (i, (line, (color, dashes))) in expected.iter().zip(LINES.into_iter().cycle()).enumerate() {
            let mut path = String::new();
            for [mass, number] in line.points.iter().filter(|point| point.iter().all(|&x| x > 0.0 && x < f64::INFINITY))
            {
                let to = if path.is_empty() { 'M' } else { 'L' };
                _ = write!(path, "{to}{:.2} {:.2}", self.across(mass.log10()), self.up(number.log10()));
            }
            let stroke = format!(r#"fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dashes}""#);
            _ = writeln!(svg, r#"<path d="{path}" clip-path="url(#plot)" {stroke}/>"#);
            let (x, y) = (RIGHT - 324.0, TOP + 64.0 + 30.0 * i as f64);
            _ = writeln!(svg, r#"<path d="M{x} {y}h46" {stroke}/>"#);
            text(svg, [x + 58.0, y + 7.0], 20, "start", &escaped(&line.name));
        }
    }

    fn axes(&self, svg: &mut String, mass_unit: &str) {
        frame(svg);
        let mut marks = String::new();
        for power in decades(self.x[0], self.x[1]) {
            let x = self.across(power.into());
            _ = write!(marks, "M{x:.1} {BOTTOM}v-11M{x:.1} {TOP}v11");
            raised(svg, [x, BOTTOM + 32.0], false, power);
        }
        for power in decades(self.y[0], self.y[1]) {
            let y = self.up(power.into());
            _ = write!(marks, "M{LEFT} {y:.1}h11M{RIGHT} {y:.1}h-11");
            raised(svg, [LEFT - 12.0, y + 8.0], true, power);
        }
        for x in between_decades(self.x[0], self.x[1]).into_iter().map(|log| self.across(log)) {
            _ = write!(marks, "M{x:.1} {BOTTOM}v-6M{x:.1} {TOP}v6");
        }
        for y in between_decades(self.y[0], self.y[1]).into_iter().map(|log| self.up(log)) {
            _ = write!(marks, "M{LEFT} {y:.1}h6M{RIGHT} {y:.1}h-6");
        }
        _ = writeln!(svg, r##"<path d="{marks}" stroke="#19191e" stroke-width="1.5"/>"##);
        let label = format!("halo mass M  [{}]", escaped(mass_unit));
        text(svg, [0.5 * (LEFT + RIGHT), HEIGHT - 28.0], 23, "middle", &label);
        _ = writeln!(
            svg,
            r#"<text transform="translate(42 {}) rotate(-90)" font-size="23" text-anchor="middle">n(≥ M)  [per snapshot length unit³]</text>"#,
            0.5 * (TOP + BOTTOM)
        );
    }
}

fn head(title: &str) -> String {
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif" fill="#19191e">
<rect width="100%" height="100%" fill="#ffffff"/>
"##
    );
    let middle = 0.5 * (LEFT + RIGHT);
    text(&mut svg, [middle, 38.0], 26, "middle", "Cumulative halo mass function");
    text(&mut svg, [middle, 70.0], 19, "middle", &escaped(title));
    svg
}

fn frame(svg: &mut String) {
    _ = writeln!(
        svg,
        r##"<path d="M{LEFT} {TOP}H{RIGHT}V{BOTTOM}H{LEFT}Z" fill="none" stroke="#19191e" stroke-width="2"/>"##
    );
}

/// A line of text that is already escaped.
fn text(svg: &mut String, [x, y]: [f64; 2], size: u32, anchor: &str, text: &str) {
    _ = writeln!(svg, r#"<text x="{x:.1}" y="{y:.1}" font-size="{size}" text-anchor="{anchor}">{text}</text>"#);
}

/// A power of ten, centred at or ending at a place. The exponent is a text of its own: not all viewers raise a part of one.
fn raised(svg: &mut String, [x, y]: [f64; 2], ends: bool, power: i32) {
    let power = power.to_string().replace('-', "\u{2212}");
    // Widths in DejaVu Sans; other fonts are narrower.
    let (base, exponent) = (27.0, 10.0 * power.chars().count() as f64);
    let joint = if ends { x - exponent } else { x + 0.5 * (base - exponent) };
    text(svg, [joint, y], 21, "end", "10");
    text(svg, [joint + 1.0, y - 9.0], 15, "start", &power);
}

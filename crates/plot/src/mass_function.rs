//! The cumulative mass function of halos, compared with expectations, and their ratio.

use ropewalk::Result;
use ropewalk_table::{ExpectedMassFunction, MassCounts};

use crate::axis::{FAINT, INK};
use crate::axis_units::AxisUnits;
use crate::canvas::Align;
use crate::chart::Chart;
use crate::colors::Rgb;
use crate::panel::{Panel, Scale};
use crate::style::Style;

const WIDTH: f64 = 960.0;
/// The height of the page without and with residuals.
const HEIGHTS: [f64; 2] = [680.0, 850.0];
/// The edges of the plot: left, right, top, bottom. Then the top and bottom of the residuals below it.
const LEFT: f64 = 130.0;
const RIGHT: f64 = 920.0;
const TOP: f64 = 90.0;
const BOTTOM: f64 = 580.0;
const RESIDUALS: [f64; 2] = [592.0, 750.0];
const MIDDLE: f64 = 0.5 * (LEFT + RIGHT);
/// The minimum distance, in units, between drawn steps.
const STEP: f64 = 0.25;
/// The largest residual that is shown.
const FARTHEST: f64 = 1.0;

const STAIRS: Rgb = [156, 46, 97];
const ERROR: Rgb = [188, 55, 84];
/// Colours and dashes of expected curves.
const LINES: [(Rgb, Option<[f64; 2]>); 3] =
    [([31, 78, 156], None), ([27, 127, 107], Some([10.0, 6.0])), ([122, 106, 29], Some([3.0, 5.0]))];

/// Draws the number of halos per volume at or above each mass, on logarithmic axes.
///
/// A band shows one Poisson error (the square root of the number) on each side; `expected` mass functions are lines.
/// If there are any, a second plot shows the ratio of measured and expected numbers minus one, at the bin edges of
/// `counts`, with Poisson errors. Deviations above 1 are arrows at the edge. `title` is the heading line. The picture
/// is ten inches wide.
///
/// ```
/// use ropewalk_table::{Catalog, MassCounts};
/// use ropewalk_plot::{AxisUnits, PictureFormat, mass_function};
/// use ropewalk::halo::Particles;
/// use ropewalk::Fof;
///
/// let positions = [[0.0f32; 3]; 5];
/// let catalog = Catalog::new(&Fof::new(0.1).run(&positions)?, &Particles::new(&positions))?;
/// let counts = MassCounts::new(&catalog, 8.0);
/// let svg = mass_function(&counts, &[], "one halo", &AxisUnits::default(), PictureFormat::Svg)?;
/// assert!(String::from_utf8_lossy(&svg).contains("halo mass M  [snapshot mass unit]"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails if encoding fails.
pub fn mass_function(
    counts: &MassCounts,
    expected: &[ExpectedMassFunction],
    title: &str,
    units: &AxisUnits,
    style: impl Into<Style>,
) -> Result<Vec<u8>> {
    chart(counts, expected, title, units).encoded(style)
}

fn chart(counts: &MassCounts, expected: &[ExpectedMassFunction], title: &str, units: &AxisUnits) -> Chart {
    let name = "Cumulative halo mass function";
    let has_residuals = !expected.is_empty() && !counts.masses().is_empty();
    let mut chart = Chart::new(WIDTH, HEIGHTS[usize::from(has_residuals)], &format!("{name}: {title}"));
    chart.heading(name, [MIDDLE, 38.0], 26.0, INK);
    chart.heading(title, [MIDDLE, 70.0], 19.0, FAINT);
    let (Some(&lightest), Some(&heaviest)) = (counts.masses().last(), counts.masses().first()) else {
        chart.outline([[LEFT, TOP], [RIGHT, BOTTOM]], 2.0, INK);
        chart.text("no halos", [MIDDLE, 0.5 * (TOP + BOTTOM)], 26.0, Align::Center, INK);
        return chart;
    };
    let volume = counts.volume();
    let x = Scale::logarithmic(widened(lightest.log10() - 0.08, heaviest.log10() + 0.12), [LEFT, RIGHT]);
    let most = (counts.masses().len() as f64).log10() - volume.log10() + 0.2;
    let y = Scale::logarithmic(widened(0.6f64.log10() - volume.log10(), most), [BOTTOM, TOP]);
    let panel = Panel::new(x, y);
    let masses = format!("halo mass M  [{}]", units.mass());
    let numbers = format!("n(≥ M)  [{}]", units.number_density());
    panel.draw(&mut chart, [Some(&*masses).filter(|_| !has_residuals), Some(&numbers)], |chart| {
        stairs(chart, &panel, counts);
        for (curve, (color, dashes)) in expected.iter().zip(LINES.into_iter().cycle()) {
            let points = curve.points.iter().filter(|point| point.iter().all(|&x| x > 0.0 && x < f64::INFINITY));
            stroke(chart, points.map(|&point| panel.at(point)).collect(), dashes, color);
        }
    });
    legend(&mut chart, expected);
    if has_residuals {
        residuals(&mut chart, x, counts, expected, &masses);
    }
    chart
}

/// Widens a range to at least a decade and a half, so that a few ticks can be labelled.
fn widened(lo: f64, hi: f64) -> [f64; 2] {
    let lack = (1.5 - (hi - lo)).max(0.0);
    [lo - 0.5 * lack, hi + 0.5 * lack].map(|log| 10f64.powf(log).clamp(f64::MIN_POSITIVE, f64::MAX))
}

fn stroke(chart: &mut Chart, points: Vec<[f64; 2]>, dashes: Option<[f64; 2]>, color: Rgb) {
    match dashes {
        Some(dashes) => chart.dashed(&points, dashes, 2.0, color),
        None => chart.line(points, 2.0, color),
    }
}

/// Draws the staircase and the band around it.
fn stairs(chart: &mut Chart, panel: &Panel, counts: &MassCounts) {
    // The steps from the heaviest halo on: position, and the number of halos of at least that mass.
    let mut steps: Vec<(f64, usize)> = Vec::new();
    for (i, &mass) in counts.masses().iter().enumerate() {
        let x = panel.x.at(mass);
        match steps.last_mut() {
            Some((at, count)) if *at - x < STEP => *count = i + 1,
            _ => steps.push((x, i + 1)),
        }
    }
    // One halo minus its error is zero, which is below the plot.
    let height = |number: f64| panel.y.at(number / counts.volume()).min(BOTTOM + 20.0);
    let along = |number: &dyn Fn(f64) -> f64| -> Vec<[f64; 2]> {
        let mut before = BOTTOM + 20.0;
        let corner = |&(x, count): &(f64, usize)| {
            let y = height(number(count as f64));
            [[x, std::mem::replace(&mut before, y)], [x, y]]
        };
        steps.iter().flat_map(corner).collect()
    };
    let (upper, lower) = (along(&|n| n + n.sqrt()), along(&|n| n - n.sqrt()));
    chart.tint(upper.into_iter().chain(lower.into_iter().rev()).collect(), ERROR, 0.22);
    chart.line(along(&|n| n), 3.0, STAIRS);
}

fn legend(chart: &mut Chart, expected: &[ExpectedMassFunction]) {
    let (x, y) = (RIGHT - 324.0, TOP + 34.0);
    chart.tint(vec![[x, y - 11.0], [x + 46.0, y - 11.0], [x + 46.0, y + 11.0], [x, y + 11.0]], ERROR, 0.22);
    chart.line(vec![[x, y], [x + 46.0, y]], 3.0, STAIRS);
    chart.text("n(≥ M) ± Poisson", [x + 58.0, y + 7.0], 20.0, Align::Left, INK);
    for (i, (curve, (color, dashes))) in expected.iter().zip(LINES.into_iter().cycle()).enumerate() {
        let y = TOP + 64.0 + 30.0 * i as f64;
        stroke(chart, vec![[x, y], [x + 46.0, y]], dashes, color);
        chart.text(&curve.name, [x + 58.0, y + 7.0], 20.0, Align::Left, INK);
    }
}

/// Draws measured over expected numbers minus one, at the bin edges; several curves are shifted sideways.
fn residuals(chart: &mut Chart, x: Scale, counts: &MassCounts, expected: &[ExpectedMassFunction], masses: &str) {
    let edges = counts.edges().iter().take(counts.counts().len());
    let points: Vec<(usize, f64, f64, f64)> = edges
        .flat_map(|&mass| expected.iter().enumerate().map(move |(i, curve)| (i, mass, curve)))
        .filter_map(|(i, mass, curve)| {
            let n = counts.above(mass) as f64;
            let expected = counts.volume() * curve.at(mass)?;
            let (ratio, error) = (n / expected - 1.0, n.sqrt() / expected);
            (expected > 0.0 && ratio.is_finite()).then_some((i, mass, ratio, error))
        })
        .collect();
    // The range covers the points with small errors.
    let known = points.iter().filter(|point| point.3 < 0.3 * FARTHEST).map(|point| point.2.abs() + point.3);
    let reach = (1.15 * known.fold(0.2, f64::max)).min(FARTHEST);
    let panel = Panel::new(x, Scale::linear([-reach, reach], [RESIDUALS[1], RESIDUALS[0]]));
    let [top, bottom] = RESIDUALS;
    panel.draw(chart, [Some(masses), Some("n / expected − 1")], |chart| {
        let zero = panel.y.at(0.0);
        chart.line(vec![[LEFT, zero], [RIGHT, zero]], 1.5, INK);
        let apart = 5.0;
        let middle = 0.5 * (expected.len() as f64 - 1.0);
        for (i, mass, ratio, error) in points {
            let color = LINES[i % LINES.len()].0;
            let x = panel.x.at(mass) + apart * (i as f64 - middle);
            let [low, high] = [ratio - error, ratio + error].map(|value| panel.y.at(value).clamp(top, bottom));
            chart.line(vec![[x, low], [x, high]], 1.5, color);
            if ratio.abs() <= reach {
                chart.disc([x, panel.y.at(ratio)], 3.5, color);
            } else {
                let (tip, back) = if ratio > 0.0 { (top + 3.0, top + 11.0) } else { (bottom - 3.0, bottom - 11.0) };
                chart.area(vec![[x, tip], [x - 4.0, back], [x + 4.0, back]], color);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use ropewalk::halo::Particles;
    use ropewalk_table::Catalog;

    use super::*;

    #[test]
    fn anything_can_be_drawn() {
        for mass in [1e-150, 1.0, 1e12] {
            for n in [0usize, 2, 3, 40] {
                let positions: Vec<[f64; 3]> =
                    (0..n * n).map(|i| [10.0 * (i as f64).sqrt().floor(), 0.0, 0.0]).collect();
                let particles = Particles::new(&positions).mass(mass);
                let catalog = Catalog::new(&ropewalk::Fof::new(0.1).run(&positions).unwrap(), &particles).unwrap();
                for volume in [0.0, 1e-30, 1.0, 1e30, f64::INFINITY] {
                    let counts = MassCounts::new(&catalog, volume);
                    assert_eq!(counts.counts().iter().sum::<usize>(), counts.masses().len());
                    let curve = |number: f64| ExpectedMassFunction {
                        name: "<&>".into(),
                        points: (-170..20).map(|i| [10f64.powi(i), number]).collect(),
                    };
                    for expected in
                        [vec![], vec![curve(1.0)], vec![curve(0.0), curve(f64::NAN), curve(1e300), curve(1e-300)]]
                    {
                        let chart = chart(&counts, &expected, "<&>", &AxisUnits::default());
                        let svg = chart.svg().unwrap();
                        assert!(svg.contains("&lt;&amp;&gt;") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                        assert_eq!(svg.contains("no halos"), n < 2);
                        assert_eq!(counts.columns(&expected).len(), 8 + expected.len());
                    }
                }
            }
        }
    }
}

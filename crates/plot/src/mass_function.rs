//! The cumulative and the differential mass function of halos, compared with expectations, and their ratio.

use ropewalk::Result;
use ropewalk_table::{ExpectedMassFunction, MassCounts, poisson_limits};

use crate::axis::{FAINT, INK, LETTERS};
use crate::axis_units::AxisUnits;
use crate::canvas::Align;
use crate::chart::Chart;
use crate::colors::Rgb;
use crate::font::{fitting, width};
use crate::panel::{Panel, Scale};
use crate::style::Style;

const WIDTH: f64 = 960.0;
/// The height of the page without and with residuals, and of each line below the plots.
const HEIGHTS: [f64; 2] = [1000.0, 1214.0];
const NOTE: f64 = 30.0;
/// The name of the axis of residuals, which is shorter than the plot is high.
const RATIO: &str = "n / fit − 1";
/// The explanation of a fit of corrected masses.
const CORRECTED: &str = "Warren et al.: mass M of N particles corrected to M (1 − N⁻⁰·⁶)";
/// The left and the right edges of all plots.
const LEFT: f64 = 154.0;
const RIGHT: f64 = 930.0;
/// The top and the bottom of the plots: cumulative, differential, residuals.
const CUMULATIVE: [f64; 2] = [96.0, 500.0];
const DIFFERENTIAL: [f64; 2] = [528.0, 904.0];
const RESIDUALS: [f64; 2] = [932.0, 1116.0];
const MIDDLE: f64 = 0.5 * (LEFT + RIGHT);
/// The minimum distance, in units, between drawn steps.
const STEP: f64 = 0.25;
/// The largest residual that is shown.
const FARTHEST: f64 = 1.0;
/// The distance between points of an expected differential curve, in decades of mass.
const FINE: f64 = 0.02;

const STAIRS: Rgb = [156, 46, 97];
const ERROR: Rgb = [188, 55, 84];
/// Colours and dashes of expected curves.
const LINES: [(Rgb, Option<[f64; 2]>); 3] =
    [([31, 78, 156], None), ([27, 127, 107], Some([10.0, 6.0])), ([122, 106, 29], Some([3.0, 5.0]))];

/// Draws the number of halos per volume at or above each mass, and below it the number per volume and e-fold of mass,
/// on logarithmic axes.
///
/// Bands and bars are Poisson errors ([`poisson_limits`]); `expected` mass functions are lines. The differential plot
/// has a point for each bin of `counts` that has halos, and expected numbers averaged over bins of the mean width. If
/// there are expected mass functions, a third plot shows the ratio of measured and expected cumulative numbers minus
/// one, at the bin edges of `counts`, with Poisson errors. Deviations above 1 are arrows at the edge.
///
/// `title` is the heading line. `cosmology` describes the parameters of the expected mass functions, in a line below
/// the plots. A line below it explains [corrected](MassCounts::corrected) masses. The picture is ten inches wide.
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
/// let svg = mass_function(&counts, &[], "one halo", "", &AxisUnits::default(), PictureFormat::Svg)?;
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
    cosmology: &str,
    units: &AxisUnits,
    style: impl Into<Style>,
) -> Result<Vec<u8>> {
    chart(counts, expected, [title, cosmology], units).encoded(style)
}

fn chart(
    counts: &MassCounts,
    expected: &[ExpectedMassFunction],
    [title, cosmology]: [&str; 2],
    units: &AxisUnits,
) -> Chart {
    let name = "Halo mass function";
    let has_residuals = !expected.is_empty() && !counts.masses().is_empty();
    let corrected = if expected.iter().any(|curve| curve.is_corrected) { CORRECTED } else { "" };
    let notes = || [cosmology, corrected].into_iter().filter(|note| has_residuals && !note.is_empty());
    let plots = HEIGHTS[usize::from(has_residuals)];
    let mut chart = Chart::new(WIDTH, plots + NOTE * notes().count() as f64, &format!("{name}: {title}"));
    for (line, note) in notes().enumerate() {
        chart.heading(note, [0.5 * WIDTH, plots + NOTE * (line as f64 + 0.4)], LETTERS, FAINT);
    }
    chart.heading(name, [0.5 * WIDTH, 40.0], 29.0, INK);
    chart.heading(title, [0.5 * WIDTH, 74.0], LETTERS, FAINT);
    let (Some(&lightest), Some(&heaviest)) = (counts.masses().last(), counts.masses().first()) else {
        chart.outline([[LEFT, CUMULATIVE[0]], [RIGHT, DIFFERENTIAL[1]]], 2.0, INK);
        chart.text("no halos", [MIDDLE, CUMULATIVE[1]], 28.0, Align::Center, INK);
        return chart;
    };
    let volume = counts.volume();
    let x = Scale::logarithmic(widened(lightest.log10() - 0.08, heaviest.log10() + 0.12), [LEFT, RIGHT]);
    let most = (counts.masses().len() as f64).log10() - volume.log10() + 0.2;
    let panel = |ends, [top, bottom]: [f64; 2]| Panel {
        powers: true,
        name_room: 1.05,
        ..Panel::new(x, Scale::logarithmic(ends, [bottom, top]))
    };
    let masses = format!("halo mass M  [{}]", units.mass());

    let above = panel(widened(0.6f64.log10() - volume.log10(), most), CUMULATIVE);
    let name = format!("n(≥ M)  [{}]", units.number_density());
    above.draw(&mut chart, [None, Some(&name)], |chart| {
        stairs(chart, &above, counts);
        for (curve, (color, dashes)) in expected.iter().zip(LINES.into_iter().cycle()) {
            stroke(chart, positions(&above, curve.points.iter().copied()), dashes, color);
        }
    });

    let bins = Bins::new(counts);
    let (least, most) = bins.range();
    // Expected numbers are shown down to a tenth of the smallest one that was measured.
    let lowest = expected.iter().flat_map(|curve| bins.expected(curve)).map(|[_, number]| number);
    let least = lowest.filter(|&number| number > 0.0).fold(least, f64::min).max(0.1 * least);
    let per_fold = panel(widened(least.log10() - 0.2, most.log10() + 0.2), DIFFERENTIAL);
    let name = format!("dn / d ln M  [{}]", units.number_density());
    per_fold.draw(&mut chart, [Some(&*masses).filter(|_| !has_residuals), Some(&name)], |chart| {
        for (curve, (color, dashes)) in expected.iter().zip(LINES.into_iter().cycle()) {
            stroke(chart, positions(&per_fold, bins.expected(curve)), dashes, color);
        }
        bins.draw(chart, &per_fold);
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

/// Returns the positions of the points that a logarithmic plot can show.
fn positions(panel: &Panel, points: impl Iterator<Item = [f64; 2]>) -> Vec<[f64; 2]> {
    points.filter(|point| point.iter().all(|&x| x > 0.0 && x < f64::INFINITY)).map(|point| panel.at(point)).collect()
}

fn stroke(chart: &mut Chart, points: Vec<[f64; 2]>, dashes: Option<[f64; 2]>, color: Rgb) {
    match dashes {
        Some(dashes) => chart.dashed(&points, dashes, 2.5, color),
        None => chart.line(points, 2.5, color),
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
    // The lower limit of one halo is below the plot.
    let lowest = CUMULATIVE[1] + 20.0;
    let height = |number: f64| panel.y.at(number / counts.volume()).min(lowest);
    let along = |number: &dyn Fn(usize) -> f64| -> Vec<[f64; 2]> {
        let mut before = lowest;
        let corner = |&(x, count): &(f64, usize)| {
            let y = height(number(count));
            [[x, std::mem::replace(&mut before, y)], [x, y]]
        };
        steps.iter().flat_map(corner).collect()
    };
    let [lower, upper] = [0, 1].map(|side| along(&|n| poisson_limits(n)[side]));
    chart.tint(upper.into_iter().chain(lower.into_iter().rev()).collect(), ERROR, 0.22);
    chart.line(along(&|n| n as f64), 3.0, STAIRS);
}

/// The bins of the differential mass function.
struct Bins {
    points: Vec<BinPoint>,
    /// The lightest and the heaviest edge.
    ends: [f64; 2],
    /// The mean ratio of the edges of a bin.
    ratio: f64,
}

/// A bin with halos.
struct BinPoint {
    /// The geometric mean of the edges.
    mass: f64,
    /// The number of halos per volume and e-fold of mass, and its Poisson limits.
    number: f64,
    limits: [f64; 2],
}

impl Bins {
    fn new(counts: &MassCounts) -> Self {
        let edges = counts.edges();
        let points = edges.windows(2).zip(counts.counts()).filter(|&(_, &count)| count > 0).map(|(pair, &count)| {
            let per = counts.volume() * (pair[1] / pair[0]).ln();
            let limits = poisson_limits(count).map(|limit| limit / per);
            BinPoint { mass: pair[0].sqrt() * pair[1].sqrt(), number: count as f64 / per, limits }
        });
        let ends = [edges.first(), edges.last()].map(|end| end.copied().unwrap_or(1.0));
        let ratio = if edges.len() > 1 { (ends[1] / ends[0]).powf(1.0 / (edges.len() - 1) as f64) } else { 10.0 };
        Self { points: points.collect(), ends, ratio }
    }

    /// Returns the smallest and the largest number.
    fn range(&self) -> (f64, f64) {
        let numbers = self.points.iter().map(|point| point.number);
        numbers.fold((f64::INFINITY, 0.0), |(lo, hi), number| (number.min(lo), number.max(hi)))
    }

    /// Returns masses, and the expected numbers per volume and e-fold, averaged over the mean width of a bin.
    fn expected<'a>(&'a self, curve: &'a ExpectedMassFunction) -> impl Iterator<Item = [f64; 2]> + 'a {
        let (from, half) = (self.ends[0].log10() - FINE, 0.5 * self.ratio.log10());
        // The end of a curve that is just short of the last bin.
        let steps = ((self.ends[1].log10() - from) / FINE).clamp(0.0, 1e5) as usize;
        (0..=steps).filter_map(move |i| {
            let log = from + FINE * i as f64;
            let [lo, hi] = [log - half, log + half].map(|log| curve.at(10f64.powf(log)));
            Some([10f64.powf(log), (lo? - hi?) / self.ratio.ln()])
        })
    }

    fn draw(&self, chart: &mut Chart, panel: &Panel) {
        for point in &self.points {
            let [x, y] = panel.at([point.mass, point.number]);
            let [low, high] = point.limits.map(|limit| panel.y.at(limit));
            chart.line(vec![[x, low.min(DIFFERENTIAL[1] + 20.0)], [x, high]], 2.0, STAIRS);
            chart.disc([x, y], 5.0, STAIRS);
        }
    }
}

fn legend(chart: &mut Chart, expected: &[ExpectedMassFunction]) {
    let names = expected.iter().map(|curve| width(&curve.name, LETTERS));
    let wide = names.fold(width("halos ± Poisson", LETTERS), f64::max).min(0.6 * (RIGHT - LEFT));
    let (x, y) = (RIGHT - wide - 84.0, CUMULATIVE[0] + 34.0);
    chart.tint(vec![[x, y - 11.0], [x + 46.0, y - 11.0], [x + 46.0, y + 11.0], [x, y + 11.0]], ERROR, 0.22);
    chart.line(vec![[x, y], [x + 46.0, y]], 3.0, STAIRS);
    chart.text("halos ± Poisson", [x + 58.0, y + 8.0], LETTERS, Align::Left, INK);
    for (i, (curve, (color, dashes))) in expected.iter().zip(LINES.into_iter().cycle()).enumerate() {
        let y = y + 35.0 * (i + 1) as f64;
        stroke(chart, vec![[x, y], [x + 46.0, y]], dashes, color);
        let size = fitting(&curve.name, LETTERS, wide);
        chart.text(&curve.name, [x + 58.0, y + 8.0], size, Align::Left, INK);
    }
}

/// Draws measured over expected numbers minus one, at the bin edges; several curves are shifted sideways.
fn residuals(chart: &mut Chart, x: Scale, counts: &MassCounts, expected: &[ExpectedMassFunction], masses: &str) {
    let edges = counts.edges().iter().take(counts.counts().len());
    let points: Vec<(usize, f64, f64, [f64; 2])> = edges
        .flat_map(|&mass| expected.iter().enumerate().map(move |(i, curve)| (i, mass, curve)))
        .filter_map(|(i, mass, curve)| {
            let n = counts.above(mass);
            let expected = counts.volume() * curve.at(mass)?;
            let ratio = n as f64 / expected - 1.0;
            let limits = poisson_limits(n).map(|limit| limit / expected - 1.0);
            (expected > 0.0 && ratio.is_finite()).then_some((i, mass, ratio, limits))
        })
        .collect();
    // The range covers the points with small errors.
    let limits = points.iter().map(|point| point.3).filter(|[low, high]| high - low < 0.6 * FARTHEST);
    let known = limits.map(|[low, high]| low.abs().max(high.abs()));
    let reach = (1.15 * known.fold(0.2, f64::max)).min(FARTHEST);
    let scale = Scale::linear([-reach, reach], [RESIDUALS[1], RESIDUALS[0]]);
    let panel = Panel { powers: true, ..Panel::new(x, scale) };
    let [top, bottom] = RESIDUALS;
    panel.draw(chart, [Some(masses), Some(RATIO)], |chart| {
        let zero = panel.y.at(0.0);
        chart.line(vec![[LEFT, zero], [RIGHT, zero]], 1.5, INK);
        let apart = 5.0;
        let middle = 0.5 * (expected.len() as f64 - 1.0);
        for (i, mass, ratio, limits) in points {
            let color = LINES[i % LINES.len()].0;
            let x = panel.x.at(mass) + apart * (i as f64 - middle);
            let [low, high] = limits.map(|value| panel.y.at(value).clamp(top, bottom));
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

    /// Returns a catalogue of n halos of 1, 2, .. particles.
    fn counts(n: usize, mass: f64, volume: f64) -> MassCounts {
        let positions: Vec<[f64; 3]> = (0..n).flat_map(|i| vec![[10.0 * i as f64, 0.0, 0.0]; i + 1]).collect();
        let particles = Particles::new(&positions).mass(mass);
        let catalog = Catalog::new(&ropewalk::Fof::new(0.1).run(&positions).unwrap(), &particles).unwrap();
        MassCounts::new(&catalog, volume)
    }

    #[test]
    fn anything_can_be_drawn() {
        for mass in [1e-150, 1.0, 1e12] {
            for n in [0usize, 1, 3, 40] {
                for volume in [0.0, 1e-30, 1.0, 1e30, f64::INFINITY] {
                    let counts = counts(n, mass, volume);
                    assert_eq!(counts.counts().iter().sum::<usize>(), counts.masses().len());
                    let curve = |number: f64| ExpectedMassFunction {
                        name: "<&>".into(),
                        points: (-170..20).map(|i| [10f64.powi(i), number]).collect(),
                        is_corrected: true,
                    };
                    for expected in
                        [vec![], vec![curve(1.0)], vec![curve(0.0), curve(f64::NAN), curve(1e300), curve(1e-300)]]
                    {
                        let chart = chart(&counts, &expected, ["<&>"; 2], &AxisUnits::default());
                        let svg = chart.svg().unwrap();
                        assert!(svg.contains("&lt;&amp;&gt;") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                        assert_eq!(svg.contains("no halos"), counts.masses().is_empty());
                        let columns = 10 + usize::from(!expected.is_empty()) + expected.len();
                        assert_eq!(counts.columns(&expected).len(), columns);
                    }
                }
            }
        }
    }

    /// The differential numbers are those of a power law, and of its definition.
    #[test]
    fn numbers_per_fold() {
        let counts = counts(40, 1.0, 8.0);
        let bins = Bins::new(&counts);
        // The bins have different widths, because their edges are between whole numbers of particles.
        let width = |mass: f64| {
            let upper = counts.edges().partition_point(|&edge| edge < mass);
            (counts.edges()[upper] / counts.edges()[upper - 1]).ln()
        };
        let halos: f64 = bins.points.iter().map(|point| point.number * 8.0 * width(point.mass)).sum();
        assert!((halos - counts.masses().len() as f64).abs() < 1e-9);
        for BinPoint { mass, number, limits } in &bins.points {
            let found = (number * 8.0 * width(*mass)).round() as usize;
            let expected = poisson_limits(found).map(|limit| limit / (8.0 * width(*mass)));
            assert!((0..2).all(|side| (limits[side] - expected[side]).abs() < 1e-9 * number), "{limits:?}");
        }
        // n = 1 / M has dn / d ln M = 1 / M, and sinh(w) / w times that as the mean over a bin of half width w.
        let curve = ExpectedMassFunction {
            name: String::new(),
            points: (-40..=80).map(|i| 10f64.powf(0.05 * f64::from(i))).map(|mass| [mass, 1.0 / mass]).collect(),
            is_corrected: false,
        };
        let half = 0.5 * bins.ratio.ln();
        let points: Vec<[f64; 2]> = bins.expected(&curve).collect();
        assert!(points.len() > 50);
        for [mass, number] in points {
            assert!((number * mass - half.sinh() / half).abs() < 1e-6, "{mass}: {number}");
        }
    }

    /// The labels of all axes are powers of ten, and the names of axes are not longer than the plots.
    #[test]
    fn one_kind_of_label() {
        let svg = chart(&counts(40, 1e10, 1e5), &[], [""; 2], &AxisUnits::default()).svg().unwrap();
        assert!(svg.contains(">10⁻⁴<") && svg.contains(">10¹¹<") && !svg.contains(">0.0"), "{svg}");
        assert!(svg.contains(">n(≥ M)  [") && svg.contains(">dn / d ln M  ["));
        assert!(width(RATIO, 1.1 * LETTERS) < RESIDUALS[1] - RESIDUALS[0]);
    }

    /// The lines below the plots are on the page, and only if fits are drawn.
    #[test]
    fn lines_below_the_plots() {
        let counts = counts(40, 1.0, 8.0);
        let curve = |is_corrected| ExpectedMassFunction {
            name: "fit".into(),
            points: (0..=8).map(|i| 10f64.powf(0.25 * f64::from(i))).map(|mass| [mass, 1.0 / mass]).collect(),
            is_corrected,
        };
        let drawn = |expected: &[ExpectedMassFunction], cosmology: &str| {
            let svg = chart(&counts, expected, ["", cosmology], &AxisUnits::default()).svg().unwrap();
            let height: f64 =
                svg.split("viewBox=\"0 0 960 ").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
            (svg.contains(CORRECTED), svg.contains(">Ωm 0.3<"), height)
        };
        assert_eq!(drawn(&[], "Ωm 0.3"), (false, false, HEIGHTS[0]));
        assert_eq!(drawn(&[curve(false)], "Ωm 0.3"), (false, true, HEIGHTS[1] + NOTE));
        assert_eq!(drawn(&[curve(false), curve(true)], "Ωm 0.3"), (true, true, HEIGHTS[1] + 2.0 * NOTE));
        assert_eq!(drawn(&[curve(true)], ""), (true, false, HEIGHTS[1] + NOTE));
    }
}

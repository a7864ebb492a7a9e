//! Density profiles of halos side by side, each with its fit.

use ropewalk::Result;
use ropewalk::halo::Profile;

use crate::axis::{FAINT, GRID, INK};
use crate::axis_units::AxisUnits;
use crate::canvas::Align;
use crate::chart::Chart;
use crate::colors::Rgb;
use crate::font::{fitting, width};
use crate::panel::{Panel, Scale};
use crate::style::Style;

/// The page, ten inches wide, and the maximum number of panels in a row.
const WIDTH: f64 = 960.0;
const COLUMNS: usize = 3;
/// The space around the panels, for the title, between panels, and for captions.
const LEFT: f64 = 84.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 66.0;
const LEGEND: f64 = 40.0;
const BELOW: f64 = 66.0;
const GAP: f64 = 74.0;
const CAPTION: f64 = 52.0;
/// The height of a panel relative to its width, and its font size.
const SHAPE: f64 = 0.9;
const LETTERS: f64 = 14.0;
/// The maximum number of decades shown below the largest value.
const DECADES: f64 = 3.0;

const POINTS: Rgb = [87, 16, 110];
const FIT: Rgb = [227, 89, 51];
const UNRESOLVED: Rgb = [130, 130, 145];

/// The data of a panel: one halo.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfilePanel {
    /// The line above the panel.
    pub caption: String,
    /// The shells and the fit.
    pub profile: Profile,
    /// A radius to mark, such as R200c.
    pub radius: Option<f64>,
}

/// Draws a panel for each halo, three in a row, in a picture 10 inches wide: `rho r^2` against `r` on logarithmic
/// axes.
///
/// Each shell is drawn at the geometric mean of its radii, with its Poisson error. The NFW fit is dashed outside of
/// the fitted range. A vertical line marks the panel's radius, and unresolved radii, which were not fitted, are
/// shaded. `words` holds the title and the name of the radius. Captions state the concentration with its error, and
/// chi2.
///
/// ```
/// use ropewalk::halo::profiles;
/// use ropewalk_plot::{AxisUnits, PictureFormat, ProfilePanel};
/// use ropewalk::halo::Particles;
///
/// let positions: Vec<[f64; 3]> = (1..=100).map(|i| [0.01 * f64::from(i), 0.0, 0.0]).collect();
/// let profile = profiles(&Particles::new(&positions), &[[0.0; 3]], &[1.0], 10)?.remove(0);
/// let panel = ProfilePanel { caption: "a rod".into(), profile, radius: Some(1.0) };
/// let svg = ropewalk_plot::profiles(&[panel], ["One profile", "R"], &AxisUnits::default(), PictureFormat::Svg)?;
/// assert!(String::from_utf8_lossy(&svg).contains("a rod"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails if encoding fails.
pub fn profiles(
    panels: &[ProfilePanel],
    words: [&str; 2],
    units: &AxisUnits,
    style: impl Into<Style>,
) -> Result<Vec<u8>> {
    chart(panels, words, units).encoded(style)
}

fn chart(panels: &[ProfilePanel], [title, radius]: [&str; 2], units: &AxisUnits) -> Chart {
    let columns = panels.len().clamp(1, COLUMNS);
    let rows = panels.len().div_ceil(columns).max(1);
    // One or two panels fill the width of the page; their height is limited.
    let wide = (WIDTH - LEFT - RIGHT - (columns as f64 - 1.0) * GAP) / columns as f64;
    let high = (SHAPE * wide).min(420.0);
    let step = [wide + GAP, high + CAPTION + BELOW];
    let mut chart = Chart::new(WIDTH, TOP + LEGEND + rows as f64 * step[1], title);
    chart.heading(title, [0.5 * WIDTH, 38.0], 24.0, INK);
    legend(&mut chart, radius);
    if panels.is_empty() {
        chart.text("no halos", [0.5 * WIDTH, TOP + LEGEND + 0.5 * high], 24.0, Align::Center, INK);
    }
    for (i, halo) in panels.iter().enumerate() {
        let (row, column) = (i / columns, i % columns);
        let left = LEFT + column as f64 * step[0];
        let top = TOP + LEGEND + row as f64 * step[1] + CAPTION;
        let is_first = column == 0;
        panel(&mut chart, halo, [[left, top], [left + wide, top + high]], is_first, units);
    }
    chart
}

/// Draws the legend in one row.
fn legend(chart: &mut Chart, radius: &str) {
    let y = TOP + 12.0;
    let entries = ["shells ± Poisson", "NFW fit", "not resolved, not fitted", radius];
    let whole: f64 = entries.iter().map(|name| width(name, 15.0) + 74.0).sum();
    let mut x = 0.5 * (WIDTH - whole) + 15.0;
    for (i, name) in entries.into_iter().enumerate() {
        let line = |dx: f64| vec![[x, y - 5.0], [x + dx, y - 5.0]];
        match i {
            0 => {
                chart.line(vec![[x + 14.0, y - 13.0], [x + 14.0, y + 3.0]], 1.5, POINTS);
                chart.disc([x + 14.0, y - 5.0], 3.5, POINTS);
            }
            1 => chart.line(line(30.0), 2.0, FIT),
            2 => chart.tint(
                vec![[x, y - 13.0], [x + 30.0, y - 13.0], [x + 30.0, y + 3.0], [x, y + 3.0]],
                UNRESOLVED,
                0.3,
            ),
            _ => chart.dashed(&line(30.0), [5.0, 4.0], 1.5, FAINT),
        }
        chart.text(name, [x + 38.0, y], 15.0, Align::Left, INK);
        x += width(name, 15.0) + 74.0;
    }
}

/// Formats a number with its error, to two digits of the error.
fn with_error(value: f64, error: f64) -> String {
    let decimals = (1.0 - error.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$} ± {error:.decimals$}")
}

fn panel(
    chart: &mut Chart,
    halo: &ProfilePanel,
    [[left, top], [right, bottom]]: [[f64; 2]; 2],
    is_first: bool,
    units: &AxisUnits,
) {
    let profile = &halo.profile;
    let room = right - left;
    chart.text(&halo.caption, [left, top - 28.0], fitting(&halo.caption, 16.0, room), Align::Left, INK);
    let note = match &profile.fit {
        Some(fit) => {
            let concentration = with_error(fit.concentration, fit.concentration_error);
            format!("c = {concentration}, χ² = {:.1} of {} shells", fit.chi2, fit.shells)
        }
        None if profile.shells.is_empty() => "no centre, or no sphere".into(),
        None => "no fit".into(),
    };
    chart.text(&note, [left, top - 9.0], fitting(&note, 13.0, room), Align::Left, FAINT);
    let points: Vec<[f64; 3]> = profile
        .shells
        .iter()
        .filter(|shell| shell.density > 0.0 && shell.count > 0)
        .map(|shell| {
            let r = (shell.inner * shell.outer).sqrt();
            [r, shell.density * r * r, 1.0 / (shell.count as f64).sqrt()]
        })
        .filter(|point| point.iter().all(|x| x.is_finite() && *x > 0.0))
        .collect();
    let most = points.iter().fold(0.0f64, |most, point| most.max(point[1]));
    let (Some(first), Some(last)) = (profile.shells.first(), profile.shells.last()) else {
        chart.outline([[left, top], [right, bottom]], 1.5, GRID);
        return;
    };
    if points.is_empty() || first.inner <= 0.0 {
        chart.outline([[left, top], [right, bottom]], 1.5, GRID);
        return;
    }
    let least = points.iter().fold(most, |least, point| least.min(point[1])).max(most / 10f64.powf(DECADES));
    // At least a decade, so that a few ticks can be labelled.
    let lack = (1.0 - (most / least).log10()).max(0.0);
    let ends = [least * 10f64.powf(-0.2 - 0.5 * lack), most * 10f64.powf(0.2 + 0.5 * lack)];
    let plot = Panel {
        letters: LETTERS,
        ..Panel::new(
            Scale::logarithmic([0.85 * first.inner, 1.3 * last.outer], [left, right]),
            Scale::logarithmic(ends, [bottom, top]),
        )
    };
    let names = [format!("r  [{}]", units.length()), format!("ρ r²  [{}]", units.mass_over_length())];
    // All axes have labels; the name of the vertical axis is written once per row.
    plot.draw(chart, [Some(&names[0]), Some(if is_first { &names[1] } else { "" })], |chart| {
        if profile.resolved > first.inner {
            let edge = plot.x.at(profile.resolved);
            chart.tint(vec![[left, top], [edge, top], [edge, bottom], [left, bottom]], UNRESOLVED, 0.3);
        }
        if let Some(radius) = halo.radius {
            let x = plot.x.at(radius);
            chart.dashed(&[[x, bottom], [x, top]], [5.0, 4.0], 1.5, FAINT);
        }
        if let Some(fit) = &profile.fit {
            let from = profile.fitted().first().map_or(first.inner, |shell| shell.inner);
            let curve = |from: f64, to: f64| -> Vec<[f64; 2]> {
                let radii = (0..=60).map(|i| from * (to / from).powf(f64::from(i) / 60.0));
                radii.map(|r| plot.at([r, r * r * fit.density_at(r)])).collect()
            };
            chart.dashed(&curve(first.inner, from), [4.0, 4.0], 1.5, FIT);
            chart.line(curve(from, last.outer), 2.0, FIT);
        }
        for [r, value, error] in points {
            let [x, y] = plot.at([r, value]);
            let ends = [value * (1.0 - error).max(1e-9), value * (1.0 + error)].map(|value| plot.y.at(value));
            chart.line(vec![[x, ends[0]], [x, ends[1]]], 1.5, POINTS);
            chart.disc([x, y], 3.0, POINTS);
        }
    });
}

#[cfg(test)]
mod tests {
    use ropewalk::halo::Particles;

    use super::*;

    #[test]
    fn anything_can_be_drawn() {
        for size in [1e-100, 1.0, 1e90] {
            for n in [0, 1, 3, 500] {
                let positions: Vec<[f64; 3]> =
                    (0..n).map(|i| [size * (f64::from(i) / 500.0).powi(2), 0.0, 1e-3 * size]).collect();
                let particles = Particles::new(&positions).mass(1e-20);
                for shells in [0, 1, 20] {
                    let found = ropewalk::halo::profiles(&particles, &[[0.0; 3]; 2], &[size, 0.0], shells).unwrap();
                    let panels: Vec<ProfilePanel> = found
                        .into_iter()
                        .map(|profile| ProfilePanel { caption: "<&>".into(), profile, radius: Some(size) })
                        .collect();
                    for some in [&panels[..], &panels[..1], &[]] {
                        let chart = chart(some, ["<&>", "R"], &AxisUnits::default());
                        let svg = chart.svg().unwrap();
                        assert!(svg.contains("&lt;&amp;&gt;") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                    }
                }
            }
        }
        assert_eq!([with_error(5.312, 0.213), with_error(12.0, 3.2)], ["5.31 ± 0.21", "12.0 ± 3.2"]);
    }
}

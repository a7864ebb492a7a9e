//! Density profiles of halos side by side, each with its fit.

use ropewalk::Result;
use ropewalk::halo::{NfwFit, Profile, Shell};

use crate::axis::{FAINT, GRID, INK};
use crate::axis_units::AxisUnits;
use crate::canvas::Align;
use crate::chart::Chart;
use crate::colors::Rgb;
use crate::font::{fitting, width};
use crate::panel::{Panel, Scale, columns};
use crate::style::Style;

/// The width of a page of one or two columns, and of a panel of several columns.
const WIDTH: f64 = 960.0;
const WIDE: f64 = 344.0;
/// The space around the panels, for the title, between panels, and for captions.
const LEFT: f64 = 142.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 66.0;
const LEGEND: f64 = 80.0;
const BELOW: f64 = 60.0;
const GAP: f64 = 110.0;
const CAPTION: f64 = 104.0;
/// The space for the name of the horizontal axis of the lowest panels.
const NAME: f64 = 34.0;
/// The height of a panel relative to its width.
const SHAPE: f64 = 1.0;
/// The font size: 6 points where a page of two columns is 85 mm wide.
const LETTERS: f64 = 24.0;
/// The maximum number of decades shown below the largest value.
const DECADES: f64 = 3.0;

const POINTS: Rgb = [87, 16, 110];
const FIT: Rgb = [227, 89, 51];
const POOR: Rgb = [190, 20, 20];
const POOR_DASHES: [f64; 2] = [10.0, 3.0];
const UNRESOLVED: Rgb = [130, 130, 145];
/// The chi2 per degree of freedom from which on a fit is marked as poor. It is exceeded by chance in less than 1% of
/// the profiles if there are five or more degrees of freedom.
const MOST_CHI2: f64 = 3.0;

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

/// Draws a panel for each halo: `rho r^2` against `r` on logarithmic axes. Two panels are in a row, in a picture 10
/// inches wide, or three if there are more than six.
///
/// Each shell is drawn at the geometric mean of its radii, with its Poisson error. All panels have the same axes. The
/// NFW fit is dashed outside of the fitted range. A vertical line marks the panel's radius, and unresolved radii, which
/// were not fitted, are shaded. `words` holds the title and the name of the radius. Captions state the concentration
/// with its error, and chi2 per degree of freedom. Above 3, the fit is marked as poor.
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
    let columns = columns(panels.len());
    let rows = panels.len().div_ceil(columns).max(1);
    // A single panel fills the width of the page; its height is limited.
    let wide = if columns == 1 { WIDTH - LEFT - RIGHT } else { WIDE };
    let high = (SHAPE * wide).min(420.0);
    let step = [wide + GAP, high + CAPTION + BELOW];
    let page = LEFT + columns as f64 * step[0] - GAP + RIGHT;
    let mut chart = Chart::new(page, TOP + LEGEND + rows as f64 * step[1] + NAME, title);
    chart.heading(title, [0.5 * page, 40.0], 29.0, INK);
    legend(&mut chart, radius);
    if panels.is_empty() {
        chart.text("no halos", [0.5 * page, TOP + LEGEND + 0.5 * high], 24.0, Align::Center, INK);
    }
    let ends = ends(panels);
    for (i, halo) in panels.iter().enumerate() {
        let (row, column) = (i / columns, i % columns);
        let left = LEFT + column as f64 * step[0];
        let top = TOP + LEGEND + row as f64 * step[1] + CAPTION;
        captions(&mut chart, halo, [left, top], wide);
        let Some([x, y]) = ends.filter(|_| !points(&halo.profile).is_empty()) else {
            chart.outline([[left, top], [left + wide, top + high]], 1.5, GRID);
            continue;
        };
        let plot = Panel {
            letters: LETTERS,
            // There are captions above and labels below each plot.
            name_room: 1.25,
            ..Panel::new(Scale::logarithmic(x, [left, left + wide]), Scale::logarithmic(y, [top + high, top]))
        };
        panel(&mut chart, halo, &plot, [i + columns >= panels.len(), column == 0], units);
    }
    chart
}

/// Draws the legend in two rows.
fn legend(chart: &mut Chart, radius: &str) {
    let entries = ["shells ± Poisson", "NFW fit", "poor NFW fit, χ²/ν > 3", "not resolved, not fitted", radius];
    let step = |name: &str| width(name, LETTERS) + 76.0;
    for (row, range) in [0..3, 3..5].into_iter().enumerate() {
        let y = TOP + 18.0 + 34.0 * row as f64;
        let whole: f64 = entries[range.clone()].iter().map(|name| step(name)).sum();
        let mut x = 0.5 * (chart.width - whole) + 15.0;
        for i in range {
            let line = |dx: f64| vec![[x, y - 6.0], [x + dx, y - 6.0]];
            match i {
                0 => {
                    chart.line(vec![[x + 14.0, y - 14.0], [x + 14.0, y + 2.0]], 1.5, POINTS);
                    chart.disc([x + 14.0, y - 6.0], 3.5, POINTS);
                }
                1 => chart.line(line(30.0), 2.5, FIT),
                2 => chart.dashed(&line(31.0), POOR_DASHES, 2.0, POOR),
                3 => chart.tint(
                    vec![[x, y - 14.0], [x + 30.0, y - 14.0], [x + 30.0, y + 2.0], [x, y + 2.0]],
                    UNRESOLVED,
                    0.3,
                ),
                _ => chart.dashed(&line(30.0), [5.0, 4.0], 1.5, FAINT),
            }
            chart.text(entries[i], [x + 40.0, y], LETTERS, Align::Left, INK);
            x += step(entries[i]);
        }
    }
}

/// Formats a number with its error, to two digits of the error.
fn with_error(value: f64, error: f64) -> String {
    let decimals = (1.0 - error.log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{value:.decimals$} ± {error:.decimals$}")
}

/// Returns chi2 per degree of freedom of a fit with two parameters. `None` without degrees of freedom.
fn reduced_chi2(fit: &NfwFit) -> Option<f64> {
    (fit.shells > 2).then(|| fit.chi2 / (fit.shells - 2) as f64)
}

fn is_poor(fit: &NfwFit) -> bool {
    reduced_chi2(fit).is_some_and(|chi2| chi2 > MOST_CHI2)
}

/// Writes the name of the halo and two lines on its fit above a panel.
fn captions(chart: &mut Chart, halo: &ProfilePanel, [left, top]: [f64; 2], room: f64) {
    let size = fitting(&halo.caption, LETTERS, room);
    chart.text(&halo.caption, [left, top - 72.0], size, Align::Left, INK);
    let profile = &halo.profile;
    let (first, second, color) = match &profile.fit {
        Some(fit) => {
            let concentration = with_error(fit.concentration, fit.concentration_error);
            let chi2 = match reduced_chi2(fit) {
                Some(reduced) => format!("χ²/ν = {reduced:.1} (ν = {})", fit.shells - 2),
                None => format!("χ² = {:.1} of {} shells", fit.chi2, fit.shells),
            };
            let (end, color) = if is_poor(fit) { (": poor fit", POOR) } else { ("", FAINT) };
            (format!("c = {concentration}{end}"), chi2, color)
        }
        None if profile.shells.is_empty() => ("no centre, or no sphere".into(), String::new(), FAINT),
        None => ("no fit".into(), String::new(), FAINT),
    };
    for (text, y) in [(&first, top - 42.0), (&second, top - 12.0)] {
        chart.text(text, [left, y], fitting(text, LETTERS, room), Align::Left, color);
    }
}

/// Returns radius, density times squared radius, and relative error of the shells that have particles.
fn points(profile: &Profile) -> Vec<[f64; 3]> {
    let shells = profile.shells.iter().filter(|shell| shell.density > 0.0 && shell.count > 0 && shell.inner > 0.0);
    let point = |shell: &Shell| {
        let r = (shell.inner * shell.outer).sqrt();
        [r, shell.density * r * r, 1.0 / (shell.count as f64).sqrt()]
    };
    shells.map(point).filter(|point| point.iter().all(|x| x.is_finite() && *x > 0.0)).collect()
}

/// Returns the ends of both axes, which all panels share. `None` if there are no points.
fn ends(panels: &[ProfilePanel]) -> Option<[[f64; 2]; 2]> {
    let (mut radii, mut values) = ([f64::INFINITY, 0.0f64], [f64::INFINITY, 0.0f64]);
    for profile in panels.iter().map(|panel| &panel.profile) {
        let points = points(profile);
        let (Some(first), Some(last), Some(_)) = (profile.shells.first(), profile.shells.last(), points.first()) else {
            continue;
        };
        radii = [radii[0].min(first.inner), radii[1].max(last.outer)];
        for [_, value, _] in points {
            values = [values[0].min(value), values[1].max(value)];
        }
    }
    let [least, most] = values;
    if !(radii[0] > 0.0 && radii[0] < radii[1] && most > 0.0) {
        return None;
    }
    let least = least.max(most / 10f64.powf(DECADES));
    // At least a decade, so that a few ticks can be labelled.
    let lack = (1.0 - (most / least).log10()).max(0.0);
    let values = [least * 10f64.powf(-0.2 - 0.5 * lack), most * 10f64.powf(0.2 + 0.5 * lack)];
    Some([[0.85 * radii[0], 1.15 * radii[1]], values])
}

/// Draws a panel. `is_named` states for the horizontal and the vertical axis whether it has a name.
fn panel(chart: &mut Chart, halo: &ProfilePanel, plot: &Panel, is_named: [bool; 2], units: &AxisUnits) {
    let profile = &halo.profile;
    let (Some(first), Some(last)) = (profile.shells.first(), profile.shells.last()) else { return };
    let [[left, top], [_, bottom]] = plot.rect();
    let names = [format!("r  [{}]", units.length()), format!("ρ r²  [{}]", units.mass_over_length())];
    // All axes have labels; names are written once per row and once per column.
    let name = |k: usize| Some(if is_named[k] { names[k].as_str() } else { "" });
    plot.draw(chart, [name(0), name(1)], |chart| {
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
            if is_poor(fit) {
                chart.dashed(&curve(from, last.outer), POOR_DASHES, 2.0, POOR);
            } else {
                chart.dashed(&curve(first.inner, from), [4.0, 4.0], 1.5, FIT);
                chart.line(curve(from, last.outer), 2.5, FIT);
            }
        }
        for [r, value, error] in points(profile) {
            let [x, y] = plot.at([r, value]);
            let ends = [value * (1.0 - error).max(1e-9), value * (1.0 + error)].map(|value| plot.y.at(value));
            chart.line(vec![[x, ends[0]], [x, ends[1]]], 1.5, POINTS);
            chart.disc([x, y], 3.5, POINTS);
        }
    });
}

#[cfg(test)]
mod tests {
    use ropewalk::halo::Particles;

    use super::*;

    fn with_fit(chi2: f64, shells: usize, scale: f64) -> ProfilePanel {
        let positions: Vec<[f64; 3]> = (1..=100).map(|i| [0.01 * scale * f64::from(i), 0.0, 0.0]).collect();
        let mut profile =
            ropewalk::halo::profiles(&Particles::new(&positions), &[[0.0; 3]], &[scale], 10).unwrap().remove(0);
        profile.fit = Some(NfwFit {
            radius: 0.1 * scale,
            radius_error: 0.01,
            density: 1.0,
            density_error: 0.1,
            concentration: 10.0,
            concentration_error: 0.5,
            chi2,
            shells,
        });
        ProfilePanel { caption: "a rod".into(), profile, radius: Some(scale) }
    }

    #[test]
    fn poor_fits_are_marked() {
        let svg = |chi2, shells| chart(&[with_fit(chi2, shells, 1.0)], ["", "R"], &AxisUnits::default()).svg().unwrap();
        let poor = svg(385.0, 11);
        assert!(poor.contains(">χ²/ν = 42.8 (ν = 9)<") && poor.contains(": poor fit<"), "{poor}");
        let good = svg(7.5, 9);
        assert!(good.contains(">χ²/ν = 1.1 (ν = 7)<") && !good.contains("poor fit<"), "{good}");
        assert!(svg(385.0, 2).contains(">χ² = 385.0 of 2 shells<"));
    }

    #[test]
    fn panels_share_axes_and_font_sizes() {
        let panels = [with_fit(1.0, 9, 1.0), with_fit(1234.5, 9, 3.0), with_fit(1.0, 9, 2.0)];
        let svg = chart(&panels, ["", "R"], &AxisUnits::default()).svg().unwrap();
        let labels: Vec<&str> = svg.lines().filter(|line| line.contains("font-size=\"24\"")).collect();
        let texts: Vec<&str> = labels.iter().filter_map(|line| line.split('>').nth(1)).collect();
        for text in texts.iter().filter(|text| text.starts_with(|letter: char| letter.is_ascii_digit())) {
            assert_eq!(texts.iter().filter(|other| other == &text).count() % 3, 0, "{text}: {texts:?}");
        }
        // Captions do not shrink.
        assert!(["a rod", "χ²/ν"].iter().all(|start| texts.iter().filter(|text| text.starts_with(start)).count() == 3));
    }

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

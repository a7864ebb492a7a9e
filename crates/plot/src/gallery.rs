//! Halos side by side, each with its members and its centres.

use ropewalk::Result;

use crate::axis::{FAINT, INK, PAPER};
use crate::axis_units::AxisUnits;
use crate::canvas::{self, Align, Canvas};
use crate::chart::Chart;
use crate::colors::{Rgb, mix};
use crate::font::{fitting, width};
use crate::style::Style;
use crate::ticks::round_length;

/// The side of a panel's window, and the space above and around it.
const SIDE: f64 = 400.0;
const CAPTION: f64 = 44.0;
const GAP: f64 = 24.0;
const TOP: f64 = 72.0;
/// The line height and the font size of the legend.
const LINE: f64 = 40.0;
const LETTERS: f64 = 18.0;
const MEMBER: Rgb = [70, 78, 100];
const SPHERE: Rgb = [150, 150, 165];
/// The sizes of the marks from their middle, in units. They differ, so that coincident marks remain visible.
const MARKS: [f64; 5] = [6.0, 8.0, 9.0, 11.0, 17.0];
const COLORS: [Rgb; 5] = [[215, 40, 40], [20, 110, 200], [30, 140, 60], [230, 120, 0], [140, 60, 180]];

/// The data of a panel: one halo.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GalleryPanel {
    /// The two lines above the panel.
    pub caption: [String; 2],
    /// The positions of the members relative to the middle of the panel, along x and y.
    pub members: Vec<[f64; 2]>,
    /// Centres, in the order of their names.
    pub centers: Vec<[f64; 2]>,
    /// The radius of a sphere around the first centre, such as R200c.
    pub radius: Option<f64>,
}

/// Draws a panel for each halo, in rows of four: the members as dots, a ring of the given radius around the first
/// centre, and a mark for each centre.
///
/// A legend explains the marks by `names`, at most five, and the ring by `sphere`. A panel is 2.6 inches wide. Dots
/// are rasterized in all formats, since there may be millions.
///
/// ```
/// use ropewalk_plot::{AxisUnits, GalleryPanel, PictureFormat, gallery};
///
/// let halo = GalleryPanel {
///     caption: ["1".into(), "3 members".into()],
///     members: vec![[0.0, 0.0], [1.0, 0.5], [-1.0, 0.0]],
///     centers: vec![[0.0, 0.0]],
///     radius: Some(0.7),
/// };
/// let units = AxisUnits::default();
/// let png = gallery(&[halo], &["centre"], ["One halo", "R200c"], &units, PictureFormat::Png)?;
/// assert!(png.starts_with(b"\x89PNG"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails as [`check_gallery`] does, or if encoding fails.
pub fn gallery(
    panels: &[GalleryPanel],
    names: &[&str],
    [title, sphere]: [&str; 2],
    units: &AxisUnits,
    style: impl Into<Style>,
) -> Result<Vec<u8>> {
    let style = style.into();
    check_gallery(panels.len(), style)?;
    let (columns, wide, end) = size(panels.len());
    let sphere = Some(sphere).filter(|sphere| !sphere.is_empty());
    let entries = in_lines(names.iter().copied().chain(sphere), wide - 2.0 * GAP);
    let high = end + 24.0 + LINE * entries.last().map_or(0, |entry| entry.1 + 1) as f64;
    let mut chart = Chart::in_pixels(wide, high, title);
    let scale = chart.scale(style)?;
    chart.heading(title, [0.5 * wide, 42.0], 25.0, INK);
    for (i, halo) in panels.iter().enumerate() {
        let (row, column) = ((i / columns) as f64, (i % columns) as f64);
        let corner = [GAP + column * (SIDE + GAP), TOP + row * (SIDE + CAPTION + GAP) + CAPTION];
        panel(&mut chart, halo, corner, scale, units)?;
    }

    for (i, (name, line, x)) in entries.into_iter().enumerate() {
        let (x, y) = (GAP + 14.0 + x, end + 36.0 + LINE * line as f64);
        if i < names.len() {
            mark(&mut chart, i, [x, y - 6.0]);
        } else {
            chart.ring([x, y - 6.0], 10.0, 2.0, SPHERE);
        }
        chart.text(name, [x + 22.0, y], LETTERS, Align::Left, INK);
    }
    chart.encoded(style)
}

/// Returns the number of columns of a gallery, and its width and height without the legend.
fn size(panels: usize) -> (usize, f64, f64) {
    let columns = panels.clamp(2, 4);
    let rows = panels.div_ceil(columns).max(1) as f64;
    (columns, GAP + columns as f64 * (SIDE + GAP), TOP + rows * (SIDE + CAPTION + GAP))
}

/// Checks that a [`gallery`] of a number of halos can be drawn, before the halos are computed.
///
/// ```
/// use ropewalk_plot::{PictureFormat, Style, check_gallery};
///
/// assert!(check_gallery(100, PictureFormat::Png).is_ok());
/// let error = check_gallery(100, Style::new(PictureFormat::Pdf).dpi(1200.0)).unwrap_err();
/// assert_eq!(error.parameter(), Some("dpi"));
/// ```
///
/// # Errors
/// Fails if the resolution is out of range, or the picture would have too many pixels.
pub fn check_gallery(panels: usize, style: impl Into<Style>) -> Result<()> {
    let (_, wide, high) = size(panels);
    // Dots are rasterized in all formats.
    let scale = Chart::in_pixels(wide, high, "").scale(style.into())?;
    canvas::check_pixels((wide * scale) as usize, (high * scale) as usize)
}

/// Breaks the names of a legend into lines. Returns each name with its line and its position there.
fn in_lines<'n>(names: impl Iterator<Item = &'n str>, room: f64) -> Vec<(&'n str, usize, f64)> {
    let (mut line, mut x) = (0, 0.0);
    names
        .map(|name| {
            let wide = width(name, LETTERS) + 36.0;
            if x > 0.0 && x + wide > room {
                (line, x) = (line + 1, 0.0);
            }
            let place = (name, line, x);
            x += wide + 34.0;
            place
        })
        .collect()
}

fn panel(chart: &mut Chart, halo: &GalleryPanel, [left, top]: [f64; 2], scale: f64, units: &AxisUnits) -> Result<()> {
    for (text, size, y, color) in
        [(&halo.caption[0], 19.0, top - 26.0, INK), (&halo.caption[1], 16.0, top - 6.0, FAINT)]
    {
        chart.text(text, [left, y], fitting(text, size, SIDE), Align::Left, color);
    }
    // The window shows all members, and the sphere unless it is much larger.
    let farthest = halo.members.iter().flatten().fold(0.0f64, |most, x| most.max(x.abs()));
    let first = halo.centers.first().copied().unwrap_or_default();
    let outside = halo.radius.map_or(0.0, |radius| radius + first[0].abs().max(first[1].abs()));
    let reach = 1.06 * farthest.max(outside.min(2.0 * farthest)).max(f64::MIN_POSITIVE);
    let half = 0.5 * SIDE;
    let inside = |at: [f64; 2]| [half * (1.0 + at[0] / reach), half * (1.0 - at[1] / reach)];

    let many = (halo.members.len() as f64 / 100.0).max(1.0);
    let (dot, cover) = ((4.0 * many.powf(-0.25)).max(0.6), (0.9 - 0.12 * many.ln()).max(0.25));
    let side = (scale * SIDE).round().max(1.0);
    let mut canvas = Canvas::new(side as usize, side as usize, PAPER)?;
    for &member in &halo.members {
        canvas.disc(inside(member).map(|x| x * side / SIDE), dot * side / SIDE, MEMBER, cover);
    }
    chart.image([left, top], [SIDE; 2], canvas.into_image());
    let window = [[left, top], [left + SIDE, top + SIDE]];
    chart.clip(Some(window));
    let place = |at: [f64; 2]| [left + inside(at)[0], top + inside(at)[1]];
    if let Some(radius) = halo.radius {
        chart.ring(place(first), radius / reach * half, 2.0, SPHERE);
    }
    for (i, &center) in halo.centers.iter().enumerate().rev() {
        // Centres that are NaN are skipped.
        if inside(center).iter().all(|x| (0.0..SIDE).contains(x)) {
            mark(chart, i, place(center));
        }
    }
    chart.clip(None);
    // The scale bar, of a round length.
    if let Some((length, label)) = round_length(2.0 * reach) {
        let y = top + SIDE - 14.0;
        let bar = length / reach * half;
        chart.line(vec![[left + 12.0, y], [left + 12.0 + bar, y]], 3.0, INK);
        chart.text(format!("{label} {}", units.length()), [left + 12.0, y - 9.0], 16.0, Align::Left, INK);
    }
    chart.outline(window, 2.0, INK);
    Ok(())
}

/// Draws a mark with a light outline: plus, cross, ring, square, diamond.
fn mark(chart: &mut Chart, kind: usize, [x, y]: [f64; 2]) {
    let size = MARKS[kind % MARKS.len()];
    let color = COLORS[kind % COLORS.len()];
    let tilted = size * 0.5f64.sqrt();
    let lines = |places: &[[f64; 2]]| places.iter().map(|[dx, dy]| [x + dx, y + dy]).collect::<Vec<_>>();
    let strokes = match kind {
        0 => vec![lines(&[[-size, 0.0], [size, 0.0]]), lines(&[[0.0, -size], [0.0, size]])],
        1 => vec![lines(&[[-tilted, -tilted], [tilted, tilted]]), lines(&[[-tilted, tilted], [tilted, -tilted]])],
        2 => vec![],
        3 => vec![lines(&[[-size, -size], [size, -size], [size, size], [-size, size], [-size, -size]])],
        _ => vec![lines(&[[-size, 0.0], [0.0, -size], [size, 0.0], [0.0, size], [-size, 0.0]])],
    };
    for (width, color) in [(4.6, mix(color, PAPER, 0.9)), (2.4, color)] {
        for stroke in &strokes {
            chart.line(stroke.clone(), width, color);
        }
        if kind == 2 {
            chart.ring([x, y], size, width, color);
        }
    }
}

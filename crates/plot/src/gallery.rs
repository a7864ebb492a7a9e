//! Halos side by side, each with its members and its centres.

use ropewalk::Result;

use crate::axis::{FAINT, INK, PAPER};
use crate::axis_units::AxisUnits;
use crate::canvas::{self, Align, Canvas};
use crate::chart::Chart;
use crate::colors::{Rgb, mix};
use crate::font::{fitting, width};
use crate::panel;
use crate::style::Style;
use crate::ticks::round_length;

/// The side of a panel's window, that of a single one, and the space above and around it.
const SIDE: f64 = 400.0;
const LARGE: f64 = 824.0;
const CAPTION: f64 = 94.0;
const GAP: f64 = 24.0;
const TOP: f64 = 66.0;
/// The line height of the legend, and the font size: 6 points where a page of two columns is 85 mm wide.
const LINE: f64 = 44.0;
const LETTERS: f64 = 22.0;
const MEMBER: Rgb = [70, 78, 100];
const SPHERE: Rgb = [120, 120, 140];
/// Colours of members of other types, such as gas and stars.
const OTHERS: [Rgb; 4] = [[30, 150, 200], [235, 140, 0], [150, 40, 160], [20, 20, 20]];
/// The sizes of the marks from their middle, in units. They differ, so that coincident marks remain visible.
const MARKS: [f64; 5] = [17.0, 13.0, 10.0, 13.0, 22.0];
/// The size of the empty middle of marks that are lines, so that the densest part of a halo remains visible.
const EMPTY: f64 = 7.0;
const COLORS: [Rgb; 5] = [[215, 40, 40], [20, 110, 200], [30, 140, 60], [230, 120, 0], [140, 60, 180]];

/// The data of a panel: one halo.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GalleryPanel {
    /// The three lines above the panel.
    pub caption: [String; 3],
    /// The positions of the members relative to the middle of the panel, along x and y.
    pub members: Vec<[f64; 2]>,
    /// Members of other particle types, drawn in this order over the others. All panels have the same types.
    pub others: Vec<GalleryMembers>,
    /// Centres, in the order of their names.
    pub centers: Vec<[f64; 2]>,
    /// The radius of a sphere around the first centre, such as R200c.
    pub radius: Option<f64>,
}

/// The members of one particle type in a panel.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GalleryMembers {
    /// The name of the type, such as "gas", for the legend.
    pub name: String,
    /// The positions, as those of [`GalleryPanel::members`].
    pub positions: Vec<[f64; 2]>,
}

/// Draws a panel for each halo, in rows of two, or three if there are more than six. Members are dots, and a ring has
/// the given radius around the first centre. A mark for each centre leaves its middle free.
///
/// A legend explains the marks by `names`, at most five, the ring by `sphere`, and the colours of members if there are
/// several types. A panel is 2.6 inches wide, and a single one 5.4 inches. Dots are rasterized in all formats, since
/// there may be millions.
///
/// ```
/// use ropewalk_plot::{AxisUnits, GalleryPanel, PictureFormat, gallery};
///
/// let halo = GalleryPanel {
///     caption: ["1", "3 members", ""].map(String::from),
///     members: vec![[0.0, 0.0], [1.0, 0.5], [-1.0, 0.0]],
///     others: vec![],
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
    let Size { columns, side, wide, end } = size(panels.len());
    let entries = entries(panels, names, sphere);
    let places = in_lines(&entries, wide - 2.0 * GAP);
    let high = end + 24.0 + LINE * places.last().map_or(0, |place| place.0 + 1) as f64;
    let mut chart = Chart::in_pixels(wide, high, title);
    let scale = chart.scale(style)?;
    chart.heading(title, [0.5 * wide, 42.0], 27.0, INK);
    for (i, halo) in panels.iter().enumerate() {
        let (row, column) = ((i / columns) as f64, (i % columns) as f64);
        let corner = [GAP + column * (side + GAP), TOP + row * (side + CAPTION + GAP) + CAPTION];
        panel(&mut chart, halo, Window { corner, side, scale }, units)?;
    }
    for ((kind, name), (line, x)) in entries.iter().zip(places) {
        let (x, y) = (GAP + 18.0 + x, end + 36.0 + LINE * line as f64);
        match *kind {
            Entry::Members(color) => chart.disc([x, y - 7.0], 6.0, color),
            Entry::Mark(number) => mark(&mut chart, number, [x, y - 7.0]),
            Entry::Sphere => chart.ring([x, y - 7.0], 11.0, 2.5, SPHERE),
        }
        chart.text(*name, [x + 30.0, y], LETTERS, Align::Left, INK);
    }
    chart.encoded(style)
}

/// An entry of the legend.
enum Entry {
    Members(Rgb),
    Mark(usize),
    Sphere,
}

/// Returns the entries of the legend: types of members if there are several, marks, and the sphere unless its name is
/// empty.
fn entries<'n>(panels: &'n [GalleryPanel], names: &[&'n str], sphere: &'n str) -> Vec<(Entry, &'n str)> {
    let others = panels.first().map_or(&[][..], |panel| &panel.others[..]);
    let linked = (!others.is_empty()).then_some((Entry::Members(MEMBER), "linked particles"));
    let others = others.iter().zip(OTHERS.iter().cycle());
    let others = others.map(|(others, &color)| (Entry::Members(color), others.name.as_str()));
    let marks = names.iter().enumerate().map(|(number, &name)| (Entry::Mark(number), name));
    let sphere = (!sphere.is_empty()).then_some((Entry::Sphere, sphere));
    linked.into_iter().chain(others).chain(marks).chain(sphere).collect()
}

/// The number of columns of a gallery, the side of a panel, and the width and height without the legend.
struct Size {
    columns: usize,
    side: f64,
    wide: f64,
    end: f64,
}

fn size(panels: usize) -> Size {
    let columns = panel::columns(panels);
    let side = if columns == 1 { LARGE } else { SIDE };
    let rows = panels.div_ceil(columns).max(1) as f64;
    Size { columns, side, wide: GAP + columns as f64 * (side + GAP), end: TOP + rows * (side + CAPTION + GAP) }
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
    let Size { wide, end, .. } = size(panels);
    // Dots are rasterized in all formats.
    let scale = Chart::in_pixels(wide, end, "").scale(style.into())?;
    canvas::check_pixels((wide * scale) as usize, (end * scale) as usize)
}

/// Breaks the entries of a legend into lines. Returns the line and the position there of each.
fn in_lines(entries: &[(Entry, &str)], room: f64) -> Vec<(usize, f64)> {
    let (mut line, mut x) = (0, 0.0);
    let place = |(_, name): &(Entry, &str)| {
        let wide = width(name, LETTERS) + 48.0;
        if x > 0.0 && x + wide > room {
            (line, x) = (line + 1, 0.0);
        }
        let place = (line, x);
        x += wide + 28.0;
        place
    };
    entries.iter().map(place).collect()
}

/// The place of a panel on the page, and the pixels per unit.
#[derive(Clone, Copy)]
struct Window {
    corner: [f64; 2],
    side: f64,
    scale: f64,
}

fn panel(chart: &mut Chart, halo: &GalleryPanel, window: Window, units: &AxisUnits) -> Result<()> {
    let Window { corner: [left, top], side, scale } = window;
    for (line, y, color) in [(0, top - 67.0, INK), (1, top - 39.0, FAINT), (2, top - 11.0, FAINT)] {
        let text = &halo.caption[line];
        chart.text(text, [left, y], fitting(text, LETTERS, side), Align::Left, color);
    }
    // The window shows all members, and the sphere unless it is much larger.
    let others = halo.others.iter().flat_map(|others| &others.positions);
    let farthest = halo.members.iter().chain(others).flatten().fold(0.0f64, |most, x| most.max(x.abs()));
    let first = halo.centers.first().copied().unwrap_or_default();
    let outside = halo.radius.map_or(0.0, |radius| radius + first[0].abs().max(first[1].abs()));
    let reach = 1.06 * farthest.max(outside.min(2.0 * farthest)).max(f64::MIN_POSITIVE);
    let half = 0.5 * side;
    let inside = |at: [f64; 2]| [half * (1.0 + at[0] / reach), half * (1.0 - at[1] / reach)];

    let pixels = (scale * side).round().max(1.0);
    let mut canvas = Canvas::new(pixels as usize, pixels as usize, PAPER)?;
    // All types have dots of one size, so that areas are numbers of particles.
    let count = halo.members.len() + halo.others.iter().map(|others| others.positions.len()).sum::<usize>();
    let many = (count as f64 / 100.0).max(1.0);
    let (dot, cover) = ((4.0 * many.powf(-0.25)).max(0.6), (0.9 - 0.12 * many.ln()).max(0.25));
    let others = halo.others.iter().map(|others| &others.positions).zip(OTHERS.into_iter().cycle());
    for (positions, color) in std::iter::once((&halo.members, MEMBER)).chain(others) {
        for &member in positions {
            canvas.disc(inside(member).map(|x| x * pixels / side), dot * pixels / SIDE, color, cover);
        }
    }
    chart.image([left, top], [side; 2], canvas.into_image());
    let window = [[left, top], [left + side, top + side]];
    chart.clip(Some(window));
    let place = |at: [f64; 2]| [left + inside(at)[0], top + inside(at)[1]];
    if let Some(radius) = halo.radius {
        chart.ring(place(first), radius / reach * half, 2.0, SPHERE);
    }
    for (i, &center) in halo.centers.iter().enumerate().rev() {
        // Centres that are NaN are skipped.
        if inside(center).iter().all(|x| (0.0..side).contains(x)) {
            mark(chart, i, place(center));
        }
    }
    chart.clip(None);
    // The scale bar, of a round length.
    if let Some((length, label)) = round_length(2.0 * reach) {
        let y = top + side - 14.0;
        let bar = length / reach * half;
        chart.line(vec![[left + 12.0, y], [left + 12.0 + bar, y]], 3.0, INK);
        let text = format!("{label} {}", units.length());
        chart.text_outlined(&text, [left + 12.0, y - 10.0], LETTERS, [INK, PAPER]);
    }
    chart.outline(window, 2.0, INK);
    Ok(())
}

/// Draws a mark with a light outline: plus, cross, ring, square, diamond. Its middle is free.
fn mark(chart: &mut Chart, kind: usize, [x, y]: [f64; 2]) {
    let size = MARKS[kind % MARKS.len()];
    let color = COLORS[kind % COLORS.len()];
    let lines = |places: &[[f64; 2]]| places.iter().map(|[dx, dy]| [x + dx, y + dy]).collect::<Vec<_>>();
    // Four lines that end short of the middle.
    let rays = |directions: [[f64; 2]; 4]| -> Vec<Vec<[f64; 2]>> {
        directions.iter().map(|&[dx, dy]| lines(&[[EMPTY * dx, EMPTY * dy], [size * dx, size * dy]])).collect()
    };
    let diagonal = 0.5f64.sqrt();
    let strokes = match kind {
        0 => rays([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]),
        1 => rays([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]].map(|at: [f64; 2]| at.map(|x| diagonal * x))),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PictureFormat;

    #[test]
    fn one_halo_fills_the_page() {
        let shape = |panels| {
            let Size { columns, wide, side, .. } = size(panels);
            (columns, wide, side)
        };
        assert_eq!(shape(1), (1, 872.0, 824.0));
        assert_eq!(shape(2), (2, 872.0, 400.0));
        assert_eq!([3, 6, 7, 100].map(|panels| shape(panels).0), [2, 2, 3, 3]);
    }

    #[test]
    fn types_are_in_the_legend() {
        let others = ["gas", "stars"].map(|name| GalleryMembers { name: name.into(), positions: vec![[0.5, 0.0]] });
        let halo = GalleryPanel { members: vec![[1.0, 0.0]], centers: vec![[0.0; 2]], ..GalleryPanel::default() };
        let svg = |halo: &GalleryPanel| {
            let halos = std::slice::from_ref(halo);
            let units = AxisUnits::default();
            String::from_utf8(gallery(halos, &["centre"], ["", ""], &units, PictureFormat::Svg).unwrap()).unwrap()
        };
        let plain = svg(&halo);
        assert!(!plain.contains("linked particles") && plain.matches("<circle").count() == 0);
        let all = svg(&GalleryPanel { others: others.into(), ..halo });
        assert!([">linked particles<", ">gas<", ">stars<"].iter().all(|name| all.contains(name)));
        assert_eq!(all.matches("<circle").count(), 3);
    }

    /// No line of a mark enters the middle.
    #[test]
    fn marks_leave_the_middle_free() {
        for kind in 0..MARKS.len() {
            let mut chart = Chart::new(100.0, 100.0, "");
            mark(&mut chart, kind, [0.0; 2]);
            for (_, drawn) in chart.marks {
                if let crate::chart::Mark::Line { points, .. } = drawn {
                    for pair in points.windows(2) {
                        let nearest = (0..=20)
                            .map(|i| f64::from(i) / 20.0)
                            .map(|part| [0, 1].map(|k| pair[0][k] + part * (pair[1][k] - pair[0][k])));
                        assert!(nearest.map(|[x, y]| x.hypot(y)).fold(f64::INFINITY, f64::min) > EMPTY - 1e-9);
                    }
                }
            }
        }
    }
}

//! Halos side by side, each with its members and what is known of its centre.

use crate::error::Result;
use crate::plot::canvas::{Align, Canvas};
use crate::plot::colors::{Rgb, mix};
use crate::plot::ticks::round_values;

/// The side of a panel's window, and the room above and around it.
const SIDE: i64 = 400;
const CAPTION: i64 = 44;
const GAP: i64 = 24;
const TOP: i64 = 72;
const LEGEND: i64 = 64;
const INK: Rgb = [25, 25, 30];
const FAINT: Rgb = [90, 90, 100];
const PAPER: Rgb = [255, 255, 255];
const MEMBER: Rgb = [70, 78, 100];
const SPHERE: Rgb = [150, 150, 165];
/// The sizes of the marks, in pixels from the middle; they differ, so that marks in one place remain visible.
const MARKS: [f64; 5] = [6.0, 8.0, 9.0, 11.0, 17.0];
const COLORS: [Rgb; 5] = [[215, 40, 40], [20, 110, 200], [30, 140, 60], [230, 120, 0], [140, 60, 180]];

/// A halo as it is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GalleryPanel {
    /// The lines above.
    pub caption: [String; 2],
    /// Where the members are, from the middle of the picture, along x and y.
    pub members: Vec<[f64; 2]>,
    /// Centres, in the order of the names.
    pub centers: Vec<[f64; 2]>,
    /// A sphere about the first centre, such as R200c.
    pub radius: Option<f64>,
}

/// A PNG file with a panel for each halo, in rows of four: the members as dots, a ring of the given radius about the first
/// centre, and a mark for each centre. `names` say in a legend what the marks are, at most five; `sphere` what the ring is.
///
/// Errors: a picture that cannot be encoded.
///
/// ```
/// use ropewalk::plot::{GalleryPanel, gallery};
///
/// let halo = GalleryPanel {
///     caption: ["1".into(), "3 members".into()],
///     members: vec![[0.0, 0.0], [1.0, 0.5], [-1.0, 0.0]],
///     centers: vec![[0.0, 0.0]],
///     radius: Some(0.7),
/// };
/// let png = gallery(&[halo], &["centre"], "R200c", "One halo")?;
/// assert!(png.starts_with(b"\x89PNG"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
pub fn gallery(panels: &[GalleryPanel], names: &[&str], sphere: &str, title: &str) -> Result<Vec<u8>> {
    let columns = panels.len().clamp(2, 4) as i64;
    let rows = (panels.len() as i64 + columns - 1) / columns;
    let (width, height) = (GAP + columns * (SIDE + GAP), TOP + rows.max(1) * (SIDE + CAPTION + GAP) + LEGEND);
    let mut canvas = Canvas::new(width as usize, height as usize, PAPER)?;
    canvas.text(title, [0.5 * width as f64, 42.0], 25.0, Align::Center, INK);
    for (i, halo) in panels.iter().enumerate() {
        let (row, column) = (i as i64 / columns, i as i64 % columns);
        panel(&mut canvas, halo, [GAP + column * (SIDE + GAP), TOP + row * (SIDE + CAPTION + GAP) + CAPTION]);
    }

    let line = height as f64 - 28.0;
    let sphere = Some(sphere).filter(|sphere| !sphere.is_empty());
    let letters: usize = names.iter().copied().chain(sphere).map(|name| name.chars().count() + 6).sum();
    let mut x = GAP as f64 + 14.0;
    for (i, name) in names.iter().copied().chain(sphere).enumerate() {
        if i < names.len() {
            mark(&mut canvas, i, [x, line - 7.0]);
        } else {
            canvas.ring([x, line - 7.0], 10.0, 2.0, SPHERE, [0, 0], width.max(height));
        }
        canvas.text(name, [x + 22.0, line], 18.0, Align::Left, INK);
        x += (name.chars().count() + 6) as f64 / letters as f64 * (width - GAP) as f64;
    }
    canvas.png()
}

fn panel(canvas: &mut Canvas, halo: &GalleryPanel, corner: [i64; 2]) {
    let [left, top] = corner.map(|x| x as f64);
    canvas.text(&halo.caption[0], [left, top - 26.0], 19.0, Align::Left, INK);
    canvas.text(&halo.caption[1], [left, top - 6.0], 16.0, Align::Left, FAINT);
    // All members, and the sphere if that is not much larger.
    let farthest = halo.members.iter().flatten().fold(0.0f64, |most, x| most.max(x.abs()));
    let first = halo.centers.first().copied().unwrap_or_default();
    let outside = halo.radius.map_or(0.0, |radius| radius + first[0].abs().max(first[1].abs()));
    let reach = 1.06 * farthest.max(outside.min(2.0 * farthest)).max(f64::MIN_POSITIVE);
    let half = 0.5 * SIDE as f64;
    let pixel = |at: [f64; 2]| [left + half * (1.0 + at[0] / reach), top + half * (1.0 - at[1] / reach)];

    let many = (halo.members.len() as f64 / 100.0).max(1.0);
    let (dot, cover) = ((4.0 * many.powf(-0.25)).max(0.6), (0.9 - 0.12 * many.ln()).max(0.25));
    for &member in &halo.members {
        canvas.disc(pixel(member), dot, MEMBER, cover, [corner, [SIDE, SIDE]]);
    }
    if let Some(radius) = halo.radius {
        canvas.ring(pixel(first), radius / reach * half, 2.0, SPHERE, corner, SIDE);
    }
    for (i, &center) in halo.centers.iter().enumerate().rev() {
        let at = pixel(center);
        if at[0] >= left && at[1] >= top && at[0] < left + 2.0 * half && at[1] < top + 2.0 * half {
            mark(canvas, i, at);
        }
    }
    // A bar of a round length.
    let lengths = round_values(0.0, 2.0 * reach);
    if let Some((length, label)) = lengths.get(1) {
        let y = top + 2.0 * half - 14.0;
        let bar = length / reach * half;
        canvas.line(&[[left + 12.0, y], [left + 12.0 + bar, y]], 3.0, INK);
        canvas.text(label, [left + 12.0 + 0.5 * bar, y - 8.0], 16.0, Align::Center, INK);
    }
    canvas.frame(corner, [SIDE, SIDE], INK);
}

/// A mark with a light seam: plus, cross, ring, square, diamond.
fn mark(canvas: &mut Canvas, kind: usize, at: [f64; 2]) {
    let size = MARKS[kind % MARKS.len()];
    // How far a place is from the mark's lines.
    let distance = |x: f64, y: f64| -> f64 {
        let (a, b) = (x.abs(), y.abs());
        let arm = |along: f64, across: f64| across.hypot((along - size).max(0.0));
        match kind {
            0 => arm(a, b).min(arm(b, a)),
            1 => {
                let (u, v) = ((x + y).abs() * 0.5f64.sqrt(), (x - y).abs() * 0.5f64.sqrt());
                arm(u, v).min(arm(v, u))
            }
            2 => (x.hypot(y) - size).abs(),
            3 => (a.max(b) - size).abs(),
            _ => (a + b - size).abs() * 0.5f64.sqrt(),
        }
    };
    let color = COLORS[kind % COLORS.len()];
    let [column, row] = at.map(|x| x.floor() as i64);
    let span = -(size as i64) - 4..=size as i64 + 4;
    for dy in span.clone() {
        for dx in span.clone() {
            let (x, y) = (column + dx, row + dy);
            let distance = distance(x as f64 + 0.5 - at[0], y as f64 + 0.5 - at[1]);
            canvas.blend(x, y, mix(color, PAPER, 0.9), 2.6 - distance);
            canvas.blend(x, y, color, 1.6 - distance);
        }
    }
}

//! Values on a grid in the plane, as colours.

use ropewalk::{Error, ErrorKind, Result};

use crate::axis::{FAINT, INK};
use crate::canvas::{Align, Image};
use crate::chart::Chart;
use crate::colors::{Rgb, inferno};
use crate::panel::{Panel, Scale};
use crate::style::Style;
use crate::ticks::{Room, Side, linear};

/// The longer side of the plot, and the minimum of the shorter one.
const SIDE: f64 = 760.0;
const LEAST: f64 = 280.0;
const LEFT: f64 = 180.0;
const TOP: f64 = 96.0;
/// The space for the colour bar on the right, and for the axis below.
const RIGHT: f64 = 230.0;
const BOTTOM: f64 = 116.0;
/// The font size: 6 points where the page is 85 mm wide.
const LETTERS: f64 = 30.0;
/// The number of colours of the bar.
const COLORS: usize = 256;
/// The colour of cells without a value.
const NOTHING: Rgb = [205, 205, 212];

/// A grid in the plane, and the names of its axes and values.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// The number of cells along x and y.
    pub cells: [usize; 2],
    /// The lower and the upper corner of the grid.
    pub corners: [[f64; 2]; 2],
    /// The names of the axes.
    pub axes: [String; 2],
    /// The name of the values.
    pub name: String,
    /// The heading.
    pub title: String,
}

/// Draws values on a grid. `values[i * cells[1] + j]` belongs to cell `i` along x and cell `j` along y. Cells whose
/// value is not finite are grey.
///
/// ```
/// use ropewalk_plot::{Map, PictureFormat, map};
///
/// let axes = ["x", "y"].map(String::from);
/// let (name, title) = ("height".into(), "two cells".into());
/// let grid = Map { cells: [2, 1], corners: [[0.0; 2], [2.0, 1.0]], axes, name, title };
/// let svg = map(&[0.5, 3.5], &grid, PictureFormat::Svg)?;
/// assert!(String::from_utf8_lossy(&svg).contains("height"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails if there is not one value per cell, if a corner is not below the other or not finite, or if encoding fails.
pub fn map(values: &[f64], grid: &Map, style: impl Into<Style>) -> Result<Vec<u8>> {
    let [columns, rows] = grid.cells;
    if columns == 0 || rows == 0 || columns.checked_mul(rows) != Some(values.len()) {
        let sentence = format!("{} values for {columns} x {rows} cells; expected one per cell", values.len());
        return Err(Error::new(ErrorKind::Input, sentence));
    }
    let [lo, hi] = grid.corners;
    let span = [0, 1].map(|k| hi[k] - lo[k]);
    if !span.iter().all(|&span| span > 0.0 && span.is_finite()) {
        let sentence = format!("corners are {lo:?} and {hi:?}; the second must be above the first along both axes");
        return Err(Error::new(ErrorKind::Input, sentence));
    }
    let fit = |part: f64| (SIDE * part).clamp(LEAST, SIDE).round();
    let [width, height] = [fit(span[0] / span[1]), fit(span[1] / span[0])];
    let (right, bottom) = (LEFT + width, TOP + height);
    let mut chart = Chart::in_pixels(right + RIGHT, bottom + BOTTOM, &grid.title);
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let ends = [finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max)];
    let color = |value: f64| match value.is_finite() {
        true if ends[1] > ends[0] => inferno((value - ends[0]) / (ends[1] - ends[0])),
        true => inferno(0.5),
        false => NOTHING,
    };
    // Rows of the image are from the top.
    let pixels = (0..rows).rev().flat_map(|j| (0..columns).map(move |i| values[i * rows + j])).map(color).collect();
    chart.image([LEFT, TOP], [width, height], Image { width: columns, height: rows, pixels });
    let scale = |k: usize, places: [f64; 2]| Scale::linear([lo[k], hi[k]], places);
    let panel = Panel {
        letters: LETTERS,
        is_gridded: false,
        is_outside: true,
        ..Panel::new(scale(0, [LEFT, right]), scale(1, [bottom, TOP]))
    };
    let names = grid.axes.each_ref().map(|name| Some(name.as_str()));
    panel.draw(&mut chart, names, |_| {});
    draw_bar(&mut chart, grid, ends, [right + 26.0, bottom]);
    chart.heading(&grid.title, [0.5 * (right + RIGHT), 60.0], 1.1 * LETTERS, INK);
    chart.encoded(style)
}

/// Draws the colour bar above the place `at` of its lower left corner.
fn draw_bar(chart: &mut Chart, grid: &Map, ends: [f64; 2], [left, bottom]: [f64; 2]) {
    let right = left + 24.0;
    if ends[1] <= ends[0] || !ends.iter().all(|end| end.is_finite()) {
        // A single value, or none.
        let shown = if ends[0].is_finite() { format!("{} = {}", grid.name, ends[0]) } else { "no values".into() };
        chart.text_upwards(shown, [right, 0.5 * (TOP + bottom)], LETTERS, bottom - TOP, FAINT);
        return;
    }
    // As many pixels as it is wide: viewers would blend a single column with its surroundings.
    let wide = (right - left) as usize;
    let color = |row: usize| inferno(1.0 - (row as f64 + 0.5) / COLORS as f64);
    let pixels = (0..COLORS).flat_map(|row| std::iter::repeat_n(color(row), wide)).collect();
    chart.image([left, TOP], [right - left, bottom - TOP], Image { width: wide, height: COLORS, pixels });
    chart.outline([[left, TOP], [right, bottom]], 2.0, INK);
    let scale = Scale::linear(ends, [bottom, TOP]);
    let ticks = linear(ends, &|value| scale.at(value), Room::new(Side::Left, LETTERS));
    let name = ticks.named(&grid.name);
    for (value, label) in ticks.marks {
        let y = scale.at(value);
        chart.line(vec![[right + 2.0, y], [right + 8.0, y]], 2.0, INK);
        chart.text(label, [right + 14.0, y + 11.0], LETTERS, Align::Left, INK);
    }
    chart.text_upwards(name, [right + RIGHT - 64.0, 0.5 * (TOP + bottom)], 1.1 * LETTERS, bottom - TOP, INK);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PictureFormat;

    fn grid(cells: [usize; 2]) -> Map {
        let axes = ["lon", "depth"].map(String::from);
        Map { cells, corners: [[0.0, -1.0], [3.0, 1.0]], axes, name: "rho".into(), title: "density".into() }
    }

    #[test]
    fn names_and_values() {
        let svg = map(&[0.0, 1.0, 2.0, 3.0, f64::NAN, 5.0], &grid([3, 2]), PictureFormat::Svg).unwrap();
        let svg = String::from_utf8(svg).unwrap();
        for text in ["lon", "depth", "rho", "density"] {
            assert!(svg.contains(&format!(">{text}<")), "{text} is not in {svg}");
        }
        for values in [[7.0; 6], [f64::NAN; 6]] {
            assert!(map(&values, &grid([3, 2]), PictureFormat::Png).unwrap().starts_with(b"\x89PNG"));
        }
    }

    /// No text is cut off: the pixels at the edges of the page are white, also with powers of ten beside names.
    #[test]
    fn names_are_on_the_page() {
        for corners in [[[0.0, -1.0], [3.0, 1.0]], [[2e7, 3e9], [4e7, 7e9]]] {
            let grid = Map { corners, axes: ["long(g)", "(depth)"].map(String::from), ..grid([3, 2]) };
            let png = map(&[0.0, 1e8, 2.0, 3.0, f64::NAN, 5e9], &grid, PictureFormat::Png).unwrap();
            let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
            let [width, height] = [reader.info().width, reader.info().height].map(|side| side as usize);
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            reader.next_frame(&mut pixels).unwrap();
            let pixel = pixels.len() / (width * height);
            for (i, color) in pixels.chunks_exact(pixel).enumerate() {
                let (x, y) = (i % width, i / width);
                let is_edge = x == 0 || y == 0 || x == width - 1 || y == height - 1;
                assert!(!is_edge || color.iter().all(|&part| part == 255), "{x}, {y}: {color:?}");
            }
        }
    }

    #[test]
    fn invalid_grids() {
        let error = |values: &[f64], grid: &Map| map(values, grid, PictureFormat::Png).unwrap_err().to_string();
        assert!(error(&[0.0], &grid([2, 2])).contains("1 values for 2 x 2 cells"));
        assert!(error(&[], &grid([0, 2])).contains("expected one per cell"));
        let flat = Map { corners: [[0.0; 2], [1.0, 0.0]], ..grid([1, 1]) };
        assert!(error(&[0.0], &flat).contains("must be above"));
    }
}

//! The page of tree pictures: a frame, and a vertical axis that may be logarithmic and may end in infinity.

use crate::canvas::Align;
use crate::chart::Chart;
use crate::colors::Rgb;
use crate::ticks::{Room, Side, linear, logarithmic};

pub const WIDTH: f64 = 960.0;
pub const HEIGHT: f64 = 700.0;
/// The edges of the plot: left, right, top, bottom.
pub const LEFT: f64 = 154.0;
pub const RIGHT: f64 = 926.0;
pub const TOP: f64 = 96.0;
pub const BOTTOM: f64 = 606.0;
pub const MIDDLE: f64 = 0.5 * (LEFT + RIGHT);
/// The space beyond the finite values that is reserved for infinite ones.
const BEYOND: f64 = 40.0;
/// The font size of labels: 6 points where a page of 960 units is 85 mm wide.
pub const LETTERS: f64 = 24.0;
pub const INK: Rgb = [25, 25, 30];
pub const FAINT: Rgb = [90, 90, 100];
pub const GRID: Rgb = [217, 217, 224];
pub const PAPER: Rgb = [255, 255, 255];

/// Creates a page with two heading lines.
pub fn page(name: &str, title: &str) -> Chart {
    let mut chart = Chart::new(WIDTH, HEIGHT, &format!("{name}: {title}"));
    chart.heading(name, [MIDDLE, 38.0], 29.0, INK);
    chart.heading(title, [MIDDLE, 74.0], LETTERS, FAINT);
    chart
}

/// Writes a note in the middle of an empty plot.
pub fn empty_note(chart: &mut Chart, what: &str) {
    chart.text(what, [MIDDLE, 0.5 * (TOP + BOTTOM)], 26.0, Align::Center, INK);
}

/// Draws the frame, the line below it, and the name of the axis.
pub fn frame(chart: &mut Chart, below: String, axis: &str) {
    chart.outline([[LEFT, TOP], [RIGHT, BOTTOM]], 2.0, INK);
    chart.heading(&below, [MIDDLE, HEIGHT - 26.0], LETTERS, INK);
    chart.text_upwards(axis, [36.0, 0.5 * (TOP + BOTTOM)], 1.1 * LETTERS, BOTTOM - TOP, INK);
}

/// A map from values to vertical positions in the plot.
pub struct Axis {
    /// The smallest and the largest value, or their logarithms.
    ends: [f64; 2],
    logarithmic: bool,
    infinite: bool,
    /// The positions of the smallest and largest finite values, and of infinity.
    from: f64,
    to: f64,
    end: f64,
}

impl Axis {
    /// Maps the `least` value to the position `from` and the `most` value to `end`, or to a position before it if
    /// there are infinite values. A logarithmic axis needs positive values.
    pub fn new([least, most]: [f64; 2], logarithmic: bool, infinite: bool, [from, end]: [f64; 2]) -> Self {
        let ends = if logarithmic { [least.log10(), most.log10()] } else { [least, most] };
        let to = if infinite { end - BEYOND.copysign(end - from) } else { end };
        Self { ends, logarithmic, infinite, from, to, end }
    }

    pub fn at(&self, value: f64) -> f64 {
        if value.is_infinite() {
            return self.end;
        }
        let value = if self.logarithmic { value.log10() } else { value };
        let part = (value - self.ends[0]) / (self.ends[1] - self.ends[0]);
        self.from + (self.to - self.from) * part.clamp(0.0, 1.0)
    }

    /// Draws lines and labels at round values. Returns the name of the axis, with the conversion from labels to
    /// values.
    pub fn grid(&self, chart: &mut Chart, name: &str) -> String {
        let (room, at) = (Room::new(Side::Left, LETTERS), |value: f64| self.at(value));
        let mut ticks = if self.logarithmic {
            logarithmic(self.ends.map(|end| 10f64.powf(end)), &at, room)
        } else {
            linear(self.ends, &at, room)
        };
        if self.infinite {
            ticks.marks.push((f64::INFINITY, "infinite".into()));
        }
        let name = ticks.named(name);
        for (value, label) in ticks.marks {
            let y = self.at(value);
            chart.line(vec![[LEFT, y], [RIGHT, y]], 1.0, GRID);
            chart.text(label, [LEFT - 12.0, y + 8.5], LETTERS, Align::Right, INK);
        }
        name
    }
}

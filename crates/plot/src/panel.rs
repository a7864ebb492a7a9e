//! A plot with two axes: scales, frame, ticks, and axis names.

use crate::axis::{GRID, INK, LETTERS};
use crate::canvas::Align;
use crate::chart::{Chart, Rect};
use crate::font::{fitting, width};
use crate::ticks::{Room, Side, Ticks, between_decades, linear, logarithmic};

/// A map from values to positions on the page.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    ends: [f64; 2],
    places: [f64; 2],
    is_logarithmic: bool,
}

impl Scale {
    /// Creates a linear scale: the ends are at the respective places.
    pub fn linear(ends: [f64; 2], places: [f64; 2]) -> Self {
        Self { ends, places, is_logarithmic: false }
    }

    /// Creates a logarithmic scale; both ends must be positive.
    pub fn logarithmic(ends: [f64; 2], places: [f64; 2]) -> Self {
        Self { ends, places, is_logarithmic: true }
    }

    /// Maps a value to a position, clamped to one plot width beyond either end.
    pub fn at(&self, value: f64) -> f64 {
        let of = |x: f64| if self.is_logarithmic { x.max(0.0).log10() } else { x };
        let [lo, hi] = self.ends.map(of);
        let part = ((of(value) - lo) / (hi - lo)).clamp(-1.0, 2.0);
        self.places[0] + (self.places[1] - self.places[0]) * part
    }

    fn ticks(&self, room: Room) -> Ticks {
        let at = |value: f64| self.at(value);
        if self.is_logarithmic { logarithmic(self.ends, &at, room) } else { linear(self.ends, &at, room) }
    }

    /// Returns the positions of minor ticks.
    fn between(&self) -> Vec<f64> {
        if self.is_logarithmic { between_decades(self.ends).into_iter().map(|x| self.at(x)).collect() } else { vec![] }
    }

    /// Returns the two ends in ascending order of position.
    fn range(&self) -> [f64; 2] {
        let [a, b] = self.places;
        [a.min(b), a.max(b)]
    }
}

/// Returns the number of panels in a row of a picture of several. Two are legible in a column of a journal. A picture
/// of more than six has three in a row.
pub fn columns(panels: usize) -> usize {
    panels.clamp(1, if panels > 6 { 3 } else { 2 })
}

/// Two scales, and the font size of the labels.
#[derive(Clone, Copy, Debug)]
pub struct Panel {
    pub x: Scale,
    pub y: Scale,
    pub letters: f64,
    /// `true` to label logarithmic axes by powers of ten only.
    pub powers: bool,
    pub is_gridded: bool,
    /// `true` if ticks point outwards, so that they do not cover dense plots.
    pub is_outside: bool,
    /// The room for the name of the vertical axis, relative to the height of the plot.
    pub name_room: f64,
}

impl Panel {
    /// Creates a panel with the default font size, and grid lines at the ticks.
    pub fn new(x: Scale, y: Scale) -> Self {
        Self { x, y, letters: LETTERS, powers: false, is_gridded: true, is_outside: false, name_room: 1.0 }
    }

    pub fn rect(&self) -> Rect {
        let ([left, right], [top, bottom]) = (self.x.range(), self.y.range());
        [[left, top], [right, bottom]]
    }

    pub fn at(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [self.x.at(x), self.y.at(y)]
    }

    /// Draws the contents by `marks`, clipped to the plot, then the frame. Names are below and on the left. If a name
    /// is `None`, that axis has neither name nor labels; if it is empty, only labels.
    pub fn draw(&self, chart: &mut Chart, names: [Option<&str>; 2], marks: impl FnOnce(&mut Chart)) {
        let [[left, top], [right, bottom]] = self.rect();
        let size = self.letters;
        let room = |side| Room { powers: self.powers, ..Room::new(side, size) };
        let (across, up) = (self.x.ticks(room(Side::Below)), self.y.ticks(room(Side::Left)));
        if self.is_gridded {
            for (value, _) in &across.marks {
                chart.line(vec![[self.x.at(*value), top], [self.x.at(*value), bottom]], 1.0, GRID);
            }
            for (value, _) in &up.marks {
                chart.line(vec![[left, self.y.at(*value)], [right, self.y.at(*value)]], 1.0, GRID);
            }
        }
        chart.clip(Some(self.rect()));
        marks(chart);
        chart.clip(None);
        let of = |scale: &Scale, ticks: &Ticks| -> Vec<(f64, f64)> {
            let long = ticks.marks.iter().map(|tick| (scale.at(tick.0), 0.45 * size));
            long.chain(scale.between().into_iter().map(|place| (place, 0.25 * size))).collect()
        };
        let outwards = if self.is_outside { -1.0 } else { 1.0 };
        for (x, length) in of(&self.x, &across) {
            chart.line(vec![[x, bottom], [x, bottom - outwards * length]], 1.5, INK);
            if !self.is_outside {
                chart.line(vec![[x, top], [x, top + length]], 1.5, INK);
            }
        }
        for (y, length) in of(&self.y, &up) {
            chart.line(vec![[left, y], [left + outwards * length, y]], 1.5, INK);
            if !self.is_outside {
                chart.line(vec![[right, y], [right - length, y]], 1.5, INK);
            }
        }
        chart.outline(self.rect(), 2.0, INK);
        if let Some(name) = names[0] {
            for (value, label) in &across.marks {
                chart.text(label, [self.x.at(*value), bottom + 1.5 * size], size, Align::Center, INK);
            }
            let name = across.named(name);
            let size = fitting(&name, 1.1 * size, 1.25 * (right - left));
            chart.text(name, [0.5 * (left + right), bottom + 3.2 * self.letters], size, Align::Center, INK);
        }
        if let Some(name) = names[1] {
            for (value, label) in &up.marks {
                chart.text(label, [left - 0.6 * size, self.y.at(*value) + 0.36 * size], size, Align::Right, INK);
            }
            let name = up.named(name);
            let labels = up.marks.iter().map(|(_, label)| width(label, size)).fold(0.0, f64::max);
            let x = left - (labels + 1.5 * size).min(4.7 * size);
            chart.text_upwards(name, [x, 0.5 * (top + bottom)], 1.1 * size, self.name_room * (bottom - top), INK);
        }
    }
}

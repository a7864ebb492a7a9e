//! The k-distance curve: the sorted distances from each point to its k-th nearest neighbour.

use ropewalk::Result;
use ropewalk::internals::format::{grouped, significant};

use crate::axis::LETTERS;
use crate::canvas::Align;
use crate::chart::Chart;
use crate::colors::Rgb;
use crate::style::Style;
use crate::ticks::{Room, Side, logarithmic};

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 700.0;
/// The edges of the plot: left, right, top, bottom.
const LEFT: f64 = 154.0;
const RIGHT: f64 = 926.0;
const TOP: f64 = 96.0;
const BOTTOM: f64 = 584.0;
/// The minimum distance, in units, between drawn corners of the curve.
const STEP: f64 = 0.4;
const INK: Rgb = [25, 25, 30];
const FAINT: Rgb = [90, 90, 100];
const GRID: Rgb = [217, 217, 224];
const CURVE: Rgb = [87, 16, 110];
const KNEE: Rgb = [227, 89, 51];

/// Draws the distances to the k-th neighbour of all points, in ascending order, on a logarithmic axis. The other axis
/// is the share of points with at most that distance.
///
/// `knee` holds two indices into `sorted`: the start of the chord to the last point, and the knee, a point below the
/// chord. Both are marked. Distances of zero (copies of a point) are to the left of the curve. `title` is the heading
/// line, and `unit` that of the distances; it may be empty.
///
/// ```
/// use ropewalk_plot::{PictureFormat, k_distances};
///
/// let sorted = [0.1, 0.11, 0.12, 0.13, 0.5, 0.9];
/// let svg = k_distances(&sorted, 4, Some([0, 3]), "six points", "km", PictureFormat::Svg)?;
/// assert!(String::from_utf8_lossy(&svg).contains(">distance  [km]<"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails if encoding fails.
pub fn k_distances(
    sorted: &[f64],
    k: usize,
    knee: Option<[usize; 2]>,
    title: &str,
    unit: &str,
    style: impl Into<Style>,
) -> Result<Vec<u8>> {
    chart(sorted, k, knee, title, unit).encoded(style)
}

fn chart(sorted: &[f64], k: usize, knee: Option<[usize; 2]>, title: &str, unit: &str) -> Chart {
    let name = match k {
        1 => "Distance to the nearest neighbour of each point".into(),
        _ => format!("Distance to the {} nearest neighbour of each point", ordinal(k)),
    };
    let mut chart = Chart::new(WIDTH, HEIGHT, &format!("{name}: {title}"));
    let middle = 0.5 * (LEFT + RIGHT);
    chart.heading(&name, [middle, 40.0], 29.0, INK);
    chart.heading(title, [middle, 74.0], LETTERS, FAINT);
    let mut axis = if unit.is_empty() { "distance".into() } else { format!("distance  [{unit}]") };

    let first = sorted.partition_point(|&distance| distance <= 0.0 || distance.is_nan());
    match (sorted.get(first), sorted.last()) {
        (Some(&least), Some(&most)) if most.is_finite() => {
            let air = 0.04 * (most / least).log10().max(0.1);
            let plot = Plot { n: sorted.len(), log: [least.log10() - air, most.log10() + 1.5 * air] };
            axis = plot.grid(&mut chart, &axis);
            plot.curve(&mut chart, sorted, first, knee);
        }
        _ => chart.text("no positive, finite distances", [middle, 0.5 * (TOP + BOTTOM)], 26.0, Align::Center, INK),
    }
    chart.outline([[LEFT, TOP], [RIGHT, BOTTOM]], 2.0, INK);
    let label = format!("points with at most this distance  [%]  (core if min_samples = {})", k.saturating_add(1));
    chart.heading(&label, [0.5 * WIDTH, HEIGHT - 24.0], LETTERS, INK);
    chart.text_upwards(axis, [36.0, 0.5 * (TOP + BOTTOM)], 1.1 * LETTERS, BOTTOM - TOP, INK);
    chart
}

/// Formats an ordinal number: `1st`, `2nd`, `11th`.
fn ordinal(k: usize) -> String {
    let ending = match (k % 10, k % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{}{ending}", grouped(k as u64))
}

struct Plot {
    n: usize,
    log: [f64; 2],
}

impl Plot {
    /// Returns the horizontal position of a point by its index; the last one is at the right edge.
    fn across(&self, rank: usize) -> f64 {
        LEFT + (RIGHT - LEFT) * (rank + 1) as f64 / self.n as f64
    }

    fn up(&self, distance: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * (distance.log10() - self.log[0]) / (self.log[1] - self.log[0])
    }

    /// Draws lines and labels. Returns the name of the axis, with the conversion from labels to values.
    fn grid(&self, chart: &mut Chart, name: &str) -> String {
        for percent in (0..=100).step_by(10) {
            let x = LEFT + (RIGHT - LEFT) * f64::from(percent) / 100.0;
            chart.line(vec![[x, TOP], [x, BOTTOM]], 1.0, GRID);
            chart.text(percent.to_string(), [x, BOTTOM + 34.0], LETTERS, Align::Center, INK);
        }
        let ends = self.log.map(|end| 10f64.powf(end));
        let ticks = logarithmic(ends, &|value| self.up(value), Room::new(Side::Left, LETTERS));
        let name = ticks.named(name);
        for (value, label) in ticks.marks {
            let y = self.up(value);
            chart.line(vec![[LEFT, y], [RIGHT, y]], 1.0, GRID);
            chart.text(label, [LEFT - 12.0, y + 8.5], LETTERS, Align::Right, INK);
        }
        name
    }

    fn curve(&self, chart: &mut Chart, sorted: &[f64], first: usize, knee: Option<[usize; 2]>) {
        let place = |rank: usize| sorted.get(rank).map(|&distance| [self.across(rank), self.up(distance)]);
        let last = place(sorted.len() - 1);
        let knee = knee.filter(|knee| knee.iter().all(|&rank| rank >= first));
        if let Some((from, to)) = knee.and_then(|[start, _]| place(start)).zip(last) {
            chart.dashes(from, to, 1.5, [150, 150, 160]);
        }
        let mut corners: Vec<[f64; 2]> = Vec::new();
        for at in (first..sorted.len()).filter_map(place) {
            let far = |last: &[f64; 2]| (at[0] - last[0]).abs().max((at[1] - last[1]).abs()) >= STEP;
            if corners.last().is_none_or(far) {
                corners.push(at);
            }
        }
        corners.extend(last);
        chart.line(corners, 3.0, CURVE);
        if let Some((at, eps)) = knee.and_then(|[_, knee]| place(knee).zip(sorted.get(knee))) {
            chart.dashes([LEFT, at[1]], at, 2.0, KNEE);
            chart.dashes(at, [at[0], BOTTOM], 2.0, KNEE);
            chart.disc(at, 7.0, KNEE);
            // The curve ascends, so the label fits above the line on the left, or below the point on the right.
            let label = format!("knee: eps = {}", significant(*eps, 3));
            if at[0] - LEFT > 260.0 {
                chart.text(label, [at[0] - 14.0, at[1] - 14.0], LETTERS, Align::Right, KNEE);
            } else {
                chart.text(label, [at[0] + 14.0, at[1] + 32.0], LETTERS, Align::Left, KNEE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals() {
        assert_eq!(
            [2, 3, 4, 11, 12, 21, 113, 1001].map(ordinal),
            ["2nd", "3rd", "4th", "11th", "12th", "21st", "113th", "1,001st"]
        );
        let svg = |k| chart(&[1.0, 2.0], k, None, "", "").svg().unwrap();
        assert!(svg(4).contains("Distance to the 4th nearest neighbour of each point"));
        assert!(svg(1).contains("Distance to the nearest neighbour of each point"));
    }

    #[test]
    fn anything_can_be_drawn() {
        let sets: [&[f64]; 8] = [
            &[],
            &[0.0],
            &[0.0, 0.0],
            &[1.0],
            &[2.0; 5],
            &[0.0, 1e-150, 1e150],
            &[1.0, f64::INFINITY],
            &[5e-324, 1e-320],
        ];
        for sorted in sets {
            for knee in [None, Some([0, 0]), Some([0, 1]), Some([1, 9])] {
                let chart = chart(sorted, usize::MAX, knee, "<&>", "<&>");
                assert!(chart.png(96.0).unwrap().starts_with(b"\x89PNG"));
                let svg = chart.svg().unwrap();
                assert!(svg.contains("&lt;&amp;&gt;") && !svg.contains("NaN"));
            }
        }
    }
}

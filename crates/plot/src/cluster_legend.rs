//! The legend of a picture of clusters: their colours, labels and numbers of points.

use std::cmp::Reverse;

use ropewalk::cluster::Labels;
use ropewalk::internals::format::{counted, grouped};

use crate::axis::{FAINT, INK, PAPER};
use crate::canvas::Align;
use crate::chart::Chart;
use crate::colors::{Rgb, category_color, mix};
use crate::font::width;

/// The colour of noise.
pub const NOISE: Rgb = [112, 112, 122];
/// The number of clusters in the legend.
pub const NAMED: usize = 12;
/// The font size: 6 points where the page is 85 mm wide.
pub const LETTERS: f64 = 34.0;
/// The height of a line, and the indentation of labels.
const LINE: f64 = 46.0;
const INDENT: f64 = 36.0;
/// The share of white in the colours of clusters that are not in the legend one by one.
const PALER: f64 = 0.5;

/// The clusters by descending size, which determines their colours.
pub struct Legend {
    /// Label and size of each cluster, largest first.
    ranked: Vec<(u32, usize)>,
    rank: Vec<u32>,
}

/// A line of the legend.
struct Line {
    /// The radius and the colour of the dot.
    dot: (f64, Rgb),
    name: String,
    size: usize,
}

impl Legend {
    pub fn new(labels: &Labels) -> Self {
        let mut ranked: Vec<(u32, usize)> = (0..).zip(labels.sizes()).collect();
        ranked.sort_unstable_by_key(|&(number, size)| (Reverse(size), number));
        let mut rank = vec![0; ranked.len()];
        for (place, &(number, _)) in (0..).zip(&ranked) {
            rank[number as usize] = place;
        }
        Self { ranked, rank }
    }

    /// Returns the labels of the clusters that have a line of their own, largest first.
    pub fn named(&self) -> impl Iterator<Item = u32> + '_ {
        self.ranked.iter().take(NAMED).map(|&(label, _)| label)
    }

    /// Returns the place of a cluster among all by descending size.
    pub fn rank(&self, cluster: u32) -> usize {
        self.rank.get(cluster as usize).map_or(0, |&rank| rank as usize)
    }

    pub fn color(&self, cluster: u32) -> Rgb {
        let rank = self.rank(cluster);
        let color = category_color(rank);
        if rank < NAMED { color } else { mix(color, PAPER, PALER) }
    }

    /// Draws a line for each of the largest clusters, then the other clusters together, then noise. The columns are
    /// the label and the number of points.
    pub fn draw(&self, chart: &mut Chart, [left, top]: [f64; 2], noise: usize) {
        let rest = &self.ranked[self.ranked.len().min(NAMED)..];
        let mut lines: Vec<Line> = vec![];
        for &(label, size) in self.ranked.iter().take(NAMED) {
            lines.push(Line { dot: (11.0, self.color(label)), name: label.to_string(), size });
        }
        if !rest.is_empty() {
            let name = counted(rest.len() as u64, "other");
            let size = rest.iter().map(|&(_, size)| size).sum();
            lines.push(Line { dot: (8.0, self.color(rest[0].0)), name, size });
        }
        lines.push(Line { dot: (8.0, NOISE), name: "noise".into(), size: noise });
        let wide = |text: &str| width(text, LETTERS);
        let first = lines.iter().map(|line| wide(&line.name)).fold(wide("cluster"), f64::max);
        let second = lines.iter().map(|line| wide(&grouped(line.size as u64))).fold(wide("points"), f64::max);
        let right = left + INDENT + first + 24.0 + second;
        let mut y = top + LETTERS;
        chart.text("cluster", [left + INDENT, y], LETTERS, Align::Left, FAINT);
        chart.text("points", [right, y], LETTERS, Align::Right, FAINT);
        chart.line(vec![[left, y + 12.0], [right, y + 12.0]], 1.0, FAINT);
        for Line { dot, name, size } in lines {
            y += LINE;
            chart.disc([left + 12.0, y - 12.0], dot.0, dot.1);
            chart.text(name, [left + INDENT, y], LETTERS, Align::Left, INK);
            chart.text(grouped(size as u64), [right, y], LETTERS, Align::Right, INK);
        }
    }

    /// Returns the height of what [`Legend::draw`] draws: the heading, the largest clusters, the others and noise.
    pub fn height(&self) -> f64 {
        let others = usize::from(self.ranked.len() > NAMED);
        LETTERS + LINE * (self.ranked.len().min(NAMED) + others + 1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_in_one_line() {
        // 15 clusters of 1, 2, .. points, and seven points of noise.
        let labels: Vec<i32> = (0..15).flat_map(|label| vec![label; label as usize + 1]).chain([-1; 7]).collect();
        let labels = Labels::from_slice(&labels).unwrap();
        let mut chart = Chart::new(400.0, 600.0, "");
        Legend::new(&labels).draw(&mut chart, [10.0, 10.0], labels.n_noise());
        let svg = chart.svg().unwrap();
        assert!(svg.contains(&format!("translate(46.0 {:.1})", 10.0 + Legend::new(&labels).height())));
        let texts: Vec<&str> = svg.split("</text>").filter_map(|part| part.rsplit('>').next()).collect();
        let at = |name: &str| texts.iter().position(|&text| text == name).unwrap();
        assert_eq!((texts[at("14") + 1], texts[at("3 others") + 1], texts[at("noise") + 1]), ("15", "6", "7"));
        assert_eq!(svg.matches("<circle").count(), NAMED + 2);
        assert!(at("cluster") < at("points"));
    }
}

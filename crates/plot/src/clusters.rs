//! Points in the plane, coloured by cluster.

use std::cmp::Reverse;

use ropewalk::cluster::Labels;
use ropewalk::geometry::Space;
use ropewalk::internals::format::grouped;
use ropewalk::{Result, Scalar};

use crate::axis::{FAINT, INK, PAPER};
use crate::canvas::{Align, Canvas};
use crate::chart::Chart;
use crate::colors::{Rgb, category_color};
use crate::errors;
use crate::panel::{Panel, Scale};
use crate::style::Style;

/// The longer side of the plot, and the minimum of the shorter one.
const SIDE: f64 = 960.0;
const LEAST: f64 = 480.0;
const LEFT: f64 = 130.0;
const TOP: f64 = 96.0;
/// The space for the legend on the right, and for the axis below.
const RIGHT: f64 = 290.0;
const BOTTOM: f64 = 96.0;
const NOISE: Rgb = [155, 155, 165];
/// The number of clusters in the legend.
const NAMED: usize = 12;

/// Draws points in the plane, coloured by cluster, with equal scales on both axes.
///
/// The largest clusters have the most distinct colours and are listed in a legend; noise is grey and small. Dots
/// shrink as the number of points grows, so that from a hundred to several million points can be distinguished. A bar
/// shows the length `eps`, unless it is 0. `period` is the side of a periodic box, and `title` holds the two heading
/// lines. Dots are rasterized in all formats, since there may be millions.
///
/// ```
/// use ropewalk::dbscan;
/// use ropewalk_plot::{PictureFormat, clusters};
///
/// let points = [[0.0f32, 0.0], [0.1, 0.0], [0.0, 0.1], [5.0, 5.0]];
/// let labels = dbscan(&points, 0.2, 3)?;
/// let png = clusters(&points, &labels, 0.2, None, ["one cluster", "and a point of noise"], PictureFormat::Png)?;
/// assert!(png.starts_with(b"\x89PNG"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails if there is not one label per point, if the side of the box is not positive, or if encoding fails.
pub fn clusters<S: Scalar>(
    points: &[[S; 2]],
    labels: &Labels,
    eps: f64,
    period: Option<f64>,
    title: [&str; 2],
    style: impl Into<Style>,
) -> Result<Vec<u8>> {
    let style = style.into();
    let labelled = labels.as_slice().len();
    if labelled != points.len() {
        return Err(errors::labels_length(labelled, points.len()));
    }
    let frame = Frame::new(points, period)?;
    let [width, height] = frame.size;
    let mut chart = Chart::in_pixels(LEFT + width + RIGHT, TOP + height + BOTTOM, title[0]);
    let scale = chart.scale(style)?;
    let pixels = frame.size.map(|x| (scale * x).round().max(1.0) as usize);
    let mut canvas = Canvas::new(pixels[0], pixels[1], PAPER)?;

    let legend = Legend::new(labels);
    let dots = Dots::for_count(points.len());
    // Noise is drawn first, so that it hides nothing.
    for noise in [true, false] {
        for (i, point) in points.iter().enumerate() {
            let cluster = labels.get(i);
            let at = frame.place(point.map(Into::into)).map(|x| scale * x);
            if cluster.is_none() != noise || !at.iter().all(|x| x.is_finite()) {
                continue;
            }
            match cluster {
                Some(cluster) => canvas.disc(at, scale * dots.radius, legend.color(cluster), dots.cover),
                None => canvas.disc(at, 0.55 * scale * dots.radius, NOISE, dots.cover),
            }
        }
    }
    chart.image([LEFT, TOP], frame.size, canvas.into_image());
    if points.is_empty() {
        chart.text("no points", frame.middle(), 32.0, Align::Center, INK);
    }
    frame.axes(&mut chart);
    legend.draw(&mut chart, &frame, labels.n_noise(), eps);
    let middle = frame.middle()[0];
    chart.heading(title[0], [middle, 40.0], 27.0, INK);
    chart.heading(title[1], [middle, 74.0], 20.0, FAINT);
    chart.encoded(style)
}

/// The size and opacity of dots.
struct Dots {
    radius: f64,
    cover: f64,
}

impl Dots {
    /// A hundred dots are large; a million dots cover about as many pixels as there are.
    fn for_count(n: usize) -> Self {
        let hundreds = (n as f64 / 100.0).max(0.1);
        let radius = (7.0 * hundreds.powf(-0.24)).clamp(0.6, 9.0);
        Self { radius, cover: (0.95 - 0.05 * hundreds.ln()).clamp(0.5, 0.95) }
    }
}

/// The visible part of the plane, and its size on the page.
struct Frame {
    lo: [f64; 2],
    /// Units of the drawing per unit of length.
    scale: f64,
    size: [f64; 2],
    period: Option<[f64; 2]>,
}

impl Frame {
    /// Shows the periodic box, or the smallest box around the points with a margin.
    fn new<S: Scalar>(points: &[[S; 2]], period: Option<f64>) -> Result<Self> {
        let period = period.map(Space::<2>::periodic).transpose()?.and_then(|space| space.period().copied());
        let (lo, hi) = match period {
            Some(period) => ([0.0; 2], period),
            None => extent(points),
        };
        // Coincident or collinear points still need a window of positive width, relative to their coordinates.
        let largest = (hi[0] - lo[0]).max(hi[1] - lo[1]);
        let least = if largest > 0.0 {
            1e-3 * largest
        } else {
            1e-3 * lo.iter().fold(1e-300, |most: f64, x| most.max(x.abs()))
        };
        let air = if period.is_some() { 1.0 } else { 1.05 };
        let span = [0, 1].map(|k| air * (hi[k] - lo[k]).max(least));
        // A window much longer than wide gets additional margin across.
        let fit = |part: f64| (SIDE * part).clamp(LEAST, SIDE).round();
        let size = [fit(span[0] / span[1]), fit(span[1] / span[0])];
        let scale = (size[0] / span[0]).min(size[1] / span[1]);
        let lo = [0, 1].map(|k| 0.5 * lo[k] + 0.5 * hi[k] - 0.5 * size[k] / scale);
        Ok(Self { lo, scale, size, period })
    }

    /// Maps a position in the plane to units from the upper left corner of the plot.
    fn place(&self, at: [f64; 2]) -> [f64; 2] {
        let inside = |k: usize| self.period.map_or(at[k], |period| at[k].rem_euclid(period[k])) - self.lo[k];
        [inside(0) * self.scale, self.size[1] - inside(1) * self.scale]
    }

    fn middle(&self) -> [f64; 2] {
        [LEFT + 0.5 * self.size[0], TOP + 0.5 * self.size[1]]
    }

    fn axes(&self, chart: &mut Chart) {
        let [width, height] = self.size;
        let ends = |k: usize| [self.lo[k], self.lo[k] + self.size[k] / self.scale];
        let scales = [Scale::linear(ends(0), [LEFT, LEFT + width]), Scale::linear(ends(1), [TOP + height, TOP])];
        let panel = Panel { is_gridded: false, is_outside: true, ..Panel::new(scales[0], scales[1]) };
        panel.draw(chart, [Some("x"), Some("y")], |_| {});
    }
}

/// Returns the box around all finite points; the unit box if there are none.
fn extent<S: Scalar>(points: &[[S; 2]]) -> ([f64; 2], [f64; 2]) {
    let (mut lo, mut hi) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for point in points.iter().map(|point| point.map(Into::<f64>::into)).filter(|at| at.iter().all(|x| x.is_finite())) {
        for k in 0..2 {
            (lo[k], hi[k]) = (lo[k].min(point[k]), hi[k].max(point[k]));
        }
    }
    if lo[0] <= hi[0] { (lo, hi) } else { ([0.0; 2], [1.0; 2]) }
}

/// The clusters by descending size, which determines their colours.
pub(super) struct Legend {
    /// Number and size of each cluster, largest first.
    ranked: Vec<(u32, usize)>,
    rank: Vec<u32>,
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

    pub fn color(&self, cluster: u32) -> Rgb {
        category_color(self.rank.get(cluster as usize).map_or(0, |&rank| rank as usize))
    }

    fn draw(&self, chart: &mut Chart, frame: &Frame, noise: usize, eps: f64) {
        let left = LEFT + frame.size[0] + 30.0;
        let mut y = TOP + 18.0;
        let mut line = |dot: Option<(f64, Rgb)>, text: &str, color: Rgb| {
            if let Some((radius, color)) = dot {
                chart.disc([left + 8.0, y - 7.0], radius, color);
            }
            let indent = if dot.is_some() { 28.0 } else { 0.0 };
            chart.text(text, [left + indent, y], 20.0, Align::Left, color);
            y += 30.0;
        };
        let known = self.ranked.len();
        line(None, if known > NAMED { "largest clusters" } else { "clusters" }, FAINT);
        for &(number, size) in self.ranked.iter().take(NAMED) {
            line(Some((8.0, self.color(number))), &format!("{number}: {}", grouped(size as u64)), INK);
        }
        match known {
            0 => line(None, "none", INK),
            1..=NAMED => {}
            _ => line(None, &format!("and {} more", grouped((known - NAMED) as u64)), FAINT),
        }
        line(Some((4.5, NOISE)), &format!("noise: {}", grouped(noise as u64)), INK);

        // The bar for `eps`, above the lower edge of the frame.
        let length = eps * frame.scale;
        if (2.0..=RIGHT - 60.0).contains(&length) {
            let y = TOP + frame.size[1] - 11.0;
            chart.line(vec![[left, y], [left + length, y]], 3.0, INK);
            for end in [left, left + length] {
                chart.line(vec![[end, y - 6.0], [end, y + 6.0]], 2.0, INK);
            }
            chart.text("eps", [left, y - 15.0], 20.0, Align::Left, INK);
        }
    }
}

#[cfg(test)]
mod tests {
    use ropewalk::cluster::dbscan;

    use super::*;
    use crate::PictureFormat;

    #[test]
    fn anything_can_be_drawn() {
        let sets: [&[[f64; 2]]; 6] = [
            &[],
            &[[3.0, 4.0]],
            &[[0.0, 0.0]; 3],
            &[[-1e149, 0.0], [1e149, 1.0]],
            &[[1e-300, 0.0], [0.0, 1e-320]],
            &[[0.0, 1.0], [0.0, 2.0], [0.0, 1e6]],
        ];
        for points in sets {
            for eps in [0.0, 1.0, 1e140] {
                let labels = dbscan(points, eps, 1).unwrap();
                assert!(
                    clusters(points, &labels, eps, None, ["", ""], PictureFormat::Png).unwrap().starts_with(b"\x89PNG")
                );
            }
            let labels = dbscan(points, 0.0, 1).unwrap();
            assert!(clusters(points, &labels, 0.0, Some(2.0), ["", ""], PictureFormat::Png).is_ok());
            assert!(clusters(points, &labels, 0.0, Some(-2.0), ["", ""], PictureFormat::Png).is_err());
        }
        let labels = dbscan(&[[0.0f32, 0.0]], 1.0, 1).unwrap();
        assert!(clusters::<f32>(&[], &labels, 1.0, None, ["", ""], PictureFormat::Png).is_err());
        assert!(clusters(&[[f32::NAN, 0.0]], &labels, f64::NAN, None, ["", ""], PictureFormat::Png).is_ok());
    }

    #[test]
    fn dots_shrink() {
        let radii = [1, 100, 10_000, 1_000_000, usize::MAX].map(|n| Dots::for_count(n).radius);
        assert!(radii.is_sorted_by(|a, b| a >= b) && radii[0] <= 9.0 && radii[4] >= 0.6, "{radii:?}");
    }

    #[test]
    fn labels_of_other_points() {
        let labels = dbscan(&[[0.0, 0.0]; 3], 1.0, 1).unwrap();
        let error = clusters(&[[0.0, 0.0]; 2], &labels, 1.0, None, ["", ""], PictureFormat::Png).unwrap_err();
        assert_eq!(error.to_string(), "3 labels for 2 points; expected one per point");
    }
}

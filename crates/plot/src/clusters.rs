//! Points in two or three dimensions, coloured by cluster.

use ropewalk::cluster::Labels;
use ropewalk::geometry::Space;
use ropewalk::{Result, Scalar};

use crate::axis::{FAINT, INK, PAPER};
use crate::canvas::{Align, Canvas};
use crate::chart::Chart;
use crate::cluster_legend::{LETTERS, Legend, NOISE};
use crate::cluster_numbers::draw_numbers;
use crate::errors;
use crate::panel::{Panel, Scale};
use crate::slab::AXES;
use crate::style::Style;

/// The longest and the shortest side of a plot in the plane, and of each of three plots in space.
const SIDES: [[f64; 2]; 2] = [[760.0, 380.0], [540.0, 270.0]];
const LEFT: f64 = 205.0;
const TOP: f64 = 128.0;
/// The space for the legend on the right, and for the axis below.
const RIGHT: f64 = 390.0;
const BOTTOM: f64 = 132.0;
/// The space between the plots of points in space.
const GAP: f64 = 40.0;
/// The height of the bar of a length, with its name and the space above it.
const BAR: f64 = 84.0;
/// The size of noise relative to that of other points.
const NOISE_SIZE: f64 = 0.75;

/// The headings, axes and scales of a picture of clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterPicture {
    /// The two heading lines.
    pub title: [String; 2],
    /// The names of the coordinates, such as the columns of a table. Default, also for missing names: x, y and z.
    pub axes: Vec<String>,
    /// The length of a bar that shows a radius. Default: 0, for no bar.
    pub eps: f64,
    /// The side of a periodic box.
    pub period: Option<f64>,
}

/// Draws points in two or three dimensions, coloured by cluster, with equal scales on all axes.
///
/// Points in space are projected along each axis: a plot of the first two coordinates, below it the first and the
/// third, and beside that the second and the third. The largest clusters have the most distinct colours, and a legend
/// lists their labels and numbers of points. These labels are also written onto the clusters. Noise is grey and small.
/// Dots shrink as the number of points grows, so that from a hundred to several million points can be distinguished.
/// Dots are rasterized in all formats, since there may be millions.
///
/// ```
/// use ropewalk::dbscan;
/// use ropewalk_plot::{ClusterPicture, PictureFormat, clusters};
///
/// let points = [[0.0f32, 0.0], [0.1, 0.0], [0.0, 0.1], [5.0, 5.0]];
/// let labels = dbscan(&points, 0.2, 3)?;
/// let shown = ClusterPicture {
///     title: ["one cluster".into(), "and a point of noise".into()],
///     axes: vec!["lon".into(), "lat".into()],
///     eps: 0.2,
///     period: None,
/// };
/// let svg = clusters(&points, &labels, &shown, PictureFormat::Svg)?;
/// assert!(String::from_utf8_lossy(&svg).contains(">lon<"));
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails unless points have two or three dimensions and one label each, if the side of the box is not positive, or if
/// encoding fails.
pub fn clusters<S: Scalar, const D: usize>(
    points: &[[S; D]],
    labels: &Labels,
    shown: &ClusterPicture,
    style: impl Into<Style>,
) -> Result<Vec<u8>> {
    let style = style.into();
    if !(2..=3).contains(&D) {
        return Err(errors::cluster_dimension(D));
    }
    let labelled = labels.as_slice().len();
    if labelled != points.len() {
        return Err(errors::labels_length(labelled, points.len()));
    }
    let legend = Legend::new(labels);
    let frame = Frame::new(points, shown.period, legend.height() + BAR)?;
    let [width, height] = frame.page();
    let mut chart = Chart::in_pixels(width, height, &shown.title[0]);
    let scale = chart.scale(style)?;
    for view in frame.views() {
        let pixels = view.size.map(|x| (scale * x).round().max(1.0) as usize);
        let mut canvas = Canvas::new(pixels[0], pixels[1], PAPER)?;
        let dots = Dots::for_count(points.len());
        let radius = scale * dots.radius;
        let places: Vec<[f64; 2]> = points.iter().map(|point| frame.place(point.map(Into::into), &view)).collect();
        // Noise is drawn first, so that it hides nothing.
        for noise in [true, false] {
            for (i, place) in places.iter().enumerate() {
                let cluster = labels.get(i);
                let at = place.map(|x| scale * x);
                if cluster.is_none() != noise || !at.iter().all(|x| x.is_finite()) {
                    continue;
                }
                match cluster {
                    Some(cluster) => canvas.disc(at, radius, legend.color(cluster), dots.cover),
                    None => canvas.disc(at, NOISE_SIZE * radius, NOISE, dots.cover),
                }
            }
        }
        chart.image(view.corner, view.size, canvas.into_image());
        if points.is_empty() {
            let middle = [0, 1].map(|k| view.corner[k] + 0.5 * view.size[k]);
            chart.text("no points", middle, LETTERS, Align::Center, INK);
        }
        let plot = [view.corner, [0, 1].map(|k| view.corner[k] + view.size[k])];
        draw_numbers(&mut chart, &places, labels, &legend, plot);
        frame.axes(&mut chart, &view, &shown.axes);
    }
    let [left, top, bottom] = frame.legend();
    legend.draw(&mut chart, [left, top], labels.n_noise());
    legend_bar(&mut chart, [left, bottom], shown.eps * frame.scale);
    let middle = 0.5 * width;
    chart.heading(&shown.title[0], [middle, 48.0], 38.0, INK);
    chart.heading(&shown.title[1], [middle, 94.0], LETTERS, FAINT);
    chart.encoded(style)
}

/// Draws the bar of a length, if it is long enough and fits beside the plot.
fn legend_bar(chart: &mut Chart, [left, bottom]: [f64; 2], length: f64) {
    if (2.0..=RIGHT - 60.0).contains(&length) {
        let y = bottom - 11.0;
        chart.line(vec![[left, y], [left + length, y]], 3.0, INK);
        for end in [left, left + length] {
            chart.line(vec![[end, y - 6.0], [end, y + 6.0]], 2.0, INK);
        }
        chart.text("eps", [left, y - 20.0], LETTERS, Align::Left, INK);
    }
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
        let radius = (6.0 * hundreds.powf(-0.24)).clamp(0.5, 8.0);
        Self { radius, cover: (0.95 - 0.05 * hundreds.ln()).clamp(0.5, 0.95) }
    }
}

/// The visible part of space, and its size on the page.
struct Frame<const D: usize> {
    lo: [f64; D],
    /// Units of the drawing per unit of length.
    scale: f64,
    /// The length of each axis on the page.
    size: [f64; D],
    /// The height of the first plot or, if that is more, of the legend beside it.
    row: f64,
    period: Option<[f64; D]>,
}

/// One plot: the two coordinates that it shows, and its place on the page.
struct View {
    axes: [usize; 2],
    corner: [f64; 2],
    size: [f64; 2],
    /// `true` for axes with names and labels.
    is_named: [bool; 2],
}

impl<const D: usize> Frame<D> {
    /// Shows the periodic box, or the smallest box around the points with a margin. `legend` is the height of the
    /// legend.
    fn new<S: Scalar>(points: &[[S; D]], period: Option<f64>, legend: f64) -> Result<Self> {
        let period = period.map(Space::<D>::periodic).transpose()?.and_then(|space| space.period().copied());
        let (lo, hi) = match period {
            Some(period) => ([0.0; D], period),
            None => extent(points),
        };
        // Coincident or collinear points still need a window of positive width, relative to their coordinates.
        let largest = (0..D).fold(0.0f64, |most, k| most.max(hi[k] - lo[k]));
        let least = if largest > 0.0 {
            1e-3 * largest
        } else {
            1e-3 * lo.iter().fold(1e-300, |most: f64, x| most.max(x.abs()))
        };
        let air = if period.is_some() { 1.0 } else { 1.05 };
        let span: [f64; D] = std::array::from_fn(|k| air * (hi[k] - lo[k]).max(least));
        let longest = span.iter().fold(least, |most, &x| most.max(x));
        // A window much longer than wide gets additional margin across.
        let [side, shortest] = SIDES[usize::from(D > 2)];
        let size = span.map(|span| (side * (span / longest)).clamp(shortest, side).round());
        let scale = side / longest;
        let lo = std::array::from_fn(|k| 0.5 * lo[k] + 0.5 * hi[k] - 0.5 * size[k] / scale);
        Ok(Self { lo, scale, size, row: legend.max(size[1]), period })
    }

    /// Returns the plots. Those of points in space share axes: x above each other, z beside each other.
    fn views(&self) -> Vec<View> {
        let view =
            |axes: [usize; 2], corner, is_named| View { axes, corner, size: axes.map(|k| self.size[k]), is_named };
        if D == 2 {
            return vec![view([0, 1], [LEFT, TOP], [true; 2])];
        }
        let (right, below) = (LEFT + self.size[0] + GAP, TOP + self.row + GAP);
        vec![
            view([0, 1], [LEFT, TOP], [false, true]),
            view([0, 2], [LEFT, below], [true; 2]),
            view([1, 2], [right, below], [true, false]),
        ]
    }

    /// Returns the width and the height of the page.
    fn page(&self) -> [f64; 2] {
        if D == 2 {
            return [LEFT + self.size[0] + RIGHT, TOP + self.row.max(self.size[1] + BOTTOM)];
        }
        [LEFT + self.size[0] + GAP + self.size[1].max(RIGHT) + 40.0, TOP + self.row + GAP + self.size[2] + BOTTOM]
    }

    /// Returns the left, the upper and the lower edge of the legend.
    fn legend(&self) -> [f64; 3] {
        [LEFT + self.size[0] + if D == 2 { 30.0 } else { GAP }, TOP, TOP + self.row]
    }

    /// Maps a position to units from the upper left corner of a plot.
    fn place(&self, at: [f64; D], view: &View) -> [f64; 2] {
        let inside = |k: usize| self.period.map_or(at[k], |period| at[k].rem_euclid(period[k])) - self.lo[k];
        let [x, y] = view.axes.map(|k| inside(k) * self.scale);
        [x, view.size[1] - y]
    }

    fn axes(&self, chart: &mut Chart, view: &View, names: &[String]) {
        let ([left, top], [width, height]) = (view.corner, view.size);
        let ends = |k: usize| [self.lo[k], self.lo[k] + self.size[k] / self.scale];
        let [x, y] = view.axes;
        let scales = [Scale::linear(ends(x), [left, left + width]), Scale::linear(ends(y), [top + height, top])];
        let panel = Panel { letters: LETTERS, is_gridded: false, is_outside: true, ..Panel::new(scales[0], scales[1]) };
        let name = |k: usize| names.get(k).map_or(AXES[k], String::as_str);
        let shown = [0, 1].map(|k| Some(name(view.axes[k])).filter(|_| view.is_named[k]));
        panel.draw(chart, shown, |_| {});
    }
}

/// Returns the box around all finite points; the unit box if there are none.
fn extent<S: Scalar, const D: usize>(points: &[[S; D]]) -> ([f64; D], [f64; D]) {
    let (mut lo, mut hi) = ([f64::INFINITY; D], [f64::NEG_INFINITY; D]);
    for point in points.iter().map(|point| point.map(Into::<f64>::into)).filter(|at| at.iter().all(|x| x.is_finite())) {
        for k in 0..D {
            (lo[k], hi[k]) = (lo[k].min(point[k]), hi[k].max(point[k]));
        }
    }
    if lo[0] <= hi[0] { (lo, hi) } else { ([0.0; D], [1.0; D]) }
}

#[cfg(test)]
mod tests {
    use ropewalk::cluster::dbscan;

    use super::*;
    use crate::PictureFormat;

    fn shown(eps: f64, period: Option<f64>) -> ClusterPicture {
        ClusterPicture { eps, period, ..ClusterPicture::default() }
    }

    #[test]
    fn the_bar_of_a_flat_plot_is_below_the_legend() {
        // 20 pairs in a row, and two points of noise: a legend of 14 lines beside a plot of the least height.
        let points: Vec<[f64; 2]> = (0..42)
            .map(|i| [f64::from(i / 2) + f64::from(i % 2) * 0.1 * f64::from(i < 40), f64::from(i > 40)])
            .collect();
        let labels = dbscan(&points, 0.15, 2).unwrap();
        let svg =
            String::from_utf8(clusters(&points, &labels, &shown(0.3, None), PictureFormat::Svg).unwrap()).unwrap();
        let y = |text: &str| {
            let end = svg.find(&format!(">{text}<")).unwrap();
            let place = svg[..end].rsplit("translate(").next().unwrap();
            place.split([' ', ')']).nth(1).unwrap().parse::<f64>().unwrap()
        };
        assert!(y("8 others") < y("noise") && y("eps") > y("noise") + LETTERS, "{} {}", y("noise"), y("eps"));
        let height: f64 =
            svg.split("viewBox=\"0 0 ").nth(1).unwrap().split([' ', '"']).nth(1).unwrap().parse().unwrap();
        assert!(y("eps") + 24.0 < height);
        // In space, the plot below the legend moves down.
        let frame = Frame::new(&points.iter().map(|&[x, y]| [x, y, x]).collect::<Vec<_>>(), None, 563.0).unwrap();
        assert_eq!((frame.size[1], frame.legend()[2]), (SIDES[1][1], TOP + 563.0));
        assert!(
            frame.views()[2].corner[1] > frame.legend()[2]
                && frame.page()[1] > frame.views()[2].corner[1] + frame.size[2]
        );
    }

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
            let in_space: Vec<[f64; 3]> = points.iter().map(|&[x, y]| [y, x, y]).collect();
            for eps in [0.0, 1.0, 1e140] {
                let labels = dbscan(points, eps, 1).unwrap();
                let png = clusters(points, &labels, &shown(eps, None), PictureFormat::Png).unwrap();
                assert!(png.starts_with(b"\x89PNG"));
                let svg = clusters(&in_space, &labels, &shown(eps, None), PictureFormat::Svg).unwrap();
                assert!(!String::from_utf8_lossy(&svg).contains("NaN"));
            }
            let labels = dbscan(points, 0.0, 1).unwrap();
            assert!(clusters(points, &labels, &shown(0.0, Some(2.0)), PictureFormat::Png).is_ok());
            assert!(clusters(points, &labels, &shown(0.0, Some(-2.0)), PictureFormat::Png).is_err());
        }
        let labels = dbscan(&[[0.0f32, 0.0]], 1.0, 1).unwrap();
        assert!(clusters::<f32, 2>(&[], &labels, &shown(1.0, None), PictureFormat::Png).is_err());
        assert!(clusters(&[[f32::NAN, 0.0]], &labels, &shown(f64::NAN, None), PictureFormat::Png).is_ok());
    }

    #[test]
    fn dots_shrink() {
        let radii = [1, 100, 10_000, 1_000_000, usize::MAX].map(|n| Dots::for_count(n).radius);
        assert!(radii.is_sorted_by(|a, b| a >= b) && radii[0] <= 8.0 && radii[4] >= 0.5, "{radii:?}");
    }

    /// The three plots of a box of unequal sides: equal scales, shared axes, no overlap.
    #[test]
    fn plots_in_space_share_axes() {
        let frame = Frame::new(&[[0.0f64, 0.0, 0.0], [8.0, 6.0, 7.0]], None, 100.0).unwrap();
        let [xy, xz, yz] = &frame.views()[..] else { panic!() };
        assert_eq!([xy.axes, xz.axes, yz.axes], [[0, 1], [0, 2], [1, 2]]);
        assert_eq!((xy.corner[0], xy.size[0]), (xz.corner[0], xz.size[0]));
        assert_eq!((xz.corner[1], xz.size[1]), (yz.corner[1], yz.size[1]));
        assert!(xy.corner[1] + xy.size[1] < xz.corner[1] && xz.corner[0] + xz.size[0] < yz.corner[0]);
        // Each plot has the middle of the points in its middle.
        for view in frame.views() {
            let at = frame.place([4.0, 3.0, 3.5], &view);
            assert!((0..2).all(|k| (at[k] - 0.5 * view.size[k]).abs() < 1e-9));
        }
        let svg = |axes: &[&str]| {
            let axes = axes.iter().map(|&name| name.into()).collect();
            let labels = dbscan(&[[0.0, 0.0, 0.0], [8.0, 6.0, 7.0]], 1.0, 1).unwrap();
            let shown = ClusterPicture { axes, ..ClusterPicture::default() };
            let points = [[0.0, 0.0, 0.0], [8.0, 6.0, 7.0]];
            String::from_utf8(clusters(&points, &labels, &shown, PictureFormat::Svg).unwrap()).unwrap()
        };
        let count = |svg: &str, name: &str| svg.matches(&format!(">{name}</text>")).count();
        assert_eq!(["x", "y", "z"].map(|name| count(&svg(&[]), name)), [1, 2, 1]);
        assert_eq!(["a", "b", "z"].map(|name| count(&svg(&["a", "b"]), name)), [1, 2, 1]);
    }

    #[test]
    fn labels_of_other_points() {
        let labels = dbscan(&[[0.0, 0.0]; 3], 1.0, 1).unwrap();
        let error = clusters(&[[0.0, 0.0]; 2], &labels, &shown(1.0, None), PictureFormat::Png).unwrap_err();
        assert_eq!(error.to_string(), "3 labels for 2 points; expected one per point");
        let error = clusters(&[[0.0]; 3], &labels, &shown(1.0, None), PictureFormat::Png).unwrap_err();
        assert_eq!(error.to_string(), "points have 1 dimension; a picture of clusters needs 2 or 3");
    }
}

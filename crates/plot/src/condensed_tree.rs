//! The condensed tree of HDBSCAN* as icicles: the clusters at each density, and their numbers of points.

use ropewalk::Result;
use ropewalk::cluster::{CondensedTree, HdbscanClusters};
use ropewalk::internals::format::grouped;

use crate::axis::{Axis, BOTTOM, INK, LEFT, LETTERS, MIDDLE, PAPER, RIGHT, TOP, empty_note, frame, page};
use crate::chart::{Chart, Rect, meet};
use crate::cluster_legend::Legend;
use crate::colors::{Rgb, is_dark, mix};
use crate::font::{HIGH, width as width_of};
use crate::style::Style;

/// The minimum distance, in units, between drawn steps of a cluster's width.
const STEP: f64 = 0.5;
/// The minimum width at which clusters are drawn, and the width below which they are omitted.
const MIN_WIDTH: f64 = 0.6;
const OMITTED_WIDTH: f64 = 0.1;
/// The colour of clusters that were not selected.
const PASSED: Rgb = [188, 188, 196];

/// Draws the condensed tree from which [`Hdbscan`](ropewalk::Hdbscan) selects clusters.
///
/// A cluster is an area from lambda = 1 / distance at its birth down to that at its death. Its width at each lambda
/// is its number of points there; its children are drawn below it. Selected clusters have the colours of
/// [`clusters`](crate::clusters), with their labels if these fit; the clusters below them are paler. Other clusters
/// are grey. The axis is logarithmic if half of the points leave in the first eighth of a linear one. `title` is the
/// heading line. Cost: sorting the lambdas of the points.
///
/// ```
/// use ropewalk::Hdbscan;
/// use ropewalk_plot::{PictureFormat, condensed_tree};
///
/// let points = [[0.0f32], [1.0], [2.0], [20.0], [20.5], [21.0]];
/// let clusters = Hdbscan::new(3).min_samples(1).run(&points)?;
/// let svg = condensed_tree(&clusters, "six points", PictureFormat::Svg)?;
/// // The root, and the two clusters into which it splits.
/// assert_eq!(String::from_utf8_lossy(&svg).matches("Z\"").count(), 3);
/// # Ok::<(), ropewalk::Error>(())
/// ```
///
/// # Errors
/// Fails if encoding fails.
pub fn condensed_tree(clusters: &HdbscanClusters, title: &str, style: impl Into<Style>) -> Result<Vec<u8>> {
    chart(clusters, title).encoded(style)
}

fn chart(clusters: &HdbscanClusters, title: &str) -> Chart {
    let tree = clusters.condensed_tree();
    let mut chart = page("Condensed tree", title);
    let mut name = "lambda = 1 / distance".to_string();
    if tree.n_points() == 0 {
        empty_note(&mut chart, "no points");
    } else {
        let exits = Exits::new(tree);
        let axis = exits.axis();
        name = axis.grid(&mut chart, &name);
        bars(&mut chart, clusters, &exits, &axis);
    }
    let points = grouped(tree.n_points() as u64);
    let label = format!("width: points, {points} in all; colours: selected, paler below; grey: rest");
    frame(&mut chart, label, &name);
    chart
}

/// The lambdas at which points leave their clusters, grouped by cluster and ascending in each.
struct Exits {
    lambdas: Vec<f64>,
    starts: Vec<usize>,
}

impl Exits {
    fn new(tree: &CondensedTree) -> Self {
        let mut exits: Vec<(u32, f64)> = (0..tree.n_points()).map(|i| (tree.cluster(i), tree.lambda(i))).collect();
        exits.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let starts =
            (0..=tree.clusters().len()).map(|at| exits.partition_point(|exit| (exit.0 as usize) < at)).collect();
        Self { lambdas: exits.into_iter().map(|exit| exit.1).collect(), starts }
    }

    fn of(&self, cluster: usize) -> &[f64] {
        &self.lambdas[self.starts[cluster]..self.starts[cluster + 1]]
    }

    /// Returns the axis, which points down. It is logarithmic if half of the points leave in the first eighth of a
    /// linear axis.
    fn axis(&self) -> Axis {
        let mut finite: Vec<f64> = self.lambdas.iter().copied().filter(|&x| x > 0.0 && x < f64::INFINITY).collect();
        finite.sort_unstable_by(f64::total_cmp);
        let infinite = self.lambdas.contains(&f64::INFINITY);
        let [least, .., most] = finite[..] else {
            let most = finite.first().copied().unwrap_or(1.0);
            return Axis::new([0.0, most], false, infinite, [TOP, BOTTOM]);
        };
        let logarithmic = finite[finite.len() / 2] < 0.125 * most;
        let below = 10f64.powf(1.04 * least.log10() - 0.04 * most.log10()).max(f64::MIN_POSITIVE);
        // A margin below the densest points.
        let above = 10f64.powf(1.04 * most.log10() - 0.04 * least.log10()).min(f64::MAX);
        let ends = if logarithmic { [below, above] } else { [0.0, 1.04 * most] };
        Axis::new(ends, logarithmic, infinite, [TOP, BOTTOM])
    }
}

fn bars(chart: &mut Chart, found: &HdbscanClusters, exits: &Exits, axis: &Axis) {
    let clusters = found.condensed_tree().clusters();
    let legend = Legend::new(found.labels());
    let scale = (RIGHT - LEFT) / found.condensed_tree().n_points() as f64;
    let mut middles = vec![MIDDLE; clusters.len()];
    let mut chosen = vec![None; clusters.len()];
    let mut labels = vec![];
    // Parents come before their children.
    for (at, cluster) in clusters.iter().enumerate() {
        let above = cluster.parent.and_then(|parent| chosen[parent as usize]);
        chosen[at] = cluster.label.or(above);
        let children = cluster.children.start as usize..cluster.children.end as usize;
        let width = |child: usize| f64::from(clusters[child].size) * scale;
        let mut x = middles[at] - 0.5 * children.clone().map(width).sum::<f64>();
        for child in children {
            middles[child] = x + 0.5 * width(child);
            x += width(child);
        }
        let full = f64::from(cluster.size) * scale;
        if full < OMITTED_WIDTH {
            continue;
        }
        let color = match (cluster.label, chosen[at]) {
            (Some(label), _) => legend.color(label),
            (None, Some(label)) => mix(legend.color(label), PAPER, 0.35),
            (None, None) => PASSED,
        };
        let (top, bottom) = (axis.at(cluster.birth), axis.at(cluster.death));
        // Positions from which a width applies.
        let mut steps = vec![(top, full)];
        let leaving = exits.of(at).iter().take_while(|lambda| **lambda < cluster.death);
        for (left, y) in (1..).zip(leaving.map(|&lambda| axis.at(lambda))) {
            let width = full - f64::from(left) * scale;
            match steps.last_mut() {
                Some(last) if y - last.0 < STEP => last.1 = width,
                _ => steps.push((y, width)),
            }
        }
        let ends = steps.iter().skip(1).map(|step| step.0).chain([bottom]);
        let sides: Vec<[f64; 2]> = steps
            .iter()
            .zip(ends)
            .flat_map(|(&(from, width), to)| [from, to].map(|y| [0.5 * width.max(MIN_WIDTH), y]))
            .collect();
        let right = sides.iter().map(|[half, y]| [middles[at] + half, *y]);
        let left = sides.iter().rev().map(|[half, y]| [middles[at] - half, *y]);
        chart.area(right.chain(left).collect(), color);
        if let Some(label) = cluster.label {
            labels.push(Number { label, middle: middles[at], top, bottom, width: full, color });
        }
    }
    numbers(chart, labels);
}

/// The label of a selected cluster, and its area: middle, upper and lower end, the width at the upper end, and colour.
struct Number {
    label: u32,
    middle: f64,
    top: f64,
    bottom: f64,
    width: f64,
    color: Rgb,
}

/// Writes labels at the upper ends of their areas if they fit, otherwise below their lower ends unless they would
/// overlap. The largest clusters have precedence.
fn numbers(chart: &mut Chart, mut labels: Vec<Number>) {
    labels.sort_by(|a, b| b.width.total_cmp(&a.width));
    let mut taken: Vec<Rect> = vec![];
    for Number { label, middle, top, bottom, width, color } in labels {
        let label = label.to_string();
        let half = 0.5 * width_of(&label, LETTERS) + 2.0;
        let fits = width > 2.0 * half + 4.0 && bottom - top > LETTERS + 6.0;
        let y = if fits { top + LETTERS } else { bottom + LETTERS };
        let place = [[middle - half, y - HIGH * LETTERS - 2.0], [middle + half, y + 2.0]];
        let inside = place[0][0] > LEFT && place[1][0] < RIGHT && place[1][1] < BOTTOM;
        if !inside || taken.iter().any(|other| meet(&place, other, 0.0)) {
            continue;
        }
        let colors = if fits && is_dark(color) { [PAPER, color] } else { [INK, PAPER] };
        chart.text_outlined(&label, [place[0][0] + 2.0, y], LETTERS, colors);
        taken.push(place);
    }
}

#[cfg(test)]
mod tests {
    use ropewalk::cluster::{ClusterSelection, Hdbscan};

    use super::*;

    #[test]
    fn anything_can_be_drawn() {
        let many: Vec<[f64; 1]> = (0..300).map(|i| [f64::from(i * i) * 0.01 + f64::from(i / 50) * 1e3]).collect();
        let copies: Vec<[f64; 1]> = (0..40).map(|i| [f64::from(i / 10)]).collect();
        let sets: [&[[f64; 1]]; 7] =
            [&[], &[[1.0]], &[[0.0]; 9], &[[0.0], [1e150]], &[[0.0], [1e-160], [1.0], [1e140]], &many, &copies];
        for points in sets {
            for selection in [ClusterSelection::ExcessOfMass, ClusterSelection::Leaf] {
                let hdbscan = Hdbscan::new(2).min_samples(1).allow_single_cluster(true).cluster_selection(selection);
                let chart = chart(&hdbscan.run(points).unwrap(), "<&>");
                let svg = chart.svg().unwrap();
                assert!(svg.contains("&lt;&amp;&gt;") && !svg.contains("NaN") && !svg.contains("inf "), "{svg}");
                assert!(chart.png(96.0).unwrap().starts_with(b"\x89PNG"));
            }
        }
    }

    /// The width of an area is the number of points: all points at birth, fewer after points have left.
    #[test]
    fn widths_are_numbers_of_points() {
        // Ten points. Those at 30 and 60 leave before the others split into two clusters of four.
        let points: Vec<[f64; 1]> = [0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0, 30.0, 60.0].map(|x| [x]).to_vec();
        let svg = chart(&Hdbscan::new(4).min_samples(1).run(&points).unwrap(), "").svg().unwrap();
        let areas: Vec<Vec<[f64; 2]>> = svg
            .lines()
            .filter_map(|line| line.strip_prefix("<path d=\"M")?.split_once('Z'))
            .map(|(path, _)| {
                let numbers = |corner: &str| corner.split(' ').map(|x| x.parse().unwrap()).collect::<Vec<f64>>();
                path.split('L').map(|corner| <[f64; 2]>::try_from(numbers(corner)).unwrap()).collect()
            })
            .collect();
        let one = (RIGHT - LEFT) / 10.0;
        let width = |area: &[[f64; 2]], at: usize| (area[at][0] - area[area.len() - 1 - at][0]) / one;
        let widths: Vec<Vec<f64>> =
            areas.iter().map(|area| (0..area.len() / 2).map(|at| width(area, at).round()).collect()).collect();
        assert_eq!(widths, [vec![10.0, 10.0, 9.0, 9.0, 8.0, 8.0], vec![4.0, 4.0], vec![4.0, 4.0]]);
        // Lambda is linear here, from 0 to 1.04: births and deaths are at 1/30, 1/17, 1/7 and 1.
        let depth = |area: &[[f64; 2]], at: usize| 1.04 * (area[at][1] - TOP) / (BOTTOM - TOP);
        let expected = [(0, 1, 1.0 / 30.0), (0, 3, 1.0 / 17.0), (0, 5, 1.0 / 7.0), (1, 0, 1.0 / 7.0), (2, 1, 1.0)];
        for (area, at, lambda) in expected {
            assert!((depth(&areas[area], at) - lambda).abs() < 1e-3, "{area} {at}: {}", depth(&areas[area], at));
        }
    }
}

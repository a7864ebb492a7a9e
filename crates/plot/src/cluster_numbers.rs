//! The labels of the largest clusters, written onto the clusters.

use ropewalk::cluster::Labels;

use crate::axis::{INK, PAPER};
use crate::chart::{Chart, Rect, meet};
use crate::cluster_legend::{LETTERS, Legend, NAMED};
use crate::font::{HIGH, width};

/// Writes the label of each cluster of the legend onto it, at the member nearest to the median of its members. So
/// readers can distinguish clusters without colours. Labels that do not fit the plot are moved into it. Those that
/// would overlap the label of a larger cluster are omitted. `places` holds the place of each point relative to the
/// upper left corner of `plot`, the visible rectangle; NaN for none.
pub fn draw_numbers(chart: &mut Chart, places: &[[f64; 2]], labels: &Labels, legend: &Legend, plot: Rect) {
    let mut members: Vec<Vec<[f64; 2]>> = vec![vec![]; NAMED];
    for (i, &place) in places.iter().enumerate().filter(|(_, place)| place.iter().all(|x| x.is_finite())) {
        if let Some(own) = labels.get(i).and_then(|cluster| members.get_mut(legend.rank(cluster))) {
            own.push(place);
        }
    }
    let mut taken: Vec<Rect> = vec![];
    for (label, own) in legend.named().zip(&members) {
        let Some(place) = central(own) else { continue };
        let label = label.to_string();
        let half = [0.5 * width(&label, LETTERS) + 3.0, 0.5 * HIGH * LETTERS + 3.0];
        let middle: [f64; 2] = std::array::from_fn(|k| {
            let (lo, hi) = (plot[0][k] + half[k], plot[1][k] - half[k]);
            (plot[0][k] + place[k]).min(hi).max(lo)
        });
        let place = [[0, 1].map(|k| middle[k] - half[k]), [0, 1].map(|k| middle[k] + half[k])];
        if !taken.iter().any(|other| meet(&place, other, 0.0)) {
            chart.text_outlined(&label, [place[0][0] + 3.0, place[1][1] - 3.0], LETTERS, [INK, PAPER]);
            taken.push(place);
        }
    }
}

/// Returns the place that is nearest to the median along each axis. `None` if there are none.
fn central(places: &[[f64; 2]]) -> Option<[f64; 2]> {
    let median = [0, 1].map(|k| {
        let mut all: Vec<f64> = places.iter().map(|place| place[k]).collect();
        let half = all.len() / 2;
        if all.is_empty() { f64::NAN } else { *all.select_nth_unstable_by(half, f64::total_cmp).1 }
    });
    let distance = |place: &[f64; 2]| (place[0] - median[0]).hypot(place[1] - median[1]);
    places.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLOT: Rect = [[0.0, 0.0], [400.0, 400.0]];

    fn texts(places: &[[f64; 2]], labels: &[i32]) -> Vec<(String, [f64; 2])> {
        let labels = Labels::from_slice(labels).unwrap();
        let mut chart = Chart::new(400.0, 400.0, "");
        draw_numbers(&mut chart, places, &labels, &Legend::new(&labels), PLOT);
        let text = |(_, mark)| match mark {
            crate::chart::Mark::Text { text, at, color: INK, .. } => Some((text, at)),
            _ => None,
        };
        chart.marks.into_iter().filter_map(text).collect()
    }

    #[test]
    fn numbers_stand_on_members() {
        // A ring around a small cluster: the median of the ring is empty.
        let ring = (0..100).map(|i| {
            let (sine, cosine) = (f64::from(i) * std::f64::consts::TAU / 100.0).sin_cos();
            [200.0 + 150.0 * cosine, 200.0 + 150.0 * sine]
        });
        let places: Vec<[f64; 2]> = ring.chain([[200.0, 200.0]; 5]).chain([[f64::NAN; 2], [390.0, 10.0]]).collect();
        let labels: Vec<i32> = [0].repeat(100).into_iter().chain([1; 5]).chain([1, -1]).collect();
        let found = texts(&places, &labels);
        assert_eq!(found.iter().map(|text| text.0.as_str()).collect::<Vec<_>>(), ["0", "1"]);
        let middle = |at: [f64; 2]| [at[0] + 0.5 * width("0", LETTERS), at[1] - 0.5 * HIGH * LETTERS];
        let [x, y] = middle(found[0].1);
        assert!(((x - 200.0).hypot(y - 200.0) - 150.0).abs() < 1e-3, "{x} {y}");
        let [x, y] = middle(found[1].1);
        assert!((x - 200.0).abs() < 1e-3 && (y - 200.0).abs() < 1e-3, "{x} {y}");
    }

    #[test]
    fn numbers_stand_apart_and_inside() {
        // The larger of two clusters at one place has the number; that of a cluster in the corner is moved.
        let places = [[100.0, 100.0]; 5].into_iter().chain([[0.0, 400.0]; 2]).collect::<Vec<_>>();
        let found = texts(&places, &[1, 1, 1, 0, 0, 2, 2]);
        assert_eq!(found.iter().map(|text| text.0.as_str()).collect::<Vec<_>>(), ["1", "2"]);
        assert!(found[1].1[0] > 0.0 && found[1].1[1] < 400.0);
        assert!(texts(&[], &[]).is_empty());
    }
}
